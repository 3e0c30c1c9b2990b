"""What surrounds every page of the static copy."""

from __future__ import annotations

from caniexport.pages import links
from caniexport.pages.markup import escape, link
from caniexport.pages.site.paths import FEED

_NAV = (
    ("", "Search"),
    ("matrix", "Matrix"),
    ("workarounds", "Workarounds"),
    ("claims", "Claims"),
    ("alerts", "Alerts"),
    ("runs", "Runs"),
)


def page(title: str, lead: str, body: str, *, up: str, stamp: str, scripts: tuple[str, ...] = ()) -> str:
    """A whole page. ``body`` is HTML, ``up`` leads to the copy's root, ``stamp`` says what the copy was made of."""
    nav = "".join(f"<li>{link(links.page(name), escape(shown))}</li>" for name, shown in _NAV)
    more = "".join(f'<script src="{up}{name}" defer></script>' for name in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · Can I export it?</title>
<link rel="icon" href="{up}icon.svg">
<link rel="stylesheet" href="{up}style.css">
<link rel="stylesheet" href="{up}site.css">
<link rel="alternate" type="application/atom+xml" title="Alerts" href="{up}{FEED}">
{more}
</head>
<body class="stApp stHtml">
<nav aria-label="Pages"><a class="name" href="{escape(links.page(""))}">Can I export it?</a><ul>{nav}</ul></nav>
<main>
<header class="page"><h1>{escape(title)}</h1><p>{escape(lead)}</p></header>
{body}
</main>
<footer><p>{escape(stamp)}</p></footer>
</body>
</html>
"""
