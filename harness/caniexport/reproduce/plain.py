"""A cell by hand, from eager to compared, by the shortest code that does it: it imports nothing of ours.

The audit measures published cells by it, and a script of `caniexport reproduce` is one case with what it uses of it.
Python 3.7, numpy, torch, onnx and onnxruntime alone.
"""

import contextlib
import importlib
import json
import os
import re
import select
import signal
import tempfile
import time
import zlib
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import onnx
import onnxruntime
import torch

#: rtol and atol; other types are exact
TOLERANCES = {
    "float16": (1e-2, 1e-3),
    "bfloat16": (2e-2, 1e-2),
    "float32": (1e-4, 1e-5),
    "float64": (1e-6, 1e-8),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-6, 1e-8),
}
OPSET_REFUSED = re.compile(
    r"[Uu]nsupported (ONNX )?opset|nsupported onnx_opset_version|opset_version.{0,40}(not |un)supp"
)


class PlainCell(NamedTuple):
    """What is measured: a module, the names of its arguments, its input sets (the first is exported, all are run).

    ``export`` is one of the functions below. A fix has the module of the ``failing`` form, whose outputs it must equal.
    """

    case: str
    module: Callable[[], Any]
    names: Sequence[str]
    inputs: Sequence[Sequence[Any]]
    export: Callable[..., bytes]
    opset: Optional[int] = None
    failing: Optional[Callable[[], Any]] = None
    reference: Optional[Callable[..., Any]] = None
    changes_values: bool = False
    named: bool = True
    output_names: Sequence[str] = ()
    dynamic: Mapping[str, Any] = {}
    options: Union[Mapping[str, Any], Callable[[], Mapping[str, Any]]] = {}
    prepare: Optional[Callable[..., Any]] = None
    patch: Optional[Callable[..., Any]] = None
    route: Callable[..., bytes] = bytes
    surgery: Optional[Callable[..., Any]] = None
    session: Mapping[str, Any] = {}
    provider: str = "CPUExecutionProvider"
    rtol: Optional[float] = None
    atol: Optional[float] = None
    by_largest: bool = False
    compares_values: bool = True
    shows_checker: bool = False


class End(NamedTuple):
    """Where and how a cell ended; ``errors`` are kind and words of an exception and of its causes."""

    stage: str
    status: str
    errors: Sequence[Sequence[str]] = ()


#: what is installed does not have what the case is about
CannotBuild: Any = type("CannotBuild", (Exception,), {})


class Request(NamedTuple):
    """An export, for a case that has its own way to the file."""

    module: Any
    args: Tuple[Any, ...]
    opset: Optional[int]
    input_names: Tuple[str, ...]
    dynamic: Mapping[str, Any]


class Wrong(Exception):
    """It runs, and gives something else."""


def report(end: End, measured: str) -> int:
    """Print how a cell ended; 0 where that is what was measured, else 1."""
    found = "{} at {}".format(end.status, end.stage)
    text = "\ncaused by ".join(": ".join(filter(None, error)) for error in end.errors)
    print("\n{}{}".format(found, "\n" + text if text else ""))
    print("\nmeasured was: {} ({})".format(measured, "the same" if found == measured else "DIFFERENT"))
    return 0 if found == measured else 1


