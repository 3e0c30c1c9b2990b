"""The name of a bundle (a model file with its inputs and outputs): a hash of its content."""

from __future__ import annotations

import hashlib
from typing import Iterable, Tuple

from caniexport.model.rows import BUNDLE_DIGITS


def hash_bundle(files: Iterable[Tuple[str, bytes]]) -> str:
    """Return the first digits of the sha256 over names and contents, in their order; not over an archive of them."""
    digest = hashlib.sha256()
    for name, content in files:
        digest.update("{}:{}\n".format(name, len(content)).encode("ascii"))
        digest.update(content)
    return digest.hexdigest()[:BUNDLE_DIGITS]
