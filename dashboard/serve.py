"""The app behind its plain pages: ``python -m streamlit run dashboard/serve.py``, as ``caniexport dashboard`` does.

A browser needs two to three seconds of its own for Streamlit's scripts. So each page is answered as a document of its
own, which can be read and asked for more without a script. It holds Streamlit's page back in a template, and the app
takes its place when it has drawn the same (first.js).
"""

from __future__ import annotations

import gc
import logging
import re
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

_FOLDER = Path(__file__).resolve().parent
# Streamlit puts this folder on the path, not the one that has dashboard/
if str(_FOLDER.parent) not in sys.path:
    sys.path.insert(0, str(_FOLDER.parent))

import streamlit  # noqa: E402 - the path first
from anyio import to_thread  # noqa: E402
from markupsafe import Markup  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.requests import Request  # noqa: E402
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response  # noqa: E402
from starlette.routing import Route  # noqa: E402
from streamlit.starlette import App  # noqa: E402

from caniexport import names, pages  # noqa: E402
from caniexport.answers.documents import all_claims  # noqa: E402
from caniexport.match import search as searching  # noqa: E402
from caniexport.model.errors import CaniexportError  # noqa: E402
from caniexport.pages import links  # noqa: E402
from caniexport.pages.charts import drawn_picture  # noqa: E402
from caniexport.pages.form import Page, read_address  # noqa: E402
from caniexport.pages.page import PAGES, find_dataset, page, read  # noqa: E402
from caniexport.pages.render import prepare, render  # noqa: E402
from caniexport.pages.views import case, matrix, runs  # noqa: E402
from dashboard.access import Access  # noqa: E402
from dashboard.reading import source  # noqa: E402

_LOG = logging.getLogger(__name__)
_ASSETS = Path(pages.__file__).parent
#: Streamlit's page: what it loads, and the place where it draws
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
_FONT = re.compile(r"\./static/media/SourceSansVF-Upright[\w.-]+\.woff2")


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def reply(request: Request) -> Response:
        if short := _without_empty(request):
            return RedirectResponse(short)
        asked = _asked(request)
        if kind := asked.pop("format", ""):
            return await _kept_table(name, asked, kind)
        text, status = await to_thread.run_sync(_document, name, asked)
        return HTMLResponse(text, status, headers={"cache-control": "no-store"})

    return reply


def _without_empty(request: Request) -> str:
    """The address without the parameters that a form sends of fields where nothing is chosen; empty where it has none
    of them.
    """
    given = parse_qsl(request.url.query, keep_blank_values=True)
    kept = [(name, value) for name, value in given if value]
    query = f"?{urlencode(kept)}" if kept else ""
    # relative: the app may be served below another address
    return f"./{request.url.path.rpartition('/')[2]}{query}" if len(kept) < len(given) else ""


def _asked(request: Request) -> dict[str, str]:
    """The parameters of an address, as far as the longest text is looked at."""
    found = read_address(parse_qsl(request.url.query))
    return {name: value[: searching.LONGEST + 1] for name, value in found.items()}


def _document(name: str, asked: dict[str, str]) -> tuple[str, int]:
    """The page as a document with its status; ``plain=1`` is the page alone, which no app takes the place of."""
    progress = Markup("")
    problems: tuple[str, ...] = ()
    app = "" if asked.pop("plain", "") else _asset(INDEX)
    try:
        kept = source()
        found = page(name, asked, kept, plain=not app)
        progress = runs.progress(kept) if found.is_live else progress
        problems = kept.problems
        _prepare(kept)
    except CaniexportError as error:
        found = _nothing(name, str(error))
    except Exception:
        _LOG.exception("page %s", name)
        found = _nothing(name, "This page could not be drawn from the dataset. The server's log says why.")
    fields = {field.name for bar in found.bars for field in bar}
    # a page of one thing that is not there
    status = 404 if asked.get(name) and found.warnings else 200
    given = {
        "rest": {name: value for name, value in asked.items() if name not in fields},
        "style": _asset(_ASSETS / "style.css") + _asset(_ASSETS / "plain.css"),
        "scripts": [_asset(_ASSETS / name) for name in ("cells.js", "first.js")],
        "font": _font(INDEX),
        "longest": searching.LONGEST + 1,
    }
    with links.carrying(found.mine.address):
        text = render("reply.html", page=found, pages=PAGES, progress=progress, problems=problems, app=app, **given)
    return text, status


