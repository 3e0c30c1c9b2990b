"""Points: torch, opset, exporter, runtime and provider, as a user writes them and as they are filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from caniexport import names, versions
from caniexport.answers.installed import Installed, VersionDifference, differences, helpers_of, nearest
from caniexport.answers.reading import Rows
from caniexport.answers.select import exporter_name, require_exporter
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.bundles.runtime_releases import RUNTIMES
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.profiles import HELPERS, find_profile, package_name
from caniexport.store.elsewhere import Runtime

AXES = ("torch", "opset", "exporter", "packages", "runtime", "provider")
#: the axes that a point names as such; packages are named one by one
_NAMED = tuple(axis for axis in AXES if axis != "packages")
#: packages that a point may name; onnxruntime is its runtime
_PACKAGES = tuple(name for name in HELPERS if name != "onnxruntime")
_CPU = "cpu"
_ORT = "onnxruntime"
#: in front of a release: ``pytorch 2.6``
_TORCH_NAME = re.compile(r"(?:py)?torch[\s-]+(?=v?\d)", re.IGNORECASE)
#: other names of a runtime
_SHORT = {"ort": _ORT}


@dataclass(frozen=True)
class MeasuredPoint:
    """One point of the measured space, complete; ``runtime`` is empty where nothing is known of one.

    ``notes`` say what was filled in, and from where. ``by_default`` is whether neither exporter nor opset was named:
    the call is then the release's default one, which was measured as such.
    """

    torch: str
    exporter: str
    opset: int | None
    runtime: str
    runtime_version: str
    provider: str
    notes: tuple[str, ...] = ()
    profile: str = NEWEST
    packages: tuple[tuple[str, str], ...] = ()
    by_default: bool = False

    @property
    def text(self) -> str:
        """``torch 2.9.1, dynamo, opset 18, onnxruntime 1.31.1``; the provider where it is not cpu."""
        runtime = f", {self.on.text}" if self.runtime else ""
        packages = "".join(f", {name} {version}" for name, version in self.packages if self.profile != NEWEST)
        return f"torch {self.torch}, {self.exporter}, {versions.opset_name(self.opset)}{packages}{runtime}"

    @property
    def on(self) -> Runtime:
        """The runtime with its provider."""
        return Runtime(self.runtime, self.runtime_version, self.provider)


@dataclass(frozen=True)
class OwnEnvironment:
    """What was measured nearest to a user's packages; ``differs`` are those that they have in other versions, ``notes``
    what is to be said of the release.
    """

    measured: Installed
    differs: tuple[VersionDifference, ...]
    notes: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """``answered from torch 2.9.1 with onnxscript 0.5.6 …``, then what differs, version by version."""
        beside = f" with {self.measured.text}" if self.measured.text else ""
        same = "" if self.differs else ": the versions that are named are those measured"
        told = (f"not measured with {item.text}" for item in self.differs)
        return f"answered from torch {self.measured.torch}{beside}{same}", *self.notes, *told


def parse(text: str) -> dict[str, str]:
    """``torch=2.8.0,opset=17,ort=1.20`` as a dictionary; a bare version is torch's. Raises :class:`UnknownName`.

    The runtime is ``runtime=onnxruntime==1.20.1``, ``ort=1.20`` or ``tensorrt-rtx=1.7``.
    """
    found: dict[str, str] = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        axis, value = _part(part)
        if axis in found:
            raise UnknownName(f"{text!r}: {axis} is given twice")
        found[axis] = value
    return found


def _part(part: str) -> tuple[str, str]:
    axis, equals, value = (item.strip() for item in part.partition("="))
    if not equals:
        axis, value = "torch", _TORCH_NAME.sub("", part)
    value = value.lstrip("= ")
    if not value:
        raise UnknownName(f"{part!r}: nothing is given after =")
    axis = package_name(axis) if axis else axis
    if axis in (*_NAMED, *_PACKAGES, "profile"):
        return axis, value
    runtimes = (*_SHORT, *dict.fromkeys(release.runtime for release in RUNTIMES))
    name = names.require("axis", axis, (*_NAMED, *_PACKAGES, "profile", *runtimes))
    return "runtime", f"{_SHORT.get(name, name)}=={value}"


#: as many filled points are kept
_KEPT = 2000


class Places:
    """Fills points in from what was measured: a release's own exporter, opset and runtime where none is named."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._newest = rows.under(NEWEST)

    def fill(self, asked: Mapping[str, str]) -> MeasuredPoint:
        """A complete place, kept for the next who asks for it. What ``asked`` leaves out is the release's default.

        Raises :class:`UnknownName` for a release or runtime that was not measured, an exporter nobody knows, an opset
        that is no number.
        """
        kept: dict[object, MeasuredPoint] = self._rows.beside.setdefault(Places, {})
        key = frozenset(asked.items())
        found = kept.get(key)
        if found is None:
            found = self._fill(asked)
            if len(kept) >= _KEPT:
                kept.clear()
            kept[key] = found
        return found

    def _fill(self, asked: Mapping[str, str]) -> MeasuredPoint:
        if not self._rows.torch:
            raise UnknownName("nothing has been measured yet: `caniexport measure` does")
        notes: list[str] = []
        torch = self._release(asked.get("torch", ""), notes)
        beside = self._beside(torch, asked, notes)
        if beside.profile != self._rows.profile:
            return Places(self._rows.under(beside.profile))._at(torch, asked, beside, notes)
        return self._at(torch, asked, beside, notes)

    def own(self, asked: Mapping[str, str]) -> OwnEnvironment:
        """The measured environment that answers for a user's packages, and every package that differs from it."""
        notes: list[str] = []
        torch = self._release(asked.get("torch", ""), notes)
        found = self._beside(torch, asked, [])
        return OwnEnvironment(found, differences(found, helpers_of(asked)), tuple(notes))

    def _release(self, asked: str, notes: list[str]) -> str:
        """The measured release that is meant, the newest where none is; for an unmeasured patch the nearest one."""
        if not asked:
            notes.append(f"torch {self._rows.torch[-1]}, the newest measured")
            return self._rows.torch[-1]
        torch, told = versions.resolve_told(asked, self._rows.torch)
        notes += filter(None, (told,))
        return torch

    def _at(self, torch: str, asked: Mapping[str, str], beside: Installed, notes: list[str]) -> MeasuredPoint:
        exporter = self._exporter(torch, asked.get("exporter"), notes)
        opset = self._opset(torch, exporter, asked.get("opset"), notes)
        runtime = self._runtime(torch, self._asked_runtime(torch, asked), asked.get("provider"), notes)
        shown = tuple((name, beside.packages[name]) for name in _PACKAGES[:3] if name in beside.packages)
        named = {asked.get(axis) or Exporter.DEFAULT.value for axis in ("exporter", "opset")}
        by_default = named == {Exporter.DEFAULT.value}
        return MeasuredPoint(torch, exporter, opset, *runtime, tuple(notes), beside.profile, shown, by_default)

    def _asked_runtime(self, torch: str, asked: Mapping[str, str]) -> str | None:
        """The runtime asked for; that of an installation only where it ran the files of this profile."""
        installed = asked.get(_ORT)
        if "runtime" in asked or installed is None:
            return asked.get("runtime")
        own = self._rows.own_runtimes.get((torch, _CPU))
        if own is None or own.version == installed or self._rows.profile != NEWEST:
            return None
        return f"{_ORT}=={installed}" if installed in self._ran_on else None

    def _beside(self, torch: str, asked: Mapping[str, str], notes: list[str]) -> Installed:
        """The measured environment whose packages are most like those asked for."""
        known = self._rows.installed
        if "profile" in asked:
            known = tuple(item for item in known if item.profile == find_profile(asked["profile"]).name)
        wanted = helpers_of({name: asked[name] for name in HELPERS if name in asked})
        if not wanted and "profile" not in asked:
            known = tuple(item for item in known if item.profile == self._rows.profile)
        found = nearest(known, torch, wanted)
        if found is None:
            if "profile" in asked:
                raise UnknownName(f"torch {torch} was not measured in the profile {asked['profile']}")
            return Installed(self._rows.profile, torch, "", {})
        told = [item for item in differences(found, wanted) if not self._ran(found, item)]
        if told:
            notes.append(f"not measured with {', '.join(item.text for item in told)}")
        return found

    def _ran(self, found: Installed, item: VersionDifference) -> bool:
        """Whether it is the runtime, in a version on which the files of the profile were run."""
        return item.package == _ORT and found.profile == NEWEST and item.own in self._ran_on

    @property
    def _ran_on(self) -> set[str]:
        """The versions of onnxruntime that ran files of the corpus on the cpu."""
        return {one.version for one in self._rows.runtimes if (one.name, one.provider) == (_ORT, _CPU)}

    def _exporter(self, torch: str, asked: str | None, notes: list[str]) -> str:
        if asked and exporter_name(asked) != Exporter.DEFAULT.value:
            return require_exporter(asked, named=True)
        # a release's default call does not depend on what is installed beside it
        own = self._rows.default_exporters.get(torch) or self._newest.default_exporters.get(torch, Exporter.TRACE.value)
        notes.append(f"{own}, the exporter of the default call")
        return own

    def _opset(self, torch: str, exporter: str, asked: str | None, notes: list[str]) -> int | None:
        if asked and asked != Exporter.DEFAULT.value:
            if not asked.isdigit():
                raise UnknownName(f"opset {asked!r}: a number, or default, is wanted")
            notes += filter(None, (self._untaken(torch, exporter, int(asked)),))
            return int(asked)
        choice = self._rows.choice(torch, exporter)
        if choice.opset is None:
            choice = self._newest.choice(torch, exporter)
        if choice.opset is None:
            notes.append(f"{EXPORTER_SHORT[exporter]} was not measured with torch {torch}")
        else:
            notes.append(f"opset {choice.opset}, {choice.why}")
        return choice.opset

    def _untaken(self, torch: str, exporter: str, opset: int) -> str:
        """What is to be said of an opset of which a release's exporter writes no file that works; else nothing."""
        known = {place[2] for place in self._rows.asked if place[:2] == (torch, exporter)}
        working = {place[2] for place in self._rows.worked if place[:2] == (torch, exporter)}
        who = f"{EXPORTER_SHORT[exporter]} of torch {torch}"
        if not known:
            return f"{EXPORTER_SHORT[exporter]} was not measured with torch {torch}"
        if opset not in known:
            return f"{who} was not measured at opset {opset} (at {versions.opset_text(known)} it was)"
        if opset not in working:
            others = f" (of {versions.opset_text(working)} some do)" if working else ""
            return f"no file of opset {opset} by {who} works{others}"
        return ""

    def _runtime(self, torch: str, asked: str | None, provider: str | None, notes: list[str]) -> Runtime:
        own = self._rows.own_runtimes
        if asked and asked != Exporter.DEFAULT.value:
            return find_runtime(self._rows, asked, provider, notes)
        wanted = _CPU if provider is None else provider
        if provider is not None:
            known = {one.provider for one in (*self._rows.runtimes, *own.values())} | {_CPU}
            wanted = names.require("provider", provider, sorted(known))
        beside = own.get((torch, wanted)) or own.get((torch, _CPU))
        if beside is None:
            return Runtime("", "", wanted)
        filled = "" if provider else f" on {wanted}"
        notes.append(f"{beside.name} {beside.version}{filled}, measured beside it")
        return Runtime(beside.name, beside.version, wanted)


