"""Half precision and bfloat16: types with fewer kernels, and values that overflow or vanish in sixteen bits."""

import torch
import torch.nn.functional as F

from caniexport import Case, boolean, f16, f32, fix, values


class Conv2dHalfOnCpu(Case):
    """conv2d in float16 on a CPU: eager has no kernel, so it cannot be traced."""

    id = "conv2d-half-on-cpu"
    sources = ("pytorch/pytorch#34127", "pytorch/pytorch#121958", "microsoft/onnxruntime#17681")
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f16(1, 2, 5, 5),), (f16(1, 2, 5, 5),))

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3).half()

    def forward(self, x):
        return self.conv(x)

    def reference(self, x):
        return F.conv2d(x.float(), self.conv.weight.float(), self.conv.bias.float()).half()

    @fix("rewrite", "compute in float32 and return float16", documented=False)
    def float32_inside(self, x):
        return F.conv2d(x.float(), self.conv.weight.float(), self.conv.bias.float()).half()


class WherePythonScalarHalf(Case):
    """torch.where(mask, x, 0.0) of a float16 tensor: the number is a double or float."""

    sources = ("pytorch/pytorch#118733",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where", "Cast", "Constant")
    needs_torch = ">=1.12"
    inputs = ((boolean(2, 5), f16(2, 5)), (boolean(2, 5), f16(2, 5)), (boolean(3, 5), f16(3, 5)))
    dynamic = {"mask": {0: "batch"}, "x": {0: "batch"}}

    def forward(self, mask, x):
        return torch.where(mask, x, 0.0)

    @fix("rewrite", "make the number a tensor of x's dtype", documented=False)
    def typed_scalar(self, mask, x):
        return torch.where(mask, x, torch.zeros((), dtype=x.dtype))

    @fix("rewrite", "use masked_fill", documented=False)
    def masked_fill(self, mask, x):
        return x.masked_fill(~mask, 0.0)


class Bfloat16Matmul(Case):
    """bfloat16 matmul: the runtime has bfloat16 kernels for CUDA only.

    Inputs and outputs are float32, because numpy has no bfloat16.
    """

    id = "bfloat16-matmul"
    sources = (
        "microsoft/onnxruntime#26311",
        "onnx/onnx#7393",
        "pytorch/pytorch#149646",
        "pytorch/pytorch#143643",
        "pytorch/pytorch#153998",
        "microsoft/onnxscript#1462",
    )
    aten_ops = ("aten::matmul", "aten::to")
    onnx_ops = ("MatMul", "Cast")
    needs_torch = ">=1.8"
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}
    rtol = 2e-2
    atol = 2e-2

    def setup(self):
        self.weight = torch.nn.Parameter(torch.zeros(4, 3))

    def forward(self, x):
        return (x.to(torch.bfloat16) @ self.weight.to(torch.bfloat16)).float()

    @fix("rewrite", "use float32 for that product")
    def float32(self, x):
        return x @ self.weight


class LayerNormUnderAutocast(Case):
    """nn.Linear and nn.LayerNorm under bfloat16 autocast: onnxruntime cannot load it."""

    sources = ("microsoft/onnxruntime#13556",)
    aten_ops = ("aten::linear", "aten::layer_norm")
    onnx_ops = ("LayerNormalization", "Cast")
    needs_torch = ">=1.10"
    inputs = ((f32(2, 4),), (f32(2, 4),))
    rtol = 5e-2
    atol = 5e-2

    def setup(self):
        self.linear = torch.nn.Linear(4, 6)
        self.norm = torch.nn.LayerNorm(6)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.norm(self.linear(x)).float()

    @fix("export-option", "export without autocast")
    def without_autocast(self, x):
        return self.norm(self.linear(x))


