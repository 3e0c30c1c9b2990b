"""The rows to be published, as files that DuckDB reads: Python holds the rows of one file at a time."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.gate import unstable
from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.store import files, sql, which_row
from caniexport.store.parts import WITH_FILES
from caniexport.store.schema import columns

if TYPE_CHECKING:
    import pyarrow as pa

#: columns of a staged file: which side a row is from, its line there, whether it was not published before
SIDE, AT, NEW = "_side", "_at", "_new"
#: columns of a view that say which row it is
PLACE = ("file", "line", "is_local", "is_new", "at", "label")
#: names of a row, as SQL
_LABELS = {
    "cells": "concat_ws('/', coalesce(torch, 'None'), coalesce(\"case\", 'None'), coalesce(variant, 'None'), "
    "coalesce(exporter, 'None'), coalesce(opset::VARCHAR, 'default'))",
    "runs": "concat(\"case\", '/', variant, ' (file ', bundle, ') on ', runtime, ' ', runtime_version, ' ', provider)",
}


class Staging:
    """Views ``cells``, ``runs`` and ``replays`` of the rows to be published. Make it with :meth:`open`.

    Each view has the columns of its table, with the values of :meth:`mark`, and these: ``file`` (``cells/….parquet``),
    ``line`` (number of the row there), ``is_local``, ``is_new`` (not published before), ``at`` (line on its side),
    ``label``, and ``place``, which has all of these. ``replays`` has the rows of ``others`` too; ``cells_elsewhere``
    are the published cells of the other profiles.
    """

    def __init__(self, folder: Path, others: Sequence[Path], elsewhere: Sequence[Path]) -> None:
        self._folder = folder
        self._others = others
        self._elsewhere = elsewhere
        self._paths: dict[str, Path] = {}
        self._database = sql.bounded(folder)
        self._database.execute(f"CREATE MACRO seen(status, unstable) AS {_SEEN}")

    @classmethod
    @contextlib.contextmanager
    def open(cls, others: Sequence[Path], elsewhere: Sequence[Path]) -> Iterator[Staging]:
        """A staging in a folder that is removed afterwards.

        others     files of replays that are only compared
        elsewhere  files of the cells of the other profiles
        """
        with tempfile.TemporaryDirectory(prefix="caniexport-publish-") as folder:
            staging = cls(Path(folder), others, elsewhere)
            try:
                yield staging
            finally:
                staging._database.close()

    def keep(self, name: str, path: Path) -> None:
        """Stage a published file as it is."""
        self._paths[name] = path

    def put(self, name: str, rows: pa.Table) -> None:
        """Stage rows with the columns :data:`SIDE`, :data:`AT` and :data:`NEW`."""
        import pyarrow.parquet as pq

        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(rows, path, compression="zstd", row_group_size=8192)
        self._paths[name] = path

    def is_changed(self, name: str, published: Path) -> bool:
        """Whether a file is to hold other rows than it does at this path."""
        table = name.partition("/")[0]
        listed = ", ".join(map(sql.name, columns(table)))
        if self._paths[name] == published:
            values = f"file, line, {', '.join(unstable.MARKED)}"
            same = f"SELECT {values} FROM staged_{table} WHERE file = ?"
            changed = f"SELECT {values} FROM marks WHERE file = ? EXCEPT {same}"
            return bool(self.fetch(f"SELECT 1 FROM ({changed}) LIMIT 1", [name, name]))
        wanted = f"SELECT {listed} FROM ({self._view_of(name)})"
        have = f"SELECT {listed} FROM ({_relation(table, [published] if published.is_file() else [])})"
        either = f"({wanted} EXCEPT ALL {have}) UNION ALL ({have} EXCEPT ALL {wanted})"
        return bool(self.fetch(f"SELECT 1 FROM ({either}) LIMIT 1"))

    def names(self, table: str) -> list[str]:
        """The staged files of a table."""
        return [name for name in sorted(self._paths) if name.startswith(f"{table}/")]

    def rows(self, name: str) -> pa.Table:
        """The rows of a file to be published, in their order."""
        table = name.partition("/")[0]
        return files.conform(table, self.part(name, columns(table)))

    def part(self, name: str, wanted: Sequence[str]) -> pa.Table:
        """These columns of the view of a file, in the order of its rows."""
        listed = ", ".join(map(sql.name, wanted))
        return self._database.sql(f"SELECT {listed} FROM ({self._view_of(name)}) ORDER BY line").to_arrow_table()

    def _view_of(self, name: str) -> str:
        """The part of a view that one file is."""
        table = name.partition("/")[0]
        return _marked(table, _relation(table, [self._paths[name]]))

    def mark(self, replaced: Mapping[str, Path], variants: Sequence[Mapping[str, Any]]) -> int:
        """Mark the rows whose file one runtime does not always answer alike; how many these are.

        replaced  published files of which some rows give way: what was seen once is not unseen
        variants  ``case``, ``variant``, whether it ``asks`` for options of its session, whether it is ``dynamic``
        """
        import pyarrow as pa

        kinds = {"case": pa.string(), "variant": pa.string(), "asks": pa.bool_(), "dynamic": pa.bool_()}
        self.register("variants", pa.Table.from_pylist(list(variants), schema=pa.schema(kinds)))
        for table in WITH_FILES:
            staged = {name: self._paths[name] for name in self.names(table)}
            self._view(f"staged_{table}", _relation(table, list(staged.values())))
            self._view(f"replaced_{table}", _relation(table, [replaced[name] for name in staged if name in replaced]))
        compared = " UNION ALL ".join(
            f"SELECT {unstable.LISTED}, file, line, {number} AS part FROM {view}_{table}"
            + (" WHERE session IS NULL" if table == "runs" else "")
            for number, view in enumerate(("staged", "replaced"))
            for table in WITH_FILES
        )
        marked = unstable.query(compared, 'SELECT "case", variant FROM variants WHERE asks')
        self._database.execute(f"CREATE OR REPLACE TABLE marks AS SELECT * EXCLUDE part FROM ({marked}) WHERE part = 0")
        for table in WITH_FILES:
            self._view(table, _marked(table, f"FROM staged_{table}"))
        self._view("replays", f"SELECT * FROM runs UNION ALL {_labelled('runs', _relation('runs', self._others))}")
        self._view("cells_elsewhere", _relation("cells", self._elsewhere))
        return int(self.fetch("SELECT count(*) FROM marks")[0][0])

    def keep_replays(self, cases: Iterable[str]) -> None:
        """Make the table ``replays_of``: for each case (``of``) the runs of its files, one on each release."""
        import pyarrow as pa

        self.register("naming", pa.table({"case": pa.array(sorted(cases), pa.string())}))
        files_of = 'SELECT DISTINCT "case" AS of, bundle FROM cells SEMI JOIN naming USING ("case")'
        numbered = "SELECT *, row_number() OVER (ORDER BY file, line) AS number, '' AS origin FROM runs"
        rows = (
            f"SELECT * EXCLUDE (line, number), number AS line FROM ({numbered} SEMI JOIN ({files_of}) USING (bundle))"
        )
        taken = which_row.taken(rows, "runs", which_row.REPLAY)
        made = f"SELECT r.*, of FROM ({taken}) r JOIN ({files_of}) USING (bundle) ORDER BY line"
        self._database.execute(f"CREATE TABLE replays_of AS {made}")

    def register(self, name: str, rows: pa.Table) -> None:
        """Give the queries a further table."""
        self._database.execute(f"DROP TABLE IF EXISTS {name}")
        self._database.register("given", rows)
        self._database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        self._database.unregister("given")

    def fetch(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self._database.execute(query, list(values)).fetchall()

    def stream(self, query: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, some at a time; nothing else is asked meanwhile on this cursor."""
        cursor = self._database.cursor()
        try:
            cursor.execute(query)
            while some := cursor.fetchmany(4096):
                yield from some
        finally:
            cursor.close()

    def _view(self, name: str, query: str) -> None:
        self._database.execute(f"CREATE OR REPLACE VIEW {name} AS {query}")


