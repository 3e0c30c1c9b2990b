"""Runs the measuring plugin over the mini-matrix, in an environment that holds the stand-in packages."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mini import build

from caniexport.model import corpus, plan, releases, rows

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).parent / "cases"
FAULTS = Path(__file__).parent / "faults"

#: columns that differ between two runs of the same thing
VOLATILE = frozenset(
    {"run_id", "measured_at", "seconds_export", "seconds_load", "seconds_run", "seconds_eager", "memory_mb", "load"}
)

#: (case, variant, exporter, opset): what names a row within one release
Name = tuple[str, str, str, int | None]


def environment(folder: Path, version: str) -> Path:
    """A virtual environment with numpy, pytest, xdist and the stand-ins of one release; returns its Python."""
    python = folder / "venv" / "bin" / "python"
    wheels = build.build(folder)
    uv("venv", "--quiet", "--python", sys.executable, str(folder / "venv"))
    stand_ins = [f"torch=={version}", f"onnxruntime=={version}", "--find-links", str(wheels)]
    uv("pip", "install", "--quiet", "--python", str(python), "numpy", "pytest", "pytest-xdist", *stand_ins)
    return python


def uv(*arguments: str) -> None:
    """Run the uv that belongs to this Python, or the one on the path."""
    beside = Path(sys.executable).parent / "uv"
    program = str(beside) if beside.exists() else "uv"
    reply = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stderr


def releases_file(folder: Path, python: str, numpy: str) -> Path:
    """A table of releases for ``CANIEXPORT_RELEASES``: the eras, and one release that no index has."""
    lines = ["from caniexport.model.releases import Release", "", "RELEASES = ("]
    for version, era in build.ERAS.items():
        lines.append(f"    {_release(version, python, numpy, era)},")
    lines.append(f"    {_release('93.0.0', python, numpy, build.ERAS['92.0.0'])},")
    path = folder / "mini_releases.py"
    path.write_text("\n".join([*lines, ")", ""]), encoding="utf-8")
    return path


def _release(version: str, python: str, numpy: str, era: build.Era) -> str:
    pins = (f"numpy=={numpy}", f"onnx=={version}", f"onnxruntime=={version}")
    dynamo = era.opsets if era.dynamo else None
    return f"Release({version!r}, {python!r}, {pins!r}, {era.opsets!r}, script={era.script}, dynamo={dynamo})"


def copy_cases(folder: Path, *sources: Path) -> Path:
    """The case files of some folders in one folder, where no project's pytest settings reach."""
    folder.mkdir(parents=True)
    for source in sources:
        for path in source.glob("*.py"):
            shutil.copy(path, folder)
        if (source / "claims").is_dir():
            shutil.copytree(source / "claims", folder / "claims", dirs_exist_ok=True)
    return folder


def command(python: Path, version: str, cases: Path, local: Path, *options: str) -> list[str]:
    """The line that tox writes, for one release."""
    return [
        *(str(python), "-m", "pytest", "-p", "caniexport.worker.plugin", "-p", "no:cacheprovider", "-q"),
        *("--release", version, "--results-local", str(local), *options, str(cases)),
    ]


def environ(table: Path, **extra: str) -> dict[str, str]:
    """Variables of a measuring run: the table of releases, and where the harness is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TOX_"))}
    ours = {"PYTHONPATH": str(ROOT / "harness"), "CANIEXPORT_RELEASES": str(table)}
    # every environment is started many times: its packages are compiled once
    return {**kept, **ours, "UV_COMPILE_BYTECODE": "1", **extra}


def journal_entries(local: Path) -> Iterator[dict[str, Any]]:
    """Every finished line of every journal."""
    for path in sorted((local / "journal").glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)


def journal_rows(local: Path) -> list[dict[str, Any]]:
    """The cell rows of every journal, in the order in which they were written."""
    return [entry["row"] for entry in journal_entries(local) if entry["kind"] == "cell"]


def messages(local: Path) -> dict[str, str]:
    """The texts of every journal by id."""
    found: dict[str, str] = {}
    for entry in journal_entries(local):
        found.update(entry.get("messages", {}))
    return found


def name_of(row: dict[str, Any]) -> Name:
    """What names a row within its release."""
    return row["case"], row["variant"], row["exporter"], row["opset"]


def by_name(found: Iterable[dict[str, Any]]) -> dict[Name, dict[str, Any]]:
    """Rows by name without what differs between runs; a row that is there twice is an error."""
    result: dict[Name, dict[str, Any]] = {}
    for row in found:
        assert name_of(row) not in result, f"two rows for {name_of(row)}"
        result[name_of(row)] = {name: value for name, value in row.items() if name not in VOLATILE}
    return result


def planned(cases: Path, table: Path, version: str) -> set[Name]:
    """What the plan of a release asks for."""
    loaded = corpus.load([cases], stand_in=True)
    release = next(item for item in read_table(table) if item.torch == version)
    return {(cell.case, cell.variant, cell.exporter, cell.opset) for cell in plan.cells(loaded, release, "cpu")}


def read_table(table: Path) -> tuple[releases.Release, ...]:
    """The releases of a file that ``CANIEXPORT_RELEASES`` may name."""
    space: dict[str, Any] = {}
    exec(compile(table.read_text(encoding="utf-8"), str(table), "exec"), space)
    return tuple(space["RELEASES"])


def keys(found: Iterable[dict[str, Any]]) -> set[str]:
    """The keys by which a run knows what need not be measured again."""
    names = ("case_hash", "measuring", "case", "variant", "exporter", "opset", "provider")
    return {rows.make_cell_key(*(row[name] for name in names)) for row in found}


def expected(version: str) -> dict[Name, str]:
    """``stage status`` by name from expected.json, where each line covers a range of opsets (``-``: the default)."""
    text = (Path(__file__).parent / "expected.json").read_text(encoding="utf-8")
    found: dict[Name, str] = {}
    for line, outcomes in json.loads(text)[version].items():
        case, variant, exporter = line.split()
        for opsets, outcome in outcomes.items():
            for opset in _opsets(opsets):
                assert (case, variant, exporter, opset) not in found, f"{version} {line}: {opset} is there twice"
                found[case, variant, exporter, opset] = outcome
    return found


def _opsets(text: str) -> Iterator[int | None]:
    if text == "-":
        yield None
        return
    for part in text.split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


def processes(variable: str, value: str) -> list[int]:
    """Processes that inherited a variable with this value: those of one run. Zombies have none."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{variable}={value}\0".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def kill_9(variable: str, value: str) -> None:
    """Kill every process of one run, those that it starts meanwhile too."""
    while found := processes(variable, value):
        for pid in found:
            # one may have gone with its parent
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
