"""Errors whose cause the text tells whole, so that no case is needed: a missing package, an old runtime."""

from __future__ import annotations

import re
from collections.abc import Callable

from caniexport.answers.opset_ranges import tell_opsets, tell_releases
from caniexport.answers.reading import load
from caniexport.answers.runtimes import RuntimeLine, runtimes
from caniexport.match.evidence import ErrorEvidence
from caniexport.store import Dataset

_ORT = "onnxruntime"


def tell_cause(dataset: Dataset, text: str, evidence: ErrorEvidence, torch: str = "") -> str:
    """Return the cause and what to do, at a release of torch if one is named; empty where the text does not tell it."""
    missing = _tell_missing(evidence)
    if missing:
        return missing
    for pattern, tell in _FROM_DATA:
        found = pattern.search(text)
        if found:
            return tell(dataset, found, torch)
    return next((told for pattern, told in _PLAIN if pattern.search(text)), "")


def _tell_missing(evidence: ErrorEvidence) -> str:
    """A package that is not installed: only where the innermost exception says so, not a warning beside an operator."""
    inner = evidence.reasons[0] if evidence.reasons else None
    if inner is None or (inner.warns and evidence.operators):
        return ""
    said = inner.line if inner.kind else inner.text
    return next((told for pattern, told in _MISSING if pattern.search(said)), "")


def _tell_refused(dataset: Dataset, found: re.Match[str], torch: str) -> str:
    """An opset that a release of torch does not take: which it takes, and which releases take this one."""
    rows, opset = load(dataset), int(found["opset"])
    takes = tell_opsets(rows, torch) if torch else ""
    here = f"{takes}: ask for one of these" if takes else ""
    told = "; ".join(filter(None, (here, tell_releases(rows, opset))))
    return f"{told[:1].upper()}{told[1:]}." if told else f"No measured release of torch takes opset {opset}."


def _tell_too_new(dataset: Dataset, found: re.Match[str], _: str) -> str:
    """An opset that is newer than the runtime: the first measured release that takes it."""
    opset, most = int(found["opset"]), int(found["most"])
    newer = [line.version for line in _of_runtime(dataset) if (line.max_opset or 0) >= opset]
    older = f"The runtime is older than the file: it takes opset {most} at most, and the file has opset {opset}."
    return f"{older} Export with `opset_version={most}`{_instead(newer)}."


def _tell_newer_file(dataset: Dataset, found: re.Match[str], _: str) -> str:
    """A file with a newer IR version than the runtime takes: the first measured release that takes it."""
    file, most = int(found["file"]), int(found["most"])
    newer = [line.version for line in _of_runtime(dataset) if (line.max_ir or 0) >= file]
    older = f"The runtime is older than the file: it takes IR version {most} at most, and the file has {file}."
    return f"{older} Set `model.ir_version = {most}` and save the model again{_instead(newer)}."


def _of_runtime(dataset: Dataset) -> list[RuntimeLine]:
    return [line for line in runtimes(dataset) if line.runtime == _ORT and line.provider == "cpu"]


def _instead(newer: list[str]) -> str:
    return f", or run it on onnxruntime {newer[0]} or newer" if newer else ""


_FROM_DATA: tuple[tuple[re.Pattern[str], Callable[[Dataset, re.Match[str], str], str]], ...] = (
    (re.compile(r"\bOpset (?P<opset>\d+) is under development\b[^\n]{0,160}\btill opset (?P<most>\d+)"), _tell_too_new),
    (
        re.compile(r"\bUnsupported model IR version: (?P<file>\d+), max supported IR version: (?P<most>\d+)"),
        _tell_newer_file,
    ),
    (re.compile(r"Unsupported ONNX opset version: (?P<opset>\d+)"), _tell_refused),
)
_MISSING = (
    (
        re.compile(r"No module named ['\"]?onnxscript"),
        "onnxscript is not installed, or is older than torch needs: `pip install -U onnxscript`. torch.onnx.export "
        "needs it for `dynamo=True`, the default since torch 2.9.",
    ),
    (
        re.compile(r"No module named ['\"]?[A-Za-z_]"),
        "A Python package is not installed where this ran. It is no failure of an export.",
    ),
)
_PLAIN = (
    (
        re.compile(r"\btorch\.onnx\b.{0,3} has no attribute ['\"]?dynamo_export"),
        "torch.onnx.dynamo_export is in torch 2.1 to 2.8 alone: call `torch.onnx.export(..., dynamo=True)`, which "
        "torch 2.5 and newer take.",
    ),
    (
        re.compile(r"\bout of memory\b|\bstd::bad_alloc\b|\bMemoryError\b|\bCannot allocate memory\b", re.IGNORECASE),
        "The memory where this ran was not enough: no operator fails. Export on the CPU, with a smaller example, or "
        "under torch.no_grad().",
    ),
    (
        re.compile(r"onnxruntime_providers_(?:cuda|tensorrt)\.|Failed to create (?:CUDA|Tensorrt)ExecutionProvider"),
        "onnxruntime could not load its GPU provider and runs on the CPU: neither an export nor the file fails. "
        "onnxruntime-gpu 1.27 and newer needs CUDA 13, 1.19 to 1.26 CUDA 12, both cuDNN 9: "
        "`pip install 'onnxruntime-gpu[cuda,cudnn]'`, and call `onnxruntime.preload_dlls()` first.",
    ),
    (
        re.compile(
            r"inferred a static shape of \d+ for dimension|was inferred to be a constant \(\d+\)"
            r"|as dynamic but your code specialized it to be a constant|satisfy the generated guard Eq\("
        ),
        "An axis was named dynamic, and the model's code makes a number of its size: a loop over the axis, int() or "
        "len(), an `if` on the size, a view with a number, or an example of size 1. Change that place, or leave the "
        "axis fixed.",
    ),
    (
        re.compile(r"Unexpected input data type\. Actual: \(tensor\(\w+\)\)"),
        "The session was given another type than the file's input has: cast it before the run, for example "
        "`x.astype(numpy.float32)`. Neither the export nor an operator fails.",
    ),
    (
        re.compile(r"\bExpected all tensors to be on the same device\b"),
        "Tensors of two devices meet in one call, which torch itself refuses: move the model and its example to one "
        "device (`model.cpu()`), and make tensors in forward with `device=x.device`.",
    ),
    (
        re.compile(
            r"\bversion_converter(?:/adapters/|\.ConvertError)|failed to convert the model to the target version"
        ),
        "The file was made at another opset, and onnx's converter cannot bring it to the one asked for: ask for opset "
        "18 or newer, or export with `dynamo=False`.",
    ),
)
