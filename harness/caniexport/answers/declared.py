"""What each exporter registers for an operator, against what was measured: what is registered need not pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from caniexport import versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Table
from caniexport.answers.point import Points, call_text
from caniexport.answers.samples import EXPORTERS, Samples, name_keys
from caniexport.home import NEWEST
from caniexport.model.status import Exporter
from caniexport.operators import operator_key, operator_keys
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

#: the table that lists what an exporter registers
_REGISTRIES = {"torchscript": Exporter.TRACE.value, "dynamo": Exporter.DYNAMO.value}


class Agreement(StrEnum):
    """How the registry of an exporter agrees with what was measured, for one operator."""

    NOTHING_PASSES = "registered, nothing passes"
    FEWER = "passes at fewer opsets than registered"
    UNREGISTERED = "passes, not registered"
    AGREES = "agrees"
    NEITHER = "not registered, nothing passes"


@dataclass
class _MeasuredOperator:
    """One operator by one exporter: opsets that are registered, and at which cases and samples were tried and pass."""

    registered: set[int] = field(default_factory=set)
    cases_tried: set[int] = field(default_factory=set)
    cases_pass: set[int] = field(default_factory=set)
    samples_tried: set[int] = field(default_factory=set)
    samples_pass: set[int] = field(default_factory=set)
    cases: set[str] = field(default_factory=set)

    @property
    def agreement(self) -> Agreement:
        passing = self.cases_pass | self.samples_pass
        if not self.registered:
            return Agreement.UNREGISTERED if passing else Agreement.NEITHER
        if not passing:
            return Agreement.NOTHING_PASSES
        # a special case that passes nowhere is no measure of the operator
        tried = (self.cases_tried if self.cases_pass else set()) | (self.samples_tried if self.samples_pass else set())
        return Agreement.AGREES if self.registered & tried <= passing else Agreement.FEWER


def answer_declared(
    dataset: Dataset,
    torch: str = "",
    exporters: Collection[str] = EXPORTERS,
    ops: Collection[str] = (),
    agreements: Collection[Agreement] = tuple(Agreement),
    words: str = "",
) -> Answer:
    """Answer with the measured operators of a release, those first that are registered and do not pass.

    ``ops`` are the only operators that are wanted, none for all; ``words`` are parts of an operator's or a case's name.
    Raises :class:`UnknownName`.
    """
    torch = Points(dataset).find({"torch": torch})[0].torch
    found = {
        (name, exporter): item
        for (name, exporter), item in _read_measured(dataset, torch, exporters, operator_keys(ops)).items()
        if item.agreement in agreements and all(_matches_word(word, name, item) for word in words.casefold().split())
    }
    by = {word: [key for key, item in found.items() if item.agreement is word] for word in agreements}
    tables = tuple(
        _build_table(
            word.value, torch, {key: found[key] for key in keys}, shown=12 if words or len(agreements) == 1 else 0
        )
        for word, keys in by.items()
    )
    never, fewer = len(by.get(Agreement.NOTHING_PASSES, ())), len(by.get(Agreement.FEWER, ()))
    verdict = f"At torch {torch} {never} registered operators do not pass, {fewer} pass at fewer opsets."
    notes = (
        "An operator passes where a documented case or an operator sample of it does. One that is registered and has "
        "neither is left out. Each operator counts once for each exporter.",
    )
    return Answer(verdict, AnswerOutcome.LISTED, tables, notes)


def _matches_word(word: str, op: str, item: _MeasuredOperator) -> bool:
    return word in f"{op} {' '.join(item.cases)}".casefold() or operator_key(word) == operator_key(op)


def declared_table(dataset: Dataset, torch: str, keys: Collection[str]) -> Table:
    """Return the table of the operators with these keys."""
    return _build_table("registered by torch", torch, _read_measured(dataset, torch, EXPORTERS, keys))


def read_registered(dataset: Dataset, torch: str) -> Mapping[tuple[str, str], str]:
    """Return by exporter and operator's key: the opsets for which a release registers a symbolic or a translation."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for exporter, op, opsets in _read_registry(dataset, torch):
        found[exporter, operator_key(op)].update(opsets)
    return {key: versions.opset_text(opsets) for key, opsets in found.items()}


def registered_opsets(registered_at: Mapping[tuple[str, str], str], op: str, exporter: str) -> str:
    """Return the opsets of :func:`read_registered` for an operator that has samples; empty for none."""
    return ", ".join(
        dict.fromkeys(registered_at[exporter, key] for key in sorted(name_keys(op)) if (exporter, key) in registered_at)
    )


