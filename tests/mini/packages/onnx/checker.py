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


class InferenceError(ValueError):
    """The shapes in the model are not those that are inferred."""


def check_model(model, full_check=False):
    """Raises :class:`ValidationError` for an operator that the opset does not have.

    Raises :class:`InferenceError` for a Sign where asked to be strict: the runtime takes it all the same.
    """
    version = next(item.version for item in model.opset_import if item.domain == "")
    for node in model.graph.node:
        if OPERATORS.get(node.op_type, version + 1) > version:
            raise ValidationError(f"No Op registered for {node.op_type} with domain_version of {version}")
    if full_check and any(node.op_type == "Sign" for node in model.graph.node):
        raise InferenceError("(op_type:Sign): Inferred shape and existing shape differ")
