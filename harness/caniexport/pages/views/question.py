"""The answer to a question in words: the page that has it, at the setting that the question names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from caniexport.answers.decide_fixes import with_unmeasured
from caniexport.answers.decision import decide_why
from caniexport.answers.filters import Filters
from caniexport.answers.operator_at import OperatorAt, operator_without_case
from caniexport.answers.operator_forms import tell_forms
from caniexport.answers.operator_grid import FailingOperators
from caniexport.answers.provider_runs import decide_provider, elsewhere, of_runtime, provider_runs, tell_failing_forms
from caniexport.answers.reasons import why
from caniexport.answers.standings import workarounds
from caniexport.answers.wanted import name_cases
from caniexport.corpus.verdicts import Workaround
from caniexport.match import search as searching
from caniexport.match.asked import Understood, asked_exporter, asked_provider, called_at, understand
from caniexport.match.errors import Lead
from caniexport.match.question import Intention, read_for, read_question
from caniexport.match.search import SearchHits
from caniexport.match.words import choose_main
from caniexport.model.case import PLAIN
from caniexport.operators import dtypes_of
from caniexport.pages import links
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import case_names
from caniexport.pages.render import render
from caniexport.pages.setting import PARTS, Setting
from caniexport.pages.views import alerts, matrix, torch_op, upgrade
from caniexport.pages.views import workarounds as workarounds_page
from caniexport.pages.views.hits import BESIDE, SHOWN, PlacedHit, tell_hit

#: the pages whose search takes a whole question, and what they answer
_INTENTIONS: Mapping[str, Intention] = {"upgrade": "upgrade", "workarounds": "workarounds", "matrix": "matrix"}
#: cases without a fix that a decision names
_NAMED = 3
_PAGES: Mapping[str, tuple[Callable[[Form, Kept], Page], str]] = {
    "upgrade": (upgrade.page, "Change the filters of this upgrade"),
    "workarounds": (workarounds_page.page, "Change the filters of these workarounds"),
    "matrix": (matrix.page, "Change the filters of this table"),
    "alerts": (alerts.page, "Change the filters of these alerts"),
}


@dataclass(frozen=True)
class ReadLine:
    """The parameters that a page is asked for, with those that a line of words in its search was read as.

    ``found``: what the search of the front page finds, where the line asks for something else than the page shows.
    """

    asked: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    query: str = ""
    found: SearchHits | None = None


def read_line(name: str, asked: Mapping[str, str], kept: Kept) -> ReadLine:
    """What the search of a page that takes a whole question was told; words to look for stay what they are."""
    query = asked.get("q", "").strip()[: searching.LONGEST]
    page = _INTENTIONS.get(name)
    if not query or page is None:
        return ReadLine(asked)
    is_upgrade, is_error = page == "upgrade", searching.is_error(query)
    if not is_upgrade and not is_error and read_question(query) is None:
        return ReadLine(asked)
    form = Form(asked)
    form.read_setting(kept.rows())
    mine = kept.of(form.mine.profile)
    found = searching.find(mine.answer(searching.index), query)
    if found.error:
        return ReadLine(asked, query=query, found=found)
    if found.question is None and not is_upgrade:
        return ReadLine(asked)
    question = read_for(query, page)
    if found.question and (question.asks != "upgrade" or found.question.asks == "upgrade"):
        question = replace(question, words=found.question.words, listed=found.question.listed)
    found = replace(found, question=question)
    asks = understand(question, mine.rows())
    is_missing = not is_upgrade and asks.words and not found.hits
    if asks.unknown or is_missing or question.asks != page:
        return ReadLine(asked, query=query, found=found)
    rest = {name: value for name, value in asked.items() if name != "q"}
    left = filter(None, () if is_upgrade else (found.nearest, found.aside, _uncovered(mine, found, asks)))
    return ReadLine({**rest, **_of_line(page, asks)}, (*left, *asks.notes))


def _of_line(page: Intention, asks: Understood) -> dict[str, str]:
    """The parameters of a page for what was understood."""
    if page != "upgrade":
        return {**asks.setting, **({"q": asks.searched} if asks.words else {})}
    given = {"from": asks.before, "to": asks.after, **asks.setting, "ops": ",".join(asks.words.split())}
    return {name: value for name, value in given.items() if value}


def answer(form: Form, kept: Kept, found: SearchHits) -> Markup:
    """What was understood, and its answer. What nobody knows of it is among the page's warnings."""
    if found.question is None:
        return Markup()
    asks = understand(found.question, kept.of(form.mine.profile).rows())
    form.warnings += (*asks.unknown, *asks.notes)
    asked = {**form.mine.address, **asks.setting}
    inner = Form(_asked(asks, asked, kept), brief=not any(map(dtypes_of, found.left_out)))
    inner.read_setting(kept.rows())
    form.warnings += inner.warnings
    # nothing is decided where the reader's own setting, which the question does not replace, is not known
    asks = replace(asks, unknown=(*asks.unknown, *(set(form.mine.missing) - set(asks.setting))))
    provider = asked_provider(found, asks, kept.rows())
    if provider is not None and provider.name in elsewhere(kept):
        runs, unmeasured = of_runtime(kept.answer(provider_runs, provider.name, "", provider.filters), provider.runtime)
        failing = kept.answer(tell_failing_forms, provider.filters) if provider.filters.cases else ""
        is_told = provider.filters.cases or (provider.filters.any and not provider.missing)
        first = decide_provider(provider.name, runs, failing) if is_told else ""
        body = render("provider_runs.html", found=runs, asked=first)
        only = {
            "whole": links.page("runs"),
            "label": "All runs",
            "replaced": (),
            "failing": None,
            "nearest": " ".join(filter(None, (unmeasured, searching.tell_unknown(provider.missing)))),
            "aside": "",
            "told": "",
            "dtype": "",
            "no_case_has": False,
            "calls_fail": False,
        }
        return render("asked.html", found=found, asks=asks, body=body, **only)
    forms = _forms(kept, found, asks)
    is_known = not asks.unknown and (found.hits or not asks.words or asks.answer == "upgrade")
    about = {
        "replaced": _replaced(asks),
        "failing": _failing(kept, found.query, asks),
        "nearest": " ".join(filter(None, (forms, found.nearest, _uncovered(kept, found, asks)))),
        "aside": found.aside,
        "calls_fail": False,
        "cases": kept.answer(case_names),
        "newest": kept.rows().torch[-1],
        "no_case_has": any(map(dtypes_of, found.left_out)),
        "dtype": next((word for word in found.called.split() if dtypes_of(word)), ""),
        "called": next((word for word in asks.words.split() if torch_op.has_page(kept, word)), ""),
    }
    with links.carrying(inner.mine.address):
        if asks.answer in _PAGES and is_known:
            draw, label = _PAGES[asks.answer]
            told = _tell_calls(kept, inner, found, asks)
            # few words would be an all-clear for what fails as asked for
            inner.brief &= found.has_dtype or not told
            here = kept if asks.answer == "upgrade" else kept.at(inner.mine)
            drawn, whole = draw(inner, here), links.page(asks.answer, **inner.asked)
            if asks.answer == "upgrade":
                named = name_cases(asks.words.split(), kept.rows().catalogue.values()).names
                about["nearest"] = upgrade.tell_uncovered(
                    kept, found.missing, asks.after, "Of the rest:" if named else "Of all cases:"
                )
            given = {"body": drawn.body, "whole": whole, "label": label, "told": told}
            return render("asked.html", found=found, asks=asks, **given, **about)
        return _of_cases(kept.at(inner.mine), inner, found, asks, about)


