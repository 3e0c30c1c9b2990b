"""What a user asks to have checked: a function that gives a module and its inputs, or case files of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from caniexport import names
from caniexport.model.errors import CorpusError, UnknownName

_FORM = "MODULE:FACTORY, FILE.py:FACTORY, or a case file or folder"
_MODULE = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")


class UnusableModel(CorpusError):
    """What a user gave cannot be checked: no release would change that. One line says why."""


@dataclass(frozen=True)
class Options:
    """What a user says of the model: ``dynamic`` axes by argument, and tolerances (``None``: those of the output's
    dtype). ``further`` makes input sets beside those given.
    """

    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    rtol: float | None = None
    atol: float | None = None
    further: bool = True


@dataclass(frozen=True)
class CheckedModel:
    """What is checked: its name for a person, and the case files that say it, by file name."""

    label: str
    files: Mapping[str, str]


def subject(target: str, cwd: Path, options: Options) -> CheckedModel:
    """Read ``target``. Raises :class:`UnknownName` for what is not there, :class:`UnusableModel` for what is wrong.

    Nothing of the user's is imported: the factory's own errors are those of the environment that it is called in.
    """
    path = cwd / target
    if path.is_dir() or (path.suffix == ".py" and path.is_file()):
        return _cases(target, path, options)
    place, colon, factory = target.rpartition(":")
    if not colon:
        raise _unknown_target(target, path)
    if not place or not factory or not all(part.isidentifier() for part in factory.split(".")):
        raise UnusableModel(f"{target!r}: {_FORM} is wanted")
    if place.endswith(".py"):
        return _of_file(cwd / place, factory, cwd, options)
    return _of_module(place, factory, cwd, options)


def _unknown_target(target: str, path: Path) -> Exception:
    if path.suffix == ".py" or "/" in target:
        return _missing("case file", path, target)
    return UnusableModel(f"{target!r}: {_FORM} is wanted")


def _missing(kind: str, path: Path, target: str) -> UnknownName:
    beside = [item.name for item in path.parent.glob("*.py")] if path.parent.is_dir() else []
    return names.unknown_name(kind, path.name, beside) if beside else UnknownName(f"no {kind} at {target}")


def _cases(target: str, path: Path, options: Options) -> CheckedModel:
    if options.dynamic or options.rtol is not None or options.atol is not None:
        raise UnusableModel("--dynamic, --rtol and --atol are for a factory: a case says them itself")
    files = sorted(item for item in path.glob("*.py") if not item.name.startswith("_")) if path.is_dir() else [path]
    if not files:
        raise UnusableModel(f"{target}: no case file in this folder (FILE.py whose name does not begin with _)")
    return CheckedModel(target, {item.name: _read(item) for item in files})


def _of_file(path: Path, factory: str, cwd: Path, options: Options) -> CheckedModel:
    if not path.is_file():
        raise _missing("file", path, str(path))
    _require_factory(_read(path), path.name, factory)
    folders = dict.fromkeys([str(path.parent.resolve()), str(cwd.resolve())])
    label = f"{path.name}:{factory}"
    made = [path.stem if path.stem.isidentifier() else "checked_model", str(path.resolve()), factory, [*folders]]
    return CheckedModel(label, {"checked.py": _case_file(label, made, options)})


def _of_module(module: str, factory: str, cwd: Path, options: Options) -> CheckedModel:
    if not _MODULE.match(module):
        raise UnusableModel(f"{module!r} is not the name of a module ({_FORM} is wanted)")
    path = _find(module.split("."), cwd)
    if path:
        _require_factory(_read(path), module, factory)
    label = f"{module}:{factory}"
    made = [module, "", factory, [str(cwd.resolve())]]
    return CheckedModel(label, {"checked.py": _case_file(label, made, options)})


def _find(parts: Sequence[str], cwd: Path) -> Path | None:
    """The file of a module below the working directory; ``None`` where only the environment can tell.

    Raises :class:`UnknownName` where the working directory has one of nearly the same name.
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
    """The factory is among the names that the source binds; a star import may bind any."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: nested too deeply
        line = getattr(error, "lineno", None)
        why = error.args[0] if error.args else "nested too deeply"
        raise UnusableModel(f"{where} does not parse: {why}{f' (line {line})' if line else ''}") from error
    bound = set(_bound(body))
    first = factory.split(".")[0]
    if "*" not in bound and "__getattr__" not in bound and first not in bound:
        public = sorted(name for name in bound if not name.startswith("_"))
        if not public:
            raise UnknownName(f"unknown factory {first!r}: {where} defines nothing")
        raise names.unknown_name(f"factory in {where}", first, public)


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Names that statements bind in their module, within conditions and the like too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
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
    """The case file of a factory."""
    dynamic = {name: dict(axes) for name, axes in options.dynamic.items()}
    arguments = ", ".join(map(repr, [*made, dynamic, options.further]))
    return dedent(f"""\
        from caniexport.check.inside.factory import Arguments, DynamicAxes, Factory, NamedInputs, Sets
        from caniexport.model.case import Case

        FACTORY = Factory({arguments})


        class Checked(Case):
            __doc__ = {label!r}
            id = {case_id(label)!r}
            corpus = "checked"
            sources = ({label!r},)
            inputs = Sets(FACTORY)
            dynamic = DynamicAxes(FACTORY)
            named = NamedInputs(FACTORY)
            rtol = {options.rtol!r}
            atol = {options.atol!r}
            forward = Arguments(FACTORY)

            def setup(self):
                FACTORY.put_on(self)

            @staticmethod
            def facts(model):
                return FACTORY.facts(model, Checked.rtol, Checked.atol)
        """)
