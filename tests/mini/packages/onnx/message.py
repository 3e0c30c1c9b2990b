"""The few habits of a protobuf message that readers of ONNX files rely on, over JSON."""

# ruff: noqa: N802, RUF012  # protobuf's own names; fields are declarations

import json

MAGIC = b"mini-onnx\n"


class DecodeError(ValueError):
    """The bytes are not a serialised message."""


class Field:
    """One entry of ``ListFields``: the name, and whether the value is a message."""

    TYPE_MESSAGE = 11

    def __init__(self, name, kind):
        self.name = name
        self.type = self.TYPE_MESSAGE if _is_message(kind) else 0


class Descriptor:
    """``DESCRIPTOR.fields_by_name`` of a message class."""

    def __init__(self, fields):
        self.fields_by_name = {name: Field(name, kind) for name, kind in fields.items()}


class Message:
    """Fields by name: a default value, a message class, or either in a list (repeated)."""

    FIELDS = {}

    def __init_subclass__(cls):
        cls.DESCRIPTOR = Descriptor(cls.FIELDS)

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name not in type(self).FIELDS:
            raise AttributeError(name)
        kind = type(self).FIELDS[name]
        value = [] if isinstance(kind, list) else kind() if isinstance(kind, type) else kind
        self.__dict__[name] = value
        return value

    def ListFields(self):
        set_fields = [(name, getattr(self, name)) for name in self.FIELDS if name in self.__dict__]
        return [(self.DESCRIPTOR.fields_by_name[name], value) for name, value in set_fields if _is_set(value)]

    def CopyFrom(self, other):
        self.__dict__.clear()
        self._load(other._dump())

    def ClearField(self, name):
        self.__dict__.pop(name, None)

    def SerializeToString(self):
        return MAGIC + json.dumps(self._dump(), sort_keys=True).encode("utf-8")

    def ParseFromString(self, content):
        if not content.startswith(MAGIC):
            raise DecodeError("Error parsing message")
        self.__dict__.clear()
        self._load(json.loads(content[len(MAGIC) :].decode("utf-8")))

    def _dump(self):
        return {field.name: _dump(value) for field, value in self.ListFields()}

    def _load(self, data):
        for name, value in data.items():
            kind = self.FIELDS[name]
            is_list = isinstance(kind, list)
            setattr(self, name, [_load(kind[0], part) for part in value] if is_list else _load(kind, value))


def _is_message(kind):
    return isinstance(kind[0] if isinstance(kind, list) and kind else kind, type)


def _is_set(value):
    return bool(value.ListFields()) if isinstance(value, Message) else bool(value)


def _dump(value):
    if isinstance(value, Message):
        return value._dump()
    if isinstance(value, list):
        return [_dump(part) for part in value]
    return value.hex() if isinstance(value, bytes) else value


def _load(kind, value):
    if isinstance(kind, type):
        message = kind()
        message._load(value)
        return message
    return bytes.fromhex(value) if isinstance(kind, bytes) else value
