"""What an exporter cannot follow: branches on values, calculations with sizes, autograd functions, dictionaries; and
branches on exporting that do without them.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from caniexport.scan.branches import ends
from caniexport.scan.files import ParsedFile
from caniexport.scan.gates import dotted
from caniexport.scan.project import is_test
from caniexport.scan.site import Site, SiteKind, site_at
from caniexport.scan.wording import last_name

_SCRIPTED = (("branch-on-value", "script_first"),)
_INLINED = (("route-autograd-function-symbolic", "inlined"),)
_NO_DICTIONARY = (("dict-as-output", "?"),)
_NO_VALUES = (("branch-on-value", "?"),)

Block = Sequence[ast.stmt]
#: the side of a branch that is taken while exporting, and the other one
Sides = tuple[Block, Block]


def left_out(source: ParsedFile, branch: ast.If, sides: Sides, autograd: Collection[str]) -> Iterator[Site]:
    """What one side of a branch on tracing or exporting does without: an autograd function that the other one applies,
    a dictionary that it gives back.
    """
    exported, other = sides
    if not exported or isinstance(exported[0], ast.Raise):
        return
    applied = _applied(other) & set(autograd)
    if applied and not _applied(exported):
        told = "a branch that leaves out an autograd function"
        yield site_at(source, branch, SiteKind.STATED, name=min(applied), fixes=_INLINED, told=told)
    if (
        _gives_dictionary(other)
        and not _gives_dictionary(exported)
        and exported
        and ends(exported)
        and not is_test(source.path)
    ):
        told = "a branch that gives back no dictionary"
        yield site_at(source, branch, SiteKind.STATED, fixes=_NO_DICTIONARY, told=told)


def unasked(source: ParsedFile, branch: ast.If, sides: Sides) -> Iterator[Site]:
    """A branch on tracing or exporting that asks no computed value where the other one branches on it."""
    test, (exported, other) = branch.test, sides
    skipped = isinstance(test, ast.BoolOp) and len(test.values) == 2 and _asks_values([test])
    if (skipped or (not exported and _only_checks_values(other))) and not is_test(source.path):
        told = "a branch that asks no computed values"
        yield site_at(source, branch, SiteKind.STATED, fixes=_NO_VALUES, told=told)


def scripted(source: ParsedFile, function: ast.FunctionDef) -> Iterator[Site]:
    """A function that is scripted where it is traced, and has what a tracer bakes."""
    if _is_scripted_for_values(function) and not is_test(source.path):
        yield site_at(source, function, SiteKind.STATED, fixes=_SCRIPTED, told="its being scripted where it is traced")


def _applied(block: Iterable[ast.stmt]) -> set[str]:
    """The names before ``.apply(…)`` in a block."""
    calls = (dotted(item.func) for node in block for item in ast.walk(node) if isinstance(item, ast.Call))
    return {name.split(".")[-2] for name in calls if name.endswith(".apply") and name.count(".")}


#: functions and methods of tensors whose answer a branch may ask for
_VALUES = frozenset("any all item equal allclose isnan isinf is_nonzero count_nonzero".split())


def _asks_values(tests: Iterable[ast.AST]) -> bool:
    """Whether tests ask for values that are computed from tensors: ``torch.any(x)``, ``mask.all()``."""
    calls = (item.func for test in tests for item in ast.walk(test) if isinstance(item, ast.Call))
    asked = (item for item in calls if isinstance(item, ast.Attribute) and item.attr in _VALUES)
    return any(dotted(item).split(".")[0] not in ("np", "numpy", "math") for item in asked)


def _only_checks_values(block: Sequence[ast.AST]) -> bool:
    """Whether a block only branches on values, or asserts them."""
    return bool(block) and all(isinstance(item, ast.If | ast.Assert) and _asks_values([item.test]) for item in block)


def _gives_dictionary(block: Sequence[ast.stmt]) -> bool:
    """Whether a block ends by giving back a dictionary."""
    last = block[-1] if block else None
    given = last.value if isinstance(last, ast.Return) else None
    return isinstance(given, ast.Dict) or (isinstance(given, ast.Call) and dotted(given.func) == "dict")


def _is_scripted_for_values(function: ast.FunctionDef) -> bool:
    """Whether a function is scripted where it is traced, and has what a tracer bakes: a branch on values, or a
    calculation with sizes.
    """
    scripted = any(last_name(decorator).endswith("script_if_tracing") for decorator in function.decorator_list)
    return scripted and (_branches_on_values(function) or _computes_with_sizes(function))


def _computes_with_sizes(function: ast.FunctionDef) -> bool:
    """Whether a function calculates with the size of an axis: ``time % x.shape[2]``, ``y.size(1) - n``."""
    names = {
        target.id
        for item in ast.walk(function)
        if isinstance(item, ast.Assign) and _is_size(item.value)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    sums = (item for item in ast.walk(function) if isinstance(item, ast.BinOp | ast.Compare))
    parts = (part for item in sums for part in ast.walk(item))
    return any(_is_size(part) or (isinstance(part, ast.Name) and part.id in names) for part in parts)


def _is_size(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return last_name(node.value) == "shape"
    return isinstance(node, ast.Call) and last_name(node.func) == "size" and bool(node.args)


def _branches_on_values(function: ast.FunctionDef) -> bool:
    """Whether a function has a branch on values that are computed."""
    tests = (item.test for item in ast.walk(function) if isinstance(item, ast.If | ast.While))
    calls = (item for test in tests for item in ast.walk(test) if isinstance(item, ast.Call))
    return any(
        last_name(call.func) in ("any", "all", "max", "min", "sum", "item", "equal", "allclose") for call in calls
    )
