"""Rewrites are recognised by what they compute, and by what their author says; each is led to its measured case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from scanned_spellings import NAMELESS, ORDINARY, SAME

from caniexport import scan_source
from caniexport.cli import main
from caniexport.scan.site import Sureness

ROOT = Path(__file__).resolve().parents[1]

IMPORTS = "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
CROSS = {
    "unbound": """
def cross(a, b):
    a1, a2, a3 = torch.unbind(a, -1)
    b1, b2, b3 = b.unbind(dim=-1)
    return torch.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], dim=-1)
""",
    "indexed": """
def cross(u, v):
    x = u[..., 1] * v[..., 2] - u[..., 2] * v[..., 1]
    y = u[..., 2] * v[..., 0] - u[..., 0] * v[..., 2]
    z = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    return torch.stack((x, y, z), -1)
""",
    "named operators": """
def cross(u, v):
    x = torch.sub(torch.mul(u[:, 1], v[:, 2]), torch.mul(u[:, 2], v[:, 1]))
    y = u[:, 2].mul(v[:, 0]).sub(u[:, 0].mul(v[:, 2]))
    z = torch.subtract(u[:, 0].multiply(v[:, 1]), u[:, 1].multiply(v[:, 0]))
    return torch.cat([x.unsqueeze(1), y.unsqueeze(1), z.unsqueeze(1)], dim=1)
""",
    "negated": """
def cross(u, v):
    parts = [
        -u[:, 2] * v[:, 1] + u[:, 1] * v[:, 2],
        -(u[:, 0] * v[:, 2]) + v[:, 0] * u[:, 2],
        v[:, 1] * u[:, 0] - v[:, 0] * u[:, 1],
    ]
    return torch.stack(parts, dim=1)
""",
    "selected": """
class Turn(torch.nn.Module):
    def forward(self, p, q):
        p0, p1, p2 = p.select(1, 0), p.select(1, 1), p.select(1, 2)
        q0, q1, q2 = q.select(1, 0), q.select(1, 1), q.select(1, 2)
        made = torch.stack([p1 * q2 - p2 * q1, p2 * q0 - p0 * q2, p0 * q1 - p1 * q0], 1)
        return self.layer(made)
""",
}
SAMPLE = """
def sample(img, grid, align_corners=False):
    n, c, h, w = img.shape
    gn, gh, gw, _ = grid.shape
    x, y = grid[..., 0], grid[..., 1]
    if align_corners:
        x = (x + 1) / 2 * (w - 1)
        y = (y + 1) / 2 * (h - 1)
    else:
        x = ((x + 1) * w - 1) / 2
        y = ((y + 1) * h - 1) / 2
    x, y = x.view(n, -1), y.view(n, -1)
    left, top = torch.floor(x).long(), torch.floor(y).long()
    right, bottom = left + 1, top + 1
    a = ((right - x) * (bottom - y)).unsqueeze(1)
    b = ((right - x) * (y - top)).unsqueeze(1)
    d = ((x - left) * (bottom - y)).unsqueeze(1)
    e = ((x - left) * (y - top)).unsqueeze(1)
    padded = F.pad(img, pad=[1, 1, 1, 1], mode="constant", value=0).view(n, c, -1)
    p = torch.gather(padded, 2, (left + top * (w + 2)).unsqueeze(1).expand(-1, c, -1))
    q = torch.gather(padded, 2, (left + bottom * (w + 2)).unsqueeze(1).expand(-1, c, -1))
    r = torch.gather(padded, 2, (right + top * (w + 2)).unsqueeze(1).expand(-1, c, -1))
    s = torch.gather(padded, 2, (right + bottom * (w + 2)).unsqueeze(1).expand(-1, c, -1))
    return (p * a + q * b + r * d + s * e).reshape(n, c, gh, gw)
"""
POOL = """
def adaptive(x, out):
    size = torch.tensor(x.shape[2:])
    stride = torch.floor(size / out)
    kernel = size - (out - 1) * stride
    return F.avg_pool2d(x, kernel_size=kernel, stride=stride)
