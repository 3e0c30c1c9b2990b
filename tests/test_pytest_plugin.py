"""The pytest plugin as a user's test suite sees it: markers, the fixture, what is said at the end."""

from __future__ import annotations

import subprocess
import sys

import pytest
from small_dataset import write

from caniexport import api, locks, pytest_plugin
from caniexport.answers.known import known_case
from caniexport.locks import LockedInstall

pytest_plugins = "pytester"

PLUGIN = ("-p", "no:caniexport", "-p", "caniexport.pytest_plugin", "-p", "no:cacheprovider")
FAILING = "assert False, 'the export fails'"
TEST = """
    import pytest

    @pytest.mark.caniexport({asked})
    def test_export():
        {body}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a small dataset, which was asked once: pytest takes back what is imported from here on, and numpy,
    pyarrow and duckdb cannot be imported twice.
    """
    folder = tmp_path_factory.mktemp("home")
    (folder / "cases").mkdir()
    known_case(api.open(write(folder / "results")), "cross", {"torch": "2.8.0"})
    return folder


@pytest.fixture
def suite(home, pytester, monkeypatch):
    """``suite(torch, asked, body, *options)``: a test with the marker, run where ``torch`` is installed, and ``beside``
    it other packages.
    """
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))

    def run(torch, asked, body, *options, beside=()):
        install = LockedInstall("here", "3.12", {"torch": torch, **dict(beside)} if torch else {})
        monkeypatch.setattr(locks, "read_running", lambda: install)
        for kept in (pytest_plugin._open_dataset, pytest_plugin._read_settings, pytest_plugin._read_running):
            kept.cache_clear()
        pytest_plugin._find_known.cache_clear()
        pytester.makepyfile(TEST.format(asked=asked, body=body))
        return pytester.runpytest_inprocess(*PLUGIN, "-rxX", *options)

    return run


def test_a_known_failure_is_expected_with_its_reason_and_its_link(suite):
    reply = suite("1.12.1", "'cross', exporter='trace', opset=14", FAILING)

    reply.assert_outcomes(xfailed=1)
    reply.stdout.re_match_lines(
        [r".*cross is measured to fail at torch 1.12.1, trace, opset 14 \(fail at export\); RuntimeError: Exporting.*"]
    )
    reply.stdout.fnmatch_lines(["*works there: stack_rewrite*caniexport case cross"])


def test_a_test_that_passes_where_it_is_measured_to_fail_is_a_failure(suite):
    reply = suite("1.12.1", "'cross'", "pass")

    reply.assert_outcomes(failed=1)
    reply.stdout.fnmatch_lines(["*XPASS(strict)*cross is measured to fail*"])


def test_where_it_works_the_marker_does_nothing_and_is_due_to_go(suite):
    suite("2.8.0", "'cross', exporter='trace'", FAILING).assert_outcomes(failed=1)
    reply = suite("2.8.0", "'cross', exporter='trace'", "pass", "--caniexport")

    reply.assert_outcomes(passed=1)
    reply.stdout.fnmatch_lines(["1 markers that are due to go*", "*cross is measured to work at torch 2.8.0*"])


def test_a_marker_that_another_torch_of_the_project_needs_is_not_due(suite, pytester):
    pytester.makepyprojecttoml("[tool.caniexport]\ntorch = '>=1.12'\nexporter = 'trace'\n")

    reply = suite("2.8.0", "'cross'", "pass", "--caniexport")

    reply.stdout.fnmatch_lines(["*it fails on torch 1.12.1, which the project takes (>=1.12)*"])
    assert "due to go" not in reply.stdout.str()


@pytest.mark.parametrize(
    ("torch", "said"),
    [
        ("2.16.0", "*torch 2.16.0 has not been measured (nearest measured: 2.15.0)*"),
        ("2.8.1", "*torch 2.8.1 was not measured; 2.8.0 is answered*"),
        ("", "*torch is not installed here*"),
    ],
)
def test_what_was_not_measured_runs_as_it_is_and_is_said_unasked(suite, torch, said):
    reply = suite(torch, "'cross', exporter='trace'", "pass")

    reply.assert_outcomes(passed=1)
    reply.stdout.fnmatch_lines(["1 not measured here*", said])


def test_a_failure_at_a_nearby_patch_release_is_expected_and_not_demanded(suite):
    asked = "'cross', exporter='trace', opset=14"

    suite("1.12.0", asked, FAILING).assert_outcomes(xfailed=1)
    suite("1.12.0", asked, "pass").assert_outcomes(xpassed=1)


