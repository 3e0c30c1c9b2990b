"""Sending alerts somewhere: tried several times, and never a reason for another exit code."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from harness.worker.errors import UnknownName

#: seconds before the second, the third and the fourth attempt
PAUSES = (1.0, 2.0, 4.0)
_TIMEOUT = 10.0


def checked(url: str) -> str:
    """The address. Raises :class:`UnknownName` for one that is not http or https."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UnknownName(f"--webhook {url!r}: an address with http:// or https:// is wanted")
    return url


def send(
    url: str, payload: Any, *, pauses: tuple[float, ...] | None = None, wait: Callable[[float], None] = time.sleep
) -> str:
    """POST ``payload`` as JSON. The answer is empty where it was taken, else one sentence saying why it was not.

    Refusals that will not change (4xx but 408 and 429) are not tried again.
    """
    data = json.dumps(payload).encode()
    problem = ""
    for pause in (*(PAUSES if pauses is None else pauses), None):
        problem, final = _attempt(url, data)
        if not problem or final or pause is None:
            break
        wait(pause)
    return f"webhook: {problem}" if problem else ""


def _attempt(url: str, data: bytes) -> tuple[str, bool]:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", "User-Agent": "caniexport"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.reason}", 400 <= error.code < 500 and error.code not in (408, 429)
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__, False
    return "", True
