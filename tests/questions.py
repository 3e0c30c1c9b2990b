"""Questions in words, each with what it is read as: words, what it asks for, how its releases are meant, the rest."""

from __future__ import annotations

#: query -> (words, asks, kind, releases, opset, exporter, runtime)
QUESTIONS = {
    "cross torch 2.8 opset 18": ("cross", "", "each", ("2.8",), "18", "", ""),
    "is my cross workaround needed on 2.8 at opset 18": ("cross", "workarounds", "each", ("2.8",), "18", "", ""),
    "is my cross workaround needed on 2.8 at 18": ("cross", "workarounds", "each", ("2.8",), "18", "", ""),
    "lstm from 2.5 to 2.9 at 17?": ("lstm", "upgrade", "move", ("2.5", "2.9"), "17", "", ""),
    "Is the cross workaround still needed with torch 2.8.0+cu128?": (
        "cross", "workarounds", "each", ("2.8.0+cu128",), "", "", "",
    ),
    "1.13 to 2.9": ("", "upgrade", "move", ("1.13", "2.9"), "", "", ""),
    "from torch 1.13.1 to torch 2.9.1": ("", "upgrade", "move", ("1.13.1", "2.9.1"), "", "", ""),
    "torch 1.13 -> 2.9": ("", "upgrade", "move", ("1.13", "2.9"), "", "", ""),
    "which torch may I move to from 1.13 with opset 17": ("", "upgrade", "move", ("1.13", ""), "17", "", ""),
    "can I upgrade pytorch from 1.13.1 to 2.9.1 if my model uses grid_sample?": (
        "grid_sample", "upgrade", "move", ("1.13.1", "2.9.1"), "", "", "",
    ),
    "I have torch 1.13, may I go to 2.9?": ("", "upgrade", "move", ("1.13", "2.9"), "", "", ""),
    "torch 1.13 opset 17 to the newest": ("", "upgrade", "move", ("1.13", ""), "17", "", ""),
    "1.13.1 to the newest": ("", "upgrade", "move", ("1.13.1", ""), "", "", ""),
    "can I drop my cross workaround on torch 2.8?": ("cross", "workarounds", "each", ("2.8",), "", "", ""),
    "why does cross fail on torch 1.11": ("cross", "", "each", ("1.11",), "", "", ""),
    "cross zzzz torch 2.8": ("cross zzzz", "", "each", ("2.8",), "", "", ""),
    "upgrade to 2.9": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "what breaks in 2.9": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "pooling table": ("pooling", "matrix", "each", (), "", "", ""),
    "pooling table torch 2.0 to 2.15": ("pooling", "matrix", "range", ("2.0", "2.15"), "", "", ""),
    "normalization table from 2.5": ("normalization", "matrix", "range", ("2.5", ""), "", "", ""),
    "compatibility matrix 1.13 to 2.9 opset 17": ("", "matrix", "range", ("1.13", "2.9"), "17", "", ""),
    "upgrade from 1.13 to 2.9 pooling": ("pooling", "upgrade", "move", ("1.13", "2.9"), "", "", ""),
    "from 1.13 to 2.9 opset 17 grid_sample lstm": (
        "grid_sample lstm", "upgrade", "move", ("1.13", "2.9"), "17", "", "",
    ),
    "SDPA and index_put on 2.9 opset 17": ("SDPA index_put", "", "each", ("2.9",), "17", "", ""),
    "is grid_sample, SDPA, LSTM ok at opset 17": ("grid_sample SDPA LSTM", "", "each", (), "17", "", ""),
    "grid_sample or interpolate zzzz, torch 2.8": ("grid_sample interpolate zzzz", "", "each", ("2.8",), "", "", ""),
    "cross 1.13..2.9": ("cross", "", "range", ("1.13", "2.9"), "", "", ""),
    "download pooling as csv, torch 2.0 to 2.15": ("pooling", "matrix", "range", ("2.0", "2.15"), "", "", ""),
    "where does grid_sample work": ("grid_sample", "", "each", (), "", "", ""),
    "is grid_sample supported?": ("grid_sample", "", "each", (), "", "", ""),
    "can torch.where be exported on 2.8": ("torch.where", "", "each", ("2.8",), "", "", ""),
    "where int32 torch 2.8": ("where int32", "", "each", ("2.8",), "", "", ""),
    "Which release broke the most?": ("", "alerts", "each", (), "", "", ""),
    "what torch version has broken most cases": ("", "alerts", "each", (), "", "", ""),
    "which release broke cross": ("cross", "", "each", (), "", "", ""),
    "Is my file OK on onnxruntime 1.15 with CUDA": ("CUDA", "", "each", (), "", "", "onnxruntime==1.15"),
    "is my lstm model fine on torch 2.9": ("lstm", "", "each", ("2.9",), "", "", ""),
    "Does grid_sample with 5D input work": ("grid_sample 5D", "", "each", (), "", "", ""),
    "does a 5-dimensional tensor work with grid_sample": ("5D grid_sample", "", "each", (), "", "", ""),
    "float16 cumsum right values torch 2.9": ("float16 cumsum", "", "each", ("2.9",), "", "", ""),
    "torch 2.8": ("", "", "each", ("2.8",), "", "", ""),
    "torch==2.8.0": ("", "", "each", ("2.8.0",), "", "", ""),
    "cumsum opset_version=18 dynamo=False": ("cumsum", "", "each", (), "18", "trace", ""),
    "cumsum dynamo=True torch 2.8": ("cumsum", "", "each", ("2.8",), "", "dynamo", ""),
    "cumsum TorchScript opset >=14": ("cumsum", "", "each", (), ">=14", "TorchScript", ""),
    "cumsum opset 9-14": ("cumsum", "", "each", (), "9..14", "", ""),
    "cumsum ort 1.20": ("cumsum", "", "each", (), "", "", "onnxruntime==1.20"),
    "cumsum onnxruntime==1.20 torch 2.8": ("cumsum", "", "each", ("2.8",), "", "", "onnxruntime==1.20"),
    "cumsum onnx 1.16 torch 2.8": ("cumsum", "", "each", ("2.8",), "", "", ""),
    "corss torch 2.8": ("corss", "", "each", ("2.8",), "", "", ""),
    "which opset do I need for cross?": ("cross", "", "each", (), "", "", ""),
    "since when is torch.cross supported": ("torch.cross", "", "each", (), "", "", ""),
    "how do I export cumsum": ("cumsum", "", "each", (), "", "", ""),
    "what did 2.9 break?": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "what broke in 2.9": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "what will 2.9 break": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "what changed in torch 2.9": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "what's new in 2.9": ("", "upgrade", "move", ("", "2.9"), "", "", ""),
    "which workarounds can I remove at torch 2.9": ("", "workarounds", "each", ("2.9",), "", "", ""),
    "which operators fail with dynamo on 2.9": ("", "", "each", ("2.9",), "", "dynamo", ""),
    "choose between 2.5 and 2.9 for cross at opset 17": ("cross", "upgrade", "move", ("2.5", "2.9"), "17", "", ""),
    "where opset 16": ("where", "", "each", (), "16", "", ""),
    "We are on torch 2.5 and think of 2.9. Our model uses grid_sample, SDPA, LSTM and index_put, we export at opset "
    "17. Should we move, and how must we call the export then?": (
        "grid_sample SDPA LSTM index_put", "upgrade", "move", ("2.5", "2.9"), "17", "", "",
    ),
    "is stack_rewrite still needed for torch.cross on torch 2.8 opset 18 with a batch of three vectors and no dim "
    "argument given, since our product calls it that way everywhere?": (
        "stack_rewrite torch.cross batch three vectors dim argument product",
        "workarounds", "each", ("2.8",), "18", "", "",
    ),
    "Our code stacks the products by hand where torch.cross used to fail. torch 2.8, opset 18. Can we go back?": (
        "stacks products hand where torch.cross", "workarounds", "each", ("2.8",), "18", "", "",
    ),
    "do I still need dynamo=False for LSTM on 2.9?": ("LSTM", "", "each", ("2.9",), "", "", ""),
    "we replaced cumsum with a lower triangular matrix, can we use torch.cumsum again on torch 2.8?": (
        "cumsum lower triangular matrix torch.cumsum", "workarounds", "each", ("2.8",), "", "", "",
    ),
    "can we go back to torch.cross on 2.8": ("torch.cross", "workarounds", "each", ("2.8",), "", "", ""),
    "do we still have to write roll as two slices on 2.8": (
        "roll two slices", "workarounds", "each", ("2.8",), "", "", "",
    ),
    "is the TorchScript exporter still needed for LSTM on 2.9?": (
        "LSTM", "", "each", ("2.9",), "", "", "",
    ),
    "do we still need to export at opset 16 for grid_sample on 2.8": (
        "grid_sample", "", "each", ("2.8",), "16", "", "",
    ),
    "is my cross workaround still needed with dynamo=True on 2.8": (
        "cross", "workarounds", "each", ("2.8",), "", "dynamo", "",
    ),
    "is cross/stack_rewrite needed on 2.8": ("cross/stack_rewrite", "workarounds", "each", ("2.8",), "", "", ""),
    "I stack slice products in place of cross. Still needed on torch 2.8 at opset 18?": (
        "stack slice products place cross", "workarounds", "each", ("2.8",), "18", "", "",
    ),
    "do we still need our gather rewrite of grid_sample on 2.8?": (
        "gather rewrite grid_sample", "workarounds", "each", ("2.8",), "", "", "",
    ),
    "is stack_rewrite still needed where we call it on 2.8?": (
        "stack_rewrite where", "workarounds", "each", ("2.8",), "", "", "",
    ),
    "does nn.LSTM(proj_size=3) export with trace on 2.9": ("nn.LSTM proj_size=", "", "each", ("2.9",), "", "trace", ""),
    "interpolate mode='area', align_corners=True on 2.9": (
        "interpolate area align_corners=true", "", "each", ("2.9",), "", "", "",
    ),
    "does torch.onnx.export(m, x, dynamic_axes=axes, training=mode) of cross(a, dim=-1) work on 2.9": (
        "cross mode dim=", "", "each", ("2.9",), "", "", "",
    ),
    "does F.interpolate(recompute_scale_factor=True, scale_factor=2.0) with dynamic size work on 2.9 trace": (
        "F.interpolate dynamic size recompute_scale_factor=true scale_factor=", "", "each", ("2.9",), "", "trace", "",
    ),
    "scatter_reduce amax include_self=False torch 2.9 trace": (
        "scatter_reduce amax include_self=false", "", "each", ("2.9",), "", "trace", "",
    ),
    "is grid_sample, where and max ok at opset 17": ("grid_sample where max", "", "each", (), "17", "", ""),
    "We use SDPA and split the batch on torch 2.5, is it fine?": ("SDPA split batch", "", "each", ("2.5",), "", "", ""),
    "Can we drop the hand-written cross and use torch.cross natively on 2.9, or must it stay?": (
        "cross torch.cross", "workarounds", "each", ("2.9",), "", "", "",
    ),
    "we cast bool masks to int before cumsum, otherwise onnx breaks. is this still necessary in "
    "torch 2.6 opset 18 dynamo?": (
        "cast bool masks int cumsum", "workarounds", "each", ("2.6",), "18", "dynamo", "",
    ),
    "x[:, idx] = y fails when exporting so we use torch.where; do we still have to on torch 2.9 opset 20 dynamo?": (
        "index_put torch.where", "workarounds", "each", ("2.9",), "20", "dynamo", "",
    ),
    "we decompose pixel_shuffle into reshape/permute, is it safe to remove on torch 1.12 opset 13": (
        "decompose pixel_shuffle reshape/permute", "workarounds", "each", ("1.12",), "13", "", "",
    ),
    "torch.roll replaced by cat of slices, can I delete this in torch 2.0 opset 16?": (
        "torch.roll cat slices", "workarounds", "each", ("2.0",), "16", "", "",
    ),
    "own SDPA implementation because is_causal was wrong in the export, still needed on torch 2.10 "
    "opset 23 with dynamo exporter": (
        "SDPA is_causal wrong", "workarounds", "each", ("2.10",), "23", "dynamo", "",
    ),
    "custom triu mask made with arange comparison because torch.triu was unsupported; on 1.8 opset "
    "12 do we need it?": (
        "triu mask arange comparison torch.triu", "workarounds", "each", ("1.8",), "12", "", "",
    ),
    "bicubic upsampling gives different results in onnxruntime so we use our own; is the workaround "
    "obsolete on torch 2.12 opset 19?": (
        "bicubic upsampling different results", "workarounds", "each", ("2.12",), "19", "", "",
    ),
    "our median is done with sort + index because torch.median does not export. torch 2.11 opset 18?": (
        "median sort index torch.median", "workarounds", "each", ("2.11",), "18", "", "",
    ),
    "LSTM with variable batch size gave wrong results so we pass h0 explicitly, still needed on "
    "torch 2.9 opset 17?": (
        "LSTM variable batch size h0", "workarounds", "each", ("2.9",), "17", "", "",
    ),
    "we clamp topk's k to a constant because k from shape failed; still needed at torch 2.4 opset "
    "16 with the old exporter?": (
        "clamp topk k constant k shape", "workarounds", "each", ("2.4",), "16", "TorchScript", "",
    ),
    "custom layer norm for fp16 export; do we still need it on torch 2.15 opset 18?": (
        "layer norm fp16", "workarounds", "each", ("2.15",), "18", "", "",
    ),
    "we replaced torch.sort(stable=True) by topk, can it go on torch 2.8 opset 18?": (
        "torch.sort topk stable=true", "workarounds", "each", ("2.8",), "18", "", "",
    ),
    "own nms implementation since torchvision.ops.nms did not export, needed on torch 2.4 opset 17?": (
        "nms torchvision.ops.nms", "workarounds", "each", ("2.4",), "17", "", "",
    ),
    "forward returns a tuple rather than a dict because of onnx, is that still necessary with torch 2.6 dynamo?": (
        "returns tuple dict", "workarounds", "each", ("2.6",), "", "dynamo", "",
    ),
    "adaptive max pool replaced by own code, is it needed on 2.9 opset 20?": (
        "adaptive max pool", "workarounds", "each", ("2.9",), "20", "", "",
    ),
    "complex multiplication is done on real and imaginary parts rather than with torch.complex; "
    "still needed on 2.6 opset 18 dynamo?": (
        "complex multiplication real imaginary parts torch.complex",
        "workarounds", "each", ("2.6",), "18", "dynamo", "",
    ),
    "torch.median was replaced by sort and index, is that needed on torch 2.11 opset 18?": (
        "torch.median sort index", "workarounds", "each", ("2.11",), "18", "", "",
    ),
    "we replaced nn.AdaptiveAvgPool2d((7,7)) with a fixed AvgPool2d because the input size isn't a "
    "multiple of the output, torch 2.6 trace opset 17. can it go?": (
        "nn.AdaptiveAvgPool2d fixed AvgPool2d input size multiple output",
        "workarounds", "each", ("2.6",), "17", "trace", "",
    ),
    "our code casts a bool mask to int before cumsum, because cumsum on bool failed in onnx; do I "
    "still have to do this with torch 2.3 opset 16?": (
        "casts bool mask int cumsum cumsum bool", "workarounds", "each", ("2.3",), "16", "", "",
    ),
    "x[:, 2:5] = y was changed into torch.cat of pieces since slice assignment broke the export. "
    "torch 1.10, opset 11. may I revert it?": (
        "aten::copy_ torch.cat pieces slice", "workarounds", "each", ("1.10",), "11", "", "",
    ),
    "we roll our own repeat_interleave via expand+reshape since a tensor of repeats was not "
    "exportable - is that obsolete with torch 2.8 opset 18 dynamo=True?": (
        "repeat_interleave via expand+reshape tensor repeats", "workarounds", "each", ("2.8",), "18", "dynamo", "",
    ),
    "we replaced torch.median by sort + index because aten::median has no symbolic; torch 2.10 "
    "opset 20 default export call - go back?": (
        "torch.median sort index aten::median", "workarounds", "each", ("2.10",), "20", "", "",
    ),
    "our `x // 2` on tensors was turned into torch.floor(x / 2) since floor_divide of negatives "
    "rounded wrongly in the exported file. torch 1.12, opset 13": (
        "aten::floor_divide tensors torch.floor floor_divide negatives file",
        "workarounds", "each", ("1.12",), "13", "", "",
    ),
    "torchvision nms: we run it outside the model because dynamic number of boxes. torch 2.9 dynamo "
    "opset 18 still necessary?": (
        "torchvision nms outside dynamic number boxes", "workarounds", "each", ("2.9",), "18", "dynamo", "",
    ),
    "the team passes tuples rather than a dict to forward, because dict inputs failed. Torch 2.6, "
    "torch.onnx.export(dynamo=True). Still needed?": (
        "tuples dict dict inputs", "workarounds", "each", ("2.6",), "", "dynamo", "",
    ),
    "torchvision roi_align was swapped for grid_sample crops as it wouldn't export; torch 2.9 opset "
    "18 dynamo - still needed?": (
        "torchvision roi_align grid_sample crops", "workarounds", "each", ("2.9",), "18", "dynamo", "",
    ),
    "deformable conv (torchvision.ops.deform_conv2d) rewritten in plain torch since it had no "
    "symbolic. torch 2.5 opset 17 trace, can we go back?": (
        "deformable conv torchvision.ops.deform_conv2d", "workarounds", "each", ("2.5",), "17", "trace", "",
    ),
    "torch.searchsorted was swapped for a sum of comparisons; torch 2.5 opset 17 trace; can we put it back?": (
        "torch.searchsorted sum comparisons", "workarounds", "each", ("2.5",), "17", "trace", "",
    ),
    "pad_sequence is done outside of the model because of the dynamic number of sequences. torch "
    "2.6 dynamo opset 18 - necessary?": (
        "pad_sequence outside dynamic number sequences", "workarounds", "each", ("2.6",), "18", "dynamo", "",
    ),
    "torch.unique moved into preprocessing because of export; torch 2.4, opset 17, old exporter: move back?": (
        "torch.unique preprocessing", "workarounds", "each", ("2.4",), "17", "TorchScript", "",
    ),
    "our torch.einsum was turned into matmul + permute in the torch 1.6 days (opset 11). can I undo "
    "that on 1.13 opset 13?": (
        "torch.einsum matmul permute days", "workarounds", "each", ("1.13",), "13", "", "",
    ),
    "torch.roll was hand-written with cat; may I revert that on torch 2.2 opset 14?": (
        "torch.roll cat", "workarounds", "each", ("2.2",), "14", "", "",
    ),
    "since torch 1.8 we moved F.fold to a conv_transpose; is that still needed in 2.5 at opset 17 trace?": (
        "F.fold conv_transpose", "workarounds", "each", ("2.5",), "17", "trace", "",
    ),
    "F.scaled_dot_product_attention failed to export on 2.0, we have torch 2.8 now, manual softmax still needed?": (
        "F.scaled_dot_product_attention softmax", "workarounds", "each", ("2.8",), "", "", "",
    ),
    "since opset 14 export of SDPA failed on 2.0; torch 2.8 opset 17 now, still needed?": (
        "SDPA", "workarounds", "each", ("2.8",), "17", "", "",
    ),
    "torch.cross did not export on torch 1.10. now torch 2.8 opset 17, keep the rewrite?": (
        "torch.cross rewrite", "workarounds", "each", ("2.8",), "17", "", "",
    ),
    "our SDPA rewrite dates from torch 2.0; on torch 2.9 opset 18 dynamo can it go?": (
        "SDPA rewrite dates", "workarounds", "each", ("2.9",), "18", "dynamo", "",
    ),
    "torch.cumsum on bool replaced by .int().cumsum; 2.3, opset 14": (
        "torch.cumsum bool int", "workarounds", "each", ("2.3",), "14", "", "",
    ),
    "this fell over on 1.12, we are on 2.6 opset 17 TorchScript now. can torch.linalg.norm come back instead "
    "of our sqrt?": (
        "fell torch.linalg.norm sqrt", "workarounds", "each", ("2.6",), "17", "TorchScript", "",
    ),
    "which workarounds can go from 2.5 to 2.9": (
        "", "upgrade", "move", ("2.5", "2.9"), "", "", "",
    ),
    "which fixes that were needed on 2.5 are needed on 2.9": (
        "were", "upgrade", "move", ("2.5", "2.9"), "", "", "",
    ),
    "torch.searchsorted -> sum of comparisons on torch 2.5, can we remove that?": (
        "torch.searchsorted sum comparisons", "workarounds", "each", ("2.5",), "", "", "",
    ),
    "floor_divide // by a negative number in torch 1.13 opset 13": (
        "floor_divide negative number", "", "each", ("1.13",), "13", "", "",
    ),
    "does x[mask] = v export on 2.9": (
        "index_put", "", "each", ("2.9",), "", "", "",
    ),
    "x[:, 1:] += y on torch 1.12 opset 11": (
        "aten::copy_", "", "each", ("1.12",), "11", "", "",
    ),
    "x[idx] with negative idx, torch 2.9": (
        "aten::index negative", "", "each", ("2.9",), "", "", "",
    ),
    "x.unfold(2,3,1)[..., ::2] on 2.9 dynamo": (
        "x.unfold aten::slice", "", "each", ("2.9",), "", "dynamo", "",
    ),
    "torch.tile on 2.9": (
        "torch.tile", "", "each", ("2.9",), "", "", "",
    ),
    "torch.tile opset 9 torch 1.5": (
        "torch.tile", "", "each", ("1.5",), "9", "", "",
    ),
    "x.repeat(1, n, 1) dynamic n on 2.9": (
        "x.repeat dynamic", "", "each", ("2.9",), "", "", "",
    ),
    "x[..., None] export 2.9": (
        "aten::unsqueeze", "", "each", ("2.9",), "", "", "",
    ),
    "out[:, idx] = 0 with dynamo on 2.7": (
        "index_put", "", "each", ("2.7",), "", "dynamo", "",
    ),
    "x.view(x.size(0), -1) dynamic batch dynamo 2.9": (
        "x.view size dynamic batch", "", "each", ("2.9",), "", "dynamo", "",
    ),
    "if x.sum() > 0: in forward, on 2.9 dynamo": (
        "branch-on-value", "", "each", ("2.9",), "", "dynamo", "",
    ),
    "for i in range(x.shape[0]) loop dynamic on 2.5 trace": (
        "trip-count loop dynamic", "", "each", ("2.5",), "", "trace", "",
    ),
    "len(x) baked on 2.9": (
        "size baked", "", "each", ("2.9",), "", "", "",
    ),
    "int(x.shape[0]/2) on 1.13": (
        "python number", "", "each", ("1.13",), "", "", "",
    ),
    "x // 2 on 1.4": (
        "aten::floor_divide", "", "each", ("1.4",), "", "", "",
    ),
    "~mask on 1.6": (
        "aten::bitwise_not mask", "", "each", ("1.6",), "", "", "",
    ),
    "x & y on int tensors opset 13": (
        "aten::bitwise_and int tensors", "", "each", (), "13", "", "",
    ),
    "x % 2 negative values opset 10": (
        "aten::remainder negative values", "", "each", (), "10", "", "",
    ),
    "x.masked_fill_(mask, float('-inf')) fp16 2.1": (
        "x.masked_fill_ fp16", "", "each", ("2.1",), "", "", "",
    ),
    "torch.where(cond) one argument on 2.8 dynamo": (
        "torch.where one argument", "", "each", ("2.8",), "", "dynamo", "",
    ),
    "x.nonzero() dynamic 2.6": (
        "x.nonzero dynamic", "", "each", ("2.6",), "", "", "",
    ),
    "torch.arange(0, n, 0.5) opset 10": (
        "torch.arange", "", "each", (), "10", "", "",
    ),
    "torch.linspace(0, 1, n) dynamic 1.13": (
        "torch.linspace dynamic", "", "each", ("1.13",), "", "", "",
    ),
    "torch.einsum('...ij,...jk', a, b) opset 12": (
        "torch.einsum", "", "each", (), "12", "", "",
    ),
    "torch.fft.rfft(x) with dynamo, not scripted, 2.9": (
        "torch.fft.rfft", "", "each", ("2.9",), "", "dynamo", "",
    ),
    "2.5 // x with dynamo 2.9": (
        "aten::floor_divide", "", "each", ("2.9",), "", "dynamo", "",
    ),
    "torch.norm(x, p='nuc') on 2.9": (
        "torch.norm nuc", "", "each", ("2.9",), "", "", "",
    ),
    "torch.maximum(int64, bfloat16) on 2.9": (
        "torch.maximum int64 bfloat16", "", "each", ("2.9",), "", "", "",
    ),
    "does grid_sample work with openvino": (
        "grid_sample", "", "each", (), "", "", "openvino",
    ),
    "does topk work with the OpenVINO EP": (
        "topk OpenVINO EP", "", "each", (), "", "", "",
    ),
    "x + y of bools on 2.9": (
        "aten::add bools", "", "each", ("2.9",), "", "", "",
    ),
    "does all(dim=1) work on 2.9": (
        "torch.all dim=", "", "each", ("2.9",), "", "", "",
    ),
    "sum of float16 tensors on 2.9": (
        "torch.sum float16 tensors", "", "each", ("2.9",), "", "", "",
    ),
    "1.0 - mask with an integer mask, torch 2.9": (
        "x mask integer mask", "", "each", ("2.9",), "", "", "",
    ),
    "nn.GRU bidirectional dynamo": (
        "nn.GRU bidirectional", "", "each", (), "", "dynamo", "",
    ),
    "F.normalize on half": (
        "F.normalize half", "", "each", (), "", "", "",
    ),
    "model takes a python int as input, trace": (
        "python-number-inputs", "", "each", (), "", "trace", "",
    ),
    "torch.quantile on cpu with dynamo": (
        "torch.quantile", "", "each", (), "", "dynamo", "",
    ),
    "int64 tensor divided by 2.5, dynamo 2.15": (
        "int64 tensor torch.div", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "half tensor multiplied by a float tensor on 2.9": (
        "half tensor torch.mul float tensor", "", "each", ("2.9",), "", "", "",
    ),
    "torch.logit(int64 tensor, 0.2) legacy": (
        "torch.logit int64", "", "each", (), "", "TorchScript", "",
    ),
    "F.mse_loss(a.half(), b.half()) dynamo 2.15": (
        "F.mse_loss half", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "F.grid_sample(half feats, grid) dynamo=True": (
        "F.grid_sample half", "", "each", (), "", "dynamo", "",
    ),
    "x.half().prod() new exporter": (
        "half x.prod", "", "each", (), "", "dynamo", "",
    ),
    "x.to(torch.float16).sum() dynamo 2.15": (
        "float16 x.sum", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "1.5 - int tensor dynamo 2.15": (
        "int aten::sub", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "7 // int64 tensor dynamo 2.15": (
        "int64 aten::floor_divide", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "(1.0 - mask.long()) * x dynamo=True torch 2.15": (
        "long aten::sub x", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "int64 tensor // 2.0 new exporter 2.15": (
        "int64 aten::floor_divide", "", "each", ("2.15",), "", "dynamo", "",
    ),
    "bool_tensor & 1 TorchScript torch 2.15": (
        "bool aten::bitwise_and", "", "each", ("2.15",), "", "TorchScript", "",
    ),
    "True * float tensor trace 2.15": (
        "float aten::mul", "", "each", ("2.15",), "", "trace", "",
    ),
    "float tensor == True trace 2.15": (
        "float aten::eq", "", "each", ("2.15",), "", "trace", "",
    ),
    "float tensor ** bool tensor on torch 2.6": (
        "float bool aten::pow", "", "each", ("2.6",), "", "", "",
    ),
    "hardswish still missing?": (
        "hardswish", "", "each", (), "", "", "",
    ),
    "LSTM on TensorRT with dynamic batch": (
        "LSTM TensorRT dynamic batch", "", "each", (), "", "", "",
    ),
    "gelu bf16 trace": (
        "gelu bf16", "", "each", (), "", "trace", "",
    ),
    "any regressions for torch.std between 2.5 and 2.9": (
        "torch.std", "upgrade", "move", ("2.5", "2.9"), "", "", "",
    ),
    "diagonal bool legacy exporter": (
        "diagonal bool", "", "each", (), "", "TorchScript", "",
    ),
    "does torch.cumsum then flip work on dynamo 2.9?": (
        "torch.cumsum flip", "", "each", ("2.9",), "", "dynamo", "",
    ),
    "torch.equal(a, b) in forward, dynamo=True": (
        "torch.equal", "", "each", (), "", "dynamo", "",
    ),
    "normal_() in place legacy, is it the same shape": (
        "normal_ place same shape", "", "each", (), "", "TorchScript", "",
    ),
    "minimum opset version needed for scatter_add": (
        "scatter_add", "", "each", (), "", "", "",
    ),
    "dynamic_axes with dynamo=True": (
        "dynamic_axes", "", "each", (), "", "dynamo,default", "",
    ),
    "x.abs() of complex tensor": (
        "x.abs complex64 tensor", "", "each", (), "", "", "",
    ),
    "which is the smallest onnx opset that supports GridSample": (
        "GridSample", "", "each", (), "", "", "",
    ),
    "grid_sample from opset 11 to opset 18 on torch 2.9": (
        "grid_sample", "", "each", ("2.9",), "11..18", "", "",
    ),
}  # fmt: skip

#: what has numbers and words of a setting, and asks nothing
NO_QUESTIONS = (
    "cross", "dynamo", "trace", "matrix", "table", "upgrade", "dynamic batch", "onnx/onnx#2683",
    "grid-sampler-unsupported-opset-11", "Unsupported ONNX opset version: 18",
    "Exporting the operator 'aten::cross' to ONNX opset version 9 is not supported",
    "Couldn't export operator aten::adaptive_avg_pool2d",
)  # fmt: skip
