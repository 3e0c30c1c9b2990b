"""Promotion of local rows into the published dataset: gated, deterministic, and nothing else touched.

A cells file is written only when its rows change, so that a release that was not measured again keeps its bytes.
Texts and environments go first and are trimmed last: wherever publishing is cut off, every published row has its own.
What may not be published, and why, is in :mod:`caniexport.gate.held_back`.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.corpus import replays, upstream
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import COLUMNS, adjudicate, naming_a_runtime
from caniexport.gate import held_back, unstable
from caniexport.model import plan, releases
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import StoreError, UnknownName
from caniexport.model.status import FixKind, Status
from caniexport.publish import cells as publish_cells
from caniexport.publish import replays as publish_runs
from caniexport.store import digests, files, graphs, writer
from caniexport.store.catalogue import case_rows, measured_variants
from caniexport.store.compaction import compact, dataset_lock
from caniexport.store.declared import gather
from caniexport.store.frames import to_frame
from caniexport.store.gates import GOOD, Gates, mask
from caniexport.store.journal_reader import journals
from caniexport.store.merge import in_order, newest
from caniexport.store.schema import from_normalised, schema, to_arrow
from caniexport.store.shortening import shortened

if TYPE_CHECKING:
    import pyarrow as pa

_UNJUDGED = "not judged: the run did not finish; measure its release again"
#: what a cell is, on whatever version of a runtime
_CELL = ("torch", "case", "variant", "exporter", "opset", "provider")
_RUN = ("env_id", "run_id")
_REFERENCES = ("message_id", "warning_id", "checker_id")


@dataclass(frozen=True)
class PublishReport:
    """What was promoted and what was not.

    written      files of the published dataset that changed, ``removed`` those that went
    promoted     rows taken from the local dataset, by cells file
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
        self._variants = measured_variants(corpus)
        self._hashes = {key: corpus[key[0]].case_hash(key[1]) for key in self._variants}
        self._environments = {side: self._table(side, "environments") for side in (local, published)}
        self._gates = Gates(self._environments[local].to_pylist())
        self._planned: dict[tuple[str, str], set[tuple[Any, ...]] | None] = {}
        self._written: list[str] = []
        self._removed: list[str] = []
        self._promoted: dict[str, int] = {}
        self._dropped: Counter[str] = Counter()
        self._quarantined: dict[str, str] = {}
        self._held: dict[str, list[str]] = {}
        self._doubtful: dict[str, list[str]] = {}
        self._unstable = 0

    def run(self) -> None:
        """Read everything, then write: a dataset that cannot be read is not half rewritten."""
        for sentence in digests.missing(self._published):
            raise StoreError(f"{sentence} before publishing")
        self.problems += [f"{path}: its run has not finished; left for later" for path in journals(self._local)]
        texts = newest("messages", [self._table(side, "messages") for side in (self._published, self._local)])
        words = dict(zip(texts["message_id"].to_pylist(), texts["text"].to_pylist(), strict=True))
        cells = self._promote(words)
        runs = {name: self._promote_runs(name, words) for name in publish_runs.names(self._published, self._local)}
        cells, runs = self._marked(cells, runs)
        if not self._writes:
            return
        every = {**cells, **{f"runs/{name}": rows for name, rows in runs.items()}}
        environments = self._judged_environments(every)
        for table, rows in (("messages", texts), ("environments", environments)):
            before = self._table(self._published, table)
            self._write(f"{table}.parquet", table, self._referenced(table, rows, every, also=before))
        for name, rows in cells.items():
            self._write(f"cells/{name}", "cells", rows)
        for name, rows in runs.items():
            self._write(f"runs/{name}", "runs", rows)
        self._trim(every, texts, environments)
        self._write_rest(cells, runs, texts)
        self.problems += writer.list_files(self._published)

    def report(self) -> PublishReport:
        """What :meth:`run` did."""
        return PublishReport(
            tuple(dict.fromkeys(self._written)),
            tuple(self._removed),
            self._promoted,
            self._dropped,
            self._quarantined,
            self._held,
            self._doubtful,
            self._unstable,
            tuple(self.problems),
        )

    def _names(self) -> list[str]:
        sides = (self._published, self._local)
        return sorted({path.name for side in sides for path in files.cells_files(side)})

    def _promote(self, words: Mapping[str, str]) -> dict[str, pa.Table]:
        """The rows that each cells file is to have."""
        sides = {name: self._sides(name) for name in self._names()}
        environments = newest("environments", [self._environments[self._published], self._environments[self._local]])
        found = publish_cells.promote(sides, self._current, environments.to_pylist(), words)
        self._held, self._doubtful = found.held, found.doubtful
        self._dropped += found.dropped
        for name, rows in found.rows.items():
            new = rows.num_rows - _same(rows, sides[name][0])
            if new:
                self._promoted[name] = new
        return found.rows

    def _sides(self, name: str) -> tuple[pa.Table, pa.Table]:
        """The published rows of a cells file, and the local ones that may take their place."""
        before = self._table(self._published, "cells", f"cells/{name}")
        good = self._good(self._table(self._local, "cells", f"cells/{name}"))
        return (shortened(before), shortened(good)) if good.num_rows else (before, good)

    def _promote_runs(self, name: str, words: Mapping[str, str]) -> pa.Table:
        """The rows that a runs file is to have."""
        before = self._not_ours(self._table(self._published, "runs", f"runs/{name}"), words)
        local = self._not_ours(self._table(self._local, "runs", f"runs/{name}"), words)
        rows = publish_runs.promoted(before, local, self._is_held_back, self._variants)
        new = rows.num_rows - before.num_rows
        if new > 0:
            self._promoted[f"runs/{name}"] = new
        return rows

    def _not_ours(self, rows: pa.Table, words: Mapping[str, str]) -> pa.Table:
        """Runs without those whose error names the measuring code."""
        import pyarrow as pa

        ours = held_back.ours(to_frame(rows.select(["message_id", "signature"])), words)
        self._drop(f"a run of a file, and {held_back.OURS}", int(ours.sum()))
        return rows.filter(pa.array(~ours, pa.bool_()))

    def _marked(
        self, cells: dict[str, pa.Table], runs: dict[str, pa.Table]
    ) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
        """The rows, with those marked whose file one runtime does not always answer alike."""
        import pandas as pd

        tables = [("cells", name, rows) for name, rows in cells.items()]
        # with options for its session a runtime is another one
        tables += [("runs", name, rows.filter(rows["session"].is_null())) for name, rows in runs.items()]
        frames = [
            to_frame(rows.select(list(unstable.COLUMNS))) for rows in [rows for _, _, rows in tables] + self._before()
        ]
        if not frames:
            return cells, runs
        changes = unstable.unstable(pd.concat(frames, ignore_index=True), self._variants_with_options())
        self._unstable = sum(place < sum(rows.num_rows for _, _, rows in tables) for place in changes)
        start = 0
        for table, name, rows in tables:
            mine = {place - start: values for place, values in changes.items() if 0 <= place - start < rows.num_rows}
            start += rows.num_rows
            if mine and table == "cells":
                cells[name] = _changed("cells", rows, mine)
            elif mine:
                rest = runs[name].filter(runs[name]["session"].is_valid())
                runs[name] = newest("runs", [rest, _changed("runs", rows, mine)])
        return cells, runs

    def _before(self) -> list[pa.Table]:
        """The published rows, of which some are replaced now."""
        cells = [self._table(self._published, "cells", f"cells/{name}") for name in self._names()]
        runs = [
            self._table(self._published, "runs", f"runs/{name}")
            for name in publish_runs.names(self._published, self._local)
        ]
        return cells + [rows.filter(rows["session"].is_null()) for rows in runs]

    def _variants_with_options(self) -> set[tuple[str, str]]:
        """Variants whose session has options of its own."""
        return {
            (case, name)
            for case, loaded in self._corpus.items()
            for name, variant in loaded.variants.items()
            if variant.fix is not None and variant.fix.kind == FixKind.RUNTIME_OPTION
        }

    def _good(self, rows: pa.Table) -> pa.Table:
        """Rows that say something and whose run the gate has passed; the others are noted.

        Environment cases install packages of their own and have no run for the gate to judge.
        """
        import pyarrow.compute as pc

        speaks = pc.and_(rows["case"].is_valid(), pc.invert(pc.is_in(rows["status"], value_set=_silent())))
        self._drop("nothing was measured (invalid, not run, or a release that cannot be entered)", _false(speaks))
        rows = rows.filter(speaks)
        bad = mask(rows, lambda *run: self._gates.word(*run) != GOOD)
        if bad is None:
            return rows
        held = pc.and_(rows["torch"].is_valid(), bad)
        good = rows.filter(pc.invert(held))
        self._note_runs(rows.filter(held), good)
        return good

    def _note_runs(self, held: pa.Table, good: pa.Table) -> None:
        """Note the runs that are held back, as far as their cells were not measured again by a good one since."""
        since: dict[tuple[Any, ...], Any] = {}
        for cell, at in zip(_keys(good, _CELL), good["measured_at"].to_pylist(), strict=True):
            since[cell] = max(since.get(cell, at), at)
        rows = zip(_keys(held, _CELL), held["measured_at"].to_pylist(), _keys(held, _RUN), strict=True)
        for run in dict.fromkeys(run for cell, at, run in rows if cell not in since or since[cell] < at):
            self._is_held_back(*run)

    def _is_held_back(self, env_id: str | None, run_id: str | None) -> bool:
        word = self._gates.word(env_id, run_id)
        if word != GOOD:
            self._quarantined[f"{self._release(env_id)} (run {run_id})"] = word or _UNJUDGED
        return word != GOOD

    def _release(self, env_id: str | None) -> str:
        table = self._environments[self._local]
        pairs = zip(table["env_id"].to_pylist(), table["release"].to_pylist(), strict=True)
        found = next((release for known, release in pairs if known == env_id and release), None)
        return f"torch {found}" if found and found[0].isdigit() else found or f"{env_id}"

    def _current(self, rows: pa.Table) -> tuple[pa.Table, Counter[str]]:
        """The rows without those of variants that are gone, and of older code where there is newer; how many went."""
        import pyarrow as pa

        keys = list(zip(rows["case"].to_pylist(), rows["variant"].to_pylist(), strict=True))
        hashes = [case_hash or "" for case_hash in rows["case_hash"].to_pylist()]
        newest_hash = self._newest_hashes(keys, hashes, rows["measured_at"].cast("int64").to_pylist())
        names = ("torch", "provider", "exporter", "opset")
        places = zip(*(rows[name].to_pylist() for name in names), strict=True)
        keep, dropped = [], Counter[str]()
        for position, (key, case_hash, place) in enumerate(zip(keys, hashes, places, strict=True)):
            if key not in self._variants:
                dropped["the corpus no longer has the variant"] += 1
            elif case_hash != newest_hash[key]:
                dropped["the variant's code has changed and was measured again"] += 1
            elif not self._is_planned(key, *place):
                dropped["the cell is no longer planned"] += 1
            else:
                keep.append(position)
        return rows.take(pa.array(keep, pa.int64())), dropped

    def _is_planned(
        self, key: tuple[str, str], torch: str | None, provider: str, exporter: str | None, opset: int | None
    ) -> bool:
        """Whether a measurement today would have this cell; where the release cannot be planned, it stays."""
        if torch is None or exporter is None:
            return True
        if (torch, provider) not in self._planned:
            cells: list[plan.Cell] | None = None
            with contextlib.suppress(UnknownName):
                cells = plan.cells(dict(self._corpus), releases.find(torch), provider)
            self._planned[torch, provider] = None if cells is None else {tuple(cell[:4]) for cell in cells}
        planned = self._planned[torch, provider]
        return planned is None or (*key, exporter, opset) in planned

    def _newest_hashes(
        self, keys: Iterable[tuple[str, str]], hashes: Iterable[str], times: Iterable[int | None]
    ) -> dict[tuple[str, str], str]:
        """By variant the hash whose rows stay: the corpus's own where it was measured, else the one measured last."""
        best: dict[tuple[str, str], tuple[bool, int, str]] = {}
        for key, case_hash, measured in zip(keys, hashes, times, strict=True):
            rank = (case_hash == self._hashes.get(key), measured or 0, case_hash)
            best[key] = max(best.get(key, rank), rank)
        return {key: rank[2] for key, rank in best.items()}

    def _drop(self, reason: str, count: int = 1) -> None:
        if count:
            self._dropped[reason] += count

    def _judged_environments(self, every: Mapping[str, pa.Table]) -> pa.Table:
        """The environment's row of each run that is published or was judged, with the measuring code of its rows."""
        sides = [self._environments[side] for side in (self._published, self._local)]
        known = newest("environments", sides).to_pylist()
        codes = _codes(every.values())
        for row in known:
            found = codes.get((row["env_id"], row["run_id"]))
            row["codes"] = sorted(found) if found else row["codes"]
        return to_arrow("environments", known)

    def _referenced(
        self, table: str, rows: pa.Table, every: Mapping[str, pa.Table], also: pa.Table | None = None
    ) -> pa.Table:
        """The texts or environments that rows refer to, and those that ``also`` has."""
        import pyarrow as pa

        key, references = ("message_id", _REFERENCES) if table == "messages" else ("run_id", ("run_id",))
        parts = [part.select(_in(part, references)) for part in every.values()]
        ids = {item for part in parts for name in part.column_names for item in part[name].unique().to_pylist()}
        ids |= set() if also is None else set(also[key].to_pylist())
        return rows.filter(_one_of(rows[key], pa.array(sorted(item for item in ids if item is not None), pa.string())))

    def _trim(self, every: Mapping[str, pa.Table], texts: pa.Table, environments: pa.Table) -> None:
        messages = self._referenced("messages", texts, every)
        self._note_missing(every, messages)
        self._write("messages.parquet", "messages", messages)
        self._write("environments.parquet", "environments", self._referenced("environments", environments, every))

    def _write_rest(self, cells: Mapping[str, pa.Table], runs: Mapping[str, pa.Table], messages: pa.Table) -> None:
        records = {case: documented.records for case, documented in self._documents.items()}
        self._write("cases.parquet", "cases", to_arrow("cases", case_rows(self._corpus, records)))
        self._write("sources.parquet", "sources", self._sources)
        self._write("declared.parquet", "declared", self._declared(cells))
        self._write("graphs.parquet", "graphs", self._graphs(cells))
        rows = [row for part in cells.values() for row in part.select(COLUMNS).to_pylist()]
        words = dict(zip(messages["message_id"].to_pylist(), messages["text"].to_pylist(), strict=True))
        claims = adjudicate(self._corpus, self._documents, rows, words, self._replays(rows, runs))
        self._write("claims.parquet", "claims", to_arrow("claims", claims))

    def _replays(self, cells: Iterable[Mapping[str, Any]], runs: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
        """The runs of the files that claims about versions of a runtime are judged on."""
        import pyarrow as pa
        import pyarrow.compute as pc

        cases = set(naming_a_runtime(self._documents))
        bundles = {row["bundle"] for row in cells if row["case"] in cases} - {None}
        wanted = pa.array(sorted(bundles), pa.string())
        parts = (part.select(replays.COLUMNS) for part in runs.values())
        return [row for part in parts for row in part.filter(pc.is_in(part["bundle"], wanted)).to_pylist()]

    def _declared(self, cells: Mapping[str, pa.Table]) -> pa.Table:
        """The tables of the published releases; a newly read one takes the place of that release's older one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fresh = to_arrow("declared", gather(self._local, self.problems))
        before = self._table(self._published, "declared")
        kept = before.filter(
            pc.invert(pc.is_in(before["release"], value_set=pc.unique(fresh["release"]).cast("string")))
        )
        releases = {torch for part in cells.values() for torch in pc.unique(part["torch"]).to_pylist()} - {None}
        both = pa.concat_tables([kept, fresh])
        return both.filter(pc.is_in(both["release"], value_set=pa.array(sorted(releases), pa.string())))

    def _graphs(self, cells: Mapping[str, pa.Table]) -> pa.Table:
        """The graphs of files to be drawn: those published before, and those whose bundles lie in the local dataset."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = set().union(*(graphs.drawn(part.select(graphs.DRAWN).to_pylist()) for part in cells.values()))
        before = self._table(self._published, "graphs")
        kept = before.filter(pc.is_in(before["bundle"], value_set=pa.array(sorted(wanted), pa.string())))
        fresh, problems = graphs.gathered(self._local, wanted - set(kept["bundle"].to_pylist()))
        self.problems += problems
        return pa.concat_tables([kept, to_arrow("graphs", fresh)])

    def _note_missing(self, cells: Mapping[str, pa.Table], messages: pa.Table) -> None:
        have = set(messages["message_id"].to_pylist())
        asked = {item for part in cells.values() for name in _in(part, _REFERENCES) for item in part[name].to_pylist()}
        missing = len(asked - have - {None})
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


def _changed(table: str, rows: pa.Table, changes: Mapping[int, Mapping[str, Any]]) -> pa.Table:
    """The rows with other values at some places."""
    found = rows.to_pylist()
    for place, values in changes.items():
        found[place] |= values
    return from_normalised(table, found)


def _codes(tables: Iterable[pa.Table]) -> dict[tuple[str | None, str | None], set[str]]:
    """The measuring code of the rows of each (env_id, run_id), where it was kept."""
    found: dict[tuple[str | None, str | None], set[str]] = {}
    for table in tables:
        for row in (
            table.select(["env_id", "run_id", "code"]).group_by(["env_id", "run_id", "code"]).aggregate([]).to_pylist()
        ):
            if row["code"]:
                found.setdefault((row["env_id"], row["run_id"]), set()).add(row["code"])
    return found


def _one_of(column: pa.ChunkedArray, values: pa.Array) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.is_in(column, value_set=values)


def _in(rows: pa.Table, columns: Iterable[str]) -> list[str]:
    return [name for name in columns if name in rows.column_names]


def _silent() -> pa.Array:
    import pyarrow as pa

    return pa.array([Status.INVALID.value, Status.NOT_RUN.value])


def _false(values: pa.ChunkedArray) -> int:
    return len(values) - int(sum(values.to_pylist()))


def _same_rows(have: pa.Table, want: pa.Table, table: str) -> bool:
    return bool(in_order(table, have).equals(in_order(table, want)))


def _keys(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _same(rows: pa.Table, before: pa.Table) -> int:
    """How many rows are as they were published before, whatever their place."""
    key = ["env_id", "run_id", "measured_at", "case", "variant", "exporter", "opset", "runtime", "provider"]
    known = set(_keys(before, key))
    return sum(item in known for item in _keys(rows, key))
