"""An ONNX file from the reader's machine: what touches it, its operators for the address; the file is kept nowhere."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from caniexport.answers import onnx_ops
from caniexport.answers.model_file import ModelFile, make_model_file
from caniexport.answers.onnx_ops import BadModel
from caniexport.names import plural
from caniexport.operators import operator_key
from caniexport.pages.kept import Kept
from caniexport.pages.views.upgrade import LONGEST
from dashboard import widgets

#: bytes of a file; Streamlit refuses a larger one before it is here (.streamlit/config.toml)
LARGEST = 100 * 1024 * 1024
_KEY = "upload"
_REPORT = "upload-report"
_OPS = "upload-ops"
_FILE = "upload-file"
#: where a model comes from, as the address has it
_FROM = ("from", "from_opset", "from_exporter")
_LONGEST_NAME = 80
#: operators that are named one by one
_NAMED = 12


def draw_box(kept: Kept) -> None:
    """Draw the box to drop a file on."""
    with st.container(key="upload-box"):
        st.file_uploader(
            "or an ONNX file that uses them",
            key=_KEY,
            on_change=_take,
            args=(kept,),
            help="At most 100 MB. The file is read for its operators and how they are joined, and then forgotten.",
        )


def show_report() -> None:
    """Show what was found in the last file."""
    good, message = st.session_state.get(_REPORT, (True, ""))
    if message:
        (st.info if good else st.warning)(widgets.escape_except_code(message))


def _take(kept: Kept) -> None:
    """Write the operators of an uploaded file into the address, before the page is drawn from it."""
    file = st.session_state[_KEY]
    _forget()
    if file is None:
        return
    found, good, message = find_operators(file.name, file.getvalue(), kept.inventory.ops, LONGEST)
    st.session_state[_REPORT] = (good, message.replace("`", "'"))
    model = read_origin(kept, file.name, file.getvalue()) if good else None
    st.session_state[_FILE] = model
    if model is not None and "torch" in model.point:
        # the point in the file replaces the one in the address
        for name in _FROM:
            st.query_params.pop(name, None)
    if found:
        st.query_params["ops"] = st.session_state[_OPS] = found


def _forget() -> None:
    """Remove the message and the operators of the file before."""
    st.session_state[_REPORT] = (True, "")
    st.session_state[_FILE] = None
    last = st.session_state.get(_OPS)
    if last and st.query_params.get("ops") == last:
        del st.query_params["ops"]


def read_given() -> ModelFile | None:
    """Return the uploaded model file, or ``None``."""
    found: ModelFile | None = st.session_state.get(_FILE)
    return found


def read_origin(kept: Kept, name: str, content: bytes) -> ModelFile | None:
    """Return the point and graph of a model file; ``None`` if it is no model."""
    try:
        return make_model_file(onnx_ops.read_bytes(content, name), _printable_name(name), kept.inventory.torch)
    except BadModel:
        return None


def find_operators(name: str, content: bytes, covered: Iterable[str], longest: int) -> tuple[str, bool, str]:
    """Return the operators of a file that cases cover, whether it could be read, and a message about it."""
    shown = _printable_name(name)
    if len(content) > LARGEST:
        return "", False, f"{shown} is larger than 100 MB: caniexport upgrade --model reads files of any size"
    try:
        found = onnx_ops.read_bytes(content, shown)
    except BadModel as error:
        return "", False, str(error)
    by_key = {operator_key(op): op for op in covered}
    about = dict.fromkeys(by_key[key] for op in found.all if (key := operator_key(op)) in by_key)
    others = [op for op in dict.fromkeys(found.all) if operator_key(op) not in by_key]
    listed = ", ".join(about)
    if not about:
        return "", True, f"{shown}: no case is about any of its {plural(len(found.all), 'operator')}."
    if len(listed) > longest:
        listed = listed[:longest].rpartition(",")[0]
    first = ", ".join(op[:_LONGEST_NAME] for op in others[:_NAMED])
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    rest = f" No case is about {first}{more}." if others else ""
    return listed, True, f"{shown}: cases are about {len(about)} of its {plural(len(found.all), 'operator')}.{rest}"


def _printable_name(name: str) -> str:
    """Return a file's name without control characters."""
    return "".join(sign for sign in name if sign.isprintable())[-_LONGEST_NAME:] or "the file"
