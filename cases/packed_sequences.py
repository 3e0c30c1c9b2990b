"""Recurrent layers: LSTM and GRU, packed sequences, and their batch."""

import torch

from caniexport import Case, f32, fix, values


class _Lstm(Case):
    aten_ops = ("aten::lstm",)
    onnx_ops = ("LSTM",)

    def setup(self):
        self.lstm = torch.nn.LSTM(3, 4)


class LstmDynamicBatch(_Lstm):
    """nn.LSTM without initial states, exported with batch 2: dynamo swaps dimensions.

    The dynamo exporter of torch 2.13 swaps length and batch where both differ from the example's.
    """

    sources = (
        "onnx/onnx#3182",
        "Sierkinhane/CRNN_Chinese_Characters_Rec#302",
        "microsoft/onnxscript#2674",
        "pytorch/pytorch#118740",
    )
    inputs = ((f32(5, 2, 3),), (f32(5, 2, 3),), (f32(5, 1, 3),), (f32(7, 5, 3),))
    dynamic = {"x": {0: "length", 1: "batch"}}

    def forward(self, x):
        return self.lstm(x)[0]

    @fix("rewrite", "pass zeros with the input's own batch as initial states", documented=False)
    def zero_states(self, x):
        zeros = torch.zeros(1, x.size(1), 4)
        return self.lstm(x, (zeros, zeros))[0]

    batch_1 = fix(
        "export-option",
        "use an example input of batch 1",
        inputs=((f32(5, 1, 3),), (f32(5, 1, 3),), (f32(5, 2, 3),), (f32(7, 5, 3),)),
        documented=False,
    )
    torchscript = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class GruWithInitialState(Case):
    """nn.GRU with a dynamic batch and an initial state: dynamo fails before torch 2.4."""

    sources = ("microsoft/onnxscript#2674",)
    aten_ops = ("aten::gru",)
    onnx_ops = ("GRU",)
    inputs = ((f32(5, 2, 3), f32(1, 2, 4)), (f32(5, 2, 3), f32(1, 2, 4)), (f32(5, 3, 3), f32(1, 3, 4)))
    dynamic = {"x": {1: "batch"}, "state": {1: "batch"}}

    def setup(self):
        self.gru = torch.nn.GRU(3, 4)

    def forward(self, x, state):
        return self.gru(x, state)

    torchscript = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class GruMisspeltDynamicAxes(Case):
    """dynamic_axes with an unknown input name: export only warns, the batch is fixed."""

    sources = ("microsoft/onnxruntime#19270",)
    aten_ops = ("aten::gru",)
    onnx_ops = ("GRU",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(5, 2, 3), f32(1, 2, 4)), (f32(5, 2, 3), f32(1, 2, 4)), (f32(5, 3, 3), f32(1, 3, 4)))
    dynamic = {"attention_mask": {1: "batch"}}

    def setup(self):
        self.gru = torch.nn.GRU(3, 4)

    def forward(self, x, state):
        return self.gru(x, state)

    all_named = fix(
        "export-option",
        "name every input whose batch varies, including the state",
        dynamic={"x": {1: "batch"}, "state": {1: "batch"}},
        documented=False,
    )


class BilstmByTwoLstms(Case):
    """Hand-written bidirectional LSTM: dynamo fixes the length in expand_as.

    The reversed run is gathered with an index that is expanded to the shape of the output.
    """

    sources = ("pytorch/pytorch#193192",)
    aten_ops = ("aten::lstm", "aten::flip", "aten::expand_as")
    onnx_ops = ("LSTM", "Expand", "GatherElements")
    inputs = ((f32(5, 2, 3),), (f32(5, 2, 3),), (f32(7, 2, 3),))
    dynamic = {"x": {0: "length"}}

    def setup(self):
        self.ahead = torch.nn.LSTM(3, 4)
        self.back = torch.nn.LSTM(3, 4)

    def forward(self, x):
        back = self.back(torch.flip(x, [0]))[0]
        order = torch.arange(x.size(0) - 1, -1, -1).view(-1, 1, 1).expand_as(back)
        return torch.cat([self.ahead(x)[0], back.gather(0, order)], dim=2)

    @fix("rewrite", "flip the reversed run back", documented=False)
    def flip_back(self, x):
        back = torch.flip(self.back(torch.flip(x, [0]))[0], [0])
        return torch.cat([self.ahead(x)[0], back], dim=2)