"""
OTHERS = {
    "rms-norm-no-rule": "def norm(t, w, eps):\n    v = t.float().pow(2).mean(-1, keepdim=True)\n"
    "    return w * (t * torch.rsqrt(v + eps))\n",
    "hardswish-no-rule": "class Act(torch.nn.Module):\n    def __init__(self):\n"
    "        self.inner = torch.nn.ReLU6(True)\n    def forward(self, x):\n        return x * self.inner(x + 3) / 6\n",
    "tril-no-rule": "# ONNX does not support torch.tril\ndef lower(x):\n    n = torch.arange(x.size(1))\n"
    "    return x.masked_fill(n[None] > n[:, None], 0)\n",
    "fold-opset-12": "def build(self):\n    # torch.nn.functional.fold() is not supported by ONNX\n"
    "    self.add = nn.ConvTranspose2d(4, 1, kernel_size=(4, 1), stride=(2, 1), bias=False)\n",
    "einsum-opset-11": "def scores(q, k):\n    # equivalent of torch.einsum('bic,bjc->bij', q, k), for onnx\n"
    "    return torch.matmul(q, k.transpose(1, 2))\n",
    "where-python-scalar": "def masked(m, x):\n    return torch.where(m, x, torch.tensor(0.0, dtype=x.dtype))\n",
}


@pytest.fixture(scope="module")
def rows(results):
    return results


@pytest.fixture
def scanned(tmp_path, rows):
    """Scan a tree of these files."""

    def run(*texts, torch="1.10.2", **files):
        for number, text in enumerate(texts):
            files[f"model{number}"] = f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n{text}"
        for name, text in files.items():
            path = tmp_path / "tree" / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return scan_source(rows, tmp_path / "tree", torch=[torch], exporter="trace")

    return run


def cases(found):
    """The cases that the findings lead to."""
    return {case for item in found.findings for case, _ in item.site.fixes}


@pytest.mark.parametrize("spelling", CROSS)
def test_a_cross_product_is_found_in_every_spelling(scanned, spelling):
    found = scanned(CROSS[spelling])
    (item,) = [one for one in found.findings if "cross-no-symbolic" in {case for case, _ in one.site.fixes}]
    assert item.site.fixes[0] == ("cross-no-symbolic", "stack_rewrite")
    assert (item.word.value, item.site.kind.value) == ("needed", "known-rewrite")


def test_an_ordinary_product_of_components_is_no_cross_product(scanned):
    text = "def area(a, b):\n    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]\n"
    assert cases(scanned(text)) == set()


def test_a_bilinear_sampling_by_gather_is_found_and_its_package_named(scanned):
    (item,) = scanned(SAMPLE).findings
    assert item.site.fixes[0] == ("grid-sampler-unsupported-opset-11", "gather_rewrite")
    assert item.site.of == "mmcv's bilinear_grid_sample"


def test_a_form_of_ordinary_code_is_a_copy_in_a_function_of_the_well_known_name(scanned):
    code = "def {}(x):\n    return x.nonzero().unbind(1)\n"
    (item,) = scanned(code.format("nonzero_tuple")).findings
    assert (item.site.sure, item.site.of) == (Sureness.SAME, "detectron2's nonzero_tuple")
    assert item.site.fixes == (("where-condition", "nonzero_unbound"),)
    assert not scanned(code.format("places")).findings


def test_an_adaptive_pool_by_stride_and_kernel_is_found(scanned):
    assert "adaptive-pool-stride-kernel-formula" in cases(scanned(POOL))


@pytest.mark.parametrize("case", OTHERS)
def test_a_rewrite_of_other_code_leads_to_its_case(scanned, case):
    assert case in cases(scanned(OTHERS[case]))


def test_a_call_of_the_operator_itself_is_no_workaround(scanned):
    text = (
        "def sample(x, grid):\n    return F.grid_sample(x, grid), torch.cross(x, x), nn.RMSNorm(4)(x), torch.tril(x)\n"
    )
    assert scanned(text).findings == ()


def test_a_gate_on_a_release_within_one_on_exporting_is_judged(scanned):
    text = """
