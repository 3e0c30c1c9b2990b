"""What a cell leaves behind in its process reaches no other case: every kind of state that anybody has thought of.

Each leak is a case of its own, measured before two innocent ones in the same child: one that is right and must pass,
and one that is wrong and must be a mismatch.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from textwrap import indent

import pytest
from mini import runner

pytestmark = pytest.mark.measures

VERSION = "91.0.0"

#: what each leak does in the forward of its case, before the exporter sees it
LEAKS = {
    "files-limit": "resource.setrlimit(resource.RLIMIT_NOFILE, (12, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "file-size-limit": "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))",
    "data-limit": "resource.setrlimit(resource.RLIMIT_DATA, (1 << 20, resource.getrlimit(resource.RLIMIT_DATA)[1]))",
    "warn": "warnings.warn = refuse",
    "warnings-are-errors": "warnings.simplefilter('error')",
    "pipes-do-not-wait": "[suppressed(os.set_blocking, number, False) for number in range(64)]",
    "json-dumps": "json.dumps = refuse",
    "json-loads": "json.loads = json.decoder.JSONDecoder.decode = refuse",
    "onnx-load": "onnx.load_model_from_string = refuse",
    "onnx-checker": "onnx.checker.check_model = refuse",
    "onnx-module": "sys.modules['onnx'] = types.ModuleType('onnx')",
    "session": "onnxruntime.InferenceSession = refuse",
    "session-run": "onnxruntime.InferenceSession.run = lambda self, names, feeds: [list(feeds.values())[0] + 7]",
    "session-inputs": "onnxruntime.InferenceSession.get_inputs = refuse",
    "kernels": "onnxruntime.KERNELS['Add'] = lambda a, b: a",
    "rules": "sys.modules['torch.onnx.symbolic'].RULES.pop('add', None)",
    "numpy-kernels": "sys.modules['torch.tensor'].KERNELS['add'] = lambda a, b: a",
    "compare": "compare.compare = lambda *a: compare.Difference('', 0.0, 0.0, 1.0, 1.0)",
    "compare-code": "compare.compare.__code__ = agrees.__code__",
    "compare-errors": "compare._errors.__code__ = (lambda want, got, rtol, atol: refuse()).__code__",
    "tolerances": "compare.TOLERANCES['float32'] = (10.0, 10.0)",
    "no-tolerances": "compare.TOLERANCES.clear()",
    "messages": "sys.modules['caniexport.worker.cell'].describe = refuse",
    "measuring": "sys.modules['caniexport.worker.zygote'].measure = refuse",
    "stages": "os.pwrite = refuse",
    "write": "os.write = refuse",
    "replace": "os.replace = refuse",
    "process-number": "os.getpid = lambda: 1",
    "clock": "time.perf_counter = refuse",
    "monotonic": "time.monotonic = refuse",
    "builtins": "builtins.sorted = builtins.isinstance = refuse",
    "open": "builtins.open = refuse",
    "signal": "signal.signal(signal.SIGALRM, refuse), signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)",
    "blocked-signals": "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})",
    "recursion": "sys.setrecursionlimit(90)",
    "no-collector": "gc.disable()",
    "umask": "os.umask(0o777)",
    "folder": "os.chdir(tempfile.mkdtemp())",
    "folder-gone": "(os.chdir(tempfile.mkdtemp()), os.rmdir(os.getcwd()))",
    "environment": "os.environ.clear()",
    "temporary-folder": "tempfile.tempdir = '/nowhere'",
    "random": "np.random.seed(7), random.seed(7)",
    "errors-of-numpy": "np.seterr(all='raise')",
    "numpy": "np.asarray = np.isnan = refuse",
    "numpy-random": "np.random.RandomState = refuse",
    "logging": "logging.disable(logging.CRITICAL)",
    "thread": "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
    "busy-thread": "threading.Thread(target=busy, daemon=True).start()",
    "open-files": "kept.extend(os.open('/dev/null', os.O_RDONLY) for _ in range(500))",
    "closed-output": "(os.close(1), os.close(2))",
    "stdout": "sys.stdout.close()",
    "no-stderr": "setattr(sys, 'stderr', None)",
    "trace": "sys.settrace(lambda *a: refuse())",
    "profile": "sys.setprofile(lambda *a: None)",
    "import-hook": "sys.meta_path.insert(0, Hook())",
    "path": "sys.path.clear()",
    "export": "torch.onnx.export = refuse",
    "tensor": "torch.Tensor.__add__ = refuse",
    "module-class": "torch.nn.Module.eval = refuse",
    "layer-class": "torch.nn.Scale.forward = refuse",
    "module-call": "torch.nn.Module.__call__ = refuse",
    "zip": "zipfile.ZipFile.writestr = refuse",
    "signature": "inspect.signature = refuse",
    "hash": "hashlib.sha256 = refuse",
    "fork": "os.fork()",
    "process": "os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '1000009')",
    "ignored-children": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "exit-hook": "atexit.register(refuse)",
    "autocast": "torch.set_autocast_enabled('cpu', True)",
    "autocast-type": "torch.set_autocast_dtype('cpu', 'bfloat16')",
    "operator-kernel": "torch.library.impl('relu', np.negative)",
    "module-hook": "torch.nn.register_module_forward_hook(lambda module, args, result: result + 1)",
    "class-of-the-file": "Triples.times = 4",
    "list-of-the-file": "kept.append('left behind')",
    "deepcopy": "copy.deepcopy = refuse",
    "math": "math.sqrt = refuse",
    "constant": "string.digits = 'left behind'",
    "code": "textwrap.dedent.__code__ = (lambda text: 'left behind').__code__",
    "defaults": "textwrap.indent.__defaults__ = (lambda line: False,)",
    "keyword-defaults": "shlex.join.__kwdefaults__ = {'left': 'behind'}",
    "print-options": "np.set_printoptions(precision=1)",
    "decimal-context": "setattr(decimal.getcontext(), 'prec', 3)",
    "abstract-class": "collections.abc.Sized.register(int)",
    "priority": "os.nice(1)",
    "profile-timer": "signal.setitimer(signal.ITIMER_PROF, 0.5)",
    "virtual-timer": "signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)",
}

_HEAD = '''
"""Leaks, and innocent cases behind each of them."""

import atexit, builtins, collections.abc, copy, decimal, gc, hashlib, inspect, json, logging, math, os, random, resource
import shlex, signal, string, sys, tempfile, textwrap, threading, time, types, warnings, zipfile

import numpy as np
import onnx
import onnxruntime
import torch

from caniexport.worker import compare
from caniexport.model.case import Case
from caniexport.model.tensors import f32

kept = []


def refuse(*args, **kwargs):
    raise RuntimeError("left behind by another case")


def agrees(expected, actual, rtol, atol, who):
    return Difference("", 0.0, 0.0, 1.0, 1.0)


def suppressed(call, *args):
    try:
        call(*args)
    except OSError:
        pass


def busy():
    while True:
        np.seterr(all="ignore")
        time.sleep(0.001)


def works(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def seen():
    return {
        "autocast": torch.get_autocast_dtype("cpu"),
        "class": Triples.times,
        "list": len(kept),
        "constant": string.digits,
        "code": textwrap.dedent("  a"),
        "defaults": textwrap.indent("a", "- "),
        "keywords": shlex.join.__kwdefaults__,
        "print": str(np.array([0.123456])),
        "decimal": str(decimal.Decimal(1) / 3),
        "abstract": isinstance(1, collections.abc.Sized),
        "priority": os.nice(0),
    }


class Triples:
    times = 3


class Hook:
    def find_spec(self, name, path=None, target=None):
        refuse()


class _Traced(Case):
    sources = ("mini:leak",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(2),), (f32(2),))
'''
_CASES = '''
class Leak{number}(_Traced):
    """{name}"""

    def forward(self, x):
        if not torch.onnx.is_in_onnx_export():
{leak}
        return x + 1


class Right{number}(_Traced):
    """Passes, and notes what it sees of the process."""

    @staticmethod
    def facts(model):
        return seen()

    def setup(self):
        self.scale = torch.nn.Scale(2)

    def forward(self, x):
        works({seconds})
        return self.scale(x) + torch.relu(x) * Triples.times + int(copy.deepcopy(math.sqrt)(9))


class Wrong{number}(_Traced):
    """Is not what its reference says."""

    @staticmethod
    def reference(module, x):
        return module(x) + 1

    def forward(self, x):
        return x + 1
'''


def cases(leaks):
    """A case file with these leaks, by their statements."""
    parts = [
        _CASES.format(
            number=f"{number:02}", name=name, leak=indent(leak, " " * 12), seconds=0.6 if name.endswith("timer") else 0
        )
        for number, (name, leak) in enumerate(leaks.items())
    ]
    return _HEAD + "\n".join(parts)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """What is compared of each row by case and opset, of a run with all leaks in one file and through one zygote."""
    folder = tmp_path_factory.mktemp("leaks")
    python = ".".join(map(str, sys.version_info[:2]))
    table = runner.releases_file(folder, python, importlib.metadata.version("numpy"))
    (folder / "cases").mkdir()
    (folder / "cases" / "leaks.py").write_text(cases({"nothing": "pass", **LEAKS}), encoding="utf-8")
    environment = runner.environment(folder, VERSION)
    line = runner.command(environment, VERSION, folder / "cases", folder / "local", "--cell-timeout", "10")
    reply = subprocess.run(
        line, cwd=folder, env=runner.environ(table), capture_output=True, text=True, timeout=500, check=False
    )
    assert reply.returncode == 0, reply.stdout[-3000:]
    return {
        (row["case"], row["opset"]): (row["stage"], row["status"], row["max_abs_error"], row["attempts"], row["facts"])
        for row in runner.journal_rows(folder / "local")
    }


@pytest.mark.parametrize("number", range(len(LEAKS) + 1), ids=["nothing", *LEAKS])
def test_what_a_case_leaves_behind_reaches_no_other_case(rows, number):
    for opset in (7, 8, 9):
        assert rows[f"right-{number:02}", opset] == ("done", "pass", 0.0, 1, rows["right-00", 7][-1])
        assert rows[f"wrong-{number:02}", opset][:-1] == ("compare", "mismatch", 1.0, 1)


def test_every_cell_has_one_row(rows):
    assert {name for name, _ in rows if not name.startswith("canary")} == {
        f"{kind}-{number:02}" for kind in ("leak", "right", "wrong") for number in range(len(LEAKS) + 1)
    }
