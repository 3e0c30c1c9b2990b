"""A case along torch: stretches on which it ended alike and the intervals between them, from rows and by command."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from caniexport.answers.history import alike
from click.testing import CliRunner
from small_dataset import append, cell, write

from caniexport import api
from caniexport.cli import main
from caniexport.model.messages import message_id

ROOT = Path(__file__).resolve().parent.parent
TRACE = "torchscript-trace"
RELEASES = ("1.10.2", "1.12.1", "2.0.1", "2.8.0", "2.15.0")


def row(torch, status, signature=None, opset=14, runtime=None, **more):
    """A cell of one line; what failed while exporting has no runtime."""
    made = cell(torch, "several", "plain", TRACE, opset)
    stage = {"pass": "done", "mismatch": "compare", "not_run": "load", "invalid": "eager"}.get(status, "export")
    made.update(status=status, stage=stage, signature=signature, message_id=signature and message_id(signature), **more)
    if runtime:
        made["runtime_version"] = runtime
    return made


def told(tmp_path, rows, **filters):
    """The lines of a dataset that has these rows."""
    write(tmp_path, RELEASES)
    append(tmp_path, *rows, texts={message_id("e|A|x"): "A: x", message_id("e|B|y"): "B: y"})
    (found,) = api.history(api.open(tmp_path), "several", **filters)
    return found


def said(line):
    """``1.10.2-1.12.1 fail; (1.12.1, 2.0.1] pass`` of a line."""
    parts = []
    for item in line.stretches:
        began = f"({item.began.after}, {item.began.by}] " if item.began else f"{item.torch[0]} "
        parts.append(began + item.status.value)
    return "; ".join(parts)


SEVERAL = [
    row("1.10.2", "fail", "e|A|x"),
    row("1.12.1", "pass"),
    row("2.0.1", "mismatch", "compare|Mismatch|input set N, output N: shape […] expected, onnxruntime gave […]"),
    row("2.8.0", "mismatch", "compare|Mismatch|input set N, output N: N of N values differ"),
    row("2.15.0", "pass"),
]


def test_several_changes_are_several_intervals(tmp_path):
    (line,) = told(tmp_path, SEVERAL).lines

    assert said(line) == (
        "1.10.2 fail; (1.10.2, 1.12.1] pass; (1.12.1, 2.0.1] mismatch; (2.0.1, 2.8.0] mismatch; (2.8.0, 2.15.0] pass"
    )
    assert [change.verdict.value for change in line.changes] == ["fixed", "regressed-silent", "same-mismatch", "fixed"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_rows_changes_nothing(tmp_path, seed):
    shuffled = random.Random(seed).sample(SEVERAL, len(SEVERAL))
    assert told(tmp_path / "one", SEVERAL) == told(tmp_path / "other", shuffled)


@pytest.mark.parametrize("status", ["not_run", "invalid", "skip", None])
def test_a_release_that_says_nothing_widens_the_interval_and_invents_no_change(tmp_path, status):
    lost = [item for item in SEVERAL if item["torch"] != "2.0.1"]
    (line,) = told(tmp_path, [*lost, *([row("2.0.1", status)] if status else [])]).lines

    assert said(line) == "1.10.2 fail; (1.10.2, 1.12.1] pass; (1.12.1, 2.8.0] mismatch; (2.8.0, 2.15.0] pass"
    assert [change.unmeasured for change in line.changes] == [(), ("2.0.1",), ()]
    assert line.unmeasured == ("2.0.1",)


def test_the_end_of_what_was_measured_is_no_change(tmp_path):
    (line,) = told(tmp_path, [row("1.12.1", "pass"), row("2.0.1", "pass")]).lines

    assert said(line) == "1.12.1 pass"
    assert (line.changes, line.unmeasured) == ((), ())


def test_another_error_is_a_change_and_other_wrong_values_are_none(tmp_path):
    wrong = "compare|Mismatch|input set N, output N: N of N values differ, most at […]: expected {} onnxruntime gave V"
    rows = [row("1.10.2", "fail", "e|A|x"), row("1.12.1", "fail", "e|B|y")]
    rows += [row("2.0.1", "mismatch", wrong.format("V")), row("2.8.0", "mismatch", wrong.format("-V"))]
    found = told(tmp_path, rows)

    assert said(found.lines[0]) == "1.10.2 fail; (1.10.2, 1.12.1] fail; (1.12.1, 2.0.1] mismatch"
    assert [found.messages[item.message] for item in found.lines[0].stretches[:2]] == ["A: x", "B: y"]


def test_cells_of_older_code_count_as_not_measured_and_are_told(tmp_path):
    rows = [*SEVERAL[:1], row("1.12.1", "pass", case_hash="older"), *SEVERAL[2:]]
    found = told(tmp_path, rows)

    assert said(found.lines[0]).startswith("1.10.2 fail; (1.10.2, 2.0.1] mismatch")
    assert found.notes[0] == "1 cells of older code of the case are left out"


def test_a_status_keeps_whole_lines(tmp_path):
    rows = [*SEVERAL, row("2.0.1", "pass", opset=15)]
    found = told(tmp_path, rows, status="fail")

    assert [line.opset for line in found.lines] == [14]
    assert len(found.lines[0].stretches) == 5


def test_opsets_that_say_the_same_are_put_together_and_others_are_not(tmp_path):
    late = [item for torch in RELEASES[1:] for item in (row(torch, "pass", opset=15), row(torch, "pass", opset=16))]
    early = [row("1.10.2", "unsupported", opset=15), *(row(torch, "pass", opset=9) for torch in RELEASES)]
    # 13 is taken by 1.10.2 too, and was not measured there
    gap = [row(torch, "pass", opset=13) for torch in RELEASES[1:]]
    found = alike(told(tmp_path, [*late, *early, *gap, *SEVERAL]).lines)

    assert [each.opsets for each in found] == [(9, 15, 16), (13,), (14,)]
    assert found[0].line.stretches[0].torch == RELEASES


@pytest.fixture(scope="module")
def published(results):
    return results


def lines(found):
    return {(line.exporter, line.opset): line for line in found.lines}


def test_a_bare_call_that_changed_five_times_is_told_so(published):
    """The corpus's padding of an adaptive pool came and went with the rules for sizes and for nearest upsampling."""
    (found,) = api.history(published, "adaptive-avg-pool2d-non-factor/resize_to_multiple")

    bare = lines(found)["default", None]
    assert said(bare) == (
        "1.0.1 fail; (1.1.0, 1.2.0] pass; (1.3.1, 1.4.0] fail; (1.4.0, 1.5.1] pass; (1.7.1, 1.8.1] fail; "
        "(1.11.0, 1.12.1] pass"
    )
    # 1.12 did not mend it: its default call asks for a later opset
    assert [change.axes for change in bare.changes] == ["torch", "torch", "torch", "torch", "opset"]
    assert said(lines(found)[TRACE, 9]).endswith("(1.7.1, 1.8.1] fail")


