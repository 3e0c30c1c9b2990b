"""What the pages say, read from their text: of a small dataset, and of the published one where that alone has it."""

from __future__ import annotations

import csv
import html
import io
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dashboard_data import build

from caniexport.alerts.answer import alerts_answer
from caniexport.alerts.releases import compare_releases, select_releases
from caniexport.answers.answer import cell_text
from caniexport.cli import main
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.store import writer

pytestmark = pytest.mark.usefixtures("opened_once")

ROOT = Path(__file__).resolve().parents[1]
CHOOSE = "(the newest; choose «My torch»)"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Kept.open(build(tmp_path_factory.mktemp("home")) / "results", None)


@pytest.fixture(scope="module")
def published():
    return Kept.open(ROOT / "results", None)


def read(kept, name, **asked):
    """The text of a page below its filters."""
    body = str(page(name, asked, kept).body)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def rows_of(kept, name, **asked):
    """The texts of the rows of its tables."""
    rows = re.findall(r"<tr.*?</tr>", str(page(name, asked, kept).body), re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("x[crosss]", ["aten::cross", "cross-no-symbolic"]),
        ("**rol** [x](javascript:alert(1))", ["aten::roll", "aten::roll_", "roll-negative"]),
        ("[*]", []),
    ],
)
@pytest.mark.parametrize("name", ["workarounds", "matrix"])
def test_words_with_the_signs_of_a_pattern_that_nothing_has_leave_the_page_and_name_what_is_near(
    small, name, query, near
):
    found = page(name, {"q": query, "torch": "2.8"}, small)

    assert {field.name: field.one for bar in found.bars for field in bar}["q"] == query
    assert f"has all of these words: {query}" in read(small, name, q=query)
    links = re.findall(rf'<a href="\./{name}\?q=[^"]*&amp;torch=2.8">([^<]*)</a>', str(found.body))
    assert links[: len(near)] == near
    assert bool(links) == bool(near)


def test_runs_that_the_gate_did_not_judge_are_counted_beside_those_that_passed(small, tmp_path):
    file = build(tmp_path) / "results" / "environments.parquet"
    rows = pq.read_table(file).to_pylist()
    writer.write_rows(file, "environments", [{**row, "gate": None} for row in rows[:1]] + rows[1:])
    above = [str(page("runs", {}, kept).above) for kept in (small, Kept.open(file.parent, None))]

    assert "None is left out: 4 of 4 runs passed the gate's checks." in html.unescape(above[0])
    assert "None is left out: 3 of 4 runs passed the gate's checks." in html.unescape(above[1])
    assert "Not judged: 1, or no verdict was kept" in above[1]
    assert "Rows of runs that were not judged are used." in above[1]


@pytest.mark.published
def test_rows_that_nobody_has_looked_for_unfold_and_are_all_there(published):
    shown = page("claims", {}, published)
    kept = list(csv.DictReader(io.StringIO(shown.files[0].content())))
    groups = re.findall(r"<details><summary>[\d,]+ rows?: .*?</details>", str(shown.body), re.DOTALL)
    outside = re.sub(r"<details>.*?</details>", "", str(shown.body), flags=re.DOTALL)

    assert "<tbody>" not in outside
    assert 4 <= len(groups) <= 60
    assert sum(group.count("<tr>") - 1 for group in groups) == len(kept) > 600
    # what is looked for stays open
    assert "<details><summary>" not in str(page("claims", {"q": "index_put"}, published).body)


@pytest.mark.published
def test_an_upgrade_by_the_readers_own_call_says_what_breaks_and_what_helps(published):
    said = read(published, "upgrade", **{"from": "2.0.1", "to": "2.10.0", "opset": "17", "exporter": "trace"})

    assert said.startswith("Move to 2.10.0 with dynamo=False, opset_version=17: 2 of 447 cases break")
    assert re.search(r"✗ breaks distance-of-matrices [^✗]* written_out torch torch.cdist of two matrices, ", said)
    assert said.index("dynamo=False, opset_version=17") < said.index("default (dynamo=True")


@pytest.mark.published
def test_the_call_to_move_with_is_the_first_of_verdict_and_table(published):
    page_of_lstm = page("upgrade", {"from": "2.6.0", "to": "2.15.0", "ops": "aten::lstm"}, published).body
    (bold,) = re.findall('<p class="decision[^>]*>(.*?)</p>', page_of_lstm, re.DOTALL)

    assert bold.startswith("Move to 2.15.0 with dynamo=False, opset_version=17: nothing breaks")
    assert re.findall("<td><code>(.*?)</code>", page_of_lstm)[0] == "dynamo=False, opset_version=17"


