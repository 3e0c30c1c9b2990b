"""Nothing public is undocumented: commands, options, words of answers, columns and words of rows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from dashboard_data import build

from caniexport.answers.declared import Agreement
from caniexport.answers.signs import CLAIM, status_word
from caniexport.cli import main
from caniexport.corpus.verdicts import Verdict, Workaround
from caniexport.model import corpus
from caniexport.model.rows import TABLES
from caniexport.model.status import Exporter, FixKind, Stage, Status, WhyNot
from caniexport.pages import glossary, looks
from caniexport.pages.glossary import TERMS
from caniexport.pages.kept import Kept
from caniexport.pages.page import PAGES
from caniexport.pages.page import page as draw_page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import make_commands  # noqa: E402  # the folder is not installed

PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
DATA = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
CONCEPTS = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
#: what other parts of the project document on pages of their own
ELSEWHERE = {"cases", "site", "reproduce", "bisect", "bundles", "run"}


def test_every_command_and_option_and_word_of_an_answer_is_on_the_page_of_commands():
    """`python docs/make_commands.py` writes the page again."""
    missing = make_commands.left_out(PAGE)

    assert [item for item in missing if not set(item.split()[:2]) & ELSEWHERE] == []


def test_a_command_that_answers_has_a_real_example():
    named = {line.split()[2] for line in PAGE.split("\n") if line.startswith("$ caniexport ")}

    assert set(make_commands.EXAMPLES) <= named


@pytest.mark.parametrize("words", [glossary.CLASSES, make_commands.STATES, glossary.AGREEMENT, looks.STATUS])
def test_every_word_has_a_meaning(words):
    kind = type(next(iter(words)))

    assert set(words) == set(kind)
    assert all(getattr(meaning, "meaning", meaning) for meaning in words.values())


def test_the_join_beside_the_columns_finds_the_files_of_old_and_new_releases_on_a_runtime():
    import duckdb

    (condition,) = re.findall(r"JOIN runs ON ([^\"]*)", DATA)
    rows = {name: f"read_parquet('{ROOT}/results/{name}/*.parquet', union_by_name=true)" for name in ("cells", "runs")}
    joined = f"FROM {rows['cells']} cells JOIN {rows['runs']} runs ON {condition} WHERE runs.runtime_version = '1.26.0'"

    found = {torch for (torch,) in duckdb.sql(f"SELECT DISTINCT torch {joined}").fetchall()}

    assert {"1.13.1", "2.8.0", "2.9.1", "2.15.0"} <= found


def test_the_glossary_is_short_and_explains_every_value_of_an_answer():
    explained = {name for term in TERMS for name, meaning in term.values.items() if meaning}
    kinds = [Status, Stage, Exporter, FixKind, WhyNot, Workaround, Verdict, Agreement]

    assert len(TERMS) <= 38
    (statuses,) = [term.values for term in TERMS if term.name == "status"]
    assert [status for status in Status if status_word(status) not in f"{status.value} {statuses[status.value]}"] == []
    assert {value.value for kind in kinds for value in kind} | set(CLAIM) <= explained
    assert all(f"**{term.name}**" in CONCEPTS for term in TERMS)
    assert [name for name in explained if f"- `{name}`: " not in CONCEPTS] == []


@pytest.mark.parametrize("page", [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"], ids=lambda path: path.name)
def test_every_document_leads_to_the_concepts(page):
    assert page.name == "concepts.md" or "concepts.md)" in page.read_text(encoding="utf-8")


def test_what_a_person_wrote_can_be_read_in_an_hour():
    printed = {"commands.md", "concepts.md", "data.md"}
    pages_ = [path for path in (ROOT / "docs").glob("*.md") if path.name not in printed]
    words = {path.name: len(path.read_text(encoding="utf-8").split()) for path in [*pages_, ROOT / "README.md"]}

    assert sum(words.values()) <= 15_000
    assert words["README.md"] <= 850  # 700 without what the program prints


def test_every_link_between_documents_leads_somewhere():
    texts = {path: path.read_text(encoding="utf-8") for path in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]}
    lines = {path: re.findall(r"^#+ (.+)$", text, re.MULTILINE) for path, text in texts.items()}
    heads = {
        path: {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in found}
        for path, found in lines.items()
    }
    links = [(path, link) for path, text in texts.items() for link in re.findall(r"\]\(([^):]+)\)", text)]

    for path, link in links:
        name, _, head = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), (path.name, link)
        assert not head or head in heads[target], (path.name, link)


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_in_the_data_dictionary(table):
    section = DATA.split(f"\n## {table}\n")[1].split("\n## ")[0]

    assert [column.name for column in TABLES[table] if f"| `{column.name}` |" not in section] == []


@pytest.mark.parametrize("words", [Stage, Status, Exporter, FixKind])
def test_every_word_of_a_row_is_in_the_data_dictionary(words):
    assert [word.value for word in words if f"| `{word.value}` |" not in DATA] == []


def test_the_python_functions_say_what_they_take_and_give():
    import caniexport

    assert all(getattr(caniexport, name).__doc__ for name in caniexport.__all__)


#: words and phrases of the project's old dialect that are wrong in any public text
DIALECT = re.compile(
    r"\b(told|beside|mended|speaks? (of|to|for)|bare call|owe[sd]|the catalogue|by exporter"
    r"|without a word|cry wolf|called by name|torch's own calls"
    r"|(works?|fails?) at (neither end|both ends)|at both ends|failing forms?"
    r"|may go|must stay|goes round|no word about|what is beside|has it no more)\b(?!-)|\bsaid(?=[ ,.:;])",
    re.IGNORECASE,
)
#: SQL, Python and other code in documents
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def helps(command, path="caniexport"):
    """The help of a command and of those in it, as it is printed."""
    context = click.Context(command, info_name=path)
    yield path, command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from helps(command.get_command(context, name), f"{path} {name}")


def test_no_public_text_has_a_word_of_the_old_dialect(tmp_path):
    build(tmp_path)
    kept = Kept.open(tmp_path / "results", None)
    texts = {path.name: CODE.sub("", path.read_text("utf-8")) for path in (ROOT / "docs").glob("*.md")}
    texts |= {"README.md": CODE.sub("", (ROOT / "README.md").read_text("utf-8")), **dict(helps(main))}
    for item in corpus.load([ROOT / "cases"], stand_in=True).values():
        texts[item.id] = "\n".join([item.cls.title(), *(each.note for each in item.variants.values())])
    for name in PAGES:
        found = draw_page(name, {}, kept)
        texts[f"page {name}"] = re.sub(r"<[^>]*>", " ", f"{found.title} {found.lead} {found.body}")
    del texts["findings.md"]  # it quotes the sources

    found = sorted({(name, hit[0].lower()) for name, text in texts.items() for hit in DIALECT.finditer(text)})
    assert found == []


@pytest.mark.parametrize("text", [(ROOT / "README.md").read_text(encoding="utf-8"), "check"], ids=["README", "help"])
def test_who_runs_the_file_of_a_model_is_said(text):
    told = CliRunner().invoke(main, ["check", "--help"]).output if text == "check" else text
    assert "with your rights: " in " ".join(told.split())
