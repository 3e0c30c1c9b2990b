"""Effects of companion packages: cells of a case with another outcome in another profile."""

from __future__ import annotations

from caniexport import versions
from caniexport.answers.answer import Code, Link, Mark, Range, Table
from caniexport.answers.point import call_text
from caniexport.home import NEWEST
from caniexport.model.status import Exporter, Status
from caniexport.profiles import PERIOD
from caniexport.store import Dataset
from caniexport.store.views import Views

#: cells that were measured in both profiles with different outcomes
_DIFFER = """SELECT torch, exporter, list(a.opset ORDER BY a.opset), a.status, b.status
    FROM cells a JOIN cells b USING ("case", variant, torch, exporter, provider) JOIN version USING (torch)
    WHERE "case" = $1 AND variant = 'plain' AND provider = 'cpu' AND a.profile = $2 AND b.profile = $3
        AND a.opset IS NOT DISTINCT FROM b.opset AND a.status <> b.status
        AND works(a.status) IS NOT NULL AND works(b.status) IS NOT NULL
    GROUP BY torch, n, exporter, a.status, b.status ORDER BY n DESC, exporter, min(a.opset)"""


def profile_difference_table(dataset: Dataset, case: str, profile: str = PERIOD) -> Table:
    """Return where the original of a case has another outcome in a profile than with the newest packages."""
    views = Views.of(dataset)
    for name in (profile, NEWEST):
        views.include(name)
    rows = tuple(
        (
            Link(torch, "case", {"case": case, "torch": torch, "exporter": exporter, "profile": profile}),
            Code("the default call" if exporter == Exporter.DEFAULT.value else call_text(torch, exporter)),
            Range(versions.opset_text(opsets), tuple(opsets)),
            Mark(Status(there)),
            Mark(Status(newest)),
        )
        for torch, exporter, opsets, there, newest in views.fetch(_DIFFER, [case, profile, NEWEST])
    )
    heading = "packages of its time" if profile == PERIOD else profile
    return Table("with other companion packages", ("torch", "call", "opset", heading, "newest packages"), rows)
