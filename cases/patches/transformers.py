"""What the ONNX exporter of transformers works around: one case for each patch, with that patch alone as the fix.

A patch is there for a failure of torch, onnxscript or ONNX Runtime, and is to go once that is mended. The plain form
says on which releases the failure is there; the fix says whether the patch mends it without the others.
"""

from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from caniexport import Case, boolean, f32, fix, i64, values

_PREPARE = "torch.onnx._internal.exporter._core._prepare_exported_program_for_export"


def _load(name):
    """A module of transformers.exporters; the cell is skipped where it has none or torch is too old for it."""
    from importlib import import_module

    from caniexport.worker.failures import CannotBuild

    try:
        return import_module("transformers.exporters." + name)
    except Exception as error:
        raise CannotBuild("transformers.exporters.{}: {}: {}".format(name, type(error).__name__, error)) from error


def _skip_unless(found, what):
    from caniexport.worker.failures import CannotBuild

    if not found:
        raise CannotBuild("transformers {} has no {}".format(_version(), what))


def _version():
    import transformers

    return transformers.__version__


def _only_patch(*paths, **of):
    """``patch(opset)``: put in place what transformers registers for these attributes, and nothing else of it."""
    backend = of.get("backend", "onnx")

    @contextmanager
    def entered(opset):  # noqa: ARG001  # the protocol's
        _load("exporter_onnx" if backend == "onnx" else "exporter_dynamo")
        utils = _load("utils")
        registered = [item for item in utils._PATCHES.get(backend, ()) if ".".join(item[:2]) in paths]
        _skip_unless(len(registered) == len(paths), "patch of {} for {}".format(" and ".join(paths), backend))
        with utils.patch_attributes(
            [(utils.import_dotted_path(owner), name, made) for owner, name, made in registered]
        ):
            yield

    return entered


def _only_node_fix(name):
    """``route(request)``: export with this one of their node fixes, after the capture and after the decomposition.

    Their pass also removes dead code. With no name it does that alone.
    """

    def route(request):
        _load("exporter_onnx")
        utils = _load("utils")
        registered = utils._FX_NODE_FIXES.get("onnx", [])
        wanted = [item for item in registered if item.__name__ == name]
        _skip_unless(wanted or not name, "node fix " + name)
        utils._FX_NODE_FIXES["onnx"] = wanted
        try:
            with _only_patch(_PREPARE)(request.opset):
                program = _capture(request)
                utils.apply_fx_node_fixes("onnx", program.graph_module)
                return _write(program, request)
        finally:
            utils._FX_NODE_FIXES["onnx"] = registered

    return route


def _capture(request):
    with torch.no_grad():
        return torch.export.export(request.module, request.args, dynamic_shapes=_shapes(request), strict=False)


def _shapes(request):
    """The dynamic axes of a request as ``torch.export`` takes them."""
    if not request.dynamic:
        return None
    anything = torch.export.Dim.DYNAMIC
    return {name: dict.fromkeys(request.dynamic.get(name, ()), anything) or None for name in request.input_names}


def _write(program, request):
    written = torch.onnx.export(
        program, (), input_names=list(request.input_names), dynamo=True, opset_version=request.opset
    )
    return written.model_proto.SerializeToString()


def _only_translation(name):
    """Options of the export: the operators that transformers translates with this function, and no other."""

    def options():
        table = _load("exporter_onnx")._ONNX_TRANSLATION_TABLE
        wanted = {operator: made for operator, made in table.items() if made.__name__ == name}
        _skip_unless(wanted, "translation " + name)
        return {"custom_translation_table": wanted}

    return options


class _PatchCase(Case):
    corpus = "patches"
    exporters = ("dynamo",)

    @classmethod
    def asks(cls, variant, release, exporter):  # noqa: ARG003  # the protocol's
        return (18,)


# ---- patches of torch --------------------------------------------------------------------------------------------


class WhereOfTwoDtypes(_PatchCase):
    """torch.where of float and int64: the two branches need one dtype in ONNX."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_where",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where",)
    inputs = ((boolean(2, 5), f32(2, 5), i64(2, 5)), (boolean(3, 5), f32(3, 5), i64(3, 5)))
    dynamic = {"mask": {0: "n"}, "x": {0: "n"}, "y": {0: "n"}}

    def forward(self, mask, x, y):
        return torch.where(mask, x, y)

    transformers_patch = fix(
        "custom-symbolic", "cast the second branch to the dtype of the first", patch=_only_patch("torch.where")
    )


class WhereOfIntAndFloat(_PatchCase):
    """torch.where of int64 and float: torch promotes to float, the patch casts to the first dtype.

    The same patch as in ``where-of-two-dtypes``, with the integers first: it cuts the floats off.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_where",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where",)
    inputs = ((boolean(2, 5), i64(2, 5), f32(2, 5)), (boolean(3, 5), i64(3, 5), f32(3, 5)))
    dynamic = {"mask": {0: "n"}, "x": {0: "n"}, "y": {0: "n"}}

    def forward(self, mask, x, y):
        return torch.where(mask, x, y)

    transformers_patch = fix(
        "custom-symbolic", "cast the second branch to the dtype of the first", patch=_only_patch("torch.where")
    )


class WhereOfScalar(_PatchCase):
    """torch.where with a Python number as one branch: the number becomes a constant of the captured program.

    The patch fills a tensor with the number instead, because such a constant may break the decomposition.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_where",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where",)
    inputs = ((boolean(2, 5), f32(2, 5)), (boolean(3, 5), f32(3, 5)))
    dynamic = {"mask": {0: "n"}, "x": {0: "n"}}

    def forward(self, mask, x):
        return torch.where(mask, x, -1e4)

    transformers_patch = fix(
        "custom-symbolic", "a tensor filled with the number in its place", patch=_only_patch("torch.where")
    )


class UnsqueezeComplex(_PatchCase):
    """unsqueeze of a complex tensor: the translation takes real tensors only, says the patch."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_unsqueeze",)
    aten_ops = ("aten::unsqueeze", "aten::complex")
    onnx_ops = ("Unsqueeze",)
    inputs = ((f32(2, 3), f32(2, 3)), (f32(4, 3), f32(4, 3)))
    dynamic = {"x": {0: "n"}, "y": {0: "n"}}

    def forward(self, x, y):
        return torch.view_as_real(torch.complex(x, y).unsqueeze(1))

    transformers_patch = fix(
        "custom-symbolic",
        "unsqueeze the real and the imaginary part",
        patch=_only_patch("torch.unsqueeze", "torch.Tensor.unsqueeze"),
    )


