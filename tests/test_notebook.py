"""Answers in a notebook: a heading and a table as HTML, and the table as a pandas frame."""

from __future__ import annotations

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from small_dataset import write

import caniexport
from caniexport.answers.answer import Answer, AnswerOutcome, Table
from caniexport.home import VARIABLE


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "cases").mkdir()
    write(folder / "results")
    return folder


def lines(answer):
    """The names of columns that a notebook shows, then the rows of all tables, as texts."""
    return [[cell.text or "" for cell in row] for row in ElementTree.fromstring(answer._repr_html_()).iter("tr")]


def test_an_answer_is_a_table_with_all_of_its_rows_and_so_is_the_frame(home):
    answer = caniexport.workaround(caniexport.open(home / "results"), case="cross", torch="1.12.1")
    head, *shown = lines(answer)
    frame = answer.to_pandas()

    assert len(shown) == len(frame) > 0
    assert set(head) <= set(frame.columns)
    assert "Needed at torch 1.12.1: use stack_rewrite." in answer._repr_html_()


def test_a_long_table_is_cut_and_says_so_and_a_text_is_never_markup():
    long = Answer("many", AnswerOutcome.LISTED, (Table("", ("text",), (("<script>x</script> & y",),) * 100),))
    html = long._repr_html_()

    assert len(lines(long)) == 1 + 60
    assert "and 40 more rows: .to_pandas() has them" in html
    assert "&lt;script&gt;x&lt;/script&gt; &amp; y" in html
    assert "<script>" not in html
    assert len(long.to_pandas()) == 100


def test_an_answer_without_rows_is_its_sentence():
    nothing = Answer("Not measured.", AnswerOutcome.NOT_MEASURED)

    assert lines(nothing) == []
    assert len(nothing.to_pandas()) == 0


def test_without_pandas_it_says_what_to_install_and_the_table_is_shown_all_the_same(home):
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import caniexport\n"
        "answer = caniexport.workaround(caniexport.open(), 'cross', torch='1.12.1')\n"
        "assert '<table>' in answer._repr_html_()\n"
        "answer.to_pandas()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, VARIABLE: str(home)}, capture_output=True, text=True
    )

    assert ended.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: to_pandas() needs pandas: pip install 'caniexport[frames]'"
    )
