"""Points: a torch release, an opset, an exporter, a provider, as a user writes them and as they are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness import names, versions
from harness.answers.defaults import choose_opset
from harness.answers.reading import Rows
from harness.answers.select import exporter_name
from harness.worker.errors import UnknownName
from harness.worker.status import Exporter

AXES = ("torch", "opset", "exporter", "provider")


@dataclass(frozen=True)
class Place:
    """One point of the measured space, complete. ``notes`` say what was filled in, and from where."""

    torch: str
    exporter: str
    opset: int | None
    provider: str
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """``torch 2.9.1, dynamo, opset 18``; the provider where it is not cpu."""
        opset = "its own opset" if self.opset is None else f"opset {self.opset}"
        where = "" if self.provider == "cpu" else f", {self.provider}"
        return f"torch {self.torch}, {self.exporter}, {opset}{where}"


def parse(text: str) -> dict[str, str]:
    """``torch=2.8.0,opset=17`` as a dictionary; a bare version is torch's. Raises :class:`UnknownName`."""
    found: dict[str, str] = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        axis, equals, value = part.partition("=")
        if not equals:
            axis, value = "torch", part
        names.require("axis", axis, AXES)
        if axis in found:
            raise UnknownName(f"{text!r}: {axis} is given twice")
        found[axis] = value
    return found


class Places:
    """Fills points in from what was measured: a release's own exporter and opset where none is named."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def fill(self, asked: Mapping[str, str], like: Mapping[str, str]) -> Place:
        """A complete place. What ``asked`` leaves out is the release's default; ``like`` only lends the torch release.

        Raises :class:`UnknownName` for a release that was not measured, an exporter nobody knows, an opset that is
        no number.
        """
        if not self._rows.torch:
            raise UnknownName("nothing has been measured yet: `caniexport measure` does")
        named = asked.get("torch") or like.get("torch") or ""
        torch = versions.resolve(named, self._rows.torch) if named else self._rows.torch[-1]
        notes = [] if asked.get("torch") else [f"torch {torch}"]
        exporter = self._exporter(torch, asked.get("exporter"), notes)
        opset = self._opset(torch, exporter, asked.get("opset"), notes)
        return Place(torch, exporter, opset, asked.get("provider", "cpu"), tuple(notes))

    def _exporter(self, torch: str, asked: str | None, notes: list[str]) -> str:
        if asked:
            known = [member.value for member in Exporter if member is not Exporter.DEFAULT]
            name = exporter_name(asked)
            if name != Exporter.DEFAULT.value:
                return names.require("exporter", name, known)
        own = self._rows.default_exporters.get(torch, Exporter.TRACE.value)
        notes.append(f"{own}, the exporter that a bare call uses in {torch}")
        return own

    def _opset(self, torch: str, exporter: str, asked: str | None, notes: list[str]) -> int | None:
        if asked and asked != Exporter.DEFAULT.value:
            if not asked.isdigit():
                raise UnknownName(f"opset {asked!r}: a number, or default, is wanted")
            return int(asked)
        offer = self._rows.offers.get((torch, exporter))
        choice = choose_opset(torch, exporter, self._rows.default_opsets, offer.opsets if offer else ())
        if choice.opset is not None:
            notes.append(f"opset {choice.opset}, {choice.why} ({torch})")
        return choice.opset
