"""Exported graphs as a table of the dataset, read from bundles; the hash in a bundle's name is checked."""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.bundlehash import hash_bundle
from caniexport.model.errors import StoreError
from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.runner.archive import DAMAGED
from caniexport.store.onnx_graph import Graph, parse_model

if TYPE_CHECKING:
    from caniexport.store.dataset import Dataset

_NAME = re.compile(f"[0-9a-f]{{{BUNDLE_DIGITS}}}")


def locate_bundle(local: Path, bundle: str) -> Path:
    """Where a measurement keeps a bundle."""
    return local / "bundles" / bundle[:2] / f"{bundle}.zip"


def read_model(path: Path, bundle: str) -> bytes:
    """The model in a bundle's file.

    Raises :class:`StoreError` where the bundle cannot be read, or its content is not what it is named by.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = [(item.filename, archive.read(item)) for item in archive.infolist()]
    except DAMAGED as error:
        raise StoreError(f"{path}: the bundle cannot be read ({error})") from error
    if hash_bundle(files) != bundle:
        raise StoreError(f"{path}: its content does not have the hash in its name; it was changed or damaged")
    model = dict(files).get("model.onnx")
    if model is None:
        raise StoreError(f"{path}: no file model.onnx in it")
    return model


def read_new_graphs(local: Path, wanted: Iterable[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of ``graphs`` for those of the bundles that lie in ``local``, and a sentence for each that is damaged.

    A file that is whole and is no graph to this reader has no picture, and its rows are published all the same.
    """
    rows, problems = [], []
    for bundle in sorted(wanted):
        path = locate_bundle(local, bundle)
        if not path.is_file():
            continue
        try:
            model = read_model(path, bundle)
        except StoreError as error:
            problems.append(str(error))
            continue
        with contextlib.suppress(StoreError):
            graph = parse_model(model)
            if graph is not None:
                rows.append({"bundle": bundle, "nodes": len(graph.nodes), "graph": graph.to_json()})
    return rows, problems


def find_graph(dataset: Dataset, local: Path | None, bundle: str | None) -> Graph | None:
    """The graph of a bundle: of the file on this machine, else the published one; ``None`` where there is neither.

    Raises :class:`StoreError` where what is there cannot be read.
    """
    if not bundle or not _NAME.fullmatch(bundle):
        return None
    if local is not None and locate_bundle(local, bundle).is_file():
        return parse_model(read_model(locate_bundle(local, bundle), bundle))
    rows = dataset.records("graphs", {"bundle": (bundle,)})
    return Graph.from_json(rows[0]["graph"]) if rows else None
