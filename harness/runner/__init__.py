"""The half that runs bundles on a runtime, on any machine: Python 3.7+, numpy and that runtime alone.

No torch, no onnx, no pytest, no tox, no network. An archive of bundles carries this package and the few modules of
``harness.worker`` named in :data:`WORKER_MODULES`, so that the archive itself can be run:
``python bundles.zip --runtime onnxruntime -o DIR``.
"""

from __future__ import annotations

#: modules of ``harness.worker`` that the runner imports and an archive therefore carries
WORKER_MODULES = (
    "casehash",
    "codehash",
    "compare",
    "envinfo",
    "errors",
    "journal",
    "messages",
    "process",
    "process_tree",
    "rows",
    "runtimes",
    "status",
)
