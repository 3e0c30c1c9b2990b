"""Promotion of local rows into the published dataset: gated, deterministic, and nothing else touched.

A file of cells or replays is written only when its rows change, so that a release that was not measured again keeps its
bytes. Texts and environments go first and are trimmed last: wherever publishing is cut off, every published row has its
own. What may not be published, and why, is in :mod:`caniexport.gate.held_back`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.corpus import replays, upstream
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import COLUMNS, adjudicate, naming_a_runtime
from caniexport.home import PROFILES
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import StoreError
from caniexport.model.status import MEASURED, FixKind
from caniexport.publish.current import CurrentCorpus
from caniexport.publish.promotion import Promotion, promote
from caniexport.publish.staging import Staging
from caniexport.store import digests, files, graphs, sql, writer
from caniexport.store.catalogue import case_rows
from caniexport.store.compaction import compact, dataset_lock
from caniexport.store.declared import gather
from caniexport.store.gates import GOOD, Gates, mask
from caniexport.store.journal_reader import journals
from caniexport.store.merge import in_order, newest
from caniexport.store.parts import WITH_FILES
from caniexport.store.schema import schema, to_arrow
from caniexport.store.shortening import shortened
from caniexport.store.which_row import CELL

if TYPE_CHECKING:
    import pyarrow as pa

_UNJUDGED = "not judged: the run did not finish; measure its release again"
_SILENT = "nothing was measured (invalid, skipped, not run, or a release that cannot be entered)"
#: what a row is about, in whatever environment and on whatever version of a runtime
_THING = {"cells": CELL, "runs": ("bundle", "session", "runtime", "runtime_version", "provider")}
_RUN = ("env_id", "run_id")
#: rows of a claim's columns, as SQL
_OF_CLAIMS = ", ".join(map(sql.name, COLUMNS))


@dataclass(frozen=True)
class PublishReport:
    """What was promoted and what was not.

    written      files of the published dataset that changed, ``removed`` those that went
    promoted     rows taken from the local dataset, by file
    dropped      published and local rows left out, by reason
    quarantined  runs left out: ``release (run)`` and the gate's word, or that nobody judged them
    held         local rows held back, by reason: labels as :class:`caniexport.publish.staging.Staging` makes them
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
    with dataset_lock(local), Staging.open(_other_replays(published), _cells_elsewhere(published)) as staging:
        publication = _Publication(local, published, corpus, write, staging)
        publication.problems += compacted.problems
        publication.run()
    return publication.report()


def _other_replays(published: Path) -> list[Path]:
    """The files of replays of ``newest``, for another profile: they are of the same bundles."""
    of_profile = published.parent.name == PROFILES
    return sorted((published.parent.parent / "runs").glob("*.parquet")) if of_profile else []


def _cells_elsewhere(published: Path) -> list[Path]:
    """The published cells of the other profiles."""
    root = published.parent.parent if published.parent.name == PROFILES else published
    files = (*root.glob("cells/*.parquet"), *root.glob(f"{PROFILES}/*/cells/*.parquet"))
    return sorted(path for path in files if path.parent.parent != published)


