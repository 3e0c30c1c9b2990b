"""Bundles of exported files for other runtimes: packing, probes, onnx's node tests, releases of runtimes."""
