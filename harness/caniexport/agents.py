"""Answers for a coding agent, which `caniexport mcp` serves: those of the command line, cut short, with sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport import api, versions
from caniexport.answers.answer import as_json
from caniexport.answers.inventory import Inventory
from caniexport.answers.outcomes import CAUSED
from caniexport.answers.plain import to_plain
from caniexport.answers.search import FullText, find_hits
from caniexport.answers.upstream import source_address
from caniexport.model.case import PLAIN
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.settings import ProjectSettings, read_settings

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from caniexport.store import Dataset

#: items of a list that are told, fewer as long as the whole has more characters than fit; characters of a text
_MOST, _FITTING, _LONGEST = (12, 6, 3), 12_000, 1200
#: characters of the first line where what it wraps is told as well
_HEAD = 300
#: lists of numbers, told as 7-20
_OPSETS = ("opsets", "opsets_effective")
#: cases whose sources are told
_MOST_CASES = 6
INSTRUCTIONS = (
    "Measured facts about exporting PyTorch models to ONNX: which failure is known, at which versions, and which "
    "fix was measured to work. Paste an export error into explain_error first; search lists what has some words. Name "
    "torch, exporter and opset where you know them. What is not measured is unknown, never fine. Lists are cut; "
    "left_out counts the rest, and more is the command that prints everything."
)

#: an answer as JSON has it
Told = dict[str, Any]


def shorten(answer: Told) -> Told:
    """An answer as JSON without what is empty; long lists and texts are cut, ``left_out`` counts the rest of lists."""
    once = _told_once(answer, set())
    found = (_shortened(once, most) for most in _MOST)
    told: Told = next((item for item in found if len(json.dumps(item)) <= _FITTING), _shortened(answer, _MOST[-1]))
    return told


def _told_once(value: Any, seen: set[str]) -> Any:
    """The same with opsets as people write them, and each variant's code and title where it is named first."""
    if isinstance(value, list):
        return [_told_once(item, seen) for item in value]
    if not isinstance(value, Mapping):
        return value
    name = f"{value.get('case')}/{value.get('variant')}"
    if "code" in value and "theme" in value:
        if name in seen:
            return {key: value[key] for key in ("case", "variant")}
        seen.add(name)
    return {key: _opsets(item) if key in _OPSETS else _told_once(item, seen) for key, item in value.items()}


def _opsets(value: Any) -> Any:
    return versions.opset_text(value) if isinstance(value, list) and value else value


def _shortened(value: Any, most: int) -> Any:
    if isinstance(value, Mapping):
        full = {name: item for name, item in value.items() if item not in (None, "", [], {})}
        left = {name: len(item) - most for name, item in full.items() if isinstance(item, list) and len(item) > most}
        told = {name: _shortened(item[:most] if name in left else item, most) for name, item in full.items()}
        return {**told, "left_out": left} if left else told
    if isinstance(value, list):
        return [_shortened(item, most) for item in value]
    return _cut_text(value) if isinstance(value, str) and len(value) > _LONGEST else value


def _cut_text(text: str) -> str:
    """As much of a long text as fits; of a chain of errors what the last one says, behind the first line."""
    chain, caused, cause = text.rpartition(f"\n{CAUSED}")
    said = f"{chain.splitlines()[0][:_HEAD]}\n…{caused}{cause}" if chain else text
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


