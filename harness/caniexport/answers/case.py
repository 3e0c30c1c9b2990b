"""One case: where it works at the newest release and since when, along all releases, and what else is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from caniexport import names, versions
from caniexport.answers.after_export import tool_table
from caniexport.answers.answer import Answer, AnswerOutcome, Code, Mark, Message, Range, Table
from caniexport.answers.cell import NamedCase, answer_cell, answer_evidence, read_rows
from caniexport.answers.declared import read_registered
from caniexport.answers.documents import read_claims
from caniexport.answers.helping import mark_changed_values
from caniexport.answers.models import models_table
from caniexport.answers.op import answer_sample, is_sample
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import Points, call_text
from caniexport.answers.samples import Samples, opset_range
from caniexport.answers.scope import Scope
from caniexport.answers.upstream import SourceState, source_address, upstream
from caniexport.answers.workaround import answer_workaround
from caniexport.corpus.verdicts import Workaround
from caniexport.model.case import PLAIN
from caniexport.model.made_cases import OPERATORS
from caniexport.model.status import MEASURED, WORKS, Exporter, FixKind, Status
from caniexport.names import plural
from caniexport.operators import operator_key
from caniexport.store import Dataset, elsewhere, sql
from caniexport.store.views import Views

#: exporters that a verdict names, and in the order of their lines those of a strip
_CALLS = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_LINES = (*_CALLS, Exporter.SCRIPT.value, Exporter.DEFAULT.value)
#: the columns of cells that are read
_KEPT = """c."case", c.variant, c.torch, c.exporter, c.opset, c.profile, c.stage, c.status, c.signature, c.message_id,
    c.bundle, c.exporter_effective, c.opset_effective, c.checker"""
#: columns of releases on the first screen
_COLUMNS = 8
_HOW = {Status.MISMATCH: "wrong values", Status.UNSUPPORTED: "refused", Status.CRASH: "crashes"}


@dataclass(frozen=True)
class Stand:
    """The outcome of a variant at a release with one exporter.

    ``own`` is the status at the opset that a call writes there which names none, ``opsets`` are those that work
    (``18-26``, ``16+``; empty for a call that names none); ``status`` stands for all where none works.
    """

    n: int
    torch: str
    own: Status | None
    status: Status
    opsets: str

    @property
    def mark(self) -> Mark:
        """The opsets that work; else the status."""
        return Mark(self.status, self.opsets)


#: by exporter: how a variant stands, newest release first
Lines = Mapping[str, Sequence[Stand]]


def answer_case(dataset: Dataset, name: str, asked: Mapping[str, str] | None = None) -> Answer:
    """What is known of ``CASE`` or ``CASE/VARIANT``; at a point (``torch``, ``exporter``, ``opset``, …) of one cell.

    Raises :class:`UnknownName` with the nearest names.
    """
    asked = asked or {}
    if is_sample(name):
        own = _samples_here(dataset, name)
        if own is None and Samples.of(dataset).operators:
            return answer_sample(dataset, name, asked)
        dataset = own or dataset
    dataset = dataset.holding(name.partition("/")[0])
    views = Views.of(dataset)
    named = find(views, name)
    if views.fetch('SELECT 1 FROM environment WHERE "case" = $1', [named.case]):
        return _environment(dataset, named)
    if asked:
        return answer_cell(dataset, named, *Points(dataset).find(asked))
    return _overview(dataset, named)


def _samples_here(dataset: Dataset, name: str) -> Dataset | None:
    """The rows of operator samples on this machine, where they have this one: published are only their sums."""
    folder = dataset.folder("local")
    if folder is None or not (folder / OPERATORS).is_dir():
        return None
    found = Dataset.open(None, folder / OPERATORS)
    query = "SELECT 1 FROM cells WHERE \"case\" || '/' || variant = $1 LIMIT 1"
    return found if Views.of(found).fetch(query, [name]) else None


def find(views: Views, name: str) -> NamedCase:
    """The case and the variant that a text names; raises :class:`UnknownName`."""
    text, _, variant = name.partition("/")
    is_known = views.fetch("""SELECT 1 FROM variants WHERE "case" = $1 LIMIT 1""", [text])
    known = [] if is_known else views.fetch('SELECT "case" FROM variants UNION SELECT "case" FROM cells')
    found = text if is_known else names.require("case", text, sorted(row[0] for row in known))
    if not variant:
        return NamedCase(found)
    mine = views.fetch(
        """SELECT variant FROM variants WHERE "case" = $1 UNION SELECT variant FROM cells WHERE "case" = $1""", [found]
    )
    return NamedCase(found, names.require(f"variant of {found}", variant, sorted(row[0] for row in mine)))


def _overview(dataset: Dataset, named: NamedCase) -> Answer:
    views = Views.of(dataset)
    about = _variants(views, named.case)
    sources = _sources(dataset, about)
    kept = views.keep(
        f"""SELECT {_KEPT}, v.n, coalesce(call.is_own, false) AS is_own FROM cells c JOIN version v USING (torch)
        LEFT JOIN call ON (call.profile, call.torch, call.exporter, call.opset)
            = (c.profile, c.torch, c.exporter, c.opset)
        WHERE c."case" = {sql.literal(named.case)} AND c.profile = {sql.literal(dataset.profile)}
        QUALIFY row_number() OVER (PARTITION BY variant, c.torch, c.exporter, c.opset
            ORDER BY c.provider <> 'cpu', c.provider) = 1"""
    )
    stands = _stands(views, kept)
    original = PLAIN if PLAIN in stands else named.variant or PLAIN
    lines = stands.get(original, {})
    newest = max((stand for line in lines.values() for stand in line), key=lambda stand: stand.n, default=None)
    if newest is None:
        more = f"caniexport measure --case {named.case} measures it."
        return Answer(
            f"Not measured: {named.case}.", AnswerOutcome.NOT_MEASURED, _describe_corpus(about, sources), more=more
        )
    advice = answer_workaround(dataset, Scope(frozenset({named.case})), newest.torch)
    verdict, outcome = _verdict(lines, newest, advice)
    is_variant = named.variant not in ("", original)
    if is_variant:
        own = answer_workaround(
            dataset, Scope(frozenset({named.case}), variants=frozenset({named.variant})), newest.torch
        )
        verdict, outcome = own.verdict, own.outcome
    later = [torch for (torch,) in views.fetch("SELECT torch FROM version WHERE n > $1 ORDER BY n", [newest.n])]
    replayed = views.keep(_replayed(kept, named.variant or original))
    others = {f"{variant} ": found for variant, found in stands.items() if variant not in (original, named.variant)}
    title = next((str(row["title"]) for row in about), named.case)
    tables = (
        _strip(title, {"": lines, **({f"{named.variant} ": stands.get(named.variant, {})} if is_variant else {})}),
        _strip("with each workaround", others, shown=0),
        *(replace(table, title=table.title or f"workarounds at torch {newest.torch}") for table in advice.tables[:2]),
        _claims(dataset, named),
        *_outcomes(views, kept, newest.torch),
        _runtimes(views, replayed),
        tool_table(views, f"FROM {kept} WHERE variant = {sql.literal(named.variant or original)}"),
        _registered(dataset, about, newest.torch),
        models_table(dataset, named.case),
        *_describe_corpus(about, sources),
    )
    notes = (
        *_warnings(about, named),
        *([f"Not measured at torch {', '.join(later)}."] if later else []),
        *_refused(views, kept, named.variant or original),
        *_elsewhere(views, replayed),
        *(f"{state.source}: {state.text}." for state in sources if state.word),
    )
    more = f"--torch {newest.torch} --opset N shows one measurement. --all: messages, other runtimes, code."
    return Answer(verdict, outcome, tables, notes, more=more)


def _variants(views: Views, case: str) -> list[dict[str, Any]]:
    """Return the variants of a case in the corpus, the original first, known wrong ones last."""
    columns = (
        *("case", "variant", "title", "kind", "note", "caution", "changes_values", "needs_torch", "code"),
        *("aten_ops", "sources"),
    )
    rows = views.fetch(
        f"""SELECT {", ".join(map(sql.name, columns))} FROM variants WHERE "case" = $1
            ORDER BY variant <> 'plain', caution, changes_values, NOT documented, variant""",
        [case],
    )
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _stands(views: Views, kept: str) -> dict[str, dict[str, list[Stand]]]:
    """By variant and exporter: how it stands at each release, newest first."""
    rows = views.fetch(
        f"""WITH mine AS (
            SELECT *, is_own OR exporter = 'default' AS bare, status <> 'unsupported' AS taken FROM {kept})
        SELECT variant, exporter, n, torch, max(status) FILTER (bare),
            coalesce(mode(status ORDER BY status) FILTER (works(status)), max(status) FILTER (bare AND taken),
                mode(status ORDER BY status) FILTER (taken), 'unsupported'),
            coalesce(list(opset ORDER BY opset) FILTER (status = 'pass' AND opset IS NOT NULL),
                list(opset ORDER BY opset) FILTER (works(status) AND opset IS NOT NULL), []),
            coalesce(list(opset ORDER BY opset) FILTER (taken AND opset IS NOT NULL), [])
        FROM mine GROUP BY ALL ORDER BY variant, n DESC"""
    )
    found: dict[str, dict[str, list[Stand]]] = {}
    for variant, exporter, n, torch, own, status, works, asked in rows:
        line = found.setdefault(variant, {}).setdefault(exporter, [])
        line.append(Stand(n, torch, Status(own) if own else None, Status(status), opset_range(works, asked)))
    return found


def works_since(line: Sequence[Stand]) -> str:
    """The first release from which on it works at some opset; empty where it does not at the newest."""
    since = ""
    for stand in line:
        if stand.status in WORKS:
            since = stand.torch
        elif stand.status in MEASURED:
            break
    return since


def _verdict(lines: Lines, newest: Stand, advice: Answer) -> tuple[str, AnswerOutcome]:
    """Where the original works at the newest release, since when, by which call; else what to use in its place."""
    torch = newest.torch
    there = {name: lines[name][0] for name in _LINES if name in lines and lines[name][0].torch == torch}
    now = {name: stand for name, stand in there.items() if name in _CALLS} or there
    good = {name: stand for name, stand in now.items() if stand.own in WORKS}
    if len(good) == len(now):  # the default call may differ from the same exporter and opset by name
        now |= {name: stand for name, stand in there.items() if name == Exporter.DEFAULT.value}
    bad = {name: _HOW.get(stand.own or stand.status, "fails") for name, stand in now.items() if stand.own not in WORKS}
    since = {name: works_since(lines[name]) for name in good}
    if good and not bad:
        by = [", ".join(filter(None, (_called(torch, name), stand.opsets))) for name, stand in good.items()]
        calls = " and ".join(f"{since[name]} ({call})" for name, call in zip(good, by, strict=True))
        return f"Works at torch {torch}, since {calls.replace(', ', ', opset ', 1)}.", AnswerOutcome.WORKS
    partly = [(name, stand) for name, stand in now.items() if stand.opsets and name not in good]
    if good:
        first = next(iter(good))
        others = " and ".join(f"{how} with {_called(torch, name)}" for name, how in bad.items())
        text = f"Use {_called(torch, first)}: works since torch {since[first]}, {others} (torch {torch})."
        return text, AnswerOutcome.FAILS
    if partly:
        name, stand = partly[0]
        return (
            f"Use {_called(torch, name)} at opset {stand.opsets}: others fail (torch {torch}).",
            AnswerOutcome.FAILS,
        )
    hows = " or ".join(dict.fromkeys(bad.values()))
    return f"{hows[:1].upper()}{hows[1:]} at torch {torch}: {_remedy(advice)}.", AnswerOutcome.FAILS


def _called(torch: str, exporter: str) -> str:
    return "the default call" if exporter == Exporter.DEFAULT.value else call_text(torch, exporter)


def _column(torch: str, exporter: str) -> str:
    return exporter if exporter == Exporter.DEFAULT.value else call_text(torch, exporter)


def _remedy(advice: Answer) -> str:
    """The first workaround that works, with the calls that it needs."""
    table = next((table for table in advice.tables[:1] if table.rows), None)
    if table is None:
        return "no workaround is known"
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        helped = [name for name, item in cells.items() if isinstance(item, Mark) and item.word is Workaround.NEEDED]
        if helped:
            named = [name for name in helped if name != Exporter.DEFAULT.value] or helped
            has_all = all(name in helped for name, item in cells.items() if isinstance(item, Mark))
            return f"use {cells['workaround']}{'' if has_all else f' with {named[0]}'}"
    return "none of its workarounds helps"


def _strip(title: str, variants: Mapping[str, Lines], shown: int = 9) -> Table:
    """The releases, newest first; neighbors with the same outcomes are one column."""
    lines = {
        (prefix, name): {stand.torch: stand.mark for stand in line}
        for prefix, found in variants.items()
        for name, line in sorted(found.items(), key=lambda item: _LINES.index(item[0]))
        if name != Exporter.SCRIPT.value or _differs(line, found.get(Exporter.TRACE.value, ()))
    }
    releases = versions.ordered({torch for line in lines.values() for torch in line})[::-1]
    nothing = Mark(Status.NOT_RUN)
    columns = [
        ([*torch], marks)
        for marks, torch in groupby(releases, key=lambda torch: [line.get(torch, nothing) for line in lines.values()])
    ]
    heads = ["-".join(dict.fromkeys((_series(run[0], releases), _series(run[-1], releases)))) for run, _ in columns]
    newest = releases[0] if releases else ""
    rows = tuple(
        (Code(f"{prefix}{_column(newest, name)}"), *(marks[at] for _, marks in columns))
        for at, (prefix, name) in enumerate(lines)
    )
    return Table(title, ("call", *heads), rows, shown=shown, folded=tuple(heads[_COLUMNS:]))


def _differs(one: Iterable[Stand], other: Iterable[Stand]) -> bool:
    marks = {stand.torch: stand.mark for stand in other}
    return any(stand.torch in marks and stand.mark != marks[stand.torch] for stand in one) or not marks


def _series(torch: str, releases: Sequence[str]) -> str:
    """``2.15``, where one release of the series was measured."""
    short = ".".join(torch.split(".")[:2])
    return torch if sum(f"{release}.".startswith(f"{short}.") for release in releases) > 1 else short


def _claims(dataset: Dataset, named: NamedCase) -> Table:
    """What sources claim of the case, against what was measured."""
    rows = tuple(
        (claim.source, claim.says, claim.versions, claim.variant, claim.word, claim.reason)
        for claim in read_claims(dataset, [named.case])
        if claim.variant == named.variant or not named.variant
    )
    columns = ("source", "says", "torch versions", "variant", "result", "measured")
    return Table("claims", columns, rows, shown=3, folded=("torch versions", "variant", "measured"))


def _outcomes(views: Views, kept: str, newest: str) -> tuple[Table, Table]:
    """Return every outcome with its releases and opsets, and the messages of the errors: of equal causes the newest."""
    rows = views.fetch(
        f"""WITH alike AS (
            SELECT variant, exporter, torch, n, stage, status, signature, max(message_id) AS message,
                list(opset ORDER BY opset) AS opsets FROM {kept} GROUP BY ALL),
        outcome AS (
            SELECT variant, exporter, stage, status, signature, opsets, list(torch ORDER BY n DESC) AS releases,
                max(n) AS n, arg_max(message, n) AS message FROM alike GROUP BY ALL)
        SELECT variant, exporter, stage, status, opsets, releases, (SELECT any_value(text) FROM message m
            WHERE m.message_id = outcome.message)
        FROM outcome ORDER BY variant <> 'plain', variant, n DESC, exporter, opsets, stage, status, signature"""
    )
    messages: dict[str, str] = {}
    made = []
    for variant, exporter, stage, status, opsets, releases, text in rows:
        cause = short_cause(text) if text else None
        if cause is not None:
            messages.setdefault(cause, text)
        torch = Range(" to ".join(dict.fromkeys((releases[0], releases[-1]))), tuple(releases))
        opset = Range(versions.opset_text(opsets), tuple(opsets))
        made.append((variant, Code(_column(newest, exporter)), torch, opset, Mark(Status(status)), stage, cause))
    columns = ("variant", "call", "torch", "opset", "outcome", "stage", "error")
    whole = tuple((Message(cause, text),) for cause, text in messages.items())
    return Table("every outcome", columns, tuple(made), shown=0), Table("messages", ("error",), whole, shown=0)


def _replayed(kept: str, variant: str) -> str:
    """The files of the variant as each further runtime ended with them, as SQL."""
    return f"""SELECT r.runtime, r.runtime_version, r.provider, c.n, c.status AS own, r.signature,
            CASE WHEN r.status = 'pass' AND {elsewhere.NOT_AS_ASKED} THEN 'degraded' ELSE r.status END AS status
        FROM {kept} c JOIN replays r ON r.bundle = c.bundle AND r.profile = c.profile
            AND (r.session IS NOT NULL) = EXISTS (SELECT 1 FROM variants v WHERE v."case" = c."case"
                AND v.variant = c.variant AND v.kind = {sql.literal(FixKind.RUNTIME_OPTION.value)})
        WHERE c.variant = {sql.literal(variant)}"""


def _runtimes(views: Views, replayed: str) -> Table:
    """Return the outcomes of the same files on each release of a runtime that has run them."""
    rows = views.fetch(
        f"""SELECT runtime, runtime_version, provider, count(*), count_if(works(status)),
            count_if(status = 'mismatch'), mode(signature ORDER BY signature) FILTER (NOT works(status))
        FROM {replayed} GROUP BY ALL"""
    )
    rows = sorted(sorted(rows, key=lambda row: versions.parse(row[1]), reverse=True), key=lambda row: (row[0], row[2]))
    made = tuple(
        (f"{name} {version}", provider, files, works, wrong, Message(why) if why else None)
        for name, version, provider, files, works, wrong, why in rows
    )
    columns = ("runtime", "provider", "files", "work", "wrong values", "the most frequent error")
    return Table("the same files on other runtimes", columns, made, shown=0)


def _elsewhere(views: Views, replayed: str) -> list[str]:
    """Note the files of the newest release that work on the CPU and fail on another provider."""
    rows = views.fetch(
        f"""SELECT runtime, runtime_version, provider, count_if(status = 'mismatch'), count_if(status <> 'mismatch')
        FROM {replayed} WHERE works(own) AND NOT works(status) AND provider NOT IN ('cpu', 'none')
            AND status <> 'unsupported' AND n = (SELECT max(n) FROM {replayed}) GROUP BY ALL"""
    )
    newest: dict[tuple[str, str], tuple[str, int, int]] = {}
    for runtime, version, provider, wrong, failing in sorted(rows, key=lambda row: versions.parse(row[1])):
        newest[runtime, provider] = version, wrong, failing
    return [
        f"On {provider} ({runtime} {version}), of the files that work on the CPU, "
        + " and ".join([f"{wrong} give wrong values"] * bool(wrong) + [f"{failing} fail"] * bool(failing))
        + "."
        for (runtime, provider), (version, wrong, failing) in newest.items()
    ]


def _registered(dataset: Dataset, about: Sequence[Mapping[str, Any]], torch: str) -> Table:
    """The opsets for which torch itself registers a symbolic or a translation of the operators of the case."""
    ops = [op for op in dict.fromkeys((about[0]["aten_ops"] if about else None) or ()) if "::" in op]
    registered_at = read_registered(dataset, torch) if ops else {}
    rows = tuple((op, *(registered_at.get((name, operator_key(op)), "none") for name in _CALLS)) for op in ops)
    columns = ("operator", *(call_text(torch, name) for name in _CALLS))
    return Table(
        f"opsets for which torch {torch} registers the operators", columns, rows if registered_at else (), shown=0
    )


def _describe_corpus(about: Sequence[Mapping[str, Any]], sources: Sequence[SourceState]) -> tuple[Table, ...]:
    """What the corpus says of a case: its variants with their code, its sources with what became of them."""
    code = tuple(
        (
            row["variant"],
            row["kind"],
            mark_changed_values(row["note"] or "", bool(row["changes_values"])),
            "known to be wrong or partial" if row["caution"] else "",
            row["needs_torch"] or "",
            Code(row["code"] or ""),
        )
        for row in about
    )
    states = tuple((state.source, state.text, source_address(state.source) or "") for state in sources)
    return (
        Table("code", ("variant", "kind", "what it does", "careful", "needs torch", "code"), code, shown=0),
        Table("sources", ("source", "state", "where"), states, shown=0),
    )


def _sources(dataset: Dataset, about: Sequence[Mapping[str, Any]]) -> tuple[SourceState, ...]:
    """The sources of a case, with what became of them upstream."""
    return upstream(dataset, {about[0]["case"]}).get(about[0]["case"], ()) if about else ()


def _warnings(about: Sequence[Mapping[str, Any]], named: NamedCase) -> list[str]:
    row = next((row for row in about if row["variant"] == named.variant), None)
    if row is None:
        return []
    careful = ["Careful: this workaround is known to be wrong or partial."] if row["caution"] else []
    is_upgrade = row["kind"] == FixKind.VERSION_UPGRADE.value
    return careful + [f"An upgrade to torch {row['needs_torch']}: the original is measured there."] * is_upgrade


def _refused(views: Views, kept: str, variant: str) -> list[str]:
    """Note how many working files of the newest release onnx's checker refuses."""
    ((count, torch),) = views.fetch(
        f"""SELECT count(*), any_value(torch) FROM {kept} WHERE variant = $1 AND works(status)
            AND checker IN ('strict', 'plain', 'crash') AND n = (SELECT max(n) FROM {kept} WHERE variant = $1)""",
        [variant],
    )
    return [f"onnx's checker refuses {plural(count, 'file')} that work at torch {torch}."] if count else []


