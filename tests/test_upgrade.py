"""From one point to another: every change with its verdict, the axis that did it, and the workarounds that move."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from small_dataset import append, cell, write

from caniexport.answers.decision import decide, order_ways
from caniexport.answers.filters import Filters
from caniexport.answers.points import parse
from caniexport.answers.select import load
from caniexport.answers.upgrade import upgrade
from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.store import Dataset


@pytest.fixture
def local(tmp_path):
    return write(tmp_path / "results-local")


def ask(local, before, after, **filters):
    return upgrade(Dataset.open(None, local), parse(before), parse(after), Filters(**filters))


def changes(found):
    return {change.case: (group.verdict.value, change.axes) for group in found.groups for change in group.changes}


def fixes(found):
    return {f"{item.case}/{item.variant}" for item in found}


def test_what_torch_fixed_is_told_as_torchs_doing_and_its_workaround_may_go(local):
    found = ask(local, "torch=1.12.1,exporter=trace,opset=14", "torch=2.0.1,exporter=trace,opset=14")

    assert changes(found) == {"cross": ("fixed", "torch")}
    assert fixes(found.drop) == {"cross/stack_rewrite"}
    assert "item/tensor_scale" in fixes(found.keep)
    assert not found.breaks


def test_the_other_way_round_it_breaks_and_the_workaround_must_come(local):
    found = ask(local, "torch=2.0.1,exporter=trace,opset=14", "torch=1.12.1,exporter=trace,opset=14")

    assert changes(found) == {"cross": ("regressed", "torch")}
    assert fixes(found.add) == {"cross/stack_rewrite"}
    (group,) = found.groups
    assert "Exporting the operator cross" in group.message
    assert group.changes[0].fixes == ("cross/stack_rewrite",)
    assert found.breaks


def test_of_several_axes_the_one_that_did_it_is_named(local):
    by_opset = ask(local, "torch=2.0.1,exporter=trace,opset=14", "torch=2.8.0,exporter=trace,opset=17")
    by_exporter = ask(local, "torch=2.0.1,exporter=trace,opset=18", "torch=2.15.0,exporter=dynamo,opset=18")

    assert changes(by_opset) == {"grid-sample": ("fixed", "opset")}
    assert changes(by_exporter) == {"item": ("fixed", "exporter")}


def test_wrong_numbers_come_first(local):
    found = ask(local, "torch=2.8.0,exporter=dynamo,opset=18", "torch=1.12.1,exporter=trace,opset=14")

    assert found.groups[0].verdict.value == "regressed-silent"
    assert changes(found)["item"][0] == "regressed-silent"


def test_what_is_left_out_is_the_releases_own_and_said(local):
    found = ask(local, "1.12.1", "2.8.0")

    assert (found.before.exporter, found.before.opset) == ("torchscript-trace", 13)
    assert (found.after.exporter, found.after.opset) == ("torchscript-trace", 18)
    assert any("opset 13" in note for note in found.notes)


def test_a_point_compared_with_itself_changes_nothing(local):
    found = ask(local, "2.8.0", "2.8.0")

    assert (found.groups, found.drop, found.add, found.lost) == ((), (), (), ())
    assert decide(found).startswith("Nothing changes: both points are torch 2.8.0, torchscript-trace, opset 18")
    assert not found.breaks


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("2.8.0", "2.8.7", "torch 2.8.7 was not measured; 2.8.0 is answered"),
        ("2.8.7", "2.8.0", "torch 2.8.7 was not measured; 2.8.0 is answered"),
        ("2.8.0", "torch=2.8.0,numpy=2.0", "not measured with numpy 2.0 (measured with 1.26.4, older)"),
    ],
)
def test_two_points_that_the_same_cells_answer_are_no_all_clear(local, before, after, said):
    found = ask(local, before, after)

    assert decide(found).startswith("Nothing is known of what changes: the same measured cells answer for both")
    assert said.casefold() in decide(found).casefold()
    assert found.breaks


def test_a_case_that_was_not_measured_at_one_point_is_no_verdict_and_is_named(local):
    append(local, cell("2.8.0", "new-case", "plain", "torchscript-trace", 18))

    found = ask(local, "2.0.1", "torch=2.8.0,opset=18")

    assert found.unknown == ("new-case",)
    assert "new-case" not in changes(found)


def test_an_operator_list_narrows_the_answer_and_an_unknown_operator_is_answered_with_the_nearest(local, tmp_path):
    assert set(changes(ask(local, "1.12.1", "2.8.0", ops=("grid_sampler",)))) == {"grid-sample"}
    with pytest.raises(UnknownName, match="grid_sampler"):
        ask(local, "1.12.1", "2.8.0", ops=("grid_samplr",))


def test_an_unmeasured_patch_release_is_answered_with_the_measured_one_and_that_is_said(local):
    found = ask(local, "1.12.0", "2.8.0")

    assert found.before.torch == "1.12.1"
    assert any("torch 1.12.0 was not measured; 1.12.1 is answered" in note for note in found.notes)


@pytest.mark.parametrize(
    ("point", "says"),
    [
        ("torch=2.7", "2.7 has not been measured"),
        ("torhc=2.8.0", "torch"),
        ("torch=2.8.0,opset=x", "opset 'x'"),
        ("torch=2.8.0,exporter=dynmo", "dynamo"),
        ("torch=2.8.0,torch=2.0.1", "given twice"),
    ],
)
def test_a_point_that_cannot_be_understood_is_refused_with_the_nearest_right_one(local, point, says):
    with pytest.raises(UnknownName, match=says):
        ask(local, point, "2.8.0")


@pytest.mark.parametrize(
    ("point", "axes"),
    [
        ("torch==2.8.0+cu126", {"torch": "2.8.0+cu126"}),
        ("pytorch=2.8,opset==17", {"torch": "2.8", "opset": "17"}),
        ("pytorch 2.8", {"torch": "2.8"}),
        ("torch v2.8,onnxruntime-gpu==1.20.1", {"torch": "v2.8", "runtime": "onnxruntime==1.20.1"}),
        ("torch=>=2.6", {"torch": ">=2.6"}),
    ],
)
def test_a_point_is_read_as_requirement_files_and_people_write_it(point, axes):
    assert parse(point) == axes


def test_a_list_that_names_nothing_or_nothing_known_is_no_all_clear(local, tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    path = tmp_path / "ops.txt"
    ask_about = ["upgrade", "--from", "1.12.1", "--to", "2.0.1", "--ops", str(path)]

    path.write_text("# none yet\n")
    empty = CliRunner().invoke(main, ask_about)
    path.write_text("GELU\n")
    unknown = CliRunner().invoke(main, ask_about)

    assert (empty.exit_code, unknown.exit_code) == (2, 1)
    assert "ops.txt: it names no operator" in empty.output
    assert "nothing is known of GELU" in unknown.output


def test_where_nothing_was_measured_nothing_is_said_to_be_well(local):
    found = ask(local, "2.0.1", "torch=2.8.0,opset=99")

    assert found.breaks
    assert "nothing of this was measured at both ends" in decide(found)
    assert "Move to" not in decide(found)


def test_a_release_that_was_not_measured_is_told_in_the_first_line(local):
    assert "Torch 2.8.7 was not measured; 2.8.0 is answered." in decide(ask(local, "2.0.1", "2.8.7"))
    kept = ask(local, "torch=2.8.0,exporter=trace", "2.15.7")
    assert "Torch 2.15.7 was not measured; 2.15.0 is answered." in decide(kept)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("2.0.1", "torch=2.8.0,opset=99", "Trace of torch 2.8.0 was not measured at opset 99 (at 7-24 it was)."),
        ("torch=1.12.1,opset=17", "2.8.0", "No file of opset 17 by trace of torch 1.12.1 works (of 7-16 some do)."),
        ("torch=2.0.1,exporter=dynamo", "2.15.0", "Dynamo was not measured with torch 2.0.1."),
    ],
)
def test_an_opset_or_exporter_that_a_point_does_not_have_is_told_in_the_first_line(local, before, after, said):
    assert said in decide(ask(local, before, after))


def test_where_nothing_works_at_either_end_nothing_is_said_to_be_spared(results):
    told = decide(upgrade(results, parse("2.12,opset=28"), parse("2.15,opset=28"), Filters()))

    assert "cases work at neither end" in told
    assert (
        "1 with a workaround that works there (opset-range-by-torch-version/opset_in_range), and nothing else" in told
    )
    assert "no file of opset 28 by dynamo of torch 2.15.0 works (of 13-26 some do)" in told


def test_the_packages_of_both_lock_files_are_those_of_what_was_measured_nearest(tmp_path, results):
    """A runtime beside the torch of another profile than the newest is none that was asked for by itself."""
    lock = tmp_path / "requirements.txt"
    lock.write_text("torch==2.9.1\nonnxscript==0.6.0\nonnxruntime==1.23.2\nonnx~=1.19\n")

    reply = CliRunner().invoke(main, ["upgrade", "--from", "2.8", "--to-lock", str(lock)])

    assert "→ torch 2.9.1, dynamo, opset 20, onnx 1.19.1, onnxscript 0.5.6" in reply.output
    assert "Not measured with onnxscript 0.6.0 (measured with 0.5.6, older)." in reply.output
    assert "- read: requirements.txt (4 packages): torch 2.9.1, onnxscript 0.6.0, onnxruntime 1.23.2" in reply.output
    assert "onnx~=1.19 names no one version, not used" in reply.output


def test_the_command_ends_with_1_where_something_breaks_and_with_0_where_not(local, tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    (tmp_path / "ops.txt").write_text("# what we use\naten::cross\n")
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    run = CliRunner().invoke

    good = run(main, ["upgrade", "--from", "1.12.1", "--to", "2.0.1"])
    bad = run(main, ["upgrade", "--from", "2.0.1", "--to", "1.12.1", "--ops", str(tmp_path / "ops.txt")])
    named = run(main, ["upgrade", "--from", "2.0.1", "--to", "1.12.1", "--ops", "aten::cross, cross"])
    data = json.loads(run(main, ["upgrade", "--from", "1.12.1", "--to", "2.0.1", "--json"]).stdout)

    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert named.output == bad.output
    assert "cross: fail → pass" in good.output
    assert "works there: cross/stack_rewrite" in bad.output
    assert [group["verdict"] for group in data["groups"]] == ["fixed"]


@pytest.mark.published
def test_the_default_call_is_told_by_its_own_cells_which_pass_dynamic_axes(results):
    found = upgrade(results, {"torch": "2.8"}, {"torch": "2.9"}, Filters())
    sentence = decide(found)
    cells = {
        (cell.case, cell.torch): cell
        for cell in load(results).cells(torch=("2.8.0", "2.9.1"), exporter=("default",), variant=("plain",))
    }
    worse = {
        case
        for case, torch in cells
        if torch == "2.8.0" and cells[case, torch].works and not cells.get((case, "2.9.1"), cells[case, torch]).works
    }

    assert worse <= set(found.target.breaks)
    assert "index-put-inplace-assign" in worse
    assert "index-put-inplace-assign" in found.target.by_name
    assert " work with dynamic_shapes= in place of dynamic_axes=" in sentence
    change = next(
        change for group in found.groups for change in group.changes if change.case == "index-put-inplace-assign"
    )
    assert (change.by_default, change.axes) == (True, "exporter")


@pytest.mark.published
def test_what_only_dynamic_axes_break_is_told_where_an_opset_is_named(results):
    sentence = decide(upgrade(results, {"torch": "2.8"}, {"torch": "2.9", "opset": "18"}, Filters(ops=("index_put",))))

    assert "fail with dynamic_axes= (bool-index-put-by-indices, index-put-inplace-assign" in sentence


@pytest.mark.published
def test_where_most_fails_at_both_ends_nobody_is_told_to_move(results):
    named = {"exporter": "dynamo"}
    cases = ("bilstm-by-two-lstms", "lstm-dynamic-batch", "lstm-packed-unsorted", "lstm-beside-gru")
    sentence = decide(upgrade(results, {"torch": "2.8", **named}, {"torch": "2.9", **named}, Filters(cases=cases)))

    assert sentence.startswith("Moving to torch 2.9.1")
    assert "work at neither end" in sentence


def decided(*asked, plan=False):
    """The exit code and the sentences of the decision, by the way of calling that each is about."""
    reply = CliRunner().invoke(main, ["upgrade", "--from", "2.5", *(("--plan",) if plan else ("--to", "2.9")), *asked])
    return reply.exit_code, re.split(r"\. (?=With |As )", reply.stdout.splitlines()[0])


@pytest.mark.published
def test_every_fix_that_stops_working_where_it_is_needed_is_told(results):
    target = upgrade(results, {"torch": "2.5"}, {"torch": "2.9"}, Filters()).target
    rows = load(results)
    cells = rows.cells(torch=("2.5.1", "2.9.1"), exporter=("default",), provider=("cpu",))
    works = {(cell.torch, cell.case, cell.variant): cell.works for cell in cells}
    stopping = {
        f"{case}/{variant}"
        for torch, case, variant in works
        if torch == "2.5.1" and works[torch, case, variant] and not works["2.9.1", case, variant]
        if not works.get((torch, case, "plain"), True) and not works.get(("2.9.1", case, "plain"), True)
        if not rows.catalogue[case, variant].caution
    }

    assert {*target.lost, *target.replaced} == stopping
    assert all(works["2.9.1", *other.split("/")] for other in target.replaced.values())
    assert not any(works["2.9.1", case, variant] for _, case, variant in works if case in target.lost_cases)


@pytest.mark.published
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--op", "scatter_reduce"), ("scatter-reduce-mean/compared, scatter-reduce-mean/two_scatter_adds",)),
        (
            ("--ops", "grid_sample,roll,cumsum"),
            (
                "deform-attn-untraceable/pure_torch, deform-attn-untraceable/pure_torch_by_gather",
                "; nothing else breaks",
            ),
        ),
        (("--case", "index-fill-1d"), ("(index-fill-1d/where); index-fill-1d works with dynamic_shapes= in place of",)),
    ],
)
def test_workarounds_that_stop_working_are_no_all_clear_and_the_call_that_keeps_them_is_the_first(asked, told):
    code, (first, *others) = decided(*asked)
    (default,) = [other for other in others if "called by default" in other]

    assert code == 1
    assert "with `dynamo=False" in first and "stop" not in first.replace("stop with an error", "")
    assert "working, and no other is known there" in default
    assert all(words in default for words in told)
    assert "nothing that works breaks" not in default and "nothing works there" not in default


@pytest.mark.published
def test_a_plan_ends_where_no_workaround_stops_working():
    code, (first, second) = decided("--op", "scatter_reduce", plan=True)

    assert code == 0
    assert first.startswith("Move to torch 2.15.0 with `dynamo=False, opset_version=17`: ")
    assert second.startswith("As called by default (trace, opset 18) and torch up to 2.8.0: ")


@pytest.mark.published
def test_a_workaround_that_another_one_replaces_is_told_and_is_no_break():
    code, (first, _) = decided("--case", "max-pool-of-input-size")

    assert code == 0
    assert "where another works (max-pool-of-input-size/maximum in place of max-pool-of-input-size/adaptive)" in first


@pytest.mark.published
@pytest.mark.parametrize(
    ("case", "fix"),
    [
        ("deform-attn-untraceable", "pure_torch"),
        ("scatter-multiply", "gathered"),
        ("conv-transpose-output-size", "cropped"),
        ("scatter-reduce-mean", "compared"),
    ],
)
def test_where_a_workaround_works_it_is_not_said_that_nothing_does(case, fix):
    _, (first, default) = decided("--case", case)

    assert f"({case}), with a workaround that works there ({case}/{fix})" in first
    assert "nothing works there" not in first + default


@pytest.mark.published
@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("deform-attn-untraceable/pure_torch", ", and no workaround is known there"),
        ("index-fill-1d/where", "; it works with dynamic_shapes= in place of dynamic_axes="),
        ("max-pool-of-input-size/adaptive", ", with a workaround there"),
        ("interpolate-scale-factor-baked/scales_input", ", with a workaround there"),
    ],
)
def test_a_variant_that_is_asked_about_is_what_the_answer_is_about(name, way_out):
    code, (first, default) = decided("--case", name)
    shown = CliRunner().invoke(main, ["upgrade", "--from", "2.5", "--to", "2.9", "--case", name]).stdout

    assert code == 1
    assert first.startswith("Move to torch 2.9.1 with `dynamo=False, opset_version=17`: nothing breaks")
    assert f"1 of 1 measured case breaks: {name}{way_out}" in default
    assert f"  {name}: pass → fail" in shown


@pytest.mark.published
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("latest", ["2.15.0"]),
        ("torch==2.8.0", ["2.8.0"]),
        ("2.8.1", ["2.8.0"]),
        ("2.5..2.8", ["2.5.1", "2.6.0", "2.7.1", "2.8.0"]),
    ],
)
def test_a_release_is_understood_as_people_write_it(asked, shown):
    told = CliRunner().invoke(main, ["table", "--case", "cross-no-symbolic", "--torch", asked, "--exporter", "legacy"])

    assert told.output.splitlines()[0].split() == ["case", "exporter", *shown]
    assert ("torch 2.8.1 was not measured; 2.8.0 is answered" in told.output) == (asked == "2.8.1")


#: a move whose recommended way is not the default call, and whose lists differ by way
BY_WAYS = ("--from", "2.5.1,opset=17", "--to", "2.9")
ABOUT = tuple(
    word for op in ("grid_sample", "scaled_dot_product_attention", "lstm", "index_put") for word in ("--op", op)
)


@pytest.fixture(scope="module")
def by_ways():
    """The terminal's answer, cut at the heading of each way; the first part is what stands before them."""
    return re.split(r"^To (?=torch)", CliRunner().invoke(main, ["upgrade", *BY_WAYS, *ABOUT]).stdout, flags=re.M)


