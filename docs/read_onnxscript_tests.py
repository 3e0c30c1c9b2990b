"""Writes ``cases/operators/onnxscript.json``: what onnxscript's own tests of operators expect to fail or leave out.

``python docs/read_onnxscript_tests.py CHECKOUT VERSION`` reads ``ops_test_data.py`` of a checkout of onnxscript, which
is parsed and never run. An entry is a mark of a test, or a test without one: its operators as torch's database names
them, the dtypes that it is about, whether it is about some samples alone, and a word for why.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from caniexport import home as homes
from caniexport.corpus.operator_table import table_path
from caniexport.model import releases
from caniexport.model.made_cases import OPERATORS, read_entries

TESTS = "tests/function_libs/torch_lib/ops_test_data.py"
TARGET = "onnxscript.json"
_MARKS = ("xfail", "skip")
#: words of upstream's reason, and what they come to; the first that is found says it
_WHY = (
    (r"overload|variation|variant|^takes|args\[1\]|return_indices|as_tuple|ignore cases|dtype needs|String pad|4d q"
     r"|only accept", "a call of another overload"),
    ("random", "random"),
    (r"empty|[Ss]ize 0|zero.sized|zero-dim|0-dim|Rank\(0\)|\[m, 0\]|no reduction|'shape' do not", "empty or 0-d"),
    (r"CUDA|MKL|PyTorch produces|[Tt]orch uses|Torch not|does not define|torch\.\w+ (?:uses|with)|174668", "torch"),
    (r"MacOS|macosx|windows|on CI", "the machine"),
    (r"ORT|ONNX Runtime|onnxruntime|MLFloat16|bool not supported|only supports CUDA", "onnxruntime"),
    (r"ONNX", "ONNX"),
    (r"mismatch|not close|unstable|[Aa]ccura|off-by-one|diverges|not match|not correct", "other values"),
)  # fmt: skip
#: tests under names of their own, with the entries of torch's database that they take samples of
_OWN_NAMES = {
    "all_dim": "all", "all_dims": "all", "any_dim": "any", "any_dims": "any", "arange_start": "arange",
    "arange_start_step": "arange", "atleast_1d_Sequence": "atleast_1d", "atleast_2d_Sequence": "atleast_2d",
    "atleast_3d_Sequence": "atleast_3d", "concat": "cat", "concatenate": "cat", "lift_fresh_copy": "clone",
    "div_mode": "div", "max_dim": "max", "mean_dim": "mean", "min_dim": "min", "prod_dim_int": "prod",
    "round_decimals": "round", "squeeze_dim": "squeeze", "view_as_complex_copy": "view_as_complex",
    "view_as_real_copy": "view_as_real", "nn.functional.max_pool1d_with_indices": "nn.functional.max_pool1d",
    "nn.functional.max_pool2d_with_indices": "nn.functional.max_pool2d",
    "nn.functional.max_pool3d_with_indices": "nn.functional.max_pool3d",
    "nn.functional.reflection_pad2d": "nn.functional.pad.reflect",
    "nn.functional.replication_pad2d": "nn.functional.pad.replicate",
    "nn.functional.replication_pad3d": "nn.functional.pad.replicate", "grid_sampler_2d": "nn.functional.grid_sample",
}  # fmt: skip
#: the same under names of aten, which have samples of their own: the nearest entries
_OF_ATEN = {
    "_fft_c2c": "fft.fft",
    "_fft_c2r": "fft.irfft",
    "_fft_r2c": "fft.rfft",
    "_log_softmax": "log_softmax",
    "_softmax": "softmax",
    "layer_norm": "nn.functional.layer_norm",
    "embedding_bag": "nn.functional.embedding_bag",
    "max_pool3d": "nn.functional.max_pool3d",
    "unique_dim": "unique",
    "upsample_bilinear2d": "nn.functional.interpolate.bilinear",
    "upsample_linear1d": "nn.functional.interpolate.linear",
    "upsample_bicubic2d": "nn.functional.interpolate.bicubic",
    "reflection_pad1d": "nn.functional.pad.reflect",
    "_scaled_dot_product_flash_attention": "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention": "nn.functional.scaled_dot_product_attention",
    "_native_batch_norm_legit_functional": "_native_batch_norm_legit",
}


class Tested(NamedTuple):
    """An operator's test: its name, whether it is that of complex inputs, and its marks in the order of the file."""

    name: str
    of_complex: bool
    marks: list[tuple[str, ast.Call]]


