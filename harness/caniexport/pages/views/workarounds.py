"""Every fix: is it still needed at the release, exporter and opset chosen, and since when not.

Fixes that somebody looks for are a table; those that nobody has looked for, where they are many, unfold by theme.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from caniexport.answers.decide_fixes import decide_workarounds
from caniexport.answers.filters import Filters, read_filters
from caniexport.answers.select import select
from caniexport.answers.signs import EXPORTER_SHORT, WORKAROUND
from caniexport.answers.standings import Standing, Workarounds, workarounds
from caniexport.answers.wanted import what_is_named
from caniexport.corpus.verdicts import Workaround
from caniexport.match.search import FullText, find_cases
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.pages import looks
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import case_names
from caniexport.pages.render import opset_name, render
from caniexport.pages.setting import NAMES
from caniexport.pages.sheet import table_file
from caniexport.pages.undecided import undecided
from caniexport.pages.unfound import unfound

TITLE = "Is this workaround still needed?"
_EXPORTERS = [member.value for member in Exporter]
_DEFAULT = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_WORDS = [word.value for word in WORKAROUND]
#: columns by the name that the address sorts by
_COLUMNS = {
    "word": "status",
    "exporter": "exporter, opset",
    "fix": "case / fix",
    "since": "since when",
    "kind": "kind",
}
#: columns of the table that a reader keeps
_KEPT = (
    *("status", "exporter", "to exporter", "torch", "opset", "case", "fix", "note", "caution"),
    *("since when", "kind"),
)
#: of columns that stand in one: a phone has room for three
_HEADS = (("word", "exporter"), ("fix",), ("since",), ("kind",))
#: what rows that unfold may be grouped by, under the name of the column that they are sorted by
_GROUPED = {"": "theme", "word": "status", "exporter": "exporter", "since": "since when", "kind": "kind"}
#: rows that are a table of their own where nothing is searched for
_FEW = 60


@dataclass(frozen=True)
class FixGroup:
    """Fixes that unfold together: what they have in common, how many of each word they are, and the fixes."""

    name: str
    items: tuple[Standing, ...]

    @property
    def seen(self) -> Counter[Workaround]:
        """How many are of each word."""
        return Counter(item.word for item in self.items)


def page(form: Form, kept: Kept) -> Page:
    """The fixes that the filters take."""
    query = form.words("q", "Search", "stack_rewrite, grid_sample, any words", width=420)
    filters, words, careful = _filters(form, kept)
    order = form.one_of("sort", [*_COLUMNS, "statement"], "order")
    named = _named(kept, query) if query else None
    matched = _cases(kept, query, named) if query else ()
    variants = named.variants if named else ()
    found: list[Standing] = []
    if not_known := undecided(form, "workarounds", ("provider", *NAMES)):
        body = not_known
    elif query and not matched:
        body = unfound(form, kept, "workarounds", "fix", query)
    else:
        asked = replace(filters, cases=matched, variants=variants)
        answer = kept.answer(workarounds, asked)
        found = [item for item in _every(kept, asked, answer, careful) if not words or item.word.value in words]
        found = _ordered(kept, found, order, matched if named is None else ())
        body = _table(form, kept, asked, answer, found, order, matched)
    return form.page(
        TITLE,
        "A fix is needed where the failing form fails and the fix works, and obsolete where both work.",
        body,
        about=(query,),
        folds=True,
        searches=True,
        files=(table_file("workarounds", _KEPT, lambda: _rows(kept, found)),),
    )


def _rows(kept: Kept, found: Sequence[Standing]) -> Iterator[tuple[object, ...]]:
    """The fixes as they are kept, in the order of the columns."""
    leaves = _leaves(kept)
    for item in found:
        to = leaves.get((item.case, item.variant), "")
        opset = opset_name(item.opset) if item.torch else ""
        caution = "known to be wrong or partial" if item.caution else ""
        said = (item.note, caution, item.statement, item.kind)
        yield (item.word.value, item.exporter, to, item.torch, opset, item.case, item.variant, *said)


def _leaves(kept: Kept) -> dict[tuple[str, str], str]:
    """By fix that leaves its exporter: the one that it goes to."""
    return {key: entry.leaves_for for key, entry in kept.rows().catalogue.items() if entry.leaves_for}


def _every(kept: Kept, filters: Filters, answer: Workarounds, careful: bool) -> list[Standing]:
    """The fixes asked for, of whatever word."""
    leaves = _leaves(kept)
    return [
        item
        for item in (*answer.standings, *(answer.cautions if careful or filters.variants else ()))
        # to go where one is already is no fix
        if leaves.get((item.case, item.variant)) != item.exporter
    ]


def _filters(form: Form, kept: Kept) -> tuple[Filters, tuple[str, ...], bool]:
    """The question, of several releases at the newest; the words to show; whether fixes known to be wrong are."""
    rows = kept.rows()
    provider = form.one_of("provider", rows.providers)
    if len(rows.providers) > 1:
        provider = form.select("provider", "Provider", rows.providers, text="all providers", shown=looks.PROVIDER)
    words = form.pills("word", "Status", _WORDS)
    careful = form.switch("careful", "Show fixes known to be wrong")
    form.choose_setting(rows, exporters=_DEFAULT)
    filters = form.mine.filters(exporters=_DEFAULT)
    return replace(filters, torch=filters.torch[-1:], providers=(provider,) if provider else ()), words, careful


def _table(
    form: Form,
    kept: Kept,
    filters: Filters,
    answer: Workarounds,
    found: Sequence[Standing],
    order: str,
    matched: tuple[str, ...],
) -> Markup:
    return render(
        "workarounds.html",
        **_of_table(kept, found, order),
        decision=decide_workarounds(answer, _why_this_release(form)) if filters.cases else "",
        at=_told_release(form, answer),
        shown=[EXPORTER_SHORT[name] for name in filters.exporters if not form.mine.of("exporter")],
        groups=_groups(kept, found, order) if len(found) > _FEW and not filters.cases else (),
        by=_GROUPED,
        with_caution=form.whole,
        links=not form.whole,
        only=(", ".join(filters.variants), matched) if filters.variants else (),
        asked={name: value for name, value in form.asked.items() if name != "sort"},
        notes=[item.split(" (--")[0] for item in answer.notes],
    )


def _of_table(kept: Kept, found: Sequence[Standing], order: str) -> dict[str, object]:
    """What a table of these fixes is drawn from."""
    return {
        "found": found,
        "seen": Counter(item.word for item in found),
        "order": order,
        "columns": _COLUMNS,
        "heads": _HEADS,
        "leaves": _leaves(kept),
        "cases": kept.answer(case_names),
        "titles": {entry.case: entry.title for entry in kept.rows().catalogue.values()},
    }


def fixes_of_operator(form: Form, kept: Kept, op: str) -> Markup:
    """The fixes of the cases about an operator at the reader's setting, those that work there first; empty where there
    are none.
    """
    mine = form.mine.filters(exporters=_DEFAULT)
    asked = replace(mine, torch=mine.torch[-1:], ops=(op,))
    answer = kept.answer(workarounds, asked)
    found = _ordered(kept, _every(kept, asked, answer, careful=False), "", ())
    said = decide_workarounds(answer, _why_this_release(form))
    return render("op_fixes.html", **_of_table(kept, found, ""), op=op, said=said) if found else Markup()


def _told_release(form: Form, answer: Workarounds) -> str:
    """``At torch 2.15.0 (the newest; choose «My torch»).``; empty where nothing was measured."""
    why = _why_this_release(form)
    return f"At torch {answer.torch}{f' ({why})' if why else ''}." if answer.torch else ""


def _named(kept: Kept, query: str) -> Filters | None:
    """What ``caniexport workaround`` takes the words for, where they are a name or a pattern that takes some."""
    try:
        found = read_filters("workaround", what_is_named(kept, query, fixes=True))
        select(kept.rows(), found)
    except UnknownName:
        return None
    return found


def _cases(kept: Kept, query: str, named: Filters | None) -> tuple[str, ...]:
    """The cases of the name that the words are; else those that the words find, best first."""
    if named is None:
        return find_cases(kept, kept.answer(FullText), query)
    return tuple(dict.fromkeys(case for case, _ in select(kept.rows(), named).catalogue))


def _why_this_release(form: Form) -> str:
    """Why a sentence is about its release, where the reader has not chosen it."""
    if form.mine.of("torch"):
        return ""
    return "the newest" if form.whole else "the newest; choose «My torch»"


def _ordered(kept: Kept, found: list[Standing], order: str, best_first: Sequence[str]) -> list[Standing]:
    """As the reader sorts them; else what works there first, and by how well their cases fit words."""
    if order:
        return _sorted(found, order, kept.rows().torch)
    working = sorted(_sorted(found, "fix", kept.rows().torch), key=_rank_word)
    rank = {case: place for place, case in enumerate(best_first)}
    return sorted(working, key=lambda item: rank.get(item.case, len(rank)))


def _groups(kept: Kept, found: Sequence[Standing], order: str) -> list[FixGroup]:
    """The fixes by what they are sorted by, else by theme."""
    themes = {entry.case: entry.theme or "no theme" for entry in kept.rows().catalogue.values()}
    releases = kept.rows().torch
    named: Mapping[str, Callable[[Standing], str]] = {
        "": lambda item: themes[item.case],
        "word": lambda item: item.word.value,
        "exporter": lambda item: EXPORTER_SHORT.get(item.exporter, item.exporter),
        "kind": lambda item: item.kind,
        "since": lambda item: _told_since(item, releases),
    }
    by: dict[str, list[Standing]] = defaultdict(list)
    kind = order if order in named else ""
    for item in found:
        by[named[kind](item)].append(item)
    names = by if kind else sorted(by)
    return [FixGroup(name, tuple(by[name])) for name in names]


def _told_since(item: Standing, releases: Sequence[str]) -> str:
    """``obsolete from torch 2.9.1``, as the fixes are sorted by it."""
    rank = _rank_since(item, releases)
    return f"obsolete from torch {releases[-rank]}" if rank <= 0 else "others"


def _sorted(found: list[Standing], order: str, releases: Sequence[str]) -> list[Standing]:
    keys: Mapping[str, Callable[[Standing], Any]] = {
        "word": _rank_word,
        # newest first: what became superfluous last is what a reader may not know yet
        "since": lambda item: _rank_since(item, releases),
        "fix": lambda item: (item.case, item.variant),
        "kind": lambda item: item.kind,
        "exporter": lambda item: _EXPORTERS.index(item.exporter) if item.exporter in _EXPORTERS else len(_EXPORTERS),
        "statement": lambda item: item.statement,
    }
    return sorted(found, key=keys[order])


def _rank_word(item: Standing) -> int:
    """Where its word stands: the fixes that work are before those that do not."""
    return list(WORKAROUND).index(item.word)


def _rank_since(item: Standing, releases: Sequence[str]) -> int:
    """The obsolete ones by the release from which on they are, newest first; the others behind them."""
    return -releases.index(item.obsolete_since) if item.obsolete_since else 1