def lists(part):
    """By title: the workarounds of a part of the terminal's answer, alternatives to one with it."""
    found = re.findall(r"^(Workarounds [^:\n]+)(?:: [^:\n]+)?: (\d+) cases?\n((?:  .*\n)+)", part, flags=re.M)
    return {title: (int(count), text) for title, count, text in found}


def test_the_lists_of_the_recommended_way_come_first_each_under_the_name_of_its_way(by_ways):
    decision, first, second, *_ = by_ways
    own, default = lists(first), lists(second)

    assert decision.startswith("Move to torch 2.9.1 with `dynamo=False, opset_version=17`: nothing breaks")
    assert first.startswith("torch 2.9.1 with `dynamo=False, opset_version=17`:\n→ torch 2.9.1, torchscript-trace, ")
    assert second.startswith("torch 2.9.1 as called by default (dynamo since 2.9.1, opset 20):")
    assert list(own) == ["Workarounds that may go", "Workarounds still needed"]
    assert "sdpa-mask-row-without-key/formula" in own["Workarounds that may go"][1]
    assert "Workarounds that may go" in default


def test_a_fix_that_is_needed_by_one_way_and_may_go_by_the_other_is_listed_with_each(results):
    found = upgrade(results, {"torch": "2.5.1", "opset": "17"}, {"torch": "2.9.1"}, Filters(ops=("index_put",)))
    first, *_ = order_ways(found)

    assert first is found.kept
    assert "index-put-accumulate-duplicates/scatter_add" in fixes(found.changes_by(first).keep)
    assert "index-put-accumulate-duplicates/scatter_add" in fixes(found.changes_by(found.target).drop)
    assert not found.changes_by(first).drop


