"""Publishing: good local rows go into the published dataset, deterministically, and nothing else changes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from onnx_bytes import MODEL, bundled, model, node
from store_rows import TEXT, cell, environment, identities, write_cells, write_journal

from caniexport.gate.rules import read_rules
from caniexport.model import corpus
from caniexport.model.errors import StoreError
from caniexport.model.journal import Journal
from caniexport.publish.publish import publish
from caniexport.store import Dataset, graphs, writer
from caniexport.store.catalogue import case_rows
from caniexport.store.onnx_graph import parse_model

OWN = "ImportError: cannot import name 'x' from 'caniexport.worker.cell'"
SAYS = {name: rule.sentence for name, rule in read_rules().items()}

CASE = """
import torch
from contextlib import contextmanager
from caniexport.model.case import Case, EnvironmentCase, environment_fix, fix
from caniexport.model.tensors import f32

SIZE = 3

def sliced(x):
    # a comment that stays
    return x[:, :SIZE]

@contextmanager
def registered(opset):
    yield helper_of_registered(opset)

def helper_of_registered(opset):
    return opset

def unused():
    return None

class CrossNoSymbolic(Case):
    '''torch.cross has no rule.

    More words.
    '''
    sources = ("seed:000",)
    aten_ops = ("aten::cross",)
    inputs = ((f32(2),), (f32(3),))

    def setup(self):
        self.size = SIZE

    def forward(self, x):
        return torch.cross(x, x)

    @fix("rewrite", "slices")
    def rewrite(self, x):
        return sliced(x)

    symbolic = fix("custom-symbolic", "a rule of our own", patch=registered)
    newer = fix(
        "version-upgrade",
        "2.1 has it",
        torch=">=2.1",
    )

class OldNumpy(EnvironmentCase):
    '''An old numpy.'''
    sources = ("seed:001",)
    packages = ("numpy==1.0",)
    code = "import numpy"
    pinned = environment_fix("version-upgrade", "a newer one", packages=("numpy",))
"""


CLAIMS = """
[cross-no-symbolic]
records = ["cross"]

