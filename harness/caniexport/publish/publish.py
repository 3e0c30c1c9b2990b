"""Promotion of local rows into the published dataset: gated, deterministic, and nothing else touched.

A file of cells or replays is written only when its rows change, so that a release that was not measured again keeps its
bytes. Everything is made before the first file is replaced. Texts and environments go first and are trimmed last:
wherever publishing is cut off, every published row has its own. What may not be published, and why, is in
``gate/gate.sql``.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caniexport.corpus import replays, upstream
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import COLUMNS, adjudicate, find_runtime_claims
from caniexport.gate.staging import Flaw, Staging
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import StoreError
from caniexport.store import digests, files, graphs, sql, which_row, writer
from caniexport.store.catalogue import case_rows
from caniexport.store.compaction import compact, dataset_lock
from caniexport.store.declared import read_declared
from caniexport.store.journal_reader import journals
from caniexport.store.schema import columns, normalise

_UNJUDGED = "not judged: the run did not finish; measure its release again"
_SILENT = "nothing was measured (invalid, not run, a skipped run of a file, or a release that cannot be entered)"
#: what a row is about, in whatever environment and on whatever version of a runtime
_THING = {"cells": which_row.CELL, "runs": ("bundle", "session", "runtime", "runtime_version", "provider")}
#: two digits say what a time on one machine can say; further ones are noise, which does not compress
_SECONDS = ", ".join(
    f"format('{{:.2g}}', {name}::DOUBLE)::FLOAT AS {name}"
    for name in ("seconds_export", "seconds_load", "seconds_run", "seconds_eager", "memory_mb", "load")
)
#: tables that rows of several files refer to, and by which column
_SHARED = {"messages": "message_id", "environments": "run_id"}
#: the texts that published rows refer to
_REFERRED = (
    "SELECT message_id FROM cells UNION SELECT message_id FROM runs "
    "UNION SELECT unnest([warning_id, checker_id]) FROM cells"
)


@dataclass(frozen=True)
class PublishReport:
    """What was promoted and what was not.

    written      files of the published dataset that changed, ``removed`` those that went
    promoted     rows taken from the local dataset, by file
    dropped      published and local rows left out, by reason
    quarantined  runs left out: ``release (run)`` and the gate's word, or that nobody judged them
    held         local rows held back, by reason: as :class:`caniexport.gate.staging.Flaw` names them
    doubtful     published rows that stay, though nothing shows that they are right, or they break a rule: the same
    unstable     rows of files that one runtime does not always answer alike
    problems     files and lines that could not be read
    """

    written: tuple[str, ...]
    removed: tuple[str, ...]
    promoted: Mapping[str, int]
    dropped: Mapping[str, int]
    quarantined: Mapping[str, str]
    held: Mapping[str, list[str]]
    doubtful: Mapping[str, list[str]]
    unstable: int
    problems: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out that a person has to look after."""
        return not (self.quarantined or self.held or self.problems)


def publish(local: Path, published: Path, corpus: Mapping[str, LoadedCase], *, write: bool = True) -> PublishReport:
    """Promote the rows of good local runs into ``published``; runs that are still going are left for later.

    A local row takes the place of the published one with its identity. Rows of variants that the corpus no longer
    has are dropped, and so are rows of a variant's older code where there are rows of newer code. ``cases``,
    ``sources`` and ``claims`` are written anew from the corpus and the rows. Unless it is to ``write``, it only says
    what would happen. Raises :class:`StoreError` where a published file cannot be read: publishing over it would lose
    its rows.
    """
    compacted = compact(local)
    for fault in digests.find_faults(published):
        raise StoreError(fault)
    with (
        dataset_lock(local),
        tempfile.TemporaryDirectory(prefix="caniexport-publish-") as made,
        Staging.open(published, local, corpus) as staging,
    ):
        return _Publication(local, published, corpus, staging, Path(made)).run(compacted.problems, write)


