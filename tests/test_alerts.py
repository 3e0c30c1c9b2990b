"""Alerts: what is worse than it was, one for each cause, with an identity that a second run does not change."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import ExitStack
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from small_dataset import append, cell, environment, write

from caniexport.alerts import alert, baselines, known
from caniexport.cli import main
from caniexport.corpus.verdicts import Verdict
from caniexport.store import Dataset, writer

TORCH = "2.8.0"
LATER = "2026-11-21T10:00:00Z"


def measured(torch, case, variant, exporter, opset, status, signature=None, **more):
    """A row measured a day later."""
    row = cell(torch, case, variant, exporter, opset)
    stage = {"pass": "done", "mismatch": "compare"}.get(status, "export")
    told = {"status": status, "stage": stage, "signature": signature, "message_id": None, "measured_at": LATER}
    return {**row, **told, "run_id": "run-later", **more}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A home whose local dataset is its published one, measured again with the same outcome."""
    folder = tmp_path_factory.mktemp("alerts")
    (folder / "cases").mkdir()
    write(folder / "results")
    write(folder / "results-local", (TORCH,))
    return folder


@pytest.fixture
def home(made, tmp_path, monkeypatch):
    """A copy of it."""
    folder = shutil.copytree(made, tmp_path / "home")
    monkeypatch.setenv("CANIEXPORT_HOME", str(folder))
    return folder


def run(*words):
    return CliRunner().invoke(main, ["alerts", *map(str, words)])


def data(*words):
    return json.loads(run("--json", *words).stdout)


def table(found, title):
    """The rows of a table of an answer."""
    return next((item["rows"] for item in found["tables"] if item["title"] == title), [])


def kinds(found):
    """By kind of alert: its cells."""
    by_kind = {}
    for row in table(found, "every cell"):
        by_kind.setdefault(row["kind"], []).append(row)
    return by_kind


def counted(found):
    return {row["verdict"]: row["cells"] for row in table(found, "cells by what happened to them")}


def break_cross(home, opsets=(14, 15), status="fail", signature="export: Broken: cross", **more):
    append(
        home / "results-local",
        *(measured(TORCH, "cross", "plain", "torchscript-trace", n, status, signature, **more) for n in opsets),
    )


def test_the_same_rows_are_no_news_and_every_cell_is_counted(home):
    reply = run()

    assert (reply.exit_code, reply.output.splitlines()[0]) == (0, "Nothing is worse than it was.")
    told = Dataset.open(home / "results", None).cells()
    assert sum(counted(data()).values()) == len(told[told["variant"] != "int_scale"])  # known to be wrong


def test_what_worked_and_fails_is_one_alert_for_all_its_cells_and_stops_a_build(home):
    break_cross(home)

    reply = run()
    (row,) = table(data(), "new regressions")

    assert (reply.exit_code, reply.output.splitlines()[0]) == (1, "1 new regression in torch 2.8.0: cross.")
    assert (row["torch"], row["becomes"]["text"], row["cells"]) == (TORCH, "pass → fail", 2)
    assert (row["call"], row["opset"]) == (["dynamo=False"], [14, 15])
    assert "✗ pass → fail  dynamo=False" in reply.output


def test_the_newest_release_comes_first_then_the_worst(home):
    write(home / "results-local", ("1.10.2", TORCH))
    wrong = measured(TORCH, "grid-sample", "plain", "torchscript-trace", 9, "mismatch", "compare")
    older = measured("1.10.2", "item", "tensor_scale", "torchscript-trace", 14, "crash", "killed")
    append(home / "results-local", wrong, older)
    break_cross(home)

    told = [(row["torch"], row["becomes"]["word"]) for row in table(data(), "new regressions")]

    assert told == [(TORCH, "mismatch"), (TORCH, "fail"), ("1.10.2", "crash")]
    assert "3 new regressions in torch 2.8.0 and 1 older release" in run().output


