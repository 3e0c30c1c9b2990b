"""What publish refuses, planted in real runs on the stand-in packages, and the ways out of it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from mini import build, runner
from test_mini_matrix import kill_midway

from caniexport.gate.rules import read_rules
from caniexport.store import writer

pytestmark = pytest.mark.measures

SAYS = {name: rule.sentence for name, rule in read_rules().items()}

OLD, NEW = build.ERAS
BEFORE = "90.0.0"

HEAD = """
import torch

from caniexport.model.case import Case, fix
from caniexport.model.tensors import f32

SEEN = []


class Planted(Case):
    '''A case that a test plants.'''

    sources = ("mini:planted",)
    exporters = ("default",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        SEEN.append(1)
"""

NAMES_US = HEAD + "        from caniexport.worker.isolate import not_there\n\n        return not_there\n"
FAILS_ON_OLD = (
    HEAD + f"        if torch.__version__ == '{OLD}':\n            raise KeyError('only here')\n        return x + 1\n"
)
WORKS = HEAD + "        return x + 1\n"
OWES_ITS_NEIGHBOUR = (
    WORKS.replace('("default",)', '("torchscript-trace",)').replace(
        "class Planted",
        """def owe(model):
    (opset,) = [item.version for item in model.opset_import]
    DONE.append(opset)
    if opset != 9 or 8 not in DONE:
        raise KeyError("not alone")
    return model


DONE = []


class Planted""",
    )
    + """
    second = fix("graph-surgery", "passes at opset 9 where 8 was measured before in the same process", surgery=owe)
"""
)


@pytest.fixture
def home(made_home, tmp_path):
    return made_home.copy(tmp_path / "home")


def plant(home, text):
    (home.cases / "planted.py").write_text(text)


def measure(home, *more, release=OLD, code=0):
    return home.caniexport("measure", "--release", release, "--case", "planted", "--json", *more, code=code)


def publish(home, code=0):
    import json

    return json.loads(home.caniexport("publish", "--json", code=code).stdout)


def words(home, version=OLD, dataset="results"):
    """The statuses of the planted cells by variant and opset."""
    rows = home.cells(version, dataset)
    return {(name[1], name[3]): row["status"] for name, row in rows.items() if name[0] == "planted"}


def test_a_quarantined_run_is_refused_until_its_release_is_measured_again(home):
    plant(home, WORKS)
    path = home.cases / "canaries.py"
    whole = path.read_text()
    path.write_text(whole.replace("return torch.bessel(x)", "return x + 2"))
    measure(home, code=1)

    (said,) = publish(home, code=1)["quarantined"].values()

    assert said.startswith("quarantined: canary-fail came out as pass")
    assert not (home.folder / "results" / "cells").exists()
    path.write_text(whole)
    measure(home)
    assert publish(home)["quarantined"] == {}
    assert words(home) == {("plain", None): "pass"}


def test_a_run_without_a_verdict_is_refused_until_another_run_of_its_environment_was_judged(home):
    marked = replace(home, mark=f"mark-{random.randrange(10**9)}")
    kill_midway(marked)

    report = publish(home, code=1)

    assert [word for word in report["quarantined"].values() if word.startswith("not judged")]
    assert not (home.folder / "results" / "cells").exists()
    home.caniexport("measure", "--release", OLD, "--repeat", "0")
    publish(home)
    assert home.cells(OLD, "results") == home.cells(OLD)


def test_a_row_whose_error_names_a_file_of_ours_is_refused_until_the_cause_is_gone(home):
    plant(home, NAMES_US)
    measure(home)

    report = publish(home, code=1)

    assert report["held"] == {SAYS["own-error"]: [f"{OLD}/planted/plain/default/default"]}
    assert words(home) == {}
    assert words(home, dataset="results-local") == {("plain", None): "fail"}
    home.caniexport("measure", "--held-back")
    assert list(publish(home, code=1)["held"]) == [SAYS["own-error"]], "measured apart it is still ours"
    plant(home, WORKS)
    measure(home)
    assert publish(home)["held"] == {}
    assert words(home) == {("plain", None): "pass"}


def test_a_cell_that_owes_its_answer_to_its_neighbour_is_found_and_settled_and_refused_where_it_is_not(home):
    plant(home, OWES_ITS_NEIGHBOUR)
    said = home.caniexport("measure", "--release", OLD, "--workers", "1").stderr

    assert "cells are of variants that differ" in said
    settled = [row for name, row in home.cells(OLD).items() if name[:2] == ("planted", "second")]
    ended = {(row["status"], row["apart"], row["attempts"], row["unstable"]) for row in settled}
    assert ended == {("fail", True, 2, None), ("unsupported", True, 2, None)}
    assert publish(home)["held"] == {}
    before = words(home)
    assert {status for (variant, _), status in before.items() if variant == "second"} == {"fail", "unsupported"}

    # measured as it was, beside its neighbour, it passes again, is not believed and measured apart at once
    said = measure(home, "--fresh", "--workers", "1").stderr
    assert "cells were published with another outcome" in said
    assert list(publish(home, code=1)["held"]) == [SAYS["differs"]], "the other opsets of its variant"
    home.caniexport("measure", "--held-back")
    assert publish(home)["held"] == {}
    assert words(home) == before


def test_what_a_case_writes_where_it_is_does_not_land_in_the_home(home):
    plant(home, HEAD + "        open('left-behind', 'w').close()\n        return x + 1\n")
    measure(home)

    assert words(home, dataset="results-local") == {("plain", None): "pass"}
    assert not list(home.folder.rglob("left-behind"))


def test_a_fault_that_comes_and_goes_does_not_take_the_place_of_a_published_row(home, tmp_path):
    flag = tmp_path / "flag"
    lines = [
        "        import os",
        f"        if os.path.exists({str(flag)!r}):",
        f"            os.remove({str(flag)!r})",
        "            raise KeyError('once')",
        "        return x + 1",
    ]
    plant(home, HEAD + "\n".join(lines) + "\n")
    measure(home)
    publish(home)
    flag.touch()

    said = measure(home, "--fresh").stderr

    assert not flag.exists()
    assert "1 cells were published with another outcome" in said
    flag.touch()
    sampled = home.caniexport("measure", "--sample", "1000").stdout
    assert sampled.splitlines()[0].endswith(" published cells were measured again: 1 came out otherwise")
    assert sampled.splitlines()[1:] == [f"  {OLD}/planted/plain/default/default"]
    assert publish(home)["held"] == {}
    assert words(home) == {("plain", None): "pass"}


def test_what_fails_in_one_release_alone_is_refused_until_it_was_measured_apart_and_twice(home):
    plant(home, FAILS_ON_OLD)
    measure(home, release=NEW)
    publish(home)
    _publish_as(home, BEFORE)
    measure(home)

    report = publish(home, code=1)

    assert report["held"] == {SAYS["implausible"]: [f"{OLD}/planted/plain/default/default"]}
    assert words(home) == {}
    said = home.caniexport("measure", "--held-back").stderr
    assert "measured apart and twice, 0 of them unstable" in said
    assert publish(home)["held"] == {}
    assert words(home) == {("plain", None): "fail"}
    assert "nothing is held back" in home.caniexport("measure", "--held-back").stderr


def _publish_as(home, version):
    """The published rows of the newer release as those of another one, too."""
    rows = [{**row, "torch": version} for row in home.rows("results") if row["torch"] == NEW]
    path = home.folder / "results" / "cells" / writer.cells_file(version, "cpu")
    (home.folder / "results" / "MANIFEST").unlink()
    writer.write_rows(path, "cells", rows)


def test_a_cell_that_comes_out_differently_each_time_is_unstable_and_has_the_worse_word(home, tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    lines = [
        f"        path = {str(counter)!r}",
        "        count = int(open(path).read())",
        "        open(path, 'w').write(str(count + 1))",
        "        if count > {limit}:",
        "            raise KeyError(count)",
        "        return x + 1",
    ]
    plant(home, HEAD + "\n".join(lines).replace("{limit}", "10**6") + "\n")
    measure(home, "--apart")
    asked = int(counter.read_text())
    assert words(home, dataset="results-local") == {("plain", None): "pass"}

    # the next first half of that many calls passes, the second half fails
    plant(home, HEAD + "\n".join(lines).replace("{limit}", str(asked + asked // 2 - 1)) + "\n")
    measure(home, "--apart")

    (row,) = [row for name, row in home.cells(OLD).items() if name[0] == "planted"]
    assert (row["status"], row["unstable"], row["apart"]) == ("fail", ["fail", "pass"], True)
    assert publish(home)["held"] == {}
    assert runner.by_name(home.rows("results"))["planted", "plain", "default", None]["unstable"] == ["fail", "pass"]
