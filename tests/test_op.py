"""What is said of an operator: since when, by which call, at which opsets and dtypes, and the cases about it."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

import caniexport
from caniexport.answers.answer import AnswerOutcome, records
from caniexport.answers.samples import opset_range
from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.store.views import Views
from caniexport.versions import opset_text


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
    assert found.tables[0].title == "float32"
    assert (
        found.verdict
        == "grid_sample: all samples pass since 2.4.1 (dynamo=False, opset 20+) and 2.6.0 (dynamo=True, 18+)."
    )
    assert list(trace)[:4] == ["operator", "call", "2.15", "2.14"]
    assert (trace["2.15"]["text"], dynamo["2.15"]["text"]) == ("20+", "18+")
    assert (dynamo["2.5"]["word"], dynamo["2.5"]["text"]) == ("fail", "2 of 3")
    assert {row["dtype"]: row["dynamo=True"]["word"] for row in records(found.tables[1])}["float16"] == "mismatch"


def test_an_operator_is_answered_up_to_a_release(results):
    found = caniexport.op(results, "sdpa", torch="2.13")
    assert found.verdict.startswith(
        "scaled_dot_product_attention: all samples pass since 2.6.0 (dynamo=False, opset 14+), some"
    )
    assert list(records(found.tables[0])[0])[2] == "2.13"


def test_what_is_asked_of_a_list_makes_one_of_a_single_operator(results):
    found = caniexport.op(results, "grid_sample", dtype="all", status="mismatch")
    assert [row["dtype"] for row in records(found.tables[0])] == ["float16"]


def test_what_no_longer_passes_says_until_when_it_did(results):
    found = caniexport.op(results, "cartesian_prod")
    assert found.outcome is AnswerOutcome.FAILS
    assert found.verdict == "cartesian_prod exports in part at torch 2.15.0: 1 of 2 samples pass (all until 2.10)."


def test_what_passed_with_other_samples_is_not_said_to_have_passed(results):
    """All samples of 2.13 pass; torch 2.14 has others."""
    assert caniexport.op(results, "sdpa").verdict.endswith("exports in part at torch 2.15.0: 2 of 3 samples pass.")


def test_dynamo_is_named_with_the_companion_packages_it_was_measured_with(results):
    notes = caniexport.op(results, "irfft2").notes
    assert any(note.startswith("Packages at torch 2.6.0, where dynamo=True first works: onnxscript ") for note in notes)


def test_the_strip_is_what_the_rows_say(results):
    """Held against the rows themselves, for operators of every kind."""
    views = Views.of(results)
    for name in ("logsumexp", "add", "linalg.cross", "nn.functional.grid_sample", "fft.irfft2", "cumsum"):
        strip, *_ = caniexport.op(results, name).tables
        for row, exporter in zip(records(strip), ("torchscript-trace", "dynamo"), strict=True):
            passing = views.fetch(
                """SELECT opset FROM samples WHERE op = $1 AND exporter = $2 AND dtype = $3 AND torch = '2.15.0'
                    AND form IS NULL AND passing = calls AND calls > 0 ORDER BY opset""",
                [name, exporter, strip.title],
            )
            assert row["2.15"]["at"].get("pass", "") == opset_text(opset for (opset,) in passing), name


def test_a_name_nobody_knows_is_answered_with_the_nearest_and_one_without_samples_by_its_cases(results):
    with pytest.raises(UnknownName, match="grid_sample"):
        caniexport.op(results, "grid_samplee")
    assert "lstm" in ask("lstm").output


def test_all_of_an_answer_has_forms_messages_and_cases(results):
    whole = ask("grid_sample", "--all").output
    for title in ("other forms", "what fails", "looked at by hand", "registered by torch", "documented cases"):
        assert f"\n{title}\n" in whole
    assert "grid-sample-bicubic" in whole


def test_the_list_begins_with_what_models_call_most_and_does_not_work():
    lines = ask().output.splitlines()
    assert re.match(
        r"At torch 2\.15\.0 \d+ of 659 operators work with dynamo=False, \d+ of 659 with dynamo=True\.", lines[0]
    )
    assert "scaled_dot_product_attention" in "".join(lines[:10])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--torch", "1.1"), "torch 1.1 has not been measured"),
        (("--dtype", "float61"), "nearest: float16"),
        (("fft2.*",), "nearest: fft.fft2"),
    ],
)
def test_a_filter_that_nobody_knows_is_named_with_the_nearest(words, said):
    reply = ask(*words)
    assert reply.exit_code == 2
    assert said in reply.stderr
