"""Environment cases: a variant's packages, installed by uv into a folder of their own, and its line run there.

What could not be installed ends at stage ``resolve``, a line that failed at ``import``, one whose model onnxruntime
refused at ``load``, everything else at ``done``.
A line may print a JSON object last: it becomes the row's ``facts``, which claims can judge.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.machine.guard import guard_command
from caniexport.model.case import EnvironmentCase, EnvironmentFix
from caniexport.model.messages import describe
from caniexport.model.rows import CELLS, MEASURING_VERSION
from caniexport.model.status import Stage, Status
from caniexport.worker.envinfo import strip_local_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from caniexport.model.corpus import LoadedCase

Row = dict[str, Any]

#: seconds for an installation (torch is a gigabyte) and for the line
INSTALL_SECONDS = 900.0
CODE_SECONDS = 180.0

#: variables that would let this process's environment decide what the other one imports, or how
_HIDDEN = frozenset({"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"})
#: uv could not reach the index: that says nothing about the packages
_UNREACHABLE = re.compile(
    r"error sending request|dns error|failed to lookup|[Cc]onnection (?:refused|reset|timed out|closed)|"
    r"operation timed out|No space left on device|server error|network connectivity",
)
#: how every error begins that onnxruntime raises of a model; it was imported by then
_RUNTIME_SAYS = "[ONNXRuntimeError]"
#: onnxruntime's own are named after their status: InvalidArgument, NotImplemented, Fail
_EXCEPTION = re.compile(
    r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)|onnxruntime\.[\w.]+): ?(.*)$",
)


class ResolvedVariant(NamedTuple):
    """One variant with everything resolved: a Python (``"3.7"``), requirements and the line to run."""

    python: str
    packages: tuple[str, ...]
    code: str


class VariantOutcome(NamedTuple):
    """How a variant ended; ``kind`` and ``reason`` are the exception's type and first line, ``text`` all of it."""

    stage: Stage
    status: Status
    kind: str = ""
    text: str = ""
    reason: str = ""
    facts: str | None = None


def measure_environment_case(
    loaded: LoadedCase, uv: str, interpreter: Callable[[str], Path | None]
) -> Iterator[tuple[Row, dict[str, str]]]:
    """One row and its texts per variant, the failing form first.

    ``uv`` is the executable; ``interpreter("3.7")`` gives the path of such a Python, or ``None``. The run's own columns
    (``run_id``, ``measured_at``) are left to the caller.
    """
    assert issubclass(loaded.cls, EnvironmentCase)
    for name, fix in loaded.environment_variants.items():
        row: Row = dict.fromkeys(column.name for column in CELLS)
        row.update(
            corpus=loaded.cls.corpus,
            case=loaded.id,
            variant=name,
            case_hash=loaded.case_hash(name),
            measuring=MEASURING_VERSION,
            runtime="none",
            provider="none",
            device="cpu",
            attempts=1,
        )
        what, texts = resolve_variant(loaded.cls, fix), {}
        python = interpreter(what.python)
        if python is None:
            reason = f"no Python {what.python} on this machine"
            ended = VariantOutcome(Stage.RESOLVE, Status.NOT_RUN, "NoInterpreter", reason)
        else:
            with tempfile.TemporaryDirectory(prefix="caniexport-env-", ignore_cleanup_errors=True) as folder:
                place = Path(folder)
                ended = _install(what, uv, python, place) or _run(what.code, place)
                row.update(_read_versions(uv, place))
        row.update(stage=ended.stage.value, status=ended.status.value, facts=ended.facts)
        if ended.text:
            signature, identifier, text = describe(ended.stage.value, ended.kind, ended.text, ended.reason)
            row.update(signature=signature, message_id=identifier)
            texts = {identifier: text}
        yield row, texts


def resolve_variant(case: type[EnvironmentCase], fix: EnvironmentFix | None) -> ResolvedVariant:
    """What the failing form (``None``) or one of its fixes asks for; a fix replaces only what it names."""
    if fix is None:
        return ResolvedVariant(case.python, tuple(case.packages), case.code)
    packages = case.packages if fix.packages is None else fix.packages
    return ResolvedVariant(fix.python or case.python, tuple(packages), fix.code or case.code)


