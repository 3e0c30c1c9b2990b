"""Writes the static copy: the same rows give the same files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from caniexport import home as homes
from caniexport.alerts import feed, noted
from caniexport.alerts.releases import along
from caniexport.answers import search
from caniexport.answers.documents import all_claims
from caniexport.audit.saved import last
from caniexport.model.canaries import CANARY
from caniexport.model.errors import CaniexportError
from caniexport.pages import alerts_html, links, overview
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.pages.site import downloads, pages, shell
from caniexport.pages.site.paths import FEED, addressing, case_file, op_file
from caniexport.pages.site.pictures import Pictures

_HERE = Path(__file__).resolve().parent
#: a folder that this wrote has it; no other folder is replaced
_MARK = "search-index.js"


@dataclass(frozen=True)
class WrittenSite:
    """What was written: the folder, its pages by kind, its size in bytes."""

    folder: str
    cases: int
    operators: int
    files: int
    bytes: int


def build(kept: Kept, folder: Path) -> WrittenSite:
    """Write the copy into ``folder``. What stands there before is replaced whole, once everything is written.

    Raises :class:`CaniexportError` where the folder holds something that is not such a copy, or nothing was measured.
    """
    if not kept.rows().count and not kept.rows().environment:
        raise CaniexportError("nothing has been measured yet: there is nothing to copy")
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARK).is_file())):
        raise CaniexportError(f"{folder} holds something that is not a copy of this dataset: name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        written = _Copy(kept, made).write()
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

    def __init__(self, kept: Kept, folder: Path) -> None:
        self._kept = kept
        self._folder = folder
        rows = kept.rows()
        local = rows.local
        releases = f"{len(rows.torch)} torch releases, {rows.torch[0]} to {rows.torch[-1]}" if rows.torch else "none"
        own = f", {local:,} of them measured on one machine and not published" if local else ""
        self._stamp = f"Copied from {rows.count:,} measured cells of {releases}{own}."

    def write(self) -> tuple[int, int]:
        """Everything; gives how many cases and operators have a page."""
        self._assets()
        names = [f"data/{name}" for name in downloads.write(self._kept, self._folder / "data")]
        self._page("index.html", "Can I export it?", _LEAD, lambda: pages.front(self._kept, names), search=True)
        self._page("matrix.html", "Which documented failures pass where", _MATRIX, lambda: pages.matrix(self._kept))
        self._page("workarounds.html", "Which workarounds may go", _FIXES, lambda: pages.fixes(self._kept))
        claims = self._kept.answer(all_claims)
        self._page("claims.html", "What the sources say, and what was measured", _CLAIMS, lambda: pages.claims(claims))
        self._alerts()
        ops = sorted({op for entry in overview.cases(self._kept) for op in entry.ops})
        for op in ops:
            self._page(op_file(op), op, "What the cases that use this operator say of it.", self._operator(op))
        return self._cases(), len(ops)

    def _alerts(self) -> None:
        people = noted.read(homes.find().root)
        found = along(self._kept, people.expected, people.known)
        environments, audited = self._kept.environment_records(), self._kept.answer(last)
        self._page("alerts.html", "Alerts", _ALERTS, lambda: pages.alerts(found, environments))
        self._page("runs.html", "Runs and environments", _RUNS, lambda: pages.runs(environments, audited))
        text = feed.write(alerts_html.entries(found), self._kept.rows().measured_at, link="alerts.html")
        (self._folder / FEED).write_text(text, encoding="utf-8")

    def _operator(self, op: str) -> Callable[[], str]:
        return lambda: pages.operator(self._kept, op)

    def _cases(self) -> int:
        found = self._kept.rows().catalogue.values()
        cases = list(dict.fromkeys(entry.case for entry in found if entry.corpus != CANARY))
        pictures = Pictures(self._kept, self._folder)
        self._kept.all_sources()
        for case in cases:
            self._view(case_file(case), "case", {"case": case}, pictures.of(case, "../"))
        return len(cases)

    def _view(self, file: str, name: str, asked: Mapping[str, str], below: str = "") -> None:
        with links.addressed(addressing(file)):
            found = page(name, asked, self._kept, whole=True)
        self._page(file, found.title, found.lead, lambda: f"{found.above}{found.body}{below}")

    def _assets(self) -> None:
        for name in ("style.css", "icon.svg"):
            shutil.copyfile(_HERE.parent / name, self._folder / name)
        for name in ("site.css", "site.js", "newest.js"):
            shutil.copyfile(_HERE / name, self._folder / name)
        index = pages.search_index(self._kept, self._kept.answer(search.index))
        (self._folder / _MARK).write_text(index, encoding="utf-8")

    def _page(self, file: str, title: str, lead: str, body: Callable[[], str], *, search: bool = False) -> None:
        path = self._folder / file
        path.parent.mkdir(exist_ok=True)
        up = "../" * file.count("/")
        with links.addressed(addressing(file)):
            text = shell.page(
                title, lead, body(), up=up, stamp=self._stamp, scripts=(_MARK, "site.js") if search else ("newest.js",)
            )
        path.write_text(text, encoding="utf-8")


_LEAD = "PyTorch operators and models to ONNX: what exports, runs and gives the right values, on every torch release."
_MATRIX = "Each cell is a measurement; numbers are the opsets that pass. Click a cell for its evidence."
_FIXES = "A fix is needed where the failing form fails and the fix works, and obsolete where both work."
_CLAIMS = "A claim is reproduced when every measured cell that it speaks of ended as it says, partly when some did."
_ALERTS = "What a release made worse than the one before it, every exporter at the release's own default opset."
_RUNS = "Each release was measured by a run in an environment of its own; a run speaks only if its gate lets it."
