"""Pictures of numbers: what is drawn, and the same numbers as a table."""

from __future__ import annotations

import re

from caniexport.answers.gathered import Gathered, Share
from caniexport.pages.charts import Series, bars_chart, drawn_picture, share_chart

COLUMNS = ("2.8.0", "2.9.1")


def drawn(markup):
    return drawn_picture(re.search(r"picture\?name=(\w+)", markup)[1])


def test_the_share_that_works_is_a_line_for_each_exporter_with_its_numbers_beside_it():
    lines = [
        Gathered("", "torchscript-trace", 4, {"2.8.0": Share(1, 4, None), "2.9.1": Share(4, 4, None)}),
        Gathered("", "dynamo", 4, {"2.8.0": Share(0, 0, None), "2.9.1": Share(2, 4, None)}),
    ]
    made = share_chart(lines, COLUMNS, "the cases of a theme")
    cells = re.findall(r'<td class="number">([^<]*)</td>', made)

    assert cells == ["25", "100", "·", "50"], "what was not measured is no number"
    assert {"2.8.0", "2.9.1", "trace", "dynamo"} <= set(re.findall(r">([^<>]+)</text>", drawn(made)))


def test_nothing_is_drawn_of_nothing_measured_or_of_one_release():
    nothing = [Gathered("", "dynamo", 1, {name: Share(0, 0, None) for name in COLUMNS})]

    assert share_chart(nothing, COLUMNS, "all cases") == ""
    assert bars_chart(COLUMNS[:1], [Series("mended", (1,))], "bars") == ""


def test_bars_go_up_and_down():
    made = bars_chart(COLUMNS, [Series("mended", (3, 0)), Series("broken", (-2, -1))], "mended and broken")

    assert re.findall(r'<td class="number">([^<]*)</td>', made) == ["3", "0", "-2", "-1"]
    assert "mended" in drawn(made)
