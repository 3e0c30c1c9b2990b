"""A workaround that is obsolete for a case's floats: the answer says in which other dtypes the operator is wrong."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from caniexport.answers.decide_fixes import decide_workarounds
from caniexport.answers.filters import Filters
from caniexport.answers.standings import workarounds
from caniexport.cli import main
from caniexport.pages.page import page

WRONG = "Torch's own calls of {} differ from eager there, without an error, in other dtypes: {}."


def decided(results, *cases, **asked):
    return decide_workarounds(workarounds(results, Filters(cases=cases, torch=("2.15.0",), **asked)))


@pytest.mark.parametrize(
    ("exporters", "dtypes"),
    [((), "float16 (dynamo), int32 (trace)"), (("dynamo",), "float16 (dynamo)"), (("trace",), "int32 (trace)")],
)
def test_a_workaround_that_may_go_is_told_with_the_dtypes_in_which_the_operator_is_wrong(results, exporters, dtypes):
    said = decided(results, "cumsum-opset-9", exporters=exporters)

    assert "no workaround is needed" in said
    assert said.endswith(WRONG.format("cumsum", dtypes))


def test_one_fix_of_a_case_is_told_with_them_too(results):
    said = decided(results, "cumsum-opset-9", variants=("triangle",))

    assert said.startswith("cumsum-opset-9/triangle is obsolete at torch 2.15.0")
    assert said.endswith(WRONG.format("cumsum", "float16 (dynamo), int32 (trace)"))


def test_nothing_is_said_of_dtypes_where_none_is_wrong_or_a_workaround_is_needed_or_many_cases_are_told(results):
    assert "dtypes" not in decided(results, "softmax-middle-axis")
    assert "is needed" in (said := decided(results, "cumprod-no-rule", exporters=("dynamo",)))
    assert "dtypes" not in said
    assert "dtypes" not in decided(results)


def test_a_variant_of_an_operator_is_told_by_its_own_case_alone(results):
    assert WRONG.format("nn.functional.interpolate.bilinear", "uint8 (trace)") in decided(
        results, "upsample-bilinear-align-corners-opset-9"
    )
    assert "dtypes" not in decided(results, "interpolate-bicubic-needs-opset-11")


def test_the_page_of_workarounds_opens_with_it(kept_results):
    shown = page("workarounds", {"q": "cumsum-opset-9"}, kept_results)

    assert "float16 (dynamo), int32 (trace)" in str(shown.body).partition("<table")[0]


def test_an_operator_is_told_with_the_dtypes_in_which_it_is_wrong(kept_results):
    wrong = "; differs from eager without an error in float16 (dynamo), int32 (TorchScript)"

    assert wrong in str(page("op", {"op": "aten::cumsum"}, kept_results).body)
    assert wrong in " ".join(CliRunner().invoke(main, ["op", "cumsum"]).output.split())
    assert "differs from eager" not in CliRunner().invoke(main, ["op", "softmax"]).output.partition("\n")[0]
