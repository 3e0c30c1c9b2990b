"""Claims: what a source says, held against what was measured, with a reason that a person can read."""

from __future__ import annotations

import pytest
from store_rows import TEXT, cell

from caniexport.corpus import replays
from caniexport.corpus.claim_files import DocumentedCase, read_documents
from caniexport.corpus.claims import adjudicate
from caniexport.model import corpus
from caniexport.model.errors import CorpusError
from caniexport.model.rows import CLAIMS

CASE = """
from caniexport.model.case import Case, EnvironmentCase, environment_fix, fix
from caniexport.model.tensors import f32

class CrossNoSymbolic(Case):
    '''torch.cross has no rule.'''
    sources = ("seed:000",)
    inputs = ((f32(2),), (f32(3),))

    def forward(self, x):
        return x

    @fix("rewrite", "slices")
    def rewrite(self, x):
        return x

    newer = fix("version-upgrade", "2.1 has it", torch=">=2.1")

class OldNumpy(EnvironmentCase):
    '''An old numpy.'''
    sources = ("seed:001",)
    packages = ("numpy==1.0",)
"""

CLAIM_FILE = """
[cross-no-symbolic]
claims = [{{ source = "seed:000", says = "it is refused"{claim} }}]

[old-numpy]
claims = [{{ source = "seed:001", says = "it does not install", exporter = "", status = "fail", stage = "resolve" }}]
"""


def corpus_with(folder, claim, cases=CASE):
    """The cases with this one claim about the first, and what the documents say of them: both read from files."""
    (folder / "claims").mkdir(exist_ok=True)
    (folder / "vectors.py").write_text(cases)
    (folder / "claims" / "vectors.toml").write_text(CLAIM_FILE.format(claim=f", {claim}" if claim else ""))
    loaded = corpus.load([folder / "vectors.py"], stand_in=True)
    return loaded, read_documents(loaded)


@pytest.fixture
def verdict(tmp_path):
    """Adjudicates the first claim over rows and the runs of their files; the other is on an installation."""

    def adjudicated(claim, *rows, messages=None, index=0, runs=()):
        found = adjudicate(*corpus_with(tmp_path, claim), rows, messages or {}, runs)
        assert [item["claim"] for item in found] == ["cross-no-symbolic/1", "old-numpy/1"]
        assert set(found[index]) == {column.name for column in CLAIMS}
        return found[index]

    return adjudicated


def test_a_claim_is_reproduced_when_every_cell_it_selects_agrees(verdict):
    found = verdict(
        f"torch='==1.10.*', opset='9-14', status='fail', stage='export', message={TEXT!r}",
        *(cell(opset=opset, status="fail", stage="export", message_id="m") for opset in (9, 14)),
        cell(opset=8),
        cell(torch="1.11.0"),
        messages={"m": f"RuntimeError: {TEXT}."},
    )

    assert found["outcome"] == "reproduced"
    assert found["reason"] == "2 cells on torch 1.10.2, all as documented"
    assert found["cells"] == [f"1.10.2/cross-no-symbolic/plain/torchscript-trace/{opset}" for opset in (14, 9)]


def test_a_claim_that_some_cells_contradict_holds_in_part_and_says_what_was_seen(verdict):
    found = verdict(
        "torch='>=1.10', status='fail', finding='Fixed in 2.1.'",
        cell(status="fail", stage="export"),
        *(cell(torch="2.8.0", opset=opset, status="crash", stage="run", signature="run|x|y") for opset in (9, 10, 12)),
    )

    assert found["outcome"] == "partly"
    assert found["reason"] == (
        "1 of 4 cells on torch 1.10.2, 2.8.0 as documented; "
        "instead torch 2.8.0, opset 9-10, 12: crash at run (run|x|y); "
        "not measured yet on torch 1.11.0-2.7.1, 2.9.1-2.15.0. Fixed in 2.1."
    )
    assert [item.split("/")[0] for item in found["cells"]] == ["2.8.0"] * 3


