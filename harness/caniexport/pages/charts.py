"""Pictures of numbers, as SVG files, each with its numbers as a table.

Altair describes them, vl-convert draws them here, when somebody looks: a page does not wait for its pictures, and needs
no script for them. The static copy has them as files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from caniexport.answers.gathered import Gathered
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.pages.render import render

if TYPE_CHECKING:
    import altair as alt

_HEIGHT = 170
#: letters of a name that is written level above its column
_SHORT = 8
#: wide enough for the names of thirty releases; what fits the window of a phone, which leaves some of them out
_WIDTH, _NARROW = 900, 290
#: names are measured larger than they are drawn, for a reader's font may be wider than the one here
_MEASURED = 13
#: read on light and on dark; series differ in their marks, too
_COLOURS = ("#2f7fc1", "#d9772b", "#8a6fc4", "#2a9d95")
#: texts follow the page's theme
_STYLE = (
    "<style>text{fill:#3c464c;font:10px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){text{fill:#dfe3e2}}</style>"
)


_LEFT_OUT = re.compile(
    r' (?:aria-[a-z]+|role|class|font-family|font-size|pointer-events|xlink:href|stroke-miterlimit)="[^"]*"'
    r'|<text[^>]* opacity="0"[^>]*>[^<]*</text>'
    r'| opacity="1"| fill="#000"|<path d="(?:M0,0[hv][^"]*Z)?"(?: display="none")?/>'
)
_DECIMALS = re.compile(r"\d+\.\d{3,}")


@dataclass(frozen=True)
class Series:
    """One line or one kind of bar: its name and a number for each place, ``None`` where nothing is known."""

    name: str
    numbers: tuple[float | None, ...]


class HeatCell(NamedTuple):
    """A place of a table of colours: where it is, its colour and that of its words."""

    row: str
    column: str
    words: str
    colour: str
    ink: str


def share_chart(lines: Sequence[Gathered], columns: Sequence[str], what: str) -> Markup:
    """Of each release the share of the measured cases that work, a line for each exporter, 0 to 100 per cent."""
    series = [
        Series(EXPORTER_SHORT.get(line.exporter or "", line.exporter or ""), tuple(_shares(line, columns)))
        for line in lines
    ]
    told = [item for item in series if any(value is not None for value in item.numbers)]
    if len(columns) < 2 or not told:
        return Markup()
    return _figure(f"Share of {what} that work at some opset, in per cent, by torch release", columns, told, "line")


def bars_chart(columns: Sequence[str], series: Sequence[Series], caption: str) -> Markup:
    """Bars of each place on each other, up for positive numbers and down for negative ones."""
    return _figure(caption, columns, series, "bar") if len(columns) > 1 else Markup()


def lines_chart(columns: Sequence[str], series: Sequence[Series], caption: str) -> Markup:
    """A line over the places for each series."""
    return _figure(caption, columns, series, "line") if len(columns) > 1 else Markup()


def heat_chart(cells: Sequence[HeatCell], rows: Sequence[str], columns: Sequence[str], caption: str) -> Markup:
    """A table of colours, each with its words; ``rows`` and ``columns`` are in their order. Its numbers stand apart."""
    name = _kept_as(_drawn_heat, tuple(cells), tuple(rows), tuple(columns))
    return render("chart.html", caption=caption, picture=name, narrow="", columns=())


def drawn_picture(name: str) -> str | None:
    """A picture of a page as SVG; ``None`` for one that no page has shown lately."""
    draw = _PICTURES.pop(name, None)
    if draw is None:
        return None
    _PICTURES[name] = draw
    return draw()


def _kept_as(draw: Callable[..., str], *what: object) -> str:
    """The name under which a picture is drawn when somebody asks for it."""
    name = hashlib.sha256(repr((draw.__name__, *what)).encode()).hexdigest()[:16]
    _PICTURES.pop(name, None)
    _PICTURES[name] = partial(draw, *what)
    for oldest in list(_PICTURES)[:-_MOST]:
        del _PICTURES[oldest]
    return name


#: pictures of pages that were shown, those asked for last at the end
_PICTURES: dict[str, Callable[[], str]] = {}
#: pictures that are kept: their numbers are some kilobytes each
_MOST = 2000


def _shares(line: Gathered, columns: Sequence[str]) -> list[float | None]:
    places = [line.places[column] for column in columns]
    return [round(100 * place.works / place.measured, 1) if place.measured else None for place in places]


def _figure(caption: str, columns: Sequence[str], series: Sequence[Series], mark: str) -> Markup:
    wide, narrow = (_kept_as(_drawn, tuple(columns), tuple(series), mark, width) for width in (_WIDTH, _NARROW))
    return render("chart.html", caption=caption, picture=wide, narrow=narrow, columns=columns, series=series)


@lru_cache(maxsize=64)
def _drawn(columns: tuple[str, ...], series: tuple[Series, ...], mark: str, width: int) -> str:
    """The picture as SVG; the same numbers are drawn once."""
    return _as_svg((_lines if mark == "line" else _bars)(columns, series, width))


def _as_svg(chart: alt.TopLevelMixin) -> str:
    """The picture, without what a picture that is shown as an image has no use for (a half of it)."""
    import vl_convert

    drawn = _LEFT_OUT.sub("", str(vl_convert.vegalite_to_svg(chart.to_dict())))
    drawn = _DECIMALS.sub(lambda number: f"{float(number[0]):.2f}", drawn)
    return drawn.replace("<defs/>", _STYLE, 1) if "<defs/>" in drawn else drawn.replace(">", f">{_STYLE}", 1)


@lru_cache(maxsize=64)
def _drawn_heat(cells: tuple[HeatCell, ...], rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The picture of a table of colours as SVG."""
    import altair as alt

    data = alt.InlineData(values=[cell._asdict() for cell in cells])
    angle = -35 if max(map(len, columns), default=0) > _SHORT else 0
    top = alt.Axis(orient="top", labelAngle=angle, labelLimit=400, labelFontSize=_MEASURED)
    side = alt.Axis(labelLimit=400, labelFontSize=_MEASURED)
    at = {
        "x": alt.X("column:N", sort=list(columns), title=None, axis=top),
        "y": alt.Y("row:N", sort=list(rows), title=None, axis=side),
    }
    base = alt.Chart(data)
    boxes = base.mark_rect(stroke="#88939a", strokeOpacity=0.3).encode(**at, fill=alt.Fill("colour:N", scale=None))
    words = base.mark_text(fontSize=11).encode(**at, text="words:N", color=alt.Color("ink:N", scale=None))
    wide = max((len(cell.words) for cell in cells), default=1)
    sized = (boxes + words).properties(
        width=alt.Step(max(26, 18 * wide)), height=alt.Step(20), background="transparent"
    )
    # words in a box keep the colour that is read on it, in light and in dark
    return _as_svg(sized.configure_view(stroke=None)).replace("text{fill", "text:not([fill]){fill", 1)


