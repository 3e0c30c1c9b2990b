"""The table of torch releases: one entry each, with the pins that install and import together.

Measured on x86_64 Linux (docs/method.md has the reasons behind single pins). ``torchscript`` is the range of
opsets the TorchScript exporter accepts; the first one above it is measured too, and expected to be refused. The dynamo
exporter refuses none: outside the range it honours it silently keeps 18, or writes what no runtime loads. Its range is
the honoured one and the next opset on either side; from 2.12 on every opset that onnx has is asked.
Environment variable ``CANIEXPORT_RELEASES`` names another Python file with a ``RELEASES`` tuple.
"""

from __future__ import annotations

import hashlib
import os
import re
import runpy
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter


class Release(NamedTuple):
    """One torch release: Python, pins, exporters and the opsets they take.

    torchscript   lowest and highest opset the TorchScript exporter accepts
    script        whether a scripted module can be made (1.2) — its export may still fail
    dynamo        lowest and highest opset to ask of the dynamo exporter; ``None`` where the release has none
    opset_argument  False in 1.0, whose exporter writes opset 9 and cannot be asked
    released    the day on which its first file was uploaded, as the package index has it: 2025-11-12
    profile     what is installed beside torch (caniexport/profiles.py); ``pins`` are those of this profile
    as_of       the day whose packages these are; empty where no day was asked for
    """

    torch: str
    python: str
    pins: Tuple[str, ...]
    torchscript: Tuple[int, int]
    script: bool = True
    dynamo: Optional[Tuple[int, int]] = None
    opset_argument: bool = True
    released: str = ""
    profile: str = "newest"
    as_of: str = ""

    @property
    def minor(self) -> str:
        """``2.8`` for 2.8.0."""
        return ".".join(self.torch.split(".")[:2])

    @property
    def requirements(self) -> Tuple[str, ...]:
        """What is installed into the environment, test tools excluded."""
        return ("torch==" + self.torch,) + self.pins

    @property
    def spec(self) -> str:
        """Hash of Python and pins: the same specification makes the same environment."""
        text = "\n".join(("python" + self.python,) + tuple(sorted(self.requirements)))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]

    def opsets(self, exporter: str) -> Tuple[Optional[int], ...]:
        """Opsets to ask of ``exporter``: all it accepts and the first it refuses; ``(None,)`` for the default."""
        if exporter == Exporter.DEFAULT.value:
            return (None,)
        if exporter == Exporter.DYNAMO.value:
            return tuple(range(self.dynamo[0], self.dynamo[1] + 1)) if self.dynamo else ()
        if exporter == Exporter.SCRIPT.value and not self.script:
            return ()
        low, high = self.torchscript
        return tuple(range(low, high + 2)) if self.opset_argument else (low,)

    def with_sure(self, opsets: Sequence[int], exporters: Sequence[str]) -> Tuple[int, ...]:
        """These opsets and one that each exporter surely takes: where it refuses all others, the canaries would too."""
        sure = {self.torchscript[0]} if opsets else set()
        if opsets and self.dynamo and (not exporters or Exporter.DYNAMO.value in exporters):
            sure.add(_DYNAMO_OPSET)
        return tuple(sorted(sure.union(opsets)))


#: what every dynamo exporter writes
_DYNAMO_OPSET = 18
_PY37 = ("numpy==1.21.6", "onnx==1.14.1", "protobuf==4.24.4", "onnxruntime==1.14.1")
_PY38 = ("numpy==1.23.5", "onnx==1.17.0", "protobuf==5.29.6", "onnxruntime==1.19.2")
# 1.10 imports pkg_resources, which setuptools dropped in 82
_PY38_PKG_RESOURCES = _PY38 + ("setuptools==75.3.4",)
_PY310_OLD_PROTOBUF = ("numpy==1.26.4", "onnx==1.14.1", "protobuf==3.20.3", "onnxruntime==1.23.2")
_PY310 = ("numpy==1.26.4", "onnx==1.23.2", "protobuf==7.36.2", "onnxruntime==1.23.2")
_PY311 = ("numpy==1.26.4", "onnx==1.23.2", "protobuf==7.36.2", "onnxruntime==1.31.1", "onnxscript==0.1.0")
_PY312 = (
    "numpy==2.5.5",
    "onnx==1.23.2",
    "protobuf==7.36.2",
    "onnxruntime==1.31.1",
    "onnxscript==0.7.2",
    "onnx_ir==1.1.0",
)

