"""Types of values: operators without a kernel, nodes with inputs of two types, casts and clamps of integers."""

import torch
import torch.nn.functional as F

from caniexport import Case, boolean, f32, f64, fix, i32, i64, values


class ArgmaxInt64NoKernel(Case):
    """argmax of int64 token ids: older onnxruntime has no int64 kernel for ArgMax."""

    id = "argmax-int64-no-kernel"
    sources = ("microsoft/onnxruntime#10068", "huggingface/optimum#1731")
    aten_ops = ("aten::argmax",)
    onnx_ops = ("ArgMax",)
    inputs = ((i64(2, 7, high=1000),), (i64(2, 7, high=1000),), (i64(3, 5, low=-1000),))
    dynamic = {"x": {0: "batch", 1: "length"}}

    def forward(self, x):
        return x.argmax(-1)

    @fix("rewrite", "cast the ids to int32 before argmax", documented=False)
    def as_int32(self, x):
        return x.to(torch.int32).argmax(-1)

    @fix("rewrite", "cast the ids to float32 before argmax; exact up to 2**24", documented=False)
    def as_float(self, x):
        return x.float().argmax(-1)


class MulOfBools(Case):
    """x * y of two bool masks: Mul does not accept bool."""

    sources = ("lucidrains/x-transformers#28",)
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul", "And")
    inputs = ((boolean(2, 5), boolean(2, 5)), (boolean(2, 5), boolean(2, 5)), (boolean(3, 5), boolean(3, 5)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return x * y

    @fix("rewrite", "use torch.logical_and", documented=False)
    def logical_and(self, x, y):
        return torch.logical_and(x, y)

    @fix("rewrite", "multiply as float32, then compare with zero", documented=False)
    def float_product(self, x, y):
        return x.float() * y.float() > 0


class Conv2dDouble(Case):
    """conv2d in float64: the runtime has Conv kernels for float32 only."""

    id = "conv2d-double"
    sources = ("microsoft/onnxruntime#19977", "microsoft/onnxruntime#9685")
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f64(1, 2, 5, 5),), (f64(1, 2, 5, 5),), (f64(2, 2, 5, 5),))
    dynamic = {"x": {0: "batch"}}
    rtol = 1e-4
    atol = 1e-5

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3).double()

    def forward(self, x):
        return self.conv(x)

    @fix("rewrite", "convert weights and image to float32", documented=False)
    def float32(self, x):
        return F.conv2d(x.float(), self.conv.weight.float(), self.conv.bias.float()).double()


class RemainderBySize(Case):
    """x % x.size(1) of a float x: one node gets a float and an int64."""

    sources = ("microsoft/onnxruntime#6470",)
    aten_ops = ("aten::remainder", "aten::size")
    onnx_ops = ("Mod", "Mul", "Div", "Sub")
    inputs = ((f32(2, 4, high=9.0),), (f32(2, 4, low=-9.0, high=9.0),), (f32(2, 3, high=9.0),))
    dynamic = {"x": {1: "width"}}

    def forward(self, x):
        return x % x.size(1)

    @fix("rewrite", "use float(size); tracing keeps it as a constant", caution=True, documented=False)
    def float_size(self, x):
        return x % float(x.size(1))

    @fix("rewrite", "use the size as a float tensor, and the floor of the quotient", documented=False)
    def tensor_size(self, x):
        width = torch.ones_like(x[0]).sum()
        return x - torch.floor(x / width) * width


