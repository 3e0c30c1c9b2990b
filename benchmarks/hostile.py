"""Hostile cases between innocent ones: does anything that a case does reach another case's row?

``python benchmarks/hostile.py [--release 2.8.0] [--only NAME ...] [--workers N] [--keep]``

Each hostile case stands between innocent ones that share its process where processes are shared. The innocent cases
are measured alone first; then all together. Said is every innocent row that is another one, every cell without a row,
every traceback, every process that is left, and a run that takes too long. Exit code 1 where there is any of these.
Without ``--release`` the packages are the stand-ins of ``tests/mini``; nothing is fetched but numpy and pytest.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from mini import runner  # noqa: E402  # the paths above come first
from mini.home import MARK, Home, make_home  # noqa: E402  # the paths above come first

Row = dict[str, Any]
#: what differs between two measurements of the same
VOLATILE = {*runner.VOLATILE, "attempts", "env_id"}
SECONDS = 3600

#: name -> what ``forward`` does before it adds its two inputs
FORWARD = {
    "replaces-open": "import builtins; builtins.open = lambda *a, **k: 1 / 0",
    "replaces-isinstance": "import builtins; builtins.isinstance = lambda a, b: True",
    "replaces-print-and-len": "import builtins; builtins.len = lambda a: 0",
    "replaces-json-encoder": "import json.encoder; json.encoder.JSONEncoder.encode = lambda *a: '{}'",
    "replaces-json-loads": "import json; json.loads = lambda *a, **k: {}",
    "replaces-os-write": "import os; os.write = lambda fd, data: len(data)",
    "replaces-os-read": "import os; os.read = lambda fd, count: b''",
    "replaces-select": "import select; select.select = lambda *a: ([], [], [])",
    "replaces-clock": "import time; time.time = time.monotonic = time.perf_counter = lambda: 0.0",
    "replaces-sha256": "import hashlib; hashlib.sha256 = hashlib.md5",
    "replaces-allclose": "import numpy; numpy.allclose = numpy.array_equal = numpy.isclose = lambda *a, **k: True",
    "replaces-asarray": "import numpy; numpy.asarray = lambda *a, **k: numpy.zeros(3)",
    "replaces-abs": "import numpy; numpy.abs = lambda a: a * 0",
    "replaces-tensor-numpy": "torch.Tensor.numpy = lambda self: __import__('numpy').zeros((2, 3), 'float32')",
    "replaces-tensor-add": "torch.Tensor.__add__ = lambda self, other: self",
    "replaces-module-call": "torch.nn.Module.__call__ = lambda self, *a: a[0]",
    "replaces-module-eval": "torch.nn.Module.eval = lambda self: None",
    "replaces-manual-seed": "torch.manual_seed = lambda seed: 1 / 0",
    "replaces-onnx-export": "torch.onnx.export = lambda *a, **k: None",
    "replaces-no-grad": "import contextlib; torch.no_grad = contextlib.nullcontext",
    "replaces-session": "import onnxruntime; onnxruntime.InferenceSession = lambda *a, **k: None",
    "replaces-session-run": "import onnxruntime; onnxruntime.InferenceSession.run = lambda self, o, f: list(f.values())[:1]",
    "replaces-checker": "import onnx.checker; onnx.checker.check_model = lambda *a, **k: 1 / 0",
    "replaces-from-array": "import onnx.numpy_helper; onnx.numpy_helper.from_array = lambda *a, **k: 1 / 0",
    "replaces-load-model": "import onnx; onnx.load_model_from_string = lambda *a: 1 / 0",
    "replaces-our-compare": "from caniexport.worker import compare; compare.compare = lambda *a: compare.Difference('', 0, 0, 0, 0)",
    "replaces-our-tolerances": "from caniexport.worker import compare; compare.TOLERANCES.clear()",
    "replaces-our-signature": "from caniexport.worker import messages; messages.signature = lambda *a: 'x|y|z'",
    "replaces-our-materialise": "from caniexport.worker import tensors; tensors.Spec.array = lambda self, seed: 1 / 0",
    "replaces-our-exporter": "from caniexport.worker import exporters; exporters.export = lambda request: b''",
    "replaces-our-flatten": "from caniexport.worker import subject; subject.flatten_output = lambda output: []",
    "default-dtype": "torch.set_default_dtype(torch.float64)",
    "threads-and-determinism": "torch.set_num_threads(7); torch.use_deterministic_algorithms(True)",
    "grad-mode-stays-off": "torch.set_grad_enabled(False)",
    "numpy-raises": "import numpy; numpy.seterr(all='raise')",
    "numpy-print-options": "import numpy; numpy.set_printoptions(precision=1, threshold=2)",
    "warnings-are-errors": "import warnings; warnings.simplefilter('error'); warnings.filterwarnings = lambda *a, **k: None",
    "recursion-limit": "import sys; sys.setrecursionlimit(90)",
    "stack-overflow": "import sys; sys.setrecursionlimit(10**8); f = lambda g: g(g); f(f)",
    "trace-function": "import sys; sys.settrace(lambda *a: 1 / 0)",
    "audit-hook": "import sys; sys.addaudithook(lambda name, args: 1 / 0 if name == 'open' else None)",
    "excepthook-and-streams": "import sys; sys.excepthook = None; sys.stdout = sys.stderr = None",
    "closed-streams": "import sys; sys.stdout.close(); sys.stderr.close()",
    "closed-descriptors": "import os; os.closerange(0, 300)",
    "descriptors-to-null": "import os; n = os.open(os.devnull, os.O_RDWR); [os.dup2(n, i) for i in range(3, 60) if i != n]",
    "garbage-into-descriptors": "import os; [_quietly(os.write, i, b'{\"garbage\": 1}\\n\\x00\\xff') for i in range(1, 60)]",
    "half-a-reply": "import os; [_quietly(os.write, i, b'{\"row\": {') for i in range(3, 60)]",
    "not-blocking": "import os; [_quietly(os.set_blocking, i, False) for i in range(0, 60)]",
    "forgotten-modules": "import sys; [sys.modules.pop(n) for n in list(sys.modules) if n.startswith(('numpy', 'json'))]",
    "meta-path": "import sys; sys.meta_path.clear(); sys.path.clear()",
    "no-environment": "import os; os.environ.clear(); os.environ['PATH'] = '/nowhere'",
    "other-folder": "import os, tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)",
    "umask-and-tempdir": "import os, tempfile; os.umask(0o777); tempfile.tempdir = '/nonexistent'",
    "locale-and-priority": "import os, locale; _quietly(locale.setlocale, locale.LC_ALL, 'C'); os.nice(5)",
    "affinity": "import os; os.sched_setaffinity(0, {0})",
    "limit-of-files": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
    "limit-of-file-size": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "limit-of-cpu": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
    "limit-of-memory": "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**27, 2**27))",
    "limit-of-processes": "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))",
    "ignores-signals": "import signal; [_quietly(signal.signal, s, signal.SIG_IGN) for s in range(1, 32)]",
    "alarm": "import signal; signal.signal(signal.SIGALRM, signal.SIG_DFL); signal.setitimer(signal.ITIMER_REAL, 0.02)",
    "late-thread": "import threading, os; threading.Timer(0.05, lambda: os.environ.clear() or os.chdir('/')).start()",
    "late-thread-writes": "import threading; t = threading.Thread(target=_write_for_ever, daemon=True); t.start()",
    "many-threads": "import threading, time; [threading.Thread(target=time.sleep, args=(1000010,), daemon=True).start() for _ in range(50)]",
    "collector-off": "import gc; gc.disable(); gc.freeze(); gc.set_threshold(1)",
    "atexit-hangs": "import atexit, time; atexit.register(time.sleep, 1000011)",
    "fork-both-go-on": "import os; os.fork()",
    "fork-in-own-session": "import os, time; os.fork() or (os.setsid(), os.fork() or time.sleep(1000012), os._exit(0))",
    "zombies": "import os; [os.fork() or os._exit(0) for _ in range(20)]",
    "starts-a-program": "import subprocess; subprocess.Popen(['sleep', '1000013'])",
    "starts-a-program-in-a-session": "import subprocess; subprocess.Popen(['sleep', '1000014'], start_new_session=True)",
    "kills-its-parent": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "stops-its-parent": "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)",
    "kills-its-group": "import os, signal; os.killpg(0, signal.SIGKILL)",
    "stops-itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "leaves-at-once": "import os; os._exit(0)",
    "system-exit": "raise SystemExit(0)",
    "keyboard-interrupt": "raise KeyboardInterrupt",
    "generator-exit": "raise GeneratorExit",
    "exception-without-words": "raise _Unspeakable()",
    "exception-of-surrogates": "raise ValueError('bad \\udcff \\x00 \\x1b[31m')",
    "exception-of-30-mb": "raise ValueError('x' * 30_000_000)",
    "exception-in-a-circle": "a, b = ValueError('a'), ValueError('b'); a.__cause__, b.__cause__ = b, a; raise a",
    "exception-of-ten-thousand": "raise _chain(10_000)",
    "abort": "import os; os.abort()",
    "segfault": "import ctypes; ctypes.string_at(8)",
    "loops": "exec('while True: pass')",
    "loops-in-c": "pow(3, 10**9, 10**400_000_000)",
    "takes-memory": "held = [bytearray(b'x' * 2**27) for _ in range(30)]",
    "takes-shared-memory": "import mmap; m = mmap.mmap(-1, 3 * 2**30); [m.__setitem__(i, 1) for i in range(0, len(m), 4096)]",
    "changes-its-inputs": "_change(x); _change(y)",
    "changes-the-specification": "for item in type(self).__mro__: pass\nfor one in _INPUTS: one.shape = (1,)",
    "writes-ten-thousand-lines": "import sys; [print('Traceback (most recent call last):', file=sys.stderr) for _ in range(10_000)]",
    "counter-of-names": "import torch.onnx; [setattr(torch.onnx, n, None) for n in dir(torch.onnx) if n.startswith('sym')]",
    "returns-none": "return None",
    "returns-text": "return 'text'",
    "returns-a-deep-list": "deep = []\nfor _ in range(100_000): deep = [deep]\nreturn deep",
    "returns-an-endless-thing": "import itertools; return itertools.count()",
    "returns-itself": "found = []; found.append(found); return found",
}
#: name -> other members of the class
MEMBERS = {
    "setup-raises": "def setup(self): raise RuntimeError('no')",
    "setup-exits": "def setup(self): raise SystemExit(3)",
    "facts-are-no-json": "facts = staticmethod(lambda model: {'a': object(), 2: float('nan'), 'b': {1, 2}})",
    "facts-raise": "facts = staticmethod(lambda model: 1 / 0)",
    "facts-are-huge": "facts = staticmethod(lambda model: {'a': 'x' * 20_000_000})",
    "reference-replaces-numpy": "reference = lambda self, x, y: __import__('numpy').__dict__.update(isnan=None) or x + y",
    "options-are-odd": "export = {'no_such_option': object()}",
    "options-raise": "export = staticmethod(lambda: 1 / 0)",
    "patch-stays": "patch = staticmethod(lambda opset: _Patch())",
    "surgery-gives-nothing": "cut = fix('graph-surgery', 'none', surgery=lambda model: None)",
    "surgery-empties": "cut = fix('graph-surgery', 'empty', surgery=lambda model: type(model)())",
    "prepare-gives-a-number": "made = fix('rewrite', 'a number', prepare=lambda module, inputs: 7)",
    "session-option-nobody-has": "run = fix('runtime-option', 'odd', session={'no_such': 1, 'log_severity_level': 'x'})",
}
_HEAD = """
import torch
from caniexport.model.case import Case, fix
from caniexport.model.tensors import f32, values


