"""The published dataset: measured by this code on this corpus, whole, and saying what is known to be so."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from caniexport import versions
from caniexport.answers.runtimes import read_runtimes
from caniexport.bundles.runtime_releases import RUNTIMES
from caniexport.corpus import replays
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import COLUMNS, adjudicate, find_runtime_claims
from caniexport.gate.rules import read_rules
from caniexport.gate.staging import Staging
from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.canaries import CANARY
from caniexport.model.rows import MEASURING_VERSION

pytestmark = pytest.mark.published

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = [path.name.split("-")[1] for path in sorted((ROOT / "results" / "cells").glob("torch-*-cpu.parquet"))]


@pytest.fixture(scope="module")
def dataset(results):
    return results


@pytest.fixture(scope="module")
def cells(dataset):
    return dataset.cells()


@pytest.fixture(scope="module")
def texts(dataset, cells):
    """What every error, warning and checker of a published row says."""
    ids = pd.concat([cells["message_id"], cells["warning_id"], cells["checker_id"], dataset.runs()["message_id"]])
    return list(dataset.messages(ids.dropna().unique()).values())


@pytest.fixture(scope="module")
def every():
    """The cases of ``cases/``, also those that are not measured yet."""
    return corpus_module.load([ROOT / "cases"], stand_in=True)


@pytest.fixture(scope="module")
def documents(every):
    return read_documents(every)


@pytest.fixture(scope="module")
def corpus(dataset, every):
    """The cases that are published."""
    published = set(dataset.cases()["case"])
    return {name: every[name] for name in every if name in published}


@pytest.fixture(scope="module")
def judged(dataset, corpus, documents):
    """Every claim as this code judges it by the published rows."""
    wanted = {"case": tuple(case for case in corpus if documents[case].claims)}
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in dataset.select(COLUMNS, wanted, runtimes=True)]
    on_runtimes = set(find_runtime_claims(documents))
    bundles = {row["bundle"] for row in rows if row["bundle"] and row["case"] in on_runtimes}
    runs = [
        dict(zip(replays.COLUMNS, row[:-1], strict=True)) for row in dataset.replays(sorted(bundles), replays.COLUMNS)
    ]
    ids = {row[name] for row in (*rows, *runs) for name in ("message_id", "warning_id", "checker_id") if name in row}
    nowhere = [{"torch": torch, "case": None} for torch, case in dataset.distinct(("torch", "case")) if case is None]
    return adjudicate(corpus, documents, [*rows, *nowhere], dataset.messages(ids), runs)


@pytest.fixture(scope="module")
def doubts(every):
    """The rows that break a rule which a cell measured apart and twice does not."""
    with Staging.open(ROOT / "results", ROOT / "no-local", every) as staging:
        found = {
            rule.name: staging.fetch(rule.query) for rule in read_rules().values() if rule.settles or rule.withdraws
        }
        return {name: {place["label"] for (place,) in places} for name, places in found.items()}


def only(cells, **filters):
    for name, value in filters.items():
        cells = cells[cells[name] == value]
    assert len(cells), filters
    return cells


def test_no_text_names_a_function_or_a_frame_of_the_measuring_code(texts):
    own = re.compile(r"override_again|_keep_overrides|\b(?:zygote|server|exporters|supervisor)\.py\b|harness[./]worker")

    assert [text for text in texts if own.search(text)] == []


def test_no_text_has_lost_its_first_line(texts):
    assert [text for text in texts if text.startswith("…")] == []


def test_no_cell_ends_where_only_the_checker_refuses_its_file(cells):
    ended = cells[(cells["stage"] == "check") & cells["bundle"].notna()]
    refused = cells[cells["checker"].isin(["strict", "plain"])]

    assert ended[~ended["status"].isin(["crash", "timeout", "oom"])].empty
    assert set(refused["stage"]) >= {"load", "run", "compare", "done"}
    assert {"pass", "mismatch"} <= set(refused["status"])
    assert refused["checker_id"].notna().all()


def test_every_run_that_has_a_row_has_the_word_of_its_gate(dataset, cells):
    judged = dataset.environments().set_index(["env_id", "run_id"])["gate"]
    rows = pd.concat([cells[cells["exporter"].notna()], dataset.runs()])
    runs = {(env_id, run_id): code for env_id, run_id, code in _runs(rows)}

    assert set(runs) <= set(judged.index)
    # twenty runs, of before rows had a hash of their code, were ended before their gate and judged by nobody
    unjudged = [run for run in runs if pd.isna(judged[run])]
    assert len(unjudged) <= 20
    assert [run for run in unjudged if runs[run]] == []
    assert {judged[run] for run in runs} - {None} <= {"good"}


def _runs(rows):
    """(env_id, run_id, whether its rows have a hash of their code) of each run."""
    grouped = rows["code"].notna().groupby([rows["env_id"], rows["run_id"]]).any()
    return [(*run, bool(code)) for run, code in grouped.items()]


def test_a_fix_that_scripts_only_after_its_failing_form_is_no_pass(cells):
    rows = only(cells, case="conv2d-double", variant="float32", exporter="torchscript-script")
    alone = rows[rows["torch"].isin(["1.11.0", "1.12.1"])]

    assert len(alone) > 20
    assert "pass" not in set(alone["status"])


def test_a_pad_that_reads_what_nobody_wrote_is_said_to_be_unstable(cells):
    rows = only(cells, case="reflect-pad-larger-than-input")

    assert rows["unstable"].notna().any()


def test_the_releases_that_stand_for_an_era_are_there():
    assert set(releases.DEFAULT_RELEASES) | {"1.0.1", "2.5.1", "2.13.0"} <= set(PUBLISHED)


def test_every_file_is_readable(dataset):
    assert dataset.problems == ()


def test_every_row_was_measured_by_this_measuring_code_on_this_corpus(cells, corpus):
    stale = {
        (case, variant)
        for case, variant, found in cells[["case", "variant", "case_hash"]].drop_duplicates().itertuples(index=False)
        if case not in corpus or corpus[case].case_hash(variant) != found
    }

    assert stale == set()
    assert set(cells["measuring"]) == {MEASURING_VERSION}


def test_every_run_that_has_a_row_has_its_verdict_or_says_that_none_was_kept(dataset):
    words = {(row["env_id"], row["run_id"]): row["gate"] for row in dataset.records("environments")}
    cells = {row for row in dataset.grouped(("env_id", "run_id"), {}, None) if row[0] is not None}
    runs = set(dataset.run_groups(("env_id", "run_id"), {}))

    assert set(words) == cells | runs
    assert set(words.values()) <= {"good", None}
    # the runs before every run kept its own row; no new one may join them
    assert sum(word is None for word in words.values()) <= 13


def test_no_row_is_published_that_publish_would_refuse(doubts):
    known = {"unjudged-replay", "orphan", "implausible"}
    # published before the rule: to be measured apart and twice; the number may only fall
    assert len(doubts.pop("unstable")) <= 1242
    assert {name for name, labels in doubts.items() if labels} <= known


def test_what_was_measured_since_and_fails_in_one_release_alone_was_measured_apart(cells, doubts):
    """Rows that carry no hash of the measuring code were published before there was the rule."""
    since = cells[cells["code"].notna()]
    names = zip(
        *(since[name].astype(object) for name in ("torch", "case", "variant", "exporter", "opset")), strict=True
    )
    labels = {"/".join(["default" if part is pd.NA else str(part) for part in name]) for name in names}
    assert sorted(doubts["implausible"] & labels) == []


def test_a_file_that_one_runtime_does_not_always_answer_alike_is_unstable_in_every_row(every):
    with Staging.open(ROOT / "results", ROOT / "no-local", every) as staging:
        marked = staging.fetch("SELECT count(*), count(*) FILTER (len(unstable) < 2) FROM marks")
        known = "SELECT count(*) FROM (SELECT unstable FROM every_cells UNION ALL SELECT unstable FROM every_runs)"

        assert marked == [(staging.fetch(f"{known} WHERE unstable IS NOT NULL")[0][0], 0)]


def test_the_measurements_own_noise_is_under_one_in_a_thousand(dataset):
    environments = dataset.environments()
    measured = environments[environments["repeated"].notna()]

    # environments of further runtimes have no torch and repeat nothing: their bundles are data
    torch = environments[environments["torch"].notna()]
    assert set(measured["release"]) == set(torch["release"].dropna())
    # 1.0 has fewer cells than the sample
    assert measured[measured["release"] != "1.0.1"].groupby("release")["repeated"].sum().min() >= 500
    assert measured["differing"].map(len).sum() < 0.001 * measured["repeated"].sum()


def test_every_release_says_what_its_own_tables_declare(dataset, cells):
    declared = dataset.declared()

    assert set(declared["release"]) == set(cells["torch"].dropna())
    assert set(declared["by"]) == {"torchscript", "dynamo", "onnx"}


@pytest.mark.parametrize("torch", PUBLISHED)
def test_each_release_has_every_cell_of_the_cases_it_has(cells, corpus, torch):
    rows = only(cells, torch=torch)

    assert _missing(rows, {name: corpus[name] for name in set(rows["case"])}, torch) == set()


def test_the_newest_release_has_every_case_that_can_run_there(cells, corpus):
    assert _missing(only(cells, torch="2.15.0"), corpus, "2.15.0") == set()


def _missing(rows, cases, torch):
    """Planned cells of these cases without a row."""
    planned = {
        (cell.case, cell.variant, cell.exporter, cell.opset) for cell in plan.cells(cases, releases.find(torch), "cpu")
    }
    opsets = rows["opset"].astype(object).where(rows["opset"].notna(), None)
    return planned - set(zip(rows["case"], rows["variant"], rows["exporter"], opsets, strict=True))


def test_the_published_claims_are_what_the_published_rows_say(dataset, judged):
    have = {row["claim"]: row["outcome"] for row in dataset.claims().to_dict("records")}
    now = {row["claim"]: row["outcome"] for row in judged}

    # a claim that came since, after the others of its case, is judged when the case is published again
    assert have == {claim: now.get(claim) for claim in have}


def test_a_claim_that_is_not_reproduced_says_why_not(judged):
    assert [row["claim"] for row in judged if row["outcome"] == "not-reproduced" and not row["why_not"]] == []


def test_a_fix_that_passes_nowhere_is_marked_as_known_to_be_wrong(cells, corpus):
    """One that nobody can use is no recommendation, whatever a source or we ourselves hoped."""
    passing = _variants_with(cells, "pass", "degraded")
    fixes = {
        (item.id, name): variant.fix
        for item in corpus.values()
        for name, variant in item.variants.items()
        if variant.fix is not None and variant.measured and item.cls.corpus != CANARY
    }
    measured = set(map(tuple, cells[["case", "variant"]].drop_duplicates().itertuples(index=False)))
    unmarked = {key for key, fix in fixes.items() if key in measured - passing and not fix.caution}

    assert unmarked == set()


def test_a_failing_form_that_fails_nowhere_says_why(cells, corpus, documents):
    """It is a fact that a source states and that holds, or the report's own form could not be had."""
    failing = _variants_with(cells, "fail", "mismatch", "crash", "timeout", "oom")
    working = [
        item
        for item in corpus.values()
        if not item.is_environment and item.cls.corpus != CANARY and (item.id, "plain") not in failing
    ]

    assert {item.id for item in working if not any(map(_states_or_explains, documents[item.id].claims))} == set()


