"""A provider's outputs held against those of the CPU provider: the same file and inputs in the same process.

The status of a row is by eager's outputs alone; what is found here are facts of the row::

    {"cpu": {"status": "pass", "agrees": true, "max_abs_error": 2e-07, "max_rel_error": 1e-06,
             "rtol": 0.0001, "atol": 1e-05}}

``status`` is how the CPU provider's own outputs end against eager's (with ``signature`` where it does not pass);
``agrees`` is whether the provider's are within the tolerance of the CPU's, and ``differs`` says where they are not.
The numbers are there where both gave outputs.
"""

from __future__ import annotations

from typing import Any, Dict

from caniexport.model.status import Stage, Status
from caniexport.runner import one
from caniexport.runner.adapters.base import Adapter
from caniexport.runner.archive import Archive, ArchiveEntry
from caniexport.runner.one import BundleResult
from caniexport.worker.failures import Ending, Outcome

#: rows that say nothing of a runtime: its CPU provider has nothing to add
_SAYS_NOTHING = (Status.SKIP.value, Status.INVALID.value)
_WORDS = 300


def is_comparable(outcome: Outcome) -> bool:
    """Whether the CPU provider is to be asked."""
    return outcome.row["status"] not in _SAYS_NOTHING


def compare_with_cpu(
    cpu: Adapter, archive: Archive, entry: ArchiveEntry, ran: BundleResult, may_change: float = 0.0
) -> Outcome:
    """The outcome with the facts that the CPU provider ``cpu`` adds. Never raises."""
    second = one.run_bundle(cpu, archive, entry, _silent)
    row = second.outcome.row
    facts: Dict[str, Any] = {name: row[name] for name in ("status", "signature") if row.get(name)}
    if ran.outputs is not None and second.outputs is not None:
        facts.update(_measure_difference(entry, ran, second, may_change))
    return _add_facts(ran.outcome, facts)


def note_end(so_far: Outcome, ending: Ending, text: str) -> Outcome:
    """The outcome of a bundle whose file ended the process on the CPU provider."""
    return _add_facts(so_far, {"status": ending.status.value, "signature": text[:_WORDS]})


def _measure_difference(
    entry: ArchiveEntry, ran: BundleResult, second: BundleResult, may_change: float
) -> Dict[str, Any]:
    try:
        found = one.measure_difference(entry, second.outputs or [], ran.outputs or [], "the provider", may_change)
    except Exception as error:  # values that are no arrays: told, as whatever else is found
        return {"agrees": False, "differs": str(error)[:_WORDS]}
    if found is None:
        return {}
    facts: Dict[str, Any] = {"agrees": not found.problem, "rtol": found.rtol, "atol": found.atol}
    facts.update(max_abs_error=_round(found.max_abs), max_rel_error=_round(found.max_rel))
    if found.problem:
        facts["differs"] = found.problem[:_WORDS]
    return facts


def _add_facts(outcome: Outcome, facts: Dict[str, Any]) -> Outcome:
    return outcome._replace(row=dict(outcome.row, facts=dict(outcome.row.get("facts", {}), cpu=facts)))


def _round(value: float) -> float:
    """Three digits: what an error is worth, and a row that stays small."""
    return float("{:.3g}".format(value))


def _silent(_: Stage) -> None:
    """Stages of the CPU provider are not the bundle's."""