@pytest.mark.parametrize(
    ("claim", "row"),
    [
        ("status='fail'", cell(status="pass")),
        ("status='fail', stage='export'", cell(status="fail", stage="check")),
        ("message='not there'", cell(status="fail", message_id="m")),
        ("message='not there'", cell(status="fail")),
        ("ops={Conv=3}", cell(ops="Conv*2 Loop")),
        ("ops={Loop=0}", cell(ops="Conv*2 Loop")),
        ("ops={Loop=0}", cell(ops=None)),
        ("facts={inputs=['x']}", cell(facts='{"inputs": ["y"]}')),
        ("facts={inputs=['x']}", cell()),
    ],
    ids=lambda value: value if isinstance(value, str) else "rows",
)
def test_whatever_differs_from_the_claim_contradicts_it(verdict, claim, row):
    assert verdict(claim, row, messages={"m": TEXT})["outcome"] == "not-reproduced"


@pytest.mark.parametrize(
    ("claim", "row"),
    [
        ("status=['fail', 'crash']", cell(status="crash")),
        (f"message={TEXT[:20]!r}", cell(warning_id="m")),
        ("ops={Conv=2, Loop=1, If=0}", cell(ops="Conv*2 Loop")),
        ("facts={inputs=['x'], n=1}", cell(facts='{"inputs": ["x"], "n": 1, "more": 2}')),
        ("exporter='default', opset=17", cell(exporter="default", opset=None, opset_effective=17)),
        ("exporter=''", cell(exporter="dynamo")),
        ("torch='>=2.9.0.dev1'", cell(torch="2.9.0.dev20260101")),
        ("needs='cuda'", cell(provider="cuda")),
        ("status='unsupported', opset='>=14'", cell(status="unsupported")),
        ("variant='rewrite'", cell(variant="rewrite")),
        ("variant='newer', status='pass'", cell(torch="2.1.2")),
    ],
    ids=lambda value: value if isinstance(value, str) else "rows",
)
def test_a_cell_that_the_claim_selects_and_describes_reproduces_it(verdict, claim, row):
    other = [cell(torch="2.0.1", status="mismatch")] if "newer" in claim else []

    assert verdict(claim, row, *other, messages={"m": TEXT})["outcome"] == "reproduced"


def test_an_opset_that_the_exporter_refuses_does_not_contradict_a_claim_about_all_opsets(verdict):
    refused = cell(opset=15, status="unsupported", stage="export")

    assert verdict("status='pass'", cell(), refused)["outcome"] == "reproduced"
    assert verdict("status='pass', opset=15", cell(), refused)["outcome"] == "not-reproduced"


BARRED = cell(torch="1.9.1", case=None, variant=None, exporter=None, opset=None, stage="resolve", status="not_run")


