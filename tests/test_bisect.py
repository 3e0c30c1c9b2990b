"""The first release that changed: the search, and a bisection over stand-in releases that is killed on the way."""

from __future__ import annotations

import importlib.metadata
import json
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from mini import build, runner

from caniexport.bisect.run import BisectedCell, NothingChangedError, ProbedVersion, bisect, explain
from caniexport.cli import main
from caniexport.model.errors import CaniexportError

MARK = "CANIEXPORT_TEST_MARK"
ASKED = BisectedCell("cross", "plain", "hash", "default", None, "torch")
PACKAGES = {"torch": "2.8.0", "onnxruntime": "1.31.1", "python": "3.12.1"}


def outcome(version, status="pass", exporter="torchscript-trace", packages=PACKAGES):
    return ProbedVersion(version, "published", status, "done", "", "", exporter, 18, {**packages, "torch": version})


class Table:
    """Outcomes by version; what is asked for is written down."""

    def __init__(self, outcomes):
        self.outcomes, self.asked = outcomes, []

    def measure(self, version):
        self.asked.append(version)
        return self.outcomes[version]


@given(st.integers(2, 40), st.data())
def test_the_change_is_found_whatever_is_known_and_whatever_cannot_be_installed(count, data):
    ordered = [f"1.{index}.0" for index in range(count)]
    change = data.draw(st.integers(1, count - 1))
    lost = data.draw(st.sets(st.sampled_from(ordered[1:-1]))) if count > 2 else set()
    seen = data.draw(st.sets(st.sampled_from(ordered))) - lost
    truth = {v: outcome(v, "pass" if index < change else "fail") for index, v in enumerate(ordered)}
    table = Table(
        {v: ProbedVersion(v, "measured", message="no wheel") if v in lost else one for v, one in truth.items()}
    )

    found = bisect(ASKED, ordered, {v: truth[v] for v in seen}, table.measure, lambda _: None)

    low, high = ordered.index(found.interval.good), ordered.index(found.interval.bad)
    assert low < change <= high
    assert set(found.interval.between) == set(ordered[low + 1 : high]) <= lost
    assert not seen & set(table.asked)
    # a version that cannot be measured costs its own try, and its neighbour halves less evenly
    assert len(table.asked) == len(set(table.asked)) <= count.bit_length() + 2 + 2 * len(lost)


def test_the_first_of_several_changes_is_the_answer():
    ended = {"1": "pass", "2": "fail", "3": "pass", "5": "fail"}
    found = bisect(ASKED, list("12345"), {v: outcome(v, s) for v, s in ended.items()}, Table({}).measure, print)

    assert (found.interval.good, found.interval.bad) == ("1", "2")


def test_ends_that_are_alike_and_ends_that_cannot_be_measured_are_said_to_be():
    ends = {"2.8.0": outcome("2.8.0"), "2.9.1": outcome("2.9.1")}
    with pytest.raises(NothingChangedError, match=r"nothing changed between torch 2.8.0 and 2.9.1: pass"):
        bisect(ASKED, list(ends), ends, Table({}).measure, lambda _: None)

    lost = Table({"2.9.1": ProbedVersion("2.9.1", "measured", message="no wheel\nmore")})
    with pytest.raises(CaniexportError, match=r"torch 2.9.1: no wheel$"):
        bisect(ASKED, list(ends), {"2.8.0": ends["2.8.0"]}, lost.measure, lambda _: None)


def test_what_changed_is_what_matters_most():
    def changed(after):
        return bisect(ASKED, ["1", "2"], {"1": outcome("1"), "2": after}, Table({}).measure, print).changed

    assert changed(outcome("2", "mismatch", "dynamo")) == "whether it works"
    assert changed(outcome("2", exporter="dynamo")) == "the exporter that wrote the file"


