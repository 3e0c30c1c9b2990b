"""A point of the matrix, as a user names it and as the rows complete it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from caniexport import names, versions
from caniexport.answers.filters import require_exporter
from caniexport.answers.installed import find_nearest, list_differences, read_every_installation, select_companions
from caniexport.answers.inventory import Inventory
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.profiles import HELPERS, find_profile, package_name
from caniexport.runtime_releases import RUNTIMES
from caniexport.store import elsewhere, sql
from caniexport.store.dataset import Dataset
from caniexport.store.elsewhere import OnRuntime, Runtime
from caniexport.store.views import Views

#: the first release whose torch.onnx.export takes ``dynamo=``
_TAKES_DYNAMO = "2.5"
_ORT, _CPU = "onnxruntime", "cpu"
#: what a point may name: axes, and packages; onnxruntime is its runtime
_AXES = ("torch", "opset", "exporter", "runtime", "provider", "profile")
_PACKAGES = tuple(name for name in HELPERS if name != _ORT)
#: in front of a release: ``pytorch 2.6``
_TORCH_NAME = re.compile(r"(?:py)?torch[\s-]+(?=v?\d)", re.IGNORECASE)
#: other names of a runtime
_SHORT = {"ort": _ORT}
#: SQL for the rows of the default call; of a variant without one the rows of the same exporter and opset, where the
#: original has the same outcome by both. ``{0}`` is the columns that separate several points
FIRST_CALL = """(exporter = 'default' OR NOT bool_or(exporter = 'default') OVER (PARTITION BY {0}"case", variant)
    AND bool_or(works(status)) FILTER (variant = 'plain') OVER (PARTITION BY {0}"case")
        IS NOT DISTINCT FROM bool_and(works(status)) FILTER (variant = 'plain') OVER (PARTITION BY {0}"case"))"""


@dataclass(frozen=True)
class Point:
    """Where a file is exported and run. ``exporter`` and ``opset`` are those of the file.

    ``is_default``  the release's default call, which names neither; its rows are those of the exporter ``default``
    ``own``         the exporter and opset of the release's default call
    ``on``          another runtime than the one installed there, and the variants that set its options;
                    ``None`` for the one installed
    """

    torch: str
    exporter: str
    opset: int | None
    own: tuple[str, int | None]
    is_default: bool = False
    profile: str = NEWEST
    on: OnRuntime | None = None

    @property
    def call(self) -> str:
        """The call as a user writes it: ``dynamo=False, opset_version=14``, ``default (dynamo=True, opset 20)``."""
        named = call_text(self.torch, self.exporter)
        if self.is_default:
            return f"default ({named}, opset {self.opset})"
        return f"{named}, opset_version={self.opset}"

    @property
    def text(self) -> str:
        """The release and the call; the runtime and the profile where they are named."""
        runtime = f", {self.runtime.text}" if self.runtime else ""
        profile = f", profile {self.profile}" if self.profile != NEWEST else ""
        return f"torch {self.torch}, {self.call}{runtime}{profile}"

    @property
    def runtime(self) -> Runtime | None:
        """The runtime, where it is another than the one installed there."""
        return self.on.runtime if self.on else None

    @property
    def calls(self) -> tuple[tuple[str, int | None], ...]:
        """The exporter and opset of the rows of this point; the first that a case has is used."""
        named = (self.exporter, self.opset)
        return ((Exporter.DEFAULT.value, None), named) if self.is_default else (named,)

    @property
    def rows(self) -> str:
        """The cells of this point as SQL, one for each variant."""
        calls = " OR ".join(
            f"(exporter = {sql.literal(exporter)} AND opset IS NOT DISTINCT FROM {'NULL' if opset is None else opset})"
            for exporter, opset in self.calls
        )
        cells = (
            f"SELECT * FROM cells WHERE profile = {sql.literal(self.profile)} AND torch = {sql.literal(self.torch)} "
            f"AND ({calls}) QUALIFY {FIRST_CALL.format('')}"
        )
        if self.on is None:
            return cells
        runs = " AND ".join(f"{name} = {sql.literal(value)}" for name, (value,) in self.on.where.items())
        return elsewhere.move_cells(cells, f"SELECT * FROM replays WHERE {runs}", self.on)

    def with_named_call(self) -> Point:
        """Return this point with its exporter and opset named in the call."""
        return replace(self, is_default=False)


def call_text(torch: str, exporter: str) -> str:
    """Return how a call names an exporter: ``dynamo=True`` from torch 2.5 on."""
    if exporter == Exporter.SCRIPT.value:
        return "a scripted model"
    if versions.parse(torch) >= versions.parse(_TAKES_DYNAMO):
        return f"dynamo={exporter == Exporter.DYNAMO.value}"
    return "torch.onnx.dynamo_export" if exporter == Exporter.DYNAMO.value else "torch.onnx.export"


class Points:
    """Completes points from what was measured."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self.views = Views.of(dataset)
        self._read()

    def _read(self) -> None:
        """Read the opsets and exporters of each release in the profiles that are read."""
        rows = self.views.fetch("SELECT profile, torch, exporter, opset FROM release")
        self._own = {(profile, torch): (exporter, opset) for profile, torch, exporter, opset in rows}
        self._calls: dict[tuple[str, str, str], set[int]] = {}
        self._own_opset: dict[tuple[str, str, str], int] = {}
        for profile, torch, exporter, opset, is_own in self.views.fetch("SELECT * FROM call"):
            self._calls.setdefault((profile, torch, exporter), set()).add(opset)
            if is_own:
                self._own_opset[profile, torch, exporter] = opset
        self.releases = [torch for (torch,) in self.views.fetch("SELECT torch FROM version ORDER BY n")]

    def find(self, asked: Mapping[str, str]) -> tuple[Point, list[str]]:
        """Return the point that is asked for, and notes on what of it was not measured.

        What ``asked`` (of :func:`parse_point`) leaves out is the default call of the newest measured release. Raises
        :class:`UnknownName` for a release or runtime that was not measured, an exporter or opset nobody knows.
        """
        if not self.releases:
            raise UnknownName("nothing has been measured yet: run `caniexport measure`")
        notes: list[str] = []
        torch, other = versions.resolve_with_note(asked.get("torch") or "latest", self.releases)
        notes += [other] * bool(other)
        profile = self._choose_profile(torch, asked, notes)
        if self.views.include(profile):
            self._read()
        if "profile" in asked and (profile, torch) not in self._own:
            raise UnknownName(f"torch {torch} was not measured in the profile {profile}")
        own = self._own.get((profile, torch)) or self._own.get((NEWEST, torch)) or (Exporter.TRACE.value, None)
        named = {axis: asked[axis] for axis in ("exporter", "opset") if asked.get(axis, "default") != "default"}
        exporter = require_exporter(named["exporter"], named=True) if "exporter" in named else own[0]
        opset = self._choose_opset(profile, torch, exporter, named.get("opset"), notes) if named else own[1]
        on = self._choose_runtime(torch, asked, notes)
        return Point(torch, exporter, opset, own, not named, profile, on), notes

    def at(self, torch: str, like: Point) -> Point:
        """Return the default call of a release, with the packages of another point."""
        own = self._own.get((like.profile, torch)) or self._own[NEWEST, torch]
        return Point(torch, *own, own, is_default=True, profile=like.profile, on=like.on)

    def keep_call(self, before: Point, target: Point) -> Point:
        """Return the target called as before: with the same exporter, at the same opset where it takes that."""
        taken = self._list_opsets(target, before.exporter)
        opset = before.opset if before.opset in taken else self._default_opset(target, before.exporter)
        return replace(target, exporter=before.exporter, opset=opset, is_default=False)

    def list_calls(self, target: Point) -> list[Point]:
        """Return the target called with each exporter by its name, at its own opset and at the newest that it takes."""
        found = []
        for exporter in (Exporter.TRACE.value, Exporter.DYNAMO.value):
            taken = self._list_opsets(target, exporter)
            opsets = dict.fromkeys((self._default_opset(target, exporter), max(taken, default=None)))
            found += [replace(target, exporter=exporter, opset=opset, is_default=False) for opset in opsets if opset]
        return found

    def _list_opsets(self, point: Point, exporter: str) -> set[int]:
        return self._calls.get((point.profile, point.torch, exporter), set())

    def _default_opset(self, point: Point, exporter: str) -> int | None:
        return self._own_opset.get((point.profile, point.torch, exporter))

    def _choose_opset(self, profile: str, torch: str, exporter: str, asked: str | None, notes: list[str]) -> int | None:
        if asked is None:
            return self._own_opset.get((profile, torch, exporter))
        if not asked.isdigit():
            raise UnknownName(f"opset {asked!r}: give a number, or default")
        taken = self._calls.get((profile, torch, exporter), set())
        if int(asked) not in taken:
            who = f"{call_text(torch, exporter)} of torch {torch}"
            notes.append(f"{who} takes opset {versions.opset_text(taken)}" if taken else f"{who} was not measured")
        return int(asked)

    def _choose_profile(self, torch: str, asked: Mapping[str, str], notes: list[str]) -> str:
        """Return the profile that is named, or whose packages are most like the named ones."""
        wanted = select_companions({name: asked[name] for name in HELPERS if name in asked})
        if "profile" in asked:
            return find_profile(asked["profile"]).name
        if not wanted:
            return self._dataset.profile
        found = find_nearest(read_every_installation(self._dataset), torch, wanted)
        if found is None:
            return NEWEST
        notes.append(f"answered with {found.text}")
        others = [item.text for item in list_differences(found, wanted) if item.package != _ORT]
        notes += [f"not measured with {', '.join(others)}"] if others else []
        return found.profile

    def _choose_runtime(self, torch: str, asked: Mapping[str, str], notes: list[str]) -> OnRuntime | None:
        text, provider = asked.get("runtime", ""), asked.get("provider")
        text = "" if text == "default" else text
        if not text and provider in (None, _CPU):
            return None
        known = Inventory.of(self._dataset)
        own = known.own_runtime(torch)
        if not text:
            text = f"{own.name}=={own.version}" if own else _ORT
        found = find_runtime(known.runtimes, text, provider, notes)
        if found == own:
            return None
        notes.append(f"run on {found.text}")
        asking = self.views.fetch("""SELECT "case", variant FROM variants WHERE kind = 'runtime-option'""")
        return OnRuntime(found, frozenset((case, variant) for case, variant in asking))


