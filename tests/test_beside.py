"""A provider's outputs against those of the CPU provider of the same package; the tolerances of both comparisons."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from stand_in_runtime import archive, install
from test_runner import ends, rows, run

from caniexport.runner.adapters import onnxruntime
from caniexport.worker import compare

DOCS = Path(__file__).resolve().parent.parent / "docs" / "method.md"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return install(tmp_path_factory.mktemp("site"))


def facts(out):
    return {case: json.loads(row["facts"]) for case, row in rows(out)[0].items()}


def test_a_row_says_how_far_the_provider_is_from_the_cpu_provider(tmp_path, packages):
    """Wrong on both is the file's doing, wrong on one is the provider's."""
    archive(tmp_path / "b.zip", "relu", "near", "drift", "wrong", "split", "left", "refuse")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, provider="openvino")

    assert done.returncode == 0, done.stderr
    found = facts(tmp_path / "out")
    assert all(item["precision"] == "float32" for item in found.values())
    zero = {"status": "pass", "agrees": True, "max_abs_error": 0.0, "max_rel_error": 0.0, "rtol": 1e-4, "atol": 1e-5}
    assert found["relu"]["cpu"] == found["split"]["cpu"] == zero
    assert found["near"]["cpu"]["agrees"] and found["near"]["cpu"]["max_rel_error"] == pytest.approx(5e-5, rel=0.02)
    assert found["drift"]["cpu"]["status"] == "pass" and not found["drift"]["cpu"]["agrees"]
    assert found["drift"]["cpu"]["max_abs_error"] == pytest.approx(0.0025, rel=0.01)
    assert (
        "1 of 3 values differ, most at [2]: expected 2.5, the provider gave 2.5025" in found["drift"]["cpu"]["differs"]
    )
    assert found["wrong"]["cpu"]["status"] == "mismatch" and found["wrong"]["cpu"]["agrees"]
    # nothing ran on the provider, or nothing ran: the CPU's own end is all there is to say
    assert found["left"]["cpu"] == {"status": "pass"}
    assert found["refuse"]["cpu"]["status"] == "fail" and "FooBar" in found["refuse"]["cpu"]["signature"]
    assert ends(tmp_path / "out")["near"] == ("done", "pass")
    assert ends(tmp_path / "out")["drift"] == ends(tmp_path / "out")["wrong"] == ("compare", "mismatch")


def test_what_the_cpu_provider_does_to_the_process_is_not_charged_to_the_other(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "cpusegfault", "cpuhang", "cpurefuse", "near")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, "--timeout", "2", provider="openvino")

    assert done.returncode == 0, done.stderr
    assert set(ends(tmp_path / "out").values()) == {("done", "pass")}
    found = facts(tmp_path / "out")
    assert found["cpusegfault"]["cpu"]["status"] == "crash"
    assert "SIGSEGV" in found["cpusegfault"]["cpu"]["signature"]
    assert found["cpuhang"]["cpu"]["status"] == "timeout"
    assert found["cpurefuse"]["cpu"]["status"] == "fail"
    assert found["near"]["cpu"]["agrees"]


def test_on_the_cpu_there_is_nothing_to_hold_against(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "wrong")

    run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert {row["facts"] for row in rows(tmp_path / "out")[0].values()} == {None}


def test_tf32_is_off_on_cuda_and_every_row_says_so(tmp_path, packages, monkeypatch):
    """The stand-in computes as NVIDIA's libraries do: with ten bits unless it is told not to."""
    monkeypatch.setenv("CUDA_WORKS", "1")
    archive(tmp_path / "b.zip", "relu", "abort", "hang")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, "--timeout", "2", provider="cuda")

    assert done.returncode == 0, done.stderr
    assert ends(tmp_path / "out") == {"relu": ("done", "pass"), "abort": ("run", "crash"), "hang": ("load", "timeout")}
    assert {item["tf32"] for item in facts(tmp_path / "out").values()} == {"off"}
    assert facts(tmp_path / "out")["relu"]["cpu"]["max_abs_error"] == 0


