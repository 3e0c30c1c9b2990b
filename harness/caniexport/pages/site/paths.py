"""Names of the static copy's files, and the addresses between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from caniexport.answers.table import TableLines
from caniexport.pages.links import Addressing, slug
from caniexport.pages.page import PAGES

_PAGES = {
    "": "index.html",
    **{name: f"{name}.html" for name in PAGES if name != "search"},
}
#: tables whose lines are not the cases that have pages
OTHER_LINES = (TableLines.MODELS.value, TableLines.PATCHES.value)
#: the feed of alerts
FEED = "alerts.atom"


def case_file(case: str) -> str:
    """The file of a case."""
    return f"case/{slug(case)}.html"


def op_file(op: str) -> str:
    """The file of an operator."""
    return f"op/{slug(op)}.html"


def release_file(torch: str) -> str:
    """The file of a torch release."""
    return f"torch/{torch}.html"


def upgrade_file(**asked: str) -> str:
    """The file of what an upgrade from a torch release changes, from the packages of a profile."""
    return f"upgrade/{'-'.join(filter(None, (asked['from'], asked.get('profile'))))}.html"


def picture_file(name: str) -> str:
    """The file of a picture of numbers."""
    return f"picture/{name}.svg"


def lines_file(rows: str) -> str:
    """The file of a table whose lines are no cases of the corpus: models, patches."""
    return f"{rows}.html"


def addressing(file: str, cases: Collection[str]) -> Addressing:
    """Addresses as they stand on the page ``file``; of a case without a page that of the table of models."""
    up = "../" * (len(PurePosixPath(file).parts) - 1)

    def address(name: str, asked: Mapping[str, str]) -> str:
        if name == "picture":
            return f"{up}{picture_file(asked['name'])}"
        if name == "api":
            return f"{up}api/v1/case/{asked['case']}.json"
        if (name == "matrix" and asked.get("rows") in OTHER_LINES) or asked.get("case", "") not in ("", *cases):
            return up + lines_file(asked.get("rows", OTHER_LINES[0]))
        if name == "case" and "case" in asked:
            target = case_file(asked["case"])
            return "#" if target == file else f"{up}{target}"
        if name == "upgrade" and "from" in asked:
            return up + upgrade_file(**asked)
        if name == "op" and "op" in asked:
            return up + op_file(asked["op"])
        if name == "matrix" and asked.get("by") == "exporter" and "torch" in asked:
            return up + release_file(asked["torch"])
        if name == "matrix" and "theme" in asked:
            return up + theme_file(asked["theme"])
        query = f"?q={quote(asked['q'])}" if not name and "q" in asked else ""
        return f"{up}{_PAGES.get(name, 'index.html')}{query}"

    return address


def theme_file(theme: str) -> str:
    """The file of a theme: the table of its cases."""
    return f"theme/{slug(theme)}.html"
