"""Claims of the documents about ONNX in general."""

import torch

from caniexport import Case, f32


class OnnxForSpeedClaim(Case):
    """Export to run without Python: a small network must export and run.

    The document's reason is speed, which has no pass or fail. Every row has seconds_run for a comparison.
    """

    sources = ("seed:004",)
    aten_ops = ("aten::conv2d", "aten::relu", "aten::max_pool2d", "aten::linear")
    onnx_ops = ("Conv", "Relu", "MaxPool", "Gemm")
    inputs = ((f32(2, 3, 8, 8),), (f32(2, 3, 8, 8),))

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.linear = torch.nn.Linear(64, 5)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.linear(x.view(x.size(0), -1))
