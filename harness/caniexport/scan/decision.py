"""What a scan comes to, in one sentence."""

from __future__ import annotations

from collections import Counter

from caniexport import names
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import Workaround
from caniexport.scan.judge import SiteFinding
from caniexport.scan.scan import SourceScan

#: of a workaround with this word: one, and several
_TEXTS = {
    Workaround.HARMFUL: ("does harm", "do harm"),
    Workaround.BROKEN: ("does not help", "do not help"),
    Workaround.NEEDED: ("is still needed", "are still needed"),
    Workaround.OBSOLETE: ("can go", "can go"),
    Workaround.UNKNOWN: ("cannot be judged", "cannot be judged"),
}
#: arguments that are named
_MOST = 4


def workarounds(found: SourceScan) -> list[SiteFinding]:
    """Return the findings that are workarounds: no arguments of export calls, no branches without a measured case."""
    return [item for item in found.findings if not (item.is_setting or item.is_undecided)]


def decide(found: SourceScan) -> str:
    """Return ``9 workarounds: 2 are still needed, 7 cannot be judged. Held against torch 2.8.0, …``.

    What does harm in the export calls themselves is the first sentence.
    """
    bad = [item.site.argument for item in found.findings if item.is_setting and item.word is Workaround.HARMFUL]
    which = names.some(list(dict.fromkeys(bad)), _MOST)
    at_fault = f"Harmful in export calls: {which}. " if bad else ""
    counts = Counter(item.word for item in workarounds(found))
    known = ", ".join(f"{counts[word]} {_TEXTS[word][counts[word] > 1]}" for word in _TEXTS if counts[word])
    one = counts.total() == 1
    whole = f"{counts.total()} workaround{'' if one else 's'}: {known}" if known else "No workaround was found"
    return f"{at_fault}{whole}. Held against {point(found)}."


def point(found: SourceScan) -> str:
    """Return ``torch 2.5.1 to 2.8.0, trace, opset 17``: what the workarounds are held against."""
    span = " to ".join(dict.fromkeys((found.releases[0], found.releases[-1])))
    own = EXPORTER_SHORT.get(found.exporter or "", "each release's own exporter")
    exporter = " and ".join(found.exporters) or own
    return f"torch {span}, {exporter}, {f'opset {found.opset}' if found.opset else 'its own opset'}"