RELEASES: Tuple[Release, ...] = (
    Release("1.0.1", "3.7", _PY37, (9, 9), script=False, opset_argument=False, released="2019-02-05"),
    Release("1.1.0", "3.7", _PY37, (9, 10), script=False, released="2019-04-30"),
    Release("1.2.0", "3.7", _PY37, (7, 10), released="2019-08-08"),
    Release("1.3.1", "3.7", _PY37, (7, 11), released="2019-11-07"),
    Release("1.4.0", "3.8", _PY38, (7, 11), released="2020-01-15"),
    Release("1.5.1", "3.8", _PY38, (7, 12), released="2020-06-18"),
    Release("1.6.0", "3.8", _PY38, (7, 12), released="2020-07-28"),
    Release("1.7.1", "3.8", _PY38, (7, 12), released="2020-12-10"),
    Release("1.8.1", "3.8", _PY38, (7, 13), released="2021-03-25"),
    Release("1.9.1", "3.8", _PY38, (7, 13), released="2021-09-20"),
    Release("1.10.2", "3.8", _PY38_PKG_RESOURCES, (7, 14), released="2022-01-27"),
    Release("1.11.0", "3.10", _PY310_OLD_PROTOBUF, (7, 15), released="2022-03-10"),
    Release("1.12.1", "3.10", _PY310, (7, 16), released="2022-08-05"),
    Release("1.13.1", "3.10", _PY310, (7, 17), released="2022-12-15"),
    Release("2.0.1", "3.10", _PY310, (7, 18), released="2023-05-08"),
    # dynamo_export (2.1-2.4) takes no opset: it writes 18
    Release("2.1.2", "3.11", _PY311, (7, 19), dynamo=(18, 18), released="2023-12-14"),
    Release("2.2.2", "3.11", _PY311, (7, 19), dynamo=(18, 18), released="2024-03-27"),
    Release("2.3.1", "3.11", _PY311, (7, 19), dynamo=(18, 18), released="2024-06-05"),
    Release("2.4.1", "3.11", ("numpy==2.4.6",) + _PY311[1:], (7, 20), dynamo=(18, 18), released="2024-09-04"),
    Release("2.5.1", "3.12", _PY312, (7, 20), dynamo=(17, 27), released="2024-10-29"),
    Release("2.6.0", "3.12", _PY312, (7, 20), dynamo=(17, 27), released="2025-01-29"),
    Release("2.7.1", "3.12", _PY312, (7, 20), dynamo=(17, 27), released="2025-06-04"),
    Release("2.8.0", "3.12", _PY312, (7, 23), dynamo=(17, 27), released="2025-08-06"),
    Release("2.9.1", "3.12", _PY312, (7, 23), dynamo=(13, 27), released="2025-11-12"),
    Release("2.10.0", "3.12", _PY312, (7, 23), dynamo=(13, 27), released="2026-01-21"),
    Release("2.11.0", "3.12", _PY312, (7, 23), dynamo=(13, 27), released="2026-03-23"),
    Release("2.12.1", "3.12", _PY312, (7, 23), dynamo=(13, 28), released="2026-06-17"),
    Release("2.13.0", "3.12", _PY312, (7, 23), dynamo=(13, 28), released="2026-07-08"),
    Release("2.14.1", "3.12", _PY312, (7, 23), dynamo=(13, 28), released="2026-09-30"),
    Release("2.15.0", "3.12", _PY312, (7, 23), dynamo=(13, 28), released="2026-10-28"),
)

#: the releases measured by default: each stands for an era of the exporters
DEFAULT_RELEASES = ("1.3.1", "1.10.2", "1.12.1", "2.0.1", "2.8.0", "2.15.0")


