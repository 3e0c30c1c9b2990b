"""``caniexport case --lint`` and ``--new``: whether the corpus is in order, and a stub for a new case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport import names, versions
from caniexport.cli import output
from caniexport.home import Home
from caniexport.model.errors import CorpusError

if TYPE_CHECKING:
    from caniexport.corpus.lint import Graphs, KnownNames


def lint_cases(patterns: Sequence[str], *, as_json: bool) -> None:
    """List the problems of case files: sources, claims, inputs, workarounds, names, cases that are the same."""
    from caniexport.corpus.claim_files import read_documents
    from caniexport.corpus.lint import lint

    home = homes.find()
    corpus = home.read_cases()
    chosen = names.require_all("case", patterns, corpus) if patterns else frozenset(corpus)
    every = lint(corpus, read_documents(corpus), _known(home), _graphs(home))
    found = [item for item in every if item.case in chosen or not patterns]
    workarounds = sum(len(corpus[case].variant_names) - 1 for case in chosen)
    cases = f"{len(chosen)} case{'' if len(chosen) == 1 else 's'}"
    lines = [f"{item.case}: {item.rule}: {item.text}" for item in found]
    lines.append(
        f"{cases} with {workarounds} workarounds: {len(found) or 'no'} finding{'' if len(found) == 1 else 's'}"
    )
    output.report({"cases": len(chosen), "findings": found}, lines, as_json)
    if found:
        raise click.exceptions.Exit(1)


def new_case(identifier: str, theme: str, source: str, *, as_json: bool) -> None:
    """Write the stub of a case into the file of its op family, and say what to do next."""
    from caniexport.corpus.stub import add_stub

    home = homes.find()
    corpus = home.read_cases()
    if identifier in corpus:
        raise CorpusError(f"there is a case {identifier} already, in {corpus[identifier].path.name}")
    path, claims = add_stub(home.new_cases, identifier, theme, source)
    lines = [
        f"{path}: the stub is at its end, and its claim at the end of",
        f"{claims}. Fill in what says TODO, then",
        f"  caniexport measure --case {identifier} --release 2.15.0",
        f"  caniexport case --lint {identifier}",
    ]
    output.report({"case": identifier, "file": path, "claims": claims}, lines, as_json)


def _known(home: Home) -> KnownNames:
    """Operators that any release's tables name, and those of torch that no exporter has a rule for."""
    from caniexport.corpus.lint import KnownNames, read_torch_operators
    from caniexport.store import Dataset

    rows = Dataset.open(home.published, home.local).records("declared")
    # dynamo's table names overloads: aten::xlogy.Tensor
    torch = frozenset(row["op"].split(".")[0] for row in rows if row["by"] != "onnx")
    return KnownNames(
        torch | read_torch_operators(home.cases), frozenset(row["op"] for row in rows if row["by"] == "onnx")
    )


def _graphs(home: Home) -> dict[str, Graphs]:
    """The exported files of every case's plain variant at the newest release that has rows."""
    from caniexport.store import Dataset

    dataset = Dataset.open(home.published, home.local)
    newest = versions.newest(row["torch"] for row in dataset.records("environments") if row["torch"])
    where = {"torch": (newest,), "provider": ("cpu",), "variant": ("plain",)}
    found: dict[str, dict[tuple[str, int], str]] = {}
    for case, exporter, opset, bundle in dataset.select(("case", "exporter", "opset", "bundle"), where):
        if bundle is not None:
            # the default exporter's opset is its own: 0 stands for it
            found.setdefault(case, {})[exporter, opset or 0] = bundle
    return dict(found)
