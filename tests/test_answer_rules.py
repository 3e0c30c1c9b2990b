"""The rules that decide words of answers and stand in docs/verdicts.md, each on rows made for it."""

from __future__ import annotations

import pytest
from small_dataset import append, bundle, cell, environment, write

from caniexport.answers.blame import blame
from caniexport.answers.defaults import DefaultFiles, OwnOpsets, choose_opset
from caniexport.answers.filters import Filters
from caniexport.answers.points import MeasuredPoint, Places, parse
from caniexport.answers.policy import policy, to_toml
from caniexport.answers.reading import load
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.scope import named
from caniexport.answers.summary import counted
from caniexport.answers.workaround import standings
from caniexport.corpus.verdicts import ComparedCell, compare
from caniexport.model.journal import Journal
from caniexport.model.rows import RUNS
from caniexport.model.status import Status
from caniexport.store import Dataset, compact
from caniexport.store.views import Views

TRACE, DYNAMO = "torchscript-trace", "dynamo"


@pytest.fixture
def local(tmp_path):
    return write(tmp_path / "results-local")


def canary(torch, exporter, opset, **changes):
    row = cell(torch, "cross", "plain", exporter, opset)
    row.update(corpus="canary", case="canary-pass", status="pass", stage="done", signature=None, message_id=None)
    row.update(opset_effective=opset, exporter_effective=exporter, measured_at="2026-11-21T10:00:00Z")
    return {**row, **changes}


def later():
    """Newer than the rows of the small dataset."""
    return {"measured_at": "2026-11-21T10:00:00Z"}


def replayed(name, **changes):
    row = dict.fromkeys(column.name for column in RUNS)
    row.update(bundle=bundle(name), corpus="canary", case="canary-pass", variant="plain", runtime="onnxruntime")
    row.update(runtime_version="1.20.1", provider="cpu", env_id="env-ort", run_id="r", status="pass", stage="done")
    return {**row, **later(), **changes}


# --- the opset at which a release is judged


def test_an_exporter_is_judged_at_the_opset_that_it_writes_by_itself():
    """torch 2.5: a default call takes the TorchScript exporter and writes 17; dynamo, when only it is named, 18."""
    own = OwnOpsets(
        [
            DefaultFiles("2.5.1", TRACE, 17, 850),
            DefaultFiles("2.5.1", DYNAMO, 18, 20),
            DefaultFiles("2.5.1", None, None, 9),
        ]
    )

    assert own.bare == {"2.5.1": 17}
    assert choose_opset("2.5.1", TRACE, own, (9, 17, 18)).opset == 17
    dynamo = choose_opset("2.5.1", DYNAMO, own, (17, 18, 19))
    assert (dynamo.opset, dynamo.why) == (18, "the exporter's own")
    assert choose_opset("2.5.1", "torchscript-script", own, (9, 17)) == choose_opset("2.5.1", TRACE, own, (9, 17))


def test_every_answer_judges_dynamo_at_the_opset_that_dynamo_writes(local):
    row = cell("2.8.0", "item", "tensor_scale", "default", None)
    append(local, {**row, "exporter_effective": DYNAMO, "opset_effective": 22, "measured_at": "2026-11-21T10:00:00Z"})
    dataset = Dataset.open(None, local)
    judged = standings(dataset, "2.8.0", named(Views.of(dataset), "cross"), exporters=(DYNAMO, TRACE))

    assert {item.exporter: item.opset for item in judged} == {DYNAMO: 22, TRACE: 18}
    assert load(dataset).opset("2.8.0", DYNAMO) == 22
    assert Places(load(dataset)).fill(parse("torch=2.8.0,exporter=dynamo")).opset == 22
    (rule,) = policy(dataset, Filters(torch=("2.8.0",), exporters=("dynamo",))).rules
    assert rule.default == 22


# --- policy


def test_an_opset_at_which_a_file_of_another_opset_is_written_is_not_usable(local):
    """As torch 2.5's dynamo exporter: asked for 17 to 20 it writes 18, and every such file runs."""
    rows = [
        canary("2.8.0", DYNAMO, opset, opset_effective=18, status="pass" if opset == 18 else "degraded")
        for opset in range(14, 27)
    ]
    append(local, *rows)
    (rule,) = policy(Dataset.open(None, local), Filters(torch=("2.8.0",), exporters=("dynamo",))).rules

    assert (rule.usable, rule.usable_maybe) == (18, None)


