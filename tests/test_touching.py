"""A model held against known failures: by the graphs that the corpus's own files have, never by silence."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx_bytes import field, node, value
from small_dataset import CROSS, append, bundle, cases, cell, write

import caniexport
from caniexport import UnknownName, locks
from caniexport.answers import onnx_ops, touching
from caniexport.cli import main
from caniexport.locks import LockedInstall
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.store import writer
from caniexport.store.onnx_graph import Graph, parse_model

TRACE = "torchscript-trace"
#: by case: the nodes of its file; each reads the one before
CHAINS = {"cross": ("Gather", "Mul", "Sub"), "grid-sample": ("GridSample",), "item": ("Mul", "Add")}
#: cases that work everywhere: operators of which something is known
HARMLESS = {"relu": ("Relu",), "tanh": ("Tanh",)}


def chain(*ops):
    """The nodes of a graph in which each reads the one before."""
    names = ["x", *(f"v{place}" for place in range(1, len(ops))), "y"]
    return [node(op, [names[place]], [names[place + 1]]) for place, op in enumerate(ops)]


def model(*ops, kind=1, sizes=("batch", 3), written_by="2.8.0", opset=18, domain=""):
    """An ONNX file of a chain of operators; ``kind`` 1 is float32, 7 int64."""
    graph = b"".join(field(1, item) for item in chain(*ops))
    graph += field(11, value("x", kind, *sizes)) + field(12, value("y", kind, *sizes))
    opsets = field(8, field(1, "") + field(2, opset)) + (field(8, field(1, domain) + field(2, 1)) if domain else b"")
    return field(1, 8) + field(2, "pytorch") + field(3, written_by) + opsets + field(7, graph)


def drawn(*ops, **given) -> Graph:
    graph = parse_model(model(*ops, **given))
    assert graph is not None
    return graph


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A dataset with files of torch 2.8.0 traced at opset 18; in 2.15.0 with dynamo ``cross`` fails.

    It has five cases in all: how many speak of a model is no matter here.
    """
    monkeypatch.setattr(touching, "ENOUGH", 0)
    (tmp_path / "cases").mkdir()
    local = write(tmp_path / "results-local")
    append(local, *(cell("2.8.0", case, "plain", TRACE, 18) | passing(case) for case in CHAINS))
    for exporter, opset in ((TRACE, 20), ("default", None)):
        append(local, cell("2.15.0", "cross", "plain", exporter, opset) | {"status": "fail", "stage": "export"})
    places = [("2.8.0", 18), ("2.15.0", 18), ("2.15.0", 20)]
    rows = [cell(torch, case, "plain", TRACE, opset) for case in HARMLESS for torch, opset in places]
    append(local, *(row | passing(row["case"]) for row in rows))
    graphs(local, {bundle(case): drawn(*ops) for case, ops in (CHAINS | HARMLESS).items()})
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def passing(case):
    return {"bundle": bundle(case), "status": "pass", "stage": "done"}


def graphs(local, found):
    rows = [{"bundle": name, "nodes": len(graph.nodes), "graph": graph.to_json()} for name, graph in found.items()]
    writer.write_rows(local / "graphs.parquet", "graphs", rows)


def run(home, content, *words):
    path = home / "m.onnx"
    path.write_bytes(content)
    return CliRunner().invoke(main, ["upgrade", "--model", str(path), *words])


def data(home, content, *words):
    return json.loads(run(home, content, *words, "--json").stdout)


def listed(found, title):
    """By case: the outcome in a table of the answer as JSON."""
    rows = [row for table in found["tables"] if table["title"].startswith(title) for row in table["rows"]]
    return {row["case"]["case"]: row["outcome"] for row in rows}


TOUCHING = "known failures with a graph like"
#: where ``cross`` fails
BY_TRACE = ("--to", "2.15.0,exporter=trace")


def test_a_model_with_the_graph_of_a_known_failure_in_it_is_touched(home):
    content = model("Relu", "Gather", "Mul", "Sub", "Relu")
    reply = run(home, content, *BY_TRACE)

    assert (reply.exit_code, reply.stdout.splitlines()[0]) == (
        1,
        "Check m.onnx at 2.15.0 with dynamo=False, opset_version=20: 1 known failure touches it.",
    )
    assert listed(data(home, content, *BY_TRACE), TOUCHING) == {"cross": {"word": "fail", "text": "touches"}}


