"""Deliveries: what one machine measured of a shard, as one file that other machines take.

The file is a journal: an environment's row for each run, then a row of each cell with its texts, each line with its
checksum. Its name says what it holds: ``torch2.8.0-cpu-3-of-8-20261123T201051-1f2e.jsonl``. The same rows make the
same bytes.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.measure.settle import timed
from caniexport.model.errors import CaniexportError
from caniexport.model.journal import entry_line
from caniexport.model.rows import cell_key
from caniexport.store import Dataset
from caniexport.store.gates import Gates
from caniexport.store.schema import columns
from caniexport.store.writer import replace_file

if TYPE_CHECKING:
    from caniexport.measure.job import CellsJob

#: the folder of a local dataset that deliveries lie in
SHARDS = "shards"
#: those with rows that were measured to compare others with, and with the shards that a worker is at
REPEATED, TASKS = "repeated", "tasks"
TEXTS = ("message_id", "warning_id", "checker_id")
KEY = ("case_hash", "measuring", "case", "variant", "exporter", "opset", "provider")

Row = Mapping[str, Any]


class PlaceError(CaniexportError):
    """A folder or URL that cannot be read or written."""


def write_delivery(job: CellsJob) -> Path | None:
    """Write the rows that this machine would use of a shard's cells; the file, or ``None`` where there are none."""
    local = job.options.local
    dataset = Dataset.open(None, local)
    rows, environments = _rows(job, dataset), dataset.records("environments")
    if not rows:
        return None
    runs = {(row["env_id"], row["run_id"]) for row in rows}
    mine = [row for row in environments if (row["env_id"], row["run_id"]) in runs]
    texts = dataset.messages(row[name] for row in rows for name in TEXTS)
    path = local / SHARDS / delivery_name(job, max(str(row["run_id"]) for row in rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, b"".join(lines(mine, rows, texts)))
    return path


def _rows(job: CellsJob, dataset: Dataset) -> list[Row]:
    """The rows of the shard's cells in the job's environment; none of a run in quarantine."""
    keys = {cell.key for cell in job.part}
    environments = dataset.records("environments")
    gates, same = Gates(environments), {row["env_id"] for row in environments if row["spec"] == job.release.spec}
    where = {"torch": (job.release.torch,), "provider": (job.options.provider,), "env_id": same}
    found = [row for row in dataset.records("cells", where) if row["case"]]
    return [row for row in found if key_of(row) in keys and not gates.quarantined(row["env_id"], row["run_id"])]


def key_of(row: Row) -> str:
    """The key of the cell that a row is of."""
    return cell_key(*(row[name] for name in KEY))


def delivery_name(job: CellsJob, run_id: str) -> str:
    """The file's name."""
    assert job.shard is not None
    return f"{job.environment}-{job.shard.shard.file_name}-{run_id}.jsonl"


def lines(environments: Iterable[Row], rows: Iterable[Row], texts: Mapping[str, str]) -> Iterator[bytes]:
    """The lines of a delivery, the same for the same rows in any order."""
    for row in sorted(environments, key=lambda row: (str(row["run_id"]), str(row["env_id"]))):
        yield entry_line({"kind": "environment", "row": _plain("environments", row)})
    for row in sorted(rows, key=_place):
        mine = {row[name]: texts[row[name]] for name in TEXTS if row[name] in texts}
        yield entry_line({"kind": "cell", "row": _plain("cells", row), "messages": mine})


def _plain(table: str, row: Row) -> dict[str, Any]:
    return timed({name: row[name] for name in columns(table)})


def _place(row: Row) -> tuple[str, ...]:
    names = ("torch", "case", "variant", "exporter", "opset", "runtime", "runtime_version", "measured_at", "run_id")
    return tuple(f"{row[name]:>9}" if name == "opset" and row[name] else str(row[name]) for name in names)


def send_deliveries(paths: Sequence[Path], place: str | None) -> None:
    """Copy files to a folder or an fsspec URL, if there is one. Raises :class:`PlaceError`."""
    if place is None:
        return
    if "://" not in place:
        for path in paths:
            Path(place).mkdir(parents=True, exist_ok=True)
            replace_file(Path(place) / path.name, path.read_bytes())
        return
    with _told(place):
        system, root = _url(place)
        for path in paths:
            system.makedirs(root, exist_ok=True)
            system.put_file(str(path), f"{root.rstrip('/')}/{path.name}")


def append_rows(place: str, name: str, rows: bytes) -> None:
    """Add lines to a file that grows; at a URL, whose files grow nowhere, each time as a file beside it."""
    if "://" not in place:
        with (Path(place) / name).open("ab") as file:
            file.write(rows)
        return
    with _told(place):
        system, root = _url(place)
        system.makedirs(root, exist_ok=True)
        system.pipe_file(f"{root.rstrip('/')}/{name.removesuffix('.jsonl')}-{time.time_ns()}.jsonl", rows)


def remove_rows(place: str, name: str) -> None:
    """Remove what :func:`append_rows` wrote for the shard of this name: ``name-20261123T101500.part.jsonl``."""
    part = re.compile(rf"{re.escape(name)}-\d{{8}}T\d{{6}}\.part(-\d+)?\.jsonl")
    if "://" not in place:
        for file in Path(place).iterdir():
            if part.fullmatch(file.name):
                file.unlink(missing_ok=True)
        return
    with _told(place):
        system, root = _url(place)
        for path in system.glob(f"{root.rstrip('/')}/{name}-*.jsonl"):
            if part.fullmatch(path.rpartition("/")[2]):
                system.rm_file(path)


@contextmanager
def fetched(place: str, holding: str = "") -> Iterator[Path]:
    """The folder, or for an fsspec URL a copy of its files whose names hold a text. Raises :class:`PlaceError`."""
    if "://" not in place:
        if not Path(place).exists():
            raise PlaceError(f"{place} is not there: a folder with results or an fsspec URL is wanted")
        yield Path(place)
        return
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        with _told(place):
            system, root = _url(place)
            for number, name in enumerate(sorted(system.find(root))):
                if name.endswith(".jsonl") and holding in name:
                    system.get_file(name, f"{folder}/{number}-{Path(name).name}")
        yield Path(folder)


@contextmanager
def _told(place: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError:
        raise  # the command line says what to install
    except (OSError, ValueError, ImportError) as error:
        raise PlaceError(f"{place} cannot be reached: {str(error) or type(error).__name__}") from error


def _url(place: str) -> tuple[Any, str]:
    import fsspec

    return fsspec.core.url_to_fs(place)  # type: ignore[no-any-return]  # fsspec has no annotations


def delivered_files(folder: Path) -> list[Path]:
    """The files of rows at or below a path; of a dataset not those that were measured to compare, or are not done."""
    if folder.is_file():
        return [folder]
    found = ((path, path.relative_to(folder).parts[:-1]) for path in sorted(folder.rglob("*.jsonl")))
    return [path for path, parts in found if not {REPEATED, TASKS} & set(parts)]
