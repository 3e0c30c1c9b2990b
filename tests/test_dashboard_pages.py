"""What the case page and the other pages say, and what they do with hostile texts."""

from __future__ import annotations

import re

import pytest
from dashboard_data import CROSS, DRAWN, HOSTILE, MARKED_ID, RELEASES, UNDRAWN
from drawn_pages import APP, app_of, cells, codes, markup, words
from onnx_bytes import MODEL, model, node

from caniexport.answers.upstream import source_address
from caniexport.home import VARIABLE
from caniexport.pages import links
from caniexport.pages.page import PAGES
from caniexport.pages.render import render


def test_the_case_page_shows_the_real_error_text_of_the_cell_in_the_url(draw):
    asked = {"case": "cross-no-symbolic", "torch": "1.10.2", "exporter": "torchscript-trace"}

    for opset in (11, 14):
        texts = codes(draw("case", **asked, opset=str(opset)))
        assert CROSS.format(opset) in texts


def test_the_case_page_says_what_became_of_each_source(draw):
    said = " ".join(words(draw("case", case="item-baked")).split())

    assert "onnx/onnx#2683 closed (seen 2026-11-22), but still fails at torch 2.15.0" in said
    assert "state not known" not in said, "a document has no state"


def test_a_file_of_which_no_graph_is_kept_anywhere_has_a_page_all_the_same(draw):
    drawn = draw("case", case=DRAWN, torch="2.15.0", exporter="torchscript-trace", opset="14")
    without = draw("case", case=UNDRAWN, variant="index_rewrite", torch="2.15.0", exporter="dynamo", opset="18")

    assert "The exported graph" in words(drawn)
    assert "The exported graph" not in words(without)
    assert "opset 18 by dynamo" in words(without)
    assert [item.value for item in (*drawn.error, *without.error)] == []


def test_the_case_page_shows_every_form_as_code_and_the_command_that_repeats_the_cell(draw):
    texts = codes(draw("case", case="cross-no-symbolic", torch="1.10.2", opset="14"))

    assert any(text.startswith("def forward(self, x):  # plain") for text in texts)
    assert any(text.startswith("def forward(self, x):  # stack_rewrite") for text in texts)
    assert "--case cross-no-symbolic/plain --torch 1.10.2 --exporter trace --opset 14 --fresh" in words(
        draw("case", case="cross-no-symbolic", torch="1.10.2", opset="14")
    )


def test_a_fix_is_asked_for_as_the_terminal_names_it_and_an_unknown_one_is_named(draw):
    place = {"torch": "1.10.2", "opset": "14"}

    asked = draw("case", case="cross-no-symbolic/stack_rewrite", **place)
    wrong = draw("case", case="cross-no-symbolic/stack_rewrte", **place)

    assert "--case cross-no-symbolic/stack_rewrite " in words(asked)
    assert [item.value for item in asked.warning] == []
    assert any("'stack_rewrte' (nearest: stack_rewrite" in item.value.replace("\\", "") for item in wrong.warning)


def test_a_script_that_cannot_be_written_says_why(draw):
    app = draw("case", case="cross-no-symbolic", torch="1.10.2", opset="14", script="1")

    assert "case cross-no-symbolic: its rows are there, its case file is not" in words(app)


def test_the_published_cell_is_shown_as_a_script_when_it_is_asked_for(monkeypatch):
    monkeypatch.setenv(VARIABLE, str(APP.parents[1]))
    asked = {"case": "cross-no-symbolic", "torch": "1.10.2", "opset": "14", "exporter": "torchscript-trace"}

    def drawn(**more):
        app = app_of("case")
        for name, value in {**asked, **more}.items():
            app.query_params[name] = value
        assert not app.run().exception
        return [text for text in codes(app) if "# /// script" in text]

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

    assert "Nothing was measured for torch 2.0.1, trace, opset 14." in words(app)
    assert "caniexport measure" not in words(app)


def test_a_degraded_cell_says_which_opset_was_written(draw):
    app = draw("case", case="cross-no-symbolic", exporter="dynamo", torch="2.15.0", opset="14")

    assert "degraded" in words(app)
    assert "opset 18 by dynamo" in words(app)


def test_a_fix_documented_as_wrong_is_marked_and_not_recommended(draw):
    careful = words(draw("case", case="cross-no-symbolic", variant="exchanged"))
    assert "Careful: this workaround is known to be wrong or partial." in careful
    shown = words(draw("workarounds", q="cross-no-symbolic"))
    assert shown.index("known to be wrong or partial") < shown.index("exchanged")