def _nothing(name: str, why: str) -> Page:
    return Page(PAGES[name], "", render("nothing.html", nothing=why))


@lru_cache(maxsize=1)
def _font(index: Path) -> str:
    """Where the font of Streamlit's page is, so that a line of the first reply is as long as it is in the app."""
    found = _FONT.search(index.read_text(encoding="utf-8"))
    return found[0] if found else ""


@lru_cache(maxsize=8)
def _asset(path: Path) -> Markup:
    """A file of ours or of Streamlit's, as it is."""
    return Markup(path.read_text(encoding="utf-8"))


async def _kept_table(name: str, asked: dict[str, str], kind: str) -> Response:
    """The table of a page, to save: its own rows, with the filters of its address."""
    try:
        names.require("format", kind, ("csv",))
        sheet = (await to_thread.run_sync(page, name, asked, source())).sheet
        text = await to_thread.run_sync(lambda: sheet.csv if sheet else "")
    except CaniexportError as error:
        return PlainTextResponse(f"{error}\n", status_code=404)
    if sheet is None:
        return PlainTextResponse("this page has no table to save\n", status_code=404)
    headers = {"content-disposition": f'attachment; filename="{name}.csv"', "cache-control": "no-store"}
    return PlainTextResponse(text, headers=headers, media_type="text/csv")


async def _script(request: Request) -> Response:
    """A cell as a script to save."""
    try:
        text = await to_thread.run_sync(_cell_script, _asked(request))
    except CaniexportError as error:
        return PlainTextResponse(f"{error}\n", status_code=404)
    return PlainTextResponse(text, headers={"content-disposition": "attachment"})


def _cell_script(asked: dict[str, str]) -> str:
    kept = source()
    form = read("script", asked, kept)
    return case.script(form, find_dataset("script", form, kept))


async def _cells(request: Request) -> Response:
    """The cells that a matrix shows, as a table to save."""
    asked = _asked(request)
    kind = asked.pop("format", "csv")
    try:
        data = await to_thread.run_sync(lambda: _table(asked, kind))
    except CaniexportError as error:
        return PlainTextResponse(f"{error}\n", status_code=404)
    media = "text/csv" if kind == "csv" else "application/vnd.apache.parquet"
    return Response(data, media_type=media, headers={"content-disposition": f'attachment; filename="cells.{kind}"'})


def _table(asked: dict[str, str], kind: str) -> bytes:
    names.require("format", kind, ("csv", "parquet"))
    kept = source()
    form = read("matrix", asked, kept)
    frame = matrix.shown_cells(form, find_dataset("matrix", form, kept))
    return frame.to_csv(index=False).encode() if kind == "csv" else frame.to_parquet(index=False)


async def _picture(request: Request) -> Response:
    """A picture of numbers that a page shows."""
    drawn = await to_thread.run_sync(drawn_picture, _asked(request).get("name", ""))
    if drawn is None:
        return PlainTextResponse("no page has shown this picture lately\n", status_code=404)
    # the name says what is in it
    return Response(drawn, media_type="image/svg+xml", headers={"cache-control": "max-age=86400, immutable"})


async def _icon(_: Request) -> FileResponse:
    """The app's sign where Streamlit's page looks for one: told as ``page_icon`` it costs numpy and pillow."""
    return FileResponse(_ASSETS / "icon.svg", media_type="image/svg+xml")


def _prepare(kept: Any) -> None:
    """Make what the next pages need while the browser loads the app: the search's index first."""
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
            kept.answer(all_claims)
            kept.answer(searching.index)
            # what the first page of a case takes longer than the next: lists of the dataset, the lexer of its code
            first = next(iter(kept.rows().catalogue.values()), None)
            if first is not None:
                page("case", {"case": first.case}, kept)
            # what compares all releases takes seconds
            for name in _COMPARING:
                page(name, {}, kept)
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
_COMPARING = ("alerts", "runs")
_ONE = threading.Lock()
_PREPARED: weakref.WeakSet[Any] = weakref.WeakSet()

ROUTES = [
    Route("/", _page("search")),
    *(Route(f"/{name}", _page(name)) for name in PAGES),
    Route("/script", _script),
    Route("/cells", _cells),
    Route("/picture", _picture),
    Route("/favicon.png", _icon),
]
# before the server listens: 0.3 seconds that no page waits for
prepare()
app = App(_FOLDER / "app.py", middleware=[Middleware(Access)], routes=ROUTES)
