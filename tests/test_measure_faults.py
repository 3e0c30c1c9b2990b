"""What goes wrong around a measurement: no index, a damaged wheel, two measurements in one directory."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import replace

import pytest
from mini import build, runner
from mini.home import make_home

from caniexport.store import compact
from caniexport.store.gates import GOOD

pytestmark = pytest.mark.measures

OLD, NEW = build.ERAS


@pytest.fixture
def home(made_home, tmp_path):
    return made_home.copy(tmp_path / "a home")


@pytest.fixture
def bare_home(tmp_path):
    """A home without environments."""
    return make_home(tmp_path)


def test_an_unreachable_index_is_one_row_and_one_line_and_rows_stay(bare_home, tmp_path):
    home = bare_home
    reply = home.caniexport("measure", "--release", OLD, "--case", "pass*")
    assert [line for line in reply.stdout.splitlines() if "passes" in line]
    assert {row["case"] for row in home.rows()} == {"passes", "canary-pass", "canary-fail", "canary-mismatch"}
    known = home.cells(OLD)
    nowhere = {
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_HTTP_RETRIES": "0",
    }
    offline = replace(home, extra=tuple(nowhere.items()))

    reply = offline.caniexport("measure", "--release", NEW, "--case", "passes", code=1)

    said = [line for line in reply.stderr.splitlines() if line.startswith(f"torch {NEW}: could not be measured")]
    assert len(said) == 1
    assert "127.0.0.1:9" in said[0]
    rows = [row for row in home.rows() if row["torch"] == NEW]
    assert [(row["case"], row["stage"], row["status"]) for row in rows] == [(None, "resolve", "not_run")]
    assert home.cells(OLD) == known

    # with the index back, the release is measured as if nothing had been
    home.caniexport("measure", "--release", NEW, "--case", "passes")
    assert {row["case"] for row in home.rows() if row["torch"] == NEW and row["case"]} >= {"passes"}

    # gone again, with its environment: the table that ends the answer is of earlier rows, and says so
    shutil.rmtree(home.folder / ".tox")
    reply = offline.caniexport("measure", "--release", NEW, "--case", "passes", "--fresh", code=1)
    assert reply.stdout.splitlines()[0] == f"Nothing was measured now of torch {NEW}: the table has its earlier rows."


def test_a_damaged_wheel_is_named_and_the_next_release_goes_on(bare_home):
    home = bare_home
    wheel = next(home.wheels.glob(f"torch-{OLD}-*.whl"))
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[: len(whole) // 2])

    reply = home.caniexport("measure", "--release", OLD, "--release", NEW, "--case", "passes", code=1)

    said = [line for line in reply.stderr.splitlines() if line.startswith(f"torch {OLD}: could not be measured")]
    assert len(said) == 1
    assert f"torch=={OLD}" in said[0] or wheel.name in said[0]
    assert {row["stage"] for row in home.rows() if row["torch"] == OLD} == {"resolve"}
    assert ("passes", "plain", "torchscript-trace", 9) in home.cells(NEW)


def test_two_measurements_into_one_directory_lose_nothing_though_another_process_compacts_their_rows(home):
    """A runtime's run that ends on the same folder compacts every finished journal, these measurements' too."""
    started = [
        subprocess.Popen(
            home.line("measure", "--release", version, "--workers", "1", "--repeat", "20", "--json"),
            cwd=home.folder,
            env=home.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for version in (OLD, NEW)
    ]
    while any(process.poll() is None for process in started):
        compact(home.folder / "results-local")
        time.sleep(0.01)
    told = [process.communicate() for process in started]

    assert [process.returncode for process in started] == [0, 0], told
    for version, (said, _) in zip((OLD, NEW), told, strict=True):
        rows = home.cells(version)
        assert {name: f"{row['stage']} {row['status']}" for name, row in rows.items()} == runner.expected(version)
        (report,) = json.loads(said)
        assert (report["problem"], report["measured"], report["planned"]) == ("", len(rows), len(rows))
    gates = {row["torch"]: row["gate"] for row in home.table_rows("results-local", "environments")}
    assert gates == {OLD: "good", NEW: "good"}


def test_a_canary_that_surprises_ends_the_run_of_its_release_and_the_next_one_goes_on(home):
    """The old release bakes no number here any more, as if our measuring hid it; nothing of it may speak."""
    canaries = home.cases / "canaries.py"
    text = canaries.read_text()
    wrong = text.replace("return x * x[0].item()", f'return x * 2 if torch.__version__ < "{NEW}" else x * x[0].item()')
    assert wrong != text
    canaries.write_text(wrong)
    slow = home.cases / "slow.py"
    slow.write_text(text[: text.index("class")] + "".join(_SLOW.format(number=number, new=NEW) for number in range(12)))

    reply = home.caniexport("measure", "--release", OLD, "--release", NEW, "--repeat", "0", "--json", code=1)

    old, new = json.loads(reply.stdout)
    assert old["problem"].startswith("quarantined: canary-mismatch came out as pass")
    # a worker is given ten seconds for what it has begun
    assert 0 < old["measured"] < old["planned"]
    assert (new["problem"], new["measured"]) == ("", new["planned"])
    texts = {row["message_id"]: row["text"] for row in home.table_rows("results-local", "messages")}
    owed = [texts[row["message_id"]] for row in home.rows() if row["torch"] == OLD and row["status"] == "invalid"]
    assert len(owed) == old["planned"] - old["measured"]
    assert all("the run was ended: canary-mismatch came out as pass" in text for text in owed)
    (said,) = [line for line in reply.stderr.splitlines() if "invalid rows" in line]
    assert said.startswith(f"torch {OLD}: invalid rows, whose cells stay unmeasured: {len(owed)} the run")
    assert list(old["invalid"].values()) == [len(owed)]

    # mended, all of the release is measured: nothing of what was ended counts as done
    canaries.write_text(text)
    slow.unlink()
    home.caniexport("measure", "--release", OLD, "--repeat", "0")
    good = {name: f"{row['stage']} {row['status']}" for name, row in runner.by_name(_speaking(home, OLD)).items()}
    assert good == runner.expected(OLD)


_SLOW = """
class Slow{number}(Case):
    "A slow addition of {number}."

    sources = ("harness",)
    exporters = ("torchscript-trace",)
    inputs = ((values([1.0, 2.0]),), (values([3.0, 4.0]),))

    def forward(self, x):
        if torch.__version__ < "{new}":
            __import__("time").sleep(1)
        return x + {number}