def apart(make: Callable[[], PlainCell], seconds: float) -> End:
    """How a cell ends in a process of its own, which is ended with everything that it started."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(read)
        end = measure(make, lambda stage: os.write(write, (json.dumps([stage]) + "\n").encode()))
        os.write(write, (json.dumps(end) + "\n").encode())
        os._exit(0)
    os.close(write)
    text, late = listen(read, time.time() + seconds)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL if late else 0)
        os.killpg(pid, signal.SIGKILL)
    code = os.waitpid(pid, 0)[1]
    last = ([["eager"]] + [json.loads(line) for line in text.decode().split("\n")[:-1]])[-1]
    if len(last) > 1:
        return End(*last)
    if late:
        return End(last[0], "timeout", [["Timeout", ""]])
    name = signal.Signals(os.WTERMSIG(code)).name if os.WIFSIGNALED(code) else "exit {}".format(os.WEXITSTATUS(code))
    return End(last[0], "crash", [[name, ""]])


def listen(pipe: int, deadline: float) -> Tuple[bytes, bool]:
    """What a process wrote until it ended or wrote its end, and whether it was late."""
    text = b""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while True:
            left = deadline - time.time()
            if left <= 0 or not select.select([file], [], [], left)[0]:
                return text, True
            part = file.read(65536)
            text += part
            # a stage is a list of one
            if not part or (text.endswith(b"\n") and b", " in text.split(b"\n")[-2]):
                return text, False


def measure(make: Callable[[], PlainCell], begin: Callable[[str], Any]) -> End:
    """Go through the stages of a cell, each of which is begun by its name; how it ended."""
    at = ["eager"]

    def enter(stage: str) -> None:
        at[0] = stage
        begin(stage)

    try:
        enter("eager")
        text = stages(make(), enter)
        return End("done", "degraded" if text else "pass", [["", text]] if text else [])
    except Wrong as error:
        return End(at[0], "mismatch", [["", str(error)]])
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        chain = [error]
        while chain[-1].__cause__ is not None and chain[-1].__cause__ not in chain:
            chain.append(chain[-1].__cause__)
        status = "oom" if isinstance(error, MemoryError) else "fail"
        status = "skip" if type(error).__name__ == "CannotBuild" else status
        refused = at[0] == "export" and OPSET_REFUSED.search(words(error))
        return End(at[0], "unsupported" if refused else status, [[type(one).__name__, words(one)] for one in chain])


def words(error: BaseException) -> str:
    """An exception's own words."""
    try:
        return str(error).strip().encode("utf-8", "backslashreplace").decode()[:20000]
    except Exception:
        return ""


def stages(cell: PlainCell, begin: Callable[[str], None]) -> str:
    """From eager to compared; returns what is not as it was asked for."""
    truths, example = eager(cell)
    begin("export")
    content = export(cell, example)
    begin("check")
    model = onnx.load_model_from_string(content)
    if cell.surgery is not None:
        model = cell.surgery(model)
    opset = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), None)
    show(cell, model, opset)
    begin("load")
    session = load(model.SerializeToString(), cell)
    found, memory = [], []
    for index, item in enumerate(cell.inputs):
        begin("run")
        print("    input set {}".format(index))
        feeds = feed(session, cell, item)
        found.append(session.run(None, feeds))
        memory += memory_of_inputs(index, found[-1], feeds)
    begin("compare")
    hold(cell, truths, found, "onnxruntime")
    if memory:
        raise Wrong("\n".join(memory))
    return "" if cell.opset in (None, opset) else "opset {} asked for, the file has {}".format(cell.opset, opset)


def draw(seed: str, dtype: str, shape: Sequence[int], low: float, high: float) -> Any:
    """The values that were measured: numpy keeps this stream the same on every release."""
    stream = np.random.RandomState(zlib.crc32(seed.encode()))
    if dtype == "bool":
        return stream.randint(0, 2, size=shape).astype(dtype)
    if np.dtype(dtype).kind in "iu":
        return stream.randint(int(low), int(high), size=shape).astype(dtype)
    return stream.uniform(low, high, size=shape).astype(dtype)


def build(cell: PlainCell, make: Callable[[], Any]) -> Any:
    """A module with parameters that do not depend on the release."""
    module = make()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dtype.is_floating_point:
                values = draw("{}:{}".format(cell.case, name), "float32", tuple(parameter.shape), -0.5, 0.5)
                parameter.copy_(torch.from_numpy(np.asarray(values)))
    return module.eval()


def tensors(item: Any) -> Any:
    """Arrays as torch's tensors, each a copy, whatever they are nested in."""
    if isinstance(item, np.ndarray):
        return torch.from_numpy(item.copy())
    if isinstance(item, (list, tuple)):
        return type(item)(tensors(part) for part in item)
    return {key: tensors(part) for key, part in item.items()} if isinstance(item, dict) else item


