"""My setting: the torch releases, opsets, exporters, packages and the runtime of a reader, for every page.

It stands in the address, and every link between the pages takes it along. :data:`PARTS` is the one list of what it
has: a further part is one more entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from caniexport import names, versions
from caniexport.answers.filters import DEFAULT_OPSET, Filters, exporter_names, require_opsets
from caniexport.answers.inventory import Inventory
from caniexport.answers.point import find_runtime
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import EXPORTERS
from caniexport.profiles import PERIOD

#: what is asked with a cell's own parameters of these names; the setting's are then ``my_torch``
CELL_PAGES, MINE = frozenset({"case", "script"}), "my_"
#: the part that says which dataset the others are read of
PROFILE = "profile"
#: parameters that are a torch release: ``2.9`` is the newest of that series, as on the command line
RELEASES = frozenset({"torch", "from", "to", "before", "after"})
#: profiles by the words of a page
PROFILE_WORDS = {NEWEST: "the newest", PERIOD: "of the release's time"}
_RANGE = re.compile(r"(?P<low>[\w.]*?)\s*(?:\.\.\.?|\N{EN DASH}|\N{HORIZONTAL ELLIPSIS}|-)\s*(?P<high>[\w.]*)")


@dataclass(frozen=True)
class SettingPart:
    """One part of a setting. ``read`` makes the values meant of one item of the address, ``known`` what may be chosen.

    ``shown`` says how a value looks, ``text`` stands for no choice, ``kind`` is that of its field.
    """

    name: str
    label: str
    text: str
    kind: Literal["select", "combo", "pills"]
    known: Callable[[Inventory], Sequence[str]]
    read: Callable[[str, Inventory], Sequence[str]]
    shown: Mapping[str, str] = field(default_factory=dict)

    def describe(self, given: str) -> str:
        """What an address has of it in words: ``exporter trace, script``."""
        items = ", ".join(self.shown.get(item, item) for item in given.split(","))
        return f"{self.label.removeprefix('My ')} {items}"


@dataclass(frozen=True)
class Setting:
    """What a reader has chosen: by part the values meant, and as the address has them; nothing takes everything.

    ``missing`` are the parts of which nothing that was asked for is known, each with the nearest known values.
    """

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    address: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(tuple(self.values.items()))

    def of(self, name: str) -> tuple[str, ...]:
        """The values of a part, empty where nothing was chosen."""
        return self.values.get(name, ())

    def one(self, name: str) -> str:
        """The newest value of a part, empty where nothing was chosen."""
        return "".join(self.of(name)[-1:])

    @property
    def profile(self) -> str:
        """The profile: which versions of the companion packages are installed."""
        return self.one(PROFILE) or NEWEST

    def filters(self, *, exporters: tuple[str, ...] = ()) -> Filters:
        """The same as a question to a dataset; ``exporters`` where none were chosen."""
        return Filters(torch=self.of("torch"), opsets=self.of("opset"), exporters=self.of("exporter") or exporters)

    @property
    def text(self) -> str:
        """The same in words: ``torch 1.13..2.15; exporter trace, script``; empty where nothing was chosen."""
        return "; ".join(part.describe(self.address[part.name]) for part in PARTS if part.name in self.address)


def read(asked: Mapping[str, str], known: Inventory, prefix: str, warn: Callable[[str], None]) -> Setting:
    """The setting that an address has; unknown values are reported to ``warn`` and ignored.

    A release or runtime is known that was measured with the packages chosen.
    """
    values, address, missing = {}, {}, {}
    for part in sorted(PARTS, key=lambda part: part.name != PROFILE):
        kept: list[str] = []
        found: set[str] = set()
        items = [item for text in asked.get(prefix + part.name, "").split(",") if (item := text.strip())]
        for item in items:
            try:
                found.update(part.read(item, known))
                kept.append(item)
                # another patch release may answer
                if part.name == "torch" and not (_RANGE.fullmatch(item) or versions.is_range(item)):
                    other = _patch(item, known)[1]
                    warn(other) if other else None
            except UnknownName as error:
                profile = known.dataset.profile
                within = "" if profile == NEWEST else f" with packages {PROFILE_WORDS.get(profile, profile)}"
                warn(f"{error}{within}")
        if kept:
            values[part.name] = tuple(name for name in part.known(known) if name in found)
            address[part.name] = ",".join(kept)
        elif items:
            missing[part.name] = near(part.name, items[0], part.known(known))
        if part.name == PROFILE:
            known = Inventory.of(known.dataset.of("".join(values.get(PROFILE, ())[-1:]) or NEWEST))
    return Setting(values, address, missing)


def near(name: str, asked: str, known: Sequence[str]) -> tuple[str, ...]:
    """The known values nearest to one that nobody knows: releases and opsets on both sides, else names."""
    try:
        if name in RELEASES or name.endswith("opset"):
            return tuple(versions.neighbours(versions.parse(asked), (text for text in known if text[:1].isdigit())))
    except UnknownName:
        pass
    return tuple(names.find_nearest(asked, known))


def _patch(item: str, known: Inventory) -> tuple[str, str]:
    return versions.resolve_with_note(item, known.torch)


def _torch(item: str, known: Inventory) -> Sequence[str]:
    """``2.8.0``, ``2.8`` (its newest), ``2.8.1`` (the nearest of its minor version), ``1.13..2.15``, ``2.0..``."""
    if item in known.torch:
        return (item,)
    span = _RANGE.fullmatch(item)
    if not span:
        return versions.resolve_range(item, known.torch) if versions.is_range(item) else (_patch(item, known)[0],)
    found = [torch for torch in known.torch if _is_between(torch, span["low"], span["high"])]
    if not found:
        raise UnknownName(f"no torch release within {item} has been measured")
    return found


def _is_between(torch: str, low: str, high: str) -> bool:
    """Whether a release is within two bounds; every release of a series that is a bound is, and no bound takes all."""
    version = versions.parse(torch)
    begins, ends = (versions.parse(bound) if bound else None for bound in (low, high))
    above = begins is None or version >= begins
    return above and (ends is None or version <= ends or version.release[: len(ends.release)] == ends.release)


def _opset(item: str, known: Inventory) -> Sequence[str]:
    """``14``, ``9-14``, ``9..14``, ``>=11``, ``default``."""
    span = _RANGE.fullmatch(item)
    if span and span["low"].isdigit() and span["high"].isdigit():
        item = f"{span['low']}-{span['high']}"
    found = require_opsets((item,), known.opsets)
    return [DEFAULT_OPSET if opset is None else str(opset) for opset in found]


def _runtime(item: str, known: Inventory) -> Sequence[str]:
    """``onnxruntime==1.20``, ``ort1.20``, ``openvino``."""
    found = find_runtime(known.runtimes, item, None, [])
    return (f"{found.name}=={found.version}",)


def _runtimes(known: Inventory) -> Sequence[str]:
    return list(dict.fromkeys(f"{one.name}=={one.version}" for one in known.runtimes))[::-1]


PARTS = (
    SettingPart("torch", "My torch", "all, or 2.0..2.15", "combo", lambda known: known.torch, _torch),
    SettingPart(
        "opset", "My opset", "all, or 14..18", "combo", lambda known: [*map(str, known.opsets), DEFAULT_OPSET], _opset
    ),
    SettingPart(
        "exporter",
        "My exporter",
        "",
        "pills",
        lambda _: EXPORTERS,
        lambda item, _: exporter_names((item,)),
        EXPORTER_SHORT,
    ),
    SettingPart("runtime", "My runtime", "as installed", "select", _runtimes, _runtime),
    SettingPart(
        PROFILE,
        "My packages",
        "the newest",
        "select",
        lambda known: known.dataset.profiles()[1:],
        lambda item, known: (names.require("profile", item, known.dataset.profiles()),),
        PROFILE_WORDS,
    ),
)
NAMES = tuple(part.name for part in PARTS)
