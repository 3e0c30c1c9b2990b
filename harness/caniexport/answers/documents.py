"""Claims of documents compared with what was measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.answers.scope import select
from caniexport.answers.signs import CLAIM, WHY_NOT
from caniexport.store import Dataset


@dataclass(frozen=True)
class JudgedClaim:
    """One claim of a source about some versions, and its outcome in the rows. ``expects`` is it as data.

    ``why_not`` is the reviewed reason why it is not reproduced (:data:`~caniexport.answers.signs.WHY_NOT`), else empty.
    """

    claim: str
    case: str
    variant: str
    record: str
    source: str
    says: str
    torch: str
    exporter: str
    opset: str
    expects: dict[str, Any]
    outcome: str
    reason: str
    cells: tuple[str, ...]
    runtime: str = ""
    why_not: str = ""

    @property
    def versions(self) -> str:
        """The versions it names, for a person: ``torch ==1.10.*, torchscript-trace, opset 14``."""
        parts = [f"torch {self.torch}" if self.torch else "any torch", self.exporter]
        parts += [f"opset {self.opset}" if self.opset else "", self.runtime]
        return ", ".join(filter(None, parts))

    @property
    def word(self) -> str:
        """The outcome, and why where it is not reproduced: ``not-reproduced (form-not-met)``."""
        return f"{self.outcome} ({self.why_not})" if self.why_not else self.outcome


@dataclass(frozen=True)
class Claims:
    """Counts of every outcome, whatever the filter on outcomes, and the claims one by one.

    ``why_not`` counts the reasons of those that are not reproduced.
    """

    counts: dict[str, int]
    claims: tuple[JudgedClaim, ...]
    why_not: dict[str, int]


def find_claims(dataset: Dataset, filters: Filters, sources: Iterable[str] = ()) -> Claims:
    """Return the claims that the filters and sources take; ``filters.statuses`` are outcomes here, or reasons.

    ``sources`` are source names or record ids, globs allowed. Raises :class:`UnknownName` for a name nobody knows.
    """
    found = read_claims(dataset)
    outcomes = names.require_all("outcome", filters.statuses, (*CLAIM, *WHY_NOT))
    known = dict.fromkeys(name for item in found for name in (item.source, item.record) if name)
    wanted = names.require_all("source", sources, known)
    selection = select(dataset, Filters(cases=filters.cases, themes=filters.themes, ops=filters.ops))
    about = [
        item
        for item in found
        if (item.case, item.variant) in selection.catalogue
        and (not wanted or item.source in wanted or item.record in wanted)
    ]
    counts = Counter(item.outcome for item in about)
    why_not = Counter(item.why_not for item in about)
    kept = tuple(item for item in about if not outcomes or outcomes & {item.outcome, item.why_not})
    return Claims({outcome: counts[outcome] for outcome in CLAIM}, kept, {word: why_not[word] for word in WHY_NOT})


def read_claims(dataset: Dataset, cases: Iterable[str] = ()) -> list[JudgedClaim]:
    """Return every claim of the dataset, or those about ``cases``, by case and number."""
    wanted = tuple(dict.fromkeys(cases))
    rows = dataset.records("claims", {"case": wanted} if wanted else None)
    found = []
    for row in sorted(rows, key=lambda row: str(row["claim"])):
        own = {"expects": json.loads(row.get("expects") or "{}"), "cells": tuple(row.get("cells") or ())}
        found.append(JudgedClaim(**{item.name: str(row.get(item.name) or "") for item in fields(JudgedClaim)} | own))
    return found
