"""What is kept between dynamo's exports, on stand-ins of torch's functions (real ones: test_real_environments.py)."""

from __future__ import annotations

import contextlib
import sys
import types

import pytest

from caniexport.worker import keeping, warm


class Operator:
    """An operator as torch has it: kernels by dispatch key, and a cache of what they resolve to."""

    def __init__(self, name, **kernels):
        self.name = name
        self.py_kernels = dict(kernels)
        self._dispatch_cache = {"CPU": "stale"}


@pytest.fixture
def torch(monkeypatch):
    """``torch.export`` with a function that overrides kernels; ``asked`` tells for which operators it was called."""
    rules, asked = {}, []

    @contextlib.contextmanager
    def override(callables):
        asked.append([operator.name for operator in callables])
        before = {operator: dict(operator.py_kernels) for operator in callables}
        for operator, decomposition in callables.items():
            operator.py_kernels.setdefault("CPU", f"{operator.name} on CPU")
            operator.py_kernels["Composite"] = decomposition
            operator._dispatch_cache.clear()
            rules.setdefault(operator, f"rule of {operator.name}")
        try:
            yield
        finally:
            for operator in callables:
                operator.py_kernels = before[operator]
                operator._dispatch_cache.clear()
                rules.pop(operator, None)

    impls = types.SimpleNamespace(op_implementations_dict=rules)
    program = types.SimpleNamespace(
        _override_composite_implicit_decomp=override,
        _deregister_op_impl=lambda operator: rules.pop(operator, None),
        _is_op_registered_to_fake_rule=rules.__contains__,
    )
    export, subclasses = types.ModuleType("torch.export"), types.ModuleType("torch._subclasses")
    export.exported_program, subclasses.fake_impls = program, impls
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch.export", export)
    monkeypatch.setitem(sys.modules, "torch._subclasses", subclasses)
    keeping._keep_overrides()
    return types.SimpleNamespace(override=program._override_composite_implicit_decomp, rules=rules, asked=asked)


def within(torch, callables):
    with torch.override(callables):
        return {operator.name: (dict(operator.py_kernels), torch.rules.get(operator)) for operator in callables}


def test_an_override_is_worked_out_once_and_is_the_same_every_time(torch):
    linear, mean = Operator("linear"), Operator("mean", CUDA="own")
    callables = {linear: "preserve", mean: "preserve"}

    first = within(torch, callables)
    linear._dispatch_cache["CPU"] = "stale"
    second = within(torch, callables)

    assert first == second
    assert first["mean"] == ({"CUDA": "own", "CPU": "mean on CPU", "Composite": "preserve"}, "rule of mean")
    assert torch.asked == [["linear", "mean"], []]
    assert (linear.py_kernels, mean.py_kernels) == ({}, {"CUDA": "own"})
    assert linear._dispatch_cache == {}
    assert torch.rules == {}


def test_an_operator_that_stands_otherwise_goes_through_torchs_own_function(torch):
    linear, mean = Operator("linear"), Operator("mean")
    within(torch, {linear: "preserve", mean: "preserve"})

    linear.py_kernels["CPU"] = "a kernel that a case registered"
    torch.rules[mean] = "a rule that a case registered"
    found = within(torch, {linear: "preserve", mean: "preserve"})
    other = within(torch, {linear: "another decomposition"})

    assert found["linear"][0]["CPU"] == "a kernel that a case registered"
    assert found["mean"][1] == "a rule that a case registered"
    assert other["linear"][0]["Composite"] == "another decomposition"
    assert torch.asked[1:] == [["linear", "mean"], ["linear"]]
    assert linear.py_kernels == {"CPU": "a kernel that a case registered"}


def test_what_is_raised_within_leaves_the_operators_as_they_were(torch):
    linear = Operator("linear")
    within(torch, {linear: "preserve"})

    with pytest.raises(RuntimeError, match="capture failed"), torch.override({linear: "preserve"}):
        assert linear.py_kernels
        raise RuntimeError("capture failed")
    assert (linear.py_kernels, torch.rules) == ({}, {})


def test_a_registry_is_built_again_where_a_package_has_brought_operators(monkeypatch):
    """Torchlib's functions for torchvision's operators are taken once torchvision is imported."""
    names, built = ["aten::add"], []

    class Registry:
        @classmethod
        def from_torchlib(cls, opset_version=18):
            built.append(opset_version)
            registry = cls()
            registry.functions = {name: [opset_version] for name in names}
            return registry

    torch, exporter = types.ModuleType("torch"), types.ModuleType("torch.onnx._internal.exporter")
    torch._C = types.SimpleNamespace(_dispatch_get_all_op_names=lambda: list(names))
    exporter._registration = types.SimpleNamespace(ONNXRegistry=Registry)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, exporter.__name__, exporter)
    keeping._keep_registries()

    for _ in range(2):
        assert set(Registry.from_torchlib(18).functions) == {"aten::add"}
    names.append("seen::nms")
    monkeypatch.setitem(sys.modules, "seen", types.ModuleType("seen"))
    for _ in range(2):
        assert set(Registry.from_torchlib(18).functions) == {"aten::add", "seen::nms"}
    assert built == [18, 18]


def test_a_progress_bar_of_torchs_starts_no_thread_in_the_process_that_is_forked(monkeypatch):
    bars = types.ModuleType("tqdm")
    bars.tqdm = type("tqdm", (), {"monitor_interval": 10})
    monkeypatch.setitem(sys.modules, "tqdm", bars)
    warm.stop_tqdm_monitor()
    assert bars.tqdm.monitor_interval == 0

    monkeypatch.setitem(sys.modules, "tqdm", None)
    warm.stop_tqdm_monitor()
