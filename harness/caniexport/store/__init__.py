"""The dataset: journals and parquet files in, rows out. Importing this package loads neither pandas nor arrow."""

from caniexport.store.compaction import CompactReport, compact
from caniexport.store.dataset import Dataset

__all__ = ["CompactReport", "Dataset", "compact"]