def _states_or_explains(claim):
    return "pass" in claim.status or claim.why_not == "form-not-met"


def _variants_with(cells, *statuses):
    rows = cells[cells["status"].isin(statuses)]
    return set(map(tuple, rows[["case", "variant"]].drop_duplicates().itertuples(index=False)))


def test_cross_is_refused_by_1_10_with_its_own_words(dataset, cells):
    rows = only(cells, torch="1.10.2", case="cross-no-symbolic", variant="plain", exporter="torchscript-trace")
    (row,) = rows[rows["opset"] == 14].to_dict("records")

    assert (row["status"], row["stage"]) == ("fail", "export")
    assert "Exporting the operator cross to ONNX opset version 14 is not supported" in dataset.message(
        row["message_id"]
    )
    assert set(rows["status"]) == {"fail", "unsupported"}


def test_a_baked_item_is_never_a_pass_by_trace(cells):
    rows = only(cells, case="tracer-item-bakes-value", variant="plain", exporter="torchscript-trace")

    assert set(rows["status"]) <= {"mismatch", "unsupported"}
    assert rows["torch"].nunique() >= 6


def test_the_cross_that_applies_its_dim_by_half_is_a_mismatch_in_eager(cells):
    rows = only(cells, case="cross-rewrite-dim-argument-half-applied", variant="stack_on_dim_only")

    assert set(rows["stage"]) == {"eager"}
    assert set(rows["status"]) == {"mismatch"}