def _rows(columns: Sequence[str], series: Sequence[Series]) -> list[Mapping[str, object]]:
    return [
        {"release": column, "series": item.name, "value": value}
        for item in series
        for column, value in zip(columns, item.numbers, strict=True)
        if value is not None
    ]


def _base(columns: Sequence[str], series: Sequence[Series]) -> alt.Chart:
    import altair as alt

    data, axis = alt.InlineData(values=_rows(columns, series)), alt.Axis(labelAngle=-50, ticks=False)
    return alt.Chart(data).encode(x=alt.X("release:N", sort=list(columns), title=None, axis=axis))


def _coloured(series: Sequence[Series], width: int) -> alt.Color:
    import altair as alt

    names = [item.name for item in series]
    scale = alt.Scale(domain=names, range=list(_COLOURS[: len(names)]))
    columns = 0 if width == _WIDTH else 2
    legend = alt.Legend(orient="top", title=None, labelFontSize=_MEASURED, columns=columns)
    return alt.Color("series:N", scale=scale, legend=legend)


def _finished(chart: alt.Chart | alt.LayerChart, width: int) -> alt.TopLevelMixin:
    sized = chart.properties(width=width, height=_HEIGHT, background="transparent")
    quiet: alt.TopLevelMixin = sized.configure_view(stroke=None).configure_axis(
        gridColor="#88939a", gridOpacity=0.25, labelOverlap="parity" if width == _NARROW else False
    )
    return quiet


def _lines(columns: Sequence[str], series: Sequence[Series], width: int) -> alt.TopLevelMixin:
    import altair as alt

    value = alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 100]))
    names = [item.name for item in series]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names))
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=names))
    base = _base(columns, series).encode(y=value, color=_coloured(series, width))
    points = base.mark_point(filled=True, opacity=1).encode(shape=shape)
    return _finished(base.mark_line(strokeWidth=2).encode(strokeDash=dash) + points, width)


def _bars(columns: Sequence[str], series: Sequence[Series], width: int) -> alt.TopLevelMixin:
    import altair as alt

    base = _base(columns, series).encode(y=alt.Y("value:Q", title=None), color=_coloured(series, width))
    if all((value or 0) >= 0 for item in series for value in item.numbers):
        # beside each other, in the order of the legend
        base = base.encode(xOffset=alt.XOffset("series:N", sort=[item.name for item in series]))
    return _finished(base.mark_bar(), width)
