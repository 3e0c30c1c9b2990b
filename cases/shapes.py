"""Views and reshapes."""

from caniexport import Case, Claim, f32, fix


class ViewNonContiguous(Case):
    """view of a transposed slice: raises before there is anything to export."""

    records = ("view-non-contiguous",)
    sources = ("seed:004",)
    aten_ops = ("aten::view", "aten::contiguous", "aten::reshape")
    onnx_ops = ("Reshape",)
    inputs = ((f32(2, 3, 4, 2),), (f32(2, 3, 4, 2, low=2.0, high=5.0),), (f32(3, 3, 4, 2),))
    dynamic = {"grid": {0: "batch"}}
    claims = (
        Claim(
            "seed:004",
            "the export stops at view: the size does not fit the strides",
            record="view-non-contiguous",
            torch="==1.10.*",
            opset="9-14",
            status="fail",
            message="view size is not compatible with input tensor's size and stride",
        ),
        Claim(
            "seed:004",
            "contiguous() before view makes the export pass",
            record="view-non-contiguous",
            torch="==1.10.*",
            opset="9-14",
            variant="contiguous_view",
            status="pass",
            ops={"Reshape": 1},
        ),
        Claim(
            "seed:004",
            "the error text's own advice, reshape, works as well",
            record="view-non-contiguous",
            torch="==1.10.*",
            opset="9-14",
            variant="reshape",
            status="pass",
            ops={"Reshape": 1},
        ),
    )

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