def test_a_model_is_judged_as_it_is_called_today_beside_the_default_and_without_a_target_at_the_newest_release(home):
    said = data(home, model("Relu", "Gather", "Mul", "Sub"))

    assert said["verdict"].startswith("Try 2.15.0 with dynamo=False, opset_version=18: no known failure touches m.onnx")
    assert [row["known failures"] for row in said["tables"][0]["rows"]] == [0, 1]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(model("Mul", "Gather", "Relu", "Sub"), id="the operators are joined otherwise"),
        pytest.param(model("Gather", "Mul", "Sub", "Relu", sizes=(2, 3)), id="no axis varies"),
        pytest.param(model("Gather", "Mul", "Sub", "Relu", kind=7), id="of another type"),
        pytest.param(model("Relu", "Tanh"), id="other operators"),
    ],
)
def test_a_failure_whose_conditions_are_not_in_the_model_does_not_touch_it(home, content):
    reply = run(home, content, *BY_TRACE)

    assert (reply.exit_code, "no known failure touches m.onnx" in reply.stdout.splitlines()[0]) == (0, True)


def test_a_case_with_the_same_graph_was_measured_and_speaks_first(home):
    works = data(home, model("Mul", "Add"), "--to", "2.15.0,exporter=dynamo")
    fails = data(home, model("Gather", "Mul", "Sub"), *BY_TRACE)

    assert listed(works, "cases with the same graph") == {"item": "pass"}
    assert fails["verdict"].startswith("Fails: the case with the same graph fails at 2.15.0")
    assert listed(fails, "cases with the same graph") == {"cross": "fail"}


def test_a_pattern_that_is_in_many_cases_that_work_says_nothing(home):
    names = [f"other-{number}" for number in range(6)]
    local = home / "results-local"
    rows = [
        cell(torch, name, "plain", TRACE, opset) for name in names for torch, opset in (("2.8.0", 18), ("2.15.0", 20))
    ]
    append(local, *(row | passing(row["case"]) for row in rows))
    described = {bundle(name): drawn("Relu", *CHAINS["cross"]) for name in names}
    graphs(local, {bundle(case): drawn(*ops) for case, ops in (CHAINS | HARMLESS).items()} | described)

    said = data(home, model("Relu", "Gather", "Mul", "Sub", "Tanh"), *BY_TRACE)
    assert (said["outcome"], listed(said, TOUCHING)) == ("works", {})


SAID = CROSS.removeprefix("RuntimeError: ")


class FakeTorch:
    """A torch whose export writes these bytes, or raises."""

    def __init__(self, result):
        self.onnx, self.result, self.called = self, result, {}

    def export(self, model, args, path, *, dynamo=True, opset_version=None):
        self.called = {"dynamo": dynamo, "opset_version": opset_version, "args": args}
        warnings.warn("this exporter will go", DeprecationWarning, stacklevel=1)
        if isinstance(self.result, Exception):
            raise self.result
        Path(path).write_bytes(self.result)


@pytest.fixture
def known(home, monkeypatch):
    """``known(result, torch="2.8.0", **asked)``: what is known of a module that this torch exports like that."""

    def ask(result, installed="2.8.0", **asked):
        fake = FakeTorch(result)
        monkeypatch.setitem(sys.modules, "torch", fake)
        monkeypatch.setattr(locks, "read_running", lambda: LockedInstall("here", "3.12", {"torch": installed}))
        return caniexport.known_failure(object(), (1, 2), **asked), fake

    return ask


def test_a_module_is_exported_here_and_held_against_what_is_known_at_another_release(known):
    touched, _ = known(model("Relu", "Gather", "Mul", "Sub", "Relu"), torch="2.15.0")
    spared, _ = known(model("Relu", "Tanh"), torch="2.15.0")
    may, _ = known(model("Relu", "Tanh"))

    assert (touched.is_touched, spared.is_touched, may.is_touched) == (True, False, False)
    assert [case.name for case in touched.cases] == ["cross"]
    assert touched.reason.startswith("known failures touch it at torch 2.15.0")
    assert touched.cases[0].reason.endswith("caniexport case cross")


