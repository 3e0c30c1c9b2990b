"""The files that a reader saves from a page."""

from __future__ import annotations

import csv
import io
import re

import pytest
from dashboard_data import build

from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.render.plain import rows_as_csv


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return Kept.open(build(tmp_path_factory.mktemp("home")) / "results", None)


def rows(file):
    return list(csv.DictReader(io.StringIO(file.content())))


@pytest.mark.parametrize(
    ("name", "asked", "column", "value"),
    [
        ("upgrade", {"from": "1.10.2", "to": "2.15.0"}, "table", ""),
        ("workarounds", {"torch": "1.10.2"}, "table", ""),
        ("claims", {"outcome": "reproduced"}, "outcome", "reproduced"),
        ("declared", {"exporter": "trace"}, "call", "dynamo=False"),
        ("alerts", {"torch": "2.0.1"}, "table", ""),
        ("op", {"op": "aten::cross", "exporter": "dynamo"}, "call", "dynamo=True"),
    ],
)
def test_the_rows_of_a_page_are_a_file_as_they_are_filtered(kept, name, asked, column, value):
    *_, file = page(name, asked, kept).files

    assert file.name in (f"{name}.csv", "op-cases.csv")
    assert rows(file)
    assert all(row[column].startswith(value) for row in rows(file))


@pytest.mark.parametrize("asked", [{}, {"by": "opset", "torch": "1.10..2.15", "fixes": "1"}, {"by": "exporter"}])
def test_the_file_of_a_matrix_has_the_lines_and_columns_that_are_shown(kept, asked):
    shown = page("matrix", {"rows": "cases", **asked, "status": "mismatch"}, kept)
    matrix = shown.body.split('<table class="matrix">')[1].split("</table>")[0]
    (file,) = shown.files
    lines = rows(file)

    assert len(lines) == matrix.split("<tbody>")[1].count("<tr>") > 0
    assert set(re.findall(r"<th[^>]*>([^<]+)</th>", matrix.split("</thead>")[0])) <= set(lines[0])
    assert any("mismatch" in line.values() for line in lines)
    assert page("matrix", {"rows": "cases", "q": "nothing-like-this"}, kept).files == ()


def test_a_page_without_a_table_has_no_file_and_an_empty_table_has_its_heads(kept):
    assert page("glossary", {}, kept).files == ()
    (file,) = page("claims", {"q": "nothing like this"}, kept).files
    assert file.content().startswith("outcome,why not,the source says")
    assert file.content().count("\n") == 1


def test_a_text_of_the_dataset_never_becomes_a_formula():
    given = ["=1+1", "+1", "-1", "@x", "\t=1", 'a "b", c\nd', -1, ""]
    made = list(csv.reader(io.StringIO(rows_as_csv([{"text": text} for text in given]))))

    assert made == [["text"], ["'=1+1"], ["'+1"], ["'-1"], ["'@x"], ["'\t=1"], ['a "b", c\nd'], ["-1"], [""]]
