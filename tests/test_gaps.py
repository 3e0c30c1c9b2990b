"""Answers on a dataset with rows missing: what was not measured makes a word unknown or an interval wider, never new.

No series of the published data has a gap, so these are made: rows of a whole small dataset are taken out by chance.
"""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest
from small_dataset import RELEASES, write

from caniexport.answers.answer import records
from caniexport.answers.changes import answer_changes
from caniexport.answers.inventory import Inventory
from caniexport.answers.moves import CaseChange, Moves
from caniexport.answers.point import Points
from caniexport.answers.scope import Scope
from caniexport.answers.workaround import read_standings
from caniexport.corpus.verdicts import Workaround
from caniexport.store import Dataset
from caniexport.store.views import Views

ORDER = list(RELEASES)
SEEDS = range(3)
#: the share of rows that is missing, seed by seed
SHARES = (0.1, 0.35, 0.8)
TRACE = "torchscript-trace"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return Dataset.open(None, write(tmp_path_factory.mktemp("whole")))


@pytest.fixture(scope="module", params=SEEDS)
def gapped(request, tmp_path_factory):
    """The same with gaps. What releases offer and write by themselves is known from the rows of ``item``."""
    lost = random.Random(request.param)
    share = SHARES[request.param]

    def keep(row):
        return row["case"] == "item" or lost.random() >= share

    return Dataset.open(None, write(tmp_path_factory.mktemp("gapped"), keep=keep))


def at(torch):
    return ORDER.index(torch)


def only_wider(found, before):
    """Whether each interval holds one that was seen when nothing was missing."""
    return all(any(low <= after and by <= high for after, by in before) for low, high in found)


def judged(dataset, torch):
    found = read_standings(dataset, torch, Scope(), exporters=(TRACE, "dynamo", "default"))
    return {(item.case, item.variant, item.exporter): item for item in found}


def test_the_dataset_has_gaps_within_its_series(whole, gapped):
    assert Inventory.of(gapped).count() < Inventory.of(whole).count()
    assert Inventory.of(gapped).torch == Inventory.of(whole).torch
    calls = "SELECT * FROM call ORDER BY ALL"
    assert Views.of(gapped).fetch(calls) == Views.of(whole).fetch(calls)


@pytest.mark.parametrize("torch", ORDER)
def test_the_verdict_of_a_workaround_stays_or_becomes_unknown(whole, gapped, torch):
    before, after = judged(whole, torch), judged(gapped, torch)

    assert after
    for key, item in after.items():
        assert item.verdict in (before[key].verdict, Workaround.UNKNOWN), key
        assert item.since is None or at(item.since) <= at(torch)
        # a release that was not measured begins nothing
        assert item.works_since is None or at(item.works_since) >= at(before[key].works_since)


def intervals(dataset, case, exporter, opset):
    """Where the outcome of a case changed, as places of releases."""
    rows = records(answer_changes(dataset, case, exporters=(exporter,), opset=opset).tables[0])
    found = [re.findall(r"[0-9.]+", row["changed in"]) for row in rows if row["changed in"]]
    return [(at(after), at(by)) for after, by in found]


@pytest.mark.parametrize("case", ["cross", "grid-sample"])
@pytest.mark.parametrize("opset", ["14", "16"])
def test_a_case_along_torch_invents_no_change(whole, gapped, case, opset):
    if not answer_changes(gapped, case, exporters=(TRACE,), opset=opset).tables:
        return
    assert only_wider(intervals(gapped, case, TRACE, opset), intervals(whole, case, TRACE, opset))


@pytest.mark.parametrize(("before", "after"), list(pairwise(ORDER)))
def test_an_upgrade_says_the_same_or_that_it_was_not_measured(whole, gapped, before, after):
    points = [{"torch": torch, "exporter": TRACE, "opset": "14"} for torch in (before, after)]

    def became(dataset):
        left, right = (Points(dataset).find(point)[0] for point in points)
        return {move.case: move.change for move in Moves(Views.of(dataset), left, [right], Scope()).cases(right)}

    full, some = became(whole), became(gapped)
    assert some.keys() == full.keys() == {"cross", "grid-sample", "item"}
    assert all(word in (full[case], CaseChange.NOT_MEASURED) for case, word in some.items())
