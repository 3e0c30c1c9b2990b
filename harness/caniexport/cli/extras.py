"""Which extra of the package a command needs whose packages are not installed: answers need none."""

from __future__ import annotations

from importlib.util import find_spec

_OF_COMMAND = {
    **dict.fromkeys(("bisect", "bundles", "check", "measure"), "measure"),
    **{name: name for name in ("dashboard", "site")},
}
#: what measuring on other machines needs, whatever the command
_MACHINES = ("dask", "distributed")
#: what of an extra is imported first
_OF_MODULE = {
    **dict.fromkeys(("numpy", "pandas"), "frames"),
    **dict.fromkeys(("filelock", "tox", "tox_uv", "uv"), "measure"),
    **dict.fromkeys(("altair", "jinja2", "markupsafe", "pagefind_bin", "pygments", "vl_convert"), "site"),
    "streamlit": "dashboard",
    "mcp": "mcp",
    **dict.fromkeys(_MACHINES, "dask"),
}


def require(*modules: str) -> None:
    """Raise :class:`ModuleNotFoundError` for the first of these that is not installed: other processes import it."""
    for module in modules:
        if find_spec(module) is None:
            raise ModuleNotFoundError(name=module)


def missing_extra(error: BaseException | None, command: str | None) -> str:
    """What to install, in one line, where an error of a command comes from an import; empty where it does not."""
    while error is not None:
        module = ((error.name if isinstance(error, ModuleNotFoundError) else "") or "").partition(".")[0]
        if module in _OF_MODULE:
            own = "" if module in _MACHINES else _OF_COMMAND.get(command or "")
            extra = own or _OF_MODULE[module]
            return f"{command or 'this'} needs {module}: pip install 'caniexport[{extra}]'"
        error = error.__cause__
    return ""
