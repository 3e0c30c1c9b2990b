"""The matcher of error texts held against texts whose right answers were found by hand.

``python benchmarks/matcher/errors.py [--half build] [--misses]``

``README.md`` beside this file says what ``errors.jsonl`` and ``fresh.jsonl`` hold. Of each text it is asked:

- right first: the first case is one of ``cases``, or the first operator named is one of ``operators``; where a text
  has neither, that no case is called the same error or the same cause. An operator that is only named besides is first
  where no case leads
- right in three: the same of the first three
- wrong «same error»: the texts with a case called «the same error» among the first three that is neither in ``cases``
  nor in ``similar``
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import caniexport
from caniexport.match.error_index import ErrorIndex, index_errors
from caniexport.match.errors import Confidence, ErrorMatch, match_error
from caniexport.operators import operator_key, operator_keys

FILES = (
    "errors.jsonl",
    "fresh.jsonl",
    "later.jsonl",
    "mixed.jsonl",
    "threads.jsonl",
    "projects.jsonl",
    "reports.jsonl",
    "pastes.jsonl",
    "posts.jsonl",
    "slices.jsonl",
    "places.jsonl",
    "streets.jsonl",
    "roads.jsonl",
    "lanes.jsonl",
    "paths.jsonl",
    "trails.jsonl",
    "fields.jsonl",
    "alleys.jsonl",
)
TEXTS = tuple(Path(__file__).with_name(name) for name in FILES)
HALVES = (
    *("build", "held_out", "fresh", "final", "later", "mixed", "mixed_held_out", "threads", "threads_held_out"),
    *("projects", "projects_held_out", "reports", "reports_held_out", "pastes", "posts", "slice_images", "slice_words"),
    *("places_older", "places_newer", "streets", "roads_older", "roads_newer", "lanes_older", "lanes_newer", "paths"),
    *("trails", "fields_older", "fields_newer", "alleys"),
)
_SURE = (Confidence.EXACT, Confidence.CAUSE)


@dataclass(frozen=True)
class Judged:
    """A labelled text, what the matcher made of it, and whether that is right."""

    label: dict[str, Any]
    match: ErrorMatch
    first: bool
    three: bool
    same: bool
    same_wrong: bool


def judge(index: ErrorIndex, label: dict[str, Any]) -> Judged:
    """Ask the matcher about one labelled text."""
    match = match_error(index, label["text"])
    right, wanted = set(label["cases"]), operator_keys(label["operators"])
    cases = [lead.case for lead in match.leads]
    named, beside = (tuple(map(operator_key, ops)) for ops in (match.evidence.operators, match.evidence.beside))
    # an operator that is only named leads where no case does
    is_led = any(lead.confidence is not Confidence.WORDS for lead in match.leads[:1])
    operators = (*named, *beside)
    silent = not right and not wanted and not any(lead.confidence in _SURE for lead in match.leads[:1])
    first = silent or _meet(cases[:1], right) or _meet((named if is_led else operators)[:1], wanted)
    three = silent or _meet(cases[:3], right) or _meet(operators[:3], wanted)
    same = [lead.case for lead in match.leads[:3] if lead.confidence is Confidence.EXACT]
    return Judged(label, match, first, three, bool(same), bool(set(same) - right - set(label["similar"])))


def _meet(found: Iterable[str], right: Iterable[str]) -> bool:
    return not set(found).isdisjoint(right)


def tell(half: str, judged: list[Judged]) -> str:
    """One half's figures."""
    every = len(judged)

    def share(number: int, of: int) -> str:
        return f"{number} of {of} ({100 * number / max(of, 1):.0f} %)"

    same = sum(item.same for item in judged)
    return (
        f"{half}: {every} texts; right first {share(sum(item.first for item in judged), every)}; "
        f"right in three {share(sum(item.three for item in judged), every)}; "
        f"called the same error {same}, wrong {share(sum(item.same_wrong for item in judged), same)}"
    )


def _misses(judged: Iterable[Judged]) -> Iterator[str]:
    for item in judged:
        if not item.first or item.same_wrong:
            label, match = item.label, item.match
            yield f"\n{label['id']}: cases {label['cases']}, similar {label['similar']}, operators {label['operators']}"
            yield f"  text: …{label['text'][-200:]!r}"
            yield f"  reasons: {[(reason.kind, reason.line[:100]) for reason in match.evidence.reasons[:3]]}"
            yield f"  operators: {match.evidence.operators[:4]}"
            yield f"  leads: {[(lead.case, lead.confidence.name, lead.score) for lead in match.leads[:4]]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, action="append")
    parser.add_argument("--misses", action="store_true", help="show what was answered wrongly")
    asked = parser.parse_args()
    labels = [json.loads(line) for path in TEXTS for line in path.read_text(encoding="utf-8").splitlines()]
    index = index_errors(caniexport.open())
    for half in asked.half or HALVES:
        judged = [judge(index, label) for label in labels if label["half"] == half]
        print(tell(half, judged))
        if asked.misses:
            print(*_misses(judged), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