class SdpaRowMaskedByInfinity(_PatchCase):
    """Attention with a row that an additive mask of -inf closes: torch gives zeros, ONNX Runtime may give NaN."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_sdpa",)
    aten_ops = ("aten::scaled_dot_product_attention",)
    onnx_ops = ("Softmax",)
    inputs = (
        (f32(1, 2, 3, 4), values([[[[True, False, True], [False, False, False], [True, True, True]]]], "bool")),
        (f32(1, 2, 3, 4), values([[[[False, False, False], [True, True, False], [True, False, False]]]], "bool")),
    )

    def forward(self, x, mask):
        closed = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, float("-inf"))
        return F.scaled_dot_product_attention(x, x, x, attn_mask=closed)

    transformers_patch = fix(
        "custom-symbolic",
        "zeros in the rows that no key is open to",
        patch=_only_patch("torch.nn.functional.scaled_dot_product_attention"),
    )


class SdpaRowMaskedByBool(_PatchCase):
    """Attention with a row that a bool mask closes: torch gives zeros, the export has to as well."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_sdpa",)
    aten_ops = ("aten::scaled_dot_product_attention",)
    onnx_ops = ("Softmax",)
    inputs = (
        (f32(1, 2, 3, 4), values([[[[True, False, True], [False, False, False], [True, True, True]]]], "bool")),
        (f32(1, 2, 3, 4), values([[[[False, False, False], [True, True, False], [True, False, False]]]], "bool")),
    )

    def forward(self, x, mask):
        return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    transformers_patch = fix(
        "custom-symbolic",
        "an additive mask, and zeros in the rows that no key is open to",
        patch=_only_patch("torch.nn.functional.scaled_dot_product_attention"),
    )


class RmsNormWithoutAffine(_PatchCase):
    """nn.RMSNorm without a weight: the fused operator is translated with one, says the patch."""

    needs_torch = ">=2.4"
    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_rms_norm_forward",)
    aten_ops = ("aten::rms_norm",)
    inputs = ((f32(2, 8),), (f32(3, 8),))
    dynamic = {"x": {0: "n"}}

    def setup(self):
        self.norm = nn.RMSNorm(8, eps=1e-6, elementwise_affine=False)

    def forward(self, x):
        return self.norm(x)

    transformers_patch = fix(
        "custom-symbolic", "the mean of the squares written out", patch=_only_patch("torch.nn.RMSNorm.forward")
    )


class SplitOfSymbolicSize(_PatchCase):
    """split by a size that the export holds as a symbol: onnxscript folds the split of the sequence, and crashes."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_split",)
    aten_ops = ("aten::split",)
    onnx_ops = ("SplitToSequence",)
    inputs = ((f32(2, 6), f32(3)), (f32(2, 6), f32(4)))
    dynamic = {"like": {0: "n"}}

    def forward(self, x, like):
        first, second = x.split(like.shape[0], dim=1)
        return torch.cat([second, first], dim=1) * like.sum()

    transformers_patch = fix(
        "custom-symbolic", "one narrow for each part", patch=_only_patch("torch.split", "torch.Tensor.split")
    )


class ChunkInHalvesOfDynamicAxis(_PatchCase):
    """chunk of a dynamic axis: a split of a sequence by a computed length, which the inliner refuses."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_chunk",)
    aten_ops = ("aten::chunk", "aten::split")
    onnx_ops = ("SplitToSequence",)
    inputs = ((f32(2, 6),), (f32(2, 8),))
    dynamic = {"x": {1: "n"}}

    def forward(self, x):
        first, second = x.chunk(2, dim=1)
        return torch.cat([second, first], dim=1)

    transformers_patch = fix(
        "custom-symbolic", "one narrow for each part", patch=_only_patch("torch.chunk", "torch.Tensor.chunk")
    )


class ChunkOfUnevenDynamicAxis(_PatchCase):
    """chunk of a dynamic axis of odd length: the last part is the shorter one."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_chunk",)
    aten_ops = ("aten::chunk", "aten::split")
    onnx_ops = ("SplitToSequence",)
    inputs = ((f32(2, 7),), (f32(2, 9),))
    dynamic = {"x": {1: "n"}}

    def forward(self, x):
        first, second = x.chunk(2, dim=1)
        return torch.cat([second, first], dim=1)

    transformers_patch = fix(
        "custom-symbolic", "one narrow for each part", patch=_only_patch("torch.chunk", "torch.Tensor.chunk")
    )


class RandpermIndex(_PatchCase):
    """torch.randperm: no translation. The permuted rows are summed, so that any permutation gives the same."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_randperm",)
    aten_ops = ("aten::randperm",)
    inputs = ((f32(5, 3),), (f32(5, 3),))

    def forward(self, x):
        return x[torch.randperm(x.shape[0])].sum(0)

    transformers_patch = fix(
        "custom-symbolic", "the order of random numbers instead", patch=_only_patch("torch.randperm")
    )


class IndexPutOfEveryAxis(_PatchCase):
    """x[i, j] = v with an index for every axis: the translation makes a constant of an empty list.

    The patch silences a warning about the type of the empty list; it claims no failure.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_opset13_constant",)
    aten_ops = ("aten::index_put",)
    onnx_ops = ("ScatterND",)
    inputs = (
        (f32(3, 4), values([0, 2], "int64"), values([3, 1], "int64"), f32(2)),
        (f32(3, 4), values([1, 2], "int64"), values([0, 2], "int64"), f32(2)),
    )

    def forward(self, x, rows, columns, new):
        x = x.clone()
        x[rows, columns] = new
        return x

    transformers_patch = fix(
        "custom-symbolic",
        "an empty int64 tensor instead of an empty list",
        patch=_only_patch("onnxscript.onnx_opset._impl.opset13.Opset13.Constant"),
    )


def _count_resizes(model):
    """How many nodes the optimizer has left of the interpolation."""
    return {"resizes": sum(node.op_type == "Resize" for node in model.graph.node)}


class ResizeOfParameter(_PatchCase):
    """Bicubic interpolation of a parameter: the optimizer computes it in Python, element by element, they say.

    Both forms pass: what the patch is for is the time of the export. The fact counts the nodes that are left.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_optimize_ir",)
    aten_ops = ("aten::upsample_bicubic2d",)
    onnx_ops = ("Resize",)
    inputs = ((f32(2, 32, 48, 48),), (f32(3, 32, 48, 48),))
    dynamic = {"x": {0: "n"}}
    facts = staticmethod(_count_resizes)

    def setup(self):
        self.table = nn.Parameter(torch.zeros(1, 32, 16, 16))

    def forward(self, x):
        return x + F.interpolate(self.table, size=(48, 48), mode="bicubic", align_corners=False)

    transformers_patch = fix(
        "custom-symbolic", "do not fold Resize", patch=_only_patch("onnxscript.optimizer.optimize_ir")
    )


