"""What became of sources upstream: the file, its table, and how it is held against what was measured."""

from __future__ import annotations

import pytest
import small_dataset

from caniexport.answers.case import answer_case
from caniexport.answers.upstream import CLOSED_FAILING, OPEN_PASSING, upstream
from caniexport.corpus import upstream as file
from caniexport.model import corpus
from caniexport.model.errors import CorpusError
from caniexport.store import Dataset, writer

HEAD = "source,kind,state,as_of,seen\n"
CASE = '''
from caniexport.model.case import Case
from caniexport.model.tensors import f32

class Roll(Case):
    """A roll by a negative shift"""
    sources = ("pytorch/pytorch#1", "onnx/onnx#2")
    inputs = ((f32(2),), (f32(3),))

    def forward(self, x):
        return x
'''


@pytest.fixture
def cases(tmp_path):
    """Writes states beside one case file and loads it."""

    def loaded(text):
        (tmp_path / "rolls.py").write_text(CASE)
        (tmp_path / file.FILE).write_text(text if text.startswith("link") else HEAD + text)
        return corpus.load([tmp_path], stand_in=True)

    return loaded


def test_a_state_is_read_with_the_day_it_was_looked_up_for_sources_that_a_case_names(cases):
    lines = "pytorch/pytorch#1,issue,closed,,2026-11-22\npytorch/pytorch#9,issue,closed,,2026-11-22\n"
    (row,) = file.make_rows(cases(lines))

    assert list(row.values()) == ["pytorch/pytorch#1", "issue", "closed", "", "2026-11-22"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pytorch/pytorch#1,issue,shut,,2026-11-22", r"upstream.csv:2: 'shut' is no state \(open, closed, merged\)"),
        ("pytorch/pytorch#1,commit,open,,2026-11-22", "'commit' is no kind"),
        ("pytorch/pytorch#1,issue,merged,,2026-11-22", "an issue is not merged"),
        ("pytorch/pytorch#1,issue,open,,", "seen is '-', no day"),
        ("pytorch/pytorch#1,issue,open,last year,2026-11-22", "as_of is 'last year', no day like"),
        ("pytorch/pytorch#1,issue,open", "3 columns, 5 are needed"),
        ("link,state", "its first line is not source,kind,state,as_of,seen"),
        ("pytorch/pytorch#1,issue,open,,2026-11-22\npytorch/pytorch#1,issue,open,,2026-11-22", "has a line already"),
    ],
)
def test_a_line_that_is_wrong_is_named(cases, line, said):
    with pytest.raises(CorpusError, match=said):
        file.make_rows(cases(line + "\n"))


def claim(case, number, source, status, **more):
    """A decided claim on the failing form."""
    return {
        **{"claim": f"{case}/{number}", "case": case, "variant": "plain", "source": source, "says": "it is so"},
        **{"exporter": "torchscript-trace", "opset": "", "torch": "", "expects": f'{{"status": ["{status}"]}}'},
        **{"outcome": "reproduced", "reason": "1 cell", "cells": [], "record": ""},
        **more,
    }


CLAIMS = [
    claim("cross", 1, "pytorch/pytorch#1", "fail"),
    claim("cross", 2, "onnx/onnx#2", "fail", exporter="dynamo"),
    claim("item", 1, "pytorch/pytorch#3", "mismatch"),
    claim("item", 2, "onnx/onnx#4", "fail", outcome="not-measured", reason="needs tensorrt"),
    claim("grid-sample", 1, "pytorch/pytorch#5", "fail", opset="9-15"),
    claim("grid-sample", 2, "onnx/onnx#6", "fail", opset=">=16"),
]


@pytest.fixture
def states(tmp_path):
    """Opens the small dataset with these claims and states of their sources."""

    def opened(**by_source):
        folder = small_dataset.write(tmp_path / "results")
        rows = small_dataset.cases()
        for row in rows:
            row["sources"] = [item["source"] for item in CLAIMS if item["case"] == row["case"]]
        names = {item["source"].partition("#")[2]: item["source"] for item in CLAIMS}
        found = [
            {"source": names[key[1:]], "kind": "issue", "state": state, "as_of": "", "seen": "2026-11-22"}
            for key, state in by_source.items()
        ]
        for table, told in (("cases", rows), ("claims", CLAIMS), ("sources", found)):
            writer.write_rows(folder / f"{table}.parquet", table, told)
        return Dataset.open(folder, None)

    return opened


def only(dataset, case, number):
    (found,) = [item for item in upstream(dataset, {case})[case] if item.source.endswith(f"#{number}")]
    return found


def test_an_issue_that_is_closed_while_the_values_are_still_wrong_says_so(states):
    found = only(states(n3="closed"), "item", 3)

    assert found.word == CLOSED_FAILING
    assert found.text == (
        "closed (seen 2026-11-22), but still fails at torch 2.15.0: trace on every measured release (mismatch)"
    )


def test_an_open_issue_whose_form_passes_says_since_when(states):
    found = only(states(n1="open"), "cross", 1)

    assert found.word == OPEN_PASSING
    assert found.text == "open (seen 2026-11-22), but passes at torch 2.15.0: trace since 2.0.1"


@pytest.mark.parametrize(
    ("case", "number", "state"),
    [("cross", 1, "closed"), ("item", 3, "open"), ("cross", 2, "closed")],
    ids=["closed and passes", "open and fails", "closed and passes with its exporter"],
)
def test_a_state_that_agrees_with_what_was_measured_is_only_told(states, case, number, state):
    found = only(states(**{f"n{number}": state}), case, number)

    assert (found.word, found.text) == ("", f"{state} (seen 2026-11-22)")


def test_a_claim_that_could_not_be_measured_judges_no_source_and_an_unknown_state_is_not_said(states):
    assert only(states(n4="closed"), "item", 4).word == ""
    assert only(states(n4="open"), "item", 4).word == ""
    assert only(states(n3="closed"), "item", 4).text == ""


def test_an_open_issue_about_some_opsets_is_judged_at_these(states):
    dataset = states(n5="open", n6="open")

    assert only(dataset, "grid-sample", 5).word == ""
    assert only(dataset, "grid-sample", 6).but == "passes at torch 2.15.0: trace on every measured release"


def test_a_case_says_what_became_of_its_sources(states):
    notes = answer_case(states(n3="closed"), "item").notes

    assert any(
        note.startswith("pytorch/pytorch#3: closed (seen 2026-11-22), but still fails at torch 2.15.0")
        for note in notes
    )
    assert len([note for note in notes if note.startswith("pytorch/pytorch#")]) == 1