def warp(x, grid):
    if torch.onnx.is_in_onnx_export():
        if torch.__version__ < "1.12":
            return by_hand(x, grid)
    return F.grid_sample(x, grid)


def early(x, grid):
    if not torch.onnx.is_in_onnx_export():
        return F.grid_sample(x, grid)
    if torch.__version__ >= "1.12":
        return F.grid_sample(x, grid)
    return by_hand(x, grid)
"""
    words = {}
    for torch in ("1.10.2", "2.8.0"):
        gates = [item for item in scanned(text, torch=torch).findings if item.site.kind.value == "version-gate"]
        words[torch] = [item.word.value for item in gates]
    assert words == {"1.10.2": ["needed", "needed"], "2.8.0": ["obsolete", "obsolete"]}


def test_a_form_that_was_not_measured_is_held_against_the_failing_form_of_its_case(scanned):
    text = """
# ONNX does not support torch.Tensor.unfold
def windows(x, size, step):
    parts = []
    for i in range(count):
        parts.append(x[..., i * step : i * step + size])
    return torch.stack(parts, -2)
"""
    (item,) = scanned(text).findings
    assert item.site.fixes == (("tensor-unfold-dynamic", "?"),)
    assert (item.word.value, item.site.told) == ("needed", "its author's words")
    assert [(one.case, one.variant) for one in item.evidence] == [("tensor-unfold-dynamic", "plain")]


def test_where_the_failing_form_is_the_evidence_a_fix_that_works_is_given_with_its_code(scanned):
    text = "def warp(x, g):\n    if torch.onnx.is_in_onnx_export() and torch.__version__ < '1.12':\n"
    text += "        return by_hand(x, g)\n    return F.grid_sample(x, g)\n"
    (item,) = [one for one in scanned(text).findings if one.site.kind.value == "version-gate"]
    assert item.word.value == "needed"
    assert "def " in item.remedy.code


def test_an_opset_of_test_utilities_is_not_the_projects(scanned):
    call = "import torch\ntorch.onnx.export(m, a, 'f', opset_version={})\n"
    tests = {f"tests__test_{number}": call.format(17) for number in range(3)}
    found = scanned(export=call.format(11), utils__test_util=call.format(17), **tests)
    assert found.opset == 11
    assert scanned(export=call.format(11), other=call.format(11), third=call.format(13)).opset == 11


def test_where_calls_differ_no_opset_is_taken_and_that_is_said(scanned):
    call = "import torch\ntorch.onnx.export(m, a, 'f', opset_version={})\n"
    found = scanned(one=call.format(11), two=call.format(13))
    assert found.opset is None
    assert "export calls name several opsets, 11 (1), 13 (1)" in found.notes[0]


def test_a_projects_exporter_is_that_of_most_of_its_calls_tests_apart(tmp_path, rows):
    pinned, bare = (
        f"import torch\ntorch.onnx.export(m, a, 'f'{more})\n" for more in (", dynamo=False", ", opset_version=18")
    )
    texts = {"one": pinned, "two": pinned, "three": bare, "tests/test_a": bare, "tests/test_b": bare}
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert scan_source(rows, tmp_path, torch=["2.15.0"]).exporter == "torchscript-trace"
    (tmp_path / "four.py").write_text(bare, encoding="utf-8")
    found = scan_source(rows, tmp_path, torch=["2.15.0"])
    assert (found.exporter, {*found.exporters}) == (None, {"trace", "each release's own exporter"})
    # the default calls use the same exporter there
    assert scan_source(rows, tmp_path, torch=["2.8.0"]).exporters == ()


def test_comparisons_beside_methods_of_python_values_are_judged_by_no_operator(scanned):
    text = """
def names_in_onnx(names, seen):
    if torch.__version__ < "1.13" or not EXPORT_TO_ONNX:
        seen.add(names[0].split("#")[0])
        seen.update(other.append(name) for name in names)
"""
    (item,) = [one for one in scanned(text).findings if one.site.kind.value == "version-gate"]
    assert item.is_elsewhere


def test_what_is_said_in_the_branch_that_is_taken_elsewhere_is_no_reason_for_the_other(scanned):
    text = """
