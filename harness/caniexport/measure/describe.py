"""What the rows are about, beside them: the catalogue of cases and the judged claims of a local dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport.corpus import upstream
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import adjudicate_dataset
from caniexport.model import corpus as corpus_module
from caniexport.model.made_cases import MadeCase
from caniexport.store import Dataset, writer
from caniexport.store.catalogue import case_rows
from caniexport.store.compaction import dataset_lock

if TYPE_CHECKING:
    from caniexport.home import Home


def describe(home: Home) -> None:
    """Write ``cases``, ``claims`` and ``sources`` of the local dataset from the corpus and the rows there are.

    Reading them back takes a fraction of the time that loading every case file and judging every claim does. Raises
    :class:`CorpusError` for a case file that cannot be used and :class:`StoreError` where the files cannot be written.
    """
    corpus = corpus_module.load(home.corpora, stand_in=True)
    if any(issubclass(item.cls, MadeCase) for item in corpus.values()):
        return  # the table that makes them says all there is to say
    dataset = Dataset.open(home.published, home.local)
    documents = read_documents(corpus)
    records = {case: documented.records for case, documented in documents.items()}
    claims = adjudicate_dataset(corpus, documents, dataset)
    sources = upstream.rows(corpus)
    home.local.mkdir(parents=True, exist_ok=True)
    with dataset_lock(home.local):
        writer.write(home.local / "cases.parquet", "cases", case_rows(corpus, records))
        writer.write(home.local / "claims.parquet", "claims", claims)
        writer.write(home.local / "sources.parquet", "sources", sources)
