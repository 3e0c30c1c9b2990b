"""The app with its first answers: ``python -m streamlit run dashboard/serve.py``, as ``caniexport dashboard`` does."""

from __future__ import annotations

import gc
import logging
import re
import sys
import threading
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

_FOLDER = Path(__file__).resolve().parent
# Streamlit puts this folder on the path, not the one that has dashboard/
if str(_FOLDER.parent) not in sys.path:
    sys.path.insert(0, str(_FOLDER.parent))

from anyio import to_thread  # noqa: E402 - the path first
from starlette.middleware import Middleware  # noqa: E402
from starlette.requests import Request  # noqa: E402
from starlette.responses import FileResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402
from starlette.types import ASGIApp, Message, Receive, Scope, Send  # noqa: E402
from streamlit.starlette import App  # noqa: E402

from caniexport import pages  # noqa: E402
from caniexport.answers import search as searching  # noqa: E402
from caniexport.model.errors import CaniexportError  # noqa: E402
from caniexport.pages import code_html, first  # noqa: E402
from dashboard.access import Access  # noqa: E402
from dashboard.reading import source  # noqa: E402

_LOG = logging.getLogger(__name__)
_END = b"</body>"
#: Streamlit's scripts: once a browser has them it paints nothing until it has gone through them
_LOADED = re.compile(rb'<(?:script type="module"|link rel="modulepreload")[^>]*>(?:</script>)?')


class FirstAnswers:
    """Puts a page's first answer into the reply that has Streamlit's scripts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; all but those for a page go through as they are."""
        is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].strip("/") in _NAMES
        told = await to_thread.run_sync(_told, scope) if is_page else None
        if told is None:
            await self._app(scope, receive, send)
            return
        # the reply must be plain and whole to be added to
        kept = [(name, value) for name, value in scope["headers"] if name not in _SHORTENING]
        reply = _Reply(send, told.encode("utf-8"))
        await self._app({**scope, "headers": kept}, receive, reply)


_NAMES = {"", *(name for name, _ in first.PAGES)}
_SHORTENING = {b"accept-encoding", b"if-none-match", b"if-modified-since"}


class _Reply:
    """Holds a reply back until it is whole, and sends it with ``more`` before the end of its body."""

    def __init__(self, send: Send, more: bytes) -> None:
        self._send = send
        self._more = more
        self._start: Message = {}
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        head, end, tail = self._body.rpartition(_END)
        body = _LOADED.sub(_later, head) + self._more + end + tail if end else self._body
        dropped = {b"content-length", b"etag", b"last-modified", b"cache-control"}
        headers = [pair for pair in self._start.get("headers", []) if pair[0].lower() not in dropped]
        headers += [(b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
        await self._send({**self._start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def _later(found: re.Match[bytes]) -> bytes:
    """The same for first.js, which puts it in place when the answer has been painted."""
    return b"<template data-later>" + found[0] + b"</template>"


def _told(scope: Scope) -> str | None:
    asked = {name: value[: searching.LONGEST] for name, value in parse_qsl(scope["query_string"].decode("latin-1"))}
    try:
        kept: Any = source()
        told = first.answer(kept, scope["path"], asked)
    except CaniexportError:
        return None  # the app says what is wrong
    except Exception:
        _LOG.exception("first answer of %s", scope["path"])
        return None
    _prepare(kept)
    return told


def _prepare(kept: Any) -> None:
    """Make the index of the search while the browser loads the app: a search is what people do first."""
    if kept not in _PREPARED:
        _PREPARED.add(kept)
        later = threading.Timer(_PAUSE, _index, (kept,))
        later.daemon = True
        later.start()


def _index(kept: Any) -> None:
    # one after the other: what is set here holds for the whole process
    with _ONE:
        usual = sys.getswitchinterval()
        # a page asked for meanwhile goes first
        sys.setswitchinterval(_SHORT)
        try:
            code_html.block("pass", python=True)  # the first that is coloured loads the lexers
            kept.answer(searching.index)
        except CaniexportError:
            pass  # the page that asks says what is wrong
        finally:
            sys.setswitchinterval(usual)
        # Streamlit collects garbage after every run of a page: not through all that is kept for the dataset
        gc.unfreeze()
        gc.collect()
        gc.freeze()


#: seconds in which the first page is sent and painted
_PAUSE = 2.0
#: seconds for which the making of an index holds the interpreter
_SHORT = 0.0005
_ONE = threading.Lock()
_PREPARED: weakref.WeakSet[Any] = weakref.WeakSet()


async def _icon(_: Request) -> FileResponse:
    """The app's sign where Streamlit's page looks for one: told as ``page_icon`` it costs numpy and pillow."""
    return FileResponse(Path(pages.__file__).with_name("icon.svg"), media_type="image/svg+xml")


app = App(
    _FOLDER / "app.py", middleware=[Middleware(Access), Middleware(FirstAnswers)], routes=[Route("/favicon.png", _icon)]
)
