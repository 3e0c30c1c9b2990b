"""The half that runs inside a measured environment.

Nothing below this package may import anything but the standard library, pytest, numpy, torch, onnx and
onnxruntime, and it must be readable by Python 3.7: what measures must not disturb what is measured.
"""
