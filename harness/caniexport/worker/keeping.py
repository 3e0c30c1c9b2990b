"""What the exporters compute anew on every call though it never changes within a process, kept.

Measured on 2.13, one small model: 0.6 s a call, of which the operator registry (re-parsed from torchlib) takes two
thirds and walking all composite operators of the dispatcher, fifty times over, another sixth. Each is kept under a key
that holds everything it depends on, so that an operator or decomposition registered by a case is seen as it would be
without us. Nothing else of torch is touched; where a release has not the function, nothing is done.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
import sys
import textwrap
from typing import Any, Dict, FrozenSet, Iterator, List, Set, Tuple


def keep_constant_results() -> None:
    """Replace the functions in this process; their results stay what they were."""
    _keep_registered_symbolics()
    _skip_splitting_nothing()
    _keep_registries()
    _keep_materialised_operators()
    _keep_decomposition_table()
    _skip_annotations()
    _keep_overrides()


def _keep_registered_symbolics() -> None:
    """Up to 1.12, every node of every graph walks all symbolic functions of its opset again to register them."""
    try:
        from torch.onnx import symbolic_registry

        register = symbolic_registry.register_ops_in_version
    except (ImportError, AttributeError):
        return
    done: Set[Tuple[str, int]] = set()

    def register_once(domain: str, version: int) -> None:
        if (domain, version) not in done:
            register(domain, version)
            done.add((domain, version))

    symbolic_registry.register_ops_in_version = register_once


def _skip_splitting_nothing() -> None:
    """``_split_tensor_list_constants`` asks every node in Python, a tenth of a TorchScript export.

    It changes a graph only where a constant is a list of tensors; whether one is, is asked of the constants alone.
    """
    for name in ("torch.onnx._internal.torchscript_exporter.utils", "torch.onnx.utils"):
        with contextlib.suppress(ImportError, AttributeError):  # from 1.6 on; moved in 2.9
            _skip_splitting_nothing_in(importlib.import_module(name))
            return


def _skip_splitting_nothing_in(module: Any) -> None:
    split, holds_list = module._split_tensor_list_constants, module._is_constant_tensor_list

    def split_if_any(graph: Any, block: Any) -> None:
        # the function calls itself by this name for the blocks of a loop, which are no graphs
        if block is not graph or any(map(holds_list, graph.findAllNodes("prim::Constant"))):
            split(graph, block)

    module._split_tensor_list_constants = split_if_any


def _keep_registries() -> None:
    """``ONNXRegistry.from_torchlib``: build each opset's registry once, hand out copies.

    It takes torchlib's functions for the operators that exist: torchvision's are among them once that is imported.
    """
    try:
        from torch.onnx._internal.exporter import _registration
    except ImportError:  # before 2.5
        return
    build = _registration.ONNXRegistry.from_torchlib
    kept: Dict[Any, Any] = {}

    def from_torchlib(*args: Any, **kwargs: Any) -> Any:
        key = (_read_operator_names(len(sys.modules)), args, tuple(sorted(kwargs.items())))
        if key not in kept:
            kept[key] = build(*args, **kwargs)
        registry = copy.copy(kept[key])
        registry.functions = {target: list(found) for target, found in kept[key].functions.items()}
        return registry

    _registration.ONNXRegistry.from_torchlib = staticmethod(from_torchlib)


@functools.lru_cache(maxsize=1)
def _read_operator_names(modules: int) -> FrozenSet[str]:  # noqa: ARG001  # the key of what is kept
    """The operators that exist: read (4 ms) where the number of modules has changed, for an import brings more."""
    import torch

    return frozenset(torch._C._dispatch_get_all_op_names())


def _keep_materialised_operators() -> None:
    """``_materialize_cpp_cia_ops`` looks every composite operator up; looking the same ones up again does nothing."""
    try:
        from torch._export import utils

        materialise = utils._materialize_cpp_cia_ops
    except (ImportError, AttributeError):
        return
    done: List[Tuple[str, ...]] = []

    def materialise_new() -> None:
        names = _read_composite_operators()
        if done[-1:] != [names]:
            materialise()
            done[:] = [names]

    utils._materialize_cpp_cia_ops = materialise_new


def _keep_decomposition_table() -> None:
    """``create_onnx_friendly_decomposition_table``: one table for each set of operators and decompositions."""
    try:
        from torch.onnx._internal.exporter import _decomp

        create = _decomp.create_onnx_friendly_decomposition_table
    except (ImportError, AttributeError):
        return
    import torch

    kept: Dict[Any, Any] = {}

    def create_once(registered: Any) -> Any:
        known = frozenset(torch._decomp.decomposition_table)
        key = (frozenset(registered), _read_composite_operators(), known)
        if key not in kept:
            kept[key] = create(registered)
        return dict(kept[key])

    _decomp.create_onnx_friendly_decomposition_table = create_once


def _skip_annotations() -> None:
    """``py_impl`` is called ten thousand times an export, and evaluates its inner function's annotations each time.

    The same source is compiled again with annotations left as text (PEP 563); nothing reads them.
    """
    try:
        import torch._ops

        owner = torch._ops.OperatorBase
        source = textwrap.dedent(inspect.getsource(owner.py_impl))
    except (ImportError, AttributeError, OSError, TypeError):
        return
    code = compile(source, torch._ops.__file__, "exec", annotations.compiler_flag, True)
    made: Dict[str, Any] = {}
    exec(code, vars(torch._ops), made)
    owner.py_impl = made["py_impl"]


class _Override:
    """What an operator's tables hold within ``_override_composite_implicit_decomp``, and what they held before."""

    def __init__(self, operator: Any, before: Dict[Any, Any], fake: Any) -> None:
        self.before = before
        self.within = dict(operator.py_kernels)
        #: its rule for fake tensors where the override made one, else None
        self.fake = fake

    def serves(self, operator: Any, has_rule: bool) -> bool:
        """Whether the operator stands where it stood when this was noted."""
        return operator.py_kernels == self.before and has_rule == (self.fake is None)