class ExpComplex(_PatchCase):
    """torch.exp of a complex tensor: the translation takes real tensors only."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_exp",)
    aten_ops = ("aten::exp", "aten::complex")
    onnx_ops = ("Exp",)
    inputs = ((f32(2, 3), f32(2, 3)), (f32(4, 3), f32(4, 3)))
    dynamic = {"x": {0: "n"}, "y": {0: "n"}}

    def forward(self, x, y):
        return torch.view_as_real(torch.exp(torch.complex(x, y)))

    transformers_patch = fix(
        "custom-symbolic", "cosine and sine of the imaginary part", patch=_only_patch("torch.exp", "torch.Tensor.exp")
    )


class IrfftOfComplex(_PatchCase):
    """torch.fft.irfft: ONNX Runtime refuses a DFT that is one-sided and inverse at once."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_irfft",)
    aten_ops = ("aten::fft_irfft", "aten::_fft_c2r")
    onnx_ops = ("DFT",)
    inputs = ((f32(2, 5), f32(2, 5)), (f32(3, 5), f32(3, 5)))
    dynamic = {"x": {0: "n"}, "y": {0: "n"}}

    def forward(self, x, y):
        return torch.fft.irfft(torch.complex(x, y), n=8, dim=1, norm="ortho")

    transformers_patch = fix(
        "custom-symbolic", "mirror the spectrum and transform all of it", patch=_only_patch("torch.fft.irfft")
    )


class IrfftOfOddLength(_PatchCase):
    """torch.fft.irfft to an odd length: the spectrum has no middle element that the mirror leaves out.

    The same patch as in ``irfft-of-complex``: it takes every length for an even one, and has one element too few.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_irfft",)
    aten_ops = ("aten::fft_irfft", "aten::_fft_c2r")
    onnx_ops = ("DFT",)
    inputs = ((f32(2, 5), f32(2, 5)), (f32(3, 5), f32(3, 5)))
    dynamic = {"x": {0: "n"}, "y": {0: "n"}}

    def forward(self, x, y):
        return torch.fft.irfft(torch.complex(x, y), n=9, dim=1)

    transformers_patch = fix(
        "custom-symbolic", "mirror the spectrum and transform all of it", patch=_only_patch("torch.fft.irfft")
    )


class FullOfInteger(_PatchCase):
    """torch.full with an integer and no dtype: int64 in torch; the patch says that ONNX makes it float."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_full",)
    aten_ops = ("aten::full",)
    onnx_ops = ("Expand",)
    inputs = ((f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return torch.full((x.shape[0],), 7)

    transformers_patch = fix("custom-symbolic", "dtype=torch.long where none is given", patch=_only_patch("torch.full"))


class MaskedMean(_PatchCase):
    """torch.masked.mean: a float sum is divided by an int64 count."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_masked_mean",)
    aten_ops = ("aten::sum", "aten::div")
    onnx_ops = ("Div",)
    inputs = (
        (f32(2, 3), values([[True, False, True], [False, False, True]], "bool")),
        (f32(2, 3), values([[True, True, True], [False, True, True]], "bool")),
    )

    def forward(self, x, mask):
        return torch.masked.mean(x, mask=mask, dim=1)

    transformers_patch = fix(
        "custom-symbolic", "a float mask, its sum and a division", patch=_only_patch("torch.masked.mean")
    )


class MaskedMeanBesideAxisOfOne(_PatchCase):
    """torch.masked.mean of a tensor with another axis of length one: the patch squeezes that axis of the count too."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_masked_mean",)
    aten_ops = ("aten::sum", "aten::div")
    onnx_ops = ("Div",)
    inputs = (
        (f32(2, 1, 3), values([[[True, False, True]], [[False, False, True]]], "bool")),
        (f32(2, 1, 3), values([[[True, True, True]], [[False, True, True]]], "bool")),
    )

    def forward(self, x, mask):
        return torch.masked.mean(x, mask=mask, dim=2)

    transformers_patch = fix(
        "custom-symbolic", "a float mask, its sum and a division", patch=_only_patch("torch.masked.mean")
    )


class MaskedVar(_PatchCase):
    """torch.masked.var: a float sum is divided by an int64 count."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_masked_var",)
    aten_ops = ("aten::sum", "aten::div")
    onnx_ops = ("Div",)
    inputs = (
        (f32(2, 4), values([[True, False, True, True], [False, True, True, True]], "bool")),
        (f32(2, 4), values([[True, True, True, True], [False, True, False, True]], "bool")),
    )

    def forward(self, x, mask):
        return torch.masked.var(x, mask=mask, dim=1, unbiased=True)

    transformers_patch = fix(
        "custom-symbolic", "a float mask, its sum and divisions", patch=_only_patch("torch.masked.var")
    )


class MaskedScatterOfRows(_PatchCase):
    """masked_scatter: written as ScatterND, which ONNX Runtime may refuse, says the patch."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_masked_scatter",)
    aten_ops = ("aten::masked_scatter",)
    onnx_ops = ("ScatterND",)
    inputs = (
        (f32(1, 4, 3), values([[True, False, True, False]], "bool"), f32(2, 3)),
        (f32(2, 3, 3), values([[False, True, True], [True, False, True]], "bool"), f32(4, 3)),
    )
    dynamic = {"x": {0: "n", 1: "length"}, "mask": {0: "n", 1: "length"}, "source": {0: "rows"}}

    def forward(self, x, mask, source):
        return x.masked_scatter(mask.unsqueeze(-1).expand_as(x), source)

    transformers_patch = fix(
        "custom-symbolic",
        "a cumulative sum of the mask gives the place in the source",
        patch=_only_patch("torch.Tensor.masked_scatter"),
    )


class RollThenWrite(_PatchCase):
    """torch.roll and a write into the result: a Slice with axes and ends of different lengths."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_patch_roll",)
    aten_ops = ("aten::roll",)
    onnx_ops = ("Slice", "Concat")
    inputs = ((boolean(2, 5),), (boolean(3, 6),))
    dynamic = {"x": {0: "n", 1: "length"}}

    def forward(self, x):
        before = torch.roll(x, shifts=1, dims=-1)
        before[..., 0] = False
        return x & ~before

    transformers_patch = fix("custom-symbolic", "two narrows and a cat", patch=_only_patch("torch.roll"))


class ByteGroupHash(_PatchCase):
    """BLT's rolling hash: ONNX Runtime sums int64 through float, and the low digits are lost."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_byte_group_hash",)
    aten_ops = ("aten::sum", "aten::remainder")
    onnx_ops = ("ReduceSum",)
    requires = ("transformers",)
    inputs = ((i64(2, 6, low=0, high=256),), (i64(2, 6, low=0, high=256),))

    def setup(self):
        from transformers.models.blt import modeling_blt

        self.blt = modeling_blt

    def forward(self, tokens):
        return self.blt.byte_group_hash_function(tokens, 3, 1000000007, 30000)

    transformers_patch = fix(
        "custom-symbolic",
        "the same hash in digits of 8 bits",
        patch=_only_patch("transformers.models.blt.modeling_blt.byte_group_hash_function"),
    )


