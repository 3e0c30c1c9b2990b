"""Errors whose cause the text tells whole, so that no case is needed: what is missing or older beside torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from caniexport.answers.opset_ranges import tell_opsets, tell_releases
from caniexport.answers.reading import load
from caniexport.answers.runtimes import runtimes
from caniexport.model.case import PLAIN
from caniexport.store import Dataset

_TOO_NEW = re.compile(r"\bOpset (?P<opset>\d+) is under development\b[^\n]{0,160}\btill opset (?P<most>\d+)")
_NEWER_FILE = re.compile(r"\bUnsupported model IR version: (?P<file>\d+), max supported IR version: (?P<most>\d+)")
_FRAMEWORK = re.compile(r"No module named '?onnxscript\._framework_apis\.torch_(?P<major>\d+)_(?P<minor>\d+)")
_REFUSED = re.compile(r"Unsupported ONNX opset version: (?P<opset>\d+)")
_GONE = re.compile(r"\btorch\.onnx\b.{0,3} has no attribute ['\"]?dynamo_export")
_MEMORY = re.compile(r"\bout of memory\b|\bstd::bad_alloc\b|\bMemoryError\b|\bCannot allocate memory\b", re.IGNORECASE)
_MISSING = re.compile(r"No module named ['\"]?(?P<name>[A-Za-z_][\w.]*\w)")
_PROVIDER = re.compile(
    r"onnxruntime_providers_(?P<library>cuda|tensorrt)\.(?:so|dll)\b"
    r"|Failed to create (?P<named>CUDA|Tensorrt)ExecutionProvider",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"inferred a static shape of (?P<size>\d+) for dimension "
    r"inputs\[['\"]?(?P<input>\w+)['\"]?\]\.shape\[(?P<axis>\d+)\]"
)
_CONSTANT = re.compile(
    r"\b(?P<axis>\w+) was inferred to be a constant \((?P<size>\d+)\)"
    r"|\bmarked (?P<marked>[\w.\[\]'\"()]+) as dynamic but your code specialized it to be a constant \((?P<made>\d+)\)"
    r"|\bNot all values of (?P<range>\w+) = [^\n]*? satisfy the generated guard Eq\([^\n]*?, (?P<only>\d+)\)"
)
_FED = re.compile(
    r"Unexpected input data type\. Actual: \(tensor\((?P<given>\w+)\)\)\s*,? expected: \(tensor\((?P<wanted>\w+)\)\)"
)
_DEVICES = re.compile(r"\bExpected all tensors to be on the same device\b")
_CONVERTER = re.compile(
    r"\bversion_converter(?:/adapters/|\.ConvertError)|\bfailed to convert the model to the target version\b",
    re.IGNORECASE,
)
#: what torch.onnx and the runs of its files need, and what for
_NEEDED = {
    "onnxscript": "torch.onnx.export needs it for `dynamo=True`, the default since torch 2.9",
    "onnx": "torch.onnx.export and whatever reads the file need it",
    "onnxruntime": "it runs the file",
}
_ORT = "onnxruntime"


@dataclass(frozen=True)
class PlainCause:
    """The cause and what to do, as one or two sentences. ``leads`` is whether cases that end alike tell more of it."""

    told: str
    leads: bool = False


def tell_cause(dataset: Dataset, text: str, torch: str = "") -> PlainCause | None:
    """The cause at a release of torch, or whichever it was; ``None`` where the text does not tell it whole."""
    for pattern, tell in _CAUSES:
        found = pattern.search(text)
        if found:
            return PlainCause(tell(dataset, found, torch), leads=pattern in _LEADING)
    return None


def _tell_refused(dataset: Dataset, found: re.Match[str], torch: str) -> str:
    """An opset that a release of torch does not take: which it takes, and from which release on this one is taken."""
    rows, opset = load(dataset), int(found["opset"])
    takes = tell_opsets(rows, torch) if torch else ""
    here = f"{takes}: ask for one of these" if takes else ""
    told = "; ".join(filter(None, (here, tell_releases(rows, opset))))
    return f"{told[:1].upper()}{told[1:]}." if told else f"No measured release of torch takes opset {opset}."


def _tell_gone(_: Dataset, __: re.Match[str], ___: str) -> str:
    """The name under which torch 2.1 to 2.8 have their exporter."""
    return (
        "torch.onnx.dynamo_export is in torch 2.1 to 2.8 alone: call `torch.onnx.export(..., dynamo=True)`, which "
        "torch 2.5 and newer take."
    )


def _tell_memory(_: Dataset, __: re.Match[str], ___: str) -> str:
    """Too little memory where it ran."""
    return (
        "The memory where this ran was not enough: it is no failure of an operator, and no case is about it. Export on "
        "the CPU, with a smaller example, or under torch.no_grad()."
    )


def _tell_too_new(dataset: Dataset, found: re.Match[str], _: str) -> str:
    """An opset that is newer than the runtime: which of those measured take it."""
    opset, most = int(found["opset"]), int(found["most"])
    lines = [line for line in runtimes(dataset) if line.runtime == _ORT and line.provider == "cpu" and line.max_opset]
    as_old = [line.version for line in lines if line.max_opset == most]
    newer = [line.version for line in lines if (line.max_opset or 0) >= opset]
    old = f", as onnxruntime {' and '.join(dict.fromkeys((as_old[0], as_old[-1])))} do" if as_old else ""
    instead = f", or run it on onnxruntime {newer[0]} or newer, the first measured that takes it" if newer else ""
    older = f"The runtime is older than the file: it takes opset {most} at most{old}, and the file has opset {opset}."
    return f"{older} Export with `opset_version={most}`{instead}."


def _tell_newer_file(dataset: Dataset, found: re.Match[str], _: str) -> str:
    """A file with a newer IR version than the runtime takes: which of those measured take it."""
    file, most = int(found["file"]), int(found["most"])
    lines = [line for line in runtimes(dataset) if line.runtime == _ORT and line.provider == "cpu"]
    newer = [line.version for line in lines if (line.max_ir or 0) >= file]
    instead = f", or run it on onnxruntime {newer[0]} or newer, the first measured that takes it" if newer else ""
    older = f"The runtime is older than the file: it takes IR version {most} at most, and the file has {file}."
    saved = f"Set `model.ir_version = {most}` and save the model again, or make it with an older onnx"
    case = f"ir-version-{file}-too-new"
    measured = f" So measured: `caniexport why {case}`." if (case, PLAIN) in load(dataset).catalogue else ""
    return f"{older} {saved}{instead}.{measured}"


def _tell_framework(dataset: Dataset, found: re.Match[str], _: str) -> str:
    """An onnxscript that is older than the torch beside it: the one that was measured with this torch."""
    asked = f"{found['major']}.{found['minor']}"
    beside = [
        (item.torch, item.packages["onnxscript"])
        for item in load(dataset).installed
        if item.torch.startswith(f"{asked}.") and "onnxscript" in item.packages
    ]
    measured = f" (measured with torch {beside[-1][0]}: {beside[-1][1]})" if beside else ""
    older = f"onnxscript is older than torch {asked}, which asks for a part that it has not"
    return f"{older}: `pip install -U onnxscript`{measured}."


def _tell_missing(_: Dataset, found: re.Match[str], __: str) -> str:
    """A package that is not installed."""
    name = found["name"]
    needed = f": `pip install {name}`; {_NEEDED[name]}" if name in _NEEDED else ""
    return f"The module {name} is not installed where this ran{needed}. It is no failure of an export."


def _tell_provider(_: Dataset, found: re.Match[str], __: str) -> str:
    """A provider whose own libraries are not found; which CUDA each package links is read from the packages."""
    name = (found["library"] or found["named"]).casefold()
    called = {"cuda": "CUDA", "tensorrt": "TensorRT"}[name]
    also = " and TensorRT 10 beside it" if name == "tensorrt" else ""
    return (
        f"onnxruntime could not load its {called} provider: neither an export nor the file fails, and a session then "
        "runs on the CPU without an exception. onnxruntime-gpu 1.27 and newer from the package index needs CUDA 13, "
        f"1.19 to 1.26 CUDA 12, both cuDNN 9{also}: `pip install 'onnxruntime-gpu[cuda,cudnn]'`, and call "
        "`onnxruntime.preload_dlls()` before the session is made."
    )


def _tell_fixed(_: Dataset, found: re.Match[str], __: str) -> str:
    """An axis that was asked to vary, and that the model's code makes a number of."""
    return (
        f"Axis {found['axis']} of input {found['input']} was named dynamic, and the model's own code makes the number "
        f"{found['size']} of its size: a loop over the axis, int() or len(), an `if` on the size, a list made of it. "
        "Mend that place, or leave the axis fixed."
    )


