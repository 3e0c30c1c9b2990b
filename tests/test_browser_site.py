"""The static copy in a real Chromium: its search finds pages by their words, its pages fit their windows."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_fixtures import MARKS
from click.testing import CliRunner
from dashboard_data import CROSS, HOSTILE, build
from test_browser_pages import barriers

from caniexport import home as homes
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.pages import site
from caniexport.pages.kept import Kept
from caniexport.pages.site.build import _begin, _write_part, write_index

pytestmark = MARKS
#: operators, as people write them, with the case or operator of which a page must be among the first
OPERATORS = {
    "grid_sample": "grid_sample",
    "aten::grid_sampler": "aten::grid_sampler",
    "torch.cross": "torch.cross",
    "aten::cross": "aten::cross",
    "lstm": "LSTM",
    "scaled_dot_product_attention": "scaled_dot_product_attention",
    "nn.GroupNorm": "GroupNorm",
    "roll": "roll",
    "einsum": "einsum",
    "pixel_shuffle": "pixel_shuffle",
}
#: last lines of errors, as a user has them, with a case that ends so
ERRORS = {
    "RuntimeError: Exporting the operator roll to ONNX opset version 9 is not supported.": "roll-by-half-the-size",
    "torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::scatter_reduce' to ONNX opset version "
    "11 is not supported.": "scatter-reduce-mean",
    "RuntimeError: Exporting the operator stft to ONNX opset version 11 is not supported. Please feel free to request "
    "support or submit a pull request on PyTorch GitHub.": "stft-opset-16",
    "RuntimeError: ONNX export failed: Couldn't export Python operator SwishImplement": "swish-autograd-function",
    "RuntimeError: Exporting the operator cdist to ONNX opset version 14 is not supported.": "distance-of-matrices",
    "torch.onnx.errors.SymbolicValueError: Unsupported: ONNX export of convolution for kernel of unknown shape. "
    "[Caused by the value '1113 defined in (%1113 : Float(*, *, *, *)'": "conv-kernel-made-in-forward",
    'Traceback (most recent call last):\n  File "export.py", line 12, in <module>\n    main()\nRuntimeError: Only '
    "tuples, lists and Variables supported as JIT inputs, but got dict": "dict-as-last-input",
    "RuntimeError: Failed to export an ONNX attribute 'onnx::Gather', since it's not constant, please try to make "
    "things (e.g., kernel size) static if possible": "max-pool-of-input-size",
    "onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph: [ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an "
    "invalid model. Type Error: Type 'tensor(bool)' of input parameter (onnx::Mul_2835) of operator (Mul) in node "
    "(Mul_1875) is invalid.": "mul-of-bools",
    "RuntimeError: Unsupported: ONNX export of Slice with dynamic inputs. DynamicSlice is a deprecated experimental "
    "op. Please use statically allocated variables or export to a higher opset version.": "slice-by-item",
}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing: a test prints no requests."""


@contextmanager
def served(folder):
    """The address of a folder, served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small copy."""
    home, folder = build(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("out") / "site"
    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["site", "-o", str(folder)])
    assert found.exit_code == 0, found.output
    return folder


