"""The static copy: its pages say what the rows say, its links lead to files of it, and texts stay texts."""

from __future__ import annotations

import html
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from click.testing import CliRunner
from dashboard_data import CASES, HOSTILE, MARKED_ID, RELEASES, build
from markupsafe import escape

import caniexport
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.pages.kept import Kept
from caniexport.pages.links import slug
from caniexport.pages.site.build import _begin, _write_part
from caniexport.pages.site.writer import PageWriter


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def copy(home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "site"
    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["site", "-o", str(folder), "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["cases"] == len(CASES) + 1
    assert "writing the tables as files, then" in found.stderr
    return folder


def read_page(path):
    """A file of the copy; in a page each value of an attribute in quotes, which the copy leaves out where it can."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".html":
        return text
    return re.sub(r"<[a-z][^<>]*>", lambda tag: re.sub(r'"[^"]*"|=([^\s"<>=]+)', _quote, tag[0]), text)


def _quote(found):
    return f'="{found[1]}"' if found[1] else found[0]


def words(path):
    return words_of(re.sub(r"<(script|style).*?</\1>", " ", read_page(path), flags=re.S))


def words_of(text):
    """What is read; a part of a line of code that has a colour of its own is no word of its own."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?span[^>]*>", "", text))).split())


def test_the_copys_page_of_upgrades_opens_with_the_decision(copy):
    said = words(copy / "upgrade.html")

    assert re.search(r"(Move to|Not enough measured:) .*? with .*?=", said)


def test_another_name_of_an_operator_leads_to_its_one_page(copy):
    pages = {re.search("<title>(.*?) · ", read_page(path))[1]: path for path in (copy / "op").iterdir()}
    other, told = pages["aten::roll_"], pages["aten::roll"]

    assert f'content="0; url={told.name}"' in read_page(other)
    assert "See aten::roll ." in words(other)
    assert "Also called aten::roll_" in words(told)
    assert "roll-negative" in words(told)


def test_an_upgrade_lists_what_is_folded_and_leads_to_the_case(copy):
    page = read_page(copy / "upgrade" / "1.10.2.html")

    assert "1 row: workarounds you can remove workaround what it does case stack_rewrite" in words_of(page)
    assert re.search(r'href="\.\./case/cross-no-symbolic\.html[^"]*">cross-no-symbolic</a>', page)


def test_an_upgrade_from_each_release_and_from_the_packages_of_its_time_has_a_page(copy):
    assert "From torch 1.10.2, default (torch.onnx.export, opset 9) to" in words(copy / "upgrade" / "1.10.2.html")

    said = words(copy / "upgrade" / "2.8.0-period.html")
    assert "From torch 2.8.0, default (dynamo=False, opset 17), profile period to torch 2.15.0." in said
    links = read_page(copy / "upgrade.html")
    assert 'href="upgrade/2.8.0.html"' in links
    assert 'href="upgrade/2.8.0-period.html"' in links
    assert 'href="upgrade/2.0.1-period.html"' not in links


def test_a_case_says_where_the_packages_of_a_releases_time_end_otherwise(copy):
    said = words(copy / "case" / "cross-no-symbolic.html").split("with other companion packages")[1]

    assert re.search(r"2\.8\.0\s+dynamo=True", said)
    assert "✗ fail" in said


def test_every_link_leads_to_a_file_of_the_copy_and_to_an_anchor_on_it(copy):
    for page in copy.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"]*)"', read_page(page)):
            if target.startswith("https://"):
                continue
            file, _, anchor = html.unescape(target).partition("#")
            file = file.partition("?")[0]
            there = (page.parent / file).resolve() if file else page
            assert there.is_file(), f"{page.relative_to(copy)} leads to {target}"
            if anchor:
                assert f'id="{anchor}"' in read_page(there), f"{page.name} leads to {target}"


def test_a_case_has_a_page_with_its_answers_its_texts_its_forms_and_its_claims(copy):
    said = words(copy / "case" / "cross-no-symbolic.html")

    assert "Works at torch 2.15.0, since 2.0.1 (dynamo=False" in said
    assert "Exporting the operator cross to ONNX opset version" in said
    assert "○ remove" in said
    assert "def forward(self, x): # stack_rewrite" in said
    assert "known to be wrong or partial" in said
    assert "cross is refused at opset 14" in said