def find_runtime(known: Sequence[Runtime], asked: str, provider: str | None, notes: list[str]) -> Runtime:
    """The runtime that ``onnxruntime==1.20``, ``ort1.20`` or ``1.20`` means, on the provider named, else on its only
    one or on the CPU.

    Raises :class:`UnknownName` for one that ran no file of the corpus.
    """
    name, version = split_runtime(asked)
    is_filled = not version
    name = names.require("runtime", name, dict.fromkeys(one.name for one in known))
    mine = [one for one in known if one.name == name and provider in (None, one.provider)]
    if not mine:
        providers = sorted({one.provider for one in known if one.name == name})
        raise names.unknown_name(f"provider of {name}", provider or "", providers)
    measured = {one.version for one in mine}
    version = versions.resolve(version, measured, name) if version else versions.newest(measured) or ""
    if is_filled:
        notes.append(f"{name} {version}, the newest that ran files of the corpus")
    on = {one.provider for one in mine if one.version == version}
    return Runtime(name, version, provider or (_CPU if _CPU in on else min(on)))


def parse_point(text: str) -> dict[str, str]:
    """``torch=2.8.0,opset=17,ort=1.20`` as a dictionary; a bare version is torch's. Raises :class:`UnknownName`.

    The runtime is ``runtime=onnxruntime==1.20.1``, ``ort=1.20`` or ``tensorrt-rtx=1.7``.
    """
    found: dict[str, str] = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        axis, value = _parse_part(part)
        if axis in found:
            raise UnknownName(f"{text!r}: {axis} is given twice")
        found[axis] = value
    return found


def _parse_part(part: str) -> tuple[str, str]:
    axis, equals, value = (item.strip() for item in part.partition("="))
    if not equals:
        axis, value = "torch", _TORCH_NAME.sub("", part)
    value = value.lstrip("= ")
    if not value:
        raise UnknownName(f"{part!r}: nothing is given after =")
    axis = package_name(axis) if axis else axis
    if axis in (*_AXES, *_PACKAGES):
        return axis, value
    runtimes = (*_SHORT, *dict.fromkeys(release.runtime for release in RUNTIMES))
    name = names.require("axis", axis, (*_AXES, *_PACKAGES, *runtimes))
    return "runtime", f"{_SHORT.get(name, name)}=={value}"


def split_runtime(text: str) -> tuple[str, str]:
    """Name and version of ``onnxruntime==1.20``, ``ort1.20``, ``onnxruntime``, ``1.20``."""
    name, _, version = text.partition("==")
    if not version and name[:1].isdigit():
        return _ORT, name
    short = re.fullmatch(r"([a-z][a-z-]*?)(\d+(?:\.\d+)*)", name)
    if not version and short is not None:
        name, version = short.groups()
    return _SHORT.get(name.casefold(), name), version