class HistcOfExperts(_PatchCase):
    """torch.histc that counts tokens per expert: the patch says that the translation rejects integers.

    On a CPU torch itself rejects them, so they are cast here as models do.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_histc",)
    aten_ops = ("aten::histc",)
    onnx_ops = ("ScatterElements",)
    inputs = ((i64(12, low=0, high=4),), (i64(12, low=0, high=4),))

    def forward(self, experts):
        return torch.histc(experts.float(), bins=4, min=0, max=3)

    transformers_patch = fix("custom-symbolic", "zeros and scatter_add_", patch=_only_patch("torch.histc"))


class HistcBeyondRange(_PatchCase):
    """torch.histc of values beyond min and max: torch leaves them out.

    The same patch as in ``histc-of-experts``: it counts them in the first and the last bin.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_histc",)
    aten_ops = ("aten::histc",)
    onnx_ops = ("ScatterElements",)
    inputs = (
        (values([-1.0, 0.2, 0.3, 0.6, 0.9, 1.5, 2.0]),),
        (values([0.1, 0.3, 0.4, -0.6, 0.7, 0.8, 3.0]),),
    )

    def forward(self, x):
        return torch.histc(x, bins=4, min=0, max=1)

    transformers_patch = fix("custom-symbolic", "zeros and scatter_add_", patch=_only_patch("torch.histc"))


