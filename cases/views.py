"""Views whose sizes tracing wrote down, squeezes of axes that are not 1, shuffles of pixels and channels."""

import torch.nn.functional as F

from caniexport import Case, Claim, f32, fix

RESHAPE = "requested shape"


class ViewPythonBatch(Case):
    """x.view with the batch as a Python number: the file takes the traced batch only."""

    records = ("view-batch-baked-reshape",)
    sources = ("microsoft/onnxruntime#10463", "microsoft/onnxruntime#2779", "microsoft/onnxruntime#19280")
    aten_ops = ("aten::view",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(1, 6, 4, 4),), (f32(1, 6, 4, 4),), (f32(3, 6, 4, 4),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "microsoft/onnxruntime#10463",
            "the input of another batch cannot be reshaped to the traced one",
            opset=">=9",
            status="fail",
            stage="run",
            message=RESHAPE,
        ),
    )

    def forward(self, x):
        return x.view(int(x.size(0)), 2, 3, 4, 4)

    @fix("rewrite", "the size itself, not its int()", documented=False)
    def traced_size(self, x):
        return x.view(x.shape[0], 2, 3, 4, 4)

    @fix("rewrite", "-1 for the batch", documented=False)
    def minus_one(self, x):
        return x.reshape(-1, 2, 3, 4, 4)


class ViewPythonHeightWidth(Case):
    """x.view(-1, height * width, channels) with the example's height and width as Python numbers (Swin)."""

    records = ("swin-view-h-w-static",)
    sources = ("microsoft/onnxruntime#19280",)
    aten_ops = ("aten::view", "aten::flatten")
    onnx_ops = ("Reshape", "Transpose")
    inputs = ((f32(1, 3, 4, 4),), (f32(1, 3, 4, 4),), (f32(1, 3, 6, 2),), (f32(1, 3, 6, 6),))
    dynamic = {"x": {2: "height", 3: "width"}}
    claims = (
        Claim(
            "microsoft/onnxruntime#19280",
            "an image of another size cannot be reshaped (January 2024)",
            torch="==2.2.*",
            opset=">=9",
            status="fail",
            stage="run",
            message=RESHAPE,
        ),
    )

    def forward(self, x):
        height, width = int(x.size(2)), int(x.size(3))
        return x.permute(0, 2, 3, 1).reshape(-1, height * width, 3)

    @fix("rewrite", "flatten the axes, then transpose", documented=False)
    def flatten_transpose(self, x):
        return x.flatten(2).transpose(1, 2)

    @fix("rewrite", "the sizes themselves", documented=False)
    def traced_sizes(self, x):
        return x.permute(0, 2, 3, 1).reshape(-1, x.size(2) * x.size(3), 3)


class ChannelShuffleDataSize(Case):
    """Channel shuffle with the sizes of x.data, which tracing does not follow."""

    records = ("channel-shuffle-data-size-baked", "view-two-negative-ones")
    sources = ("we0091234/yolov7_plate#9",)
    aten_ops = ("aten::view", "aten::transpose")
    onnx_ops = ("Reshape", "Transpose")
    inputs = ((f32(1, 4, 3, 3),), (f32(1, 4, 3, 3),), (f32(2, 4, 3, 3),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "we0091234/yolov7_plate#9",
            "an input of another batch cannot be reshaped (April 2023)",
            record="channel-shuffle-data-size-baked",
            torch="==2.0.*",
            opset=">=9",
            status="fail",
            stage="run",
            message=RESHAPE,
        ),
        Claim(
            "we0091234/yolov7_plate#9",
            "two -1 in a view: only one dimension can be inferred",
            record="view-two-negative-ones",
            exporter="",
            variant="two_minus_ones",
            status="fail",
            stage="eager",
            message="only one dimension can be inferred",
        ),
    )

    def forward(self, x):
        batch, channels, height, width = x.data.size()
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)

    @fix("rewrite", "the sizes of x itself", documented=False)
    def size_of_x(self, x):
        batch, channels, height, width = x.size()
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)

    @fix("rewrite", "-1 for the batch, and flatten", documented=False)
    def minus_one(self, x):
        return x.view(-1, 2, 2, 3, 3).transpose(1, 2).flatten(1, 2)

    @fix("rewrite", "-1 for two axes, which torch refuses", caution=True)
    def two_minus_ones(self, x):
        return x.view(-1, 2, -1, 3, 3).transpose(1, 2).flatten(1, 2)