def eager(cell: PlainCell) -> Tuple[List[List[Any]], Any]:
    """The true outputs of each input set, and what the module gives for the first. A fix must give what is true."""

    def call(make: Callable[[], Any], item: Sequence[Any]) -> Any:
        module = build(cell, make)
        torch.manual_seed(0)
        with torch.no_grad():
            return module(*tensors(tuple(item)))

    mine = [call(cell.module, item) for item in cell.inputs]
    outputs = truths = [flat(item) for item in mine]
    if cell.reference is not None:
        make = cell.failing or cell.module
        with torch.no_grad():
            truths = [flat(cell.reference(build(cell, make), *tensors(tuple(item)))) for item in cell.inputs]
    elif cell.failing is not None:
        truths = [flat(call(cell.failing, item)) for item in cell.inputs]
    if cell.changes_values:
        return outputs, mine[0]
    if cell.failing is not None:
        hold(cell, truths, outputs, "the fix")
    return truths, mine[0]


def flat(output: Any) -> List[Any]:
    """Outputs as arrays, in the order in which exporters write them."""
    if output is None:
        return []
    if isinstance(output, (list, tuple, dict)):
        return [array for part in (output.values() if isinstance(output, dict) else output) for array in flat(part)]
    return [np.array(output.detach().numpy())] if hasattr(output, "detach") else [np.asarray(output)]


def export(cell: PlainCell, example: Any) -> bytes:
    """The file, by the call that this release has."""
    module, args = build(cell, cell.module), tuple(tensors(tuple(cell.inputs[0])))
    if cell.prepare is not None:
        module = cell.prepare(module, args)
    if cell.patch is None:
        return cell.export(cell, module, args, example)
    with cell.patch(usual_opset() if cell.opset is None else cell.opset):
        return cell.export(cell, module, args, example)


def by_torchscript(cell: PlainCell, module: Any, args: Tuple[Any, ...], example: Any) -> bytes:
    """The TorchScript exporter: it traces a module, and takes one that is scripted as it is."""
    options = with_names(cell)
    if cell.opset is not None and version() >= (1, 1):
        options["opset_version"] = cell.opset
    if cell.dynamic and version() >= (1, 2):
        options["dynamic_axes"] = axes(cell)
    if version() >= (2, 5):
        options["dynamo"] = False
    if isinstance(module, getattr(torch.jit, "ScriptModule", ())) and version() < (1, 10):
        options["example_outputs"] = example
    options.update(own_options(cell))
    return to_file(lambda path: torch.onnx.export(module, args, path, **options))


def by_script(cell: PlainCell, module: Any, args: Tuple[Any, ...], example: Any) -> bytes:
    """The TorchScript exporter, of a module that is scripted first."""
    if not isinstance(module, getattr(torch.jit, "ScriptModule", ())):
        module = torch.jit.script(module)
    return by_torchscript(cell, module, args, example)


def by_default(cell: PlainCell, module: Any, args: Tuple[Any, ...], _example: Any) -> bytes:
    """The bare call. Dynamic axes are part of a case, so they are given."""
    options = own_options(cell)
    if cell.dynamic and version() >= (1, 2):
        options.update(input_names=list(cell.names) if cell.named else [], dynamic_axes=axes(cell))
    return to_file(lambda path: torch.onnx.export(module, args, path, **options))


def by_dynamo(cell: PlainCell, module: Any, args: Tuple[Any, ...], _example: Any) -> bytes:
    """The dynamo exporter, from 2.5 on."""
    options = dict(with_names(cell), dynamo=True)
    if cell.opset is not None:
        options["opset_version"] = cell.opset
    if cell.dynamic:
        options["dynamic_shapes"] = {name: dims(cell.dynamic.get(name)) for name in cell.names}
    options.update(own_options(cell))
    return to_bytes(torch.onnx.export(module, args, **options))


