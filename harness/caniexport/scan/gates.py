"""A comparison with torch's version, in the forms that projects write it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from caniexport import versions
from caniexport.model.errors import UnknownName
from caniexport.scan.syntax import dotted

#: above any number of a version
_HIGHEST = 10**9
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_NAMED_OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_VERSION = re.compile(r"^\d+(\.\d+)*([._-]?(a|b|rc|dev|post)\d*)*$")
#: names that projects give torch's version
_VERSION_NAME = re.compile(r"^_?(py)?torch_?ver(sion)?(_(tuple|str|info|parsed))?$", re.IGNORECASE)
#: names that say what they compare: TORCH_1_11, is_torch_greater_or_equal_than_2_1, TORCH_GREATER_EQUAL_1_12_0
_FLAG_NAME = re.compile(
    r"^_?(?:is_)?(?:py)?torch_(?:version_)?(?P<how>ge|gte|greater_or_equal(?:_than)?|greater_equal|at_least|lt|less_than)?"
    r"_?(?P<version>\d+_\d+(?:_\d+)?)(?:_plus)?$",
    re.IGNORECASE,
)
#: WITH_PT112
_SHORT_FLAG = re.compile(r"^WITH_PT(?P<major>\d)(?P<minor>\d+)$")
#: torch_version_ge, pytorch_after, torch_version_is_greater_or_equal
_AT_LEAST = re.compile(r"torch.*(_ge|_gte|after|at_least|greater|since|newer)", re.IGNORECASE)
_PART_NAME = re.compile(r"^_?(py)?torch_?(version_?)?(?P<part>major|minor)$", re.IGNORECASE)
#: helpers that compare by themselves
_HELPERS = {
    **dict.fromkeys(("is_torch_less_or_equal", "obsolete_torch_version"), "<="),
    **dict.fromkeys(("is_torch_greater_or_equal", "is_torch_greater_or_equal_than", "torch_version_at_least"), ">="),
    **dict.fromkeys(("is_torch_version_at_least", "torch_version_ge", "check_version", "version_ge"), ">="),
}


#: what the text of every comparison with torch's version has, in small letters: its name, a helper's, or a version
_SIGNS = re.compile(
    r"__version__|torch_?ver|torch\w*(?:_ge|_less|after|at_least|greater|since|newer)|check_version|version_ge"
    rf"""|["']{_VERSION.pattern[1:-1]}["']"""
)


def may_compare(text: str) -> bool:
    """Whether a file may have a comparison with torch's version, or a name for that version."""
    return bool(_SIGNS.search(text.lower()))


@dataclass(frozen=True)
class Condition:
    """``torch <operator> version``. Only the first ``parts`` numbers of torch's version are compared; 0 for all."""

    operator: str
    version: str
    parts: int = 0

    @property
    def text(self) -> str:
        """``torch < 1.12``."""
        return f"torch {self.operator} {self.version}"

    @property
    def negated(self) -> Condition:
        """The opposite condition."""
        return replace(self, operator=_NEGATED[self.operator])

    def holds(self, torch: str) -> bool:
        """Return whether it is true for a release of torch."""
        have = versions.public(torch)
        if self.parts:
            have = ".".join(have.split(".")[: self.parts])
        compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
        left, right = versions.parse(have), versions.parse(self.version)
        return left != right if self.operator == "!=" else bool(compare[self.operator](left, right))


