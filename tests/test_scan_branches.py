"""What a branch, a second function or an assignment leaves out for an export is told without a word of its author."""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport import scan_source
from caniexport.scan.decision import workarounds
from caniexport.store import Dataset

_IMPORTS = "import types\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
_ROLL = """
def shift(x, s, exporter=None):
    {before}
    if {test}:
        x = torch.cat([x[:, s:], x[:, :s]], dim=1)
    else:
        x = torch.roll(x, shifts=-s, dims=1)
    return x
"""
#: tests that are true while exporting
_TESTS = (
    "torch.onnx.is_in_onnx_export()", "exporter.onnx_export", 'getattr(exporter, "export_mode", False)',
    "torch._C._get_tracing_state() is not None", "exporter.export is True", 'exporter.mode == "onnx"',
    "torch.compiler.is_exporting()", 'exporter.format in ("onnx", "torchscript")', 'exporter.get("export_onnx")',
    "exporter.opset_version < 11",
)  # fmt: skip
_LEFT_OUT = {
    "an early return": (
        "roll",
        "def f(x):\n    if torch.jit.is_tracing():\n        return torch.cat([x[1:], x[:1]])\n"
        "    return x.roll(-1, 0)\n",
    ),
    "the branch that is taken elsewhere": (
        "cdist",
        "def f(a, b):\n    if not torch.onnx.is_in_onnx_export():\n        return torch.cdist(a, b)\n"
        "    return ((a.unsqueeze(-2) - b.unsqueeze(-3)) ** 2).sum(-1).sqrt()\n",
    ),
    "a number that is read": (
        "item",
        "def f(x):\n    if not torch.onnx.is_in_onnx_export():\n        return x.int().item()\n    return x\n",
    ),
    "another type": (
        "softmax",
        "def f(x, onnx_trace=False):\n    if onnx_trace:\n        return F.softmax(x.float(), dim=1)\n"
        "    return F.softmax(x, dim=1, dtype=torch.float32)\n",
    ),
    "the type in a call": (
        "cumsum",
        "def f(x):\n    return x.cumsum(0, dtype=torch.int64 if torch.jit.is_tracing() else torch.int32)  # onnx\n",
    ),
    "an argument that a flag decides": (
        "upsamplebilinear2daa",
        "def f(x):\n    smooth = not torch.onnx.is_in_onnx_export()\n"
        '    return F.interpolate(x, scale_factor=2, mode="bilinear", antialias=smooth)\n',
    ),
    "a layer that is not checkpointed": (
        "prim::pythonop",
        "def f(x, layer):\n    if torch.jit.is_tracing():  # onnx\n        x = layer(x)\n    else:\n"
        "        x = torch.utils.checkpoint.checkpoint(layer, x)\n    return x\n",
    ),
    "a second function": (
        "cdist",
        "def far(a, b):\n    return torch.cdist(a, b)\n\n\ndef far_onnx(a, b):\n"
        "    return ((a.unsqueeze(-2) - b.unsqueeze(-3)) ** 2).sum(-1).sqrt()\n",
    ),
    "a second class": (
        "roll",
        "class Turn(nn.Module):\n    def forward(self, x):\n        return x.roll(-1, 0)\n\n\n"
        "class TurnForExport(Turn):\n    def forward(self, x):\n        return torch.cat([x[1:], x[:1]])\n",
    ),
    "an old line": (
        "roll",
        "def f(x):\n    # for onnx\n    # y = torch.roll(x, -1, 0)\n    y = torch.cat([x[1:], x[:1]])\n    return y\n",
    ),
    "a function of a class of torch": (
        "groupnorm",
        "def own(self, x):\n    return x / x.std()\n\n\ndef prepare(model):\n    nn.GroupNorm.forward = own\n"
        '    torch.onnx.export(model, torch.rand(2), "model.onnx")\n',
    ),
    "the forward of a module": (
        "groupnorm",
        "def own(self, x):\n    return x / x.std()\n\n\ndef patch_for_onnx(model):\n    for m in model.modules():\n"
        "        if isinstance(m, nn.GroupNorm):\n            m.forward = types.MethodType(own, m)\n",
    ),
    "a module put in its place": (
        "hardswish",
        "def replace_for_export(model):\n    for name, child in model.named_children():\n"
        "        if isinstance(child, nn.Hardswish):\n            setattr(model, name, Own())\n\n\n# for onnx\n",
    ),
    "a method of tensors": (
        "repeat_interleave",
        "def own(self, n, dim):\n    return self.unsqueeze(dim + 1).repeat(n)\n\n\ndef main(model):\n"
        '    torch.Tensor.repeat_interleave = own\n    torch.onnx.export(model, torch.rand(2), "model.onnx")\n',
    ),
    "an everyday word in the name of what is called": (
        "clamp",
        "def f(x, size):\n    if torch.onnx.is_in_onnx_export():\n        x = clip_for_onnx(x, size)\n    return x\n",
    ),
    "a module put there by a script": (
        "silu",
        "for m in model.modules():\n    # activations that ONNX has\n    if isinstance(m.act, nn.SiLU):\n"
        "        m.act = Own()\n",
    ),
    "a module that a function exchanges": (
        "silu",
        "def main(model):\n    model.net = replace_module(model.net, nn.SiLU, Own)\n"
        '    torch.onnx.export(model, torch.rand(2), "model.onnx")\n',
    ),
    "a registered forward": (
        "rmsnorm",
        '@register_patch("onnx", "torch.nn.RMSNorm.forward")\ndef own(original):\n    return original\n',
    ),
    "a mask as an index": (
        "index",
        "def f(x, keep):\n    if torch.onnx.is_in_onnx_export():\n        return x * keep\n    return x[keep]\n",
    ),
    "a docstring that tells of an error": (
        "round",
        'def anchor(size):\n    """Half a size. The original one uses `round`, which ONNX does not support."""\n'
        "    return torch.floor(size / 2 + 0.5)\n",
    ),
}
#: what authors say that is enough without an operator
_SAID = {
    "none-among-outputs": "# As ONNX does not support NoneType for output, zeros stand for None",
    "dict-as-output": "# for ONNX: torch.jit.trace cannot return a dictionary",
    "dim-of-batch-one": "# the ONNX export specializes a batch of 1",
    "dim-of-batch-one, of any size": "# torch.export specializes dimensions of size 1, which must not be constant",
    "dim-of-batch-one, by its example": "# a batch size of 2 for the ONNX export, which then has a dynamic one",
    "tracer-baking-used-on-purpose": "# cast the count to a constant while exporting to ONNX",
}
#: what is left out there is no workaround
_ORDINARY = {
    "a side that only leaves": (
        "def f(x):\n    if torch.onnx.is_in_onnx_export():\n        return x\n    return torch.cdist(x, x)\n"
    ),
    "a side that is taken by sizes, too": (
        "def f(x):\n    if x.shape[0] < 9 or torch.onnx.is_in_onnx_export():\n        return x + 1\n"
        "    return torch.unique(x)\n"
    ),
    "another algorithm": (
        "def f(x):\n    if torch.onnx.is_in_onnx_export():\n        return x + 1\n"
        "    return torch.unique(x.roll(1)).cdist(x.tril().kthvalue(1)[0])\n"
    ),
    "Python's own functions": (
        "def f(x, n):\n    if torch.onnx.is_in_onnx_export():\n        n = x.shape[0] + 1\n    else:\n"
        "        n = min(n, 3)\n    return x[:n]\n"
    ),
    "both sides alike": (
        "def f(n, export=False):\n    if export:\n        m = torch.full([n, n], fill_value=1)  # onnx\n    else:\n"
        "        m = torch.full((n, n), 1)\n    return m\n"
    ),
    "another word in the name of what is called": (
        "def f(x, size):\n    if torch.onnx.is_in_onnx_export():\n        x = min_and_max_for_onnx(x, size)\n"
        "    return x\n"
    ),
    "modules that are only asked for": (
        'def main(model):\n    show(model, nn.SiLU, Own)\n    torch.onnx.export(model, torch.rand(2), "model.onnx")\n'
    ),
    "a constant that is no wish": (
        "def f(x):\n    # avoids what bakes the length as a constant during ONNX export\n    return x + 1\n"
    ),
    "a flag that is handed on": (
        "def f(x, onnx_trace=False):\n    return utils.softmax(x, dim=1, onnx_trace=onnx_trace)\n"
    ),
}
_PREPARED = {
    "weight-norm-convolution": "model.dec.remove_weight_norm()",
    "mha-fast-path": "torch.backends.mha.set_fastpath_enabled(False)",
    "sdpa-opset-13": "timm.layers.set_fused_attn(False)",
}


