"""What is said of an operator: since when, by which call, at which opsets and dtypes, and the cases about it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import caniexport
from caniexport.answers.answer import AnswerOutcome, records
from caniexport.answers.op import opset_range
from caniexport.cli import main
from caniexport.model.errors import UnknownName


def ask(*words):
    return CliRunner().invoke(main, ["op", *words])


@pytest.mark.parametrize(
    ("passing", "asked", "text"),
    [
        ([17, 20, 23], [8, 11, 14, 17, 20, 23], "17+"),
        ([8, 11], [8, 11, 14], "8-11"),
        ([8, 14], [8, 11, 14], "8, 14"),
        ([20], [20], "20+"),
    ],
)
def test_opsets_are_a_range_of_those_that_were_measured(passing, asked, text):
    assert opset_range(passing, asked) == text


def test_an_operator_is_a_strip_over_the_releases_newest_first(results):
    found = caniexport.op(results, "F.grid_sample")
    trace, dynamo = records(found.tables[0])
    assert found.verdict == "grid_sample exports since 2.4.1 (dynamo=False, opset 20+) and 2.6.0 (dynamo=True, 18+)."
    assert list(trace)[:3] == ["float32", "2.15", "2.14"]
    assert (trace["2.15"]["text"], dynamo["2.15"]["text"], dynamo["2.5"]) == (
        "20+",
        "18+",
        {"word": "fail", "text": "2/3"},
    )
    assert {row["dtype"]: row["dynamo=True"] for row in records(found.tables[1])}["float16"] == "mismatch"


def test_what_no_longer_passes_says_until_when_it_did(results):
    found = caniexport.op(results, "sdpa")
    assert found.outcome is AnswerOutcome.FAILS
    assert found.verdict.endswith("exports in part at torch 2.15.0: 2 of 3 samples pass (all until 2.13).")


def test_dynamo_is_named_with_the_companion_packages_it_was_measured_with(results):
    notes = caniexport.op(results, "irfft2").notes
    assert any(note.startswith("dynamo=True was measured at torch 2.6.0 with onnxscript ") for note in notes)


def test_no_release_in_the_strip_passes_at_an_opset_where_a_sample_fails(results):
    """Held against the rows themselves, for operators of every kind."""
    from caniexport.answers.torch_operators import operators_beside

    summary = operators_beside(results)
    for name in ("logsumexp", "add", "linalg.cross", "nn.functional.grid_sample", "fft.irfft2", "cumsum"):
        strip, *_ = caniexport.op(results, name).tables
        for row in records(strip):
            exporter = "dynamo" if row[next(iter(row))] == "dynamo=True" else "torchscript-trace"
            newest = [
                one
                for one in summary.of_operator(name)
                if (one.torch, one.exporter, one.form, one.dtype)
                == (summary.releases[-1], exporter, None, next(iter(row)))
            ]
            if isinstance(row["2.15"], dict) and row["2.15"]["word"] == "pass" and row["2.15"]["text"].endswith("+"):
                first = int(row["2.15"]["text"].rpartition(" ")[2][:-1])
                assert all(one.works for one in newest if one.opset >= first), name


def test_a_name_nobody_knows_is_answered_with_the_nearest_and_one_without_samples_by_its_cases(results):
    with pytest.raises(UnknownName, match="grid_sample"):
        caniexport.op(results, "grid_samplee")
    assert "lstm" in ask("lstm").output


@pytest.mark.parametrize("name", ["grid_sample", "sdpa", "add", "irfft2", "resize"])
def test_the_answer_fits_on_one_screen_and_its_first_line_in_a_hundred_columns(name):
    lines = ask(name).output.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "cases about it: caniexport table --op" in lines[-1] or name == "irfft2"


def test_all_of_an_answer_has_forms_messages_and_cases(results):
    whole = ask("grid_sample", "--all").output
    for title in ("other forms", "what fails", "documented cases"):
        assert f"\n{title}\n" in whole
    assert "grid-sample-bicubic" in whole