class SearchsortedNoRule(_PatchCase):
    """torch.searchsorted: no ONNX translation."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_searchsorted",)
    aten_ops = ("aten::searchsorted",)
    inputs = (
        (values([0.0, 0.5, 1.0, 2.0]), f32(5, low=-1.0, high=3.0)),
        (values([-1.0, 0.5, 1.5, 1.7]), f32(5, low=-1.0, high=3.0)),
    )

    def forward(self, edges, x):
        return torch.searchsorted(edges, x)

    transformers_patch = fix(
        "custom-symbolic", "count the edges that are smaller", patch=_only_patch("torch.searchsorted")
    )


class BucketizeByComputedEdges(_PatchCase):
    """torch.bucketize by edges made in forward: constants of its decomposition break the functional graph, they say."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_bucketize",)
    aten_ops = ("aten::bucketize",)
    inputs = ((f32(3, 5, low=0.0, high=1.0),), (f32(4, 5, low=0.0, high=1.0),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return torch.bucketize(x, torch.arange(1 / 4, 1.0, 1 / 4), right=True)

    transformers_patch = fix(
        "custom-symbolic", "count the edges that are not larger", patch=_only_patch("torch.bucketize")
    )


class AttentionMaskByVmap(_PatchCase):
    """transformers' attention mask through torch.vmap: the patch says that no exporter traces it."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_broadcast_mask_expansion",)
    aten_ops = ("aten::le", "aten::index")
    requires = ("transformers",)
    inputs = (
        (values([[1, 1, 1, 0], [1, 1, 1, 1]], "int64"),),
        (values([[0, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]], "int64"),),
    )
    dynamic = {"attended": {0: "n", 1: "length"}}

    def setup(self):
        from transformers import masking_utils

        self.masks = masking_utils

    def forward(self, attended):
        return self.masks.sdpa_mask(
            batch_size=attended.shape[0],
            q_length=attended.shape[1],
            kv_length=attended.shape[1],
            attention_mask=attended.bool(),
            allow_is_causal_skip=False,
            use_vmap=True,
        )

    transformers_patch = fix(
        "custom-symbolic",
        "index grids that broadcast instead of vmap",
        patch=_only_patch("transformers.masking_utils._vmap_expansion_sdpa"),
    )


class ReshapeOfTransposed(_PatchCase):
    """reshape of a transposed tensor with dynamic axes: a view of it is refused, says the patch."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_reshape",)
    aten_ops = ("aten::reshape", "aten::view")
    onnx_ops = ("Reshape",)
    inputs = ((f32(2, 6, 4),), (f32(5, 6, 3),))
    dynamic = {"x": {0: "n", 2: "length"}}

    def forward(self, x):
        turned = x.transpose(1, 2)
        heads = turned.view(x.shape[0], x.shape[2], 2, 3)
        return heads.transpose(1, 2), turned.reshape(x.shape[0], -1), turned.contiguous().view(-1, 6)

    transformers_patch = fix(
        "custom-symbolic",
        "clone before the reshape",
        patch=_only_patch("torch.reshape", "torch.Tensor.reshape", "torch.Tensor.view"),
    )


class CummaxOfDistinctValues(_PatchCase):
    """torch.cummax: no ONNX translation."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_cummax",)
    aten_ops = ("aten::cummax",)
    inputs = ((f32(2, 5),), (f32(3, 6),))
    dynamic = {"x": {0: "n", 1: "length"}}

    def forward(self, x):
        return torch.cummax(x, 1)

    transformers_patch = fix(
        "custom-symbolic",
        "a maximum under a triangular mask",
        patch=_only_patch("torch.cummax", "torch.Tensor.cummax"),
    )


class CummaxOfTies(_PatchCase):
    """torch.cummax of equal values: torch gives the index of the last of them.

    The same patch as in ``cummax-of-distinct-values``: a maximum gives the index of the first.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_cummax",)
    aten_ops = ("aten::cummax",)
    inputs = ((values([[1.0, 3.0, 3.0, 2.0, 3.0]]),), (values([[2.0, 2.0, 1.0, 2.0, 5.0]]),))

    def forward(self, x):
        return torch.cummax(x, 1)

    transformers_patch = fix(
        "custom-symbolic",
        "a maximum under a triangular mask",
        patch=_only_patch("torch.cummax", "torch.Tensor.cummax"),
    )


class CumminOfDistinctValues(_PatchCase):
    """torch.cummin: no ONNX translation."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_patch_cummin",)
    aten_ops = ("aten::cummin",)
    inputs = ((f32(2, 5),), (f32(3, 6),))
    dynamic = {"x": {0: "n", 1: "length"}}

    def forward(self, x):
        return torch.cummin(x, 1)

    transformers_patch = fix(
        "custom-symbolic",
        "a minimum under a triangular mask",
        patch=_only_patch("torch.cummin", "torch.Tensor.cummin"),
    )


class SdpaOfSelectedRows(_PatchCase):
    """Attention over rows that a mask selects: the CPU's kernel asks whether their number is one."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_dynamo.py#_patch_sdpa",)
    aten_ops = ("aten::scaled_dot_product_attention", "aten::index")
    inputs = (
        (f32(4, 2, 3, 4), values([True, False, True, True], "bool")),
        (f32(4, 2, 3, 4), values([False, False, True, True], "bool")),
    )

    def forward(self, x, mask):
        selected = x[mask]
        return F.scaled_dot_product_attention(selected, selected, selected)

    transformers_patch = fix(
        "custom-symbolic",
        "the mathematical form of attention on a CPU",
        patch=_only_patch("torch.nn.functional.scaled_dot_product_attention", backend="dynamo"),
    )


class SdpaOfSelectedRowsReshaped(_PatchCase):
    """Attention over rows that a mask selects, its heads put side by side again.

    The same patch as in ``sdpa-of-selected-rows``, followed by what models do with the result.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_dynamo.py#_patch_sdpa",)
    aten_ops = ("aten::scaled_dot_product_attention", "aten::index", "aten::reshape")
    inputs = (
        (f32(4, 3, 2, 4), values([True, False, True, True], "bool")),
        (f32(4, 3, 2, 4), values([False, False, True, True], "bool")),
    )

    def forward(self, x, mask):
        selected = x[mask].transpose(1, 2)
        attended = F.scaled_dot_product_attention(selected, selected, selected)
        return attended.transpose(1, 2).reshape(selected.shape[0], 3, -1)

    transformers_patch = fix(
        "custom-symbolic",
        "the mathematical form of attention on a CPU",
        patch=_only_patch("torch.nn.functional.scaled_dot_product_attention", backend="dynamo"),
    )


class SlidingWindowOfCache(_PatchCase):
    """A cache layer with a window: whether it is full is decided while the program is captured.

    The patch keeps every key, as a layer without a window does; the mask closes those before the window.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_dynamo.py#_patch_sliding_window_layer",)
    aten_ops = ("aten::cat", "aten::slice")
    requires = ("transformers",)
    inputs = ((f32(1, 1, 2, 4), f32(1, 1, 1, 4)), (f32(1, 1, 6, 4), f32(1, 1, 1, 4)))
    dynamic = {"past": {2: "length"}}

    def setup(self):
        from transformers import cache_utils

        self.caches = cache_utils

    def forward(self, past, new):
        layer = self.caches.DynamicSlidingWindowLayer(sliding_window=4)
        layer.update(past, past)
        length, start = layer.get_mask_sizes(1)
        keys, _ = layer.update(new, new)
        outside = torch.arange(length) + start <= past.shape[2] - 4
        scores = (new @ keys.transpose(2, 3)).masked_fill(outside, -1e4)
        return scores.softmax(-1) @ keys

    transformers_patch = fix(
        "custom-symbolic",
        "a layer without a window",
        patch=_only_patch(
            "transformers.cache_utils.DynamicSlidingWindowLayer.update",
            "transformers.cache_utils.DynamicSlidingWindowLayer.get_mask_sizes",
            "transformers.cache_utils.DynamicSlidingWindowLayer.get_seq_length",
            backend="dynamo",
        ),
    )


class RouterThatCastsItsLayer(_PatchCase):
    """The router of NLLB-MoE replaces its linear layer in forward: the capture refuses that, says the patch."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_dynamo.py#_patch_classifier_cast",)
    aten_ops = ("aten::linear",)
    requires = ("transformers",)
    inputs = ((f32(5, 8),), (f32(5, 8),))

    def setup(self):
        from transformers.models.nllb_moe import configuration_nllb_moe, modeling_nllb_moe

        config = configuration_nllb_moe.NllbMoeConfig(d_model=8, num_experts=4, router_bias=True)
        self.router = modeling_nllb_moe.NllbMoeTop2Router(config)

    def forward(self, x):
        self.router._cast_classifier()
        return self.router.classifier(x)

    transformers_patch = fix(
        "custom-symbolic",
        "no cast of the layer",
        patch=_only_patch(
            "transformers.models.nllb_moe.modeling_nllb_moe.NllbMoeTop2Router._cast_classifier", backend="dynamo"
        ),
    )


class AttentionOverSegments(_PatchCase):
    """Qwen2-VL's vision attention: segments whose lengths are values of an input, one attention each.

    The patch takes segments of one length, as a batch.
    """

    sources = (
        "huggingface/transformers:src/transformers/exporters/exporter_dynamo.py#_patch_chunked_vision_attention",
    )
    aten_ops = ("aten::split_with_sizes", "aten::scaled_dot_product_attention")
    requires = ("transformers",)
    inputs = (
        (f32(8, 8), values([0, 4, 8], "int64"), f32(8, 4), f32(8, 4)),
        (f32(8, 8), values([0, 4, 8], "int64"), f32(8, 4), f32(8, 4)),
    )

    def setup(self):
        from transformers.models.qwen2_vl import configuration_qwen2_vl, modeling_qwen2_vl

        config = configuration_qwen2_vl.Qwen2VLVisionConfig(embed_dim=8, num_heads=2)
        config._attn_implementation = "sdpa"
        self.attention = modeling_qwen2_vl.VisionAttention(config)

    def forward(self, x, ends, cos, sin):
        return self.attention(x, ends, position_embeddings=(cos, sin))

    transformers_patch = fix(
        "custom-symbolic",
        "segments of one length as a batch",
        patch=_only_patch("transformers.models.qwen2_vl.modeling_qwen2_vl.VisionAttention.forward", backend="dynamo"),
    )
    transformers_patch_and_node_fix = fix(
        "custom-symbolic",
        "the same, and their node fix that erases the assertion of one length",
        patch=_only_patch("transformers.models.qwen2_vl.modeling_qwen2_vl.VisionAttention.forward", backend="dynamo"),
        route=_only_node_fix("_fix_assertion"),
    )


# ---- fixes of the captured program -------------------------------------------------------------------------------


class ScatterReduceSum(_PatchCase):
    """scatter_reduce by sum into a tensor: written as scatter_add by the fix."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_fix_scatter_reduce",)
    aten_ops = ("aten::scatter_reduce",)
    onnx_ops = ("ScatterElements",)
    inputs = ((f32(4), i64(6, low=0, high=4), f32(6)), (f32(4), i64(6, low=0, high=4), f32(6)))

    def forward(self, x, index, source):
        return x.scatter_reduce(0, index, source, "sum", include_self=True)

    transformers_patch = fix("custom-symbolic", "scatter_add", route=_only_node_fix("_fix_scatter_reduce"))


