"""Exported control flow: scripted loops and branches, torch.cond."""

from typing import List, Optional

import torch

from caniexport import Case, f32, fix, values


class _Scripted(Case):
    exporters = ("torchscript-script",)
    needs_torch = ">=1.5"


class ScriptedAssignInLoop(_Scripted):
    """Slice assignment in a scripted loop over lengths: fails before torch 1.9."""

    sources = ("pytorch/pytorch#54297",)
    aten_ops = ("prim::Loop", "aten::copy_")
    onnx_ops = ("Loop", "ScatterND")
    inputs = (
        (f32(3, 5), values([1, 3, 5], "int64")),
        (f32(3, 5), values([5, 2, 4], "int64")),
        (f32(4, 5), values([2, 2, 1, 3], "int64")),
    )
    dynamic = {"x": {0: "rows"}, "lengths": {0: "rows"}}

    def forward(self, x, lengths):
        out = torch.zeros_like(x)
        for i, length in enumerate(lengths):
            out[i, : int(length)] = x[i, : int(length)]
        return out

    @fix("rewrite", "multiply by a mask of the positions below each length", documented=False)
    def masked(self, x, lengths):
        return x * (torch.arange(x.size(1)).unsqueeze(0) < lengths.unsqueeze(1)).to(x.dtype)


class ScriptedBranchAfterLstm(_Scripted):
    """Scripted module with an LSTM and a branch on an input: fails before torch 1.8."""

    sources = ("pytorch/pytorch#33495", "pytorch/pytorch#24235")
    aten_ops = ("aten::lstm", "prim::If")
    onnx_ops = ("LSTM", "If")
    inputs = ((f32(4, 2, 3), values(1, "int64")), (f32(4, 2, 3), values(0, "int64")))

    def setup(self):
        self.lstm = torch.nn.LSTM(3, 4)

    def forward(self, x, start):
        out = self.lstm(x)[0]
        if bool(start > 0):
            out = out + 1.0
        return out

    @fix("rewrite", "use torch.where on both results", documented=False)
    def where(self, x, start):
        out = self.lstm(x)[0]
        return torch.where(start > 0, out + 1.0, out)


class ScriptedOptionalInLoop(_Scripted):
    """Optional set in a scripted loop, None before: fails below opset 16."""

    sources = ("pytorch/pytorch#82589",)
    aten_ops = ("prim::Loop",)
    onnx_ops = ("Loop", "Optional")
    inputs = ((f32(2, 3), values(2, "int64")), (f32(2, 3), values(4, "int64")))

    def forward(self, x, n):
        y: Optional[torch.Tensor] = None
        for _ in range(int(n)):
            y = x if y is None else y + x
        assert y is not None
        return y

    @fix("rewrite", "use a tensor from the start", documented=False)
    def from_zeros(self, x, n):
        y = torch.zeros_like(x)
        for _ in range(int(n)):
            y = y + x
        return y


class ScriptedListOfFeatures(_Scripted):
    """Scripted module that collects features in a list: fails before torch 1.9."""

    sources = ("pytorch/pytorch#95964",)
    aten_ops = ("prim::ListConstruct", "aten::append")
    onnx_ops = ("SequenceConstruct", "SequenceInsert", "Concat")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        features: List[torch.Tensor] = []
        for i in range(3):
            features.append(x * float(i))
        return torch.cat(features, dim=1)

    trace = fix("export-option", "trace instead of script", exporter="torchscript-trace", documented=False)

    @fix("rewrite", "pass the tensors one by one", documented=False)
    def one_by_one(self, x):
        return torch.cat([x * 0.0, x * 1.0, x * 2.0], dim=1)


