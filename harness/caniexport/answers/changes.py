"""Where the outcome of a case changed: along torch's releases, or along the versions of a companion package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caniexport import names, versions
from caniexport.answers.answer import Answer, AnswerOutcome, Code, Mark, Message, Range, Table
from caniexport.answers.case import find
from caniexport.answers.filters import exporter_names
from caniexport.answers.outcomes import short_cause
from caniexport.answers.package_versions import ALONG_PACKAGES, read_package_versions, require_release
from caniexport.answers.point import call_text
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.names import plural
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

TORCH = "torch"
AXES = (TORCH, *ALONG_PACKAGES)


@dataclass(frozen=True)
class Stretch:
    """Neighboring steps of the axis with one outcome; ``after`` is the last step before them, which has another."""

    steps: tuple[str, ...]
    status: Status
    stage: str
    message: str
    signature: str | None
    after: str | None


def answer_changes(
    dataset: Dataset, name: str, along: str = TORCH, torch: str = "", exporters: Sequence[str] = (), opset: str = ""
) -> Answer:
    """Answer where the outcome of ``CASE`` or ``CASE/VARIANT`` changed, as half-open intervals ``(after, by]``.

    ``torch`` is the one release along a package. Raises :class:`UnknownName`.
    """
    views = Views.of(dataset)
    named = find(views, name)
    along = names.require("axis", along, AXES)
    steps, axis = _read_steps(dataset, views, along, torch)
    wanted = exporter_names(exporters)
    only = f"AND exporter IN {sql.listed(wanted)}" if wanted else ""
    rows = views.fetch(
        f"""WITH line AS (
            SELECT exporter, opset, step, k, status, stage, signature, message_id,
                row_number() OVER (PARTITION BY exporter, opset ORDER BY k) - row_number() OVER (
                    PARTITION BY exporter, opset, status, stage, signature ORDER BY k) AS island
            FROM cells JOIN ({axis}) axis ON (axis.profile, axis.torch) = (cells.profile, cells.torch)
            WHERE "case" = $1 AND variant = $2 AND works(status) IS NOT NULL {only}
                AND ($3 = '' OR opset = TRY_CAST($3 AS INT)) AND status <> 'unsupported'
            QUALIFY row_number() OVER (PARTITION BY exporter, opset, k ORDER BY provider <> 'cpu', provider) = 1),
        stretch AS (
            SELECT exporter, opset, status, stage, signature, list(step ORDER BY k) AS steps, min(k) AS first,
                arg_max(message_id, k) AS message FROM line
            GROUP BY exporter, opset, status, stage, signature, island)
        SELECT exporter, opset, status, stage, signature, steps,
            (SELECT any_value(text) FROM message m WHERE m.message_id = stretch.message),
            lag(steps[-1]) OVER (PARTITION BY exporter, opset ORDER BY first)
        FROM stretch ORDER BY exporter, opset, first""",
        [named.case, named.variant or PLAIN, opset],
    )
    lines: dict[tuple[str, int | None], list[Stretch]] = {}
    for exporter, number, status, stage, signature, found, text, after in rows:
        stretch = Stretch(tuple(found), Status(status), stage, text or "", signature, after)
        lines.setdefault((exporter, number), []).append(stretch)
    if not lines:
        return Answer(f"Not measured along {along}: {named.text}.", AnswerOutcome.NOT_MEASURED)
    newest = torch if along != TORCH else steps[-1]
    table = _build_table(lines, newest, along)
    changed = len({(row[0], row[5]) for row in table.rows if row[5]})
    verdict = (
        f"{plural(changed, 'change')} along {along}{f' at torch {torch}' if along != TORCH else ''}: {named.text}."
    )
    what = "Find the cause, torch or a companion package: caniexport upgrade --from A --to B --case NAME."
    seen = {step for line in lines.values() for stretch in line for step in stretch.steps}
    missing = [step for step in steps if step not in seen]
    notes = (
        "(a, b]: another outcome at a, this one from b on.",
        *([what] if along == TORCH else []),
        *([f"Not measured with {along} {names.some(missing, 8)}."] if missing else []),
    )
    return Answer(verdict, AnswerOutcome.LISTED, (table,), notes, more="--exporter, --opset narrow it.")


def _read_steps(dataset: Dataset, views: Views, along: str, torch: str) -> tuple[list[str], str]:
    """Return the steps, oldest first, and as SQL: profile, torch, the step that these rows stand for, its number."""
    steps = [release for (release,) in views.fetch("SELECT torch FROM version ORDER BY n")]
    if along == TORCH:
        points = [(dataset.profile, release, release) for release in steps]
    else:
        release = require_release(steps, [torch] if torch else [], along)
        found = read_package_versions(dataset, release, along)
        for item in found.values():
            views.include(item.profile)
        steps = [*found]
        points = [(item.profile, release, version) for version, item in found.items()]
    values = ", ".join(f"({', '.join(map(sql.literal, point))}, {number})" for number, point in enumerate(points))
    return steps, f"SELECT * FROM (VALUES {values}) AS axis(profile, torch, step, k)"


def _build_table(lines: dict[tuple[str, int | None], list[Stretch]], newest: str, along: str) -> Table:
    """The stretches of each line, the newest first; opsets that change alike are one line."""
    alike: dict[tuple[str, tuple[object, ...]], list[int | None]] = {}
    for (exporter, opset), stretches in lines.items():
        # each opset begins with the first release that takes it
        outcomes = tuple((item.status, item.stage, item.signature, item.after, item.steps[-1]) for item in stretches)
        alike.setdefault((exporter, outcomes), []).append(opset)
    rows = tuple(
        (
            Code("default" if exporter == Exporter.DEFAULT.value else call_text(newest, exporter)),
            Range(versions.opset_text(opsets), tuple(opsets)),
            Range(" to ".join(dict.fromkeys((stretch.steps[-1], stretch.steps[0]))), stretch.steps),
            Mark(stretch.status),
            stretch.stage,
            f"({stretch.after}, {stretch.steps[0]}]" if stretch.after else "",
            Message(short_cause(stretch.message), stretch.message) if stretch.message else None,
        )
        for (exporter, _), opsets in alike.items()
        for stretch in reversed(lines[exporter, opsets[0]])
    )
    return Table("", ("call", "opset", along, "outcome", "stage", "changed in", "error"), rows, shown=24)