[[cross-no-symbolic.claims]]
source = "seed:000"
says = "it is refused"
opset = 14
status = "fail"
message = "not supported"
"""


@pytest.fixture
def home(tmp_path):
    """A folder with a corpus; ``publish`` promotes its local rows."""
    return Home(tmp_path)


class Home:
    def __init__(self, root):
        self.local, self.published, self.cases = root / "local", root / "results", root / "vectors.py"
        (root / "claims").mkdir()
        (root / "claims" / "vectors.toml").write_text(CLAIMS)
        self.write_corpus(CASE)

    def write_corpus(self, text):
        self.cases.write_text(text)
        self.corpus = corpus.load([self.cases], stand_in=True)

    def cell(self, **changes):
        row = cell(**changes)
        if "case_hash" not in changes:
            row["case_hash"] = self.corpus[row["case"]].case_hash(row["variant"])
        return row

    def measure(self, *rows, gate="good", messages=None, run="run-1", at="2026-01-02T03:00:00Z", **changes):
        where = environment(gate=gate, run_id=run, measured_at=at, **changes)
        rows = [{**row, "run_id": run} for row in rows]
        write_journal(self.local, rows, [where], messages, name=run)

    def publish(self):
        return publish(self.local, self.published, self.corpus)

    def answers(self):
        return Dataset.open(self.published, None)

    def bytes(self):
        return {path.name: path.read_bytes() for path in sorted(self.published.glob("**/*")) if path.is_file()}


def test_states_of_sources_are_published_from_the_file_beside_the_cases(home):
    home.cases.with_name("upstream.csv").write_text("source,kind,state,as_of,seen\nseed:000,issue,open,,2026-11-22\n")
    home.measure(home.cell())
    home.publish()

    assert [(row["source"], row["state"]) for row in home.answers().records("sources")] == [("seed:000", "open")]


def test_rows_of_a_good_run_are_published_with_their_texts_environment_catalogue_and_claims(home):
    home.measure(
        home.cell(status="fail", stage="export", message_id="m"),
        home.cell(opset=9, warning_id="w"),
        messages={"m": TEXT, "w": "a warning", "x": "of nothing"},
    )

    report = home.publish()

    dataset = home.answers()
    assert sorted(row[-2:] for row in identities(dataset.cells())) == [(9, "pass"), (14, "fail")]
    assert dataset.messages(["m", "w", "x"]) == {"m": TEXT, "w": "a warning"}
    assert [row["env_id"] for row in dataset.records("environments")] == ["env-1"]
    assert [row["outcome"] for row in dataset.records("claims")] == ["reproduced"]
    assert dataset.problems == ()
    assert report.promoted == {"cells/torch-1.10.2-cpu.parquet": 2}
    assert report.quarantined == {}


def test_the_graphs_of_published_files_are_published_and_no_others(home):
    drawn, unknown = bundled(home.local, MODEL), bundled(home.local, model([node("Relu", ["x"], ["y"])]))
    home.measure(home.cell(bundle=drawn))

    report = home.publish()

    assert "graphs.parquet" in report.written
    assert graphs.find_graph(home.answers(), None, drawn) == parse_model(MODEL)
    assert graphs.find_graph(home.answers(), None, unknown) is None
    assert graphs.find_graph(home.answers(), home.local, unknown) is not None, (
        "a file of this machine needs no publishing"
    )
    assert graphs.find_graph(home.answers(), None, "../../etc/passwd") is None
    graphs.locate_bundle(home.local, drawn).unlink()
    assert home.publish().written == (), "a graph stays when its file is gone"


def test_of_all_opsets_of_a_variant_the_highest_that_gave_a_file_is_drawn(home):
    low, high = bundled(home.local, MODEL), bundled(home.local, model([node("Relu", ["x"], ["y"])]))
    failed = home.cell(opset=16, status="fail", stage="export")
    home.measure(home.cell(opset=9, bundle=low), home.cell(opset=14, bundle=high), failed)

    home.publish()

    assert graphs.find_graph(home.answers(), None, high) is not None
    assert graphs.find_graph(home.answers(), None, low) is None


def test_published_seconds_have_two_digits_whenever_a_release_is_written(home):
    home.measure(home.cell(seconds_export=0.0123456, seconds_load=None, seconds_run=12.3456))

    home.publish()

    ((export, load, run),) = home.answers().select(("seconds_export", "seconds_load", "seconds_run"))
    assert (export, load, run) == (pytest.approx(0.012, rel=1e-6), None, pytest.approx(12.0, rel=1e-6))
    assert home.publish().promoted == {}, "the rounded rows are those measured"


def test_a_bundle_that_is_not_what_its_name_says_is_reported_and_has_no_graph(home):
    good, bad = bundled(home.local, MODEL), bundled(home.local, model([]))
    graphs.locate_bundle(home.local, bad).write_bytes(graphs.locate_bundle(home.local, good).read_bytes())
    home.measure(home.cell(bundle=bad))

    report = home.publish()

    assert any(bad in problem for problem in report.problems)
    assert not (home.published / "graphs.parquet").exists()


def test_publishing_twice_writes_nothing_the_second_time(home):
    home.measure(home.cell(message_id="m"), messages={"m": TEXT})
    home.publish()
    before = home.bytes()

    report = home.publish()

    assert report.written == ()
    assert report.promoted == {}
    assert home.bytes() == before


def test_the_same_rows_measured_in_another_order_are_published_as_the_same_bytes(tmp_path):
    found = []
    for name, order in (("one", 1), ("two", -1)):
        (tmp_path / name).mkdir()
        home = Home(tmp_path / name)
        home.measure(*[home.cell(opset=opset, message_id="m") for opset in range(9, 15)][::order], messages={"m": TEXT})
        home.publish()
        found.append(home.bytes())

    assert found[0] == found[1]
    assert len(found[0]) == 8


def test_a_release_that_was_not_measured_again_keeps_its_bytes(home):
    home.measure(home.cell(), home.cell(torch="2.8.0"))
    home.publish()
    before = home.bytes()
    settled = {"apart": True, "attempts": 2, "measured_at": "2026-05-01T00:00:00Z"}
    home.measure(home.cell(torch="2.8.0", status="mismatch", **settled), run="run-2", at="2026-05-01T00:00:00Z")

    report = home.publish()

    assert home.bytes()["torch-1.10.2-cpu.parquet"] == before["torch-1.10.2-cpu.parquet"]
    assert "cells/torch-2.8.0-cpu.parquet" in report.written
    assert "cells/torch-1.10.2-cpu.parquet" not in report.written
    assert home.answers().select(("status",), {"torch": ["2.8.0"]}) == [("mismatch",)]


@pytest.mark.parametrize("gate", ["quarantined: canary-pass came out as fail", None])
def test_a_run_that_is_quarantined_or_was_never_judged_is_left_out_with_the_reason(home, gate):
    home.measure(home.cell())
    home.publish()
    before = home.bytes()
    rows = [home.cell(status="fail", env_id="env-2", measured_at="2026-05-01T00:00:00Z")]
    home.measure(*rows, gate=gate, run="run-3", env_id="env-2", at="2026-05-01T00:00:00Z")

    report = home.publish()

    assert home.bytes() == before
    assert report.quarantined["torch 1.10.2 (run run-3)"] == (
        gate or "not judged: the run did not finish; measure its release again"
    )


def test_a_quarantined_run_is_not_named_any_more_once_its_cells_were_measured_again(home):
    home.measure(home.cell(), home.cell(opset=9), run="bad", gate="quarantined: x")
    later = {"measured_at": "2026-05-01T00:00:00Z"}
    home.measure(home.cell(**later), run="one", at="2026-05-01T00:00:00Z")
    assert list(home.publish().quarantined) == ["torch 1.10.2 (run bad)"]

    home.measure(home.cell(opset=9, **later), run="other", at="2026-05-01T00:00:00Z")

    assert home.publish().is_whole
    assert sorted(home.answers().cells()["opset"]) == [9, 14]


def test_a_run_that_is_still_going_is_left_for_later_and_named(home):
    home.measure(home.cell())
    with Journal(home.local / "journal", "going") as journal:
        journal.cell(home.cell(opset=9), {})
        report = home.publish()

    assert home.answers().cells()["opset"].tolist() == [14]
    assert "has not finished" in report.problems[0]
    home.publish()
    assert sorted(home.answers().cells()["opset"]) == [9, 14]


def test_rows_that_say_nothing_are_not_published(home):
    rows = [home.cell(opset=opset, status=status) for opset, status in ((9, "invalid"), (10, "not_run"))]
    home.measure(*rows, cell(case=None, variant=None, env_id=None, status="not_run", stage="resolve"))

    report = home.publish()

    assert home.answers().cells()["status"].tolist() == []
    assert list(report.dropped.values()) == [3]
    assert report.quarantined == {}


def test_that_packages_cannot_build_a_model_is_published(home):
    home.measure(home.cell(opset=11, status="skip", stage="eager", signature="eager|CannotBuild|timm has no x"))
    home.publish()

    assert home.answers().cells()["status"].tolist() == ["skip"]


def test_rows_of_a_variant_that_the_corpus_no_longer_has_go(home):
    home.measure(home.cell(), home.cell(variant="rewrite"), home.cell(variant="rewrite", torch="2.8.0"))
    home.publish()
    home.write_corpus(CASE.replace('@fix("rewrite", "slices")', "").replace("def rewrite", "def other"))

    report = home.publish()

    assert home.answers().cells()["variant"].tolist() == ["plain"]
    assert report.removed == ("cells/torch-2.8.0-cpu.parquet",)
    assert not (home.published / "cells" / "torch-2.8.0-cpu.parquet").exists()
    assert "2.8.0" not in (home.published / "MANIFEST").read_text()


def test_rows_of_older_code_go_once_the_newer_code_is_measured_and_not_before(home):
    home.measure(home.cell(), home.cell(opset=9))
    home.publish()
    home.write_corpus(CASE.replace("torch.cross(x, x)", "torch.cross(x, x + 1)"))
    home.publish()
    assert sorted(home.answers().cells()["opset"]) == [9, 14]

    # an older time than the published rows': the corpus decides which code is newer, not the clock
    home.measure(home.cell(opset=12, measured_at="2025-01-01T00:00:00Z"), run="run-2")
    home.publish()

    assert home.answers().cells()["opset"].tolist() == [12]


def test_environment_cases_are_published_without_a_gate(home):
    row = home.cell(
        case="old-numpy", torch=None, exporter=None, opset=None, env_id=None, status="fail", stage="resolve"
    )
    write_journal(home.local, [row])

    home.publish()

    assert home.answers().cells()["case"].tolist() == ["old-numpy"]


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:100])])
def test_a_published_file_that_is_damaged_or_gone_stops_publishing_before_anything_is_written(home, damage):
    home.measure(home.cell(), home.cell(torch="2.8.0"))
    home.publish()
    damage(home.published / "cells" / "torch-2.8.0-cpu.parquet")
    before = home.bytes()
    home.measure(home.cell(opset=9), run="run-2")

    with pytest.raises(StoreError, match=r"torch-2.8.0-cpu.parquet.*git checkout"):
        home.publish()

    assert home.bytes() == before


def test_a_local_file_that_is_damaged_is_named_and_what_is_published_stays(home):
    home.measure(home.cell())
    home.publish()
    before = home.answers().cells()["opset"].tolist()
    path = home.local / "environments.parquet"
    path.write_bytes(path.read_bytes()[:100])

    report = home.publish()

    assert any("environments.parquet" in problem for problem in report.problems)
    assert home.answers().cells()["opset"].tolist() == before


def test_every_published_file_is_named_with_its_digest_and_no_other(home):
    home.measure(home.cell(message_id="m"), messages={"m": TEXT})
    home.publish()
    home.measure(home.cell(torch="2.8.0"), run="run-2")
    home.publish()

    expected = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size} {path.relative_to(home.published)}"
        for path in sorted(home.published.rglob("*.parquet"), key=lambda path: str(path.relative_to(home.published)))
    ]
    assert len(expected) == 8
    assert (home.published / "MANIFEST").read_text().splitlines() == expected


def test_a_text_that_was_lost_is_reported(home):
    home.measure(home.cell(message_id="gone"))

    assert "1 error text" in home.publish().problems[0]


def test_the_catalogue_has_every_variant_with_the_code_a_person_would_copy(home):
    home.publish()

    rows = {(row["case"], row["variant"]): row for row in home.answers().records("cases")}
    codes = {key: row["code"] for key, row in rows.items()}

    assert codes["cross-no-symbolic", "plain"] == (
        "SIZE = 3\n\ndef setup(self):\n    self.size = SIZE\n\ndef forward(self, x):\n    return torch.cross(x, x)"
    )
    assert codes["cross-no-symbolic", "rewrite"] == (
        "SIZE = 3\n\n"
        "def sliced(x):\n    # a comment that stays\n    return x[:, :SIZE]\n\n"
        '@fix("rewrite", "slices")\ndef rewrite(self, x):\n    return sliced(x)'
    )
    assert codes["cross-no-symbolic", "symbolic"] == (
        "@contextmanager\ndef registered(opset):\n    yield helper_of_registered(opset)\n\n"
        "def helper_of_registered(opset):\n    return opset\n\n"
        'symbolic = fix("custom-symbolic", "a rule of our own", patch=registered)'
    )
    assert codes["cross-no-symbolic", "newer"].splitlines()[1] == '    "version-upgrade",'
    assert codes["old-numpy", "plain"] == 'packages = ("numpy==1.0",)\n\ncode = "import numpy"'
    plain, newer = (rows["cross-no-symbolic", name] for name in ("plain", "newer"))
    assert (plain["title"], plain["theme"], plain["kind"]) == ("torch.cross has no rule.", "vectors", "plain")
    assert (newer["kind"], newer["needs_torch"], list(newer["records"])) == ("version-upgrade", ">=2.1", ["cross"])
    assert plain["case_hash"] == home.corpus["cross-no-symbolic"].case_hash("plain")


def test_the_real_corpus_has_a_title_and_code_for_every_variant():
    cases = corpus.load([Path(__file__).resolve().parents[1] / "cases"], stand_in=True)

    rows = case_rows(cases, dict.fromkeys(cases, ()))

    assert len(rows) >= len(cases) > 10
    for row in rows:
        assert len(row["title"]) > 5
        assert len(row["code"]) > 10
        compile(row["code"], "code", "exec")


def test_every_run_that_has_a_row_keeps_its_own_verdict_counts_and_measuring_code(home):
    home.measure(home.cell(code="aaa"), run="whole", repeated=500, differing=[], planned=7, rows=7)
    home.publish()
    home.measure(home.cell(opset=9, code="bbb"), run="few", at="2026-01-03T03:00:00Z")
    home.publish()

    kept = {row["run_id"]: row for row in home.answers().records("environments")}
    assert {run: (row["gate"], row["repeated"], row["planned"]) for run, row in kept.items()} == {
        "whole": ("good", 500, 7),
        "few": ("good", None, 1),
    }
    assert {run: list(row["codes"]) for run, row in kept.items()} == {"whole": ["aaa"], "few": ["bbb"]}


def test_a_run_whose_last_row_was_replaced_has_no_verdict_any_more(home):
    home.measure(home.cell(), run="old")
    home.publish()
    home.measure(home.cell(measured_at="2026-05-01T00:00:00Z"), run="new", at="2026-05-01T00:00:00Z")
    home.publish()

    assert [row["run_id"] for row in home.answers().records("environments")] == ["new"]


def statuses(home):
    return sorted(zip(*(home.answers().cells()[name] for name in ("opset", "status")), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        OWN,
        'Traceback (most recent call last):\n  File "api.py", line 1, in call\n    f()\n'
        '  File "/a/caniexport/worker/compare.py", line 9, in _compare_one\n    x\nKeyError: 3',
    ],
)
def test_a_row_whose_error_names_the_measuring_code_is_held_back_and_the_rest_is_published(home, text):
    home.measure(home.cell(), home.cell(opset=9, status="fail", stage="export", message_id="m"), messages={"m": text})

    report = home.publish()

    assert statuses(home) == [(14, "pass")]
    assert report.held == {SAYS["own-error"]: ["1.10.2/cross-no-symbolic/plain/torchscript-trace/9"]}
    assert not report.is_whole


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: cell, export, compare and run are words of others too",
        "TypeError: normal() takes 4 positional arguments but 9 were given",
        "%1 = aten::relu(%x)\n/a/caniexport/worker/exporters.py(76): _torchscript\n# a graph",
        "TypeError: NamesAreNumbers.forward() got an unexpected keyword argument 'input_names'",
    ],
)
def test_a_row_whose_error_is_of_others_is_published(home, text):
    home.measure(home.cell(status="fail", stage="export", message_id="m"), messages={"m": text})

    assert home.publish().is_whole
    assert statuses(home) == [(14, "fail")]


def test_a_variant_that_differed_when_it_was_measured_again_is_held_back_until_each_cell_is_settled(home):
    both = [home.cell(), home.cell(opset=9), home.cell(variant="rewrite")]
    found = ["cross-no-symbolic/plain/torchscript-trace/9: status pass, fail"]
    home.measure(*both, run="whole", repeated=500, differing=found)

    report = home.publish()

    assert home.answers().cells()["variant"].tolist() == ["rewrite"]
    assert {reason: len(names) for reason, names in report.held.items()} == {SAYS["differs"]: 2}

    settled = {"apart": True, "attempts": 2, "measured_at": "2026-05-01T00:00:00Z"}
    home.measure(home.cell(opset=9, **settled), run="apart", at="2026-05-01T00:00:00Z")
    assert {reason: len(names) for reason, names in home.publish().held.items()} == {SAYS["differs"]: 1}
    assert len(home.answers().cells()) == 2


def test_measuring_the_variant_again_as_it_was_measured_does_not_get_it_in(home):
    found = ["cross-no-symbolic/plain/torchscript-trace/14: status pass, fail"]
    home.measure(home.cell(code="a"), run="whole", repeated=500, differing=found, codes=["a"])
    later = {"measured_at": "2026-05-01T00:00:00Z"}
    home.measure(home.cell(code="a", **later), run="few", at="2026-05-01T00:00:00Z")
    assert SAYS["differs"] in home.publish().held

    home.measure(
        home.cell(code="b", **later | {"measured_at": "2026-05-02T00:00:00Z"}), run="mended", at="2026-05-02T00:00:00Z"
    )
    assert home.publish().held == {}


def between(home, status="fail", **changes):
    """A cell in three releases in a row; that in the middle fails in words of its own."""
    words = {"signature": "export|E|only here", "stage": "export"}
    return [
        home.cell(torch="1.9.1"),
        home.cell(torch="1.10.2", status=status, **words, **changes),
        home.cell(torch="1.11.0"),
    ]


def test_what_fails_in_one_release_alone_is_held_back_until_it_is_settled_and_the_published_row_stays(home):
    home.measure(home.cell(torch="1.10.2"))
    home.publish()
    later = {"measured_at": "2026-05-01T00:00:00Z"}
    home.measure(*between(home, **later), run="suspect", at="2026-05-01T00:00:00Z")

    report = home.publish()

    assert report.held == {SAYS["implausible"]: ["1.10.2/cross-no-symbolic/plain/torchscript-trace/14"]}
    assert set(home.answers().cells()["status"]) == {"pass"}

    settled = {"apart": True, "attempts": 2, "measured_at": "2026-05-02T00:00:00Z"}
    home.measure(between(home, **settled)[1], run="apart", at="2026-05-02T00:00:00Z")
    assert home.publish().held == {}
    assert home.answers().select(("status",), {"torch": ["1.10.2"]}) == [("fail",)]


@pytest.mark.parametrize(
    ("known", "new", "held"),
    [
        ({}, {"status": "fail", "signature": "export|E|now"}, True),
        ({"status": "fail", "signature": "export|E|x"}, {"status": "fail", "signature": "export|E|now"}, True),
        ({}, {"status": "fail", "signature": "export|E|now", "runtime": None, "runtime_version": None}, True),
        ({}, {"status": "fail", "signature": "export|E|now", "case_hash": "f" * 16}, False),
        ({}, {"status": "fail", "signature": "export|E|now", "onnxscript": "0.7.2"}, False),
        ({}, {"status": "fail", "signature": "export|E|now", "runtime_version": "1.0.0"}, False),
        ({}, {"status": "fail", "signature": "export|E|now", "apart": True, "attempts": 2}, False),
        ({}, {"max_abs_error": 1e-9}, False),
        (
            {"unstable": ["fail", "pass"]},
            {"status": "fail", "signature": "export|E|now", "apart": True, "attempts": 2},
            False,
        ),
    ],
)
def test_another_outcome_than_was_published_is_held_back_where_nothing_else_has_changed(home, known, new, held):
    home.measure(home.cell(**known))
    home.publish()
    at = "2026-05-01T00:00:00Z"
    home.measure(home.cell(**new, measured_at=at), run="later", at=at)

    report = home.publish()

    name = "1.10.2/cross-no-symbolic/plain/torchscript-trace/14"
    assert report.held == ({SAYS["moved"]: [name]} if held else {})


def test_a_variant_that_is_unstable_anywhere_is_held_back_until_it_is_measured_apart_and_twice(home):
    write_cells(home.published / "profiles" / "period", [home.cell(unstable=["fail", "pass"])])
    home.measure(home.cell(torch="2.0.1"))
    name = "2.0.1/cross-no-symbolic/plain/torchscript-trace/14"

    assert home.publish().held == {SAYS["unstable"]: [name]}

    at = "2026-05-01T00:00:00Z"
    home.measure(home.cell(torch="2.0.1", apart=True, attempts=2, measured_at=at), run="apart", at=at)
    assert home.publish().held == {}


def test_published_rows_that_are_known_to_be_false_go_and_doubtful_ones_stay_and_are_named(home):
    home.measure(*between(home))
    write_cells(home.published, [{**row, "run_id": "gone"} for row in between(home)])
    write_cells(home.published, [home.cell(torch="2.0.1", status="fail", message_id="m", run_id="gone")])
    writer.write_rows(home.published / "messages.parquet", "messages", [{"message_id": "m", "text": OWN}])

    report = publish(home.local.with_name("empty"), home.published, home.corpus)

    assert report.dropped == {f"published before, and {SAYS['own-error']}": 1}
    assert {reason: len(names) for reason, names in report.doubtful.items()} == {
        "no verdict on its run was kept": 2,
        SAYS["implausible"]: 1,
    }
    assert len(home.answers().cells()) == 3


def test_a_row_of_a_quarantined_run_goes_though_it_was_published_before(home):
    home.measure(home.cell())
    home.publish()
    (row,) = home.answers().records("environments")
    quarantined = [{**row, "gate": "quarantined: x"}]
    (home.published / "MANIFEST").unlink()
    writer.write_rows(home.published / "environments.parquet", "environments", quarantined)

    report = publish(home.local.with_name("empty"), home.published, home.corpus)

    assert report.dropped == {f"published before, and {SAYS['quarantined']}": 1}
    assert home.answers().cells().empty


def test_check_says_what_would_be_held_back_and_writes_nothing(home):
    home.measure(*between(home))

    report = publish(home.local, home.published, home.corpus, write=False)

    assert list(report.held) == [SAYS["implausible"]]
    assert not home.published.exists()


def test_a_file_that_one_runtime_does_not_always_answer_alike_is_unstable_in_every_row_of_it(home):
    bundle = "b" * 24
    wrong = {"status": "mismatch", "stage": "compare", "signature": "compare|Mismatch|x", "max_abs_error": 2.0}
    other = home.cell(opset=10, bundle="c" * 24, apart=True, attempts=2)
    home.measure(home.cell(bundle=bundle), home.cell(opset=9, bundle=bundle, **wrong), other)

    report = home.publish()

    assert report.unstable == 2
    assert statuses(home) == [(9, "mismatch"), (10, "pass"), (14, "mismatch")]
    assert home.answers().select(("opset", "unstable", "stage", "max_abs_error")) == [
        (9, ["mismatch", "pass"], "compare", 2.0),
        (10, None, "done", None),
        (14, ["mismatch", "pass"], "compare", 2.0),
    ]
    assert home.publish().written == (), "a published row keeps its word"


def test_what_was_seen_once_is_not_unseen_by_measuring_again(home):
    bundle = "b" * 24
    wrong = {"status": "mismatch", "stage": "compare", "signature": "compare|Mismatch|x", "max_abs_error": 2.0}
    home.measure(home.cell(bundle=bundle))
    home.publish()

    at = "2026-05-01T00:00:00Z"
    for _ in range(2):
        home.measure(home.cell(bundle=bundle, measured_at=at, **wrong), run="run-2", at=at)
        home.publish()

        (row,) = home.answers().records("cells")
        assert (row["status"], row["unstable"]) == ("mismatch", ["mismatch", "pass"])
