"""Normalization layers: statistics, groups, weights, and training mode of the reference."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values

IMAGES = ((f32(1, 3, 4, 4),), (f32(1, 3, 4, 4, low=2.0, high=5.0),), (f32(2, 3, 4, 4),))


BATCH = {"x": {0: "batch"}}


MEAN, VARIANCE = [1.0, -2.0, 0.5], [4.0, 0.25, 2.0]


def with_statistics(norm):
    """Return the layer with running statistics that differ from the defaults."""
    norm.running_mean.copy_(torch.tensor(MEAN))
    norm.running_var.copy_(torch.tensor(VARIANCE))
    return norm


class InstanceNormTrackedStatistics(Case):
    """InstanceNorm2d(track_running_stats=True).eval(): normalizes by image instead."""

    sources = ("pytorch/pytorch#53887", "pytorch/pytorch#55051", "pytorch/pytorch#60538")
    aten_ops = ("aten::instance_norm",)
    onnx_ops = ("InstanceNormalization", "BatchNormalization")
    inputs = IMAGES
    dynamic = BATCH

    def setup(self):
        self.norm = with_statistics(torch.nn.InstanceNorm2d(3, affine=True, track_running_stats=True))

    def forward(self, x):
        return self.norm(x)

    @fix("rewrite", "use batch_norm on the running statistics")
    def batch_norm(self, x):
        norm = self.norm
        return F.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias)

    newer_torch = fix("version-upgrade", "use torch 1.10 or newer", torch=">=1.10")


class InstanceNormTrackedStatisticsStatic(InstanceNormTrackedStatistics):
    """InstanceNorm2d(track_running_stats=True).eval(), static batch: wrong statistics.

    The exported model normalizes by image instead of the running statistics.
    """

    inputs = ((f32(2, 3, 4, 4),), (f32(2, 3, 4, 4, low=2.0, high=5.0),))
    dynamic = {}


class InstanceNormWithoutEpsilon(Case):
    """InstanceNorm2d(eps=0) on large planes of small values: just out of tolerance.

    The tolerances are those of torch.testing.
    """

    sources = ("pytorch/pytorch#60582",)
    aten_ops = ("aten::instance_norm",)
    onnx_ops = ("InstanceNormalization",)
    rtol, atol = 1.3e-6, 1e-5
    # planes of 200 by 200 differ by about 1e-6
    inputs = (
        (f32(1, 1, 1200, 1200, low=-1e-3, high=1e-3),),
        (f32(1, 1, 1200, 1200, low=0.0, high=1e-3),),
    )

    def setup(self):
        self.norm = torch.nn.InstanceNorm2d(1, eps=0.0)

    def forward(self, x):
        return self.norm(x)

    @fix(
        "rewrite",
        "use an epsilon above zero; other values where the variance is as small",
        changes_values=True,
        documented=False,
    )
    def with_epsilon(self, x):
        return F.instance_norm(x, eps=1e-5)

    @fix("rewrite", "scale the values up first; the difference stays with eps=0", caution=True, documented=False)
    def scaled_up(self, x):
        return self.norm(x * 1000)


class GroupNormOneGroup(Case):
    """group_norm with one group: TensorRT 10.16 normalizes by channel.

    ONNX Runtime is right.
    """

    sources = ("NVIDIA/TensorRT#4756",)
    aten_ops = ("aten::group_norm",)
    onnx_ops = ("GroupNormalization", "InstanceNormalization")
    inputs = IMAGES
    dynamic = BATCH

    def setup(self):
        self.norm = torch.nn.GroupNorm(1, 3)

    def forward(self, x):
        return self.norm(x)

    @fix("rewrite", "use layer_norm over channels, height and width")
    def layer_norm(self, x):
        scale, shift = self.norm.weight.reshape(3, 1, 1), self.norm.bias.reshape(3, 1, 1)
        return F.layer_norm(x, (3, 4, 4)) * scale + shift


class BatchNormReferenceInTraining(Case):
    """BatchNorm reference computed in training mode: differs from the exported model.

    Training mode uses the statistics of the batch, the exported model the running ones.
    """

    sources = ("microsoft/onnxruntime#3873",)
    aten_ops = ("aten::batch_norm",)
    onnx_ops = ("BatchNormalization",)
    inputs = IMAGES
    dynamic = BATCH

    def setup(self):
        self.norm = with_statistics(torch.nn.BatchNorm2d(3))

    def forward(self, x):
        return self.norm(x)

    def reference(self, x):
        return self.norm.train()(x)

    @fix("rewrite", "call model.eval() before computing the reference", changes_values=True)
    def eval_first(self, x):
        return self.norm(x)


class DropoutReferenceInTraining(Case):
    """Dropout reference computed in training mode: the exported model drops nothing."""

    sources = ("pytorch/pytorch#109532", "pytorch/pytorch#110557")
    aten_ops = ("aten::dropout",)
    onnx_ops = ("Dropout",)
    inputs = ((f32(4, 16),), (f32(4, 16),), (f32(6, 16),))
    dynamic = BATCH

    def setup(self):
        self.linear = torch.nn.Linear(16, 16)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(self.linear(x))

    def reference(self, x):
        torch.manual_seed(0)
        return self.dropout.train()(self.linear(x))

    @fix("rewrite", "call model.eval() before computing the reference", changes_values=True)
    def eval_first(self, x):
        return self.dropout(self.linear(x))


class BatchNorm2dOfOlderTorch(Case):
    """BatchNorm2d in eval mode: torch 2.6 dynamo fails with onnxscript 0.5 or newer.

    The translation in newer onnxscript returns one value; torch 2.6 expects three. onnxscript 0.1.0 returns three.
    """

    id = "batch-norm-2d-of-older-torch"
    sources = ("microsoft/onnxscript#2651",)
    aten_ops = ("aten::batch_norm",)
    onnx_ops = ("BatchNormalization",)
    inputs = ((f32(2, 3, 4, 4),), (f32(2, 3, 4, 4, low=2.0, high=5.0),), (f32(3, 3, 4, 4),))
    dynamic = BATCH

    def setup(self):
        self.norm = with_statistics(torch.nn.BatchNorm2d(3))

    def forward(self, x):
        return self.norm(x)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)

    newer_torch = fix("version-upgrade", "use torch 2.7 or newer", torch=">=2.7")

    @fix("rewrite", "use a scale and a shift for each channel", documented=False)
    def scale_and_shift(self, x):
        norm = self.norm
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        shift = norm.bias - norm.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)


class ConvBatchNormFused(Case):
    """Conv2d and BatchNorm2d fused by the exporter: wrong values in TensorRT 7.

    ONNX Runtime is right.
    """

    sources = (
        "onnx/onnx-tensorrt#594",
        "NVIDIA/TensorRT#960",
    )
    aten_ops = ("aten::conv2d", "aten::batch_norm")
    onnx_ops = ("Conv", "BatchNormalization")
    inputs = IMAGES
    dynamic = BATCH

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3, padding=1)
        self.norm = with_statistics(torch.nn.BatchNorm2d(3))

    def forward(self, x):
        return self.norm(self.conv(x))

    @fix("rewrite", "write out the scale and the shift", documented=False)
    def scale_and_shift(self, x):
        norm = self.norm
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        shift = norm.bias - norm.running_mean * scale
        return self.conv(x) * scale.reshape(3, 1, 1) + shift.reshape(3, 1, 1)


class GemmWithBetaAndBatchNorm(Case):
    """addmm(beta=2) and a batch norm fused into one Gemm: the bias ignores beta."""

    sources = ("microsoft/onnxscript#3027",)
    aten_ops = ("aten::addmm", "aten::batch_norm")
    onnx_ops = ("Gemm", "BatchNormalization")
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(5, 4),))
    dynamic = BATCH

    def setup(self):
        self.linear = torch.nn.Linear(4, 3)
        self.norm = with_statistics(torch.nn.BatchNorm1d(3))

    def forward(self, x):
        return self.norm(torch.addmm(self.linear.bias, x, self.linear.weight.t(), beta=2))

    @fix("rewrite", "double the bias first and keep beta at 1")
    def beta_of_one(self, x):
        return self.norm(torch.addmm(self.linear.bias * 2, x, self.linear.weight.t()))


class WeightNormConvolution(Case):
    """weight_norm of a convolution: wrong values on older torch.

    The norm of each filter is taken over all its other axes.
    """

    sources = ("microsoft/onnxruntime#3143",)
    aten_ops = ("aten::_weight_norm",)
    onnx_ops = ("ReduceL2", "Div", "Mul", "Conv")
    inputs = IMAGES
    dynamic = BATCH

    def setup(self):
        self.conv = torch.nn.utils.weight_norm(torch.nn.Conv2d(3, 2, 3))

    def forward(self, x):
        return self.conv(x)

    @fix("module-swap", "compute the weight once, as remove_weight_norm leaves it")
    def norm_removed(self, x):
        v, g = self.conv.weight_v, self.conv.weight_g
        norm = v.reshape(2, -1).pow(2).sum(1).sqrt().reshape(2, 1, 1, 1)
        return F.conv2d(x, v * (g / norm), self.conv.bias)


class WeightNormOfVector(Case):
    """torch._weight_norm of a vector: exports the norm of all elements.

    torch uses the magnitude of each element.
    """

    sources = ("pytorch/pytorch#191749",)
    aten_ops = ("aten::_weight_norm",)
    onnx_ops = ("ReduceL2", "Abs")
    inputs = (
        (values([1.0, -2.0, 3.0]), values([2.0, 2.0, 2.0])),
        (values([4.0, 0.5, -6.0]), values([1.0, -3.0, 0.25])),
    )

    def forward(self, v, g):
        return torch._weight_norm(v, g, 0)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")

    @fix("rewrite", "divide by the magnitudes")
    def by_magnitude(self, v, g):
        return v * (g / torch.abs(v))


@contextmanager
def aten_group_norm(opset):
    """Register a symbolic that writes group_norm as one ATen node.

    A user could change torch/onnx/symbolic.py this way.
    """
    try:
        from torch.onnx import symbolic_helper as helper
    except ImportError:  # torch 1.0 has everything in one module
        from torch.onnx import symbolic as helper

    @helper.parse_args("v", "i", "v", "v", "f", "i")
    def rule(g, x, num_groups, weight, bias, eps, cudnn_enabled):
        return g.op(
            "ATen",
            x,
            weight,
            bias,
            operator_s="group_norm",
            num_groups_i=num_groups,
            eps_f=eps,
            cudnn_enabled_i=cudnn_enabled,
        )

    register("group_norm", rule, opset or 9)
    yield


def register(name, rule, opset):
    """Replace torch's symbolic of ``aten::name``, in the way that this release supports."""
    try:
        from torch.onnx import symbolic_registry as registry
    except ImportError:
        registry = None
    if registry is not None and hasattr(registry, "register_op"):  # torch 1.2 to 1.12; their public call rejects aten::
        try:
            registry.register_version("", opset)
        except KeyError:  # an opset that this release lacks: the export itself reports it
            return
        registry.register_op(name, rule, "", opset)
    elif hasattr(torch.onnx, "register_custom_op_symbolic"):
        torch.onnx.register_custom_op_symbolic("aten::" + name, rule, opset)
    else:  # before torch 1.2 the functions of a module are the symbolics
        setattr(rules_module(opset), name, rule)


