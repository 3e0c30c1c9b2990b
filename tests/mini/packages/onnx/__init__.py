"""A stand-in for onnx: the messages a tiny exporter writes, and reading them back."""

# ruff: noqa: RUF012  # fields are declarations

from pathlib import Path

from onnx._version import __version__
from onnx.message import DecodeError, Descriptor, Message


class StringStringEntryProto(Message):
    FIELDS = {"key": "", "value": ""}


class OperatorSetIdProto(Message):
    FIELDS = {"domain": "", "version": 0}


class TensorProto(Message):
    FIELDS = {"name": "", "data_type": "", "dims": [0], "raw_data": b"", "doc_string": ""}


class ValueInfoProto(Message):
    #: an axis is a number or a name, both as text
    FIELDS = {"name": "", "data_type": "", "dims": [""], "doc_string": "", "metadata_props": [StringStringEntryProto]}


class GraphProto(Message):
    """Its fields follow below: a node's attribute may hold a graph."""


class AttributeProto(Message):
    FIELDS = {"name": "", "i": 0, "g": GraphProto, "graphs": [GraphProto], "doc_string": ""}


class NodeProto(Message):
    FIELDS = {
        "op_type": "",
        "domain": "",
        "name": "",
        "input": [""],
        "output": [""],
        "attribute": [AttributeProto],
        "doc_string": "",
        "metadata_props": [StringStringEntryProto],
    }


GraphProto.FIELDS = {
    "name": "",
    "node": [NodeProto],
    "initializer": [TensorProto],
    "input": [ValueInfoProto],
    "output": [ValueInfoProto],
    "doc_string": "",
    "metadata_props": [StringStringEntryProto],
}
GraphProto.DESCRIPTOR = Descriptor(GraphProto.FIELDS)


class FunctionProto(Message):
    FIELDS = {
        "name": "",
        "domain": "",
        "node": [NodeProto],
        "doc_string": "",
        "metadata_props": [StringStringEntryProto],
    }


class ModelProto(Message):
    FIELDS = {
        "ir_version": 0,
        "producer_name": "",
        "producer_version": "",
        "model_version": 0,
        "doc_string": "",
        "graph": GraphProto,
        "opset_import": [OperatorSetIdProto],
        "functions": [FunctionProto],
        "metadata_props": [StringStringEntryProto],
    }


def load_model_from_string(content):
    """The model of these bytes. Raises :class:`DecodeError`."""
    model = ModelProto()
    model.ParseFromString(bytes(content))
    return model


load_from_string = load_model_from_string


def load(path):
    """The model of a file."""
    return load_model_from_string(Path(path).read_bytes())


from onnx import checker, numpy_helper  # noqa: E402  # they need the messages above

__all__ = ["DecodeError", "ModelProto", "__version__", "checker", "load", "load_from_string", "numpy_helper"]
