"""Recurrent layers: gates, directions, and sequences of different lengths."""

from typing import Tuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from caniexport import Case, f32, fix, values


def reset_before_recurrence(model):
    """Graph surgery: set linear_before_reset of every GRU, which matches torch's GRU."""
    import onnx

    for node in model.graph.node:
        if node.op_type == "GRU":
            kept = [item for item in node.attribute if item.name != "linear_before_reset"]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute("linear_before_reset", 1)])
    return model


def gru_attributes(model):
    """Return linear_before_reset of each GRU node; 0 where it is absent."""
    found = []
    for node in model.graph.node:
        if node.op_type == "GRU":
            found += [item.i for item in node.attribute if item.name == "linear_before_reset"] or [0]
    return {"linear_before_reset": found}


def with_zero_bias(model):
    """Graph surgery: give every GRU without a bias one of zeros."""
    import numpy as np
    import onnx

    for node in model.graph.node:
        if node.op_type == "GRU" and (len(node.input) < 4 or not node.input[3]):
            hidden = next(item.i for item in node.attribute if item.name == "hidden_size")
            bias = onnx.numpy_helper.from_array(np.zeros((1, 6 * hidden), "float32"), "zero_bias")
            model.graph.initializer.append(bias)
            inputs = [*node.input, "", "", ""][:6]
            inputs[3] = bias.name
            del node.input[:]
            node.input.extend(inputs if any(inputs[4:]) else inputs[:4])
    return model


def gru_by_hand(x, weight_ih, weight_hh, bias_ih, bias_hh):
    """Run one layer of a GRU step by step, with torch's order of gates; ``x`` is (length, batch, features)."""
    state = torch.zeros_like(x[0, :, :1]).expand(-1, weight_hh.size(1))
    outputs = []
    for step in range(x.size(0)):
        reset_in, update_in, new_in = (torch.matmul(x[step], weight_ih.t()) + bias_ih).chunk(3, 1)
        reset_state, update_state, new_state = (torch.matmul(state, weight_hh.t()) + bias_hh).chunk(3, 1)
        reset, update = torch.sigmoid(reset_in + reset_state), torch.sigmoid(update_in + update_state)
        new = torch.tanh(new_in + reset * new_state)
        state = new + update * (state - new)
        outputs.append(state)
    return torch.stack(outputs)


class GruLinearBeforeReset(Case):
    """nn.GRU: dynamo omits linear_before_reset=1 and gives wrong values.

    Without it the reset gate is applied before the recurrence's bias.
    """

    sources = ("microsoft/onnxscript#2852", "pytorch/pytorch#189225", "microsoft/onnxscript#2853")
    aten_ops = ("aten::gru",)
    onnx_ops = ("GRU",)
    inputs = ((f32(4, 2, 3),), (f32(4, 2, 3, low=-3.0, high=3.0),), (f32(4, 5, 3),))
    dynamic = {"x": {1: "batch"}}
    facts = staticmethod(gru_attributes)

    def setup(self):
        self.gru = torch.nn.GRU(3, 4)

    def forward(self, x):
        return self.gru(x)[0]

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")
    attribute_set = fix("graph-surgery", "set linear_before_reset=1 on the GRU nodes", surgery=reset_before_recurrence)

    @fix("rewrite", "compute the cell step by step", documented=False)
    def step_by_step(self, x):
        gru = self.gru
        return gru_by_hand(x, gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0)

    newer_onnxscript = fix("version-upgrade", "use an onnxscript that writes the attribute", torch=">=2.11")


