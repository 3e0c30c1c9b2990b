"""What the dashboard's pages say, drawn by Streamlit's own test runner from a dataset written by the store."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

pytest.importorskip("streamlit", reason="the dashboard needs streamlit")

from dashboard_data import CROSS, HOSTILE, MARKED_ID, build
from streamlit.testing.v1 import AppTest

from dashboard import links, params
from dashboard.markup import escape, source_link
from harness.home import VARIABLE

APP = Path(__file__).resolve().parents[1] / "dashboard" / "app.py"
_PAGE = """
from dashboard import frame
from dashboard.views import {0}
frame.guarded({0}.page)()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture
def draw(home, monkeypatch):
    """``draw("case", case="...")``: the page with these URL parameters."""
    monkeypatch.setenv(VARIABLE, str(home))

    def drawn(page, **asked):
        app = AppTest.from_string(_PAGE.format(page), default_timeout=60)
        for name, value in asked.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    return drawn


def markup(app):
    """All HTML that a page writes itself."""
    return "\n".join(item.proto.body for item in app.get("html"))


def words(app):
    """The text a reader sees of it."""
    return html.unescape(re.sub(r"<[^>]+>", " ", markup(app)))


def cells(app, case, css="matrix"):
    """(class, text, address) of every cell of the row blocks whose links name the case."""
    table = next(part for part in markup(app).split("<table") if f'class="{css}"' in part)
    found = re.findall(r'<td class="([^"]*)"><a href="([^"]*)"[^>]*>(.*?)</a>', table)
    return [(kind, html.unescape(text), html.unescape(link)) for kind, link, text in found if f"case={case}&" in link]


PAGES = ("home", "matrix", "case", "op", "upgrade", "workarounds", "claims", "declared", "runs", "about")


def test_the_app_itself_draws_the_search_first(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(home))

    app = AppTest.from_file(str(APP), default_timeout=60).run()

    assert not app.exception
    assert "Can I export it?" in words(app)
    assert app.text_input(key="url-q").value == ""


def hits(app):
    """The cases that the front page lists, in its order."""
    lists = re.findall(r'<ol class="hits".*?</ol>', markup(app), re.S)
    return re.findall(r'<p class="name"><a href="\./case\?case=([^&"]*)', "".join(lists))


def test_the_search_finds_cases_by_operator_source_theme_and_fix_and_says_why(draw):
    assert hits(draw("home", q="aten::cross")) == ["cross-no-symbolic"]
    assert "found by operator aten::cross" in words(draw("home", q="torch.cross"))
    assert "source onnx/onnx#2683" in words(draw("home", q="onnx/onnx#2683"))
    assert "theme geometry" in words(draw("home", q="geometry"))
    assert hits(draw("home", q="slice products")) == ["cross-no-symbolic"]


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/convert.py", line 7, in <module>
    torch.onnx.export(model, (x,), "model.onnx", opset_version=12)
