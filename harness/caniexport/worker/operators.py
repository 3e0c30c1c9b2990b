"""A call of torch's operator database as a module: its forward, and its tensors as arrays that every runtime takes.

All tensors of a sample are inputs of the module, everything else (numbers, dimensions, words) is written into it. Numpy
has no bfloat16 and onnxruntime takes no complex inputs, so these come in as float32 and are changed in the module; what
it gives in them is changed back. Forms of a call: ``inplace`` (the operator writes into a copy of its first input),
``out`` (into a tensor made for it), ``dynamic`` (the first axis is dynamic, and the second input set has twice of it).
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from caniexport.worker import opinfo
from caniexport.worker.opinfo import CallSample

INPLACE, OUT, DYNAMIC = FORMS = ("inplace", "out", "dynamic")
#: how a tensor of a dtype comes in: an array of another dtype, and what makes it the tensor again
_COMES_AS: Dict[str, Tuple[str, Callable[[Any], Any]]] = {
    "bfloat16": ("{}.to(torch.bfloat16)", lambda tensor: tensor.float()),
    "complex64": ("torch.view_as_complex({})", lambda tensor: _as_real(tensor)),
    "complex128": ("torch.view_as_complex({})", lambda tensor: _as_real(tensor)),
}
#: with its first axis doubled an input of theirs would not be sorted any more
_SORTED = ("bucketize", "searchsorted")


class NoModule(Exception):
    """Why a call cannot be measured as a module."""


class ModuleCall(NamedTuple):
    """A call as a module: its forward, two input sets as numpy arrays, and its dynamic axes."""

    forward: Callable[..., Any]
    inputs: Tuple[Tuple[Any, ...], ...]
    dynamic: Dict[str, Dict[int, str]]


@functools.lru_cache(maxsize=4)
def call(name: str, dtype: str, which: str, form: str = "") -> ModuleCall:
    """The call of an entry's sample in one of :data:`FORMS`; raises :class:`NoModule` where there is none."""
    found = opinfo.samples(name, dtype)
    if which not in found:
        raise NoModule("it has no such sample")
    if form == DYNAMIC and name in _SORTED:
        raise NoModule("an input of it has to be sorted")
    return make_call(_function(opinfo.entries()[name], form), found[which], form)


def make_call(function: Callable[..., Any], sets: Sequence[CallSample], form: str = "") -> ModuleCall:
    """The call of a function with two sets of values."""
    result = _result(function, sets[0], form)
    grown = _grown(function, sets) if form == DYNAMIC else ()
    forward = _forward(function, sets[0], form, result)
    inputs = tuple(tuple(_array(item) for item in tensors) for tensors in (sets[0].tensors, grown or sets[1].tensors))
    axes = {
        "x{}".format(at): {0: "n"}
        for at, (small, large) in enumerate(zip(inputs[0], inputs[1]))
        if small.shape != large.shape
    }
    return ModuleCall(forward, inputs, axes)


def is_random(function: Callable[..., Any], sample: CallSample) -> bool:
    """Whether calls with equal arguments differ."""
    import torch

    outcomes = []
    for seed in range(4):
        torch.manual_seed(seed)
        own = _copied(sample)
        outcomes.append(list(opinfo.tensors_of(function(*own.arguments, **own.keywords))))
    return not all(_same(*pair) for other in outcomes[1:] for pair in zip(outcomes[0], other))


def _same(left: Any, right: Any) -> bool:
    import torch

    if left.shape != right.shape:
        return False
    return bool(((left == right) | ((left != left) & (right != right))).all()) or torch.equal(left, right)


def _function(entry: Any, form: str) -> Callable[..., Any]:
    function = getattr(entry, "inplace_variant", None) if form == INPLACE else entry.op
    if not callable(function):
        raise NoModule("torch has no such form of it")
    if form == OUT and not getattr(entry, "supports_out", False):
        raise NoModule("it takes no out=")
    found: Callable[..., Any] = function
    return found


def _copied(sample: CallSample) -> CallSample:
    return sample.filled([item.clone() for item in sample.tensors])


def _result(function: Callable[..., Any], sample: CallSample, form: str) -> Any:
    """What the call gives; raises :class:`NoModule` where that is nothing to compare."""
    import torch

    if not sample.tensors:
        raise NoModule("it takes no tensor: the file would be a constant")
    if any(item.layout != torch.strided or item.is_quantized for item in sample.tensors):
        raise NoModule("it takes a sparse or quantized tensor")
    own = _copied(sample)
    with torch.no_grad():
        try:
            given = function(*own.arguments, **own.keywords)
        except Exception as error:
            raise NoModule("torch itself refuses it: {}".format(str(error).split("\n")[0][:120])) from error
    tensors = list(opinfo.tensors_of(given))
    if not tensors:
        raise NoModule("it gives no tensor but {}".format(type(given).__name__))
    if form in (INPLACE, OUT) and not isinstance(given, torch.Tensor):
        raise NoModule("this form is measured of what gives one tensor")
    for item in tensors:
        if item.layout != torch.strided or item.is_quantized:
            raise NoModule("it gives a sparse or quantized tensor")
        if str(item.dtype) in ("torch.complex32", "torch.complexhalf"):
            raise NoModule("it gives half-precision complex numbers, which numpy has not")
    return given


