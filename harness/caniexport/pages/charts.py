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
from math import cos, radians, sin
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from caniexport.pages.render import render

if TYPE_CHECKING:
    import altair as alt

#: all of a picture, in pixels: its box is there before it is drawn
_HEIGHT, _LEGEND_LINE = 240, 16
#: letters of a name that is written level above its column
_SHORT = 8
#: wide enough for the names of thirty releases; what fits the window of a phone, which leaves some of them out
_WIDTH, _NARROW = 934, 350
#: names are measured larger than they are drawn, for a reader's font may be wider than the one here
_MEASURED = 13
#: pixels of a letter and of a line beside a table of colours
_LETTER, _LINE = 7, 20
#: degrees by which long names above it are tilted
_TILT = 35
#: read on light and on dark; series differ in their marks, too
_COLOURS = ("#2f7fc1", "#d9772b", "#8a6fc4", "#2a9d95")
#: texts follow the page's theme; those with a colour of their own stand on one that is the same in both
_STYLE = (
    "<style>text{font:10px system-ui,sans-serif}text:not([fill]){fill:#3c464c}"
    "@media(prefers-color-scheme:dark){text:not([fill]){fill:#dfe3e2}}</style>"
)


_LEFT_OUT = re.compile(
    r' (?:aria-[a-z]+|role|class|font-family|font-size|pointer-events|xlink:href|stroke-miterlimit)="[^"]*"'
    r'|<text[^>]* opacity="0"[^>]*>[^<]*</text>'
    r'| opacity="1"| fill="#000"| stroke-width="1"| stroke-dasharray="1,0"| [xy]2="0"| transform="translate\(0,0\)"'
)
#: paths that draw nothing, once they have no other attribute
_NO_PATH = re.compile(r'<path d="(?:M0,0[hv][^"]*Z)?"(?: display="none")?/>')
_DECIMALS = re.compile(r"\d+\.\d{3,}")


@dataclass(frozen=True)
class Series:
    """One line: its name and a number for each place, ``None`` where nothing is known."""

    name: str
    numbers: tuple[float | None, ...]


class HeatCell(NamedTuple):
    """A place of a table of colours: where it is, its colour and that of its words."""

    row: str
    column: str
    words: str
    colour: str
    ink: str


def lines_chart(columns: Sequence[str], series: Sequence[Series], caption: str) -> Markup:
    """A line over the places for each series."""
    return _figure(caption, columns, series) if len(columns) > 1 else Markup()


def heat_chart(cells: Sequence[HeatCell], rows: Sequence[str], columns: Sequence[str], caption: str) -> Markup:
    """A table of colours, each with its words; ``rows`` and ``columns`` are in their order. Its numbers stand apart."""
    room = _heat_room(cells, rows, columns)
    name = _kept_as(_drawn_heat, tuple(cells), tuple(rows), tuple(columns), room)
    return render("chart.html", caption=caption, picture=name, sizes=room.sizes, narrow="", columns=())


class _HeatRoom(NamedTuple):
    """The room of a table of colours: that of its boxes, and of the names beside, above and to the right of them."""

    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int = 5

    @property
    def sizes(self) -> tuple[int, int]:
        """Width and height of all."""
        return self.left + self.width + self.right, self.top + self.height + self.bottom


def _heat_room(cells: Sequence[HeatCell], rows: Sequence[str], columns: Sequence[str]) -> _HeatRoom:
    """So much that no name is cut in a reader's own font."""
    wide = max(26, 18 * max((len(cell.words) for cell in cells), default=1))
    left = _LETTER * max(map(len, rows), default=0) + 10
    boxes = wide * len(columns), _LINE * len(rows)
    longest = max(map(len, columns), default=0)
    if longest <= _SHORT:
        return _HeatRoom(*boxes, left, 26, 26)
    up, along = sin(radians(_TILT)), cos(radians(_TILT))
    beyond = [_LETTER * along * len(name) - wide * (at + 0.5) for at, name in enumerate(reversed(columns))]
    return _HeatRoom(*boxes, left, round(_LETTER * up * longest) + 20, round(max(5, *beyond)))


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


def _figure(caption: str, columns: Sequence[str], series: Sequence[Series]) -> Markup:
    sizes, narrow_sizes = _sizes(_WIDTH, series), _sizes(_NARROW, series)
    wide, narrow = (_kept_as(_drawn, tuple(columns), tuple(series), each) for each in (sizes, narrow_sizes))
    pictures = {"picture": wide, "sizes": sizes, "narrow": narrow, "narrow_sizes": narrow_sizes}
    return render("chart.html", caption=caption, **pictures, columns=columns, series=series)


