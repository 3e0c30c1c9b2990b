"""What the search of the static copy reads, as a script: a page opened from a disk may load no other file."""

from __future__ import annotations

import json
from collections.abc import Mapping

from caniexport.answers.select import CatalogueEntry
from caniexport.answers.support import Support
from caniexport.match.errors import index_errors
from caniexport.model.case import PLAIN
from caniexport.pages import looks
from caniexport.pages.kept import Kept
from caniexport.pages.overview import EXPORTERS, cases
from caniexport.pages.site.paths import case_file


def script(kept: Kept) -> str:
    """The cases with their words and answers, and the first lines of errors with their cases."""
    entries = cases(kept)
    number = {entry.case: index for index, entry in enumerate(entries)}
    listed = [
        {
            "name": entry.case,
            "title": entry.title or entry.case,
            "file": case_file(entry.case),
            "words": _words(entry.case, kept.rows().catalogue),
            "answers": [_answer(item) for item in kept.supports(entry.case, PLAIN) if item.exporter in EXPORTERS],
        }
        for entry in entries
    ]
    errors: dict[str, set[int]] = {}
    for known in index_errors(kept).known:
        lines = [line for line in known.seen.text.splitlines() if line.strip()][:1]
        for case in known.seen.cases & number.keys():
            if lines:
                errors.setdefault(lines[0][:400], set()).add(number[case])
    told = [{"text": text, "cases": sorted(found)} for text, found in sorted(errors.items())]
    data = json.dumps({"cases": listed, "errors": told}, ensure_ascii=False, separators=(",", ":"))
    return f"window.CANIEXPORT = {data}\n"


def _words(case: str, catalogue: Mapping[tuple[str, str], CatalogueEntry]) -> str:
    """Everything that a word may be found in, in lower case."""
    mine = [entry for (name, _), entry in catalogue.items() if name == case]
    said = []
    for entry in mine:
        said += [
            entry.case,
            entry.title,
            entry.theme,
            entry.variant,
            entry.note,
            entry.kind,
            *entry.ops,
            *entry.sources,
        ]
        said += [f"torch.{op.split('::')[-1]}" for op in entry.ops if op.startswith("aten::")]
    return "\n".join(dict.fromkeys(filter(None, said))).casefold()


def _answer(item: Support) -> tuple[str, str, str, str]:
    """Class, sign and word, exporter, sentence."""
    elsewhere = f" ({item.otherwise_text})" if item.otherwise_text else ""
    look = looks.STATUS[item.status]
    return look.css, look.name, looks.EXPORTER[item.exporter], item.text + elsewhere
