"""Scalars made in forward: their device and dtype."""

import torch

from caniexport import Case, fix, values

_INDICES = (
    (values([[-3, -1, 0, 2, 5, 9]], "int64"),),
    (values([[7, -2, 6, -9, 3, 0]], "int64"),),
    (values([[-1, 1, -4, 4, 8, 6], [0, -5, 2, 12, -1, 3]], "int64"),),
)
_FLOATS = (
    (values([[-3.5, -1.0, 0.0, 2.0, 5.5, 9.0]]),),
    (values([[7.0, -2.5, 6.0, -9.0, 3.5, 0.5]]),),
    (values([[-1.0, 1.0, -4.0, 4.0, 8.0, 6.0], [0.0, -5.0, 2.0, 12.0, -1.0, 3.5]]),),
)


class WhereDeviceMismatch(Case):
    """torch.where with torch.tensor(0) made in forward: fails with indices on a GPU.

    The scalar is on the CPU, the indices are on the GPU. On the CPU the devices do not differ and the export works. The
    workarounds are measured there.
    """

    sources = ("seed:004",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where",)
    inputs = _INDICES
    dynamic = {"x0": {0: "batch"}}

    def forward(self, x0):
        return torch.where(x0 < 0, torch.tensor(0), x0)

    @fix("rewrite", "move the scalar to the device of the tensor", documented=False)
    def scalar_to_tensor_device(self, x0):
        return torch.where(x0 < 0, torch.tensor(0).to(x0.device), x0)

    @fix(
        "rewrite", "use clamp, without a second tensor; ONNX's Clip accepts integers from opset 12 on", documented=False
    )
    def clamp(self, x0):
        return x0.clamp(min=0)

    @fix("rewrite", "use new_zeros of the tensor; it has the tensor's device and dtype", documented=False)
    def new_zeros(self, x0):
        return torch.where(x0 < 0, x0.new_zeros(()), x0)

    @fix("rewrite", "use zeros_like of the tensor; it has the tensor's device and dtype", documented=False)
    def zeros_like(self, x0):
        return torch.where(x0 < 0, torch.zeros_like(x0), x0)


class WhereDeviceGlobalChoice(Case):
    """Device chosen by torch.cuda.is_available(): CPU models fail on a GPU machine."""

    # the exported graphs differ on a machine with a GPU
    same_graph_as = ("where-device-mismatch",)
    sources = ("seed:004",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where",)
    inputs = _INDICES
    dynamic = {"x0": {0: "batch"}}

    def forward(self, x0):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.where(x0 < 0, torch.tensor(0).to(device), x0)

    @fix("rewrite", "use the device of the tensor", documented=False)
    def device_of_the_tensor(self, x0):
        return torch.where(x0 < 0, torch.tensor(0).to(x0.device), x0)


class WhereIntScalarDtype(Case):
    """torch.where with an int64 scalar and a float tensor: an error in older torch.

    Later releases promote the types.
    """

    sources = ("seed:004",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where", "Cast")
    inputs = _FLOATS
    dynamic = {"x0": {0: "batch"}}

    def forward(self, x0):
        return torch.where(x0 < 0, torch.tensor(0), x0)

    def reference(self, x0):
        return x0.clamp(min=0)

    @fix("rewrite", "use zeros_like of the tensor; it has the tensor's dtype and device", documented=False)
    def zeros_like(self, x0):
        return torch.where(x0 < 0, torch.zeros_like(x0), x0)

    @fix("rewrite", "use new_zeros of the tensor; one scalar of its dtype", documented=False)
    def new_zeros(self, x0):
        return torch.where(x0 < 0, x0.new_zeros(()), x0)

    @fix("rewrite", "set the dtype of the scalar", documented=False)
    def scalar_of_the_same_dtype(self, x0):
        return torch.where(x0 < 0, torch.tensor(0, dtype=x0.dtype), x0)
