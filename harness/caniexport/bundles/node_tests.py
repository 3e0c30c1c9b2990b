"""The corpus that nobody here wrote: ONNX's own node tests, as bundles.

A row's ``case`` is the test's name; its ``variant`` is the operator and the opset of its file, ``CenterCropPad-18``,
with a mark where a failure is no failure: ``Bernoulli-22.random``.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.bundles.pack import PackReport, make_bundle, write_archive
from caniexport.machine import interpreters
from caniexport.model.errors import CaniexportError
from caniexport.runner.archive import ArchiveEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPUS = "onnx-node"
#: the release whose tests are meant where none is named
ONNX = "1.23.2"
#: in the place of a release: the newest build of onnx's main branch
WEEKLY = "weekly"
_WRITER = Path(__file__).with_name("node_tests_writer.py")
_PYTHON = "3.12"
#: onnx's own tolerances are 1e-3 and 1e-7; sums of float32 in another order need more than the latter
_ATOL = 1e-5
#: any value passes, its type and shape are compared
_ANY = 3e38


class NoNodeTestsError(CaniexportError):
    """The tests of a release of onnx cannot be made here."""


@dataclass(frozen=True)
class NodeTest:
    """What a row's variant says: the operator, the opset of the file, the mark (empty for most).

    A failure of a test with a mark is not counted: values by chance (``random``), types that numpy has not (bfloat16,
    float8) or that are packed into less than a byte (``dtype``), values that are no tensors (``sequence``), files that
    are to be refused (``negative``).
    """

    operator: str
    opset: int
    mark: str

    @property
    def variant(self) -> str:
        """``CenterCropPad-18``, ``Bernoulli-22.random``."""
        return f"{self.operator}-{self.opset}" + f".{self.mark}" * bool(self.mark)


def parse_variant(variant: str) -> NodeTest:
    """Read a variant back."""
    operator, _, rest = variant.rpartition("-")
    opset, _, mark = rest.partition(".")
    return NodeTest(operator, int(opset), mark)


def pack_node_tests(file: Path, onnx: str = ONNX) -> PackReport:
    """Write an archive of the node tests of this release of onnx, made by that release in an environment of its own.

    Raises :class:`NoNodeTestsError`.
    """
    tests = _tests(onnx)
    sources = {entry.bundle: partial(bytes, data) for entry, data in tests}
    return write_archive(file, [entry for entry, _ in tests], sources, {})


def requirement(onnx: str) -> str:
    """What is installed for a release of onnx: ``1.23.2``, ``weekly``, or ``1.24.0.dev20261026``, a build of a week."""
    if onnx == WEEKLY:
        return "onnx-weekly"
    return f"onnx-weekly=={onnx}" if ".dev" in onnx else f"onnx=={onnx}"


def _tests(onnx: str) -> list[tuple[ArchiveEntry, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "tests.zip"
        python = str(interpreters.find_python(_PYTHON) or _PYTHON)
        command = [interpreters.find_uv(), "run", "--quiet", "--no-project", "--isolated", "--python", python]
        # -P: the folder of the writer has modules that are named like some of the standard library
        command += ["--with", requirement(onnx), "python", "-P", str(_WRITER), str(made)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
            raise NoNodeTestsError(f"the node tests of onnx {onnx} cannot be made: {reason[0]}")
        with zipfile.ZipFile(made) as tests:
            return list(_entries(tests))


def _entries(tests: zipfile.ZipFile) -> Iterator[tuple[ArchiveEntry, bytes]]:
    files: dict[str, list[tuple[str, bytes]]] = {}
    for name in tests.namelist():
        test, _, rest = name.partition("/")
        if rest:
            place = rest if rest == "model.onnx" else f"test_data_set_0/{rest}"
            files.setdefault(test, []).append((place, tests.read(name)))
    for item in json.loads(tests.read("index.json"))["tests"]:
        bundle, data = make_bundle(files[item["name"]])
        variant = NodeTest(item["operator"], item["opset"], item["mark"]).variant
        atol = _ANY if item["mark"] == "random" else _ATOL
        yield ArchiveEntry(bundle, CORPUS, item["name"], variant, item["rtol"], atol), data