class _Publication:
    """One promotion, step by step; what it did is gathered on the way."""

    def __init__(
        self, local: Path, published: Path, corpus: Mapping[str, LoadedCase], write: bool, staging: Staging
    ) -> None:
        self._writes = write
        self._staging = staging
        self.problems: list[str] = []
        self._local = local
        self._published = published
        self._corpus = corpus
        self._documents = read_documents(corpus)
        self._sources = to_arrow("sources", upstream.rows(corpus))
        self._current = CurrentCorpus(corpus)
        self._environments = {side: self._table(side, "environments") for side in (local, published)}
        self._gates = Gates(self._environments[local].to_pylist())
        self._written: list[str] = []
        self._removed: list[str] = []
        self._silent: dict[str, int] = {}
        self._quarantined: dict[str, str] = {}
        self._found = Promotion()

    def run(self) -> None:
        """Read everything, then write: a dataset that cannot be read is not half rewritten."""
        for sentence in digests.missing(self._published):
            raise StoreError(f"{sentence} before publishing")
        self.problems += [f"{path}: its run has not finished; left for later" for path in journals(self._local)]
        texts = newest("messages", [self._table(side, "messages") for side in (self._published, self._local)])
        self._found = self._promote(_texts(texts))
        if not self._writes:
            return
        environments = self._judged_environments()
        for table, every in (("messages", texts), ("environments", environments)):
            before = self._table(self._published, table)
            self._write(f"{table}.parquet", table, self._referenced(table, every, also=before))
        for table in WITH_FILES:
            for name in self._staging.names(table):
                if self._staging.is_changed(name, self._published / name):
                    self._put(name, table, self._staging.rows(name))
        messages = self._referenced("messages", texts)
        self._note_missing(messages)
        self._write("messages.parquet", "messages", messages)
        self._write("environments.parquet", "environments", self._referenced("environments", environments))
        self._write_rest(_texts(messages))
        self.problems += writer.list_files(self._published)

    def report(self) -> PublishReport:
        """What :meth:`run` did."""
        silent = sum(self._silent.values())
        return PublishReport(
            tuple(dict.fromkeys(self._written)),
            tuple(self._removed),
            self._found.promoted,
            {**({_SILENT: silent} if silent else {}), **self._found.dropped},
            self._quarantined,
            self._found.held,
            self._found.doubtful,
            self._found.unstable,
            tuple(dict.fromkeys(self.problems)),
        )

    def _promote(self, texts: Mapping[str, str]) -> Promotion:
        """Stage the rows that each file of cells and replays is to have."""
        environments = newest("environments", [self._environments[self._published], self._environments[self._local]])
        paths = {name: self._published / name for table in WITH_FILES for name in self._names(table)}
        return promote(
            paths,
            self._sides,
            self._current.rows,
            environments,
            texts,
            variants_of(self._corpus),
            self._staging,
        )

    def _names(self, table: str) -> list[str]:
        """The files of a table that either side has."""
        folders = [side / table for side in (self._published, self._local)]
        return sorted({f"{table}/{path.name}" for folder in folders for path in folder.glob("*.parquet")})

    def _sides(self, name: str) -> tuple[pa.Table, pa.Table]:
        """The published rows of a file, and the local ones that may take their place."""
        table = name.partition("/")[0]
        before = self._table(self._published, table, name)
        good = self._good(name, table, self._table(self._local, table, name))
        return (shortened(before), shortened(good)) if table == "cells" and good.num_rows else (before, good)

    def _good(self, name: str, table: str, rows: pa.Table) -> pa.Table:
        """Rows that say something and whose run the gate has passed; the others are noted.

        Environment cases install packages of their own and have no run for the gate to judge.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        measured = pc.is_in(rows["status"], value_set=pa.array([status.value for status in MEASURED]))
        speaking = rows.filter(pc.and_(measured, rows["case" if table == "cells" else "bundle"].is_valid()))
        self._silent[name] = rows.num_rows - speaking.num_rows
        bad = mask(speaking, lambda *run: self._gates.word(*run) != GOOD)
        if bad is None:
            return speaking
        held = pc.and_(speaking["torch"].is_valid(), bad) if table == "cells" else bad
        good = speaking.filter(pc.invert(held))
        self._note_runs(table, speaking.filter(held), good)
        return good

    def _note_runs(self, table: str, held: pa.Table, good: pa.Table) -> None:
        """Note the runs that are held back, as far as their rows were not measured again by a good one since."""
        since: dict[tuple[Any, ...], Any] = {}
        for thing, at in zip(_keys(good, _THING[table]), good["measured_at"].to_pylist(), strict=True):
            since[thing] = max(since.get(thing, at), at)
        rows = zip(_keys(held, _THING[table]), held["measured_at"].to_pylist(), _keys(held, _RUN), strict=True)
        for env_id, run_id in dict.fromkeys(run for thing, at, run in rows if thing not in since or since[thing] < at):
            word = self._gates.word(env_id, run_id)
            self._quarantined[f"{self._release(env_id)} (run {run_id})"] = word or _UNJUDGED

    def _release(self, env_id: str | None) -> str:
        table = self._environments[self._local]
        pairs = zip(table["env_id"].to_pylist(), table["release"].to_pylist(), strict=True)
        found = next((release for known, release in pairs if known == env_id and release), None)
        return f"torch {found}" if found and found[0].isdigit() else found or f"{env_id}"

    def _judged_environments(self) -> pa.Table:
        """The environment's row of each run that is published or was judged, with the measuring code of its rows."""
        sides = [self._environments[side] for side in (self._published, self._local)]
        known = newest("environments", sides).to_pylist()
        codes: dict[tuple[str | None, str | None], set[str]] = {}
        for env_id, run_id, code in self._distinct(("env_id", "run_id", "code")):
            codes.setdefault((env_id, run_id), set()).add(code)
        for row in known:
            found = codes.get((row["env_id"], row["run_id"]), set()) - {None}
            row["codes"] = sorted(found) if found else row["codes"]
        return to_arrow("environments", known)

    def _distinct(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """What these columns hold in the rows of cells and of replays."""
        listed = ", ".join(names)
        return self._staging.fetch(f"SELECT {listed} FROM cells UNION SELECT {listed} FROM runs")

    def _texts_referred(self) -> set[str]:
        ids = self._distinct(("message_id",))
        ids += self._staging.fetch("SELECT DISTINCT unnest([warning_id, checker_id]) FROM cells")
        return {text for (text,) in ids} - {None}

    def _referenced(self, table: str, rows: pa.Table, also: pa.Table | None = None) -> pa.Table:
        """The texts or environments that rows refer to, and those that ``also`` has."""
        key = "message_id" if table == "messages" else "run_id"
        ids = self._texts_referred() if table == "messages" else {run for (run,) in self._distinct(("run_id",))}
        return rows.filter(_one_of(rows[key], ids | (set() if also is None else set(also[key].to_pylist()))))

    def _write_rest(self, texts: Mapping[str, str]) -> None:
        """The tables that are written anew from the corpus and the rows."""
        records = {case: documented.records for case, documented in self._documents.items()}
        self._write("cases.parquet", "cases", to_arrow("cases", case_rows(self._corpus, records)))
        self._write("sources.parquet", "sources", self._sources)
        self._write("declared.parquet", "declared", self._declared())
        self._write("graphs.parquet", "graphs", self._graphs())
        self._write("claims.parquet", "claims", to_arrow("claims", self._claims(texts)))

    def _claims(self, texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The claims as they are judged by the rows, those of one case after the other."""
        entered = 'SELECT torch FROM cells WHERE "case" IS NOT NULL AND torch IS NOT NULL'
        barred = self._staging.fetch(
            f'SELECT {_OF_CLAIMS} FROM cells WHERE "case" IS NULL AND torch NOT IN ({entered})'
        )
        rows = self._staging.stream(
            f'SELECT {_OF_CLAIMS} FROM cells WHERE "case" IS NOT NULL ORDER BY "case", file, line'
        )
        left, naming = dict(self._corpus), set(naming_a_runtime(self._documents))
        self._staging.keep_replays(naming)
        for case, group in itertools.groupby(rows, key=lambda row: row[COLUMNS.index("case")]):
            if case in left:
                cells = [dict(zip(COLUMNS, row, strict=True)) for row in (*barred, *group)]
                runs = self._replays(case) if case in naming else []
                yield from adjudicate({case: left.pop(case)}, self._documents, cells, texts, runs)
        yield from adjudicate(left, self._documents, [dict(zip(COLUMNS, row, strict=True)) for row in barred], texts)

    def _replays(self, case: str) -> list[dict[str, Any]]:
        """The runs of a case's files, one on each release of a runtime."""
        rows = self._staging.fetch(
            f"SELECT {', '.join(replays.COLUMNS)} FROM replays_of WHERE of = ? ORDER BY line", [case]
        )
        return [dict(zip(replays.COLUMNS, row, strict=True)) for row in rows]

    def _declared(self) -> pa.Table:
        """The tables of the published releases; a newly read one takes the place of that release's older one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fresh = to_arrow("declared", gather(self._local, self.problems))
        before = self._table(self._published, "declared")
        kept = before.filter(pc.invert(_one_of(before["release"], set(fresh["release"].to_pylist()))))
        both = pa.concat_tables([kept, fresh])
        torches = self._staging.fetch("SELECT DISTINCT torch FROM cells")
        return both.filter(_one_of(both["release"], {torch for (torch,) in torches}))

    def _graphs(self) -> pa.Table:
        """The graphs of files to be drawn: those published before, and those whose bundles lie in the local dataset."""
        import pyarrow as pa

        rows = self._staging.stream(f"SELECT {', '.join(map(sql.name, graphs.DRAWN))}, file FROM cells ORDER BY file")
        wanted: set[str] = set()
        for _, group in itertools.groupby(rows, key=lambda row: row[-1]):
            wanted |= graphs.drawn(dict(zip(graphs.DRAWN, row[:-1], strict=True)) for row in group)
        before = self._table(self._published, "graphs")
        kept = before.filter(_one_of(before["bundle"], wanted))
        fresh, problems = graphs.gathered(self._local, wanted - set(kept["bundle"].to_pylist()))
        self.problems += problems
        return pa.concat_tables([kept, to_arrow("graphs", fresh)])

    def _note_missing(self, messages: pa.Table) -> None:
        missing = len(self._texts_referred() - set(messages["message_id"].to_pylist()))
        if missing:
            self.problems.append(f"{missing} error texts that rows refer to are in neither dataset")

    def _table(self, side: Path, table: str, name: str = "") -> pa.Table:
        """A whole file, empty where there is none. What cannot be read locally is a problem; published, an error."""
        path = side / (name or f"{table}.parquet")
        if not path.is_file():
            return schema(table).empty_table()
        try:
            return files.read(path, table)
        except StoreError as error:
            if side == self._published:
                raise StoreError(f"{error}; restore it (git checkout) before publishing") from error
            self.problems.append(str(error))
            return schema(table).empty_table()

    def _write(self, name: str, table: str, rows: pa.Table) -> None:
        """Write a file unless it has these rows already; one without rows goes, apart from the whole tables."""
        path = self._published / name
        if rows.num_rows or table != "graphs":
            same = path.is_file() and _same_rows(files.read(path, table), rows, table)
        else:
            same = not path.is_file()
        if not same:
            self._put(name, table, rows)

    def _put(self, name: str, table: str, rows: pa.Table) -> None:
        path = self._published / name
        if table in (*WITH_FILES, "graphs") and not rows.num_rows:
            writer.remove(path)
            self._removed.append(name)
            return
        writer.write(path, table, rows)
        self._written.append(name)


def variants_of(corpus: Mapping[str, LoadedCase]) -> list[dict[str, Any]]:
    """Of each variant whether its session has options of its own, and whether it has dynamic axes."""
    return [
        {
            "case": case,
            "variant": name,
            "asks": variant.fix is not None and variant.fix.kind == FixKind.RUNTIME_OPTION,
            "dynamic": bool(variant.dynamic),
        }
        for case, loaded in corpus.items()
        for name, variant in loaded.variants.items()
    ]


def _texts(messages: pa.Table) -> dict[str, str]:
    return dict(zip(messages["message_id"].to_pylist(), messages["text"].to_pylist(), strict=True))


def _one_of(column: pa.ChunkedArray, values: Iterable[str | None]) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(column, value_set=pa.array(sorted(item for item in values if item is not None), pa.string()))


def _same_rows(have: pa.Table, want: pa.Table, table: str) -> bool:
    return bool(in_order(table, have).equals(in_order(table, want)))


def _keys(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)
