"""Text of others for a terminal: no character in it moves the cursor, names the window or hides what is printed."""

from __future__ import annotations

import re

#: all but tab and line feed; last those that end a line or turn its direction
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape_control(text: str) -> str:
    """The text with each control character as JSON escapes it (``\\u001b``): what is JSON stays it."""
    return _CONTROL.sub(lambda found: "\\u{:04x}".format(ord(found.group())), text)
