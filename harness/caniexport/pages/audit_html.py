"""The last audit as HTML: published cells that a plain script measured again."""

from __future__ import annotations

from caniexport.audit.saved import LastAudit
from caniexport.pages.markup import escape, plural


def told(audit: LastAudit | None) -> str:
    """When it was, how many cells agree, and a line for each that does not."""
    how = "<code>caniexport audit</code> draws published cells and measures them again with a plain script."
    if audit is None:
        return f'<p class="hint">{how} None is kept in this dataset.</p>'
    lines = "".join(f"<li>{escape(line)}</li>" for line in audit.differing)
    return (
        f'<p class="hint">{how} On {audit.measured_at:%Y-%m-%d} (seed {audit.seed}) {audit.agreeing:,} of '
        f"{audit.cells:,} cells of {plural(len(audit.releases), 'torch release')} were as published.</p>"
        + (f'<ul class="notes">{lines}</ul>' if lines else "")
    )
