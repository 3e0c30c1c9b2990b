"""A question in words on the command line: what was understood of it, then the answer that has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from caniexport import home as homes
from caniexport import versions
from caniexport.answers.filters import read_filters
from caniexport.cli import output
from caniexport.cli.op import show_failing
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.names import some
from caniexport.operators import dtypes_of

if TYPE_CHECKING:
    from caniexport.answers.operator_at import OperatorAt
    from caniexport.answers.operator_grid import FailingOperators
    from caniexport.answers.wanted import NamedCases
    from caniexport.cli.output import Console
    from caniexport.match.asked import Understood
    from caniexport.match.question import AskedQuestion
    from caniexport.match.search import SearchHits
    from caniexport.store import Dataset

_SHOWN = 5
#: what prints a case
ShowWhy = Callable[[Any, Any], None]


@dataclass(frozen=True)
class QuestionAnswer:
    """What a question was read as, what of it nobody knows, the answer, and which opsets a release takes that is asked
    about without more words. ``nearest`` says that no case has all of the words, where the nearest answers;
    ``operator`` how torch's own calls end of the operator that the words are, or whether its files work on a provider;
    ``own`` what answers of somebody's own file or model; ``runtime`` the release of one that the cases are told for;
    ``calls`` how torch's own calls end where a case may fail that is about the operator; ``aside`` which
    words of a sentence no case has.
    """

    read_as: str
    unknown: tuple[str, ...]
    answer: Any
    opsets: str = ""
    nearest: str = ""
    operator: str = ""
    own: str = ""
    runtime: str = ""
    calls: str = ""
    aside: str = ""


def show_question(
    dataset: Dataset, found: SearchHits, given: Mapping[str, tuple[str, ...]], show_why: ShowWhy, *, as_json: bool
) -> None:
    """Print the answer to a question that was found in a query, or to words that cases have; options say more of its
    setting. ``show_why`` prints a case.

    Raises :class:`UnknownName` where no case has its words, or nobody knows its releases.
    """
    from caniexport.answers.provider_runs import (
        decide_provider,
        elsewhere,
        of_runtime,
        provider_runs,
        tell_failing_forms,
    )
    from caniexport.answers.select import load, refuse_uncovered
    from caniexport.cli.runtimes import show_provider
    from caniexport.match.asked import asked_provider, understand
    from caniexport.match.question import AskedQuestion
    from caniexport.match.search import WEAK, tell_unknown

    asks = understand(_with_options(found.question or AskedQuestion(found.query), given), load(dataset))
    if asks.unknown:
        raise UnknownName("; ".join(asks.unknown))
    provider = asked_provider(found, asks, load(dataset))
    if provider is not None and provider.name in elsewhere(dataset):
        every = provider_runs(dataset, provider.name, filters=provider.filters)
        runs, unmeasured = of_runtime(every, provider.runtime)
        if provider.missing and not provider.filters.cases:
            raise UnknownName(f"no measured case is about {', '.join(provider.missing)}: no file of it was run there")
        forms = tell_failing_forms(dataset, provider.filters) if provider.filters.cases else ""
        first = decide_provider(provider.name, runs, forms) if provider.filters.any else ""
        nearest = " ".join(filter(None, (unmeasured, tell_unknown(provider.missing))))
        told = QuestionAnswer(asks.told, (), runs, nearest=nearest, operator=first, own=_tell_own(asks))
        output.answer(told, partial(_show, show=show_provider), as_json)
        return
    failing = _failing(dataset, found.query, asks)
    if failing is not None:
        output.answer(QuestionAnswer(asks.told, (), failing), partial(_show, show=show_failing), as_json)
        return
    is_type = any(map(dtypes_of, asks.words.split()))
    is_one = asks.answer not in ("upgrade", "matrix") and not is_type
    operator = _operator(dataset, asks, found.called) if is_one else None
    forms = _tell_forms(dataset, found, asks)
    uncovered = _tell_uncovered(dataset, found, asks)
    nearest = " ".join(filter(None, (forms, found.nearest, uncovered)))
    if operator is not None:
        told = QuestionAnswer(asks.told, (), operator, nearest=nearest, aside=found.aside)
        output.answer(told, partial(_show, show=show_operator_at), as_json)
        return
    if asks.words and not found.hits and asks.answer != "upgrade":
        for word in asks.words.split():
            if word.casefold() not in WEAK:
                refuse_uncovered(word, load(dataset))
        near = f" (nearest: {', '.join(found.near)})" if found.near else ""
        raise UnknownName(f"no measured case has all of these words: {asks.words}{near}")
    if asks.own and not asks.words and asks.answer in ("cases", "matrix"):
        told = QuestionAnswer(asks.told, (), (), asks.opsets, own=_tell_own(asks))
        output.answer(told, partial(_show, show=lambda *_: None), as_json)
        return
    calls = _tell_own_calls(dataset, found, asks)
    # cases about other types of tensors, or beside calls that fail as asked, answer nothing in a few words
    is_brief = not any(map(dtypes_of, found.left_out)) and (found.has_dtype or not calls)
    answer, show = _answer(dataset, found, asks, given, show_why, is_brief=is_brief)
    operator_first, beside = (calls, "") if any(map(dtypes_of, found.left_out)) else ("", calls)
    told = QuestionAnswer(
        "; ".join((asks.told, *asks.notes)),
        asks.unknown,
        answer,
        asks.opsets,
        nearest,
        operator_first,
        _tell_own(asks),
        asks.on_runtime,
        beside,
        found.aside,
    )
    output.answer(told, partial(_show, show=show), as_json)


def _tell_own_calls(dataset: Dataset, found: SearchHits, asks: Understood) -> str:
    """How torch's own calls end of the operator that a question names; of one about fixes in the types of tensors that
    it names, else where they fail by the exporter that it names.
    """
    is_about_fixes = asks.answer == "workarounds"
    if asks.answer != "cases" and not (is_about_fixes and (found.has_dtype or "exporter" in asks.setting)):
        return ""
    only_failing = not found.is_plain or (is_about_fixes and not found.has_dtype)
    return tell_calls(dataset, found.called, asks, only_failing=only_failing)


def _with_options(question: AskedQuestion, given: Mapping[str, tuple[str, ...]]) -> AskedQuestion:
    """A question at the one release and opset that options name: they count more than its words."""
    torch, opset = (given.get(name, ()) for name in ("torch", "opset"))
    is_one = len(torch) == 1 and not versions.is_range(torch[0]) and question.kind == "each"
    asked = replace(question, releases=torch) if is_one else question
    return replace(asked, opset=opset[0]) if len(opset) == 1 else asked


def _tell_own(asks: Understood) -> str:
    """What answers of a file or model of somebody's own, where a question speaks of one."""
    told = (
        "Of your own file: `caniexport upgrade --model FILE.onnx` says which known failures touch it. Of your own "
        "model: `caniexport check FILE.py:FACTORY` measures it on each release."
    )
    return told if asks.own else ""