# for ONNX
def run(self, x):
    if not is_exporting():
        # a trainer puts torch.addmm in the place of F.linear, which collides with our own
        held = patched(self)
    else:
        held = nothing()
    with held:
        return self.layer(x)
"""
    assert [one for one in scanned(text).findings if one.site.sure is not Sureness.SIMILAR] == []


@pytest.mark.parametrize(
    "comment",
    [
        "# This allows them to be iterated over during export",  # no operator, but in its function's name
        "# nn.Linear was replaced there, so it is mapped to ONNX Gemm",  # nothing is computed here
    ],
)
def test_an_operator_is_named_only_where_something_is_said_to_fail_or_takes_its_place(scanned, comment):
    text = f"# for ONNX\ndef unfold_names(self, names):\n    {comment}\n    self.names = [names]\n    return self\n"
    assert [one for one in scanned(text).findings if one.site.sure is not Sureness.SIMILAR] == []


@pytest.mark.parametrize(
    "text",
    [
        "def forward(self, x):\n    return torch.onnx.export(self, x, 'f', opset_version=self.opset or 12)\n",
        "def save(m, x, opset=12):\n    torch.onnx.export(m, x, 'f', opset_version=opset)\n",
        "OPSET = 12\ntorch.onnx.export(m, x, 'f', opset_version=OPSET)\n",
        "torch.onnx.export(m, x, 'f', opset_version=config.get('opset', 12))\n",
        "parser.add_argument('--opset', type=int, default=12)\ntorch.onnx.export(m, x, 'f')\n",
    ],
)
def test_an_opset_is_found_wherever_its_number_is_written(scanned, text):
    assert scanned(text).opset == 12


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "plain",
            "def head(self, x):\n    if self.format in {'tflite', 'edgetpu'}:\n        return x[:, :4], x[:, 4:]\n",
        ),
        (
            "plain",
            "@R.register_rewriter(func_name='torch.Tensor.expand', backend='ncnn')\ndef expand(ctx, x): return x\n",
        ),
        (
            "plain",
            "def forward(self, x):\n    if self.coreml_exportable:\n        return F.unfold(x, 2)\n    return x.t()\n",
        ),
        (
            "plain",
            "def forward(self, x):\n    if torch.onnx.is_in_onnx_export():\n"
            "        return torch.ops._caffe2.Gelu(x, True)\n    return F.gelu(x)\n",
        ),
        (
            "plain",
            "def forward(self, key):\n    # ONNX will compress two permutes, and Barracuda will not like it\n"
            "    return key.permute(0, 2, 1, 3).permute(0, 1, 3, 2)\n",
        ),
        ("backend__ncnn__ops", "# ONNX does not support torch.Tensor.unfold\ndef unfold(x):\n    return x\n"),
    ],
)
def test_what_is_for_another_runtime_is_told_so_and_not_judged(scanned, name, text):
    found = [item for item in scanned(**{name: f"import torch\n{text}"}).findings if item.site.runtime]
    assert found
    assert {item.word.value for item in found} == {"unknown"}
    assert all(not item.evidence and "files are run on ONNX Runtime" in item.statement for item in found)


def test_an_argument_that_only_old_releases_are_given_is_kept_apart_by_its_gate(scanned):
    text = """
def save(model, sample, **kwargs):
    if not _TORCH_GREATER_EQUAL_1_10:
        kwargs["example_outputs"] = model(sample)
    torch.onnx.export(model, sample, "f", **kwargs)
