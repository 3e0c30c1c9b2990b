"""Half floats: what overflows or vanishes in sixteen bits."""

import torch
import torch.nn.functional as F

from caniexport import Case, f16, fix, values

HALF_TOLERANCE = 2e-2


class _LayerNormHalf(Case):
    aten_ops = ("aten::layer_norm",)
    onnx_ops = ("LayerNormalization", "Pow", "ReduceMean", "Sqrt", "Div")
    needs_torch = ">=2.1"  # before, the CPU has no layer_norm of half floats
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE

    def forward(self, x):
        return F.layer_norm(x, (8,))

    opset_17 = fix("raise-opset", "export at opset 17, which has LayerNormalization", opset=17)

    @fix("rewrite", "the norm in float32, cast back")
    def norm_in_float(self, x):
        return F.layer_norm(x.float(), (8,)).to(x.dtype)


class LayerNormHalfLargeDeviation(_LayerNormHalf):
    """layer_norm of half floats that deviate by more than 256: below opset 17 their squares are infinite."""

    sources = ("microsoft/onnxruntime#31626", "microsoft/onnxruntime#17692")
    inputs = (
        (f16(2, 8),),
        (values([[-900.0, 900.0, -700.0, 500.0, 100.0, -300.0, 600.0, -200.0]], "float16"),),
        (f16(3, 8, low=-2000.0, high=2000.0),),
    )
    dynamic = {"x": {0: "rows"}}

    @fix("rewrite", "values scaled down first", documented=False)
    def scaled_down(self, x):
        # epsilon counts for nothing beside such a variance; where it does, it is scaled along
        return F.layer_norm(x / 256, (8,), eps=1e-5 / 65536)


class LayerNormHalfTinyEpsilon(_LayerNormHalf):
    """layer_norm(eps=1e-12) of half floats: the epsilon is zero in sixteen bits, a constant row divides by it."""

    sources = ("microsoft/onnxruntime#12726", "microsoft/onnxruntime#15722")
    inputs = (
        (f16(2, 8),),
        (values([[3.0] * 8, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]], "float16"),),
    )

    def forward(self, x):
        return F.layer_norm(x, (8,), eps=1e-12)

    @fix("rewrite", "an epsilon of 1e-5")
    def larger_epsilon(self, x):
        return F.layer_norm(x, (8,), eps=1e-5)

    @fix("rewrite", "the norm in float32, cast back")
    def norm_in_float(self, x):
        return F.layer_norm(x.float(), (8,), eps=1e-12).to(x.dtype)


class LayerNormHalfSeveralRuns(_LayerNormHalf):
    """layer_norm of half floats, run several times in one session: said to be right the first time only."""

    sources = ("microsoft/onnxruntime#27768", "microsoft/onnxruntime#15021")
    inputs = tuple((f16(4, 8, low=-float(n), high=float(n)),) for n in (1, 2, 3, 4))

    def setup(self):
        self.norm = torch.nn.LayerNorm(8).half()
        self.linear = torch.nn.Linear(8, 8).half()

    def forward(self, x):
        return self.norm(x + self.norm(x))

    @fix("rewrite", "the norm in float32, cast back")
    def norm_in_float(self, x):
        weight, bias = self.norm.weight.float(), self.norm.bias.float()
        inner = F.layer_norm(x.float(), (8,), weight, bias).to(x.dtype)
        return F.layer_norm((x + inner).float(), (8,), weight, bias).to(x.dtype)

    no_memory_pattern = fix("runtime-option", "enable_mem_pattern=False", session={"enable_mem_pattern": False})


class LayerNormOfSumHalf(_LayerNormHalf):
    """layer_norm of a sum of half floats: fused into one node, said to be 9.8 off on CUDA."""

    sources = ("microsoft/onnxruntime#17689", "microsoft/onnxruntime#15021")
    inputs = ((f16(1, 2, 8), f16(1, 2, 8)), (f16(1, 2, 8, low=-40.0, high=40.0), f16(1, 2, 8)))

    def forward(self, x, y):
        return F.layer_norm(x + y, (8,))

    basic_only = fix(
        "runtime-option", "basic optimisations only: nothing is fused", session={"graph_optimization_level": 1}
    )

    @fix("rewrite", "the norm in float32, cast back")
    def norm_in_float(self, x, y):
        return F.layer_norm((x + y).float(), (8,)).to(x.dtype)


class RmsNormOfSumHalf(Case):
    """rms_norm of a large sum of half floats: fused into one node, said to be all zeros or NaN on CUDA."""

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

    @fix("rewrite", "the norm in float32, cast back")
    def norm_in_float(self, x, y):
        return F.rms_norm((x + y).float(), (8,), eps=1e-5).to(x.dtype)

    basic_only = fix(
        "runtime-option",
        "basic optimisations only: nothing is fused",
        session={"graph_optimization_level": 1},
        documented=False,
    )


class AttentionHalfLargeHead(Case):
    """scaled_dot_product_attention of half floats with a head of 512: NaN on CUDA for six tokens and more."""

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

    @fix("rewrite", "two products and a softmax", documented=False)
    def written_out(self, q, k, v):
        scores = torch.matmul(q, k.transpose(2, 3)) * 512**-0.5
        return torch.matmul(torch.softmax(scores, -1), v)


class MeanOfManyHalves(Case):
    """The mean of 512 by 512 half floats near one: their sum does not fit into sixteen bits."""

    sources = ("microsoft/onnxconverter-common#323",)
    aten_ops = ("aten::mean",)
    onnx_ops = ("ReduceMean",)
    needs_torch = ">=2.0"
    rtol, atol = HALF_TOLERANCE, HALF_TOLERANCE
    inputs = ((f16(1, 512, 512, low=-1.0, high=1.0),), (f16(1, 512, 512, low=0.9, high=1.1),))

    def forward(self, x):
        return x.mean((1, 2))

    @fix("rewrite", "the mean in two steps", documented=False)
    def in_two_steps(self, x):
        return x.mean(2).mean(1)

    @fix("rewrite", "the mean in float32, cast back", documented=False)
    def in_float(self, x):
        return x.float().mean((1, 2)).to(x.dtype)