def by_dynamo_export(cell: PlainCell, module: Any, args: Tuple[Any, ...], _example: Any) -> bytes:
    """The dynamo exporter of 2.1 to 2.4: one opset, and no names."""
    options = own_options(cell)
    if cell.dynamic:
        options["export_options"] = torch.onnx.ExportOptions(dynamic_shapes=True)
    return to_bytes(torch.onnx.dynamo_export(module, *args, **options))


def by_route(cell: PlainCell, module: Any, args: Tuple[Any, ...], _example: Any) -> bytes:
    """The case's own way to the file."""
    return cell.route(Request(module, args, cell.opset, tuple(cell.names), cell.dynamic))


def to_file(call: Callable[[str], Any]) -> bytes:
    """The file that an export call writes to a path, with its weights in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        call(path)
        if len(os.listdir(folder)) > 1:
            return bytes(onnx.load(path).SerializeToString())
        with open(path, "rb") as file:
            return file.read()


def to_bytes(program: Any) -> bytes:
    """The file of what dynamo gives."""
    return bytes(program.model_proto.SerializeToString())


def own_options(cell: PlainCell) -> Dict[str, Any]:
    """The case's own keyword arguments of the export call."""
    return dict(cell.options() if callable(cell.options) else cell.options)


def with_names(cell: PlainCell) -> Dict[str, Any]:
    """The names that the export call is given."""
    named = {"input_names": list(cell.names) if cell.named else [], "output_names": list(cell.output_names)}
    return {name: value for name, value in named.items() if value}


def axes(cell: PlainCell) -> Dict[str, Any]:
    """Dynamic axes as the TorchScript exporter takes them."""
    return {name: given if isinstance(given, list) else dict(given) for name, given in cell.dynamic.items()}


def dims(given: Any) -> Optional[Dict[int, Any]]:
    """The dynamic axes of one argument for torch.export."""
    if not given:
        return None
    named = given if isinstance(given, dict) else {axis: "axis_{}".format(axis) for axis in given}
    anything = getattr(torch.export.Dim, "DYNAMIC", None)
    return {axis: anything if anything is not None else torch.export.Dim(name) for axis, name in named.items()}


def version() -> Tuple[int, ...]:
    """(2, 8) of the torch that is there."""
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def usual_opset() -> Optional[int]:
    """The opset of a call that names none."""
    if version() < (1, 2):
        return None
    module = "torch.onnx.symbolic_helper" if version() < (1, 12) else "torch.onnx._constants"
    found = vars(importlib.import_module(module))
    names = ("_default_onnx_opset_version", "onnx_default_opset", "ONNX_DEFAULT_OPSET")
    return next((int(found[name]) for name in names if name in found), None)


def show(cell: PlainCell, model: Any, opset: Optional[int]) -> None:
    """Print what is in the file, and what onnx's checker says of it: the runtime decides whether it runs."""
    nodes = " ".join(node.op_type for node in model.graph.node)
    print("    opset {}, IR version {}: {}".format(opset, model.ir_version, nodes))
    if not cell.shows_checker:
        return
    try:
        onnx.checker.check_model(model, full_check=True)
    except TypeError:
        return  # before onnx 1.6 there is no strict check
    except Exception as error:
        print("    onnx's checker refuses the file: {}".format(error))


