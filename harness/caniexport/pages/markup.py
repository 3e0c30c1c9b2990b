"""Pieces of HTML that several pages share. Every text goes through :func:`escape`; tags are written only here and in
the modules named ``*_html``.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from caniexport.answers.signs import CLAIM, REFUSED, STATUS, WHY_NOT, WORKAROUND, word
from caniexport.answers.summary import Summary
from caniexport.answers.upstream import SourceState
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status
from caniexport.pages import links

_SEVERITY = list(Status)[: list(Status).index(Status.MISMATCH) + 1]
#: what a sign's own words leave open on a page
_MEANING = {
    Status.PASS: "exports, runs, and gives the values that torch gives",
    Status.DEGRADED: "passes, but with another opset, exporter or provider than asked for",
    Status.UNSUPPORTED: "declared so: the opset is above what this exporter takes",
    Status.FAIL: "stops with an error",
    Status.TIMEOUT: "did not end in time, twice",
    Status.OOM: "ran out of the memory a cell may use",
    Status.CRASH: "kills the process",
    Status.UNSTABLE: "not the same every time it is measured: it counts as no pass",
    Status.MISMATCH: "exports and runs without an error, and gives wrong values",
    Status.SKIP: "left out on purpose",
    Status.NOT_RUN: "nothing is known here; it is neither a pass nor a failure",
    Status.INVALID: "our infrastructure failed; says nothing about torch",
}


#: providers by the name a user says, where it is another
PROVIDER_NAME = {"none": "parsed only"}


def escape(text: object) -> str:
    """Text as it may stand in an element or in a quoted attribute."""
    return html.escape(str(text), quote=True)


def link(address: str, shown: str, *, classes: str = "", title: str = "") -> str:
    """A link to a page of this app; ``shown`` is HTML already."""
    more = f' class="{classes}"' if classes else ""
    hint = f' title="{escape(title)}"' if title else ""
    return f'<a href="{escape(address)}" target="_self"{more}{hint}>{shown}</a>'


def links_to_cases(names: Iterable[str]) -> str:
    """Cases or ``case/variant`` as links, one after the other."""
    pairs = [(name, name.partition("/")) for name in names]
    return " · ".join(
        link(links.page("case", case=case, variant=form), escape(name)) for name, (case, _, form) in pairs
    )


def source_link(text: str) -> str:
    """A source: a link where it has an address, else its words."""
    address = links.of_source(text)
    if address is None:
        return f'<span class="src">{escape(text)}</span>'
    return f'<a class="src" href="{escape(address)}" target="_blank" rel="noopener noreferrer">{escape(text)}</a>'


def sources(found: Iterable[SourceState]) -> str:
    """Sources with what became of them: each a line where the state of any is known."""
    items = list(found)
    if not any(item.state for item in items):
        return "".join(source_link(item.source) for item in items)
    lines = (f"{source_link(item.source)} {_state(item)}" for item in items)
    return "<br>".join(lines)


def _state(source: SourceState) -> str:
    """The words of a state; where it is at odds with what was measured they stand out."""
    if not source.state:
        # a document has no state
        return '<span class="quiet">state not known</span>' if "#" in source.source else ""
    classes = "odd" if source.word else "quiet"
    return f'<span class="{classes}">{escape(source.text)}</span>'


def chips(items: Iterable[str]) -> str:
    """Short names side by side."""
    return "".join(f"<code>{escape(item)}</code>" for item in items)


def status_class(status: Status) -> str:
    """The CSS class that carries a status's colour."""
    return f"s-{status.value.replace('_', '-')}"


def worst_beside(at: Mapping[str, tuple[str, ...]], lead: Status) -> Status | None:
    """The worst status of a place beside its leading one; what an exporter refuses by its own word is not counted."""
    found = [status for status in _SEVERITY if status.value in at and status not in (lead, Status.UNSUPPORTED)]
    return found[-1] if found else None


