"""Errors with their cause in the text, so that no case is needed: a missing package, an old runtime."""

from __future__ import annotations

import re

from caniexport import versions
from caniexport.match.parse import ErrorEvidence
from caniexport.model.status import Exporter
from caniexport.store.views import Views

#: patterns of errors with a known cause: what to do, and why
_CAUSES = (
    (
        r"\btorch\.onnx\b.{0,3} has no attribute ['\"]?dynamo_export",
        "Call torch.onnx.export(..., dynamo=True): torch.onnx.dynamo_export is in torch 2.1 to 2.8 alone.",
        "torch 2.5 and newer take dynamo=True.",
    ),
    (
        r"(?i)\bout of memory\b|\bstd::bad_alloc\b|\bMemoryError\b|\bCannot allocate memory\b",
        "Out of memory: export on the CPU, with a smaller example, or under torch.no_grad().",
        "",
    ),
    (
        r"onnxruntime_providers_(?:cuda|tensorrt)\.|Failed to create (?:CUDA|Tensorrt)ExecutionProvider",
        "onnxruntime could not load its GPU provider and runs on the CPU: install its CUDA and cuDNN.",
        "onnxruntime-gpu 1.27 and newer needs CUDA 13, 1.19 to 1.26 CUDA 12, both cuDNN 9: "
        "pip install 'onnxruntime-gpu[cuda,cudnn]', and call onnxruntime.preload_dlls() first.",
    ),
    (
        r"inferred a static shape of \d+ for dimension|was inferred to be a constant \(\d+\)"
        r"|as dynamic but your code specialized it to be a constant|satisfy the generated guard Eq\(",
        "A dynamic axis is a constant in the model's code: change that code, or leave the axis fixed.",
        "A loop over the axis, int() or len(), an if on the size, a view with a number, or an example of size 1 do it.",
    ),
    (
        r"Unexpected input data type\. Actual: \(tensor\(\w+\)\)",
        "Cast the input before the run: the session was given another type than the file's input has.",
        "For example x.astype(numpy.float32).",
    ),
    (
        r"\bExpected all tensors to be on the same device\b",
        "Move the model and its example to one device: torch refuses tensors of two devices in one call.",
        "Make tensors in forward with device=x.device.",
    ),
    (
        r"\bversion_converter(?:/adapters/|\.ConvertError)|failed to convert the model to the target version",
        "Ask for opset 18 or newer, or export with dynamo=False: onnx cannot convert the file.",
        "The file was made at another opset than the one asked for.",
    ),
)
_MISSING = (
    (
        r"No module named ['\"]?onnxscript",
        "Install onnxscript: pip install -U onnxscript.",
        "torch.onnx.export needs it for dynamo=True, the default since torch 2.9; an old one may lack a module.",
    ),
    (
        r"No module named ['\"]?[A-Za-z_]",
        "A Python package is not installed where this ran: no export failed.",
        "",
    ),
)
_TOO_NEW = re.compile(
    r"\bOpset (?P<opset>\d+) is under development\b[^\n]{0,160}\btill opset (?P<most_opset>\d+)"
    r"|\bUnsupported model IR version: (?P<ir>\d+), max supported IR version: (?P<most_ir>\d+)"
)
_REFUSED = re.compile(r"Unsupported ONNX opset version: (\d+)")


def find_cause(views: Views, text: str, evidence: ErrorEvidence) -> tuple[str, str] | None:
    """Return what to do, and why; ``None`` for a text without its cause."""
    inner = evidence.reasons[0] if evidence.reasons else None
    # a warning of a missing package is not about the operator that fails below it
    if inner is not None and not (inner.is_warning and evidence.operators):
        reason = inner.line if inner.kind else inner.text
        for pattern, verdict, note in _MISSING:
            if re.search(pattern, reason):
                return verdict, note
    if found := _TOO_NEW.search(text):
        return _advise_newer_runtime(views, found)
    if found := _REFUSED.search(text):
        return _advise_older_opset(views, int(found[1]))
    return next(((verdict, note) for pattern, verdict, note in _CAUSES if re.search(pattern, text)), None)


def _advise_newer_runtime(views: Views, found: re.Match[str]) -> tuple[str, str]:
    """Advise on a file that is newer than the runtime: the first measured release that takes it."""
    kind, asked, most = ("opset", found["opset"], found["most_opset"]) if found["opset"] else ("ir", found["ir"], "")
    rows = views.fetch(
        """SELECT DISTINCT runtime_version FROM replays WHERE corpus = 'probe' AND runtime = 'onnxruntime'
            AND provider = 'cpu' AND works(status) AND "case" = $1 AND variant = $2""",
        [f"probe-{kind}", f"{kind}_{asked}"],
    )
    newer = versions.ordered(version for (version,) in rows)
    option = f"opset_version={most}" if most else f"model.ir_version = {found['most_ir']}"
    first = f"Export with {option}" if most else f"Set {option} and save the model again"
    run = f", or run it on onnxruntime {newer[0]} or newer" if newer else ""
    return f"{first}{run}.", "The runtime is older than the file."


def _advise_older_opset(views: Views, opset: int) -> tuple[str, str]:
    """Advise on an opset that a release of torch does not take: the releases that take it."""
    rows = views.fetch(
        """SELECT exporter, arg_min(torch, n) FROM call JOIN version USING (torch)
            WHERE opset = $1 AND profile = 'newest' AND exporter IN ($2, $3) GROUP BY exporter ORDER BY min(n)""",
        [opset, Exporter.TRACE.value, Exporter.DYNAMO.value],
    )
    since = " or ".join(f"{torch} (dynamo={exporter == Exporter.DYNAMO.value})" for exporter, torch in rows)
    if not since:
        return f"Ask for an older opset: no measured release of torch takes opset {opset}.", ""
    return f"Ask for an older opset, or upgrade to torch {since}.", f"These releases and newer ones take opset {opset}."
