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

#: limits of list items, tried in turn until the answer fits; characters of an answer; characters of a text
_MOST, _FITTING, _LONGEST = (12, 6, 3), 12_000, 1200
#: characters of the first line of an error chain
_HEAD = 300
#: most cases with sources
_MOST_CASES = 6
INSTRUCTIONS = (
    "Measured facts about exporting PyTorch models to ONNX: which failure is known, at which versions, and which "
    "workaround was measured to work. Paste an export error into explain_error first; search finds words. Name "
    "torch, exporter and opset where you know them. What is not measured is unknown, never fine. Lists are cut; "
    "left_out counts the rest, and more is the command that prints everything."
)

#: an answer as JSON has it
JsonObject = dict[str, Any]


def shorten(answer: JsonObject) -> JsonObject:
    """Return the answer without empty values; long lists and texts are cut, ``left_out`` counts the rest of lists."""
    found = (_cut_lists(answer, most) for most in _MOST)
    shortest: JsonObject = next(
        (item for item in found if len(json.dumps(item)) <= _FITTING), _cut_lists(answer, _MOST[-1])
    )
    return shortest


def _cut_lists(value: Any, most: int) -> Any:
    if isinstance(value, Mapping):
        full = {name: item for name, item in value.items() if item not in (None, "", [], {})}
        left = {name: len(item) - most for name, item in full.items() if isinstance(item, list) and len(item) > most}
        cut = {name: _cut_lists(item[:most] if name in left else item, most) for name, item in full.items()}
        return {**cut, "left_out": left} if left else cut
    if isinstance(value, list):
        return [_cut_lists(item, most) for item in value]
    return _cut_text(value) if isinstance(value, str) and len(value) > _LONGEST else value


def _cut_text(text: str) -> str:
    """Cut a long text; of a chain of errors keep the first line and the innermost error."""
    chain, caused, cause = text.rpartition(f"\n{CAUSED}")
    kept = f"{chain.splitlines()[0][:_HEAD]}\n…{caused}{cause}" if chain else text
    return kept if len(kept) <= _LONGEST else f"{kept[: _LONGEST - 1]}…"


