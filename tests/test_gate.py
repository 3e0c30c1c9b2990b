"""The gate: a run whose canaries, versions, provider or counts surprise is quarantined with the reason."""

from __future__ import annotations

import json

import pytest
from store_rows import cell, environment

from caniexport.gate.verdict import judge_run

PINS = ("torch==2.8.0", "numpy==1.26.4", "onnx_ir==1.1.0")
PACKAGES = {"torch": "2.8.0+cpu", "numpy": "1.26.4", "onnx-ir": "1.1.0", "pip": "25.0"}
OUTCOMES = {"pass": "pass", "fail": "fail", "mismatch": "mismatch"}


def canaries(opsets=(13, 14), **changes):
    return [
        cell(**{"corpus": "canary", "case": f"canary-{name}", "status": status, "opset": opset, **changes})
        for name, status in OUTCOMES.items()
        for opset in opsets
    ]


def run(rows=(), packages=PACKAGES, planned=None, pins=PINS, gpu=None, with_canaries=True):
    every = [*rows, *(canaries() if with_canaries else [])]
    where = environment(packages=json.dumps(packages), gpu=gpu)
    return judge_run("cells", every, where, len(every) if planned is None else planned, pins)


def replaced(case, **changes):
    return [{**row, **changes} if row["case"] == case and row["opset"] == 13 else row for row in canaries()]


def test_a_run_in_which_everything_is_as_it_must_be_is_good():
    assert run([cell(), cell(status="fail", stage="export", signature="export|E|x")]) == "good"


@pytest.mark.parametrize(
    ("case", "status"),
    [
        ("canary-pass", "fail"),
        ("canary-pass", "mismatch"),
        ("canary-fail", "pass"),
        ("canary-fail", "crash"),
        ("canary-mismatch", "pass"),
        ("canary-mismatch", "invalid"),
    ],
)
def test_one_canary_that_surprises_quarantines_the_run_and_is_named(case, status):
    # enough other rows that no other check speaks
    rows = [*replaced(case, status=status), *(cell(opset=n) for n in range(40))]

    word = run(rows, with_canaries=False)

    assert word.startswith("quarantined: ")
    assert case in word
    assert status in word


TOO_NEW = "load|Fail|only *guarantees* support for models stamped with official released onnx opset versions"


@pytest.mark.parametrize(
    ("case", "changes", "good"),
    [
        ("canary-pass", {"status": "unsupported"}, True),
        ("canary-fail", {"status": "unsupported"}, True),
        ("canary-mismatch", {"status": "unsupported"}, True),
        ("canary-pass", {"status": "fail", "stage": "load", "signature": TOO_NEW}, True),
        ("canary-mismatch", {"status": "fail", "stage": "load", "signature": TOO_NEW}, True),
        ("canary-pass", {"status": "fail", "stage": "load", "signature": "load|Fail|no kernel"}, False),
        ("canary-pass", {"status": "degraded"}, True),
    ],
)
def test_a_canary_at_an_opset_that_exporter_or_runtime_refuses_is_exempt(case, changes, good):
    assert (run(replaced(case, **changes), with_canaries=False) == "good") is good


def test_a_canary_that_dynamo_cannot_convert_below_18_is_exempt_and_at_18_is_not():
    below = canaries((13, 17), exporter="dynamo")
    failed = [{**row, "status": "fail", "stage": "export"} if row["opset"] == 17 else row for row in below]
    at_18 = [{**row, "opset": 18} if row["opset"] == 17 else row for row in failed]

    assert run([*failed, *canaries()], with_canaries=False) == "good"
    assert run([*at_18, *canaries()], with_canaries=False) != "good"


