"""One cell after the other by hand, each in a process of its own: a script for the Python of a measured environment.

``python plain.py CELLS.json FOUND.jsonl SECONDS``. Of the harness only what case files are written with is used
(``Case``, ``fix``, inputs as data; for torch's operators what makes their calls). Here the module is built, exported by
the call that its torch release has, loaded, run and compared, by the shortest code that does it. Python 3.7, numpy,
torch, onnx and onnxruntime alone.

A line of FOUND has the cell's number and ``stage``, ``status``, ``kind`` and ``text``: where and how it ended, and in
whose words. The innermost exception has them; for wrong values they are what is wrong (count, dtype, shape, values,
memory).
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import select
import signal
import sys
import tempfile
import textwrap
import time
import types
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

#: rtol and atol; other types are exact
TOLERANCES = {"float16": (1e-2, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-6, 1e-8)}
TOLERANCES.update(bfloat16=(2e-2, 1e-2), complex64=(1e-4, 1e-5), complex128=(1e-6, 1e-8))
_OPSET_REFUSED = re.compile(
    r"[Uu]nsupported (ONNX )?opset|nsupported onnx_opset_version|opset_version.{0,40}(not |un)supp"
)
_DYNAMO, _SCRIPT, _DEFAULT = "dynamo", "torchscript-script", "default"


class Wrong(Exception):
    """It runs, and gives something else; the text says what: count, dtype, shape, values, memory."""


def main(cells_file: str, found_file: str, seconds: float) -> None:
    """Each cell in turn; a second time with twice the seconds where it ran out of them."""
    import torch

    for name in ("onnx", "onnxruntime", "onnxscript", "torch._dynamo", "torch.onnx._internal.exporter"):
        with contextlib.suppress(ImportError):  # once, before the forks; old releases have not all of them
            importlib.import_module(name)
    with contextlib.suppress(ImportError):  # it is there where torch's operators are measured
        importlib.import_module("caniexport.worker.opinfo").entries()
    torch.set_num_threads(1)
    with open(cells_file) as file:
        cells = json.load(file)
    with open(found_file, "w") as file:
        for number, cell in enumerate(cells):
            found = apart(cell, seconds)
            if found["status"] == "timeout":
                found = apart(cell, seconds * 2)
            file.write(json.dumps(dict(found, number=number)) + "\n")
            file.flush()


def apart(cell: Dict[str, Any], seconds: float) -> Dict[str, Any]:
    """How a cell ends in a process of its own, which is ended with everything that it started."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(read)
        measure(cell, lambda **told: os.write(write, (json.dumps(told) + "\n").encode()))
        os._exit(0)
    os.close(write)
    text, late = listen(read, time.time() + seconds)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL if late else 0)
        os.killpg(pid, signal.SIGKILL)
    code = os.waitpid(pid, 0)[1]
    lines: List[Dict[str, Any]] = [json.loads(line) for line in text.decode().split("\n")[:-1]] or [{"stage": "eager"}]
    if "status" in lines[-1]:
        return lines[-1]
    if late:
        return dict(lines[-1], status="timeout", kind="Timeout", text="")
    kind = signal.Signals(os.WTERMSIG(code)).name if os.WIFSIGNALED(code) else "exit {}".format(os.WEXITSTATUS(code))
    return dict(lines[-1], status="crash", kind=kind, text=kind)


def listen(pipe: int, deadline: float) -> Tuple[bytes, bool]:
    """What a process said until it ended or told its end, and whether it was late."""
    text = b""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while True:
            left = deadline - time.time()
            if left <= 0 or not select.select([file], [], [], left)[0]:
                return text, True
            part = file.read(65536)
            text += part
            if not part or (b'"status"' in text and text.endswith(b"\n")):
                return text, False


def measure(cell: Dict[str, Any], tell: Callable[..., Any]) -> None:
    """Go through the stages of a cell and ``tell`` each; then how it ended."""
    at = {"stage": "eager"}

    def begin(stage: str) -> None:
        at["stage"] = stage
        tell(stage=stage)

    begin("eager")
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = stages(cell, begin)
        tell(stage="done", status="degraded" if text else "pass", kind="", text=text)
    except Wrong as error:
        tell(stage=at["stage"], status="mismatch", kind="", text=str(error))
    except BaseException as error:
        tell(stage=at["stage"], **ended(at["stage"], error))


