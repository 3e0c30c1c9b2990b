"""What local rows are about, beside them: the words and the code of cases that the published dataset has otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport.corpus.claim_files import read_documents
from caniexport.model.made_cases import MadeCase
from caniexport.store import Dataset, writer
from caniexport.store.catalogue import case_rows
from caniexport.store.compaction import dataset_lock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caniexport.home import Home
    from caniexport.model.corpus import LoadedCase


def write_cases(home: Home, corpus: Mapping[str, LoadedCase]) -> None:
    """Write ``cases`` of the local dataset; claims are judged by ``publish`` alone. Made cases need no words.

    Raises :class:`CorpusError` for a claim file that cannot be used, :class:`StoreError` where nothing can be written.
    """
    known = {
        (row["case"], row["variant"]): row["case_hash"] for row in Dataset.open(home.published, None).records("cases")
    }
    new = {
        name: item
        for name, item in corpus.items()
        if not issubclass(item.cls, MadeCase)
        and any(known.get((name, variant)) != item.case_hash(variant) for variant in item.variant_names)
    }
    documents = read_documents(corpus) if new else {}
    rows = case_rows(new, {name: documents[name].records for name in new})
    home.local.mkdir(parents=True, exist_ok=True)
    with dataset_lock(home.local):
        if rows or (home.local / "cases.parquet").exists():
            writer.write_rows(home.local / "cases.parquet", "cases", rows)
