"""Writes the static copy: the same rows give the same files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from caniexport import home as homes
from caniexport.alerts import feed, noted
from caniexport.alerts.lifecycle import AlertStage
from caniexport.answers.provider_runs import worse_elsewhere
from caniexport.answers.torch_operators import ends_on_onnxruntime
from caniexport.model.errors import CaniexportError
from caniexport.pages import links, overview
from caniexport.pages.charts import drawn_picture
from caniexport.pages.kept import Kept
from caniexport.pages.page import PAGES, page
from caniexport.pages.render import render
from caniexport.pages.site import api, downloads, index
from caniexport.pages.site.paths import (
    FEED,
    addressing,
    case_file,
    list_file,
    op_file,
    picture_file,
    release_file,
    upgrade_file,
)
from caniexport.pages.site.pictures import Pictures
from caniexport.pages.views import alerts, search, torch_op, upgrade
from caniexport.pages.views.op import names_of_one

_HERE = Path(__file__).resolve().parent
#: a folder that this wrote has it; no other folder is replaced
_MARK = "search-index.js"
#: a picture of numbers in a page
_PICTURE = re.compile(r'src(?:set)?="[./]*picture/(\w+)\.svg"')
#: ends of cells, rows and items that HTML needs none of, for what follows ends them: 2 MB of 39
_NO_END = re.compile(r"</(?:li|td|th|tr|dd|dt)>\s*(?=<(?:li|td|th|tr|dd|dt)\b|</(?:ul|ol|tr|tbody|thead|table|dl)>)")
#: pages between two words on how far it is
_EACH = 100
#: cases of which the cells are kept for their pages
_TOGETHER = 60
#: the scripts of the search, in the order in which they are loaded
_SEARCH = ("evidence.js", "match.js", "site.js")
_TABLES = ("cells.js", "newest.js")
_FILTERS = ("filters.js",)


@dataclass(frozen=True)
class WrittenSite:
    """What was written: the folder, its pages by kind, its size in bytes."""

    folder: str
    cases: int
    operators: int
    files: int
    bytes: int


def build(kept: Kept, folder: Path, say: Callable[[str], None] = lambda _: None) -> WrittenSite:
    """Write the copy into ``folder``. What stands there before is replaced whole, once everything is written.

    ``say`` is told how far it is, a line for each hundred pages.

    Raises :class:`CaniexportError` where the folder holds something that is not such a copy, or nothing was measured.
    """
    if not kept.rows().count and not kept.rows().environment:
        raise CaniexportError("nothing has been measured yet: there is nothing to copy")
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARK).is_file())):
        raise CaniexportError(f"{folder} holds something that is not a copy of this dataset: name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with ThreadPoolExecutor(1) as beside:
            written = _Copy(kept, made, say, beside).write()
        if folder.exists():
            shutil.rmtree(folder)
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return WrittenSite(str(folder), *written, len(sizes), sum(sizes))


class _Copy:
    """One copy on its way."""

    def __init__(self, kept: Kept, folder: Path, say: Callable[[str], None], beside: Executor) -> None:
        self._kept = kept
        self._beside = beside
        self._packed: list[Future[None]] = []
        self._say = say
        self._pages = self._written = 0
        self._folder = folder
        rows = kept.rows()
        local = rows.local
        releases = f"{len(rows.torch)} torch releases, {rows.torch[0]} to {rows.torch[-1]}" if rows.torch else "none"
        own = f", {local:,} of them measured on one machine and not published" if local else ""
        self._stamp = f"Copied from {rows.count:,} measured cells of {releases}{own}."

    def write(self) -> tuple[int, int]:
        """Everything; gives how many cases and operators have a page."""
        cases = [entry.case for entry in overview.cases(self._kept)]
        documented = {op for entry in overview.cases(self._kept) for op in entry.ops}
        ops = sorted(documented.union(torch_op.page_names(self._kept, documented).values()))
        releases = self._kept.rows().torch
        upgrades = upgrade.starts(self._kept)
        self._pages = len(PAGES) + len(cases) + len(ops) + len(releases) + len(upgrades)
        self._say(f"writing the tables as files, then {self._pages} pages")
        self._kept.all_supports()
        self._kept.read_cases(cases)
        if summary := self._kept.operators():
            summary.read_all()
        self._assets()
        # the search names what they open with, which is still kept here
        for asked in upgrades:
            self._page(upgrade_file(asked["from"], asked.get("profile", "")), "upgrade", asked)
        self._kept.all_sources()
        for name in PAGES:
            self._page("index.html" if name == "search" else f"{name}.html", name, _ASKED.get(name, {}))
        self._feed()
        api.write(self._kept, self._folder)
        ends_on_onnxruntime(self._kept, cases)
        worse_elsewhere(self._kept, cases)
        self._operators(ops)
        for torch in releases:
            self._page(release_file(torch), "matrix", {"rows": "cases", "by": "exporter", "torch": torch})
        pictures = Pictures(self._kept, self._folder)
        for number, case in enumerate(cases):
            if number % _TOGETHER == 0:
                self._kept.read_cases(cases[number : number + _TOGETHER])
            self._page(case_file(case), "case", {"case": case}, pictures.of(case, "../"))
        for packed in self._packed:
            packed.result()
        return len(cases), len(ops)

    def _operators(self, ops: Iterable[str]) -> None:
        """The page of each operator, the files of its other names, and the lists."""
        one = names_of_one(self._kept)
        for op in ops:
            told = one[op][0] if op in one else op
            if told == op:
                self._page(op_file(op), "op", {"op": op})
            else:
                self._forward(op_file(op), op, op_file(told), told)
        for name in torch_op.LISTS if self._kept.operators() else ():
            self._page(list_file(name), "op", {"list": name})

    def _draw(self, names: Iterable[str]) -> None:
        """The pictures of numbers that a page shows; pages with the same numbers share one."""
        for name in names:
            path = self._folder / picture_file(name)
            path.parent.mkdir(exist_ok=True)
            drawn = None if path.exists() else drawn_picture(name)
            if drawn is not None:
                path.write_text(drawn, encoding="utf-8")

    def _feed(self) -> None:
        found = self._kept.answer(alerts.releases, noted.read(homes.find().root))
        text = feed.write(alerts.entries(found), self._kept.rows().measured_at, link="alerts.html")
        (self._folder / FEED).write_text(text, encoding="utf-8")

    def _assets(self) -> None:
        for name in ("style.css", "plain.css", "icon.svg", *_SEARCH, *_TABLES, *_FILTERS):
            own = _HERE / name
            shutil.copyfile(own if own.exists() else _HERE.parent / name, self._folder / name)
        (self._folder / _MARK).write_text(index.script(self._kept), encoding="utf-8")
        self._packed = downloads.write(self._kept, self._folder / "data", self._beside)

    def _page(self, file: str, name: str, asked: Mapping[str, str], below: str = "") -> None:
        path = self._folder / file
        path.parent.mkdir(exist_ok=True)
        given: dict[str, object] = {"up": "../" * file.count("/"), "stamp": self._stamp, "feed": FEED, "pages": PAGES}
        is_front = name == "search"
        if is_front:
            found = self._kept.answer(overview.overview)
            given |= {
                "entries": overview.cases(self._kept),
                "found": found,
                "files": downloads.WHAT.items(),
                "label": search.LABEL,
                "example": search.EXAMPLE,
            }
        with links.addressed(addressing(file)):
            shown = page(name, asked, self._kept, whole=True)
            fields = (field for bar in shown.bars for field in bar if file in _ASKING)
            given["line"] = next((field for field in fields if field.name == "q"), None)
            scripts: tuple[str, ...] = (_MARK, *_SEARCH, *_TABLES) if is_front else _TABLES
            if file == "matrix.html":
                scripts += _FILTERS
            template = "file_front.html" if is_front else "file.html"
            text = render(template, page=shown, below=below, scripts=scripts, **given)
        path.write_text(_NO_END.sub("", text), encoding="utf-8")
        self._draw(_PICTURE.findall(text))
        self._count()

    def _forward(self, file: str, name: str, target: str, told: str) -> None:
        """A file that leads to the page of the same folder where another name of it is told."""
        path = self._folder / file
        path.parent.mkdir(exist_ok=True)
        shown = {"name": name, "target": target.rpartition("/")[2], "told": told, "up": "../" * file.count("/")}
        path.write_text(render("forward.html", **shown), encoding="utf-8")
        self._count()

    def _count(self) -> None:
        self._written += 1
        if self._written % _EACH == 0:
            self._say(f"{self._written} of {self._pages} pages")


#: the files whose search is answered by the front page
_ASKING = ("upgrade.html", "workarounds.html")
#: what a page is asked for that has no filters: all that there is
_ASKED: Mapping[str, Mapping[str, str]] = {
    "matrix": {"rows": "cases"},
    "workarounds": {"careful": "1"},
    "alerts": {"state": ",".join(AlertStage)},
}