def _tell_calls(kept: Kept, inner: Form, found: SearchHits, asks: Understood) -> str:
    """How torch's own calls end of the operator of a question about fixes: in the types of tensors that it names, else
    where they fail by the exporter that it names.
    """
    if asks.answer != "workarounds" or not (found.has_dtype or "exporter" in asks.setting):
        return ""
    if found.has_dtype:
        return torch_op.tell(kept, found.called, inner.mine)
    return torch_op.tell(kept, found.called, inner.mine, asks.setting.get("opset", ""), is_plain=False)


def _forms(kept: Kept, found: SearchHits, asks: Understood) -> str:
    """Which of the forms fail in which a question calls its operator; of a move nothing."""
    if asks.answer in ("upgrade", "alerts"):
        return ""
    return tell_forms(kept.operators(), found.formed, found.forms, *called_at(asks, kept.rows()))


def _uncovered(kept: Kept, found: SearchHits, asks: Understood) -> str:
    """How torch's own calls end of operators that are asked about beside the others, and no case is about."""
    torch = asks.setting.get("torch", "").rpartition("..")[2] or kept.rows().torch[-1]
    dtypes = tuple(word for word in found.called.split() if dtypes_of(word))
    return upgrade.tell_uncovered(kept, found.uncovered, torch, "Of the rest:" if found.hits else "", dtypes)


def _replaced(asks: Understood) -> list[str]:
    """The filters in whose place the question names a setting."""
    named = {**asks.setting, **({"torch": asks.before} if asks.before else {})}
    return [f"«{part.label}»" for part in PARTS if part.name in named]


def _failing(kept: Kept, query: str, asks: Understood) -> FailingOperators | None:
    """What is said first where operators are asked for and none is named: how many fail by the exporter."""
    exporter = asked_exporter(query, asks)
    return torch_op.failing(kept, exporter, asks.setting.get("torch", "")) if exporter else None


