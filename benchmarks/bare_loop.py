"""What somebody without caniexport would write: every cell in one process, one after the other, nothing isolated.

Runs inside a measured environment: ``python benchmarks/bare_loop.py --cases cases --exporter dynamo --release 2.15.0``.
Prints the number of cells and the seconds they took, imports and the first export of the process excluded.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))

from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.worker import exporters, subject


def main() -> None:
    """Export, check, load, run and compare each cell; a failure goes to the next one."""
    import onnx
    import onnxruntime
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--exporter", action="append", required=True)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--opset", action="append", type=int, default=[])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus = corpus_module.load([Path(arguments.cases)], stand_in=False)
    selection = plan.Selection(frozenset(arguments.case), frozenset(arguments.exporter), frozenset(arguments.opset))
    cells = plan.cells(corpus, releases.find(arguments.release), "cpu", selection)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _one(cells[0], corpus, settings, onnx, onnxruntime, torch)
        started = time.perf_counter()
        works = sum(_one(cell, corpus, settings, onnx, onnxruntime, torch) for cell in cells)
        seconds = time.perf_counter() - started
    print(json.dumps({"cells": len(cells), "seconds": seconds, "ran": works}))


def _one(cell, corpus, settings, onnx, onnxruntime, torch) -> bool:  # noqa: ANN001  # as one would write it by hand
    variant = corpus[cell.case].variants[cell.variant]
    try:
        inputs = subject.make_arrays(variant, cell.case)
        module = subject.build_module(variant, cell.case)
        with torch.no_grad():
            wanted = [subject.flatten_output(module(*[subject.to_tensors(item) for item in one])) for one in inputs]
        args = tuple(subject.to_tensors(item) for item in inputs[0])
        names = tuple(exporters.find_argument_names(variant.forward, len(args)))
        opset = variant.opset(cell.opset)
        request = exporters.ExportRequest(
            module, args, variant.exporter(cell.exporter), opset, names, (), variant.dynamic, variant.options(), None
        )
        with variant.patch(opset) if variant.patch else contextlib.nullcontext():
            content = exporters.export(request)
        onnx.checker.check_model(onnx.load_model_from_string(content), full_check=True)
        session = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
        for one, want in zip(inputs, wanted):
            feeds = dict(zip([item.name for item in session.get_inputs()], subject.arrays_in_order(one)))
            for left, right in zip(want, session.run(None, feeds)):
                (abs(left.astype("float64") - right) <= 1e-5 + 1e-4 * abs(left.astype("float64"))).all()
    except Exception:  # a failing cell is a cell like any other
        return False
    return True


if __name__ == "__main__":
    main()