def _install(what: ResolvedVariant, uv: str, python: Path, place: Path) -> VariantOutcome | None:
    """Make the environment under ``place/env``; ``None`` where it was made."""
    quiet = ("--quiet", "--color", "never")
    commands = [[uv, "venv", *quiet, "--no-project", "--python", str(python), str(place / "env")]]
    if what.packages:
        options = [*quiet, "--python", str(_find_python(place)), "--only-binary", ":all:"]
        commands.append([uv, "pip", "install", *options, *what.packages])
    for command in commands:
        try:
            done = _call(command, place, INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            text = f"not installed after {INSTALL_SECONDS:.0f} s: {' '.join(what.packages)}"
            return VariantOutcome(Stage.RESOLVE, Status.TIMEOUT, "Timeout", text)
        if done.returncode != 0:
            text = (done.stderr or done.stdout).strip() or f"uv ended with {done.returncode}"
            status = Status.INVALID if _UNREACHABLE.search(text) else Status.FAIL
            # uv's drawing breaks a sentence over several lines, behind a fixed introduction
            line = " ".join(text.replace("╰─▶", " ").replace("├─▶", " ").split())
            return VariantOutcome(Stage.RESOLVE, status, "Unresolvable", text, line.partition("Because ")[2] or line)
    return None


def _run(code: str, place: Path) -> VariantOutcome:
    try:
        done = _call([str(_find_python(place)), "-I", "-c", code], place, CODE_SECONDS)
    except subprocess.TimeoutExpired:
        return VariantOutcome(Stage.IMPORT, Status.TIMEOUT, "Timeout", f"still running after {CODE_SECONDS:.0f} s")
    if done.returncode == 0:
        return VariantOutcome(Stage.DONE, Status.PASS, facts=read_printed_facts(done.stdout))
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        words = f"ended by {name}"
        return VariantOutcome(Stage.IMPORT, Status.CRASH, name, f"{done.stderr}\n{words}".strip(), words)
    kind, reason = find_exception(done.stderr)
    text = done.stderr.strip() or f"ended with exit code {done.returncode} and no message"
    stage = Stage.LOAD if _RUNTIME_SAYS in reason else Stage.IMPORT
    return VariantOutcome(stage, Status.FAIL, kind, text, reason)


def find_exception(stderr: str) -> tuple[str, str]:
    """Type and first line of the exception a traceback ends with; ``("ExitCode", "")`` where there is none."""
    found = [match for match in map(_EXCEPTION.match, stderr.splitlines()) if match]
    return (found[-1].group(1).rpartition(".")[2], found[-1].group(2)) if found else ("ExitCode", "")


def read_printed_facts(stdout: str) -> str | None:
    """The last line of the output where it is a JSON object, with its keys sorted; else ``None``."""
    try:
        facts = json.loads(stdout.strip().rpartition("\n")[2])
    except ValueError:
        return None
    return json.dumps(facts, sort_keys=True) if isinstance(facts, dict) else None


def _read_versions(uv: str, place: Path) -> dict[str, str | None]:
    """The row's version columns, as far as the environment came."""
    python = str(_find_python(place))
    if not Path(python).exists():
        return {}
    try:
        listed = _call([uv, "pip", "list", "--quiet", "--format", "json", "--python", python], place, 60)
        version = _call([python, "-c", "import platform; print(platform.python_version())"], place, 60)
    except subprocess.TimeoutExpired:
        return {}
    found = {item["name"].lower(): item["version"] for item in json.loads(listed.stdout or "[]")}
    # no torch: that column is the release under measurement, and an installation is none
    packages = {name: strip_local_part(found.get(name)) for name in ("onnx", "onnxscript")}
    return {**packages, "python": version.stdout.strip() or None}


def _call(command: Sequence[str], place: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command and return its result; leave none of its processes running."""
    process = subprocess.Popen(
        guard_command(list(command)),
        cwd=place,
        env={name: value for name, value in os.environ.items() if name not in _HIDDEN},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        finally:
            if process.poll() is None:
                process.terminate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _find_python(place: Path) -> Path:
    return place / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