def _environment(dataset: Dataset, named: NamedCase) -> Answer:
    """A case about what is installed together: what came of each environment."""
    views = Views.of(dataset)
    about = _variants(views, named.case)
    rows = read_rows(views, """cells WHERE "case" = $1 ORDER BY variant <> 'plain', variant""", [named.case])
    found = {row["variant"]: answer_evidence(dataset, row, "as installed") for row in rows}
    own, described = found.get(named.variant or PLAIN), _describe_corpus(about, _sources(dataset, about))
    if own is None:
        return Answer(f"Not measured: {named.text}.", AnswerOutcome.NOT_MEASURED, described)
    working = [name for name, answer in found.items() if name != PLAIN and answer.outcome is AnswerOutcome.WORKS]
    remedy = f": use {working[0]}" if working and own.outcome is AnswerOutcome.FAILS else ""
    tried = tuple((row["variant"], Mark(Status(row["status"])), row["stage"], row["signature"]) for row in rows)
    columns = ("variant", "outcome", "stage", "error")
    title = next((str(row["title"]) for row in about), named.case)
    tables = (
        Table(title, columns, tried),
        *own.tables,
        _claims(dataset, named),
        *described,
    )
    return Answer(own.verdict.removesuffix(".") + f"{remedy}.", own.outcome, tables)
