"""Tables in the terminal are laid out as rich lays them out, whatever is in them."""

from __future__ import annotations

import io
import re

from caniexport.cli.grid import Grid, Styled
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

_TEXTS = st.text(st.sampled_from("abc é✗≠·漢字 -\n"), max_size=12)


def printed(thing, width=100, **options):
    console = Console(file=io.StringIO(), width=width, highlight=False, emoji=False, markup=False, **options)
    console.print(thing)
    return console.file.getvalue()


@given(
    st.lists(_TEXTS.map(str.strip), min_size=1, max_size=3), st.lists(_TEXTS, max_size=6), st.sampled_from([12, 100])
)
@example(["", "", ""], ["aaaa字字"], 12)
@example(["", "", ""], ["aaaaaaaa"], 12)
def test_a_table_reads_as_from_rich(names, cells, width):
    grid = Grid(names, 2)
    for at, text in enumerate(cells):
        grid.add_row(*[Styled(text, "red"), text][: 1 + at % len(names)])

    assert printed(grid, width) == printed(grid._folded(), width)


@given(
    st.lists(st.text(st.sampled_from("abc é漢-  "), max_size=60), min_size=1, max_size=5),
    st.integers(0, 2),
    st.integers(20, 60),
    st.booleans(),
)
def test_a_table_whose_widest_column_is_folded_reads_as_from_rich(texts, at, width, coloured):
    grid = Grid(["a", "kind", "b"], 2)
    for text in texts:
        cells = ["○ no", "rewrite", "✗"]
        cells[at] = Styled(text, "red")
        grid.add_row(*cells)
    terminal = {"force_terminal": True, "color_system": "standard"} if coloured else {}

    assert plainly(printed(grid, width, **terminal)) == plainly(printed(grid._folded(), width, **terminal))


def plainly(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_table_that_is_too_wide_is_folded():
    grid = Grid(["case", "outcome"], 2)
    grid.add_row("a-long-name-of-a-case", "✗ fail")
    lines = printed(grid, 16).splitlines()

    assert max(map(len, lines)) <= 16
    assert "".join(line[:7].strip() for line in lines[2:]) == "a-long-name-of-a-case"


def test_a_table_of_many_columns_in_a_narrow_terminal_is_told_line_by_line_with_whole_values():
    grid = Grid(["torch", "exporter", "opset", "outcome", "at stage", "message"], 2)
    grid.add_row("1.10.2", "trace", "14", Styled("✗ fail", "red"), "", "unsupported")

    assert printed(grid, 40).splitlines() == [
        "1.10.2",
        "  exporter: trace",
        "  opset: 14",
        "  outcome: ✗ fail",
        "  message: unsupported",
    ]
    assert "torch" in printed(grid, 100).splitlines()[0]


def test_colours_are_those_of_the_signs_and_only_in_a_terminal():
    grid = Grid(["outcome"], 2)
    grid.add_row(Styled("✗ fail", "red"))

    assert "\x1b[31m✗ fail\x1b[0m" in printed(grid, force_terminal=True, color_system="standard")
    assert "\x1b" not in printed(grid)
