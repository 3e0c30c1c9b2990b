"""Read the target of a check: a function that returns a module and its inputs, or case files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from caniexport import names
from caniexport.model.errors import CorpusError, UnknownName

_TARGETS = "MODULE:FACTORY, FILE.py:FACTORY, or a case file or folder"
_MODULE = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")


class UnusableModel(CorpusError):
    """The target cannot be checked with any release; the message has the reason in one line."""


@dataclass(frozen=True)
class Options:
    """The user's options for the model: ``dynamic`` axes by argument, and tolerances (``None``: those of the output's
    dtype). ``further`` adds made input sets.
    """

    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    rtol: float | None = None
    atol: float | None = None
    further: bool = True


def read_target(target: str, cwd: Path, options: Options) -> Mapping[str, str]:
    """Return the text of the case files of ``target`` by file name, without importing it.

    Raises :class:`UnknownName` for a missing file or name, :class:`UnusableModel` for a wrong target.
    """
    path = cwd / target
    if path.is_dir() or (path.suffix == ".py" and path.is_file()):
        return _read_case_files(target, path, options)
    module, colon, factory = target.rpartition(":")
    if not colon:
        raise _unknown_target(target, path)
    if not module or not factory or not all(part.isidentifier() for part in factory.split(".")):
        raise UnusableModel(f"{target!r} is no target: give {_TARGETS}")
    if module.endswith(".py"):
        return _read_file_target(cwd / module, factory, cwd, options)
    return _read_module_target(module, factory, cwd, options)


def _unknown_target(target: str, path: Path) -> Exception:
    if path.suffix == ".py" or "/" in target:
        return _missing_file("case file", path, target)
    return UnusableModel(f"{target!r} is no target: give {_TARGETS}")


def _missing_file(kind: str, path: Path, target: str) -> UnknownName:
    known = [item.name for item in path.parent.glob("*.py")] if path.parent.is_dir() else []
    return names.unknown_name(kind, path.name, known) if known else UnknownName(f"no {kind} at {target}")


def _read_case_files(target: str, path: Path, options: Options) -> Mapping[str, str]:
    if options.dynamic or options.rtol is not None or options.atol is not None:
        raise UnusableModel("--dynamic, --rtol and --atol are for a factory: set them in the case file")
    files = sorted(item for item in path.glob("*.py") if not item.name.startswith("_")) if path.is_dir() else [path]
    if not files:
        raise UnusableModel(f"{target}: no case file in this folder (*.py, not _*.py)")
    return {item.name: _read(item) for item in files}


def _read_file_target(path: Path, factory: str, cwd: Path, options: Options) -> Mapping[str, str]:
    if not path.is_file():
        raise _missing_file("file", path, str(path))
    _require_factory(_read(path), path.name, factory)
    folders = dict.fromkeys([str(path.parent.resolve()), str(cwd.resolve())])
    label = f"{path.name}:{factory}"
    made = [path.stem if path.stem.isidentifier() else "checked_model", str(path.resolve()), factory, [*folders]]
    return {"checked.py": _case_file(label, made, options)}


def _read_module_target(module: str, factory: str, cwd: Path, options: Options) -> Mapping[str, str]:
    if not _MODULE.match(module):
        raise UnusableModel(f"{module!r} is not a module name: give {_TARGETS}")
    path = _find_module(module.split("."), cwd)
    if path:
        _require_factory(_read(path), module, factory)
    label = f"{module}:{factory}"
    made = [module, "", factory, [str(cwd.resolve())]]
    return {"checked.py": _case_file(label, made, options)}


def _find_module(parts: Sequence[str], cwd: Path) -> Path | None:
    """The file of a module below the working directory; ``None`` if only the environment may have it.

    Raises :class:`UnknownName` if the working directory has a module of nearly the same name.
    """
    folder = cwd
    for number, part in enumerate(parts):
        file = folder / f"{part}.py"
        if number == len(parts) - 1 and file.is_file():
            return file
        if (folder / part).is_dir():
            folder /= part
            continue
        if number == 0 and not names.find_nearest(part, _modules(folder)):
            return None  # it may be installed
        where = ".".join(parts[:number]) or "the working directory"
        known = sorted(_modules(folder))
        if not known:
            raise UnknownName(f"unknown module {'.'.join(parts)!r}: {where} ({folder}) has none")
        raise names.unknown_name(f"module of {where}", part, known)
    initial = folder / "__init__.py"
    return initial if initial.is_file() else None


def _modules(folder: Path) -> Iterator[str]:
    for item in folder.iterdir():
        if item.suffix == ".py" and item.stem.isidentifier():
            yield item.stem
        elif item.is_dir() and item.name.isidentifier() and any(item.glob("*.py")):
            yield item.name


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableModel(f"{path}: cannot be read ({error})") from error


def _require_factory(source: str, where: str, factory: str) -> None:
    """Raise if the source cannot bind the factory; a star import may bind any name."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: nested too deeply
        line = getattr(error, "lineno", None)
        why = error.args[0] if error.args else "nested too deeply"
        raise UnusableModel(f"{where} does not parse: {why}{f' (line {line})' if line else ''}") from error
    bound = set(_bound_names(body))
    first = factory.split(".")[0]
    if "*" not in bound and "__getattr__" not in bound and first not in bound:
        public = sorted(name for name in bound if not name.startswith("_"))
        if not public:
            raise UnknownName(f"unknown factory {first!r}: {where} defines nothing")
        raise names.unknown_name(f"factory in {where}", first, public)


def _bound_names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements bind in their module, nested statements included."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        for item in ast.walk(node):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                yield item.id
            elif isinstance(item, ast.FunctionDef | ast.ClassDef):
                yield item.name
            elif isinstance(item, ast.Import | ast.ImportFrom):
                yield from (alias.asname or alias.name.split(".")[0] for alias in item.names)


def case_id(label: str) -> str:
    """``my_models.net:make`` as a case's name: ``my-models-net-make``."""
    name = re.sub(r"[^a-z0-9]+", "-", label.removesuffix(".py").replace(".py:", ":").casefold()).strip("-")
    return f"my-{name}" if name.startswith("canary") else name or "checked"


def _case_file(label: str, made: Sequence[object], options: Options) -> str:
    """The text of the case file of a factory."""
    dynamic = {name: dict(axes) for name, axes in options.dynamic.items()}
    arguments = ", ".join(map(repr, [*made, dynamic, options.further]))
    return dedent(f"""\
        from caniexport.check.inside.factory import Factory
        from caniexport.model.case import Case

        FACTORY = Factory({arguments})


        class Checked(Case):
            __doc__ = {label!r}
            id = {case_id(label)!r}
            corpus = "checked"
            sources = ({label!r},)
            inputs = FACTORY
            dynamic = FACTORY.axes
            rtol = {options.rtol!r}
            atol = {options.atol!r}

            def setup(self):
                FACTORY.replace_module(self, Checked)

            def forward(self, *_):
                raise NotImplementedError("the module of the factory is called")

            @staticmethod
            def facts(model):
                return FACTORY.facts(model, Checked.rtol, Checked.atol)
        """)