def test_the_graphs_of_a_case_are_pictures_of_the_copy_and_equal_ones_are_one_file(copy):
    page = read_page(copy / "case" / "cross-no-symbolic.html")
    figures = page.split("<figure>")[1:]
    told = [words_of(figure.split("</figcaption>")[0]) for figure in figures]

    assert told == [
        "original code trace, torch 2.15.0, opset 20 original code dynamo, torch 2.15.0, opset 20",
        "stack_rewrite trace, torch 2.15.0, opset 20 stack_rewrite dynamo, torch 2.15.0, opset 20",
    ]
    assert 'alt="2 operators: Mul, Sub"' in figures[1]
    files = re.findall(r'<img src="\.\./(graph/[^"]*)"', page)
    drawn = [ElementTree.parse(copy / file).getroot() for file in files]
    texts = [[item.text for item in root.iter("{http://www.w3.org/2000/svg}text")] for root in drawn]
    assert ["Sub" in found and "Mul" in found for found in texts] == [False, True]
    assert len(list((copy / "graph").iterdir())) == 2
    assert "<img" not in read_page(copy / "case" / "item-baked.html")


def test_a_source_that_is_closed_while_its_form_still_fails_says_so_on_the_page(copy):
    assert "closed (seen 2026-11-22), but still fails at torch 2.15.0" in words(copy / "case" / "item-baked.html")
    assert "onnx/onnx#2683 closed (seen 2026-11-22) " in words(copy / "case" / "cross-no-symbolic.html")


def test_a_case_that_nobody_measured_says_so_and_shows_its_forms(tmp_path):
    home = build(tmp_path / "home")
    (home / "results" / "cells" / "torch-2.8.0-cpu.parquet").unlink()
    _begin(Kept.open(home / "results", None), tmp_path)
    _write_part(("cases", ("only-at-2-8",)))

    said = words(tmp_path / "case" / "only-at-2-8.html")
    assert "Not measured: only-at-2-8." in said
    assert "def forward(self, x): # plain" in said


def test_every_release_has_an_address_that_stays(copy):
    for torch in RELEASES:
        assert "torch.cross before" in words(copy / "torch" / f"{torch}.html")


def test_the_themes_of_a_large_copy_lead_to_their_cases_and_these_to_their_pages(copy, home, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("caniexport.pages.views.matrix"), "_MANY", 0)
    PageWriter(Kept.open(home / "results", None), tmp_path).write_page("matrix.html", "matrix", {})

    name = re.search(r'<th[^>]*><a href="(theme/geometry\.html)"', read_page(tmp_path / "matrix.html"))
    links = re.findall(r'<th class="case"[^>]*><a href="([^"#]*)', read_page(copy / name[1]))
    assert set(links) == {"../case/cross-no-symbolic.html"}


def test_an_environment_case_and_an_operator_have_pages(copy):
    assert "numpy.core.multiarray failed to import" in words(copy / "case" / "numpy-2-breaks.html")
    said = words(copy / "op" / f"{slug('aten::cross')}.html")
    assert "torch.cross before a convolution is refused" in said
    assert "2.15.0" in said


def test_every_address_that_agents_are_told_of_is_in_the_copy(copy):
    linked = re.findall(r"\]\(([^)]+)\)", (copy / "llms.txt").read_text(encoding="utf-8"))

    assert len(linked) >= 4
    assert [address for address in linked if not (copy / address).is_file()] == []


def test_the_tables_are_there_as_files_for_other_tools(copy, home):
    cells = pd.read_parquet(copy / "data" / "cells.parquet")
    matrix = pd.read_csv(copy / "data" / "table.csv.gz")
    published = sum(len(pd.read_parquet(path)) for path in (home / "results" / "cells").glob("*.parquet"))

    assert len(cells) == published
    (traced,) = matrix[(matrix["case"] == "cross-no-symbolic") & (matrix["call"] == "dynamo=False")].to_dict("records")
    assert {torch: traced[torch] for torch in RELEASES} == dict.fromkeys(RELEASES, "pass 9+") | {"1.10.2": "fail"}
    assert "cross-no-symbolic/exchanged" in set(matrix["case"])
    fixes = pd.read_csv(copy / "data" / "workarounds.csv.gz")
    assert set(fixes[fixes["variant"] == "stack_rewrite"]["verdict"]) == {"obsolete"}


def test_texts_of_the_dataset_are_texts_in_every_page(copy):
    for page in copy.rglob("*.html"):
        text = read_page(page)
        ours = r'src="(?:\.\./)?(?:graph|picture)/[0-9a-f]{16}\.svg" '
        assert all(re.match(ours, found) for found in text.split("<img ")[1:]), page.name
        assert "<script>" not in text
        assert 'onerror="' not in text
    assert escape(HOSTILE) in (copy / "case" / f"{slug(MARKED_ID)}.html").read_text(encoding="utf-8")


