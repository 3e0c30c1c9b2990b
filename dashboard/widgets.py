"""The filters of a page as Streamlit's widgets: they show the address and write to it, nothing else remembers them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from caniexport.pages.form import Field, read_address

_MARKDOWN = set("\\`*_{}[]()<>#+-.!|~$:^&")


def draw(bars: Sequence[Sequence[Field]], beside: Callable[[], None]) -> None:
    """Draw each bar in a row of its own; ``beside`` draws what else stands in the last."""
    for number, bar in enumerate(bars):
        with st.container(key=f"bar-{number}", horizontal=True, vertical_alignment="bottom"):
            for field in bar:
                _DRAWN[field.kind](field)
            if bar is bars[-1]:
                beside()


def address() -> dict[str, str]:
    """The parameters of the address as it is now."""
    asked = st.query_params
    return read_address((name, value) for name in asked for value in asked.get_all(name))


def plain(said: str) -> str:
    """Text for a Streamlit element that reads Markdown: every sign that could mean something is escaped."""
    return "".join("\\" + sign if sign in _MARKDOWN else sign for sign in said)


def ticked(said: str) -> str:
    """The same of a sentence whose words between back-ticks are code."""
    parts = said.split("`")
    if len(parts) % 2 == 0:
        return plain(said)
    coded = [" ".join(part.split()) if number % 2 else "" for number, part in enumerate(parts)]
    return "".join(f"`{code}`" if code else plain(part) for code, part in zip(coded, parts, strict=True))


def _select(field: Field) -> None:
    """A list to choose from; a combo takes what is typed, too."""
    is_combo = field.kind == "combo"
    typed = [name for name in field.value if is_combo and name and name not in field.known]
    st.selectbox(
        field.label,
        [*typed, *field.choices],
        key=_key(field, field.current),
        format_func=lambda item: field.show(item) if item else field.text,
        accept_new_options=is_combo,
        on_change=_take,
        args=(field,),
        width=field.width,
    )


def _tabs(field: Field) -> None:
    key = _key(field, field.one)
    st.segmented_control(field.label, field.known, key=key, format_func=field.show, on_change=_take, args=(field,))


def _pills(field: Field) -> None:
    st.pills(
        field.label,
        field.known,
        key=_key(field, list(field.value)),
        selection_mode="multi",
        format_func=field.show,
        on_change=_take,
        args=(field,),
    )


def _switch(field: Field) -> None:
    st.toggle(field.label, key=_key(field, bool(field.value)), on_change=_take, args=(field,))


def _words(field: Field) -> None:
    """A line of text of any length: Streamlit drops one that is longer than it is told without a word."""
    st.text_input(
        field.label,
        key=_key(field, field.one),
        placeholder=field.text,
        on_change=_take,
        args=(field,),
        width=field.width,
    )


_DRAWN = {"select": _select, "combo": _select, "tabs": _tabs, "pills": _pills, "switch": _switch, "words": _words}


def _key(field: Field, value: object) -> str:
    """The widget's key; it shows ``value``, whatever it showed before."""
    key = f"url-{field.name}"
    st.session_state[key] = value
    return key


def _take(field: Field) -> None:
    """Write a widget's new value into the address, before the page is drawn from it."""
    key = f"url-{field.name}"
    value = st.session_state[key]
    is_default = field.kind == "tabs" and value in field.default
    match value:
        case bool():
            value = "1" if value else ""
        case list():
            value = "" if set(value) == set(field.default) else ",".join(value)
        case None:
            value = ""
    if field.kind == "words":
        # one more than is read: that there was more is said
        value = st.session_state[key] = value[: field.longest + 1]
    if value and not is_default:
        st.query_params[field.name] = value
    elif field.name in st.query_params:
        del st.query_params[field.name]
