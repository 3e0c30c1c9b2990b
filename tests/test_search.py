"""What `why TEXT` and the search page read a text as: a case, an operator, an error text, or words."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.answers.inventory import Inventory
from caniexport.answers.scope import find_cases_about
from caniexport.answers.search import FullText, find_hits, is_error, split_filters
from caniexport.cli import main
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.store import Dataset, writer
from caniexport.store.catalogue import case_rows

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]
ROOT = Path(__file__).resolve().parents[1]
ERRORS = (
    "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported",
    "torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::unflatten' is not supported",
    "TracerWarning: Converting a tensor to a Python boolean might cause the trace to be incorrect.",
    "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model failed",
    "Traceback (most recent call last):\n  x",
)


@pytest.fixture(scope="module")
def published():
    return Kept.open(ROOT / "results", None)


@pytest.fixture(scope="module")
def with_corpus(tmp_path_factory):
    """The published rows with the corpus as it is in this tree."""
    local = tmp_path_factory.mktemp("local")
    corpus = homes.find(ROOT).read_cases()
    rows = case_rows(corpus, dict.fromkeys(corpus, ()))
    writer.write_rows(local / "cases.parquet", "cases", rows)
    return Dataset.open(ROOT / "results", local)


def why(*given):
    return CliRunner().invoke(main, ["why", *given])


def read(kept, query, **asked):
    """The text of the search page below its filters."""
    body = str(page("search", {"q": query, **asked}, kept).body)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.mark.parametrize("text", ERRORS)
def test_several_lines_or_the_name_of_an_exception_with_its_colon_are_an_error_text(text):
    assert is_error(text)


@pytest.mark.parametrize("text", ["grid_sample", "dynamic batch: lstm", "what raises an Error", "Conv"])
def test_a_line_without_the_name_of_an_exception_and_its_colon_is_none(text):
    assert not is_error(text)


def test_typed_filters_are_read_where_they_stand_and_nothing_else_is():
    names = ("torch", "opset", "exporter")

    assert split_filters("cross torch=2.8 opset=18", names) == ({"torch": "2.8", "opset": "18"}, "cross")
    assert split_filters("exporter=dynamo cross dim=1 torch=", names) == (
        {"exporter": "dynamo"},
        "cross dim=1 torch=",
    )


def test_the_command_says_what_it_read_and_takes_the_filters_that_are_typed():
    case, operator = why("cross-no-symbolic torch=1.10.2 opset=14", "--json"), why("grid_sample", "--json")
    error, words = why(ERRORS[0]), why("dynamic batch lstm")

    assert case.stderr.startswith("- read as: a case")
    assert "torch 1.10.2" in json.loads(case.stdout)["verdict"]
    assert json.loads(case.stdout) == json.loads(
        why("cross-no-symbolic", "--torch", "1.10.2", "--opset", "14", "--json").stdout
    )
    assert "read as: an operator" in operator.stderr
    assert "grid_sample: all samples pass since" in operator.stdout
    assert "read as: an error text" in error.output
    assert "caniexport case cross-no-symbolic shows every cell." in error.stdout
    assert "read as: words" in words.output
    assert "lstm-dynamic-batch" in words.stdout.splitlines()[3]


def test_an_option_goes_before_a_filter_that_is_typed():
    found = json.loads(why("cross-no-symbolic torch=1.10.2", "--torch", "2.8", "--json").stdout)

    assert "torch 2.8.0" in found["verdict"]


def test_an_operator_without_a_case_is_answered_by_its_samples():
    found = why("torch.fft.irfft2")

    assert found.stdout.startswith("fft.irfft2: all samples pass since 2.6.0 (dynamo=True")


def test_a_name_that_nobody_has_is_answered_with_the_nearest():
    found, case = why("crosss"), why("cross-no-symbolc")

    assert found.exit_code == case.exit_code == 2
    assert "nearest: aten::cross, cross-no-symbolic" in found.stderr
    assert "nearest: cross-no-symbolic" in case.stderr


def test_words_are_looked_for_in_titles_operators_notes_and_messages_and_listed(published):
    index = FullText(published)

    def cases(words):
        return [hit.case for hit in index.find(words)]

    assert "cross-no-symbolic" in cases("cross TorchScript")
    assert "cross-no-symbolic" in cases("three slice products")
    assert "cross-no-symbolic" in cases("exporting the operator cross to ONNX opset version 14 is not supported")
    assert "fft.irfft2" in [hit.operator for hit in index.find("irfft2")]
    assert index.find('"; DROP (*) NEAR^ OR') == ()
    assert find_hits(index, "wibble frobnicate") == ()
    assert find_hits(index, "wibble cross"), "those with any of the words where no case has all of them"


def test_the_search_page_says_what_it_read_and_moves_typed_filters_into_the_address(published):
    shown = page("search", {"q": "cross-no-symbolic torch=1.10.2"}, published)

    assert shown.read_as == {"q": "cross-no-symbolic", "torch": "1.10.2"}
    assert "Read as a case: cross-no-symbolic" in read(published, "cross-no-symbolic")
    assert "Read as an operator: grid_sample" in read(published, "grid_sample")
    assert "Read as an error text" in read(published, ERRORS[0])
    assert "Read as words: dynamic batch lstm" in read(published, "dynamic batch lstm")


def test_the_search_page_gives_no_verdict_on_words_and_the_nearest_names_of_nothing(published):
    words, nothing = read(published, "dynamic batch lstm"), read(published, "grid_sampel wibble")

    assert "lstm-dynamic-batch" in words
    assert "needed" not in words
    assert "Nothing measured has these words. The nearest names: grid_sample" in nothing


@pytest.mark.parametrize("words", ["onnx.data two files", "two files since torch 2.9", "single file external_data"])
def test_a_report_of_two_files_finds_the_case_of_the_default_call_first(with_corpus, words):
    hits = find_hits(FullText(with_corpus), words)
    assert hits[0].case == "default-call-writes-two-files"


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("scan", "scan-operator"),
        ("torch._higher_order_ops.scan", "scan-operator"),
        ("while_loop", "while-loop-operator"),
        ("torch.cond", "cond-on-mean"),
        ("flex_attention", "flex-attention-operator"),
        ("torch.nn.attention.flex_attention", "flex-attention-operator"),
    ],
)
def test_a_higher_order_operator_is_known_by_its_case(with_corpus, name, case):
    assert case in find_cases_about(name, Inventory.of(with_corpus))