def test_the_cause_is_named_only_where_the_rows_tell_it():
    flipped = explain(ASKED, outcome("2.8.0"), outcome("2.9.0", exporter="dynamo"))
    assert flipped == ("the release's default exporter: torchscript-trace → dynamo", ())

    alone = explain(ASKED, outcome("2.8.0"), outcome("2.9.0", "fail"))
    assert alone == ("torch itself: nothing else that takes part differs", ())

    both = explain(ASKED, outcome("2.0.1", packages={**PACKAGES, "onnxruntime": "1.23.2"}), outcome("2.1.2", "fail"))
    assert both == ("", ("onnxruntime 1.23.2 → 1.31.1",))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cros-no-symbolic"], "nearest: cross-no-symbolic"),
        (["cross-no-symbolic/stack"], "nearest: stack_rewrite"),
        (["cross-no-symbolic", "--opset", "14"], "--opset is for every exporter but the default one"),
        (["cross-no-symbolic", "--exporter", "trace"], "--opset is for every exporter but the default one"),
        (["cross-no-symbolic", "--exporter", "trace", "--opset", "99"], "opset 99 has not been measured"),
        (["cross-no-symbolic", "--exporter", "tracer"], "unknown exporter"),
        (["cross-no-symbolic", "--axis", "onnxruntime"], "one axis at a time: onnxruntime, torch were named"),
        (["cross-no-symbolic", "--bad", "1.10.2"], "--good 2.8.0 is not older than --bad 1.10.2"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named(words, said):
    result = CliRunner().invoke(main, ["bisect", "--good", "torch=2.8.0", "--bad", "2.9.1", *words])
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with patch releases of the stand-in torch: 91.0.2 cannot be installed, 91.0.3 takes no opset 9."""
    folder = tmp_path_factory.mktemp("bisect")
    wheels = build.build(folder)
    for patch in range(1, 5):
        version, era = f"91.0.{patch}", build.ERAS["91.0.0"]._replace(opsets=(7, 9 if patch < 3 else 8))
        features = "".join(f"{name.upper()} = {value!r}\n" for name, value in era._asdict().items())
        onnx = "onnx==0.0.1" if patch == 2 else "onnx==91.0.0"
        build._wheel(wheels, "torch", version, {"torch/_era.py": features}, ("numpy", onnx))
    runner.copy_cases(folder / "home" / "cases", runner.CASES)
    (folder / "home" / "results").mkdir()
    for name in ("tox.ini", "toxfile.py"):
        shutil.copy(runner.ROOT / name, folder / "home")
    (folder / "home" / "harness").symlink_to(runner.ROOT / "harness")
    return folder / "home"


def environ(home, mark):
    python = ".".join(map(str, sys.version_info[:2]))
    table = runner.releases_file(home.parent, python, importlib.metadata.version("numpy"))
    wheels = next(home.parent.glob("wheels-*"))
    return runner.environ(table, CANIEXPORT_HOME=str(home), UV_FIND_LINKS=str(wheels), **{MARK: mark})


def line():
    words = ["bisect", "passes", "--exporter", "trace", "--opset", "9", "--good", "torch=91.0.0", "--bad", "91.0.4"]
    return [sys.executable, "-c", "from caniexport.cli import main; main(prog_name='caniexport')", *words, "--json"]


@pytest.fixture(scope="module")
def resumed(home):
    """A bisection killed while its second environment is made, and the same once more; what each said."""
    mark = f"mark-{random.randrange(10**9)}"
    process = subprocess.Popen(
        line(), cwd=home, env=environ(home, mark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    first = []
    for text in process.stderr:
        first.append(text)
        if sum("making an environment" in one for one in first) == 2:
            runner.kill_9(MARK, mark)
            break
    assert process.wait() == -signal.SIGKILL, "".join(first)
    time.sleep(0.2)  # what it started is gone by its own parent's death
    reply = subprocess.run(line(), cwd=home, env=environ(home, mark), capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stderr[-3000:]
    return "".join(first), json.loads(reply.stdout)


@pytest.mark.measures
def test_a_killed_bisection_goes_on_and_passes_over_what_cannot_be_installed(resumed):
    first, found = resumed
    assert "torch 91.0.0: pass, opset 9 by torchscript-trace" in first
    assert found["interval"] == {"good": "91.0.1", "bad": "91.0.3", "between": ["91.0.2"]}
    assert [step["version"] for step in found["steps"]] == ["91.0.0", "91.0.1", "91.0.2", "91.0.3", "91.0.4"]
    assert found["measured"] == ["91.0.1", "91.0.2", "91.0.3", "91.0.4"], "91.0.0 was measured before the kill"
    assert (found["good"]["status"], found["bad"]["status"]) == ("pass", "unsupported")
    assert "Unsupported" in found["bad"]["message"]
    assert found["cause"] == "torch itself: nothing else that takes part differs"
    lost = next(step for step in found["steps"] if step["version"] == "91.0.2")
    assert "onnx==0.0.1" in lost["message"]


@pytest.mark.measures
def test_a_bisection_leaves_the_published_rows_and_no_environment_and_measures_nothing_twice(home, resumed):
    assert list((home / "results").iterdir()) == []
    assert not (home / "results-local").exists()
    assert list((home / "results-bisect" / ".tox").glob("torch*")) == []

    reply = subprocess.run(line(), cwd=home, env=environ(home, "-"), capture_output=True, text=True, check=False)
    assert json.loads(reply.stdout)["measured"] == ["91.0.2"]
    assert (home / "results-bisect" / "torch-91.0.1").is_dir()