class WherePythonScalar(Case):
    """torch.where(mask, x, number): a double constant next to a float tensor.

    The Python number is written as a double.
    """

    sources = ("pytorch/pytorch#118733", "tenstorrent/tt-forge-onnx#1916")
    aten_ops = ("aten::where",)
    onnx_ops = ("Where", "Cast", "Constant")
    needs_torch = ">=1.12"
    inputs = ((boolean(2, 5), f32(2, 5)), (boolean(2, 5), f32(2, 5)), (boolean(3, 5), f32(3, 5)))
    dynamic = {"mask": {0: "batch"}, "x": {0: "batch"}}

    def forward(self, mask, x):
        return torch.where(mask, x, torch.finfo(torch.float32).min)

    @fix("rewrite", "make the number a tensor of x's dtype", documented=False)
    def typed_scalar(self, mask, x):
        return torch.where(mask, x, torch.tensor(torch.finfo(torch.float32).min, dtype=x.dtype))

    @fix("rewrite", "use masked_fill", documented=False)
    def masked_fill(self, mask, x):
        return x.masked_fill(~mask, torch.finfo(torch.float32).min)


class WhereIntAndFloat(Case):
    """torch.where with an int64 and a float32 branch: Where gets two types."""

    sources = ("open-mmlab/mmyolo#988",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where", "Cast")
    needs_torch = ">=1.12"
    inputs = (
        (boolean(2, 5), i64(2, 5), f32(2, 5)),
        (boolean(2, 5), i64(2, 5), f32(2, 5)),
        (boolean(3, 5), i64(3, 5), f32(3, 5)),
    )
    dynamic = {"mask": {0: "batch"}, "x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, mask, x, y):
        return torch.where(mask, x, y)

    @fix("rewrite", "convert both branches to one dtype", documented=False)
    def one_type(self, mask, x, y):
        return torch.where(mask, x.to(y.dtype), y)


class MinimumOfTwoIntTypes(Case):
    """torch.minimum of int16 and int32: Min needs one type."""

    sources = ("pytorch/pytorch#76022",)
    aten_ops = ("aten::minimum",)
    onnx_ops = ("Min", "Cast")
    needs_torch = ">=1.7"
    inputs = (
        (values([1, 5, -3, 9], "int16"), i32(4)),
        (values([7, -7, 0, 300], "int16"), i32(4, low=-400, high=400)),
    )

    def forward(self, x, y):
        return torch.minimum(x, y)

    @fix("rewrite", "convert both to one dtype", documented=False)
    def one_type(self, x, y):
        return torch.minimum(x.to(torch.int32), y)


class ScriptTensorConstantDouble(Case):
    """Scripted division by a float32 torch.tensor: the constant becomes a double."""

    sources = ("pytorch/pytorch#58367",)
    aten_ops = ("aten::div", "aten::tensor")
    onnx_ops = ("Cast", "Div")
    exporters = ("torchscript-script",)
    inputs = ((f32(3, 2, 1),), (f32(3, 2, 1),), (f32(5, 2, 1),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        rows, _columns, _depth = x.shape
        x = x.reshape(rows, -1)
        # without unpacking the sizes, 1.8 and 1.9 write a float
        _rows, columns = x.shape
        return x.reshape(columns, -1).to(torch.float32) / torch.tensor(2.0, dtype=torch.float32)

    @fix("rewrite", "divide by a Python number", documented=False)
    def python_number(self, x):
        rows, _columns, _depth = x.shape
        x = x.reshape(rows, -1)
        _rows, columns = x.shape
        return x.reshape(columns, -1) / 2.0

    trace = fix(
        "export-option",
        "use torch.jit.trace instead of torch.jit.script",
        exporter="torchscript-trace",
        documented=False,
    )


INTEGERS = (
    (values([[0, 1, 20, -3]], "int64"),),
    (values([[2**24 + 1, 5, -(2**24) - 1, 9]], "int64"),),
    (values([[3, 4, 5, 6], [30, 40, 50, 60]], "int64"),),
)


class MinWithFullLike(Case):
    """torch.min(x, torch.full_like(x, 10)) of integers: reported to return a float."""

    sources = ("pytorch/pytorch#99788",)
    aten_ops = ("aten::minimum", "aten::full_like")
    onnx_ops = ("Min", "Cast")
    inputs = INTEGERS
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return torch.min(x, torch.full_like(x, 10))

    @fix("rewrite", "use clamp(max=10)")
    def clamp(self, x):
        return torch.clamp(x, max=10)

    @fix("rewrite", "set the dtype of full_like")
    def type_named(self, x):
        return torch.min(x, torch.full_like(x, 10, dtype=x.dtype))


class ClampLargeIntegers(Case):
    """clamp of integers above 2**24: a cast to float and back loses digits."""

    sources = ("pytorch/pytorch#70584", "onnx/onnx-tensorrt#788")
    aten_ops = ("aten::clamp",)
    onnx_ops = ("Clip", "Cast", "Min", "Max")
    # no dynamic axis: with one the cast is left out, and the checker rejects a Clip of int64 (1.10 to 2.15)
    inputs = INTEGERS[:2]

    def forward(self, x):
        return torch.clamp(x, -(2**25), 2**25)

    opset_12 = fix("raise-opset", "export at opset 12, whose Clip accepts integers", opset=12)

    @fix("rewrite", "use torch.where twice", documented=False)
    def where(self, x):
        x = torch.where(x > 2**25, torch.full_like(x, 2**25, dtype=x.dtype), x)
        return torch.where(x < -(2**25), torch.full_like(x, -(2**25), dtype=x.dtype), x)


class CastNegativeFloatToUnsigned(Case):
    """x.to(torch.uint32) of negative floats: wraps around on the CPU, zero on CUDA."""

    sources = ("microsoft/onnxruntime#25207",)
    aten_ops = ("aten::to",)
    onnx_ops = ("Cast",)
    needs_torch = ">=2.3"
    inputs = ((values([0.5, 1.5, 7.0, 100.0]),), (values([-1.0, -0.5, 0.5, 1.5]),))

    def forward(self, x):
        return x.to(torch.uint32)

    @fix("rewrite", "call clamp(min=0) before the cast; values differ", changes_values=True, documented=False)
    def clamped(self, x):
        return torch.clamp(x, min=0).to(torch.uint32)

    @fix("rewrite", "cast to int64 first", documented=False)
    def by_int64(self, x):
        return x.to(torch.int64).to(torch.uint32)


class OneMinusIntegerMask(Case):
    """(1.0 - mask) * x of an integer mask: dynamo fails from torch 2.13 on.

    The type promotion of torch 2.13 leaves a node without a translation. ``1.0 - mask.long()``, as in XLNet, is the
    same.
    """

    sources = ("pytorch/pytorch#194381", "huggingface/transformers#48191")
    aten_ops = ("aten::rsub", "aten::mul")
    onnx_ops = ("Sub", "Mul", "Cast")
    inputs = (
        (f32(2, 3), values([[1, 1, 1], [1, 1, 1]], "int64")),
        (f32(2, 3), values([[1, 0, 1], [0, 0, 1]], "int64")),
        (f32(4, 3), i64(4, 3, high=2)),
    )
    dynamic = {"x": {0: "batch"}, "mask": {0: "batch"}}

    def forward(self, x, mask):
        return (1.0 - mask) * x

    @fix("rewrite", "convert the mask to float first", documented=False)
    def float_mask(self, x, mask):
        return (1.0 - mask.to(x.dtype)) * x

    @fix("rewrite", "use an integer one: 1 - mask", documented=False)
    def integer_one(self, x, mask):
        return (1 - mask) * x

    @fix("rewrite", "use torch.where on mask == 0", documented=False)
    def where(self, x, mask):
        return torch.where(mask == 0, x, torch.zeros_like(x))

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class FullOfAnInteger(Case):
    """torch.full(size, 3) without dtype, dynamic size: floats instead of integers.

    torch returns integers; the ONNX file has floats.
    """

    sources = ("microsoft/onnxscript#2926",)
    aten_ops = ("aten::full",)
    onnx_ops = ("Expand", "ConstantOfShape")
    needs_torch = ">=1.7"
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.full((x.size(0), 2), 3)

    @fix("rewrite", "set the dtype", documented=False)
    def type_named(self, x):
        return torch.full((x.size(0), 2), 3, dtype=torch.int64)


class LinspaceOfIntegers(Case):
    """torch.linspace(0, 10, 5, dtype=torch.int64): steps are rounded before the sum."""

    sources = ("microsoft/onnxscript#2693", "microsoft/onnxscript#854")
    aten_ops = ("aten::linspace",)
    onnx_ops = ("Range", "Mul", "Cast")
    needs_torch = ">=1.6"
    inputs = ((i64(5, high=100),), (i64(5, high=100),), (values([1, -2, 3, -4, 5], "int64"),))

    def forward(self, x):
        return x + torch.linspace(0, 10, 5, dtype=torch.int64)

    @fix("rewrite", "compute in float and cast to integers", documented=False)
    def cast(self, x):
        return x + torch.linspace(0, 10, 5).to(torch.int64)


class RemainderOfNumberByTensor(Case):
    """torch.remainder(7, x): reported to fail in dynamo with a number on the left."""

    sources = ("microsoft/onnxscript#2727",)
    aten_ops = ("aten::remainder",)
    onnx_ops = ("Mod",)
    needs_torch = ">=1.10"
    inputs = (
        (values([[2, 3], [4, 5]], "int64"),),
        (values([[-2, 3], [-4, 5]], "int64"),),
        (values([[2, -3], [4, 5], [6, -5]], "int64"),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.remainder(7, x)

    @fix("rewrite", "convert the number to a tensor", documented=False)
    def as_tensor(self, x):
        return torch.remainder(torch.full_like(x, 7), x)


class AndOfIntegersAndNumber(Case):
    """x & 1 of integers: TorchScript rejects the number on the right below opset 18."""

    sources = ("microsoft/onnxscript#2618", "microsoft/onnxscript#2617")
    aten_ops = ("aten::bitwise_and",)
    onnx_ops = ("BitwiseAnd",)
    inputs = ((i64(2, 5),), (values([[-1, -2, 0, 7, 255], [1, 2, 3, 4, -1000]], "int64"),), (i64(4, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x & 1

    @fix("rewrite", "use the remainder by two", documented=False)
    def remainder(self, x):
        return x % 2

    @fix("rewrite", "convert the number to a tensor", documented=False)
    def as_tensor(self, x):
        return x & torch.ones_like(x)


class IntegerTimesNumber(Case):
    """counts * 0.5 * x of integers: torch 2.13 leaves an untranslated mul.Scalar."""

    sources = ("pytorch/pytorch#194382", "norse/norse#447", "huggingface/transformers#48191")
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul", "Cast")
    inputs = (
        (f32(2, 3), values([[1, 2, 3], [4, 5, 6]], "int64")),
        (f32(2, 3), values([[0, -1, 7], [-3, 5, 9]], "int64")),
        (f32(4, 3), i64(4, 3)),
    )
    dynamic = {"x": {0: "batch"}, "counts": {0: "batch"}}

    def forward(self, x, counts):
        return counts * 0.5 * x

    @fix("rewrite", "convert the integers to float first")
    def as_float(self, x, counts):
        return counts.to(x.dtype) * 0.5 * x

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class IntegersTimesDynamicSize(Case):
    """counts * (size / 2) of integers, dynamic size: dynamo fails from torch 2.13 on.

    The mul.Scalar of torch 2.13 requires a number and gets a tensor.
    """

    sources = ("pytorch/pytorch#194382",)
    aten_ops = ("aten::mul", "aten::size")
    onnx_ops = ("Mul", "Cast")
    inputs = ((i64(4, 3),), (i64(4, 3),), (i64(6, 3),))
    dynamic = {"counts": {0: "batch"}}

    def forward(self, counts):
        return counts * (counts.shape[0] / 2)

    @fix("rewrite", "convert the integers to float first", documented=False)
    def as_float(self, counts):
        return counts.to(torch.float32) * (counts.shape[0] / 2)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)
