"""OpenVINO's errors are told by their reason, not by the line of its source that noticed it; its inputs by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport.bundles.probes import make_probes
from caniexport.runner import tensors
from caniexport.runner.adapters.openvino import OpenVino, match_inputs
from caniexport.runner.adapters.openvino_text import find_reason
from caniexport.runner.one import _Stages

ROOT = Path(__file__).resolve().parent.parent
WHERE = "Exception from src/inference/src/cpp/core.cpp:105:\n"
REPORT = WHERE + (
    "Check 'false' failed at src/frontends/onnx/frontend/src/core/unconverted_ops_report.cpp:151:\n"
    "FrontEnd API failed with OpConversionFailure:\n"
    "Model wasn't fully converted."
)
SPLIT = (
    " Failed operations detailed log:\n-- Split-20 with a message:\n"
    "While validating ONNX node '<Node(Split): a_N_else, a_C_else>': Check 'false' failed at src/op/split.cpp:35:\n"
    "FrontEnd API failed with GeneralFailure:\nThe split number is invalid\n\n"
    "Summary:\n-- Conversion is failed for: Split-20"
)
SCAN = (
    " Failed operations detailed log:\n-- Scan-27 with a message:\n"
    "While validating ONNX node '<Node(Scan): Final, Accum>': Check 'n >= m' failed at src/op/scan.cpp:36:\n"
    "FrontEnd API failed with OpConversionFailure:\nFinal, Accum Number of Scan node inputs (5) is less than required\n"
)
UNCONVERTED = (
    "\nSummary:\n-- No conversion rule found for operations: CumProd-26, BitCast-26\n"
    "To facilitate the conversion of unsupported operations, refer to Frontend Extension documentation"
)
PLUGIN = (
    "Exception from src/inference/src/dev/plugin.cpp:54:\n"
    "Check '!shape.rank().is_dynamic()' failed at src/node.cpp:108:\n"
)
RANK = (
    "Unexpected: CPU plug-in doesn't support ReduceSum operation with dynamic rank. Operation name: ReduceSum_5480457"
)
PROVIDER = (
    "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: basic_backend.cc:136 [OpenVINO-EP] Exception "
    "while Loading Network for graph OpenVINOExecutionProvider_1_0: Exception from src/inference/src/core.cpp:154:\n"
    "Check 'false' failed at src/frontend.cpp:221:\nFrontEnd API failed with GeneralFailure:\n"
    "OpenVINO does not support the following ONNX operations: Attention"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (REPORT + UNCONVERTED, "No conversion rule found for operations: CumProd, BitCast"),
        (REPORT + SPLIT, "Split: The split number is invalid"),
        (REPORT + SCAN, "Scan: Number of Scan node inputs (5) is less than required"),
        (WHERE + PLUGIN + RANK, RANK.replace("ReduceSum_5480457", "…")),
        (WHERE + "Exception from src/jit.cpp:602:\nunsupported src_prc: string", "unsupported src_prc: string"),
        (PROVIDER, "OpenVINO does not support the following ONNX operations: Attention"),
        ("Fatal error: my.dom:FooBar(-1) is not a registered function/op", ""),
        (WHERE, ""),
    ],
)
def test_the_reason_is_the_line_that_says_why(text, said):
    assert find_reason(text) == said


def test_the_reason_of_a_long_text_is_read_before_the_text_is_cut():
    said = "OpenVINO does not support the following ONNX operations: Foo"
    where = "Exception from src/frontends/onnx/frontend/src/frontend.cpp:343:\n" * 100
    error = RuntimeError(f"{where}{said}\n{where}")

    signature, _, kept = _Stages(OpenVino("cpu"), lambda stage: None)._described(error)

    assert said not in kept
    assert signature == f"load|RuntimeError|{said}"


def test_no_published_row_of_openvino_says_only_where_it_was_noticed(results):
    found = results.run_groups(("runtime", "provider", "signature"), {"n": "count(*)"})
    mine = [(signature, count) for runtime, provider, signature, count in found if "openvino" in (runtime, provider)]

    assert sum(count for _, count in mine) > 3000
    assert [signature for signature, _ in mine if "Exception from" in (signature or "")] == []


def test_an_input_that_openvino_leaves_out_is_not_fed_to_its_neighbour():
    assert match_inputs([{"x"}, {"y"}], ["a", "b"]) == ["a", "b"]
    assert match_inputs([{"data"}], ["data", "axes"]) == ["data"]
    assert match_inputs([{"data"}], ["axes", "data"]) == ["data"]
    assert match_inputs([{"an output"}], ["x", "ratio"]) == ["x"]
    assert match_inputs([{"b"}, {"an output"}], ["a", "b"]) == ["b", "a"]
    _, _, files = next(make_probes())
    assert tensors.read_input_names(files[0][1]) == ["x"]
