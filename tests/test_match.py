"""From what a user has in hand to the cases that fail alike: pasted errors, names of operators, names of errors."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

import caniexport
from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.answers.points import Places
from caniexport.answers.select import load, select
from caniexport.answers.targets import Statuses
from caniexport.answers.touching import TouchJudge, TouchWord, known_graphs
from caniexport.cli import main
from caniexport.match.error_index import index_errors
from caniexport.match.errors import Confidence, match_error
from caniexport.match.evidence import read_error
from caniexport.match.explain import explain_error
from caniexport.match.search import search
from caniexport.match.sentences import find_parts, normal, read_parts
from caniexport.operators import operator_key

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

CROSS = "RuntimeError: Exporting the operator aten::cross to ONNX opset version 11 is not supported."

ANY_EXPORTER = ("torchscript-trace", "torchscript-script", "dynamo")
#: what a tracer's warning goes on with
LATER = (
    "We can't record the data flow of Python values, so this value will be treated as a constant in the future. "
    "This means that the trace might not generalize to other inputs!"
)


@pytest.fixture(scope="module")
def published(results):
    return results


@pytest.fixture(scope="module")
def index(published):
    return index_errors(published)


@pytest.mark.parametrize(
    "name", ["F.grid_sample", "torch.nn.functional.grid_sample", "aten::grid_sampler", "GridSample", "grid_sampler_2d"]
)
def test_an_operator_has_one_key_by_every_name(name):
    assert operator_key(name) == operator_key("aten.grid_sampler.default")


@pytest.mark.parametrize(
    ("name", "near"),
    [("foo", []), ("elo", ["aten::elu"]), ("too", ["ir-version-9-too-new"]), ("9", ["7", "17"]), ("77", ["27"])],
)
def test_a_short_name_is_near_a_whole_one_and_a_number_the_numbers_beside_it(name, near):
    assert names.nearest(name, ["onnx-for-speed", "ir-version-9-too-new", "aten::elu", "27", "7", "17"]) == near


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("corss", "aten::cross"), ("gridsmaple", "GridSample"), ("adaptive_avgpool2d", "adaptive_avg_pool2d")],
)
def test_the_nearest_name_is_a_typo_away(typo, meant):
    assert (
        names.nearest(typo, ["Compress", "Cos", "Or", "aten::cross", "GridSample", "adaptive_avg_pool2d"])[0] == meant
    )


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("No ONNX function found for <OpOverload(op='aten.unfold', overload='default')>", "aten::unfold"),
        ("RuntimeError: ONNX export failed: Couldn\u2019t export Python operator qfn", "aten::qfn"),
        (
            'File "torch/onnx/symbolic.py", line 562, in softmax\nRuntimeError: r ASSERT FAILED at jit_type.h',
            "softmax",
        ),
        ("Unsupported FX nodes: {'call_function': ['aten\\\n.glu.default']}.", "aten::glu"),
        ('[8] Assertion failed: scales.is_weights() && "Resize scales must be an initializer!"', "Resize"),
        ("ERROR: In node 143 (importResize): UNSUPPORTED_NODE: Assertion failed: x", "Resize"),
        ("FAIL : Fatal error: mmcv:MMCVRoiAlign(-1) is not a registered function/op", "mmcv::MMCVRoiAlign"),
        ("RuntimeError: sqrt_vml_cpu not implemented for 'Half'", "aten::sqrt"),
        ("RuntimeError: min(): Expected reduction dim to be specified for input.numel() == 0.", "aten::min"),
        ("Converter is not implemented (OperationDescription(domain='', operation_type='If', version=11))", "If"),
        ("ERROR during processing node with 1 inputs and 1 outputs: [Einsum]:(onnx_node!a)", "Einsum"),
        ("Check failed at include/grid_sample_shape_inference.hpp:22:\nThe shape", "aten::grid_sample"),
        ("RuntimeError: PyTorch convert function for op 'numel' not implemented.", "aten::numel"),
        ("> Node [Transpose@ai.onnx]:(onnx_node!/attn2/Transpose_1) parse error: in function 'x'", "Transpose"),
        ("Shape not supported yet!\nGather not supported yet!", "Shape"),
        ("Where is the error? No kernel for node /layer1/Conv_3 at index 3", "Conv"),
        (
            "ValueError: x\n\nWhile executing %w : [num_users=0] = call_method[target=index_copy_](args = ())",
            "aten::index_copy_",
        ),
        (
            "ConversionError: Error when translating node %t : [num_users=4] = call_function[target=math.trunc]",
            "math::trunc",
        ),
        ("Exporting the operator prim_DictConstruct to ONNX opset version 13 is not supported", "prim::DictConstruct"),
        (
            '  File "torch/_meta_registrations.py", line 2928, in meta_index_Tensor\n    nonzero = index.nonzero()\n'
            "RuntimeError: Inference tensors do not track version counter.",
            "index",
        ),
        ("Error code: UNSUPPORTED_NODE\nFunc of the error:importMatMul\nNode of the error:2", "MatMul"),
        (
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running If node. Name:''"
            " Status Message: Non-zero status code returned while running GatherElements node. Name:'g' Status",
            "GatherElements",
        ),
        ("9/64: Converting Node Type Concat\n10/64: Converting Node Type Upsample\nKeyError: 'scales'", "Upsample"),
        (
            'While parsing node number 0 [Conv -> "377"]:\nERROR: a.cpp:5 In function importModel:\n[5] Assertion',
            "Conv",
        ),
        ("torch.HalfTensor (while checking arguments for cudnn_batch_norm)", "aten::batch_norm"),
        ("error: 'tf.Conv2D' op is neither a custom op nor a flex op", "Conv2D"),
        ("there are some operators not supported yet, including roll,", "aten::roll"),
        ("E Try match layer: Resize_Resize_1382:out0 failed!", "Resize"),
        ("/MNN/tools/converter/source/onnx/SliceOnnx.cpp:84: Check failed: 1 == axis", "Slice"),
        (
            "The parameter is incorrect.\nfrom: onnxruntime.dll/DmlOperatorInstanceNormalization.cpp(65)",
            "InstanceNormalization",
        ),
        ("Failed to legalize torch.operator onnx.QLinearAdd error", "onnx::QLinearAdd"),
        ("failed to legalize operation 'torch.operator' that was explicitly marked illegal : ONNX.Gather", "Gather"),
        ("a.tflite:0:0: error: 'tosa.reshape' op : illegal op still exists", "aten::reshape"),
        ("Error Code 4: Miscellaneous (IElementWiseLayer Mul_2509: broadcast dimensions must be conformable.", "Mul"),
        ("find any implementation for node {ForeignNode[onnx::Pow_9 + (Unnamed Layer* 12) [Shuffle]]}", "Pow"),
        ("Non-zero status code returned while running Node: concat_35 Status Message: no", "aten::concat"),
        ("[Adaptive pool]:input size not accessible", "adaptive pool"),
        ("reshape_value == 1INTERNAL ASSERT FAILED. ONNX Expand input shape constraint not satisfied.", "Expand"),
        ("RuntimeError: \"LayerNormKernelImpl\" not implemented for 'Half'", "LayerNorm"),
        ("\"upsample_bilinear2d_channels_last\" not implemented for 'BFloat16'", "aten::upsample_bilinear2d"),
        (
            "Expected node type 'onnx::Constant' for argument 'groups' of node 'conv2d', got 'prim::Param'.",
            "aten::conv2d",
        ),
        ("ConvertError: Adapter for Upsample from 9 to 10 not found", "Upsample"),
        ("Failed to find kernel for com.microsoft.FusedMatMul(1). Kernel not found", "FusedMatMul"),
        ("ONNX export of nn.MultiheadAttention gives NaN", "MultiheadAttention"),
        ("UnboundLocalError in symbolic_opset11.pad", "pad"),
        ("Failed: it is not constant\n    if node.kind() != 'onnx::Constant':", ""),
        ("Constant folding in symbolic shape inference fails: Expected all tensors to be on the same device", ""),
        (
            "RuntimeError: ONNX export failed: Couldn't export operator aten::adaptive_avg_pool2d\n\nGraph we tried to "
            "export:\ngraph(%0 : Float(1, 3, 4, 4)) {\n  %1 : Tensor = onnx::LSTM(%0)\n  return (%1);\n}",
            "aten::adaptive_avg_pool2d",
        ),
    ],
)
def test_the_operator_that_fails_is_read_from_what_people_paste(text, operator):
    assert read_error(text).operator == operator


def test_a_paste_that_ends_at_the_line_that_raises_is_read_by_its_words():
    text = (
        "  File 'utils.py', line 9, in x\n    raise RuntimeError('Unsupported: ONNX export of convolution for kernel '"
    )
    evidence = read_error(text)
    assert (evidence.reasons[0].kind, evidence.operator) == ("RuntimeError", "aten::convolution")


def test_a_note_of_a_log_names_no_operator_beside_an_error():
    note = "W1021 12:27:13.866000 68050 torch/onnx/a.py:107] torchvision is not installed. Skipping torchvision::nms"
    error = "ValueError: Could not guard on data-dependent expression Eq(u2, 1)"
    assert read_error(f"{note}\n{error}").operators == ()
    assert read_error(note).operator == "torchvision::nms"


def test_the_dump_of_a_value_names_no_operator():
    text = (
        "torch.onnx.errors.SymbolicValueError: STFT does not currently support complex types  [Caused by the value '1 "
        "defined in (%1 : Float(2, 3) = onnx::Reshape[allowzero=0](%2, %3)' (type 'Tensor') in the TorchScript graph. "
        "The containing node has kind 'onnx::Reshape'.]"
    )
    assert "onnx::Reshape" not in read_error(text).operators


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (CROSS, "cross-no-symbolic"),
        ("grid_sampler to ONNX opset version 11 is not supported", "grid-sampler-unsupported-opset-11"),
        (
            "Got unsupported: Exporting the operator 'aten::im2col' to ONNX opset version 9 is not supported",
            "unfold-images",
        ),
    ],
)
def test_an_error_of_a_case_finds_it(index, text, case):
    found = match_error(index, text).leads[0]
    assert (found.case, found.confidence) == (case, Confidence.EXACT)


@pytest.mark.parametrize("like", ["upsample_trilinear3d", "upsample_linear1d"])
def test_the_same_error_is_of_the_very_operator_and_of_one_that_is_alike_the_same_operator(index, like):
    text = "RuntimeError: ONNX export failed: Couldn't export operator aten::{}"
    of_it, of_like = (match_error(index, text.format(op)).leads for op in ("upsample_bilinear2d", like))

    assert Confidence.EXACT in {lead.confidence for lead in of_it}
    assert {Confidence.EXACT, Confidence.CAUSE}.isdisjoint(lead.confidence for lead in of_like)
    assert of_like[0].confidence is Confidence.OPERATOR


_TAKES = "Converting a tensor to a Python integer might cause the trace to be incorrect. We can't record the data flow"


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("FasterSCNN export\nit leads to an invalid average pool stride (=0)", "aten::average_pool"),
        ("my transformer: scaled dot product attention is a problem", "aten::scaled_dot_product_attention"),
        ("my instance normalisation is a problem", "aten::instance_normalization"),
        ("torch.nn.pixelshuffle does not support dynamic_axes", "aten::pixelshuffle"),
        ("SyncBatchNorm expected input tensor to be on GPU", "SyncBatchNorm"),
        ("Error merging shape info for output. '_fft_c2r_35' source:{1,33} target:{1,64}.", "aten::_fft_c2r"),
        (f"a.py:7: TracerWarning: {_TAKES}\n  x = torch.randint(0, n, (b,)).to(device)", "aten::randint"),
        ("operator aten::gird_sampler is not suported in opset 11", "aten::grid_sampler"),
        ("torch.bucketsize() is not there", "aten::bucketize"),
        ("Error in ONNX during export GLU with opset 18", "aten::glu"),
        ("unsupported output type: int, from operator: xformers::attention", "xformers::attention"),
        ("F A I L   :   I   h a v e   n o   R e s i z e   n o d e", "Resize"),
        ("Exporting the operator 'aten::fft_hfft' to ONNX opset version 15 is not supported", "aten::fft_hfft"),
        ("RuntimeError: Exportng the opertor aten::unfold to ONNX opset version 11 is not suported", "aten::unfold"),
        ("IndexError: key 7; I can't solve this problem", ""),
    ],
)
def test_an_operator_is_read_from_titles_prose_names_of_values_and_misspelt_words(index, text, operator):
    assert match_error(index, text).evidence.operator == operator


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("IndexError: _Map_base::at", "checkpoint-in-forward"),
        ("ERROR:root:invalid unordered_map<K, T> key", "checkpoint-in-forward"),
        ("ONNX opset version 9 is not supported", "opset-range-by-torch-version"),
        ("Unsupported model IR version: 10, max supported IR version: 9", "ir-version-10-too-new"),
        ("it says is_causal is receiving a Tensor instead of a bool", "sdpa-causal-by-traced-size"),
        ("opset 14 or 15? With opset 14 it ends with unsupported version", "opset-range-by-torch-version"),
        ("RuntimeError: ONNX export failed: Couldn't export python oprator MyFunction", "swish-autograd-function"),
    ],
)
def test_what_is_said_in_other_words_leads_to_the_case(index, text, case):
    assert match_error(index, text).leads[0].case == case


def test_of_several_warnings_the_one_that_few_cases_have_tells_the_most(index):
    rare = "torch.from_numpy results are registered as constants in the trace. You can safely ignore this warning"
    one = f"a.py:7: TracerWarning: {_TAKES}\n  n = int(x)\n"
    assert match_error(index, f"{one}a.py:9: TracerWarning: {rare}").leads[0].case == "concatenated-by-numpy"


def test_a_line_that_one_case_alone_has_is_the_same_error_without_an_operator_only_where_it_is_no_accident(index):
    text = "Only tuples, lists and Variables supported as JIT inputs, but got numpy.ndarray"
    found = match_error(index, f"RuntimeError: {text}").leads[0]
    assert (found.case, found.confidence) == ("numpy-as-output", Confidence.EXACT)
    common = match_error(index, "RuntimeError: Inferred shape and existing shape differ in rank: (3) vs (4)")
    assert common.leads[0].confidence is Confidence.SIMILAR


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("riva gives Unsupported model IR version: 10, max supported IR version: 9", "ir-version-10-too-new"),
        ("ONNX: export failure 0.0s: Unsupported ONNX opset version: 17", "opset-range-by-torch-version"),
    ],
)
def test_of_an_error_that_many_cases_meet_the_one_whose_claims_name_it_leads(index, text, case):
    assert match_error(index, text).leads[0].case == case


def test_of_an_error_that_a_failing_form_and_its_fix_have_the_failing_form_leads(index):
    by_case = {}
    for item in index.known:
        for place in item.seen.places:
            by_case.setdefault((item.seen.text, place.case), set()).add(place.variant)
    both = [(text, case) for (text, case), variants in by_case.items() if "plain" in variants and len(variants) > 1]
    assert both
    for text, case in both[::40]:
        mine = [lead for lead in match_error(index, text).leads if lead.case == case]
        assert [lead.variant for lead in mine] in ([], ["plain"])


def test_an_error_that_only_a_fix_has_is_never_the_same_error(index):
    text = "RuntimeError: ONNX export failed: Couldn't export operator aten::unbind"
    sure = {lead.case: lead.variant for lead in match_error(index, text).leads if lead.confidence is Confidence.EXACT}
    assert set(sure.values()) == {"plain"}


def test_an_error_that_only_a_fix_has_says_nothing_of_the_cause_without_an_operator(index):
    text = (
        "GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(4*u1, 0) "
        "(unhinted: Eq(4*u1, 0)).  (Size-like symbols: u1)"
    )
    assert {lead.confidence for lead in match_error(index, text).leads} == {Confidence.SIMILAR}


def test_an_error_that_only_fixes_have_says_nothing_of_the_cause_where_its_operator_is_not_named(index):
    text = "onnx.onnx_cpp2py_export.checker.ValidationError: Mismatched attribute type in ' : value'"
    found = match_error(index, text).leads
    assert found
    assert {lead.confidence for lead in found} <= {Confidence.OPERATOR, Confidence.SIMILAR}


@pytest.mark.parametrize("called", ["forward()", "Net.forward()", "a.b.Net.forward()"])
@pytest.mark.parametrize(
    "lacks", ["1 required positional argument: 'y'", "2 required positional arguments: 'y' and 'z'"]
)
def test_of_a_call_that_lacks_arguments_neither_whose_method_it_is_nor_which_they_are_counts(index, called, lacks):
    leads = match_error(index, f"TypeError: {called} missing {lacks}").leads
    assert {lead.case for lead in leads[:2]} == {"dict-as-last-input", "multi-input-tuple"}


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("dynamo_export fails when torch.nn.functional.interpolate is used", ("aten::interpolate",)),
        ("export fails due to unbind / dynamic-shape ops", ("aten::unbind",)),
        ("torch.outer gives a crash", ("aten::outer",)),
        ("and it fails to copy all or one", ()),
        ("torch.onnx.export of my model is slow", ()),
    ],
)
def test_where_nothing_else_is_known_the_words_of_a_text_name_its_operators(index, text, operators):
    assert match_error(index, text).evidence.operators == operators


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("RuntimeError: cdist only supports at least 2D tensors, X1 got: 1D", "aten::_cdist_forward"),
        (
            "SymbolicValueError: Unsupported: ONNX export of  __contains__ for\nnon-constant list or element.",
            "contains",
        ),
        ("ValueError: linalg.solve: Expected A and B to have the same dtype, but found A of type x", "linalg_solve"),
        ("RuntimeError: nothing that torch says of one operator alone", ""),
    ],
)
def test_a_sentence_that_torch_says_of_one_operator_names_it(index, text, operator):
    assert operator_key(operator).strip("_") in [operator_key(match_error(index, text).evidence.operator).strip("_")]


def test_every_sentence_that_torch_says_of_one_operator_is_found_in_a_text_that_has_it(index):
    parts = [(part, ops) for part, ops in read_parts() if " " in part]
    assert len(parts) > 500
    for part, ops in parts:
        assert (part, ops) in find_parts(index.sentences, normal(f"ValueError: of{part}\nand more"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "RuntimeError: Unsupported: ONNX export of operator adaptive pooling, since output_size is 3.",
            "adaptive-avg-pool",
        ),
        ("[TRT] ERROR: in node Gather_12: INVALID", "gather"),
        ("ERROR during processing node with 2 inputs and 1 outputs: [Conv]:(onnx_node!a)", "conv"),
    ],
)
def test_of_cases_that_share_an_operator_alone_one_that_is_named_after_it_leads(index, text, named):
    lead = match_error(index, text).leads[0]
    assert (lead.confidence, named in lead.case) == (Confidence.OPERATOR, True)


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("These ops are not supported: roll, im2col", ("aten::roll", "aten::im2col")),
        (
            "2 operators are not yet supported\n - roll\n - im2col (3)\nThe program ends here.",
            ("aten::roll", "aten::im2col"),
        ),
        ("Unsupported operators in the graph:\n['aten::roll', 'aten::im2col']", ("aten::roll", "aten::im2col")),
        ("3 ops are not supported: please see the documentation", ()),
        ("All nodes are not connected: backbone", ()),
        ("ERROR: Attribute not found: nearest_mode", ("Resize",)),
        ('Assertion failed: attrs.get("center_point_box") == 0', ("NonMaxSuppression",)),
        ("ERROR: Attribute not found: axis", ()),
    ],
)
def test_a_list_of_what_is_not_supported_and_an_attribute_of_one_operator_name_operators(index, text, operators):
    assert match_error(index, text).evidence.operators == operators


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('Cannot infer shapes for node "12/StridedSlice".', "slice"),
        ("layer type InnerProduct not supported", "linear"),
        ("error: failed to legalize operation 'tfl.resize_bilinear'", "upsample-bilinear"),
    ],
)
def test_the_name_that_another_program_has_for_an_operator_leads_to_its_cases(index, text, named):
    assert named in match_error(index, text).leads[0].case


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("torch 2.1 doesn't support opset 20", "opset-range-by-torch-version"),
        ("unsupported opset_version=19", "opset-range-by-torch-version"),
        ("export torch.vmap onnx", "mask-by-vmap"),
    ],
)
def test_a_title_as_users_type_it_leads_to_the_case(index, text, case):
    assert match_error(index, text).leads[0].case == case


def test_of_a_text_that_only_warns_the_warning_leads(index):
    text = "TracerWarning: Converting a tensor to a Python number might cause the trace to be incorrect. " + LATER
    told = match_error(index, f"{text}\nUserWarning: __floordiv__ is deprecated").leads[0].text
    assert "to a Python number" in told


def test_what_older_releases_say_of_an_attribute_written_in_forward_finds_its_case(index):
    text = "AssertionError: Mutating module attribute cache_k during export."
    assert match_error(index, text).leads[0].case == "plain-tensor-attribute-mutated"


def test_what_the_line_shown_calls_finds_cases_that_end_with_the_exception(index):
    text = (
        "GuardOnDataDependentSymNode: Could not extract specialized integer from data-dependent expression u0\n\n"
        "The following call raised this error:\n  File 'a.py', line 3, in forward\n    return x[:length]"
    )
    assert "slice-by-item" in {lead.case for lead in match_error(index, text).leads}


@pytest.mark.parametrize("symbol", ["u0", "u1", "u12"])
def test_the_number_of_a_symbol_says_nothing(index, symbol):
    text = f"Could not guard on data-dependent expression Eq({symbol}, 0) (unhinted: Eq({symbol}, 0))."
    assert match_error(index, text).leads[0].case == "branch-on-value"


def test_that_an_export_failed_at_a_step_is_no_lead(index):
    text = "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model."
    cases = [lead.case for lead in match_error(index, f"{text}\ncaused by AssertionError: no such thing as this").leads]
    assert "default-with-dynamic-axes-that-code-fixes" not in cases


#: what exporters print around an error
AROUND = {
    "steps": (
        "torch.onnx._internal.exporter._errors.ConversionError: Failed to convert the exported program to an ONNX "
        "model. This is step 3/3 of exporting the model to ONNX. Next steps:\n- If there is a missing ONNX function, "
        "implement it and register it to the registry.\n- If there is an internal error during ONNX conversion, debug "
        "the error and submit a PR to PyTorch.\ncaused by "
    ),
    "a report": (
        "torch.onnx.OnnxExporterError: Failed to export the model to ONNX. Generating SARIF report at "
        "'report_dynamo_export.sarif'. SARIF is a standard format for the output of static analysis tools. SARIF logs "
        "can be loaded in VS Code SARIF viewer extension, or SARIF web viewer. Please report a bug on PyTorch Github: "
        "https://github.com/pytorch/pytorch/issues\nThe above exception was the direct cause of the following "
        "exception:\n"
    ),
    "frames": (
        'Traceback (most recent call last):\n  File "/a/torch/onnx/utils.py", line 1636, in _export\n'
        "    graph, params_dict, torch_out = _model_to_graph(\n"
        '  File "/a/torch/nn/modules/rnn.py", line 812, in forward\n    result = _VF.lstm(input, hx)\n'
    ),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_an_exporter_prints_around_an_error_changes_no_lead(index, around):
    said = (
        "DispatchError: No ONNX function found for <OpOverload(op='aten.adaptive_max_pool2d', overload='default')>. "
        "Failure message: No decompositions registered for the real-valued input"
    )
    alone, found = match_error(index, said), match_error(index, f"{AROUND[around]}{said}")
    assert [(lead.case, lead.why) for lead in found.leads[:3]] == [(lead.case, lead.why) for lead in alone.leads[:3]]
    assert found.leads[0].case == "adaptive-max-pool-stride-kernel-formula"
    sure = (Confidence.EXACT, Confidence.CAUSE)
    assert not [lead.case for lead in match_error(index, AROUND[around]).leads if lead.confidence in sure]


def test_what_calls_a_rule_is_no_cause(index):
    text = (
        "## Exception summary\n\n<class 'TypeError'>: float() argument must be a string, not 'SymbolicTensor'\n"
        "\u2b06\ufe0f\n"
        "<class 'torch.onnx._internal.exporter._errors.GraphConstructionError'>: Error when calling function "
        "'TracedOnnxFunction(<function aten_remainder_scalar at 0x1>)' with args '[]' and kwargs '{}'\n"
        "caused by GraphConstructionError: Error calling operator 'Mod' with args ()\n"
    )
    evidence = read_error(text)
    assert [reason.kind for reason in evidence.reasons] == ["TypeError"]
    assert evidence.operator == "aten::remainder"


def test_an_error_leads_to_no_case_of_another_operator(index):
    text = "No ONNX function found for <OpOverload(op='aten.unfold', overload='default')>"
    found = match_error(index, text)
    assert found.leads
    assert all("aten::unfold" in lead.entry.ops for lead in found.leads)
    assert (
        match_error(index, "Exporting the operator 'aten::glu' to ONNX opset version 17 is not supported").leads == ()
    )


@pytest.mark.parametrize("name", ["GuardOnDataDependentSymNode", "UnsupportedOperatorError", "ShapeInferenceError"])
def test_the_name_of_an_error_alone_says_how_many_cases_ended_with_it(published, name):
    found = caniexport.explain_error(published, name)
    assert f"ended with {name}: paste the words behind it" in found.decision
    assert found.leads


def test_an_error_is_answered_at_the_users_release(published):
    seen = caniexport.explain_error(published, CROSS)
    assert "At torch 1.11.0, trace, opset 11 the fix `stack_rewrite` is measured to work" in seen.decision
    assert seen.leads[0].at.helping[0].code.startswith("def ")
    newer = caniexport.explain_error(published, CROSS, torch="2.8", opset="18")
    assert "At torch 2.8.0, trace, opset 18 it works without a fix; an error from there has another" in newer.decision
    older = caniexport.explain_error(published, CROSS, torch="1.10")
    assert "At torch 1.10.2, trace, opset 11 the fix `stack_rewrite` is measured to work" in older.decision


def test_a_case_that_works_is_no_all_clear_where_the_operator_of_the_error_does_not(published):
    text = (
        "torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::unflatten' to ONNX opset version 17 "
        "is not supported."
    )

    said = caniexport.explain_error(published, text, torch="1.13.1").decision

    assert "the operator by itself does not. On torch 1.13.1 no exporter exports torch's own calls of unflatten" in said
    assert "it does since torch 2.1.2" in said
    assert "works without a fix" not in said
    assert "by itself" not in caniexport.explain_error(published, text, torch="2.8").decision


def test_a_release_that_was_not_measured_is_told_in_the_first_line(published):
    assert (
        "Torch 2.9.9 was not measured; 2.9.1 is answered."
        in caniexport.explain_error(published, CROSS, torch="2.9.9").decision
    )


def test_a_fix_with_other_values_stands_behind_and_says_so(published):
    text = "Unsupported: ONNX export of operator adaptive_avg_pool2d, output size that are not factor of input size."
    answer = caniexport.explain_error(published, text, torch="2.9", exporter="trace")
    helping = answer.leads[0].at.helping
    assert [fix.changes_values for fix in helping] == sorted(fix.changes_values for fix in helping)
    assert not helping[0].changes_values
    assert all(
        "computes other values than the original (off by up to " in fix.told for fix in helping if fix.changes_values
    )
    assert "`matrix_product` is measured to work" in answer.decision


def test_where_every_fix_computes_other_values_the_answer_says_so(published):
    text = "Exporting the operator 'aten::_upsample_bilinear2d_aa' to ONNX opset version 17 is not supported."
    said = caniexport.explain_error(published, text, torch="2.9", exporter="trace").decision
    assert "every fix that is measured to work there computes other values: `without_antialias`" in said
    assert "computes other values than the original (off by up to 2.3)" in said


def test_at_an_opset_where_nothing_was_measured_no_workaround_is_said_to_be_unneeded():
    ask = ["workaround", "cross-no-symbolic", "--torch", "2.8", "--opset"]
    refused, nowhere = (CliRunner().invoke(main, [*ask, opset]) for opset in ("28", "30"))
    assert refused.output.startswith("At torch 2.8.0, opset 28: nothing was measured there: cross-no-symbolic.")
    assert (nowhere.exit_code, "opset 30 has not been measured" in nowhere.output) == (2, True)


def test_of_cases_with_one_error_that_leads_which_has_it_at_the_users_release(published):
    text = (
        "DispatchError: No ONNX function found for <OpOverload(op='prims.prod', overload='default')>. "
        "Failure message: No decompositions registered for the real-valued input"
    )
    point = {"torch": "2.15.0", "exporter": "dynamo", "opset": "18"}
    answer = caniexport.explain_error(published, text, **point)
    assert answer.leads[0].at.entry.case == "cumprod-no-rule"
    assert not answer.leads[0].at.works


def test_an_error_of_an_exporter_is_answered_with_that_exporter_where_another_is_the_default(published):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not"
    found = caniexport.explain_error(published, text, torch="2.9")
    assert (found.leads[0].at.exporter, found.leads[0].at.opset) == ("torchscript-trace", 15)
    assert "At torch 2.9.1, trace, opset 15 the fix" in found.decision


def test_an_operator_that_was_never_called_is_told_from_torchs_own_table(published):
    found = caniexport.explain_error(
        published, "Exporting the operator 'aten::_dim_arange' to ONNX opset version 17 is not supported"
    )
    assert "none is about aten::_dim_arange" in found.decision
    assert "has a rule for opset" in found.decision


def test_an_operator_that_no_case_is_about_is_answered_by_torchs_own_calls_of_it(published):
    text = "Exporting the operator 'aten::maximum' to ONNX opset version {} is not supported"
    older = caniexport.explain_error(published, text.format(11), torch="1.10")
    assert older.operator.op == "maximum"
    assert (
        "On torch 1.10.2 no exporter exports torch's own calls of maximum (float32): TorchScript does not"
        in older.decision
    )
    assert "(it does since torch 1.12.1)" in older.decision
    assert "cause beside" not in older.decision
    newer = caniexport.explain_error(published, text.format(14), torch="2.9")
    assert (
        "are exported by `dynamo=True` at every opset tried (18, 20, 26; since torch 2.1.2) and TorchScript"
        in newer.decision
    )
    assert newer.decision.endswith("The error has a cause beside the operator.")
    lower = caniexport.explain_error(published, text.format(7), torch="2.9")
    assert "cause beside" not in lower.decision


def test_an_error_that_a_measurement_contradicts_is_told_with_the_packages_it_was_measured_with_and_a_step(published):
    text = "No ONNX function found for <OpOverload(op='aten.{}', overload='default')>"
    packages = "onnxscript 0.7.2, onnx-ir 1.1.0, onnx 1.23.2, onnxruntime 1.31.1"
    step = f"That was measured with {packages}: where yours are older, `pip install -U onnxscript` and export again;"
    works = caniexport.explain_error(published, text.format("fft_rfft2"), torch="2.9")
    assert "are exported by `dynamo=True` at every opset tried (18, 20, 26" in works.decision
    assert step in works.decision
    assert search(published, f"{text.format('fft_rfft2')} torch 2.9").error
    fails = caniexport.explain_error(published, text.format("cumprod"), torch="2.9")
    assert "That was measured with" not in fails.decision
    nowhere = caniexport.explain_error(published, text.format("fft_rfft2"))
    assert "That was measured with" not in nowhere.decision


def test_a_case_that_gives_wrong_values_at_the_point_is_said_to_fail_with_no_error(published):
    text = "TypeError: Unsupported attribute type: '<class 'list'>' while translating aten.roll.default"
    found = caniexport.explain_error(published, f"ConversionError: {text}", torch="2.9.1")
    assert (
        "At torch 2.9.1, dynamo, opset 20 it gives wrong values without an error, where `two_slices`" in found.decision
    )
    assert "another error" not in found.decision


@pytest.mark.parametrize("name", ["fft_rfft2", "fft_irfft2", "fft_fft2"])
def test_a_transform_over_two_axes_is_another_operator_than_that_over_one(published, name):
    text = f"Exporting the operator 'aten::{name}' to ONNX opset version 17 is not supported"
    found = caniexport.explain_error(published, text, torch="2.1", opset="17")
    assert found.decision.startswith(f"No measured case fails like this, and none is about aten::{name}. On torch 2.1")
    assert f"torch's own calls of fft.{name.removeprefix('fft_')} (float32)" in found.decision
    assert not found.leads


def test_where_a_case_fails_and_torchs_own_calls_pass_it_is_told_what_these_are_given(published):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::unfold' to ONNX opset version 11 is not supported."
    found = caniexport.explain_error(published, text, torch="2.4.1")
    assert "It fails at torch 2.4.1, trace, opset 11, too; its fix `gathered` works there" in found.decision
    assert (
        "TorchScript at every opset tried (8, 11, 14, 17, 20; since torch 1.9.1). These calls are of" in found.decision
    )
    assert found.decision.endswith(
        "fixed sizes: f32[5, 5, 5, 5], 0, 3, 1; f32[10], 0, 3, 1; f32[5, 5, 5, 5], 1, 3, 1. With a dynamic first axis "
        "`torch.onnx.dynamo_export` exports none of them at opset 18; TorchScript exports none of them at opset 20."
    )


def test_torchs_tables_say_nothing_of_an_operator_of_another_package(published):
    found = caniexport.explain_error(published, "RuntimeError: Unknown builtin op: torchvision::nms")
    assert "none is about torchvision::nms: nothing is known of a fix." in found.decision
    assert not found.tables


def test_the_page_of_the_operator_is_told_beside_an_error_that_no_case_has(published):
    text = "RuntimeError: Exporting the operator 'aten::glu' to ONNX opset version 17 is not supported"
    found = search(published, text)
    assert (found.error, found.hits, found.ops) == (True, (), ("aten::glu",))


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (
            "cv2.error: OpenCV(4.5.5) graph_simplifier.cpp:76: error: (-212:Parsing error) Input node with name 1",
            "OpenCV",
        ),
        ("In node -1 (convertAxis): UNSUPPORTED_NODE: Assertion failed: axis >= 0 && axis < nbDims", "TensorRT"),
        ("RuntimeError: PyTorch convert function for op 'numel' not implemented.", "Core ML"),
    ],
)
def test_an_error_of_another_program_is_said_to_be_its(published, text, tool):
    found = caniexport.explain_error(published, text)
    assert (found.tool, found.decision.startswith(f"{tool} gave this error. No measured case")) == (tool, True)
    assert caniexport.explain_error(published, CROSS).tool == ""


SDPA = "Exporting the operator 'aten::scaled_dot_product_attention' to ONNX opset version 11 is not supported"
GRID = "Exporting the operator 'aten::grid_sampler' to ONNX opset version 13 is not supported"
UNFLATTEN = (
    "UnsupportedOperatorError: Exporting the operator 'aten::unflatten' to ONNX opset version 17 is not supported"
)
SYM_SIZE = (
    "DispatchError: No ONNX function found for <OpOverload(op='aten.sym_size', overload='int')>. "
    "Failure message: No decompositions registered for the real-valued input"
)


def test_an_error_that_several_cases_have_is_not_said_to_be_one_of_them(published):
    of_few, of_many = (caniexport.explain_error(published, text) for text in (SDPA, SYM_SIZE))

    assert re.match(r"\d+ measured cases end with this error, the first is sdpa-", of_few.decision)
    assert of_many.alike > 100
    said = f"{of_many.alike} measured cases fail for this cause, which alone does not tell them apart; the first is"
    assert of_many.decision.startswith(said)


def test_a_fix_that_keeps_the_opset_a_user_named_comes_first(published):
    named = caniexport.explain_error(published, GRID, torch="2.8", opset=13)
    open_ = caniexport.explain_error(published, GRID, torch="2.8")

    assert "the fix `gather_rewrite` is measured to work" in named.decision
    assert "the fix `opset_16` is measured to work" in open_.decision


def test_an_error_is_placed_at_the_newest_release_that_has_it_at_the_opset_it_names(published):
    found = caniexport.explain_error(published, UNFLATTEN)

    assert "At torch 2.0.1, trace, opset 17" in found.decision
    assert found.decision.endswith("From torch 2.1.2 on this call works without a fix.")


def test_words_that_cases_end_with_are_never_said_to_be_unknown(published):
    rows = published.messages(["c7d36f0ce267f5e4"])
    found = caniexport.explain_error(published, rows["c7d36f0ce267f5e4"], torch="2.14", exporter="dynamo", opset=19)

    assert found.leads[0].at.entry.case in found.ending
    assert "end with these words, which several causes can have" in found.decision


UNFOLD = "SymbolicValueError: Unsupported: ONNX export of operator Unfold, input size not accessible."


def test_a_rule_that_the_exporter_calls_as_an_operator_of_onnx_is_torchs(published):
    said = caniexport.explain_error(published, UNFOLD, torch="2.4.1").decision

    assert said.startswith("This is tensor-unfold-dynamic (")
    assert "At torch 2.4.1, trace, opset 17 the fix `gathered` is measured to work" in said


BOUND = (
    "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Type Error: Type parameter (T) of Optype "
    "(Where) bound to different types (tensor({}) and tensor({}) in node (/encoder/Where_3)."
)
SIZES = "InvalidArgument: Got invalid dimensions for input: x for the following indices index: 0 Got: 4 Expected: 2"


def test_the_name_of_a_node_hides_no_measured_error(published):
    said = caniexport.explain_error(published, BOUND.format("int64", "float")).decision

    assert "No measured case" not in said
    assert re.search(r"where-int-and-float .* It fails at torch 2.2.2, trace, opset 19, too; its fix `one_type`", said)


def test_a_case_that_works_at_the_point_is_not_what_fails_there(published):
    text = BOUND.format("float", "double")

    assert caniexport.explain_error(published, text).decision.startswith("This is where-python-scalar (")
    said = caniexport.explain_error(published, text, torch="2.13").decision
    assert re.match(r"where-python-scalar \(.*\) had this error, and has it no more\. At torch 2\.13\.0", said)


def test_an_error_of_many_cases_is_looked_at_where_it_was_seen_last(published):
    said = caniexport.explain_error(published, SIZES).decision

    assert re.match(r"\d+ measured cases end with these words, which several causes can have", said)
    assert "It fails at torch 2.15.0, trace, opset 23, too; its fix `axis_0` works there" in said


def test_an_opset_that_an_error_tells_to_try_is_not_the_one_that_was_asked_for(published):
    text = "SymbolicValueError: Unsupported: ONNX export of index_put in opset 9. Please try opset version 11."
    said = caniexport.explain_error(published, text).decision

    assert "with another error" not in said
    assert re.search(r"At torch [\d.]+, trace, opset 10 the fix `opset_11` is measured to work", said)


def test_a_sentence_that_stands_before_many_causes_is_none_of_them(published):
    said = "[ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from m.onnx failed:This is an invalid model. "
    refused = (
        "Type Error: Type 'tensor(int64)' of input parameter (x) of operator (CumSum) in node (/CumSum) is invalid."
    )
    twice = caniexport.explain_error(published, f"Fail: {said}Error: Duplicate definition of name (x).").decision

    assert caniexport.explain_error(published, f"InvalidGraph: {said}{refused}").decision.startswith(
        "No measured case has just this error; the nearest about CumSum is cumsum-"
    )
    assert re.match(r"\d measured cases end with these words", twice)
    assert "input-handed-through" in twice


def _places_of_a_few(index):
    """Of every sixtieth error that at most three cases have: its text and the newest place of a failing form."""
    lines = {}
    for item in index.known:
        places = [place for place in item.seen.places if place.variant == "plain" and place.exporter in ANY_EXPORTER]
        if places and len(item.seen.cases) <= 3:
            lines.setdefault((item.told.lines, item.seen.cases), (item, places[0]))
    return list(lines.values())[::60]


def test_no_measured_error_is_unknown_or_has_another_cause_where_it_was_measured(published, index):
    false = []
    for item, place in _places_of_a_few(index):
        point = {"torch": place.torch, "exporter": place.exporter, "opset": place.opset}
        answer = caniexport.explain_error(published, item.seen.text, **point)
        leads = bool(answer.leads) and answer.leads[0].at.entry.case in item.seen.cases
        unknown = "No measured case has just this error" in answer.decision
        if unknown or (leads and not place.runtime and "another cause" in answer.decision):
            false.append((item.told.lines, point, answer.decision))
    assert not false


def test_why_takes_an_error_and_standard_input():
    said = CliRunner().invoke(main, ["why", CROSS]).stdout
    piped = CliRunner().invoke(main, ["why", "-"], input=f"Traceback (most recent call last):\n{CROSS}\n").stdout
    assert re.match(r"\d measured cases end with this error, the first is cross-no-symbolic\s+\(", said)
    assert piped.split("\n")[0] == said.split("\n")[0]
    told = json.loads(CliRunner().invoke(main, ["why", CROSS, "--torch", "2.8", "--json"]).stdout)
    assert told["leads"][0]["at"]["status"] == "pass"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--torch", "2.8", "--torch", "2.9"], "an error text is answered at one torch: 2.8, 2.9 are several"),
        (["--status", "pass"], "--status says nothing about an error text"),
        (["--torch", "99"], "99"),
    ],
)
def test_why_refuses_what_says_nothing_about_an_error(asked, said):
    reply = CliRunner().invoke(main, ["why", CROSS, *asked])
    assert (reply.exit_code, said in reply.stderr) == (2, True)


def test_that_a_case_of_the_same_operator_works_is_no_word_about_the_error(published):
    text = "Type Error: Type parameter (T) of Optype (Where) bound to different types (tensor(float) and tensor(double)"
    found = caniexport.explain_error(published, text, torch="2.9", exporter="dynamo", opset="20")
    assert "so it does not explain this error" in found.decision
    assert "without a fix" not in found.decision
    assert found.reason.startswith("Type Error: Type parameter")


@pytest.mark.parametrize(("torch", "exporter", "opset"), [("2.15.0", "dynamo", 18), ("2.15.0", "dynamo", 23)])
def test_a_model_with_attention_of_three_axes_is_never_said_to_be_clear_where_dynamo_refuses_it(
    published, torch, exporter, opset
):
    rows = load(published)
    statuses, places = Statuses(select(rows, Filters())), Places(rows)
    source = places.fill({"torch": "2.15.0", "exporter": "torchscript-trace", "opset": "18"})
    graph = known_graphs(rows, source.torch, source.exporter)["sdpa-three-dims", "plain"]
    target = places.fill({"torch": torch, "exporter": exporter, "opset": str(opset)})
    assert TouchJudge(rows, graph, source, statuses.at).at(target).word is TouchWord.FAILS


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        # a runtime's log, with a warning that names another operator before the exception
        (
            "2022-12-24 14:55:54.5183 [W:onnxruntime:, constant_folding.cc:157 ApplyImpl] Can't constant fold "
            "SequenceEmpty node 'SequenceEmpty_2506'\nterminate called after throwing an instance of 'Ort::Exception'\n"
            "  what():  Got invalid dimensions for input: speech for the following indices\n index: 2 Got: 1",
            ("dynamic-axes-size-20-input", "fully-conv-dynamic-hw"),
        ),
        # an older release's words
        ("The following dimensions have been specialized and CANNOT be dynamic", ("dim-",)),
        # a paste that begins behind the exception
        (
            "The following call raised this error:\n  File 'transforms.py', line 176, in spline\n"
            "    assert (discriminant >= 0).all(), discriminant",
            ("branch-on-value", "guard-on-item"),
        ),
    ],
)
def test_an_error_without_an_operator_is_led_by_its_stage_and_cause(index, text, leads):
    assert match_error(index, text).leads[0].case.startswith(leads)


@pytest.mark.parametrize(
    "text",
    [
        "[Caused by the value '12 defined in (%12 : Long(1) = onnx::Gather[axis=0](%9, %10))' (type 'Tensor') "
        "in the TorchScript graph. The containing node has kind 'onnx::Gather'.]",
        "[Caused by the value '9 defined in (%9 : Float(1, 64) = onnx::Gemm(%98, %w, %b)",
        "[W1124 10:00:00.123456 graph.cpp:12] [Caused by the value '12 defined in (%12 : Tensor = onnx::Reshape(%1)",
    ],
)
def test_a_dump_alone_is_no_lead_and_the_line_with_the_error_is_asked_for(text):
    reply = CliRunner().invoke(main, ["why", text])
    assert reply.exit_code == 0
    assert reply.stdout.startswith("Nothing in this text says what failed: paste the line with the error too")
    assert "fix" not in reply.stdout


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: cannot reshape array of size 184320 into shape (1,2,721,1439)",
        "IndexError: only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
        "arrays are valid indices",
    ],
)
def test_what_numpy_tells_any_program_is_called_the_same_error_as_nothing(index, text):
    found = match_error(index, text)

    assert found.leads
    assert Confidence.EXACT not in {lead.confidence for lead in found.leads}


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("noise.normal_() in stylegan2 can't be supported in ONNX", "aten::normal"),
        ("torch.fft.rfftn, torch.fft.irfftn are not supported", "aten::fft_rfftn"),
        ("col2im: If Trt does not have col2im support then I think I won't need it", "Col2Im"),
        ("if not (self.training and torch.rand(1).item() <= self.layer_drop):", "aten::rand"),
        ("Unknown call_function target: <function sym_not at 0x7f97e189a830>", "sym_not"),
        ("ROIs in ROIAlign cannot have non-negative size, csrc/pytorch/cpu/roi_align.cpp", "torchvision::roi_align"),
        ("OnnxRuntimeException: bound to different types in node (lstm_3).", "LSTM"),
        ("TransposeDQWeights Missing required scale: wte.weight_transposed_DequantizeLinear", "DequantizeLinear"),
        ("Error merging shape info for output. '/trunk/Concat_3_output_0' source:{4} target:{5}.", "Concat"),
        ("Try match Slice_Slice_704:out0 failed, catch exception!", "Slice"),
        ("MNN Converter NOT_SUPPORTED_OP: [ Clip ]", "Clip"),
        ("[ ERROR ]  List of operations\n[ ERROR ]      Upsample (1)\n[ ERROR ]          2", "Upsample"),
        ("adapt_upsample_9_8: Assertion `false` failed: unavailable input: scale", "Upsample"),
        ("tensort7 load onnx resize ops error", "Resize"),
        ("FusedLeakyReLUFunction is not proper for an export", "prim::PythonOp"),
        ("No Adapter For Current Version $9 for MaxPool", "MaxPool"),
        ("RuntimeError: shape '[1, 124]' is invalid for input of size 15872", "aten::view"),
        ("Failed to find reference implementation for `Add_1079` Layer with `MVN` Type", "MVN"),
        ("OnnxImportException: error while parsing layer onnx::Transpose_170 of type LSTM.", "LSTM"),
    ],
)
def test_where_no_sentence_names_an_operator_its_code_its_files_and_its_nodes_do(index, text, operator):
    assert operator_key(match_error(index, text).evidence.operator) == operator_key(operator)


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("the importer has three unknown types: **Range**, **Split** and **Where**", ("Range", "Split", "Where")),
        ("Requesting an ONNX equivalent to torch_cluster::knn", ("torch_cluster::knn",)),
        ("when converting it fails at\n out, x = selective_scan_cuda.fwd(u, delta)", ("selective_scan_cuda.fwd",)),
        ("it stops at _C.natten2dav_forward(attn, value, dilation)", ("natten2dav_forward",)),
        ("カスタムオペレータFurthestPointSamplingを利用している", ("FurthestPointSampling",)),
        ("KeyError: 'No translation registered for op type onnx_einsum.'", ("aten::einsum",)),
        (
            "WARNING: The shape inference of mmdeploy::TRTBatchedNMS type is missing, so it may result in wrong shape",
            ("mmdeploy::TRTBatchedNMS",),
        ),
        (
            "Failed to export cumsum with half floats\n\nRuntimeException: invalid value index: -1 against size 5",
            ("aten::cumsum",),
        ),
    ],
)
def test_what_a_text_only_names_is_told_as_an_operator_too(index, text, operators):
    evidence = match_error(index, text).evidence
    told = {operator_key(op) for op in (*evidence.operators, *evidence.beside)}
    assert told >= {operator_key(op) for op in operators}


def test_the_best_case_of_an_operator_that_is_only_named_stands_behind_the_first_two(index):
    warned = (
        "TracerWarning: Converting a tensor to a Python integer might cause the trace to be incorrect. We can't record "
        "the data flow of Python values, so this value will be treated as a constant in the future.\n"
        "  h = self.adaptive_avg_pool2d(x, np.array([height, width]))"
    )
    found = match_error(index, warned)
    assert [lead.confidence for lead in found.leads[:2]] == [Confidence.SIMILAR] * 2
    assert found.leads[2].case.startswith("adaptive-avg-pool")
    assert found.leads[2].why == "it names aten::adaptive_avg_pool2d"


def test_where_an_exception_names_its_operator_no_other_is_told_beside_it(index):
    said = "UnsupportedOperatorError: Exporting the operator 'aten::trace' to ONNX opset version 17 is not supported."
    found = match_error(index, f"einsum fails\n\n{said}")
    assert found.evidence.operators[0] == "aten::trace"
    assert found.evidence.beside == ()
    assert Confidence.WORDS not in {lead.confidence for lead in found.leads}


def test_a_case_of_an_operator_that_is_only_named_is_said_to_be_no_more(published):
    said = "RuntimeException: allocation_planner.cc:230 n >= 0 was false. invalid value index: -1 against size 5"
    decision = explain_error(published, f"Failed to export cumsum with half floats\n\n{said}", {}).decision
    assert decision.startswith("No measured case fails like this; it names aten::cumsum, which cumsum-")


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: Encountering a dict at the output of the tracer might cause the trace to be incorrect",
        "tracing fails because the forward for detection models results in a list of dictionaries.",
    ],
)
def test_a_dictionary_that_a_model_returns_leads_to_the_case_about_it(index, text):
    assert "dict-as-output" in [lead.case for lead in match_error(index, text).leads[:3]]


@pytest.mark.parametrize(
    "text",
    [
        "Cannot view a tensor with shape torch.Size([1, 4096, 8, 32]) and strides (1048576, 32, 131072, 1)",
        "Constraints violated (batch)!\nNot all values of batch = L['x'].size()[0] are valid, inferred to be 3.",
        "SymbolicValueError: Rank must be 0 or 1, not None (type 'Tensor') in the TorchScript graph.",
    ],
)
def test_a_size_or_a_tensor_is_no_operator(index, text):
    assert {operator_key(op) for op in match_error(index, text).evidence.operators}.isdisjoint({"size", "tensor"})


@pytest.mark.parametrize("number", [9, 10, 11])
def test_the_number_of_a_format_that_is_too_new_tells_the_case(index, number):
    for text in (
        f"unsupported model IR version {number}",
        f"Unsupported model IR version: {number}, max supported IR version: {number - 1}",
    ):
        assert match_error(index, text).leads[0].case == f"ir-version-{number}-too-new"


def test_of_an_attribute_that_is_not_constant_the_node_that_made_it_is_not_what_fails(index):
    said = "Failed to export an ONNX attribute 'onnx::{}', since it's not constant, please try to make things"
    cases = {op: [lead.case for lead in match_error(index, said.format(op)).leads[:3]] for op in ("Div", "Gather")}
    assert cases["Gather"][0] == "max-pool-of-input-size"
    assert "max-pool-of-input-size" in cases["Div"]
    assert match_error(index, said.format("Div")).evidence.operators == ()


def test_what_the_checker_says_of_a_file_that_fails_is_searched(index):
    text = "ValidationError: Graph must be in single static assignment (SSA) form, however '24' has been used as output"
    cases = {lead.case for lead in match_error(index, f"onnx.checker.{text} names multiple times.").leads}

    assert {"input-as-only-output", "input-handed-through", "output-named-as-an-operator"} <= cases


@pytest.mark.parametrize("blob", ["a_" * 20_000, "\n" * 30_000, " " * 40_000, "A" * 40_000, "/x" * 20_000])
def test_bytes_and_gaps_in_a_text_change_nothing(index, blob):
    said = "RuntimeError: Exporting the operator aten::cross to ONNX opset version 11 is not supported."
    found = match_error(index, f"{blob}\n{said}")

    assert found.evidence.operator == "aten::cross"
    assert found.leads[0].case == match_error(index, said).leads[0].case


@pytest.mark.parametrize(
    ("said", "measured"),
    [
        ("attempting to mutate attribute corr_pyramid", "is mutated in the forward method"),
        ("index: 2 Got: 96 Expected: 256", "Got invalid dimensions for input"),
        ('File "sym_node.py", line 536, in guard_bool', "Could not guard on data-dependent expression"),
    ],
)
def test_what_is_said_in_other_words_is_read_as_what_is_measured(said, measured):
    assert any(measured in reason.line for reason in read_error(said).reasons)


TRILU = "[ErrorCode:NotImplemented] Could not find an implementation for Trilu(14) node with name '/Trilu'"


@pytest.mark.parametrize("asked", [{"torch": "2.2.1"}, {}], ids=["a release", "none named"])
def test_an_error_of_older_runtimes_is_answered_with_the_one_from_which_the_file_works(published, asked):
    said = caniexport.explain_error(published, TRILU, **asked).decision
    assert re.search(r"onnxruntime 1\.1\d\.\d to 1\.18\.1 give this error for its file, and from 1\.19\.2 on it", said)
    assert "upgrade onnxruntime, or use the fix `and_positions`" in said
    assert "another cause" not in said


UNFLATTEN_12 = "Exporting the operator 'aten::unflatten' to ONNX opset version 12 is not supported"


def test_where_a_higher_opset_than_the_error_names_works_it_is_the_way_out(published):
    said = caniexport.explain_error(published, UNFLATTEN_12, torch="2.2").decision
    assert "At torch 2.2.2, trace, opset 12 it fails; from opset 13 on it works there: raise the opset." in said
    assert "no fix" not in said


EYE_LIKE = "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for EyeLike(9) node"
MUL = (
    "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. Type Error: Type parameter (T) of Optype "
    "(Mul) bound to different types (tensor(float) and tensor(int64) in node (/Mul)"
)


def test_a_case_about_the_operator_that_stops_at_another_one_has_another_cause(published):
    text = (
        "torch.onnx._internal.exporter._errors.DispatchError: No ONNX function found for "
        "<OpOverload(op='aten.unfold', overload='default')>. Failure message: No decompositions registered"
    )
    said = explain_error(published, text, {}).decision

    assert "tensor-unfold-dynamic" in said and "which has another cause" in said
    assert "fails" not in said.partition(". ")[0]


def test_the_opset_of_an_error_in_plain_words_is_the_one_that_is_answered(published):
    text = "grid_sampler to ONNX opset version 11 is not supported on torch 1.10, what do I do"

    assert "torch 1.10.2, trace, opset 11" in explain_error(published, text, {}).decision


@pytest.mark.parametrize(("text", "case"), [(EYE_LIKE, "diag-no-rule"), (MUL, "mul-of-bools")])
def test_a_case_that_shares_the_operator_alone_has_another_cause_and_its_fix_is_no_answer(published, text, case):
    answer = caniexport.explain_error(published, text)
    assert answer.leads[0].at.entry.case == case
    assert re.search(rf"the nearest about \w+ is {case} \(.*\), which has another cause: at torch", answer.decision)
    assert answer.leads[0].at.helping
    assert answer.leads[0].at.helping[0].variant not in answer.decision


def test_nodes_are_named_by_their_exporter_and_its_cases_are_looked_at(published):
    text = "Non-zero status code returned while running Expand node. Name:'{}' Status Message: invalid expand shape"
    named = {"node_expand_1": "dynamo", "/encoder/Expand_1": "torchscript-trace"}
    for node, exporter in named.items():
        leads = caniexport.explain_error(published, text.format(node), torch="2.5").leads
        assert {lead.at.exporter for lead in leads} == {exporter}


@pytest.mark.parametrize("asked", [{"torch": "2.9.1"}, {}], ids=["a release", "none named"])
def test_an_error_of_older_packages_alone_is_answered_with_their_upgrade(published, asked):
    answer = caniexport.explain_error(published, "TypeError: 'SymbolicTensor' object is not iterable", **asked)
    assert "At torch 2.9.1, dynamo" in answer.decision
    assert "it fails so with onnxscript 0.5.6 and works with 0.7.2: upgrade onnxscript." in answer.decision
    assert answer.leads[0].at.works
    assert answer.leads[0].lead.why == "the same error, with onnxscript 0.5.6"


SDPA_14 = "Exporting the operator 'aten::scaled_dot_product_attention' to ONNX opset version 14 is not supported."


def test_a_lead_is_seen_at_the_opset_that_the_error_names(index):
    first = match_error(index, SDPA_14).leads[0]
    assert (first.case, first.torch, first.opset) == ("sdpa-opset-13", "2.0.1", 14)
    assert match_error(index, SDPA_14.replace("14", "13")).leads[0].opset == 13


BOOLS = "Type Error: Type 'tensor(bool)' of input parameter ({}) of operator (CumSum) in node ({}) is invalid."


@pytest.mark.parametrize("names", [("1684", "CumSum_1227"), ("/Equal_27_output_0", "/CumSum"), ("mask", "node_cumsum")])
def test_a_case_that_ends_with_the_error_at_the_point_goes_before_one_that_had_it(published, names):
    text = f"[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. {BOOLS.format(*names)}"
    answer = explain_error(published, text, {"torch": "2.6", "exporter": "trace"})

    assert answer.leads[0].lead.case == "cumsum-of-bools"
    assert "its fix `as_int64` works there" in answer.decision
    assert "another cause" not in answer.decision


def test_an_error_has_another_cause_only_where_no_case_with_it_has_it_there(published, index):
    asked = []
    for item in index.known:
        places = [place for place in item.seen.places if place.variant == "plain" and place.exporter in ANY_EXPORTER]
        if places and item.key and 1 < len(item.seen.cases) <= 4:
            place = places[-1]
            asked.append(
                (item.seen.text, {"torch": place.torch, "exporter": place.exporter, "opset": str(place.opset)})
            )
    assert len(asked) > 200
    for text, point in asked[::25]:
        assert "had this error, and has it no more" not in explain_error(published, text, point).decision


def test_a_case_of_what_is_installed_together_is_told_without_a_release_of_torch():
    reply = CliRunner().invoke(main, ["why", "ir-version-10-too-new"])
    assert reply.exit_code == 0, reply.stderr
    assert reply.stdout.splitlines()[1].startswith("ir-version-10-too-new: fail at load (")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "Move to torch 1.9.1 or newer: torch's own calls of it pass there at opset 13."),
        (
            {"torch": "1.8", "opset": "13"},
            "Move to torch 1.9.1 or newer: torch's own calls of it pass there at opset 13.",
        ),
    ],
)
def test_an_opset_that_was_not_tried_on_a_release_is_not_one_that_fails(published, asked, told):
    text = "Exporting the operator outer to ONNX opset version 13 is not supported"
    decision = explain_error(published, text, asked).decision

    assert decision.endswith(told)
    assert "not at 13" not in decision
    assert "a cause beside the operator" not in decision


def test_errors_that_share_the_name_of_their_exception_alone_are_not_alike(published):
    text = (
        "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model to "
        "ONNX. Next steps:\n## Exception summary\n<class 'KeyError'>: 'getpwuid(): uid not found: 501'"
    )
    answer = explain_error(published, text, {"torch": "2.9"})

    assert answer.leads == ()
    assert answer.decision.startswith("No measured case")


def test_a_case_with_wrong_values_does_not_stand_for_an_operator_without_a_rule(published):
    text = (
        "UnsupportedOperatorError: Exporting the operator 'aten::lift_fresh' to ONNX opset version 13 is not supported."
    )
    answer = explain_error(published, text, {})

    assert answer.leads[0].lead.case == "tensor-literal-in-forward"
    assert "wrong values" not in answer.decision


def test_where_no_fix_works_another_opset_that_does_is_told(published):
    text = "torch.onnx.errors.CheckerError: Unrecognized attribute: axes for operator ReduceMean"
    decision = explain_error(published, text, {"torch": "2.3", "opset": "18"}).decision

    assert decision.endswith("no fix of it is measured to work there; at opset 17 it works without one.")
