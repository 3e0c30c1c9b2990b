"""Canaries: three cases with a known outcome. A run in which one of them differs proves nothing."""

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
    """Canary: an addition that every exporter writes at every opset."""


@contextmanager
def broken_export(_opset):
    raise RuntimeError("canary: this export always fails")
    yield


class CanaryFail(_Canary):
    """Canary: an export that always fails."""

    patch = staticmethod(broken_export)


class CanaryMismatch(_Canary):
    """Canary: values that are always wrong, because the reference is larger by one."""

    def reference(self, x, y):
        return x + y + 1.0
