"""A real release of onnxruntime, made through tox by the command itself: probes, and a model nobody can load.

About half a minute and 100 MB. Deselect with ``-m "not real"``.
"""

from __future__ import annotations

import pytest
from onnx_bytes import field, node, value

from caniexport import home
from caniexport.answers.runtimes import read_runtimes
from caniexport.bundles import probes
from caniexport.bundles.pack import archive_bytes, make_bundle, probe_entries
from caniexport.corpus.refusals import Refusal, classify_refusal
from caniexport.measure.job import ReplayOptions
from caniexport.measure.replays import measure_replays
from caniexport.runner.archive import ArchiveEntry
from caniexport.runtime_releases import find_releases
from caniexport.store import Dataset

pytestmark = pytest.mark.real

#: measured by hand for docs/method.md
RELEASE, OPSET, IR = "onnxruntime==1.16.3", 19, 9


def custom_domain():
    """The probe of opset 17 with its node in a domain of its own."""
    _, _, files = next(item for item in probes.make_probes() if item[1] == "opset_17")
    graph = field(1, node("Foo!", ["x"], ["y"], "my.dom")) + field(2, "g")
    graph += field(11, value("x", 1, 3)) + field(12, value("y", 1, 3))
    opsets = [field(8, field(1, domain) + field(2, number)) for domain, number in (("", 17), ("my.dom", 1))]
    return [("model.onnx", field(1, 8) + field(7, graph) + b"".join(opsets)), *files[1:]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    root = tmp_path_factory.mktemp("runtime")
    here = home.find()
    there = home.Home(here.root, here.cases, here.published, root / "results-local", here.tox_ini)
    found = list(probe_entries())
    name, data = make_bundle(custom_domain())
    found.append((ArchiveEntry(name, "documented", "custom-domain", "plain"), data))
    contents = {entry.bundle: (lambda data=data: data) for entry, data in found}
    (root / "b.zip").write_bytes(archive_bytes([entry for entry, _ in found], contents, {}))
    said = []
    (report,) = measure_replays(
        ReplayOptions(home=there, runtimes=find_releases(RELEASE), archive=root / "b.zip", workers=1), said.append
    )
    if "could not be run" in report.problem:
        pytest.skip(f"{RELEASE} cannot be installed here: {report.problem}")
    assert report.problem == "", said
    return Dataset.open(None, there.local)


def test_what_a_release_takes_is_measured(dataset):
    (line,) = read_runtimes(dataset)

    assert (line.version, line.max_opset, line.max_ir) == ("1.16.3", OPSET, IR)


def test_refusals_of_a_real_release_are_told_apart(dataset):
    rows = {(row["case"], row["variant"]): row for row in dataset.records("runs")}

    def cause(case, variant):
        row = rows[case, variant]
        return row["status"], classify_refusal(row["stage"], row["signature"])

    assert cause(probes.OPSET, f"opset_{OPSET + 1}") == ("fail", Refusal.OPSET)
    assert cause(probes.IR, f"ir_{IR + 1}") == ("fail", Refusal.IR)
    assert cause("custom-domain", "plain") == ("fail", Refusal.OPERATOR)
    assert cause(probes.OPSET, f"opset_{OPSET}") == ("pass", None)