class _Publication:
    """One promotion, step by step."""

    def __init__(
        self, local: Path, published: Path, corpus: Mapping[str, LoadedCase], staging: Staging, made: Path
    ) -> None:
        self._local = local
        self._published = published
        self._corpus = corpus
        self._documents = read_documents(corpus)
        self._staging = staging
        self._made = made
        #: the files to be written, in their order: where the new one lies, ``None`` for one that goes
        self._new: list[tuple[str, Path | None]] = []

    def run(self, known: tuple[str, ...], write: bool) -> PublishReport:
        """Judge the rows, make every file that changes, then replace them."""
        unfinished = [f"{path}: its run has not finished; left for later" for path in journals(self._local)]
        problems = [*known, *unfinished, *self._staging.problems]
        silent, quarantined = self._left_out()
        gone, doubtful = self._staging.settle()
        if write:
            problems += self._make()
            self._replace()
        dropped = Counter({_SILENT: silent} if silent else {})
        held: dict[str, list[str]] = {}
        for flaw in gone:
            if flaw.is_new and not (flaw.file.startswith("runs/") and flaw.rule.name == "own-error"):
                held.setdefault(flaw.rule.sentence, []).append(flaw.label)
            elif flaw.is_new:
                dropped[f"a run of a file, and {flaw.rule.sentence}"] += 1
            else:
                dropped[f"published before, and {flaw.rule.sentence}"] += 1
        fetch = self._staging.fetch
        dropped.update(
            dict(fetch("SELECT outdated, count(*) FROM chosen WHERE outdated IS NOT NULL GROUP BY ALL ORDER BY ALL"))
        )
        promoted = fetch(
            "SELECT file, count(*) FROM chosen WHERE is_new AND outdated IS NULL GROUP BY ALL ORDER BY ALL"
        )
        return PublishReport(
            tuple(dict.fromkeys(name for name, path in self._new if path)),
            tuple(name for name, path in self._new if not path),
            dict(promoted),
            dict(dropped),
            quarantined,
            held,
            _by_reason(doubtful),
            fetch("SELECT count(*) FROM marks")[0][0],
            tuple(dict.fromkeys(problems)),
        )

    def _left_out(self) -> tuple[int, dict[str, str]]:
        """How many local rows say nothing; the runs that the gate has not passed, with its word.

        Only those of which a row was not measured again by a good run since.
        """
        silent, held = 0, dict[str, str]()
        for table, thing in _THING.items():
            query = f"FROM ({self._staging.measured(table, self._staging.names)}) WHERE is_local"
            silent += self._staging.fetch(f"SELECT count(*) FROM ({query}) WHERE NOT is_measured")[0][0]
            same = " AND ".join(f"g.{sql.name(name)} IS NOT DISTINCT FROM h.{sql.name(name)}" for name in thing)
            runs = self._staging.fetch(f"""
                WITH mine AS MATERIALIZED (
                    SELECT {", ".join(map(sql.name, thing))}, env_id, run_id, measured_at, is_good, line
                    FROM ({query}) WHERE is_measured
                ), bad AS (
                    SELECT env_id, run_id, min(line) AS line FROM mine h WHERE NOT is_good AND NOT EXISTS (
                        FROM mine g WHERE g.is_good AND g.measured_at >= h.measured_at AND {same}
                    ) GROUP BY ALL
                ), named AS (SELECT env_id, any_value(release) AS name FROM local_environments GROUP BY env_id)
                SELECT coalesce(if(name SIMILAR TO '[0-9].*', 'torch ' || name, name), env_id, 'None'), run_id, gate
                FROM bad LEFT JOIN local_environments USING (env_id, run_id) LEFT JOIN named USING (env_id)
                ORDER BY line""")
            held |= {f"{release} (run {run})": word or _UNJUDGED for release, run, word in runs}
        return silent, held

    def _make(self) -> list[str]:
        """Make the files that change; sentences about what could not be read."""
        database, staging = self._staging.database, self._staging
        database.execute(f"CREATE TABLE referred AS {_REFERRED}")
        database.execute(
            "CREATE TABLE entered AS "
            "SELECT env_id, run_id, list_sort(list(DISTINCT code) FILTER (code IS NOT NULL)) AS codes "
            "FROM (SELECT env_id, run_id, code FROM cells UNION SELECT env_id, run_id, code FROM runs) GROUP BY ALL"
        )
        environments = (
            "SELECT e.* REPLACE (coalesce(i.codes, e.codes) AS codes) "
            "FROM environments e LEFT JOIN entered i USING (env_id, run_id)"
        )
        missing = "FROM referred ANTI JOIN messages USING (message_id) WHERE message_id IS NOT NULL"
        ((lost,),) = staging.fetch(f"SELECT count(*) {missing}")
        problems = [f"{lost} error texts that rows refer to are in neither dataset"] if lost else []
        texts = "FROM messages WHERE message_id IN (FROM referred)"
        judged = f"FROM ({environments}) WHERE run_id IN (SELECT run_id FROM entered)"
        # those that published rows refer to until they are replaced
        earlier = {name: f"(SELECT {name} FROM ({self._before(table)}))" for table, name in _SHARED.items()}
        self._add("messages.parquet", "messages", f"{texts} OR message_id IN {earlier['message_id']}", "first")
        self._add("environments.parquet", "environments", f"{judged} OR run_id IN {earlier['run_id']}", "first")
        for name in staging.changed():
            table = name.partition("/")[0]
            path = self._made / name
            self._new.append((name, path if staging.write(name, path, _SECONDS if table == "cells" else "") else None))
        self._add("messages.parquet", "messages", texts)
        self._add("environments.parquet", "environments", judged)
        records = {case: documented.records for case, documented in self._documents.items()}
        self._add_rows("cases", case_rows(self._corpus, records))
        self._add_rows("sources", upstream.make_rows(self._corpus))
        sql.insert(database, "fresh_declared", "declared", list(read_declared(self._local, problems)))
        declared = (
            f"SELECT * FROM ({self._before('declared')}) WHERE release NOT IN (SELECT release FROM fresh_declared) "
            "UNION ALL BY NAME SELECT * EXCLUDE line FROM fresh_declared"
        )
        self._add("declared.parquet", "declared", f"FROM ({declared}) WHERE release IN (SELECT torch FROM cells)")
        self._add("graphs.parquet", "graphs", self._graphs(self._before("graphs"), problems))
        self._add_rows("claims", list(self._claims(dict(staging.fetch(f"SELECT message_id, text FROM ({texts})")))))
        return problems

    def _before(self, table: str) -> str:
        """The published rows of a table. Raises :class:`StoreError` where they cannot be read."""
        path = self._published / f"{table}.parquet"
        if not path.is_file():
            return sql.empty(table)
        try:
            files.read_to_end(path)
        except StoreError as error:
            raise StoreError(f"{error}; restore it (git checkout) before publishing") from error
        listed = f"SELECT * EXCLUDE (filename, file_row_number) FROM {sql.files([path])}"
        return f"SELECT * FROM ({sql.empty(table)}) UNION ALL BY NAME {listed}"

    def _add_rows(self, table: str, rows: list[dict[str, Any]]) -> None:
        sql.insert(self._staging.database, "given", table, [normalise(table, row) for row in rows])
        self._add(f"{table}.parquet", table, "SELECT * EXCLUDE line FROM given")

    def _add(self, name: str, table: str, query: str, folder: str = "") -> None:
        """Make a file unless it has these rows already; of graphs there is none without rows."""
        path, database = self._published / name, self._staging.database
        listed = ", ".join(map(sql.name, columns(table)))
        wanted, have = (f"SELECT {listed} FROM ({rows})" for rows in (query, self._before(table)))
        differs = f"SELECT 1 FROM (({wanted} EXCEPT ALL {have}) UNION ALL ({have} EXCEPT ALL {wanted})) LIMIT 1"
        is_empty = table == "graphs" and not self._staging.fetch(f"SELECT 1 FROM ({query}) LIMIT 1")
        if is_empty:
            self._new += [(name, None)] if path.is_file() else []
        elif not path.is_file() or self._staging.fetch(differs):
            made = self._made / folder / name
            writer.copy_rows(database, query, made, table)
            self._new.append((name, made))

    def _replace(self) -> None:
        """Replace the files that change, and write ``MANIFEST``."""
        with digests.update_manifest(self._published):
            for name, made in self._new:
                path = self._published / name
                if made is None:
                    with writer.disk_errors(path):
                        path.unlink()
                else:
                    writer.replace_file(path, made.read_bytes())

    def _claims(self, texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The claims as they are judged by the rows, those of one case after the other."""
        naming, left = set(find_runtime_claims(self._documents)), dict(self._corpus)
        self._keep_replays(naming)
        with contextlib.closing(self._staging.database.cursor()) as cursor:
            cursor.execute(f'SELECT {", ".join(map(sql.name, COLUMNS))} FROM cells ORDER BY "case", line')
            rows = itertools.chain.from_iterable(iter(lambda: cursor.fetchmany(4096), []))
            for case, group in itertools.groupby(rows, key=lambda row: row[COLUMNS.index("case")]):
                cells = [dict(zip(COLUMNS, row, strict=True)) for row in group]
                runs = self._replays(case) if case in naming else []
                yield from adjudicate({case: left.pop(case)}, self._documents, cells, texts, runs)
        yield from adjudicate(left, self._documents, [], texts)

    def _keep_replays(self, cases: Collection[str]) -> None:
        """Make the table ``replays_of``: for each case (``of``) the runs of its files, one on each release."""
        execute = self._staging.database.execute
        names = "(SELECT unnest($1::VARCHAR[]))"
        query = f'CREATE TABLE file_of AS SELECT DISTINCT "case" AS of, bundle FROM cells WHERE "case" IN {names}'
        execute(query, [sorted(cases)])
        rows = "SELECT *, '' AS origin FROM runs SEMI JOIN file_of USING (bundle)"
        taken = which_row.choose_rows(rows, "runs", which_row.REPLAY)
        execute(f"CREATE TABLE replays_of AS SELECT r.*, of FROM ({taken}) r JOIN file_of USING (bundle)")

    def _replays(self, case: str) -> list[dict[str, Any]]:
        """The runs of a case's files, one on each release of a runtime."""
        query = f"SELECT {', '.join(replays.COLUMNS)} FROM replays_of WHERE of = ? ORDER BY line"
        return [dict(zip(replays.COLUMNS, row, strict=True)) for row in self._staging.fetch(query, [case])]

    def _graphs(self, before: str, problems: list[str]) -> str:
        """The graphs of files to be drawn: those published before, and those whose bundles lie in the local dataset.

        Of each variant, exporter and release the highest opset's is drawn: pictures of all would be a third of the
        dataset, and those of one variant look alike.
        """
        database = self._staging.database
        database.execute(
            "CREATE TABLE drawn AS SELECT DISTINCT arg_max(bundle, (coalesce(opset, 0), bundle)) AS bundle "
            'FROM cells WHERE bundle IS NOT NULL GROUP BY file, "case", variant, exporter'
        )
        new = self._staging.fetch(f"FROM drawn ANTI JOIN ({before}) USING (bundle)")
        rows, damaged = graphs.read_new_graphs(self._local, (bundle for (bundle,) in new))
        problems += damaged
        sql.insert(database, "new_graphs", "graphs", rows)
        kept = f"SELECT * FROM ({before}) SEMI JOIN drawn USING (bundle)"
        return f"{kept} UNION ALL BY NAME SELECT * EXCLUDE line FROM new_graphs"


def _by_reason(flaws: Iterable[Flaw]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for flaw in sorted(flaws, key=lambda flaw: (flaw.rule.sentence, flaw.label)):
        found.setdefault(flaw.rule.sentence, []).append(flaw.label)
    return found