def test_grid_sample_passes_from_torch_1_12_and_opset_16(cells):
    rows = only(cells, case="grid-sampler-unsupported-opset-11", variant="plain", exporter="torchscript-trace")
    works = rows[rows["status"] == "pass"]

    assert set(works["torch"]) == {torch for torch in PUBLISHED if versions.parse(torch) >= versions.parse("1.12")}
    assert works["opset"].min() == 16


def test_a_pool_whose_sizes_do_not_divide_never_exports_by_trace(cells):
    rows = only(cells, case="adaptive-avg-pool2d-non-factor", variant="plain", exporter="torchscript-trace")

    assert "pass" not in set(rows["status"])


def test_the_nine_outcomes_of_the_dynamic_axes_table(cells):
    expected = {
        "dynamic-axes-origin-input": {"plain": "pass", "axis_0": "pass", "axes_2_3": "pass"},
        "dynamic-axes-batch-2-input": {"plain": "fail", "axis_0": "pass", "axes_2_3": "fail"},
        "dynamic-axes-size-20-input": {"plain": "fail", "axis_0": "fail", "axes_2_3": "pass"},
    }
    rows = only(cells, torch="1.10.2", exporter="torchscript-trace", opset=11)

    for case, outcomes in expected.items():
        mine = only(rows, case=case)
        assert dict(zip(mine["variant"], mine["status"], strict=True)) == outcomes
        assert set(mine[mine["status"] == "fail"]["stage"]) <= {"run"}


