"""Writes ``cases/patches/onnxruntime_filters.json``: the node tests that onnxruntime leaves out of its own run of them.

``python docs/read_onnxruntime_filters.py CHECKOUT COMMIT DAY`` reads ``onnx_backend_test_series_filters.jsonc`` of a
checkout of onnxruntime. An entry is a list of that file and an expression for names of tests, with their device behind.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

TESTS = "onnxruntime/test/testdata/onnx_backend_test_series_filters.jsonc"
TARGET = Path(__file__).parents[1] / "cases" / "patches" / "onnxruntime_filters.json"
#: lists of machines and providers that have run none of the tests here
_ELSEWHERE = re.compile(r"_(x86|DNNL|MIGRAPHX|NNAPI|OPENVINO_(CPU_FP16|GPU|NPU|opset18)|QNN|WEBGPU|pure_DML)$")
#: a string, or a comment behind it
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')


def main() -> int:
    """Read the checkout and write the file."""
    checkout, commit, day = sys.argv[1:]
    text = (Path(checkout) / TESTS).read_text(encoding="utf-8")
    lists = json.loads(_TOKEN.sub(lambda found: found[1] or "", text))
    # an entry of two has the opset of a model's folder before it: those are no node tests
    taken = {
        (name, item): None
        for name, items in lists.items()
        if not _ELSEWHERE.search(name)
        for item in items
        if isinstance(item, str)
    }
    entries = ",\n".join(json.dumps({"list": name, "pattern": pattern}) for name, pattern in taken)
    TARGET.write_text(
        f'{{"commit": {json.dumps(commit)}, "day": {json.dumps(day)}, "entries": [\n{entries}\n]}}\n', encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
