"""The rows that would be published: of each thing the one that is taken, and what speaks against it.

A row that breaks a rule of ``gate.sql`` leaves its place to the published one, so that rows are chosen and judged until
no new one breaks a rule any more. Everything is asked of DuckDB, which keeps what does not fit into memory in files.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport import versions
from caniexport.gate.rules import GateRule, read_rules
from caniexport.home import PROFILES
from caniexport.model import plan, releases
from caniexport.model.errors import StoreError, UnknownName
from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.model.status import FixKind
from caniexport.store import files, sql, which_row, writer
from caniexport.store.gates import GOOD
from caniexport.store.schema import columns

if TYPE_CHECKING:
    from caniexport.model.corpus import LoadedCase

#: what makes published rows the same
_ONE_EACH = {"cells": which_row.KEYS["cells"], "runs": which_row.PUBLISHED_REPLAY}
#: the lines of a file are numbered from a multiple of this on, those of local files after all others
_LINES = 1 << 32
#: why a row is not of the corpus as it is: its variants, their code, the cells that a measurement today would plan
_OUTDATED = {
    "cells": """CASE WHEN v.variant IS NULL THEN 'the corpus no longer has the variant'
        WHEN coalesce(t.case_hash, '') <> newest.case_hash THEN 'the variant''s code has changed and was measured again'
        WHEN t.line IN (FROM unplanned) THEN 'the cell is no longer planned' END""",
    "runs": """CASE WHEN v.variant IS NULL AND corpus IN ('documented', 'canary')
        THEN 'the corpus no longer has the variant' END""",
}


class Flaw(NamedTuple):
    """A chosen row that breaks a rule."""

    line: int
    file: str
    is_new: bool
    label: str
    rule: GateRule


class Staging:
    """The rows of a published and a local dataset. Make it with :meth:`open`.

    Its relations are those of ``staging.sql``, on which ``gate.sql`` rests.
    """

    def __init__(
        self, folder: Path, published: Path, local: Path, corpus: Mapping[str, LoadedCase] | None, torch: str | None
    ) -> None:
        self.database = sql.open_bounded(folder)
        #: a sentence for each local file that cannot be read
        self.problems: list[str] = []
        self._sides = (published, local)
        self._unusable: set[Path] = set()
        patterns = ["cells/*.parquet", "runs/*.parquet"] if torch is None else [f"cells/torch-{torch}-*.parquet"]
        found = {path.relative_to(side) for side in self._sides for like in patterns for path in side.glob(like)}
        #: the files of cells and replays that either side has
        self.names = sorted(name.as_posix() for name in found)
        self._check_files()
        self._make_relations()
        if corpus is not None:
            self._describe(corpus)
        self._is_current = corpus is not None
        self._choose(self.names)

    @classmethod
    @contextlib.contextmanager
    def open(
        cls, published: Path, local: Path, corpus: Mapping[str, LoadedCase] | None = None, torch: str | None = None
    ) -> Iterator[Staging]:
        """A staging whose own files lie in a folder that is removed afterwards.

        corpus  the cases: rows that these do not have any more are not published; ``None`` where that is not asked
        torch   only the cells of this release

        Raises :class:`StoreError` where a published file cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="caniexport-gate-") as folder:
            staging = cls(Path(folder), published, local, corpus, torch)
            try:
                yield staging
            finally:
                staging.database.close()

    def fetch(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.database.execute(query, list(values)).fetchall()

    def flaws(self) -> list[Flaw]:
        """The chosen rows that break a rule, each with the gravest."""
        found: dict[int, Flaw] = {}
        for rule in read_rules().values():
            for (place,) in self.fetch(rule.query):
                found.setdefault(place["line"], Flaw(**place, rule=rule))
        return list(found.values())

    def settle(self) -> tuple[list[Flaw], list[Flaw]]:
        """Choose until no new row breaks a rule: the rows that went on the way, and the flaws of those that stay."""
        gone: list[Flaw] = []
        while True:
            flaws = self.flaws()
            out = [flaw for flaw in flaws if flaw.is_new or flaw.rule.withdraws]
            if not out:
                return gone, flaws
            gone += out
            self.insert("gone", [(flaw.line,) for flaw in out])
            self._choose(sorted({flaw.file for flaw in out}))

    def changed(self) -> list[str]:
        """The files that are to hold other rows than they do."""
        marked = " UNION ".join(
            f"SELECT file FROM every_{table} r JOIN marks m USING (line) WHERE "
            "(r.stage, r.status, r.signature, r.unstable) IS DISTINCT FROM (m.stage, m.status, m.signature, m.unstable)"
            for table in writer.WITH_FILES
        )
        known = " UNION ALL ".join(f"SELECT file FROM every_{table} WHERE NOT is_local" for table in writer.WITH_FILES)
        taken = (
            "SELECT file, bool_or(is_new) AS has_new, count(*) AS rows FROM chosen WHERE outdated IS NULL GROUP BY file"
        )
        query = (
            f"SELECT file FROM ({taken}) t FULL JOIN (SELECT file, count(*) AS rows FROM ({known}) GROUP BY file) k "
            f"USING (file) WHERE has_new OR t.rows IS DISTINCT FROM k.rows UNION {marked}"
        )
        return sorted(file for (file,) in self.fetch(query))

    def write(self, name: str, path: Path, replaced: str) -> bool:
        """Write the rows of a file to ``path``, some values ``replaced`` (SQL); false where it is to have none."""
        table = name.partition("/")[0]
        view = f"CREATE OR REPLACE VIEW every_{table} AS {{}}"
        self.database.execute(view.format(self._rows(table, [name])))
        has_rows = bool(self.fetch(f"SELECT 1 FROM {table} LIMIT 1"))
        if has_rows:
            writer.copy_rows(
                self.database, f"SELECT *{f' REPLACE ({replaced})' if replaced else ''} FROM {table}", path, table
            )
        self.database.execute(view.format(self._rows(table, self.names)))
        return has_rows

    def one_each(self, table: str, sides: Collection[Path] = ()) -> str:
        """The rows of a small table, one for each identity: of these datasets, or of both."""
        parts = [f"SELECT *, NULL::BIGINT AS line FROM ({sql.empty(table)})"]
        for number, path in enumerate(self.paths(f"{table}.parquet")):
            if not sides or path.parent in sides:
                line = f"file_row_number + {number * _LINES} AS line"
                parts.append(f"SELECT * EXCLUDE (filename, file_row_number), {line} FROM {sql.files([path])}")
        return f"SELECT * EXCLUDE line FROM ({which_row.choose_rows(' UNION ALL BY NAME '.join(parts), table)})"

    def paths(self, name: str) -> list[Path]:
        """The files of a name that can be read, the published one first."""
        both = [side / name for side in self._sides]
        return [path for path in both if path.is_file() and path not in self._unusable]

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table."""
        if rows:
            listed = ", ".join(f"unnest(${number})" for number in range(1, len(rows[0]) + 1))
            self.database.execute(
                f"INSERT INTO {table} SELECT {listed}", [list(values) for values in zip(*rows, strict=True)]
            )

    def measured(self, table: str, names: Iterable[str]) -> str:
        """All rows of these files, and whether each ``is_measured`` and its run ``is_good``.

        Environment cases install packages of their own and have no run to judge.
        """
        paths = [path for name in names if name.startswith(f"{table}/") for path in self.paths(name)]
        # of a plugin that onnxruntime does not take, or that has no device, one row stands for all files
        thing, own = f"{which_row.HAS_MEASURED} AND (bundle IS NOT NULL OR stage IN ('load', 'place'))", ""
        if table == "cells":
            # that the packages of a time cannot build a model is a result of its own
            thing = f"({which_row.HAS_MEASURED} OR status = 'skip') AND \"case\" IS NOT NULL"
            own = "torch IS NULL AND exporter IS NULL OR "
        good = f"(env_id, run_id) IN (SELECT env_id, run_id FROM local_environments WHERE gate = {sql.literal(GOOD)})"
        return (
            f"SELECT *, {thing} AS is_measured, "
            f"coalesce({own}{good}, false) AS is_good FROM ({_relation(table, paths)})"
        )

    def _rows(self, table: str, names: Iterable[str]) -> str:
        """The rows of these files that may be published: local ones are measured, and their run is good."""
        return f"FROM ({self.measured(table, names)}) WHERE NOT is_local OR (is_measured AND is_good)"

    def _check_files(self) -> None:
        """Read every file to its end: what cannot be read locally is a problem; published, an error."""
        for side in self._sides:
            for path in (side / name for name in (*self.names, "environments.parquet", "messages.parquet")):
                try:
                    if path.is_file():
                        files.read_to_end(path)
                except StoreError as error:
                    if side == self._sides[0]:
                        raise StoreError(f"{error}; restore it (git checkout) before publishing") from error
                    self.problems.append(str(error))
                    self._unusable.add(path)

    def _make_relations(self) -> None:
        published, local = self._sides
        is_other = published.parent.name == PROFILES
        root = published.parent.parent if is_other else published
        runs = [*(root / "runs").glob("*.parquet")] if is_other else []
        cells = {*root.glob("cells/*.parquet"), *root.glob(f"{PROFILES}/*/cells/*.parquet")}
        cells -= {*published.glob("cells/*.parquet")}
        execute = self.database.execute
        execute("CREATE TABLE source(filename VARCHAR, file VARCHAR, is_local BOOLEAN, first BIGINT)")
        found = [(path, name, path == local / name) for name in self.names for path in self.paths(name)]
        found += [(path, f"{path.parent.name}/{path.name}", False) for path in sorted([*runs, *cells])]
        found.sort(key=lambda item: item[2])
        self.insert("source", [(str(path), *rest, number * _LINES) for number, (path, *rest) in enumerate(found)])
        execute(f"CREATE VIEW local_environments AS {self.one_each('environments', {local})}")
        for table in ("environments", "messages"):
            execute(f"CREATE TABLE {table} AS {self.one_each(table)}")
        for table in writer.WITH_FILES:
            execute(f"CREATE VIEW every_{table} AS {self._rows(table, self.names)}")
        execute(f"CREATE VIEW other_runs AS {_relation('runs', runs)}")
        execute(f"CREATE VIEW cells_elsewhere AS {_relation('cells', sorted(cells))}")
        execute("CREATE TABLE gone(line BIGINT); CREATE TABLE unplanned(line BIGINT)")
        execute("CREATE TABLE chosen(line BIGINT, file VARCHAR, is_new BOOLEAN, outdated VARCHAR)")
        execute("CREATE TABLE version(torch VARCHAR, n INTEGER)")
        execute(
            'CREATE TABLE variants("case" VARCHAR, variant VARCHAR, case_hash VARCHAR, asks BOOLEAN, dynamic BOOLEAN)'
        )

    def _describe(self, corpus: Mapping[str, LoadedCase]) -> None:
        """Note the variants of a corpus, and the cells that a measurement today would not have.

        A release that cannot be planned keeps its own.
        """
        cases = dict(corpus)
        self.insert("variants", _variants(cases))
        for name in self.names:
            rows = self._rows("cells", [name])
            for torch, provider in self.fetch(f"SELECT DISTINCT torch, provider FROM ({rows}) WHERE torch IS NOT NULL"):
                with contextlib.suppress(UnknownName):
                    planned = plan.cells(cases, releases.find(torch), provider)
                    kinds = '("case" VARCHAR, variant VARCHAR, exporter VARCHAR, opset INTEGER)'
                    self.database.execute(f"CREATE OR REPLACE TABLE planned{kinds}")
                    self.insert("planned", [(cell.case, cell.variant, cell.exporter, cell.opset) for cell in planned])
                    self.database.execute(
                        f"INSERT INTO unplanned SELECT line FROM ({rows}) r ANTI JOIN planned p "
                        'ON p."case" = r."case" AND p.variant = r.variant AND p.exporter = r.exporter '
                        "AND p.opset IS NOT DISTINCT FROM r.opset "
                        "WHERE torch = $1 AND provider IS NOT DISTINCT FROM $2 AND exporter IS NOT NULL",
                        [torch, provider],
                    )

    def _choose(self, names: Sequence[str]) -> None:
        """Choose the rows of these files anew: rows of one thing lie in one file.

        A local row that is published already, as it was measured, is no rival of itself.
        """
        execute = self.database.execute
        execute("DELETE FROM chosen WHERE file IN (SELECT unnest($1::VARCHAR[]))", [list(names)])
        for name in names:
            table = name.partition("/")[0]
            identity = (*which_row.KEYS[table], "env_id", "run_id", "measured_at")
            code = ("case_hash",) if table == "cells" else ()
            looked_at = dict.fromkeys((*identity, "case", "variant", "corpus", "status", *code))
            execute(
                f"CREATE OR REPLACE TABLE rival AS SELECT {', '.join(map(sql.name, looked_at))}, line, file, is_local, "
                f"if(is_local, 'local', 'published') AS origin FROM ({self._rows(table, [name])})"
            )
            same = " AND ".join(
                f"p.{sql.name(column)} IS NOT DISTINCT FROM r.{sql.name(column)}" for column in identity
            )
            known = f"is_local AND EXISTS (FROM rival p WHERE NOT p.is_local AND {same})"
            left = f"FROM rival r WHERE line NOT IN (FROM gone) AND NOT ({known})"
            execute(f"CREATE OR REPLACE TABLE taken AS {which_row.choose_rows(left, table, _ONE_EACH[table])}")
            newest = (
                "LEFT JOIN (SELECT \"case\", variant, arg_max(coalesce(t.case_hash, ''), (coalesce(t.case_hash = "
                "v.case_hash, false), coalesce(epoch_us(measured_at), 0), coalesce(t.case_hash, ''))) AS case_hash "
                'FROM taken t LEFT JOIN variants v USING ("case", variant) GROUP BY ALL) newest USING ("case", variant)'
            )
            outdated = _OUTDATED[table] if self._is_current else "NULL"
            execute(
                f"INSERT INTO chosen SELECT line, file, is_local, {outdated} "
                f'FROM taken t LEFT JOIN variants v USING ("case", variant) {newest if code else ""}'
            )
        execute(resources.files("caniexport.gate").joinpath("staging.sql").read_text(encoding="utf-8"))
        execute("DELETE FROM version")
        torches = self.fetch("SELECT DISTINCT torch FROM cells WHERE torch IS NOT NULL")
        ordered = versions.ordered(torch for (torch,) in torches)
        self.insert("version", [(torch, number) for number, torch in enumerate(ordered)])


def _relation(table: str, paths: Collection[Path]) -> str:
    """The rows of these files, with where they are from."""
    listed = ", ".join(
        f"left(bundle, {BUNDLE_DIGITS}) AS bundle" if name == "bundle" else sql.name(name) for name in columns(table)
    )
    nowhere = "''::VARCHAR AS filename, 0::BIGINT AS file_row_number"
    parts = [f"SELECT *, {nowhere} FROM ({sql.empty(table)})", *([f"FROM {sql.files(paths)}"] if paths else [])]
    return (
        f"SELECT {listed}, first + file_row_number AS line, file, is_local "
        f"FROM ({' UNION ALL BY NAME '.join(parts)}) JOIN source USING (filename)"
    )


def _variants(corpus: Mapping[str, LoadedCase]) -> list[tuple[str, str, str, bool, bool]]:
    """Each variant, the hash of its code, whether its session has options of its own, whether it has dynamic axes."""
    found = []
    for case, item in sorted(corpus.items()):
        variants = item.variants
        for name in item.variant_names:
            variant = variants.get(name)
            asks = variant is not None and variant.kind == FixKind.RUNTIME_OPTION
            found.append((case, name, item.case_hash(name), asks, variant is not None and bool(variant.dynamic)))
    return found
