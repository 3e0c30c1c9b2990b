"""The published dataset: measured by this code on this corpus, whole, and saying what is known to be so.

That no row breaks a rule of the gate is asked in ``test_publishing_rules.py``.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from caniexport import versions
from caniexport.answers.runtimes import read_runtimes
from caniexport.corpus import replays
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.claims import COLUMNS, adjudicate, find_runtime_claims
from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.canaries import CANARY
from caniexport.model.rows import MEASURING_VERSION
from caniexport.runtime_releases import RUNTIMES
from caniexport.store import sql

pytestmark = pytest.mark.published

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = [path.name.split("-")[1] for path in sorted((ROOT / "results" / "cells").glob("torch-*-cpu.parquet"))]


@pytest.fixture(scope="module")
def ask(results):
    """``ask("FROM cells")``: rows of a query over the published cells, runs and messages, as they are stored."""
    tables = ("cells", "runs", "messages")
    relations = ", ".join(f"{table} AS ({results.relation(table, stored=True)})" for table in tables)
    return lambda query: sql.fetch(f"WITH {relations} {query}")


@pytest.fixture(scope="module")
def every():
    """The cases of ``cases/``, also those that are not measured yet."""
    return corpus_module.load([ROOT / "cases"], stand_in=True)


@pytest.fixture(scope="module")
def documents(every):
    return read_documents(every)


@pytest.fixture(scope="module")
def corpus(results, every):
    """The cases that are published."""
    published = {row["case"] for row in results.records("cases")}
    return {name: every[name] for name in every if name in published}


@pytest.fixture(scope="module")
def judged(results, corpus, documents):
    """Every claim as this code judges it by the published rows."""
    wanted = {"case": tuple(case for case in corpus if documents[case].claims)}
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in results.select(COLUMNS, wanted, runtimes=True)]
    on_runtimes = set(find_runtime_claims(documents))
    bundles = {row["bundle"] for row in rows if row["bundle"] and row["case"] in on_runtimes}
    runs = [
        dict(zip(replays.COLUMNS, row[:-1], strict=True)) for row in results.replays(sorted(bundles), replays.COLUMNS)
    ]
    ids = {row[name] for row in (*rows, *runs) for name in ("message_id", "warning_id", "checker_id") if name in row}
    nowhere = [{"torch": torch, "case": None} for torch, case in results.distinct(("torch", "case")) if case is None]
    return adjudicate(corpus, documents, [*rows, *nowhere], results.messages(ids), runs)


def test_every_file_is_readable(results, ask):
    assert ask("SELECT count(*) > 900_000 FROM cells") == [(True,)]
    assert results.problems == ()


def test_texts_are_whole_and_name_no_function_or_frame_of_the_measuring_code(ask):
    own = re.compile(r"override_again|_keep_overrides|\b(?:zygote|server|exporters|supervisor)\.py\b|harness[./]worker")

    assert [text for (text,) in ask("SELECT text FROM messages") if own.search(text) or text.startswith("…")] == []


def test_no_cell_ends_where_only_the_checker_refuses_its_file(ask):
    ended = "stage = 'check' AND bundle IS NOT NULL AND status NOT IN ('crash', 'timeout', 'oom')"
    assert ask(f"SELECT count(*) FROM cells WHERE {ended}") == [(0,)]
    ((stages, statuses, unnamed),) = ask(
        "SELECT list(DISTINCT stage), list(DISTINCT status), count(*) FILTER (checker_id IS NULL) FROM cells "
        "WHERE checker IN ('strict', 'plain')"
    )
    assert set(stages) >= {"load", "run", "compare", "done"}
    assert {"pass", "mismatch"} <= set(statuses)
    assert unnamed == 0


def test_a_fix_that_scripts_only_after_its_failing_form_is_no_pass(ask):
    found = ask(
        "SELECT status, count(*) FROM cells WHERE \"case\" = 'conv2d-double' AND variant = 'float32' "
        "AND exporter = 'torchscript-script' AND torch IN ('1.11.0', '1.12.1') GROUP BY status"
    )
    assert sum(count for _, count in found) > 20
    assert "pass" not in dict(found)


def test_a_pad_that_reads_what_nobody_wrote_is_said_to_be_unstable(ask):
    where = "\"case\" = 'reflect-pad-larger-than-input' AND unstable IS NOT NULL"
    assert ask(f"SELECT count(*) > 0 FROM cells WHERE {where}") == [(True,)]


def test_the_releases_that_stand_for_an_era_are_there():
    assert set(releases.DEFAULT_RELEASES) | {"1.0.1", "2.5.1", "2.13.0"} <= set(PUBLISHED)


def test_every_row_was_measured_by_this_measuring_code_on_this_corpus(ask, corpus):
    found = ask('SELECT DISTINCT "case", variant, case_hash FROM cells')

    assert {row for row in found if row[0] not in corpus or corpus[row[0]].case_hash(row[1]) != row[2]} == set()
    assert ask("SELECT DISTINCT measuring FROM cells") == [(MEASURING_VERSION,)]


def test_every_run_that_has_a_row_has_its_own_environment_and_no_other_has(results, ask):
    runs = ask(
        "SELECT env_id, run_id FROM cells WHERE env_id IS NOT NULL UNION SELECT env_id, run_id FROM runs ORDER BY ALL"
    )

    assert sorted((row["env_id"], row["run_id"]) for row in results.records("environments")) == runs


def test_the_measurements_own_noise_is_under_one_in_a_thousand(results):
    environments = results.records("environments")
    # environments of further runtimes have no torch and repeat nothing: their bundles are data
    torch = {row["release"] for row in environments if row["torch"] is not None}
    repeated = dict.fromkeys(torch, 0)
    for row in environments:
        if row["repeated"] is not None:
            repeated[row["release"]] += row["repeated"]

    # 1.0 has fewer cells than the sample
    assert {release: count for release, count in repeated.items() if count < 500}.keys() <= {"1.0.1"}
    assert sum(len(row["differing"] or ()) for row in environments) < 0.001 * sum(repeated.values())


def test_every_release_says_what_its_own_tables_declare(results):
    declared = results.records("declared")

    assert {row["release"] for row in declared} == set(PUBLISHED)
    assert {row["by"] for row in declared} == {"torchscript", "dynamo", "onnx"}


def test_each_release_has_every_cell_of_the_cases_it_has_and_the_newest_every_case(ask, corpus):
    have = {torch: set() for torch in PUBLISHED}
    for torch, *cell in ask(
        'SELECT DISTINCT torch, "case", variant, exporter, opset FROM cells WHERE torch IS NOT NULL'
    ):
        have[torch].add(tuple(cell))
    missing = []
    for torch, mine in have.items():
        cases = corpus if torch == "2.15.0" else {name: corpus[name] for name, *_ in mine}
        planned = plan.cells(cases, releases.find(torch), "cpu")
        missing += [(torch, cell) for cell in planned if cell[:4] not in mine]

    assert missing == []


def test_the_published_claims_are_what_the_published_rows_say(results, judged):
    have = {row["claim"]: row["outcome"] for row in results.records("claims")}
    now = {row["claim"]: row["outcome"] for row in judged}

    # a claim that came since, after the others of its case, is judged when the case is published again
    assert have == {claim: now.get(claim) for claim in have}
    assert [row["claim"] for row in judged if row["outcome"] == "not-reproduced" and not row["why_not"]] == []


def test_a_fix_that_passes_nowhere_is_marked_as_known_to_be_wrong(ask, corpus):
    """One that nobody can use is no recommendation, whatever a source or we ourselves hoped."""
    nowhere = ask("SELECT \"case\", variant FROM cells GROUP BY ALL HAVING NOT bool_or(status IN ('pass', 'degraded'))")
    fixes = {
        (item.id, name): variant.fix
        for item in corpus.values()
        for name, variant in item.variants.items()
        if variant.fix is not None and variant.measured and item.cls.corpus != CANARY
    }

    assert {key for key, fix in fixes.items() if key in nowhere and not fix.caution} == set()


def test_a_failing_form_that_fails_nowhere_says_why(ask, corpus, documents):
    """It is a fact that a source states and that holds, or the report's own form could not be had."""
    bad = "status IN ('fail', 'mismatch', 'crash', 'timeout', 'oom')"
    failing = {case for (case,) in ask(f"SELECT DISTINCT \"case\" FROM cells WHERE variant = 'plain' AND {bad}")}
    working = [
        item
        for item in corpus.values()
        if not item.is_environment and item.cls.corpus != CANARY and item.id not in failing
    ]

    def explains(claim):
        return "pass" in claim.status or claim.why_not == "form-not-met"

    assert {item.id for item in working if not any(map(explains, documents[item.id].claims))} == set()