def test_many_alerts_take_one_screen_and_a_short_verdict(home):
    cases = ("cross", "item", "grid-sample")
    rows = [
        measured(TORCH, case, "plain", "dynamo", n, "fail", f"export: Broken {n} {case}")
        for case in cases
        for n in range(14, 27)
    ]
    append(home / "results-local", *rows)

    lines = run().output.splitlines()

    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("37 new regressions in torch 2.8.0: ")


def test_a_timeout_is_suspect_shown_and_no_reason_to_stop(home):
    break_cross(home, status="timeout")

    reply = run()
    assert reply.exit_code == 0
    assert "suspect (1)" in reply.output


def test_a_case_that_is_new_removed_or_changed_is_never_an_alert(home):
    append(home / "results-local", measured(TORCH, "new-case", "plain", "torchscript-trace", 14, "fail", "x"))
    break_cross(home, case_hash="another")
    append(home / "results", cell(TORCH, "gone-case", "plain", "torchscript-trace", 14))

    found = data("--baseline", home / "results", "--current", home / "results-local")
    counts = counted(found)

    assert kinds(found) == {}
    assert (counts["new-failing"], counts["rebaselined"]) == (1, 2)
    assert counts["unknown"] > 0
    assert found["verdict"] == f"Nothing that is still measured is worse: {counts['unknown']} cells not measured now."


def test_states_without_a_common_cell_are_no_all_clear(home):
    write(home / "other", ("1.10.2",))

    reply = run("--baseline", home / "other", "--current", home / "results-local")

    assert (reply.exit_code, reply.output.splitlines()[0][:12]) == (1, "Not compared")


def test_the_first_rows_of_all_have_nothing_to_be_compared_with_and_stop_no_build(home):
    shutil.rmtree(home / "results")

    reply = run()

    assert (reply.exit_code, reply.output.splitlines()[0][:23]) == (0, "Nothing to compare with")


def test_rows_of_a_quarantined_run_make_no_alert_and_are_counted(home):
    gate = "quarantined: canary-pass came out as fail"
    append(home / "results-local", environments=[{**environment(TORCH), "run_id": "run-later", "gate": gate}])
    break_cross(home)

    found = data()

    assert kinds(found) == {}
    assert "Left out: 2 rows of quarantined runs." in found["notes"]


def test_an_alert_keeps_its_identity_and_is_new_once_until_it_grows(home):
    break_cross(home)
    first = data("--save")
    again = run("--save")
    append(home / "results-local", measured(TORCH, "grid-sample", "plain", "torchscript-trace", 16, "timeout", "other"))

    later = data()
    ids = [[row["id"] for row in kinds(found)["regressed"]] for found in (first, later)]
    assert ids[0] == ids[1] != []
    assert (again.exit_code, again.output.splitlines()[0]) == (0, "Nothing new: 1 known regression still open.")
    assert table(later, "new regressions") == []
    assert len(table(later, "regressions that are still open")) == 1
    break_cross(home, opsets=(16,))
    assert run().exit_code == 1


def test_what_happens_on_another_provider_has_an_id_of_its_own_and_changes_no_other(home):
    """A failing export is the same whatever would run the file; wrong values on a GPU are another cause."""
    cuda = {"provider": "cuda", "device": "cuda", "runtime_version": "1.31.1"}
    before = [{**cell(TORCH, "cross", "plain", "torchscript-trace", n), **cuda} for n in (14, 15)]
    append(home / "results", *before)
    break_cross(home, opsets=(14,), status="mismatch", signature="compare: values differ")
    first = kinds(data())["regressed-silent"][0]["id"]

    break_cross(home, opsets=(14,), status="mismatch", signature="compare: values differ", **cuda)
    break_cross(home, opsets=(15,), signature="export: Broken: cross")
    break_cross(home, opsets=(15,), signature="export: Broken: cross", **cuda)
    found = kinds(data())

    silent = {row["id"]: row["provider"] for row in found["regressed-silent"]}
    assert silent.pop(first) == "cpu"
    assert list(silent.values()) == ["cuda"]
    assert len({row["id"] for row in found["regressed"]}) == 1
    assert {row["provider"] for row in found["regressed"]} == {"cpu", "cuda"}


