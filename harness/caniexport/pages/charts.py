"""Pictures of numbers, as SVG in an address that every host shows alike, each with its numbers as a table.

Altair describes them, vl-convert draws them here: a page has them before any script, and so has the static copy.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from caniexport.answers.gathered import Gathered
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.pages.render import render

if TYPE_CHECKING:
    import altair as alt

_HEIGHT = 170
#: wide enough for the names of thirty releases
_WIDTH = 900
#: read on light and on dark; series differ in their marks, too
_COLOURS = ("#2f7fc1", "#d9772b", "#8a6fc4", "#2a9d95")
#: texts follow the page's theme
_STYLE = (
    "<style>text{fill:#3c464c;font-family:system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){text{fill:#dfe3e2}}</style>"
)


@dataclass(frozen=True)
class Series:
    """One line or one kind of bar: its name and a number for each place, ``None`` where nothing is known."""

    name: str
    numbers: tuple[float | None, ...]


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
    """Bars of each place beside each other, up for positive numbers and down for negative ones."""
    return _figure(caption, columns, series, "bar") if len(columns) > 1 else Markup()


def _shares(line: Gathered, columns: Sequence[str]) -> list[float | None]:
    places = [line.places[column] for column in columns]
    return [round(100 * place.works / place.measured, 1) if place.measured else None for place in places]


def _figure(caption: str, columns: Sequence[str], series: Sequence[Series], mark: str) -> Markup:
    drawn = _drawn(tuple(columns), tuple(series), mark)
    picture = b64encode(drawn.encode()).decode()
    return render("chart.html", caption=caption, picture=picture, columns=columns, series=series)


@lru_cache(maxsize=64)
def _drawn(columns: tuple[str, ...], series: tuple[Series, ...], mark: str) -> str:
    """The picture as SVG; the same numbers are drawn once."""
    import vl_convert

    chart = _lines(columns, series) if mark == "line" else _bars(columns, series)
    drawn = str(vl_convert.vegalite_to_svg(chart.to_dict()))
    return drawn.replace("<defs/>", _STYLE, 1) if "<defs/>" in drawn else drawn.replace(">", f">{_STYLE}", 1)


def _rows(columns: Sequence[str], series: Sequence[Series]) -> list[Mapping[str, object]]:
    return [
        {"release": column, "series": item.name, "value": value}
        for item in series
        for column, value in zip(columns, item.numbers, strict=True)
        if value is not None
    ]


def _base(columns: Sequence[str], series: Sequence[Series]) -> alt.Chart:
    import altair as alt

    data = alt.InlineData(values=_rows(columns, series))
    return alt.Chart(data).encode(x=alt.X("release:N", sort=list(columns), title=None, axis=alt.Axis(labelAngle=-50)))


def _coloured(series: Sequence[Series]) -> alt.Color:
    import altair as alt

    names = [item.name for item in series]
    scale = alt.Scale(domain=names, range=list(_COLOURS[: len(names)]))
    return alt.Color("series:N", scale=scale, legend=alt.Legend(orient="top", title=None))


def _finished(chart: alt.Chart | alt.LayerChart) -> alt.TopLevelMixin:
    sized = chart.properties(width=_WIDTH, height=_HEIGHT, background="transparent")
    quiet: alt.TopLevelMixin = sized.configure_view(stroke=None).configure_axis(
        gridColor="#88939a", gridOpacity=0.25, labelOverlap=False
    )
    return quiet


def _lines(columns: Sequence[str], series: Sequence[Series]) -> alt.TopLevelMixin:
    import altair as alt

    value = alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 100]))
    names = [item.name for item in series]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names))
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=names))
    base = _base(columns, series).encode(y=value, color=_coloured(series))
    return _finished(
        base.mark_line(strokeWidth=2).encode(strokeDash=dash) + base.mark_point(filled=True).encode(shape=shape)
    )


def _bars(columns: Sequence[str], series: Sequence[Series]) -> alt.TopLevelMixin:
    import altair as alt

    base = _base(columns, series).encode(y=alt.Y("value:Q", title=None), color=_coloured(series))
    return _finished(base.mark_bar())