def answer_at_point(
    dataset: Dataset, words: str, cases: Sequence[str], given: Mapping[str, tuple[str, ...]], show_why: ShowWhy
) -> tuple[Any, Any]:
    """How an operator's cases and their fixes stand at a release or opset that options name, and what prints it."""
    from caniexport.match.words import find_asked, index_words

    named = {name: values for name, values in given.items() if values}
    found = (lead.case for lead in find_asked(index_words(dataset), words))
    best = tuple(dict.fromkeys((*found, *cases)))
    return _workarounds(dataset, {**named, **_of_words(dataset, words, tuple(cases))}, best, show_why, is_asked=False)


def _show(told: QuestionAnswer, console: Console, *, show: Any) -> None:
    read_as = f"Read as: {told.read_as}." if told.read_as else ""
    if read_as or told.aside:
        console.print(" ".join(filter(None, (read_as, told.aside))), highlight=False, soft_wrap=True)
    if told.runtime:
        console.print(f"Cases are told as their files end on {told.runtime}.", highlight=False, soft_wrap=True)
    if told.own:
        console.print(told.own, highlight=False, soft_wrap=True)
    if told.nearest:
        console.print(told.nearest, style="bold", highlight=False, soft_wrap=True)
    if told.operator:
        console.print(told.operator, style="bold", highlight=False, soft_wrap=True)
    if told.calls:
        console.print(told.calls, highlight=False, soft_wrap=True)
    if told.opsets:
        console.print(f"{told.opsets[:1].upper()}{told.opsets[1:]}.", style="bold", soft_wrap=True)
    show(told.answer, console)


