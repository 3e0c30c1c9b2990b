"""The URL is where a page's filters live: widgets show it and write to it, nothing else remembers them.

A value in the URL that nobody knows is answered with the nearest known ones, and counts as not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import streamlit as st

from caniexport import names
from caniexport.model.errors import UnknownName

#: longest value of a parameter that is looked at
_LONGEST = 300


def text(name: str, longest: int = _LONGEST) -> str:
    """A parameter as it stands in the URL, as far as it is looked at; empty where it is not given."""
    return st.query_params.get(name, "")[:longest]


def one_of(name: str, known: Sequence[str], kind: str = "") -> str:
    """A parameter that must be one of the known names; empty where it is not given or was reported as unknown."""
    found = several_of(name, known, kind)
    return found[0] if found else ""


def several_of(name: str, known: Sequence[str], kind: str = "") -> tuple[str, ...]:
    """A parameter of names with commas between them, in the order of ``known``; unknown ones are reported."""
    found = set()
    for item in filter(None, (part.strip() for part in text(name).split(","))):
        try:
            found.add(names.require(kind or name, item, known))
        except UnknownName as error:
            st.warning(plain(str(error)), icon=":material/help:")
    return tuple(item for item in known if item in found)


def plain(said: str) -> str:
    """Text for a Streamlit element that reads Markdown: every sign that could mean something is escaped."""
    return "".join("\\" + sign if sign in _MARKDOWN else sign for sign in said)


_MARKDOWN = set("\\`*_{}[]()<>#+-.!|~$:^&")


def select(
    name: str,
    label: str,
    known: Sequence[str],
    *,
    default: str = "any",
    shown: Mapping[str, str] | None = None,
    width: int = 150,
) -> str:
    """A drop-down over the known names, and ``default`` for none; gives the name, empty for none."""
    asked = one_of(name, known, label.lower())
    key = _key(name)
    st.session_state[key] = asked
    st.selectbox(
        label,
        ["", *known],
        key=key,
        format_func=lambda item: (shown or {}).get(item, item) if item else default,
        on_change=_take,
        args=(name,),
        width=width,
    )
    return asked


def pills(
    name: str,
    label: str,
    known: Sequence[str],
    *,
    default: Sequence[str] = (),
    shown: Callable[[str], str] = str,
) -> tuple[str, ...]:
    """Switches over the known names; gives those that are on, or ``default`` where the URL names none."""
    asked = several_of(name, known, label.lower()) or tuple(default)
    key = _key(name)
    st.session_state[key] = list(asked)
    st.pills(
        label, known, key=key, selection_mode="multi", format_func=shown, on_change=_take, args=(name, tuple(default))
    )
    return asked


def tabs(name: str, label: str, known: Sequence[str], default: str, shown: Callable[[str], str] = str) -> str:
    """One of the known names, side by side; ``default`` where the URL names none."""
    asked = one_of(name, known, label.lower()) or default
    key = _key(name)
    st.session_state[key] = asked
    st.segmented_control(label, known, key=key, format_func=shown, on_change=_take, args=(name, (default,)))
    return asked


def switch(name: str, label: str) -> bool:
    """An on/off switch; ``1`` in the URL is on."""
    asked = text(name) == "1"
    key = _key(name)
    st.session_state[key] = asked
    st.toggle(label, key=key, on_change=_take, args=(name,))
    return asked


def words(
    name: str,
    label: str,
    placeholder: str,
    *,
    width: int | Literal["stretch"] = 230,
    longest: int = _LONGEST,
    tidy: Callable[[str], str] = str,
) -> str:
    """A line of text; ``tidy`` makes what is written into the URL of what was typed."""
    asked = text(name, longest)
    key = _key(name)
    st.session_state[key] = asked
    st.text_input(
        label,
        key=key,
        placeholder=placeholder,
        max_chars=longest,
        on_change=_take_words,
        args=(name, tidy),
        width=width,
    )
    return asked


def drop(*given: str) -> None:
    """Remove parameters from the URL."""
    for name in given:
        if name in st.query_params:
            del st.query_params[name]


def _key(name: str) -> str:
    return f"url-{name}"


def _take_words(name: str, tidy: Callable[[str], str]) -> None:
    st.session_state[_key(name)] = tidy(st.session_state[_key(name)] or "")
    _take(name)


def _take(name: str, default: Sequence[str] = ()) -> None:
    """Write a widget's new value into the URL, before the page is drawn from it."""
    value = st.session_state[_key(name)]
    if isinstance(value, bool):
        value = "1" if value else ""
    elif isinstance(value, list):
        value = "" if set(value) == set(default) else ",".join(value)
    elif value is None or value in default:
        value = ""
    if value:
        st.query_params[name] = value
    else:
        drop(name)