"""
    found = scanned(text, torch="2.8.0")
    gate = next(item for item in found.findings if item.site.kind.value == "version-gate")
    assert gate.site.fixes == (("example-outputs-argument-removed", "leave_out"),)


def test_the_screen_gives_the_decision_first_and_one_line_for_what_is_no_export(tmp_path):
    (tmp_path / "a.py").write_text("import torch\n" + CROSS["indexed"], encoding="utf-8")
    (tmp_path / "b.py").write_text("import torch\n" + CROSS["indexed"], encoding="utf-8")
    gate = 'import torch\nif torch.__version__ < "1.12":\n    fast = 0\nif torch.__version__ < "1.9":\n    fast = 1\n'
    (tmp_path / "c.py").write_text(gate, encoding="utf-8")
    reply = CliRunner().invoke(
        main,
        ["workaround", "--scan", str(tmp_path), "--torch", "1.10.2", "--exporter", "trace"],
        env={"COLUMNS": "200"},
    )
    lines = reply.stdout.splitlines()
    assert lines[0] == "2 workarounds were found: 2 are still needed. Held against torch 1.10.2, trace, its own opset."
    places = [line.split()[0] for line in lines if "cross-no-symbolic/" in line or line.endswith(".py")]
    assert places[:4] == ["a.py", "7", "cross-no-symbolic/stack_rewrite:", "b.py"]
    assert "  2 comparisons with torch's version whose sides no measured case tells apart: c.py:2, c.py:4" in lines


def test_a_gate_that_the_projects_releases_make_needless_is_told_apart_from_one_that_is_not(tmp_path):
    gate = 'import torch\nif torch.__version__ < "1.7":\n    fast = 0\nif torch.__version__ < "2.1":\n    fast = 1\n'
    (tmp_path / "c.py").write_text(gate, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch>=1.8\n", encoding="utf-8")
    reply = CliRunner().invoke(main, ["workaround", "--scan", str(tmp_path)], env={"COLUMNS": "200"})
    dead = "always or never true at the releases looked at, so that one branch is not needed: c.py:2"
    assert f"  1 comparison with torch's version, {dead}" in reply.stdout.splitlines()
    assert (
        "  1 comparison with torch's version whose sides no measured case tells apart: c.py:4"
        in reply.stdout.splitlines()
    )


def test_a_form_of_ordinary_code_is_a_finding_only_where_something_speaks_of_an_export(tmp_path):
    gate = "def gate(x):\n    return torch.nn.functional.relu6(x + 3) / 6\n"
    (tmp_path / "plain.py").write_text(f"import torch\n\n{gate}", encoding="utf-8")
    (tmp_path / "told.py").write_text(f"import torch\n\n# exported to ONNX\n{gate}", encoding="utf-8")
    words = ["workaround", "--scan", str(tmp_path), "--torch", "1.10.2", "--fail-on", "obsolete"]

    bare, every = (CliRunner().invoke(main, [*words, *more]) for more in ((), ("--all",)))

    assert bare.stdout.startswith("1 workaround was found: 1 can go. Held against torch 1.10.2")
    assert "maybe ordinary code (--all): plain.py:4" in bare.stdout
    assert [line for line in every.stdout.splitlines() if line.startswith("    plain.py:4  hardsigmoid-no-rule/relu6")]
    assert bare.exit_code == 1
    (tmp_path / "told.py").unlink()
    assert CliRunner().invoke(main, words).exit_code == 0


def test_well_known_workarounds_are_found_however_they_are_spelled(scanned):
    texts = {name: re.sub(r"^(?=class |def )", "@onnx_ready\n", code, flags=re.M) for name, (_, code) in SAME.items()}
    found = scanned(**{name: f"{IMPORTS}{code}" for name, code in texts.items()})
    told = {name: {} for name in SAME}
    for item in found.findings:
        told[Path(item.site.path).stem] |= {case: item.site.sure for case, _ in item.site.fixes}
    wanted = {name: Sureness.SIMILAR if name in NAMELESS else Sureness.SAME for name in SAME}
    assert {name: told[name].get(case) for name, (case, _) in SAME.items()} == wanted


#: workarounds of well-known packages, each in a spelling of its own: the case that each leads to, and its word at 2.8
COPIES = {
    "a patched arange": (
        "arange-half/cast",
        "needed",
        "@contextmanager\ndef patched_arange(half):\n"
        '    """torch.arange with dtype= in half precision cannot be exported to ONNX."""\n    plain = torch.arange\n'
        "    def cast(*ends, dtype=None, **more):\n        return plain(*ends, **more).to(dtype)\n"
        "    torch.arange = cast\n    yield\n    torch.arange = plain\n",
    ),
    "a triangle by comparison": (
        "tril-no-rule/times_mask",
        "obsolete",
        'def lower_for_onnx(x):\n    """In place of torch.tril, which ONNX does not support."""\n'
        "    places = torch.arange(x.shape[0])\n    return x * (places <= places.unsqueeze(-1))\n",
    ),
    "padding worked out at the first call": (
        "same-padding-of-fixed-size/formula_of_fixed_size",
        "harmful",
        'class SamePadExport(nn.Conv2d):\n    """ONNX export friendly Tensorflow like \'SAME\' convolution"""\n'
        "    def forward(self, x):\n        size = x.size()[-2:]\n        if self.pad is None:\n"
        "            self.pad = nn.ZeroPad2d(around(size))\n        x = self.pad(x)\n"
        "        return F.conv2d(x, self.weight, self.bias, self.stride)\n",
    ),
}