def _sizes(width: int, series: Sequence[Series]) -> tuple[int, int]:
    """Width and height of a picture; the legend of a phone's has two names in a line."""
    lines = 1 if width == _WIDTH else (len(series) + 1) // 2
    return width, _HEIGHT + _LEGEND_LINE * (lines - 1)


@lru_cache(maxsize=64)
def _drawn(columns: tuple[str, ...], series: tuple[Series, ...], sizes: tuple[int, int]) -> str:
    """The picture as SVG; the same numbers are drawn once."""
    return _as_svg(_lines(columns, series, sizes))


def _as_svg(chart: alt.TopLevelMixin) -> str:
    """The picture, without what a picture that is shown as an image has no use for (a half of it)."""
    import vl_convert

    drawn = _NO_PATH.sub("", _LEFT_OUT.sub("", str(vl_convert.vegalite_to_svg(chart.to_dict()))))
    drawn = _DECIMALS.sub(lambda number: f"{float(number[0]):.2f}", drawn)
    return drawn.replace("<defs/>", _STYLE, 1) if "<defs/>" in drawn else drawn.replace(">", f">{_STYLE}", 1)


@lru_cache(maxsize=64)
def _drawn_heat(cells: tuple[HeatCell, ...], rows: tuple[str, ...], columns: tuple[str, ...], room: _HeatRoom) -> str:
    """The picture of a table of colours as SVG."""
    import altair as alt

    data = alt.InlineData(values=[cell._asdict() for cell in cells])
    angle = -_TILT if max(map(len, columns), default=0) > _SHORT else 0
    top = alt.Axis(orient="top", labelAngle=angle, labelLimit=400, labelFontSize=_MEASURED)
    side = alt.Axis(labelLimit=400, labelFontSize=_MEASURED)
    at = {
        "x": alt.X("column:N", sort=list(columns), title=None, axis=top),
        "y": alt.Y("row:N", sort=list(rows), title=None, axis=side),
    }
    base = alt.Chart(data)
    boxes = base.mark_rect(stroke="#88939a", strokeOpacity=0.3).encode(**at, fill=alt.Fill("colour:N", scale=None))
    words = base.mark_text(fontSize=11).encode(**at, text="words:N", color=alt.Color("ink:N", scale=None))
    around = {name: getattr(room, name) for name in ("left", "top", "right", "bottom")}
    sized = (boxes + words).properties(
        width=room.width, height=room.height, padding=around, autosize="none", background="transparent"
    )
    return _as_svg(sized.configure_view(stroke=None))


def _sized(chart: alt.Chart | alt.LayerChart, sizes: tuple[int, int]) -> alt.Chart | alt.LayerChart:
    """The picture, whole within these sizes."""
    import altair as alt

    width, height = sizes
    fits = alt.AutoSizeParams(type="fit", contains="padding")
    made: alt.Chart | alt.LayerChart = chart.properties(
        width=width, height=height, autosize=fits, background="transparent"
    )
    return made


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


def _coloured(series: Sequence[Series], sizes: tuple[int, int]) -> alt.Color:
    import altair as alt

    names = [item.name for item in series]
    scale = alt.Scale(domain=names, range=list(_COLOURS[: len(names)]))
    columns = 0 if sizes[0] == _WIDTH else 2
    legend = alt.Legend(orient="top", title=None, labelFontSize=_MEASURED, columns=columns)
    return alt.Color("series:N", scale=scale, legend=legend)


def _finished(chart: alt.Chart | alt.LayerChart, sizes: tuple[int, int]) -> alt.TopLevelMixin:
    quiet: alt.TopLevelMixin = (
        _sized(chart, sizes)
        .configure_view(stroke=None)
        .configure_axis(gridColor="#88939a", gridOpacity=0.25, labelOverlap="parity" if sizes[0] == _NARROW else False)
    )
    return quiet


def _lines(columns: Sequence[str], series: Sequence[Series], sizes: tuple[int, int]) -> alt.TopLevelMixin:
    import altair as alt

    value = alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 100]))
    names = [item.name for item in series]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names))
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=names))
    base = _base(columns, series).encode(y=value, color=_coloured(series, sizes))
    points = base.mark_point(filled=True, opacity=1).encode(shape=shape)
    return _finished(base.mark_line(strokeWidth=2).encode(strokeDash=dash) + points, sizes)
