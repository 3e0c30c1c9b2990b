"""One question asked in every way that there is has one answer: command, Python, agent, pytest."""

from __future__ import annotations

import json
import random
from pathlib import Path

from click.testing import CliRunner

from caniexport import api
from caniexport.agents import Agent
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.match.known import known_case
from caniexport.model.status import MEASURED

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("case", "torch", "exporter", "opset", "status")


def questions(dataset, number):
    """Failing forms at measured points, drawn by a fixed seed."""
    where = {"variant": ("plain",), "provider": ("cpu",), "exporter": ("torchscript-trace", "dynamo")}
    rows = sorted(row for row in dataset.select(COLUMNS, where) if row[3] is not None and row[4] in set(MEASURED))
    return [dict(zip(COLUMNS[:4], row, strict=False)) for row in random.Random(25).sample(rows, number)]


def told(groups, messages):
    """What JSON says of a point: how it ended and where, and the message's first line."""
    (group,) = groups
    text = messages[group["message"]] if group.get("message") is not None else ""
    return group["status"], group["stage"], first(text)


def first(text):
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:100]


def test_fifty_questions_have_one_answer_however_they_are_asked(results, tmp_path, monkeypatch):
    for name in ("cases", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    agent = Agent(results)

    for asked in questions(results, 50):
        case, point = f"{asked['case']}/plain", {name: str(asked[name]) for name in ("torch", "exporter", "opset")}
        options = [word for name, text in point.items() for word in (f"--{name}", text)]
        (printed,) = json.loads(CliRunner().invoke(main, ["why", case, *options, "--json"]).stdout)
        (mine,) = api.why(results, case, **point)
        (group,) = mine.groups
        (served,) = agent.why(case, **point)["answers"]
        known = known_case(results, case, point)
        text = "" if group.message is None else mine.messages[group.message]

        answers = {
            "command": told(printed["groups"], printed["messages"]),
            "python": (group.status.value, group.stage, first(text)),
            "agent": told(served["groups"], served.get("messages", ())),
        }
        works = known.word.value == "measured to work"
        answers["pytest"] = (known.status.value, known.stage, answers["python"][2] if works else known.message[:100])
        assert len(set(answers.values())) == 1, (asked, answers)
