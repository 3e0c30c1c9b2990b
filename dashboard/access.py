"""Which names the app answers to, and what a browser may do with its pages.

A page elsewhere that has its own name point to this machine (DNS rebinding) sends that name as ``Host``: it is refused.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import re
from pathlib import Path

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caniexport import pages

#: names besides those of this machine, with commas between them; what ``caniexport dashboard --host`` sets
HOSTS = "CANIEXPORT_HOSTS"
_ASSETS = Path(pages.__file__).parent
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})


class Access:
    """Refuses requests under a foreign name; says of every reply where its scripts may come from."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # ours that stand in a page: the first reply's, and the one for links and keys
        self._scripts = " ".join(["'self'", *(_hashed(_ASSETS / name) for name in ("cells.js", "first.js", "nav.js"))])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        hosts, allowed = Headers(scope=scope).getlist("host"), _allowed(scope)
        if len(hosts) == 1 and _is_ours(name_of(hosts[0]), allowed):
            await self._app(scope, receive, self._with_headers(send, hosts[0]))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(_refusal(hosts, allowed), status_code=403)(scope, receive, send)

    def _with_headers(self, send: Send, host: str) -> Send:
        policy = _policy(self._scripts, host)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = policy
                headers["x-content-type-options"] = "nosniff"
                headers["x-frame-options"] = "DENY"
                headers["referrer-policy"] = "same-origin"
            await send(message)

        return sent


def name_of(host: str) -> str:
    """The name in a ``Host`` header, in small letters, without its port: ``[::1]:8501`` is ``::1``."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _is_ours(name: str, allowed: tuple[str, ...]) -> bool:
    return name in allowed or _is_loopback(name)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _allowed(scope: Scope) -> tuple[str, ...]:
    """Names that are not this machine's own anyway: where it listens, and those it was told.

    Where it listens on every address, the one that a request came to counts: no other page's name is an address.
    """
    told = [name.strip().lower() for name in os.environ.get(HOSTS, "").split(",")]
    listens = str(streamlit.get_option("server.address") or "")
    if listens in _WILDCARDS:
        listens = (scope.get("server") or ("",))[0]
    return tuple(dict.fromkeys(name for name in (listens.lower(), *told) if name))


def _refusal(hosts: list[str], allowed: tuple[str, ...]) -> str:
    asked = ", ".join(map(repr, hosts)) or "no name"
    names = ", ".join(dict.fromkeys(("localhost", "127.0.0.1", "[::1]", *allowed)))
    return (
        f"This dashboard is not served as {asked}; it is as {names}.\n"
        f"`caniexport dashboard --host NAME` or {HOSTS}=NAME adds a name.\n"
    )


def _policy(scripts: str, host: str) -> str:
    """Everything from this server alone; Streamlit writes styles into elements, and icons into ``data:`` addresses."""
    own = host if re.fullmatch(r"[\w.:\[\]-]+", host) else ""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            # not every browser takes 'self' for a web socket
            f"connect-src 'self' ws://{own} wss://{own}" if own else "connect-src 'self'",
            "manifest-src 'self'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


def _hashed(script: Path) -> str:
    digest = base64.b64encode(hashlib.sha256(script.read_bytes()).digest()).decode("ascii")
    return f"'sha256-{digest}'"