@pytest.mark.parametrize("what", COPIES)
def test_a_copy_of_a_packages_workaround_leads_to_its_case_with_its_word(scanned, what):
    fix, word, code = COPIES[what]
    found = scanned(code, torch="2.8.0").findings
    assert {item.word.value for item in found if tuple(fix.split("/")) in item.site.fixes} == {word}


def test_ordinary_code_beside_them_is_no_finding(scanned):
    found = scanned(**{name: f"{IMPORTS}{code}" for name, code in ORDINARY.items()})
    claims = [item.site for item in found.findings if item.site.sure is not Sureness.SIMILAR]
    assert [site for site in claims if site.kind.value != "opset-pin"] == []


def test_where_the_case_is_not_plain_the_operator_is_named(scanned):
    text = "def pick(x, k):\n    # torch.kthvalue has no ONNX counterpart\n    return x.sort(-1)[0][..., k]\n"
    (item,) = scanned(text).findings
    assert (item.site.sure, item.site.name) == (Sureness.OPERATOR, "kthvalue")
    assert {entry.case for entry in item.evidence} == {"kthvalue-no-rule"}


def test_an_operator_that_is_only_named_is_a_count(scanned):
    rest = "    return x.sort(-1)[0][..., k]\n"
    named = f"{IMPORTS}def pick(x, k):\n    # ONNX needs the order of torch.kthvalue, explicitly\n{rest}"
    failing = f"{IMPORTS}def pick(x, k):\n    # the ONNX exporter fails on torch.kthvalue\n{rest}"
    elsewhere = (
        f"{IMPORTS}def pick(x, k):\n    # faster than torch.kthvalue. Without a batch the ONNX exporter fails.\n{rest}"
    )

    found = scanned(named=named, failing=failing, elsewhere=elsewhere).findings

    sure = {(Path(item.site.path).stem, item.site.sure) for item in found}
    assert ("failing", Sureness.OPERATOR) in sure
    assert {name for name, how in sure if how is not Sureness.SIMILAR} == {"failing"}


def test_a_small_form_without_words_needs_its_operator_in_a_name_around_it(scanned):
    forward = "    exportable = True\n\n    def forward(self, x):\n        return x * F.relu6(x + 3) / 6\n"
    texts = {name: f"{IMPORTS}# onnx\nclass {name}(nn.Module):\n{forward}" for name in ("Gate", "Hardswish")}

    found = scanned(**texts).findings

    assert {Path(item.site.path).stem for item in found if item.site.sure is Sureness.SAME} == {"Hardswish"}


def test_a_rule_that_is_written_names_its_operator_wherever_it_is_registered(scanned):
    text = 'def inverse(g, self):\n    return g.op("com.microsoft::Inverse", self)\n\n\n_reg(inverse)\n'
    (item,) = scanned(text).findings
    assert (item.site.kind.value, item.site.name, item.site.sure) == ("custom-symbolic", "inverse", Sureness.OPERATOR)