@pytest.fixture(scope="module")
def copy(folder):
    """The address of the small copy."""
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The address of the pages looked for in a copy of the published dataset, among a few others."""
    folder, kept = tmp_path_factory.mktemp("published"), Kept.open(homes.find().published, None)
    every = kept.inventory.documented
    named = [name.rpartition("::")[2].rpartition(".")[2].casefold() for name in OPERATORS]
    called = {next((item.case for item in every if name in item.title.casefold()), every[0].case) for name in named}
    _begin(kept, folder)
    _write_part(("pages", ("search",)))
    _write_part(("cases", tuple({*called, *ERRORS.values(), *(item.case for item in every[::25])})))
    _write_part(("operators", tuple(op for op in kept.inventory.ops if any(name in op.casefold() for name in named))))
    shutil.copyfile(Path(site.__file__).with_name("search.js"), folder / "search.js")
    write_index(folder)
    with served(folder) as address:
        yield address


@pytest.fixture
def front(chromium, copy):
    """``front("?q=…")``: the front page of the small copy. What it logs as an error fails the test."""
    context, errors = chromium.new_context(), []

    def opened(query="", address=copy):
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/index.html{query}")
        return page

    yield opened
    context.close()
    assert errors == []


def found_in(page):
    """The titles and addresses of the pages found, once there are any."""
    links = page.locator("#found .name a")
    links.first.wait_for()
    return links.all_inner_texts(), [link.get_attribute("href") for link in links.all()]


def test_a_traceback_pasted_into_the_copy_finds_its_case_and_stays_in_the_address(front):
    page = front()
    page.locator("#q").fill(f'Traceback:\n  File "a.py", line 3, in main\nRuntimeError: {CROSS.format(11)}\n')

    _, (first, *_) = found_in(page)
    assert first.endswith("/case/cross-no-symbolic.html")
    assert not page.locator("#start").is_visible()
    page.wait_for_function("location.search.includes('cross')")

    again = front(page.evaluate("location.search"))
    assert found_in(again)[1][0] == first


@pytest.mark.parametrize("text", ["flurbzzz", "corss zzqx", "qwertyuiop", "RuntimeError: zyxwv utsrq\nponml"])
def test_nonsense_finds_no_page_and_says_what_to_do(front, text):
    page = front(f"?q={quote(text)}")
    page.get_by_text("No page has these words").wait_for()

    assert "caniexport why -" in page.locator("#found").inner_text()
    assert page.locator("#found a").count() == 0


def test_a_text_of_the_dataset_is_a_text_among_the_pages_found(front):
    page = front(f"?q={quote('onerror')}")
    titles, _ = found_in(page)

    assert HOSTILE in titles
    assert page.locator("#found img, #found script").count() == 0
    assert page.title() != "taken"


def test_a_copy_opened_from_a_disk_says_that_its_search_needs_a_server(front, copy, folder):
    page = front()
    page.goto((folder / "index.html").as_uri())
    page.get_by_text("The search needs a server").wait_for()

    assert "python -m http.server" in page.locator("#found").inner_text()
    page.locator("summary", has_text="cases").first.click()
    assert page.get_by_role("link", name="torch.cross before a convolution is refused").first.is_visible()


def test_pages_of_the_copy_load_their_own_files_and_run_no_script_that_a_text_brings(chromium, copy, folder):
    """Each kind of page, with its pictures and the search, logs no error; a script within a page is refused."""
    kinds = [next(folder.glob(f"{kind}/*.html")).relative_to(folder) for kind in ("case", "op", "theme", "torch")]
    drawn = [path.relative_to(folder) for path in folder.rglob("*.html") if "<img" in path.read_text(encoding="utf-8")]
    files = [*folder.glob("*.html")]
    assert all("Content-Security-Policy" in path.read_text(encoding="utf-8") for path in folder.rglob("*.html"))
    context, errors = chromium.new_context(), []
    page = context.new_page()
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in (*kinds, drawn[0], *(path.relative_to(folder) for path in files)):
        page.goto(f"{copy}/{name}", wait_until="networkidle")
        assert page.evaluate(
            "[...document.images].every(image => image.loading === 'lazy' || image.naturalWidth > 0)"
        ), name
    page.goto(f"{copy}/index.html?q=cross")
    found_in(page)
    assert errors == []

    page.evaluate("""() => {
      const script = document.createElement('script')
      script.textContent = 'window.taken = true'
      document.body.append(script)
    }""")
    assert page.evaluate("window.taken") is None and "Content Security Policy" in errors[0]
    page.goto((folder / "matrix.html").as_uri())
    assert page.evaluate("[...document.styleSheets].length") > 1
    context.close()


@pytest.mark.published
def test_operators_and_errors_find_their_pages_in_a_copy_of_the_published_dataset(front, published):
    for query, name in OPERATORS.items():
        titles, _ = found_in(front(f"?q={quote(query)}", published))
        assert any(name in title for title in titles[:3]), (query, titles[:3])
    for text, case in ERRORS.items():
        _, addresses = found_in(front(f"?q={quote(text)}", published))
        assert any(address.endswith(f"/case/{case}.html") for address in addresses[:10]), (text, addresses[:10])
    page = front(f"?q={quote('flurbzzz')}", published)
    page.get_by_text("No page has these words").wait_for()


def test_every_outcome_of_a_case_is_read_from_its_file_when_it_is_unfolded(front, copy):
    page = front()
    page.goto(f"{copy}/case/cross-no-symbolic.html")
    page.get_by_text("rows: every outcome").click()
    page.get_by_role("cell", name=CROSS.format("9")[:40]).first.wait_for()

    heads = page.locator("details[data-table='every outcome'] thead td").all_inner_texts()
    assert heads == ["variant", "call", "torch", "opset", "outcome", "stage", "error"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_kind_of_page_of_the_copy_fits_its_window_and_has_no_barrier(chromium, copy, scheme):
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    for file in (
        "index", "matrix", "case", "op", "upgrade", "workarounds", "claims", "declared", "alerts", "runs", "about",
        "case/cross-no-symbolic", "theme/geometry", "torch/2.8.0", "upgrade/2.8.0-period",
    ):  # fmt: skip
        page.goto(f"{copy}/{file}.html")
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, file
            assert barriers(page) == [], (file, width)
    context.close()
