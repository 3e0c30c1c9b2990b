"""The answer of an upgrade as HTML: what breaks and what is fixed, by reason, and what to do with each workaround."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten

from caniexport.answers.points import MeasuredPoint
from caniexport.answers.upgrade import CaseChange, ChangeGroup, FixChange, Upgrade
from caniexport.corpus.verdicts import Verdict
from caniexport.model.status import Status
from caniexport.pages import links
from caniexport.pages.markup import escape, link, plural, status_badge, word_badge
from caniexport.pages.render import opset_name

#: verdict -> (its name for a reader, what it means, the class of its colour)
VERDICTS: dict[Verdict, tuple[str, str, str]] = {
    Verdict.REGRESSED_SILENT: (
        "≠ wrong values",
        "did not before; gives wrong values now, without an error",
        "s-mismatch",
    ),
    Verdict.REGRESSED_CRASH: ("! crashes", "did not kill the process before, does now", "s-crash"),
    Verdict.REGRESSED: ("✗ breaks", "worked before, stops with an error now", "s-fail"),
    Verdict.WITHDRAWN: ("⊘ withdrawn", "worked before, is refused now", "s-fail"),
    Verdict.SUSPECT: (
        "T not sure",
        "worked before; runs out of time or memory now, or ends otherwise when repeated",
        "s-timeout",
    ),
    Verdict.DEGRADED: ("~ not as asked", "works, but the file is no longer what was asked for", "s-degraded"),
    Verdict.CHANGED_FAILURE: ("✗ other words", "failed before and fails now, with another error", "s-unsupported"),
    Verdict.CHANGED_FAILURE_SUSPECT: (
        "T other failure",
        "failed before; runs out of time or memory now, or ends otherwise when repeated",
        "s-unsupported",
    ),
    Verdict.NOW_FAILS_CLEANLY: ("✗ now an error", "gave wrong values before, stops with an error now", "s-degraded"),
    Verdict.NOW_DECLARED: ("⊘ now refused", "failed before, is refused by its own word now", "s-unsupported"),
    Verdict.NEWLY_FAILING: ("✗ newly tried", "was refused before; is tried now, and fails", "s-unsupported"),
    Verdict.FIXED: ("✓ fixed", "did not work before, does now", "s-pass"),
    Verdict.FIXED_DEGRADED: ("~ fixed, not as asked", "did not work before; works now, not as asked", "s-degraded"),
    Verdict.FIXED_SUSPECT: (
        "✓ fixed",
        "ran out of time or memory before, or ended otherwise when repeated; works now",
        "s-pass",
    ),
    Verdict.NEWLY_SUPPORTED: ("✓ newly supported", "was refused before, works now", "s-pass"),
    Verdict.RESTORED: ("✓ as asked again", "worked, but not as asked; does now", "s-pass"),
}
_LISTS = (
    ("drop", "Workarounds that may go", "needed before; the failing form works afterwards"),
    ("add", "Workarounds to add", "what they fix breaks on the way"),
    ("lost", "Workarounds that stop working", "nothing measured helps there any more"),
    ("keep", "Workarounds that must stay", "needed before and afterwards"),
)


def summary(found: Upgrade) -> str:
    """Every kind of change with its number, each a link to its section."""
    counts: dict[Verdict, int] = {}
    for group in found.groups:
        counts[group.verdict] = counts.get(group.verdict, 0) + len(group.changes)
    items = [
        f'<li><span class="badge {VERDICTS[verdict][2]}">{escape(VERDICTS[verdict][0])}</span> <b>{count}</b> '
        f"{escape(VERDICTS[verdict][1])}</li>"
        for verdict, count in counts.items()
    ]
    if not items:
        items = ["<li>Nothing that was measured at both points changes.</li>"]
    return f'<ul class="legend" aria-label="What changes">{"".join(items)}</ul>'


def groups(found: Upgrade) -> str:
    """Each reason with the cases that it changes."""
    return "".join(_group(group, found.after) for group in found.groups)


def _group(group: ChangeGroup, after: MeasuredPoint) -> str:
    name, _, kind = VERDICTS[group.verdict]
    lines = (group.message or "").strip().splitlines()
    said = f'<p class="said">{escape(shorten(lines[0], 240))}</p>' if lines else ""
    rows = "".join(_change(change, after) for change in group.changes)
    return (
        f'<section class="group"><h3 class="sub"><span class="badge {kind}">{escape(name)}</span> '
        f'{plural(len(group.changes), "case")}</h3>{said}<ul class="changes">{rows}</ul></section>'
    )


def _at(place: MeasuredPoint) -> Mapping[str, str]:
    provider = "" if place.provider == "cpu" else place.provider
    return {
        "torch": place.torch,
        "exporter": place.exporter,
        "opset": opset_name(place.opset),
        "provider": provider,
    }


def _change(change: CaseChange, after: MeasuredPoint) -> str:
    case = link(links.page("case", case=change.case, **_at(after)), escape(change.title or change.case))
    by = f' <span class="quiet">{escape(change.blamed)}</span>' if change.axes else ""
    helping = ", ".join(
        link(links.page("case", case=case_id, variant=variant, **_at(after)), escape(variant))
        for case_id, _, variant in (name.partition("/") for name in change.fixes)
    )
    works = f'<br><span class="quiet">works there:</span> {helping}' if helping else ""
    told = f'<br><span class="quiet">{escape(change.told)}</span>' if change.told else ""
    return f"<li>{case}<br>{_status(change.before)} → {_status(change.after)}{by}{told}{works}</li>"


def beside(found: Upgrade) -> str:
    """The cases of which a pass or a failure is not all: a file that the checker refuses, repetitions that differ."""
    parts = (
        ("Works there, and onnx's checker refuses the file", found.refused),
        ("Not the same every time at one of the two points", found.unstable),
    )
    return "".join(
        f'<p class="hint">{escape(lead)}: {len(cases)} ({_cases(cases, found.after)})</p>'
        for lead, cases in parts
        if cases
    )


def _cases(cases: Sequence[str], after: MeasuredPoint) -> str:
    return ", ".join(link(links.page("case", case=case, **_at(after)), escape(case)) for case in cases)


def _status(status: Status | None) -> str:
    return status_badge(status or Status.NOT_RUN)


def fixes(found: Upgrade) -> str:
    """The workarounds by what to do with them."""
    parts = []
    for name, title, why in _LISTS:
        listed: Sequence[FixChange] = getattr(found, name)
        if listed:
            parts.append(
                f'<section><h3 class="sub">{escape(title)} <b>{len(listed)}</b> '
                f'<small class="quiet">{escape(why)}</small></h3><ul class="changes">{_fixes(listed, found.after)}</ul>'
                "</section>"
            )
    return "".join(parts)


def _fixes(listed: Iterable[FixChange], after: MeasuredPoint) -> str:
    return "".join(
        f"<li>{link(links.page('case', case=item.case, variant=item.variant, **_at(after)), _name(item))}"
        f"<br>{_words(item)} "
        f'<span class="quiet">{escape(item.note)}</span></li>'
        for item in listed
    )


def _words(item: FixChange) -> str:
    if item.before == item.after:
        return word_badge(item.after)
    return f"{word_badge(item.before)} → {word_badge(item.after)}"


def _name(item: FixChange) -> str:
    return escape(f"{item.case} / {item.variant}")
