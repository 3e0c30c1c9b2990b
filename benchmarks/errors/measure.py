"""The matcher's answers to labeled error texts, compared with their labels.

``python benchmarks/errors/measure.py [--set NAME] [--misses]``

A text of ``errors.jsonl`` counts as

- right first: the first case is one of ``cases``, or the first operator is one of ``operators``; where the label has
  neither, no case is called the same error or the same cause
- right in three: the same of the first three
- called the same: a case among the first three is called the same error; wrong where it is neither in ``cases`` nor in
  ``similar``
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
from caniexport.match.errors import ErrorIndex, ErrorMatch, Likeness, match_error
from caniexport.operators import operator_key, operator_keys

LABELS = Path(__file__).with_name("errors.jsonl")


@dataclass(frozen=True)
class Judged:
    """The matcher's answer to one labeled text, and whether it is right."""

    label: dict[str, Any]
    match: ErrorMatch
    first: bool
    three: bool
    same: bool
    same_wrong: bool


def read_labels(sets: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the labeled texts of these sets, of all where none is named."""
    labels = map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())
    return [label for label in labels if not sets or label["set"] in sets]


def judge(index: ErrorIndex, label: dict[str, Any]) -> Judged:
    """Match one labeled text and compare the answer with its label."""
    match = match_error(index, label["text"])
    right, wanted = set(label["cases"]), operator_keys(label["operators"])
    cases = [lead.case for lead in match.leads]
    operators = [operator_key(op) for op in match.evidence.operators]
    silent = not right and not wanted and not match.is_known

    def is_right(number: int) -> bool:
        return silent or bool(right & set(cases[:number])) or bool(wanted & set(operators[:number]))

    same = {lead.case for lead in match.leads[:3] if lead.shares is Likeness.ERROR}
    return Judged(label, match, is_right(1), is_right(3), bool(same), bool(same - right - set(label["similar"])))


def describe(name: str, judged: list[Judged]) -> str:
    """Return one line of figures."""
    every, same = len(judged), sum(item.same for item in judged)
    first, three = sum(item.first for item in judged), sum(item.three for item in judged)
    wrong = sum(item.same_wrong for item in judged)
    shares = f"first {first:4} ({100 * first / every:3.0f} %)  in three {three:4} ({100 * three / every:3.0f} %)"
    return f"{name:10} {every:4} texts  {shares}  called the same {same:3}, wrong {wrong}"


def _misses(judged: Iterable[Judged]) -> Iterator[str]:
    for item in judged:
        if not item.first or item.same_wrong:
            label, match = item.label, item.match
            yield f"\n{label['id']}: cases {label['cases']}, similar {label['similar']}, operators {label['operators']}"
            yield f"  text: …{label['text'][-200:]!r}"
            yield f"  reasons: {[(reason.kind, reason.line[:100]) for reason in match.evidence.reasons[:3]]}"
            yield f"  operators: {match.evidence.operators[:4]}"
            yield f"  leads: {[(lead.case, lead.shares.name, lead.score) for lead in match.leads[:4]]}"


def main() -> int:
    """Print the figures of each set and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], help="only this set; may be repeated")
    parser.add_argument("--misses", action="store_true", help="show the wrong answers")
    asked = parser.parse_args()
    index = ErrorIndex.of(caniexport.open())
    judged = [judge(index, label) for label in read_labels(asked.set)]
    for name in dict.fromkeys(item.label["set"] for item in judged):
        print(describe(name, [item for item in judged if item.label["set"] == name]))
    print(describe("all", judged))
    if asked.misses:
        print(*_misses(judged), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
