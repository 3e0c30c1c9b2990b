"""Sending alerts somewhere: tried several times, and never a reason for another exit code."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from caniexport.model.errors import UnknownName

#: seconds before the second, the third and the fourth attempt
PAUSES = (1.0, 2.0, 4.0)
_TIMEOUT = 10.0
#: what an address is written with; all else stands in it as %20
_CHARACTERS = re.compile(r"[\x21-\x7e]+")


def check_url(url: str) -> str:
    """The address. Raises :class:`UnknownName` for one that is not http or https, or could be none."""
    wanted = "an address such as https://example.org/hook is wanted"
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise UnknownName(f"--webhook {url!r}: {wanted} ({error})") from error
    if not known or not _CHARACTERS.fullmatch(url):
        raise UnknownName(f"--webhook {url!r}: {wanted}")
    return url


def send_json(
    url: str, payload: Any, *, pauses: tuple[float, ...] | None = None, wait: Callable[[float], None] = time.sleep
) -> str:
    """POST ``payload`` as JSON. The answer is empty where it was taken, else one sentence saying why it was not.

    Refusals that will not change (4xx but 408 and 429) are not tried again.
    """
    head = {"Content-Type": "application/json", "User-Agent": "caniexport"}
    request = urllib.request.Request(url, json.dumps(payload).encode(), head)
    problem = ""
    for pause in (0.0, *(PAUSES if pauses is None else pauses)):
        if pause:
            wait(pause)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:
                reply.read()
                return ""
        except urllib.error.HTTPError as error:
            problem = f"{error.code} {error.reason}"
            if 400 <= error.code < 500 and error.code not in (408, 429):
                break
        except (OSError, ValueError, http.client.HTTPException) as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
    return f"webhook: {problem}"