@pytest.fixture(scope="module")
def rows():
    return Dataset.open(Path(__file__).resolve().parents[1] / "results", None)


@pytest.fixture
def told(tmp_path, rows):
    """The workarounds of one file: for each what it names first, its operator or its case."""

    def run(text: str) -> list[str]:
        (tmp_path / "model.py").write_text(_IMPORTS + text, encoding="utf-8")
        found = workarounds(scan_source(rows, tmp_path, torch=["1.10.2"], exporter="trace"))
        return [item.site.name if item.site.name else item.site.fixes[0][0] for item in found]

    return run


@pytest.mark.parametrize("test", _TESTS)
def test_every_way_to_ask_for_an_export_is_a_branch_on_it(told, test):
    assert told(_ROLL.format(before="", test=test)) == ["roll"]


@pytest.mark.parametrize("test", ["torch.onnx.is_in_onnx_export()", "not never and torch.jit.is_tracing()"])
def test_a_name_that_holds_the_answer_is_one_too(told, test):
    assert told(_ROLL.format(before=f"never = None\n    static = {test}", test="static")) == ["roll"]


@pytest.mark.parametrize("test", ["exporter.fast", "exporter is not None", 'exporter.mode == "train"', "static"])
def test_any_other_branch_is_none(told, test):
    assert told(_ROLL.format(before="static = x.is_cuda", test=test)) == []