def test_cross_is_refused_by_1_10_with_its_own_words(results, ask):
    rows = ask(
        "SELECT opset, status, stage, message_id FROM cells WHERE torch = '1.10.2' AND \"case\" = 'cross-no-symbolic' "
        "AND variant = 'plain' AND exporter = 'torchscript-trace'"
    )
    ((_, status, stage, message),) = [row for row in rows if row[0] == 14]

    assert (status, stage) == ("fail", "export")
    assert "Exporting the operator cross to ONNX opset version 14 is not supported" in results.message(message)
    assert {row[1] for row in rows} == {"fail", "unsupported"}


@pytest.mark.parametrize(
    ("where", "stages", "statuses"),
    [
        ("tracer-item-bakes-value' AND variant = 'plain", None, {"mismatch", "unsupported"}),
        ("cross-rewrite-dim-argument-half-applied' AND variant = 'stack_on_dim_only", {"eager"}, {"mismatch"}),
        ("adaptive-avg-pool2d-non-factor' AND variant = 'plain", None, {"fail", "unsupported"}),
    ],
)
def test_what_never_passes_by_trace(ask, where, stages, statuses):
    rows = ask(f"SELECT stage, status, torch FROM cells WHERE \"case\" = '{where}' AND exporter = 'torchscript-trace'")

    assert {status for _, status, _ in rows} == statuses
    assert stages is None or {stage for stage, _, _ in rows} == stages
    assert len({torch for _, _, torch in rows}) >= 6


