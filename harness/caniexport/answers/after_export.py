"""After the export: tools that change a file, plugins that run it, and the file itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from caniexport import names as known
from caniexport import versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Code, Link, Message, Share, Table
from caniexport.answers.outcomes import short_cause
from caniexport.answers.provider_runs import provider_runs
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.canaries import CANARY
from caniexport.runtime_releases import KINDS, Kind
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

#: a row of a tool or plugin about a file that works untouched; ``files`` are the bundles asked about
_ROWS = f"""SELECT s.*, json_extract(facts, '$.nodes') AS nodes, json_extract(facts, '$.bytes') AS bytes
    FROM steps s WHERE corpus NOT IN ('probe', {sql.literal(CANARY)}) AND runtime IN {{names}} {{files}}
        AND status NOT IN ('skip', 'invalid', 'not_run')
        -- of what ended its process nothing more is known
        AND coalesce(json_extract_string(facts, '$.cpu.status'), 'pass') IN ('pass', 'degraded')"""
_OUTCOMES = """count(*), count_if(works(status)), count_if(stage = 'tool' AND status = 'fail'),
    count_if(stage = 'tool' AND status = 'unsupported'), count_if(status = 'fail' AND stage <> 'tool'),
    count_if(status = 'mismatch'), count_if(status IN ('crash', 'timeout', 'oom'))"""
_SHOWN, _FEW = 40, 9
#: the adapters that change no file: that of the file's facts, and that of a lower level of optimization
_FILE, _BASIC = "onnx-file", "onnxruntime-basic"
#: the facts ``f`` of each file that was looked at
_FACTS = f"SELECT bundle, any_value(facts) AS f FROM steps WHERE runtime = '{_FILE}' GROUP BY ALL"


def _require(kind: Kind, names: Sequence[str]) -> list[str]:
    """The tools or plugins that are named, or all. Raises :class:`UnknownName`."""
    every = [name for name, found in KINDS.items() if found is kind and name not in (_FILE, _BASIC)]
    return sorted(known.require_all(kind.value, tuple(names), every)) or every


def answer_tools(dataset: Dataset, names: Sequence[str] = (), cells: str = "") -> Answer:
    """Answer what each tool does to exported files that work: in its newest release file by file.

    cells  SQL of the cells whose files are meant; empty for all
    """
    taken = _require(Kind.TOOL, names)
    views, rows = Views.of(dataset), _make_rows(taken, cells)
    found = views.fetch(
        f"""SELECT runtime, runtime_version, provider, {_OUTCOMES},
            median(CAST(nodes[1] AS DOUBLE) / greatest(1, CAST(nodes[0] AS DOUBLE))),
            median(CAST(bytes[1] AS DOUBLE) / CAST(bytes[0] AS DOUBLE))
        FROM ({rows}) GROUP BY ALL"""
    )
    if not found:
        return Answer("Not measured: no tool changed these files.", AnswerOutcome.NOT_MEASURED)
    found.sort(key=lambda row: (row[0], _opset(row[2]), row[2], [-part for part in versions.parse(row[1]).release]))
    newest = _find_newest(row[:2] for row in found)
    mine = [row for row in found if newest[row[0]] == row[1]]
    worst = min(mine, key=lambda row: row[4] / row[3])
    whole = sum(row[4] == row[3] for row in mine)
    verdict = f"Every file works after {whole} of {len(mine)} tools"
    verdict += "." if whole == len(mine) else f"; after {_name(*worst[:3])} {worst[4]} of {worst[3]}."
    lines: list[tuple[Cell, ...]] = [
        (Code(_name(name, version, asked)), Share(works, files), *rest, _ratio(nodes), _ratio(size))
        for name, version, asked, files, works, *rest, nodes, size in found
    ]
    columns = ("tool", "still work", "tool fails", "refuses", "not loaded", "wrong", "lost", "nodes", "bytes")
    tables = (
        Table("", columns, tuple(lines), _SHOWN),
        _broken_table(views, rows, newest),
        _fusion_table(views, cells),
    )
    notes = (
        "Files that work untouched on the same onnxruntime. Refuses: said so, or kept another opset. Nodes, bytes: "
        "the median of after by before.",
        "Wrong: beyond the usual tolerance; beyond 1 % (float16) or 5 % (8 bits) of the largest value for those.",
    )
    return Answer(verdict, AnswerOutcome.LISTED, tables, notes, more="--case NAME: one case.")


def _broken_table(views: Views, rows: str, newest: dict[str, str]) -> Table:
    """Return what no longer works after the newest release of each tool, most files first."""
    of_newest = ", ".join(f"({sql.literal(name)}, {sql.literal(version)})" for name, version in newest.items())
    found = views.fetch(
        f"""SELECT r.runtime, r.runtime_version, provider, stage, status, signature, count(*) AS files,
            arg_min("case", ("case", variant)), arg_min(variant, ("case", variant)), any_value(m.text)
        FROM ({rows}) r LEFT JOIN message m USING (message_id)
        WHERE NOT works(status) AND (r.runtime, r.runtime_version) IN ({of_newest})
        GROUP BY ALL"""
    )
    found.sort(key=lambda row: (row[4] != "mismatch", -row[6], *row[:3], row[5] or ""))
    lines: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Code(_name(name, version, asked)),
            f"{status} at {stage}",
            files,
            Link(case, "case", {"case": case, "variant": variant}),
            Message(short_cause(text or signature or ""), text or ""),
        )
        for name, version, asked, stage, status, signature, files, case, variant, text in found
    )
    return Table("what breaks in the newest releases", ("tool", "how", "files", "such as", "cause"), lines, _FEW)


def _fusion_table(views: Views, cells: str) -> Table:
    """Return the files that run at onnxruntime's basic level of optimization and not, or otherwise, at level all."""
    found = views.fetch(
        f"""SELECT "case", variant, json_extract_string(facts, '$.cpu.signature') AS cause, count(DISTINCT bundle),
            list(DISTINCT runtime_version)
        FROM steps WHERE runtime = '{_BASIC}' {_restrict(cells)} AND works(status)
            AND json_extract_string(facts, '$.cpu.status') NOT IN ('pass', 'degraded', 'skip', 'invalid')
        GROUP BY ALL ORDER BY ALL"""
    )
    lines: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Link(case, "case", {"case": case, "variant": variant}),
            files,
            ", ".join(reversed(versions.ordered(releases))),
            Message((cause or "").split("|", 2)[-1], cause or ""),
        )
        for case, variant, cause, files, releases in found
    )
    return Table("what onnxruntime's own optimization breaks", ("case", "files", "onnxruntime", "cause"), lines, _FEW)