def test_that_nothing_runs_and_that_nobody_tried_are_told_apart(local):
    """Both have no usable opset; of the second the policy says up to which it may be."""
    failing = {"status": "fail", "stage": "load"}
    append(local, *(canary("2.8.0", TRACE, opset, bundle=bundle(f"b{opset}"), **failing) for opset in range(7, 24)))
    append(local, *(canary("2.15.0", TRACE, opset, bundle=bundle(f"c{opset}")) for opset in range(7, 24)))
    dataset = Dataset.open(None, local)
    asked = Filters(torch=("2.8.0", "2.15.0"), exporters=("trace",))
    here = {rule.torch: rule for rule in policy(dataset, asked).rules}

    assert (here["2.8.0"].usable, here["2.8.0"].usable_maybe) == (None, None)
    assert (here["2.15.0"].usable, here["2.15.0"].usable_maybe) == (23, None)

    with Journal(local / "journal", "runs") as journal:
        journal.run(replayed("other", case="cross"), {})
        journal.run(replayed("b9", **failing), {})
        journal.environment({**environment("2.8.0"), "env_id": "env-ort", "run_id": "r"})
    append(local, cell("2.15.0", "cross", "stack_rewrite", TRACE, 9) | {"bundle": bundle("other"), **later()})
    compact(local)
    there = {rule.torch: rule for rule in policy(Dataset.open(None, local), asked, ["1.20"]).rules}

    assert (there["2.15.0"].usable, there["2.15.0"].usable_maybe) == (None, 23)
    told = to_toml(policy(Dataset.open(None, local), asked, ["1.20"]))
    assert "usable_maybe = 23" in told


# --- a fraction in a table


def place(status, opset=14, torch="2.8.0"):
    values = dict.fromkeys(MeasuredCell._fields)
    return MeasuredCell(
        **{**values, "torch": torch, "opset": opset, "status": Status(status), "local": False, "stage": ""}
    )


def test_a_fraction_counts_what_passes_and_never_what_is_degraded():
    found = counted([place("pass"), place("degraded", 15), place("degraded", 16), place("mismatch", 17)])

    assert (found.text, found.short, found.status) == ("✓ 1/4 ≠~", "1/4 ≠~", Status.PASS)
    none = counted([place("degraded"), place("degraded", 15), place("fail", 16), place("unsupported", 17)])
    assert (none.text, none.short, none.status) == ("~ 2/3 ✗", "~2/3 ✗", Status.DEGRADED)
    assert counted([place("fail"), place("mismatch", 15)]).short == "0/2 ✗"


# --- the axis that an upgrade names

OLD = MeasuredPoint("2.8.0", TRACE, 17, "onnxruntime", "1.23.2", "cpu")
NEW = MeasuredPoint("2.9.1", DYNAMO, 18, "onnxruntime", "1.31.1", "cpu")


def blamed(outcomes, left=OLD, right=NEW):
    """What is named where these sets of axes, moved from the old point, end so; all others were not measured."""

    def at(place):
        moved = frozenset(left.differing(place))
        return ComparedCell(outcomes.get(moved))

    verdict = compare(at(left), at(right))
    return blame(verdict, left, right, at)


def moved(*axes):
    return frozenset(axes)


EVERY = moved("torch", "opset", "exporter", "runtime")


@pytest.mark.parametrize(
    ("between", "named"),
    [
        # the old point with this axis alone moved shows the verdict already
        ({moved("opset"): Status.FAIL, moved("torch"): Status.PASS}, "opset"),
        ({moved("opset"): Status.FAIL, moved("torch"): Status.FAIL}, "torch or opset"),
        # nothing moved alone shows it; the new point with this axis alone taken back does as before
        ({moved("torch"): Status.PASS, EVERY - {"exporter"}: Status.PASS}, "exporter"),
        # moved together only
        ({moved("torch", "exporter"): Status.FAIL}, "torch and exporter together (not measured apart)"),
        (
            {
                moved("torch", "exporter"): Status.FAIL,
                **{moved(axis): Status.PASS for axis in ("torch", "opset", "exporter", "runtime")},
            },
            "torch and exporter together",
        ),
        # what was not measured, or refused, leaves it open
        ({}, "unattributed (not measured apart: torch, opset, exporter, runtime)"),
        ({moved("opset"): Status.UNSUPPORTED}, "unattributed (not measured apart: torch, opset, exporter, runtime)"),
    ],
)
def test_an_axis_is_named_by_its_own_move_then_by_taking_it_back(between, named):
    assert blamed({moved(): Status.PASS, EVERY: Status.FAIL, **between}) == named


def test_an_interaction_is_what_every_single_move_and_every_single_way_back_leaves_open():
    alone = {moved(axis): Status.PASS for axis in EVERY}
    # neither as before nor as afterwards
    back = {EVERY - {axis}: Status.MISMATCH for axis in EVERY}

    assert blamed({moved(): Status.PASS, EVERY: Status.FAIL, **alone, **back}) == "interaction"
