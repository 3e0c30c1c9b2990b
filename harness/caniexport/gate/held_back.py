"""Which rows are not published, and why. Pure.

Two ways lead out: a run is measured again; a cell is measured apart and twice (:mod:`caniexport.measure.apart`), after
which it is what it is. That is what ``settled`` says of a row.

An error that names our own measuring code is ours, and says nothing about torch. The names are read from the source of
:mod:`caniexport.worker` and :mod:`caniexport.runner`. A word that others may use too says nothing by itself: a function
counts where it has two words or more and is called or defined in the text, a file where a traceback ends in it.

A cell is *isolated* where it does not work and works in the release before and in the release after, with the same
exporter and opset. Torch does break things and mend them at once; so does a broken measurement, and it does it to many
cells in the same words. Which of the two it was is known when the cells were measured apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport import versions
from caniexport.gate.moved import cell_names, moved_cells, settled
from caniexport.model.status import MEASURED, WORKS
from caniexport.store import Dataset
from caniexport.store.gates import GOOD, Gates

if TYPE_CHECKING:
    import pandas as pd


Row = Mapping[str, Any]
#: columns that :func:`implausible` looks at
_COMPARED = ("torch", "provider", "case", "variant", "exporter", "opset", "status", "signature")
#: columns of cells that :func:`reasons` looks at
COLUMNS = (*_COMPARED, "env_id", "run_id", "message_id", "code", "apart", "attempts")

QUARANTINED = "its run is quarantined"
UNJUDGED = "no verdict on its run was kept"
OURS = "its error names the measuring code"
DIFFERS = "its variant came out differently when it was measured again"
IMPLAUSIBLE = "it fails in this release alone, as a broken measurement would make it"
MOVED = "it was published with another outcome, of the same case in the same environment"

#: known to be wrong, or to be no fact: published rows go too
FALSE = (QUARANTINED, OURS, DIFFERS)
#: what measuring a cell apart and twice answers
CELLS_TO_SETTLE = (OURS, DIFFERS, IMPLAUSIBLE, MOVED)

_PACKAGE = Path(__file__).resolve().parent.parent
_MEASURING = ("model", "worker", "runner")
#: functions of older measuring code, whose rows may still come in
_FORMER = frozenset({"_keep_overrides", "override_again"})
#: names that torch, onnx or pytest give a meaning
_COMMON = re.compile(r"__\w+__$|pytest_")
#: a frame as the tracer writes it into a graph: every export was called by us
_TRACED_FRAME = re.compile(r"^\s*\S+\(\d+\): \S+$", re.MULTILINE)
#: a frame of a traceback with its line of source, where it has one
_FRAME = re.compile(
    r'^[ \t]*File "(?P<path>[^"\n]+)", line \d+, in (?P<name>\S+)[^\n]*\n(?:(?![ \t]*File ")[ \t]+[^\n]*\n)*',
    re.MULTILINE,
)
#: isolated cells and cases that one signature must have with an exporter, where other releases know it too
MANY_CELLS = 20
MANY_CASES = 5
_CELL = ["provider", "case", "variant", "exporter", "opset"]
_WORKING = frozenset(status.value for status in WORKS)
_BROKEN = frozenset(status.value for status in MEASURED - WORKS)


def reasons(cells: pd.DataFrame, environments: Sequence[Row], texts: Mapping[str, str]) -> pd.Series[str]:
    """By row of a frame with :data:`COLUMNS` why it is held back, the gravest reason first; empty where it is not.

    environments  rows of ``ENVIRONMENTS``: the verdicts on runs, and what each A/A sample saw differ
    texts         error texts by id
    """
    import pandas as pd

    if cells.empty:
        return pd.Series(dtype=object)
    words = _words(cells, environments)
    found = pd.Series("", index=cells.index, dtype=object)
    found[words.isna()] = UNJUDGED
    open_to_doubt = ~settled(cells)
    found[open_to_doubt & implausible(cells)] = IMPLAUSIBLE
    found[open_to_doubt & _differing(cells, environments)] = DIFFERS
    found[ours(cells, texts)] = OURS
    found[words.notna() & (words != GOOD)] = QUARANTINED
    return found


def cells_to_settle(dataset: Dataset, published: Path, local: Path) -> list[str]:
    """Names of the cells of both folders' dataset that are held back until they are measured apart and twice."""
    cells = dataset.cells(columns=COLUMNS)
    texts = dataset.messages(cells["message_id"].dropna().unique())
    found = reasons(cells, dataset.records("environments"), texts)
    return [*cell_names(cells[found.isin(CELLS_TO_SETTLE)]), *moved_cells(published, local)]


def _words(cells: pd.DataFrame, environments: Sequence[Row]) -> pd.Series[str]:
    """The gate's words on the rows' runs. Environment cases have no run to judge."""
    import pandas as pd

    gates = Gates(environments)
    names = ["env_id", "run_id"]
    runs = cells[names].drop_duplicates()
    pairs = runs.astype(object).where(runs.notna(), None).itertuples(index=False, name=None)
    words = dict(zip(runs.index, (gates.word(*pair) for pair in pairs), strict=True))
    first = cells.groupby(names, dropna=False)["torch"].transform(lambda run: run.index[0])
    return pd.Series(first.map(words), dtype=object).mask(cells["torch"].isna(), GOOD)


