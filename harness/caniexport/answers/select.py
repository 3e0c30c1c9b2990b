"""Filters: names as a user writes them, resolved against what is in the dataset, and applied to its cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from caniexport import names, versions
from caniexport.answers.filters import Filters
from caniexport.answers.reading import CatalogueEntry, Key, Rows, load
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import EXPORTERS, Exporter, Status
from caniexport.operators import is_operator_name, operator_key, operator_keys, spellings

__all__ = ["DEFAULT_OPSET", "CaseSelection", "CatalogueEntry", "Key", "Rows", "load", "select"]

DEFAULT_OPSET = "default"
#: who else may know of an operator that no case is about
_TORCHSCRIPT = "torchscript"
_CALLS = "`caniexport op {}`: how torch's own calls of it end; "
_MODEL = "`caniexport check`: a model of your own"


@dataclass(frozen=True)
class CaseSelection:
    """What a user asked for, in catalogue order.

    ``catalogue`` has every variant that the filters on case, variant, theme and op take, measured or not; ``torch``
    the measured releases selected, oldest first; ``exporters`` and ``providers`` are empty where none was named.
    """

    rows: Rows
    filters: Filters
    catalogue: dict[Key, CatalogueEntry]
    torch: tuple[str, ...]
    exporters: frozenset[str]
    providers: frozenset[str]
    statuses: frozenset[Status]

    @cached_property
    def cells(self) -> list[MeasuredCell]:
        """The cells that every filter but the one on status takes, in catalogue order."""
        return self.in_order(self.rows.cells(**self.where()))

    @cached_property
    def environment(self) -> list[MeasuredCell]:
        """The cells of environment cases among them; none where a filter asks for what those do not have."""
        filters = self.filters
        if filters.torch or filters.opsets or filters.exporters or filters.providers:
            return []
        return self.in_order(self.rows.environment)

    def in_order(self, cells: Iterable[MeasuredCell]) -> list[MeasuredCell]:
        """The cells of variants selected, in catalogue order."""
        order = {key: index for index, key in enumerate(self.catalogue)}
        taken = [cell for cell in cells if (cell.case, cell.variant) in order]
        return sorted(taken, key=lambda cell: order[cell.case, cell.variant])

    def where(self) -> dict[str, Iterable[Any]]:
        """What of the filters can be asked of the dataset: columns and the values taken."""
        where: dict[str, Iterable[Any]] = {}
        if len(self.catalogue) < len(self.rows.catalogue):
            where["case"] = {case for case, _ in self.catalogue}
            where["variant"] = {variant for _, variant in self.catalogue}
        if len(self.torch) < len(self.rows.torch):
            where["torch"] = self.torch
        if self.exporters:
            where["exporter"] = self.exporters
        if self.providers:
            where["provider"] = self.providers
        if self.filters.opsets:
            where["opset"] = opsets(self.filters.opsets, self.rows.opsets)
        return where


def opsets(asked: Iterable[str], known: Iterable[int]) -> set[int | None]:
    """The known opsets that ``9-14``, ``>=11`` or ``default`` (``None``) mean."""
    texts = tuple(asked)
    numbers = [text for text in texts if text != DEFAULT_OPSET]
    found: set[int | None] = {opset for opset in known if any(versions.opset_in(opset, text) for text in numbers)}
    return found | ({None} if DEFAULT_OPSET in texts else set())


def select(rows: Rows, filters: Filters) -> CaseSelection:
    """Apply the filters; a filter value that nobody knows raises :class:`UnknownName` with the nearest ones.

    Canaries are left out unless a case filter names them.
    """
    if filters.opsets:
        require_opsets(filters.opsets, rows.opsets)
    return CaseSelection(
        rows,
        filters,
        _entries(filters, rows),
        _torch(filters.torch, rows.torch),
        frozenset(exporter_names(filters.exporters)),
        names.require_all("provider", filters.providers, rows.providers),
        require_statuses(filters.statuses),
    )


#: what people call exporters besides
_ALSO = {
    **dict.fromkeys(("torchdynamo", "torch.export", "dynamo_export", "dynamo=true", "fx"), Exporter.DYNAMO.value),
    **dict.fromkeys(("legacy", "tracing", "jit.trace", "dynamo=false"), Exporter.TRACE.value),
    **dict.fromkeys(("scripting", "jit.script"), Exporter.SCRIPT.value),
}


def exporter_name(text: str) -> str:
    """``trace`` and ``script`` for the long names; ``TorchScript`` is the traced one, as ``dynamo=False`` exports."""
    short = {name: long for long, name in EXPORTER_SHORT.items()} | {_TORCHSCRIPT: Exporter.TRACE.value} | _ALSO
    return short.get(text.casefold(), text)


def exporter_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The exporters' long names, each once, in the order of :class:`Exporter`; ``TorchScript`` is both of its kinds.

    Raises :class:`UnknownName`.
    """
    texts = [*asked]
    if any(text.casefold() == _TORCHSCRIPT for text in texts):
        texts.append(Exporter.SCRIPT.value)
    found = names.require_all("exporter", map(exporter_name, texts), EXPORTERS)
    return tuple(name for name in EXPORTERS if name in found)


