"""What the search and the matrix say, drawn from a dataset written by the store."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from dashboard_data import CROSS, build
from drawn_pages import APP, app_of, cells, markup, words
from packaging.requirements import Requirement

from caniexport.home import VARIABLE


def test_the_app_itself_draws_the_search_first(pages_home, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(pages_home))

    testing = pytest.importorskip("streamlit.testing.v1", reason="the dashboard needs streamlit")
    app = testing.AppTest.from_file(str(APP), default_timeout=60).run()

    assert not app.exception
    assert "Can I export it?" in words(app)
    assert app.text_input(key="url-q").value == ""


def test_the_search_finds_cases_by_operator_and_words(draw):
    assert "Read as an operator:" in words(draw("search", q="aten::cross"))
    assert "case=cross-no-symbolic" in markup(draw("search", q="torch.cross"))
    assert "cross-no-symbolic" in words(draw("search", q="slice products"))


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/convert.py", line 7, in <module>
    torch.onnx.export(model, (x,), "model.onnx", opset_version=12)
RuntimeError: """ + CROSS.format(12)


def test_a_pasted_traceback_finds_its_case_and_the_fix_that_works_there(draw):
    for pasted in (TRACEBACK, TRACEBACK.replace("\n", " "), "RuntimeError: " + CROSS.format(9)):
        app = draw("search", q=pasted)

        said = " ".join(words(app).split())
        assert "Known error of cross: use the workaround stack_rewrite." in said
        assert "the same error" in said
        assert "exchanged" not in said, "what sources warn of is no recommendation"


def test_what_is_pasted_stands_in_the_address(draw):
    app = draw("search")
    app.text_input(key="url-q").set_value(TRACEBACK).run()

    assert app.query_params["q"] == TRACEBACK
    assert "Known error of cross" in words(app)


def test_a_search_that_finds_nothing_names_the_nearest(draw):
    said = words(draw("search", q="croos"))

    assert "Nothing measured has these words" in said
    assert "aten::cross" in said


def test_an_operator_has_a_page_with_its_cases(draw):
    assert "cross-no-symbolic" in words(draw("op", op="aten::cross"))
    app = draw("op", op="aten::croos")
    assert "unknown operator 'aten::croos'" in app.warning[0].value.replace("\\", "")
    assert "aten::cross" in words(app)


def test_a_cell_says_what_was_measured_with_a_sign_and_a_class_of_its_own(draw):
    shown = cells(draw("matrix", exporter="torchscript-trace"), "cross-no-symbolic")

    assert [(kind, text) for kind, text, _ in shown] == [
        ("s-pass", "✓ 9+"),
        ("s-pass", "✓ 9+"),
        ("s-pass", "✓ 9+"),
        ("s-fail", "✗"),
    ]


def test_a_silent_mismatch_is_told_apart_from_a_failure(draw):
    kinds = {kind for kind, _, _ in cells(draw("matrix", exporter="torchscript-trace"), "item-baked")}

    assert kinds == {"s-mismatch"}


def test_what_was_not_measured_has_its_own_sign_and_is_never_blank(draw):
    shown = cells(draw("matrix", exporter="torchscript-trace"), "only-at-2-8")

    assert [(kind, text) for kind, text, _ in shown] == [
        ("s-not-run", "·"),
        ("s-pass", "✓ 9+"),
        ("s-not-run", "·"),
        ("s-not-run", "·"),
    ]


def test_the_signs_below_the_matrix_are_those_that_stand_in_it(draw):
    def told(**asked):
        signs = re.search(r'<details class="signs">.*?</summary>', markup(draw("matrix", **asked)), re.DOTALL)[0]
        return [" ".join(found).strip() for found in re.findall(r'"swatch [^"]*">([^<]*)</span> ([\w ]*)', signs)]

    assert {"✓ pass", "✗ fail", "! crash", "≠ mismatch", "· not measured"} <= set(told())
    assert "M oom" not in told()
    assert "! crash" in told(status="crash") and "± unstable" not in told(status="crash")


def test_an_unknown_parameter_is_named_with_the_nearest(draw):
    said = " ".join(item.value for item in draw("matrix", exproter="trace").warning)
    assert "unknown parameter 'exproter' (nearest: exporter" in said.replace("\\", "")


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


def test_the_columns_may_be_opsets_at_one_release_and_a_cell_leads_to_that_place(draw):
    shown = cells(draw("matrix", by="opset", torch="1.10.2", exporter="torchscript-trace"), "item-baked")

    assert [text for _, text, _ in shown] == ["⊘"] + ["≠"] * 6
    assert dict(parse_qsl(shown[-1][2].partition("?")[2])) == {
        "case": "item-baked",
        "exporter": "torchscript-trace",
        "torch": "1.10.2",
        "opset": "9",
        "my_torch": "1.10.2",
        "my_exporter": "torchscript-trace",
    }


@pytest.mark.parametrize(
    ("page", "asked", "said"),
    [
        ("matrix", {"theme": "geometri"}, "unknown theme 'geometri' (nearest: geometry)"),
        ("matrix", {"opset": "99"}, "opset 99 has not been measured"),
        ("matrix", {"exporter": "dynamoo"}, "unknown exporter 'dynamoo' (nearest: dynamo)"),
        ("case", {"case": "cross-no-symbolic", "variant": "stack"}, "(nearest: stack_rewrite)"),
        ("case", {"case": "cross-no-symbolic", "torch": "1.10.3"}, "torch 1.10.3 was not measured; 1.10.2 is answered"),
        ("upgrade", {"from": "2.99.0"}, "torch 2.99.0 has not been measured"),
        ("case", {"case": "cross-no-symbolic", "opset": "77"}, "unknown opset '77' (nearest: 20)"),
        ("workarounds", {"torch": "9"}, "torch 9 has not been measured"),
        ("claims", {"outcome": "reproducd"}, "(nearest: reproduced"),
    ],
)
def test_an_unknown_value_in_the_url_is_answered_with_the_nearest_names(draw, page, asked, said):
    app = draw(page, **asked)

    assert [said in item.value.replace("\\", "") for item in app.warning] == [True]


def test_the_front_page_and_the_list_of_cases_say_which_are_not_measured(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    (home / "results" / "cells" / "torch-2.8.0-cpu.parquet").unlink()
    monkeypatch.setenv(VARIABLE, str(home))

    def drawn(page):
        return app_of(page).run()

    front, listed = drawn("search"), drawn("case")

    assert "6 cases: 5 measured, 1 not measured yet." in words(front)
    assert re.findall(r"<li><a [^>]*>([^<]*)</a> <span class=\"badge s-not-run", markup(listed)) == [
        "a case that one release alone has measured"
    ]


def test_streamlit_is_pinned_to_a_range_whose_parts_that_pages_lean_on_are_there():
    static = Path(find_spec("streamlit").origin).parent / "static"
    project = tomllib.loads((APP.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = [
        Requirement(text) for text in project["optional-dependencies"]["dashboard"] if text.startswith("streamlit")
    ]
    scripts = "".join(path.read_text(encoding="utf-8") for path in static.rglob("*.js"))

    assert {part.operator for part in wanted.specifier} == {">=", "<"}
    assert version("streamlit") in wanted.specifier
    parts = ("stTopNavLink", "stSidebarNavLink", "stSidebarCollapseButton", "stLayoutWrapper", "stMainBlockContainer")
    for part in parts:
        assert part in scripts, part