class ScriptedListOfTuples(_Scripted):
    """list.append of a tuple in a scripted module: not supported."""

    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::append",)
    onnx_ops = ("SequenceInsert",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        pairs = [(x, x * 2.0)]
        if x.size(0) > 3:
            pairs.append((x * 3.0, x * 4.0))
        return pairs[-1][0] + pairs[-1][1]

    @fix("rewrite", "use two lists of tensors", documented=False)
    def two_lists(self, x):
        left, right = [x], [x * 2.0]
        if x.size(0) > 3:
            left.append(x * 3.0)
            right.append(x * 4.0)
        return left[-1] + right[-1]


class BranchesOfTwoShapes(_Scripted):
    """Scripted branch with outputs of different shapes: rejected below opset 11."""

    sources = ("pytorch/pytorch#6608",)
    aten_ops = ("prim::If",)
    onnx_ops = ("If",)
    inputs = ((f32(2, 3),), (f32(2, 3, low=-1.0, high=-0.1),), (f32(2, 3, low=0.1),))

    def forward(self, x):
        # TorchScript writes an If for the statement
        if bool(x.sum() > 0):  # noqa: SIM108
            y = torch.cat([x, x], dim=1)
        else:
            y = x
        return y

    @fix("rewrite", "pad the shorter output with zeros, for one shape", changes_values=True, documented=False)
    def padded(self, x):
        other = x if bool(x.sum() > 0) else torch.zeros_like(x)
        return torch.cat([x, other], dim=1)


def doubled(x):
    return x * 2.0


def halved(x):
    return x / 2.0 - 1.0


class CondOnMean(Case):
    """torch.cond on the mean of the input: fails before torch 2.6 and in a trace."""

    sources = (
        "pytorch/pytorch#145300",
        "pytorch/pytorch#143192",
        "pytorch/pytorch#137428",
        "pytorch/pytorch#123972",
        "pytorch/pytorch#117655",
    )
    aten_ops = ("higher_order::cond",)
    onnx_ops = ("If",)
    needs_torch = ">=2.1"
    exporters = ("dynamo", "torchscript-trace", "default")
    inputs = ((f32(2, 3, low=0.1),), (f32(2, 3, low=-1.0, high=-0.1),), (f32(2, 3),))

    def forward(self, x):
        return torch.cond(x.mean() > 0, doubled, halved, (x,))

    def reference(self, x):
        return doubled(x) if x.mean() > 0 else halved(x)

    @fix("rewrite", "use torch.where on both results", documented=False)
    def where(self, x):
        return torch.where(x.mean() > 0, doubled(x), halved(x))


class Cube(torch.autograd.Function):
    """A cube with a symbolic."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Mul", x, g.op("Mul", x, x))

    @staticmethod
    def forward(ctx, x):
        return x * x * x


class CubeModule(torch.nn.Module):
    def forward(self, x):
        return Cube.apply(x)


class PlainCubeModule(torch.nn.Module):
    def forward(self, x):
        return x * x * x


class TracedFunctionInScriptedBranch(_Scripted):
    """Traced autograd.Function in a scripted branch: value not in scope.

    A traced submodule calls the function, which has a symbolic.
    """

    sources = ("pytorch/pytorch#113652", "pytorch/pytorch#146035")
    aten_ops = ("prim::PythonOp", "prim::If")
    onnx_ops = ("If", "Mul")
    inputs = ((f32(2, 3, low=0.1),), (f32(2, 3, low=-1.0, high=-0.1),))

    def setup(self):
        self.traced = torch.jit.trace(CubeModule(), torch.ones(2, 3))
        self.traced_cube = torch.jit.trace(PlainCubeModule(), torch.ones(2, 3))

    def forward(self, x):
        # TorchScript writes an If for the statement
        if bool(x.sum() > 0):  # noqa: SIM108
            y = x + 1.0
        else:
            y = self.traced(x)
        return y

    @fix("rewrite", "trace a submodule without the autograd.Function", documented=False)
    def traced_without_it(self, x):
        if bool(x.sum() > 0):  # noqa: SIM108
            y = x + 1.0
        else:
            y = self.traced_cube(x)
        return y

    @fix("rewrite", "script the function's computation with the module", documented=False)
    def scripted_too(self, x):
        if bool(x.sum() > 0):  # noqa: SIM108
            y = x + 1.0
        else:
            y = x * x * x
        return y

    @fix("rewrite", "use torch.where on both results", documented=False)
    def where(self, x):
        return torch.where(x.sum() > 0, x + 1.0, self.traced(x))
