"""Which rows are of the corpus as it is: its variants, their code, the cells that a measurement today would plan."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from caniexport.model import plan, releases
from caniexport.model.errors import UnknownName
from caniexport.store.catalogue import measured_variants

if TYPE_CHECKING:
    import pyarrow as pa

    from caniexport.model.corpus import LoadedCase

#: corpora whose cases are this repository's: rows of a variant go with it
_OWN = ("documented", "canary")
_GONE = "the corpus no longer has the variant"
_OLDER = "the variant's code has changed and was measured again"
_UNPLANNED = "the cell is no longer planned"

_Key = tuple[str, str]
#: exporter and opset of a variant that are planned
_Planned = set[tuple[str, str, str, int | None]]


class CurrentCorpus:
    """Leaves out the rows of what the corpus no longer has."""

    def __init__(self, corpus: Mapping[str, LoadedCase]) -> None:
        self._corpus = dict(corpus)
        self._variants = measured_variants(corpus)
        self._hashes = {key: corpus[key[0]].case_hash(key[1]) for key in self._variants}
        #: of the release and provider that was asked for last: a file has rows of one
        self._planned: dict[tuple[str, str], _Planned | None] = {}

    def rows(self, rows: pa.Table) -> tuple[pa.Table, Counter[str]]:
        """The rows of cells or replays without those that are out of date; how many went, by reason."""
        import pyarrow as pa

        why = list(self._cells(rows) if "torch" in rows.column_names else self._replays(rows))
        dropped = Counter(reason for reason in why if reason)
        return (rows.filter(pa.array([not reason for reason in why], pa.bool_())) if dropped else rows), dropped

    def _replays(self, rows: pa.Table) -> Iterator[str]:
        for corpus, *key in zip(*(rows[name].to_pylist() for name in ("corpus", "case", "variant")), strict=True):
            yield _GONE if corpus in _OWN and tuple(key) not in self._variants else ""

    def _cells(self, rows: pa.Table) -> Iterator[str]:
        keys = list(zip(rows["case"].to_pylist(), rows["variant"].to_pylist(), strict=True))
        hashes = [case_hash or "" for case_hash in rows["case_hash"].to_pylist()]
        newest = self._newest_hashes(keys, hashes, rows["measured_at"].cast("int64").to_pylist())
        places = zip(*(rows[name].to_pylist() for name in ("torch", "provider", "exporter", "opset")), strict=True)
        for key, case_hash, place in zip(keys, hashes, places, strict=True):
            if key not in self._variants:
                yield _GONE
            elif case_hash != newest[key]:
                yield _OLDER
            else:
                yield "" if self._is_planned(key, *place) else _UNPLANNED

    def _is_planned(self, key: _Key, torch: str | None, provider: str, exporter: str | None, opset: int | None) -> bool:
        """Whether a measurement today would have this cell; where the release cannot be planned, it stays."""
        if torch is None or exporter is None:
            return True
        if (torch, provider) not in self._planned:
            self._planned = {(torch, provider): self._plan(torch, provider)}
        planned = self._planned[torch, provider]
        return planned is None or (*key, exporter, opset) in planned

    def _plan(self, torch: str, provider: str) -> _Planned | None:
        with contextlib.suppress(UnknownName):
            cells = plan.cells(self._corpus, releases.find(torch), provider)
            return {(cell.case, cell.variant, cell.exporter, cell.opset) for cell in cells}
        return None

    def _newest_hashes(
        self, keys: Iterable[_Key], hashes: Iterable[str], times: Iterable[int | None]
    ) -> dict[_Key, str]:
        """By variant the hash whose rows stay: the corpus's own where it was measured, else the one measured last."""
        best: dict[_Key, tuple[bool, int, str]] = {}
        for key, case_hash, measured in zip(keys, hashes, times, strict=True):
            rank = (case_hash == self._hashes.get(key), measured or 0, case_hash)
            best[key] = max(best.get(key, rank), rank)
        return {key: rank[2] for key, rank in best.items()}