class ScatterReduceMeanWithoutSelf(_PatchCase):
    """scatter_reduce by mean without the target's own values."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_fix_scatter_reduce",)
    aten_ops = ("aten::scatter_reduce",)
    onnx_ops = ("ScatterElements",)
    inputs = (
        (f32(5), values([0, 1, 1, 3, 3, 3], "int64"), f32(6)),
        (f32(5), values([2, 2, 2, 2, 0, 4], "int64"), f32(6)),
    )

    def forward(self, x, index, source):
        return x.scatter_reduce(0, index, source, "mean", include_self=False)

    transformers_patch = fix(
        "custom-symbolic", "scatter_add of the values and of ones", route=_only_node_fix("_fix_scatter_reduce")
    )


class ScatterReduceMaxWithoutSelf(_PatchCase):
    """scatter_reduce by maximum without the target's own values."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_fix_scatter_reduce",)
    aten_ops = ("aten::scatter_reduce",)
    onnx_ops = ("ScatterElements",)
    inputs = (
        (f32(5), values([0, 1, 1, 3, 3, 3], "int64"), f32(6)),
        (f32(5), values([2, 2, 2, 2, 0, 4], "int64"), f32(6)),
    )

    def forward(self, x, index, source):
        return x.scatter_reduce(0, index, source, "amax", include_self=False)

    transformers_patch = fix(
        "custom-symbolic", "a maximum over a comparison with every place", route=_only_node_fix("_fix_scatter_reduce")
    )