def require_exporter(asked: str, *, named: bool = False) -> str:
    """One exporter's long name; ``named`` excludes the default one. Raises :class:`UnknownName`."""
    known = [name for name in EXPORTERS if not named or name != Exporter.DEFAULT.value]
    return names.require("exporter", exporter_name(asked), known)


def require_statuses(asked: Iterable[str]) -> frozenset[Status]:
    """The statuses of these names, or globs. Raises :class:`UnknownName`."""
    words = ["unsupported" if text.casefold() == "refused" else text for text in asked]
    return frozenset(Status(item) for item in names.require_all("status", words, [status.value for status in Status]))


def _torch(asked: Iterable[str], measured: tuple[str, ...]) -> tuple[str, ...]:
    found = {torch for text in asked if text != "all" for torch in versions.resolve_each(text, measured)}
    return tuple(text for text in measured if text in found) if found else measured


def require_opsets(asked: tuple[str, ...], known: tuple[int, ...]) -> None:
    """Refuse opsets that no cell was measured at. Raises :class:`UnknownName`."""
    for text in asked:
        if text != DEFAULT_OPSET and not any(versions.opset_in(opset, text) for opset in known):
            shown = f"measured are {known[0]} to {known[-1]}" if known else "nothing has been measured yet"
            raise UnknownName(f"opset {text} has not been measured ({shown}; {DEFAULT_OPSET} is the release's own)")


def _entries(filters: Filters, rows: Rows) -> dict[tuple[str, str], CatalogueEntry]:
    """The catalogue's variants that the filters on case, variant, theme and op take."""
    taken = catalogue = rows.catalogue
    if filters.cases:
        wanted = _cases(filters.cases, rows)
        taken = {key: item for key, item in taken.items() if key in wanted}
    else:
        taken = {key: item for key, item in taken.items() if item.corpus != CANARY}
    if filters.variants:
        known = dict.fromkeys([PLAIN, *(variant for _, variant in taken)])
        found = names.require_all("variant", filters.variants, known)
        taken = {key: item for key, item in taken.items() if key[1] in found}
    if filters.themes:
        found = names.require_all("theme", filters.themes, dict.fromkeys(item.theme for item in catalogue.values()))
        taken = {key: item for key, item in taken.items() if item.theme in found}
    if filters.ops:
        taken = _with_ops(filters.ops, rows, taken)
    return taken


def _cases(asked: Iterable[str], rows: Rows) -> set[tuple[str, str]]:
    """Keys that ``CASE`` or ``CASE/VARIANT`` mean."""
    catalogue = rows.catalogue
    known = list(dict.fromkeys(case for case, _ in catalogue))
    found: set[tuple[str, str]] = set()
    for text in asked:
        case_pattern, _, variant_pattern = text.partition("/")
        _refuse_operator(case_pattern, rows)
        for case in names.require_all("case", [case_pattern], known):
            variants = [variant for name, variant in catalogue if name == case]
            if variant_pattern:
                variants = list(names.require_all(f"variant of {case}", [variant_pattern], variants))
            found.update((case, variant) for variant in variants)
    return found


def cases_about(text: str, rows: Rows) -> tuple[str, ...]:
    """The cases that are about an operator; none where a case itself is called so."""
    if any(text.casefold() == case.casefold() for case, _ in rows.catalogue):
        return ()
    key = operator_key(text)
    return tuple(dict.fromkeys(entry.case for entry in rows.catalogue.values() if key in operator_keys(entry.ops)))


def _refuse_operator(text: str, rows: Rows) -> None:
    """Raises :class:`UnknownName` with its cases for an operator where a case is wanted."""
    found = cases_about(text, rows)
    if found:
        named = f"{text!r} is no case, and an operator of {names.plural(len(found), 'case')}: {names.some(found, 5)}"
        raise UnknownName(f"{named} (caniexport table --op {text})")
    if not any(text.casefold() == case.casefold() for case, _ in rows.catalogue):
        refuse_uncovered(text, rows)


def refuse_uncovered(text: str, rows: Rows) -> None:
    """Raises :class:`UnknownName` for an operator that no case is about, with who else knows of it."""
    if _is_operator(text, rows):
        told = f"{text!r} is no case, and an operator that no case of the corpus is about"
        raise UnknownName(f"{told} ({_otherwise(text)})")


def _otherwise(name: str) -> str:
    """Who else knows of an operator: torch's own calls are of torch's operators alone, not of another library's."""
    from caniexport.match.parse import torch_operators

    return f"{_CALLS.format(name) if operator_key(name) in torch_operators() else ''}{_MODEL}"


def _is_operator(text: str, rows: Rows) -> bool:
    return is_operator_name(text) or operator_key(text) in operator_keys(rows.declared)


def _with_ops(
    asked: Iterable[str], rows: Rows, taken: dict[tuple[str, str], CatalogueEntry]
) -> dict[tuple[str, str], CatalogueEntry]:
    spelled = dict.fromkeys(op for item in rows.catalogue.values() for op in item.ops)
    known = operator_keys(spelled)
    wanted = set()
    for text in asked:
        if operator_key(text) not in known:
            if _is_operator(text, rows):
                raise UnknownName(f"op {text!r}: no case of the corpus is about it ({_otherwise(text)})")
            raise names.unknown("op", text, spellings(spelled))
        wanted.add(operator_key(text))
    return {key: item for key, item in taken.items() if wanted & {operator_key(op) for op in item.ops}}