def test_an_acknowledged_alert_stops_nothing_and_is_resolved_by_two_good_measurements(home):
    break_cross(home)
    known = kinds(data("--save"))["regressed"][0]["id"]
    assert run("--acknowledge", "abc").exit_code == 2
    assert run("--acknowledge", known).exit_code == 0
    assert 'state = "acknowledged"' in (home / "alerts.toml").read_text()

    for number, expected in ((1, "acknowledged"), (1, "acknowledged"), (2, "resolved")):
        good = {"measured_at": f"2026-11-21T1{number + 1}:00:00Z", "run_id": f"run-good-{number}"}
        rows = (measured(TORCH, "cross", "plain", "torchscript-trace", n, "pass") for n in (14, 15))
        append(home / "results-local", *({**row, **good} for row in rows))
        run("--save")
        assert f'state = "{expected}"' in (home / "alerts.toml").read_text(), number


def test_a_workaround_that_became_obsolete_is_news_and_stops_nothing(home):
    rows = (measured("1.12.1", "cross", "plain", "torchscript-trace", n, "pass") for n in range(7, 17))
    write(home / "results-local", ("1.12.1",))
    append(home / "results-local", *rows)

    assert run().exit_code == 0
    assert "obsolete (1)" in run().output
    assert {row["variant"] for row in kinds(data())["obsolete"]} == {"stack_rewrite"}


def write_expectations(home, **changes):
    entry = {"case": "cross", "torch": "==2.8.0", "exporter": "trace", "opset": "14-15", "allowed": ["fail"]}
    entry = {**entry, "reason": "known", **changes}
    review = entry.pop("review", "2999-01-01")
    lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    (home / "expectations.toml").write_text("\n".join(["[[expect]]", *lines, f"review = {review}"]))


def test_what_is_expected_is_no_alert(home):
    break_cross(home)
    write_expectations(home)

    found = data()
    assert (kinds(found), table(found, "expectations that do not hold")) == ({}, [])
    assert "Left out: 2 expected changes." in found["notes"]


@pytest.mark.parametrize(
    ("changes", "trouble"),
    [
        ({}, "unexpected-pass"),
        ({"case": "crossing"}, "unmatched"),
        ({"torch": "==1.10.2", "opset": "14"}, None),
        ({"torch": "==1.10.2", "opset": "14", "review": "2020-01-01"}, "expired"),
    ],
)
def test_an_entry_that_passes_speaks_of_nothing_or_is_past_its_review_fails_the_check(home, changes, trouble):
    write_expectations(home, **changes)

    assert [row["trouble"] for row in table(data(), "expectations that do not hold")] == [trouble] * (
        trouble is not None
    )
    assert run().exit_code == (1 if trouble else 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[expect]\n", "cannot be read"),
        ('[[expect]]\ncase = "cross"\n', "entry 1: allowed is missing"),
        ('[[expect]]\ncaes = "cross"\n', "case"),
        ('[[expect]]\ncase = "c"\nallowed = ["fails"]\nreason = "x"\nreview = 2999-01-01\n', "fail"),
        ('[[expect]]\ncase = "c"\nallowed = ["fail"]\nreason = "x"\nreview = "soon"\n', "is no date"),
    ],
)
def test_an_expectations_file_that_cannot_be_used_is_refused_with_the_reason(home, text, says):
    (home / "expectations.toml").write_text(text)

    reply = run()
    assert reply.exit_code == 2
    assert says in reply.output
    assert isinstance(reply.exception, SystemExit)


