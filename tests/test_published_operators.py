"""What is published of torch's operators, and the table of what there is of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.answers.answer import records
from caniexport.answers.op import answer_op
from caniexport.answers.samples import Samples
from caniexport.cli import main
from caniexport.corpus.operator_table import find_listed_releases, table_path
from caniexport.model import releases
from caniexport.model.made_cases import OPERATORS, read_entries
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.publish.operators import summarize
from caniexport.store import Dataset, writer
from caniexport.worker.opinfo import DTYPES

ROOT = Path(__file__).resolve().parent.parent
HOME = homes.find().of_corpus(OPERATORS)
ENTRIES = read_entries(table_path(HOME))
KNOWN = [release.torch for release in releases.read_table()]
LISTED = find_listed_releases(ENTRIES, KNOWN)
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
#: values, do not load or run, and are no module
COUNTED = {
    ("1.10.2", 14): (368, 161, 202, 1, 2, 2),
    ("1.13.1", 17): (621, 271, 318, 6, 4, 22),
    ("2.13.0", 20): (702, 310, 334, 7, 7, 44),
}

#: operators that work at some opset, and those of them that models call
WORKING = {
    ("1.13.1", TRACE): ((235, 599), (151, 219)),
    ("2.5.1", DYNAMO): ((454, 648), (207, 232)),
    ("2.5.1", TRACE): ((283, 648), (171, 232)),
    ("2.15.0", DYNAMO): ((455, 659), (205, 234)),
    ("2.15.0", TRACE): ((283, 659), (171, 234)),
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A summary with every operator of the table, as one row each."""
    folder = tmp_path_factory.mktemp("operators")
    cells = [(f"op-{entry.name}", "float32-plain", TRACE, 20, "done", "pass", None, None) for entry in ENTRIES]
    rows = list(summarize("2.15.0", dict.fromkeys(cells), []))
    writer.write_rows(folder / OPERATORS / "operators.parquet", "operators", rows)
    return Samples(Dataset.open(folder, None))


@pytest.fixture(scope="module")
def published(results):
    return Samples.of(results)


def rows_of(published, where, values=(), columns="torch, op, dtype, exporter, status"):
    return published.views.fetch(f"SELECT {columns} FROM samples LEFT JOIN judged USING (op) WHERE {where}", values)


@pytest.fixture(scope="module")
def kept():
    return Kept.open(homes.find().published, None)


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
def test_of_two_operators_alike_the_one_of_this_name_is_meant(published, name, op):
    assert published.called(name)[0] == op


@pytest.mark.parametrize("spelling", ["Erfcx", "aten::fft_rfft", "torch.linalg.inv", "nn.GELU", "x.index_put", "sdpa"])
def test_a_search_for_an_operator_in_any_spelling_links_its_page(kept, spelling):
    body = str(page("search", {"q": spelling}, kept).body)

    assert "Read as an operator" in body
    assert re.search(r'read-as">Read as an operator[^\n]*\n<a href="[^"]*op\?op=', body)


@pytest.mark.parametrize("release", LISTED)
def test_entries_of_a_release_are_accounted_for(release):
    own = [entry for entry in ENTRIES if entry.holds(release)]
    told = [entry for entry in own if entry.calls or entry.left_out]

    assert len(told) >= 0.98 * len(own) > 0


def test_twenty_releases_are_published(published):
    assert len(set(published.releases) & set(LISTED)) >= 20


def test_a_release_that_is_published_has_a_row_for_every_entry(published):
    for release in set(published.releases) & set(LISTED):
        have = {op for (op,) in rows_of(published, "torch = $1", [release], "DISTINCT op")}
        own = {entry.name for entry in ENTRIES if entry.holds(release)}
        assert len(own & have) >= 0.98 * len(own), release


def test_a_float_minus_an_int64_tensor_fails_with_dynamo_from_2_13_on(published):
    """pytorch/pytorch#194381: 2.12.1 exports it, and every sample of torch's own database passes on both."""
    where = "op = 'sub' AND dtype = 'int64' AND form = 'float-left' AND exporter = 'dynamo'"
    status = dict(rows_of(published, where, columns="torch, status"))

    assert (status["2.12.1"], status["2.13.0"], status["2.15.0"]) == ("pass", "fail", "fail")
    rsub = "op = 'rsub' AND dtype = 'int64' AND form IS NULL AND torch = '2.13.0' AND exporter = 'dynamo'"
    assert {status for (status,) in rows_of(published, rsub, columns="status")} == {"pass"}


FINDINGS = tomllib.loads((HOME.cases / "findings.toml").read_text(encoding="utf-8"))["finding"]


