"""Canaries: three cases whose outcome is known beforehand. A run in which one of them surprises proves nothing."""

from contextlib import contextmanager

from caniexport import Case, f32


class _Canary(Case):
    corpus = "canary"
    sources = ("caniexport",)
    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    inputs = ((f32(2, 3), f32(2, 3)), (f32(2, 3), f32(2, 3)))

    def forward(self, x, y):
        return x + y


class CanaryPass(_Canary):
    """An addition, which every exporter writes at every opset."""


@contextmanager
def broken_export(_opset):
    raise RuntimeError("canary: this export always fails")
    yield


class CanaryFail(_Canary):
    """An export that always fails."""

    patch = staticmethod(broken_export)


class CanaryMismatch(_Canary):
    """A file whose values are always wrong: the reference they are held against is one larger."""

    def reference(self, x, y):
        return x + y + 1.0
