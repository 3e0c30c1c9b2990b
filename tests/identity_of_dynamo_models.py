"""Prints the sha256 of dynamo and default exports: ``bare`` by torch alone, ``warm`` as a measured cell makes them."""

import contextlib
import hashlib
import importlib
import io
import json
import os
import sys
from pathlib import Path

from caniexport.model import corpus as corpus_module
from caniexport.worker import exporters, onnx_file, sharing, subject, warm

SAMPLE = ("cross-no-symbolic", "multi-input-tuple", "tracer-item-bakes-value", "trace-tensor-trip-count-baked")
#: 23 has operators that lower opsets have not, so the program is decomposed otherwise
OPSETS = (18, 20, 23)
#: the default call is dynamo's from 2.9 on and shares its program
DEFAULT = ("default", None)
REQUESTS = (*(("dynamo", opset) for opset in OPSETS), DEFAULT)


def main():
    mode, cases = sys.argv[1:]
    if mode == "warm":
        warm.warm(dynamo=True)
        for opset in OPSETS:
            warm.prepare_opset("dynamo", opset)
    corpus = corpus_module.load([Path(cases)], stand_in=False)
    chosen = [
        (variant, case, name)
        for case in SAMPLE
        for name, variant in corpus[case].variants.items()
        if variant.patch is None and variant.measured and not (variant.fix and variant.fix.exporter)
    ]
    print(json.dumps(all_together(chosen) if mode == "warm" else all_apart(chosen)))


def all_together(chosen):
    return {key: found for one in chosen for key, found in together(*one).items()}


def all_apart(chosen):
    """Each export in a process of its own; the default calls import by themselves what they need."""
    found = {key: found for one in chosen for key, found in apart(*one, [DEFAULT]).items()}
    for module in json.loads(in_child(lambda: modules_after(*chosen[0]))):
        with contextlib.suppress(Exception):  # one that is made while another is imported
            importlib.import_module(module)
    return found | {key: found for one in chosen for key, found in apart(*one, REQUESTS[:-1]).items()}


def modules_after(variant, case, name):
    """What an export has imported, in that order."""
    digest(variant, case, *DEFAULT)
    return json.dumps(list(sys.modules))


def apart(variant, case, name, requests):
    return {
        f"{case}/{name}/{exporter}/{opset}": in_child(lambda: digest(variant, case, exporter, opset))  # noqa: B023  # called at once
        for exporter, opset in requests
    }


def together(variant, case, name):
    """All of them in one process, which captures the program as often as a measured cell does."""

    def digests():
        with sharing.share_steps(True):
            return json.dumps(
                {
                    f"{case}/{name}/{exporter}/{opset}": digest(variant, case, exporter, opset)
                    for exporter, opset in REQUESTS
                }
            )

    return json.loads(in_child(digests))


def in_child(work):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, work().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.wait()
    return text


def digest(variant, case, exporter, opset):
    module = subject.build_module(variant, case)
    args = tuple(subject.to_tensors(item) for item in subject.make_arrays(variant, case)[0])
    names = tuple(exporters.find_argument_names(variant.forward, len(args)))
    request = exporters.ExportRequest(
        module, args, exporter, opset, names, (), variant.dynamic, variant.options(), None
    )
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            content = exporters.export(request)
    except Exception as error:
        return type(error).__name__
    return hashlib.sha256(onnx_file.normalize(onnx_file.parse_model(content))).hexdigest()


if __name__ == "__main__":
    main()