def test_folded_filters_say_what_is_set(small):
    shown = page(
        "matrix", {"torch": "2.0.1", "opset": "14", "exporter": "torchscript-trace", "theme": "geometry"}, small
    )

    assert shown.chosen == ("Theme: geometry", "torch 2.0.1", "opset 14", "trace")
    assert page("matrix", {}, small).chosen == ()


def test_a_case_and_its_workarounds_are_told_apart_in_the_table(small):
    body = str(page("matrix", {"q": "torch.cross", "fixes": "1", "exporter": "trace"}, small).body)
    names = re.findall(r'<th class="case" scope.*?<a[^>]*>(.*?)</th>', body)

    assert len(set(names)) == len(names) == 3


@pytest.mark.published
def test_the_answer_to_an_error_stands_before_how_it_was_read_and_leads_to_the_place_it_tells_of(published):
    error = "torch 2.4.1: SymbolicValueError: Unsupported: ONNX export of operator Unfold, input size not accessible."
    body = str(page("search", {"q": error}, published).body)
    order = [body.index(part) for part in ("Known error of Unfold", "code of gathered", "Read as an error text")]

    assert order == sorted(order)
    link = re.search(r'<a href="([^"]*)">tensor-unfold-dynamic</a>', body)[1]
    for part in ("case=tensor-unfold-dynamic", "torch=2.4.1", "exporter=torchscript-trace", "opset=17"):
        assert part in link


def test_the_signs_of_a_table_explain_its_numbers_and_what_is_counted(small):
    assert "16+ is all that were tried from there on" in read(small, "matrix", rows="cases")
    assert "of 17 cases measured there 12 work at some opset" in read(small, "matrix", rows="themes")


def test_a_found_operator_is_answered_with_the_table_of_its_cases(small):
    said = read(small, "search", q="cross")
    assert said.index("Read as an operator") < said.index("At torch 2.15.0 the case works")


def test_a_pasted_error_is_shown_whole_and_answered_at_the_opset_that_it_names(small):
    error = "RuntimeError: Exporting the operator cross to ONNX opset version 12 is not supported"
    said = read(small, "search", q=error)

    assert f"Read as an error text: {error}" in said
    assert "torch 1.10.2, torch.onnx.export, opset_version=12" in said


@pytest.mark.published
def test_a_release_that_is_chosen_alone_is_shown_at_its_own_opset(published):
    """A cell of a table that passes at some opsets opens at the release's own, not at the newest, which fails."""
    asked = {"case": "transformer-encoder-layer-fast-path", "exporter": "dynamo", "torch": "2.14.1"}
    for more in ({}, {"my_torch": "2.5.1..2.15.0"}):
        said = " ".join(read(published, "case", **asked, **more).split())
        assert "Works (torch 2.14.1, dynamo=True, opset_version=20)." in said


def test_an_unmeasured_patch_is_answered_by_the_nearest_of_its_minor_version_and_that_is_said(small):
    for name, asked in (("upgrade", {"from": "2.0.3", "to": "2.8"}), ("workarounds", {"q": "cross", "torch": "2.0.3"})):
        assert "torch 2.0.3 was not measured; 2.0.1 is answered" in page(name, asked, small).warnings
        assert "torch 2.0.1" in read(small, name, **asked)


@pytest.mark.parametrize(
    ("name", "asked", "near"),
    [
        ("upgrade", {"from": "9.9"}, "from=2.15.0"),
        ("upgrade", {"from": "2.0.1", "to": "2.7"}, "from=2.0.1&amp;to=2.8.0"),
        ("upgrade", {"torch": "9.9"}, "torch=2.15.0"),
        ("upgrade", {"from": "2.0.1", "from_opset": "77"}, "from_opset=20"),
        ("workarounds", {"q": "cross", "torch": "2.7"}, "q=cross&amp;torch=2.0.1"),
        ("workarounds", {"q": "cross", "torch": "2.8", "opset": "77"}, "torch=2.8&amp;opset=20"),
    ],
)
def test_nothing_is_decided_for_another_release_or_opset_than_the_one_asked_for(small, name, asked, near):
    body = str(page(name, asked, small).body)

    assert "Nothing is decided for" in body
    assert near in body
    assert 'class="decision"' not in body
    assert "<table" not in body


def test_a_search_decides_nothing_where_the_readers_own_release_is_not_known(small):
    for query in ("stack_rewrite", "is my cross workaround needed"):
        assert 'class="decision"' not in str(page("search", {"q": query, "torch": "9.9"}, small).body)
    asked = {"case": "cross-no-symbolic", "variant": "stack_rewrite", "torch": "9.9"}
    assert 'class="decision"' not in page("case", asked, small).above


def test_a_case_takes_the_short_names_of_exporters(small):
    asked = {"case": "cross-no-symbolic", "torch": "2.8.0", "opset": "14"}
    short, long = (page("case", {**asked, "exporter": name}, small) for name in ("trace", "torchscript-trace"))

    assert short.warnings == ()
    assert short.body == long.body


