"""The summary of the operators corpus: of each operator, dtype, exporter, opset and release how many calls pass.

The rows themselves stay in the local dataset: they are a hundred times as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.corpus.operator_table import table_path
from caniexport.model.made_cases import OF_PYTHON, OPERATORS, parse_release, read_entries
from caniexport.model.status import WORKS, Stage, Status
from caniexport.store import Dataset, digests, writer

if TYPE_CHECKING:
    from caniexport.home import Home
    from caniexport.model.made_cases import DatabaseEntry

NAME = "operators"
_COLUMNS = ("case", "variant", "exporter", "opset", "stage", "status", "signature", "ops")
_ORDER = [status.value for status in Status]
_WORKS = {status.value for status in WORKS}
_SAMPLES = ("plain", "shape", "arguments")


@dataclass(frozen=True)
class OperatorsReport:
    """What a summary holds: rows by release, and the bytes of its file; ``problems`` are what could not be read."""

    releases: dict[str, int]
    size: int
    problems: tuple[str, ...]


class CallRow(NamedTuple):
    """How a call ended."""

    sample: str
    stage: str
    status: str
    signature: str | None
    ops: str | None


def publish_operators(home: Home, *, write: bool = True) -> OperatorsReport:
    """Write the summary: that of the releases with local rows anew, those of others as it was published."""
    dataset = Dataset.open(None, home.local)
    entries = read_entries(table_path(home))
    measured = sorted(
        (str(torch) for (torch,) in dataset.distinct(("torch",), {"corpus": (OPERATORS,)})), key=parse_release
    )
    fresh = {release: list(summarize(release, _cells(dataset, release), entries)) for release in measured}
    path = home.published / f"{NAME}.parquet"
    rows = [row for row in Dataset.open(home.published, None).records(NAME) if row["torch"] not in fresh]
    rows += [row for found in fresh.values() for row in found]
    if write and rows:
        with digests.update_manifest(home.published):
            writer.write_rows(path, NAME, rows)
    size = path.stat().st_size if path.is_file() else 0
    counts = {release: sum(row["torch"] == release for row in rows) for release in {row["torch"] for row in rows}}
    return OperatorsReport(
        dict(sorted(counts.items(), key=lambda item: parse_release(item[0]))), size, dataset.problems
    )


def summarize(
    release: str, cells: Iterable[tuple[Any, ...]], entries: Iterable[DatabaseEntry]
) -> Iterator[dict[str, Any]]:
    """The rows of a release: of its cells (columns ``case`` to ``ops``), and of what the table leaves out."""
    known = {entry.name: entry for entry in entries if entry.holds(release)}
    groups: dict[tuple[Any, ...], list[CallRow]] = {}
    for case, variant, exporter, opset, *ended in cells:
        op, dtype, form, sample = _call(case, variant)
        groups.setdefault((op, dtype, form, exporter, opset), []).append(CallRow(sample, *ended))
    for (op, dtype, form, exporter, opset), calls in groups.items():
        place = {"torch": release, "op": op, "dtype": dtype, "form": form, "exporter": exporter, "opset": opset}
        yield {**place, **_judge(calls), "arguments": _arguments(known.get(op), form, calls)}
    for entry in known.values():
        for dtype, reason in entry.left_out.items():
            yield {
                **dict.fromkeys(("form", "exporter", "opset", "sample", "arguments", "ops")),
                **{"torch": release, "op": entry.name, "dtype": dtype or None, "calls": 0, "passing": 0},
                **{"status": Status.SKIP.value, "signature": reason},
            }


def _call(case: str, variant: str) -> tuple[str, str, str | None, str]:
    """Operator, dtype, form and sample of a variant."""
    dtype, which, *form = variant.split("-")
    kind, _, name = case.partition("-")
    if kind == "promotion":
        return OF_PYTHON.get(name, name), dtype, "-".join((which, *form)), "plain"
    return name, dtype, form[0] if form else None, which


def _arguments(entry: DatabaseEntry | None, form: str | None, calls: Sequence[CallRow]) -> str | None:
    """What each call is given, a line each; none of calls that the database does not have."""
    if entry is None or "-" in (form or ""):
        return None
    samples = {call.sample for call in calls}
    return "\n".join(f"{name}: {entry.arguments.get(name, '')}" for name in _SAMPLES if name in samples)


def _judge(calls: Sequence[CallRow]) -> dict[str, Any]:
    """Return the result of the calls at one point; calls that torch itself refuses do not count."""
    asked = [call for call in calls if call.stage != Stage.EAGER.value]
    in_order = sorted(asked or calls, key=lambda call: _SAMPLES.index(call.sample))
    bad = next((call for call in in_order if call.status not in _WORKS), None)
    worst = max((call.status for call in in_order), key=_ORDER.index) if asked else Status.SKIP.value
    return {
        "calls": len(asked),
        "passing": sum(call.status in _WORKS for call in asked),
        "status": worst,
        "sample": bad.sample if bad else None,
        "signature": bad.signature if bad else None,
        "ops": next((call.ops for call in in_order if call.status in _WORKS), None),
    }


def _cells(dataset: Dataset, release: str) -> list[tuple[Any, ...]]:
    return dataset.select(_COLUMNS, {"torch": (release,), "corpus": (OPERATORS,)})
