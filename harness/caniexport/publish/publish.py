"""Promotion of local rows into the published dataset: gated, deterministic, and nothing else touched.

A file of cells or replays is written only when its rows change, so that a release that was not measured again keeps its
bytes. Texts and environments go first and are trimmed last: wherever publishing is cut off, every published row has its
own. What may not be published, and why, is in :mod:`caniexport.gate.held_back`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.corpus import replays, upstream
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import COLUMNS, adjudicate, naming_a_runtime
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import StoreError
from caniexport.model.status import MEASURED, FixKind
from caniexport.publish.current import CurrentCorpus
from caniexport.publish.promotion import Promotion, Sides, promote
from caniexport.publish.repeated import marked
from caniexport.store import digests, files, graphs, writer
from caniexport.store.catalogue import case_rows
from caniexport.store.compaction import compact, dataset_lock
from caniexport.store.declared import gather
from caniexport.store.gates import GOOD, Gates, mask
from caniexport.store.journal_reader import journals
from caniexport.store.merge import in_order, newest, taken
from caniexport.store.schema import schema, to_arrow
from caniexport.store.shortening import shortened
from caniexport.store.which_row import CELL, REPLAY

if TYPE_CHECKING:
    import pyarrow as pa

_UNJUDGED = "not judged: the run did not finish; measure its release again"
_SILENT = "nothing was measured (invalid, skipped, not run, or a release that cannot be entered)"
#: what a row is about, in whatever environment and on whatever version of a runtime
_THING = {"cells": CELL, "runs": ("bundle", "session", "runtime", "runtime_version", "provider")}
_RUN = ("env_id", "run_id")
_REFERENCES = ("message_id", "warning_id", "checker_id")

#: rows by the name of their file: ``cells/torch-2.8.0-cpu.parquet``
Files = Mapping[str, "pa.Table"]


@dataclass(frozen=True)
class PublishReport:
    """What was promoted and what was not.

    written      files of the published dataset that changed, ``removed`` those that went
    promoted     rows taken from the local dataset, by file
    dropped      published and local rows left out, by reason
    quarantined  runs left out: ``release (run)`` and the gate's word, or that nobody judged them
    held         local cells held back, by reason: names of :func:`caniexport.gate.held_back.cell_names`
    doubtful     published cells that stay, though nothing shows that they are right: names by reason
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
    with dataset_lock(local):
        publication = _Publication(local, published, corpus, write)
        publication.problems += compacted.problems
        publication.run()
    return publication.report()


