"""How often two runtimes end the same on the same files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from caniexport import versions
from caniexport.bundles import node_tests, probes
from caniexport.store import Dataset
from caniexport.store.elsewhere import Runtime

_MEASURE = {"worst": "min(CASE WHEN status IN ('pass', 'degraded') THEN 1 ELSE 0 END)"}
_BY = ("runtime", "runtime_version", "provider", "bundle")


def agreement(dataset: Dataset) -> Mapping[tuple[str, str], tuple[int, int]]:
    """By two runtimes: of how many files that both ran both work or both do not, and how many both ran.

    Of each runtime on a provider its newest release speaks. What one of them only parses says nothing of values.
    """
    works = _by_runtime(dataset)
    found = {}
    for one, mine in works.items():
        for other, theirs in works.items():
            both = mine.keys() & theirs.keys()
            found[one.text, other.text] = sum(mine[name] == theirs[name] for name in both), len(both)
    return found


def _by_runtime(dataset: Dataset) -> dict[Runtime, dict[str, bool]]:
    apart = (probes.CORPUS, node_tests.CORPUS)
    where = {"corpus": [name for (name,) in dataset.run_groups(("corpus",), {}) if name not in apart]}
    places = [Runtime(*place) for place in dataset.run_groups(_BY[:3], {}, where)]
    newest: dict[tuple[str, str], Runtime] = {}
    for place in sorted(places, key=lambda place: versions.parse(place.version or "0")):
        newest[place.name, place.provider] = place
    found: dict[Runtime, dict[str, bool]] = defaultdict(dict)
    for place in newest.values():
        mine = {**where, "runtime": (place.name,), "runtime_version": (place.version,), "provider": (place.provider,)}
        for *_, bundle, worst in dataset.run_groups(_BY, _MEASURE, mine):
            found[place][bundle] = bool(worst)
    return found