def _keep_overrides() -> None:
    """``_override_composite_implicit_decomp`` registers 21 kernels for each of 270 operators, twice a decomposition.

    They are the same every time: noted at the first, put in place again later, a dictionary for each operator. An
    operator whose tables differ from those that were noted goes through torch's own function.
    """
    try:
        from torch._subclasses import fake_impls
        from torch.export import exported_program

        override = exported_program._override_composite_implicit_decomp
        rules, forget = fake_impls.op_implementations_dict, exported_program._deregister_op_impl
        exported_program._is_op_registered_to_fake_rule  # noqa: B018  # the releases that have it ask as is asked here
    except (ImportError, AttributeError):  # a release without it
        return
    if len(inspect.signature(override).parameters) != 1:  # 2.6 and 2.7 can be told to be less strict
        return
    kept: Dict[Tuple[Any, Any], _Override] = {}

    @contextlib.contextmanager
    def override_again(callables: Dict[Any, Any]) -> Iterator[None]:
        known: Dict[Any, _Override] = {}
        for operator, decomposition in callables.items():
            noted = kept.get((operator, decomposition))
            if noted is not None and noted.serves(operator, operator in rules):
                known[operator] = noted
        new = {operator: how for operator, how in callables.items() if operator not in known}
        before = {operator: (dict(operator.py_kernels), operator in rules) for operator in new}
        with override(new):
            for operator, (kernels, had_rule) in before.items():
                fake = None if had_rule else rules[operator]
                kept[operator, new[operator]] = _Override(operator, kernels, fake)
            for operator, noted in known.items():
                _replace_kernels(operator, noted.within)
                if noted.fake is not None:
                    rules[operator] = noted.fake
            try:
                yield
            finally:
                for operator, noted in known.items():
                    _replace_kernels(operator, noted.before)
                    forget(operator)

    exported_program._override_composite_implicit_decomp = override_again


def _replace_kernels(operator: Any, kernels: Dict[Any, Any]) -> None:
    operator.py_kernels.clear()
    operator.py_kernels.update(kernels)
    operator._dispatch_cache.clear()


def _read_composite_operators() -> Tuple[str, ...]:
    import torch

    return tuple(torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"))