def conditions(test: ast.expr, known: Mapping[str, Condition], derived: frozenset[str]) -> list[Condition]:
    """Return the comparisons with torch's version in a test, in their order; ``not`` negates those below it.

    ``known`` are flags by name, ``derived`` the names that hold torch's version.
    """
    if isinstance(test, ast.BoolOp):
        split = _major_and_minor(test, derived)
        if split is not None:
            return [split]
        return [found for value in test.values for found in conditions(value, known, derived)]
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        sides = pairwise([test.left, *test.comparators])
        each = [ast.Compare(left, [how], [right]) for (left, right), how in zip(sides, test.ops, strict=True)]
        return [found for item in each for found in conditions(item, known, derived)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return [found.negated for found in conditions(test.operand, known, derived)]
    found = condition(test, known, derived)
    return [found] if found else []


def condition(node: ast.expr, known: Mapping[str, Condition], derived: frozenset[str]) -> Condition | None:
    """Return the condition that an expression is: a comparison, flag or helper; ``None`` for anything else."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return known.get(name) or _by_name(name)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node, derived)
    if isinstance(node, ast.Call):
        return _called(node, derived)
    return None


def _major_and_minor(test: ast.BoolOp, derived: frozenset[str]) -> Condition | None:
    """``v.major == 1 and v.minor < 10`` as ``torch < 1.10``."""
    if not isinstance(test.op, ast.And) or len(test.values) != 2:
        return None
    found: dict[str, tuple[str, object]] = {}
    for value in test.values:
        if not isinstance(value, ast.Compare) or len(value.ops) != 1:
            return None
        part, right = _part(value.left, derived), value.comparators[0]
        if not part or not isinstance(right, ast.Constant):
            return None
        found[part] = _OPERATORS.get(type(value.ops[0]), ""), right.value
    if set(found) != {"major", "minor"}:
        return None
    (how, major), (sign, minor) = found["major"], found["minor"]
    old, new = how == "==" and sign in ("<", "<="), how in ("==", ">=") and sign in (">", ">=")
    return _made(sign, f"{major}.{minor}", 2) if old or new else None


def _part(node: ast.expr, derived: frozenset[str]) -> str:
    """Of ``v.major``, ``TORCH_MINOR``: which number of torch's version it is."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    match = _PART_NAME.match(name)
    if match:
        return match["part"].lower()
    return name if isinstance(node, ast.Attribute) and holds_version(node, derived) else ""


def holds_version(node: ast.AST, derived: frozenset[str]) -> bool:
    """Whether an expression is made of torch's version."""
    return any(_is_version(part, derived) for part in ast.walk(node))


def _is_version(node: ast.AST, derived: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute):
        if node.attr == "__version__":
            return dotted(node.value) in ("torch", "torch.version", "torch.torch_version")
        return bool(_VERSION_NAME.match(node.attr))
    return isinstance(node, ast.Name) and (node.id in derived or bool(_VERSION_NAME.match(node.id)))


def _compared(node: ast.Compare, derived: frozenset[str]) -> Condition | None:
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(operator, ast.In) and isinstance(left, ast.Constant) and holds_version(right, derived):
        begun = _constant(left)  # "1.8" in torch.__version__
        return _made("==", begun.rstrip("."), begun.rstrip(".").count(".") + 1) if begun else None
    sign = _OPERATORS.get(type(operator))
    if sign is None:
        return None
    if holds_version(right, derived) and not holds_version(left, derived):
        left, right, sign = right, left, _TURNED[sign]
    elif not holds_version(left, derived):
        return None
    version = _constant(right)
    if version is None or _is_a_later_part(left):
        return None
    return _made(sign, version, _parts(left, right, version))


def _called(node: ast.Call, derived: frozenset[str]) -> Condition | None:
    name = dotted(node.func).split(".")[-1]
    arguments = node.args
    if name == "startswith" and isinstance(node.func, ast.Attribute) and holds_version(node.func.value, derived):
        text = _constant(arguments[0]) if arguments else None
        return _made("==", text.rstrip("."), text.rstrip(".").count(".") + 1) if text else None
    if _AT_LEAST.search(name) and (numbers := _numbers(arguments)):
        return _made(">=", numbers, 0)
    texts = [item.value for item in arguments if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    version = next((text for text in texts if _VERSION.match(text)), None)
    if version is None and name in _HELPERS:
        version = next(filter(None, map(_constant, arguments)), None)
    if version is None:
        return None
    named = [_NAMED_OPERATORS.get(item.attr) for item in arguments if isinstance(item, ast.Attribute)]
    signs = [text for text in texts if text in _TURNED] + [sign for sign in named if sign]
    sign = signs[0] if signs else None
    about_torch = "torch" in name.lower() or "torch" in texts or any(holds_version(item, derived) for item in arguments)
    if not about_torch or (sign is None and name not in _HELPERS):
        return None
    return _made(sign or _HELPERS[name], version, 0)


def _numbers(arguments: Sequence[ast.expr]) -> str:
    """``(1, 10)`` of ``pytorch_after(1, 10)``, as a version; empty for other arguments."""
    values = [item.value for item in arguments if isinstance(item, ast.Constant)]
    whole = len(values) == len(arguments) and all(type(value) is int and 0 <= value < _HIGHEST for value in values)
    return ".".join(map(str, values)) if whole and len(values) > 1 else ""


def _by_name(name: str) -> Condition | None:
    short = _SHORT_FLAG.match(name)
    if short:
        return _made(">=", f"{short['major']}.{short['minor']}", 0)
    match = _FLAG_NAME.match(name)
    if match is None:
        return None
    how = (match["how"] or "").lower()
    return _made("<" if how in ("lt", "less_than") else ">=", match["version"].replace("_", "."), 0)


def _made(sign: str, version: str, parts: int) -> Condition | None:
    try:
        versions.parse(version)
    except (UnknownName, ValueError):
        return None
    return Condition(sign, version, parts)


def _constant(node: ast.expr) -> str | None:
    """A version as text: ``"1.12"``, ``(1, 12)``, ``[1, 12]``, ``1.12``, or one of these in a call."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return None
        if isinstance(node.value, int) and abs(node.value) >= _HIGHEST:
            return None
        text = str(node.value) if isinstance(node.value, str | int | float) else ""
        return text if _VERSION.match(text.rstrip(".")) else None
    if isinstance(node, ast.Tuple | ast.List) and node.elts:
        numbers = [item.value for item in node.elts if isinstance(item, ast.Constant) and type(item.value) is int]
        whole = len(numbers) == len(node.elts) and all(abs(number) < _HIGHEST for number in numbers)
        return ".".join(map(str, numbers)) if whole else None
    if isinstance(node, ast.Call) and node.args:
        return _constant(node.args[0])
    return None


def _is_a_later_part(node: ast.expr) -> bool:
    """The second number alone, or a later one, says nothing without the first."""
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and item.attr in ("minor", "micro"):
            return True
        if isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant) and item.slice.value in (1, 2):
            return True
    return False


def _parts(left: ast.expr, right: ast.expr, version: str) -> int:
    """Numbers that are compared: those of a tuple, of ``split(".")[:2]``, of one number."""
    for node in ast.walk(left):
        if isinstance(node, ast.Attribute) and node.attr == "major":
            return 1
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Slice) and isinstance(node.slice.upper, ast.Constant):
                # of text, [:3] is «1.1» for 1.10 too: the numbers that are left decide
                return version.count(".") + 1
            if isinstance(node.slice, ast.Constant) and node.slice.value == 0 and isinstance(right, ast.Constant):
                return 1
    if isinstance(right, ast.Tuple | ast.List):
        return len(right.elts)
    return version.count(".") + 1 if isinstance(right, ast.Constant) and isinstance(right.value, float) else 0