def summary_title(place: Summary) -> str:
    """What a place of a table says when pointed at: each status with where it was seen."""
    lines = [f"{word(Status(status))}: {', '.join(where)}" for status, where in place.at.items()]
    if place.refused:
        lines.append(f"onnx's checker refuses the file that works: {', '.join(place.refused)}")
    if place.local:
        lines.append("measured on this machine")
    return "\n".join(lines) or "not measured"


def status_badge(status: Status) -> str:
    """Sign, colour and word of a status."""
    return f'<span class="badge {status_class(status)}">{STATUS[status].sign} {escape(word(status))}</span>'


def word_badge(found: Workaround) -> str:
    """Sign, colour and word of a workaround."""
    return f'<span class="badge w-{found.value}">{WORKAROUND[found].sign} {found.value}</span>'


def claim_badge(outcome: str) -> str:
    """Sign, colour and word of a claim's outcome."""
    sign = CLAIM.get(outcome)
    return f'<span class="badge c-{escape(outcome)}">{sign.sign if sign else "?"} {escape(outcome)}</span>'


def status_legend(seen: Mapping[Status, int] | None = None, *, only: Iterable[Status] = tuple(Status)) -> str:
    """Every status explained, best first, with how often each was ``seen`` where that is given."""
    taken = set(only)
    items = [(status_badge(item), _MEANING[item], _count(seen, item)) for item in Status if item in taken]
    if Status.PASS in taken and seen is None:
        mark = f'<span class="badge s-pass">{REFUSED}</span>'
        items.append((mark, "it works, and onnx's checker refuses the file", None))
    return legend(items)


def word_legend(seen: Mapping[Workaround, int] | None = None) -> str:
    """Every workaround word explained, with how often each was ``seen``."""
    return legend((word_badge(item), sign.meaning, _count(seen, item)) for item, sign in WORKAROUND.items())


def claim_legend(seen: Mapping[str, int] | None = None) -> str:
    """Every outcome of a claim explained, and every word why not, with how often each was ``seen``."""
    words = [(claim_badge(item), sign.meaning) for item, sign in CLAIM.items()]
    words += [(why_not_badge(item), meaning) for item, meaning in WHY_NOT.items()]
    return legend((*said, _count(seen, item)) for said, item in zip(words, (*CLAIM, *WHY_NOT), strict=True))


def why_not_badge(item: str) -> str:
    """The word why a claim is not reproduced."""
    return f'<span class="badge c-not-reproduced">{escape(item)}</span>'


def _count(seen: Mapping[Any, int] | None, item: Any) -> int | None:
    return None if seen is None else seen.get(item, 0)


def legend(items: Iterable[tuple[str, str, int | None]]) -> str:
    """Badges (HTML) with their meanings (text) and, where given, how often each was seen."""
    lines = (
        f"<li>{badge}{'' if number is None else f' <b>{number:,}</b>'} {escape(meaning)}</li>"
        for badge, meaning, number in items
    )
    return f'<ul class="legend" aria-label="What the signs mean">{"".join(lines)}</ul>'


def table(label: str, classes: str, heads: str, body: str, *, whole: bool = False, more: str = "") -> str:
    """A table in a box of its own that scrolls, with sticky heads; ``whole`` lets it grow with its rows.

    ``heads`` are cells of one row, ``body`` rows, ``more`` attributes, all HTML already; ``label`` names it for a
    screen reader.
    """
    head = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    return (
        f'<div class="scroll{" whole" if whole else ""}" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="{classes}"{more}>{head}<tbody>{body}</tbody></table></div>'
    )


def columns(names: Iterable[str]) -> str:
    """Heads of columns."""
    return "".join(f'<th scope="col">{escape(name)}</th>' for name in names)


def plural(number: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names and values; values are HTML already, empty ones are left out."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in pairs if value)
    return f'<dl class="facts">{rows}</dl>'