def ended(stage: str, error: BaseException) -> Dict[str, str]:
    """Status and words of an exception: those of its innermost cause."""
    status, inner, seen = "fail", error, []
    while inner.__cause__ is not None and inner not in seen:
        seen.append(inner)
        inner = inner.__cause__
    if isinstance(error, MemoryError):
        status = "oom"
    elif stage == "export" and _OPSET_REFUSED.search(said(error)):
        status = "unsupported"
    return {"status": status, "kind": type(inner).__name__, "text": said(inner)[:20000]}


def said(error: BaseException) -> str:
    """An exception's own words."""
    try:
        return str(error).strip().encode("utf-8", "backslashreplace").decode()
    except Exception:
        return ""


def stages(cell: Dict[str, Any], begin: Callable[[str], None]) -> str:
    """From eager to done; returns what is not as it was asked for."""
    import onnx

    case, variant = find(cell["file"], cell["case"], cell["variant"])
    inputs = [values(case, index, item) for index, item in enumerate(variant.inputs)]
    truths, example = eager(case, variant, inputs)
    begin("export")
    opset = cell["opset"]
    if opset is not None:
        opset = max(opset, (variant.fix.opset if variant.fix else None) or 0)
    content = export(case, variant, cell["exporter"], opset, inputs[0], example)
    begin("check")
    model = onnx.load_model_from_string(content)
    if variant.surgery is not None:
        model = variant.surgery(model)
    begin("load")
    session = load(model.SerializeToString(), variant.session)
    found: List[List[Any]] = []
    memory: List[int] = []
    for item in inputs:
        begin("run")
        feeds = feed(session, variant, item)
        found.append(session.run(None, feeds))
        memory += [1 for output in found[-1] for array in feeds.values() if is_memory_of(output, array)]
    begin("compare")
    for truth, outputs in zip(truths, found):
        hold(variant, truth, outputs)
    if memory:
        raise Wrong("memory")
    has = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), None)
    return "" if opset is None or has == opset else "opset {} asked for, the file has {}".format(opset, has)


def find(path: str, case: str, variant: str) -> Tuple[Any, Any]:
    """A case's class out of its file, and one of its variants."""
    from caniexport.model.case import Case, variants

    name = "audited_" + os.path.basename(path)[:-3]
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = path
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec", dont_inherit=True), vars(module))
    for item in vars(module).values():
        ours = isinstance(item, type) and issubclass(item, Case) and item.__module__ == name
        if ours and not item.__name__.startswith("_") and item.case_id() == case:
            return item, variants(item)[variant]
    raise LookupError(case)


def values(case: Any, index: int, item: Any) -> List[Any]:
    """One input set as arrays and plain values."""
    from caniexport.model.tensors import materialise

    return [materialise(part, "{}/{}/{}".format(case.case_id(), index, place)) for place, part in enumerate(item)]


def tensors(item: Any) -> Any:
    """The same with torch's tensors, each a copy."""
    import numpy as np
    import torch

    if isinstance(item, np.ndarray):
        return torch.from_numpy(item.copy())
    if isinstance(item, (list, tuple)):
        return type(item)(tensors(part) for part in item)
    return {key: tensors(part) for key, part in item.items()} if isinstance(item, dict) else item


def module(case: Any, function: Callable[..., Any]) -> Any:
    """The case as a module with parameters between -1/2 and 1/2, which do not depend on the release."""
    import numpy as np
    import torch

    members = {"forward": as_forward(function), "__module__": case.__module__, "__doc__": case.__doc__}
    made = type(case.__name__, (torch.nn.Module,), members)()
    case.setup(made)
    drawn = np.random.RandomState(7)
    with torch.no_grad():
        for _, parameter in sorted(made.named_parameters()):
            if parameter.dtype.is_floating_point:
                parameter.copy_(torch.from_numpy(drawn.uniform(-0.5, 0.5, tuple(parameter.shape)).astype("float32")))
    return made.eval()


def as_forward(function: Any) -> Any:
    """Before 1.8 scripting calls a method what its ``def`` says, and the exporter wants one that is called forward."""
    if function.__name__ == "forward" or version() >= (1, 8):
        return function
    text = textwrap.dedent(inspect.getsource(function))
    text = text[text.index("def ") :].replace("def {}(".format(function.__name__), "def forward(", 1)
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    made: Dict[str, Any] = {}
    exec(compile(text, file.name, "exec"), function.__globals__, made)
    return made["forward"]


