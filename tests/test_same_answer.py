"""One question asked in each of five ways has one answer: command, Python, JSON file, agent, test suite."""

from __future__ import annotations

import html
import json
import random
import re
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport import api, locks, pytest_plugin
from caniexport.agents import Agent
from caniexport.answers.answer import as_json
from caniexport.answers.case import answer_case
from caniexport.answers.inventory import Inventory
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import call_text
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.locks import LockedInstall
from caniexport.model.canaries import CANARY
from caniexport.model.status import MEASURED, WORKS
from caniexport.pages.kept import Kept
from caniexport.pages.page import page

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = ("-p", "no:caniexport", "-p", "caniexport.pytest_plugin", "-p", "no:cacheprovider", "-qq", "--caniexport")
COLUMNS = ("case", "variant", "torch", "exporter", "opset", "status")
EXPORTERS = ("torchscript-trace", "torchscript-script", "dynamo")
#: cases and torch releases that questions are about
CASES, RELEASES, NUMBER = 6, 3, 12
REASON = re.compile(
    r"(?P<name>\S+) is measured to (?P<word>fail|work) at (?P<place>.*?opset \d+)(?: \((?P<ended>.*?)\))?;"
)


@pytest.fixture(scope="module")
def questions(results):
    """Measured points drawn by a fixed seed: every status, failing forms and fixes, several releases."""
    draw, catalogue = random.Random(25), Inventory.of(results).catalogue
    where = {"provider": ("cpu",), "exporter": EXPORTERS, "torch": draw.sample(Inventory.of(results).torch, RELEASES)}
    cases = draw.sample(sorted({case for (case, _), entry in catalogue.items() if entry.corpus != CANARY}), CASES)
    some, seldom = ({"case": cases}, {"status": ("crash", "unstable")})
    found = results.select(COLUMNS, where | some) + results.select(COLUMNS, where | seldom)
    rows = sorted({row for row in found if row[5] in set(MEASURED) and catalogue[row[:2]].corpus != CANARY})
    each = [draw.choice([row for row in rows if row[5] == status]) for status in sorted({row[5] for row in rows})]
    return [dict(zip(COLUMNS, row, strict=True)) for row in each + draw.sample(rows, NUMBER - len(each))]


@pytest.fixture
def home(tmp_path, monkeypatch, opened_once):
    """The published dataset without rows of this machine, in a folder without settings."""
    for name in ("cases", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)


def named(asked):
    """The question in the words of the command line: the case, and the point."""
    return f"{asked['case']}/{asked['variant']}", {name: str(asked[name]) for name in ("torch", "exporter", "opset")}


def told(answer):
    """What JSON says of a cell: how it ended and where, and the message's first line."""
    facts = {row["fact"]: row["value"] for row in answer["tables"][0]["rows"]}
    return facts["outcome"], facts.get("stage", "done"), short_cause(facts.get("error", ""))


def by_command(asked):
    case, point = named(asked)
    options = [word for name, text in point.items() for word in (f"--{name}", text)]
    return told(json.loads(CliRunner().invoke(main, ["case", case, *options, "--json"]).stdout))


def by_python(results, asked):
    case, point = named(asked)
    return told(as_json(api.case(results, case, **point)))


def by_agent(agent, asked):
    case, point = named(asked)
    return told(agent.case(case, **point))


def in_file(file, asked):
    """What is to be done by a program that has the file of a case."""
    (rows,) = [table["rows"] for table in file["tables"] if table["title"].startswith("every outcome")]
    (mine,) = [
        row
        for row in rows
        if (row["variant"], row["call"]) == (asked["variant"], call_text("2.15", asked["exporter"]))
        and asked["torch"] in row["torch"]
        and asked["opset"] in row["opset"]
    ]
    return mine["outcome"], mine["stage"], short_cause(mine["error"] or "")


def without_numbers(said):
    # a long message is cut, earlier where its numbers are longer
    return [re.sub(r"[\d.]+(e[+-]\d+)?", "N", text)[:120] for text in said]


def in_suites(questions, pytester, monkeypatch):
    """For each question the line of the plugin, from a test suite run where its torch release is installed."""
    by_torch = defaultdict(list)
    for number, asked in enumerate(questions):
        case, point = named(asked)
        del point["torch"]
        mark = f"@pytest.mark.caniexport({case!r}, **{point!r})"
        by_torch[asked["torch"]].append(f"{mark}\ndef test_{number}():\n    assert False\n")
    lines = {}
    for torch, tests in by_torch.items():
        monkeypatch.setattr(locks, "read_running", lambda: LockedInstall("here", "3.12", {"torch": torch}))  # noqa: B023 - called in this turn
        pytest_plugin._read_running.cache_clear()
        pytest_plugin._find_known.cache_clear()
        pytester.makepyfile("import pytest\n" + "\n".join(tests))
        found = re.findall(r"::test_(\d+): (.*)", pytester.runpytest_inprocess(*PLUGIN).stdout.str())
        lines |= {int(number): line for number, line in found}
    return [lines[number] for number in range(len(questions))]


def test_an_error_text_has_one_answer_for_command_python_agent_and_page(results, home):
    text = "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported"
    by_command = json.loads(CliRunner().invoke(main, ["why", text, "--torch", "1.10.2", "--json"]).stdout)
    by_agent = Agent(results).explain_error(text, torch="1.10.2")
    answer = api.explain_error(results, text, torch="1.10.2")
    shown = html.unescape(str(page("search", {"q": text, "torch": "1.10.2"}, Kept.open(ROOT / "results", None)).body))

    assert by_command == as_json(answer)
    assert by_agent["verdict"] == by_command["verdict"]
    assert by_agent["tables"][0]["rows"] == by_command["tables"][0]["rows"]
    assert answer.verdict in shown
    assert all(row["where"] in shown for row in by_command["tables"][0]["rows"])


def test_questions_have_one_answer_in_all_five_ways(results, questions, home, pytester, monkeypatch):
    agent, kept = Agent(results), Kept.open(ROOT / "results", None)
    files = {
        name: json.loads(json.dumps(as_json(answer_case(kept, name))))
        for name in {asked["case"] for asked in questions}
    }
    suites = in_suites(questions, pytester, monkeypatch)

    assert {asked["status"] for asked in questions} >= {"pass", "fail", "mismatch", "degraded", "unsupported", "crash"}
    assert {asked["variant"] == "plain" for asked in questions} == {True, False}
    assert {asked["exporter"] for asked in questions} == set(EXPORTERS)
    for asked, line in zip(questions, suites, strict=True):
        file = files[asked["case"]]
        status, stage, message = by_python(results, asked)
        assert status == asked["status"]
        assert by_command(asked) == by_agent(agent, asked) == (status, stage, message), asked
        # in a file one message stands for all of an error, which differ in their numbers
        assert without_numbers(in_file(file, asked)) == without_numbers((status, stage, message)), asked
        said = REASON.match(line)
        word, ended = ("work", None) if status in set(WORKS) else ("fail", f"{status} at {stage}")
        assert (said["word"], said["ended"]) == (word, ended), (asked, line)
        assert said["name"] == (asked["case"] if asked["variant"] == "plain" else named(asked)[0])
        assert f"torch {asked['torch']}, " in said["place"]
        assert word == "work" or message.removesuffix("…") in line
