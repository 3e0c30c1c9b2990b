"""Words for what happened between two cells, each with its colour and meaning, and the counts of all of them."""

from __future__ import annotations

from collections.abc import Mapping

from caniexport.alerts.group import AlertKind
from caniexport.corpus.verdicts import Verdict
from caniexport.pages.markup import columns, escape, plural, table
from caniexport.pages.upgrade_html import VERDICTS

#: what is no change, as (name, meaning, class of its colour)
_QUIET: dict[Verdict, tuple[str, str, str]] = {
    Verdict.SAME_PASS: ("✓ passes", "on both sides", "s-pass"),
    Verdict.SAME_DEGRADED: ("~ passes, not as asked", "on both sides", "s-degraded"),
    Verdict.SAME_FAIL: ("✗ fails", "on both sides, with the same error", "s-fail"),
    Verdict.SAME_MISMATCH: ("≠ wrong values", "on both sides", "s-mismatch"),
    Verdict.SAME_CRASH: ("! crashes", "on both sides", "s-crash"),
    Verdict.SAME_SUSPECT: (
        "T too slow",
        "out of time or memory, or otherwise when repeated, on both sides",
        "s-timeout",
    ),
    Verdict.SAME_UNSUPPORTED: ("⊘ refused", "by its own word on both sides", "s-unsupported"),
    Verdict.NEW_PASSING: ("+ new, passes", "only measured afterwards", "s-not-run"),
    Verdict.NEW_FAILING: ("+ new, fails", "only measured afterwards", "s-not-run"),
    Verdict.NEW_UNSUPPORTED: ("+ new, refused", "only measured afterwards", "s-not-run"),
    Verdict.REBASELINED: ("↻ other code", "the case itself has changed: not compared", "s-not-run"),
    Verdict.UNKNOWN: ("· not measured", "not measured afterwards: nothing is known", "s-not-run"),
}
_WORDS = {**VERDICTS, **_QUIET}
#: kind of an alert -> (name, class of its colour)
KINDS: dict[AlertKind, tuple[str, str]] = {
    AlertKind.REGRESSED_SILENT: ("≠ wrong values", "s-mismatch"),
    AlertKind.REGRESSED_CRASH: ("! crashes", "s-crash"),
    AlertKind.REGRESSED: ("✗ breaks", "s-fail"),
    AlertKind.WITHDRAWN: ("⊘ withdrawn", "s-fail"),
    AlertKind.WORKAROUND_BROKEN: ("✗ fix broken", "w-broken"),
    AlertKind.WORKAROUND_HARMFUL: ("≠ fix harmful", "w-harmful"),
    AlertKind.DEGRADED: ("~ not as asked", "s-degraded"),
    AlertKind.CHANGED_FAILURE: ("✗ other words", "s-unsupported"),
    AlertKind.WORKAROUND_NEEDED: ("! fix needed", "w-needed"),
    AlertKind.WORKAROUND_OBSOLETE: ("✓ fix obsolete", "w-obsolete"),
    AlertKind.FIXED: ("✓ fixed", "s-pass"),
    AlertKind.SUSPECT: ("T too slow", "s-timeout"),
}


def kind_badge(kind: AlertKind) -> str:
    """Sign, colour and word of an alert's kind."""
    name, classes = KINDS[kind]
    return f'<span class="badge {classes}">{escape(name)}</span>'


def counts(found: Mapping[Verdict, int]) -> str:
    """Every class with its number, those without a cell too: nothing is left out of the sum."""
    order = [*VERDICTS, *_QUIET]
    rows = "".join(_row(verdict, found.get(verdict, 0)) for verdict in order if verdict in _WORDS)
    total = plural(sum(found.values()), "cell")
    shown = table(
        "Cells by what happened to them", "plain counted", columns(("class", "cells", "meaning")), rows, whole=True
    )
    return f'<section><h3 class="sub">Classes <small class="quiet">{total} compared</small></h3>{shown}</section>'


def _row(verdict: Verdict, number: int) -> str:
    name, meaning, classes = _WORDS[verdict]
    badge = f'<span class="badge {classes}">{escape(name)}</span>'
    return (
        f'<tr class="{"some" if number else "none"}"><td class="tight">{badge}</td>'
        f'<td class="number">{number:,}</td><td>{escape(meaning)}</td></tr>'
    )
