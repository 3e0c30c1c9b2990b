"""What the commands answer over the published rows is what these rows say."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from caniexport.answers.filters import Filters
from caniexport.answers.standings import workarounds
from caniexport.cli import main

pytestmark = pytest.mark.published


def ask(*args: str, text: str | None = None) -> str:
    """What a command prints, in one line."""
    return " ".join(CliRunner().invoke(main, args, input=text).output.split())


def says_opset(statement: str, opset: int) -> bool:
    """Whether the opsets that a sentence names have this one; a sentence that names none is about all."""
    limit = re.search(r"with opset ([<>])= (\d+)", statement)
    if limit:
        return opset <= int(limit[2]) if limit[1] == "<" else opset >= int(limit[2])
    named = re.search(r"(?:with opset|some opsets, not the same on each release) ?(.*?)(?: \(\w+ at|$)", statement)
    spans = re.findall(r"(?<![\d.])(\d+)(?:-(\d+))?(?![\d.])", named[1]) if named else [("0", "99")]
    return any(int(first) <= opset <= int(last or first) for first, last in spans)


@pytest.mark.parametrize(
    "asked",
    [Filters(), Filters(torch=("1.13.1",)), Filters(opsets=("20",)), Filters(torch=("1.13.1",), opsets=("20",))],
    ids=["newest", "1.13.1", "opset 20", "opset that 1.13.1 refuses"],
)
def test_the_sentence_of_a_fix_says_its_verdict(results, asked):
    found = workarounds(results, asked)
    every = [*found.standings, *found.cautions]

    assert len(every) > 2000
    assert [item for item in every if not re.match(rf"{item.word.value} (at|since|on|in) ", item.statement)] == []
    assert [item for item in every if item.opset and not says_opset(item.statement, item.opset)] == []
    assert [
        item for item in every if item.obsolete_since and not re.search(rf"\b{item.obsolete_since}\b", item.statement)
    ] == []


def test_a_cast_that_is_needed_is_not_called_obsolete():
    answer = ask("workaround", "arange-half/cast", "--torch", "1.13.1", "--exporter", "trace")

    assert answer.startswith("arange-half/cast is needed at torch 1.13.1, opset 14 (trace)")
    assert "trace: needed" in answer
    assert "obsolete since" not in answer