@pytest.mark.parametrize(
    ("claim", "rows", "reason"),
    [
        ("torch='==1.9.*'", [cell(), cell(torch="2.8.0")], "on torch 1.9.1"),
        ("", [], "on torch 1.0.1-2.15.0"),
        ("torch='==1.10.*'", [cell(case="other")], "on torch 1.10.2"),
        ("torch='>=1.9,<1.11'", [BARRED], "on torch 1.10.2"),
        ("torch='==1.10.*', opset='<=10'", [cell()], "on torch 1.10.2"),
        ("torch='==1.10.*', variant='rewrite'", [cell()], "on torch 1.10.2"),
        ("torch='<2.3', exporter='dynamo'", [cell()], "on torch 2.1.2-2.2.2"),
        ("torch='==2.8.*', exporter='default', opset=18", [cell()], "on torch 2.8.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "rows",
)
def test_a_claim_that_a_planned_cell_could_answer_is_pending_and_says_where(verdict, claim, rows, reason):
    found = verdict(claim, *rows)

    assert (found["outcome"], found["reason"]) == ("pending", f"not measured yet {reason}")
    assert found["cells"] == []


def test_what_torch_itself_refuses_says_nothing_of_an_export_but_what_is_said_to_work(verdict):
    refused = cell(status="fail", stage="eager", opset=9, message_id="a" * 16)
    here = "torch='==1.10.*', opset='9-14'"
    texts = {"a" * 16: "slow_conv2d_cpu is not implemented for Half"}

    silent = verdict(here + ", status='fail'", refused, messages=texts)
    assert (silent["outcome"], silent["cells"]) == ("not-measured", [])
    assert silent["reason"].startswith("torch itself stops before the export: torch 1.10.2")

    assert verdict(here + ", status='fail', message='for Half'", refused, messages=texts)["outcome"] == "reproduced"
    assert verdict(here + ", status='fail', stage='eager'", refused, messages=texts)["outcome"] == "reproduced"
    assert verdict(here + ", status='pass'", refused, messages=texts)["outcome"] == "not-reproduced"
    assert (
        verdict(here + ", status='fail'", refused, cell(status="fail", stage="export"), messages=texts)["reason"]
        == "1 cell on torch 1.10.2, all as documented"
    )


@pytest.mark.parametrize(
    ("claim", "rows", "reason"),
    [
        ("torch='==1.9.0'", [cell()], "no release ==1.9.0 can be entered; the table has 1.0.1-2.15.0"),
        ("torch='==1.9.*'", [cell(), BARRED], "torch 1.9.1 could not be installed"),
        (
            "torch='==1.10.*', exporter='dynamo'",
            [cell()],
            "torch 1.10.2 cannot be asked for variant plain, dynamo",
        ),
        ("torch='==1.10.*', opset='>=20'", [cell()], "torch 1.10.2 cannot be asked for variant plain, torchscript-"),
        ("needs='tensorrt'", [cell()], "needs tensorrt, on which nothing was measured"),
        (
            "torch='==1.10.*'",
            [cell(status="invalid"), cell(status="skip", opset=9)],
            "planned but not measured: 1 invalid, 1 skip",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "rows",
)
def test_a_claim_that_no_cell_can_answer_says_why(verdict, claim, rows, reason):
    found = verdict(claim, *rows)

    assert found["outcome"] == "not-measured"
    assert found["reason"].startswith(reason)
    assert found["cells"] == []


def test_a_case_that_a_release_cannot_run_is_not_waited_for(tmp_path):
    text = CASE.replace("sources =", 'needs_torch = ">=2.0"\n    sources =', 1)
    (found, _) = adjudicate(*corpus_with(tmp_path, "torch='==1.9.*'", text), [], {})

    assert found["outcome"] == "not-measured"
    assert found["reason"].endswith("the case needs torch >=2.0")


def test_a_claim_about_an_installation_is_judged_by_variant_alone(verdict):
    row = cell(case="old-numpy", torch=None, exporter=None, opset=None, provider="none", status="fail", stage="resolve")

    assert verdict("", row, index=1)["outcome"] == "reproduced"
    assert verdict("", row, index=1)["cells"] == ["-/old-numpy/plain/-/-"]
    assert verdict("", {**row, "stage": "import"}, index=1)["outcome"] == "not-reproduced"
    assert verdict("", cell(), index=1)["outcome"] == "pending"
    assert verdict("", cell(), index=1)["reason"] == "not measured yet: this installation has not been tried"


def run(version, status="pass", **changes):
    """How the file ``b`` ended on a version of onnxruntime."""
    row = dict.fromkeys(replays.COLUMNS)
    stage = "done" if status == "pass" else "compare"
    row.update(bundle="b", runtime="onnxruntime", runtime_version=version, provider="cpu", status=status, stage=stage)
    return {**row, **changes}


@pytest.fixture
def replayed(verdict):
    """The same with the runs of the files on other runtimes."""
    return lambda claim, rows, runs: verdict(claim, *rows, runs=runs)


OLD = "torch='==1.10.*', status='mismatch', runtime='onnxruntime>=1.8,<1.19'"


def test_a_claim_about_old_versions_of_a_runtime_is_judged_on_how_its_files_end_there(replayed):
    rows = [cell(bundle="b"), cell(opset=9, bundle="c")]
    runs = [run("1.7.0"), run("1.8.1", "mismatch"), run("1.18.1", "mismatch"), run("1.20.1")]
    found = replayed(OLD, rows, runs)

    assert (found["outcome"], found["runtime"]) == ("reproduced", "onnxruntime>=1.8,<1.19")
    assert found["reason"] == "2 runs of 1 cell on onnxruntime 1.8.1 to 1.18.1, torch 1.10.2, all as documented"
    assert found["cells"] == ["1.10.2/cross-no-symbolic/plain/torchscript-trace/14"]

    half = replayed(OLD, rows, [run("1.8.1", "mismatch"), run("1.18.1")])
    assert half["outcome"] == "partly"
    assert "instead onnxruntime 1.18.1, torch 1.10.2, opset 14: pass" in half["reason"]


def test_the_runtime_beside_a_release_counts_where_the_claim_names_its_version(replayed):
    own = "torch='==1.10.*', status='pass', runtime='onnxruntime==1.19.*'"

    assert replayed(own, [cell(bundle="b")], [])["reason"].startswith("1 run of 1 cell on onnxruntime 1.19.2")


def test_a_runtime_too_old_for_a_file_and_a_cell_without_a_file_say_nothing_about_a_claim(replayed):
    too_new = "load|Fail|[ONNXRuntimeError] : N : FAIL : Unsupported model IR version: N, max supported IR version: N"
    rows = [cell(bundle="b"), cell(opset=9, status="fail", stage="export")]
    refused = run("1.8.1", "fail", stage="load", signature=too_new)

    assert replayed(OLD, rows, [refused, run("1.18.1", "mismatch")])["outcome"] == "reproduced"

    silent = replayed(OLD, rows, [refused])
    assert silent["outcome"] == "pending"
    assert silent["reason"] == "not measured yet: none of its files was run on onnxruntime>=1.8,<1.19"


def test_a_claim_about_a_runtime_that_nobody_can_install_is_not_measured(replayed):
    found = replayed("torch='==1.10.*', status='fail', runtime='onnxruntime<0.5'", [cell(bundle="b")], [])

    assert found["outcome"] == "not-measured"
    assert found["reason"] == "no release onnxruntime<0.5 is in the table of runtimes"


def test_a_file_that_is_not_as_asked_is_degraded_wherever_it_runs(replayed):
    rows = [cell(bundle="b", status="degraded", opset_effective=13)]

    assert replayed(OLD.replace("mismatch", "degraded"), rows, [run("1.8.1")])["outcome"] == "reproduced"


def test_why_a_claim_is_not_reproduced_is_said_only_of_one_that_is_not(verdict):
    claim = "torch='==1.10.*', status='fail', why_not='form-not-met', finding='Another model.'"

    assert verdict(claim, cell())["why_not"] == "form-not-met"
    assert verdict(claim, cell(status="fail"))["why_not"] is None
    assert verdict(claim, cell(), cell(opset=9, status="fail"))["why_not"] is None


CHECKED = {"checker": "strict", "checker_id": "c"}
REFUSED = {"c": "[ShapeInferenceError] Inferred shape and existing shape differ in rank"}


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("status='fail', stage='check'", "reproduced"),
        ("status='fail', stage='check', message='differ in rank'", "reproduced"),
        ("status='fail', message='differ in rank'", "reproduced"),
        ("status='fail', message='another thing'", "not-reproduced"),
        ("status='fail', stage='load'", "not-reproduced"),
        ("status='fail'", "not-reproduced"),
        ("status='pass'", "reproduced"),
    ],
)
def test_a_claim_about_the_checker_is_judged_on_what_the_checker_said(verdict, claim, outcome):
    """Another one on what the runtime made of the file."""
    here = f"torch='==1.10.*', {claim}"

    assert verdict(here, cell(**CHECKED), messages=REFUSED)["outcome"] == outcome


def test_what_passes_while_the_checker_refuses_it_is_said_so_in_the_reason(verdict):
    found = verdict("torch='==1.10.*', status='pass'", cell(**CHECKED), cell(opset=9, checker="ok"), messages=REFUSED)

    assert found["reason"] == (
        "2 cells on torch 1.10.2, all as documented; onnx's checker refuses the file of 1 that pass"
    )


def test_a_cell_that_is_not_the_same_every_time_never_reproduces_a_claim_alone(verdict):
    unsteady = cell(status="mismatch", unstable=["mismatch", "pass"])

    for status in ("pass", "mismatch"):
        found = verdict(f"torch='==1.10.*', status={status!r}", unsteady)
        assert found["outcome"] == "partly"
        assert found["reason"] == (
            "0 of 1 cell on torch 1.10.2 as documented; "
            "not the same every time: mismatch, pass were seen (1 cell on torch 1.10.2)"
        )
    assert verdict("torch='==1.10.*', status='mismatch'", unsteady, cell(opset=9, status="mismatch"))["outcome"] == (
        "partly"
    )
    assert verdict("torch='==1.10.*', status='crash'", unsteady)["outcome"] == "not-reproduced"


ENTRY = """
[cross-no-symbolic]
records = ["cross", "cross-of-vectors"]

[[cross-no-symbolic.claims]]
source = "seed:000"
says = "it is refused"
record = "cross"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('record = "cross"', 'torch_version = "<1.12"', "claim 1: unknown key 'torch_version' (nearest: torch)"),
        (
            'record = "cross"',
            'record = "crosss"',
            "claim 1: unknown record 'crosss' (nearest: cross",
        ),
        ('record = "cross"', 'variant = "rewritten"', "claim 1: unknown variant 'rewritten' (nearest: rewrite)"),
        ('record = "cross"', 'status = "failed"', "claim 1: unknown status 'failed' (nearest: fail)"),
        ('record = "cross"', 'torch = "about 1.9"', "claim 1: 'about 1.9' is not a version specifier"),
        ('record = "cross"', 'opset = "<11,ten"', "claim 1: 'ten' is not an opset"),
        ('record = "cross"', 'runtime = "tensor-board<1"', "claim 1: 'tensor-board<1' names no runtime"),
        ('record = "cross"', 'runtime = "onnxruntime about 1"', "claim 1: 'onnxruntime about 1' names no runtime"),
        ('record = "cross"', 'runtime = "onnxruntime>=new"', "claim 1: '>=new' is not a version specifier"),
        ('record = "cross"', 'why_not = "perhaps"', "claim 1: unknown why_not 'perhaps'"),
        ('record = "cross"', "torch = 1.9", "claim 1: torch takes a text"),
        ('says = "it is refused"\n', "", "claim 1: says is missing"),
        (
            "cross-no-symbolic",
            "cross-symbolic",
            "unknown case 'cross-symbolic' (nearest: cross-no-symbolic",
        ),
        ("records =", "record =", "case cross-no-symbolic: unknown key 'record' (nearest: records)"),
        ("[[cross-no-symbolic.claims]]", "[cross-no-symbolic.claims]", "claims are written as [[case.claims]]"),
        ("records = [", "records = ", "cannot be read"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_with_its_file_and_its_place(tmp_path, old, new, said):
    loaded, _ = corpus_with(tmp_path, "")
    assert old in ENTRY
    (tmp_path / "claims" / "vectors.toml").write_text(ENTRY.replace(old, new))

    with pytest.raises(CorpusError) as refused:
        read_documents(loaded)

    assert "vectors.toml: " in str(refused.value)
    assert said in str(refused.value)


def test_claims_without_a_case_file_are_refused_with_the_nearest_one(tmp_path):
    loaded, _ = corpus_with(tmp_path, "")
    (tmp_path / "claims" / "vector.toml").write_text(ENTRY)

    with pytest.raises(CorpusError, match=r"vector\.toml: unknown case file 'vector' \(nearest: vectors\)"):
        read_documents(loaded)


def test_a_case_of_which_no_document_says_anything_has_no_claims(tmp_path):
    loaded, _ = corpus_with(tmp_path, "")
    (tmp_path / "claims" / "vectors.toml").unlink()

    assert read_documents(loaded) == {"cross-no-symbolic": DocumentedCase(), "old-numpy": DocumentedCase()}


def test_a_claim_about_a_gpu_is_judged_by_how_the_files_end_there(replayed):
    claim = "torch='==1.10.*', status='mismatch', needs='cuda'"
    files = [cell(bundle="b", opset=9), cell(bundle="c", opset=11), cell(bundle="d", opset=13)]
    there = [run("1.31.1", "mismatch", provider="cuda"), run("1.31.1", bundle="c", provider="cuda")]

    found = replayed(claim, files, [run("1.31.1", "mismatch", bundle="d"), *there])

    assert found["outcome"] == "partly"
    assert found["reason"] == (
        "1 of 2 runs of 2 cells on onnxruntime 1.31.1 (cuda), torch 1.10.2 as documented; "
        "instead onnxruntime 1.31.1 (cuda), torch 1.10.2, opset 11: pass"
    )
    assert found["cells"] == ["1.10.2/cross-no-symbolic/plain/torchscript-trace/11"]
    unasked = replayed(claim, files, [run("1.31.1", "mismatch")])
    assert (unasked["outcome"], unasked["reason"]) == ("not-measured", "needs cuda, on which nothing was measured")