def _quietly(act, *given):
    try:
        act(*given)
    except (OSError, ValueError, Exception):
        pass


def _change(x):
    try:
        x.zero_()
    except AttributeError:
        x.numpy()[:] = 0


def _write_for_ever():
    import os
    while True:
        for number in range(3, 40):
            _quietly(os.write, number, b'{"status": "pass"}\\n')


def _chain(count):
    error = ValueError("innermost")
    for number in range(count):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    return error


class _Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


class _Patch:
    def __enter__(self):
        torch.onnx.left = torch.nn.Module.left = 1

    def __exit__(self, *given):
        raise RuntimeError("on the way out")


_INPUTS = [f32(2, 3), f32(2, 3), f32(4, 3), f32(4, 3)]
"""
_INNOCENT = '''
class Adds{n}(Case):
    """adds, after {after}"""

    sources = ("hostile",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(2, 3), f32(2, 3)), (f32(4, 3), f32(4, 3)))
    dynamic = {{"x": {{0: "batch"}}, "y": {{0: "batch"}}}}

    def forward(self, x, y):
        return x + y, -x


class Bakes{n}(Case):
    """a number is baked, after {after}"""

    sources = ("hostile",)
    exporters = ("torchscript-trace", "default")
    inputs = ((values([2.0, 3.0]),), (values([5.0, 7.0]),))

    def forward(self, x):
        return x * x[0].item()


class Raises{n}(Case):
    """raises, after {after}"""

    sources = ("hostile",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        raise ValueError("no {{}}".format(x.shape[0]))
'''
_HOSTILE = '''
class Hostile{n}(Case):
    """{name}"""

    id = "hostile-{name}"
    sources = ("hostile",)
    exporters = ("torchscript-trace", "default")
    inputs = ((_INPUTS[0], _INPUTS[1]), (_INPUTS[2], _INPUTS[3]))
    dynamic = {{"x": {{0: "batch"}}, "y": {{0: "batch"}}}}
{member}
    def forward(self, x, y):
{body}
        return x + y
'''


def case_file(names: list[str], with_hostile: bool) -> str:
    """The text of the case file: innocent cases, and between them the hostile ones."""
    parts = [_HEAD, _INNOCENT.format(n="First", after="nothing")]
    for number, name in enumerate(names):
        if with_hostile:
            member = textwrap.indent(MEMBERS.get(name, ""), "    ")
            body = textwrap.indent(FORWARD.get(name, "pass"), "        ")
            parts.append(_HOSTILE.format(n=number, name=name, member=member, body=body))
        parts.append(_INNOCENT.format(n=number, after=name))
    return "\n".join(parts)


def make(folder: Path, release: str) -> Home:
    """A home without cases of its own but the canaries."""
    if not release:
        home = make_home(folder)
        for path in home.cases.glob("*.py"):
            if path.name != "canaries.py":
                path.unlink()
        shutil.rmtree(home.cases / "claims")
        return home
    home = Real(folder / "home", folder / "none", folder)
    home.cases.mkdir(parents=True)
    shutil.copy(ROOT / "cases" / "canary.py", home.cases)
    (home.folder / "results").mkdir()
    for name in ("tox.ini", "toxfile.py"):
        shutil.copy(ROOT / name, home.folder)
    (home.folder / "harness").symlink_to(ROOT / "harness")
    return home


class Real(Home):
    """A home for releases of the table."""

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TOX_"))}
        return {**kept, "CANIEXPORT_HOME": str(self.folder), "PYTHONPATH": str(ROOT / "harness"), MARK: self.mark}


def measured(home: Home, release: str, opsets: list[int], workers: int, troubles: list[str]) -> dict[runner.Name, Row]:
    """Measure the home's cases and return its rows by name; what goes wrong is added to ``troubles``."""
    command = home.line("measure", "--release", release, "--workers", str(workers), "--timeout", "4", "--json")
    for opset in opsets:
        command += ["--opset", str(opset)]
    started = time.time()
    said, told = home.folder / "said.txt", home.folder / "told.txt"
    with said.open("wb") as output, told.open("wb") as errors:
        # files: a process that is left would hold a pipe open. A session: some cases kill the group that they are in
        process = subprocess.Popen(
            command, cwd=home.folder, env=home.environ, stdout=output, stderr=errors, start_new_session=True
        )
    code: int | None
    try:
        code = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        code = None
    answer = said.read_text(encoding="utf-8", errors="replace")
    text = answer + told.read_text(encoding="utf-8", errors="replace")
    print(f"  measured in {time.time() - started:.0f} s, exit code {code}", flush=True)
    if code not in (0, 1):
        troubles.append(f"measure ended with {code}: {text[-2000:]}")
    if "Traceback (most recent call last)" in text:
        troubles.append("measure printed a traceback: " + text[text.index("Traceback") :][:2000])
    time.sleep(1)
    left = runner.processes(MARK, home.mark)
    for pid in left:
        words = Path(f"/proc/{pid}/cmdline")
        troubles.append(f"process {pid} is left: {words.read_bytes()[:200]!r}" if words.exists() else f"{pid} was left")
    runner.kill_9(MARK, home.mark)
    try:
        reports = json.loads(answer) if code in (0, 1) else []
        print("  " + "; ".join(f"{item['measured']} of {item['planned']} cells {item['problem']}" for item in reports))
    except ValueError:
        troubles.append(f"measure --json printed no JSON: {answer[-500:]}")
    return {runner.name_of(row): row for row in home.rows()}


