"""Vector geometry: cross products."""

import torch

from harness.worker.case import Case, Claim, fix
from harness.worker.tensors import f32


class CrossNoSymbolic(Case):
    """torch.cross has no ONNX rule in the TorchScript exporter of its time."""

    records = ("cross-no-symbolic", "cross-stack-rewrite-equal")
    sources = ("seed:000", "onnx/onnx#2683")
    aten_ops = ("aten::cross", "aten::linalg_cross")
    inputs = (
        (f32(2, 3, 5, 5), f32(2, 3, 5, 5)),
        (f32(2, 3, 5, 5), f32(2, 3, 5, 5)),
        (f32(3, 3, 5, 5), f32(3, 3, 5, 5)),
    )
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}
    claims = (
        Claim(
            "seed:000",
            "export at opset 14 is refused",
            torch="==1.10.*",
            opset=14,
            status="fail",
            stage="export",
            message="Exporting the operator cross to ONNX opset version 14 is not supported",
        ),
    )

    def forward(self, x, y):
        return torch.cross(x, y, dim=1)

    @fix("rewrite", "three slice products, stacked on the dim they were taken from")
    def stack_rewrite(self, x, y):
        x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]
        y0, y1, y2 = y[:, 0], y[:, 1], y[:, 2]
        return torch.stack((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0), dim=1)