def _asked(asks: Understood, setting: Mapping[str, str], kept: Kept) -> dict[str, str]:
    """The parameters of the page that has the answer."""
    if asks.answer != "upgrade":
        return {**setting, "q": asks.searched} if asks.words else dict(setting)
    rest = {name: value for name, value in setting.items() if name != "torch"}
    ops = name_cases(asks.words.split(), kept.rows().catalogue.values()).names
    return {**rest, "from": asks.before, "to": asks.after, **({"ops": ",".join(ops)} if ops else {})}


def _of_cases(kept: Kept, inner: Form, found: SearchHits, asks: Understood, about: Mapping[str, Any]) -> Markup:
    """How each case that was found ends there; without a setting where it works."""
    # what nobody knows of a question has been told; the release that it names is no less asked for
    is_placed = "torch" in asks.setting or (bool(asks.setting) and not asks.unknown)
    operator = _operator(kept, inner.mine, asks, found.called)
    shown = () if operator else found.hits[:SHOWN]
    places = _places(kept, tuple(hit.case for hit in shown), inner.mine) if is_placed and shown else {}
    hits = [tell_hit(kept, hit, at=places.get(hit.case, ())) for hit in shown]
    decision = _decide(kept, inner, found.hits) if is_placed and hits and not asks.unknown else ""
    opset = asks.setting.get("opset", "")
    told = torch_op.tell(kept, found.called, inner.mine, opset, found.is_plain) if hits else ""
    # with an opset, or with more words, calls are told where they fail alone
    fails = {"calls_fail": bool(told) and (bool(opset) or not found.is_plain)}
    given = {**about, "hits": hits, "decision": decision, "operator": operator, "told": told, **fails}
    return render("asked.html", found=found, asks=asks, body="", **given)


def _operator(kept: Kept, mine: Setting, asks: Understood, words: str) -> OperatorAt | None:
    """How torch's own calls of an operator that no case is about end as asked for, without a release at the newest."""
    torch, opset = mine.one("torch") or kept.rows().torch[-1], asks.setting.get("opset", "")
    exporters = mine.of("exporter") if "exporter" in asks.setting else ()
    at = (torch, exporters, (int(opset),) if opset.isdigit() else ())
    return None if asks.unknown else operator_without_case(kept.rows(), kept.operators(), words, *at)


def _decide(kept: Kept, inner: Form, hits: Sequence[Lead]) -> str:
    """The sentence about the fixes of the cases that are about the words; where they have none, how they end."""
    cases = tuple(hit.case for hit in choose_main(hits))
    filters = _filters(inner.mine, cases)
    shown = kept.answer(workarounds, filters)
    found = workarounds_page.decide_for_words(inner, kept, filters, shown, is_asked=False)
    found = with_unmeasured(found, shown, cases, kept.rows().catalogue)
    return found or decide_why(kept.answer(why, _filters(inner.mine, cases[:_NAMED])))


def _filters(mine: Setting, cases: tuple[str, ...]) -> Filters:
    given = mine.filters(exporters=BESIDE)
    return Filters(cases=cases, torch=given.torch[-1:], opsets=given.opsets, exporters=given.exporters)


def _places(kept: Kept, cases: tuple[str, ...], mine: Setting) -> dict[str, list[PlacedHit]]:
    """By case: how it ends at the newest release and the opset of a setting, with each of its exporters."""
    rows = kept.rows()
    torch = mine.one("torch") or rows.torch[-1]
    exporters = mine.of("exporter") or BESIDE
    at = {exporter: _opset(kept, torch, exporter, mine) for exporter in exporters}
    cells = rows.cells(case=cases, variant=(PLAIN,), torch=(torch,), exporter=exporters, provider=("cpu",))
    ends = {(cell.case, cell.exporter): cell.status for cell in cells if cell.opset == at[cell.exporter]}
    fixes: dict[tuple[str, str], list[tuple[str, Workaround, str]]] = defaultdict(list)
    for item in kept.answer(workarounds, _filters(mine, cases)).standings:
        goes_there = rows.catalogue[item.case, item.variant].leaves_for == item.exporter
        if item.provider in ("cpu", None) and item.word is not Workaround.UNKNOWN and not goes_there:
            fixes[item.case, item.exporter].append((item.variant, item.word, item.changed))
    return {
        case: [
            PlacedHit(torch, name, at[name], ends.get((case, name)), fixes.get((case, name), ())) for name in exporters
        ]
        for case in cases
    }


def _opset(kept: Kept, torch: str, exporter: str, mine: Setting) -> int | None:
    """The opset of a setting that a release takes, of several the highest; the release's own where none is named."""
    asked = [int(opset) for opset in mine.of("opset") if opset.isdigit()]
    offered = kept.rows().offers.get((torch, exporter), ())
    usable = [opset for opset in asked if opset in offered] or asked
    return kept.rows().opset(torch, exporter, usable[-1] if usable else None)
