"""What a question says beside an operator's name is part of its answer: no condition is dropped or turned round."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from caniexport.cli import main

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

#: a question, and what its answer has to say before it says that anything works
FAILING = {
    # an exporter that is not meant
    "torch.polar not by dynamo, torch 2.9": "still needed by trace, script: polar-no-rule",
    "torch.polar with dynamo off on torch 2.9": "still needed by trace, script: polar-no-rule",
    "no dynamo, view_as_complex torch 2.9": "still needed by trace, script: view-as-complex-rotation",
    "without torchscript: nn.LSTM dynamic batch torch 2.9": "still needed for lstm-dynamic-batch by dynamo",
    # the releases before one
    "F.scaled_dot_product_attention is_causal=True before torch 2.1": "needed by trace, script, default: sdpa-causal",
    "is everything besides dynamo ok with grid_sample volume on 2.6": "is needed at torch 2.6.0, opset 17 (trace",
    "x.squeeze(1) of dynamic axis, torch 2.9 default exporter": "It depends on the call.",
    "does everything except dynamo support torch.stft on 2.5": "still needed for stft-opset-16 by trace",
    "torch.cross below torch 1.12": "still needed for 5 cases by every exporter: cross-no-symbolic",
    # loops, branches, attributes, inputs that are no tensors
    "for i in range(x.shape[0]): out = out + x[i]  traced on torch 2.9": "trace-tensor-trip-count-baked",
    "x.item() as loop count on torch 2.8 dynamo": "trace-tensor-trip-count-baked",
    "if torch.any(x < 0): raise torch 2.9 dynamo": "still needed by dynamo: branch-on-value",
    "if (x < 0).any(): x = x.abs()  torch 2.9 trace": "still needed by trace: branch-on-value",
    "self.step += 1 buffer counter in forward, torch 2.6 dynamo": "running-total-in-buffer/state_passed is needed",
    "self.past = torch.cat([self.past, k], 2) in forward torch 2.6 dynamo": "plain-tensor-attribute-mutated",
    'string argument mode="a" to forward, torch 2.9 dynamo': "string-chooses-branch/chosen_by_tensor is needed",
    "torch.max on an empty tensor torch 2.9 dynamo": "max-of-no-boxes/row_of_zeros is needed",
    "~mask of integers opset 17 trace torch 2.5": "bitwise_not (int64) are not exported as asked for",
    "does F.pad with reflect work with trace on torch 2.1": "still needed for reflect-pad-larger-than-input by trace",
    # in which form an operator is called, and with which dtypes together
    "x ** y with x float16 and y float32 dynamo torch 2.9": "with a second tensor of float32 torch's own calls of pow",
    "torch.maximum(int64, bfloat16) traced torch 2.9": "calls of maximum (int64) do not pass: TorchScript",
    "torch.norm(x, p='nuc') torch 2.9 dynamo": "norm.nuc (float32) do not pass: `dynamo=True` exports none of them",
    "does torch.add(x, True) export with trace on torch 2.9": "with a Python bool behind the tensor torch's own calls",
    "torch.mul(a, b, out=c) traced torch 2.9": "with `out=` torch's own calls of mul (float32) do not pass",
    "torch.kron dynamic batch dynamo torch 2.15": "with a dynamic first axis torch's own calls of kron",
    "x.ge_(0) on a tensor, torch 2.9 dynamo=False": "in place torch's own calls of ge (float32) do not pass",
    "can I drop the argsort rewrite when called with stable=True torch 2.5": "argsort(f32[5, 5, 5], stable=True) does",
    "is gelu fine on torch 2.9 with opset 20 traced in fp16 and bf16": "gelu (bfloat16) do not pass",
    "is the cast around bilinear interpolate of uint8 obsolete, torch 2.9 traced": "bilinear (uint8) do not pass",
    # words of plain English that mean an operator beside tensors, signs, and calls without their module
    "sum of float16 tensors correct in torch 2.9?": "but gives float32 in place of float16, without an error",
    "x + y for bool tensors with dynamo, torch 2.15": "torch's own calls of add (bool) are not exported as asked for",
    "is product of a float16 tensor ok with dynamo, torch 2.9": "torch's own calls of prod (float16) do not pass",
    "torch.any(x, dim=1) torch 2.5 opset 17 TorchScript": "but gives wrong values, without an error",
    "does all(dim=1) need a workaround in torch 2.8 with dynamo=False": "own calls of all (float32) are not exported",
    "torch.pow(x, b) where b is bool, torch 2.15": "with a second tensor of bool torch's own calls of pow",
    "F.softmax(x, dim=-1, dtype=torch.float32) on an int64 tensor, dynamo, torch 2.9": "softmax.with_dtype (int64) do",
    "AdaptiveAvgPool2d((3,3)) on variable image size with torch 2.15": "still needed for adaptive-avg-pool2d-dynamic",
    # types of tensors in code, and numbers and switches beside a sign
    "torch.logit(int64 tensor, 0.2) legacy": "logit (int64) are exported in part: TorchScript",
    "F.mse_loss(a.half(), b.half()) dynamo 2.15": "mse_loss (float16) do not pass as asked for",
    "F.grid_sample(half feats, grid) dynamo=True": "grid_sample (float16) do not pass as asked for",
    "x.half().prod() new exporter": "prod (float16) do not pass as asked for",
    "F.interpolate(img.byte(), mode='bilinear', size=(8,8)) trace": "interpolate.bilinear (uint8) do not pass",
    "1.5 - int tensor dynamo 2.15": "with a decimal number before the tensor torch's own calls of sub",
    "(1.0 - mask.long()) * x dynamo=True torch 2.15": "with a decimal number before the tensor torch's own calls",
    "int64 tensor // 2.0 new exporter 2.15": "with a decimal number behind the tensor torch's own calls",
    "a.bool() & 1 TorchScript 2.15": "with a whole number behind the tensor torch's own calls of bitwise_and (bool)",
    "bitwise_and bool tensor with an int trace opset 23": "with a whole number behind the tensor torch's own calls",
    "True * float tensor trace 2.15": "with a Python bool before the tensor torch's own calls of mul (float32)",
    "normal_() in place legacy, is it the same shape": "calls of normal.in_place (float32) do not pass",
    "diagonal bool legacy exporter": "diagonal (bool) do not pass as asked for",
    "x.to(torch.float16).sum() dynamo 2.15": "sum (float16) do not pass as asked for",
    # arguments of another exporter, modules of nearly one name, words that any code has
    "dynamic_axes with dynamo=True": "but the default call fails: dynamic-axes-of-a-later-input",
    "torchscript export flash attention gqa": "still needed for 6 of 13 cases: sdpa-enable-gqa",
    "x.abs() of complex tensor": "abs (complex64) are exported by `dynamo=True` at opset 20 (since torch 2.1.2); Torch",
    # an opset that torch's own calls were not tried at, and a mask that is read by
    "torch.all(x, dim=1) opset 9": "TorchScript (`dynamo=False`) does not, whichever the opset and the release",
    "one_hot opset 13 dynamo=False": "exports 1 of 3 calls at opset 11, 14, 17, 20, 23",
    "torch.exp on int64 opset 13": "TorchScript (`dynamo=False`) does not, whichever the opset and the release",
    "x[mask] boolean indexing dynamo exporter 2.6": "still needed by dynamo: masked-select-no-rule",
    "torch.floor_divide negative ints 2.0": "On torch 2.0.1 torch's own calls of floor_divide (int64) do not pass",
    # what leaves cases of the operator out
    "x.squeeze(1) of dynamic axis, torch 2.9": "It depends on the call.",
    "F.interpolate(x, scale_factor=0.6, mode='nearest') torch 2.7 TorchScript": "It depends on the call.",
    "is F.interpolate bilinear ok on TensorRT with opset 17": "what TensorRT makes of it is not known",
    "does nn.LSTM run in CoreML after export from 2.9": "Not known with \u00abCoreML\u00bb",
    # types of tensors and opsets of operators that no case is about
    "conv1d int64 torch 2.9": "no exporter exports torch's own calls of nn.functional.conv1d (int64)",
    "nn.Conv1d bfloat16 torch 2.9 dynamo": "no exporter exports torch's own calls of nn.functional.conv1d (bfloat16)",
    "torch.isnan on int64 torch 2.9 dynamo": "no exporter exports torch's own calls of isnan (int64)",
    "torch.logsumexp opset 26 torch 2.15 dynamo": "exports 2 of 3 calls at opset 26",
    "flags ^ mask int64 torch 2.5 torchscript": "bitwise_xor (int64) are not exported as asked for",
    # words that no case has together: each beside the operator
    "F.interpolate mode=area with dynamic size torch 2.5": "still needed for 3 of 4 cases: interpolate-area (by trace",
    "nn.GRU with a packed sequence on torch 2.9 dynamo": "still needed for pack-then-pad by dynamo",
    "max_pool2d with return_indices=True then max_unpool2d torch 2.9": "max-unpool-indices-per-plane",
    # what is not exported as it is runs on no provider, though the files of its workarounds do
    "will kthvalue run on the GPU with onnxruntime-gpu, torch 2.9": "2.9.1 kthvalue-no-rule (by every exporter) fails",
    "will my scripted model with torch.cross run on CUDA, torch 1.10": "5 of 5 cases fail or are wrong on the CPU too",
    "sdpa with enable_gqa on CUDA with torch 2.9 dynamo=False?": "sdpa-enable-gqa (by trace)",
    # the case that it is about was not measured there
    "torch.where with scalar on 1.8": "Not measured there: where-python-scalar",
    "x.repeat_interleave(x.size(1), 0) torch 2.9": "the default call fails: repeat-interleave-by-size",
}
WORKS = (
    "no workaround is needed any more",
    "no workaround is needed, the failing form works",
    "is obsolete",
    "Yes:",
    "Not needed.",
    "every file that works on the CPU works, too",
)

#: what no case is about, and is answered by none
UNKNOWN = (
    "torch.cumsm on int32 mask torch 2.5", "nn.GroupNrom half precision torch 2.5", "nested tensor input torch 2.9",
    "mel spectrogram torchaudio export torch 2.5", "nn.GRUCell onnx", "torch.sparse.mm onnx",
    "torch.sparse.softmax on torch 2.9",
)  # fmt: skip
#: what is dropped of a question is told
WITHOUT = {
    "tensor.to(torch.float16) then sum": "Answered without \u00absum\u00bb",
    "does torch.cumsum then flip work on dynamo 2.9?": "Answered without \u00abflip\u00bb",
    "linalg.matrix_norm nuc": "Not known with \u00abnuc\u00bb",
    "does torch.cummax work nicely?": "Answered without \u00abnicely\u00bb",
}
#: a few words that are no line of an error
WORDS = (
    "hardswish still missing?", "LSTM on TensorRT with dynamic batch", "gelu bf16 trace", "softplus beta=2 threshold=5",
    "softplus threshold", "BCEWithLogitsLoss pos_weight onnx", "fftshift export legacy exporter",
    "torch.abs of complex64", "torch.narrow with tensor start", "KLDivLoss reduction batchmean 2.2",
    "bucketize onnx 2.9 dynamo", "roll with several shifts and dims", "torch.sort on bool tensor dynamo",
)  # fmt: skip


@pytest.mark.parametrize("question", FAILING)
def test_what_fails_under_the_condition_is_told_before_what_works(question):
    reply = CliRunner().invoke(main, ["why", question])

    told = " ".join(reply.output.split())
    place = told.index(FAILING[question])
    assert not [words for words in WORKS if words in told[:place]]


@pytest.mark.parametrize(
    "question",
    [
        "can I remove my float32 cast around gelu for bf16 tensors on torch 2.9 traced",
        "drop my diagonal workaround on torch 2.9 traced, int64 tensors",
    ],
)
def test_cases_of_other_dtypes_answer_in_no_few_words(question):
    reply = CliRunner().invoke(main, ["why", question])

    assert "do not pass" in reply.output.split("At torch")[0]
    assert "Not needed" not in reply.output


@pytest.mark.parametrize("question", UNKNOWN)
def test_a_name_that_nobody_knows_and_words_of_any_case_are_answered_by_no_case(question):
    reply = CliRunner().invoke(main, ["why", question])

    assert reply.exit_code == 2
    assert "no measured case has all of these words" in reply.output


@pytest.mark.parametrize(
    ("before", "after", "op"),
    [("torch=2.13", "torch=2.14", "dropout"), ("torch=2.9,opset=26", "torch=2.15,opset=26", "logsumexp")],
)
def test_an_upgrade_that_loses_torchs_own_calls_of_an_operator_says_so_first_and_ends_with_1(before, after, op):
    reply = CliRunner().invoke(main, ["upgrade", "--from", before, "--to", after, "--op", op])

    assert reply.exit_code == 1
    assert reply.output.startswith("On torch ")
    told = " ".join(reply.output.split())
    assert re.search(rf"torch's own calls of (nn\.functional\.)?{op} ", told)


@pytest.mark.parametrize(
    ("before", "after", "op", "way"),
    [
        ("2.8.0", "2.15.0", "unbind", "float32 with a dynamic first axis"),
        ("2.4.1", "2.9.1", "cumsum", "float16"),
        ("2.2.2", "2.12.1", "sigmoid", "bfloat16"),
    ],
)
def test_an_upgrade_that_loses_calls_in_another_dtype_or_form_says_so_first_and_ends_with_1(before, after, op, way):
    ends = [f"torch={torch},exporter=dynamo" for torch in (before, after)]
    reply = CliRunner().invoke(main, ["upgrade", "--from", ends[0], "--to", ends[1], "--op", op])

    assert reply.exit_code == 1
    told = " ".join(reply.output.split())
    assert told.startswith(f"Torch's own calls of {op} in {way} pass on torch {before} by ")
    assert f"and not on torch {after} by `dynamo=True`." in told


@pytest.mark.parametrize("question", WITHOUT)
def test_a_word_that_nothing_was_looked_for_by_is_told(question):
    told = " ".join(CliRunner().invoke(main, ["why", question]).output.split())

    assert WITHOUT[question] in told.split(" On torch ")[0]


@pytest.mark.parametrize("question", WORDS)
def test_a_few_words_are_answered_as_a_question(question):
    reply = CliRunner().invoke(main, ["why", question])

    assert reply.exit_code == 0
    assert reply.output.startswith("Read as: ")


def test_whether_two_tensors_are_equal_is_not_answered_by_their_comparison():
    reply = CliRunner().invoke(main, ["why", "torch.equal(a, b) in forward, dynamo=True"])

    assert reply.exit_code == 2
    assert "'torch.equal' is no case" in reply.output


def test_an_operator_whose_dtypes_differ_names_the_usual_one_too():
    told = " ".join(
        CliRunner().invoke(main, ["why", "torch.any in 2.15 with TorchScript, returns bool"]).output.split()
    )

    assert "own calls of any differ from eager there, without an error: float32 (trace), bfloat16 (trace)" in told


def test_an_upgrade_after_which_none_of_some_calls_pass_says_so():
    ends = ["--from", "torch=1.13", "--to", "torch=2.1.2"]
    reply = CliRunner().invoke(main, ["upgrade", *ends, "--op", "index_copy"])

    assert reply.exit_code == 1
    assert "TorchScript exports 1 of 2 calls at opset 11, 14, 17" in reply.output.split("Of the cases")[0]


def test_a_file_of_another_opset_than_asked_for_is_told():
    told = " ".join(CliRunner().invoke(main, ["why", "logaddexp dynamo=True torch 2.5"]).output.split())

    assert "at every opset tried (18, 20, 26; since torch 2.1.2; asked for opset 20, 26 the file has another)" in told


@pytest.mark.parametrize("question", ["minimum opset version needed for scatter_add", "min opset for cumsum legacy"])
def test_the_lowest_opset_of_an_operator_is_told_by_its_own_calls(question):
    told = " ".join(CliRunner().invoke(main, ["why", question]).output.split())

    assert "minimum" not in told.split(" On torch ")[0]
    assert "opset 11, 14, 17, 20, 23" in told.split(" On torch ")[1]
