"""Operators on runtimes: ONNX's own node tests, counted by operator, opset and release of a runtime."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from caniexport import names, versions
from caniexport.bundles import node_tests
from caniexport.model.status import WORKS
from caniexport.store import Dataset

_COLUMNS = ("runtime", "runtime_version", "provider", "case", "variant", "status")
_VARIANT = _COLUMNS.index("variant")


@dataclass(frozen=True)
class OperatorLine:
    """The tests of one operator in files of one opset, on one release of a runtime.

    statuses  how many tests ended how; those that are marked (random values, …) are not among them
    failing   names of those that do not pass
    """

    operator: str
    opset: int
    runtime: str
    version: str
    provider: str
    statuses: dict[str, int]
    failing: list[str]

    @property
    def tests(self) -> int:
        """How many tests there are."""
        return sum(self.statuses.values())

    @property
    def passed(self) -> int:
        """How many of them work."""
        return self.tests - len(self.failing)


def operators(dataset: Dataset, patterns: Iterable[str]) -> list[OperatorLine]:
    """Lines of the operators that these names or globs mean, by operator, opset, runtime and version.

    Raises :class:`UnknownName` for an operator that has no test.
    """
    rows = dataset.run_groups(_COLUMNS, {}, {"corpus": (node_tests.CORPUS,)})
    about = {row[_VARIANT]: node_tests.about(row[_VARIANT]) for row in rows if row[_VARIANT] is not None}
    wanted = names.require_all("operator", tuple(patterns), sorted({item.operator for item in about.values()}))
    grouped: dict[tuple[str, int, str, str, str], dict[str, str]] = defaultdict(dict)
    for runtime, version, provider, case, variant, status in rows:
        found = about[variant]
        if found.operator in wanted and not found.mark:
            grouped[found.operator, found.opset, runtime, version or "", provider][case] = status
    order = sorted(grouped, key=lambda key: (key[0], key[1], key[2], key[4], versions.parse(key[3] or "0")))
    return [_line(key, grouped[key]) for key in order]


def _line(key: tuple[str, int, str, str, str], ended: dict[str, str]) -> OperatorLine:
    failing = sorted(case for case, status in ended.items() if status not in WORKS)
    return OperatorLine(*key, dict(sorted(Counter(ended.values()).items())), failing)
