"""Attention: scaled_dot_product_attention, MultiheadAttention and the fast path of the transformer encoder."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, boolean, f16, f32, fix, values


@contextmanager
def without_fast_path(_opset):
    """Disable the fast path in eager, so that exporters see operators they know; torch before 2.1 has no switch."""
    switch = getattr(getattr(torch.backends, "mha", None), "set_fastpath_enabled", None)
    if switch is not None:
        switch(False)
    try:
        yield
    finally:
        if switch is not None:
            switch(True)


def softmax_product(query, key, value, mask=None):
    """Attention as a formula; ``mask`` is added to the scores."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    return torch.matmul(torch.softmax(scores if mask is None else scores + mask, dim=-1), value)


class _Attention(Case):
    aten_ops = ("aten::scaled_dot_product_attention",)
    onnx_ops = ("MatMul", "Softmax", "Attention")
    needs_torch = ">=2.0"


class SdpaOpset13(_Attention):
    """scaled_dot_product_attention: TorchScript needs torch 2.1 and opset 14."""

    id = "sdpa-opset-13"
    sources = (
        "microsoft/BitBLAS#115",
        "pytorch/pytorch#97262",
        "pytorch/pytorch#133314",
        "pytorch/pytorch#132689",
        "pytorch/pytorch#149662",
        "pytorch/pytorch#154596",
    )
    inputs = (
        (f32(2, 2, 5, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 4)),
        (f32(2, 2, 5, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 4)),
        (f32(3, 2, 7, 4), f32(3, 2, 7, 4), f32(3, 2, 7, 4)),
    )
    dynamic = {
        "query": {0: "batch", 2: "length"},
        "key": {0: "batch", 2: "length"},
        "value": {0: "batch", 2: "length"},
    }

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value)

    opset_14 = fix("raise-opset", "export at opset 14", opset=14, documented=False)

    @fix("rewrite", "write it as matmul, softmax, matmul", documented=False)
    def formula(self, query, key, value):
        return softmax_product(query, key, value)


class SdpaCausal(_Attention):
    """scaled_dot_product_attention(is_causal=True): TorchScript needs opset 14."""

    sources = ("microsoft/BitBLAS#115", "pytorch/pytorch#97262", "microsoft/onnxscript#2992")
    inputs = SdpaOpset13.inputs
    dynamic = SdpaOpset13.dynamic

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    opset_14 = fix("raise-opset", "export at opset 14", opset=14, documented=False)

    @fix("rewrite", "write it as matmul, softmax, matmul, with later positions masked", documented=False)
    def formula(self, query, key, value):
        places = torch.arange(query.size(2))
        later = (places[:, None] < places[None]).float() * -1e9
        return softmax_product(query, key, value, later)


class SdpaBoolMask(_Attention):
    """scaled_dot_product_attention with a bool mask: TorchScript needs opset 14."""

    sources = ("microsoft/BitBLAS#115",)
    inputs = tuple((*arrays, boolean(5, 5)) for arrays in SdpaOpset13.inputs[:2])

    def forward(self, query, key, value, mask):
        # every position attends to itself: a row without any key gives NaN
        return F.scaled_dot_product_attention(query, key, value, mask | torch.eye(5, dtype=torch.bool))

    opset_14 = fix("raise-opset", "export at opset 14", opset=14, documented=False)

    @fix("rewrite", "write the formula with a large negative number where the mask is false", documented=False)
    def formula(self, query, key, value, mask):
        return softmax_product(query, key, value, (~(mask | torch.eye(5, dtype=torch.bool))).float() * -1e9)


def rows_with_a_key(mask):
    """Return whether each row of a boolean mask allows any key."""
    return mask.any(dim=-1, keepdim=True)


