"""What is published of whole models and of transformers' patches."""

from __future__ import annotations

import pytest

from caniexport.answers.answer import AnswerOutcome
from caniexport.answers.filters import Filters
from caniexport.answers.ledger import PATCHES, answer_ledger
from caniexport.answers.models import answer_models, models_table, read_model_ops
from caniexport.model.architectures import MODELS
from caniexport.pages.page import page
from caniexport.profiles import PERIOD
from caniexport.store.views import Views

pytestmark = pytest.mark.published
#: what stops working between torch 2.12 and 2.13: 1 minus a mask of integers (huggingface/transformers#48191)
FAMILIES = ("transformers-big-bird", "transformers-bigbird-pegasus", "transformers-prophetnet", "transformers-xlnet")


@pytest.fixture(scope="module")
def models(results):
    return results.of_corpus(MODELS)


def statuses(models, case, exporter="dynamo", variant="static"):
    query = """SELECT torch, status FROM cells
        WHERE "case" = $1 AND variant = $2 AND exporter = $3 AND profile = 'newest'"""
    return dict(Views.of(models).fetch(query, [case, variant, exporter]))


def test_at_least_150_models_have_a_status_on_six_releases(models):
    views = Views.of(models)
    views.include(PERIOD)
    query = """SELECT torch, count(DISTINCT "case") FROM cells WHERE corpus = $1 AND variant = 'plain' GROUP BY 1"""
    counted = dict(views.fetch(query, [MODELS]))

    assert sum(count >= 150 for count in counted.values()) >= 6, counted


@pytest.mark.parametrize("case", FAMILIES)
def test_families_that_torch_2_13_broke_pass_on_2_12_and_fail_since(models, case):
    ends = statuses(models, case)

    assert (ends["2.12.1"], ends["2.13.0"], ends["2.15.0"]) == ("pass", "fail", "fail")


def test_the_documented_case_names_these_families(results):
    found = {row[0].text for row in models_table(results, "one-minus-integer-mask").rows}

    assert {*FAMILIES} <= found


def test_what_stops_models_names_the_documented_case_behind_it(results):
    causes = answer_models(results, Filters()).tables[0]
    lines = [dict(zip(causes.columns, row, strict=True)) for row in causes.rows]

    behind = {line["documented case"].text: line["stopped by"] for line in lines if line["documented case"]}
    assert behind["one-minus-integer-mask"] == "aten::sub"


def test_a_model_has_the_operators_of_its_files(results):
    ops, _ = read_model_ops(results, "transformers-bert")

    assert {"Add", "MatMul", "Softmax"} & {*ops}


def test_every_patch_has_a_verdict_at_the_newest_release(results):
    answer = answer_ledger(results)
    patches = answer.tables[0]

    assert answer.outcome is AnswerOutcome.LISTED
    assert len(patches.rows) >= 25
    newest = patches.columns[patches.heads]
    words = [str(dict(zip(patches.columns, row, strict=True))[newest].word.value) for row in patches.rows]
    assert all(words.count(word) >= 3 for word in ("needed", "obsolete", "harmful")), words


def test_patches_of_all_releases_are_published(results):
    assert Views.of(results.of_corpus(PATCHES)).fetch("SELECT count(DISTINCT torch) FROM cells")[0][0] >= 4


def test_tests_that_onnxruntime_leaves_out_are_judged_in_its_newest_release(results):
    table = answer_ledger(results).tables[2]
    cpu = next(place for place, column in enumerate(table.columns) if column.startswith("cpu "))
    found = {row[0].text: row for row in table.rows}

    assert found["^test_wrap_pad*"][cpu].works == found["^test_wrap_pad*"][cpu].measured > 0
    assert found["^test_adagrad"][cpu].works == 0 < found["^test_adagrad"][cpu].measured
    assert "Adagrad" in found["^test_adagrad"][-1].whole


@pytest.mark.parametrize("rows", ["models", "patches"])
def test_the_table_of_them_is_a_page(kept_results, rows):
    assert "torch 2.15.0" in str(page("matrix", {"rows": rows}, kept_results).body)
