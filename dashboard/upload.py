"""An ONNX file from the reader's machine: what touches it, its operators for the address; the file is kept nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from caniexport.answers import onnx_ops
from caniexport.answers.model_file import place_model
from caniexport.answers.onnx_ops import BadModel
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.wanted import name_cases
from caniexport.model.errors import UnknownName
from caniexport.names import plural
from caniexport.pages.kept import Kept
from caniexport.pages.views.upgrade import LONGEST, decide_for_model
from dashboard import widgets

#: bytes of a file; Streamlit refuses a larger one before it is here (.streamlit/config.toml)
LARGEST = 100 * 1024 * 1024
_KEY = "upload"
_SAID = "upload-said"
_OPS = "upload-ops"
_BELOW = "Below: what is known of these operators, in whatever model."
_LONGEST_NAME = 80
#: operators that are named one by one
_NAMED = 12


def box(kept: Kept) -> None:
    """The box to drop a file on."""
    with st.container(key="upload-box"):
        st.file_uploader(
            "or an ONNX file that uses them",
            key=_KEY,
            on_change=_take,
            args=(kept,),
            help="At most 100 MB. The file is read for its operators and then forgotten.",
        )


def tell() -> None:
    """What was found in the last file, where the page shows it with its filters folded, too."""
    good, said = st.session_state.get(_SAID, (True, ""))
    if said:
        (st.info if good else st.warning)(widgets.ticked(said))


def _take(kept: Kept) -> None:
    """Write the operators of an uploaded file into the address, before the page is drawn from it."""
    file = st.session_state[_KEY]
    _forget()
    if file is None:
        return
    asked = widgets.address()
    found, good, said = told(file.name, file.getvalue(), kept.rows().catalogue.values(), LONGEST)
    decision = decided(kept, file.name, file.getvalue(), asked) if good else ""
    parts = (f"For this file: {decision}" if decision else "", said.replace("`", "'"), _BELOW if found else "")
    st.session_state[_SAID] = (good, " ".join(filter(None, parts)))
    if found:
        st.query_params["ops"] = st.session_state[_OPS] = found


def _forget() -> None:
    """Take back what the file before has said, and its operators where the address still has them."""
    st.session_state[_SAID] = (True, "")
    last = st.session_state.get(_OPS)
    if last and st.query_params.get("ops") == last:
        del st.query_params["ops"]


def decided(kept: Kept, name: str, content: bytes, asked: Mapping[str, str]) -> str:
    """What is known to touch a file, as ``caniexport upgrade --model`` opens; empty where it cannot be told."""
    try:
        model = place_model(onnx_ops.of_bytes(content, name), name, kept.rows().torch)
        return decide_for_model(kept, model, asked)
    except (BadModel, UnknownName):
        return ""


def told(name: str, content: bytes, catalogue: Iterable[CatalogueEntry], longest: int) -> tuple[str, bool, str]:
    """The operators of a file that cases are about, whether it could be read, and what is to be said of it."""
    shown = "".join(sign for sign in name if sign.isprintable())[-_LONGEST_NAME:] or "the file"
    if len(content) > LARGEST:
        return "", False, f"{shown} is larger than 100 MB: caniexport upgrade --model reads files of any size"
    try:
        found = onnx_ops.of_bytes(content, shown)
    except BadModel as error:
        return "", False, str(error)
    named = name_cases(found.all, catalogue)
    about, others = named.names, named.others
    listed = ", ".join(about)
    if not about:
        return "", True, f"{shown}: no case is about any of its {plural(len(found.all), 'operator')}."
    if len(listed) > longest:
        listed = listed[:longest].rpartition(",")[0]
    first = ", ".join(op[:_LONGEST_NAME] for op in others[:_NAMED])
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    rest = f" No case is about {first}{more}." if others else ""
    return listed, True, f"{shown}: cases are about {len(about)} of its {plural(len(found.all), 'operator')}.{rest}"