def test_an_error_that_cuda_keeps_is_charged_to_the_bundle_that_made_it_alone(tmp_path, packages, monkeypatch):
    monkeypatch.setenv("CUDA_WORKS", "1")
    archive(tmp_path / "b.zip", "relu", "illegal", "near", "refuse", "illegal2", "wrong")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, "--timeout", "5", provider="cuda")

    assert done.returncode == 0, done.stderr
    found, messages = rows(tmp_path / "out")
    assert ends(tmp_path / "out") == {
        **{"relu": ("done", "pass"), "illegal": ("run", "fail"), "near": ("done", "pass")},
        **{"refuse": ("load", "fail"), "illegal2": ("run", "fail"), "wrong": ("compare", "mismatch")},
    }
    assert "an illegal memory access" in messages[found["illegal"]["message_id"]]
    assert json.loads(found["illegal"]["facts"])["cpu"]["status"] == "pass"


def test_a_file_without_nodes_has_none_on_the_provider(tmp_path, packages, monkeypatch):
    monkeypatch.setenv("CUDA_WORKS", "1")
    archive(tmp_path / "b.zip", "folded")

    run(tmp_path / "b.zip", tmp_path / "out", packages, provider="cuda")

    found, messages = rows(tmp_path / "out")
    assert ends(tmp_path / "out")["folded"] == ("place", "unsupported"), messages
    assert found["folded"].get("placement") is None


def test_cuda_s_own_switch_of_tf32_is_off_where_the_release_has_it(monkeypatch):
    """The variable alone was not always obeyed: products of a few files in 41,000 were of ten bits, now and then."""
    for version, options in (("1.17.1", {}), ("1.18.0", {"use_tf32": "0"}), ("1.31.1", {"use_tf32": "0"})):
        stand_in = SimpleNamespace(__version__=version)
        monkeypatch.setitem(sys.modules, "onnxruntime", stand_in)
        assert onnxruntime._set_up_gpu("cuda").options == [options]
        assert onnxruntime._set_up_gpu("tensorrt").options == [{}, options]


def test_the_tolerances_are_those_that_the_page_states():
    lines = re.findall(r"^\| `(\w+)` \| ([\d.e-]+), ([\d.e-]+) \|", DOCS.read_text(encoding="utf-8"), re.M)

    assert {name: (float(rtol), float(atol)) for name, rtol, atol in lines} == compare.TOLERANCES


@pytest.mark.parametrize(("dtype", "inside", "outside"), [("float16", 0.9e-2, 1.3e-2), ("float32", 0.9e-4, 1.2e-4)])
def test_values_within_the_tolerance_of_their_type_agree_and_others_do_not(dtype, inside, outside):
    want = np.array([100.0, -200.0], dtype)

    def problem(error):
        got = (want.astype("float64") * (1 + error)).astype(dtype)
        return compare.compare([want], [got], None, None, "x").problem

    assert not problem(inside)
    assert "2 of 2 values differ" in problem(outside)


def ten_bits(values):
    """Float32 with the mantissa of TF32, to the nearest."""
    return ((values.view("int32") + 0x1000) & ~0x1FFF).view("float32")


def test_a_product_in_tf32_would_be_a_mismatch_and_is_not_taken_for_noise():
    """Rounding to ten bits costs more than the tolerance of float32: were it on, rows would tell."""
    chance = np.random.default_rng(7)
    left, right = (chance.standard_normal((32, 32)).astype("float32") for _ in range(2))
    exact = left.astype("float64") @ right.astype("float64")
    float32, tf32 = left @ right, ten_bits(left) @ ten_bits(right)

    assert not compare.compare([exact.astype("float32")], [float32], None, None, "x").problem
    assert "values differ" in compare.compare([exact.astype("float32")], [tf32], None, None, "x").problem
    # what it would take: as PyTorch's own tests have it
    assert np.allclose(tf32, exact, rtol=5e-3, atol=5e-3)