#: the statuses that a row says were seen; another exporter or opset than asked for is the file's, not the runtime's
_SEEN = (
    "CASE WHEN len(unstable) > 0 THEN list_concat(unstable, if(list_contains(unstable, 'degraded'), ['pass'], [])) "
    "WHEN status = 'degraded' THEN ['degraded', 'pass'] ELSE [status] END"
)


def _relation(table: str, paths: Sequence[Path]) -> str:
    """The rows of these files with where they are from."""
    found = [
        f"SELECT *, NULL::TINYINT AS {SIDE}, NULL::BIGINT AS {AT}, NULL::BOOLEAN AS {NEW} FROM ({sql.empty(table)})"
    ]
    found.append("SELECT NULL::VARCHAR AS filename, NULL::BIGINT AS file_row_number WHERE false")
    found += [f"SELECT * FROM {sql.files(paths)}"] if paths else []
    listed = ", ".join(
        f"left(bundle, {BUNDLE_DIGITS}) AS bundle" if name == "bundle" else sql.name(name) for name in columns(table)
    )
    file = r"replace(regexp_extract(filename, '[^/\\]+[/\\][^/\\]+$'), '\', '/')"
    return (
        f"SELECT {listed}, {file} AS file, file_row_number AS line, coalesce({SIDE}, 0) = 1 AS is_local, "
        f"coalesce({NEW}, false) AS is_new, coalesce({AT}, file_row_number) AS at "
        f"FROM ({' UNION ALL BY NAME '.join(found)})"
    )


def _marked(table: str, relation: str) -> str:
    """The rows of a relation with the values of their marks."""
    given = ", ".join(f"CASE WHEN m.file IS NULL THEN s.{name} ELSE m.{name} END AS {name}" for name in unstable.MARKED)
    joined = f"({relation}) s LEFT JOIN marks m ON m.file = s.file AND m.line = s.line"
    return _labelled(table, f"SELECT s.* REPLACE ({given}) FROM {joined}")


def _labelled(table: str, relation: str) -> str:
    place = ", ".join(f"'{name}': {sql.name(name)}" for name in PLACE)
    return f"SELECT *, {{{place}}} AS place FROM (SELECT *, {_LABELS[table]} AS label FROM ({relation}))"
