"""Workarounds in a file: what its author says, and what has the form of a fix whoever wrote it and why."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from caniexport.scan import backends
from caniexport.scan.branches import ends, span
from caniexport.scan.files import ParsedFile
from caniexport.scan.normal import blocks, every_statement, operator_of
from caniexport.scan.project import is_test
from caniexport.scan.ranked import Candidate, Formed, OnLines, Ranking
from caniexport.scan.site import Site, SiteKind, Sureness, text_at
from caniexport.scan.stated import builds_graphs, edits_graphs, names_around, places
from caniexport.scan.told import Told, ToldPlace
from caniexport.scan.wording import blames_operation, names_exporter, speaks_of_export

_TOLD = {
    Told.COMMENT: "its author's words",
    Told.DOCSTRING: "its author's words",
    Told.NAME: "its name",
    Told.GATE: "a branch on exporting",
    Told.PATCH: "its taking an operator's place",
}


@dataclass(frozen=True)
class StatedWorkaround:
    """A site, and the lines that it is about. ``faults``: its author says that an operation fails there."""

    site: Site
    first: int
    last: int
    faults: bool = False


def workarounds(
    source: ParsedFile, ranking: Ranking, lines: OnLines, check: Callable[[], None]
) -> list[StatedWorkaround]:
    """Every workaround of a file, which has ``lines``; of several reasons for one place the best."""
    by_path = "" if is_test(source.path) else backends.of_path(source.path)
    around = names_around(source.tree, ranking.known.operators)
    stated = []
    for place in places(source, ranking.known.operators):
        check()
        stated.append((place, _best(place, lines, ranking)))
    onnx = _is_about_onnx(source)
    found = [
        _told(source, place, best, by_path, lines, ranking)
        for place, best in stated
        if onnx or _is_plain(place, best, source) or place.runtime or by_path
    ]
    if onnx:
        found += _chosen(source, lines, ranking, [place.line for place, best in stated if best])
    covered = [item for item in found if item.site.sure is not Sureness.SIMILAR or item.site.runtime]
    alone = [
        StatedWorkaround(
            _formed(source, item, by_path, around(item.line) if onnx else None, ranking), item.line, item.line
        )
        for item in _first_of_each(ranking.alone(lines, around))
        if not any(other.first <= item.line <= other.last for other in covered)
        and (not _needs_exporter(item) or _exports_around(source, item.line) or _is_commented(source, item.line))
    ]
    kept = [item for item in found if item in covered or _is_worth_telling(item)]
    # in a folder that is about another runtime as a whole, each comment speaks of it
    is_model = not edits_graphs("\n".join(source.lines))
    about = [
        item
        for item in [*kept, *alone]
        if not by_path or (item.faults and is_model) or item.site.sure is not Sureness.SIMILAR
    ]
    return _without_repetition(about)


def _is_about_onnx(source: ParsedFile) -> bool:
    """Whether a file has to do with exporting to ONNX: others export for other programs or write graphs themselves, and
    tests work around nothing.
    """
    text = "\n".join(source.lines)
    names_it = "onnx" in text.lower() or "opset" in text.lower()
    return names_it and not is_test(source.path) and not builds_graphs(text)


def _is_plain(place: ToldPlace, best: list[Candidate], source: ParsedFile) -> bool:
    """Whether a place shows what it leaves out, or what fails in which exporter, wherever it is: its file need not name
    ONNX.
    """
    fails, same = bool(place.avoided | place.blamed), [item for item in best if item.is_same]
    brings = any(item.operators >= _BROUGHT for item in same)
    shows = place.told is Told.PATCH or (place.asked and (fails or brings or bool(place.left_out)))
    says = names_exporter(place.said) and (fails or bool(same))
    return (shows or says) and not is_test(source.path)


#: of the operators that a fix brings, by their rarity, what is there where a branch on exporting has its form
_BROUGHT = 0.6


def _best(place: ToldPlace, lines: OnLines, ranking: Ranking) -> list[Candidate]:
    ranked = ranking.rank(place, lines)
    # a form, or words, of another operator than those that the author names are a chance
    about = (item for item in ranked if item.named or not place.named or (item.said and item.calls >= 1.0))
    same = [item for item in about if item.is_same]
    return (same or [item for item in ranked if item.is_near(place.told)])[:1]


def _told(
    source: ParsedFile, place: ToldPlace, best: list[Candidate], by_path: str, lines: OnLines, ranking: Ranking
) -> StatedWorkaround:
    operator = ranking.operator(place, lines)
    fixes = tuple((item.case, item.variant) for item in best)
    same = (place.is_about_export or bool(place.runtime)) and any(item.is_same for item in best)
    sure = Sureness.SAME if same else Sureness.OPERATOR if operator else Sureness.SIMILAR
    if place.refuses:
        sure = Sureness.SIMILAR
    name = operator or ", ".join(sorted(place.named))
    site = Site(
        source.path, place.line, SiteKind.STATED, text_at(source, place.line), name,
        fixes=fixes[:1], runtime=place.runtime or by_path, told=_TOLD[place.told], sure=sure,
        said=place.said,
    )  # fmt: skip
    _, calls = lines.between(place.first, place.last)
    blames = bool(place.blamed) or blames_operation(place.said) or names_exporter(place.said)
    faults = bool(place.runtime and calls & ranking.known.operators) and blames
    return StatedWorkaround(site, place.first, place.last, faults)


def _chosen(source: ParsedFile, lines: OnLines, ranking: Ranking, told: list[int]) -> list[StatedWorkaround]:
    """Branches with a word on an export, whatever they ask, of which one has the failing form of a case and the other
    the form of a fix.
    """
    found = []
    for block in blocks(source.tree):
        for number, node in enumerate(block):
            rest = block[number + 1 :] if isinstance(node, ast.If) and not node.orelse and ends(node.body) else []
            if (
                not isinstance(node, ast.If)
                or not (node.orelse or rest)
                or node.lineno in told
                or not speaks_of_export(source.lines[node.lineno - 1 : node.end_lineno])
            ):
                continue
            sides = span(node.body), span(node.orelse or rest)
            for ours, other in (sides, sides[::-1]):
                best = ranking.choose(lines, ours, other)
                if best:
                    fixes = ((best[0].case, best[0].variant),)
                    text, why = text_at(source, node.lineno), "the failing form in its other branch"
                    site = Site(source.path, node.lineno, SiteKind.STATED, text, fixes=fixes, told=why)
                    found.append(StatedWorkaround(site, *ours))
    return found


#: lines on which the same form is told once: what is computed and what is made of it
_TOGETHER = 3
#: operators of a form that tells beside words on an export, and of one that nobody writes by chance
_FEWEST, _WHOLE = 3.0, 12.0
#: lines before a function that are about it
_BEFORE = 3


def _speaks_around(source: ParsedFile, line: int) -> bool:
    """Whether the innermost function around a line, the head of its class, or the lines right before these have a word
    on an export.
    """
    around = [node for node in every_statement(source.tree) if _is_around(node, line)]
    innermost = [span([node]) for node in around if isinstance(node, ast.FunctionDef)][-1:] or [(line, line)]
    heads = [(node.lineno, node.body[0].end_lineno or 0) for node in around if isinstance(node, ast.ClassDef)]
    return any(
        speaks_of_export(source.lines[max(0, first - 1 - _BEFORE) : last]) for first, last in [*innermost, *heads]
    )


def speaks_near(source: ParsedFile, line: int) -> bool:
    """Whether the innermost function around a line, or the lines right around it, have a word on an export."""
    around = [node for node in every_statement(source.tree) if _is_around(node, line)]
    functions = [span([node]) for node in around if isinstance(node, ast.FunctionDef)]
    first, last = functions[-1] if functions else (line, line)
    near = source.lines[max(0, line - 2 * _BEFORE) : line + _BEFORE]
    return speaks_of_export([*source.lines[first - 1 : last], *near])


def _is_commented(source: ParsedFile, line: int) -> bool:
    """Whether a comment on a line, or right above it, has a word on an export."""
    return speaks_of_export(text.partition("#")[2] for text in source.lines[max(0, line - 1 - _BEFORE) : line])


def _reimplemented(source: ParsedFile, line: int) -> frozenset[str]:
    """The operators of torch that the function around a line is another implementation of, by its docstring."""
    around = [node for node in every_statement(source.tree) if _is_around(node, line)]
    said = " ".join(ast.get_docstring(node) or "" for node in around if isinstance(node, ast.FunctionDef))
    return frozenset(operator_of(match["name"]) for match in _ANOTHER.finditer(said))


#: what a function says that is written in the place of an operator
_ANOTHER = re.compile(
    r"(?:alternative|replacement|re-?implementation|own implementation)(?: implementation| version)? (?:to|of|for)"
    r" [`'\"]*torch\.(?:\w+\.)*(?P<name>\w+)",
    re.IGNORECASE,
)


def _is_around(node: ast.AST, line: int) -> bool:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or node.lineno)


def _needs_exporter(found: Formed) -> bool:
    return all(form.needs == "exporter" for form in found.forms)


def _exports_around(source: ParsedFile, line: int) -> bool:
    """Whether the function around a line exports a model itself."""
    around = [node for node in every_statement(source.tree) if _is_around(node, line)]
    first, last = span([node for node in around if isinstance(node, ast.FunctionDef)][-1:] or source.tree.body)
    return any(_EXPORT_CALL.search(text) for text in source.lines[first - 1 : last])


_EXPORT_CALL = re.compile(r"onnx\.(?:dynamo_)?export\(|onnx_export\(|jit\.trace\(")


def _first_of_each(found: list[Formed]) -> Iterator[Formed]:
    """Of lines beside each other with the same fix the first."""
    last: dict[tuple[str, str], int] = {}
    for item in found:
        if item.line - last.get(item.fixes[0], -_TOGETHER) >= _TOGETHER:
            yield item
        last[item.fixes[0]] = item.line


def _formed(source: ParsedFile, found: Formed, by_path: str, names: frozenset[str] | None, ranking: Ranking) -> Site:
    """A form without its author's words: ordinary code has the small ones too, so that they only count in a function
    or class that has the operator in its name and speaks of an export. ``names`` are the names around it and the
    operators in these, ``None`` in a file that has nothing to do with ONNX.
    """
    of = next((form.of for form in found.forms if form.of), "")
    size = max(form.weight for form in found.forms)
    written = any(not form.needs for form in found.forms)
    distinct = any(ranking.is_distinct(form) for form in found.forms)
    leads = ranking.known.profiles[found.forms[0].case].leads
    beside = bool(leads & (names or frozenset())) and size >= _FEWEST and _speaks_around(source, found.line)
    # a form that needs words on an export is here by the name of its function
    known = of and (names is not None or distinct or any(form.needs == "export" for form in found.forms))
    said = bool(leads & _reimplemented(source, found.line)) or _needs_exporter(found)
    sure = Sureness.SAME if known or beside or said or (written and size >= _WHOLE) else Sureness.SIMILAR
    return Site(
        source.path, found.line, SiteKind.SHAPE, text_at(source, found.line), found.fixes[0][0], fixes=found.fixes,
        told="its form", of=of, runtime=by_path, sure=sure,
    )  # fmt: skip


def _is_worth_telling(item: StatedWorkaround) -> bool:
    """Whether a place of which no case is known is told: its author names an operator."""
    return bool(item.site.name) and item.site.told != _TOLD[Told.GATE]


def _without_repetition(found: list[StatedWorkaround]) -> list[StatedWorkaround]:
    """Of findings of one case within each other's lines the first."""
    kept: list[StatedWorkaround] = []
    for item in sorted(found, key=lambda item: (not item.site.fixes, item.last - item.first, item.first)):
        near = (other for other in kept if other.first <= item.last and item.first <= other.last)
        if not any(_says_it(other.site, item.site) for other in near):
            kept.append(item)
    return sorted(kept, key=lambda item: item.site.line)


def _says_it(told: Site, site: Site) -> bool:
    """Whether a site beside it makes another one needless."""
    if site.runtime or told.runtime:
        return site.runtime == told.runtime
    if site.sure is Sureness.SAME:
        return told.fixes == site.fixes
    return site.sure is Sureness.SIMILAR or told.sure is Sureness.SAME or told.name == site.name
