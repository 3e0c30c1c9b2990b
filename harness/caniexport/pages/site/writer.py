"""Writes pages of the static copy: each is what the dashboard shows at one address, with links between files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from caniexport.pages import links
from caniexport.pages.charts import find_chart
from caniexport.pages.kept import Kept
from caniexport.pages.page import NAVIGATION, page
from caniexport.pages.render import render
from caniexport.pages.site import api, downloads
from caniexport.pages.site.paths import (
    FEED,
    addressing,
    case_file,
    lines_file,
    op_file,
    picture_file,
    release_file,
    theme_file,
    upgrade_file,
)
from caniexport.pages.site.pictures import Pictures
from caniexport.pages.views.op import names_of_one
from caniexport.store.views import Views

#: a picture of numbers in a page
_PICTURE = re.compile(r'src(?:set)?="[./]*picture/(\w+)\.svg"')
#: ends of cells, rows and items that HTML needs none of, for what follows ends them: 2 MB of 39
_NO_END = re.compile(r"</(?:li|td|th|tr|dd|dt)>\s*(?=<(?:li|td|th|tr|dd|dt)\b|</(?:ul|ol|tr|tbody|thead|table|dl)>)")
#: a tag with what it holds, and an attribute whose value HTML needs no quotes around: 1.3 MB of 36
_TAG = re.compile(r"<[a-z][^<>]*[^<>/]>")
_PLAIN_VALUE = re.compile(r'="([\w.:#/?&;%+,~-]*[\w.:#?&;%+,~-])"', re.ASCII)


class PageWriter:
    """Writes pages below a folder; each says what it was copied from."""

    def __init__(self, kept: Kept, folder: Path) -> None:
        self._kept = kept
        self._folder = folder
        known = kept.inventory
        releases = (
            f"{len(known.torch)} torch releases, {known.torch[0]} to {known.torch[-1]}" if known.torch else "none"
        )
        own = f", {known.local:,} of them measured on one machine and not published" if known.local else ""
        self._stamp = f"Copied from {known.count():,} measured cells of {releases}{own}."
        self._pictures: Pictures | None = None
        self._cases = frozenset(entry.case for entry in known.documented)

    def write(self, kind: str, names: Sequence[str]) -> None:
        """Write pages of a kind: of these cases, operators, themes, releases, upgrades, or these pages of the app."""
        if kind == "cases":
            self._write_cases(names)
        elif kind == "operators":
            self._write_operators(names)
        else:
            for name in names:
                self.write_page(*_find_page(kind, name))

    def write_page(self, file: str, name: str, asked: Mapping[str, str], below: str = "") -> None:
        """Write what the page ``name`` shows when it is asked that, with ``below`` at its end, and its pictures."""
        given: dict[str, object] = {
            "up": "../" * file.count("/"),
            "stamp": self._stamp,
            "feed": FEED,
            "pages": NAVIGATION,
        }
        is_front = name == "search"
        if is_front:
            given |= self._front()
        with links.with_addresses(addressing(file, self._cases)):
            shown = page(name, asked, self._kept, whole=True)
            scripts = [*["search.js"] * is_front, "tables.js"]
            template = "file_front.html" if is_front else "file.html"
            text = render(template, page=shown, below=below, scripts=scripts, **given)
        self._draw(_PICTURE.findall(text))
        # a browser reads the same from a page without what HTML needs none of
        self._write(file, _TAG.sub(lambda tag: _PLAIN_VALUE.sub(r"=\1", tag[0]), _NO_END.sub("", text)))

    def _write_operators(self, ops: Iterable[str]) -> None:
        """The page of each operator, or the file that leads from another name of it to its page."""
        one = self._kept.answer(names_of_one)
        for op in ops:
            shown_name = one[op][0] if op in one else op
            if shown_name == op:
                self.write_page(op_file(op), "op", {"op": op})
            else:
                target = op_file(shown_name).rpartition("/")[2]
                shown = {"name": op, "target": target, "shown_name": shown_name, "up": "../" * op_file(op).count("/")}
                self._write(op_file(op), render("forward.html", **shown))
            api.write_op(self._kept, self._folder, op)

    def _write_cases(self, cases: Collection[str]) -> None:
        """The page of each case, with the pictures of its graphs; of a dataset whose rows are held."""
        self._pictures = self._pictures or Pictures(self._kept, self._folder)
        with Views.of(self._kept).narrow(cases):
            for case in cases:
                self.write_page(case_file(case), "case", {"case": case}, self._pictures.of(case, "../"))
                api.write_case(self._kept, self._folder, case)

    def _front(self) -> dict[str, object]:
        return {
            "entries": self._kept.inventory.documented,
            "unmeasured": self._kept.inventory.unmeasured,
            "files": downloads.WHAT.items(),
        }

    def _draw(self, names: Iterable[str]) -> None:
        """The pictures of numbers that a page shows; pages with the same numbers share one."""
        for name in names:
            path = self._folder / picture_file(name)
            path.parent.mkdir(exist_ok=True)
            drawn = None if path.exists() else find_chart(name)
            if drawn is not None:
                path.write_text(drawn, encoding="utf-8")

    def _write(self, file: str, text: str) -> None:
        path = self._folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _find_page(kind: str, name: str) -> tuple[str, str, Mapping[str, str]]:
    """Return the file of a page, the page of the app that it shows, and what that is asked."""
    match kind:
        case "upgrades":
            asked = dict(zip(("from", "profile"), name.split("-", 1), strict=False))
            return upgrade_file(**asked), "upgrade", asked
        case "releases":
            return release_file(name), "matrix", {"rows": "cases", "by": "exporter", "torch": name}
        case "lines":
            return lines_file(name), "matrix", {"rows": name}
        case "themes":
            return theme_file(name), "matrix", {"theme": name}
        case _:
            return "index.html" if name == "search" else f"{name}.html", name, {}
