"""Fuzzed calls of every command: none may print a traceback, hang, leave a process, or end with anything but 0, 1 or 2.

``python benchmarks/fuzz.py [--calls 2000] [--seed N] [--only COMMAND] [--call NUMBER]``

A call is a command with options out of its own help, their values good, mutated or odd; some have other variables, and
some find a byte of a file of the dataset, a case file, a model, an archive or a settings file changed, cut or replaced.
Everything is in a small home of its own, and offline: an environment cannot be made. The same seed gives the same
calls; ``--call`` repeats one of them and shows what it prints. Exit code 1 where a call ends badly.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import click  # noqa: E402  # the paths above come first
from mini import runner  # noqa: E402  # the paths above come first

from caniexport import cli  # noqa: E402  # the paths above come first

MARK = "CANIEXPORT_FUZZ_MARK"
SECONDS = 90.0
THEMES = ("canary", "logical", "pooling", "dynamic_shapes", "environment", "versions")
RELEASES = ("1.10.2", "2.8.0", "2.15.0")
ODD = (
    "",
    " ",
    "\n",
    "-",
    "--",
    "--json",
    "-1",
    "0",
    "1e400",
    "nan",
    "99999999999999999999999",
    "2147483648",
    "../../etc/passwd",
    "/dev/null",
    "/dev/zero",
    "/proc/nonexistent/x",
    ".",
    "*",
    "[",
    "a/b/c/d",
    "%s%n",
    "'; DROP TABLE cells; --",
    '"',
    "\\",
    "\udcff\udc80",
    "\xe9\u0301\U0001d518\u202e",
    "\x1b[31m",
    "A" * 20000,
    "==",
    "2.8.0,ort=",
    "torch=",
    ">=",
    "9-",
    "-9",
    "26-7",
    "cpu,cuda",
    "None",
    "null",
    "{}",
)
#: words of an option's name or metavar -> values that it takes
GOOD: dict[str, tuple[str, ...]] = {
    "case": ("bitshift-uint8", "avg-pool2d*", "dynamic-axes-batch-2-input/axes_2_3", "canary-pass", "no-such-case"),
    "variant": ("plain", "opset_11", "nothing"),
    "torch": (*RELEASES, "2.8", "2", "all", "newest", "9.9.9"),
    "version": (*RELEASES, "torch=2.8.0", "torch=2.8.0,ort=1.20", "onnxruntime=1.14.1", "1.0"),
    "opset": ("14", "9-14", ">=11", "default", "999", "7,8"),
    "exporter": ("trace", "script", "dynamo", "default", "torchscript-trace", "fx"),
    "provider": ("cpu", "cuda", "openvino", "none"),
    "status": ("pass", "fail", "mismatch", "passes"),
    "theme": ("pooling", "logical", "nothing"),
    "op": ("cross", "GridSample", "aten::avg_pool2d", "Conv"),
    "runtime": ("onnxruntime", "onnxruntime==1.14.1", "ort1.14", "tract", "tensorflow"),
    "axis": ("torch", "onnxruntime", "onnxscript"),
    "port": ("0", "70000"),
    "seed": ("1",),
    "cells": ("1", "3"),
    "format": ("text", "markdown", "atom", "github"),
    "by": ("torch", "opset", "runtime"),
    "corpus": ("onnx-node",),
}
#: options whose value would make a call long, and is therefore kept small; flags that a command always gets
SMALL = {"--workers": "1", "--repeat": "0"}
ALWAYS = {"dashboard": ["--json"]}
VARIABLES: dict[str, tuple[str, ...]] = {
    "CANIEXPORT_HOME": ("/nonexistent", "/dev/null", "", "x" * 5000, "\udcff", "/proc/self"),
    "CANIEXPORT_RELEASES": ("/nonexistent.py", "FILE:junk.py", "FILE:empty.py", "/", "FILE:ends.py"),
    "CANIEXPORT_LOCAL": ("/dev/null", "/nonexistent"),
    "COLUMNS": ("0", "-5", "abc", "1", "100000"),
    "LC_ALL": ("C", "POSIX", "xx_YY.ISO-8859-15"),
    "PYTHONIOENCODING": ("ascii", "latin-1", "utf-16"),
    "PYTHONUTF8": ("0",),
    "HOME": ("/nonexistent", "/dev/null", ""),
    "XDG_CACHE_HOME": ("/dev/null", "/proc", "relative"),
    "TMPDIR": ("/nonexistent",),
    "TERM": ("dumb", "", "\x1b"),
    "NO_COLOR": ("1",),
    "FORCE_COLOR": ("1",),
    "PATH": ("/nonexistent",),
    "UV": ("/bin/false",),
    "TOXENV": ("torch2.8-cpu", "x\ny"),
    "PYTHONHASHSEED": ("1",),
    "TZ": ("Mars/Olympus", ""),
}
FILES = {
    "junk.py": b"\x00\xff garbage (",
    "empty.py": b"",
    "ends.py": b"raise SystemExit(0)",
    "model.py": b"import torch\n\ndef make():\n    return torch.nn.Linear(2, 2), (torch.rand(1, 2),)\n",
    "old.py": b"import torch\nif torch.__version__ < '1.10':\n    x = torch.onnx.export(m, a, 'f', opset_version=11)\n",
    "deep.py": b"x = " + b"(" * 5000 + b")" * 5000,
    "nul.py": b"x = 1\x00",
    "latin.py": "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
    "bad.onnx": b"\x08\x04:<\n\x12\n\x01x",
    "bad.zip": b"PK\x03\x04garbage",
    "case.py": (ROOT / "tests" / "mini" / "cases" / "outcomes.py").read_bytes(),
    "claims.csv": b"a,b\n1\n",
    "tree/a.py": b"from packaging import version\nif version.parse(torch.__version__) >= version.parse('2.0'): pass\n",
    "tree/pyproject.toml": b"[project\nname=",
    "rows/journal/x.jsonl": b'{"kind": "run", "row": {}}\n{"kind": "cell"}\nnot json\n[[[[',
    "expectations.toml": b"[[expected]]\ncase = 3\n",
    "alerts.toml": b"[[alert]]\nid = ",
}


@dataclasses.dataclass(frozen=True)
class Call:
    """One call: its words, the variables that are other ones, and what is done to which file before."""

    number: int
    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    damage: tuple[str, str, int] | None

    @property
    def text(self) -> str:
        """As a person would type it."""
        environ = " ".join(f"{name}={shlex.quote(_short(value))}" for name, value in self.variables)
        damage = f"  [{self.damage[1]} of {self.damage[0]} at {self.damage[2]}]" if self.damage else ""
        words = " ".join(shlex.quote(_short(word)) for word in self.words)
        return ascii(f"{environ} caniexport {words}{damage}".strip())[1:-1]


def _short(text: str) -> str:
    return text if len(text) < 60 else f"{text[:8]}…({len(text)})"


def call(number: int, seed: int, only: str, files: list[str]) -> Call:
    """The call of a number."""
    chance = random.Random(f"{seed}/{number}")
    name = only or chance.choice(cli.COMMANDS)
    command: Any = cli.main.get_command(click.Context(cli.main), name)
    words = [name]
    if isinstance(command, click.Group) and chance.random() < 0.97:
        inner = chance.choice(sorted(command.commands))
        words.append(inner)
        command = command.commands[inner]
    for param in command.params:
        words += _given(param, chance, files)
    words += ALWAYS.get(name, [])
    if name == "measure" and chance.random() < 0.9:
        words.append("--plan")
    if chance.random() < 0.06:
        words.insert(chance.randrange(len(words) + 1), chance.choice(ODD))
    variables = []
    if chance.random() < 0.3:
        variable = chance.choice(sorted(VARIABLES))
        variables.append((variable, chance.choice(VARIABLES[variable])))
    damage = None
    if chance.random() < 0.35:
        damage = (
            chance.choice(files),
            chance.choice(("flip", "cut", "empty", "junk", "gone", "folder")),
            chance.randrange(1 << 30),
        )
    # a terminal cannot send it
    return Call(number, tuple(word.replace("\0", "") for word in words), tuple(variables), damage)


def _given(param: click.Parameter, chance: random.Random, files: list[str]) -> list[str]:
    if isinstance(param, click.Argument):
        wanted = 1 if param.required or chance.random() < 0.6 else 0
        return [_value(param, chance, files) for _ in range(wanted) if chance.random() < 0.97]
    assert isinstance(param, click.Option)
    if not param.required and chance.random() > 0.22:
        return [param.opts[0], SMALL[param.opts[0]]] if param.opts[0] in SMALL else []
    if param.is_flag:
        return [param.opts[0]]
    if param.opts[0] in SMALL and chance.random() < 0.8:
        return [param.opts[0], SMALL[param.opts[0]]]
    times = chance.choice((1, 1, 1, 2, 3)) if param.multiple else 1
    return [word for _ in range(times) for word in (param.opts[-1], _value(param, chance, files))]


def _value(param: click.Parameter, chance: random.Random, files: list[str]) -> str:
    kind = chance.random()
    if kind < 0.2:
        return chance.choice(ODD)
    if isinstance(param.type, click.Choice) and kind < 0.8:
        return str(chance.choice(list(param.type.choices)))
    if isinstance(param.type, click.Path) or (param.metavar or "") in ("FILE", "DIR", "PATH", "STATE"):
        made = [*FILES, "tree", "rows", "results", "cases", "new", "new/deeper", "HEAD", "model.py:make", "case.py"]
        return chance.choice([*made, *files])
    text = " ".join([*param.opts, param.name or "", param.metavar or ""]).lower()
    pools = [values for word, values in GOOD.items() if word in text]
    good = chance.choice(pools[0]) if pools else chance.choice(("1", "x", "model.py:make", "tree", "bitshift-uint8"))
    return _mutated(good, chance) if kind > 0.85 else good


def _mutated(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    other = chance.choice(("", "\u200b", "\udcff", "'", "\n", "9", "-", "/", "=", text))
    return text[:place] + other + text[place + chance.randrange(2) :]


def make_home(folder: Path) -> Path:
    """A home with a few cases of three releases, and the files that calls name."""

    home = folder / "home"
    (home / "cases").mkdir(parents=True)
    for theme in THEMES:
        shutil.copy(ROOT / "cases" / f"{theme}.py", home / "cases")
    shutil.copy(ROOT / "cases" / "upstream.csv", home / "cases")
    for name in ("tox.ini", "toxfile.py"):
        shutil.copy(ROOT / name, home)
    (home / "harness").symlink_to(ROOT / "harness")
    _dataset(home / "results", _cases(home))
    for name, data in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    shutil.copytree(home / "results", home / "results-local")
    (home / "results-local" / "journal").mkdir()
    (home / "results-local" / "journal" / "old.jsonl").write_bytes(b'{"kind": "cell", "row": {"case": 1}}\n{"half')
    return home


def _dataset(folder: Path, cases: set[str]) -> None:
    """The published rows of these cases, of three releases, with their texts."""
    import pyarrow.parquet as pq

    from caniexport.store import digests, writer

    texts: set[str] = set()
    paths = sorted((ROOT / "results").rglob("*.parquet"), key=lambda path: path.stem == "messages")
    for path in paths:
        table = path.parent.name if path.parent.name in ("cells", "runs") else path.stem
        if table == "cells" and not any(f"-{release}-" in path.name for release in RELEASES):
            continue
        rows = pq.read_table(path)
        name, wanted = ("message_id", texts) if table == "messages" else ("case", cases)
        if name in rows.column_names:
            rows = rows.filter([value in wanted for value in rows.column(name).to_pylist()])
        if table in ("cells", "runs"):
            texts.update(value for value in rows.column("message_id").to_pylist() if value)
        writer.write_rows(folder / path.relative_to(ROOT / "results"), table, rows.to_pylist())
    with digests.rewrite(folder):
        pass


def _cases(home: Path) -> set[str]:
    from caniexport.model import corpus

    return set(corpus.load([home / "cases"], stand_in=True))


def damageable(home: Path) -> list[str]:
    """Files of a home that a call may find changed."""
    found = [
        path for path in home.rglob("*") if path.is_file() and not path.is_symlink() and "harness" not in path.parts
    ]
    return sorted(str(path.relative_to(home)) for path in found if path.suffix not in (".ini", ".lock"))


def damage(path: Path, how: str, place: int) -> None:
    """Change a file."""
    data = bytearray(path.read_bytes())
    path.unlink()
    if how == "flip" and data:
        data[place % len(data)] ^= 1 << place % 8
    elif how == "cut":
        data = data[: place % (len(data) + 1)]
    elif how == "empty":
        data = bytearray()
    elif how == "junk":
        data = bytearray(random.Random(place).randbytes(200))
    if how == "folder":
        path.mkdir()
    elif how != "gone":
        path.write_bytes(data)


def made(one: Call, home: Path, folder: Path) -> str:
    """Make a call in a copy of the home; what is wrong with how it ended, empty for nothing."""
    place = folder / f"call-{one.number}"
    shutil.copytree(home, place, symlinks=True)
    try:
        if one.damage:
            damage(place / one.damage[0], *one.damage[1:])
        return _ended(one, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _ended(one: Call, place: Path, show: bool = False) -> str:
    mark = f"{place}"
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "TOX_", "UV_"))}
    environ |= {
        "CANIEXPORT_HOME": str(place),
        "PYTHONPATH": str(ROOT),
        "UV_OFFLINE": "1",
        "UV_NO_CACHE": "1",
        MARK: mark,
    }
    environ |= {"PYENV_ROOT": "/nonexistent", "XDG_CACHE_HOME": str(place / "cache"), "UV_PYTHON_DOWNLOADS": "never"}
    environ |= {name: text.replace("FILE:", f"{place}/") for name, text in one.variables}
    program = "from caniexport.cli import main; main(prog_name='caniexport')"
    out, err = place / "out.txt", place / "err.txt"
    started = time.monotonic()
    with out.open("wb") as output, err.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *one.words],
            cwd=place,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    problems = []
    try:
        code: int | None = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        code = None
        problems.append(f"still running after {SECONDS:.0f} s")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    time.sleep(0.05)
    left = runner.processes(MARK, mark)
    if left and code is not None:
        problems.append(f"{len(left)} processes are left")
    runner.kill_9(MARK, mark)
    told = err.read_bytes().decode("utf-8", "replace") if err.is_file() else ""
    printed = out.read_bytes().decode("utf-8", "replace") if out.is_file() else ""
    if show:
        print(printed, told, f"exit code {code}, {time.monotonic() - started:.1f} s", sep="\n")
    if code not in (0, 1, 2, None):
        problems.append(f"ended with {code}")
    if "Traceback (most recent call last)" in told:
        last = [line for line in told.strip().splitlines() if line.strip()][-1]
        problems.append(f"a traceback: {last[:300]}")
    return "; ".join(problems)


def main() -> int:
    """Make the calls, several side by side; name each that ends badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--only", default="", help="one command")
    parser.add_argument(
        "--call", type=int, action="append", default=[], help="repeat this call and show what it prints"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    asked = parser.parse_args()
    # a test of what this finds must be able to repeat it
    print(f"seed {asked.seed}", flush=True)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="caniexport-fuzz-") as name:
        folder = Path(name)
        home = make_home(folder)
        files = damageable(home)
        calls = [call(number, asked.seed, asked.only, files) for number in asked.call or range(asked.calls)]
        if asked.call:
            for one in calls:
                print(one.text)
                if one.damage:
                    damage(home / one.damage[0], *one.damage[1:])
                print(_ended(one, home, show=True))
            return 0
        with concurrent.futures.ThreadPoolExecutor(asked.workers) as pool:
            for one, problem in zip(calls, pool.map(lambda one: made(one, home, folder), calls), strict=True):
                if problem:
                    bad += 1
                    print(f"call {one.number}: {one.text}\n    {problem}", flush=True)
    print(f"{len(calls)} calls, {bad} ended badly (seed {asked.seed})")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
