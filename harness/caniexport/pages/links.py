"""Addresses: of pages of this app with their filters, and of the sources that cases name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, urlencode

from caniexport.pages.setting import CELL_PAGES, MINE

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


#: how the address of a page is made: of this app by default, of a file while a static copy is written
Addressing = Callable[[str, Mapping[str, str]], str]


def page(name: str, /, **asked: str | Iterable[str] | None) -> str:
    """The address of a page (``""``: the front page), relative to the page it stands on; empty values are left out."""
    given = {key: value if isinstance(value, str) else ",".join(value or ()) for key, value in asked.items()}
    taken = given | {key: value for key, value in _taken_along(name).items() if key not in given}
    return _ADDRESSING.get()(name, {key: value for key, value in taken.items() if value})


def _taken_along(name: str) -> dict[str, str]:
    """The parameters of the reader's setting; the page of a cell has other names for them."""
    prefix = MINE if name in CELL_PAGES else ""
    return {f"{prefix}{key}": value for key, value in _CARRIED.get().items()} if name not in _FILES else {}


def make_app_address(name: str, asked: Mapping[str, str]) -> str:
    """The address within the app."""
    query = urlencode(asked, quote_via=quote, safe=",")
    return f"./{name}?{query}" if query else f"./{name}"


#: what no reader's setting changes
_FILES = frozenset({"picture"})
_CARRIED: ContextVar[Mapping[str, str]] = ContextVar("carried", default={})  # noqa: B039  # nobody changes it
_ADDRESSING: ContextVar[Addressing] = ContextVar("addressing", default=make_app_address)


@contextmanager
def with_setting(setting: Mapping[str, str]) -> Iterator[None]:
    """Within it the address of every page takes a reader's setting along."""
    before = _CARRIED.set(setting)
    try:
        yield
    finally:
        _CARRIED.reset(before)


@contextmanager
def with_addresses(by: Addressing) -> Iterator[None]:
    """Within it every address is made by this function."""
    before = _ADDRESSING.set(by)
    try:
        yield
    finally:
        _ADDRESSING.reset(before)


def slug(name: str) -> str:
    """A name for files and anchors: the name itself where it is safe, else with a hash that keeps it apart.

    Names that differ in case only are kept apart too: not every file system does.
    """
    safe = _UNSAFE.sub("-", name).strip("-").lower()[:80]
    if safe and safe == name:
        return safe
    return f"{safe or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
