"""Random cells of the published dataset, measured again by the plainest script: does it see what the dataset says?

``python benchmarks/plain_check.py [--cells 200] [--seed 0] [--release 2.8.0 ...]``

Of the harness only the case files' own vocabulary is used (``Case``, ``fix``, inputs as data): modules are built,
exported, run and compared here, by hand, one forked process a cell, each in an environment made by uv from the package
versions that the dataset records. What is compared is the answer: works, wrong values, or does not work.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ANSWERS = {"pass": "works", "degraded": "works", "mismatch": "wrong"}


def main():
    """Outside: draw the cells, make the environments, compare."""
    import pandas as pd

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--release", action="append", default=[])
    arguments = parser.parse_args()
    cells = pd.concat([pd.read_parquet(path) for path in sorted((ROOT / "results" / "cells").glob("torch-*-cpu.*"))])
    cells = cells[cells["corpus"] == "documented"]
    if arguments.release:
        cells = cells[cells["torch"].isin(arguments.release)]
    drawn = cells.sample(n=min(arguments.cells, len(cells)), random_state=arguments.seed)
    environments = pd.read_parquet(ROOT / "results" / "environments.parquet").set_index("env_id")
    agreed = differ = 0
    for (torch, env_id), rows in sorted(drawn.groupby(["torch", "env_id"])):
        wanted = rows[["case", "variant", "exporter", "opset", "status"]].astype(object)
        found = _in_environment(environments.loc[env_id], wanted.where(wanted.notna(), None).to_dict("records"))
        print(f"torch {torch}: {len(found)} cells", flush=True)
        for cell in found:
            expected = ANSWERS.get(cell["status"], "fails")
            if cell["found"] == expected:
                agreed += 1
            else:
                differ += 1
                text = "  differs: {case}/{variant} {exporter} {opset}: {found} ({why}), dataset {}"
                print(text.format(expected, **cell), flush=True)
    print(f"{agreed} of {agreed + differ} cells agree")
    return 1 if differ else 0


def _in_environment(environment, cells):
    packages = json.loads(environment["packages"])
    keep = ("torch", "numpy", "onnx", "protobuf", "onnxruntime", "onnxscript", "onnx_ir", "onnx-ir", "setuptools")
    pins = ["{}=={}".format(name, packages[name].split("+")[0]) for name in keep if name in packages]
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "venv" / "bin" / "python")
        minor = ".".join(environment["python"].split(".")[:2])
        interpreter = _interpreter(minor)
        # downloads go with the environment: thirty of them would fill a disk
        cache = dict(os.environ, UV_CACHE_DIR=str(Path(folder) / "cache"))
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": cache}
        subprocess.run(["uv", "venv", "--python", interpreter, str(Path(folder) / "venv")], **quiet)
        subprocess.run(["uv", "pip", "install", "--python", python, *pins], **quiet)
        todo = Path(folder) / "cells.json"
        todo.write_text(json.dumps(cells))
        reply = subprocess.run(
            [python, __file__, "--inside", str(todo)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            env=dict(os.environ, OMP_NUM_THREADS="1", ORT_DISABLE_TELEMETRY="1", PYTHONPATH=str(ROOT)),
        )
        return json.loads(reply.stdout.decode().strip().split("\n")[-1])


def _interpreter(minor):
    from harness import interpreters

    found = interpreters.find(minor)
    return str(found) if found else minor


def inside(path):
    """Inside an environment: each cell in a forked process; the answers as one line of JSON."""
    import onnx  # noqa: F401  # once, before the forks
    import onnxruntime  # noqa: F401  # once, before the forks
    import torch  # noqa: F401  # once, before the forks

    with open(path) as file:
        cells = json.load(file)
    for cell in cells:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, json.dumps(_guarded(cell)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            told = pipe.read()
        os.waitpid(pid, 0)
        cell["found"], cell["why"] = json.loads(told.decode()) if told else ("fails", "the process died")
    print(json.dumps(cells))


def _guarded(cell):
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _measure(cell)
    except _NotEquivalent as error:
        return "wrong", str(error)
    except Exception as error:
        return "fails", f"{type(error).__name__}: {error}"[:300]


def _measure(cell):
    import numpy as np
    import onnx
    import onnxruntime

    case, variant = _variant(cell)
    inputs = [_values(case, index, item) for index, item in enumerate(variant.inputs)]
    truths = [_truth(case, variant, item) for item in inputs]
    content = _export(case, variant, cell, inputs[0])
    model = onnx.load_model_from_string(content)
    if variant.surgery is not None:
        model = variant.surgery(model)
        content = model.SerializeToString()
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if "graph_optimization_level" in variant.session:
        level = variant.session["graph_optimization_level"]
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(level)
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    for item, truth in zip(inputs, truths):
        outputs = session.run(None, _feeds(names, variant, item))
        if len(outputs) != len(truth):
            return "wrong", f"{len(outputs)} outputs for {len(truth)}"
        for want, got in zip(truth, outputs):
            if want.shape != got.shape or want.dtype != got.dtype:
                return "wrong", f"{got.shape} {got.dtype} for {want.shape} {want.dtype}"
            rtol = case.rtol if case.rtol is not None else {"float16": 1e-2}.get(str(want.dtype), 1e-4)
            atol = case.atol if case.atol is not None else {"float16": 1e-3}.get(str(want.dtype), 1e-5)
            exact = want.dtype.kind in "iub"
            same = (want == got).all() if exact else np.allclose(want, got, rtol=rtol, atol=atol, equal_nan=True)
            if not same:
                return "wrong", "values"
    return "works", ""


def _variant(cell):
    from harness.worker.case import Case, variants

    for path in sorted((ROOT / "cases").glob("*.py")):
        name = "plain_check_" + path.stem
        spec = importlib.util.spec_from_file_location(name, str(path))
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Case) and item.__module__ == name:
                if not item.__name__.startswith("_") and item.case_id() == cell["case"]:
                    return item, variants(item)[cell["variant"]]
    raise LookupError(cell["case"])


def _values(case, index, item):
    from harness.worker.tensors import materialise

    return [materialise(part, f"{case.case_id()}/{index}/{place}") for place, part in enumerate(item)]


def _tensors(item):
    import numpy as np
    import torch

    if isinstance(item, np.ndarray):
        return torch.from_numpy(item.copy())
    if isinstance(item, (list, tuple)):
        return type(item)(_tensors(part) for part in item)
    return {key: _tensors(part) for key, part in item.items()} if isinstance(item, dict) else item


def _module(case, function):
    import torch

    torch.manual_seed(0)
    function = _as_forward(function)
    module = type(case.__name__, (torch.nn.Module,), {"forward": function, "__module__": case.__module__})()
    case.setup(module)
    return module.eval()


def _as_forward(function):
    """Before 1.8 scripting calls a method what its ``def`` says, and the exporter wants one that is called forward."""
    import inspect
    import textwrap

    import torch

    if function.__name__ == "forward" or tuple(map(int, torch.__version__.split(".")[:2])) >= (1, 8):
        return function
    text = textwrap.dedent(inspect.getsource(function))
    text = text[text.index("def ") :].replace("def {}(".format(function.__name__), "def forward(", 1)
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    made = {}
    exec(compile(text, file.name, "exec"), function.__globals__, made)
    return made["forward"]


def _truth(case, variant, item):
    import torch

    plain = variant.forward if variant.changes_values else _plain_forward(case)
    with torch.no_grad():
        if case.reference is not None:
            found = case.reference(_module(case, _plain_forward(case)), *_tensors(tuple(item)))
        else:
            found = _module(case, plain)(*_tensors(tuple(item)))
        mine = _flat(_module(case, variant.forward)(*_tensors(tuple(item))))
    truth = _flat(found)
    if not variant.changes_values and variant.name != "plain":
        import numpy as np

        # a fix that computes something else is no fix: the dataset calls that a mismatch in eager
        rtol = 1e-3 if case.rtol is None else case.rtol
        atol = 1e-4 if case.atol is None else case.atol
        for want, got in zip(truth, mine):
            if want.shape != got.shape or not np.allclose(want, got, rtol=rtol, atol=atol, equal_nan=True):
                raise _NotEquivalent("the fix computes something else")
    return mine if variant.changes_values else truth


class _NotEquivalent(Exception):
    pass


def _plain_forward(case):
    return case.forward


def _flat(output):
    import numpy as np

    if output is None:
        return []
    if isinstance(output, (list, tuple)):
        return [array for part in output for array in _flat(part)]
    if isinstance(output, dict):
        return [array for part in output.values() for array in _flat(part)]
    return [np.array(output.detach().numpy())] if hasattr(output, "detach") else [np.asarray(output)]


def _export(case, variant, cell, item):
    import torch

    exporter = (variant.fix.exporter if variant.fix else "") or cell["exporter"]
    opset = cell["opset"]
    if opset is not None:
        opset = max(int(opset), (variant.fix.opset if variant.fix else None) or 0)
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    module, args = _module(case, variant.forward), tuple(_tensors(tuple(item)))
    if variant.prepare is not None:
        module = variant.prepare(module, args)
    names = list(variant.forward.__code__.co_varnames[1 : 1 + len(args)]) if case.named else []
    options = {}
    if opset is not None and version >= (1, 1):
        options["opset_version"] = opset
    if names and exporter != "default":
        options["input_names"] = names
    if case.output_names and exporter != "default":
        options["output_names"] = list(case.output_names)
    scripted = exporter == "torchscript-script"
    if scripted and not isinstance(module, torch.jit.ScriptModule):
        module = torch.jit.script(module)
    if version < (1, 10) and isinstance(module, torch.jit.ScriptModule):
        options["example_outputs"] = _module(case, variant.forward)(*args)
    if variant.dynamic and version >= (1, 2):
        if exporter == "dynamo" and version >= (2, 5):
            options["dynamic_shapes"] = {name: _dims(variant.dynamic.get(name)) for name in names}
        elif exporter != "dynamo":
            options["dynamic_axes"] = dict(variant.dynamic)
            options["input_names"] = names
    if exporter.startswith("torchscript") and version >= (2, 5):
        options["dynamo"] = False
    with variant.patch(opset) if variant.patch is not None else _nothing():
        if exporter == "dynamo" and version < (2, 5):
            return _dynamo_export(variant, module, args)
        if exporter == "dynamo":
            options.update(variant.options(), dynamo=True)
            return torch.onnx.export(module, args, **options).model_proto.SerializeToString()
        options.update(variant.options())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            torch.onnx.export(module, args, path, **options)
            import onnx

            return onnx.load(path).SerializeToString()


@contextlib.contextmanager
def _nothing():
    yield


def _dynamo_export(variant, module, args):
    import torch

    options = dict(variant.options())
    if variant.dynamic:
        options["export_options"] = torch.onnx.ExportOptions(dynamic_shapes=True)
    return torch.onnx.dynamo_export(module, *args, **options).model_proto.SerializeToString()


def _dims(axes):
    import torch

    if not axes:
        return None
    anything = getattr(torch.export.Dim, "DYNAMIC", None)
    return {axis: anything if anything is not None else torch.export.Dim("axis_%d" % axis) for axis in axes}


def _feeds(names, variant, item):
    import numpy as np

    arguments = variant.forward.__code__.co_varnames[1 : 1 + len(item)]
    by_name = {}
    for name, value in zip(arguments, item):
        if isinstance(value, (np.ndarray, int, float)):
            dtype = "float32" if isinstance(value, float) else None
            by_name[name] = np.asarray(value, dtype=dtype)
    if all(name in by_name for name in names):
        return {name: by_name[name] for name in names}
    flat = [value for part in item for value in _leaves(part)]
    return dict(zip(names, flat if len(names) <= len(flat) else by_name.values()))


def _leaves(item):
    import numpy as np

    if isinstance(item, (list, tuple)):
        return [leaf for part in item for leaf in _leaves(part)]
    if isinstance(item, dict):
        return [leaf for part in item.values() for leaf in _leaves(part)]
    return [item] if isinstance(item, np.ndarray) else []


if __name__ == "__main__":
    sys.exit(inside(sys.argv[2]) if sys.argv[1:2] == ["--inside"] else main())