_ENVIRONMENT = re.compile(
    r"^torch(?P<release>[0-9][0-9.]*[0-9])(?:-opset(?P<opset>[0-9]+))?(?:-(?P<profile>[a-z][a-z0-9._-]*))?-(?P<provider>cpu|cuda)$"
)


class ReleaseTarget(NamedTuple):
    """What the name of a tox environment asks for; empty where the name is not one of ours."""

    release: str
    opsets: List[int]
    provider: str
    profile: str = "newest"


def parse_environment_name(environment: str) -> ReleaseTarget:
    """``torch2.5-opset17-cpu`` -> release 2.5, opset 17, provider cpu; ``torch2.9.1-period-cpu`` -> profile period."""
    match = _ENVIRONMENT.match(environment)
    if match is None:
        return ReleaseTarget("", [], "cpu")
    opset = match.group("opset")
    opsets = [int(opset)] if opset else []
    return ReleaseTarget(match.group("release"), opsets, match.group("provider"), match.group("profile") or "newest")


def make_environment_name(torch: str, profile: str, provider: str) -> str:
    """The name of the tox environment of a release: ``torch2.9.1-period-cpu``, ``torch2.9.1-cpu``."""
    return "-".join(["torch" + torch, *([] if profile == "newest" else [profile]), provider])


def read_table() -> Tuple[Release, ...]:
    """The releases, oldest first: this file's, or those of the file that ``CANIEXPORT_RELEASES`` names."""
    other = os.environ.get("CANIEXPORT_RELEASES")
    if not other:
        return RELEASES
    try:
        found = tuple(runpy.run_path(other)["RELEASES"])
    except BaseException as error:  # whatever is in that file, SystemExit included
        if isinstance(error, KeyboardInterrupt):
            raise
        problem = "has no RELEASES" if isinstance(error, KeyError) else "{}: {}".format(type(error).__name__, error)
        raise UnknownName(
            "CANIEXPORT_RELEASES names {}, which is no table of releases ({})".format(other, problem)
        ) from error
    if not found or not all(isinstance(item, Release) for item in found):
        raise UnknownName("CANIEXPORT_RELEASES names {}, whose RELEASES are no releases".format(other))
    return found


def find(name: str) -> Release:
    """The entry for a release: by full version, by minor (``2.8``), or another patch of a listed minor.

    A patch release that is not in the table gets its minor's entry with its own version, and a release newer than
    the table the newest entry's: a proposal, which its measurement confirms or not. Raises :class:`UnknownName` with
    the releases there are.
    """
    releases: Dict[str, Release] = {}
    for release in read_table():
        releases[release.minor] = release
        releases[release.torch] = release
    if name in releases:
        return releases[name]
    parts = name.split(".")
    minor = ".".join(parts[:2])
    if len(parts) == 3 and all(part.isdigit() for part in parts) and minor in releases:
        return releases[minor]._replace(torch=name, released="")
    if len(parts) == 3 and _is_newer(parts, read_table()[-1]):
        return read_table()[-1]._replace(torch=name, released="")
    raise UnknownName(
        "no torch release {!r} in the table; it has {}".format(name, ", ".join(item.torch for item in read_table()))
    )


def is_proposal(release: Release) -> bool:
    """Whether the table has no entry for this release's minor."""
    return release.minor not in {known.minor for known in read_table()}


def format_entry(release: Release) -> str:
    """A release as the line to add to the table."""
    pins = next((name for name, value in globals().items() if name.startswith("_PY") and value == release.pins), None)
    words = [repr(release.torch), repr(release.python), pins or repr(release.pins), repr(release.torchscript)]
    if not release.script:
        words.append("script=False")
    if release.dynamo:
        words.append("dynamo={!r}".format(release.dynamo))
    return "Release({}),".format(", ".join(words)).replace("'", '"')


def _is_newer(parts: List[str], newest: Release) -> bool:
    if not all(part.isdigit() for part in parts):
        return False
    return [int(part) for part in parts] > [int(part) for part in newest.torch.split(".")]