class LstmBesideGru(Case):
    """nn.LSTM of the same sizes: the control for the GRU case.

    The LSTM has no such attribute.
    """

    sources = ("microsoft/onnxscript#2852", "pytorch/pytorch#189225")
    aten_ops = ("aten::lstm",)
    onnx_ops = ("LSTM",)
    inputs = ((f32(4, 2, 3),), (f32(4, 2, 3, low=-3.0, high=3.0),), (f32(4, 5, 3),))
    dynamic = {"x": {1: "batch"}}

    def setup(self):
        self.lstm = torch.nn.LSTM(3, 4)

    def forward(self, x):
        return self.lstm(x)[0]

    @fix("rewrite", "compute the cell step by step", documented=False)
    def step_by_step(self, x):
        state = cell = torch.zeros_like(x[0, :, :1]).expand(-1, 4)
        outputs = []
        for step in range(x.shape[0]):
            gates = torch.matmul(x[step], self.lstm.weight_ih_l0.t()) + self.lstm.bias_ih_l0
            gates = gates + torch.matmul(state, self.lstm.weight_hh_l0.t()) + self.lstm.bias_hh_l0
            into, forget, new, out = gates.chunk(4, 1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(new)
            state = torch.sigmoid(out) * torch.tanh(cell)
            outputs.append(state)
        return torch.stack(outputs)


class GruWithoutBiasBatchOfThree(Case):
    """nn.GRU(bias=False) on a batch of three: wrong in ONNX Runtime before 1.4.

    The runtime reads a stale buffer.
    """

    sources = ("microsoft/onnxruntime#3893",)
    aten_ops = ("aten::gru",)
    onnx_ops = ("GRU",)
    inputs = ((f32(4, 1, 3),), (f32(4, 3, 3),), (f32(4, 5, 3),))
    dynamic = {"x": {1: "batch"}}

    def setup(self):
        self.gru = torch.nn.GRU(3, 4, bias=False)

    def forward(self, x):
        return self.gru(x)[0]

    zero_bias = fix("graph-surgery", "set the bias of the GRU nodes to zeros", surgery=with_zero_bias)

    @fix("rewrite", "compute the cell step by step", documented=False)
    def step_by_step(self, x):
        return gru_by_hand(x, self.gru.weight_ih_l0, self.gru.weight_hh_l0, torch.zeros(12), torch.zeros(12))


class GruLargeInput(Case):
    """nn.GRU of a large input of both signs: wrong values in ONNX Runtime 1.4."""

    sources = ("microsoft/onnxruntime#4628",)
    aten_ops = ("aten::gru",)
    onnx_ops = ("GRU",)
    inputs = ((f32(3, 1, 256),), (f32(3, 1, 256, low=-9.0, high=9.0),), (f32(3, 2, 256),))
    dynamic = {"x": {1: "batch"}}

    def setup(self):
        self.gru = torch.nn.GRU(256, 4)

    def forward(self, x):
        return self.gru(x)[0]

    @fix("rewrite", "compute the cell step by step", documented=False)
    def step_by_step(self, x):
        gru = self.gru
        return gru_by_hand(x, gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0)


class BidirectionalGruOutputs(Case):
    """Bidirectional GRU: order of forward and backward outputs and of the last states."""

    sources = ("pytorch/pytorch#11368",)
    aten_ops = ("aten::gru",)
    onnx_ops = ("GRU", "Transpose", "Reshape")
    inputs = ((f32(4, 2, 3),), (f32(4, 2, 3, low=-3.0, high=3.0),), (f32(4, 5, 3),))
    dynamic = {"x": {1: "batch"}}

    def setup(self):
        self.gru = torch.nn.GRU(3, 4, bidirectional=True)

    def forward(self, x):
        return self.gru(x)


class PackThenPad(Case):
    """pack_padded_sequence, then pad_packed_sequence: the model returns its input.

    In eager all values after the end of a sequence become zero.
    """

    sources = ("pytorch/pytorch#48460",)
    aten_ops = ("aten::_pack_padded_sequence", "aten::_pad_packed_sequence")
    onnx_ops = ("Identity",)
    inputs = (
        (f32(3, 5, 2), values([5, 5, 5], "int64")),
        (f32(3, 5, 2), values([5, 3, 1], "int64")),
        (f32(4, 5, 2), values([5, 4, 4, 2], "int64")),
    )
    dynamic = {"x": {0: "batch"}, "lengths": {0: "batch"}}

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        return pad_packed_sequence(packed, batch_first=True)[0]

    @fix("rewrite", "use a mask by length")
    def mask_by_length(self, x, lengths):
        inside = torch.arange(5).unsqueeze(0) < lengths.unsqueeze(1)
        return x * inside.unsqueeze(2).to(x.dtype)


def sorted_by_length(x: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor]:
    """Return the sequences from the longest to the shortest, and the original position of each."""
    order = torch.sort(lengths, descending=True)[1]
    back = torch.zeros_like(order)
    for i in range(order.shape[0]):
        back[order[i]] = i
    return x[order], back


class LstmBehindScriptedSort(Case):
    """Scripted sort before a bidirectional LSTM: reported to freeze the loop's sizes.

    The report says that the sizes of the loop become constants.
    """

    sources = ("pytorch/pytorch#91526",)
    aten_ops = ("aten::lstm", "prim::Loop")
    onnx_ops = ("Range", "Loop", "LSTM")
    needs_torch = ">=1.9"
    exporters = ("torchscript-trace", "torchscript-script")
    inputs = (
        (f32(3, 4, 2), values([4, 2, 3], "int64")),
        (f32(3, 4, 2), values([1, 2, 3], "int64")),
        (f32(5, 4, 2), values([1, 5, 3, 4, 2], "int64")),
    )
    dynamic = {"x": {0: "batch"}, "lengths": {0: "batch"}}

    def setup(self):
        self.lstm = torch.nn.LSTM(2, 3, batch_first=True, bidirectional=True)
        # scripted here, not at import: a release that cannot script it would lose every case of the file
        self.sort = torch.jit.script(sorted_by_length)

    def forward(self, x, lengths):
        ordered, back = self.sort(x, lengths)
        return self.lstm(ordered)[0][back]

    no_folding = fix("export-option", "pass do_constant_folding=False", export={"do_constant_folding": False})

    @fix("rewrite", "sort without a scripted helper; sorting the order gives the way back")
    def without_script(self, x, lengths):
        order = torch.sort(lengths, descending=True)[1]
        return self.lstm(x[order])[0][torch.sort(order)[1]]
