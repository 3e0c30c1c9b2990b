"""The pytest plugin: ``@pytest.mark.caniexport("case-id")``, the fixture ``known_failure``, ``pytest --caniexport``.

It is loaded with every pytest run, so it imports nothing of the package before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from caniexport.answers.known import KnownCase
    from caniexport.store import Dataset

_MARKER = (
    'caniexport("CASE[/VARIANT]", exporter=..., opset=..., upto=STAGE): a known failure: xfail with its reason where '
    "the running versions are measured to fail, and a failure where it passes there all the same"
)
#: the verdict on a marker, as a property of the test report, which travels between processes
_FAILS, _DUE, _UNKNOWN = "caniexport: measured to fail", "caniexport: due to go", "caniexport: not measured"
_TITLES = {
    _UNKNOWN: "not measured here, so these tests run as they are and nothing is known of them",
    _FAILS: "known failures that are measured at the running versions, or at others of the project",
    _DUE: "markers that are due to go: measured to work",
}
#: endings that would take pytest's own process with them, or its time
_NOT_RUN = ("crash", "oom", "timeout")
_JUDGED: pytest.StashKey[dict[str, tuple[str, str]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--caniexport``."""
    text = "say which caniexport markers are due to go: what they name is measured to work now"
    parser.getgroup("caniexport").addoption("--caniexport", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_JUDGED] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Turn the markers of the tests that are left into xfail marks, after everybody else has marked and chosen."""
    yield
    for item in items:
        for mark in item.iter_markers("caniexport"):
            word, line = _judge(item, mark)
            item.user_properties.append((word, line))
            config.stash[_JUDGED][item.nodeid] = word, line


def _judge(item: pytest.Item, mark: pytest.Mark) -> tuple[str, str]:
    """What a marker comes to, and the line that says so; the test gets its xfail mark."""
    from caniexport.model.errors import CaniexportError

    try:
        name, options = read_marker(*mark.args, **mark.kwargs)
        if not _read_running():
            return _UNKNOWN, f"{name}: torch is not installed here"
        found = _find_known(name, *options)
        if found.word.value == "measured to fail":
            item.add_marker(_make_xfail(found))
            return _FAILS, found.reason
        if found.word.value == "not measured" or not found.is_exact:
            return _UNKNOWN, found.reason
        return _judge_elsewhere(name, found, options)
    except (CaniexportError, TypeError) as error:
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.caniexport: {error}") from error


def read_marker(
    case: str, *, exporter: str = "", opset: int | str = "", upto: str = ""
) -> tuple[str, tuple[str, str, str]]:
    """The marker's arguments, with the project's settings for what it leaves out."""
    own = _read_settings()
    return case, (exporter or own["exporter"], str(opset) or own["opset"], upto)


def _make_xfail(found: KnownCase) -> pytest.MarkDecorator:
    """Strict where the very release was measured, and with the like beside it; what kills a process is not run."""
    runs = found.status is None or found.status.value not in _NOT_RUN
    return pytest.mark.xfail(reason=found.reason, strict=found.is_exact and found.is_alike and runs, run=runs)


def _judge_elsewhere(name: str, found: KnownCase, options: tuple[str, str, str]) -> tuple[str, str]:
    """A case that works here: its marker may go unless another torch of the project needs it."""
    torch = _read_settings()["torch"]
    if not torch:
        return _DUE, found.reason
    failing, unmeasured = _find_still_failing(name, torch, *options)
    if failing:
        return _FAILS, f"{found.reason}; it fails on torch {', '.join(failing)}, which the project takes ({torch})"
    if unmeasured:
        return _UNKNOWN, f"{found.reason}; not measured on torch {', '.join(unmeasured)}, which the project takes"
    return _DUE, f"{found.reason}; so on every measured torch of the project ({torch})"


@cache
def _open_dataset() -> Dataset:
    import caniexport

    return caniexport.open()


@cache
def _read_settings() -> dict[str, str]:
    from pathlib import Path

    from caniexport.settings import read_settings

    return dict(vars(read_settings(Path.cwd())))


@cache
def _read_running() -> dict[str, str]:
    """The packages of this process; none where torch is not among them."""
    from caniexport.locks import read_running
    from caniexport.model.errors import UnknownName

    try:
        return dict(read_running().packages)
    except UnknownName:
        return {}


@cache
def _find_known(name: str, exporter: str, opset: str, upto: str) -> KnownCase:
    from caniexport.answers.known import known_case

    return known_case(_open_dataset(), name, _make_point(_read_running(), exporter, opset), upto)


@cache
def _find_still_failing(
    name: str, torch: str, exporter: str, opset: str, upto: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from caniexport.answers.known import find_failing_releases

    return find_failing_releases(_open_dataset(), name, torch, _make_point({}, exporter, opset), upto)


def _make_point(packages: dict[str, str], exporter: str, opset: str) -> dict[str, str]:
    return packages | {axis: text for axis, text in (("exporter", exporter), ("opset", opset)) if text}


@pytest.fixture
def known_failure() -> Callable[..., Any]:
    """``known_failure(model, args)``: what is known to fail of a model where the tests run; a module is exported as the
    project says, unless ``exporter`` or ``opset`` are named.
    """
    from pathlib import Path

    import caniexport

    own = {axis: _read_settings()[axis] for axis in ("exporter", "opset")}

    def ask(model: object, args: Iterable[Any] = (), **asked: Any) -> Any:
        defaults = {} if isinstance(model, str | Path) else own
        return caniexport.known_failure(model, args, **{"dataset": _open_dataset(), **defaults, **asked})

    return ask


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What was not measured, always; the other markers with ``--caniexport``."""
    judged = [*config.stash[_JUDGED].items(), *_collect_reports(terminalreporter.stats.values())]
    shown = _TITLES if config.getoption("--caniexport") else (_UNKNOWN,)
    wanted = {word: sorted({(node, line) for node, (verdict, line) in judged if verdict == word}) for word in shown}
    if not any(wanted.values()):
        return
    terminalreporter.section("caniexport")
    for word, lines in wanted.items():
        if lines:
            terminalreporter.write_line(f"{len(lines)} {_TITLES[word]}:", bold=True)
        for node, line in lines:
            terminalreporter.write_line(f"  {node}: {line}")


def _collect_reports(stats: Iterable[Iterable[Any]]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The same of tests that ran in other processes."""
    for reports in stats:
        for report in reports:
            for name, line in getattr(report, "user_properties", ()):
                if name in _TITLES:
                    yield report.nodeid, (name, line)