def _read_registry(dataset: Dataset, torch: str) -> Iterable[tuple[str, str, list[int]]]:
    """Exporter, operator and opsets of each entry of a release's registries, read once."""
    if f"registry {torch}" not in dataset.cache:
        rows = dataset.of(NEWEST).records("declared", {"release": {torch}, "by": set(_REGISTRIES)})
        dataset.cache[f"registry {torch}"] = [
            (_REGISTRIES[row["by"]], row["op"].partition(".")[0], _parse_opsets(row["opsets"])) for row in rows
        ]
    entries: list[tuple[str, str, list[int]]] = dataset.cache[f"registry {torch}"]
    return entries


def _read_measured(
    dataset: Dataset, torch: str, exporters: Collection[str], keys: Collection[str] = ()
) -> dict[tuple[str, str], _MeasuredOperator]:
    """By operator and exporter: what was measured. ``keys`` are those of the operators wanted, none for all."""
    samples, views = Samples.of(dataset), Views.of(dataset)
    found: dict[tuple[str, str], _MeasuredOperator] = defaultdict(_MeasuredOperator)
    names: dict[str, str] = {}

    def is_wanted(op: str) -> bool:
        return not keys or operator_key(op) in keys

    def name(op: str) -> str:
        """The name that its samples have, else the first of its names."""
        return names.setdefault(operator_key(op), next(iter(samples.called(op)), op))

    sampled = ", ".join(sql.literal(op) for op in samples.operators if is_wanted(op))
    plain = views.fetch(
        f"""SELECT exporter, op, list(opset) FILTER (passing > 0), list(opset)
            FROM samples JOIN (FROM judged WHERE op IN ({sampled or "NULL"})) USING (op)
            WHERE torch = $1 AND list_contains($2, exporter) AND form IS NULL AND dtype = first_dtype AND calls > 0
            GROUP BY ALL""",
        [torch, list(exporters)],
    )
    for exporter, op, passing, tried in plain:
        found[op, exporter].samples_pass.update(passing or ())
        found[op, exporter].samples_tried.update(tried)
    every = {case: [op for op in of if "::" in op and is_wanted(op)] for case, _, of, _ in samples.documented}
    ops = {case: of for case, of in every.items() if of}
    cases = views.fetch(
        f"""SELECT exporter, "case", list(DISTINCT opset) FILTER (works(status)), list(DISTINCT opset) FROM cells
            WHERE "case" IN ({", ".join(map(sql.literal, ops)) or "NULL"}) AND variant = 'plain'
                AND profile = $1 AND torch = $2 AND list_contains($3, exporter) AND opset IS NOT NULL
                AND works(status) IS NOT NULL AND stage NOT IN ('resolve', 'import', 'eager') GROUP BY ALL""",
        [dataset.profile, torch, list(exporters)],
    )
    for exporter, case, passing, tried in cases:
        for op in ops[case]:
            item = found[name(op), exporter]
            item.cases_pass.update(passing or ())
            item.cases_tried.update(tried)
            item.cases.add(case)
    for exporter, op, opsets in _read_registry(dataset, torch):
        if exporter in exporters and is_wanted(op):
            found[name(op), exporter].registered.update(opsets)
    order = list(Agreement)
    known = sorted(found.items(), key=lambda one: (order.index(one[1].agreement), one[0]))
    return {key: item for key, item in known if item.cases_tried or item.samples_tried}


def _build_table(title: str, torch: str, found: Mapping[tuple[str, str], _MeasuredOperator], shown: int = 0) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Link(op, "op", {"op": op}),
            call_text(torch, exporter),
            item.agreement.value,
            *(versions.opset_text(at) or "none" for at in (item.registered, item.cases_pass, item.samples_pass)),
            tuple(Link(case, "case", {"case": case}) for case in sorted(item.cases)),
        )
        for (op, exporter), item in found.items()
    )
    columns = ("operator", "call", "so", "registered at opset", "cases pass at", "samples pass at", "cases")
    return Table(title, columns, rows, shown=shown)


def _parse_opsets(text: str) -> list[int]:
    """``7-9,11`` as numbers."""
    bounds = [part.split("-") for part in text.split(",")]
    return [number for bound in bounds for number in range(int(bound[0]), int(bound[-1]) + 1)]
