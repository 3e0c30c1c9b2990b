"""A function's source as terms: straight through its statements, each variable replaced by what it holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from caniexport.operators import operator_key
from caniexport.scan.terms import CONSTANT, EITHER, CodeTerm, TermTable

#: of an operator with these names the values are the first argument's
_TRANSPARENT = frozenset(
    "contiguous clone detach to float double half bfloat16 type type_as cpu cuda requires_grad_ view_as "
    "expand_as as_tensor identity checkpoint data astype".split()
)
_CASTS = {"int": "int32", "int32": "int32", "long": "int64", "int64": "int64", "bool": "bool"}
_FLOATS = frozenset({"float", "float16", "float32", "float64", "half", "double", "bfloat16"})
#: arguments that say where, along what or as what
_IGNORED_WORDS = frozenset(
    "dim keepdim axis dims device dtype out inplace size requires_grad keepdims layout pin_memory name".split()
)
#: operators whose numbers say along what or to which sizes
_ALONG = frozenset(
    "sum mean max min amax amin cumsum cumprod softmax log_softmax cat stack unbind argmax argmin sort topk any "
    "all unsqueeze squeeze transpose expand repeat repeat_interleave reshape view flatten narrow chunk split "
    "prod std var norm logsumexp gather scatter scatter_add index_select select roll flip cross unfold swapaxes "
    "movedim tile broadcast_to zeros ones full empty new_zeros new_ones new_full new_empty randn rand argsort "
    "cummax".split()
)
_RENAMED = {
    "view": "reshape", "flatten": "reshape", "unflatten": "reshape", "rearrange": "reshape", "swapaxes": "transpose",
    "t": "transpose", "T": "transpose", "mT": "transpose", "swapdims": "transpose", "concat": "cat",
    "concatenate": "cat", "hstack": "cat", "bmm": "matmul", "mm": "matmul", "mv": "matmul", "dot": "matmul",
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "clip": "clamp", "negative": "neg",
    "absolute": "abs", "fabs": "abs", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "not_equal": "ne", "split_with_sizes": "split", "tensor_split": "split", "tile": "repeat",
    "logical_and": "and", "bitwise_and": "and", "logical_or": "or", "bitwise_or": "or", "logical_not": "not",
    "bitwise_not": "not", "select_scatter": "index_put", "fill": "full_like", "masked_fill_": "masked_fill",
    "new_full": "full", "new_zeros": "zeros", "new_ones": "ones", "new_empty": "empty", "zeros_like": "zeros",
    "ones_like": "ones", "empty_like": "empty", "rand_like": "rand", "randn_like": "randn", "mod": "remainder",
    "amax": "max", "amin": "min", "float_power": "pow", "maximum": "max", "minimum": "min", "new_tensor": "tensor",
    "linalg_norm": "norm", "linalg_vector_norm": "norm", "vector_norm": "norm", "matrix_norm": "norm",
    "frobenius_norm": "norm", "linalg_cross": "cross", "__setitem__": "copy", "__getitem__": "index",
    "from_numpy": "tensor", "LongTensor": "tensor", "FloatTensor": "tensor", "Tensor": "tensor", "permute": "permute",
}  # fmt: skip
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide", ast.Mod: "remainder",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne", ast.Is: "is",
    ast.IsNot: "is", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip
#: what functions are looked up in, so that a name behind it is an operator's
_NAMESPACES = frozenset(
    "torch F nn np numpy math functional special linalg tensor fft jit Tensor onp TF _C jnp tnn th ops aten".split()
)
#: functions of one expression are looked into so deeply
_DEEPEST = 4
#: rounds of a loop that is read round by round
_ROUNDS = 8


@dataclass(frozen=True)
class Scope:
    """What a function sees beside its own names: functions of its file, and the modules that its class makes."""

    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    modules: Mapping[str, ast.Call] = field(default_factory=dict)


def functions(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, Scope]]:
    """Every function of a file, with what it sees."""
    known = {node.name: node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef)}
    yield from _below(tree, Scope(known))


def top_level(tree: ast.AST) -> tuple[Sequence[ast.AST], Scope]:
    """The statements of a file that are in no function, with what they see."""
    known = {node.name: node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef)}
    return getattr(tree, "body", ()), Scope(known)


def _below(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.FunctionDef, Scope]]:
    left = [(node, scope)]
    while left:
        parent, seen = left.pop()
        for child in statements(parent):
            inside = Scope(seen.functions, _modules(child)) if isinstance(child, ast.ClassDef) else seen
            if isinstance(child, ast.FunctionDef):
                yield child, seen
            left.append((child, inside))


def every_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node."""
    left = [node]
    while left:
        below = list(statements(left.pop()))
        yield from below
        left += below


def blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements below a node."""
    for node in (tree, *every_statement(tree)):
        yield from blocks_of(node)


def blocks_of(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements right below a node."""
    found = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return [block for block in found if isinstance(block, list) and block]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right below a node; expressions hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, name, ())


def _modules(made: ast.ClassDef) -> dict[str, ast.Call]:
    """By attribute: the call that makes it, in any method that is there to set up."""
    found = {}
    for method in made.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "setup", "build", "reset_parameters"):
            for node in ast.walk(method):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    for target in node.targets:
                        if isinstance(target, ast.Attribute):
                            found[target.attr] = node.value
    return found


@dataclass
class TermReader:
    """Reads one function. ``found`` are the terms of its statements; ``check`` is called for each of them."""

    scope: Scope = field(default_factory=Scope)
    table: TermTable = field(default_factory=TermTable)
    check: Callable[[], None] = lambda: None
    values: dict[str, CodeTerm] = field(default_factory=dict)
    found: list[CodeTerm] = field(default_factory=list)
    depth: int = 0
    local: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def read(self, statements: Sequence[ast.AST]) -> list[CodeTerm]:
        """The terms that these statements compute."""
        for statement in statements:
            self._statement(statement)
        return self.found

    def _statement(self, node: ast.AST) -> None:
        self.check()
        if isinstance(node, ast.FunctionDef):
            self.local[node.name] = node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        if isinstance(node, ast.Assign | ast.AnnAssign):
            self._assigned(node)
        elif isinstance(node, ast.AugAssign):
            value = self._binary(type(node.op), self.term(node.target), self.term(node.value), node.lineno)
            self.found.append(value)
            self._assign(node.target, value)
        else:
            self._compound(node)

    def _assigned(self, node: ast.Assign | ast.AnnAssign) -> None:
        if node.value is not None:
            value = self._kept(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assign(target, value)

    def _compound(self, node: ast.AST) -> None:
        """A statement with expressions and statements in it."""
        if isinstance(node, ast.For) and self._unrolled(node):
            return
        if isinstance(node, ast.For):
            self._assign(node.target, self.table.operator("each", [self.term(node.iter)], node.lineno))
        for name in ("value", "test", "exc"):
            inner = getattr(node, name, None)
            if isinstance(inner, ast.expr):
                self._changed(inner, self._kept(inner))
        for item in getattr(node, "items", ()):
            self._kept(item.context_expr)
        if isinstance(node, ast.If):
            self._branches(node)
        else:
            for child in statements(node):
                self._statement(child)

    def _unrolled(self, node: ast.For) -> bool:
        """Whether a loop goes over a few values that are written there; then each round is read."""
        rounds = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List) else []
        if not 1 < len(rounds) <= _ROUNDS or any(isinstance(item, ast.For | ast.While) for item in node.body):
            return False
        for value in rounds:
            self._assign(node.target, self.term(value))
            for child in node.body:
                self._statement(child)
        return True

    def _branches(self, node: ast.If) -> None:
        """Both branches, each from the values before; what they set otherwise is either afterwards."""
        before, ends = dict(self.values), []
        for block in (node.body, node.orelse):
            self.values = dict(before)
            for child in block:
                self._statement(child)
            if not block or not isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break):
                ends.append(self.values)
        self.values = dict(ends[0]) if ends else before
        for name, value in ends[1].items() if len(ends) > 1 else ():
            other = self.values.setdefault(name, value)
            if other is not value:
                self.values[name] = self.table.operator(EITHER, [other, value])

    def _kept(self, node: ast.expr) -> CodeTerm:
        term = self.term(node)
        self.found.append(term)
        return term

    def _changed(self, node: ast.expr, term: CodeTerm) -> None:
        """A statement that is a method with an underscore, or ``append``, changes the variable before the dot."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            name = node.func.attr
            if name == "append" and node.args:
                before = self.values.get(node.func.value.id)
                listed = before.args if before is not None and before.op == "list" else ()
                items = [*listed, self.term(node.args[0])]
                self.values[node.func.value.id] = self.table.operator("list", items, node.lineno)
            elif name.endswith("_") and not name.endswith("__"):
                self.values[node.func.value.id] = term

    def _assign(self, target: ast.AST, value: CodeTerm) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for number, item in enumerate(target.elts):
                self._assign(item, self._item(value, number, item.lineno))
        elif isinstance(target, ast.Subscript):
            written = self._written(target, value)
            self.found.append(written)
            if isinstance(target.value, ast.Name):
                self.values[target.value.id] = written
        elif isinstance(target, ast.Attribute):
            self.values[dotted(target)] = value

    def _written(self, target: ast.Subscript, value: CodeTerm) -> CodeTerm:
        places = [self._place(item) for item in _elements(target.slice)]
        indices = [item for item in places if item is not None]
        sliced = all(item.op in ("slice", "=") for item in indices)
        args = [self.term(target.value), *indices, value]
        if any(map(_is_text, indices)):
            return self.table.operator("write_key", args, target.lineno)
        return self.table.operator("write_slice" if sliced else "index_put", args, target.lineno)

    def _place(self, node: ast.expr) -> CodeTerm | None:
        """One element of a subscript; ``None`` for a whole axis."""
        if isinstance(node, ast.Slice):
            bounds = [node.lower, node.upper, node.step]
            if not any(bounds):
                return None
            return self.table.operator("slice", [self._optional(item) for item in bounds], node.lineno)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return None
        return self.term(node)

    def _optional(self, node: ast.expr | None) -> CodeTerm:
        return self.table.constant(None) if node is None else self.term(node)

    def term(self, node: ast.expr | None) -> CodeTerm:
        """What an expression computes."""
        self.check()
        if node is None:
            return self.table.constant(None)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            return self._unknown(node)
        found: CodeTerm = method(node)
        return found

    def _unknown(self, node: ast.expr) -> CodeTerm:
        inner = [self.term(item) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr)]
        return self.table.operator(type(node).__name__.lower(), inner, node.lineno)

    def _constant(self, node: ast.Constant) -> CodeTerm:
        return self.table.constant(node.value)

    def _name(self, node: ast.Name) -> CodeTerm:
        return self.values.get(node.id) or self.table.variable(node.id)

    def _attribute(self, node: ast.Attribute) -> CodeTerm:
        name = dotted(node)
        if name in self.values:
            return self.values[name]
        if node.attr in ("T", "mT"):
            return self.table.operator("transpose", [self.term(node.value)], node.lineno)
        if node.attr == "shape":
            return self.table.operator("size", [self.term(node.value)], node.lineno)
        if node.attr == "data":
            return self.term(node.value)
        if name:
            return self.table.variable(name)
        return self.table.operator(f".{node.attr}", [self.term(node.value)], node.lineno)

    def _binop(self, node: ast.BinOp) -> CodeTerm:
        return self._binary(type(node.op), self.term(node.left), self.term(node.right), node.lineno)

    def _binary(self, how: type[ast.operator], left: CodeTerm, right: CodeTerm, line: int) -> CodeTerm:
        return self.table.operator(_BINARY[how], [left, right], line)

    def _unaryop(self, node: ast.UnaryOp) -> CodeTerm:
        term = self.term(node.operand)
        if isinstance(node.op, ast.UAdd):
            return term
        name = "neg" if isinstance(node.op, ast.USub) else "not" if isinstance(node.op, ast.Invert) else "never"
        return self.table.operator(name, [term], node.lineno)

    def _boolop(self, node: ast.BoolOp) -> CodeTerm:
        name = "both" if isinstance(node.op, ast.And) else "either"
        return self.table.operator(name, [self.term(item) for item in node.values], node.lineno)

    def _compare(self, node: ast.Compare) -> CodeTerm:
        terms = [self.term(item) for item in (node.left, *node.comparators)]
        parts = [
            self.table.operator(_COMPARED[type(how)], [left, right], node.lineno)
            for how, left, right in zip(node.ops, terms, terms[1:], strict=False)
        ]
        return parts[0] if len(parts) == 1 else self.table.operator("both", parts, node.lineno)

    def _ifexp(self, node: ast.IfExp) -> CodeTerm:
        return self.table.operator("choice", [self.term(node.test), self.term(node.body), self.term(node.orelse)])

    def _tuple(self, node: ast.Tuple | ast.List) -> CodeTerm:
        return self.table.operator("list", [self.term(item) for item in node.elts], node.lineno)

    _list = _tuple

    def _starred(self, node: ast.Starred) -> CodeTerm:
        return self.term(node.value)

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> CodeTerm:
        before = dict(self.values)
        for part in node.generators:
            self._assign(part.target, self.table.operator("each", [self.term(part.iter)], node.lineno))
        found = self.table.operator("list", [self.term(node.elt)], node.lineno)
        self.values = before
        return found

    _generatorexp = _listcomp

    def _lambda(self, node: ast.Lambda) -> CodeTerm:
        before = dict(self.values)
        for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.values[item.arg] = self.table.variable()
        found = self.term(node.body)
        self.values = before
        return found

    def _subscript(self, node: ast.Subscript) -> CodeTerm:
        term, line = self.term(node.value), node.lineno
        indices = []
        for number, item in enumerate(_elements(node.slice)):
            place = self._place(item)
            if place is None:
                continue
            if place.op == "slice":
                term = self.table.operator("slice", [term, *place.args], line)
            elif place.op == "=" and place.name == "None":
                term = self.table.operator("unsqueeze", [term], line) if number else term
            elif place.op == "=":
                term = self._item(term, place.name, line)
            else:
                indices.append(place)
        return self.table.operator("index", [term, *indices], line) if indices else term

    def _item(self, term: CodeTerm, number: object, line: int) -> CodeTerm:
        """One element along an axis, by ``x[0]``, ``select``, or taking apart what ``unbind`` gives."""
        if term.op == "list" and isinstance(number, int) and number < len(term.args):
            return term.args[number]
        whole = term.args[0] if term.op == "unbind" else term
        made = self.table.constant(int(number)) if isinstance(number, int) else self.table.make("=", name=str(number))
        return self.table.operator("item", [whole, made], line)

    def _call(self, node: ast.Call) -> CodeTerm:
        function, line = node.func, node.lineno
        if isinstance(function, ast.Call):  # nn.AvgPool2d(2)(x)
            return self._applied(function, node)
        path = dotted(function)
        name = path.split(".")[-1] if path else getattr(function, "attr", "")
        module = self.scope.modules.get(name) if path.startswith("self.") else None
        if module is not None:
            return self._applied(module, node)
        own = self.local.get(name, self.scope.functions.get(name)) if isinstance(function, ast.Name) else None
        if own is not None and self.depth < _DEEPEST:
            inlined = self._inlined(own, node)
            if inlined is not None:
                return inlined
        first: list[CodeTerm] = []
        if isinstance(function, ast.Attribute) and not _is_namespace(path):
            first = [self.term(function.value)]
        if path.startswith("self.") and path.count(".") == 1:
            first = []
        args = first + [self.term(item) for item in node.args]
        words = {word.arg: self.term(word.value) for word in node.keywords if word.arg}
        return self._operator(name, args, words, line)

    def _applied(self, module: ast.Call, node: ast.Call) -> CodeTerm:
        """A module called: the operator of its class, what it is made with behind what it is given."""
        name = dotted(module.func).split(".")[-1]
        args = [self.term(item) for item in node.args]
        words = {word.arg: self.term(word.value) for word in module.keywords if word.arg}
        if "Pool" in name or name == "Hardtanh":
            args += [self.term(item) for item in module.args]
        return self._operator(name, args, words, node.lineno)

    def _inlined(self, function: ast.FunctionDef, node: ast.Call) -> CodeTerm | None:
        """What a short function of the same file returns; ``None`` where it has more than one end."""
        if function.name.startswith("__") or any(isinstance(item, ast.Starred) for item in node.args):
            return None
        ends = [item for item in ast.walk(function) if isinstance(item, ast.Return | ast.Yield | ast.If | ast.For)]
        if len(ends) != 1 or not isinstance(ends[0], ast.Return):
            return None
        names = [item.arg for item in function.args.args]
        values = dict(self.values) if function.name in self.local else {}
        values |= {name: self.term(item) for name, item in zip(names, node.args, strict=False)}
        values |= {word.arg: self.term(word.value) for word in node.keywords if word.arg}
        inner = TermReader(self.scope, self.table, self.check, values, depth=self.depth + 1)
        for statement in function.body:
            if isinstance(statement, ast.Return):
                return inner.term(statement.value)
            inner._statement(statement)
        return None

    def _operator(self, name: str, args: list[CodeTerm], words: dict[str, CodeTerm], line: int) -> CodeTerm:
        bare = name if name.startswith("__") or len(name) < 2 else name.removesuffix("_")
        if bare == "size":
            return self._size(args, line)
        if bare == "select" and len(args) > 2 and args[2].op == CONSTANT:
            return self._item(args[0], args[2].name, line)
        if bare in ("to", "type", "type_as", "int", "long", "bool", *_FLOATS) and args:
            return self._cast(bare, args, words, line)
        if bare in _TRANSPARENT and args:
            return args[0]
        plain = _RENAMED.get(bare, bare)
        return self._named(plain, args, words, line)

    def _named(self, name: str, args: list[CodeTerm], words: dict[str, CodeTerm], line: int) -> CodeTerm:
        for word in ("input", "tensors", "tensor", "self", "other", "mask", "value"):
            if word in words:
                args = [*args, words.pop(word)]
        key = name if name in _ALONG or name in _SHORT else _key(name)
        if name in ("clamp", "clamp_min", "hardtanh"):
            low, high = words.get("min", words.get("min_val")), words.get("max", words.get("max_val"))
            if low is not None or high is not None:
                nothing = self.table.constant(None)
                args = [*args[:1], low or (args[1] if len(args) > 1 else nothing), high or nothing]
            words = {}
        if name == "sum" and len(args) == 1 and args[0].op == "list" and len(args[0].args) > 1:
            return self.table.operator("add", args[0].args, line)
        if name == "sum" and len(args) == 1 and args[0].op == "list":
            return self.table.operator("add", [self.table.operator("each_of", args[0].args, line)], line)
        if (
            name == "unsqueeze"
            and args
            and self.table.number(args[-1] if len(args) > 1 else words.get("dim", args[0])) == 0
        ):
            return args[0]  # a new first axis is there for every operator that broadcasts
        if name in _ALONG:
            args = self._without_axes(name, args)
        more = [
            self.table.operator(f"{word}=", [term], line)
            for word, term in sorted(words.items())
            if (word not in _IGNORED_WORDS or (word == "dtype" and name == "tensor"))
            and not (term.op == "=" and term.name in ("None",))
        ]
        return self.table.operator(key, [*args, *more], line)

    def _without_axes(self, name: str, args: list[CodeTerm]) -> list[CodeTerm]:
        """The arguments without axes and sizes; a joined list as its parts."""
        if name == "cat" and args and args[0].op == "list":
            return [item.args[0] if item.op == "unsqueeze" else item for item in args[0].args]
        if name == "stack" and args and args[0].op == "list":
            return list(args[0].args)
        if name in ("gather", "scatter", "scatter_add", "index_select"):
            return [args[0], *(item for item in args[1:] if item.op != "=")] if args else args
        if name in ("zeros", "ones", "empty", "full", "rand", "randn", "arange"):
            return args[1:2] if name == "full" else []
        if name in ("max", "min") and len(args) > 1 and args[1].op != "=":
            return args
        return args[:1]

    def _size(self, args: list[CodeTerm], line: int) -> CodeTerm:
        whole = self.table.operator("size", args[:1], line)
        return whole if len(args) < 2 else self.table.operator("item", [whole, args[1]], line)

    def _cast(self, name: str, args: list[CodeTerm], words: dict[str, CodeTerm], line: int) -> CodeTerm:
        """Whole numbers and truth values are told apart; another float, a device, or the type of another are not."""
        wanted = words.get("dtype") or (args[1] if len(args) > 1 else None)
        kind = name if name in _CASTS else (wanted.name.split(".")[-1] if wanted is not None else "")
        kind = kind.strip("'\"")
        if kind in _CASTS:
            return self.table.operator(f"as_{_CASTS[kind]}", args[:1], line)
        return args[0]


#: names that are operators of Python, or that operator_key would join with others
_SHORT = frozenset(
    "and or not eq ne lt le gt ge add sub mul div pow neg recip floor_divide remainder where index item slice "
    "list size clamp relu relu6 hardtanh masked_fill rsqrt reciprocal square rsub clamp_min permute index_put "
    "tensor".split()
)
_KEYS: dict[str, str] = {}


def operator_of(name: str) -> str:
    """The operator's name in terms: of ``aten::index_put_``, ``torch.Tensor.expand``, ``GridSample``."""
    bare = re.split(r"::|\.", name.strip())[-1] if "::" in name or "." in name else name.strip()
    bare = bare if bare.startswith("__") or len(bare) < 2 else bare.removesuffix("_")
    plain = _RENAMED.get(bare, bare)
    return plain if plain in _ALONG or plain in _SHORT else _key(plain)


def _key(name: str) -> str:
    if name not in _KEYS:
        _KEYS[name] = operator_key(name) or name
    return _KEYS[name]


def _is_namespace(path: str) -> bool:
    parts = path.split(".")
    return len(parts) > 1 and parts[-2] in _NAMESPACES


def _is_text(term: CodeTerm) -> bool:
    """Whether it is a text, or made of one: the key of a dictionary."""
    if term.op == CONSTANT:
        return term.name[:1] in ("'", '"')
    return term.op == "joinedstr" or (term.op == "add" and any(map(_is_text, term.args)))


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def dotted(node: ast.AST) -> str:
    """``torch.onnx.export`` of a chain of names; empty where it begins with anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
