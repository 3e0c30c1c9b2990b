"""What users registered, kept where torch up to 1.12 keeps it: a table for each domain and opset."""

_registry = {}


def table(domain, opset):
    return _registry.setdefault((domain, opset), {})


def rules():
    """(from opset, rule) by operator."""
    return {name: (opset, rule) for (_, opset), rules in _registry.items() for name, rule in rules.items()}
