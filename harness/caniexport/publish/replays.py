"""Promotion of runs of bundles: good local rows go beside the published ones, the newer of equals speaks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.bundles import node_tests
from caniexport.model.status import MEASURED
from caniexport.store.merge import newest

if TYPE_CHECKING:
    import pyarrow as pa


#: corpora whose cases are this repository's: their runs go when the variant does
_OWN = ("documented", "canary")


def names(published: Path, local: Path) -> list[str]:
    """The runs files that either side has."""
    return sorted({path.name for side in (published, local) for path in (side / "runs").glob("*.parquet")})


def promoted(
    before: pa.Table,
    local: pa.Table,
    held_back: Callable[[str | None, str | None], bool],
    variants: Collection[tuple[str, str]],
) -> pa.Table:
    """The rows that a published runs file is to have.

    before, local  the file's rows on either side
    held_back      whether a run (env_id, run_id) may not speak
    variants       (case, variant) of the corpus

    One row per bundle, session options, version and device: a runtime measured again in another environment (another
    numpy) replaces its older row. A node test of ONNX is one and the same however its values were rounded by the
    machine that made the file. Rows that say nothing (``invalid``, ``skip``, ``not_run``) stay local.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    says = pc.is_in(local["status"], value_set=pa.array(sorted(status.value for status in MEASURED)))
    local = local.filter(pc.and_(says, local["bundle"].is_valid()))
    good = _without(local, held_back)
    whole = newest("runs", [before, good])
    own = pc.is_in(whole["corpus"], value_set=pa.array(_OWN)).to_pylist()
    keys = zip(whole["case"].to_pylist(), whole["variant"].to_pylist(), strict=True)
    keep = [not mine or key in variants for mine, key in zip(own, keys, strict=True)]
    return _one_environment(whole.filter(pa.array(keep, pa.bool_())))


def _without(rows: pa.Table, held_back: Callable[[str | None, str | None], bool]) -> pa.Table:
    import pyarrow.compute as pc

    from caniexport.store.gates import mask

    bad = mask(rows, held_back)
    return rows if bad is None else rows.filter(pc.invert(bad))


def _one_environment(rows: pa.Table) -> pa.Table:
    """Of rows that differ in their environment alone, the newest."""
    import pyarrow as pa

    key = ["bundle", "session", "runtime", "runtime_version", "provider", "device"]
    frame = rows.select([*key, "corpus", "case", "variant", "measured_at"]).to_pandas()
    frame["bundle"] = frame["bundle"].mask(frame["corpus"] == node_tests.CORPUS, frame["case"] + "/" + frame["variant"])
    keep = frame.sort_values("measured_at", kind="stable").drop_duplicates(key, keep="last").index
    return rows.take(pa.array(sorted(keep), pa.int64()))
