"""What the rows are about, beside them: the catalogue of cases and the judged claims of a local dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import upstream
from harness.claims import adjudicate_dataset
from harness.store import Dataset, writer
from harness.store.catalogue import case_rows
from harness.store.compaction import dataset_lock
from harness.store.schema import to_arrow
from harness.worker import corpus as corpus_module

if TYPE_CHECKING:
    from harness.home import Home


def describe(home: Home) -> None:
    """Write ``cases``, ``claims`` and ``sources`` of the local dataset from the corpus and the rows there are.

    Reading them back takes a fraction of the time that loading every case file and judging every claim does. Raises
    :class:`CorpusError` for a case file that cannot be used and :class:`StoreError` where the files cannot be written.
    """
    corpus = corpus_module.load([home.cases], stand_in=True)
    dataset = Dataset.open(home.published, home.local)
    claims = adjudicate_dataset(corpus, dataset)
    sources = upstream.rows(corpus)
    home.local.mkdir(parents=True, exist_ok=True)
    with dataset_lock(home.local):
        writer.write(home.local / "cases.parquet", "cases", to_arrow("cases", case_rows(corpus)))
        writer.write(home.local / "claims.parquet", "claims", to_arrow("claims", claims))
        writer.write(home.local / "sources.parquet", "sources", to_arrow("sources", sources))