@dataclass
class Agent:
    """The tools of an agent: each returns a JSON object with the links of its cases."""

    dataset: Dataset
    settings: ProjectSettings = field(default_factory=ProjectSettings)

    def case(self, case: str, torch: str = "", exporter: str = "", opset: str = "") -> JsonObject:
        """Say where a known case (CASE, or CASE/VARIANT) works, since when, by which call, and which workarounds help.

        With torch (2.9.1), exporter (trace, script, dynamo, default) or opset (17): the evidence of one cell.
        """
        named = {"torch": torch, "exporter": exporter, "opset": opset}
        # without a named point the answer is about the whole case
        asked, settings = self._complete_point(**named) if any(named.values()) else ({}, "")
        return self._answer(as_json(api.case(self.dataset, case, **asked)), f"case {case}", asked, settings)

    def search(self, words: str) -> JsonObject:
        """List the cases and operators with these words in their title, operators, notes or messages."""
        return self._answer({"hits": to_plain(find_hits(FullText(self.dataset), words))}, f"why {words!r}", {}, "")

    def explain_error(self, text: str, torch: str = "", exporter: str = "", opset: str = "") -> JsonObject:
        """Find the known failure of an export error or a traceback, and the workarounds measured to work at a point."""
        asked, settings = self._complete_point(torch=torch, exporter=exporter, opset=opset)
        found = api.explain_error(self.dataset, text, **asked)
        return self._answer(as_json(found), "why -", asked, settings)

    def workaround(self, case: str, torch: str = "", exporter: str = "", opset: str = "") -> JsonObject:
        """Say of each workaround of a case (CASE, CASE/WORKAROUND) or an operator: keep or remove it, since when."""
        asked, settings = self._complete_point(torch=torch, exporter=exporter, opset=opset)
        found = api.workaround(self.dataset, case, **asked)
        return self._answer(as_json(found), f"workaround {case}", asked, settings)

    def op(self, op: str = "", torch: str = "", status: str = "", dtype: str = "") -> JsonObject:
        """Say of an operator (aten::cross, F.grid_sample, an ONNX operator) since when it exports, in which dtypes, by
        which exporter, at which opsets; `cases` are known failures about it, which `case` explains. Without `op`, with
        a glob, or with `status` (fail, mismatch) or `dtype`: the outcome of each torch operator.
        """
        asked = {name: value for name, value in (("torch", torch), ("status", status), ("dtype", dtype)) if value}
        line = "".join(f" --{name} {value}" for name, value in asked.items())
        return self._answer(as_json(api.op(self.dataset, op, **asked)), f"op {op}".rstrip() + line, {}, "")

    def upgrade(self, after: str, before: str = "", ops: list[str] | None = None) -> JsonObject:
        """Compare two points: what breaks, what is fixed, which workarounds become needed or obsolete.

        A point is torch=2.9.1 with opset=, exporter=, onnxscript=, onnx=, ort= where they are not the release's own.
        ops: the operators that your model uses; without them it is about every known case.
        """
        asked, settings = self._complete_point("torch", "opset", "exporter", "runtime")
        if "torch" in asked:  # a range has a comma, and a point one release
            asked["torch"] = versions.resolve_patch(asked["torch"], Inventory.of(self.dataset).torch)
        point = before or ",".join(f"{axis}={value}" for axis, value in asked.items())
        if not point:
            raise UnknownName("before: name the point that you upgrade from, as torch=2.8.0")
        found = api.upgrade(self.dataset, point, after, op=ops or ())
        line = f"upgrade --from {point} --to {after}{''.join(f' --op {op}' for op in ops or ())}"
        return self._answer(as_json(found), line, {}, "" if before else settings)

    def _complete_point(self, *keys: str, **named: str) -> tuple[dict[str, str], str]:
        """Complete the named values from the project's settings; return them and a line about the settings used."""
        own = [key for key in (*keys, *named) if not named.get(key) and getattr(self.settings, key)]
        asked = {
            **{key: text for key, text in named.items() if text},
            **{key: getattr(self.settings, key) for key in own},
        }
        return asked, self.settings.describe(*own)

    def _answer(self, found: JsonObject, command: str, asked: Mapping[str, str], settings: str) -> JsonObject:
        options = "".join(f" --{name} {text!r}" for name, text in asked.items())
        answer = shorten(found)
        more = {"settings": settings, "sources": self._sources(answer), "more": f"caniexport {command}{options} --json"}
        return {**answer, **{name: item for name, item in more.items() if item}}

    def _sources(self, answer: JsonObject) -> dict[str, list[str]]:
        """The links to the sources of each case."""
        catalogue = Inventory.of(self.dataset).catalogue
        cases = [name for name in dict.fromkeys(_cases(answer)) if (name, PLAIN) in catalogue][:_MOST_CASES]
        found = {name: [*filter(None, map(source_address, catalogue[name, PLAIN].sources))] for name in cases}
        return {name: links for name, links in found.items() if links}

    @property
    def tools(self) -> tuple[Callable[..., JsonObject], ...]:
        """All tools; none of them writes."""
        return self.explain_error, self.search, self.case, self.workaround, self.upgrade, self.op


def _cases(value: Any) -> Iterator[str]:
    """Yield the case names below the key ``case`` at any depth."""
    if isinstance(value, Mapping):
        if isinstance(value.get("case"), str):
            yield value["case"]
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

    def with_tool_errors(tool: Callable[..., JsonObject]) -> Callable[..., JsonObject]:
        """Turn errors of names into errors of the tool, whose text the agent reads."""

        @wraps(tool)
        def ask(*args: Any, **named: Any) -> JsonObject:
            try:
                return tool(*args, **named)
            except CaniexportError as error:
                raise ToolError(str(error)) from error

        return ask

    server: MCPServer = MCPServer("caniexport", instructions=INSTRUCTIONS, version=__version__)
    for tool in Agent(dataset, read_settings(folder)).tools:
        reading = ToolAnnotations(title=tool.__name__, read_only_hint=True, open_world_hint=False)
        server.add_tool(with_tool_errors(tool), annotations=reading)
    return server
