"""What is installed beside torch: profiles do not shadow each other, and an answer is for the packages asked for."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from small_dataset import RELEASES, cell, environment, write

from caniexport import api
from caniexport.answers.answer import AnswerOutcome, records
from caniexport.answers.installed import Installed, VersionDifference, find_nearest, list_differences
from caniexport.answers.profile_differences import profile_difference_table
from caniexport.cli import main
from caniexport.model import releases
from caniexport.model.errors import UnknownName
from caniexport.model.journal import Journal
from caniexport.model.status import Status
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.profiles import PERIOD, find_profile, of_lock
from caniexport.store import Dataset, compact

TORCH = "2.15.0"
AT = f"torch={TORCH},exporter=dynamo,opset=18"
PACKAGES = {
    "newest": {"onnxscript": "0.7.2", "onnx": "1.23.2", "onnxruntime": "1.31.1"},
    PERIOD: {"onnxscript": "0.5.6", "onnx": "1.19.1", "onnxruntime": "1.31.1"},
    "onnxscript-0.5.6": {"onnxscript": "0.5.6", "onnx": "1.23.2", "onnxruntime": "1.31.1"},
}


def write_profile(folder, profile, changed):
    """All cells of one release; with dynamo the failing form of ``cross`` ends as ``changed``."""
    target = folder if profile == "newest" else folder / "profiles" / profile
    rows = [
        cell(TORCH, case, variant, exporter, opset)
        for case in ("cross", "item")
        for variant in ("plain",)
        for exporter, opset in (("dynamo", 18), ("torchscript-trace", 18), ("default", None))
    ]
    with Journal(target / "journal", f"run-{profile}") as journal:
        for row in rows:
            if (row["case"], row["exporter"]) == ("cross", "dynamo"):
                row |= {"status": changed, "stage": "done" if changed == "pass" else "compare"}
            row |= {"onnxscript": PACKAGES[profile]["onnxscript"], "env_id": profile, "run_id": profile}
            journal.cell(row, {})
        packages = json.dumps({"torch": TORCH, **PACKAGES[profile]})
        named = None if profile == "newest" else profile
        journal.environment(
            {**environment(TORCH), "packages": packages, "profile": named, "env_id": profile, "run_id": profile}
        )
    compact(target)


@pytest.fixture
def local(tmp_path):
    folder = write(tmp_path / "results-local", tuple(name for name in RELEASES if name != TORCH))
    write_profile(folder, "newest", "pass")
    write_profile(folder, PERIOD, "mismatch")
    return folder


@pytest.fixture
def home(local, tmp_path, monkeypatch):
    """The home that the command finds."""
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    (tmp_path / "cases").mkdir()
    return tmp_path


def ask(local, before, after):
    return api.upgrade(Dataset.open(None, local), before, after)


def counts(found):
    """What becomes of the cases by the first call."""
    return records(found.tables[0])[0]


def worse(found):
    return {row["case"]["case"]: row["because of"] for row in records(found.tables[1])}


def test_a_profile_is_a_dataset_of_its_own_and_none_shadows_another(local):
    here = Dataset.open(None, local)

    assert here.profiles() == ("newest", PERIOD)
    assert here.of(PERIOD).of("newest") is here
    where = {"case": ("cross",), "torch": (TORCH,), "exporter": ("dynamo",)}
    assert api.open(None, local, profile=PERIOD).select(("status",), where) == [("mismatch",)]
    with pytest.raises(UnknownName, match=r"unknown profile 'perod' \(nearest: period\)"):
        here.of("perod")


def test_an_upgrade_of_the_packages_alone_is_told_as_theirs(local):
    assert counts(ask(local, f"{AT},onnxscript=0.5.6", AT))["fixed"] == 1
    back = ask(local, AT, f"{AT},onnxscript=0.5.6")
    assert worse(back) == {"cross": "companion packages"}
    assert "answered with onnxscript 0.5.6, onnx 1.19.1, onnxruntime 1.31.1" in back.notes


@pytest.mark.parametrize("words", [["why", "cross"], ["workaround", "cross"], ["why", "IndexError: of nobody"]])
def test_an_answer_for_what_is_installed_says_what_differs(home, words):
    lock = home / "freeze.txt"
    lock.write_text(f"torch=={TORCH}\nonnxscript==0.5.4\nonnx==1.19.1\n", encoding="utf-8")

    text = CliRunner().invoke(main, [*words, "--lock", str(lock), "--exporter", "dynamo", "--opset", "18"])
    as_json = CliRunner().invoke(main, [*words, "--lock", str(lock), "--exporter", "dynamo", "--opset", "18", "--json"])

    assert text.exit_code == 0
    said = [line for line in text.output.splitlines()[-4:] if not line.startswith("- read as")][-3:]
    assert said[0] == "- read: freeze.txt (3 packages): torch 2.15.0, onnx 1.19.1, onnxscript 0.5.4"
    assert said[1].startswith("- answered with onnxscript 0.5.6, onnx 1.19.1")
    assert said[2] == "- not measured with onnxscript 0.5.4 (measured with 0.5.6, newer)"
    assert said == [line for line in as_json.stderr.splitlines() if not line.startswith("- read as")]
    assert json.loads(as_json.stdout)
    assert ("Wrong values" in text.output) == (words == ["why", "cross"])


def test_two_installations_or_none_with_torch_are_wrong_use(home):
    lock = home / "freeze.txt"
    lock.write_text("onnx==1.19.1\n", encoding="utf-8")

    without = CliRunner().invoke(main, ["why", "cross", "--lock", str(lock)])
    named = CliRunner().invoke(main, ["why", "cross", "--lock", str(lock), "--torch", TORCH])
    both = CliRunner().invoke(main, ["why", "cross", "--lock", str(lock), "--here"])

    assert (without.exit_code, named.exit_code, both.exit_code) == (2, 0, 2)
    assert "no torch in it" in without.output
    assert "name two installations" in both.output
    assert "- read: freeze.txt (1 package): torch 2.15.0" in named.output


def test_a_command_answers_for_the_profile_asked_for(home):
    words = ["why", "cross", "--torch", TORCH, "--exporter", "dynamo", "--opset", "18"]

    newest, period = (CliRunner().invoke(main, [*words, *more]).output for more in ([], ["--profile", "period"]))

    assert newest.startswith("Works")
    assert period.startswith("Wrong values")


def test_what_decides_most_about_an_export_decides_which_environment_is_nearest():
    known = [
        Installed("newest", "2.9.1", "3.12", {"onnxscript": "0.7.2", "onnx": "1.19.1"}),
        Installed(PERIOD, "2.9.1", "3.12", {"onnxscript": "0.5.6", "onnx": "1.18.0"}),
    ]

    assert find_nearest(known, "2.9.1", {"onnxscript": "0.5.6", "onnx": "1.19.1"}) is known[1]
    assert find_nearest(known, "2.9.1", {"onnx": "1.19.1"}) is known[0]
    assert find_nearest(known, "2.9.1", {}) is known[0]
    assert find_nearest(known, "2.8.0", {}) is None
    assert list_differences(known[1], {"onnxscript": "0.5.6", "numpy": "2.3.5"}) == (
        VersionDifference("numpy", "2.3.5", ""),
    )


def test_a_profile_asks_for_the_packages_of_its_day():
    period = find_profile(PERIOD).asks(releases.find("2.9.1"))
    swap = find_profile("onnxscript-0.5.6").asks(releases.find("2.9.1"))

    assert (period.as_of, period.requirements[:2]) == ("2025-11-26", ("torch==2.9.1", "onnx"))
    # onnxscript brings the onnx-ir of its time
    assert "onnxscript==0.5.6" in swap.requirements
    assert "onnx-ir" in swap.requirements
    assert swap.lowest
    assert not any(item.startswith(("onnx_ir", "onnxscript==0.7")) for item in swap.requirements)
    assert find_profile("newest").asks(releases.find("2.9.1")) is None
    assert of_lock(["onnx==1.2"]) == of_lock(["onnx==1.2"]) != of_lock(["onnx==1.3"])
    with pytest.raises(UnknownName, match=r"unknown profile 'perid' \(nearest: period"):
        find_profile("perid")
    with pytest.raises(UnknownName, match="the day of each release"):
        find_profile(PERIOD).asks(releases.find("2.9.0"))


def test_a_release_is_looked_at_along_the_versions_of_a_package_beside_it(local):
    found = api.changes(Dataset.open(None, local), "cross", along="onnxscript", torch=TORCH, exporter="dynamo")
    new, old = records(found.tables[0])

    assert (new["onnxscript"], new["outcome"], new["changed in"]) == (["0.7.2"], "pass", "(0.5.6, 0.7.2]")
    assert (old["onnxscript"], old["outcome"]) == (["0.5.6"], "mismatch")
    with pytest.raises(UnknownName, match="one torch release; name it with --torch"):
        api.changes(Dataset.open(None, local), "cross", along="onnxscript")
    with pytest.raises(UnknownName, match=r"torch 2\.8\.0 was not measured with onnxscript installed"):
        api.changes(Dataset.open(None, local), "cross", along="onnxscript", torch="2.8")


def test_a_table_has_a_column_for_each_version_of_the_package(local):
    found = api.table(Dataset.open(None, local), by="onnxscript", torch=TORCH, case="cross", exporter="dynamo")

    made = found.tables[0]
    (line,) = [row for row in made.rows if row[0].text == "cross"]
    assert made.columns[made.heads :] == ("0.7.2", "0.5.6")
    assert [cell.word for cell in line[made.heads :]] == [Status.PASS, Status.MISMATCH]


def test_what_the_packages_change_by_themselves_is_listed_on_the_page_of_the_case(local):
    (found,) = records(profile_difference_table(Dataset.open(None, local), "cross"))
    assert found == {
        "torch": {"case": "cross", "torch": TORCH, "exporter": "dynamo", "profile": PERIOD},
        **{"call": "dynamo=True", "opset": [18]},
        **{"packages of its time": "mismatch", "newest packages": "pass"},
    }
    told = "with other companion packages"
    assert told in str(page("case", {"case": "cross"}, Kept.open(None, local)).body)
    assert told not in str(page("case", {"case": "item"}, Kept.open(None, local)).body)


def test_an_environment_in_which_a_part_was_measured_counts_for_exactly_its_packages():
    known = [
        Installed("newest", "2.9.1", "3.12", {"onnxscript": "0.7.2", "onnx": "1.23.2"}, cells=900),
        Installed("onnxscript-0.5.4", "2.9.1", "3.12", {"onnxscript": "0.5.4", "onnx": "1.23.2"}, cells=20),
    ]

    assert find_nearest(known, "2.9.1", {"onnxscript": "0.5.4"}) is known[1]
    assert find_nearest(known, "2.9.1", {"onnxscript": "0.5.3"}) is known[0]
    whole = Installed(PERIOD, "2.9.1", "3.12", {"onnxscript": "0.5.4", "onnx": "1.19.1"}, cells=900)
    assert find_nearest([*known, whole], "2.9.1", {"onnxscript": "0.5.4"}) is whole


def test_without_packages_a_point_is_of_the_profile_that_answers(local):
    found = api.upgrade(Dataset.open(None, local).of(PERIOD), AT, f"{AT},profile=newest")

    assert (counts(found)["fixed"], found.outcome) == (1, AnswerOutcome.NOT_MEASURED)