def answer_plugins(dataset: Dataset, names: Sequence[str] = (), cells: str = "") -> Answer:
    """Answer which release of a plugin works with which onnxruntime, and what the newest leaves to the CPU."""
    taken = _require(Kind.PLUGIN, names)
    views = Views.of(dataset)
    ran = views.fetch(
        f"""SELECT runtime, runtime_version, provider, count(*), count_if(works(status))
        FROM ({_make_rows(taken, cells)}) WHERE stage <> 'place' GROUP BY ALL"""
    )
    unavailable = views.fetch(
        f"""SELECT runtime, runtime_version, provider, stage, any_value(m.text)
        FROM steps s LEFT JOIN message m USING (message_id)
        WHERE s.bundle IS NULL AND runtime IN {sql.listed(taken)} GROUP BY ALL"""
    )
    if not (ran or unavailable):
        return Answer("Not measured: no plugin was loaded.", AnswerOutcome.NOT_MEASURED)
    places: dict[tuple[str, str], dict[str, Cell]] = defaultdict(dict)
    for name, version, host, stage, _ in unavailable:
        places[name, version][host] = "no device" if stage == "place" else "fails"
    for name, version, host, files, works in ran:
        places[name, version][host] = Share(works, files)
    hosts = sorted({host for found in places.values() for host in found}, key=_host_version, reverse=True)
    order = sorted(places, key=lambda key: versions.parse(key[1]), reverse=True)
    order.sort(key=lambda key: key[0])
    rows = tuple((Code(f"{name} {version}"), *map(places[name, version].get, hosts)) for name, version in order)
    whole = sum(
        all(isinstance(place, Share) and place.works for place in places[key].values())
        and len(places[key]) == len(hosts)
        for key in order
    )
    verdict = f"{whole} of {len(order)} plugin releases run files here with each onnxruntime tried."
    texts: dict[tuple[str, str], str] = {}
    releases: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name, version, _, stage, text in sorted(unavailable, key=lambda row: (versions.parse(row[1]), row[2])):
        texts[name, stage] = text or ""  # of the newest release with the newest onnxruntime
        releases[name, stage].add(version)
    why: tuple[tuple[Cell, ...], ...] = tuple(
        (Code(name), ", ".join(versions.ordered(releases[name, stage])), Message(short_cause(text), text))
        for (name, stage), text in texts.items()
    )
    tables = (
        Table("", ("plugin", *hosts), rows, _SHOWN),
        _left_table(dataset, ran),
        Table("not used here, and why", ("plugin", "releases", "the newest says"), why, _FEW),
    )
    note = (
        "Of the files that work on the CPU provider and of which it takes a node: those that work with it. ort1.32: "
        "loaded by onnxruntime 1.32. No device: it loads and finds none here."
    )
    return Answer(verdict, AnswerOutcome.LISTED, tables, (note,), more="--runtime NAME: one plugin.")