def test_an_assignment_to_slices_that_the_export_branch_concatenates_is_found(scanned):
    text = (
        "def decode(y, g):\n    if not torch.onnx.is_in_onnx_export():\n        y[..., 0:2] = y[..., 0:2] * 2 + g\n"
        "    else:\n        a, b = y.split((2, 3), -1)\n        y = torch.cat((a * 2 + g, b), -1)\n    return y\n"
    )
    assert "channels-written-in-place" in cases(scanned(text))


def test_what_writes_the_nodes_of_a_graph_itself_works_around_no_export(scanned):
    said = "    # torch.kthvalue has no ONNX counterpart\n"
    exported = f"import torch\n\n\ndef pick(x, k):\n{said}    return x.sort(-1)[0][..., k]\n"
    nodes = "".join(f"    x = op.{name}(x)\n" for name in ("Relu", "Transpose", "Reshape", "TopK", "Squeeze"))
    built = f"import torch\n\n\ndef pick(op, x):\n{said}{nodes}    return x\n"

    assert [Path(item.site.path).stem for item in scanned(exported=exported, built=built).findings] == ["exported"]


#: what speaks of an export beside an operator, and works around none of it
NO_REASONS = {
    "its own kind takes its place": """
import torch
def forward(x):
    # use `view` instead of `flatten` for dynamic exporting to ONNX
    return x.view(x.shape[0], -1)
""",
    "its own kind, as others do": """
import torch
def forward(x):
    # use view as mmdet instead of flatten for dynamically exporting to ONNX
    return x.view(x.shape[0], -1)
""",
    "the operator that is undone": """
import torch
def to_channels(data, factor):
    # performs nn.PixelShuffle(factor) in reverse, its bug for ONNX is why it is written out
    return data.view(1, 3, 4, factor, 4, factor).permute(0, 1, 3, 5, 2, 4).reshape(1, -1, 4, 4)
""",
    "quoted in a text": '''
import torch
def pool(hidden, ids, end):
    """What others do:
    # casting to torch.int for onnx compatibility: argmax doesn't support int64 inputs with opset 14
    hidden[torch.arange(len(hidden)), ids.to(torch.int).argmax(dim=-1)]
    """
    return hidden[torch.arange(len(hidden)), torch.argmax(torch.where(ids == end, 1, 0), dim=1)]
''',
    "before a message": """
import torch
def export(model):
    # def upsample_nearest2d(g, input, size): the parser does not support all ONNX ops
    print("Exporting to ONNX")
""",
}


@pytest.mark.parametrize("what", NO_REASONS)
def test_what_names_an_operator_and_works_around_none_is_no_finding(scanned, what):
    assert [item.site for item in scanned(NO_REASONS[what]).findings if item.site.sure is not Sureness.SIMILAR] == []


def test_an_operator_that_another_one_replaces_is_told(scanned):
    (found,) = scanned("""
import torch
def forward(x, index):
    # use scatter instead of index_put for exporting to ONNX
    return x.scatter(0, index, 1.0)
""").findings
    assert found.site.sure is not Sureness.SIMILAR
    assert {case for case, _ in found.site.fixes} | {found.site.name} >= {"indexput"} or found.site.name == "index_put"


_CONDITIONS = {
    "stable=True": ("torch.argsort(stable=True) is not exportable to ONNX", "y = x + 1e-6 * torch.arange(3)"),
    "non-factor": (
        "ONNX does not support nn.AdaptiveAvgPool2d with non-factor output size",
        "y = F.avg_pool2d(x, 2, 2)",
    ),
    "dynamic": (
        "torch.tril with a dynamic diagonal does not export to ONNX",
        "i = torch.arange(3)\n    y = x * (i[:, None] >= i[None, :])",
    ),
}