def is_about(finding, op, dtype, exporter):
    return op in finding["operators"] and exporter == finding["exporter"] and dtype in finding.get("dtypes", [dtype])


def test_what_is_wrong_in_the_newest_release_was_looked_at(published):
    torch = published.releases[-1]
    random = {entry.name for entry in ENTRIES if entry.random and entry.holds(torch)}
    wrong = "torch = $1 AND exporter IS NOT NULL AND status IN ('mismatch', 'crash', 'timeout', 'oom')"
    rows = {row[:3] for row in rows_of(published, wrong, [torch], "op, dtype, exporter") if row[0] not in random}

    assert len(rows) > 50
    assert [row for row in rows if not any(is_about(finding, *row) for finding in FINDINGS)] == []


def test_every_finding_is_about_an_operator_that_does_not_pass(published):
    bad = "torch = '2.15.0' AND exporter IS NOT NULL AND calls > 0 AND NOT works(status)"
    rows = set(rows_of(published, bad, (), "op, dtype, exporter"))
    for finding in FINDINGS:
        about = {op for op, *where in rows if is_about(finding, op, *where)}
        assert set(finding["operators"]) <= about, finding["what"]


@pytest.mark.parametrize(("release", "opset"), COUNTED)
def test_the_plainest_calls_of_a_release_are_counted(published, release, opset):
    own = [entry for entry in ENTRIES if entry.holds(release)]
    where = "torch = $1 AND opset = $2 AND exporter = $3 AND form IS NULL"
    rows = rows_of(published, where, [release, opset, TRACE], "op, dtype, status, sample, signature")
    ended = {(op, dtype): how_the_plainest_ends(*row) for op, dtype, *row in rows}
    found = [ended[entry.name, first_dtype(entry)] if entry.calls else "no module" for entry in own]

    counts = [found.count(end) for end in ("works", "export", "compare", "runtime", "no module")]
    assert (len(own), *counts) == COUNTED[release, opset]


@pytest.mark.parametrize(("release", "exporter"), WORKING)
def test_the_operators_that_work_in_a_release_are_counted(published, results, release, exporter):
    tables = {table.title: table for table in answer_op(results).tables}
    series = ".".join(release.split(".")[:2])
    calls = {TRACE: "dynamo=False", DYNAMO: "dynamo=True"}
    found = tuple(
        (row[series]["works"], row[series]["measured"])
        for row in records(tables["operators that work"])
        if row["call"] == calls[exporter]
    )
    passing = rows_of(
        published,
        "torch = $1 AND exporter = $2 AND form IS NULL AND dtype = first_dtype AND passing = calls AND calls > 0",
        [release, exporter],
        "count(DISTINCT op)",
    )

    assert found == WORKING[release, exporter]
    assert passing == [(found[0][0],)]


def first_dtype(entry):
    return next(dtype for dtype in DTYPES if dtype in entry.calls)


def how_the_plainest_ends(status: str, sample: str, signature: str) -> str:
    """Its stage; the sample that is named is the first that does not pass, and the plainest comes first."""
    if status in ("pass", "degraded") or sample != "plain":
        return "works"
    stage = signature.partition("|")[0]
    return "runtime" if stage in ("load", "run") else stage


@pytest.mark.parametrize("name", ["prod", "softmax", "mean", "median", "var"])
def test_an_operator_goes_before_the_masked_one_that_is_called_alike(published, name):
    assert published.called(f"aten::{name}")[0] == name


def test_samples_say_of_an_operator_that_no_case_has_whether_it_passes(published):
    assert published.pass_at("Erf", "2.15.0", DYNAMO, 18)
    assert published.pass_at("Erf", "2.15.0", TRACE, 17)
    # all of these fail by trace at the oldest opset, some of softplus's at every one
    assert published.pass_at("Erf", "2.15.0", TRACE, 8) is False
    assert published.pass_at("Softplus", "2.15.0", TRACE, 17) is False
    # no operator of torch is called so
    assert published.pass_at("NonMaxSuppression", "2.15.0", DYNAMO, 18) is None
    # a release that was not measured, beside one that was
    assert published.pass_at("Erf", "1.9.9", TRACE, 14) is None


def test_an_operator_that_is_not_measured_is_a_dead_end_neither_of_op_nor_of_why():
    alone, why = (CliRunner().invoke(main, [command, "lstm"]) for command in ("op", "why"))
    assert alone.exit_code == 0
    # `why` also names the other command
    assert why.stdout.replace(" Torch's own samples of it: `caniexport op lstm`.", "", 1).startswith(alone.stdout)
    eye = CliRunner().invoke(main, ["why", "eye"])
    assert eye.output.startswith("Not measured: torch.eye.\n")
    assert "it has no sample with a tensor" in eye.output
