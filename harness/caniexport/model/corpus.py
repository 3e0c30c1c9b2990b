"""Loading the case files, with real torch inside an environment and with a stand-in where only the words are needed."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Type, Union

from caniexport.model import case as model
from caniexport.model.casehash import FileHashes
from caniexport.model.errors import CorpusError
from caniexport.model.rows import NAME

#: packages that answering a question must not import (torch alone takes seconds)
STOOD_IN = ("torch", "torchvision", "onnx", "onnxruntime", "onnxscript")

AnyCase = Union[Type[model.Case], Type[model.EnvironmentCase]]


class LoadedCase:
    """A case with its file, its theme (the file's name) and the hash of each of its variants."""

    def __init__(self, cls: AnyCase, path: Path, hashes: FileHashes, text: str) -> None:
        self.cls = cls
        self.path = path
        self.text = text
        self.id = cls.case_id()
        self.theme = path.stem.replace("_", "-")
        self.is_environment = issubclass(cls, model.EnvironmentCase)
        self._hashes = hashes
        self._known: Dict[str, str] = {}

    @property
    def variants(self) -> Dict[str, model.Variant]:
        """Variants by name; empty for an environment case, whose variants are in :attr:`environment_variants`."""
        return {} if issubclass(self.cls, model.EnvironmentCase) else self.cls.own_variants()

    @property
    def environment_variants(self) -> Dict[str, Optional[model.EnvironmentFix]]:
        """Variants of an environment case: ``plain`` (``None``) and its fixes."""
        found: Dict[str, Optional[model.EnvironmentFix]] = {model.PLAIN: None}
        for name, item in model.collect_attributes(self.cls).items():
            if isinstance(item, model.EnvironmentFix):
                found[name] = item
        return found

    @property
    def variant_names(self) -> List[str]:
        """The names of all variants, of whichever kind the case is."""
        return list(self.environment_variants if self.is_environment else self.variants)

    def case_hash(self, variant: str) -> str:
        """Hash over the syntax tree of one variant (see :mod:`caniexport.model.casehash`)."""
        if variant not in self._known:
            of_table = getattr(self.cls, "hash_of", None)
            made = of_table(variant) if of_table else self._hashes.variant(self.cls.__name__, variant)
            self._known[variant] = made
        return self._known[variant]


def load(paths: Sequence[Path], stand_in: bool) -> Dict[str, LoadedCase]:
    """Load every case of these files or folders, by id, in the order of the files.

    ``stand_in`` replaces torch and its companions by empty stand-ins while the files are imported, so that ids,
    words, inputs and hashes can be read without them. Raises :class:`CorpusError` naming file and case.
    """
    found: Dict[str, LoadedCase] = {}
    for path in _find_case_files(paths):
        for item in _load_file(path, stand_in):
            if not NAME.fullmatch(item.id):
                words = "letters, digits and - _ . + are wanted"
                raise CorpusError("{}: case {!r}: its id is no name ({})".format(item.path, item.id, words))
            if item.id in found:
                raise CorpusError("case {}: defined in both {} and {}".format(item.id, found[item.id].path, item.path))
            found[item.id] = item
    return found


def _find_case_files(paths: Sequence[Path]) -> List[Path]:
    files: List[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(item for item in path.glob("*.py") if not item.name.startswith("_"))
        elif path.is_file():
            files.append(path)
        else:
            raise CorpusError("no case file or folder at {}".format(path))
    return files


def _load_file(path: Path, stand_in: bool) -> List[LoadedCase]:
    text = _read_source(path)
    module = _import_source(path, text, stand_in)
    hashes = FileHashes(text)
    cases = []
    for name, item in vars(module).items():
        if not (isinstance(item, type) and item.__module__ == module.__name__) or name.startswith("_"):
            continue
        if issubclass(item, model.Case):
            model.check_case(item)
        elif not issubclass(item, model.EnvironmentCase):
            continue
        cases.append(LoadedCase(item, path, hashes, text))
    return cases


def _read_source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError("{}: cannot be read ({})".format(path, error)) from error


def _import_source(path: Path, text: str, stand_in: bool) -> types.ModuleType:
    """The module that ``text`` makes: Python's cache of bytecode would give one that was edited in the same second."""
    name = "caniexport_{}_{}".format("words" if stand_in else "cases", path.stem)
    if name in sys.modules and sys.modules[name].__file__ == str(path) and not stand_in:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, str(path))
    if spec is None or spec.loader is None:
        raise CorpusError("{}: not a Python file".format(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        code = compile(text, str(path), "exec", dont_inherit=True)
        with _replace_packages() if stand_in else nullcontext():
            exec(code, vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file may end whatever imports it, by SystemExit for one
        sys.modules.pop(name, None)
        ends = "" if isinstance(error, Exception) else "a case file may not end the program: "
        raise CorpusError("{}: {}{}: {}".format(path, ends, type(error).__name__, error)) from error
    return module


class _StandInType(type):
    """Attributes and subscripts of a stand-in are stand-ins; a call returns the function it decorates, or one more."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else _StandIn

    def __getitem__(cls, item: Any) -> Any:
        return cls


class _StandIn(metaclass=_StandInType):
    """What every attribute of a stand-in package is."""


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002  # the protocol's
        if name.split(".")[0] not in STOOD_IN:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: getattr(_StandIn, name)  # type: ignore[method-assign]  # module __getattr__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to execute: a stand-in has no code."""


@contextmanager
def _replace_packages() -> Iterator[None]:
    """Hide the real packages, and leave no stand-in behind."""
    hidden = {name: module for name, module in sys.modules.items() if name.split(".")[0] in STOOD_IN}
    for name in hidden:
        del sys.modules[name]
    finder = _StandInFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.split(".")[0] in STOOD_IN]:
            del sys.modules[name]
        sys.modules.update(hidden)
