"""``[tool.caniexport]`` of the project around as defaults of options: what the command line names goes first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from caniexport import versions

if TYPE_CHECKING:
    from caniexport.settings import ProjectSettings

_FILTERS = {"torch": "torch", "opset": "opset", "exporter": "exporter"}
#: by command: the option that each setting is the default of
_OPTIONS: dict[str, dict[str, str]] = {
    "table": {"torch": "torch"},
    "why": _FILTERS,
    "reproduce": _FILTERS,
    "workaround": {"torch": "torch", "opset": "opsets", "exporter": "exporters"},
    "check": {"torch": "releases", "opset": "opsets", "exporter": "exporters"},
}
_SETTINGS = "caniexport.settings"


def use_settings(context: click.Context) -> None:
    """Make the project's settings the defaults of the command that is called. Raises :class:`UnknownName`."""
    options = _OPTIONS.get(context.invoked_subcommand or "")
    if not options or context.invoked_subcommand is None:
        return
    from caniexport.settings import read_settings

    found = context.meta[_SETTINGS] = read_settings(Path.cwd())
    defaults: dict[str, Any] = {
        option: (_value(key, found, option),) for key, option in options.items() if getattr(found, key)
    }
    context.default_map = {context.invoked_subcommand: defaults}


def _value(key: str, found: ProjectSettings, option: str) -> str:
    """A check measures one release where none is named: of a range the newest."""
    text: str = getattr(found, key)
    if option != "releases" or not versions.is_range(text):
        return text
    from caniexport.model import releases

    return versions.resolve_patch(text, [release.torch for release in releases.read_table()])


def is_setting(context: click.Context, option: str) -> bool:
    """Whether an option has the project's setting."""
    return context.get_parameter_source(option) is ParameterSource.DEFAULT_MAP


def settings_used(context: click.Context, but: frozenset[str]) -> str:
    """A line about the project settings that the answer uses, and their file; empty if none."""
    found: ProjectSettings | None = context.meta.get(_SETTINGS)
    options = _OPTIONS.get(context.info_name or "", {})
    used = [key for key, option in options.items() if option not in but and is_setting(context, option)]
    return found.describe(*used) if found and used else ""
