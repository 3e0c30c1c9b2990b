"""What is published of torch's operators, and the table of what there is of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from caniexport.answers.operator_at import calls_pass, operator_at
from caniexport.answers.operator_findings import read_findings
from caniexport.answers.operator_score import read_used, scores
from caniexport.answers.torch_operators import OperatorRow, OperatorsSummary, summary_path
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.cli import main
from caniexport.corpus.operator_table import listed_releases, table_path
from caniexport.model import releases
from caniexport.model.made_cases import OPERATORS, read_entries
from caniexport.model.status import WORKS
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.publish.operators import summarised
from caniexport.store import writer
from caniexport.store.schema import to_arrow
from caniexport.worker.opinfo import DTYPES

ROOT = Path(__file__).resolve().parent.parent
HOME = homes.find().of_corpus(OPERATORS)
ENTRIES = read_entries(table_path(HOME))
KNOWN = [release.torch for release in releases.table()]
LISTED = listed_releases(ENTRIES, KNOWN)
TRACE, DYNAMO = "torchscript-trace", "dynamo"

#: operators by the ways in which people write them
SPELLINGS = {
    "nn.functional.grid_sample": "F.grid_sample torch.nn.functional.grid_sample nn.functional.grid_sample grid_sample "
    "aten::grid_sampler aten.grid_sampler torch.ops.aten.grid_sampler_2d.default GridSample grid_sampler GRID_SAMPLE",
    "nn.functional.scaled_dot_product_attention": "F.scaled_dot_product_attention scaled_dot_product_attention "
    "torch.nn.functional.scaled_dot_product_attention aten::scaled_dot_product_attention ScaledDotProductAttention "
    "torch.ops.aten.scaled_dot_product_attention.default aten.scaled_dot_product_attention sdpa "
    "ops.aten.scaled_dot_product_attention nn.functional.scaled_dot_product_attention",
    "cumsum": "cumsum torch.cumsum Tensor.cumsum torch.Tensor.cumsum aten::cumsum aten.cumsum ops.aten.cumsum CumSum "
    "torch.ops.aten.cumsum.default x.cumsum",
    "fft.rfft": "fft.rfft torch.fft.rfft aten::fft_rfft torch.ops.aten.fft_rfft.default aten.fft_rfft fft_rfft rfft "
    "Rfft RFFT torch.fft.rfft_",
    "special.erfcx": "special.erfcx torch.special.erfcx aten::special_erfcx torch.ops.aten.special_erfcx.default erfcx "
    "aten.special_erfcx special_erfcx aten::erfcx Erfcx ERFCX",
    "linalg.inv": "linalg.inv torch.linalg.inv aten::linalg_inv torch.ops.aten.linalg_inv.default aten.linalg_inv inv "
    "linalg_inv Inv INV ops.aten.linalg_inv",
    "index_put": "index_put torch.index_put Tensor.index_put torch.Tensor.index_put aten::index_put aten.index_put "
    "torch.ops.aten.index_put.default IndexPut index_put_ x.index_put",
    "topk": "topk torch.topk Tensor.topk torch.Tensor.topk aten::topk aten.topk torch.ops.aten.topk.default TopK TOPK "
    "x.topk",
    "tril": "tril torch.tril Tensor.tril torch.Tensor.tril aten::tril aten.tril torch.ops.aten.tril.default Tril tril_ "
    "ops.aten.tril",
    "nn.functional.gelu": "F.gelu torch.nn.functional.gelu nn.functional.gelu gelu aten::gelu aten.gelu nn.GELU Gelu "
    "torch.ops.aten.gelu.default GELU",
}
#: of the plainest call of each entry by TorchScript at an opset: entries, those that pass, fail to export, give wrong
#: values, do not load or run, and are no module; docs/operators.md says why these are not those of an older count
COUNTED = {
    ("1.10.2", 14): (368, 161, 202, 1, 2, 2),
    ("1.13.1", 17): (621, 271, 318, 6, 4, 22),
    ("2.13.0", 20): (702, 310, 334, 7, 7, 44),
}

#: the mean share of calls that pass of all operators, and by use in models, in per cent: docs/operators.md has them too
SCORED = {
    ("1.13.1", TRACE): (43.9, 88.7),
    ("2.5.1", DYNAMO): (72.4, 96.6),
    ("2.5.1", TRACE): (46.9, 91.2),
    ("2.15.0", DYNAMO): (69.7, 94.2),
    ("2.15.0", TRACE): (45.6, 90.5),
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A summary with every operator of the table, as one row each."""
    folder = tmp_path_factory.mktemp("operators")
    cells = [(f"op-{entry.name}", "float32-plain", TRACE, 20, "done", "pass", None, None) for entry in ENTRIES]
    rows = list(summarised("2.15.0", dict.fromkeys(cells), []))
    writer.write(summary_path(folder), "operators", to_arrow("operators", rows))
    return OperatorsSummary(folder)