"""


def _speaking(home, version):
    """The rows of a release from runs that may speak."""
    may = {row["run_id"] for row in home.table_rows("results-local", "environments") if row["gate"] == "good"}
    return [row for row in home.rows() if row["torch"] == version and row["run_id"] in may]


@pytest.mark.parametrize("small_disk", ["size=250k", "size=64m,nr_inodes=90"], indirect=True)
def test_a_disk_that_fills_up_while_measuring_is_said_at_once_and_measuring_goes_on_where_it_was(home, small_disk):
    local = home.folder / "results-local"
    local.symlink_to(small_disk)

    begun = time.monotonic()
    reply = home.caniexport("measure", "--release", OLD, code=1)

    assert time.monotonic() - begun < 60
    (said,) = [line for line in reply.stderr.splitlines() if line.startswith("caniexport: ")]
    assert "no space left" in said.lower()
    assert "is kept" in said
    assert "Traceback" not in reply.stderr
    before = {runner.name_of(row): row["run_id"] for row in runner.journal_rows(local)}
    assert 0 < len(before) <= len(runner.expected(OLD))

    # with room again
    local.unlink()
    shutil.copytree(small_disk, local)
    home.caniexport("measure", "--release", OLD, "--repeat", "0")

    rows = home.cells(OLD)
    assert {name: f"{row['stage']} {row['status']}" for name, row in rows.items()} == runner.expected(OLD)
    run_ids = {runner.name_of(row): row["run_id"] for row in home.rows()}
    again = {name[0] for name, run_id in before.items() if run_ids[name] != run_id}
    assert all(case.startswith("canary-") for case in again), "what was finished was measured again"
    assert {row["status"] for row in home.rows()}.isdisjoint({"invalid", "not_run"})
    gates = {row["run_id"]: row["gate"] for row in home.table_rows("results-local", "environments")}
    assert {gates[row["run_id"]] for row in home.rows()} == {GOOD}


@pytest.mark.parametrize("small_disk", ["size=2m"], indirect=True)
def test_a_disk_without_room_for_an_environment_is_said_and_no_row_blames_the_release(bare_home, small_disk):
    home = bare_home
    (home.folder / ".tox").symlink_to(small_disk)

    reply = home.caniexport("measure", "--release", OLD, "--case", "passes", code=1)

    (said,) = [line for line in reply.stderr.splitlines() if line.startswith("caniexport: ")]
    assert "no space left" in said.lower()
    assert "Traceback" not in reply.stderr
    assert home.rows() == []