def test_the_flip_of_the_default_exporter_is_one_interval_made_by_the_exporter(published):
    (found,) = api.history(published, "tracer-item-bakes-value", exporter="default")

    (change,) = lines(found)["default", None].changes
    assert (change.after, change.by, change.verdict.value, change.axes) == ("2.8.0", "2.9.1", "fixed", "exporter")


def run(*words):
    return CliRunner().invoke(main, ["why", *words, "--along", "torch"], env={"COLUMNS": "120"})


def test_the_command_shows_stretches_intervals_and_what_did_it():
    reply = run("adaptive-avg-pool2d-non-factor/resize_to_multiple", "--exporter", "default")
    text = [" ".join(line.split()) for line in reply.output.splitlines()]

    assert reply.exit_code == 0, reply.output
    assert "1.8.1 to 1.11.0 ✗ fail export (1.7.1, 1.8.1] torch [3]" in text
    assert "1.12.1 to 2.15.0 ✓ pass (1.11.0, 1.12.1] opset" in text
    assert "- (a, b]: last seen otherwise on a, first seen so on b" in text
    assert "TypeError: 'NoneType' object is not subscriptable" in text


def test_the_command_gives_json():
    reply = run("tracer-item-bakes-value", "--exporter", "default", "--json")

    (found,) = json.loads(reply.stdout)
    began = found["lines"][0]["stretches"][1]["began"]
    assert (began["after"], began["by"], began["axes"]) == ("2.8.0", "2.9.1", "exporter")


def test_a_case_that_nobody_knows_is_answered_with_the_nearest():
    reply = run("tracer-item-bake-value")

    assert reply.exit_code == 2
    assert "tracer-item-bakes-value" in reply.stderr


def test_avg_pool_with_ceil_mode_shows_its_several_changes(published):
    """A dynamic height and width, traced at opset 11: wrong without a word, then refused, then right."""
    (found,) = api.history(published, "avg-pool-ceil-mode-dynamic")
    traced = lines(found)[TRACE, 11]

    assert [item.status.value for item in traced.stretches[-4:]] == ["pass", "mismatch", "fail", "pass"]
    wrong, refused, right = (item.began for item in traced.stretches[-3:])
    assert wrong.by in ("1.11.0", "1.12.1")
    assert (refused.after, refused.by, right.after) == ("1.13.1", "2.0.1", "2.0.1")
    assert "get_pool_ceil_padding" in found.messages[traced.stretches[-2].message]
