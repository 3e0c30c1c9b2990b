"""Packing bundles: which of them stand for the cells asked for, and the archive that carries them and their runner."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport import versions
from caniexport.bundles import probes
from caniexport.model.bundlehash import hash_bundle
from caniexport.model.errors import CaniexportError
from caniexport.runner import CARRIED
from caniexport.runner.archive import CELLS, CONTENTS, FORMAT, MANIFEST, ArchiveEntry, format_options
from caniexport.runner.contents import Contents, read_contents
from caniexport.store import writer

if TYPE_CHECKING:
    from caniexport.model.corpus import LoadedCase

_PACKAGE = Path(__file__).resolve().parent.parent
_MAIN = '''"""An archive of bundles that runs itself: python FILE --runtime onnxruntime -o DIR (or --help)."""

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # numpy's library starts its threads when it is imported
from caniexport.runner.main import main_of_archive

sys.exit(main_of_archive())
'''
#: columns of a cell that :func:`find_bundles` reads
COLUMNS = ("bundle", "torch", "corpus", "case", "variant", "exporter", "opset")


class NothingToPack(CaniexportError):
    """No bundle of the cells asked for is on this machine."""


@dataclass(frozen=True)
class PackReport:
    """What an archive holds: bundles of so many cells; ``missing`` bundles of those cells are not on this machine."""

    file: Path
    bundles: int
    cells: int
    missing: int
    size: int


@dataclass(frozen=True)
class PackedBundle:
    """A bundle and every cell that it stands for: ``torch/case/variant/exporter/opset``."""

    entry: ArchiveEntry
    cells: tuple[str, ...]


def find_bundles(rows: Iterable[tuple[Any, ...]], corpus: Mapping[str, LoadedCase]) -> list[PackedBundle]:
    """The distinct bundles of rows of cells (:data:`COLUMNS`), in reading order; rows without one are left out.

    A bundle with other session options is another entry: the same file, run another way.
    """
    there = [row for row in rows if row[0] is not None and row[3] in corpus]
    order = {torch: place for place, torch in enumerate(versions.ordered({row[1] for row in there}))}
    # the default call, which names no opset, comes last
    there.sort(key=lambda row: (*row[3:5], order[row[1]], row[5], row[6] is None, row[6] or 0))
    # a case makes its variants anew each time it is asked for them: once for each case, not for each of its cells
    variants = {case: corpus[case].variants for case in {row[3] for row in there}}
    found: dict[str, ArchiveEntry] = {}
    cells: dict[str, list[str]] = {}
    for bundle, torch, kind, case, variant, exporter, opset in there:
        declared = variants[case].get(variant)
        if declared is None:
            continue
        key = bundle + format_options(declared.session)
        if key not in found:
            options = dict(declared.session)
            found[key] = ArchiveEntry(bundle, kind, case, variant, declared.case.rtol, declared.case.atol, options)
        number = "default" if opset is None else opset
        cells.setdefault(key, []).append(f"{torch}/{case}/{variant}/{exporter}/{number}")
    return [PackedBundle(entry, tuple(cells[key])) for key, entry in found.items()]


def pack_bundles(file: Path, wanted: Sequence[PackedBundle], bundles: Path) -> PackReport:
    """Write an archive of these bundles and of the probes, with the runner in it; whole or not there.

    Raises :class:`NothingToPack` where none of the bundles is in ``bundles``.
    """
    paths = {name: bundles / name[:2] / f"{name}.zip" for name in dict.fromkeys(stand.entry.bundle for stand in wanted)}
    sources = {name: path.read_bytes for name, path in paths.items() if path.is_file()}
    missing = len(paths) - len(sources)
    if not sources:
        raise NothingToPack(
            f"none of the {missing} bundles of these cells is in {bundles}: `caniexport measure` of their releases "
            "makes them"
            if missing
            else "no cell within these filters has a bundle"
        )
    cells = {stand.entry.key: stand.cells for stand in wanted if stand.entry.bundle in sources}
    entries = [stand.entry for stand in wanted if stand.entry.bundle in sources]
    return write_archive(file, entries, sources, cells, missing)


def write_archive(
    file: Path,
    entries: Sequence[ArchiveEntry],
    sources: Mapping[str, Callable[[], bytes]],
    cells: Mapping[str, Sequence[str]],
    missing: int = 0,
) -> PackReport:
    """Write these entries and the probes as :func:`archive_bytes` does."""
    probes = list(probe_entries())
    every: dict[str, Callable[[], bytes]] = {
        **sources,
        **{entry.bundle: partial(bytes, data) for entry, data in probes},
    }
    data = archive_bytes([*entries, *(entry for entry, _ in probes)], every, cells)
    writer.replace_file(file, data)
    return PackReport(file, len(entries) + len(probes), sum(map(len, cells.values())), missing, len(data))


def probe_entries() -> Iterator[tuple[ArchiveEntry, bytes]]:
    """The probes with the contents of their bundle files."""
    for case, variant, files in probes.make_probes():
        name, data = make_bundle(files)
        yield ArchiveEntry(name, probes.CORPUS, case, variant), data


def make_bundle(files: Iterable[tuple[str, bytes]]) -> tuple[str, bytes]:
    """A bundle's name and its zip file, as :func:`caniexport.worker.onnx_file.write_bundle` makes them."""
    contents, buffer = list(files), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return hash_bundle(contents), buffer.getvalue()


def archive_bytes(
    wanted: Sequence[ArchiveEntry], sources: Mapping[str, Callable[[], bytes]], cells: Mapping[str, Sequence[str]]
) -> bytes:
    """The archive's content: the same entries give the same bytes.

    sources  gives each bundle's zip file, by the bundle's name
    cells    the cells that an entry stands for, by its key; they are not read to run it
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _read_code():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
        manifest = {"format": FORMAT, "entries": [entry._asdict() for entry in wanted]}
        made: dict[str, Contents] = {}
        for bundle in dict.fromkeys(entry.bundle for entry in wanted):
            data = sources[bundle]()
            with zipfile.ZipFile(io.BytesIO(data)) as files:
                made[bundle] = read_contents(files.read("model.onnx") if "model.onnx" in files.namelist() else b"")
            # a bundle is compressed already
            archive.writestr(zipfile.ZipInfo(f"bundles/{bundle[:2]}/{bundle}.zip"), data)
        for name, value in ((MANIFEST, manifest), (CELLS, cells), (CONTENTS, made)):
            archive.writestr(zipfile.ZipInfo(name), json.dumps(value, sort_keys=True), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _read_code() -> Iterator[tuple[str, str]]:
    """Names and texts of the modules that an archive carries."""
    yield "__main__.py", _MAIN
    paths = [_PACKAGE / name for name in ("__init__.py", "model/__init__.py", "worker/__init__.py")]
    paths += [_PACKAGE / f"{name}.py" for name in CARRIED]
    paths += (_PACKAGE / "runner").rglob("*.py")
    for path in sorted(paths):
        yield str(path.relative_to(_PACKAGE.parent).as_posix()), path.read_text(encoding="utf-8")