def _left_table(dataset: Dataset, ran: Sequence[tuple[Any, ...]]) -> Table:
    """Return the operators that the newest plugins leave to the CPU with the newest onnxruntime."""
    newest = _find_newest(row[:2] for row in ran)
    rows: list[tuple[Cell, ...]] = []
    for name, version in newest.items():
        host = max((row[2] for row in ran if row[:2] == (name, version)), key=_host_version)
        for runs in provider_runs(dataset, host, runtime=name):
            if runs.version == version:
                rows += [(item.operator, item.files, item.of, f"{name} {version}") for item in runs.left]
    return Table("operators that are left to the CPU", ("operator", "files", "of", "plugin"), tuple(rows), _FEW)


def answer_files(dataset: Dataset, cells: str = "") -> Answer:
    """Answer what the exported files are like, whatever runs them, by torch release and exporter."""
    number = "CAST(json_extract(f, '$.{}') AS BIGINT)"
    found = Views.of(dataset).fetch(
        f"""SELECT torch, coalesce(exporter_effective, exporter), count(*),
            count_if(json_extract_string(f, '$.strict') <> 'ok'),
            count_if(json_extract_string(f, '$.value_info') NOT IN ('ok', 'none')),
            count_if({number.format("repeated")} > 0), median({number.format("nodes")})
        FROM (SELECT DISTINCT torch, exporter_effective, exporter, bundle FROM ({cells or "FROM cells"})) c
        JOIN ({_FACTS}) USING (bundle) GROUP BY ALL"""
    )
    if not found:
        return Answer("Not measured: no exported file was looked at.", AnswerOutcome.NOT_MEASURED)
    found = [(torch, EXPORTER_SHORT.get(exporter, exporter), *row) for torch, exporter, *row in found]
    # the newest release first, dynamo before TorchScript
    found = sorted(sorted(found, key=lambda row: row[1]), key=lambda row: versions.parse(row[0]), reverse=True)
    torch, exporter, files, refused, *_ = found[0]
    verdict = f"torch {torch}, {exporter}: onnx's strict check refuses {refused} of {files} files."
    columns = ("torch", "exporter", "files", "not strict", "value_info", "repeats", "nodes")
    rows = tuple((*row[:-1], round(row[-1])) for row in found)
    notes = (
        "Not strict: onnx's strict check refuses it. value_info: states a type or shape that inference contradicts. "
        "Repeats: an initializer twice. Nodes: the median.",
    )
    return Answer(verdict, AnswerOutcome.LISTED, (Table("", columns, rows, _SHOWN),), notes)


