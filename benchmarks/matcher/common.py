"""How common the pieces of fixes are in ordinary code: makes ``cases/common_pieces.txt`` anew.

``python benchmarks/matcher/common.py CACHE > common_pieces.txt`` reads the packages of the build half, which
``fragments.py`` has fetched into the folder CACHE, and prints of each piece in how many of their functions it is. Older
releases of a package that is there in a newer one are left out.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from caniexport.answers.select import load
from caniexport.scan.files import SourceFile, Unreadable, read
from caniexport.scan.forms import Knowledge, find, learn
from caniexport.scan.normal import TermReader, functions
from caniexport.scan.terms import text
from caniexport.store import Dataset

ROOT = Path(__file__).resolve().parents[2]


def packages(cache: Path) -> Iterator[Path]:
    """The newest release of each package of the build half."""
    lines = Path(__file__).with_name("fragments.jsonl").read_text(encoding="utf-8").splitlines()
    releases = sorted({(one["package"], one["version"]) for one in map(json.loads, lines) if one["half"] == "build"})
    yield from (cache / f"{name}-{version}" for name, version in dict(releases).items())


def pieces(tree: ast.Module, known: Knowledge) -> Iterator[str]:
    """The pieces of each function of a file, each once for a function."""
    for function, scope in functions(tree):
        found = find(TermReader(scope).read(function.body), known.candidates)
        yield from (text(known.pieces[number]) for number in found)


def main() -> int:
    """Print the counts, the largest first."""
    known = learn(load(Dataset.open(ROOT / "results", None)).catalogue.values())
    counts: Counter[str] = Counter()
    for folder in packages(Path(sys.argv[1])):
        for source in read(folder):
            if isinstance(source, SourceFile):
                try:
                    counts.update(pieces(source.parsed().tree, known))
                except (RecursionError, Unreadable) as error:
                    print(f"{source.path}: {error}", file=sys.stderr)
    for line, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(count, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