@pytest.fixture(scope="module")
def published():
    if not summary_path(HOME.published).is_file():
        pytest.skip("the summary of operators is not published yet")
    return OperatorsSummary(HOME.published)


@pytest.fixture(scope="module")
def kept():
    return Kept.open(homes.find().published, None)


def test_ten_operators_have_ten_spellings():
    assert [len(set(text.split())) for text in SPELLINGS.values()] == [10] * 10


@pytest.mark.parametrize(("op", "spelling"), [(op, name) for op, text in SPELLINGS.items() for name in text.split()])
def test_every_spelling_leads_to_the_operator(names, op, spelling):
    assert op in names.named(spelling)


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("linalg.norm", "linalg.norm"),
        ("torch.linalg.norm", "linalg.norm"),
        ("linalg.svd", "linalg.svd"),
        ("torch.svd", "svd"),
        ("inverse", "linalg.inv"),
    ],
)
def test_of_two_operators_alike_the_one_of_this_name_is_told_where_the_newest_release_has_it(published, name, op):
    found = operator_at(published, name, "2.15.0")

    assert found is not None
    assert found.op == op
    assert found.told.startswith("On torch 2.15.0 ")


def test_a_release_in_which_an_operator_was_not_measured_is_named_before_the_one_that_answers(published):
    found = operator_at(published, "conv3d", "1.8.1")

    assert found is not None
    assert found.told.startswith("Torch 1.8.1 was not measured for it. On torch 2.2.2 torch's own calls")


@pytest.mark.parametrize("spelling", ["Erfcx", "aten::fft_rfft", "torch.linalg.inv", "nn.GELU", "x.index_put", "sdpa"])
def test_a_search_for_an_operator_in_any_spelling_links_its_page(kept, spelling):
    body = str(page("search", {"q": spelling}, kept).body)

    assert "Read as an operator" in body
    assert re.search(r'<p class="decision">[^\n]*<a href="[^"]*op\?op=', body)


@pytest.mark.parametrize("release", LISTED)
def test_entries_of_a_release_are_accounted_for(release):
    own = [entry for entry in ENTRIES if entry.holds(release)]
    told = [entry for entry in own if entry.calls or entry.left_out]

    assert len(told) >= 0.98 * len(own) > 0


def test_twenty_releases_are_published(published):
    assert len(set(published.releases) & set(LISTED)) >= 20


def test_a_release_that_is_published_has_a_row_for_every_entry(published):
    for release in set(published.releases) & set(LISTED):
        have = {row.op for row in published.rows("torch = ? AND status <> ''", [release])}
        own = {entry.name for entry in ENTRIES if entry.holds(release)}
        assert len(own & have) >= 0.98 * len(own), release


def test_a_float_minus_an_int64_tensor_fails_with_dynamo_from_2_13_on(published):
    """pytorch/pytorch#194381: 2.12.1 exports it, and every sample of torch's own database passes on both."""
    where = "op = 'sub' AND dtype = 'int64' AND form = 'float-left' AND exporter = ?"
    works = {row.torch: row.works for row in published.rows(where, [DYNAMO])}

    assert works["2.12.1"]
    assert not works["2.13.0"]
    assert not works["2.15.0"]
    rsub = published.rows("op = 'rsub' AND dtype = 'int64' AND form IS NULL AND torch = '2.13.0'")
    assert all(row.works for row in rsub if row.exporter == DYNAMO)


