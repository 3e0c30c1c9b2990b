"""What authors show of an export without naming one: settings, rules of the newer exporter, other runtimes' folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport import scan_source
from caniexport.scan.decision import workarounds
from caniexport.store import Dataset

_IMPORTS = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
_EAGER = """
def prepare(name):
    model = load(name, attn_implementation="eager"){why}
    return model
"""
_TABLE = """
import onnxscript


def gemm(x: onnxscript.onnx_types.TensorType, w: onnxscript.onnx_types.TensorType):
    return op.Gemm(x, w)


TABLE = {{torch.ops.{own}.default: gemm}}
"""
_CHECKED = """
def factor(a):
    lower, info = torch.linalg.cholesky_ex(a)
    if {test}:
        return lower
    return repaired(lower, info)
"""
_KERNEL = """
class Layer(nn.Module):
    def forward(self, x, mask):
        if {test}:
            return self.forward_torch_softmax(x, mask)
        if self.is_available(mask):
            return self.forward_fused_softmax(x, mask)
        return self.forward_torch_softmax(x, mask)
"""
_SWITCHED = """
def backend(params):
    if is_in_onnx_export_mode():
        {off} = False
    else:
        flash, fused = available(params)
    return params
"""
_BESIDE = """
class Norm(nn.Module):
    def op_forward(self, x):
        y, mean = layernorm_fwd(x, self.weight, self.bias, self.eps)
        return y.view(x.size())

    def op_{name}(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
"""
_FRIENDLY = '''
class SafeCumsum(nn.Module):
    """Sums one by one, {said}."""

    def forward(self, x, index):
        return (x[:, None] * (index[:, None] == self.rows)).sum(0)
'''
_SAID = {
    "masked_scatter": "# indexing instead of masked_scatter, which {runtime} can't convert: torch.masked_scatter",
    "bitwise_not": "# `== False` avoids `aten::bitwise_not`, which is not supported by the {runtime} conversion",
    "slice": "# {runtime} does not support zero-length Slice outputs",
    "operations": "# floats avoid unsupported bitwise ops",
}


@pytest.fixture(scope="module")
def rows():
    return Dataset.open(Path(__file__).resolve().parents[1] / "results", None)


@pytest.fixture
def found(tmp_path, rows):
    """The workarounds of one file."""

    def run(text: str, path: str = "model.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(_IMPORTS + text, encoding="utf-8")
        answer = scan_source(rows, tmp_path, torch=["2.5.1"], exporter="trace")
        (tmp_path / path).unlink()
        return [item.site for item in workarounds(answer)]

    return run


@pytest.fixture
def told(found):
    """For each workaround of a file what it names first: its operator or its case."""

    def run(text: str, path: str = "model.py") -> list[str]:
        return [site.name if site.name else site.fixes[0][0] for site in found(text, path)]

    return run


@pytest.mark.parametrize("why", ["  # critical for ONNX", "\n    torch.onnx.export(model, (), 'model.onnx')"])
def test_attention_that_is_set_to_eager_for_an_export_is_told(told, why):
    assert told(_EAGER.format(why=why)) == ["scaleddotproductattention"]
    assert told(_EAGER.format(why="")) == []


def test_an_attribute_that_sets_attention_to_eager_is_told_too(told):
    text = 'def export_onnx(config):\n    config._attn_implementation = "eager"\n'
    assert told(text) == ["scaleddotproductattention"]
    assert told(text.replace('"eager"', '"sdpa"')) == []


def test_a_rule_in_a_translation_table_is_told_with_its_operator(found):
    (own,) = found(_TABLE.format(own="tex.gemm_inf"))
    assert (own.name, own.fixes) == ("tex::gemm_inf", (("route-torchscript-custom-op", "translation_table"),))
    (of_torch,) = found(_TABLE.format(own="aten.cdist"))
    assert (of_torch.name, of_torch.fixes, of_torch.sure.value) == ("aten::cdist", (), "the same operator")


@pytest.mark.parametrize(
    "lines",
    [
        "m.ir_version = 10",
        "m.ir_version = min(m.ir_version, 10)",
        "if m.ir_version > NEWEST:\n        m.ir_version = NEWEST",
    ],
)
def test_an_older_ir_version_is_told(told, lines):
    assert told(f"def save(m):\n    {lines}\n") == ["ir-version-11-too-new"]


@pytest.mark.parametrize("given", ["other.ir_version", "str(read(m))", "IR_VERSION", "None"])
def test_an_ir_version_that_is_only_handed_on_is_none(told, given):
    assert told(f"def save(m, other):\n    m.ir_version = {given}\n") == []


@pytest.mark.parametrize(
    "test",
    [
        "settings.trace_mode.on() or not torch.any(info)", "torch.jit.is_tracing() or (info == 0).all()",
        "torch.onnx.is_in_onnx_export() or not info.any()",
    ],
)  # fmt: skip
def test_a_value_that_is_not_asked_while_tracing_is_a_branch_on_it(told, test):
    assert told(_CHECKED.format(test=test)) == ["branch-on-value"]


@pytest.mark.parametrize(
    "test", ["settings.verbose.on() or not torch.any(info)", "torch.jit.is_tracing() or any(info)"]
)
def test_another_setting_or_a_value_of_python_is_no_such_branch(told, test):
    assert told(_CHECKED.format(test=test)) == []


def test_a_check_of_values_that_is_left_out_while_tracing_is_told(told):
    text = "def f(x):\n    if not torch.jit.is_tracing():\n        assert torch.isfinite(x).all()\n    return x + 1\n"
    assert told(text) == ["branch-on-value"]
    assert told(text.replace("torch.isfinite(x).all()", "x.ndim == 2")) == []


def test_an_own_kernel_that_is_not_called_while_exporting_is_told_by_its_operator(told):
    assert told(_KERNEL.format(test="is_in_onnx_export_mode()")) == ["softmax"]
    assert told(_KERNEL.format(test="x.is_cpu")) == []


def test_a_second_function_without_the_own_kernel_is_told_by_its_operator(told):
    assert told(_BESIDE.format(name="onnx_forward")) == ["layernorm"]
    assert told(_BESIDE.format(name="slow_forward")) == []


def test_what_a_branch_on_exporting_switches_off_is_told(told):
    assert told(_SWITCHED.format(off="use_flash_attention")) == ["scaleddotproductattention"]
    assert told(_SWITCHED.format(off="use_cache")) == []


@pytest.mark.parametrize("said", ["ONNX-friendly", "export-safe by explicit sums"])
def test_a_class_that_is_said_to_be_exportable_is_told_by_the_operator_in_its_name(told, said):
    assert told(_FRIENDLY.format(said=f"{said}; no ONNX of its own")) == ["cumsum"]
    assert told(_FRIENDLY.format(said="quickly; its ONNX file is at home")) == []


@pytest.mark.parametrize("what", _SAID)
def test_what_fails_in_the_runtime_of_a_folder_is_there_for_it(found, what):
    text = f"def f(x, mask):\n    {_SAID[what].format(runtime='the converter')}\n    return x * mask + 1\n"
    (site,) = found(text, "graphcore/model.py")
    assert site.runtime == "graphcore"
    assert found(text, "zoo/model.py") == []


@pytest.mark.parametrize("said", ["batches of two are not supported", "we cannot broadcast_to the last axis here"])
def test_what_names_no_operation_or_no_failure_of_a_compiler_is_none(found, said):
    text = f"def f(x):\n    # {said}\n    return x.reshape(2, -1) + 1\n"
    assert found(text, "graphcore/model.py") == []


def test_what_torch_export_is_said_not_to_take_is_told_in_a_file_without_onnx(told):
    text = "def f(x):\n    # torch.export fails on `torch.cdist`\n    return (x[:, None] - x).norm()\n"
    assert told(text) == ["cdist"]
    assert told(text.replace("torch.export", "the compiler")) == []


def test_a_buffer_that_is_registered_for_an_export_is_told(told):
    text = "class M(nn.Module):\n    def __init__(self):\n        # registered as a buffer so that torch.export"
    text += " treats it as one\n"
    text += '        self.register_buffer("rows", torch.zeros(3))\n'
    assert told(text) == ["plain-tensor-attribute-mutated"]
    assert told(text.replace(" so that torch.export treats it as one", "")) == []


def test_a_tensor_that_is_said_to_become_a_constant_is_told_once(told):
    text = (
        "def sizes(x):\n    if torch.jit.is_scripting():\n        return torch.as_tensor(x)\n"
        "    if torch.jit.is_tracing():\n        # as_tensor is no good in tracing: as_tensor records a constant\n"
        "        return torch.stack(x)\n    return torch.as_tensor(x)\n"
    )
    assert told(text) == ["trt-shape-fix-bakes-size"]


def test_what_is_said_to_fail_in_a_runtime_is_told_with_its_operator(found):
    text = "def f(x):\n    # torch.expand is not supported by TensorRT\n    return x * 0 + 1\n"
    assert [(site.name, site.runtime) for site in found(text)] == [("expand", "tensorrt")]


@pytest.mark.parametrize(("version", "told"), [("1.12", True), ("1.14", False)])
def test_a_table_of_opsets_is_one_by_releases_of_torch(found, version, told):
    text = f'OPSETS = {{"1.11": 15, "{version}": 16}}\n'
    assert [site.told for site in found(text)] == ["an opset for each release"] * told


@pytest.mark.parametrize("said", ["instead of `torch.roll` for CoreML", "OpenVINO-friendly form of torch.roll"])
def test_a_comment_that_an_operator_is_left_out_for_a_runtime_is_there_for_it(found, said):
    text = f"def f(x):\n    # {said}\n    return torch.cat([x[1:], x[:1]])\n"
    assert [site.runtime for site in found(text)] == [{"i": "coreml", "O": "openvino"}[said[0]]]
    assert found(text.replace("CoreML", "speed").replace("OpenVINO", "cache")) == []


def test_a_docstring_that_blames_a_runtime_is_there_for_it(found):
    text = 'def f(x):\n    """Rolls. TensorRT does not support `torch.roll`."""\n    return torch.cat([x[1:], x[:1]])\n'
    assert [site.runtime for site in found(text)] == ["tensorrt"]
    assert found(text.replace("does not support", "is as fast as")) == []


def test_a_second_function_for_a_runtime_is_there_for_it(found):
    text = (
        "def shift(x):\n    return torch.roll(x, 1, 0)\n\n\ndef shift_{}(x):\n    return torch.cat([x[-1:], x[:-1]])\n"
    )
    assert [site.runtime for site in found(text.format("coreml"))] == ["coreml"]
    assert found(text.format("slowly")) == []


def test_a_branch_on_a_runtime_that_calculates_otherwise_is_there_for_it(found):
    text = "def f(x, {0}):\n    if {0}:\n        return {1}\n    return torch.roll(x, 1, 0)\n"
    assert [site.runtime for site in found(text.format("for_coreml", "torch.cat([x[-1:], x[:-1]])"))] == ["coreml"]
    assert found(text.format("for_coreml", "engine(x)")) == []
    assert found(text.format("slowly", "torch.cat([x[-1:], x[:-1]])")) == []


def test_a_switch_beside_a_word_on_an_export_is_told_where_another_file_exports(told):
    line = "torch.backends.mha.set_fastpath_enabled(False)"
    assert told(f"import torch\n\n{line}  # onnx: _native_multi_head_attention\n") == ["mha-fast-path"]
    assert told(f"import torch\n\n{line}\n") == []