def test_an_export_that_fails_here_is_answered_with_the_case_that_fails_alike(known):
    found, fake = known(RuntimeError(SAID), installed="1.12.1", exporter="trace", opset=14)
    other, _ = known(RuntimeError("nobody has ever seen this"), installed="1.12.1")

    assert fake.called == {"dynamo": False, "opset_version": 14, "args": (1, 2)}
    assert found.is_touched is True
    assert [(case.name, case.word.value) for case in found.cases] == [("cross", "measured to fail")]
    assert found.error.startswith("RuntimeError: Exporting the operator cross")
    assert other.is_touched is None
    assert other.error == "RuntimeError: nobody has ever seen this"


def test_an_error_is_told_by_its_innermost_cause_without_colours(known):
    error = RuntimeError("Failed to convert the exported program. \x1b[96mThis is step 3/3\x1b[0m")
    error.__cause__ = ValueError("\x1b[1mno rule for nobody.knows\nmore")

    found, _ = known(error, installed="1.12.1")

    assert found.error == "ValueError: no rule for nobody.knows"


@pytest.mark.filterwarnings("error")
def test_what_torch_warns_of_while_it_exports_ends_no_suite_that_takes_warnings_for_errors(known):
    found, _ = known(model("Relu", "Tanh"))

    assert (found.is_touched, found.error) == (False, "")


def test_versions_that_nobody_measured_are_no_all_clear(known):
    written, _ = known(model("Relu", "Tanh"), installed="2.99.0")
    raised, _ = known(RuntimeError(SAID), installed="2.99.0")
    there, _ = known(model("Relu", "Tanh"), torch="2.99")

    assert [found.is_touched for found in (written, raised, there)] == [None, None, None]
    assert "torch 2.99.0 has not been measured" in written.notes[0]


def test_a_file_is_asked_as_well_and_an_unknown_name_is_refused(home, known):
    path = home / "m.onnx"
    path.write_bytes(model("Relu", "Gather", "Mul", "Sub", "Relu"))

    assert caniexport.known_failure(path, torch="2.15.0").is_touched is True
    with pytest.raises(UnknownName, match="unknown exporter 'tracer'"):
        known(model("Relu"), exporter="tracer")


def test_a_failure_of_the_call_is_none_of_the_model(home):
    """Another call works there with the same exporter and opset: the same model, the same graph."""
    local = home / "results-local"
    (plain,) = [row for row in cases() if (row["case"], row["kind"]) == ("cross", "plain")]
    described = [*cases(), plain | {"variant": "other_call", "kind": "export-option"}]
    writer.write_rows(local / "cases.parquet", "cases", described)
    append(local, cell("2.15.0", "cross", "other_call", TRACE, 20))

    found = run(home, model("Relu", "Gather", "Mul", "Sub"), *BY_TRACE)
    assert (found.exit_code, "no known failure touches m.onnx" in found.output) == (0, True)

    elsewhere = {"exporter_effective": "dynamo"}
    append(local, cell("2.15.0", "cross", "other_call", TRACE, 20) | elsewhere)
    assert run(home, model("Relu", "Gather", "Mul", "Sub"), *BY_TRACE).exit_code == 1


def test_silence_is_no_all_clear(home):
    reply = run(home, model("Gather", "Mul", "Sub"), "--to", "torch=2.15.0,opset=99")

    assert (reply.exit_code, reply.output.startswith("Not enough measured: too few cases at 2.15.0")) == (1, True)


def test_an_operator_that_no_measured_graph_has_is_named_and_is_no_all_clear(home):
    reply = run(home, model("Relu", "Hardmax", "Tanh"), "--to", "2.15.0")

    assert (reply.exit_code, reply.output.startswith("Check m.onnx at 2.15.0")) == (1, True)
    assert "Nothing is known of Hardmax: no measured graph has it." in reply.output


