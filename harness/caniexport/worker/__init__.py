"""Measure cells inside the environment of a torch release.

This package runs on Python 3.7. It imports only the standard library, pytest, numpy, torch, onnx and onnxruntime.
"""