class PixelShuffleByViews(Case):
    """Pixel shuffle, whose views at opset 10 hold the traced height and width."""

    records = ("pixel-shuffle-hw-baked",)
    sources = ("microsoft/onnxruntime#2779",)
    aten_ops = ("aten::pixel_shuffle",)
    onnx_ops = ("Reshape", "Transpose", "DepthToSpace")
    inputs = ((f32(1, 4, 3, 3),), (f32(1, 4, 3, 3),), (f32(2, 4, 5, 2),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}
    claims = (
        Claim(
            "microsoft/onnxruntime#2779",
            "an image of another size cannot be reshaped",
            torch="==1.3.*",
            opset=10,
            status="fail",
            stage="run",
            message=RESHAPE,
        ),
    )

    def forward(self, x):
        return F.pixel_shuffle(x, 2)

    opset_11 = fix("raise-opset", "export at opset 11, whose DepthToSpace orders as torch", opset=11, documented=False)

    @fix("rewrite", "views with the sizes of x and a permutation", documented=False)
    def own_views(self, x):
        batch, height, width = x.size(0), x.size(2), x.size(3)
        parts = x.view(batch, 1, 2, 2, height, width).permute(0, 1, 4, 2, 5, 3)
        return parts.reshape(batch, 1, height * 2, width * 2)


class SqueezeAll(Case):
    """x.squeeze() without an axis: which axes go depends on the input."""

    records = ("squeeze-no-dim-dynamic", "squeeze-11-shape-inference-scalar")
    sources = ("modelscope/modelscope#1577", "tracel-ai/burn-onnx#542", "onnx/onnx#6313")
    aten_ops = ("aten::squeeze",)
    onnx_ops = ("Squeeze",)
    inputs = ((f32(2, 1, 3),), (f32(2, 1, 3),), (f32(4, 1, 3),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "onnx/onnx#6313",
            "the shape of a Squeeze without axes is inferred as a scalar, and the session fails (August 2024)",
            record="squeeze-11-shape-inference-scalar",
            torch="==2.4.*",
            opset="11-12",
            status="fail",
            stage="load",
            finding="onnx#5967 mended the inference of this Squeeze; the onnx and onnxruntime beside torch 2.4 here "
            "have it.",
            why_not="hidden-by-newer",
        ),
        Claim(
            "tracel-ai/burn-onnx#542",
            "TensorRT cannot infer the axes of a dynamic shape",
            record="squeeze-no-dim-dynamic",
            status="fail",
            stage="parse",
            needs="tensorrt",
        ),
    )

    def forward(self, x):
        return x.squeeze()

    @fix("rewrite", "name the axis", documented=False)
    def named_axis(self, x):
        return x.squeeze(1)


class SqueezeOfNonsingleton(Case):
    """x.squeeze(1) of an axis that is not 1: torch leaves it, Squeeze refuses it."""

    records = ("squeeze-noop-nonsingleton", "squeeze-axes-input-opset-13", "squeeze-opset-11-if-node")
    sources = (
        "pytorch/pytorch#36796",
        "microsoft/onnxruntime#3922",
        "microsoft/onnxruntime#5539",
        "pytorch/pytorch#79117",
        "pytorch/pytorch#71158",
        "pytorch/pytorch#53922",
        "onnx/onnx#3324",
    )
    aten_ops = ("aten::squeeze",)
    onnx_ops = ("Squeeze", "If")
    inputs = ((f32(2, 6),), (f32(2, 6),), (f32(2, 9),))
    dynamic = {"x": {1: "length"}}
    claims = (
        Claim(
            "pytorch/pytorch#36796",
            "the file squeezes an axis that is not 1",
            record="squeeze-noop-nonsingleton",
            torch=">=1.5,<1.13",
            opset="9-12",
            status="fail",
        ),
        Claim(
            "pytorch/pytorch#53922",
            "the file asks with an If whether the axis is 1",
            record="squeeze-opset-11-if-node",
            torch="==1.7.*",
            opset="11-12",
            ops={"If": 1},
        ),
    )

    def forward(self, x):
        return x.squeeze(1) * 2

    @fix("rewrite", "leave the squeeze out", documented=False)
    def without_squeeze(self, x):
        return x * 2


class SqueezeOfDynamicSingleton(Case):
    """x.squeeze(1) of an axis declared dynamic that is always 1: an If in the file."""

    records = ("squeeze-opset-11-if-node", "squeeze-axes-input-opset-13")
    sources = ("pytorch/pytorch#53922", "onnx/onnx#3324", "pytorch/pytorch#71158")
    aten_ops = ("aten::squeeze",)
    onnx_ops = ("Squeeze", "If")
    inputs = ((f32(2, 1, 4),), (f32(2, 1, 4),), (f32(3, 1, 4),))
    dynamic = {"x": {0: "batch", 1: "one"}}
    claims = (
        Claim(
            "pytorch/pytorch#53922",
            "an If in the file, which other runtimes do not take",
            record="squeeze-opset-11-if-node",
            torch="==1.7.*",
            opset="11-12",
            status="pass",
            ops={"If": 1},
        ),
    )

    def forward(self, x):
        return x.squeeze(1)

    @fix("rewrite", "take the first of the axis", documented=False)
    def first(self, x):
        return x[:, 0]

    @fix("rewrite", "reshape to the known sizes", documented=False)
    def reshaped(self, x):
        return x.reshape(x.size(0), 4)