def test_of_workarounds_cases_are_counted_and_those_of_one_case_are_alternatives(by_ways):
    count, text = lists(by_ways[2])["Workarounds to add"]

    assert count == len(re.findall(r"^  \S", text, flags=re.M)) == 4
    assert "  sdpa-three-dims/formula (rewrite)" in text
    assert "    or one_head (rewrite)" in text


def test_what_was_not_measured_is_counted_once_by_where_that_is(by_ways):
    told = "".join(by_ways)

    assert "1 not measured there" in by_ways[0]
    assert "Not measured there: 1 (lstm-behind-scripted-sort)" in by_ways[2]
    assert "Not measured at torch 2.5.1 as called today: 2 (" in by_ways[-1]
    assert "one of the two points: 3" not in told


def test_wrong_values_at_both_ends_are_counted_apart_from_what_stops_with_an_error(by_ways, results):
    """A case that gave wrong values and stops now is neither: it is told as that."""
    kept = upgrade(results, {"torch": "2.5.1", "opset": "17"}, {"torch": "2.9.1"}, Filters(cases=WRONG)).kept
    decision, first, second, *_ = by_ways

    assert "11 stop with an error and 7 give wrong values at both ends" in decision
    assert "1 stops with an error and 1 gives wrong values at both ends; 2 now stop with an error" in decision
    assert "Stop with an error at both points: 11 (" in first
    assert "Give wrong values at both points: 7 (" in first
    assert "deform-attn-untraceable: mismatch → fail" in second
    assert "".join(by_ways).count("that some work at neither point is usual") == 1
    assert kept and (kept.stopping, kept.wrong) == ((), WRONG)


