"""An archive of bundles: a zip file with a manifest, the bundles, and the code that runs them.

::

    __main__.py  caniexport/…       the runner: `python FILE --runtime onnxruntime -o DIR`
    manifest.json                   {"format": 2, "entries": [Entry, …]}
    cells.json                      {entry's key: [every cell it stands for, "torch/case/variant/exporter/opset"]}
    contents.json                   {bundle: [opset, [operator, …]]}
    bundles/ab/abcdef….zip          model.onnx, test_data_set_0/input_0.pb, output_0.pb, …

A bundle's name begins the sha256 over the names and contents of its files, in their order, each as ``name:size`` and a
line feed before the content.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from caniexport.model.bundlehash import hash_bundle
from caniexport.model.errors import CaniexportError
from caniexport.model.rows import BUNDLE_DIGITS, NAME
from caniexport.runner.contents import Contents

FORMAT = 2
MANIFEST = "manifest.json"
CELLS = "cells.json"
CONTENTS = "contents.json"

_FILE = re.compile(r"model\.onnx|test_data_set_(?P<set>\d+)/(?P<kind>input|output)_(?P<position>\d+)\.pb")
_NAME = re.compile("[0-9a-f]{{{}}}".format(BUNDLE_DIGITS))
#: what a session option can be
_SCALARS = (str, int, float, bool)
#: what :mod:`zipfile` raises for bytes that are no zip file's, or one's of another kind (encrypted, a method unknown)
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class UnusableArchive(CaniexportError):
    """A file that is no archive of bundles, or a damaged or a hostile one."""


class UnusableBundle(Exception):
    """One bundle that cannot be run: cut off, or its content does not match its name. The others can."""


class ArchiveEntry(NamedTuple):
    """A bundle of the archive.

    bundle   its name
    corpus, case, variant  of the first cell that it stands for
    rtol, atol  the case's own tolerances; ``None`` for those of the output's type
    options  the runtime's session options that the variant asks for
    """

    bundle: str
    corpus: str
    case: str
    variant: str
    rtol: Optional[float] = None
    atol: Optional[float] = None
    options: Dict[str, Any] = {}  # a default that nobody changes

    @property
    def key(self) -> str:
        """What is run once per runtime: the bundle with its session options."""
        return self.bundle + format_options(self.options)


class BundleFiles(NamedTuple):
    """A model file, and for each input set the contents of its tensors' files."""

    model: bytes
    inputs: List[List[bytes]]
    outputs: List[List[bytes]]


def format_options(options: Mapping[str, Any]) -> str:
    """Session options as a row has them: a JSON object, empty text for none."""
    return json.dumps(options, sort_keys=True) if options else ""


class Archive:
    """An archive that is open for reading. Raises :class:`UnusableArchive` where it cannot be used at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(str(path))
        except FileNotFoundError:
            raise UnusableArchive("{}: there is no such file".format(path)) from None
        except DAMAGED as error:
            raise UnusableArchive("{}: no archive of bundles, or cut off ({})".format(path, error)) from error
        if MANIFEST not in self._zip.namelist():
            raise UnusableArchive("{}: no archive of bundles (it has no {})".format(path, MANIFEST))
        self.entries = self._entries()

    def read(self, bundle: str) -> BundleFiles:
        """One bundle, its content checked against its name. Raises :class:`UnusableBundle`."""
        try:
            return unpack(bundle, self.data(bundle))
        except KeyError:
            raise UnusableBundle("bundle {} is not in the archive".format(bundle)) from None
        except DAMAGED as error:
            raise UnusableBundle("bundle {} is damaged ({})".format(bundle, error)) from error

    def data(self, bundle: str) -> bytes:
        """A bundle's zip file as it lies here, not looked at. Raises what :mod:`zipfile` raises."""
        return self._zip.read("bundles/{}/{}.zip".format(bundle[:2], bundle))

    def cells(self) -> Dict[str, List[str]]:
        """The cells that each entry stands for, by its key."""
        found: Dict[str, List[str]] = self._json(CELLS)
        return found

    def contents(self) -> Dict[str, Contents]:
        """What each model file is made of, by its bundle."""
        try:
            return {bundle: Contents(int(opset), list(ops)) for bundle, (opset, ops) in self._json(CONTENTS).items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise UnusableArchive("{}: its {} cannot be read ({})".format(self.path, CONTENTS, error)) from error

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._zip.read(name).decode("utf-8"))
        except (*DAMAGED, KeyError) as error:
            raise UnusableArchive("{}: its {} cannot be read ({})".format(self.path, name, error)) from error

    def _entries(self) -> List[ArchiveEntry]:
        try:
            manifest = self._json(MANIFEST)
            if manifest["format"] != FORMAT:
                raise UnusableArchive(
                    "{}: written in format {}, this runner reads {}".format(self.path, manifest["format"], FORMAT)
                )
            entries = [ArchiveEntry(**item) for item in manifest["entries"]]
        except (KeyError, TypeError) as error:
            raise UnusableArchive("{}: its {} cannot be read ({})".format(self.path, MANIFEST, error)) from error
        for number, entry in enumerate(entries):
            why = _find_problem(entry)
            if why:
                raise UnusableArchive("{}: entry {} of its {}: {}".format(self.path, number, MANIFEST, why))
        return entries


def _find_problem(entry: ArchiveEntry) -> str:
    """Why an entry cannot be used, empty where it can: its words become rows, and these files and scripts."""
    if not isinstance(entry.bundle, str) or not _NAME.fullmatch(entry.bundle):
        return "{!r:.80} is no bundle's name".format(entry.bundle)
    for name in ("corpus", "case", "variant"):
        value = getattr(entry, name)
        if not isinstance(value, str) or not NAME.fullmatch(value):
            return "its {} is {!r:.80}, which is no name".format(name, value)
    for name in ("rtol", "atol"):
        value = getattr(entry, name)
        # a comparison with nan is never true, so that nothing would agree with anything
        if value is not None and not (type(value) in (int, float) and 0 <= value < float("inf")):
            return "its {} is {!r:.80}, which is no tolerance".format(name, value)
    options = entry.options
    if not isinstance(options, dict) or not all(isinstance(value, _SCALARS) for value in options.values()):
        return "its options are no session options"
    return ""


def unpack(name: str, data: bytes) -> BundleFiles:
    """A bundle from its zip file. Raises :class:`UnusableBundle`, and what :mod:`zipfile` raises."""
    sets: Dict[int, Dict[str, Dict[int, bytes]]] = {}
    model: Optional[bytes] = None
    with zipfile.ZipFile(io.BytesIO(data)) as files:
        members = [(info.filename, files.read(info)) for info in files.infolist()]
    for file, content in members:
        part = _FILE.fullmatch(file)
        if part is None:
            raise UnusableBundle("bundle {}: {!r} does not belong into a bundle".format(name, file))
        if part.group("kind") is None:
            model = content
        else:
            kinds = sets.setdefault(int(part.group("set")), {"input": {}, "output": {}})
            kinds[part.group("kind")][int(part.group("position"))] = content
    found = hash_bundle(members)
    if found != name:
        raise UnusableBundle("bundle {}: its content is that of {}".format(name, found))
    if model is None:
        raise UnusableBundle("bundle {} has no model".format(name))
    inputs, outputs = (
        [[content for _, content in sorted(sets[number][kind].items())] for number in sorted(sets)]
        for kind in ("input", "output")
    )
    return BundleFiles(model, inputs, outputs)