def test_an_environment_case_shows_what_was_installed_and_its_error(draw):
    app = draw("case", case="numpy-2-breaks")

    assert "ImportError: numpy.core.multiarray failed to import" in codes(app)
    assert re.search(r"numpy-2-breaks\s+plain\s+✗ fail\s+import", words(draw("matrix")))


def test_sources_are_links_only_where_they_have_an_address(draw):
    said = markup(draw("case", case="cross-no-symbolic"))

    assert '<a class="src" href="https://github.com/onnx/onnx/issues/2683"' in said
    assert '<span class="src">javascript:alert(1)</span>' in said
    for text in ("seed:000", "javascript:alert(1)", "onnx/onnx#2683 <b>", 'https://x.org/"onmouseover="x'):
        assert source_address(text) is None


def test_the_workaround_page_judges_at_the_release_in_the_url(draw):
    new, old = (words(draw("workarounds", q="stack_rewrite", torch=torch)) for torch in ("2.15.0", "1.10.2"))
    assert "Not needed at torch 2.15.0: the original exports since 2.0.1" in new
    assert "Needed at torch 1.10.2: use stack_rewrite." in old


def test_the_upgrade_page_says_what_breaks_and_which_workaround_to_remove(draw):
    said = " ".join(words(draw("upgrade", **{"from": "1.10.2", "to": "2.15.0"})).split())

    assert "From torch 1.10.2, default (torch.onnx.export, opset 9) to torch 2.15.0." in said
    assert "1 row: workarounds you can remove" in said
    assert "stack_rewrite three slice products, stacked on the same dim cross-no-symbolic" in said
    assert "Workarounds: remove 1, add 0, keep 1." in said


def test_the_upgrade_page_looks_at_the_operators_named_and_says_which_it_does_not_know(draw):
    app = draw("upgrade", **{"from": "2.0.1", "to": "2.15.0", "ops": "torch.roll NoSuchOp"})

    assert "No case is about NoSuchOp: nothing is known of it here." in words(app)
    assert "torch.cross before" not in words(app)
    assert [item.value.startswith("unknown op 'NoSuchOp'") for item in app.warning] == [True]

    alone = words(draw("upgrade", **{"from": "2.0.1", "to": "2.15.0", "ops": "NoSuchOp"}))
    assert "Not enough measured: 0 cases at 2.15.0" in alone


CATALOGUE = ["aten::conv2d", "Conv", "aten::gather", "Gather"]


def test_the_operators_of_an_uploaded_file_are_those_that_cases_are_about():
    from dashboard import upload

    found, good, said = upload.find_operators("my.onnx", MODEL, CATALOGUE, 4000)

    assert (found, good) == ("Conv, Gather", True)
    assert said == "my.onnx: cases are about 2 of its 3 operators. No case is about Constant."
    many = model([node("Conv", ["x"], ["y"]), *(node(f"Own{index}", ["x"], ["y"]) for index in range(40))])
    assert upload.find_operators("m", many, CATALOGUE, 4000)[2].endswith("Own19 and 28 more.")
    assert upload.find_operators("m", model([node("Own", ["x"], ["y"])]), CATALOGUE, 4000)[:2] == ("", True)
    assert upload.find_operators("m", MODEL, CATALOGUE, 6)[0] == "Conv"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 a zip", "is not an ONNX file"),
        (HOSTILE.encode(), "is not an ONNX file"),
        (MODEL[:-9], "is truncated or damaged"),
        (MODEL * 2_000_000, "is larger than 100 MB"),
    ],
    ids=["empty", "zip", "text", "cut", "large"],
)
def test_an_upload_that_is_no_model_is_said_to_be_none(content, said):
    from dashboard import upload

    found, good, text = upload.find_operators("\x1b[2J../../<b>.onnx", content, CATALOGUE, 4000)

    assert (found, good) == ("", False)
    assert text.startswith("[2J../../<b>.onnx")
    assert said in text


def test_the_upgrade_pickers_write_the_url(draw):
    app = draw("upgrade")
    releases = app.selectbox(key="url-from").options
    assert len(set(releases)) == len(releases) == len(RELEASES), "each release once"
    assert app.selectbox(key="url-from").value == RELEASES[-2]
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


def test_what_is_registered_stands_beside_the_measured_differences_first(draw):
    said = re.sub(r"\s+", " ", words(draw("declared")))

    assert said.index("aten::roll dynamo=False registered, nothing passes 9-20 none") < said.index(
        "aten::cross dynamo=False agrees 9-20 9-20"
    )
    assert "aten::roll" not in words(draw("declared", **{"is": "agrees"}))
    assert "aten::roll" not in words(draw("declared", q="aten::cross"))


