"""Failures of installing and importing."""

from caniexport import EnvironmentCase, environment_fix

_ONNX_ROUND_TRIP = """
import google.protobuf, json, onnx
from onnx import TensorProto, helper
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
model = onnx.load_model_from_string(helper.make_model(graph).SerializeToString())
onnx.checker.check_model(model)
print(json.dumps({"onnx": onnx.__version__, "protobuf": google.protobuf.__version__}))
"""

_DEFAULT_IR_VERSION = """
import json, onnx, onnxruntime
from onnx import TensorProto, helper
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print(json.dumps({"ir_version": model.ir_version, "onnxruntime": onnxruntime.__version__}))
"""

_CUDA_OF_TORCH = """
import json, torch
cuda = torch.version.cuda
print(json.dumps({"torch": torch.__version__.split("+")[0], "cuda": ".".join(cuda.split(".")[:2])}))
"""

_IS_FX_TRACING = "from torch.fx._symbolic_trace import is_fx_tracing"


class Protobuf39LibprotobufSo20(EnvironmentCase):
    """onnx 1.6.0 with a much newer protobuf: the import fails.

    The document reports a missing libprotobuf.so.20, which a linked build of onnx needs. The wheels contain their own
    copy and fail in a different way: protobuf 4 rejects their generated code.
    """

    id = "protobuf-3-9-libprotobuf-so-20"
    sources = ("seed:003",)
    python = "3.7"
    packages = ("onnx==1.6.0", "protobuf==4.24.4", "numpy==1.21.6")
    code = _ONNX_ROUND_TRIP

    protobuf_3_9 = environment_fix(
        "version-upgrade",
        "use protobuf 3.9.2, as documented",
        packages=("onnx==1.6.0", "protobuf==3.9.2", "numpy==1.21.6"),
    )
    protobuf_3_20 = environment_fix(
        "version-upgrade",
        "use protobuf 3.20.3, the last that accepts code generated before 3.19",
        packages=("onnx==1.6.0", "protobuf==3.20.3", "numpy==1.21.6"),
        documented=False,
    )
    newer_onnx = environment_fix(
        "version-upgrade",
        "use an onnx of the same age as the protobuf",
        packages=("onnx==1.14.1", "protobuf==4.24.4", "numpy==1.21.6"),
        documented=False,
    )


class Python369OnnxUnusable(EnvironmentCase):
    """onnx 1.6.0 with Python 3.6: reported as unusable."""

    id = "python-3-6-9-onnx-unusable"
    sources = ("seed:003",)
    python = "3.6"
    packages = ("onnx==1.6.0", "protobuf==3.9.2", "numpy==1.19.5")
    code = _ONNX_ROUND_TRIP

    python_3_7 = environment_fix("version-upgrade", "use Python 3.7", python="3.7")


class Torch12NeedsCuda10(EnvironmentCase):
    """torch 1.2.0 is built for CUDA 10.0: the driver must support it."""

    id = "torch-1-2-needs-cuda-10"
    sources = ("seed:003",)
    python = "3.7"
    packages = ("torch==1.2.0", "numpy==1.21.6")
    code = _CUDA_OF_TORCH

    torch_1_3_1 = environment_fix(
        "version-upgrade", "use torch 1.3.1, the document's final choice", packages=("torch==1.3.1", "numpy==1.21.6")
    )


class Detectron2VersionPin(EnvironmentCase):
    """detectron2's later sources import is_fx_tracing: torch 1.12 does not have it.

    detectron2 is on no package index. The case runs the one line of it that fails.
    """

    id = "detectron2-version-pin"
    sources = ("seed:004", "facebookresearch/detectron2#4489", "facebookresearch/detectron2#4491")
    python = "3.8"
    packages = ("torch==1.12.1", "numpy==1.23.5")
    code = _IS_FX_TRACING

    torch_1_10 = environment_fix(
        "version-upgrade",
        "use torch 1.10.2, the last that detectron2 0.6 names; it has no is_fx_tracing either",
        packages=("torch==1.10.2", "numpy==1.23.5", "setuptools==75.3.4"),
    )
    torch_1_13 = environment_fix(
        "version-upgrade",
        "use torch 1.13.1",
        packages=("torch==1.13.1", "numpy==1.23.5"),
        documented=False,
    )
    guarded_import = environment_fix(
        "rewrite",
        "try the import and continue without it",
        code="try:\n    " + _IS_FX_TRACING + "\nexcept ImportError:\n    is_fx_tracing = None",
    )