def ours(cells: pd.DataFrame, texts: Mapping[str, str]) -> pd.Series[bool]:
    """Which rows have an error that names the measuring code."""
    messages = set(cells["message_id"].dropna())
    blamed = {item for item in messages if own_name(texts.get(item) or "")}
    signatures = {item for item in set(cells["signature"].dropna()) if own_name(item)}
    return cells["message_id"].isin(blamed) | cells["signature"].isin(signatures)


def _differing(cells: pd.DataFrame, environments: Sequence[Row]) -> pd.Series[bool]:
    """Rows of the variants that an A/A sample saw differ, measured by the same code in the same environment."""
    import pandas as pd

    found = pd.Series(False, index=cells.index)
    for environment in environments:
        for case, variant, exporter in sorted(differing_variants(environment)):
            hit = (cells["case"] == case) & (cells["variant"] == variant) & (cells["exporter"] == exporter)
            found |= hit & (cells["env_id"] == environment["env_id"]) & _by_code(cells, environment)
    return found


def differing_variants(environment: Row) -> set[tuple[str, str, str]]:
    """(case, variant, exporter) of which a run's A/A sample saw a cell differ."""
    names = (line.partition(": ")[0].split("/") for line in environment["differing"] or ())
    return {(case, variant, exporter) for case, variant, exporter, _ in names}


def _by_code(cells: pd.DataFrame, environment: Row) -> pd.Series[bool]:
    codes = environment["codes"]
    return cells["code"].isin(list(codes)) if codes else cells["code"].isna()


def own_name(text: str) -> str:
    """The first name of our measuring code that a text blames; empty where it blames none."""
    return _named(text) or _last_frame(text)


def _named(text: str) -> str:
    found = _pattern().search(_TRACED_FRAME.sub("", text))
    return found.group() if found else ""


def _last_frame(text: str) -> str:
    """The function of ours in which a traceback ends."""
    for frame in _FRAME.finditer(text):
        path, name = re.split(r"[/\\]", frame["path"])[-1], frame["name"].rpartition(".")[2]
        if (path, name) in _functions() and not _FRAME.match(text, frame.end()):
            return f"{path}, {name}"
    return ""


@cache
def _pattern() -> re.Pattern[str]:
    words = sorted({name for _, name in _functions() if _is_ours_alone(name)} | _FORMER)
    called = rf"(?<!\w)(?:{'|'.join(words)})(?=\(|\.<locals>)"
    return re.compile(rf"\b(?:caniexport|harness)[./\\](?:{'|'.join(_MEASURING)})\b(?:[./\\]\w+)*|{called}")


def _is_ours_alone(name: str) -> bool:
    return "_" in name.strip("_") and len(name) >= 8 and not _COMMON.match(name)


@cache
def _functions() -> frozenset[tuple[str, str]]:
    """(file, function) of the measuring code."""
    paths = [path for folder in _MEASURING for path in sorted((_PACKAGE / folder).glob("*.py"))]
    return frozenset((path.name, name) for path in paths for name in _defined(path))


def _defined(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def implausible(cells: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of a frame with :data:`COLUMNS` are not to be believed before they were measured apart.

    Where a signature is known from one release alone and any of its cells is isolated: all of its cells. Where other
    releases know it: its isolated cells, as far as they are many and of many cases with one exporter.
    """
    measured = cells[cells["torch"].notna() & cells["case"].notna()]
    isolated = _isolated(measured)
    found = _of_one_release(measured, isolated) | _in_bulk(measured, isolated)
    return found.reindex(cells.index, fill_value=False)


def _isolated(cells: pd.DataFrame) -> pd.Series[bool]:
    """Whether a row does not work, and its cell does in the releases before and after, on whatever runtime."""
    places = {torch: place for place, torch in enumerate(sorted(cells["torch"].unique(), key=versions.parse))}
    # a number for each cell and release; those of the releases before and after lie beside it
    numbers = cells.groupby(_CELL, dropna=False).ngroup() * (len(places) + 2) + cells["torch"].map(places)
    working = numbers[cells["status"].isin(_WORKING)].unique()
    return cells["status"].isin(_BROKEN) & (numbers - 1).isin(working) & (numbers + 1).isin(working)


def _of_one_release(cells: pd.DataFrame, isolated: pd.Series[bool]) -> pd.Series[bool]:
    releases = cells.groupby("signature")["torch"].nunique()
    alone = cells["signature"].map(releases) == 1
    suspicious = set(cells.loc[alone & isolated, "signature"])
    return cells["signature"].isin(suspicious) & cells["status"].isin(_BROKEN)


def _in_bulk(cells: pd.DataFrame, isolated: pd.Series[bool]) -> pd.Series[bool]:
    groups = cells[isolated].groupby(["torch", "provider", "exporter", "signature"])["case"]
    many = (groups.transform("size") >= MANY_CELLS) & (groups.transform("nunique") >= MANY_CASES)
    return many.reindex(cells.index, fill_value=False)