def version() -> Tuple[int, ...]:
    """(2, 8) of the torch that is there."""
    import torch

    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def eager(case: Any, variant: Any, inputs: List[List[Any]]) -> Tuple[List[List[Any]], Any]:
    """The true outputs of each input set, and what the variant gives for the first. A fix must give what is true."""
    mine = [called(case, variant.forward, item) for item in inputs]
    if case.reference is not None:
        truths = [flat(case.reference(module(case, case.forward), *tensors(tuple(item)))) for item in inputs]
    elif variant.kind == "plain" or variant.changes_values:
        truths = [flat(item) for item in mine]
    else:
        truths = [flat(called(case, case.forward, item)) for item in inputs]
    if variant.changes_values:
        return [flat(item) for item in mine], mine[0]
    if variant.kind != "plain":
        for truth, outputs in zip(truths, mine):
            hold(variant, truth, flat(outputs))
    return truths, mine[0]


def called(case: Any, function: Callable[..., Any], item: List[Any]) -> Any:
    """What a fresh module gives."""
    import torch

    made = module(case, function)
    torch.manual_seed(0)
    with torch.no_grad():
        return made(*tensors(tuple(item)))


def flat(output: Any) -> List[Any]:
    """Outputs as arrays, in the order in which exporters write them."""
    import numpy as np

    if output is None:
        return []
    if isinstance(output, (list, tuple, dict)):
        parts = output.values() if isinstance(output, dict) else output
        return [array for part in parts for array in flat(part)]
    return [np.array(output.detach().numpy())] if hasattr(output, "detach") else [np.asarray(output)]


def usual_opset() -> Optional[int]:
    """The opset of a call that names none."""
    if version() < (1, 2):
        return None
    module = "torch.onnx.symbolic_helper" if version() < (1, 12) else "torch.onnx._constants"
    found = vars(importlib.import_module(module))
    names = ("_default_onnx_opset_version", "onnx_default_opset", "ONNX_DEFAULT_OPSET")
    return next((int(found[name]) for name in names if name in found), None)


def export(case: Any, variant: Any, asked: str, opset: Optional[int], item: List[Any], example: Any) -> bytes:
    """The file, by the call that this release has."""
    import torch

    exporter = (variant.fix.exporter if variant.fix else "") or asked
    made, args = module(case, variant.forward), tuple(tensors(tuple(item)))
    if variant.prepare is not None:
        made = variant.prepare(made, args)
    names = list(inspect.signature(variant.forward).parameters)[1 : 1 + len(args)]
    patch = contextlib.nullcontext()
    if variant.patch is not None:
        patch = variant.patch(usual_opset() if opset is None else opset)
    with patch:
        if exporter == _DYNAMO and version() < (2, 5):
            options = dict(variant.options())
            if variant.dynamic:
                options["export_options"] = torch.onnx.ExportOptions(dynamic_shapes=True)
            return bytes(torch.onnx.dynamo_export(made, *args, **options).model_proto.SerializeToString())
        if exporter == _SCRIPT and not is_scripted(made):
            made = torch.jit.script(made)
        options = arguments(case, variant, exporter, opset, names, is_scripted(made) and example)
        if exporter == _DYNAMO:
            return bytes(torch.onnx.export(made, args, **options).model_proto.SerializeToString())
        return written(made, args, options)


def is_scripted(made: Any) -> bool:
    """Whether it is TorchScript's already."""
    import torch

    return isinstance(made, getattr(torch.jit, "ScriptModule", ()))


def arguments(
    case: Any, variant: Any, exporter: str, opset: Optional[int], names: List[str], example: Any
) -> Dict[str, Any]:
    """Keyword arguments of the export call; ``example`` are outputs where they are to be given."""
    bare, dynamic = exporter == _DEFAULT, bool(variant.dynamic) and version() >= (1, 2)
    said = {
        "opset_version": (opset, opset is not None and version() >= (1, 1)),
        "input_names": (names, bool(case.named and names)),
        "output_names": (list(case.output_names), bool(case.output_names)),
        "dynamo": (exporter == _DYNAMO, version() >= (2, 5)),
        "example_outputs": (example, example is not False and version() < (1, 10)),
    }
    options: Dict[str, Any] = {name: value for name, (value, wanted) in said.items() if wanted and not bare}
    axes = {name: axes if isinstance(axes, list) else dict(axes) for name, axes in variant.dynamic.items()}
    if dynamic and exporter == _DYNAMO:
        options["dynamic_shapes"] = {name: dims(variant.dynamic.get(name)) for name in names}
    elif dynamic and not bare:
        options["dynamic_axes"] = axes
    options.update(variant.options())
    if dynamic and bare:
        options.update(dynamic_axes=axes, input_names=names if case.named else [])
    return options