@dataclass
class Agent:
    """What an agent may ask: each tool gives a JSON object, with the links of the cases that it names."""

    dataset: Dataset
    settings: ProjectSettings = field(default_factory=ProjectSettings)

    def case(self, case: str, torch: str = "", exporter: str = "", opset: str = "") -> Told:
        """Say where a known case (CASE, or CASE/VARIANT) works, since when, by which call, and which workarounds help.

        With torch (2.9.1), exporter (trace, script, dynamo, default) or opset (17): the evidence of one cell.
        """
        named = {"torch": torch, "exporter": exporter, "opset": opset}
        # the project's settings complete a point, and do not say that one is wanted
        asked, told = self._filled(**named) if any(named.values()) else ({}, "")
        return self._answer(as_json(api.case(self.dataset, case, **asked)), f"case {case}", asked, told)

    def search(self, words: str) -> Told:
        """List the cases and operators whose title, operators, notes or messages have these words."""
        return self._answer({"hits": to_plain(find_hits(FullText(self.dataset), words))}, f"why {words!r}", {}, "")

    def explain_error(self, text: str, torch: str = "", exporter: str = "", opset: str = "") -> Told:
        """Say which known failure an export error or a traceback is, and which fix is measured to work at a point."""
        asked, told = self._filled(torch=torch, exporter=exporter, opset=opset)
        found = api.explain_error(self.dataset, text, **asked)
        return self._answer(as_json(found), "why -", asked, told)

    def workaround(self, case: str, torch: str = "", exporter: str = "", opset: str = "") -> Told:
        """Say of each workaround of a case (CASE, CASE/WORKAROUND) or an operator: keep or remove it, since when."""
        asked, told = self._filled(torch=torch, exporter=exporter, opset=opset)
        found = api.workaround(self.dataset, case, **asked)
        return self._answer(as_json(found), f"workaround {case}", asked, told)

    def op(self, op: str = "", torch: str = "", status: str = "", dtype: str = "") -> Told:
        """Say of an operator (aten::cross, F.grid_sample, an ONNX operator) since when it exports, in which dtypes, by
        which exporter, at which opsets; `cases` are known failures about it, which `case` explains. Without `op`, with
        a glob, or with `status` (fail, mismatch) or `dtype`: how each operator of torch ends.
        """
        asked = {name: value for name, value in (("torch", torch), ("status", status), ("dtype", dtype)) if value}
        line = "".join(f" --{name} {value}" for name, value in asked.items())
        return self._answer(as_json(api.op(self.dataset, op, **asked)), f"op {op}".rstrip() + line, {}, "")

    def upgrade(self, after: str, before: str = "", ops: list[str] | None = None) -> Told:
        """Say what breaks, is fixed, needs a workaround or no longer does between two points.

        A point is torch=2.9.1 with opset=, exporter=, onnxscript=, onnx=, ort= where they are not the release's own.
        ops: the operators that your model uses; without them it is about every known case.
        """
        asked, told = self._filled("torch", "opset", "exporter", "runtime")
        if "torch" in asked:  # a range has a comma, and a point one release
            asked["torch"] = versions.resolve_patch(asked["torch"], Inventory.of(self.dataset).torch)
        point = before or ",".join(f"{axis}={value}" for axis, value in asked.items())
        if not point:
            raise UnknownName("before: where you are is wanted, torch=2.8.0")
        found = api.upgrade(self.dataset, point, after, op=ops or ())
        line = f"upgrade --from {point} --to {after}{''.join(f' --op {op}' for op in ops or ())}"
        return self._answer(as_json(found), line, {}, "" if before else told)

    def _filled(self, *keys: str, **named: str) -> tuple[dict[str, str], str]:
        """What is named, and for the rest what the project says; and a line about the latter."""
        own = [key for key in (*keys, *named) if not named.get(key) and getattr(self.settings, key)]
        asked = {
            **{key: text for key, text in named.items() if text},
            **{key: getattr(self.settings, key) for key in own},
        }
        return asked, self.settings.told(*own)

    def _answer(self, found: Told, command: str, asked: Mapping[str, str], told: str) -> Told:
        options = "".join(f" --{name} {text!r}" for name, text in asked.items())
        answer = shorten(found)
        beside = {"settings": told, "sources": self._sources(answer), "more": f"caniexport {command}{options} --json"}
        return {**answer, **{name: item for name, item in beside.items() if item}}

    def _sources(self, answer: Told) -> dict[str, list[str]]:
        """By case: where it was reported."""
        catalogue = Inventory.of(self.dataset).catalogue
        cases = [name for name in dict.fromkeys(_cases(answer)) if (name, PLAIN) in catalogue][:_MOST_CASES]
        found = {name: [*filter(None, map(source_address, catalogue[name, PLAIN].sources))] for name in cases}
        return {name: links for name, links in found.items() if links}

    @property
    def tools(self) -> tuple[Callable[..., Told], ...]:
        """Everything that may be asked; nothing of it writes."""
        return self.explain_error, self.search, self.case, self.workaround, self.upgrade, self.op


def _cases(value: Any) -> Iterator[str]:
    """The names below ``case`` and ``cases``, wherever they are."""
    if isinstance(value, Mapping):
        several = value.get("cases")
        named = [value.get("case"), *(several if isinstance(several, list) else [])]
        yield from (name for name in named if isinstance(name, str))
        for item in value.values():
            yield from _cases(item)
    elif isinstance(value, list):
        for item in value:
            yield from _cases(item)


def make_server(dataset: Dataset, folder: Path) -> MCPServer:
    """The MCP server of a dataset, for the project in a folder; raises :class:`ModuleNotFoundError` without ``mcp``."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

    from caniexport import __version__

    def telling(tool: Callable[..., Told]) -> Callable[..., Told]:
        """The tool, whose errors on purpose are told: they name what was meant."""

        @wraps(tool)
        def ask(*args: Any, **named: Any) -> Told:
            try:
                return tool(*args, **named)
            except CaniexportError as error:
                raise ToolError(str(error)) from error

        return ask

    server: MCPServer = MCPServer("caniexport", instructions=INSTRUCTIONS, version=__version__)
    for tool in Agent(dataset, read_settings(folder)).tools:
        reading = ToolAnnotations(title=tool.__name__, read_only_hint=True, open_world_hint=False)
        server.add_tool(telling(tool), annotations=reading)
    return server