def _failing(dataset: Dataset, query: str, asks: Understood) -> FailingOperators | None:
    """The operators that fail by the exporter that is named, where operators are asked for and none is named."""
    from caniexport.answers.operator_grid import failing_at
    from caniexport.answers.torch_operators import operators_beside
    from caniexport.match.asked import asked_exporter

    exporter = asked_exporter(query, asks)
    summary = operators_beside(dataset) if exporter else None
    return None if summary is None else failing_at(summary, exporter, asks.setting.get("torch", ""))


def _operator(dataset: Dataset, asks: Understood, words: str) -> OperatorAt | None:
    """How torch's own calls of an operator that no case is about end as asked for, without a release at the newest."""
    opset = asks.setting.get("opset", "")
    opsets = (int(opset),) if opset.isdigit() else ()
    return find_operator(
        dataset, words, asks.setting.get("torch", "").rpartition("..")[2], _exporters(dataset, asks), opsets
    )


def _exporters(dataset: Dataset, asks: Understood) -> tuple[str, ...]:
    """The exporters that are asked about; what a default call uses at the release by its own name."""
    from caniexport.answers.select import load
    from caniexport.match.asked import called_at

    return called_at(asks, load(dataset))[1]


def tell_calls(dataset: Dataset, words: str, asks: Understood, *, only_failing: bool = False) -> str:
    """How torch's own calls of the operator that a question's words name end at its release; empty where none does, and
    with ``only_failing`` or at an opset that is asked for where they pass.
    """
    from caniexport.answers.operator_at import tell_beside, tell_called, tell_failing
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside

    summary, opset = operators_beside(dataset), asks.setting.get("opset", "")
    at = (
        summary,
        words,
        asks.setting.get("torch", "").rpartition("..")[2] or load(dataset).torch[-1],
        _exporters(dataset, asks),
    )
    if not opset and not only_failing:
        told = tell_called(*at, is_there=True)
    else:
        told = tell_failing(*at, int(opset) if opset else None) if opset.isdigit() or not opset else ""
    return tell_beside(told, asks.on_runtime)


def tell_operator(dataset: Dataset, name: str, torch: str = "", exporters: Sequence[str] = ()) -> str:
    """One sentence on the operators that a name means, without a release at the newest; empty where none is so."""
    from caniexport.answers.operator_at import tell_called
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside

    return tell_called(operators_beside(dataset), name, torch or load(dataset).torch[-1], exporters)


def find_operator(
    dataset: Dataset, name: str, torch: str, exporters: Sequence[str] = (), opsets: Sequence[int] = ()
) -> OperatorAt | None:
    """The same of a name; without a release at the newest. ``None`` where a case is about it, or it is no operator."""
    from caniexport.answers.operator_at import operator_without_case
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside

    rows = load(dataset)
    return operator_without_case(rows, operators_beside(dataset), name, torch or rows.torch[-1], exporters, opsets)


def show_operator_at(found: OperatorAt, console: Console) -> None:
    """Print how torch's own calls of an operator end at a release."""
    console.print(found.told, style="bold", soft_wrap=True)
    console.print(f"No case is about it. `caniexport op {found.op}` has every release.", soft_wrap=True)


