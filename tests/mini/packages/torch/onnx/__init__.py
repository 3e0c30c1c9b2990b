"""Exporting: a tape becomes a file."""

from pathlib import Path

from torch import _era
from torch.onnx import symbolic
from torch.onnx.symbolic import OnnxExporterError, register_custom_op_symbolic, unregister_custom_op_symbolic
from torch.onnx.writer import Writer
from torch.tensor import Tape, recording


class ONNXProgram:
    """What the dynamo exporter returns."""

    def __init__(self, model_proto):
        self.model_proto = model_proto


def is_in_onnx_export():
    return recording()


def export(
    model,
    args,
    f=None,
    *,
    input_names=None,
    output_names=None,
    dynamic_axes=None,
    dynamic_shapes=None,
    opset_version=None,
    dynamo=_era.DYNAMO,
):
    """Run the module once, recording; write the file (TorchScript) or return the program too (dynamo)."""
    if dynamo and not _era.DYNAMO:
        raise TypeError("export() got an unexpected keyword argument 'dynamo'")
    mode = "dynamo" if dynamo else symbolic.mode_of(model)
    opset = symbolic.opset(opset_version, mode)
    with Tape(mode) as tape:
        names = list(input_names or [])
        names += [f"input_{index}" for index in range(len(names), len(args))]
        for name, tensor in zip(names, args, strict=False):
            tape.name(tensor, name)
        outputs = model(*args)
    writer = Writer(tape, opset, dynamic_axes or dynamic_shapes or {})
    proto = writer.model(names, args, outputs if isinstance(outputs, tuple) else (outputs,), output_names or [])
    _save(proto, f)
    return ONNXProgram(proto) if dynamo else None


def _save(proto, f):
    if hasattr(f, "write"):
        f.write(proto.SerializeToString())
    elif f is not None:
        Path(f).write_bytes(proto.SerializeToString())


__all__ = ["ONNXProgram", "OnnxExporterError", "export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]