def _tell_constant(_: Dataset, found: re.Match[str], __: str) -> str:
    """An axis that was asked to vary, and of which the capture makes a number; 1 by itself."""
    axis = found["axis"] or found["marked"] or found["range"]
    size = found["size"] or found["made"] or found["only"]
    one = " An example of size 1 alone makes it one: export with an example of 2 or more." if size == "1" else ""
    return (
        f"Axis {axis} was named dynamic, and the model's code or an operator in it makes {size} of its size: "
        "a loop over the axis, int() or len(), an `if` on the size, a view with a number, a recurrent layer."
        f"{one} Mend that place, or leave the axis fixed."
    )


def _tell_fed(_: Dataset, found: re.Match[str], __: str) -> str:
    """An input of another type than the file's: what numpy makes of Python's numbers is float64."""
    given, wanted = (_TYPES.get(found[name], found[name]) for name in ("given", "wanted"))
    return (
        f"The session was given {given} for an input that the file has as {wanted}: cast it before it is run, "
        f"`x.astype(numpy.{wanted})`. Neither the export nor an operator fails."
    )


def _tell_devices(_: Dataset, __: re.Match[str], ___: str) -> str:
    """Tensors of two devices in one call."""
    return (
        "Tensors of two devices meet in one call, which torch itself refuses, whatever exports it: move the model and "
        "its example to one device (`model.cpu()`), and make tensors in forward with `device=x.device`."
    )