def main() -> int:
    """Measure twice, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="", help="a real torch release; the stand-ins without")
    parser.add_argument("--only", action="append", default=[], help="one hostile case, by name")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--opset", action="append", default=[], type=int)
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    asked = parser.parse_args()
    names = asked.only or [*FORWARD, *MEMBERS]
    release = asked.release or "92.0.0"
    opsets = asked.opset or ([17, 18] if asked.release else [9, 10])
    folder = Path(tempfile.mkdtemp(prefix="caniexport-hostile-"))
    home = make(folder, asked.release)
    home = type(home)(home.folder, home.table, home.wheels, f"hostile-{uuid.uuid4()}")
    troubles = []
    print(
        f"{len(names)} hostile cases, torch {release}, opsets {opsets}, {asked.workers} worker(s): {folder}", flush=True
    )
    (home.cases / "cases.py").write_text(case_file(names, False), encoding="utf-8")
    innocent = measured(home, release, opsets, asked.workers, troubles)
    shutil.rmtree(home.folder / "results-local")
    (home.cases / "cases.py").write_text(case_file(names, True), encoding="utf-8")
    found = measured(home, release, opsets, asked.workers, troubles)
    troubles += compared(innocent, found)
    hostile = {row["case"]: row for row in found.values() if row["case"].startswith("hostile-")}
    for name in names:
        row = hostile.get(f"hostile-{name}")
        if row is None:
            troubles.append(f"hostile-{name} has no row")
        else:
            print(f"  {name:32} {row['status']:11} {row['stage']:8} {(row['signature'] or '')[:90]}")
    for trouble in troubles:
        print("!! " + trouble)
    print(f"{len(names)} hostile cases, {len(innocent)} innocent rows, {len(troubles)} troubles")
    if not asked.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if troubles else 0


def compared(innocent: dict[runner.Name, Row], found: dict[runner.Name, Row]) -> list[str]:
    """One line for each innocent row that is another one among hostile cases."""
    lines = []
    for name, row in innocent.items():
        other = found.get(name)
        if other is None:
            lines.append(f"{name}: no row")
            continue
        differs = [key for key, value in row.items() if key not in VOLATILE and value != other[key]]
        if differs:
            words = ", ".join(f"{key} {_short(row[key])} -> {_short(other[key])}" for key in differs)
            before = re.sub(r"\D", "", name[0])
            lines.append(f"{name} (after {before}): {words}")
    return lines


def _short(value: object) -> str:
    return str(value)[:80]


if __name__ == "__main__":
    sys.exit(main())
