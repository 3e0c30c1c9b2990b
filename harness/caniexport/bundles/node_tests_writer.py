"""Writes ONNX's own node tests into a zip file; run by a Python that has onnx, not by this one.

``python node_tests_writer.py OUT``. The zip has ``NAME/model.onnx``, ``NAME/input_0.pb``, ``NAME/output_0.pb`` for each
test, and ``index.json``: ``{"onnx": VERSION, "tests": [{"name", "operator", "opset", "mark", "rtol"}]}``.

The tests are computed by the functions that define them (``onnx.backend.test.case.node``). Files of tests are never
read: releases to 1.22 have them in the package, later ones do not.
"""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

#: operators whose values nobody can foretell
RANDOM = frozenset("Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split())
#: element types that numpy has not (bfloat16, float8) or that are packed into less than a byte:
#: TensorProto.DataType from bfloat16 on
FIRST_WITHOUT_NUMPY = 16


def main(out: str) -> None:
    """Write every node test of the onnx installed here."""
    import onnx
    from onnx.backend.test.case.node import collect_testcases

    warnings.simplefilter("ignore")  # the tests divide by zero on purpose
    tests: list[dict[str, Any]] = []
    operators: dict[str, str] = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for test in collect_testcases(None):
            for name, data in _files(test):
                file.writestr(zipfile.ZipInfo(f"{test.name}/{name}"), data, zipfile.ZIP_DEFLATED)
            tests.append(_about(test, operators))
        index = {"onnx": onnx.__version__, "tests": tests}
        file.writestr(zipfile.ZipInfo("index.json"), json.dumps(index), zipfile.ZIP_DEFLATED)


def _about(test: Any, operators: dict[str, str]) -> dict[str, Any]:
    """The operator is the first node's; ``operators`` has those of the tests before, by name.

    A test of a function's body (``test_clip_expanded``) comes behind that of the function and is of its operator.
    """
    opsets = {item.domain: item.version for item in test.model.opset_import}
    node = test.model.graph.node[0]
    operators[test.name] = operators.get(test.name.partition("_expanded")[0], node.op_type)
    return {
        "name": test.name,
        "operator": operators[test.name],
        "opset": opsets.get(node.domain, max(opsets.values())),
        "mark": _mark(test),
        "rtol": test.rtol,
    }


def _mark(test: Any) -> str:
    """Why a failure of this test is not counted; empty for most."""
    values = [*test.model.graph.input, *test.model.graph.output]
    if test.name.endswith(".negative"):
        return "negative"
    if any(node.op_type in RANDOM for node in test.model.graph.node) or _drops(test.model.graph):
        return "random"
    if any(value.type.WhichOneof("value") != "tensor_type" for value in values):
        return "sequence"
    if any(value.type.tensor_type.elem_type >= FIRST_WITHOUT_NUMPY for value in values):
        return "dtype"
    return ""


def _drops(graph: Any) -> bool:
    """A dropout in training mode, which is its third input."""
    return any(node.op_type == "Dropout" and len(node.input) > 2 for node in graph.node)


def _files(test: Any) -> Iterator[tuple[str, bytes]]:
    yield "model.onnx", test.model.SerializeToString(deterministic=True)
    inputs, outputs = test.data_sets[0]
    graph = test.model.graph
    for kind, values, declared in (("input", inputs, graph.input), ("output", outputs, graph.output)):
        for place, (value, about) in enumerate(zip(values, declared, strict=False)):
            yield f"{kind}_{place}.pb", _proto(value, about).SerializeToString(deterministic=True)


def _proto(value: Any, about: Any) -> Any:
    """As ``onnx.backend.test`` writes its data files."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    if isinstance(value, onnx.TensorProto):
        return value
    kind = about.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value)
    if kind == "optional_type":
        return numpy_helper.from_optional(value)
    return numpy_helper.from_array(np.asarray(value))


if __name__ == "__main__":
    main(sys.argv[1])
