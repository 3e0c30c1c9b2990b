"""The rules: which ONNX operator an operator becomes, and from which opset."""

from torch import _era
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
#: what a user registered, by operator
_custom = {}


def mode_of(model):
    return "script" if type(model).__name__ == "ScriptModule" else "trace"


def opset(asked, mode):
    """The opset of the file. Dynamo writes 8 where less is asked for: it has no converter below."""
    if mode == "dynamo":
        return max(_era.DYNAMO_OPSET if asked is None else asked, 8)
    low, high = _era.OPSETS
    if asked is not None and not low <= asked <= high:
        raise ValueError("Unsupported ONNX opset version: {}".format(asked))
    return high if asked is None else asked


def register_custom_op_symbolic(name, rule, opset_version):
    operator = name.split("::")[1]
    if operator not in KERNELS:
        raise ValueError("no operator {}".format(name))
    _custom[operator] = (opset_version, rule)


def unregister_custom_op_symbolic(name, opset_version):
    del _custom[name.split("::")[1]]


def rule(operator, mode, version):
    """The rule of an operator. Raises :class:`UnsupportedOperatorError` in the words of the real one."""
    rules = DYNAMO_RULES if mode == "dynamo" else dict(RULES, **_custom)
    since, found = rules.get(operator, (None, None))
    if since is not None and since <= version:
        return found
    hint = "" if since is None else " Support for this operator was added in version {}.".format(since)
    raise UnsupportedOperatorError(
        "Exporting the operator {} to ONNX opset version {} is not supported.{}".format(operator, version, hint)
    )