def test_a_failure_measured_with_other_packages_is_expected_and_demanded_of_the_like_only(suite):
    asked = "'item', exporter='trace'"
    measured, like, other = ({"onnxruntime": version} for version in ("1.31.1", "1.31.0", "1.32.0"))

    for near in (measured, like, {}):
        suite("2.8.0", asked, "pass", beside=near).assert_outcomes(failed=1)
    suite("2.8.0", asked, FAILING, beside=other).assert_outcomes(xfailed=1)
    reply = suite("2.8.0", asked, "pass", beside=other)
    reply.assert_outcomes(xpassed=1)
    reply.stdout.fnmatch_lines(["*item is measured to fail*; measured with onnxruntime 1.31.1 (here 1.32.0); *"])


def test_packages_that_cannot_change_how_the_export_ends_are_not_told(suite):
    beside = {"onnxruntime": "1.99.0", "onnxscript": "0.99.0", "numpy": "9.0.0"}

    reply = suite("1.12.1", "'cross', exporter='trace', opset=14", "pass", beside=beside)

    reply.assert_outcomes(failed=1)
    assert "measured with" not in reply.stdout.str()


def test_a_failure_behind_the_last_stage_of_the_test_does_not_count(suite):
    suite("2.8.0", "'item', exporter='trace'", FAILING).assert_outcomes(xfailed=1)
    suite("2.8.0", "'item', exporter='trace', upto='export'", "pass").assert_outcomes(passed=1)


def test_what_is_due_is_said_without_running_a_test(suite):
    reply = suite("2.8.0", "'cross', exporter='trace'", "assert False", "--caniexport", "--collect-only")

    reply.stdout.fnmatch_lines(["1 markers that are due to go*"])


def test_what_is_due_is_said_of_tests_that_ran_in_other_processes(suite):
    reply = suite("2.8.0", "'cross', exporter='trace'", "pass", "--caniexport", "-v")
    report = type("Report", (), {"nodeid": "test_x", "user_properties": [(pytest_plugin._DUE, "a line")]})()

    assert reply.ret == 0
    assert dict(pytest_plugin._collect_reports([[report], [object()]])) == {"test_x": (pytest_plugin._DUE, "a line")}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("'corss'", "unknown case 'corss' (nearest: cross)"),
        ("'cross/stack_rewrit'", "unknown variant of cross 'stack_rewrit' (nearest: stack_rewrite)"),
        ("'cross', exporter='tracer'", "unknown exporter 'tracer'"),
        ("'cross', upto='exprt'", "unknown stage 'exprt' (nearest: export)"),
        ("", "missing 1 required positional argument: 'case'"),
        ("'cross', torch='2.9'", "got an unexpected keyword argument 'torch'"),
    ],
)
def test_a_marker_that_names_nothing_ends_the_run_with_the_nearest_names(suite, asked, words):
    reply = suite("1.12.1", asked, "pass")

    assert reply.ret == pytest.ExitCode.USAGE_ERROR
    assert f"test_export: @pytest.mark.caniexport: {words}" in reply.stderr.str().replace("read_marker() ", "")


def test_the_fixture_exports_a_module_as_the_project_says_and_reads_a_file_as_it_is(suite, pytester, monkeypatch):
    asked = []
    monkeypatch.setattr(api, "known_failure", lambda model, args, **named: asked.append((model, named)))
    pytester.makepyprojecttoml("[tool.caniexport]\nopset = 17\nexporter = 'trace'\n")
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(autouse=True)\ndef ask(known_failure):\n"
        "    known_failure('a module'.split())\n    known_failure([], exporter='dynamo')\n    known_failure('m.onnx')\n"
    )

    suite("2.8.0", "'cross', exporter='dynamo', opset=18", "pass").assert_outcomes(passed=1)

    ways = [(named.get("exporter"), named.get("opset")) for _, named in asked]
    assert ways == [("trace", "17"), ("dynamo", "17"), (None, None)]


def test_a_run_without_a_marker_imports_nothing_of_the_package(tmp_path):
    (tmp_path / "test_own.py").write_text(
        "import sys\ndef test_own():\n    mine = {m for m in sys.modules if m.startswith('caniexport')}\n"
        "    assert mine == {'caniexport', 'caniexport.pytest_plugin'}\n",
        encoding="utf-8",
    )

    subprocess.run([sys.executable, "-m", "pytest", "-q", *PLUGIN, "test_own.py"], cwd=tmp_path, check=True)