RuntimeError: """ + CROSS.format(12)


def test_a_pasted_traceback_finds_its_case_and_the_fix_that_works_there(draw):
    for pasted in (TRACEBACK, TRACEBACK.replace("\n", " "), "RuntimeError: " + CROSS.format(9)):
        app = draw("home", q=pasted)

        assert hits(app) == ["cross-no-symbolic"]
        assert "the same error" in words(app)
        assert "works there: stack_rewrite" in " ".join(words(app).split())
        assert "exchanged" not in words(app), "a fix that sources warn of is no recommendation"


def test_what_is_pasted_stands_in_the_address_as_the_line_that_matters(draw):
    app = draw("home")
    app.text_input(key="url-q").set_value(TRACEBACK).run()

    assert app.query_params["q"] == "RuntimeError: " + CROSS.format(12)
    assert hits(app) == ["cross-no-symbolic"]


def test_a_search_that_finds_nothing_names_the_nearest(draw):
    said = words(draw("home", q="aten::croos"))

    assert "No measured case has all of these words" in said
    assert "aten::cross" in said


def test_each_exporter_has_its_answer_in_one_line_on_the_case_page(draw):
    said = re.sub(r"\s+", " ", words(draw("case", case="cross-no-symbolic")))

    assert "TorchScript, traced from torch 2.0.1 (elsewhere: an error)" in said
    assert "dynamo (torch.export) on every measured release" in said


def test_an_operator_has_a_page_with_its_cases(draw):
    assert hits(draw("op", op="aten::cross")) == ["cross-no-symbolic"]
    assert "aten::roll" in words(draw("op"))


def test_a_cell_says_what_was_measured_with_a_sign_and_a_class_of_its_own(draw):
    shown = cells(draw("matrix", exporter="torchscript-trace"), "cross-no-symbolic")

    assert [(kind, text) for kind, text, _ in shown] == [
        ("s-fail", "✗ fail"),
        ("s-pass", "✓ all"),
        ("s-pass", "✓ all"),
        ("s-pass", "✓ all"),
    ]


def test_a_silent_mismatch_is_told_apart_from_a_failure(draw):
    kinds = {kind for kind, _, _ in cells(draw("matrix", exporter="torchscript-trace"), "item-baked")}

    assert kinds == {"s-mismatch"}


def test_what_was_not_measured_has_its_own_sign_and_is_never_blank(draw):
    shown = cells(draw("matrix", exporter="torchscript-trace"), "only-at-2-8")

    assert [(kind, text) for kind, text, _ in shown] == [
        ("s-not-run", "·"),
        ("s-not-run", "·"),
        ("s-pass", "✓ all"),
        ("s-not-run", "·"),
    ]


def test_a_place_that_passes_at_some_opsets_only_says_which_and_what_else_happens_there(draw):
    shown = cells(draw("matrix", exporter="torchscript-trace", fixes="1"), "item-baked")
    fixed = [(kind, text) for kind, text, link in shown if "variant=index_rewrite" in link]

    assert fixed[0] == ("s-pass with-fail", "✓ 11-14 ✗")


def test_every_status_is_explained_above_the_matrix_whatever_is_shown(draw):
    for asked in ({}, {"status": "crash"}):
        said = words(draw("matrix", **asked))
        for word in ("pass", "degraded", "refused", "fail", "timeout", "oom", "crash", "mismatch", "not measured"):
            assert word in said


def test_the_legend_counts_the_cells_shown(draw):
    shown = markup(draw("matrix", exporter="torchscript-trace", theme="geometry"))

    # 6 opsets of 1.10.2 fail and one is refused; 9, 12 and 12 of the other releases pass
    assert "✗ fail</span> <b>6</b>" in shown
    assert "⊘ refused</span> <b>1</b>" in shown
    assert "✓ pass</span> <b>33</b>" in shown


def test_a_filter_in_the_url_is_what_the_widget_shows_and_what_the_table_shows(draw):
    app = draw("matrix", theme="baking", opset="14", exporter="default")

    assert app.selectbox(key="url-theme").value == "baking"
    assert app.selectbox(key="url-opset").value == "14"
    assert "torch.cross" not in words(app)


def test_choosing_in_a_widget_writes_the_url(draw):
    app = draw("matrix")
    app.selectbox(key="url-theme").set_value("geometry").run()

    assert app.query_params["theme"] == "geometry"
    assert "x[0].item()" not in words(app)

    app.selectbox(key="url-theme").set_value("").run()

    assert "theme" not in app.query_params
    assert "x[0].item()" in words(app)


def test_a_status_filter_keeps_whole_lines(draw):
    shown = draw("matrix", status="crash")

    assert "torch.roll" in words(shown)
    assert "torch.cross" not in words(shown)
    assert len(cells(shown, "roll-negative")) == 8


def test_the_columns_may_be_opsets_at_one_release_and_a_cell_leads_to_that_place(draw):
    shown = cells(draw("matrix", by="opset", torch="1.10.2", exporter="torchscript-trace"), "item-baked", "matrix")

    assert [text for _, text, _ in shown] == ["≠ mismatch"] * 6 + ["⊘ refused"]
    assert dict(parse_qsl(shown[0][2].partition("?")[2])) == {
        "case": "item-baked",
        "exporter": "torchscript-trace",
        "torch": "1.10.2",
        "opset": "9",
    }


def test_the_columns_may_be_exporters(draw):
    shown = cells(draw("matrix", by="exporter"), "cross-no-symbolic")

    assert [link.split("exporter=")[1].split("&")[0] for _, _, link in shown] == [
        "torchscript-trace",
        "dynamo",
        "default",
    ]


def test_operators_say_how_many_of_their_cases_work(draw):
    app = draw("matrix", rows="operators", exporter="torchscript-trace")
    row = next(part for part in markup(app).split("<tr>") if ">aten::roll<" in part)

    # one case is wrong, which is the worst; one crashes, one fails; the fourth was measured at 2.8.0 alone
    assert re.findall(r">([^<>]*/\d)</a>", row) == ["≠ 0/3", "≠ 0/3", "~ 1/4", "≠ 0/3"]


def test_the_search_finds_cases_by_op_and_by_a_fix_and_says_so_where_there_is_none(draw):
    assert "torch.cross" in words(draw("matrix", q="aten::cross"))
    assert "torch.cross" in words(draw("matrix", q="Slice products"))
    nothing = draw("matrix", q="no-such-thing")
    assert [item.value for item in nothing.info] == ["No case has all of these words: no\\-such\\-thing"]


@pytest.mark.parametrize(
    ("page", "asked", "said"),
    [
        ("matrix", {"theme": "geometri"}, "unknown theme 'geometri' (nearest: geometry)"),
        ("matrix", {"opset": "99"}, "unknown opset '99'"),
        ("matrix", {"exporter": "dynamoo"}, "unknown exporter 'dynamoo' (nearest: dynamo)"),
        ("case", {"case": "cross-no-symbolik"}, "unknown case 'cross-no-symbolik' (nearest: cross-no-symbolic"),
        ("case", {"case": "cross-no-symbolic", "variant": "stack"}, "(nearest: stack_rewrite)"),
        ("case", {"case": "cross-no-symbolic", "torch": "1.10.3"}, "(nearest: 1.10.2"),
        ("upgrade", {"from": "1.10.3"}, "(nearest: 1.10.2"),
        ("op", {"op": "aten::croos"}, "(nearest: aten::cross"),
        ("workarounds", {"torch": "9"}, "unknown torch '9'"),
        ("workarounds", {"sort": "wrod"}, "unknown order 'wrod' (nearest: word)"),
        ("claims", {"outcome": "reproducd"}, "(nearest: reproduced"),
    ],
)
def test_an_unknown_value_in_the_url_is_answered_with_the_nearest_names(draw, page, asked, said):
    app = draw(page, **asked)

    assert [said in item.value.replace("\\", "") for item in app.warning] == [True]


def test_the_case_page_shows_the_real_error_text_of_the_cell_in_the_url(draw):
    asked = {"case": "cross-no-symbolic", "torch": "1.10.2", "exporter": "torchscript-trace"}

    for opset in (11, 14):
        texts = [item.value for item in draw("case", **asked, opset=str(opset)).code]
        assert CROSS.format(opset) in texts


def test_the_case_page_shows_every_form_as_code_and_the_command_that_repeats_the_cell(draw):
    texts = [item.value for item in draw("case", case="cross-no-symbolic", torch="1.10.2", opset="14").code]

    assert any(text.startswith("def forward(self, x):  # plain") for text in texts)
    assert any(text.startswith("def forward(self, x):  # stack_rewrite") for text in texts)
    assert (
        "caniexport measure --release 1.10.2 --case cross-no-symbolic/plain --exporter torchscript-trace "
        "--opset 14 --fresh" in texts
    )


def test_a_script_that_cannot_be_written_says_why(draw):
    app = draw("case", case="cross-no-symbolic", torch="1.10.2", opset="14", script="1")

    assert [item.value.replace("\\", "") for item in app.info] == [
        "case cross-no-symbolic: its rows are there, its case file is not"
    ]


def test_the_published_cell_is_shown_as_a_script_when_it_is_asked_for(monkeypatch):
    monkeypatch.setenv(VARIABLE, str(APP.parents[1]))
    asked = {"case": "cross-no-symbolic", "torch": "1.10.2", "opset": "14", "exporter": "torchscript-trace"}

    def drawn(**more):
        app = AppTest.from_string(_PAGE.format("case"), default_timeout=120)
        for name, value in {**asked, **more}.items():
            app.query_params[name] = value
        assert not app.run().exception
        return [item.value for item in app.code if "# /// script" in item.value]

    assert drawn() == []
    (text,) = drawn(script="1")
    assert "torch==1.10.2" in text
    compile(text, "script.py", "exec")


def test_the_strip_marks_the_cell_whose_evidence_is_shown(draw):
    shown = cells(draw("case", case="cross-no-symbolic", torch="1.10.2", opset="14"), "cross-no-symbolic", "strip")
    chosen = [link for kind, _, link in shown if "chosen" in kind]

    assert chosen == ["./case?case=cross-no-symbolic&exporter=torchscript-trace&torch=1.10.2&opset=14"]


def test_a_cell_that_was_not_measured_says_so_and_shows_no_other(draw):
    app = draw("case", case="only-at-2-8", torch="2.0.1", opset="14")

    assert "Nothing was measured for torch 2.0.1, torchscript-trace, opset 14." in words(app)
    assert not any("caniexport measure" in item.value for item in app.code)


def test_a_degraded_cell_says_which_opset_was_written(draw):
    app = draw("case", case="cross-no-symbolic", exporter="dynamo", torch="2.15.0", opset="14")

    assert "degraded" in words(app)
    assert "opset 18 by dynamo" in words(app)


def test_each_fix_has_its_word_on_every_release(draw):
    app = draw("case", case="cross-no-symbolic", exporter="torchscript-trace")
    shown = [
        text for _, text, link in cells(app, "cross-no-symbolic", "matrix words") if "variant=stack_rewrite" in link
    ]

    assert shown == ["● needed", "○ obsolete", "○ obsolete", "○ obsolete"]


def test_a_fix_documented_as_wrong_is_marked_and_not_recommended(draw):
    assert "Careful: documented as wrong or partial. Not a recommendation." in words(
        draw("case", case="cross-no-symbolic")
    )
    assert "exchanged" not in words(draw("workarounds"))
    assert "documented as wrong or partial" in words(draw("workarounds", careful="1"))


def test_an_environment_case_shows_what_was_installed_and_its_error(draw):
    app = draw("case", case="numpy-2-breaks")

    assert "ImportError: numpy.core.multiarray failed to import" in [item.value for item in app.code]
    assert "fail at import" in words(draw("matrix"))


def test_sources_are_links_only_where_they_have_an_address():
    assert 'href="https://github.com/onnx/onnx/issues/2683"' in source_link("onnx/onnx#2683")
    for text in ("seed:000", "javascript:alert(1)", "onnx/onnx#2683 <b>", 'https://x.org/"onmouseover="x'):
        assert "<a" not in source_link(text)


def test_the_workaround_page_says_since_when_a_fix_is_obsolete(draw):
    said = words(draw("workarounds", torch="2.15.0", exporter="torchscript-trace"))

    assert "obsolete since 2.0.1 (needed at 1.10.2)" in said
    assert "fixed in (1.10.2, 2.0.1]" in said


def test_the_workaround_page_judges_at_the_release_in_the_url(draw):
    assert "needed at 1.10.2" in words(draw("workarounds", torch="1.10.2", exporter="torchscript-trace"))
    assert "obsolete since" not in words(draw("workarounds", torch="1.10.2", exporter="torchscript-trace"))


def test_the_workaround_page_sorts_by_the_column_in_the_url(draw):
    by_fix = re.findall(r'href="\./case\?case=([^&"]*)', markup(draw("workarounds", sort="fix")))
    by_word = re.findall(r'badge (w-\w+)">[^<]*</span></td>', markup(draw("workarounds", sort="word")))

    assert by_fix == sorted(by_fix)
    assert by_word == sorted(by_word, key=["w-needed", "w-obsolete", "w-broken", "w-harmful", "w-unknown"].index)
    assert len(set(by_word)) > 1


def test_the_upgrade_page_says_what_is_fixed_and_which_workaround_may_go(draw):
    said = re.sub(r"\s+", " ", words(draw("upgrade", **{"from": "1.10.2", "to": "2.15.0"})))

    assert "torch 1.10.2, torchscript-trace, opset 9 → torch 2.15.0, torchscript-trace, opset 18" in said
    assert "✓ fixed 1 did not work before, does now" in said
    assert "torch.cross before a convolution is refused ✗ fail → ✓ pass by torch" in said
    assert "Workarounds that may go 1" in said
    assert "cross-no-symbolic / stack_rewrite ● needed → ○ obsolete" in said


def test_the_upgrade_page_looks_at_the_operators_named_and_says_which_it_does_not_know(draw):
    app = draw("upgrade", **{"from": "1.10.2", "to": "2.15.0", "ops": "torch.roll NoSuchOp"})

    assert "No case is about NoSuchOp" in " ".join(words(app).split())
    assert "torch.cross before" not in words(app)
    assert "Nothing that was measured at both points changes." in words(app)


def test_the_upgrade_pickers_write_the_url(draw):
    app = draw("upgrade")
    app.selectbox(key="url-from").set_value("1.10.2").run()

    assert app.query_params["from"] == "1.10.2"
    assert "torch 1.10.2" in words(app)


def test_claims_are_shown_with_their_outcome_and_can_be_narrowed_to_it(draw):
    everything = words(draw("claims"))
    wrong = words(draw("claims", outcome="not-reproduced"))

    assert "cross is refused at opset 14" in everything
    assert "torch 1.10.2, opset 14: mismatch at compare" in wrong
    assert "cross is refused at opset 14" not in wrong


def test_the_runs_page_lists_every_environment_with_its_versions(draw):
    said = words(draw("runs"))

    for torch in ("1.10.2+cpu", "2.0.1+cpu", "2.8.0+cpu", "2.15.0+cpu"):
        assert torch in said


def test_torchs_own_table_stands_beside_the_measured_differences_first(draw):
    said = re.sub(r"\s+", " ", words(draw("declared")))

    assert said.index("aten::roll trace 9-20") < said.index("aten::cross trace 9-20 9-20 ✓ agrees")
    assert "aten::roll" not in words(draw("declared", **{"is": "agrees"}))
    assert "aten::roll" not in words(draw("declared", q="aten::cross"))


@pytest.mark.parametrize("page", PAGES)
def test_texts_of_the_dataset_and_of_the_url_never_become_tags(draw, page):
    asked = dict.fromkeys(
        ("q", "op", "theme", "variant", "torch", "opset", "status", "sort", "source", "word"), HOSTILE
    )
    for given in ({"case": MARKED_ID, "fixes": "1"}, {"case": HOSTILE, **asked}):
        app = draw(page, **given)
        tags = set(re.findall(r"<\s*/?\s*([a-zA-Z]+)", markup(app)))
        assert not tags & {"img", "script", "c"}
        assert 'onerror="' not in markup(app)
        for said in (*app.warning, *app.info, *app.error):
            assert not re.search(r"(?<!\\)[<`$\[]", said.value)


def test_text_for_a_streamlit_element_loses_every_mark():
    said = params.plain("*bold* [link](http://x) $x$ `code` :red[x] <b> a_b # 1. - ~~x~~")

    assert said.replace("\\", "") == "*bold* [link](http://x) $x$ `code` :red[x] <b> a_b # 1. - ~~x~~"
    assert not re.search(r"(?<!\\)[*_\[\]`$<>#~]", said)


def test_addresses_carry_any_name_whole():
    address = links.page("case", case=MARKED_ID, variant="", torch="1.10.2")

    assert address == "./case?case=a%22b%3Cc%3E%26d&torch=1.10.2"
    assert escape(address) == address.replace("&", "&amp;")


def test_a_home_without_rows_gives_a_page_that_says_how_to_measure(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for page in PAGES:
        app = AppTest.from_string(_PAGE.format(page), default_timeout=60).run()

        assert not app.exception
        assert "Nothing has been measured yet" in words(app)
        assert [item.value for item in app.code] == ["caniexport measure --release 2.8.0"]


def test_a_home_that_is_not_one_gives_a_page_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    app = AppTest.from_string(_PAGE.format("matrix"), default_timeout=60).run()

    assert not app.exception
    assert "has no folder cases/" in app.error[0].value.replace("\\", "")


def test_a_damaged_file_is_named_on_the_page_and_the_rest_is_shown(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    path = home / "results" / "cells" / "torch-2.0.1-cpu.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    monkeypatch.setenv(VARIABLE, str(home))
    app = AppTest.from_string(_PAGE.format("matrix"), default_timeout=60).run()

    assert not app.exception
    assert "torch-2.0.1-cpu.parquet" in app.warning[0].value.replace("\\", "")
    assert "2.8.0" in words(app)


def test_a_new_row_is_seen_without_a_restart(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    kept = (home / "results" / "cells" / "torch-2.15.0-cpu.parquet").read_bytes()
    (home / "results" / "cells" / "torch-2.15.0-cpu.parquet").unlink()
    monkeypatch.setenv(VARIABLE, str(home))
    app = AppTest.from_string(_PAGE.format("matrix"), default_timeout=60).run()
    assert "torch=2.15.0" not in markup(app)

    (home / "results" / "cells" / "torch-2.15.0-cpu.parquet").write_bytes(kept)
    app.run()

    assert "torch=2.15.0" in markup(app)


def test_drawing_every_page_writes_nothing_into_the_home(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    before = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(home.rglob("*"))}
    monkeypatch.setenv(VARIABLE, str(home))
    for page in PAGES:
        app = AppTest.from_string(_PAGE.format(page), default_timeout=60)
        app.query_params["case"] = "cross-no-symbolic"
        assert not app.run().exception

    assert {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(home.rglob("*"))} == before
    assert os.environ[VARIABLE] == str(home)