def test_a_table_on_a_chosen_runtime_says_of_no_release_that_it_ran_on_its_own(small):
    for runtime, is_own in (({}, True), ({"runtime": "ort1.20"}, False)):
        found = page("matrix", {"rows": "cases", **runtime}, small)
        assert ("run by the installed onnxruntime" in found.lead) is is_own
        assert ("runtime onnxruntime==1.20.1" in found.chosen) is not is_own


def ask(*words):
    return CliRunner().invoke(main, list(words))


@pytest.mark.published
def test_nobody_is_sent_where_most_was_not_measured_or_nothing_works(published):
    both = ask("upgrade", "--from", "2.8", "--to", "2.9,runtime=onnxruntime==1.10.0").output
    few = ask("upgrade", "--from", "2.8", "--to", "2.15,ort=1.20,exporter=trace,opset=20").output

    assert both.startswith("Fails: 340 of 344 cases break at 2.9.1 with dynamo=False, opset_version=18.")
    assert few.startswith("Not enough measured: 95 cases at 2.15.0 with dynamo=False, opset_version=20")


@pytest.mark.published
def test_no_call_is_advised_because_less_of_it_was_measured(published):
    """At opset 20 few files were run on this runtime, and none of these breaks."""
    said = ask("upgrade", "--from", "2.8", "--to", "2.15,ort=1.20").output
    assert said.startswith("Move to 2.15.0 with dynamo=False, opset_version=18: 4 of 359 cases break")


@pytest.mark.published
def test_a_fix_that_is_known_to_be_wrong_ends_no_check_of_a_case(published):
    assert ask("workaround", "cross-no-symbolic", "--fail-on", "harmful").exit_code == 0
    assert ask("workaround", "cross-no-symbolic/exchanged_components", "--fail-on", "harmful").exit_code == 1


@pytest.mark.published
def test_the_cases_of_the_matrix_add_up_to_those_of_the_front_page(published):
    every = re.search(r"([\d,]+) cases, each measured on some release", read(published, "search"))[1]
    (file,) = page("matrix", {"rows": "cases"}, published).files
    told = [(row["table"], row["case"]) for row in csv.DictReader(io.StringIO(file.content()))]

    assert {table for table, _ in told} == {"", "installing and importing", "not measured within these filters"}
    assert len(set(told)) == len({case for _, case in told}) == int(every)


@pytest.mark.published
def test_an_alert_is_told_by_its_cause_not_by_what_wraps_it(published):
    found = alerts_answer(select_releases(published.answer(compare_releases), ()))
    told = {cell_text(row[4]): cell_text(row[3]) for table in found.tables[:3] for row in table.rows}

    assert len(told) > 50
    assert not [cause for cause in told.values() if "This is step" in cause or "Next steps" in cause]
    assert "TypeError: float() argument must be a string or a real number" in told["integers-times-dynamic-size"]


@pytest.mark.published
@pytest.mark.parametrize(
    ("op", "call", "so"),
    [
        ("roll", "dynamo=True", "agrees"),
        ("nn.functional.dropout", "dynamo=True", "registered, nothing passes"),
        ("zeros", "dynamo=True", "registered, nothing passes"),
    ],
)
def test_a_special_call_that_fails_is_no_failure_of_its_operator(published, op, call, so):
    """Where the one case fails and the samples pass, what is registered agrees with what was measured."""
    (file,) = page("declared", {"torch": "2.15.0"}, published).files
    rows = [row for row in csv.DictReader(io.StringIO(file.content())) if (row["operator"], row["call"]) == (op, call)]

    assert [row["so"] for row in rows] == [so]


@pytest.mark.published
def test_where_an_error_tells_its_cause_the_sentence_says_what_to_do(published):
    said = read(published, "search", q="ModuleNotFoundError: No module named 'onnxscript'")

    assert "pip install -U onnxscript" in said


OTHER_VALUES = "computes other values than the original (off by up to 2.4)"
NON_FACTOR = "adaptive-avg-pool2d-non-factor"


@pytest.mark.published
def test_an_upgrade_marks_a_workaround_that_computes_other_values(published):
    asked = {"from": "1.13.1", "to": "2.9.1", "to_exporter": "dynamo", "ops": "interpolate"}
    assert "without_antialias (changes values)" in read(published, "upgrade", **asked)


@pytest.mark.published
def test_an_error_lists_the_workarounds_that_work_where_it_was_seen(published):
    error = "Exporting the operator 'aten::scaled_dot_product_attention' to ONNX opset version {} is not supported."
    error = f"RuntimeError: {error}"
    at_14, at_13 = (read(published, "search", q=error.format(opset)) for opset in (14, 13))
    assert "use the workaround" in at_14
    assert "opset 14-23" in at_13
    assert "use the workaround formula" in at_13