def dims(axes: Any) -> Optional[Dict[int, Any]]:
    """The dynamic axes of one argument for torch.export."""
    import torch

    if not axes:
        return None
    named = axes if isinstance(axes, dict) else {axis: "axis_{}".format(axis) for axis in axes}
    anything = getattr(torch.export.Dim, "DYNAMIC", None)
    return {axis: anything if anything is not None else torch.export.Dim(name) for axis, name in named.items()}


def written(made: Any, args: Tuple[Any, ...], options: Dict[str, Any]) -> bytes:
    """The file that an export call writes, with its weights in it."""
    import onnx
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(made, args, path, **options)
        if len(os.listdir(folder)) > 1:
            return bytes(onnx.load(path).SerializeToString())
        with open(path, "rb") as file:
            return file.read()


def load(content: bytes, options: Mapping[str, Any]) -> Any:
    """A session on one thread."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    for name, value in options.items():
        if name == "graph_optimization_level":
            value = onnxruntime.GraphOptimizationLevel(value)
        setattr(settings, name, value)
    return onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])


def feed(session: Any, variant: Any, item: List[Any]) -> Dict[str, Any]:
    """Arrays by the file's names: by name where it has the module's, else by position, first without numbers."""
    import numpy as np

    names = [one.name for one in session.get_inputs()]
    named = {}
    for name, value in zip(list(inspect.signature(variant.forward).parameters)[1:], item):
        if isinstance(value, (np.ndarray, int, float)):
            named[name] = np.asarray(value, dtype="float32" if isinstance(value, float) else None)
    if all(name in named for name in names):
        return {name: named[name] for name in names}
    for arrays in ([leaf for part in item for leaf in leaves(part)], list(named.values())):
        if len(names) <= len(arrays):
            return dict(zip(names, arrays))
    raise ValueError("the file takes {} input(s) ({})".format(len(names), ", ".join(names)))


def leaves(item: Any) -> List[Any]:
    """The arrays in an argument."""
    import numpy as np

    if isinstance(item, (list, tuple, dict)):
        return [leaf for part in (item.values() if isinstance(item, dict) else item) for leaf in leaves(part)]
    return [item] if isinstance(item, np.ndarray) else []


def is_memory_of(output: Any, array: Any) -> bool:
    """Whether an output is an input's memory that it does not keep alive: right only as long as the caller keeps it."""
    import numpy as np

    if not isinstance(output, np.ndarray) or not output.size or not np.may_share_memory(output, array):
        return False
    owner: Any = output
    while owner is not None and owner is not array:
        owner = getattr(owner, "base", None)
    return owner is None


def hold(variant: Any, truth: List[Any], outputs: List[Any]) -> None:
    """Raise :class:`Wrong` where outputs are not those that are true; of random ones dtype and shape are."""
    import numpy as np

    if len(truth) != len(outputs):
        raise Wrong("count")
    found = set()
    for want, got in zip(truth, map(np.asarray, outputs)):
        rtol, atol = TOLERANCES.get(str(want.dtype), (0.0, 0.0))
        if rtol:
            rtol = variant.rtol if variant.rtol is not None else rtol
            atol = variant.atol if variant.atol is not None else atol
        if variant.by_largest and want.size:
            atol = max(atol, rtol / 10 * float(np.max(np.where(np.isfinite(want), np.abs(want), 0))))
        if want.dtype != got.dtype:
            found.add("dtype")
        if want.shape != got.shape:
            found.add("shape")
        elif variant.compares_values and not close(want, got, rtol, atol):
            found.add("values")
    if found:
        raise Wrong(" ".join(sorted(found)))


def close(want: Any, got: Any, rtol: float, atol: float) -> bool:
    """Whether every value is within the tolerance of the true one; infinities and NaN agree with themselves."""
    import numpy as np

    if want.dtype.kind in "OSU":
        return bool((want == got).all())
    wide = "complex128" if "c" in (want.dtype.kind, got.dtype.kind) else "float64"
    with np.errstate(all="ignore"):
        near = np.isclose(got.astype(wide), want.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    return bool(((want == got) | near if rtol else want == got).all())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