WRONG = ("index-put-accumulate-duplicates",)


def first_line(*words):
    reply = CliRunner().invoke(main, ["upgrade", *words])
    return reply.exit_code, reply.output.splitlines()[0]


@pytest.mark.published
def test_what_torchs_own_calls_get_wrong_at_both_ends_comes_before_that_nothing_breaks(opened_once):
    code, first = first_line("--op", "logical_xor", "--from", "1.11", "--to", "1.12")

    assert (code, first.count("but gives float32 in place of bool, without an error")) == (0, 2)
    assert first.index("On torch 1.11.0 ") < first.index("On torch 1.12.1 ") < first.index("nothing breaks")
    # where they pass the decision alone is told
    assert first_line("--op", "grid_sample", "--from", "2.6", "--to", "2.9")[1].startswith("Move to torch 2.9.1")


@pytest.mark.published
@pytest.mark.parametrize("op", ["searchsorted", "torch.diag_embed", "median", "searchsorted,median"])
def test_an_operator_without_a_case_is_answered_by_torchs_own_calls(opened_once, op):
    named = ["--ops", op] if "," in op else ["--op", op]
    reply = CliRunner().invoke(main, ["upgrade", *named, "--from", "2.6", "--to", "2.9"])

    assert reply.exit_code == 1
    assert "On torch 2.6.0 " in reply.output
    assert "On torch 2.9.1 " in reply.output
    assert "No case of the corpus is about what is listed" in reply.output
    data = json.loads(CliRunner().invoke(main, ["upgrade", *named, "--from", "2.6", "--to", "2.9", "--json"]).output)
    assert "torch's own calls of" in data["notes"][0]


def test_a_word_that_is_no_operator_is_still_refused():
    code, first = first_line("--op", "nosuchthing", "--from", "2.6", "--to", "2.9")
    assert (code, "unknown op 'nosuchthing'" in first) == (2, True)
