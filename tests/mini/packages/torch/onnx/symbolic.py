"""The rules: which ONNX operator an operator becomes, and from which opset."""

from torch import _era
from torch.onnx import symbolic_registry
from torch.tensor import KERNELS


class OnnxExporterError(RuntimeError):
    """Base of the exporter's errors."""


class UnsupportedOperatorError(OnnxExporterError):
    """No rule for an operator at the opset."""


def _one(onnx_operator):
    return lambda graph, *operands: graph.op(onnx_operator, *operands)


def _cube(graph, x):
    return graph.op("Mul", graph.op("Mul", x, x), x)


#: operator -> (from opset, rule)
RULES = {
    "abs": (6, _one("Abs")),
    "add": (7, _one("Add")),
    "cos": (7, _one("Cos")),
    "mul": (7, _one("Mul")),
    "neg": (6, _one("Neg")),
    "relu": (6, _one("Relu")),
    "round": (11, _one("Round")),
    "select": (1, _one("Gather")),
    "sign": (9, _one("Sign")),
}
#: what the dynamo exporter has besides
DYNAMO_RULES = dict(RULES, cube=(7, _cube))


def mode_of(model):
    return "script" if type(model).__name__ == "ScriptModule" else "trace"


def opset(asked, mode):
    """The opset of the file. Dynamo has a lowest one, which it writes where less is asked for without a word."""
    if mode == "dynamo":
        return max(asked or 0, _era.DYNAMO_OPSET)
    low, high = _era.OPSETS
    if asked is not None and not low <= asked <= high:
        raise ValueError(f"Unsupported ONNX opset version: {asked}")
    return high if asked is None else asked


def register_custom_op_symbolic(name, rule, opset_version):
    operator = name.split("::")[1]
    if operator not in KERNELS:
        raise ValueError(f"no operator {name}")
    symbolic_registry.table("mini", opset_version)[operator] = rule


def unregister_custom_op_symbolic(name, opset_version):
    del symbolic_registry.table("mini", opset_version)[name.split("::")[1]]


def rule(operator, mode, version):
    """The rule of an operator. Raises :class:`UnsupportedOperatorError` in the words of the real one."""
    rules = DYNAMO_RULES if mode == "dynamo" else dict(RULES, **symbolic_registry.rules())
    since, found = rules.get(operator, (None, None))
    if since is not None and since <= version:
        return found
    hint = "" if since is None else f" Support for this operator was added in version {since}."
    raise UnsupportedOperatorError(
        f"Exporting the operator {operator} to ONNX opset version {version} is not supported.{hint}"
    )
