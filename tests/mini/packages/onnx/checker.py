"""The checker: every operator must be known at the model's opset."""

#: operator -> the opset that introduced it
OPERATORS = {
    "Abs": 6,
    "Add": 7,
    "Cos": 7,
    "Gather": 1,
    "Identity": 1,
    "Mul": 7,
    "Neg": 6,
    "Relu": 6,
    "Round": 11,
    "Sign": 9,
}


class ValidationError(ValueError):
    """The model breaks the specification."""


def check_model(model, full_check=False):
    """Raises :class:`ValidationError` for an operator that the opset does not have."""
    version = next(item.version for item in model.opset_import if item.domain == "")
    for node in model.graph.node:
        if OPERATORS.get(node.op_type, version + 1) > version:
            raise ValidationError(f"No Op registered for {node.op_type} with domain_version of {version}")