def packed(lstm, x, lengths, enforce_sorted):
    """Return the LSTM over a packed sequence, padded again, and its last state.

    The initial states are zeros with the batch of ``x``.
    """
    rnn = torch.nn.utils.rnn
    zeros = torch.zeros(1, x.size(1), 4)
    out, (state, _) = lstm(rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted), (zeros, zeros))
    return rnn.pad_packed_sequence(out)[0], state


class LstmPackedUnsorted(_Lstm):
    """pack_padded_sequence(enforce_sorted=False) with a dynamic batch: run fails.

    One sequence is as long as the padded input; lstm-packed-shorter-than-padding has none.
    """

    sources = ("microsoft/onnxruntime#11830",)
    aten_ops = ("aten::_pack_padded_sequence", "aten::lstm")
    onnx_ops = ("LSTM", "ScatterElements")
    needs_torch = ">=1.2"
    inputs = (
        (f32(5, 3, 3), values([3, 5, 2], "int64")),
        (f32(5, 3, 3), values([5, 1, 4], "int64")),
        (f32(5, 4, 3), values([2, 5, 3, 4], "int64")),
    )
    dynamic = {"x": {1: "batch"}, "lengths": {0: "batch"}}

    def forward(self, x, lengths):
        return packed(self.lstm, x, lengths, False)

    @fix(
        "rewrite",
        "sort by length before calling the model, with enforce_sorted=True",
        inputs=(
            (f32(5, 3, 3), values([5, 3, 2], "int64")),
            (f32(5, 3, 3), values([5, 4, 1], "int64")),
            (f32(5, 4, 3), values([5, 4, 3, 2], "int64")),
        ),
        documented=False,
    )
    def enforce_sorted(self, x, lengths):
        return packed(self.lstm, x, lengths, True)


def padded_again(lstm, x, lengths, total_length=None):
    """Return the LSTM over a packed sequence, padded again, and its last state.

    The initial states are zeros with the batch of ``x``.
    """
    rnn = torch.nn.utils.rnn
    zeros = torch.zeros(1, x.size(1), 4)
    out, (state, _) = lstm(rnn.pack_padded_sequence(x, lengths), (zeros, zeros))
    return rnn.pad_packed_sequence(out, total_length=total_length)[0], state


class LstmPackedShorterThanPadding(_Lstm):
    """pad_packed_sequence after an LSTM: the exported model keeps the padded length.

    torch returns as many steps as the longest sequence has, the exported model as many as its input; the extra
    steps are zeros. It shows where no sequence is as long as the padded input.
    """

    sources = ("pytorch/pytorch#62240", "pytorch/pytorch#41774")
    aten_ops = ("aten::_pack_padded_sequence", "aten::_pad_packed_sequence", "aten::lstm")
    onnx_ops = ("LSTM",)
    inputs = (
        (f32(5, 3, 3), values([5, 3, 2], "int64")),
        (f32(5, 3, 3), values([5, 4, 1], "int64")),
        (f32(5, 3, 3), values([4, 3, 1], "int64")),
        (f32(6, 4, 3), values([3, 3, 2, 1], "int64")),
    )
    dynamic = {"x": {0: "length", 1: "batch"}, "lengths": {0: "batch"}}

    def forward(self, x, lengths):
        return padded_again(self.lstm, x, lengths)

    @fix("rewrite", "cut the output to the longest length", documented=False)
    def cut_to_longest(self, x, lengths):
        out, state = padded_again(self.lstm, x, lengths)
        return out[: lengths.max()], state

    @fix(
        "rewrite",
        "pass total_length of the input's length; torch then keeps all steps too, the extra ones as zeros",
        changes_values=True,
    )
    def total_length(self, x, lengths):
        return padded_again(self.lstm, x, lengths, x.size(0))


class PackWithoutRnn(Case):
    """pack_padded_sequence without an RNN: cannot be exported."""

    sources = ("pytorch/pytorch#49936",)
    aten_ops = ("aten::_pack_padded_sequence",)
    onnx_ops = ("Mul",)
    inputs = (
        (f32(5, 3, 2), values([5, 3, 2], "int64")),
        (f32(5, 3, 2), values([5, 5, 1], "int64")),
    )

    def forward(self, x, lengths):
        rnn = torch.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, lengths)
        scaled = rnn.PackedSequence(packed.data * 2.0 + 1.0, packed.batch_sizes)
        return rnn.pad_packed_sequence(scaled)[0]

    @fix("rewrite", "apply the operation to all values, then mask", documented=False)
    def masked(self, x, lengths):
        inside = (torch.arange(5)[:, None] < lengths[None]).float().unsqueeze(-1)
        return (x * 2.0 + 1.0) * inside