class AssertionOfValue(_PatchCase):
    """torch._assert_async: an assertion of the captured program has no ONNX counterpart."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_fix_assertion",)
    aten_ops = ("aten::_assert_async",)
    inputs = ((f32(3, low=0.5, high=2.0),), (f32(4, low=0.5, high=2.0),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        torch._assert_async((x > 0).all())
        return torch.log(x)

    transformers_patch = fix("custom-symbolic", "erase the assertion", route=_only_node_fix("_fix_assertion"))


class AssertionOfEveryValue(_PatchCase):
    """torch._check_tensor_all: the captured program asks whether all values are true, for its assertion alone."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_fix_assertion",)
    aten_ops = ("aten::_is_all_true", "aten::_assert_async", "aten::_assert_scalar")
    inputs = ((f32(3, low=0.5, high=2.0),), (f32(4, low=0.5, high=2.0),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        torch._check_tensor_all(x > 0)
        return torch.log(x)

    transformers_patch = fix("custom-symbolic", "erase the assertion", route=_only_node_fix("_fix_assertion"))
    transformers_pass_alone = fix(
        "custom-symbolic",
        "no node fix: only the removal of dead code that comes with their pass",
        route=_only_node_fix(""),
        documented=False,
    )


class AssertionOfSize(_PatchCase):
    """A size read from a value and checked: the captured program asserts its range."""

    sources = ("huggingface/transformers:src/transformers/exporters/utils.py#_fix_assertion",)
    aten_ops = ("aten::_assert_scalar", "aten::sym_constrain_range_for_size")
    inputs = ((f32(5), values(3, "int64")), (f32(5), values(2, "int64")))

    def forward(self, x, count):
        size = count.item()
        torch._check(size >= 0)
        torch._check(size <= x.shape[0])
        return x[:size] + x.new_ones(size)

    transformers_patch = fix("custom-symbolic", "erase the assertions", route=_only_node_fix("_fix_assertion"))


class GuardAgainstInfinity(_PatchCase):
    """A size that depends on values: its range ends at infinity, and a comparison with that cannot be translated."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_dead_comparison",)
    aten_ops = ("aten::nonzero", "aten::index")
    inputs = ((f32(4, 3), values([True, False, True, True], "bool")), (f32(2, 3), values([True, False], "bool")))
    dynamic = {"x": {0: "n"}, "mask": {0: "n"}}

    def forward(self, x, mask):
        selected = x[mask]
        torch._check(selected.shape[0] <= x.shape[0])
        return selected * 2.0

    transformers_patch = fix(
        "custom-symbolic", "erase or fold the comparison", route=_only_node_fix("_fix_dead_comparison")
    )


class ConvolutionOfBfloat16(_PatchCase):
    """A bfloat16 convolution: ONNX has it from opset 22."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_bfloat16_convolution",)
    aten_ops = ("aten::conv1d", "aten::convolution")
    onnx_ops = ("Conv",)
    rtol, atol = 0.02, 0.02
    inputs = ((f32(2, 2, 6),), (f32(3, 2, 6),))
    dynamic = {"x": {0: "n"}}

    def setup(self):
        self.weight = nn.Parameter(torch.zeros(3, 2, 3))

    def forward(self, x):
        return F.conv1d(x.bfloat16(), self.weight.bfloat16()).float()

    transformers_patch = fix(
        "custom-symbolic", "convolve in float32", route=_only_node_fix("_fix_bfloat16_convolution")
    )


class AliasOfConstant(_PatchCase):
    """A constant made in forward and detached: an alias in the captured program, which a later write goes through."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_alias",)
    aten_ops = ("aten::alias", "aten::detach_", "aten::index_put_")
    inputs = ((f32(2), values([0, 2], "int64")), (f32(2), values([3, 1], "int64")))

    def forward(self, x, index):
        table = torch.ops.aten.alias(torch.tensor([1.0, 2.0, 3.0, 4.0])).detach()
        table[index] = x
        return table

    transformers_patch = fix("custom-symbolic", "take the tensor itself", route=_only_node_fix("_fix_alias"))


class DetachInPlace(_PatchCase):
    """A constant made in forward: the captured program detaches it in place."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_detach_inplace",)
    aten_ops = ("aten::detach_", "aten::lift_fresh_copy")
    inputs = ((f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return x * torch.tensor([1.0, 2.0, 3.0]) + x.clone().detach_()

    transformers_patch = fix(
        "custom-symbolic", "detach instead of detach_", route=_only_node_fix("_fix_detach_inplace")
    )


class SliceWithoutStart(_PatchCase):
    """x[..., :end] with a dynamic end: a slice whose start is None."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_slice_implicit_start",)
    aten_ops = ("aten::slice",)
    onnx_ops = ("Slice",)
    inputs = ((f32(2, 6), f32(3)), (f32(2, 6), f32(5)))
    dynamic = {"like": {0: "n"}}

    def forward(self, x, like):
        return x[..., : like.shape[0]] + like

    transformers_patch = fix("custom-symbolic", "a start of 0", route=_only_node_fix("_fix_slice_implicit_start"))


class IndexPutOfLastAxis(_PatchCase):
    """x[..., index] = value with dynamic axes: the write is lost, says the fix."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_index_put_last_dim_index",)
    aten_ops = ("aten::index_put_", "aten::index_put")
    onnx_ops = ("ScatterND",)
    inputs = ((f32(2, 3, 6), values([1, 4], "int64")), (f32(3, 5, 6), values([0, 5], "int64")))
    dynamic = {"x": {0: "n", 1: "length"}}

    def forward(self, x, index):
        scores = x * 2.0
        scores[:, :, index] = -1e4
        return scores

    transformers_patch = fix(
        "custom-symbolic", "a mask of the axis and where", route=_only_node_fix("_fix_index_put_last_dim_index")
    )


class IndexPutInPlace(_PatchCase):
    """x[index] = value: the captured program has it in place."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_index_put_inplace",)
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND",)
    inputs = ((f32(5, 3), values([0, 3], "int64"), f32(2, 3)), (f32(5, 3), values([4, 1], "int64"), f32(2, 3)))

    def forward(self, x, index, new):
        x = x.clone()
        x[index] = new
        return x

    transformers_patch = fix(
        "custom-symbolic", "index_put instead of index_put_", route=_only_node_fix("_fix_index_put_inplace")
    )


class FillDiagonalInPlace(_PatchCase):
    """fill_diagonal_: the captured program has it in place.

    The fix calls the overload of eye that takes one size with two.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_fill_diagonal_inplace",)
    aten_ops = ("aten::fill_diagonal_",)
    inputs = ((f32(4, 4),), (f32(4, 4),))

    def forward(self, x):
        return x.clone().fill_diagonal_(0.5)

    transformers_patch = fix(
        "custom-symbolic", "where on an identity matrix", route=_only_node_fix("_fix_fill_diagonal_inplace")
    )


class TriuInPlace(_PatchCase):
    """triu_: the captured program has it in place."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_triu_inplace",)
    aten_ops = ("aten::triu_",)
    onnx_ops = ("Trilu",)
    inputs = ((f32(4, 4),), (f32(6, 6),))
    dynamic = {"x": {0: "n", 1: "n"}}

    def forward(self, x):
        return x.clone().triu_(1)

    transformers_patch = fix("custom-symbolic", "triu instead of triu_", route=_only_node_fix("_fix_triu_inplace"))


class SortStable(_PatchCase):
    """torch.sort(stable=True): an overload without a translation, says the fix."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_sort_stable",)
    aten_ops = ("aten::sort",)
    onnx_ops = ("TopK",)
    inputs = ((f32(2, 5),), (f32(3, 5),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return torch.sort(x, stable=True, dim=-1, descending=True)

    transformers_patch = fix("custom-symbolic", "sort without stable", route=_only_node_fix("_fix_sort_stable"))


class SortStableOfTies(_PatchCase):
    """torch.sort(stable=True) of equal integers: their order is part of the answer."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_sort_stable",)
    aten_ops = ("aten::sort",)
    onnx_ops = ("TopK",)
    inputs = ((i64(40, low=0, high=3),), (i64(40, low=0, high=3),))

    def forward(self, x):
        return torch.sort(x, stable=True)

    transformers_patch = fix("custom-symbolic", "sort without stable", route=_only_node_fix("_fix_sort_stable"))


class FloatMinusIntegers(_PatchCase):
    """1.0 - integers: torch 2.13 fails to promote the tensor in the decomposition, says the fix."""

    sources = (
        "huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_integral_tensor_float_scalar",
        "pytorch/pytorch#194381",
    )
    aten_ops = ("aten::rsub",)
    onnx_ops = ("Sub",)
    inputs = ((i64(2, 4, low=0, high=2),), (i64(3, 4, low=0, high=2),))
    dynamic = {"mask": {0: "n"}}

    def forward(self, mask):
        return 1.0 - mask

    transformers_patch = fix(
        "custom-symbolic", "cast the integers first", route=_only_node_fix("_fix_integral_tensor_float_scalar")
    )


class IntegersTimesFloat(_PatchCase):
    """Integers * 2.5: torch 2.13 leaves a product without a translation, says the fix."""

    sources = (
        "huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_integral_tensor_float_scalar",
        "pytorch/pytorch#194382",
    )
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((i64(2, 4, low=0, high=5),), (i64(3, 4, low=0, high=5),))
    dynamic = {"mask": {0: "n"}}

    def forward(self, mask):
        return mask * 2.5

    transformers_patch = fix(
        "custom-symbolic", "cast the integers first", route=_only_node_fix("_fix_integral_tensor_float_scalar")
    )


class TimesQuotientOfSizes(_PatchCase):
    """Integers times a quotient of sizes: a product with a symbol as its scalar, for which there is no translation."""

    sources = (
        "huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_mul_scalar_symbolic",
        "pytorch/pytorch#194382",
    )
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((i64(2, 4), f32(3)), (i64(5, 4), f32(2)))
    dynamic = {"x": {0: "n"}, "like": {0: "m"}}

    def forward(self, x, like):
        return x * (x.shape[0] / like.shape[0]) + like.sum()

    transformers_patch = fix("custom-symbolic", "mul of two tensors", route=_only_node_fix("_fix_mul_scalar_symbolic"))


class RemainderOfSize(_PatchCase):
    """Integers modulo a size: the translation asks for a Python number where it gets a value of the graph.

    The fix puts the size where the other overload takes a tensor.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_fix_remainder_scalar",)
    aten_ops = ("aten::remainder",)
    onnx_ops = ("Mod",)
    inputs = ((i64(4, low=-9, high=9), f32(3)), (i64(4, low=-9, high=9), f32(5)))
    dynamic = {"like": {0: "n"}}

    def forward(self, x, like):
        return x % like.shape[0] + like.sum()

    transformers_patch = fix(
        "custom-symbolic", "remainder of two tensors", route=_only_node_fix("_fix_remainder_scalar")
    )


# ---- translations ------------------------------------------------------------------------------------------------


class BincountOfIntegers(_PatchCase):
    """torch.bincount: no ONNX translation."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_bincount",)
    aten_ops = ("aten::bincount",)
    onnx_ops = ("OneHot",)
    inputs = ((values([0, 1, 1, 3], "int64"),), (values([2, 2, 0, 5], "int64"),))

    def forward(self, x):
        return torch.bincount(x)

    transformers_patch = fix(
        "custom-symbolic", "the sum of a one-hot matrix", export=_only_translation("_aten_bincount")
    )


class IndexPutOfMaskedRows(_PatchCase):
    """x[mask] = rows, as many as the mask selects."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_index_put",)
    aten_ops = ("aten::index_put",)
    onnx_ops = ("ScatterND", "Where")
    inputs = (
        (f32(2, 3, 4), values([[True, False, True], [False, False, True]], "bool"), f32(3, 4)),
        (f32(3, 2, 4), values([[False, True], [True, True], [False, True]], "bool"), f32(4, 4)),
    )
    dynamic = {"x": {0: "n", 1: "length"}, "mask": {0: "n", 1: "length"}, "rows": {0: "m"}}

    def forward(self, x, mask, rows):
        x = x.clone()
        x[mask] = rows
        return x

    transformers_patch = fix(
        "custom-symbolic", "gather by a count of the mask, and Where", export=_only_translation("_aten_index_put")
    )


class IndexPutOfMaskedValuesThatFit(_PatchCase):
    """x[mask] = values, as many as the mask selects, and by chance as many as the last axis is long.

    The same translation as in ``index-put-of-masked-rows``: it takes values that broadcast for ones to repeat.
    """

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_index_put",)
    aten_ops = ("aten::index_put",)
    onnx_ops = ("ScatterND", "Where")
    inputs = (
        (f32(2, 3), values([[False, True, True], [True, False, False]], "bool"), f32(3)),
        (f32(2, 3), values([[False, False, True], [False, True, True]], "bool"), f32(3)),
    )

    def forward(self, x, mask, new):
        x = x.clone()
        x[mask] = new
        return x

    transformers_patch = fix(
        "custom-symbolic", "gather by a count of the mask, and Where", export=_only_translation("_aten_index_put")
    )


class IndexPutOfMaskedNumber(_PatchCase):
    """x[mask] = 0: one number for every place that the mask selects."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_index_put",)
    aten_ops = ("aten::index_put",)
    onnx_ops = ("ScatterND", "Where")
    inputs = ((f32(2, 4, 3), boolean(2, 4)), (f32(5, 4, 3), boolean(5, 4)))
    dynamic = {"x": {0: "n"}, "mask": {0: "n"}}

    def forward(self, x, mask):
        x = x.clone()
        x[mask] = 0.0
        return x

    transformers_patch = fix("custom-symbolic", "Where", export=_only_translation("_aten_index_put"))


class GroupedMatrixProductOfTransformers(_PatchCase):
    """The operator of transformers for experts in groups: it has no translation but this one."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_grouped_mm",)
    aten_ops = ("transformers::grouped_mm_fallback",)
    onnx_ops = ("MatMul",)
    requires = ("transformers",)
    inputs = (
        (f32(8, 4), f32(2, 4, 3), values([3, 8], "int32")),
        (f32(8, 4), f32(2, 4, 3), values([6, 8], "int32")),
    )

    def setup(self):
        from transformers.integrations import moe  # noqa: F401  # it registers the operator

    def forward(self, x, weights, ends):
        return torch.ops.transformers.grouped_mm_fallback(x, weights, ends)

    transformers_patch = fix(
        "custom-symbolic", "one MatMul for each group", export=_only_translation("_aten_grouped_mm")
    )


