"""Runtime releases side by side: what each takes (measured with probes), and the outcome of the same bundles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from caniexport import names as known
from caniexport import versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Code, Link, Message, Share, Table
from caniexport.answers.inventory import Inventory
from caniexport.answers.provider_runs import ProviderOutcome, list_providers, provider_runs, runtime_text
from caniexport.bundles import node_tests, probes
from caniexport.corpus.refusals import classify_refusal
from caniexport.model.status import WORKS
from caniexport.store import Dataset, sql
from caniexport.store.views import Views


@dataclass(frozen=True)
class RuntimeLine:
    """One release of a runtime on one provider.

    max_opset, max_ir  the highest that a probe passes with; ``None`` where none passes or none was run
    bundles   how many exported files (or node tests) it has run, probes not counted
    statuses  of these, by status
    refusals  of those that it did not load, by reason
    apart     files whose values on this provider are not those of the CPU provider of the same package, beyond the
              tolerance; ``None`` where no row holds them against each other
    local     whether rows of this machine are among them
    """

    runtime: str
    version: str
    provider: str
    device: str
    max_opset: int | None
    max_ir: int | None
    bundles: int
    statuses: dict[str, int]
    refusals: dict[str, int]
    apart: int | None
    local: bool


def read_runtimes(dataset: Dataset, corpus: str = "") -> list[RuntimeLine]:
    """Every release of a runtime that has run bundles, oldest first.

    corpus  ``onnx-node`` counts ONNX's own tests, those that are marked left out; else they are not among the files
    """
    views, is_test = Views.of(dataset), corpus == node_tests.CORPUS
    found = views.fetch(_LIMITS, [dataset.profile, probes.CORPUS, probes.OPSET, probes.IR])
    limits = {row[:4]: row[4:] for row in found}
    # exported files are what is of no other corpus
    taken = ([corpus], True) if corpus else ([probes.CORPUS, node_tests.CORPUS], False)
    rows = views.fetch(_COUNTED.format(test="variant" if is_test else "NULL"), [dataset.profile, *taken])
    files: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for *key, test, stage, status, signature, count, held, apart, local in rows:
        if not (is_test and node_tests.parse_variant(test or "").mark):
            files[tuple(key)].append((stage, status, signature, count, held, apart, local))
    keys = sorted({*limits, *files}, key=lambda key: (key[0], key[2], versions.parse(key[1] or "0"), key[3]))
    lines = [_make_line(key, files[key], *limits.get(key, (None, None, False))) for key in keys]
    return [line for line in lines if line.bundles] if corpus else lines


_KEY = "runtime, coalesce(runtime_version, ''), provider, coalesce(device, '')"
#: the highest opset and IR version of the probes that pass
_LIMITS = f"""SELECT {_KEY}, max(number) FILTER ("case" = $3), max(number) FILTER ("case" = $4),
    bool_or(origin = 'local')
    FROM (SELECT *, CASE WHEN works(status) THEN CAST(string_split(variant, '_')[-1] AS INTEGER) END AS number
        FROM replays WHERE profile = $1 AND corpus = $2) GROUP BY ALL"""
#: files with the same outcome; the facts of a row are written by :mod:`caniexport.runner.beside`
_COUNTED = f"""SELECT {_KEY}, {{test}}, stage, status, signature, count("case"),
    count(*) FILTER (facts LIKE '%"agrees": %'), count(*) FILTER (facts LIKE '%"agrees": false%'),
    bool_or(origin = 'local')
    FROM replays WHERE profile = $1 AND (corpus IS NULL OR list_contains($2, corpus) = $3) GROUP BY ALL"""


def _make_line(
    key: tuple[str, ...], rows: list[tuple[Any, ...]], opset: int | None, ir: int | None, local: bool
) -> RuntimeLine:
    statuses: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for stage, status, signature, count, *_ in rows:
        if count:
            statuses[status] += count
            cause = classify_refusal(stage, signature) if status not in WORKS else None
            if cause is not None:
                refused[cause.value] += count
    apart = sum(row[5] for row in rows) if any(row[4] for row in rows) else None
    here = local or any(row[6] for row in rows)
    runtime, version, provider, device = key
    counts = statuses.total(), dict(statuses), dict(refused)
    return RuntimeLine(runtime, version, provider, device, opset, ir, *counts, apart, here)


#: releases on the first screen
_SHOWN = 26
#: files whose values are not those of the CPU provider of the same package, why most are not loaded, whose rows
_FOLDED = ("unlike its CPU", "mostly because", "rows")
#: operators and cases of a provider there
_FEW = 9


def answer_runtimes(dataset: Dataset, names: Sequence[str] = (), corpus: str = "") -> Answer:
    """Answer what each release of a runtime takes, and how exported files (or ONNX's own node tests) end on it."""
    lines = read_runtimes(dataset, corpus)
    taken = known.require_all("runtime", names, dict.fromkeys(line.runtime for line in lines))
    lines = _sort_lines(line for line in lines if not names or line.runtime in taken)
    if not lines:
        verdict = "Not measured: no other runtime ran a file."
        return Answer(verdict, AnswerOutcome.NOT_MEASURED, (_contributed_table(dataset),))
    newest = lines[0]
    what = "node tests" if corpus else "exported files"
    limits = f" and takes opset {newest.max_opset}, IR version {newest.max_ir} at most" if newest.max_opset else ""
    share = _pass_share(newest)
    verdict = f"{newest.runtime} {newest.version} runs {share.works} of {share.measured} {what}{limits}."
    columns = ("runtime", "on", "opset", "IR", "pass", "wrong", "not loaded", "later", "lost", *_FOLDED)
    return Answer(
        verdict,
        AnswerOutcome.LISTED,
        (Table("", columns, tuple(map(_make_row, lines)), _SHOWN, folded=_FOLDED), _contributed_table(dataset)),
        (
            "opset, IR: the highest whose probe runs. Not loaded: refused, as too new or without a kernel.",
            "Later: an error when it runs. Lost: crash, timeout, out of memory.",
        ),
        more="--provider NAME: what a provider leaves to the CPU. --case NAME: one case on each.",
    )


def _sort_lines(lines: Iterable[RuntimeLine]) -> list[RuntimeLine]:
    """Sort the runtime that is installed with torch first, of each the newest first."""
    newest = sorted(lines, key=lambda line: versions.parse(line.version or "0"), reverse=True)
    return sorted(newest, key=lambda line: (line.runtime != "onnxruntime", line.runtime, line.provider != "cpu"))


def _pass_share(line: RuntimeLine) -> Share:
    return Share(sum(line.statuses.get(status.value, 0) for status in WORKS), line.bundles)


def _make_row(line: RuntimeLine) -> tuple[Cell, ...]:
    refused = sum(line.refusals.values())
    wrong = line.statuses.get("mismatch", 0)
    lost = sum(line.statuses.get(name, 0) for name in ("crash", "timeout", "oom"))
    later = max(0, line.bundles - _pass_share(line).works - refused - wrong - lost)
    why = max(line.refusals, key=line.refusals.__getitem__, default="")
    on = line.provider + (f" ({line.device})" if line.device not in ("", "cpu") else "")
    return (
        Code(f"{line.runtime} {line.version}"),
        *(
            on,
            line.max_opset,
            line.max_ir,
            _pass_share(line),
            wrong,
            refused,
            later,
            lost,
            line.apart,
            why,
            "local" if line.local else "published",
        ),
    )


def _contributed_table(dataset: Dataset) -> Table:
    """Return contributed runs, the newest first, and whether their rows are used."""
    rows: list[tuple[Cell, ...]] = []
    runs = [run for run in dataset.records("environments") if run["contributor"]]
    for run in sorted(runs, key=lambda run: str(run["measured_at"]), reverse=True):
        found = dataset.records("runs", {"run_id": (run["run_id"],), "env_id": (run["env_id"],)})
        for first in found[:1]:
            where = (first["runtime"], first["runtime_version"] or "", first["provider"], first["device"] or "")
            by = f"{run['contributor']} {run['contributed_from'] or ''}".strip()
            rows.append((runtime_text(*where), by, len(found), "used" if run["gate"] == "good" else run["gate"] or ""))
    columns = ("runtime", "by", "files", "rows are")
    return Table("runs that others handed in", columns, tuple(rows), shown=0)


def answer_agreement(dataset: Dataset) -> Answer:
    """Answer on how many files the newest releases of two runtimes agree: both work, or both do not."""
    newest = {(one.name, one.provider): one for one in Inventory.of(dataset).runtimes}
    names = {one: one.text for one in newest.values()}
    listed = ", ".join(f"({', '.join(map(sql.literal, (*one, text)))})" for one, text in names.items())
    found = Views.of(dataset).fetch(
        f"""WITH ran AS (
            SELECT name, bundle, bool_and(coalesce(works(status), false)) AS works
            FROM replays JOIN (VALUES {listed}) newest(runtime, runtime_version, provider, name)
                USING (runtime, runtime_version, provider)
            WHERE corpus NOT IN ('{probes.CORPUS}', '{node_tests.CORPUS}') GROUP BY ALL)
        SELECT a.name, b.name, count(*) FILTER (a.works = b.works), count(*)
        FROM ran a JOIN ran b USING (bundle) GROUP BY ALL"""
        if listed
        else "SELECT 1 WHERE false"
    )
    shares = {(one, other): Share(alike, both) for one, other, alike, both in found}
    columns = [text for text in names.values() if (text, text) in shares]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (Code(one), *(shares.get((one, other), Share(0, 0)) for other in columns)) for one in columns
    )
    verdict = "Of the files that two runtimes have run: on how many both work, or both do not."
    table = Table("", ("runtime", *columns), rows if len(columns) > 1 else (), _SHOWN)
    return Answer(verdict, AnswerOutcome.LISTED, (table,))