def test_the_page_of_the_columns_is_up_to_date():
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "docs/make_dictionary.py", "--check"], cwd=ROOT, check=False).returncode == 0


#: onnxruntime reads memory here that nothing has written: what it gives is another time something else
UNSTEADY = ["reflect-pad-larger-than-input"]


def test_runs_say_the_same_as_the_cells_of_their_runtime(dataset, cells):
    """The same file on the same release of onnxruntime: run with torch beside it, and years later from its bundle."""
    runs = dataset.runs()
    runs["asks"] = runs["session"].notna()
    # a variant that asks for session options is held against the runs that had them
    asking = set(map(tuple, runs.loc[runs["asks"], ["case", "variant"]].to_numpy()))
    # what onnx.checker refuses never reached the runtime in its own environment
    reached = cells["bundle"].notna() & cells["stage"].isin(["load", "run", "compare", "done"])
    exported = cells[reached].copy()
    exported["asks"] = [key in asking for key in zip(exported["case"], exported["variant"], strict=True)]
    keys = ["bundle", "runtime", "runtime_version", "provider", "asks"]
    both = exported.merge(runs, on=keys, suffixes=("", "_run"))
    both = both[~both["case"].isin(UNSTEADY)]
    said = both["status"].replace("degraded", "pass")

    assert len(both) > 10_000
    assert both[said != both["status_run"]].empty


