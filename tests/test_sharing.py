"""What cells of one process share, and how it is noticed that a cell has changed the process."""

from __future__ import annotations

import sys
import types
import warnings

import pytest

from caniexport.model.status import Stage
from caniexport.worker import compare, sharing
from caniexport.worker import watch as watching
from caniexport.worker.registrations import Registrations, registered
from caniexport.worker.stages import Stages


@pytest.fixture
def kept():
    made = sharing._Kept()
    made.active = True
    return made


def test_a_shared_step_is_done_once_and_its_warnings_are_given_every_time(kept):
    calls = []

    def capture():
        calls.append(1)
        warnings.warn("sizes are baked in", UserWarning, stacklevel=1)
        return "program"

    for _ in range(3):
        with pytest.warns(UserWarning, match="sizes are baked in"):
            assert kept.once("capture", capture) == "program"
    assert len(calls) == 1


def test_outside_of_a_shared_block_every_step_is_done_anew(kept):
    kept.active = False
    results = iter(["first", "second"])

    assert kept.once("capture", lambda: next(results)) == "first"
    assert kept.once("capture", lambda: next(results)) == "second"


def test_another_owner_shares_nothing_of_the_one_before():
    made = []

    def compute():
        made.append(1)
        return len(made)

    found = []
    for owner in (("case", "plain"), ("case", "plain"), ("case", "fix"), None, ("case", "plain")):
        with sharing.shared(owner):
            found.append(sharing._kept.once("program", compute))
    assert found == [1, 1, 2, 3, 4]


def test_a_scripting_that_failed_fails_again_with_the_same_words_and_spoils_the_process(kept):
    texts = iter(["half a class is left", "other words, because half a class was left"])

    def compile_module():
        raise RuntimeError(next(texts))

    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^half a class is left$"):
            kept.scripted(compile_module)
    assert kept.spoiled


def test_a_scripted_module_is_a_new_one_every_time(kept):
    assert kept.scripted(object) is not kept.scripted(object)
    assert not kept.spoiled


