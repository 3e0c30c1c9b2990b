"""The pure parts of the measuring half: comparison, messages, plan, table of releases, journal."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from caniexport.model import plan, releases
from caniexport.model.errors import DiskFull, UnknownName
from caniexport.model.journal import Journal
from caniexport.model.messages import KEPT, clean_text, describe, describe_exception, make_message_id
from caniexport.model.runtimes import UncertainInputs, choose_sources, make_feeds
from caniexport.model.tensors import f32, i64, make_values, values
from caniexport.worker.compare import compare, find_borrowed_outputs

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "harness" / "caniexport"


def one(want, got, rtol=None, atol=None):
    return compare([np.asarray(want)], [np.asarray(got)], rtol, atol, "onnxruntime")


SAME = np.array([1.0, np.nan, np.inf, -np.inf], dtype="float32")


@pytest.mark.parametrize(
    ("want", "got", "problem"),
    [
        (SAME, SAME.copy(), ""),
        (
            *(np.float32([1, 2, 3]), np.float32([1, 2, 4])),
            "output 0: 1 of 3 values differ, most at [2]: expected 3.0, onnxruntime gave 4.0",
        ),
        (np.float32([1.0]), np.float32([np.inf]), "1 of 1 values differ"),
        (np.float32([np.inf]), np.float32([1.0]), "1 of 1 values differ"),
        (np.float32([np.nan]), np.float32([1.0]), "1 of 1 values differ"),
        (np.float32([1]), np.float64([1]), "dtype float32 expected, onnxruntime gave float64"),
        (np.float32([1]), np.float32([[1]]), "shape [1] expected, onnxruntime gave [1, 1]"),
        (np.int64([1]), np.int64([2]), "1 of 1 values differ"),
        (np.bool_([True]), np.bool_([False]), "1 of 1 values differ"),
    ],
)
def test_outputs_are_compared_by_dtype_shape_and_values(want, got, problem):
    found = one(want, got).problem

    assert problem in found
    assert bool(found) == bool(problem)


def test_changing_the_tolerance_flips_a_borderline_case_and_is_in_the_result():
    want, got = np.float32([100.0]), np.float32([100.5])

    assert one(want, got).problem
    wide = one(want, got, rtol=1e-2)
    assert wide.problem == ""
    assert wide.rtol == 1e-2


def test_a_missing_output_is_a_mismatch():
    assert compare([np.zeros(1)], [], None, None, "onnxruntime").problem == "1 output(s) expected, onnxruntime gave 0"


def test_signatures_of_the_same_failure_are_equal():
    first = describe("run", "Fail", "index: 0 Got: 2 Expected: 1 for input 'x' at /a/b/c.cc:12 0x7f00aa")
    second = describe("run", "Fail", "index: 3 Got: 9 Expected: 7 for input 'yy' at /d/e/c.cc:99 0x7f00bb")

    assert first[0] == second[0]
    assert first[1] != second[1]


def test_a_message_keeps_both_ends_and_no_folder_of_this_machine():
    kept = clean_text(
        "the reason, " + "x" * (KEPT + 10) + " in /some/where/site-packages/torch/onnx/utils.py: the place"
    )

    assert kept.startswith("the reason, x")
    assert kept.endswith(" in utils.py: the place")
    assert len(kept) <= KEPT


def test_the_reason_of_a_large_model_is_kept_and_its_graph_is_not():
    line = "  %{0} : Float(4, 4, strides=[4, 1]) = onnx::Add(%x, %y), scope: Model::/Layer::{0} # /a/b/layer.py:7:0\n"
    graph = (
        "graph(%x : Float(4, 4),\n      %y : Float(4, 4)):\n"
        + "".join(map(line.format, range(4000)))
        + "  return (%9)\n"
    )
    said = "Unsupported: ONNX export of index_put in opset 9. Please try opset version 11."
    signature, _, text = describe_exception("export", RuntimeError(said + "\n" + graph + "Hint: opset 11"))

    assert signature == describe_exception("export", RuntimeError(said))[0]
    assert text.startswith("RuntimeError: " + said)
    assert text.endswith("Hint: opset 11")
    assert "onnx::Add" not in text


def test_a_call_stack_ends_where_the_measuring_process_begins():
    own = PACKAGE / "worker"
    text = (
        "no rule\n/lib/torch/onnx/utils.py(104): export\n"
        f"{own}/exporters.py(131): _default\n{own}/server.py(290): <module>\n<frozen runpy>(88): _run_code\n)\nEmpty"
    )

    assert clean_text(text) == "no rule\nutils.py(104): export\n)\nEmpty"
    assert clean_text(text.replace("\n", "\n\t")) == "no rule\n\tutils.py(104): export\n\t)\n\tEmpty"


@pytest.mark.parametrize(("given", "kept"), [("bad \udcff", "bad \\udcff"), ("bad \0 byte", "bad \\x00 byte")])
def test_what_no_encoding_has_is_written_as_an_escape_in_text_and_signature(given, kept):
    signature, identifier, text = describe_exception("export", ValueError(given))

    assert (signature, text) == (f"export|ValueError|{kept}", f"ValueError: {kept}")
    assert identifier == make_message_id(text)


def test_of_ten_thousand_causes_the_outer_and_the_inner_ones_are_kept():
    error: Exception = ValueError("the reason")
    for number in range(10_000):
        outer = RuntimeError(f"layer {number}")
        outer.__cause__ = error
        error = outer
    signature, _, text = describe_exception("export", error)

    assert signature == "export|ValueError|the reason"
    assert text.startswith("RuntimeError: layer 9999\ncaused by RuntimeError: layer 9998")
    assert text.endswith("layer 0\ncaused by ValueError: the reason")


def test_the_stack_of_a_runtime_written_in_rust_is_left_out():
    stack = "\n\nStack backtrace:\n   0: <anyhow::Error>::msg\n   1: call\n             at call.c:9:17\n  12: _start"

    assert clean_text("TractError: no Pad\n\nCaused by:\n    it is not constant" + stack) == (
        "TractError: no Pad\n\nCaused by:\n    it is not constant"
    )


def test_an_error_whose_text_cannot_be_read_says_so():
    class Odd(Exception):
        def __str__(self):
            raise KeyError("no text")

    assert "__str__ raised KeyError" in describe_exception("export", Odd())[2]


def test_the_signature_of_a_chained_exception_is_its_cause():
    try:
        try:
            raise KeyError("the real reason")
        except KeyError as cause:
            raise RuntimeError("step 1 of 3 failed") from cause
    except RuntimeError as error:
        signature, _, text = describe_exception("export", error)

    assert signature.startswith("export|KeyError|")
    assert "step 1 of 3 failed" in text
    assert "the real reason" in text


def test_inputs_are_the_same_everywhere_and_differ_between_sets():
    first = make_values((f32(2, 3), i64(4)), "case/0")

    assert np.array_equal(first[0], make_values(f32(2, 3), "case/0.0"))
    assert not np.array_equal(first[0], make_values(f32(2, 3), "case/1.0"))
    # frozen: another value here would measure every case anew
    assert make_values(i64(5), "frozen").tolist() == [9, 3, 0, 7, 4]
    exact = values([[1, -2]], "int32")
    assert (exact.array("any").dtype, exact.shape) == (np.int32, (1, 2))


class _Input:
    """An ``onnx.ValueInfoProto`` of a tensor, as far as feeding reads it."""

    def __init__(self, name, kind=1, sizes=()):
        self.name = name
        dims = [SimpleNamespace(dim_value=size, HasField=lambda _, size=size: size is not None) for size in sizes]
        tensor = SimpleNamespace(elem_type=kind, shape=SimpleNamespace(dim=dims), HasField=lambda _: True)
        self.type = SimpleNamespace(tensor_type=tensor)


def _fed(inputs, arguments):
    positional = [array for array in arguments.values() if array.ndim]
    return make_feeds(choose_sources(inputs, arguments, positional), arguments, positional)


def test_inputs_are_fed_by_name_then_in_order_and_constants_are_left_out():
    x, n = np.zeros(2, dtype="float32"), np.asarray(3)

    assert list(_fed([_Input("x")], {"x": x, "n": n})) == ["x"]
    assert _fed([_Input("0"), _Input("1")], {"x": x, "n": n})["1"] is n
    assert _fed([_Input("a")], {"x": x, "n": n})["a"] is x
    with pytest.raises(ValueError, match=r"takes 3 input\(s\) \(a, b, c\), the module 1"):
        _fed([_Input("a"), _Input("b"), _Input("c")], {"x": x, "n": n})


def test_a_file_that_drops_an_input_is_fed_by_type_and_shape_or_not_at_all(monkeypatch):
    kinds = SimpleNamespace(Name=lambda number: {1: "FLOAT", 7: "INT64"}[number])
    monkeypatch.setitem(sys.modules, "onnx", SimpleNamespace(TensorProto=SimpleNamespace(DataType=kinds)))
    data, index, other = np.zeros((2, 3), "float32"), np.zeros((2, 2), "int64"), np.zeros((4, 3), "float32")
    arguments = {"data": data, "index": index, "source": other}

    # by position the second input would get the index
    assert _fed([_Input("0", 1, (2, 3)), _Input("2", 1, (4, 3))], arguments)["2"] is other
    assert _fed([_Input("0", 1, (None, 3)), _Input("2", 7, (2, 2))], arguments)["2"] is index
    with pytest.raises(UncertainInputs, match="takes 1 of the module's 3 inputs, and it is not certain which"):
        _fed([_Input("0", 1, (None, 3))], arguments)
    with pytest.raises(UncertainInputs):
        _fed([_Input("0", 7, (9, 9))], arguments)


def test_the_table_has_every_minor_release_once_with_torch_pinned():
    table = releases.read_table()

    minors = [release.minor for release in table]
    assert len(minors) == len(set(minors))
    assert all(release.requirements[0] == f"torch=={release.torch}" for release in table)


def test_every_accepted_opset_and_the_first_refused_one_are_planned():
    release = releases.find("1.10.2")

    assert release.opsets("torchscript-trace") == tuple(range(7, 16))
    assert release.opsets("dynamo") == ()
    assert release.opsets("default") == (None,)
    assert releases.find("1.0.1").opsets("torchscript-trace") == (9,)
    assert releases.find("1.0.1").opsets("torchscript-script") == ()


def test_a_release_is_found_by_minor_and_another_patch_takes_the_pins_of_its_minor():
    assert releases.find("2.8").torch == "2.8.0"
    assert releases.find("2.5.0").pins == releases.find("2.5.1").pins
    with pytest.raises(UnknownName, match=r"no torch release '9\.9'.*2\.15\.0"):
        releases.find("9.9")


def test_a_release_newer_than_the_table_is_a_proposal_with_the_newest_pins():
    proposed = releases.find("2.99.1")

    assert (proposed.torch, proposed.pins) == ("2.99.1", releases.RELEASES[-1].pins)
    assert releases.is_proposal(proposed)
    assert not releases.is_proposal(releases.find("2.5.0"))
    assert releases.format_entry(proposed) == 'Release("2.99.1", "3.12", _PY312, (7, 23), dynamo=(13, 28)),'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is no table of releases (FileNotFoundError"),
        ("", "is no table of releases (has no RELEASES)"),
        ("raise SystemExit(0)", "is no table of releases (SystemExit: 0)"),
        ("RELEASES = (1,)", "whose RELEASES are no releases"),
        ("RELEASES = 7", "is no table of releases (TypeError"),
    ],
)
def test_a_file_that_is_no_table_of_releases_is_named(tmp_path, monkeypatch, text, said):
    if text is not None:
        (tmp_path / "table.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CANIEXPORT_RELEASES", str(tmp_path / "table.py"))

    with pytest.raises(UnknownName) as caught:
        releases.find("2.8.0")

    assert f"CANIEXPORT_RELEASES names {tmp_path / 'table.py'}, " in str(caught.value)
    assert said in str(caught.value)


def test_names_of_tox_environments_are_understood():
    assert releases.parse_environment_name("torch2.5-opset17-cpu") == ("2.5", [17], "cpu", "newest")
    assert releases.parse_environment_name("torch2.9.1-period-cpu") == ("2.9.1", [], "cpu", "period")
    assert releases.parse_environment_name("torch1.13.1-cuda") == ("1.13.1", [], "cuda", "newest")
    assert releases.parse_environment_name("py311").release == ""


@pytest.mark.parametrize(
    ("version", "specifier", "inside"),
    [
        ("1.10.2", ">=1.10,<1.11", True),
        ("1.9.1", ">=1.10", False),
        ("2.10.0", ">2.9.1", True),
        ("1.10.2", "==1.10.*", True),
        ("1.1.0", "==1.10.*", False),
        ("2.0.1", "", True),
    ],
)
def test_version_specifiers_of_cases(version, specifier, inside):
    assert plan.is_within(version, specifier) is inside


def test_a_fix_is_never_measured_without_its_failing_form():
    selection = plan.Selection(frozenset({"a/b"}))

    def cell(variant):
        return plan.Cell("a", variant, "dynamo", 18, "h", "cpu")

    assert [name for name in ("plain", "b", "c") if selection.takes(cell(name))] == ["plain", "b"]


def test_a_journal_line_is_readable_while_the_journal_is_open(tmp_path):
    with Journal(tmp_path, "run") as journal:
        journal.cell({"case": "a"}, {"id": "text"})

        (line,) = journal.path.read_text().splitlines()

    entry = json.loads(line)
    assert len(entry.pop("crc")) == 8
    assert entry == {"kind": "cell", "messages": {"id": "text"}, "row": {"case": "a"}}


@pytest.mark.parametrize("small_disk", [64], indirect=True)
def test_a_full_disk_is_said_and_leaves_whole_lines(small_disk):
    with Journal(small_disk, "run") as journal:
        written = 0
        with pytest.raises(DiskFull, match="every finished cell is kept"):
            while written < 1000:
                journal.cell({"case": "x" * 900}, {})
                written += 1
        lines = journal.path.read_bytes().split(b"\n")
    assert lines[-1] == b""
    assert len(lines) - 1 == written > 10
    assert all(json.loads(line) for line in lines[:-1])


@pytest.mark.parametrize("minor", ["3.7", "3.8"])
def test_the_measuring_half_compiles_on_old_pythons(minor):
    from caniexport.machine import interpreters

    python = interpreters.find_python(minor, fetch=False)
    if python is None:
        pytest.skip(f"no Python {minor} on this machine")
    program = "import sys\nfor path in sys.argv[1:]:\n    compile(open(path).read(), path, 'exec')\n"
    measuring = [path for room in ("model", "worker") for path in PACKAGE.glob(f"{room}/*.py")]
    files = [PACKAGE / "__init__.py", *measuring, *ROOT.glob("cases/*.py")]

    reply = subprocess.run([python, "-c", program, *files], capture_output=True, text=True, check=False)

    assert reply.stderr == ""


def test_the_measuring_half_imports_nothing_but_what_an_environment_has():
    import ast

    allowed = set(sys.stdlib_module_names) | {
        "caniexport",
        "pytest",
        "numpy",
        "torch",
        "onnx",
        "onnxruntime",
        "importlib_metadata",
    }
    foreign = {}
    for path in [*PACKAGE.glob("model/*.py"), *PACKAGE.glob("worker/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [item.name for item in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in names:
                if name.split(".")[0] not in allowed or (
                    name.startswith("caniexport.") and name.split(".")[1] not in ("model", "worker")
                ):
                    foreign.setdefault(path.name, []).append(name)

    assert foreign == {}


class Memory:
    """An array's memory without the array, as a runtime hands it out."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__


def test_an_output_that_is_its_inputs_memory_and_does_not_keep_it_is_named():
    given = np.arange(6.0)
    outputs = [given.copy(), np.asarray(Memory(given)), np.asarray(Memory(given[2:4]))]

    assert find_borrowed_outputs(outputs, {"x": given}) == [
        "output 1: it is the memory of input x, and goes with it",
        "output 2: it is the memory of input x, and goes with it",
    ]
    # what keeps its input alive is the caller's
    assert find_borrowed_outputs([given, given[1:], given.reshape(2, 3)], {"x": given, "part": given[2:]}) == []


def test_only_a_quantized_output_is_compared_within_one_step_of_its_quantization():
    want = [np.zeros(3, np.float32), np.zeros(3, np.float32)]

    def problem(place, steps):
        got = [item.copy() for item in want]
        got[place][1] = np.float32(0.002) * steps
        return compare(want, got, None, None, "onnxruntime", quanta=[0.002, 0.0]).problem

    assert not problem(0, 1)
    assert problem(0, 2).startswith("output 0: 1 of 3 values differ")
    assert problem(1, 1).startswith("output 1: 1 of 3 values differ")