def tool_table(views: Views, files: str) -> Table:
    """Return what the newest release of each tool does to files (SQL with their ``bundle``); folded.

    Nothing where a tool has changed none of them.
    """
    rows = _make_rows(_require(Kind.TOOL, ()), files)
    found = views.fetch(
        f"""SELECT runtime, runtime_version, provider, count(*), count_if(works(status)), count_if(status = 'mismatch'),
            mode(signature ORDER BY signature) FILTER (NOT works(status))
        FROM ({rows}) GROUP BY ALL ORDER BY ALL"""
    )
    newest = _find_newest(row[:2] for row in found)
    lines: list[tuple[Cell, ...]] = []
    for name, version, asked, files_changed, works, wrong, why in found:
        if newest[name] == version:
            error = Message(why.split("|", 2)[-1], why) if why else None
            lines.append((Code(_name(name, version, asked)), Share(works, files_changed), wrong, error))
    columns = ("tool", "still work", "wrong", "the most frequent error")
    return Table("after the export", columns, tuple(lines), shown=0)


#: facts of a file that are good news, as SQL on ``f``
_GOOD = {
    "passes onnx's strict check": "json_extract_string(f, '$.strict') = 'ok'",
    "value_info agrees with inference": "json_extract_string(f, '$.value_info') IN ('ok', 'none')",
    "no initializer twice": "CAST(json_extract(f, '$.repeated') AS INTEGER) = 0",
}


def change_table(views: Views, before: str, after: str) -> Table:
    """Return the facts of files that change between two points (SQL of their cells), counted; folded."""
    listed = ", ".join(f"({sql.literal(name)}, {condition})" for name, condition in _GOOD.items())
    of_side = f"""SELECT "case", variant, unnest([{listed}], recursive := false) AS fact
        FROM ({{}}) JOIN ({_FACTS}) USING (bundle)"""
    found = views.fetch(
        f"""SELECT l.fact[1], count_if(l.fact[2] AND NOT r.fact[2]), count_if(r.fact[2] AND NOT l.fact[2]), count(*),
            min("case") FILTER (l.fact[2] AND NOT r.fact[2])
        FROM ({of_side.format(before)}) l JOIN ({of_side.format(after)}) r USING ("case", variant)
        WHERE l.fact[1] = r.fact[1] GROUP BY ALL ORDER BY ALL"""
    )
    lines: tuple[tuple[Cell, ...], ...] = tuple(
        (name, lost, won, files, Link(case, "case", {"case": case}) if case else None)
        for name, lost, won, files, case in found
        if lost or won
    )
    return Table("facts of the files that change", ("fact", "lost", "won", "files", "such as"), lines, shown=0)


def _make_rows(names: Sequence[str], cells: str) -> str:
    return _ROWS.format(names=sql.listed(names), files=_restrict(cells))


def _restrict(cells: str) -> str:
    """The condition that a file is one of these cells'; empty for all."""
    return f"AND bundle IN (SELECT bundle FROM ({cells}))" if cells else ""


def _find_newest(releases: Any) -> dict[str, str]:
    """The newest version of each name."""
    return dict(sorted((tuple(item) for item in releases), key=lambda item: versions.parse(item[1])))


def _name(name: str, version: str, asked: str) -> str:
    return f"{name} {version}" + ("" if asked == "cpu" else f" {asked}")


def _opset(asked: str) -> int:
    """13 of ``to13``; 0 where no opset is asked for."""
    number = asked.removeprefix("to")
    return int(number) if number.isdigit() else 0


def _host_version(host: str) -> Any:
    return versions.parse(host.removeprefix("ort"))


def _ratio(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"