class Group:
    """A group of symbolics as torch has it from 1.13 on."""

    def __init__(self, **functions):
        self._functions = types.SimpleNamespace(_base=dict(functions), _overrides={}, _merged=dict(functions))


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for torch with an exporter and its registry."""
    registry = types.SimpleNamespace(_registry={"aten::add": Group(nine=len)})
    modules = {
        "torch": types.SimpleNamespace(
            __name__="torch", get_default_dtype=lambda: "float32", is_grad_enabled=lambda: True
        ),
        "torch.onnx": types.ModuleType("torch.onnx"),
        "torch.onnx._internal.registration": types.SimpleNamespace(registry=registry, __name__="registration"),
    }
    modules["torch.onnx"].export = print
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(watching, "_holders", {})
    return types.SimpleNamespace(
        **{"onnx": modules["torch.onnx"], "root": modules["torch"], "groups": registry._registry}
    )


def replace_export(torch):
    torch.onnx.export = len


def register(torch):
    torch.groups["own::cube"] = Group(nine=abs)


def override(torch):
    torch.groups["aten::add"]._functions._merged["nine"] = abs


def leave_an_empty_group(torch):
    torch.groups["own::cube"] = Group()


def change_the_default_type(torch):
    torch.root.get_default_dtype = lambda: "float64"


@pytest.mark.parametrize("change", [replace_export, register, override, leave_an_empty_group, change_the_default_type])
def test_what_a_cell_leaves_behind_in_torch_makes_it_another_process(torch, change):
    watch = watching.Watch()
    assert not watch.is_changed()

    change(torch)

    assert watch.is_changed()


def working_state():
    state = watching.State()
    state.begin()
    return state


def set_a_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("LEFT_BEHIND", "1")


def go_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def look_elsewhere_for_modules(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)


def forget_temporary_folders(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def widen_a_tolerance(monkeypatch, tmp_path):
    monkeypatch.setitem(compare.TOLERANCES, "float32", (1.0, 1.0))


def replace_our_comparison(monkeypatch, tmp_path):
    monkeypatch.setattr(compare, "compare", len)


def replace_json(monkeypatch, tmp_path):
    monkeypatch.setattr("json.dumps", len)


def warn_otherwise(monkeypatch, tmp_path):
    monkeypatch.setattr("warnings.warn", len)


def replace_a_builtin(monkeypatch, tmp_path):
    monkeypatch.setattr("builtins.sorted", len)


@pytest.mark.parametrize(
    "change",
    [
        set_a_variable,
        go_elsewhere,
        look_elsewhere_for_modules,
        forget_temporary_folders,
        widen_a_tolerance,
        replace_our_comparison,
        replace_json,
        warn_otherwise,
        replace_a_builtin,
    ],
)
def test_what_a_cell_leaves_behind_elsewhere_makes_it_another_process(torch, monkeypatch, tmp_path, change):
    state = working_state()
    assert state.is_kept()

    with monkeypatch.context() as patch:
        change(patch, tmp_path)
        found = state.is_kept()

    assert not found


@pytest.mark.parametrize("change", [register, override, leave_an_empty_group])
def test_a_symbolic_that_a_cell_leaves_registered_is_taken_back(torch, change):
    watch, registrations = watching.Watch(), Registrations.now()
    change(torch)
    registrations.restore()

    assert not watch.is_changed()
    assert torch.groups.keys() == {"aten::add"}
    assert torch.groups["aten::add"]._functions._merged == {"nine": len}


@pytest.fixture
def tables(monkeypatch):
    """The registry as torch had it until 1.12: functions by name, by domain and opset."""
    made = {("", 9): {"add": len}}
    monkeypatch.setitem(sys.modules, "torch.onnx.symbolic_registry", types.SimpleNamespace(_registry=made))
    return made


def test_a_symbolic_registered_in_an_old_release_is_taken_back_with_the_tables_it_made(tables):
    registrations = Registrations.now()
    tables["", 9]["add"] = abs
    tables["", 9]["cube"] = abs
    # registering for opset 9 registers for all later ones, whose tables torch has not built yet
    tables["", 11] = {"add": abs}
    registrations.restore()

    assert tables == {("", 9): {"add": len}}


def test_a_rule_taken_from_one_opset_is_seen_though_another_has_the_same_function(tables):
    """1.11's unregistering takes torch's own rule away from the later opsets."""
    tables["", 12] = {"add": len}
    before, registrations = registered(), Registrations.now()
    del tables["", 12]["add"]

    assert registered() != before
    registrations.restore()
    assert (tables["", 12], registered()) == ({"add": len}, before)


def test_a_table_that_torch_built_during_a_cell_stays_and_is_seen_as_a_change(tables):
    def symbolic():
        pass

    symbolic.__module__ = "torch.onnx.symbolic_opset11"
    before, registrations = registered(), Registrations.now()
    tables["", 11] = {"add": symbolic}
    registrations.restore()

    assert ("", 11) in tables
    assert registered() != before


def test_a_module_that_a_cell_was_the_first_to_import_changes_nothing(torch, monkeypatch):
    watch = watching.Watch()
    monkeypatch.setitem(sys.modules, "torch.onnx.operators", types.ModuleType("torch.onnx.operators"))

    assert not watch.is_changed()


def test_a_patch_in_a_later_batch_is_seen_and_a_symbolic_left_there_is_taken_back(torch):
    state = watching.State()
    for _ in range(3):
        state.begin()
        assert state.is_kept()
    register(torch)
    assert state.is_kept()
    assert torch.groups.keys() == {"aten::add"}

    state.begin()
    replace_export(torch)

    assert not state.is_kept()


def test_a_module_that_one_batch_imported_is_watched_in_the_next(torch, monkeypatch):
    state = watching.State()
    state.begin()
    imported = types.ModuleType("torch.onnx.operators")
    monkeypatch.setitem(sys.modules, "torch.onnx.operators", imported)
    assert state.is_kept()

    state.begin()
    imported.shape_as_tensor = len

    assert not state.is_kept()


def test_what_compares_in_a_way_of_its_own_is_seen_in_the_place_of_another(torch):
    class Undecided:
        def __eq__(self, other):
            raise ValueError("neither")

        def __call__(self):
            pass

    torch.onnx.verify = Undecided()
    watch = watching.Watch()
    assert not watch.is_changed()

    torch.onnx.verify = Undecided()

    assert watch.is_changed()


def test_what_moves_without_being_anything_a_cell_could_meet_is_no_change(torch):
    watch = watching.Watch()
    torch.onnx.counter = 1
    assert not watch.is_changed()
    torch.onnx.counter = 2
    assert not watch.is_changed()

    replace_export(torch)

    assert watch.is_changed()


def test_a_supervisor_reads_the_stage_of_the_cell_it_asks_for_and_of_no_other(tmp_path):
    with (tmp_path / "stages").open("w+b") as file:
        stages = Stages(file.fileno())
        assert stages.at(1, 0) is None
        stages.note(1, 0, Stage.EXPORT)
        stages.note(1, 0, Stage.RUN)

        assert stages.at(1, 0) is Stage.RUN
        assert stages.at(1, 1) is None
        assert stages.at(2, 0) is None
