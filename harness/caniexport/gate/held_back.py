"""Which rows are not published, and why.

Two ways lead out: a run is measured again; a cell is measured apart and twice (:mod:`caniexport.measure.apart`), after
which it is what it is. That is what ``settled`` says of a row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.gate import plausible
from caniexport.gate.moved import cell_names, moved_cells, settled
from caniexport.gate.own_names import own_name
from caniexport.home import PROFILES
from caniexport.store import Dataset, sql
from caniexport.store.gates import GOOD, Gates

if TYPE_CHECKING:
    import pandas as pd


Row = Mapping[str, Any]

#: columns of cells that :func:`reasons` looks at
COLUMNS = (*plausible.COLUMNS, "env_id", "run_id", "message_id", "code", "apart", "attempts", "unstable")

QUARANTINED = "its run is quarantined"
OURS = "its error names the measuring code"
DIFFERS = "its variant came out differently when it was measured again"
IMPLAUSIBLE = "it fails in this release alone, as a broken measurement would make it"
MOVED = "it was published with another outcome, of the same case in the same environment"
UNSTABLE = "its variant is unstable in another place, and it was not measured apart and twice"

#: known to be wrong, or to be no fact: published rows go too
FALSE = (QUARANTINED, OURS, DIFFERS)
#: what measuring a cell apart and twice answers
CELLS_TO_SETTLE = (OURS, DIFFERS, IMPLAUSIBLE, MOVED, UNSTABLE)


def reasons(
    cells: pd.DataFrame,
    environments: Sequence[Row],
    texts: Mapping[str, str],
    implausible: pd.Series[bool],
    unstable: Collection[tuple[str, str]],
) -> pd.Series[str]:
    """By row of a frame with :data:`COLUMNS` why it is held back, the gravest reason first; empty where it is not.

    environments  rows of ``ENVIRONMENTS``: the verdicts on runs, and what each A/A sample saw differ
    texts         error texts by id
    implausible   which rows :mod:`caniexport.gate.plausible` finds among those of all releases
    unstable      the variants (case, variant) with an unstable row in any profile
    """
    import pandas as pd

    if cells.empty:
        return pd.Series(dtype=object)
    words = _words(cells, environments)
    found = pd.Series("", index=cells.index, dtype=object)
    open_to_doubt = ~settled(cells)
    variants = pd.MultiIndex.from_frame(cells[["case", "variant"]])
    found[open_to_doubt & variants.isin(list(unstable)) & cells["unstable"].isna()] = UNSTABLE
    found[open_to_doubt & implausible] = IMPLAUSIBLE
    found[open_to_doubt & _differing(cells, environments)] = DIFFERS
    found[ours(cells, texts)] = OURS
    found[words.notna() & (words != GOOD)] = QUARANTINED
    return found


def cells_to_settle(dataset: Dataset, published: Path, local: Path) -> list[str]:
    """Names of the cells of both folders' dataset that are held back until they are measured apart and twice."""
    cells = dataset.cells(columns=COLUMNS)
    texts = dataset.messages(cells["message_id"].dropna().unique())
    environments, implausible = dataset.records("environments"), plausible.implausible(cells)
    found = reasons(cells, environments, texts, implausible, unstable_variants(published))
    return [*cell_names(cells[found.isin(CELLS_TO_SETTLE)]), *moved_cells(published, local)]


def unstable_variants(published: Path) -> frozenset[tuple[str, str]]:
    """The variants (case, variant) of which the published rows of any profile have an unstable one.

    ``published`` is the dataset of any of the profiles.
    """
    root = published.parent.parent if published.parent.name == PROFILES else published
    files = [str(path) for folder in ("cells", f"{PROFILES}/*/cells") for path in root.glob(f"{folder}/*.parquet")]
    if not files:
        return frozenset()
    query = 'SELECT DISTINCT "case", variant FROM read_parquet($files, union_by_name=true) WHERE unstable IS NOT NULL'
    return frozenset(sql.connection().cursor().execute(query, {"files": files}).fetchall())


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