def test_what_each_onnxruntime_takes_is_what_was_measured_by_hand(dataset):
    """Measured by hand with other models, before there was a runner."""
    old = {"1.4.0": (12, 7), "1.6.0": (13, 7), "1.8.1": (14, 7), "1.10.0": (15, 8), "1.11.1": (16, 8)}
    middle = {"1.12.1": (17, 8), "1.13.1": (17, 8), "1.14.1": (18, 8), "1.15.1": (19, 9), "1.16.3": (19, 9)}
    later = {"1.17.3": (20, 9), "1.18.1": (21, 10), "1.19.2": (21, 10), "1.20.1": (21, 10), "1.21.1": (22, 10)}
    newest = {"1.22.1": (22, 10), "1.23.2": (23, 11), "1.24.4": (25, 13), "1.25.1": (26, 13), "1.26.0": (26, 13)}
    by_hand = {**old, **middle, **later, **newest, "1.28.0": (26, 13), "1.31.1": (26, 13)}
    lines = [line for line in read_runtimes(dataset) if (line.runtime, line.provider) == ("onnxruntime", "cpu")]
    found = {line.version: (line.max_opset, line.max_ir) for line in lines}

    assert {version: found.get(version) for version in by_hand} == by_hand


def test_every_release_of_onnxruntime_ran_files_of_at_least_ten_torch_releases(dataset, cells):
    files = cells[["bundle", "torch"]].dropna().drop_duplicates()
    runs = dataset.runs(columns=["bundle", "runtime", "runtime_version", "provider"])
    runs = runs[(runs["runtime"] == "onnxruntime") & (runs["provider"] == "cpu")]
    found = runs.merge(files, on="bundle").groupby("runtime_version")["torch"].nunique()

    listed = [release.version for release in RUNTIMES if release.runtime == "onnxruntime"]
    assert len(listed) >= 21
    assert {version: int(found.get(version, 0)) for version in listed if found.get(version, 0) < 10} == {}


def test_every_row_of_another_provider_says_how_the_cpu_provider_of_the_same_package_ends(dataset):
    runs = dataset.runs(columns=["runtime", "provider", "status", "max_abs_error", "facts"])
    # what ended the process on the provider ran nowhere else
    told = (runs["runtime"] == "onnxruntime") & (runs["provider"] != "cpu") & (runs["status"] != "crash")
    runs = runs[told]
    facts = runs["facts"].map(json.loads)

    assert len(runs) > 1600
    assert all(item["cpu"]["status"] for item in facts)
    # whatever gave values on both says how far they are apart
    both = [item["cpu"] for item in facts[runs["status"].isin(["pass", "degraded"])] if item["cpu"]["status"] == "pass"]
    assert len(both) > 800 and all(item["agrees"] and item["max_abs_error"] < 1 for item in both)


def test_openvino_answers_no_input_whose_size_the_file_refuses(dataset):
    """Asked through its request it gives what the input before gave; onnxruntime names the input that it refuses."""
    runs = dataset.runs(columns=["bundle", "case", "variant", "runtime", "runtime_version", "status", "message_id"])
    there = runs[
        (runs["runtime"] == "onnxruntime") & (runs["runtime_version"] == "1.31.1") & (runs["status"] == "fail")
    ]
    texts = dataset.messages(there["message_id"])
    sizes = [name for name, text in texts.items() if "Got invalid dimensions for input: " in text]
    refused = there[there["message_id"].isin(sizes)]["bundle"]
    assert len(refused) > 80
    mine = runs[(runs["runtime"] == "openvino") & runs["bundle"].isin(refused) & (runs["status"] != "fail")]
    # the size is that of an input which OpenVINO leaves out: its value is not needed
    assert set(zip(mine["case"], mine["variant"], strict=True)) <= {("conv-transpose-output-size", "cropped")}
