"""Reading cells: which files a question needs, what is pushed down into them, and which rows then speak."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.store import files
from caniexport.store.merge import IDENTITY, identity_frame, winners
from caniexport.store.schema import columns, schema

if TYPE_CHECKING:
    import pyarrow as pa

#: filters that may be applied before rows of one identity are compared: they hold for all of them or for none
_EARLY = frozenset(IDENTITY)
_NEEDED = frozenset({*IDENTITY, "measured_at", "status", "env_id", "run_id"})

Filters = Mapping[str, frozenset[Any]]


@dataclass
class Part:
    """All rows of one release and provider: files by origin, and rows that are still in journals."""

    name: str
    paths: dict[str, Path] = field(default_factory=dict)
    fresh: pa.Table | None = None

    @property
    def alone(self) -> bool:
        """Whether no two of its rows can have the same identity: the writer keeps them apart within a file."""
        return self.fresh is None and len(self.paths) < 2

    def takes(self, filters: Filters) -> bool:
        """Whether a row of this part could pass the filters, by the part's name alone."""
        if not self.name.startswith("torch-"):
            return "torch" not in filters or None in filters["torch"]
        torch, _, provider = self.name.removeprefix("torch-").removesuffix(".parquet").rpartition("-")
        return _allows(filters, "torch", torch) and _allows(filters, "provider", provider)


class PartReader:
    """Reads arrow tables out of parts; what cannot be read is left out and told to ``problems``."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def rows(self, parts: Iterable[Part], filters: Filters, wanted: Sequence[str]) -> list[tuple[str, pa.Table]]:
        """Tables of the parts that pass the filters, as (origin, table), rows of equal identity still side by side.

        Parts that are alone are read together with every filter pushed down.
        """
        taken = [part for part in parts if part.takes(filters)]
        together: dict[str, list[Path]] = {}
        for part in taken:
            if part.alone:
                for origin, path in part.paths.items():
                    together.setdefault(origin, []).append(path)
        return [(origin, self.read(paths, filters, wanted)) for origin, paths in together.items()]

    def shared(self, part: Part, filters: Filters, wanted: Sequence[str]) -> list[tuple[str, pa.Table]]:
        """The tables of a part whose rows may share an identity; only filters on the identity are applied."""
        early = {name: values for name, values in filters.items() if name in _EARLY}
        found = [(origin, self.read([path], early, wanted)) for origin, path in part.paths.items()]
        if part.fresh is not None:
            found.append(("local", _coded(select(part.fresh, early).select(wanted))))
        return found

    def read(self, paths: Sequence[Path], filters: Filters, wanted: Sequence[str]) -> pa.Table:
        """The wanted columns of these files; a file that turns out to be damaged is left out and reported."""
        import pyarrow as pa

        try:
            return _read(paths, filters, wanted)
        except (pa.ArrowException, OSError) as error:
            if len(paths) == 1:
                self._report(str(files.damaged(paths[0], error)))
                return coded_schema(wanted).empty_table()
            return pa.concat_tables([self.read([path], filters, wanted) for path in paths])

    def _report(self, problem: str) -> None:
        if problem not in self._problems:
            self._problems.append(problem)


def speaking(tables: Sequence[tuple[str, pa.Table]]) -> list[tuple[str, pa.Table]]:
    """Of (origin, table) with rows of equal identity: what says something, is local, is newest."""
    import pandas as pd
    import pyarrow as pa

    whole = pa.concat_tables([table for _, table in tables]).unify_dictionaries()
    frame = identity_frame("cells", whole)
    frame["_rank"] += [int(origin == "local") for origin, table in tables for _ in range(table.num_rows)]
    keep = pd.Series(winners(frame), dtype="int64")
    found, start = [], 0
    for origin, table in tables:
        mine = keep[(keep >= start) & (keep < start + table.num_rows)] - start
        found.append((origin, table.take(pa.array(mine.to_numpy()))))
        start += table.num_rows
    return found


def select(rows: pa.Table, filters: Filters) -> pa.Table:
    """The rows that pass every filter."""
    expression = _expression(filters)
    return rows if expression is None else rows.filter(expression)


def needed(wanted: Iterable[str], filters: Filters) -> list[str]:
    """Columns to read so that ``wanted`` can be given: also those that identify, order and filter rows."""
    names = {*wanted, *_NEEDED, *filters}
    return [name for name in columns("cells") if name in names]


def coded_schema(wanted: Sequence[str]) -> pa.Schema:
    """The cells schema with strings as dictionaries: each distinct text is held once."""
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    fields = [schema("cells").field(name) for name in wanted]
    return pa.schema([pa.field(f.name, coded if f.type == pa.string() else f.type) for f in fields])


def _coded(rows: pa.Table) -> pa.Table:
    return rows.cast(coded_schema(rows.column_names)).replace_schema_metadata(None)


def _read(paths: Sequence[Path], filters: Filters, wanted: Sequence[str]) -> pa.Table:
    """Few rows are read as they are and coded afterwards, many are decoded straight into dictionaries: each is
    several times faster than the other way round.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    names = needed(wanted, filters)
    few = "case" in filters
    want = pa.schema([schema("cells").field(name) for name in names]) if few else coded_schema(names)
    texts = [item.name for item in want if pa.types.is_dictionary(item.type)]
    layout = ds.ParquetFileFormat(
        read_options=ds.ParquetReadOptions(dictionary_columns=texts),
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True),
    )
    source = ds.dataset([str(path) for path in paths], schema=want, format=layout)
    return _coded(source.to_table(columns=list(wanted), filter=_expression(filters)))


def _expression(filters: Filters) -> Any:
    import pyarrow.dataset as ds

    found = None
    for name, values in filters.items():
        one = _one_of(ds.field(name), values)
        found = one if found is None else found & one
    return found


def _one_of(column: Any, values: frozenset[Any]) -> Any:
    """``None`` among the values takes null."""
    given = sorted(value for value in values if value is not None)
    expression = None
    for value in given:
        expression = column == value if expression is None else expression | (column == value)
    if None in values:
        expression = column.is_null() if expression is None else expression | column.is_null()
    return column.is_null() & column.is_valid() if expression is None else expression


def _allows(filters: Filters, name: str, value: str) -> bool:
    return name not in filters or value in filters[name]
