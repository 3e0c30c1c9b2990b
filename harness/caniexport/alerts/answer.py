"""What alerts come to: one answer, of two states of a dataset, of two runs, or of the releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from caniexport import versions
from caniexport.alerts.alert import Alert, AlertStage, CellPoint, Change
from caniexport.alerts.comparison import Comparison, Step
from caniexport.answers.answer import LONGEST, Answer, AnswerOutcome, Cell, Link, Mark, Message, Range, Table
from caniexport.answers.signs import CALLS
from caniexport.corpus.verdicts import IMPROVEMENTS, REGRESSIONS, Verdict, Workaround
from caniexport.model.case import PLAIN
from caniexport.model.status import Status
from caniexport.names import plural

_SHOWN = ("torch", "becomes", "call", "error", "name")
_FOLDED = ("opset", "because of", "cells", "state", "since", "note", "id")
#: rows of what is known on the first screen
_FEW = 6
#: verdicts of cells that were not measured before; of those that are on one side alone, or are of other code
_NEW = (Verdict.NEW_PASSING, Verdict.NEW_FAILING, Verdict.NEW_UNSUPPORTED)
_ONE_SIDED = (*_NEW, Verdict.REBASELINED, Verdict.UNKNOWN)


def alerts_answer(found: Comparison, about: str = "") -> Answer:
    """What is worse, what is known of it, and which expectations do not hold.

    ``about`` is what the alerts were filtered by: that none is left then says nothing of the dataset.
    """
    worse = [alert for alert in found.alerts if alert.is_worse]
    new = [alert for alert in worse if alert.is_new]
    ids = {alert.id for alert in found.alerts}
    known = [*worse, *(item for item in found.known if item.id not in ids)]
    still = [item for item in known if not item.is_new and item.stage is not AlertStage.RESOLVED]
    resolved = [*(item for item in worse if item.stage is AlertStage.RESOLVED), *found.resolved]
    others = [alert for alert in found.alerts if not alert.is_worse]
    unmet = tuple((item.trouble.value, item.entry.text, item.says, "; ".join(item.cells)) for item in found.findings)
    tables = (
        _alerts("new regressions", new),
        Table("expectations that do not hold", ("trouble", "expected", "what is wrong", "cells"), unmet),
        _alerts("regressions that are still open", still, _FEW if new else 12),
        _alerts("resolved: good in two releases in a row" if found.steps else "resolved", resolved, 0),
        _alerts("other changes", others, 0),
        _steps(found.steps),
        _cells(found.alerts),
        _counts(found.counts),
    )
    verdict, outcome = _verdict(found, new, still, about)
    compared = _compared(found.counts)
    apart = sum(found.counts.values()) - compared
    lines = [f"{plural(compared, 'cell')} compared: {found.before} → {found.after}."]
    lines += [f"{plural(apart, 'more cell')} measured on one side alone, or with other code."] * bool(apart)
    lines += [f"Left out: {plural(found.quarantined, 'row')} of quarantined runs."] * bool(found.quarantined)
    lines += [f"Left out: {plural(found.expected, 'expected change')}."] * bool(found.expected)
    lines += _counted("Still open, by release: ", (item.torch for item in still)) if found.steps else []
    lines += _counted("Also changed: ", (alert.kind.value for alert in others))
    return Answer(verdict, outcome, tables, tuple(lines), "--all lists every change and cell; --json has them as data.")


def _verdict(found: Comparison, new: Sequence[Alert], still: Sequence[Alert], about: str) -> tuple[str, AnswerOutcome]:
    against = f"in torch {found.after} than in {found.before}" if found.steps else "than it was"
    if new:
        releases = list(dict.fromkeys(alert.torch for alert in new))
        where = releases[0] if len(releases) == 1 else f"{releases[0]} and {plural(len(releases) - 1, 'older release')}"
        text = f"{plural(len(new), 'new regression')} in torch {where}"
        named = list(dict.fromkeys(alert.name for alert in new))
        while named and len(f"{text}: {', '.join(named)}.") > LONGEST:
            named.pop()
        return f"{text}: {', '.join(named)}." if named else f"{text}.", AnswerOutcome.FAILS
    if found.findings:
        return f"Review expectations.toml: {plural(len(found.findings), 'finding')}.", AnswerOutcome.FAILS
    if about:
        text = f"No new regression {'in torch ' + found.after if found.steps else 'there'} matches {about}"
        return f"{text[: LONGEST - 1]}.", AnswerOutcome.LISTED
    if found.counts and all(verdict in _NEW for verdict in found.counts):
        return f"Nothing to compare with: no cell was measured in {found.before}."[:LONGEST], AnswerOutcome.LISTED
    if not _compared(found.counts):
        return "Not compared: no cell is measured on both sides with the same code.", AnswerOutcome.NOT_MEASURED
    if lost := found.counts.get(Verdict.UNKNOWN, 0):
        return f"Nothing that is still measured is worse: {plural(lost, 'cell')} not measured now.", AnswerOutcome.WORKS
    if still and not found.steps:
        return f"Nothing new: {plural(len(still), 'known regression')} still open.", AnswerOutcome.WORKS
    return f"Nothing is worse {against}.", AnswerOutcome.WORKS


def _compared(counts: Mapping[Verdict, int]) -> int:
    return sum(count for verdict, count in counts.items() if verdict not in _ONE_SIDED)


def _counted(title: str, names: Iterable[str]) -> list[str]:
    counted = Counter(names).most_common(6)
    return [title + ", ".join(f"{name} ({count})" for name, count in counted) + "."] * bool(counted)


def _alerts(title: str, alerts: Iterable[Alert], shown: int = 12) -> Table:
    """A row for each alert: what its cells were and are, where, and why."""
    return Table(title, (*_SHOWN, *_FOLDED), tuple(map(_row, alerts)), shown, folded=_FOLDED)


def _row(alert: Alert) -> tuple[Cell, ...]:
    if not alert.changes:  # an entry that a person wrote without its cells
        return ("", alert.kind.value, *[""] * 5, 0, alert.stage.value, alert.since, alert.note, alert.id)
    first = alert.changes[0]
    calls = tuple(dict.fromkeys(CALLS.get(change.place.exporter, "") for change in alert.changes))
    opsets = tuple(dict.fromkeys(change.place.opset for change in alert.changes))
    return (
        alert.torch,
        Mark(_word(first), f"{first.before} → {first.after}") if first.after else alert.kind.value,
        Range(calls[0] + (f" +{len(calls) - 1}" if len(calls) > 1 else ""), calls),
        Message(alert.line, alert.text),
        _link(first.place, alert.name),
        Range(versions.opset_text(opsets), opsets),
        ", ".join(alert.by),
        len(alert.changes),
        alert.stage.value if alert.is_worse else "",
        alert.since,
        alert.note,
        alert.id,
    )


def _word(change: Change) -> Enum:
    return Workaround(change.after) if isinstance(change.kind, Workaround) else Status(change.after)


def _link(place: CellPoint, name: str) -> Link:
    asked = {"case": place.case, "torch": place.torch, "exporter": place.exporter}
    asked |= {"variant": place.variant} if place.variant != PLAIN else {}
    return Link(name, "case", asked | {"opset": "default" if place.opset is None else str(place.opset)})


def _cells(alerts: Iterable[Alert]) -> Table:
    changed = [(alert.id, alert.kind.value, change) for alert in alerts for change in alert.changes]
    rows = tuple((name, kind, *change.place, change.before, change.after) for name, kind, change in changed)
    return Table("every cell", ("id", "kind", *CellPoint._fields, "before", "after"), rows, shown=0)


def _counts(counts: Mapping[Verdict, int]) -> Table:
    rows = tuple((word.value, counts[word]) for word in Verdict if counts.get(word))
    return Table("cells by what happened to them", ("verdict", "cells"), rows, shown=0)


def _steps(steps: Iterable[Step]) -> Table:
    """Each pair of releases: what it broke and fixed."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Link(step.torch, "runs", {"before": step.before, "after": step.torch}),
            step.before,
            *(sum(step.counts.get(word, 0) for word in words) for words in (REGRESSIONS, IMPROVEMENTS, Verdict)),
            step.opened[:10],
        )
        for step in steps
    )
    columns = ("torch", "against", "cells that broke", "cells fixed", "cells compared", "measured")
    return Table("every pair of releases", columns, rows, shown=0)
