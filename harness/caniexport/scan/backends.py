"""Other runtimes than ONNX Runtime that code is written for: told by folders, names, arguments and comments."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

_NAMES = {
    "ncnn": "ncnn", "tensorrt": "tensorrt", "trt": "tensorrt", "coreml": "coreml", "coremltools": "coreml",
    "mlmodel": "coreml", "openvino": "openvino", "rknn": "rknn", "tflite": "tensorflow", "edgetpu": "tensorflow",
    "tfjs": "tensorflow", "saved_model": "tensorflow", "pb": "tensorflow", "imx": "imx", "pplnn": "pplnn",
    "ascend": "ascend", "tvm": "tvm", "snpe": "snpe", "vacc": "vacc", "mnn": "mnn", "axelera": "axelera", "qnn": "qnn",
    "inferentia": "neuron", "neuron": "neuron", "neuronx": "neuron",
    "tensorflow": "tensorflow", "engine": "tensorrt", "paddle": "paddle", "hailo": "hailo", "sophgo": "sophgo",
    "barracuda": "barracuda", "onnx2tf": "tensorflow",
}  # fmt: skip
#: names of folders alone: elsewhere they are named for many reasons
_FOLDERS = {
    **_NAMES, "litert": "tensorflow", "ane": "coreml", "tico": "circle", "executorch": "executorch", "iree": "iree",
    "xnnpack": "executorch", "graphcore": "graphcore", "ipu": "graphcore", "poptorch": "graphcore", "nnapi": "nnapi",
    "furiosa": "furiosa", "rbln": "rbln", "hexagon": "qnn", "qaic": "qnn",
}  # fmt: skip
#: names that a folder or a comment has for other reasons, too
_AMBIGUOUS = frozenset({"pb", "engine", "tensorflow", "paddle", "saved_model", "tvm"})
#: what a registration calls the runtime that was measured, or no runtime in particular
_MEASURED = ("", "default", "onnx", "onnxruntime", "ort")
_WORD = re.compile(r"[a-z]+")
_IN_TEXT = re.compile(r"\b(ncnn|tensorrt|trt|coreml|core ml|openvino|rknn|tflite|snpe|mnn|inferentia)\b", re.IGNORECASE)
_IN_NAMES = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(set(_NAMES) - _AMBIGUOUS))})(?![a-z])", re.IGNORECASE)
#: what reads ONNX files alone: a comment on it names both
_READS_ONNX = re.compile(r"\b(barracuda|onnx2tf)\b(?! also)", re.IGNORECASE)
#: operators of Caffe2 that torch had itself
_OPS = "torch.ops._caffe2."
#: what brings an ONNX file to TensorRT
_CONVERTER = re.compile(r"onnx2tensorrt|onnx2trt|onnx[- ]tensorrt|nvidia/tensorrt", re.IGNORECASE)


def mentioned(text: str) -> bool:
    """Whether a file has to do with another runtime at all."""
    return bool(_IN_TEXT.search(text) or _READS_ONNX.search(text) or _IN_NAMES.search(text))


def of_path(path: str) -> str:
    """The runtime that a file's folders and name say."""
    for part in re.split(r"[/.]", path.lower()):
        for word in (part, *re.split(r"[_-]", part)):
            if word in _FOLDERS and word not in _AMBIGUOUS:
                return _FOLDERS[word]
    return ""


def of_name(name: str) -> str:
    """The runtime that a function's name says: ``roi_align__tensorrt``."""
    words = re.sub(r"([A-Z]+)(?=[A-Z][a-z])|([a-z0-9])(?=[A-Z])", r"\1\2_", name).lower().split("_")
    return next((_NAMES[word] for word in words if word in _NAMES and word not in _AMBIGUOUS), "")


def of_text(said: str) -> str:
    """The runtime that a comment is about; empty where it speaks of ONNX, too."""
    if only := _READS_ONNX.search(said):
        return _NAMES[only[0].lower()]
    found = _IN_TEXT.search(said) or _CONVERTER.search(said)
    if found is None or "onnx" in _CONVERTER.sub("", said).lower():
        return ""
    return (
        "tensorrt"
        if _CONVERTER.fullmatch(found[0])
        else _NAMES.get(found[0].lower().replace(" ", ""), found[0].lower())
    )


def of_call(call: ast.Call) -> str:
    """Whom a registration is for: ``backend="tensorrt"``, ``backend=Backend.TENSORRT.value``. Empty for everybody."""
    given = next((word.value for word in call.keywords if word.arg == "backend"), None)
    if isinstance(given, ast.Constant):
        name = str(given.value)
    else:
        name = _dotted(given).removesuffix(".value").split(".")[-1] if given else ""
    return "" if name.lower() in _MEASURED else name.lower()


def of_test(test: ast.expr) -> str:
    """The runtime that a test asks for: ``self.format in {"tflite", "edgetpu"}``, ``backend == "ncnn"``,
    ``self.coreml_exportable``.
    """
    for item in ast.walk(test):
        flag = _dotted(item).rpartition(".")[2]
        if "export" in flag and of_name(flag):
            return of_name(flag)
        if isinstance(item, ast.Compare) and len(item.ops) == 1 and isinstance(item.ops[0], ast.Eq | ast.In):
            parts = ast.walk(item.comparators[0])
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if own := _of_node(_dotted(item.left), texts):
                return own
            about = _WORD.findall(_dotted(item.left).lower())
            asked = {"format", "backend", "target", "runtime", "fmt", "platform"} & set(about)
            names = [_NAMES.get(text.lower(), "") for text in texts]
            if asked <= {"backend", "platform", "runtime"}:
                continue  # a backend of Python code, and no format of a file
            if asked and names and all(names):
                return names[0]
    return ""


def _of_node(asked: str, texts: Sequence[str]) -> str:
    """The runtime of whose own nodes a test asks: ``node.op == "DeformAttnPlugin_TRT"``."""
    return next(filter(None, map(of_name, texts)), "") if asked.endswith((".op", ".op_type")) else ""


def of_branch(block: Sequence[ast.stmt]) -> str:
    """The runtime whose own operators a branch calls: ``torch.ops.nvidia.DeformAttnPlugin_TRT``."""
    listed = [_dotted(item) for node in block for item in ast.walk(node) if isinstance(item, ast.Attribute)]
    if any(name.startswith(_OPS) for name in listed):
        return "caffe2"
    own = (of_name(name.rpartition(".")[2]) for name in listed if name.startswith("torch.ops."))
    return next(filter(None, own), "")


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
