"""Prints the sha256 of a few dynamo exports: ``bare`` by torch alone, ``warm`` as a measured cell makes them."""

import contextlib
import hashlib
import io
import json
import os
import sys
from pathlib import Path

from harness.worker import corpus as corpus_module
from harness.worker import exporters, onnx_file, subject, warm

SAMPLE = (
    ("cross-no-symbolic", 18),
    ("cross-no-symbolic", 20),
    ("multi-input-tuple", 20),
    ("tracer-item-bakes-value", 18),
)


def main():
    mode, cases = sys.argv[1:]
    if mode == "warm":
        warm.warm(dynamo=True)
        for _, opset in SAMPLE:
            warm.prepare_opset("dynamo", opset)
    corpus = corpus_module.load([Path(cases)], stand_in=False)
    found = {}
    for case, opset in SAMPLE:
        for name, variant in corpus[case].variants.items():
            if variant.patch is None and variant.measured and not (variant.fix and variant.fix.exporter):
                found[f"{case}/{name}/{opset}"] = in_child(variant, case, opset)
    print(json.dumps(found))


def in_child(*cell):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, digest(*cell).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.wait()
    return text


def digest(variant, case, opset):
    module = subject.build(variant, case)
    args = tuple(subject.tensors(item) for item in subject.arrays(variant, case)[0])
    names = tuple(exporters.argument_names(variant.forward, len(args)))
    request = exporters.Request(module, args, "dynamo", opset, names, (), variant.dynamic, variant.options(), None)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            content = exporters.export(request)
    except Exception as error:
        return type(error).__name__
    return hashlib.sha256(onnx_file.normalised(onnx_file.parse(content))).hexdigest()


if __name__ == "__main__":
    main()
