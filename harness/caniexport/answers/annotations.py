"""Annotations of a pull request, as GitHub reads them from the output of a step."""

from __future__ import annotations


def annotation(level: str, title: str, message: str, path: str = "", line: int = 0) -> str:
    """Return a line for an ``error``, a ``warning`` or a ``notice``, at a line of the project where one is given."""
    place = f"file={_property(path)},line={line}," if path else ""
    return f"::{level} {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