@pytest.mark.parametrize(
    ("page", "asked", "near"),
    [
        ("case", "cross-no-symbolik", "cross-no-symbolic"),
        ("case", "ata", None),
    ],
)
def test_the_nearest_to_what_is_not_there_are_said_once_as_links_and_none_where_nothing_is_like_it(
    draw, page, asked, near
):
    app = draw(page, **{page: asked})
    (said,) = (item.value.replace("\\", "") for item in app.warning)

    assert ("Did you mean" in words(app)) == bool(near)
    if near:
        assert re.fullmatch(f"unknown (case|operator) '{asked}'", said)
        assert re.search(rf"Did you mean\s+{near}\b", words(app))
    else:
        assert said.startswith("unknown case 'ata' (known: ")


@pytest.mark.parametrize("page", ["claims"])
def test_a_text_that_is_too_long_to_be_looked_for_is_said_to_be(draw, page):
    text = "of this name is nothing " * 130
    app = draw(page)
    app.text_input(key="url-q").set_value(text).run()

    (said,) = (item.value.replace("\\", "") for item in app.warning)
    assert said == "the text in «Search» is too long: only its first 300 characters are read"
    assert app.text_input(key="url-q").value == text[:300]
    assert "passes these filters" in words(app)
    app.text_input(key="url-q").set_value("of this name is nothing").run()
    assert not app.warning


@pytest.mark.parametrize("page", PAGES)
def test_texts_of_the_dataset_and_of_the_url_never_become_tags(draw, page):
    asked = dict.fromkeys(
        ("q", "op", "theme", "variant", "torch", "opset", "status", "sort", "source", "word"), HOSTILE
    )
    for given in ({"case": MARKED_ID, "fixes": "1"}, {"case": HOSTILE, **asked}):
        app = draw(page, **given)
        # pictures are of our own making, and no text of the dataset is in their tags
        tags = set(
            re.findall(
                r"<\s*/?\s*([a-zA-Z]+)",
                re.sub(r'<(img|source)[^<>]* src(set)?="data:image/svg[^<>]*>', "", markup(app)),
            )
        )
        assert not tags & {"img", "script", "c"}
        assert 'onerror="' not in markup(app)
        for said in (*app.warning, *app.info, *app.error):
            assert not re.search(r"(?<!\\)[<`$\[]", said.value)


def test_text_for_a_streamlit_element_loses_every_mark():
    from dashboard import widgets

    said = widgets.escape_markdown("*bold* [link](http://x) $x$ `code` :red[x] <b> a_b # 1. - ~~x~~")

    assert said.replace("\\", "") == "*bold* [link](http://x) $x$ `code` :red[x] <b> a_b # 1. - ~~x~~"
    assert not re.search(r"(?<!\\)[*_\[\]`$<>#~]", said)


def test_words_between_back_ticks_are_code_in_a_streamlit_element_and_nothing_else_is():
    from dashboard import widgets

    assert widgets.escape_except_code("Try *2* with `dynamo=False`: a_b") == r"Try \*2\* with `dynamo=False`\: a\_b"
    assert widgets.escape_except_code("one ` alone") == r"one \` alone"
    assert "\n" not in widgets.escape_except_code("`a\n\n![x](http://y)`"), "code ends with its line"


def test_addresses_carry_any_name_whole():
    address = links.page("case", case=MARKED_ID, variant="", torch="1.10.2")

    assert address == "./case?case=a%22b%3Cc%3E%26d&torch=1.10.2"
    assert render("nothing.html", nothing=address) == f'<p class="nothing">{address.replace("&", "&amp;")}</p>'


def test_a_series_in_an_address_is_its_newest_release(draw):
    app = draw("workarounds", torch="2.8")

    assert app.selectbox(key="url-torch").value == "2.8"
    assert not app.warning
    assert "has not been measured" in draw("workarounds", torch="7.1").warning[0].value


@pytest.mark.parametrize(
    ("case", "asked", "shown"),
    [
        ("cross-no-symbolic", {}, "Fails at export (torch 1.10.2, torch.onnx.export, opset_version=9)"),
        ("item-baked", {}, "(torch 2.15.0, dynamo=False, opset_version=18)"),
        ("item-baked", {"exporter": "dynamo"}, "(torch 2.15.0, dynamo=True, opset_version=18)"),
        ("item-baked", {"my_torch": "2.8", "my_exporter": "dynamo"}, "(torch 2.8.0, dynamo=True, opset_version=17)"),
        ("item-baked", {"my_opset": "11"}, "(torch 2.15.0, dynamo=False, opset_version=11)"),
    ],
)
def test_a_case_opens_where_a_call_without_an_opset_fails_or_at_the_setting(draw, case, asked, shown):
    assert shown in " ".join(words(draw("case", case=case, **asked)).replace("\xa0", " ").split())