class _Publication:
    """One promotion, step by step; what it did is gathered on the way."""

    def __init__(self, local: Path, published: Path, corpus: Mapping[str, LoadedCase], write: bool) -> None:
        self._writes = write
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
        self._silent = 0
        self._quarantined: dict[str, str] = {}
        self._found = Promotion()
        self._unstable = 0

    def run(self) -> None:
        """Read everything, then write: a dataset that cannot be read is not half rewritten."""
        for sentence in digests.missing(self._published):
            raise StoreError(f"{sentence} before publishing")
        self.problems += [f"{path}: its run has not finished; left for later" for path in journals(self._local)]
        texts = newest("messages", [self._table(side, "messages") for side in (self._published, self._local)])
        rows = self._promote(_texts(texts))
        if not self._writes:
            return
        environments = self._judged_environments(rows)
        for table, every in (("messages", texts), ("environments", environments)):
            before = self._table(self._published, table)
            self._write(f"{table}.parquet", table, self._referenced(table, every, rows, also=before))
        for name, part in rows.items():
            self._write(name, _table_of(name), part)
        messages = self._referenced("messages", texts, rows)
        self._note_missing(rows, messages)
        self._write("messages.parquet", "messages", messages)
        self._write("environments.parquet", "environments", self._referenced("environments", environments, rows))
        self._write_rest(rows, messages)
        self.problems += writer.list_files(self._published)

    def report(self) -> PublishReport:
        """What :meth:`run` did."""
        return PublishReport(
            tuple(dict.fromkeys(self._written)),
            tuple(self._removed),
            self._found.promoted,
            {**({_SILENT: self._silent} if self._silent else {}), **self._found.dropped},
            self._quarantined,
            self._found.held,
            self._found.doubtful,
            self._unstable,
            tuple(self.problems),
        )

    def _promote(self, texts: Mapping[str, str]) -> dict[str, pa.Table]:
        """The rows that each file of cells and replays is to have."""
        environments = newest("environments", [self._environments[self._published], self._environments[self._local]])
        sides: dict[str, tuple[pa.Table, pa.Table]] = {}
        for table in ("cells", "runs"):
            mine: Sides = {name: self._sides(table, name) for name in self._names(table)}
            sides |= mine
            self._found.add(promote(table, mine, self._current.rows, environments.to_pylist(), texts))
        rows = self._found.rows
        replaced = {
            name: before
            for name, (before, local) in sides.items()
            if local.num_rows or before.num_rows > rows[name].num_rows
        }
        marked_rows, self._unstable = marked(rows, replaced, self._variants_with_options())
        return marked_rows

    def _names(self, table: str) -> list[str]:
        """The files of a table that either side has."""
        folders = [side / table for side in (self._published, self._local)]
        return sorted({f"{table}/{path.name}" for folder in folders for path in folder.glob("*.parquet")})

    def _sides(self, table: str, name: str) -> tuple[pa.Table, pa.Table]:
        """The published rows of a file, and the local ones that may take their place."""
        before = self._table(self._published, table, name)
        good = self._good(table, self._table(self._local, table, name))
        return (shortened(before), shortened(good)) if table == "cells" and good.num_rows else (before, good)

    def _good(self, table: str, rows: pa.Table) -> pa.Table:
        """Rows that say something and whose run the gate has passed; the others are noted.

        Environment cases install packages of their own and have no run for the gate to judge.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        measured = pc.is_in(rows["status"], value_set=pa.array([status.value for status in MEASURED]))
        speaking = rows.filter(pc.and_(measured, rows["case" if table == "cells" else "bundle"].is_valid()))
        self._silent += rows.num_rows - speaking.num_rows
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

    def _variants_with_options(self) -> set[tuple[str, str]]:
        """Variants whose session has options of its own."""
        return {
            (case, name)
            for case, loaded in self._corpus.items()
            for name, variant in loaded.variants.items()
            if variant.fix is not None and variant.fix.kind == FixKind.RUNTIME_OPTION
        }

    def _judged_environments(self, every: Files) -> pa.Table:
        """The environment's row of each run that is published or was judged, with the measuring code of its rows."""
        sides = [self._environments[side] for side in (self._published, self._local)]
        known = newest("environments", sides).to_pylist()
        codes = _codes(every.values())
        for row in known:
            found = codes.get((row["env_id"], row["run_id"]))
            row["codes"] = sorted(found) if found else row["codes"]
        return to_arrow("environments", known)

    def _referenced(self, table: str, rows: pa.Table, every: Files, also: pa.Table | None = None) -> pa.Table:
        """The texts or environments that rows refer to, and those that ``also`` has."""
        key, references = ("message_id", _REFERENCES) if table == "messages" else ("run_id", ("run_id",))
        ids = _referred(every, references)
        return rows.filter(_one_of(rows[key], ids | (set() if also is None else set(also[key].to_pylist()))))

    def _write_rest(self, every: Files, messages: pa.Table) -> None:
        """The tables that are written anew from the corpus and the rows."""
        cells = {name: part for name, part in every.items() if _table_of(name) == "cells"}
        runs = [part for name, part in every.items() if _table_of(name) == "runs"]
        records = {case: documented.records for case, documented in self._documents.items()}
        self._write("cases.parquet", "cases", to_arrow("cases", case_rows(self._corpus, records)))
        self._write("sources.parquet", "sources", self._sources)
        self._write("declared.parquet", "declared", self._declared(cells))
        self._write("graphs.parquet", "graphs", self._graphs(cells))
        rows = [row for part in cells.values() for row in part.select(COLUMNS).to_pylist()]
        claims = adjudicate(self._corpus, self._documents, rows, _texts(messages), self._replays(rows, runs))
        self._write("claims.parquet", "claims", to_arrow("claims", claims))

    def _replays(self, cells: Iterable[Mapping[str, Any]], runs: Sequence[pa.Table]) -> list[dict[str, Any]]:
        """The runs of the files that claims about versions of a runtime are judged on."""
        cases = set(naming_a_runtime(self._documents))
        bundles = {row["bundle"] for row in cells if row["case"] in cases}
        parts = [("", part.filter(_one_of(part["bundle"], bundles))) for part in runs]
        return taken("runs", parts, REPLAY).select(replays.COLUMNS).to_pylist() if parts else []

    def _declared(self, cells: Files) -> pa.Table:
        """The tables of the published releases; a newly read one takes the place of that release's older one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fresh = to_arrow("declared", gather(self._local, self.problems))
        before = self._table(self._published, "declared")
        kept = before.filter(pc.invert(_one_of(before["release"], set(fresh["release"].to_pylist()))))
        both = pa.concat_tables([kept, fresh])
        return both.filter(_one_of(both["release"], _referred(cells, ("torch",))))

    def _graphs(self, cells: Files) -> pa.Table:
        """The graphs of files to be drawn: those published before, and those whose bundles lie in the local dataset."""
        import pyarrow as pa

        wanted = set().union(*(graphs.drawn(part.select(graphs.DRAWN).to_pylist()) for part in cells.values()))
        before = self._table(self._published, "graphs")
        kept = before.filter(_one_of(before["bundle"], wanted))
        fresh, problems = graphs.gathered(self._local, wanted - set(kept["bundle"].to_pylist()))
        self.problems += problems
        return pa.concat_tables([kept, to_arrow("graphs", fresh)])

    def _note_missing(self, every: Files, messages: pa.Table) -> None:
        missing = len(_referred(every, _REFERENCES) - set(messages["message_id"].to_pylist()))
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
        if table in ("cells", "runs", "graphs") and not rows.num_rows:
            if path.is_file():
                writer.remove(path)
                self._removed.append(name)
            return
        if path.is_file() and _same_rows(files.read(path, table), rows, table):
            return
        writer.write(path, table, rows)
        self._written.append(name)


def _texts(messages: pa.Table) -> dict[str, str]:
    return dict(zip(messages["message_id"].to_pylist(), messages["text"].to_pylist(), strict=True))


def _table_of(name: str) -> str:
    """``cells`` or ``runs``, by the name of a file."""
    return name.partition("/")[0]


def _codes(tables: Iterable[pa.Table]) -> dict[tuple[str | None, str | None], set[str]]:
    """The measuring code of the rows of each (env_id, run_id), where it was kept."""
    found: dict[tuple[str | None, str | None], set[str]] = {}
    for table in tables:
        for row in table.group_by(["env_id", "run_id", "code"]).aggregate([]).to_pylist():
            if row["code"]:
                found.setdefault((row["env_id"], row["run_id"]), set()).add(row["code"])
    return found


def _referred(every: Files, columns: Iterable[str]) -> set[str]:
    """What these columns, as far as each file has them, refer to."""
    names = [(part, name) for part in every.values() for name in columns if name in part.column_names]
    return {item for part, name in names for item in part[name].unique().to_pylist()} - {None}


def _one_of(column: pa.ChunkedArray, values: Iterable[str | None]) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(column, value_set=pa.array(sorted(item for item in values if item is not None), pa.string()))


def _same_rows(have: pa.Table, want: pa.Table, table: str) -> bool:
    return bool(in_order(table, have).equals(in_order(table, want)))


def _keys(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)
