"""Pictures of numbers: what is drawn, and the same numbers as a table."""

from __future__ import annotations

import re

from caniexport.pages.charts import Series, draw_line_chart, find_chart

COLUMNS = ("2.8.0", "2.9.1")


def drawn(markup, of="src"):
    return find_chart(re.search(rf'{of}="./picture\?name=(\w+)', markup)[1])


def test_the_share_that_works_is_a_line_for_each_exporter_with_its_numbers_beside_it():
    made = draw_line_chart(COLUMNS, [Series("trace", (25, 100)), Series("dynamo", (None, 50))], "the cases of a theme")
    cells = re.findall(r'<td class="number">([^<]*)</td>', made)

    assert cells == ["25", "100", "·", "50"], "what was not measured is no number"
    assert {"2.8.0", "2.9.1", "trace", "dynamo"} <= set(re.findall(r">([^<>]+)</text>", drawn(made)))


def test_nothing_is_drawn_of_one_release():
    assert draw_line_chart(COLUMNS[:1], [Series("mended", (1,))], "a line") == ""


def test_a_phone_gets_a_picture_that_its_window_holds():
    releases = [f"2.{number}.0" for number in range(30)]
    series = [Series(f"dynamo, {name}", tuple(range(30))) for name in ("all operators", "by use in models")]
    made = draw_line_chart(releases, series, "many")

    names = [set(re.findall(r">(2\.\d+\.0)</text>", drawn(made, of))) for of in ("src", "srcset")]
    assert names[0] == set(releases)
    assert 5 < len(names[1]) < 30
    assert float(re.search(r'width="(\d+)', drawn(made, "srcset"))[1]) <= 358


def test_the_box_of_a_picture_is_that_of_what_is_drawn_in_it():
    series = [Series(f"dynamo, {name}", (3, 90)) for name in ("all operators", "by use in models", "some")]
    pictures = [
        draw_line_chart(COLUMNS, series, "bars"),
        draw_line_chart(COLUMNS, [Series("dynamo", (25, 25))], "cases"),
    ]

    for made in pictures:
        found = re.findall(r'(src|srcset)="[^"]*"[^>]* width="(\d+)" height="(\d+)"', made)
        assert found
        for of, width, height in found:
            assert f'width="{width}" height="{height}"' in drawn(made, of)