def load(content: bytes, cell: PlainCell) -> Any:
    """A session on one thread."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    for name, value in cell.session.items():
        if name == "graph_optimization_level":
            value = onnxruntime.GraphOptimizationLevel(value)
        setattr(settings, name, value)
    session = onnxruntime.InferenceSession(content, settings, providers=[cell.provider])
    if cell.provider != "CPUExecutionProvider" and session.get_providers()[0] != cell.provider:
        raise RuntimeError("the session runs on {}".format(session.get_providers()))
    return session


def feed(session: Any, cell: PlainCell, item: Sequence[Any]) -> Dict[str, Any]:
    """Arrays by the file's names: by name where it has the module's, else by position, first without numbers."""
    names = [one.name for one in session.get_inputs()]
    named = {}
    for name, value in zip(cell.names, item):
        if isinstance(value, (np.ndarray, int, float)):
            named[name] = np.asarray(value, dtype="float32" if isinstance(value, float) else None)
    if all(name in named for name in names):
        return {name: named[name] for name in names}
    for arrays in (leaves(list(item)), list(named.values())):
        if len(names) <= len(arrays):
            return dict(zip(names, arrays))
    text = "the file takes {} input(s) ({}), the module {}"
    raise ValueError(text.format(len(names), ", ".join(names), len(leaves(list(item)))))


def leaves(item: Any) -> List[Any]:
    """The arrays in an argument."""
    if isinstance(item, (list, tuple, dict)):
        return [leaf for part in (item.values() if isinstance(item, dict) else item) for leaf in leaves(part)]
    return [item] if isinstance(item, np.ndarray) else []


def memory_of_inputs(index: int, outputs: Sequence[Any], feeds: Mapping[str, Any]) -> List[str]:
    """Outputs that are an input's memory and do not keep it alive: right only as long as the caller keeps it."""
    found = []
    for position, output in enumerate(outputs):
        for name, array in feeds.items():
            owner = output if isinstance(output, np.ndarray) and output.size else None
            if owner is None or not np.may_share_memory(output, array):
                continue
            while owner is not None and owner is not array:
                owner = getattr(owner, "base", None)
            if owner is None:
                text = "input set {}, output {}: it is the memory of input {}, and goes with it"
                found.append(text.format(index, position, name))
    return found


def hold(cell: PlainCell, truths: Sequence[Any], found: Sequence[Any], who: str) -> None:
    """Raise :class:`Wrong` where outputs are not those that are true; of random ones dtype and shape are."""
    problems = []
    for index, (truth, outputs) in enumerate(zip(truths, found)):
        if len(truth) != len(outputs):
            text = "input set {}, {} output(s) expected, {} gave {}"
            problems.append(text.format(index, len(truth), who, len(outputs)))
            continue
        for position, (want, got) in enumerate(zip(truth, map(np.asarray, outputs))):
            name = "input set {}, output {}".format(index, position)
            problems += ["{}: {}".format(name, text) for text in differences(cell, want, got, who)]
    if problems:
        raise Wrong("\n".join(problems))


def differences(cell: PlainCell, want: Any, got: Any, who: str) -> List[str]:
    """In what an output is not the true one; infinities and NaN agree with themselves."""
    problems = []
    if want.dtype != got.dtype:
        problems.append("dtype {} expected, {} gave {}".format(want.dtype, who, got.dtype))
    if want.shape != got.shape:
        return problems + ["shape {} expected, {} gave {}".format(list(want.shape), who, list(got.shape))]
    if not cell.compares_values or not want.size:
        return problems
    rtol, atol = TOLERANCES.get(str(want.dtype), (0.0, 0.0))
    if rtol:
        rtol, atol = (rtol if cell.rtol is None else cell.rtol), (atol if cell.atol is None else cell.atol)
    with np.errstate(all="ignore"):
        wide = "complex128" if np.iscomplexobj(want) else "float64"
        left, right = want.astype(wide), got.astype(wide)
        same = (want == got) | (np.isnan(left) & np.isnan(right))
        error = np.where(same, 0.0, np.abs(left - right))
        error = np.where(np.isfinite(error), error, np.finfo("float32").max)
        size = np.where(np.isfinite(np.abs(left)), np.abs(left), 0.0)
        if cell.by_largest:
            atol = max(atol, rtol / 10 * float(np.max(size)))
        bad = ~same & ~(error <= atol + rtol * size)
    if bad.any():
        at = np.unravel_index(int(np.argmax(np.where(bad, error, -1.0))), want.shape)
        where = "[" + ", ".join(str(int(part)) for part in at) + "]"
        text = "{} of {} values differ, most at {}: expected {!s}, {} gave {!s}"
        problems.append(text.format(int(bad.sum()), want.size, where, want[at], who, got[at]))
    return problems