def test_a_file_by_another_exporter_is_no_all_clear(home):
    content = model("Mul", "Add")
    reply = run(home, content, "--to", "2.15.0,exporter=dynamo")
    path = home / "by-trace.onnx"
    path.write_bytes(content)

    assert (reply.exit_code, "its file does not show all that matters" in reply.output.splitlines()[0]) == (1, True)
    assert f"The file was written by another exporter ({TRACE})" in reply.output
    crossed, kept = (caniexport.known_failure(path, torch="2.15.0", exporter=name) for name in ("dynamo", "trace"))
    assert crossed.is_touched is None
    assert "its file is written by torchscript-trace, which does not show every operator" in crossed.reason
    assert kept.written_by == ""


def test_an_all_clear_says_that_no_file_shows_everything_and_what_measures(home):
    reply = run(home, model("Relu", "Tanh", "Relu"), "--to", "2.15.0")
    said = " ".join(reply.stdout.split())
    assert (reply.exit_code, "cannot be seen in a file: `caniexport check` measures a model" in said) == (0, True)


@pytest.fixture
def wrong(home):
    """A case that runs and gives wrong values for some inputs at both releases: a division of integers."""
    local = home / "results-local"
    ends = {"status": "mismatch", "stage": "compare", "bundle": bundle("quotient")}
    append(local, *(cell(torch, "quotient", "plain", TRACE, 18) | ends for torch in ("2.8.0", "2.15.0")))
    own = {"quotient": drawn("Div", "Cast", kind=7)}
    known = {case: drawn(*ops) for case, ops in (CHAINS | HARMLESS).items()} | own
    graphs(local, {bundle(case): graph for case, graph in known.items()})
    return home


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(model("Sub", "Div", "Cast", "Relu", kind=7), id="beside other operators"),
        pytest.param(model("Div", "Reshape", "Unsqueeze", "Cast", kind=7), id="values are moved between"),
        pytest.param(model("Div", "Cast", kind=7, sizes=(2, 3)), id="no axis varies"),
    ],
)
def test_a_file_with_the_operators_of_a_case_that_gives_wrong_values_is_no_all_clear_and_the_case_is_named(
    wrong, content
):
    to = ("--to", "2.15.0,opset=18,exporter=trace")
    reply = run(wrong, content, *to)

    assert (reply.exit_code, reply.stdout.startswith("Check m.onnx at 2.15.0")) == (1, True)
    assert "its values may be wrong" in run(wrong, content, *to, "--all").stdout
    assert listed(data(wrong, content, *to), TOUCHING) == {
        "quotient": {"word": "mismatch", "text": "values may be wrong"}
    }
    known = caniexport.known_failure(wrong / "m.onnx", torch="2.15.0", exporter="trace", opset=18)
    assert (known.is_touched, known.may_be_wrong) == (None, ("quotient",))
    assert "its values may be wrong, as in quotient" in known.reason


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(model("Div", "Cast", kind=1), id="of another type"),
        pytest.param(model("Neg", "Div", "Cast", kind=1), id="of another type, which the file does not say there"),
        pytest.param(model("Shape", "Div", "Cast", kind=7), id="of sizes, which are never negative"),
        pytest.param(model("Cast", "Div", kind=7), id="joined otherwise"),
    ],
)
def test_a_file_without_the_conditions_of_a_case_that_gives_wrong_values_names_no_such_case(wrong, content):
    assert "values may be wrong" not in run(wrong, content, "--to", "2.15.0,opset=18,exporter=trace").stdout


def test_operators_that_are_right_in_more_cases_than_wrong_say_nothing_of_values(wrong):
    local = wrong / "results-local"
    append(local, *(cell("2.8.0", case, "plain", TRACE, 18) | passing(f"{case}-div") for case in ("relu", "tanh")))
    described = {bundle(f"{case}-div"): drawn("Div", "Cast", "Relu", kind=7) for case in ("relu", "tanh")}
    graphs(local, {bundle("quotient"): drawn("Div", "Cast", kind=7)} | described)

    assert (
        "values may be wrong"
        not in run(wrong, model("Sub", "Div", "Cast", kind=7), "--to", "2.15.0,opset=18,exporter=trace").stdout
    )