class SdpaMaskRowWithoutKey(_Attention):
    """scaled_dot_product_attention, bool mask: a row without keys gives wrong values.

    The row of a padded query is such a row. torch returns zeros for it from 2.5 on, and NaN before.
    """

    sources = (
        "microsoft/onnxscript#2479",
        "pytorch/pytorch#159973",
        "pytorch/pytorch#103963",
        "microsoft/onnxruntime#28904",
    )
    inputs = tuple(
        (f32(2, 2, 3, 4), f32(2, 2, 3, 4), f32(2, 2, 3, 4), values(mask, "bool"))
        for mask in (
            [[True, False, False], [True, True, False], [True, True, True]],
            [[True, False, True], [False, True, False], [False, True, True]],
            [[True, False, False], [True, True, False], [False, False, False]],
        )
    )

    def forward(self, query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, mask)

    def reference(self, query, key, value, mask):
        # before torch 2.5, eager gives NaN in a row without a key
        out = softmax_product(query, key, value, (~mask).float() * -1e9)
        return out * rows_with_a_key(mask).float()

    @fix("rewrite", "write zeros into the rows that allow no key", documented=False)
    def zeros_afterwards(self, query, key, value, mask):
        out = F.scaled_dot_product_attention(query, key, value, mask)
        return out.masked_fill(~rows_with_a_key(mask), 0.0)

    @fix(
        "rewrite",
        "write the formula with a large negative number, and zeros in rows that allow no key",
        documented=False,
    )
    def formula(self, query, key, value, mask):
        out = softmax_product(query, key, value, (~mask).float() * -1e9)
        return out * rows_with_a_key(mask).float()

    @fix(
        "rewrite",
        "use a large negative number as the mask: a row without keys is the mean of all values, not zeros",
        changes_values=True,
        documented=False,
    )
    def negative_number(self, query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, (~mask).to(query.dtype) * -1e9)


class SdpaHalfMask(_Attention):
    """scaled_dot_product_attention in float16: TorchScript writes a float32 output.

    The case has a float16 mask and a causal call.
    """

    sources = ("pytorch/pytorch#110306", "microsoft/onnxscript#1219")
    needs_torch = ">=2.1"
    inputs = (
        (f16(2, 2, 5, 4), f16(2, 2, 5, 4), f16(2, 2, 5, 4), f16(5, 5)),
        (f16(2, 2, 5, 4), f16(2, 2, 5, 4), f16(2, 2, 5, 4), f16(5, 5)),
    )
    atol = 1e-2

    def forward(self, query, key, value, mask):
        masked = F.scaled_dot_product_attention(query, key, value, mask)
        return masked + F.scaled_dot_product_attention(query, key, value, is_causal=True)

    @fix("rewrite", "compute the attention in float32", documented=False)
    def float32_inside(self, query, key, value, mask):
        query, key, value = query.float(), key.float(), value.float()
        masked = F.scaled_dot_product_attention(query, key, value, mask.float())
        return (masked + F.scaled_dot_product_attention(query, key, value, is_causal=True)).half()


class SdpaEnableGqa(_Attention):
    """scaled_dot_product_attention(enable_gqa=True): TorchScript cannot export it.

    The keys have fewer heads than the queries.
    """

    sources = (
        "pytorch/pytorch#151762",
        "pytorch/pytorch#162258",
        "airockchip/rknn-llm#464",
        "microsoft/onnxscript#1800",
    )
    needs_torch = ">=2.5"
    inputs = (
        (f32(2, 4, 5, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 4)),
        (f32(2, 4, 5, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 4)),
        (f32(3, 4, 5, 4), f32(3, 2, 5, 4), f32(3, 2, 5, 4)),
    )
    dynamic = {"query": {0: "batch"}, "key": {0: "batch"}, "value": {0: "batch"}}

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)

    @fix("rewrite", "repeat keys and values for their group of queries", documented=False)
    def repeated(self, query, key, value):
        key, value = key.repeat_interleave(2, 1), value.repeat_interleave(2, 1)
        return F.scaled_dot_product_attention(query, key, value)


class SdpaGqaEqualHeads(_Attention):
    """scaled_dot_product_attention(enable_gqa=True), equal head counts: export fails."""

    sources = ("huggingface/sentence-transformers#3666",)
    needs_torch = ">=2.5"
    inputs = SdpaOpset13.inputs[:2]

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)

    @fix("rewrite", "leave enable_gqa out where the head counts are equal", documented=False)
    def plain_attention(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value)


class MhaFastPath(Case):
    """nn.MultiheadAttention in eval mode: its fused operator has no symbolic."""

    sources = ("pytorch/pytorch#143107",)
    aten_ops = ("aten::_native_multi_head_attention",)
    onnx_ops = ("MatMul", "Softmax")
    needs_torch = ">=1.12"
    inputs = ((f32(2, 5, 8),), (f32(2, 5, 8),))

    def setup(self):
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        for parameter in self.attention.parameters():
            parameter.requires_grad_(False)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]

    fast_path_off = fix(
        "export-option",
        "call torch.backends.mha.set_fastpath_enabled(False); needs torch 2.1",
        patch=without_fast_path,
        documented=False,
    )


