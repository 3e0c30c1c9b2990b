"""Pictures of numbers, as SVG files, each with its numbers as a table.

Altair describes them, vl-convert draws them here, when somebody looks: a page does not wait for its pictures, and needs
no script for them. The static copy has them as files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from markupsafe import Markup

from caniexport.pages.render import render

#: all of a picture, in pixels: its box is there before it is drawn
_HEIGHT, _LEGEND_LINE = 240, 16
#: wide enough for the names of thirty releases; what fits the window of a phone, which leaves some of them out
_WIDTH, _NARROW = 934, 350
#: names are measured larger than they are drawn, for a reader's font may be wider than the one here
_MEASURED = 13
#: read on light and on dark; series differ in their marks, too
_COLOURS = ("#2f7fc1", "#d9772b", "#8a6fc4", "#2a9d95")
#: texts follow the page's theme
_STYLE = (
    "<style>text{font:10px system-ui,sans-serif;fill:#3c464c}"
    "@media(prefers-color-scheme:dark){text{fill:#dfe3e2}}</style>"
)
_LEFT_OUT = re.compile(
    r' (?:aria-[a-z]+|role|class|font-family|font-size|pointer-events|xlink:href|stroke-miterlimit)="[^"]*"'
    r'|<text[^>]* opacity="0"[^>]*>[^<]*</text>'
    r'| opacity="1"| fill="#000"| stroke-width="1"| stroke-dasharray="1,0"| [xy]2="0"| transform="translate\(0,0\)"'
)
#: paths that draw nothing, once they have no other attribute
_NO_PATH = re.compile(r'<path d="(?:M0,0[hv][^"]*Z)?"(?: display="none")?/>')
_DECIMALS = re.compile(r"\d+\.\d{3,}")
#: pictures of pages that were shown, those asked for last at the end, and how many are kept: some kilobytes each
_PICTURES: dict[str, Callable[[], str]] = {}
_MOST = 2000


@dataclass(frozen=True)
class Series:
    """One line: its name and a number for each place, ``None`` where nothing is known."""

    name: str
    numbers: tuple[float | None, ...]


def draw_line_chart(columns: Sequence[str], series: Sequence[Series], caption: str) -> Markup:
    """A line over the places for each series."""
    if len(columns) < 2:
        return Markup()
    # the legend of a phone's picture has two names in a line
    wide, narrow = (_WIDTH, _HEIGHT), (_NARROW, _HEIGHT + _LEGEND_LINE * ((len(series) + 1) // 2 - 1))
    pictures = [(_kept(tuple(columns), tuple(series), sizes), *sizes) for sizes in (wide, narrow)]
    return render("chart.html", caption=caption, pictures=pictures, columns=columns, series=series)


def _kept(columns: tuple[str, ...], series: tuple[Series, ...], sizes: tuple[int, int]) -> str:
    """The name under which a picture is drawn when somebody asks for it."""
    name = hashlib.sha256(repr((columns, series, sizes)).encode()).hexdigest()[:16]
    _PICTURES.pop(name, None)
    _PICTURES[name] = partial(_drawn, columns, series, sizes)
    for oldest in list(_PICTURES)[:-_MOST]:
        del _PICTURES[oldest]
    return name


def find_chart(name: str) -> str | None:
    """A picture of a page as SVG; ``None`` for one that no page has shown lately."""
    draw = _PICTURES.pop(name, None)
    if draw is None:
        return None
    _PICTURES[name] = draw
    return draw()


@lru_cache(maxsize=64)
def _drawn(columns: tuple[str, ...], series: tuple[Series, ...], sizes: tuple[int, int]) -> str:
    """The picture as SVG, without what one that is shown as an image has no use for (a half of it)."""
    import altair as alt
    import vl_convert

    width, height = sizes
    is_narrow, names = width == _NARROW, [item.name for item in series]
    values = [
        {"release": column, "series": item.name, "value": value}
        for item in series
        for column, value in zip(columns, item.numbers, strict=True)
        if value is not None
    ]
    legend = alt.Legend(orient="top", title=None, labelFontSize=_MEASURED, columns=2 if is_narrow else 0)
    colors = alt.Scale(domain=names, range=list(_COLOURS[: len(names)]))
    axis = alt.Axis(labelAngle=-50, ticks=False)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("release:N", sort=list(columns), title=None, axis=axis),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 100])),
        color=alt.Color("series:N", scale=colors, legend=legend),
    )
    own = alt.Scale(domain=names)
    points = base.mark_point(filled=True, opacity=1).encode(shape=alt.Shape("series:N", scale=own))
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=alt.StrokeDash("series:N", scale=own))
    fits = alt.AutoSizeParams(type="fit", contains="padding")
    chart = (
        (lines + points)
        .properties(width=width, height=height, autosize=fits, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#88939a", gridOpacity=0.25, labelOverlap="parity" if is_narrow else False)
    )
    drawn = _NO_PATH.sub("", _LEFT_OUT.sub("", str(vl_convert.vegalite_to_svg(chart.to_dict()))))
    drawn = _DECIMALS.sub(lambda number: f"{float(number[0]):.2f}", drawn)
    return drawn.replace("<defs/>", _STYLE, 1) if "<defs/>" in drawn else drawn.replace(">", f">{_STYLE}", 1)