def test_where_a_model_comes_from_is_read_off_it_and_can_be_named(home):
    def source(content, *words):
        return data(home, content, *words, "--to", "2.15.0")["notes"][2]

    dynamo = model("Relu", written_by="2.15.0+cu128", domain="pkg.torch")
    assert source(model("Relu")) == "It comes from torch 2.8.0, dynamo=False, opset_version=18."
    assert source(dynamo) == "It comes from torch 2.15.0, dynamo=True, opset_version=18."
    assert "torch 2.0.1, torch.onnx.export, opset_version=14" in source(model("Relu"), "--from", "2.0.1,opset=14")


@pytest.mark.published
def test_a_file_of_a_dozen_operators_is_judged_at_its_own_opset_and_touched_by_no_case_of_others(tmp_path):
    """What merely has an operator in common is no failure of the file: deformable attention, a pseudo-inverse."""
    ops = "Conv Relu MaxPool Concat Resize Add Mul Sigmoid Transpose Reshape MatMul Softmax".split()
    path = tmp_path / "unet.onnx"
    path.write_bytes(model(*ops, written_by="1.10.2", opset=13, sizes=("batch", 3, 8, 8)))
    said = CliRunner().invoke(main, ["upgrade", "--model", str(path), "--all"]).stdout

    assert said.startswith("Not enough measured: too few cases at 2.15.0 with ")
    assert "torch 1.10.2, torch.onnx.export, opset_version=13" in said
    assert not re.search("pinv|deform", said)


def test_a_file_that_names_no_measured_release_needs_one_named(home):
    reply = run(home, model("Relu", written_by="1.4.0"), "--to", "2.15.0")

    assert (reply.exit_code, "Missing option '--from'" in reply.output) == (2, True)


def test_the_nodes_of_functions_and_subgraphs_are_read_and_their_values_kept_apart():
    inner = field(1, node("Relu", ["x"], ["v1"]))
    loop = node("Loop", ["x"], ["y"]) + field(5, field(1, "body") + field(6, inner))
    function = field(25, field(1, "f") + field(7, node("Tanh", ["v1"], ["w"])))
    found = onnx_ops.read_bytes(field(1, 8) + field(7, field(1, loop)) + function, "m").graph

    assert {item.op for item in found.nodes} == {"Loop", "Relu", "Tanh"}
    assert [item.inputs for item in found.nodes if item.op == "Tanh"] == [("1:v1",)]


def test_a_python_model_is_measured_and_not_read(home):
    reply = CliRunner().invoke(main, ["upgrade", "--model", "m.py", "--from", "2.8.0", "--to", "2.15.0"])

    assert (reply.exit_code, "`caniexport check` takes a module's code" in reply.output) == (2, True)


def test_a_file_dropped_on_the_page_is_answered_as_by_the_command(home):
    """The point of the file is that of the page, before what the reader's setting says."""
    from dashboard import upload

    kept = Kept.open(None, home / "results-local")
    content = model("Relu", "Gather", "Mul", "Sub")
    said = upgrade_page(kept, content, to="2.15.0")

    verdict = run(home, content, "--to", "2.15.0").output.splitlines()[0]
    assert verdict in said
    assert said.index(verdict) < said.index("All documented cases")
    assert "It comes from torch 2.8.0, dynamo=False, opset_version=18." in said
    assert "It comes from torch 1.12.1" in upgrade_page(kept, model("Relu"), **{"from": "1.12.1"})
    assert upload.read_origin(kept, "m.onnx", b"no model") is None


def test_a_file_that_does_not_say_where_it_comes_from_is_not_judged_as_if_it_did(home):
    kept = Kept.open(None, home / "results-local")
    content = model("Relu", written_by="")

    assert "m.onnx" not in upgrade_page(kept, content, to="2.15.0")
    assert "m.onnx" in upgrade_page(kept, content, **{"from": "2.8.0", "to": "2.15.0"})


def upgrade_page(kept, content, **asked):
    """The words of the upgrade's page for a reader who gave a file."""
    from dashboard import upload

    body = page("upgrade", asked, kept, file=upload.read_origin(kept, "m.onnx", content)).body
    return " ".join(re.sub(r"<[^>]+>", "", body.replace("<code>", "`").replace("</code>", "`")).split())
