"""The rooms of the package and the order of its floors, read from the import statements."""

from __future__ import annotations

import ast
import graphlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "harness" / "caniexport"

#: from the ground up: a room imports from the floors below its own, and from no other room of its floor
FLOORS = (
    ("model",),
    ("names", "operators", "versions", "home"),
    ("profiles", "settings", "runtime_releases"),
    ("locks",),
    ("worker",),
    ("runner",),
    ("machine",),
    ("store",),
    ("bundles",),
    ("gate",),
    ("corpus",),
    ("measure",),
    ("publish",),
    ("match",),
    ("answers",),
    ("render", "reproduce"),
    ("alerts", "audit", "bisect", "check", "scan"),
    ("api", "pages"),
    ("agents",),
    ("cli", "pytest_plugin"),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below it."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it and for whatever purpose."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{item.name}" for item in node.names]
        for name in names:
            inside = name.removeprefix("caniexport.")
            if inside != name:
                yield inside if inside in MODULES else inside.rpartition(".")[0]


def room(module: str) -> str:
    return module.partition(".")[0]


def test_every_room_has_its_floor_and_a_room_imports_only_from_below():
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        if module
        for other in imports(path)
        if other and room(other) != room(module) and FLOOR[room(other)] >= FLOOR[room(module)]
    ]

    assert {room(module) for module in MODULES if module} == set(FLOOR)
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: {other for other in imports(path) if other != module} for module, path in MODULES.items()}

    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_every_room_is_on_the_page_of_the_house_on_its_floor():
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| ")]
    found = {
        name.strip(" `/"): int(floor) for floor, names in lines if floor.strip().isdigit() for name in names.split(",")
    }

    assert found == {room: floor + 1 for room, floor in FLOOR.items()}
