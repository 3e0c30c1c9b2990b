"""TensorRT for RTX, beside the full TensorRT in :mod:`caniexport.runner.adapters.tensorrt`."""

from __future__ import annotations

from caniexport.runner.adapters.tensorrt import TensorRtRtx

ADAPTER = TensorRtRtx