def find_runtime(rows: Rows, asked: str, provider: str | None, notes: list[str]) -> Runtime:
    """The runtime that ``onnxruntime==1.20``, ``ort1.20`` or ``1.20`` means, on its only provider or on the cpu.

    What was filled in is told to ``notes``. Raises :class:`UnknownName` for one that ran no file of the corpus.
    """
    name, version = split_runtime(asked)
    known = [*rows.runtimes, *rows.own_runtimes.values()]
    name = names.require("runtime", name, dict.fromkeys(one.name for one in known))
    mine = [one for one in known if one.name == name and provider in (None, one.provider)]
    if not mine:
        providers = {one.provider for one in known if one.name == name}
        raise names.unknown(f"provider of {name}", provider or "", sorted(providers))
    if version:
        version = versions.resolve(version, {one.version for one in mine}, name)
    else:
        version = versions.newest(one.version for one in mine) or ""
        notes.append(f"{name} {version}, the newest that ran files of the corpus")
    on = {one.provider for one in mine if one.version == version}
    if provider is None:
        provider = _CPU if _CPU in on else min(on)
        notes.append(f"provider {provider}")
    return Runtime(name, version, provider)


def split_runtime(text: str) -> tuple[str, str]:
    """Name and version of ``onnxruntime==1.20``, ``ort1.20``, ``onnxruntime``, ``1.20``."""
    name, _, version = text.partition("==")
    if not version and name[:1].isdigit():
        return _ORT, name
    short = re.fullmatch(r"([a-z][a-z-]*?)(\d+(?:\.\d+)*)", name)
    if not version and short is not None:
        name, version = short.groups()
    return _SHORT.get(name.casefold(), name), version