def rules_module(opset):
    """Return the module in which the exporter looks up symbolics.

    torch 1.0 has one; torch 1.1 has one for opset 9 and one for each later opset.
    """
    try:
        from importlib import import_module

        return import_module("torch.onnx.symbolic_opset{}".format(opset))
    except ImportError:
        from torch.onnx import symbolic

        return symbolic


class GroupNormNoSymbolic(Case):
    """nn.GroupNorm has no symbolic in torch 1.0; later releases export an ATen node.

    The workaround of the time, a custom symbolic that emits the same ATen node, lets the export pass. No ONNX
    runtime has that operator, so the exported model cannot be loaded.
    """

    sources = ("seed:003", "pytorch/pytorch#26753", "pytorch/pytorch#27071")
    aten_ops = ("aten::group_norm",)
    onnx_ops = ("InstanceNormalization", "GroupNormalization", "ATen")
    inputs = ((f32(2, 6, 5, 5),), (f32(2, 6, 5, 5, low=1.0, high=4.0),), (f32(3, 6, 4, 7),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def setup(self):
        self.norm = torch.nn.GroupNorm(2, 6)
        self.register_buffer("ones", torch.ones(2))
        self.register_buffer("zeros", torch.zeros(2))

    def forward(self, x):
        return self.norm(x)

    aten_symbolic = fix(
        "custom-symbolic",
        "register a symbolic that emits an ATen node; no ONNX runtime can load the exported model",
        patch=aten_group_norm,
        caution=True,
    )

    @fix("rewrite", "use one instance norm over the groups, then the affine part", documented=False)
    def instance_norm(self, x):
        grouped = x.reshape(x.size(0), 2, -1)
        # the symbolic reads the channels where no weight is given, and a reshape hides them
        grouped = F.instance_norm(grouped, weight=self.ones, bias=self.zeros, eps=self.norm.eps)
        return grouped.reshape(x.size()) * self.norm.weight.reshape(-1, 1, 1) + self.norm.bias.reshape(-1, 1, 1)

    @fix("rewrite", "compute mean and variance of each group by hand, then the affine part", documented=False)
    def mean_variance(self, x):
        grouped = x.reshape(x.size(0), 2, -1)
        centred = grouped - grouped.mean(2, keepdim=True)
        variance = (centred * centred).mean(2, keepdim=True)
        normed = (centred / torch.sqrt(variance + self.norm.eps)).reshape(x.size())
        return normed * self.norm.weight.reshape(-1, 1, 1) + self.norm.bias.reshape(-1, 1, 1)

    opset_18 = fix("raise-opset", "export at opset 18, which has GroupNormalization", opset=18, documented=False)
    opset_21 = fix(
        "raise-opset", "export at opset 21, where GroupNormalization was corrected", opset=21, documented=False
    )
    newer_torch = fix(
        "version-upgrade",
        "use torch 1.4 or newer, which decomposes group_norm into InstanceNormalization",
        torch=">=1.4",
        documented=False,
    )
