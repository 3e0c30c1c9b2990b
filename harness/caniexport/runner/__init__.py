"""The half that runs bundles on a runtime, on any machine: Python 3.7+, numpy and that runtime alone.

No torch, no onnx, no pytest, no tox, no network. An archive of bundles carries this package and the few modules of
``caniexport.model`` and ``caniexport.worker`` named in :data:`CARRIED`, so that the archive itself can be run:
``python bundles.zip --runtime onnxruntime -o DIR``.
"""

from __future__ import annotations

#: modules that the runner imports and an archive therefore carries, below ``caniexport``
CARRIED = (
    "model/bundlehash",
    "model/canaries",
    "model/casehash",
    "model/errors",
    "model/journal",
    "model/messages",
    "model/opset_clauses",
    "model/printable",
    "model/rows",
    "model/runtimes",
    "model/status",
    "worker/codehash",
    "worker/compare",
    "worker/envinfo",
    "worker/failures",
    "worker/isolate",
    "worker/process_tree",
)