class IrVersion9TooNew(EnvironmentCase):
    """onnx 1.14.1 makes models of IR version 9: onnxruntime 1.14.1 supports 8."""

    id = "ir-version-9-too-new"
    sources = ("microsoft/onnxruntime#15874", "microsoft/onnxruntime#16638")
    python = "3.8"
    packages = ("onnx==1.14.1", "onnxruntime==1.14.1", "numpy==1.23.5")
    code = _DEFAULT_IR_VERSION

    older_ir_version = environment_fix(
        "graph-surgery",
        "set model.ir_version = 8 and save the model again",
        code=_DEFAULT_IR_VERSION.replace("onnxruntime.Inf", "model.ir_version = 8\nonnxruntime.Inf"),
    )
    newer_runtime = environment_fix(
        "version-upgrade",
        "use onnxruntime 1.15.1",
        packages=("onnx==1.14.1", "onnxruntime==1.15.1", "numpy==1.23.5"),
    )
    older_onnx = environment_fix(
        "version-upgrade",
        "use onnx 1.13.1, whose models have IR version 8",
        packages=("onnx==1.13.1", "onnxruntime==1.14.1", "numpy==1.23.5"),
    )


class IrVersion10TooNew(EnvironmentCase):
    """onnx 1.16.2 makes models of IR version 10: onnxruntime 1.17.1 supports 9."""

    id = "ir-version-10-too-new"
    sources = ("microsoft/onnxruntime#20559", "notAI-tech/NudeNet#156")
    python = "3.10"
    packages = ("onnx==1.16.2", "onnxruntime==1.17.1", "numpy==1.26.4")
    code = _DEFAULT_IR_VERSION

    older_ir_version = environment_fix(
        "graph-surgery",
        "set model.ir_version = 9 and save the model again",
        code=_DEFAULT_IR_VERSION.replace("onnxruntime.Inf", "model.ir_version = 9\nonnxruntime.Inf"),
    )
    newer_runtime = environment_fix(
        "version-upgrade",
        "use onnxruntime 1.18.1",
        packages=("onnx==1.16.2", "onnxruntime==1.18.1", "numpy==1.26.4"),
    )
    older_onnx = environment_fix(
        "version-upgrade",
        "use onnx 1.15.0, whose models have IR version 9",
        packages=("onnx==1.15.0", "onnxruntime==1.17.1", "numpy==1.26.4"),
    )


class IrVersion11TooNew(EnvironmentCase):
    """onnx 1.18.0 makes models of IR version 11: onnxruntime 1.20.1 supports 10."""

    id = "ir-version-11-too-new"
    sources = ("microsoft/onnxruntime#23602", "enpasos/jax2onnx#28")
    python = "3.10"
    packages = ("onnx==1.18.0", "onnxruntime==1.20.1", "numpy==1.26.4")
    code = _DEFAULT_IR_VERSION

    older_ir_version = environment_fix(
        "graph-surgery",
        "set model.ir_version = 10 and save the model again",
        code=_DEFAULT_IR_VERSION.replace("onnxruntime.Inf", "model.ir_version = 10\nonnxruntime.Inf"),
    )
    newer_runtime = environment_fix(
        "version-upgrade",
        "use onnxruntime 1.23.2",
        packages=("onnx==1.18.0", "onnxruntime==1.23.2", "numpy==1.26.4"),
    )
    older_onnx = environment_fix(
        "version-upgrade",
        "use onnx 1.17.0, whose models have IR version 10",
        packages=("onnx==1.17.0", "onnxruntime==1.20.1", "numpy==1.26.4"),
    )
