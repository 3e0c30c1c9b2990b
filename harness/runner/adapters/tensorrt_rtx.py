"""TensorRT for RTX, beside the full TensorRT in :mod:`harness.runner.adapters.tensorrt`."""

from __future__ import annotations

from harness.runner.adapters.tensorrt import TensorRtRtx

ADAPTER = TensorRtRtx