def _tell_forms(dataset: Dataset, found: SearchHits, asks: Understood) -> str:
    """Which of the forms fail in which a question calls its operator; of a move nothing."""
    from caniexport.answers.operator_forms import tell_forms
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside
    from caniexport.match.asked import called_at

    if asks.answer in ("upgrade", "alerts"):
        return ""
    return tell_forms(operators_beside(dataset), found.formed, found.forms, *called_at(asks, load(dataset)))


def _tell_uncovered(dataset: Dataset, found: SearchHits, asks: Understood) -> str:
    """How torch's own calls end of operators that are asked about beside the others, and no case is about."""
    from caniexport.answers.operator_at import tell_uncovered
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside

    torch = asks.setting.get("torch", "").rpartition("..")[2] or load(dataset).torch[-1]
    rest = "Of the rest:" if found.hits else ""
    dtypes = [word for word in found.called.split() if dtypes_of(word)]
    summary = operators_beside(dataset) if found.uncovered else None
    return tell_uncovered(summary, found.uncovered, torch, rest, dtypes) if found.uncovered else ""


def _answer(
    dataset: Dataset,
    found: SearchHits,
    asks: Understood,
    given: Mapping[str, tuple[str, ...]],
    show_why: ShowWhy,
    *,
    is_brief: bool,
) -> tuple[Any, Any]:
    """The answer, before whose sentence on fixes a few words stand where it ``is_brief``, and what prints it."""
    from caniexport.answers.points import find_runtime
    from caniexport.answers.reading import load, move_to_runtime
    from caniexport.match.words import choose_main

    named = {name: _as_options(value) for name, value in asks.setting.items() if name != "runtime"} | {
        name: values for name, values in given.items() if values
    }
    if asks.answer == "upgrade":
        return _upgrade(dataset, asks, found.missing)
    if asks.answer == "alerts":
        return _alerts(dataset)
    if "runtime" in asks.setting:
        dataset = move_to_runtime(dataset, find_runtime(load(dataset), asks.setting["runtime"], None, []))
    main = tuple(hit.case for hit in choose_main(found.hits))
    if asks.answer == "matrix":
        return _table(dataset, named, main)
    if asks.answer == "cases" and not named:
        return _support(dataset, main)
    # cases that were found by words which no case has together with the operator belong to the answer
    of_words = {"case": main} if found.missing else _of_words(dataset, asks.searched, main)
    filters = {**named, **of_words}
    asked = f"{asks.searched} {asks.words}" if asks.answer == "workarounds" else ""
    narrowed = asks.words if found.narrowed and not asked else ""
    return _workarounds(dataset, filters, main, show_why, asked, narrowed, is_brief=is_brief)


def _as_options(value: str) -> tuple[str, ...]:
    """A setting as options have it: ``2.0.1..2.15.0`` is ``>=2.0.1,<=2.15.0``, ``14..18`` is ``14-18``."""
    low, is_span, high = value.partition("..")
    if not is_span:
        return tuple(value.split(","))
    if not high:
        return (f">={low}",)
    return (f"{low}-{high}" if low.isdigit() else f">={low},<={high}",)


def _support(dataset: Dataset, cases: tuple[str, ...]) -> tuple[Any, Any]:
    """Where cases work, a line for each exporter, and what prints it."""
    from caniexport.answers.filters import Filters
    from caniexport.answers.supported import supported
    from caniexport.cli.support import show

    return supported(dataset, Filters(cases=cases)), show