def answer_provider(dataset: Dataset, asked: str, names: Sequence[str] = (), corpus: str = "") -> Answer:
    """Answer what runs on a provider such as ``cuda``, what it leaves to the CPU, and what differs from the CPU."""
    provider = known.require("provider", asked, list_providers(dataset))
    found = provider_runs(dataset, provider, corpus)
    taken = known.require_all("runtime", names, dict.fromkeys(runs.runtime for runs in found))
    found = [runs for runs in found if not names or runs.runtime in taken]
    places = {id(runs): runtime_text(runs.runtime, runs.version, runs.provider, runs.device) for runs in found}
    if not found:
        return Answer(f"Not measured: no file on {provider}.", AnswerOutcome.NOT_MEASURED)
    ends = found[0].ends
    worse = sum(ends.get(end, 0) for end in (ProviderOutcome.VALUES, ProviderOutcome.FAILS))
    verdict = f"Of {sum(ends.values())} files on {provider} {worse} end worse than on the CPU."
    ended: tuple[tuple[Cell, ...], ...] = tuple(
        (places[id(runs)], *(runs.ends.get(end, 0) for end in ProviderOutcome)) for runs in found
    )
    apart: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Link(item.case, "case", {"case": item.case, "variant": item.variant}),
            item.end.value,
            item.files,
            Message(item.cause, item.text),
            places[id(runs)],
        )
        for runs in found
        for item in runs.apart
    )
    left: tuple[tuple[Cell, ...], ...] = tuple(
        (item.operator, item.files, item.of, item.nodes, ", ".join(item.cases[:2]), places[id(runs)])
        for runs in found
        for item in runs.left
    )
    of = ("operator", "files", "of", "nodes", "in cases such as", "runtime")
    tables = (
        Table("files, by how they end", ("runtime", *(end.value for end in ProviderOutcome)), ended, 3),
        Table(
            "files with another outcome than on the CPU", ("case", "files", "how many", "cause", "runtime"), apart, _FEW
        ),
        Table("operators that are left to the CPU", of, left, _FEW),
    )
    note = (
        "Of: files with the operator that ran there. A node without a kernel there, or with a shape or a small "
        "integer, runs on the CPU, and its tensors are copied."
    )
    return Answer(verdict, AnswerOutcome.LISTED, tables, (note,), more="--all: every release, case and operator.")


