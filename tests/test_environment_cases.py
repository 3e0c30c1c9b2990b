"""Environment cases: installed by the real uv, from the real index, with packages of a few kilobytes."""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport.cli import main
from caniexport.machine import interpreters
from caniexport.measure import environment_cases
from caniexport.measure.environment_cases import find_exception, measure_environment_case, read_printed_facts
from caniexport.model import corpus as corpus_module
from caniexport.model import releases
from caniexport.model.rows import CELLS

pytestmark = pytest.mark.measures

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
CASES = '''
from caniexport.model.case import EnvironmentCase, environment_fix


class SixNeedsAName(EnvironmentCase):
    """A line that asks six for a name it does not have."""

    python = "{python}"
    packages = ("six==1.16.0",)
    code = "from six import no_such_name"

    an_older_six = environment_fix(
        "version-upgrade", "an older six", packages=("six==1.15.0",), code="import six, json; "
        "print('hello'); print(json.dumps({{'six': six.__version__}}))"
    )
    a_six_that_never_was = environment_fix("version-upgrade", "none", packages=("six==99.0",))
    dies = environment_fix("rewrite", "killed", code="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    hangs = environment_fix("rewrite", "hangs", code="import time; time.sleep(60)")
    exits = environment_fix("rewrite", "exits", code="import sys; sys.exit(3)")
    leaves = environment_fix(
        "rewrite", "leaves", code="import subprocess; subprocess.Popen(['sleep', '61234'], start_new_session=True)"
    )
    a_python_that_never_was = environment_fix("version-upgrade", "none", python="2.0")
'''


def _here(minor):
    return Path(sys.executable) if minor == HERE else None


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    (folder / "tiny.py").write_text(CASES.format(python=HERE), encoding="utf-8")
    loaded = corpus_module.load([folder], stand_in=True)["six-needs-a-name"]
    temporary = tmp_path_factory.mktemp("temporary")
    patch = pytest.MonkeyPatch()
    patch.setattr(tempfile, "tempdir", str(temporary))
    patch.setattr(environment_cases, "CODE_SECONDS", 5.0)
    try:
        found = {
            row["variant"]: (row, messages) for row, messages in measure_environment_case(loaded, _find_uv(), _here)
        }
    finally:
        patch.undo()
    if found["plain"][0]["status"] == "invalid":
        pytest.skip("the package index cannot be reached from here")
    return found, list(temporary.iterdir())


def _find_uv():
    uv = interpreters.find_uv()
    if not (Path(uv).exists() or shutil.which(uv)):
        pytest.skip("uv is not installed")
    return uv


def test_what_a_line_leaves_running_does_not_stay(measured):
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x0061234" in _bytes(path)]


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it ended meanwhile


ENDS = {
    "plain": ("import", "fail", "ImportError: cannot import name 'no_such_name' from 'six'"),
    "an_older_six": ("done", "pass", ""),
    "a_six_that_never_was": ("resolve", "fail", "six==99.0"),
    "dies": ("import", "crash", "SIGSEGV"),
    "hangs": ("import", "timeout", ""),
    "exits": ("import", "fail", "exit code 3"),
    "leaves": ("done", "pass", ""),
    "a_python_that_never_was": ("resolve", "not_run", "no Python 2.0"),
}


def test_each_variant_has_a_row_with_every_column_that_says_how_it_ended(measured):
    found, left = measured
    for variant, (row, messages) in found.items():
        stage, status, text = ENDS[variant]
        assert (row["stage"], row["status"]) == (stage, status)
        assert text in messages.get(row["message_id"], "")
        assert set(row) == {column.name for column in CELLS}
        assert (row["runtime"], row["provider"], row["device"]) == ("none", "none", "cpu")

    rows = {variant: row for variant, (row, _) in found.items()}
    assert list(rows) == list(ENDS)
    assert len({row["case_hash"] for row in rows.values()}) == len(rows)
    assert rows["plain"]["signature"].startswith("import|ImportError|cannot import name")
    (text,) = found["a_six_that_never_was"][1].values()
    assert "no version" in " ".join(text.split())
    works = rows["an_older_six"]
    assert (json.loads(works["facts"]), found["an_older_six"][1]) == ({"six": "1.15.0"}, {})
    assert works["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (works["exporter"], works["opset"], works["torch"], works["onnx"]) == (None, None, None, None)
    # no environment is left behind
    assert [path.name for path in left if path.name.startswith("caniexport-env-")] == []


def test_an_index_that_cannot_be_reached_says_nothing_about_the_packages(monkeypatch, tmp_path):
    (tmp_path / "tiny.py").write_text(CASES.format(python=HERE), encoding="utf-8")
    loaded = corpus_module.load([tmp_path], stand_in=True)["six-needs-a-name"]
    for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")

    row, _ = next(measure_environment_case(loaded, _find_uv(), _here))

    assert (row["stage"], row["status"]) == ("resolve", "invalid")


def test_the_exception_is_the_one_that_the_traceback_ends_with():
    stderr = "ValueError: first\nDuring handling ...\ngoogle.protobuf.x.DecodeError: Error parsing\nmore words\n"

    assert find_exception(stderr) == ("DecodeError", "Error parsing")


@pytest.mark.parametrize("stdout", ["", "3\n", '{"a": 1}\nbye\n'])
def test_output_that_does_not_end_with_a_json_object_is_no_fact(stdout):
    assert read_printed_facts(stdout) is None


def test_measuring_an_environment_case_measures_no_release_of_torch():
    """Canaries come along with cells; an environment case has none, whatever release is meant."""
    from caniexport import home
    from caniexport.measure.cells import measure
    from caniexport.measure.job import MeasureOptions

    def planned(*cases):
        return {report.torch: report.planned for report in measure(options(cases), lambda _: None)}

    def options(cases):
        return MeasureOptions(home=home.find(), releases=(releases.find("2.15.0"),), cases=cases, plan=True)

    assert planned("ir-version-9-too-new") == {"2.15.0": 0}
    assert planned("cross-no-symbolic")["2.15.0"] > 100
    assert planned("canary-pass")["2.15.0"] > 0


def test_the_command_shows_how_each_variant_of_an_environment_case_ended(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    short = CASES.split("    a_six_that_never_was")[0].format(python=HERE)
    (tmp_path / "cases" / "tiny.py").write_text(short, encoding="utf-8")
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))

    reply = CliRunner().invoke(main, ["measure", "--case", "six-needs-a-name"])

    if "reached" in reply.output:
        pytest.skip("the package index cannot be reached from here")
    assert reply.exit_code == 0, reply.output
    assert "1 of 2 variants work as installed." in reply.stdout
    assert re.search(r"plain +✗ +import", reply.stdout)
    assert re.search(r"an_older_six +✓", reply.stdout)