class HalfSubtraction(Case):
    """x - y in float16: older runtimes have no CPU kernel for Sub."""

    sources = ("microsoft/onnxruntime#3735",)
    aten_ops = ("aten::sub",)
    onnx_ops = ("Sub",)
    inputs = ((f16(2, 4), f16(2, 4)), (f16(2, 4), f16(2, 4)), (f16(3, 4), f16(3, 4)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return x - y

    @fix("rewrite", "subtract in float32, with casts before and after", documented=False)
    def float32_inside(self, x, y):
        return (x.float() - y.float()).half()


HALF_TOLERANCE = 2e-2


class _LayerNormHalf(Case):
    aten_ops = ("aten::layer_norm",)
    onnx_ops = ("LayerNormalization", "Pow", "ReduceMean", "Sqrt", "Div")
    needs_torch = ">=2.1"  # earlier releases have no float16 layer_norm on the CPU
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE

    def forward(self, x):
        return F.layer_norm(x, (8,))

    opset_17 = fix("raise-opset", "export at opset 17, which has LayerNormalization", opset=17)

    @fix("rewrite", "compute the norm in float32 and cast back")
    def norm_in_float(self, x):
        return F.layer_norm(x.float(), (8,)).to(x.dtype)


class LayerNormHalfLargeDeviation(_LayerNormHalf):
    """F.layer_norm in float16, deviations above 256: infinite squares below opset 17."""

    sources = ("microsoft/onnxruntime#31626", "microsoft/onnxruntime#17692")
    inputs = (
        (f16(2, 8),),
        (values([[-900.0, 900.0, -700.0, 500.0, 100.0, -300.0, 600.0, -200.0]], "float16"),),
        (f16(3, 8, low=-2000.0, high=2000.0),),
    )
    dynamic = {"x": {0: "rows"}}

    @fix("rewrite", "scale the values down first", documented=False)
    def scaled_down(self, x):
        # such a variance makes epsilon negligible; where it is not, scale it too
        return F.layer_norm(x / 256, (8,), eps=1e-5 / 65536)


class LayerNormHalfTinyEpsilon(_LayerNormHalf):
    """F.layer_norm(eps=1e-12) in float16: reported to divide by an epsilon of zero.

    The epsilon is zero in sixteen bits. A constant row divides by it.
    """

    sources = ("microsoft/onnxruntime#12726", "microsoft/onnxruntime#15722")
    inputs = (
        (f16(2, 8),),
        (values([[3.0] * 8, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]], "float16"),),
    )

    def forward(self, x):
        return F.layer_norm(x, (8,), eps=1e-12)

    @fix("rewrite", "use an epsilon of 1e-5")
    def larger_epsilon(self, x):
        return F.layer_norm(x, (8,), eps=1e-5)

    @fix("rewrite", "compute the norm in float32 and cast back")
    def norm_in_float(self, x):
        return F.layer_norm(x.float(), (8,), eps=1e-12).to(x.dtype)


class LayerNormHalfSeveralRuns(_LayerNormHalf):
    """F.layer_norm in float16, several runs: reported as correct only the first time.

    All runs use one session.
    """

    sources = ("microsoft/onnxruntime#27768", "microsoft/onnxruntime#15021")
    inputs = tuple((f16(4, 8, low=-float(n), high=float(n)),) for n in (1, 2, 3, 4))

    def setup(self):
        self.norm = torch.nn.LayerNorm(8).half()
        self.linear = torch.nn.Linear(8, 8).half()

    def forward(self, x):
        return self.norm(x + self.norm(x))

    @fix("rewrite", "compute the norm in float32 and cast back")
    def norm_in_float(self, x):
        weight, bias = self.norm.weight.float(), self.norm.bias.float()
        inner = F.layer_norm(x.float(), (8,), weight, bias).to(x.dtype)
        return F.layer_norm((x + inner).float(), (8,), weight, bias).to(x.dtype)

    no_memory_pattern = fix("runtime-option", "set enable_mem_pattern=False", session={"enable_mem_pattern": False})


class LayerNormOfSumHalf(_LayerNormHalf):
    """F.layer_norm of a float16 sum: the fused node is reported to be 9.8 off on CUDA."""

    sources = ("microsoft/onnxruntime#17689", "microsoft/onnxruntime#15021")
    inputs = ((f16(1, 2, 8), f16(1, 2, 8)), (f16(1, 2, 8, low=-40.0, high=40.0), f16(1, 2, 8)))

    def forward(self, x, y):
        return F.layer_norm(x + y, (8,))

    basic_only = fix(
        "runtime-option", "use basic optimizations only; nothing is fused", session={"graph_optimization_level": 1}
    )

    @fix("rewrite", "compute the norm in float32 and cast back")
    def norm_in_float(self, x, y):
        return F.layer_norm((x + y).float(), (8,)).to(x.dtype)


class RmsNormOfSumHalf(Case):
    """F.rms_norm of a large float16 sum: zeros or NaN reported on CUDA.

    The sum and the norm are fused into one node.
    """

    sources = ("microsoft/onnxruntime#29034", "microsoft/onnxruntime#28442")
    aten_ops = ("aten::rms_norm",)
    onnx_ops = ("RMSNormalization", "Pow", "ReduceMean")
    needs_torch = ">=2.4"
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE
    inputs = (
        (f16(2, 8), f16(2, 8)),
        (f16(2, 8, low=-900.0, high=900.0), f16(2, 8, low=-900.0, high=900.0)),
    )

    def forward(self, x, y):
        return F.rms_norm(x + y, (8,), eps=1e-5)

    @fix("rewrite", "compute the norm in float32 and cast back")
    def norm_in_float(self, x, y):
        return F.rms_norm((x + y).float(), (8,), eps=1e-5).to(x.dtype)

    basic_only = fix(
        "runtime-option",
        "use basic optimizations only; nothing is fused",
        session={"graph_optimization_level": 1},
        documented=False,
    )


class AttentionHalfLargeHead(Case):
    """scaled_dot_product_attention in float16, head of 512: NaN reported on CUDA.

    It is reported for six tokens and more.
    """

    sources = ("microsoft/onnxruntime#28195",)
    aten_ops = ("aten::scaled_dot_product_attention",)
    onnx_ops = ("Attention", "MatMul", "Softmax")
    needs_torch = ">=2.1"
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE
    inputs = (
        (f16(1, 1, 3, 512), f16(1, 1, 3, 512), f16(1, 1, 3, 512)),
        (f16(1, 1, 8, 512), f16(1, 1, 8, 512), f16(1, 1, 8, 512)),
    )
    dynamic = {"q": {2: "tokens"}, "k": {2: "tokens"}, "v": {2: "tokens"}}

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    @fix("rewrite", "write it as matmul, softmax, matmul", documented=False)
    def written_out(self, q, k, v):
        scores = torch.matmul(q, k.transpose(2, 3)) * 512**-0.5
        return torch.matmul(torch.softmax(scores, -1), v)


class MeanOfManyHalves(Case):
    """x.mean of 512 by 512 float16 values near one: the sum does not fit into float16."""

    sources = ("microsoft/onnxconverter-common#323",)
    aten_ops = ("aten::mean",)
    onnx_ops = ("ReduceMean",)
    needs_torch = ">=2.0"
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE
    inputs = ((f16(1, 512, 512, low=-1.0, high=1.0),), (f16(1, 512, 512, low=0.9, high=1.1),))

    def forward(self, x):
        return x.mean((1, 2))

    @fix("rewrite", "compute the mean in two steps", documented=False)
    def in_two_steps(self, x):
        return x.mean(2).mean(1)

    @fix("rewrite", "compute the mean in float32 and cast back", documented=False)
    def in_float(self, x):
        return x.float().mean((1, 2)).to(x.dtype)


def root_mean_square(x, weight):
    """An RMS norm as models write it."""
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


class _TwoHalfNorms(Case):
    needs_torch = ">=2.1"  # earlier releases have too few float16 operators on the CPU
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE
    inputs = ((f16(2, 5, 8, high=2.0),), (f16(2, 5, 8, high=2.0),), (f16(3, 5, 8, low=0.5, high=4.0),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.first = torch.nn.Parameter(torch.zeros(8).half())
        self.second = torch.nn.Parameter(torch.zeros(8).half())

    basic_only = fix(
        "runtime-option",
        "use basic optimizations only",
        session={"graph_optimization_level": 1},
    )
    extended = fix(
        "runtime-option",
        "use extended optimizations, without layout optimizations",
        session={"graph_optimization_level": 2},
    )


class RmsNormHalfTwice(_TwoHalfNorms):
    """RMS norm in float16, written out twice: onnxruntime 1.23 to 1.26 cannot load it.

    The fusion into SimplifiedLayerNormalization removes a cast that the second norm still reads.
    """

    sources = ("microsoft/onnxruntime#26717", "microsoft/onnxruntime#29153")
    aten_ops = ("aten::pow", "aten::mean", "aten::sqrt", "aten::div")
    onnx_ops = ("Pow", "ReduceMean", "Sqrt", "Div")

    def forward(self, x):
        return root_mean_square(root_mean_square(x, self.first), self.second)

    @fix("rewrite", "compute both norms in float32 and cast back", documented=False)
    def norms_in_float(self, x):
        y = root_mean_square(root_mean_square(x.float(), self.first.float()), self.second.float())
        return y.to(x.dtype)


class RmsNormHalfRsqrtTwice(_TwoHalfNorms):
    """RMS norm in float16 with rsqrt, twice: onnxruntime 1.23 to 1.26 cannot load it.

    Only the TorchScript exporter writes nodes that the runtime fuses.
    """

    sources = ("microsoft/onnxruntime#26717", "microsoft/onnxruntime#29153")
    aten_ops = ("aten::rsqrt", "aten::pow", "aten::mean")
    onnx_ops = ("Pow", "ReduceMean", "Sqrt", "Div")

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.first
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.second

    @fix("rewrite", "compute both norms in float32 and cast back", documented=False)
    def norms_in_float(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) * self.first.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) * self.second.float()
        return y.to(x.dtype)


class LayerNormHalfWrittenOutTwice(_TwoHalfNorms):
    """Layer norm in float16, written out: onnxruntime 1.23 to 1.26 cannot load it.

    The layer norm is written out twice.
    """

    sources = ("microsoft/onnxruntime#29153", "microsoft/onnxruntime#26717")
    aten_ops = ("aten::mean", "aten::pow", "aten::sqrt", "aten::div")
    onnx_ops = ("ReduceMean", "Pow", "Sqrt", "Div")

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        x = root_mean_square(x, self.first)
        x = x - x.mean(-1, keepdim=True)
        return root_mean_square(x, self.second)

    @fix("rewrite", "use torch.nn.functional.layer_norm", documented=False)
    def layer_norm(self, x):
        return F.layer_norm(F.layer_norm(x, (8,), self.first), (8,), self.second)

    @fix("rewrite", "compute both norms in float32 and cast back", documented=False)
    def norms_in_float(self, x):
        y = x.float()
        y = y - y.mean(-1, keepdim=True)
        y = root_mean_square(y, self.first.float())
        y = y - y.mean(-1, keepdim=True)
        return root_mean_square(y, self.second.float()).to(x.dtype)