def test_what_is_wrong_in_the_newest_release_was_looked_at(published):
    _, findings = read_findings(HOME.cases)
    torch = published.releases[-1]
    random = {entry.name for entry in ENTRIES if entry.random and entry.holds(torch)}
    every = published.rows("torch = ? AND exporter IS NOT NULL", [torch])
    rows = [row for row in every if row.status in ("mismatch", "crash", "timeout", "oom") and row.op not in random]

    assert [row for row in rows if not any(finding.is_about(row) for finding in findings)] == []


def test_every_finding_is_about_an_operator_that_does_not_pass(published):
    asked = published.rows("torch = '2.15.0' AND exporter IS NOT NULL AND calls > 0")
    rows = [row for row in asked if not row.works]
    for finding in read_findings(HOME.cases)[1]:
        for op in finding.operators:
            assert any(finding.is_about(row) and row.op == op for row in rows), (op, finding.exporter)


@pytest.mark.parametrize(("release", "opset"), COUNTED)
def test_the_plainest_calls_of_a_release_are_counted(published, release, opset):
    if release not in published.releases:
        pytest.skip(f"torch {release} is not published yet")
    own = [entry for entry in ENTRIES if entry.holds(release)]
    rows = published.rows("torch = ? AND opset = ? AND exporter = ? AND form IS NULL", [release, opset, TRACE])
    ended = {(row.op, row.dtype): how_the_plainest_ends(row) for row in rows}
    found = [ended[entry.name, first_dtype(entry)] if entry.calls else "no module" for entry in own]

    counts = [found.count(end) for end in ("works", "export", "compare", "runtime", "no module")]
    assert (len(own), *counts) == COUNTED[release, opset]
    told = " | ".join(map(str, COUNTED[release, opset]))
    assert f"| | plainest sample | {told} | 0 |" in (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("release", "exporter"), SCORED)
def test_the_score_of_a_release_is_the_one_that_is_told(published, release, exporter):
    by = {(item.torch, item.exporter): item for item in scores(published, read_used(HOME.cases))}
    found = by[release, exporter]

    assert (found.share, found.by_use) == SCORED[release, exporter]
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith(f"| {release} |"))
    assert f"| {found.share} % | {found.by_use} % |" in line


def first_dtype(entry):
    return next(dtype for dtype in DTYPES if dtype in entry.calls)


def how_the_plainest_ends(row: OperatorRow) -> str:
    """Its stage; the sample that is named is the first that does not pass, and the plainest comes first."""
    if row.status in {status.value for status in WORKS} or row.sample != "plain":
        return "works"
    stage = row.signature.partition("|")[0]
    return "runtime" if stage in ("load", "run") else stage


@pytest.mark.parametrize("name", ["prod", "softmax", "mean", "median", "var"])
def test_an_operator_goes_before_the_masked_one_that_is_called_alike(name):
    assert OperatorsSummary(HOME.published).called(f"aten::{name}")[0] == name


def test_torchs_own_calls_say_of_an_operator_that_no_case_has_whether_it_passes():
    summary = OperatorsSummary(HOME.published)

    assert calls_pass(summary, "Erf", "2.15.0", DYNAMO, 18)
    assert calls_pass(summary, "Erf", "2.15.0", TRACE, 17)
    # all of these fail by trace at the oldest opset, some of softplus's at every one
    assert not calls_pass(summary, "Erf", "2.15.0", TRACE, 8)
    assert not calls_pass(summary, "Softplus", "2.15.0", TRACE, 17)
    # no operator of torch is called so
    assert not calls_pass(summary, "NonMaxSuppression", "2.15.0", DYNAMO, 18)
    # a release that was not measured, beside one that was
    assert not calls_pass(summary, "Erf", "1.9.9", TRACE, 14)


def test_an_operator_that_is_not_measured_is_a_dead_end_neither_of_op_nor_of_why():
    alone, why = (CliRunner().invoke(main, [command, "lstm"]) for command in ("op", "why"))
    assert alone.exit_code == 0
    # `why` also names the other command
    assert why.stdout.replace(" Torch's own samples of it: `caniexport op lstm`.", "", 1).startswith(alone.stdout)
    eye = CliRunner().invoke(main, ["why", "eye"])
    assert eye.output.startswith("Not measured: torch.eye.\n")
    assert "it has no sample with a tensor" in eye.output