@pytest.mark.parametrize("how", _LEFT_OUT)
def test_what_is_left_out_for_an_export_is_told(told, how):
    operator, text = _LEFT_OUT[how]
    assert told(text) == [operator]


@pytest.mark.parametrize("case", _SAID)
def test_what_authors_say_of_a_case_without_an_operator_is_enough(told, case):
    assert told(f"def f(x):\n    {_SAID[case]}\n    return x + 1\n") == [case.partition(",")[0]]


@pytest.mark.parametrize("why", _ORDINARY)
def test_what_else_a_branch_on_exporting_does_is_no_workaround(told, why):
    assert told(_ORDINARY[why]) == []


@pytest.mark.parametrize("case", _PREPARED)
def test_what_prepares_a_model_is_told_beside_its_export_alone(told, rows, tmp_path, case):
    text = f'def main(model):\n    {_PREPARED[case]}\n    torch.onnx.export(model, torch.rand(2), "model.onnx")\n'
    assert told(text) == [case]
    assert told(text.replace("torch.onnx.export", "show")) == []


def test_a_dictionary_that_is_not_given_back_while_exporting_is_told(told):
    text = (
        "def forward(x):\n    y = x + 1\n    if torch.onnx.is_in_onnx_export():\n        return x, y\n"
        '    return {"x": x, "y": y}\n'
    )
    assert told(text) == ["dict-as-output"]
    assert told(text.replace("torch.onnx.is_in_onnx_export()", "x.is_cuda")) == []