def test_a_name_is_a_safe_file_name_and_two_names_are_two():
    names = ["cross", "Cross", "a/b", "a-b", "../../etc", MARKED_ID, "aten::add", "aten--add", "", "x" * 300, "é"]

    made = [slug(name) for name in names]

    assert len(set(made)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,90}", name) for name in made)


#: the command, with every page written by a process of its own
_BESIDE = """
import importlib
from caniexport.cli import main

build = importlib.import_module("caniexport.pages.site.build")
build._FEW, build._TOGETHER = 0, 1
if __name__ == "__main__":
    main()
"""


def _copy_beside(home, tmp_path, target):
    script = tmp_path / "copy_beside.py"
    script.write_text(_BESIDE)
    line = [sys.executable, str(script), "site", "-o", str(target)]
    # sets have another order in each process
    given = {**os.environ, VARIABLE: str(home), "PYTHONHASHSEED": "7"}
    return subprocess.Popen(line, env=given, stderr=subprocess.PIPE, text=True)


def test_the_same_rows_give_the_same_files_by_other_processes_and_an_earlier_copy_is_replaced(copy, home, tmp_path):
    target = tmp_path / "beside"
    target.mkdir()
    (target / "copy-files.txt").write_text("copy-files.txt\nold.html")
    (target / "old.html").write_text("a page of an earlier copy")
    process = _copy_beside(home, tmp_path, target)

    assert process.wait() == 0, process.stderr.read()
    files = {path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert {path.relative_to(target): path.read_bytes() for path in target.rglob("*") if path.is_file()} == files
    assert not list(tmp_path.glob(".beside*"))


def test_a_killed_process_that_writes_pages_is_named_and_no_half_copy_stays(home, tmp_path):
    process = _copy_beside(home, tmp_path, tmp_path / "beside")
    while not (found := _children(process.pid)):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(found[0], signal.SIGKILL)

    assert "a process that wrote pages of the copy was ended" in process.communicate()[1]
    assert process.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["copy_beside.py"]


def _children(parent):
    """The processes that write pages for this one."""
    found = subprocess.run(
        ["pgrep", "-P", str(parent), "-f", "spawn_main"], capture_output=True, text=True, check=False
    )
    return [int(number) for number in found.stdout.split()]


def test_the_copy_does_not_tell_where_it_was_written(copy):
    own = str(Path(caniexport.__file__).parent)

    assert [path for path in copy.rglob("*.*") if own.encode() in path.read_bytes()] == []


def test_a_folder_that_holds_something_else_is_left_alone(home, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["site", "-o", str(tmp_path)])

    assert found.exit_code == 1
    assert "something that is not a copy" in found.output
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_copy_to_which_somebody_added_a_file_is_left_alone(copy, home, tmp_path):
    shutil.copytree(copy, tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("example.org")
    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["site", "-o", str(tmp_path / "site")])

    assert found.exit_code == 1
    assert "something that is not a copy of this dataset (CNAME)" in " ".join(found.output.split())
    assert (tmp_path / "site" / "CNAME").read_text() == "example.org"


def test_a_home_without_rows_says_so_and_leaves_nothing(tmp_path):
    (tmp_path / "home" / "cases").mkdir(parents=True)
    target = tmp_path / "site"
    found = CliRunner(env={VARIABLE: str(tmp_path / "home")}).invoke(main, ["site", "-o", str(target)])

    assert found.exit_code == 1
    assert "nothing has been measured yet" in found.output
    assert not target.exists()


def test_the_index_of_the_search_has_the_pages_of_cases_and_operators(copy):
    (entry,) = json.loads((copy / "pagefind" / "pagefind-entry.json").read_text(encoding="utf-8"))["languages"].values()

    assert entry["page_count"] == sum(len(list((copy / kind).iterdir())) for kind in ("case", "op"))


def test_a_search_that_cannot_be_written_says_why(home, tmp_path, monkeypatch):
    module = importlib.import_module("caniexport.pages.site.build")
    monkeypatch.setattr(module, "get_executable", lambda: shutil.which("false"))
    monkeypatch.setattr(module, "_write_part", lambda part: ())
    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["site", "-o", str(tmp_path / "site")])

    assert found.exit_code == 1
    assert "the search could not be written" in found.output
    assert list(tmp_path.iterdir()) == []