@pytest.mark.parametrize("missing", ["canary-pass", "canary-fail", "canary-mismatch"])
def test_a_run_without_a_canary_or_with_those_alone_that_were_refused_is_not_good(missing):
    rows = [row for row in canaries() if row["case"] != missing]
    refused = [{**row, "status": "unsupported"} for row in canaries()]

    assert run([cell(), *rows], with_canaries=False).startswith(f"quarantined: no row of {missing}")
    assert run(refused, with_canaries=False).startswith("quarantined: no row of canary-")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"numpy": "2.0.0"}, "2.0.0"),
        ({"torch": "2.8.1+cpu"}, "2.8.1"),
        ({"onnx-ir": "1.1.0rc1"}, "rc1"),
        ({"numpy": None}, "numpy"),
    ],
)
def test_another_version_than_the_pinned_one_quarantines_the_run(change, named):
    packages = {name: version for name, version in {**PACKAGES, **change}.items() if version}

    word = run(packages=packages)

    assert word.startswith("quarantined: ")
    assert named in word


def test_a_run_that_never_wrote_what_was_installed_is_quarantined():
    rows = canaries()

    assert (
        judge_run("cells", rows, {}, len(rows), PINS) == "quarantined: torch==2.8.0 was asked for and is not installed"
    )


def test_how_a_version_was_built_and_how_its_name_is_spelt_does_not_matter():
    assert run(packages={**PACKAGES, "torch": "2.8.0+cu128"}, pins=("Torch==2.8.0", "onnx.ir==1.1.0")) == "good"


@pytest.mark.parametrize(("planned", "good"), [(100, True), (105, True), (106, False), (200, False), (0, False)])
def test_at_least_95_percent_of_the_planned_cells_must_have_a_row(planned, good):
    rows = [cell(opset=number) for number in range(94)]

    assert (run(rows, planned=planned) == "good") is good


@pytest.mark.parametrize(("invalid", "good"), [(0, True), (5, True), (6, False)])
def test_at_most_5_percent_of_the_rows_may_be_invalid(invalid, good):
    rows = [cell(opset=number, status="invalid" if number < invalid else "pass") for number in range(94)]

    assert (run(rows) == "good") is good


@pytest.mark.parametrize(("early", "good"), [(5, True), (6, False)])
@pytest.mark.parametrize("stage", ["resolve", "import"])
def test_one_signature_before_the_case_may_not_explain_more_than_half_of_the_failures(stage, early, good):
    rows = [cell(opset=n, status="fail", stage=stage, signature="import|ImportError|x") for n in range(early)]
    rows += [cell(opset=50 + n, status="fail", stage="export", signature=f"export|E|{n}") for n in range(10 - early)]

    word = run(rows)

    assert (word == "good") is good
    assert good or "import|ImportError|x" in word


def test_one_signature_at_export_may_explain_every_failure():
    assert run([cell(opset=n, status="fail", stage="export", signature="export|E|x") for n in range(10)]) == "good"


@pytest.mark.parametrize(
    ("skipped", "measured", "good"), [(30, 30, True), (31, 30, False), (20, 0, True), (21, 0, False)]
)
def test_one_reason_may_not_skip_more_than_half_of_the_rows(skipped, measured, good):
    reason = "eager|ModuleNotFoundError|No module named '…'"
    rows = [cell(opset=n, status="skip", stage="eager", signature=reason) for n in range(skipped)]

    word = run(rows + [cell(opset=100 + n) for n in range(measured)])

    assert (word == "good") is good
    assert good or reason in word


def test_asking_for_cuda_without_a_gpu_quarantines_the_run():
    word = run(canaries(provider="cuda"), with_canaries=False)

    assert word == "quarantined: provider cuda was asked for, and there is no GPU"


def test_a_provider_that_silently_fell_back_on_every_canary_was_not_there():
    rows = [
        {**row, "status": "degraded"} if row["case"] == "canary-pass" else row for row in canaries(provider="openvino")
    ]

    assert "without falling back" in run(rows, with_canaries=False)
    assert run(canaries(provider="openvino"), with_canaries=False) == "good"
    assert run(canaries(provider="cuda"), gpu="H200", with_canaries=False) == "good"
