"""Answers in a notebook: a heading and a table as HTML, and the table as a pandas frame."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from small_dataset import CROSS, write, write_operators

import caniexport
from caniexport.answers.answer import Table
from caniexport.answers.shown import as_table
from caniexport.home import VARIABLE


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "cases").mkdir()
    write(folder / "results")
    write_operators(folder)
    return folder


@pytest.fixture
def answers(home, monkeypatch):
    """Every answer that a notebook shows, by the name of its function."""
    monkeypatch.setenv(VARIABLE, str(home))
    here = caniexport.open()
    return {
        "case": caniexport.case(here, "cross", torch="1.12.1", exporter="trace"),
        "upgrade": caniexport.upgrade(here, "2.0.1", "1.12.1"),
        "workaround": caniexport.workaround(here, case="cross", torch="1.12.1"),
        "op": caniexport.op(here, "torch.linalg.cross"),
        "table": caniexport.table(here, by="torch"),
    }


def lines(answer):
    """The names of columns that a notebook shows, then the rows of all tables, as texts."""
    found = [*ElementTree.fromstring(answer._repr_html_()).iter("tr")]
    heads = [cell.text or "" for row in found for cell in row if cell.tag == "th"]
    return (
        []
        if not found
        else [heads, *([cell.text or "" for cell in row] for row in found if any(cell.tag == "td" for cell in row))]
    )


def test_each_answer_is_a_table_with_all_of_its_rows_and_so_is_the_frame(answers):
    for name, answer in answers.items():
        head, *shown = lines(answer)
        frame = answer.to_pandas()

        assert len(shown) == len(frame) > 0, name
        assert set(head) <= set(frame.columns), name
        assert list(frame.to_dict("records")[0]) == list(frame.columns), name


def test_the_table_says_what_the_answer_does(answers):
    _, *rows = lines(answers["case"])
    told = {row[-2]: row[-1] for row in rows}

    assert (told["outcome"], told["stage"], told["error"]) == ("fail", "export", CROSS)
    assert "Needed at torch 1.12.1: use stack_rewrite." in answers["workaround"]._repr_html_()
    assert "Not enough measured: 3 cases at 1.12.1" in answers["upgrade"]._repr_html_()
    assert "dynamo=True, opset 18+" in answers["op"]._repr_html_()
    assert answers["table"].to_pandas().columns[-1] == "2.15.0"


def test_a_long_table_is_cut_and_says_so_and_a_text_is_never_markup(answers):
    long = replace(answers["case"], tables=(Table("", ("text",), (("<script>x</script> & y",),) * 100),))
    html = long._repr_html_()

    assert len(lines(long)) == 1 + 60
    assert "and 40 more rows: .to_pandas() has them" in html
    assert "&lt;script&gt;x&lt;/script&gt; &amp; y" in html
    assert "<script>" not in html
    assert len(long.to_pandas()) == 100


def test_an_answer_without_rows_is_its_sentence(answers):
    nothing = replace(answers["case"], tables=())

    assert lines(nothing) == []
    assert len(nothing.to_pandas()) == 0


def test_what_has_no_table_is_refused():
    with pytest.raises(TypeError, match="int has no table"):
        as_table(1)


def test_without_pandas_it_says_what_to_install_and_the_table_is_shown_all_the_same(home):
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import caniexport\n"
        "answer = caniexport.case(caniexport.open(), 'cross', torch='1.12.1')\n"
        "assert '<table>' in answer._repr_html_()\n"
        "answer.to_pandas()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, VARIABLE: str(home)}, capture_output=True, text=True
    )

    assert ended.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: to_pandas() needs pandas: pip install 'caniexport[frames]'"
    )