def tests(source: str) -> Iterator[Tested]:
    """The tests that a file of onnxscript lists."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Tuple):
            for item in node.value.elts:
                marks = []
                while isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in _MARKS:
                    marks.append((item.func.attr, item))
                    item = item.func.value
                if isinstance(item, ast.Call):
                    of_complex = any(keyword.arg == "complex" for keyword in item.keywords)
                    yield Tested(ast.literal_eval(item.args[0]), of_complex, marks[::-1])


def entries(tested: Tested, known: list[str]) -> Iterator[dict[str, Any]]:
    """What is written of a test: an entry for each mark, or one without."""
    complex_dtypes = ["complex64"] if tested.of_complex else []
    for kind, mark in tested.marks:
        given = {keyword.arg: keyword.value for keyword in mark.keywords}
        form = ast.literal_eval(mark.args[0] if mark.args else given.get("variant_name", ast.Constant("")))
        found = {
            "name": tested.name,
            "operators": named(tested.name, form, known, every="matcher" in given or tested.name in _OWN_NAMES),
            "mark": kind,
            "dtypes": dtypes(given.get("dtypes")) or complex_dtypes,
            "some": "matcher" in given,
            "elsewhere": is_elsewhere(given),
            "why": why(ast.literal_eval(given["reason"])),
        }
        yield {key: value for key, value in found.items() if value}
    if not tested.marks:
        operators = named(tested.name, "", known, every=False)
        found = {"name": tested.name, "operators": operators, "dtypes": complex_dtypes}
        yield {key: value for key, value in found.items() if value}


def named(name: str, form: str, known: list[str], *, every: bool) -> list[str]:
    """The entries of torch's database that a test takes its samples of; those of all forms, or of one."""
    aten = name.removeprefix("ops.aten.").split(".")[0]
    own = _OF_ATEN.get(aten, aten) if name.startswith("ops.aten.") else _OWN_NAMES.get(name, name)
    own = own if own in known or f"nn.functional.{own}" not in known else f"nn.functional.{own}"
    exact = f"{own}.{form}" if form else own
    if every and not form:
        return [op for op in known if op == own or op.startswith(f"{own}.")]
    return [op for op in known if op == exact]


def dtypes(node: ast.expr | None) -> list[str]:
    """The dtypes of a mark on Linux."""
    if node is None:
        return []
    items = [item.orelse if isinstance(item, ast.IfExp) else item for item in getattr(node, "elts", ())]
    return [item.attr for item in items if isinstance(item, ast.Attribute)]


def is_elsewhere(given: dict[str | None, ast.expr]) -> bool:
    """Whether a mark is about another system than Linux, or is switched off."""
    words = "".join(ast.unparse(given[name]) for name in ("enabled_if", "dtypes") if name in given)
    return bool(re.search(r"IS_MACOS|platform != 'linux'|not _flags\.", words))


def why(reason: str) -> str:
    """Upstream's reason in a word."""
    return next((word for pattern, word in _WHY if re.search(pattern, reason)), "other")


def main() -> int:
    """Read the checkout and write the file."""
    checkout, version = sys.argv[1:]
    home = homes.find().of_corpus(OPERATORS)
    newest = releases.read_table()[-1].torch
    known = [entry.name for entry in read_entries(table_path(home)) if entry.holds(newest)]
    found = [item for tested in tests((Path(checkout) / TESTS).read_text("utf-8")) for item in entries(tested, known)]
    lines = ",\n".join(json.dumps(item) for item in found)
    (home.cases / TARGET).write_text(
        f'{{"version": {json.dumps(version)}, "tests": [\n{lines}\n]}}\n', encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