class MhaBatchFromExample(Case):
    """nn.MultiheadAttention exported at batch 1: reported to fail at other batches."""

    sources = ("livekit/livekit-wakeword#39", "pytorch/pytorch#122321")
    aten_ops = ("aten::view", "aten::bmm")
    onnx_ops = ("Reshape", "MatMul")
    needs_torch = ">=1.9"
    inputs = ((f32(1, 5, 8),), (f32(1, 5, 8),), (f32(3, 5, 8),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]

    batch_2 = fix(
        "export-option",
        "export with an example of batch 2",
        inputs=((f32(2, 5, 8),), (f32(2, 5, 8),), (f32(1, 5, 8),), (f32(3, 5, 8),)),
        documented=False,
    )


class TransformerEncoderLayerFastPath(Case):
    """nn.TransformerEncoderLayer in eval mode: its fused operator has no symbolic.

    The fused operator is used in eval mode without gradients.
    """

    sources = ("pytorch/pytorch#177013", "pytorch/pytorch#94434", "pytorch/pytorch#144242")
    aten_ops = ("aten::_transformer_encoder_layer_fwd", "aten::unflatten")
    onnx_ops = ("MatMul", "Softmax", "LayerNormalization")
    needs_torch = ">=1.12"
    inputs = ((f32(2, 5, 8),), (f32(2, 5, 8),))

    def setup(self):
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
        for parameter in self.layer.parameters():
            parameter.requires_grad_(False)

    def forward(self, x):
        return self.layer(x)

    fast_path_off = fix(
        "export-option",
        "call torch.backends.mha.set_fastpath_enabled(False); needs torch 2.1",
        patch=without_fast_path,
        documented=False,
    )
    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


class TransformerEncoderDynamicLength(Case):
    """nn.TransformerEncoderLayer, dynamic batch and length: other sizes fail."""

    sources = ("pytorch/pytorch#128610",)
    aten_ops = ("aten::reshape", "aten::scaled_dot_product_attention")
    onnx_ops = ("Reshape", "MatMul", "Softmax")
    needs_torch = ">=1.9"
    inputs = ((f32(2, 5, 8),), (f32(2, 5, 8),), (f32(3, 5, 8),), (f32(2, 7, 8),))
    dynamic = {"x": {0: "batch", 1: "length"}}

    def setup(self):
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)

    def forward(self, x):
        return self.layer(x)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


class SdpaThreeDims(_Attention):
    """scaled_dot_product_attention of 3-D inputs: dynamo export fails.

    Query, key and value have no head axis.
    """

    sources = ("microsoft/onnxscript#2558", "pytorch/pytorch#157130")
    inputs = (
        (f32(2, 5, 4), f32(2, 5, 4), f32(2, 5, 4)),
        (f32(2, 5, 4), f32(2, 5, 4), f32(2, 5, 4)),
        (f32(3, 7, 4), f32(3, 7, 4), f32(3, 7, 4)),
    )
    dynamic = {
        "query": {0: "batch", 1: "length"},
        "key": {0: "batch", 1: "length"},
        "value": {0: "batch", 1: "length"},
    }

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value)

    @fix("rewrite", "add an axis of one head and remove it afterwards", documented=False)
    def one_head(self, query, key, value):
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        return F.scaled_dot_product_attention(query, key, value).squeeze(1)

    @fix("rewrite", "write it as matmul, softmax, matmul", documented=False)
    def formula(self, query, key, value):
        return softmax_product(query, key, value)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class SdpaCausalByTracedSize(_Attention):
    """scaled_dot_product_attention(is_causal=query.shape[2] > 1): must be bool.

    The attention is causal for a prompt and not for the single query that follows. In tracing the comparison is a
    tensor, which the operator rejects. As a bool it keeps the value of the example input.
    """

    sources = ("huggingface/transformers#35791", "pytorch/pytorch#115262", "pytorch/pytorch#110277")
    inputs = (
        (f32(2, 2, 5, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 4)),
        (f32(2, 2, 7, 4), f32(2, 2, 7, 4), f32(2, 2, 7, 4)),
        (f32(2, 2, 1, 4), f32(2, 2, 6, 4), f32(2, 2, 6, 4)),
    )
    dynamic = {"query": {2: "queries"}, "key": {2: "keys"}, "value": {2: "keys"}}

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=query.shape[2] > 1)

    @fix("rewrite", "convert the comparison to bool; correct only for the branch of the example input", caution=True)
    def as_bool(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=bool(query.shape[2] > 1))

    @fix("rewrite", "always pass a mask: each query sees the keys up to its own position, a single query sees all")
    def mask_always(self, query, key, value):
        last = torch.arange(query.shape[2]) + (key.shape[2] - query.shape[2])
        seen = torch.arange(key.shape[2])[None] <= last[:, None]
        return F.scaled_dot_product_attention(query, key, value, seen)


