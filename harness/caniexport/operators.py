"""Operators by every name that people use: torch's, its methods and modules, aten's, ONNX's, everyday ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

#: names of one operator, the first being aten's; words of everyday use among them
_FAMILIES = (
    (
        "scaled_dot_product_attention", "sdpa", "flash attention", "attention",
        "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_fused_attention_overrideable", "gqa",
        "grouped query attention",
    ),
    ("_native_multi_head_attention", "multihead_attention", "multi_head_attention_forward", "mha"),
    ("_transformer_encoder_layer_fwd", "transformer_encoder_layer", "transformer_encoder"),
    ("nms", "non_max_suppression", "batched_nms"),
    ("roi_align", "roialign"),
    ("grid_sampler", "grid_sample", "grid_sampler_2d", "grid_sampler_3d", "cudnn_grid_sampler"),
    ("affine_grid_generator", "affine_grid"),
    ("adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool", "adaptive", "adaptive pool",
        "adaptive pooling"),
    ("adaptive_max_pool2d", "adaptive_max_pool"),
    ("avg_pool2d", "average_pool", "avg_pool"),
    ("max_pool2d", "max_pool", "max_pool2d_with_indices"),
    ("max_unpool2d", "max_unpool"),
    ("upsample_bilinear2d", "resize_bilinear", "upsample_linear1d", "upsample_trilinear3d",
        "upsampling_bilinear2d"),
    ("upsample_nearest2d", "resize_nearest_neighbor", "upsample_nearest1d", "upsample_nearest3d",
        "_upsample_nearest_exact2d", "upsampling_nearest2d"),
    ("interpolate", "interp", "resize", "upsample", "upsampling", "interpolation"),
    ("index_put", "index_put_", "_index_put_impl", "scatter_nd", "scatternd"),
    (
        "im2col", "torch.nn.functional.unfold", "nn.functional.unfold", "f.unfold", "torch.nn.unfold", "nn.unfold",
    ),
    ("col2im", "fold"),
    ("unfold", "tensor.unfold"),
    ("_pad_packed_sequence", "pad_packed_sequence"),
    ("_pack_padded_sequence", "pack_padded_sequence", "packed_sequence", "packed_sequences"),
    ("linalg_pinv", "pinverse", "pinv"),
    ("inverse", "linalg_inv", "linalg_inv_ex", "inv"),
    ("linalg_solve", "_linalg_solve_ex", "linalg_solve_ex", "solve"),
    ("linalg_norm", "linalg_vector_norm", "norm", "frobenius_norm"),
    ("svd", "linalg_svd", "_linalg_svd"),
    ("fft_rfft", "_fft_r2c", "rfft", "fft"),
    ("fft_irfft", "_fft_c2r", "irfft"),
    ("fft_fft", "_fft_c2c", "fft_ifft"),
    ("gelu", "gelu_"),
    ("silu", "swish"),
    ("hardswish", "hard_swish"),
    ("hardsigmoid", "hard_sigmoid"),
    ("rms_norm", "_fused_rms_norm", "rmsnorm"),
    ("layer_norm", "native_layer_norm", "layernorm", "layer_normalization"),
    ("group_norm", "native_group_norm", "groupnorm", "group_normalization"),
    ("instance_norm", "instancenorm1d", "instancenorm2d", "instancenorm3d", "instance_normalization"),
    ("batch_norm", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional",
        "native_batch_norm", "native_batch_norm_inference", "_native_batch_norm_training_functional",
        "batchnorm", "batchnorm1d",
        "batchnorm2d", "batchnorm3d", "batch_normalization", "sync_batch_norm"),
    ("_weight_norm", "_weight_norm_interface", "weight_norm", "parametrizations.weight_norm"),
    ("lrn", "local_response_norm"),
    ("constant_pad_nd", "constant_pad1d", "constant_pad2d", "constant_pad3d", "zero_pad2d"),
    ("feature_dropout", "dropout1d", "dropout2d", "dropout3d"),
    ("_convolution_mode", "conv padding same"),
    ("where", "nn.where"),
    ("bitwise_and", "__and__", "__and_", "and"),
    ("bitwise_or", "__or__", "__or_", "or"),
    ("bitwise_xor", "__xor__", "__xor_", "xor"),
    # in place they have rules of their own, or none; errors leave the last underscore out
    ("__iand__", "__iand_"),
    ("__ior__", "__ior_"),
    ("__ixor__", "__ixor_"),
    ("bitwise_not", "__invert__", "invert"),
    ("__lshift__", "bitwise_left_shift", "__ilshift__"),
    ("__rshift__", "bitwise_right_shift", "__irshift__"),
    ("remainder", "mod", "__mod__"),
    ("floor_divide", "__floordiv__"),
    ("div", "true_divide", "divide"),
    ("pixel_shuffle", "depth_to_space", "depthtospace"),
    ("pixel_unshuffle", "space_to_depth", "spacetodepth"),
    ("view_as_complex", "complex"),
    ("repeat", "tile"),
    ("scatter_add", "scatter_add_"),
    ("scatter_reduce", "scatter_reduce_", "scatter_max", "scatter_mean"),
    ("topk", "top_k"),
    ("histc", "histogram"),
    ("nonzero", "nonzero_numpy", "nonzero_static"),
    ("_unique2", "unique", "_unique", "unique_dim"),
    ("one_hot", "onehot"),
    ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"),
    (
        "fake_quantize_per_tensor_affine", "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        "fake_quantize_per_tensor_affine_cachemask",
    ),
    ("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask"),
    ("reflection_pad2d", "mirror_pad", "reflection_pad1d", "reflection_pad3d", "reflection_pad", "pad.reflect"),
    ("replication_pad2d", "replication_pad1d", "replication_pad3d", "replication_pad", "pad.replicate"),
    ("higher_order::cond", "torch.cond", "cond"),
    ("higher_order::scan", "scan", "torch._higher_order_ops.scan"),
    ("higher_order::while_loop", "while_loop", "torch._higher_order_ops.while_loop"),
    (
        "higher_order::flex_attention", "flex_attention", "flex attention", "torch.nn.attention.flex_attention",
    ),
    ("prim::pythonop", "pythonop", "autograd function"),
    ("copy_", "copy", "aten::copy"),
    ("rotaryembedding", "rotary_embedding", "rope"),
    ("lstm_cell", "_thnn_fused_lstm_cell"),
    ("deform_conv2d", "deformconv", "deform_conv", "dcnv2"),
    ("eq", "equal"),
    # whether all of two tensors is alike; ONNX's Equal is torch's eq
    ("tensor_equal", "torch.equal", "x.equal", "tensor.equal", "aten::equal"),
    ("linear", "inner_product", "fully_connected"),
    ("cross_entropy_loss", "cross_entropy"),
    ("kl_div", "kldivloss"),
    ("binary_cross_entropy", "bceloss"),
    ("binary_cross_entropy_with_logits", "bcewithlogitsloss"),
    ("fft_fftshift", "fftshift"),
    ("fft_ifftshift", "ifftshift"),
    ("fft_fft2", "fft2"),
    ("fft_ifft2", "ifft2"),
    ("fft_rfft2", "rfft2"),
    ("fft_irfft2", "irfft2"),
    ("clamp", "clip"),
    ("slice", "strided_slice"),
    ("sum", "reduce_sum"),
    ("mean", "reduce_mean"),
    ("prod", "reduce_prod"),
    ("expand", "broadcast"),
    ("unsqueeze", "expand_dims"),
    ("conv_transpose", "deconvolution", "deconv", "transpose_conv", "convolution_backprop_data"),
    ("concat", "concat_v2", "concatenation"),
    ("gather", "gather_v2"),
    ("split", "split_v", "variadic_split"),
    ("matmul", "batch_matmul", "batch_matmul_v2"),
)  # fmt: skip
#: words for the types of tensors
_DTYPES = frozenset(
    "float32 float fp32 f32 single float16 half fp16 f16 halves bfloat16 bf16 float64 double fp64 f64 doubles int64 "
    "long longs i64 int32 i32 integer int ints integers uint8 byte bytes u8 int8 i8 bool bools boolean booleans "
    "complex64".split()
)
_NAMESPACE = re.compile(
    r"^(?:torch\.ops\.|ops\.)?(?:torch\.nn\.functional\.|(?:torch\.)?nn\.utils\.(?:rnn\.)?|torch\.nn\.|torch\.tensor\.|torch\.|tensor\.|nn\.functional\.|nn\.|f\."
    r"|aten(?:::|\.)|prims(?:::|\.)|math(?:::|\.)|onnx::|ai\.onnx[:.]|::|_caffe2::|com\.microsoft(?:::|\.)|_c\._nn\.|(?:tfl?|tosa|stablehlo|mhlo)::|torchvision(?:\.ops\.|::|\.)|x\.|self\.)",
)
#: parts of torch whose functions have the part in their operators' names
_PART = re.compile(r"^(linalg|fft|special)\.")
_OVERLOAD = re.compile(
    r"\.(?:default|tensor\w*|scalar\w*|int\w*|dim\w*|out|self\w*|mode|input|vec|names\w*|correction|start\w*)$"
)


def is_dtype(word: str) -> bool:
    """Whether a word means a type of tensors: ``half``, ``torch.int64``."""
    return word.casefold().removeprefix("torch.") in _DTYPES


@lru_cache(maxsize=100_000)
def operator_key(name: str) -> str:
    """The one spelling of all names of an operator: equal keys mean the same operator.

    ``F.grid_sample``, ``aten::grid_sampler``, ``GridSample`` and ``torch.ops.aten.grid_sampler_2d.default`` are one.
    """
    folded = name.strip().casefold()
    return _KEYS.get(folded) or _KEYS.get(bare := _bare(folded)) or _KEYS.get(_spelled(bare), _spelled(bare))


def operator_name(name: str) -> str:
    """An operator as it is written, without namespaces, overload and underscores: of two that are alike, which one.

    ``aten::upsample_trilinear3d`` and ``aten::upsample_bilinear2d`` have one key and two names.
    """
    return _spelled(_bare(name.strip().casefold()))


def operator_keys(names: Iterable[str]) -> frozenset[str]:
    """The keys of several names."""
    return frozenset(filter(None, map(operator_key, names)))


def spellings(known: Iterable[str]) -> tuple[str, ...]:
    """The known operators, and the everyday names of those among them: for the nearest to a name that nobody knows."""
    names = tuple(dict.fromkeys(known))
    keys = operator_keys(names)
    return (*names, *(name for family in _FAMILIES for name in family if operator_key(name) in keys))


def _bare(folded: str) -> str:
    """Without namespaces and overload."""
    name, shorter = folded, _NAMESPACE.sub("", folded)
    while shorter != name:
        name, shorter = shorter, _NAMESPACE.sub("", shorter)
    return _OVERLOAD.sub("", _PART.sub(r"\1_", name))


def is_operator_name(text: str) -> bool:
    """Whether a text is a name of an operator that people use, whether or not any case is about it."""
    return operator_key(text) in _KEYS.values()


def _spelled(bare: str) -> str:
    """``GridSample``, ``grid_sample`` and ``grid_sample_`` alike."""
    if bare.startswith("__"):
        return bare
    return re.sub(r"[_\s]", "", bare)


def _made() -> dict[str, str]:
    keys: dict[str, str] = {}
    for family in _FAMILIES:
        key = _spelled(_bare(family[0].casefold()))
        for name in family:
            folded = name.casefold()
            keys.setdefault(folded, key)
            if "." not in folded:
                keys.setdefault(_spelled(_bare(folded)), key)
    return keys


_KEYS = _made()