def _forward(function: Callable[..., Any], sample: CallSample, form: str, result: Any) -> Callable[..., Any]:
    """The call as a ``forward`` written out, with an argument for every tensor."""
    import torch

    written = _Written(sample)
    arguments = written.arguments
    lines = ["def forward(self, {}):".format(", ".join(written.names))]
    if form == INPLACE:
        lines.append("    y = {}.clone()".format(written.first))
        arguments = arguments.replace(written.first, "y", 1)
    if form == OUT:
        lines.append("    y = torch.empty({}, dtype={})".format(tuple(result.shape), result.dtype))
        arguments += ", out=y"
    lines.append("    {}function({})".format("" if form == OUT else "y = ", arguments))
    lines.append("    return {}".format(_given("y", result)))
    space: Dict[str, Any] = dict(written.constants, torch=torch, function=function)
    exec("\n".join(lines), space)
    forward: Callable[..., Any] = space["forward"]
    return forward


class _Written:
    """A sample as the text of a call: the names of its tensors, and its constants by name."""

    def __init__(self, sample: CallSample) -> None:
        self.names: List[str] = []
        self.constants: Dict[str, Any] = {}
        words = [self._text(item) for item in sample.arguments]
        self.first = words[0] if words else ""
        words += ["{}={}".format(name, self._text(item)) for name, item in sample.keywords.items()]
        self.arguments = ", ".join(words)

    def _text(self, item: Any) -> str:
        import torch

        if isinstance(item, torch.Tensor):
            self.names.append("x{}".format(len(self.names)))
            name = _name(item)
            return _COMES_AS[name][0].format(self.names[-1]) if name in _COMES_AS else self.names[-1]
        if type(item) in (list, tuple) and any(True for _ in opinfo.tensors_of(item)):
            words = ", ".join(map(self._text, item))
            return "[{}]".format(words) if isinstance(item, list) else "({},)".format(words)
        self.constants["c{}".format(len(self.constants))] = item
        return "c{}".format(len(self.constants) - 1)


def _given(name: str, result: Any) -> str:
    """The text of what a call gives, in dtypes that every runtime has; a tuple of torch's own kind as a plain one."""
    import torch

    if isinstance(result, torch.Tensor):
        dtype = _name(result)
        if dtype == "bfloat16":
            return "{}.float()".format(name)
        if not dtype.startswith("complex"):
            return name
        # most never are, and have no call for it in their file
        lazy = result.is_conj() if hasattr(result, "is_conj") else False
        return "torch.view_as_real({}{})".format(name, ".resolve_conj()" if lazy else "")
    if isinstance(result, (list, tuple)):
        parts = [_given("{}[{}]".format(name, at), part) for at, part in enumerate(result)]
        return "({},)".format(", ".join(parts))
    return name


def _grown(function: Callable[..., Any], sets: Sequence[CallSample]) -> List[Any]:
    """The second set with twice the first axis: of the first tensor, or of all that have the same one."""
    first = sets[0].tensors[0]
    if not first.dim() or not first.shape[0]:
        raise NoModule("its first tensor has no first axis")
    size = first.shape[0]
    alone = [at == 0 for at in range(len(sets[0].tensors))]
    together = [bool(item.dim()) and item.shape[0] == size for item in sets[0].tensors]
    for axes in [together] + ([alone] if alone != together else []):
        tensors = [_twice(a, b) if grows else b for a, b, grows in zip(sets[0].tensors, sets[1].tensors, axes)]
        if _has_result(function, sets[1].filled(tensors)):
            return tensors
    raise NoModule("its first axis has to have this size")


def _twice(left: Any, right: Any) -> Any:
    import torch

    return torch.cat([right, left])


def _has_result(function: Callable[..., Any], sample: CallSample) -> bool:
    try:
        _result(function, sample, "")
    except NoModule:
        return False
    return True


def _array(tensor: Any) -> Any:
    comes = _COMES_AS.get(_name(tensor))
    return (comes[1](tensor) if comes else tensor).detach().contiguous().numpy().copy()


def _as_real(tensor: Any) -> Any:
    import torch

    real: Any = torch.view_as_real
    return real(tensor.resolve_conj() if hasattr(tensor, "resolve_conj") else tensor)


def _name(tensor: Any) -> str:
    return str(tensor.dtype).split(".")[-1]
