"""The case model: one documented failure, its fixes beside it, its inputs; what the documents say of it is elsewhere.

A case is a class. Its ``forward`` is the failing form; every attribute made by :func:`fix` is one fix of it::

    class CrossNoSymbolic(Case):
        \"\"\"torch.cross: no TorchScript symbolic before torch 1.12.\"\"\"

        sources = ("seed:000", "onnx/onnx#2683")
        aten_ops = ("aten::cross",)
        inputs = ((f32(2, 3, 5), f32(2, 3, 5)), (f32(4, 3, 5), f32(4, 3, 5)))
        dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

        def forward(self, x, y):
            return torch.cross(x, y, dim=1)

        @fix("rewrite", "stack three slice products on the dim of the slices")
        def stack_rewrite(self, x, y):
            ...

``self`` in these methods is the ``nn.Module`` under measurement, so ``setup`` may put layers on it. The first
input set is the one the exporter sees; the others show whether the exported file follows its inputs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, Mapping, Optional, Tuple, Type, Union

from caniexport.model.errors import CorpusError
from caniexport.model.status import Exporter, FixKind

if TYPE_CHECKING:
    from caniexport.model.releases import Release

#: ``{argument: {axis: name}}`` as torch's ``dynamic_axes`` takes it.
Dynamic = Mapping[str, Any]
#: keyword arguments of the export call, or a function giving them (for values that need torch).
Options = Union[Mapping[str, Any], Callable[[], Mapping[str, Any]]]

PLAIN = "plain"


class Fix:
    """One named fix of a case. Without a function it keeps the failing form and changes only what it names.

    kind            a :class:`~caniexport.model.status.FixKind`
    note            one line for a person
    opset           export at this opset where a lower one was asked for (kind ``raise-opset``)
    exporter        export with this exporter instead of the one asked for
    export          keyword arguments of the export call, replacing the case's own
    dynamic         dynamic axes, replacing the case's own
    inputs          input sets, replacing the case's own
    patch           ``patch(opset)``: a context manager entered around the export (custom symbolics)
    prepare         ``prepare(module, inputs) -> module``, applied before the export (``torch.jit.trace``)
    route           ``route(request) -> bytes`` writes the file instead of ``torch.onnx.export``
    surgery         ``surgery(model) -> model`` on the exported ``onnx.ModelProto``
    session         onnxruntime session options, ``{"graph_optimization_level": 0}``
    torch           for kind ``version-upgrade``: the releases that have it; judged on the plain form, not measured
    caution         the fix is known to be wrong or partial (a source says so, or it passes nowhere that was measured);
                    shown as a warning, never recommended
    changes_values  the fix is meant to change values: its difference is shown, not held against it
    documented      whether a source states this fix (otherwise it is the catalogue's or our own proposal)
    """

    def __init__(
        self,
        kind: str,
        note: str,
        *,
        opset: Optional[int] = None,
        exporter: str = "",
        export: Optional[Options] = None,
        dynamic: Optional[Dynamic] = None,
        inputs: Optional[Tuple[Any, ...]] = None,
        patch: Optional[Callable[[Optional[int]], Any]] = None,
        prepare: Optional[Callable[..., Any]] = None,
        route: Optional[Callable[[Any], bytes]] = None,
        surgery: Optional[Callable[[Any], Any]] = None,
        session: Optional[Mapping[str, Any]] = None,
        torch: str = "",
        caution: bool = False,
        changes_values: bool = False,
        documented: bool = True,
    ) -> None:
        self.kind = FixKind(kind).value
        self.note = note
        self.opset = opset
        self.exporter = Exporter(exporter).value if exporter else ""
        self.export = export
        self.dynamic = dynamic
        self.inputs = inputs
        self.patch = patch
        self.prepare = prepare
        self.route = route
        self.surgery = surgery
        self.session = session
        self.torch = torch
        self.caution = caution
        self.changes_values = changes_values
        self.documented = documented
        self.name = ""
        self.forward: Optional[Callable[..., Any]] = None

    def __call__(self, forward: Callable[..., Any]) -> Fix:
        """Take the fix's own forward: ``fix`` used as a decorator."""
        self.forward = forward
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.name:
            self.name = name


#: ``@fix("rewrite", "one line")`` above a method, or ``name = fix("raise-opset", "one line", opset=11)``.
fix = Fix


class _AnyCase:
    """What every kind of case declares about where it comes from. Nothing of it changes what is measured."""

    id: ClassVar[str] = ""
    corpus: ClassVar[str] = "documented"
    sources: ClassVar[Tuple[str, ...]] = ()
    aten_ops: ClassVar[Tuple[str, ...]] = ()
    onnx_ops: ClassVar[Tuple[str, ...]] = ()
    #: cases whose exported files are the same, and that differ in what a fix or another device does
    same_graph_as: ClassVar[Tuple[str, ...]] = ()

    @classmethod
    def case_id(cls) -> str:
        """``id`` where given, else the class name in kebab case (``BitShiftOpset11`` -> ``bit-shift-opset-11``)."""
        return cls.__dict__.get("id") or to_kebab_case(cls.__name__)

    @classmethod
    def title(cls) -> str:
        """The first line of the docstring."""
        return (cls.__dict__.get("__doc__") or "").strip().split("\n")[0]

    @classmethod
    def description(cls) -> str:
        """The docstring after its first line, unwrapped."""
        rest = (cls.__dict__.get("__doc__") or "").strip().split("\n")[1:]
        return re.sub(r"[ \t]*\n[ \t]*", "\n", "\n".join(rest)).strip()


class Case(_AnyCase):
    """One documented failure. See the module docstring for an example.

    inputs      input sets: a tuple of argument tuples; the first is exported, all are run
    dynamic     dynamic axes by argument name; empty for a static export
    export      extra keyword arguments of the export call (a function where they need torch)
    needs_torch version specifier of the releases that can run it at all; empty for every release
    exporters   the exporters it makes sense for; empty for all
    named       whether the export call names its inputs (after ``forward``'s arguments)
    output_names  names asked for the outputs; empty for the exporter's own
    rtol, atol  tolerance against eager; ``None`` for the default of the output's dtype
    by_largest  whether the largest value of an output widens its absolute tolerance
    fills_parameters  whether parameters are filled after ``setup``; else it has done so
    requires    further packages the case imports
    patch       ``patch(opset)``: a context manager entered around the export of every variant without one of its own
    """

    inputs: ClassVar[Tuple[Any, ...]] = ()
    dynamic: ClassVar[Dynamic] = {}
    export: ClassVar[Options] = {}
    needs_torch: ClassVar[str] = ""
    exporters: ClassVar[Tuple[str, ...]] = ()
    named: ClassVar[bool] = True
    output_names: ClassVar[Tuple[str, ...]] = ()
    rtol: ClassVar[Optional[float]] = None
    atol: ClassVar[Optional[float]] = None
    by_largest: ClassVar[bool] = False
    fills_parameters: ClassVar[bool] = True
    requires: ClassVar[Tuple[str, ...]] = ()
    patch: ClassVar[Optional[Callable[[Optional[int]], Any]]] = None

    def setup(self) -> None:
        """Put layers on the module; their parameters are then filled with values that no torch release changes."""

    @classmethod
    def own_variants(cls) -> Dict[str, Variant]:
        """The failing form and the fixes, in the order of the source."""
        found = {PLAIN: Variant(cls, PLAIN, None)}
        for name, item in collect_attributes(cls).items():
            if isinstance(item, Fix):
                found[name] = Variant(cls, name, item)
        return found

    @classmethod
    def load(cls) -> None:
        """Import what the inputs are made of: once, before a process is forked for the cells."""

    @classmethod
    def asks(cls, variant: str, release: Release, exporter: str) -> Tuple[Optional[int], ...]:  # noqa: ARG003  # a case that a table makes asks by variant
        """The opsets at which a variant is measured with an exporter of a release."""
        return release.opsets(exporter)

    #: the failing form; every case defines it
    forward: ClassVar[Callable[..., Any]]
    #: the true values, where the failing form's eager outputs are not (it raises, or is wrong, in eager)
    reference: ClassVar[Optional[Callable[..., Any]]] = None
    #: ``facts(model) -> dict``: what to note of the exported ``onnx.ModelProto`` (JSON values)
    facts: ClassVar[Optional[Callable[[Any], Dict[str, Any]]]] = None


class EnvironmentCase(_AnyCase):
    """A failure of installing or importing: packages on a Python, and a line that must run there.

    Each variant is resolved and installed by uv and runs ``code``; ``environment_fix`` names what replaces what.
    """

    python: ClassVar[str] = "3.11"
    packages: ClassVar[Tuple[str, ...]] = ()
    code: ClassVar[str] = "pass"


class EnvironmentFix:
    """A fix of an :class:`EnvironmentCase`: other packages, another Python, another line."""

    def __init__(
        self,
        kind: str,
        note: str,
        *,
        python: str = "",
        packages: Optional[Tuple[str, ...]] = None,
        code: str = "",
        documented: bool = True,
    ) -> None:
        self.kind = FixKind(kind).value
        self.note = note
        self.python = python
        self.packages = packages
        self.code = code
        self.documented = documented


environment_fix = EnvironmentFix


class Variant:
    """A case's failing form or one of its fixes, with every option resolved: what one cell is about."""

    def __init__(self, case: Type[Case], name: str, fix: Optional[Fix]) -> None:
        self.case = case
        self.name = name
        self.fix = fix
        self.kind = fix.kind if fix else PLAIN
        self.note = fix.note if fix else ""
        self.forward: Callable[..., Any] = (fix.forward if fix else None) or _find_function(case, "forward")
        self.inputs = _choose(fix and fix.inputs, case.inputs)
        self.dynamic: Dynamic = _choose(fix and fix.dynamic, case.dynamic)
        self.export: Options = _choose(fix and fix.export, case.export)
        self.patch = _choose(fix and fix.patch, case.patch)
        self.prepare = fix.prepare if fix else None
        self.route = fix.route if fix else None
        self.surgery = fix.surgery if fix else None
        self.session: Mapping[str, Any] = (fix.session if fix else None) or {}
        self.changes_values = bool(fix and fix.changes_values)
        self.rtol, self.atol = case.rtol, case.atol
        #: False where they are random: then count, dtype and shape of the outputs are compared
        self.compares_values = True
        #: whether the largest value of an output widens its absolute tolerance
        self.by_largest = case.by_largest

    @property
    def input_sets(self) -> int:
        """How many input sets there are."""
        return len(self.inputs)

    @property
    def measured(self) -> bool:
        """False for a version upgrade: the plain form's own rows on those releases answer for it."""
        return self.kind != FixKind.VERSION_UPGRADE.value

    def opset(self, asked: Optional[int]) -> Optional[int]:
        """The opset the export call is given where ``asked`` was asked for."""
        floor = self.fix.opset if self.fix else None
        return max(asked, floor) if asked is not None and floor is not None else asked

    def exporter(self, asked: str) -> str:
        """The exporter used where ``asked`` was asked for."""
        return (self.fix.exporter if self.fix else "") or asked

    def options(self) -> Dict[str, Any]:
        """Further keyword arguments of the export call."""
        return dict(self.export() if callable(self.export) else self.export)


def collect_attributes(case: type) -> Dict[str, Any]:
    """Class attributes with those inherited, base classes first."""
    merged: Dict[str, Any] = {}
    for base in reversed(case.__mro__):
        merged.update(vars(base))
    return merged


def check_case(case: Type[Case]) -> None:
    """Refuse a case that could not be measured or would prove nothing; the message names the case."""
    name = case.case_id()
    if "forward" not in collect_attributes(case):
        raise CorpusError("case {}: no forward (the failing form)".format(name))
    if not case.title():
        raise CorpusError("case {}: no docstring (its first line is the title)".format(name))
    if not case.sources:
        raise CorpusError("case {}: no sources".format(name))
    for limit in ("rtol", "atol"):
        value = getattr(case, limit)
        if value is not None and not (isinstance(value, (int, float)) and 0 <= value < float("inf")):
            raise CorpusError(
                "case {}: {} is {!r}; it takes a number of at least 0, or None".format(name, limit, value)
            )
    for variant in case.own_variants().values():
        if variant.input_sets < 2:
            raise CorpusError(
                "case {}/{}: {} input set(s); at least two that differ are needed, because agreement on the "
                "input used for the export proves nothing".format(name, variant.name, variant.input_sets)
            )


def to_kebab_case(name: str) -> str:
    """``CrossNoSymbolic`` -> ``cross-no-symbolic``, ``Conv2dAt9`` -> ``conv2d-at-9``."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    name = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return re.sub(r"(?<=[a-z]{2})(?=[0-9]+$)", "-", name).lower()


def _find_function(case: type, name: str) -> Callable[..., Any]:
    item = collect_attributes(case)[name]
    return item.__func__ if isinstance(item, staticmethod) else item


def _choose(override: Any, default: Any) -> Any:
    return default if override is None else override
