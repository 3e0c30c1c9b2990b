"""ReLU6 and scripting."""

import torch

from caniexport import Case, f32, fix


class ScriptedRelu6Twice(Case):
    """Two equal ReLU6 of one tensor, scripted: one is optimised away, said to be a wrong result."""

    sources = ("pytorch/pytorch#88072",)
    aten_ops = ("aten::hardtanh", "aten::relu", "aten::cat")
    onnx_ops = ("Clip", "Relu", "Concat")
    inputs = ((f32(2, 3, low=-9.0, high=9.0),), (f32(2, 3, low=-9.0, high=9.0),), (f32(5, 3, low=-9.0, high=9.0),))
    dynamic = {"x": {0: "rows"}}

    def setup(self):
        self.relu = torch.nn.ReLU()
        self.first = torch.nn.ReLU6()
        self.second = torch.nn.ReLU6()

    def forward(self, x):
        return torch.cat([self.relu(x), self.first(x), self.second(x)])

    trace = fix("export-option", "trace instead of script", exporter="torchscript-trace", documented=False)

    @fix("rewrite", "the second half copied from the first", documented=False)
    def copied(self, x):
        clipped = self.first(x)
        return torch.cat([self.relu(x), clipped, clipped])
