"""The filters of a page as Streamlit's widgets: they show the address and write to it, nothing else remembers them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from caniexport.pages.form import Field, read_address

_MARKDOWN = set("\\`*_{}[]()<>#+-.!|~$:^&")


def draw(bars: Sequence[Sequence[Field]], draw_files: Callable[[], None]) -> None:
    """Draw each bar in a row of its own; ``draw_files`` adds to the last."""
    for number, bar in enumerate(bars):
        with st.container(key=f"bar-{number}", horizontal=True, vertical_alignment="bottom"):
            for field in bar:
                _DRAWN[field.kind](field)
            if bar is bars[-1]:
                draw_files()


def read_parameters() -> dict[str, str]:
    """Return the parameters of the current address."""
    asked = st.query_params
    return read_address((name, value) for name in asked for value in asked.get_all(name))


def escape_markdown(message: str) -> str:
    """Escape every Markdown character of a text."""
    return "".join("\\" + sign if sign in _MARKDOWN else sign for sign in message)


def escape_except_code(message: str) -> str:
    """Escape a text, but keep code between back-ticks."""
    parts = message.split("`")
    if len(parts) % 2 == 0:
        return escape_markdown(message)
    coded = [" ".join(part.split()) if number % 2 else "" for number, part in enumerate(parts)]
    return "".join(f"`{code}`" if code else escape_markdown(part) for code, part in zip(coded, parts, strict=True))


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
    """A line of text of any length: Streamlit silently drops one that exceeds its limit."""
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
        # one character more than is read, to detect a longer text
        value = st.session_state[key] = value[: field.longest + 1]
    if value and not is_default:
        st.query_params[field.name] = value
    elif field.name in st.query_params:
        del st.query_params[field.name]