class RepeatInterleaveOfAll(_PatchCase):
    """repeat_interleave without dim: the translation refuses that, says theirs."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_repeat_interleave_self_int",)
    aten_ops = ("aten::repeat_interleave",)
    onnx_ops = ("Tile",)
    inputs = ((f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return x.repeat_interleave(2)

    transformers_patch = fix(
        "custom-symbolic", "flatten and tile", export=_only_translation("_aten_repeat_interleave_self_int")
    )


class RepeatInterleaveBySymbolicSize(_PatchCase):
    """repeat_interleave of one axis, as often as a size says: the translation tiles the wrong axis, says theirs."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_repeat_interleave_self_int",)
    aten_ops = ("aten::repeat_interleave",)
    onnx_ops = ("Tile",)
    inputs = ((f32(4), f32(2)), (f32(4), f32(3)))
    dynamic = {"like": {0: "n"}}

    def forward(self, x, like):
        return x.repeat_interleave(like.shape[0], dim=0) + like.sum()

    transformers_patch = fix(
        "custom-symbolic", "tile the axis behind it", export=_only_translation("_aten_repeat_interleave_self_int")
    )


class MaskedFillOfBool(_PatchCase):
    """masked_fill of a bool tensor: a Where of bools, for which ONNX Runtime has no kernel."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_aten_masked_fill",)
    aten_ops = ("aten::masked_fill",)
    onnx_ops = ("Where",)
    inputs = ((boolean(2, 5), boolean(2, 5)), (boolean(3, 5), boolean(3, 5)))
    dynamic = {"x": {0: "n"}, "mask": {0: "n"}}

    def forward(self, x, mask):
        return x.masked_fill(mask, True), x.masked_fill(mask, False)

    transformers_patch = fix("custom-symbolic", "Or and And", export=_only_translation("_aten_masked_fill"))


class CeilingOfSize(_PatchCase):
    """-(-size // 3): a floor division of a negative size, which Div cuts off towards zero."""

    sources = ("huggingface/transformers:src/transformers/exporters/exporter_onnx.py#_operator_floordiv",)
    aten_ops = ("aten::new_ones",)
    onnx_ops = ("Div",)
    inputs = ((f32(7),), (f32(10),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return x.new_ones(-(-x.shape[0] // 3)) * x.sum()

    transformers_patch = fix(
        "custom-symbolic", "lower the quotient where signs differ", export=_only_translation("_operator_floordiv")
    )


class DequantizePerChannel(_PatchCase):
    """quantized_decomposed.dequantize_per_channel: no translation, only for one scale."""

    sources = (
        "huggingface/transformers:src/transformers/exporters/exporter_onnx.py"
        "#_quantized_decomposed_dequantize_per_channel",
    )
    aten_ops = ("quantized_decomposed::dequantize_per_channel",)
    onnx_ops = ("DequantizeLinear",)
    inputs = (
        (f32(3, 4, low=-100.0, high=100.0), f32(3, low=0.1, high=0.5), i64(3, low=-5, high=5)),
        (f32(3, 4, low=-100.0, high=100.0), f32(3, low=0.1, high=0.5), i64(3, low=-5, high=5)),
    )

    def setup(self):
        import torch.ao.quantization.fx._decomposed  # noqa: F401  # it registers the operators

    def forward(self, x, scales, zeros):
        return torch.ops.quantized_decomposed.dequantize_per_channel(
            x.round().to(torch.int8), scales, zeros, 0, -128, 127, torch.int8
        )

    transformers_patch = fix(
        "custom-symbolic",
        "DequantizeLinear along the axis",
        export=_only_translation("_quantized_decomposed_dequantize_per_channel"),
    )