def _of_words(dataset: Dataset, words: str, cases: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """What `caniexport workaround` takes the words for where they are a name, else these cases."""
    from caniexport.answers.wanted import what_is_named

    try:
        return what_is_named(dataset, words, fixes=True)
    except UnknownName:
        return {"case": cases}


def _upgrade(dataset: Dataset, asks: Understood, missing: Sequence[str]) -> tuple[Any, Any]:
    from caniexport.answers.calls_between import BETWEEN, places_of, tell_between
    from caniexport.answers.operator_at import tell_uncovered
    from caniexport.answers.torch_operators import operators_beside
    from caniexport.answers.upgrade import upgrade
    from caniexport.cli.upgrade import show

    # between several exporters an upgrade is called as by default
    setting = {name: value for name, value in asks.setting.items() if "," not in value}
    to_opset = setting.pop("to_opset", "")
    before = {**setting, "torch": asks.before}
    after = {name: value for name, value in setting.items() if name == "runtime"}
    after |= {"torch": asks.after, **({"opset": to_opset} if to_opset else {})}
    named = _named(dataset, asks.words)
    rest = "Of the rest:" if named.names else "Of all cases:"
    lead = tell_uncovered(operators_beside(dataset), missing, asks.after, rest) if missing else ""
    found = upgrade(dataset, before, after, named.filters)
    between = tell_between(operators_beside(dataset), named.filters.ops, places_of(found))
    return found, partial(show, lead=" ".join(filter(None, (lead, between and f"{between} {BETWEEN}"))))


def _alerts(dataset: Dataset) -> tuple[Any, Any]:
    """What each release made worse than the one before it, and what prints it."""
    from caniexport.alerts import noted
    from caniexport.alerts.releases import along, decide_alerts

    people = noted.read(homes.find().root)
    found = along(dataset, people.expected, people.known)

    def show(steps: Any, console: Console) -> None:
        console.print(decide_alerts(found.alerts, found.steps[0] if found.steps else None), style="bold")
        made = output.grid("torch", "against", "made worse")
        for step in steps:
            made.add_row(step.torch, step.before, str(step.alerts))
        console.print(made)

    return sorted(found.steps, key=lambda step: -step.alerts), show


def _named(dataset: Dataset, words: str) -> NamedCases:
    """The cases that an upgrade is narrowed to."""
    from caniexport.answers.select import load
    from caniexport.answers.wanted import name_cases

    return name_cases(words.split(), load(dataset).catalogue.values())


def _table(dataset: Dataset, named: Mapping[str, tuple[str, ...]], cases: tuple[str, ...]) -> tuple[Any, Any]:
    from caniexport.answers.matrix import table
    from caniexport.cli.table import show

    filters = replace(read_filters("table", {"exporter": ("trace", "dynamo"), **named}), cases=cases, variants=(PLAIN,))
    return table(dataset, filters), show


def _workarounds(
    dataset: Dataset,
    named: Mapping[str, tuple[str, ...]],
    cases: tuple[str, ...],
    show_why: ShowWhy,
    asked: str = "",
    narrowed: str = "",
    *,
    is_asked: bool = True,
    is_brief: bool = True,
) -> tuple[Any, Any]:
    """How fixes stand, and what prints it; where ``asked`` are the words of a question whether they are needed, with an
    answer in a few words where it ``is_brief``, and with what else fails where words ``narrowed`` the cases of an
    operator. Where it ``is_asked`` about these cases those that were not measured there are told.
    """
    from caniexport.answers.asked_fixes import decide_asked, decide_narrowed
    from caniexport.answers.decide_fixes import decide_workarounds, with_unmeasured
    from caniexport.answers.reasons import why
    from caniexport.answers.select import load
    from caniexport.answers.standings import workarounds
    from caniexport.cli.workaround import show

    filters = read_filters("workaround", named)
    found = workarounds(dataset, filters).in_order(cases)
    if found.standings or found.cautions:
        if narrowed:
            decision = decide_narrowed(dataset, filters, found, narrowed)
        else:
            decided = decide_asked(dataset, filters, found, asked, is_brief=is_brief) if asked else ""
            decision = decided or decide_workarounds(found)
        decision = with_unmeasured(decision, found, cases if is_asked else (), load(dataset).catalogue)
        return found, partial(show, evidence=True, decision=decision)
    told = why(dataset, replace(filters, cases=cases[:_SHOWN], ops=(), themes=(), variants=()))

    def each(items: Any, console: Console) -> None:
        if len(cases) > _SHOWN:
            console.print(f"Of {len(cases)} cases the best {_SHOWN}: {some(list(cases), _SHOWN)}")
        for item in items:
            show_why(item, console)

    return told, each
