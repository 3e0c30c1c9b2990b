"""Views and reshapes."""

from caniexport import Case, f32, fix


class ViewNonContiguous(Case):
    """view of a transposed slice: raises before there is anything to export."""

    sources = ("seed:004",)
    aten_ops = ("aten::view", "aten::contiguous", "aten::reshape")
    onnx_ops = ("Reshape",)
    inputs = ((f32(2, 3, 4, 2),), (f32(2, 3, 4, 2, low=2.0, high=5.0),), (f32(3, 3, 4, 2),))
    dynamic = {"grid": {0: "batch"}}

    def forward(self, grid):
        return grid.transpose(1, 2)[:, :, :, 0].view(grid.size(0), -1)

    def reference(self, grid):
        return grid.permute(0, 2, 1, 3)[:, :, :, 0].flatten(1)

    @fix("rewrite", "contiguous() before view")
    def contiguous_view(self, grid):
        return grid.transpose(1, 2)[:, :, :, 0].contiguous().view(grid.size(0), -1)

    @fix("rewrite", "reshape instead of view")
    def reshape(self, grid):
        return grid.transpose(1, 2)[:, :, :, 0].reshape(grid.size(0), -1)
