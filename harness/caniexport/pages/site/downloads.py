"""The tables of the static copy as files for other tools: parquet, and the matrix and the fixes as CSV."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.answers.filters import Filters
from caniexport.answers.scope import Scope
from caniexport.answers.table import answer_table
from caniexport.answers.workaround import read_standings
from caniexport.pages.kept import Kept
from caniexport.render.plain import as_csv, rows_as_csv
from caniexport.store.schema import columns

if TYPE_CHECKING:
    import pyarrow as pa

#: what the file of the table has: every case, every form, every exporter
_EVERYTHING = Filters(variants=("*",), exporters=("*",))


#: signs of the hash of a file in the table of cells
_BUNDLE = 10
#: files that a reader may take, with what each is
WHAT = {
    "cells.parquet": f"every measured cell; a file is {_BUNDLE} signs of its hash, a time whole hours",
    "table.csv.gz": "the table: a line for each case, form and call, a column for each release",
    "workarounds.csv.gz": "every workaround: needed, obsolete, broken or harmful at the newest release",
    "environments.parquet": "every environment with all of its versions",
    "messages.parquet": "the error texts",
    "cases.parquet": "the cases with their sources and code",
    "claims.parquet": "what sources say, and what was measured of it",
}


def write(kept: Kept, folder: Path) -> None:
    """Write every file of :data:`WHAT` into ``folder``."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    found = answer_table(kept, _EVERYTHING)
    _compressed(folder / "table.csv.gz", as_csv(replace(found, tables=found.tables[:1])))
    _compressed(folder / "workarounds.csv.gz", rows_as_csv(_fixes(kept)))
    for name, rows in _tables(kept):
        path = folder / f"{name}.parquet"
        pq.write_table(rows.replace_schema_metadata(None), path, compression="zstd", compression_level=19)


def _fixes(kept: Kept) -> list[dict[str, Any]]:
    found = read_standings(kept, kept.inventory.torch[-1], Scope())
    return [
        {name: value.value if isinstance(value, Enum) else value for name, value in vars(item).items()}
        for item in found
    ]


def _compressed(path: Path, text: str) -> None:
    """A text in gzip, which spreadsheets and pandas read as CSV; the same text gives the same bytes."""
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _tables(kept: Kept) -> Iterable[tuple[str, pa.Table]]:
    import pyarrow as pa

    frame = kept.cells(columns=list(columns("cells")))
    # whole hashes of files are a half of the table
    frame["bundle"] = frame["bundle"].str[:_BUNDLE]
    # so are minutes, which a run's id has, and digits of what it took that no second measurement has
    frame["measured_at"] = frame["measured_at"].dt.floor("h")
    for name in ("seconds_export", "seconds_load", "seconds_run"):
        frame[name] = frame[name].round(2)
    # neighbours that are alike are packed best, here and in the other tables
    frame = frame.sort_values(["case", "variant", "exporter", "opset", "torch"], kind="stable")
    yield "cells", pa.Table.from_pandas(frame, preserve_index=False)
    texts = kept.messages({*frame["message_id"].dropna(), *frame["warning_id"].dropna(), *frame["checker_id"].dropna()})
    known = sorted(texts.items(), key=lambda item: item[::-1])
    yield "messages", pa.table({"message_id": [name for name, _ in known], "text": [text for _, text in known]})
    for name, rows in (("environments", kept.environments()), ("cases", kept.cases()), ("claims", kept.claims())):
        yield name, pa.Table.from_pandas(rows, preserve_index=False)
