"""Writes docs/data.md, the data dictionary, from the row contract, and docs/concepts.md from the glossary.

``python docs/make_dictionary.py`` (``--check`` only says whether the files are up to date).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.model.rows import SCHEMA_VERSION, TABLES
from caniexport.pages.glossary import TERMS
from caniexport.store.which_row import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent

#: the words of a row that the dictionary lists, by the heading of their table
_VALUES = {
    "stage": "Stages, in the order in which a cell passes through them",
    "status": "Statuses, the measured ones from best to worst",
    "exporter": "Exporters",
    "workaround": "Kinds of workarounds",
}

_FILES = {
    "cells": "`cells/torch-2.8.0-cpu.parquet`, one file per release and provider: one row per measured cell",
    "runs": "a bundle run by a further runtime",
    "environments": "`environments.parquet`: one row per environment and run",
    "messages": "`messages.parquet`: every error text once",
    "cases": "`cases.parquet`: the corpus, one row per case and variant",
    "claims": "`claims.parquet`: what documents say, judged by the cells",
    "sources": "`sources.parquet`: what became of sources upstream, from `cases/upstream.csv`",
    "declared": "`declared.parquet`: the operator tables that torch and onnx carry themselves",
    "graphs": "`graphs.parquet`: the operators of exported files, for pictures; of the bundles that lay next to a "
    "dataset when it was published, not of all",
    "audit": "`audit.parquet`: the last audit (`caniexport publish --audit 300 --save`), one row per release in its "
    "sample",
    "operators": "`operators/operators.parquet`: how many calls of each operator of torch pass "
    "([method](method.md#operator-samples))",
}

#: what the published rows add to the meaning of a column
_BESIDE = {"bundle": "; older rows have all 64, so compare the first 24"}


def dictionary() -> str:
    """The data dictionary."""
    parts = [
        "# Data dictionary\n\nThe files of `results/` (and of `results-local/`), zstd parquet under version "
        f"{SCHEMA_VERSION} of the row contract. Written by `python docs/make_dictionary.py` from the code that writes "
        "and reads them; [concepts](concepts.md) explains the words.\n",
        "```python\nimport duckdb\n\n# every release, as a pandas frame; the files do not all have every column\n"
        "cells = duckdb.sql(\"FROM read_parquet('results/cells/*.parquet', union_by_name=true)\").df()\n\n"
        "# how their files end on every runtime that ran them\n"
        "runs = duckdb.sql(\"FROM read_parquet('results/runs/*.parquet', union_by_name=true)\").df()\n"
        'on_runtimes = duckdb.sql("SELECT * FROM cells JOIN runs ON cells.bundle[:24] = runs.bundle[:24]")\n```\n',
    ]
    parts += ["\n".join(_table(name)) for name in TABLES]
    terms = {term.name: term for term in TERMS}
    parts += ["\n".join(_words(title, terms[name].values)) for name, title in _VALUES.items()]
    return "\n".join(parts)


def _table(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{_FILES[name][0].upper()}{_FILES[name][1:]}. One row for each ({', '.join(KEYS[name])}).\n"
    yield "| column | type | meaning |\n| --- | --- | --- |"
    for column in TABLES[name]:
        yield f"| `{column.name}` | {column.type} | {column.meaning}{_BESIDE.get(column.name, '')} |"
    yield ""


def _words(title: str, meanings: Mapping[str, str]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| word | meaning |\n| --- | --- |"
    for word, meaning in meanings.items():
        yield f"| `{word}` | {meaning} |"
    yield ""


def concepts() -> str:
    """The words, and how they belong together."""
    lines = [
        "# Concepts\n",
        "A **case** is a small model that shows one documented failure: the original code (`plain`) and its",
        "workarounds.",
        "A **cell** is one of these **variants** with one torch release, exporter and opset. Measuring it gives",
        "a **row**.",
        "A **point** is one place in the matrix: torch, exporter, opset, runtime, provider and companion packages.",
        "Answers compare points: a workaround is needed or obsolete at a point; an upgrade goes from one to another.\n",
    ]
    for term in TERMS:
        lines.append(f"**{term.name}**: {term.meaning}" + (":\n" if term.values else ".\n"))
        lines += [f"- `{name}`: {meaning}" for name, meaning in term.values.items()]
        lines += [""] if term.values else []
    return "\n".join(lines)


def main() -> int:
    """Write the pages, or with ``--check`` compare them."""
    made = {"data.md": dictionary(), "concepts.md": concepts()}
    if "--check" in sys.argv[1:]:
        return int(any((ROOT / "docs" / name).read_text(encoding="utf-8") != text for name, text in made.items()))
    for name, text in made.items():
        (ROOT / "docs" / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