def answer_node_tests(dataset: Dataset, patterns: Sequence[str], names: Sequence[str] = ()) -> Answer:
    """Answer how many of ONNX's own node tests of some operators pass on each runtime, by opset.

    Raises :class:`UnknownName` for an operator that has no test.
    """
    found = Views.of(dataset).fetch(
        """SELECT split_part(variant, '-', 1), CAST(split_part(variant, '-', 2) AS INTEGER),
            runtime, coalesce(runtime_version, ''), provider, count(*) FILTER (works(status)), count(*)
            FROM replays WHERE corpus = $1 AND NOT contains(variant, '.') GROUP BY ALL ORDER BY ALL""",
        [node_tests.CORPUS],
    )
    wanted = known.require_all("operator", tuple(patterns), dict.fromkeys(operator for operator, *_ in found))
    found = [row for row in found if row[0] in wanted]
    taken = known.require_all("runtime", names, dict.fromkeys(row[2] for row in found))
    rows: dict[tuple[str, str, str], dict[tuple[str, int], Share]] = defaultdict(dict)
    for operator, opset, *place, passed, tests in found:
        if not names or place[0] in taken:
            rows[place[0], place[1], place[2]][operator, opset] = Share(passed, tests)
    columns = sorted({of for shares in rows.values() for of in shares}, reverse=True)
    order = sorted(rows, key=lambda key: versions.parse(key[1] or "0"), reverse=True)
    order.sort(key=lambda key: (key[0] != "onnxruntime", key[0], key[2]))
    made = tuple((Code(f"{key[0]} {key[1]}"), key[2], *map(rows[key].get, columns)) for key in order)
    first = rows[order[0]].values()
    passed, tests = sum(share.works for share in first), sum(share.measured for share in first)
    verdict = f"{order[0][0]} {order[0][1]} passes {passed} of {tests} of ONNX's own tests of these operators."
    heads = ("runtime", "on", *(f"{operator} {opset}" for operator, opset in columns))
    note = "Tests of random values, of types that numpy has not and of sequences are not counted."
    tables = (Table("", heads, made, _SHOWN, axis="operator", heads=2),)
    return Answer(verdict, AnswerOutcome.LISTED, tables, (note,))
