"""How long failures lived: from the first release on which a case failed to the one that mended it for good."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from caniexport.store import Dataset
from caniexport.store.views import Views

#: releases that a failure lived: the most of each span, and its name
SPANS = ((1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"), (16, "9-16"), (99, "17 or more"))
NOT_MENDED = "not mended"


def count_lived(dataset: Dataset) -> Mapping[str, Counter[str]]:
    """By exporter: how many failures lived how many measured releases, a case working where it does at some opset.

    A case that never failed is not counted.
    """
    rows = Views.of(dataset).fetch(
        """WITH ended AS (
            SELECT "case", exporter, row_number() OVER (PARTITION BY "case", exporter ORDER BY n) AS n, works FROM (
                SELECT "case", exporter, n, bool_or(works(status)) AS works FROM cells JOIN version USING (torch)
                JOIN original USING ("case", variant)
                WHERE profile = $1 AND provider = 'cpu' AND exporter <> 'default' AND status <> 'unsupported'
                    AND works(status) IS NOT NULL
                GROUP BY ALL)),
        lived AS (SELECT "case", exporter, min(n) FILTER (NOT works) AS first, max(n) FILTER (NOT works) AS last,
            max(n) AS newest FROM ended GROUP BY ALL)
        SELECT exporter, last - first + 1, last = newest FROM lived WHERE first IS NOT NULL""",
        [dataset.profile],
    )
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for exporter, lived, is_open in rows:
        found[exporter][NOT_MENDED if is_open else next(name for most, name in SPANS if lived <= most)] += 1
    return found