@contextmanager
def without_gradients(_opset):
    """Run the export under torch.no_grad()."""
    with torch.no_grad():
        yield


def two_heads(x):
    """Split one projection's output into query, key and value of two heads."""
    return x.reshape(x.size(0), x.size(1), 3, 2, -1).permute(2, 0, 3, 1, 4)


class SdpaTrainableBiasThenReshape(_Attention):
    """scaled_dot_product_attention, mask from a parameter, then reshape: dynamo fails.

    Relative position biases are made this way. Where the mask requires gradients, the trace of torch.export and its
    decomposition use different strides for the output. The view that replaced the reshape is then invalid.
    """

    sources = ("pytorch/pytorch#136543", "pytorch/pytorch#141107")
    inputs = ((f32(2, 5, 24),), (f32(2, 5, 24),), (f32(3, 5, 24),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.table = torch.nn.Parameter(torch.zeros(9, 2))
        self.register_buffer("distances", torch.arange(5)[None] - torch.arange(5)[:, None] + 4)

    def forward(self, x):
        query, key, value = two_heads(x)
        bias = self.table[self.distances].permute(2, 0, 1).unsqueeze(0)
        out = F.scaled_dot_product_attention(query, key, value, bias)
        return out.transpose(1, 2).reshape(x.size(0), x.size(1), -1)

    not_trainable = fix(
        "export-option",
        "call model.requires_grad_(False) before the export",
        prepare=lambda module, _inputs: module.requires_grad_(False),
        documented=False,
    )
    no_grad = fix("export-option", "export under torch.no_grad()", patch=without_gradients, documented=False)

    @fix("rewrite", "detach the table from its gradients", documented=False)
    def table_detached(self, x):
        query, key, value = two_heads(x)
        bias = self.table.detach()[self.distances].permute(2, 0, 1).unsqueeze(0)
        out = F.scaled_dot_product_attention(query, key, value, bias)
        return out.transpose(1, 2).reshape(x.size(0), x.size(1), -1)

    @fix("rewrite", "write it as matmul, softmax, matmul", documented=False)
    def formula(self, x):
        query, key, value = two_heads(x)
        bias = self.table[self.distances].permute(2, 0, 1).unsqueeze(0)
        out = softmax_product(query, key, value, bias)
        return out.transpose(1, 2).reshape(x.size(0), x.size(1), -1)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class SdpaOneHeadOfKeys(_Attention):
    """scaled_dot_product_attention, one key head broadcast: dynamo fails at opset 23.

    The queries have several heads; keys and values have one.
    """

    sources = ("microsoft/onnxscript#2763",)
    inputs = (
        (f32(2, 4, 5, 4), f32(2, 1, 5, 4), f32(2, 1, 5, 4)),
        (f32(2, 4, 5, 4), f32(2, 1, 5, 4), f32(2, 1, 5, 4)),
        (f32(3, 4, 5, 4), f32(3, 1, 5, 4), f32(3, 1, 5, 4)),
    )
    dynamic = SdpaEnableGqa.dynamic

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value)

    @fix("rewrite", "expand keys and values to the number of query heads", documented=False)
    def expanded(self, query, key, value):
        key = key.expand(-1, query.size(1), -1, -1)
        value = value.expand(-1, query.size(1), -1, -1)
        return F.scaled_dot_product_attention(query, key, value)


def biased(score, _batch, _head, query, key):
    return score + (query - key) * 0.1


class FlexAttentionOperator(Case):
    """torch's flex_attention: no exporter translates the operator."""

    sources = ("caniexport",)
    aten_ops = ("higher_order::flex_attention",)
    onnx_ops = ("MatMul", "Softmax")
    needs_torch = ">=2.5"
    exporters = ("dynamo", "torchscript-trace", "default")
    inputs = ((f32(1, 2, 4, 8),) * 3, (f32(1, 2, 4, 8, low=-2.0, high=2.0),) * 3)

    def forward(self, query, key, value):
        from torch.nn.attention.flex_attention import flex_attention

        return flex_attention(query, key, value, score_mod=biased)

    @fix("rewrite", "write it as matmul, bias, softmax, matmul", documented=False)
    def formula(self, query, key, value):
        scores = query @ key.transpose(-2, -1) / 8.0**0.5
        at = torch.arange(4.0)
        return torch.softmax(scores + (at.unsqueeze(1) - at.unsqueeze(0)) * 0.1, -1) @ value