def test_a_baseline_is_a_folder_or_a_git_revision_and_the_last_two_states_where_none_is_named(home):
    def git(*words):
        subprocess.run(["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    (home / "results-local").rename(home / "elsewhere")
    reply = run()
    assert (reply.exit_code, "--baseline: a folder with a dataset is wanted" in reply.output) == (2, True)
    git("init", "-q")
    git("add", "results")
    git("commit", "-qm", "one")
    append(home / "results", measured(TORCH, "cross", "plain", "torchscript-trace", 14, "fail", "x"))
    git("add", "results")
    git("commit", "-qm", "two")

    assert run("--baseline", "HEAD~1", "--current", "HEAD").exit_code == 1
    assert run("--baseline", "HEAD", "--current", home / "results").exit_code == 0
    assert run().exit_code == 1
    reply = run("--baseline", "no-such-thing")
    assert reply.exit_code == 2
    assert "no-such-thing" in reply.output


def test_a_link_in_a_strangers_revision_is_not_followed(home, tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    (tmp_path / "secret").write_text("secret")
    git("init", "-q")
    (home / "results" / "cases.parquet").unlink(missing_ok=True)
    (home / "results" / "cases.parquet").symlink_to(tmp_path / "secret")
    git("add", "results")
    git("commit", "-qm", "one")

    with ExitStack() as stack:
        folder = baselines._check_out(home, "HEAD", stack)
        assert not (folder / "cases.parquet").exists()
        assert not (folder / "cases.parquet").is_symlink()
        assert any(folder.rglob("*.parquet"))


def test_a_baseline_of_another_version_of_the_contract_is_refused(home):
    import pyarrow.parquet as pq

    path = home / "old" / "cells" / "torch-2.8.0-cpu.parquet"
    writer.write_rows(path, "cells", [])
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"caniexport_schema": b"99"}), path)

    reply = run("--baseline", home / "old")
    assert reply.exit_code == 1
    assert "version 99" in reply.output


def test_nightlies_are_compared_with_the_night_before(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    for folder, night, status in (("results", "20260101", "pass"), ("results-local", "20260102", "fail")):
        torch = f"2.16.0.dev{night}"
        row = {**measured(TORCH, "cross", "plain", "dynamo", 18, status, "x"), "torch": torch}
        writer.write_rows(tmp_path / folder / "cells" / f"torch-{torch}-cpu.parquet", "cells", [row])
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))

    assert {row["torch"] for row in kinds(data())["regressed"]} == {"nightly"}


def test_every_format_says_what_stops_the_build(home):
    append(
        home / "results-local", measured(TORCH, "cross", "plain", "torchscript-trace", 14, "fail", "a: 100%\x07 | <b>")
    )

    markdown, github, atom = (run("--format", form) for form in ("markdown", "github", "atom"))

    assert {reply.exit_code for reply in (markdown, github, atom)} == {1}
    assert "## 1 new regression in torch 2.8.0: cross." in markdown.output
    assert "| 2.8.0 | ✗ pass → fail | dynamo=False |" in markdown.output
    assert github.output.startswith("::error title=regressed%3A cross in torch 2.8.0%2C 1 cell::")
    assert all(line.startswith("::") for line in github.output.strip().split("\n"))
    feed = ElementTree.fromstring(atom.output.encode())
    titles = [item.text for item in feed.iter("{http://www.w3.org/2005/Atom}title")]
    assert "regressed: cross in torch 2.8.0, 1 cell" in titles
    assert run("--format", "atom").output == atom.output


def test_the_file_of_alerts_is_read_as_it_was_written(tmp_path):
    change = alert.Change(Verdict.REGRESSED, "", alert.CellPoint("c", "plain", TORCH, "default", None, "cpu"))
    told = {"since": "2026-11-29", "note": 'said "no" \x7f \\ 😀', "good": ("2026-11-30",), "is_new": False}
    item = alert.Alert("id", change.kind, "cause\n|", (change,), **told)
    (tmp_path / "alerts.toml").write_text(known.format_states([item]), encoding="utf-8")

    assert known.read_states(tmp_path / "alerts.toml") == (item,)
