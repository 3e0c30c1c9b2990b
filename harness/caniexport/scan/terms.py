"""The normal form of code: what an expression computes, whatever its names, its order and its spelling.

A :class:`CodeTerm` is an operator over terms. Variables that hold an expression are replaced by it, a subtraction is a
sum with a negated part, a quotient a product with a reciprocal; ``x.pow(2)``, ``x ** 2``, ``torch.square(x)`` and
``x * x`` are one, and so are a method, a function and a module of one operator. What does not change the values
(devices, axes, types of intermediate values, copies) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

#: parts of a sum or product, and values after branches, above which it stands for itself no more
_PARTS, _CHOICES = 32, 6
VARIABLE, CONSTANT = "?", "="
#: one of two values, after a branch
EITHER = "|"


class CodeTerm:
    """An operator over terms. ``ops`` has a bit for each operator in it, ``line`` is where it was written."""

    __slots__ = ("args", "line", "name", "op", "ops", "order", "size", "weight")

    def __init__(self, op: str, args: tuple[CodeTerm, ...], name: str, line: int, ops: int) -> None:
        self.op, self.args, self.name, self.line, self.ops = op, args, name, line, ops
        self.size: int = 1 + sum(item.size for item in args)
        #: how many operators it has
        self.weight: int = (op not in (VARIABLE, CONSTANT)) + sum(item.weight for item in args)
        self.order: tuple[str, str, int] = (op, name if op == CONSTANT else "", self.size)

    def below(self) -> Iterator[CodeTerm]:
        """This term and those in it, each once."""
        return unique([self])


def unique(terms: Iterable[CodeTerm]) -> Iterator[CodeTerm]:
    """These terms and those in them, each once."""
    seen: set[int] = set()
    left = list(terms)
    while left:
        term = left.pop()
        if id(term) not in seen:
            seen.add(id(term))
            yield term
            left.extend(term.args)


def text(term: CodeTerm) -> str:
    """A term as a line, its variables named in their order: equal lines mean equal terms."""
    names: dict[int, str] = {}

    def told(item: CodeTerm) -> str:
        if item.op == VARIABLE:
            return names.setdefault(id(item), f"x{len(names)}")
        if item.op == CONSTANT:
            return item.name
        return f"{item.op}({','.join(map(told, item.args))})" if item.args else f"{item.op}()"

    return told(term)


_BITS: dict[str, int] = {}


def _bit(op: str) -> int:
    return 0 if op in (VARIABLE, CONSTANT) else 1 << _BITS.setdefault(op, len(_BITS))


_COMMUTING = frozenset({"add", "mul", "and", "or", "eq", "ne", "max", "min", "xor"})


@dataclass
class TermTable:
    """The terms of one function: equal ones are one object."""

    known: dict[tuple[str, str, tuple[int, ...]], CodeTerm] = field(default_factory=dict)
    variables: int = 0

    def make(self, op: str, args: Sequence[CodeTerm] = (), name: str = "", line: int = 0) -> CodeTerm:
        """The term, as it is given."""
        key = (op, name, tuple(map(id, args)))
        term = self.known.get(key)
        if term is None:
            ops = _bit(op)
            for item in args:
                ops |= item.ops
            term = self.known[key] = CodeTerm(op, tuple(args), name, line, ops)
        return term

    def variable(self, name: str = "") -> CodeTerm:
        """A value of which nothing is known; the same for the same name."""
        self.variables += not name
        return self.make(VARIABLE, name=name or f"#{self.variables}")

    def constant(self, value: object) -> CodeTerm:
        """A number, with four digits; a text."""
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return self.make(CONSTANT, name=repr(value)[:40])
        if isinstance(value, int | float):
            try:
                return self.make(CONSTANT, name=f"{float(value):.4g}")
            except OverflowError:
                return self.variable()
        return self.variable()

    def number(self, term: CodeTerm) -> float | None:
        """The number that a term is."""
        try:
            return float(term.name) if term.op == CONSTANT else None
        except ValueError:
            return None

    def operator(self, op: str, args: Sequence[CodeTerm], line: int = 0) -> CodeTerm:
        """The normal form of an operator over terms."""
        simple = _SIMPLE.get(op)
        if simple is not None and args:
            found = simple(self, list(args), line)
            if found is not None:
                return found
        if op in _COMMUTING:
            return self._joined(op, args, line)
        if op == EITHER:
            args = list(dict.fromkeys(part for item in args for part in (item.args if item.op == EITHER else (item,))))
            return self.variable() if len(args) > _CHOICES else self.make(op, args, line=line)
        return self.make(op, args, line=line)

    def _joined(self, op: str, args: Sequence[CodeTerm], line: int) -> CodeTerm:
        """A sum or product without brackets, its parts in order, its numbers together."""
        flat = [part for item in args for part in (item.args if item.op == op else (item,))]
        if len(flat) > _PARTS:
            return self.variable()
        if op in ("add", "mul"):
            flat = self._folded(op, flat)
            if len(flat) == 1:
                return flat[0]
        if op == "mul":
            if sum(item.op == "neg" for item in flat) % 2:
                return self.operator("neg", [self._joined(op, [_positive(item) for item in flat], line)], line)
            flat = [_positive(item) for item in flat]
            if len(flat) == 2 and flat[0] is flat[1]:
                return self.operator("pow", [flat[0], self.constant(2)], line)
        return self.make(op, sorted(flat, key=lambda item: item.order), line=line)

    def _folded(self, op: str, flat: Sequence[CodeTerm]) -> list[CodeTerm]:
        neutral = 0.0 if op == "add" else 1.0
        total, rest = neutral, []
        for item in flat:
            number = self.number(item)
            if number is None:
                rest.append(item)
            else:
                total = total + number if op == "add" else total * number
        return rest if total == neutral and rest else [*rest, self.constant(total)]


def _positive(term: CodeTerm) -> CodeTerm:
    return term.args[0] if term.op == "neg" else term


def _neg(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    (term,) = args[:1]
    number = table.number(term)
    if number is not None:
        return table.constant(-number)
    if term.op == "neg":
        return term.args[0]
    return table.make("neg", [term], line=line)


def _reciprocal(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    number = table.number(args[0])
    if number:
        return table.constant(1 / number)
    return table.make("recip", args[:1], line=line)


def _pow(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    number = table.number(args[1]) if len(args) > 1 else None
    if number == 0.5:
        return table.make("sqrt", args[:1], line=line)
    if number == 1:
        return args[0]
    return None


def _sub(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    return table.operator("add", [args[0], table.operator("neg", [args[1]], line)], line) if len(args) == 2 else None


def _div(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    return table.operator("mul", [args[0], table.operator("recip", [args[1]], line)], line) if len(args) == 2 else None


def _turned(op: str) -> Callable[[TermTable, list[CodeTerm], int], CodeTerm | None]:
    def turn(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
        return table.make(op, [args[1], args[0]], line=line) if len(args) > 1 else None

    return turn


def _masked_fill(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    return table.make("where", [args[1], args[2], args[0]], line=line) if len(args) > 2 else None


def _clamped(low: float | None, high: float | None) -> Callable[[TermTable, list[CodeTerm], int], CodeTerm | None]:
    def clamp(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
        bounds = [table.constant(low), table.constant(high)]
        given = list(args[1:3]) + bounds[len(args[1:3]) :]
        return table.make("clamp", [args[0], *given], line=line) if args else None

    return clamp


def _relu(low: float, high: float | None) -> Callable[[TermTable, list[CodeTerm], int], CodeTerm | None]:
    """``relu6(x, inplace)``: what is behind the first argument is no bound."""

    def clamp(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
        return table.make("clamp", [args[0], table.constant(low), table.constant(high)], line=line) if args else None

    return clamp


def _square(table: TermTable, args: list[CodeTerm], line: int) -> CodeTerm | None:
    return table.operator("pow", [args[0], table.constant(2)], line) if args else None


_SIMPLE: dict[str, Callable[[TermTable, list[CodeTerm], int], CodeTerm | None]] = {
    "neg": _neg, "recip": _reciprocal, "reciprocal": _reciprocal, "pow": _pow, "sub": _sub, "div": _div,
    "gt": _turned("lt"), "ge": _turned("le"), "masked_fill": _masked_fill, "relu6": _relu(0, 6),
    "hardtanh": _clamped(-1, 1), "relu": _relu(0, None), "clamp": _clamped(None, None),
    "clamp_min": _clamped(None, None), "square": _square,
    "rsqrt": lambda table, args, line: table.make("recip", [table.make("sqrt", args[:1], line=line)], line=line),
    "rsub": lambda table, args, line: _sub(table, args[1::-1], line),
}  # fmt: skip


def bits(ops: Iterable[str]) -> int:
    """A number with a bit for each of these operators."""
    total = 0
    for op in ops:
        total |= _bit(op)
    return total
