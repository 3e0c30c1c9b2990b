"""A call of an operator of torch's database, explained: from the rows on this machine, else from the summary.

The rows of these calls are not published, so an answer says how to have them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from caniexport import names, versions
from caniexport.answers.select import exporter_names
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.model.made_cases import OF_PYTHON, OPERATORS
from caniexport.store import Dataset

#: how the names of these cases begin
PREFIXES = ("op-", "promotion-")
_COLUMNS = ("variant", "torch", "exporter", "opset", "stage", "status", "message_id")


@dataclass(frozen=True)
class OperatorEnd:
    """How calls end in a release with an exporter at some opsets.

    calls  the variants that end so (``float32-plain``); of the summary how many of how many pass
    text   the message of the first; of the summary its signature
    """

    torch: str
    exporter: str
    opsets: str
    calls: str
    stage: str
    status: str
    text: str


@dataclass(frozen=True)
class OperatorWhy:
    """What is known of the calls of a case: ``ends``, where they come from, and the command that makes the rows."""

    case: str
    variant: str
    ends: tuple[OperatorEnd, ...]
    known_from: str
    rows_by: str


def is_of_operators(case: str) -> bool:
    """Whether a case is one of torch's database: ``op-add``, ``promotion-sub/int64-float-left``."""
    return case.startswith(PREFIXES)


def why_operator(summary: OperatorsSummary, local: Path, asked: str, given: Mapping[str, Sequence[str]]) -> OperatorWhy:
    """The ends of a case's calls, or of one, within the filters ``torch``, ``exporter`` and ``opset``.

    Raises :class:`caniexport.model.errors.UnknownName` for an operator, release or exporter that nobody knows.
    """
    case, _, variant = asked.partition("/")
    op = operator_of(case)
    if op not in summary.operators:
        raise names.unknown("case", case, [f"op-{name}" for name in summary.operators])
    torch = {versions.resolve(text, summary.releases) for text in given.get("torch", ())}
    exporters = set(exporter_names(given.get("exporter", ())))
    where = {"torch": tuple(torch), "exporter": tuple(exporters), "opset": _numbers(given.get("opset", ()))}
    where = {name: values for name, values in where.items() if values}
    rows = _of_rows(local, case, variant, where)
    here = {end.torch for end in rows}
    others = [end for end in _of_summary(summary, op, variant, where) if end.torch not in here]
    found = sorted([*others, *rows], key=lambda end: versions.parse(end.torch))
    known_from = [f"rows on this machine (torch {', '.join(versions.ordered(here))})"] if here else []
    known_from += ["the summary of published rows"] if others else []
    release = next(iter(torch), summary.releases[-1])
    rows_by = f"caniexport measure --corpus {OPERATORS} --release {release} --case {asked}"
    return OperatorWhy(case, variant, tuple(found), " and ".join(known_from), rows_by)


def operator_of(case: str) -> str:
    """The operator of a case, as torch's database names it: ``promotion-truediv`` is about ``true_divide``."""
    kind, _, name = case.partition("-")
    return OF_PYTHON.get(name, name) if kind == "promotion" else name


def _numbers(texts: Iterable[str]) -> tuple[int, ...]:
    return tuple(opset for opset in range(1, 40) if any(versions.opset_in(opset, text) for text in texts))


def _of_rows(local: Path, case: str, variant: str, where: Mapping[str, tuple[object, ...]]) -> list[OperatorEnd]:
    dataset = Dataset.open(None, local)
    only = {"case": (case,), **({"variant": (variant,)} if variant else {}), **where}
    groups: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for call, torch, exporter, opset, stage, status, message in dataset.select(_COLUMNS, only):
        groups[torch, exporter, stage, status, message or ""].append((call, opset))
    texts = dataset.messages(key[-1] for key in groups)
    ends = [
        OperatorEnd(
            torch,
            exporter,
            versions.opset_text({opset for _, opset in own}),
            ", ".join(dict.fromkeys(call for call, _ in own)),
            stage,
            status,
            texts.get(message, ""),
        )
        for (torch, exporter, stage, status, message), own in groups.items()
    ]
    return sorted(ends, key=lambda end: (versions.parse(end.torch), end.exporter, end.status, end.calls))


def _of_summary(
    summary: OperatorsSummary, op: str, variant: str, where: Mapping[str, tuple[object, ...]]
) -> list[OperatorEnd]:
    dtype, _, rest = variant.partition("-")
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in summary.rows("op = ? AND exporter IS NOT NULL", [op]):
        values = {"torch": row.torch, "exporter": row.exporter, "opset": row.opset}
        wanted = not variant or (row.dtype == dtype and (row.form or "") in (rest, rest.partition("-")[2]))
        if wanted and all(values[name] in kept for name, kept in where.items()):
            form = f" {row.form}" if row.form else ""
            calls = f"{row.dtype}{form}: {row.passing} of {row.calls} pass"
            said = f"{row.sample}: {row.signature}" if row.signature else ""
            stage = (row.signature or "").partition("|")[0]
            groups[row.torch, row.exporter or "", calls, stage, row.status, said].append(row.opset or 0)
    ends = [
        OperatorEnd(torch, exporter, versions.opset_text(opsets), calls, stage, status, said)
        for (torch, exporter, calls, stage, status, said), opsets in groups.items()
    ]
    return sorted(ends, key=lambda end: (versions.parse(end.torch), end.exporter, end.calls))
