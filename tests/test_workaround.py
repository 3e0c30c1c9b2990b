"""What to do with a workaround at a release, by every call, and since when."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import small_dataset

import caniexport
from caniexport import versions
from caniexport.answers.answer import AnswerOutcome, records
from caniexport.answers.point import Points
from caniexport.answers.scope import Scope, resolve_name
from caniexport.answers.workaround import read_standings
from caniexport.corpus.verdicts import Workaround, is_working
from caniexport.model.status import Status
from caniexport.store import Dataset
from caniexport.store.views import Views

ROOT = Path(__file__).resolve().parents[1]
TRACE, DYNAMO = "torchscript-trace", "dynamo"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return Dataset.open(small_dataset.write(tmp_path_factory.mktemp("data") / "results"), None)


def at(dataset, name, torch, opset=None, exporter=TRACE):
    """The standing of one workaround with one exporter."""
    (found,) = read_standings(dataset, torch, resolve_name(Views.of(dataset), name), opset, (exporter,))
    return found


def test_a_rewrite_is_needed_before_and_obsolete_since_the_release_that_works(dataset):
    new, old = at(dataset, "cross/stack_rewrite", "2.15.0"), at(dataset, "cross/stack_rewrite", "1.12.1")
    assert (new.verdict, new.since, new.before, new.works_since) == (
        Workaround.OBSOLETE,
        "2.0.1",
        Workaround.NEEDED,
        "2.0.1",
    )
    assert (old.verdict, old.since, old.before, old.works_since) == (Workaround.NEEDED, "1.10.2", None, None)


def test_each_release_is_judged_at_its_own_opset_or_at_the_one_asked_for(dataset):
    assert (
        at(dataset, "grid-sample/opset_16", "2.0.1").opset,
        at(dataset, "grid-sample/opset_16", "2.0.1").verdict,
    ) == (
        14,
        Workaround.NEEDED,
    )
    assert at(dataset, "grid-sample/opset_16", "2.0.1", opset=17).verdict is Workaround.OBSOLETE
    assert at(dataset, "cross/stack_rewrite", "1.10.2", opset=14).verdict is Workaround.NEEDED


def test_an_opset_refused_to_both_says_nothing_about_a_workaround(dataset):
    assert caniexport.workaround(dataset, "cross/stack_rewrite", torch="1.10.2", opset=15).outcome is (
        AnswerOutcome.NOT_MEASURED
    )


def test_a_release_that_was_not_measured_neither_ends_nor_begins_a_span(tmp_path):
    few = Dataset.open(small_dataset.write(tmp_path / "few", ("1.10.2", "2.0.1", "2.15.0")), None)
    found = at(few, "cross/stack_rewrite", "2.15.0")
    assert (found.since, found.before) == ("2.0.1", Workaround.NEEDED)


def test_workarounds_known_to_be_wrong_are_listed_apart(dataset):
    found = caniexport.workaround(dataset, "item")
    by_title = {table.title: {row["workaround"] for row in records(table)} for table in found.tables if table.rows}
    assert by_title[""] == {"tensor_scale"}
    assert by_title["known to be wrong or partial"] == {"int_scale"}


@pytest.mark.parametrize(
    ("name", "asked", "verdict"),
    [
        ("cross-no-symbolic", {"torch": "1.10.2"}, "Needed at torch 1.10.2: use stack_rewrite."),
        (
            "cross-no-symbolic",
            {"torch": "2.8"},
            "Not needed at torch 2.8.0: the original exports since 1.12.1 (dynamo=False) and 2.1.2 (dynamo=True).",
        ),
        ("cross", {"torch": "2.8"}, "Needed for 2 of 5 cases at torch 2.8.0."),
        ("arange-half/cast", {"torch": "1.13.1", "exporter": "trace"}, "Needed at torch 1.13.1: use cast."),
    ],
)
def test_the_verdict_says_what_to_do(results, name, asked, verdict):
    assert caniexport.workaround(results, name, **asked).verdict == verdict


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("stack_rewrite", "Not needed at torch 2.0.1: the original exports since 2.0.1 (torch.onnx.export)."),
        ("item/int_scale", "Fails at torch 2.0.1: int_scale does not help."),
    ],
)
def test_a_workaround_that_is_named_is_judged(dataset, name, verdict):
    assert caniexport.workaround(dataset, name, torch="2.0", opset=14).verdict == verdict


def test_dynamo_is_judged_at_the_opset_that_dynamo_writes(tmp_path):
    local = small_dataset.write(tmp_path / "results-local")
    row = small_dataset.cell("2.8.0", "item", "tensor_scale", "default", None) | {"measured_at": "2026-11-21T10:00:00Z"}
    small_dataset.append(local, {**row, "exporter_effective": DYNAMO, "opset_effective": 22})
    judged = Dataset.open(None, local)

    assert [at(judged, "cross/stack_rewrite", "2.8.0", exporter=name).opset for name in (DYNAMO, TRACE)] == [22, 18]
    assert Points(judged).find({"torch": "2.8.0", "exporter": "dynamo"})[0].opset == 22


def workaround(plain, fix):
    """The verdict of a workaround, by hand."""
    if None in (is_working(plain), is_working(fix)) or plain is fix is Status.UNSUPPORTED:
        return Workaround.UNKNOWN
    if is_working(plain):
        return Workaround.OBSOLETE if is_working(fix) else Workaround.HARMFUL
    return Workaround.NEEDED if is_working(fix) else Workaround.BROKEN


def test_every_verdict_and_since_when_is_what_a_plain_loop_over_the_rows_finds(results):
    """Recomputed from the parquet files for every eighth case: the published rows have one row for each cell."""
    cases = [case for (case,) in Views.of(results).fetch("""SELECT DISTINCT "case" FROM original ORDER BY ALL""")][::8]
    own = dict(Views.of(results).fetch("SELECT torch || exporter, opset FROM call WHERE is_own AND profile = 'newest'"))
    ended = defaultdict(dict)
    columns = ["torch", "case", "variant", "exporter", "opset", "status", "unstable"]
    for path in sorted((ROOT / "results" / "cells").glob("torch-*.parquet")):
        for row in pq.read_table(path, columns=columns, filters=[("case", "in", cases)]).to_pylist():
            if row["opset"] == (None if row["exporter"] == "default" else own.get(row["torch"] + row["exporter"])):
                status = Status.UNSTABLE if row["unstable"] else Status(row["status"])
                ended[row["case"], row["exporter"], row["torch"]][row["variant"]] = status
    releases = versions.ordered({torch for _, _, torch in ended})
    for torch in ("1.12.1", releases[-1]):
        until = releases[releases.index(torch) :: -1]
        found = read_standings(results, torch, Scope(frozenset(cases)))
        assert len(found) > 100
        for item in found:
            words = [
                workaround(there.get("plain"), there.get(item.variant))
                for there in (ended[item.case, item.exporter, release] for release in until)
            ]
            assert item.verdict is words[0], item
            others = [at for at, word in enumerate(words) if word not in (words[0], Workaround.UNKNOWN)]
            alike = [at for at, word in enumerate(words[: others[0]] if others else words) if word is words[0]]
            if words[0] is not Workaround.UNKNOWN:
                assert item.since == until[alike[-1]], item
                assert item.before == (words[others[0]] if others else None), item


def test_a_case_about_what_is_installed_together_has_its_own_verdict(results):
    ((case,),) = Views.of(results).fetch("""SELECT min("case") FROM cells WHERE torch IS NULL AND variant <> 'plain'""")
    (first, *_) = [table for table in caniexport.workaround(results, case).tables if table.rows]
    assert all(row["as installed"] for row in records(first))


def test_cases_without_a_row_there_are_counted_as_not_measured(tmp_path):
    written = small_dataset.write(
        tmp_path / "results", keep=lambda row: (row["case"], row["torch"]) != ("grid-sample", "2.15.0")
    )
    found = caniexport.workaround(Dataset.open(written, None))
    assert found.verdict == "Needed for 1 of 3 cases at torch 2.15.0, 1 not measured."
