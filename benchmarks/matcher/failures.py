"""What ``check`` leads to for the failures of real models, held against labels made by hand.

``python benchmarks/matcher/failures.py [--misses]``

Each failure of ``models.jsonl`` that has an error is asked about as ``check`` asks, at its release and exporter and at
opset 18. ``model_labels.jsonl`` says of a text that ``has`` these words which ``cases`` are right, which ``similar``
ones may stand beside them, and which ``operators`` the text is about. A failure is

- right first: the first case named is right; where no case is, that none is named as the same error or the same cause
- right in three: the same of the three that are named
- wrong: a case is named that is neither right nor similar; «same» where it is called the same error or the same cause

Wrong values have no error; of them it counts to how many a case is named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import caniexport
from caniexport.check.inside import GIVEN
from caniexport.check.matching import Corpus, FailurePoint, Match
from caniexport.match.errors import Confidence
from caniexport.model.status import Status

HERE = Path(__file__).parent
_SURE = (Confidence.EXACT.value, Confidence.CAUSE.value)
_OPSET = 18


@dataclass(frozen=True)
class JudgedFailure:
    """A failure of a model, its label (empty for wrong values), and the cases that ``check`` names for it."""

    model: str
    release: str
    failure: dict[str, Any]
    label: dict[str, Any]
    matches: tuple[Match, ...]

    @property
    def words(self) -> list[str]:
        """What is true of it."""
        right, fine = set(self.label["cases"]), set(self.label["cases"]) | set(self.label["similar"])
        named = [match.case for match in self.matches]
        sure = [match.case for match in self.matches if match.why.startswith(_SURE)]
        silent = not right and not sure
        told = {
            "right first": silent or not right.isdisjoint(named[:1]),
            "right in three": silent or not right.isdisjoint(named),
            "wrong": not set(named) <= fine,
            "wrong same": not set(sure) <= fine,
        }
        return [word for word, is_so in told.items() if is_so]


def judged(corpus: Corpus) -> Iterator[JudgedFailure]:
    """Every failure, asked about."""
    labels = [json.loads(line) for line in (HERE / "model_labels.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in (HERE / "models.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for release, found in (row["failures"] or {}).items():
            for one in found:
                status = Status(one["status"])
                said, exported = one.get("warnings", ""), GIVEN in one["differs"]
                point = FailurePoint(
                    release, one["exporter"], _OPSET, one["stage"], status, one["text"], said, exported
                )
                label = next((item for item in labels if status is Status.FAIL and item["has"] in one["text"]), {})
                yield JudgedFailure(row["model"], release, one, label, corpus.matches(point))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="show what was answered wrongly")
    misses = parser.parse_args().misses
    found = list(judged(Corpus(caniexport.open())))
    errors = [item for item in found if item.label]
    counts = Counter(word for item in errors for word in item.words)
    print(f"{len(errors)} errors:", "; ".join(f"{word} {count}" for word, count in counts.items()))
    texts = {item.label["has"]: item for item in errors}
    counts = Counter(word for item in texts.values() for word in item.words)
    print(f"{len(texts)} different ones:", "; ".join(f"{word} {count}" for word, count in counts.items()))
    silent = [item for item in found if not item.label]
    print(f"{len(silent)} with wrong values: a case named for {sum(bool(item.matches) for item in silent)}")
    for item in [*texts.values(), *silent] if misses else ():
        if not item.label or "right first" not in item.words or "wrong" in item.words:
            print(f"\n{item.model} {item.release} {item.failure['exporter']}: {item.failure['text'][-200:]!r}")
            print(f"  right: {item.label.get('cases')}, similar: {item.label.get('similar')}")
            print(f"  named: {[(match.case, match.why) for match in item.matches]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
