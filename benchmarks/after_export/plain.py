"""Rows of tools measured again by the shortest code: does a tool alone do to a file what the published row says?

    python benchmarks/after_export/plain.py rows.json bundles.zip

in an environment with the tools of the rows. ``rows.json`` is a list of rows of ``results/runs`` (runtime,
runtime_version, provider, bundle, stage, status), drawn with a seed; ``bundles.zip`` an archive that has their files.
Nothing of caniexport is imported. Prints each row that comes out otherwise, and how many agree.
"""

# ruff: noqa: ANN001, ANN201, C901, PTH118, PTH123, SIM115 -- the shortest code, in environments of the tools

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
import zipfile
from importlib import metadata

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnx import numpy_helper

warnings.simplefilter("ignore")
onnxruntime.set_default_logger_severity(4)
LEVELS = {"basic": 1, "extended": 2, "all": 99}


def change(tool, asked, model, inputs):
    number = int(asked[2:]) if asked[:2] == "to" else 0
    if tool == "onnxslim":
        import onnxslim

        return onnxslim.slim(model)
    if tool == "onnxsim":
        import onnxsim

        return onnxsim.simplify(model)[0]
    if tool == "onnxoptimizer":
        import onnxoptimizer

        return onnxoptimizer.optimize(model)
    if tool == "onnxscript-optimizer":
        import onnxscript.optimizer

        return onnxscript.optimizer.optimize(model)
    if tool == "onnx-converter":
        return onnx.version_converter.convert_version(model, number)
    if tool == "onnxscript-converter":
        from onnxscript import ir, version_converter

        own = ir.from_proto(model)
        version_converter.convert_version(own, number, fallback=True)
        return ir.to_proto(own)
    if tool == "onnxconverter-half":
        from onnxconverter_common import float16

        return float16.convert_float_to_float16(model, keep_io_types=True)
    if tool == "onnxruntime-half":
        from onnxruntime.transformers import float16

        return float16.convert_float_to_float16(model, keep_io_types=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        if tool == "onnxruntime-optimize":
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(LEVELS[asked])
            options.optimized_model_filepath = path
            onnxruntime.InferenceSession(model.SerializeToString(), options)
        elif asked == "dynamic":
            from onnxruntime.quantization import quantize_dynamic

            quantize_dynamic(model, path)
        else:
            from onnxruntime import quantization

            feeds = iter(inputs)
            reader = type("R", (quantization.CalibrationDataReader,), {"get_next": lambda _: next(feeds, None)})()
            quantization.quantize_static(model, path, reader, quant_format=quantization.QuantFormat.QDQ)
        return onnx.load(path)


def load_set(files, number, kind):
    names = sorted(
        (name for name in files.namelist() if name.startswith(f"test_data_set_{number}/{kind}_")),
        key=lambda name: int(name.rsplit("_", 1)[1][:-3]),
    )
    return [numpy_helper.to_array(onnx.load_tensor_from_string(files.read(name))) for name in names]


def close(want, got, share):
    if want.dtype != got.dtype or want.shape != got.shape:
        return False
    if want.dtype.kind not in "fc":
        return np.array_equal(want, got)
    rtol, atol = {"float16": (1e-2, 1e-3), "float64": (1e-6, 1e-8), "complex128": (1e-6, 1e-8)}.get(
        want.dtype.name, (1e-4, 1e-5)
    )
    finite = np.abs(want[np.isfinite(want)])
    return np.allclose(got, want, rtol, atol + share * (finite.max() if finite.size else 0), equal_nan=True)


def measure(row, data):
    files = zipfile.ZipFile(io.BytesIO(data))
    model = onnx.load_model_from_string(files.read("model.onnx"))
    numbers = sorted({int(name.split("/")[0].rsplit("_", 1)[1]) for name in files.namelist() if "/" in name})
    constants = {item.name for item in model.graph.initializer}
    names = [item.name for item in model.graph.input if item.name not in constants]
    sets = [dict(zip(names, load_set(files, number, "input"))) for number in numbers]
    asked, tool = row["provider"], row["runtime"]
    try:
        changed = change(tool, asked, model, sets)
    except Exception:
        return "tool", "fail"
    opset = next(item.version for item in changed.opset_import if item.domain in ("", "ai.onnx"))
    if asked[:2] == "to" and opset != int(asked[2:]):
        return "tool", "unsupported"
    try:
        session = onnxruntime.InferenceSession(changed.SerializeToString())
    except Exception:
        return "load", "fail"
    share = 0.01 if "half" in tool else 0.05 if "quantize" in tool else 0
    for number, feeds in zip(numbers, sets):
        taken = [item.name for item in session.get_inputs()]
        try:
            found = session.run(None, {name: feeds[name] for name in taken})
        except Exception:
            return "run", "fail"
        wanted = load_set(files, number, "output")
        largest = [max(share, 0)] * len(wanted)
        if len(found) != len(wanted) or not all(map(close, wanted, map(np.asarray, found), largest)):
            return "compare", "mismatch"
    return "done", "pass"


def main() -> None:
    rows, archive = json.load(open(sys.argv[1])), zipfile.ZipFile(sys.argv[2])
    agreeing = 0
    for row in rows:
        data = archive.read(f"bundles/{row['bundle'][:2]}/{row['bundle']}.zip")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = measure(row, data)
        agreeing += found == (row["stage"], row["status"])
        if found != (row["stage"], row["status"]):
            print(
                row["runtime"],
                row["runtime_version"],
                row["provider"],
                row["bundle"],
                row["stage"],
                row["status"],
                found,
            )
    print(f"{agreeing} of {len(rows)} agree; onnxruntime {metadata.version('onnxruntime')}")


main()