def _tell_converter(_: Dataset, __: re.Match[str], ___: str) -> str:
    """A file that was made at another opset than is asked for."""
    return (
        "The file was made at another opset, and onnx's converter cannot bring it to the one that is asked for: ask "
        "for opset 18 or newer, or export with `dynamo=False` (`dynamo=True` makes its file at 18 or newer and has it "
        "converted)."
    )


#: how ONNX Runtime calls the types that numpy calls otherwise
_TYPES = {"float": "float32", "double": "float64", "bool": "bool_"}
_CAUSES: tuple[tuple[re.Pattern[str], Callable[[Dataset, re.Match[str], str], str]], ...] = (
    (_TOO_NEW, _tell_too_new),
    (_NEWER_FILE, _tell_newer_file),
    (_REFUSED, _tell_refused),
    (_GONE, _tell_gone),
    (_FRAMEWORK, _tell_framework),
    (_MISSING, _tell_missing),
    (_MEMORY, _tell_memory),
    (_PROVIDER, _tell_provider),
    (_FIXED, _tell_fixed),
    (_CONSTANT, _tell_constant),
    (_FED, _tell_fed),
    (_DEVICES, _tell_devices),
    (_CONVERTER, _tell_converter),
)
#: those of which cases that end alike tell more
_LEADING = (_REFUSED, _PROVIDER, _FIXED, _CONSTANT, _CONVERTER)
#: what tells a text with such a cause from words to look for
PATTERNS = tuple(pattern for pattern, _ in _CAUSES)
