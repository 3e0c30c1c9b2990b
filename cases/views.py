"""Views with traced sizes, reshapes, squeezes of axes that are not 1, pixel and channel shuffles."""

import torch.nn.functional as F

from caniexport import Case, f32, fix


class ViewPythonBatch(Case):
    """x.view with the batch as a Python number: only the traced batch works."""

    sources = ("microsoft/onnxruntime#10463", "microsoft/onnxruntime#2779", "microsoft/onnxruntime#19280")
    aten_ops = ("aten::view",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(1, 6, 4, 4),), (f32(1, 6, 4, 4),), (f32(3, 6, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.view(int(x.size(0)), 2, 3, 4, 4)

    @fix("rewrite", "use the size itself, without int()", documented=False)
    def traced_size(self, x):
        return x.view(x.shape[0], 2, 3, 4, 4)

    @fix("rewrite", "use -1 for the batch", documented=False)
    def minus_one(self, x):
        return x.reshape(-1, 2, 3, 4, 4)


class ViewPythonHeightWidth(Case):
    """x.view with height and width as Python numbers: only the traced size works.

    As in Swin: x.view(-1, height * width, channels).
    """

    sources = ("microsoft/onnxruntime#19280",)
    aten_ops = ("aten::view", "aten::flatten")
    onnx_ops = ("Reshape", "Transpose")
    inputs = ((f32(1, 3, 4, 4),), (f32(1, 3, 4, 4),), (f32(1, 3, 6, 2),), (f32(1, 3, 6, 6),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        height, width = int(x.size(2)), int(x.size(3))
        return x.permute(0, 2, 3, 1).reshape(-1, height * width, 3)

    @fix("rewrite", "flatten the axes, then transpose", documented=False)
    def flatten_transpose(self, x):
        return x.flatten(2).transpose(1, 2)

    @fix("rewrite", "use the sizes themselves", documented=False)
    def traced_sizes(self, x):
        return x.permute(0, 2, 3, 1).reshape(-1, x.size(2) * x.size(3), 3)


class ChannelShuffleDataSize(Case):
    """Channel shuffle with the sizes of x.data: tracing does not follow them."""

    sources = ("we0091234/yolov7_plate#9",)
    aten_ops = ("aten::view", "aten::transpose")
    onnx_ops = ("Reshape", "Transpose")
    inputs = ((f32(1, 4, 3, 3),), (f32(1, 4, 3, 3),), (f32(2, 4, 3, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        batch, channels, height, width = x.data.size()
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)

    @fix("rewrite", "use the sizes of x itself", documented=False)
    def size_of_x(self, x):
        batch, channels, height, width = x.size()
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)

    @fix("rewrite", "use -1 for the batch, and flatten", documented=False)
    def minus_one(self, x):
        return x.view(-1, 2, 2, 3, 3).transpose(1, 2).flatten(1, 2)

    @fix("rewrite", "use -1 for two axes; torch rejects it", caution=True)
    def two_minus_ones(self, x):
        return x.view(-1, 2, -1, 3, 3).transpose(1, 2).flatten(1, 2)


class PixelShuffleByViews(Case):
    """pixel_shuffle at opset 10: views with the traced height and width."""

    sources = ("microsoft/onnxruntime#2779",)
    aten_ops = ("aten::pixel_shuffle",)
    onnx_ops = ("Reshape", "Transpose", "DepthToSpace")
    inputs = ((f32(1, 4, 3, 3),), (f32(1, 4, 3, 3),), (f32(2, 4, 5, 2),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def forward(self, x):
        return F.pixel_shuffle(x, 2)

    opset_11 = fix(
        "raise-opset", "export at opset 11, whose DepthToSpace uses torch's order", opset=11, documented=False
    )

    @fix("rewrite", "use views with the sizes of x and a permutation", documented=False)
    def own_views(self, x):
        batch, height, width = x.size(0), x.size(2), x.size(3)
        parts = x.view(batch, 1, 2, 2, height, width).permute(0, 1, 4, 2, 5, 3)
        return parts.reshape(batch, 1, height * 2, width * 2)


class SqueezeAll(Case):
    """x.squeeze() without an axis: the removed axes depend on the input."""

    sources = ("modelscope/modelscope#1577", "tracel-ai/burn-onnx#542", "onnx/onnx#6313")
    aten_ops = ("aten::squeeze",)
    onnx_ops = ("Squeeze",)
    inputs = ((f32(2, 1, 3),), (f32(2, 1, 3),), (f32(4, 1, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.squeeze()

    @fix("rewrite", "name the axis", documented=False)
    def named_axis(self, x):
        return x.squeeze(1)


class SqueezeOfNonsingleton(Case):
    """x.squeeze(1) of an axis that is not 1: torch ignores it, Squeeze fails."""

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

    def forward(self, x):
        return x.squeeze(1) * 2

    @fix("rewrite", "leave out the squeeze", documented=False)
    def without_squeeze(self, x):
        return x * 2


class SqueezeOfDynamicSingleton(Case):
    """x.squeeze(1) of a dynamic axis that is always 1: exports an If."""

    sources = ("pytorch/pytorch#53922", "onnx/onnx#3324", "pytorch/pytorch#71158")
    aten_ops = ("aten::squeeze",)
    onnx_ops = ("Squeeze", "If")
    inputs = ((f32(2, 1, 4),), (f32(2, 1, 4),), (f32(3, 1, 4),))
    dynamic = {"x": {0: "batch", 1: "one"}}

    def forward(self, x):
        return x.squeeze(1)

    @fix("rewrite", "take the first element of the axis", documented=False)
    def first(self, x):
        return x[:, 0]

    @fix("rewrite", "reshape to the known sizes", documented=False)
    def reshaped(self, x):
        return x.reshape(x.size(0), 4)


class ViewNonContiguous(Case):
    """view of a transposed slice: raises in eager, before the export."""

    sources = ("seed:004",)
    aten_ops = ("aten::view", "aten::contiguous", "aten::reshape")
    onnx_ops = ("Reshape",)
    inputs = ((f32(2, 3, 4, 2),), (f32(2, 3, 4, 2, low=2.0, high=5.0),), (f32(3, 3, 4, 2),))
    dynamic = {"grid": {0: "batch"}}

    def forward(self, grid):
        return grid.transpose(1, 2)[:, :, :, 0].view(grid.size(0), -1)

    def reference(self, grid):
        return grid.permute(0, 2, 1, 3)[:, :, :, 0].flatten(1)

    @fix("rewrite", "call contiguous() before view")
    def contiguous_view(self, grid):
        return grid.transpose(1, 2)[:, :, :, 0].contiguous().view(grid.size(0), -1)

    @fix("rewrite", "use reshape instead of view")
    def reshape(self, grid):
        return grid.transpose(1, 2)[:, :, :, 0].reshape(grid.size(0), -1)
