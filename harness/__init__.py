"""caniexport: the measured compatibility matrix of PyTorch -> ONNX -> runtime.

Two halves live here. ``harness.worker`` runs inside a measured environment (Python 3.7+, standard
library, pytest, numpy, torch, onnx, onnxruntime only). Everything else answers questions on a current
Python. They share the case model and the row.
"""

__version__ = "0.1.0"
