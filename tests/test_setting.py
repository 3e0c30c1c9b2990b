"""My setting: read from the address with ranges and sets, taken along by links, used by the pages."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qsl

import pytest
from dashboard_data import OF_ITS_TIME
from drawn_pages import cells, codes, markup, words

from caniexport.answers.inventory import Inventory
from caniexport.home import VARIABLE
from caniexport.pages import setting
from caniexport.pages.kept import Kept
from caniexport.pages.page import PAGES, page

TRACE, SCRIPT = "torchscript-trace", "torchscript-script"


@pytest.fixture
def rows(pages_home):
    return Kept.open(pages_home / "results", None).inventory


def read(rows: Inventory, **asked: str):
    """The setting, and what it says it does not know."""
    said = []
    return setting.read(asked, rows, "", said.append), said


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("2.8", ["2.8.0"]),
        ("1.13..2.8", ["2.0.1", "2.8.0"]),
        ("1.13\N{EN DASH}2.15", ["2.0.1", "2.8.0", "2.15.0"]),
        ("1.13-2.0", ["2.0.1"]),
        ("2.0.1..", ["2.0.1", "2.8.0", "2.15.0"]),
        ("..2.0", ["1.10.2", "2.0.1"]),
        ("2.15, 1.10", ["1.10.2", "2.15.0"]),
    ],
)
def test_releases_are_one_a_series_a_range_or_several(rows, asked, meant):
    mine, said = read(rows, torch=asked)

    assert list(mine.of("torch")) == meant
    assert said == []


def test_packages_say_which_releases_are_known(rows):
    mine, said = read(rows, profile="period", torch="2.8..2.15")
    assert (mine.profile, mine.of("torch")) == ("period", ("2.8.0",))
    assert mine.text == "torch 2.8..2.15; packages of the release's time"
    assert said == []

    mine, said = read(rows, profile="perod,newest", torch="2.15")
    assert (mine.profile, mine.of("torch")) == ("newest", ("2.15.0",))
    assert said == ["unknown profile 'perod' (nearest: period)"]

    assert "2.15 " in read(rows, profile="period", torch="2.15")[1][0]
    assert read(rows, profile="period", torch="2.15")[1][0].endswith("with packages of the release's time")


def test_opsets_exporters_and_the_runtime_take_what_the_commands_take(rows):
    mine, said = read(rows, opset="14..16,default", exporter="TorchScript", runtime="ort1.20")

    assert mine.of("opset") == ("14", "15", "16", "default")
    assert mine.of("exporter") == (TRACE, SCRIPT)
    assert said == []
    assert mine.of("runtime") == ("onnxruntime==1.20.1",)
    assert mine.text == "opset 14..16, default; exporter TorchScript; runtime ort1.20"


def test_what_nobody_knows_is_named_and_counts_as_not_given(rows):
    mine, said = read(rows, torch="2.8,9.9,3..4", opset="77", exporter="dynamo,torchsript-trace", runtime="ortt")

    assert mine.of("torch") == ("2.8.0",)
    assert mine.address == {"torch": "2.8", "exporter": "dynamo"}
    assert [text.split(" (")[0] for text in said] == [
        "torch 9.9 has not been measured",
        "no torch release within 3..4 has been measured",
        "opset 77 has not been measured",
        "unknown exporter 'torchsript-trace'",
        "unknown runtime 'ortt'",
    ]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_every_page_takes_the_setting_along(pages_home, monkeypatch, name):
    monkeypatch.setenv(VARIABLE, str(pages_home))
    kept = Kept.open(pages_home / "results", None)
    asked = {"torch": "2.0..2.8", "exporter": "trace", "op": "aten::cross"}
    if name == "case":
        asked = {"my_torch": "2.0..2.8", "my_exporter": "trace", "case": "cross-no-symbolic"}
    found = page(name, asked, kept)
    pages = [html.unescape(link) for link in re.findall(r'href="(\./[^"]*)"', f"{found.above}{found.body}")]

    assert found.mine.address == {"torch": "2.0..2.8", "exporter": "trace"}
    assert pages or name in ("runs", "glossary", "declared")
    for link in pages:
        mine = "my_torch=" if link.startswith("./case") else "torch="
        # a cell of a table leads to its own release
        assert f"{mine}2.0..2.8" in link or re.search(r"\btorch=2\.\d+\.\d+", link)


@pytest.mark.parametrize(
    ("name", "asked", "unknown"),
    [
        ("upgrade", {"before": "2.0.1", "after": "2.8.0"}, ["before", "after"]),
        ("runs", {"before": "2.0.1", "after": "2.8.0"}, []),
        ("alerts", {"theme": "geometry", "torch": "2.8", "opset": "14", "runtime": "onnxruntime"}, ["theme"]),
        ("about", {"q": "cross", "my_torch": "2.8"}, ["q"]),
        ("case", {"case": "numpy-2-breaks", "variant": "numpy_2_0", "exporter": "dynamo", "script": "1"}, []),
        ("case", {"case": "cross-no-symbolic", "fixes": "1"}, ["fixes"]),
    ],
)
def test_a_parameter_that_only_another_page_takes_is_named_as_one_that_nobody_knows(draw, name, asked, unknown):
    said = [item.value.replace("\\", "") for item in draw(name, **asked).warning]

    assert [re.match(r"unknown parameter '(\w+)'", warning)[1] for warning in said] == unknown


@pytest.mark.parametrize("name", PAGES)
def test_no_link_has_a_parameter_that_its_page_does_not_take(pages_home, monkeypatch, name):
    monkeypatch.setenv(VARIABLE, str(pages_home))
    kept = Kept.open(pages_home / "results", None)
    one = {"case": {"case": "cross-no-symbolic", "torch": "2.8.0"}, "op": {"op": "aten::cross"}}
    texts = [str(page(name, given, kept).body) for given in ({}, one.get(name, {"torch": "2.8", "q": "cross"}))]
    links = {html.unescape(link) for text in texts for link in re.findall(r'href="\./([^"#]*)', text)}

    for link in links:
        there, _, query = link.partition("?")
        if there not in ("cells", "script"):
            warnings = page(there or "search", dict(parse_qsl(query)), kept).warnings
            assert not [said for said in warnings if "unknown parameter" in said], link


def test_the_matrix_has_the_releases_and_exporters_of_the_setting_alone(draw):
    shown = draw("matrix", torch="1.13\N{EN DASH}2.8", exporter="trace", rows="cases")
    head = markup(shown).split('class="matrix')[1].split("</thead>")[0]
    heads = re.findall(r"<th[^>]*>([\d.]+)</th>", head)

    assert heads == ["2.8.0", "2.0.1"]
    assert {re.search(r"&exporter=([\w-]+)", link)[1] for *_, link in cells(shown, "item-baked")} == {TRACE}


def test_a_case_opens_at_the_setting_and_an_alert_is_of_its_releases(draw):
    assert "torch 2.0.1" in words(draw("case", case="item-baked", my_torch="..2.0", my_exporter="trace"))
    assert "roll-negative" not in words(draw("alerts", torch="2.8..2.15"))


def test_an_upgrade_begins_at_the_setting_and_ends_at_the_end_of_a_range(draw):
    said = words(draw("upgrade", torch="1.10..2.8", exporter="trace"))

    assert "From torch 1.10.2, torch.onnx.export, opset_version=9 to torch 2.8.0." in said


def test_the_filters_show_the_setting_as_it_was_written(draw):
    app = draw("matrix", rows="cases", torch="2.0..2.8", exporter="TorchScript")

    assert app.selectbox(key="url-torch").value == "2.0..2.8"
    assert list(app.pills(key="url-exporter").value) == [TRACE, SCRIPT]
    assert "✓ 9+" in words(app)


def test_several_values_of_a_parameter_are_those_with_commas_between_them_and_empty_ones_are_none(draw):
    """As a form of the first document has them in its address."""
    plainly = draw("matrix", rows="cases", exporter=f"{TRACE},dynamo")
    repeated = draw("matrix", rows="cases", exporter=[TRACE, "", "dynamo", TRACE], torch="", opset="", unknown="")

    assert list(repeated.pills(key="url-exporter").value) == [TRACE, "dynamo"]
    assert markup(repeated) == markup(plainly)
    assert [item.value for item in repeated.warning] == []


def test_every_page_is_of_the_packages_of_the_setting(draw):
    matrix = markup(draw("matrix", rows="cases", profile="period"))
    assert re.findall(r"<th[^>]*>([\d.]+)</th>", matrix.split("</thead>")[0]) == ["2.8.0"]

    for asked in ({"my_profile": "period"}, {"profile": "period"}):
        shown = draw("case", case="cross-no-symbolic", exporter="dynamo", torch="2.8.0", opset="18", **asked)
        assert OF_ITS_TIME in codes(shown)
        assert "--profile period --fresh" in words(shown)
        assert OF_ITS_TIME not in codes(draw("case", case="cross-no-symbolic", my_profile="period", profile="newest"))

    for name, said in (("search", "At torch 2.8.0"), ("runs", "2.8.0")):
        assert said in words(draw(name, profile="period")), name


def test_an_upgrade_comes_from_the_packages_of_the_setting(draw):
    said = " ".join(
        words(draw("upgrade", profile="period", **{"from": "2.8.0"}, to="2.8.0", from_exporter="dynamo")).split()
    )
    assert "From torch 2.8.0, dynamo=True, opset_version=17, profile period to torch 2.8.0." in said
    assert "Workarounds: remove 1, add 0, keep 0." in said

    other = draw("upgrade", profile="period", **{"from": "1.10.2"})
    assert "1\\.10\\.2 was not measured with packages of the release's time" in " ".join(
        item.value for item in other.warning
    )


def test_a_case_says_where_other_packages_end_otherwise_and_links_there(draw):
    shown = markup(draw("case", case="cross-no-symbolic")).split("with other companion packages")[-1]

    links = [html.unescape(link) for link in re.findall(r'<a [^>]*href="([^"]*)"', shown.split("</table>")[0])]
    assert {re.search(r"\bprofile=(\w+)", link)[1] for link in links} == {"period"}