def test_grid_sample_passes_from_torch_1_12_and_opset_16(ask):
    works = ask(
        "SELECT torch, min(opset) FROM cells WHERE \"case\" = 'grid-sampler-unsupported-opset-11' "
        "AND variant = 'plain' AND exporter = 'torchscript-trace' AND status = 'pass' GROUP BY torch"
    )

    later = {torch for torch in PUBLISHED if versions.parse(torch) >= versions.parse("1.12")}
    assert dict(works) == dict.fromkeys(later, 16)


def test_the_nine_outcomes_of_the_dynamic_axes_table(ask):
    expected = {
        "dynamic-axes-origin-input": {"plain": "pass", "axis_0": "pass", "axes_2_3": "pass"},
        "dynamic-axes-batch-2-input": {"plain": "fail", "axis_0": "pass", "axes_2_3": "fail"},
        "dynamic-axes-size-20-input": {"plain": "fail", "axis_0": "fail", "axes_2_3": "pass"},
    }
    rows = ask(
        "SELECT \"case\", variant, status, stage FROM cells WHERE torch = '1.10.2' AND opset = 11 "
        f"AND exporter = 'torchscript-trace' AND \"case\" IN {sql.listed(expected)}"
    )

    assert {case: {row[1]: row[2] for row in rows if row[0] == case} for case in expected} == expected
    assert {stage for _, _, status, stage in rows if status == "fail"} == {"run"}


def test_the_page_of_the_columns_is_up_to_date():
    assert subprocess.run([sys.executable, "docs/make_dictionary.py", "--check"], cwd=ROOT, check=False).returncode == 0


def test_what_each_onnxruntime_takes_is_what_was_measured_by_hand(results):
    """Measured by hand with other models, before there was a runner."""
    old = {"1.4.0": (12, 7), "1.6.0": (13, 7), "1.8.1": (14, 7), "1.10.0": (15, 8), "1.11.1": (16, 8)}
    middle = {"1.12.1": (17, 8), "1.13.1": (17, 8), "1.14.1": (18, 8), "1.15.1": (19, 9), "1.16.3": (19, 9)}
    later = {"1.17.3": (20, 9), "1.18.1": (21, 10), "1.19.2": (21, 10), "1.20.1": (21, 10), "1.21.1": (22, 10)}
    newest = {"1.22.1": (22, 10), "1.23.2": (23, 11), "1.24.4": (25, 13), "1.25.1": (26, 13), "1.26.0": (26, 13)}
    by_hand = {**old, **middle, **later, **newest, "1.28.0": (26, 13), "1.31.1": (26, 13)}
    lines = [line for line in read_runtimes(results) if (line.runtime, line.provider) == ("onnxruntime", "cpu")]
    found = {line.version: (line.max_opset, line.max_ir) for line in lines}

    assert {version: found.get(version) for version in by_hand} == by_hand


def test_every_release_of_onnxruntime_ran_files_of_at_least_ten_torch_releases(ask):
    found = dict(
        ask(
            "SELECT r.runtime_version, count(DISTINCT c.torch) FROM runs r "
            "JOIN (SELECT DISTINCT bundle, torch FROM cells) c USING (bundle) "
            "WHERE r.runtime = 'onnxruntime' AND r.provider = 'cpu' GROUP BY ALL"
        )
    )
    listed = [release.version for release in RUNTIMES if release.runtime == "onnxruntime"]

    assert len(listed) >= 21
    assert {version: found.get(version, 0) for version in listed if found.get(version, 0) < 10} == {}


def test_every_row_of_another_provider_says_how_the_cpu_provider_of_the_same_package_ends(ask):
    # what ended the process on the provider ran nowhere else
    rows = ask(
        "SELECT status, facts FROM runs WHERE runtime = 'onnxruntime' AND provider <> 'cpu' AND status <> 'crash'"
    )
    facts = [(status, json.loads(text)["cpu"]) for status, text in rows]

    assert len(facts) > 1600
    assert all(cpu["status"] for _, cpu in facts)
    # whatever gave values on both says how far they are apart
    both = [cpu for status, cpu in facts if status in ("pass", "degraded") and cpu["status"] == "pass"]
    assert len(both) > 800
    assert all(cpu["agrees"] and cpu["max_abs_error"] < 1 for cpu in both)


def test_openvino_answers_no_input_whose_size_the_file_refuses(ask):
    """Asked through its request it gives what the input before gave; onnxruntime names the input that it refuses."""
    refused = (
        "SELECT bundle FROM runs JOIN messages USING (message_id) WHERE runtime = 'onnxruntime' "
        "AND runtime_version = '1.31.1' AND status = 'fail' AND text LIKE '%Got invalid dimensions for input: %'"
    )
    assert ask(f"SELECT count(*) > 80 FROM ({refused})") == [(True,)]
    mine = ask(
        'SELECT DISTINCT "case", variant FROM runs '
        f"WHERE runtime = 'openvino' AND status <> 'fail' AND bundle IN ({refused})"
    )
    # the size is that of an input which OpenVINO leaves out: its value is not needed
    assert set(mine) <= {("conv-transpose-output-size", "cropped")}