@pytest.mark.published
@pytest.mark.parametrize("name", ["", "reg"])
def test_a_registered_function_may_not_go_where_other_calls_of_its_operator_fail(tmp_path, name):
    (tmp_path / "a.py").write_text(
        f"import torch\nfrom torch.onnx import register_custom_op_symbolic{f' as {name}' if name else ''}\n\n\n"
        "def f(g, x, *rest):\n    return x\n\n\n"
        f"{name or 'register_custom_op_symbolic'}('aten::any', f, 16)\n"
        "torch.onnx.export(model, x, 'm.onnx', opset_version=17, dynamo=False)\n",
        encoding="utf-8",
    )
    shown = CliRunner().invoke(main, ["workaround", "--scan", str(tmp_path), "--torch", "2.2"], env={"COLUMNS": "300"})

    assert "can go" not in shown.stdout
    assert "other calls of it do not: On torch 2.2.2 torch's own calls of any (float32) do not pass" in shown.stdout


def test_a_fix_may_not_go_where_another_case_has_what_its_author_names_and_fails(tmp_path):
    (tmp_path / "a.py").write_text(
        "import torch\nimport torch.nn.functional as F\n\n\nclass Pool(torch.nn.Module):\n"
        '    """AdaptiveAvgPool2d((3,3)) workaround for ONNX export with dynamic size."""\n\n'
        "    def forward(self, x):\n        h, w = x.shape[-2:]\n        sh, sw = h // 3, w // 3\n"
        "        return F.avg_pool2d(x, (h - 2 * sh, w - 2 * sw), (sh, sw))\n",
        encoding="utf-8",
    )
    shown = CliRunner().invoke(main, ["workaround", "--scan", str(tmp_path), "--torch", "2.9"], env={"COLUMNS": "300"})

    assert shown.stdout.startswith("1 workaround was found; 1 cannot be judged (1 whose cases end differently).")
    assert "its author names dynamic: it can go where the code is adaptive-avg-pool2d-factor, and not" in shown.stdout


@pytest.mark.parametrize("condition", _CONDITIONS)
def test_a_fix_may_not_go_by_a_case_without_what_its_author_names(tmp_path, condition):
    said, code = _CONDITIONS[condition]
    (tmp_path / "a.py").write_text(
        f"import torch\nimport torch.nn.functional as F\n\n\ndef f(x):\n    # {said}\n    {code}\n    return y\n"
    )
    shown = CliRunner().invoke(main, ["workaround", "--scan", str(tmp_path), "--torch", "2.9.1", "--exporter", "trace"])

    # another case has it, and fails
    other = condition == "non-factor"
    why = ": it can go where the code is adaptive-avg-" if other else ", which no measured case of it has"
    assert f"its author names {condition}{why}" in shown.stdout
    assert "can go" not in shown.stdout.splitlines()[0]


@pytest.mark.published
@pytest.mark.parametrize(
    ("said", "call", "told"),
    [
        (
            "torch.any is not exported correctly",
            "(x != 0).to(torch.int32).sum(dim=1) > 0",
            "any do not pass in float32",
        ),
        ("log10 is not available in ONNX", "torch.log(x.half()) / math.log(10)", None),
        (
            "torch.cumsum in half precision fails in ONNX, cast",
            "torch.cumsum(x.float(), 1)",
            "cumsum do not pass in float16",
        ),
    ],
)
def test_a_workaround_whose_operator_is_wrong_in_the_types_of_the_file_is_not_judged(tmp_path, said, call, told):
    way = "dynamo=True" if "cumsum" in said else "dynamo=False"
    source = f"""
import math
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        # {said}
        return {call}


example = torch.rand(2, 4)
torch.onnx.export(Model(), (example,), "m.onnx", opset_version=20, {way})
"""
    (tmp_path / "model.py").write_text(source)
    (tmp_path / "half.py").write_text(source.replace("torch.rand(2, 4)", "torch.rand(2, 4).half()"))

    shown = {
        name: " ".join(
            CliRunner().invoke(main, ["workaround", "--scan", str(tmp_path / name), "--torch", "2.15"]).stdout.split()
        )
        for name in ("model.py", "half.py")
    }
    assert told is None or f"its cases work, and torch's own calls of {told}" in shown["model.py"]
    assert ("log10 do not pass in float16" in shown["half.py"]) == ("log10" in said)
    assert ("can go" in shown["model.py"]) == (told is None)
    assert "can go" not in shown["half.py"]
