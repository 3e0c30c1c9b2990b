"""Operators of torch as its own database calls them: the table of all, the lists, one over the releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter

from markupsafe import Markup

from caniexport import home as homes
from caniexport.answers.answer import Answer
from caniexport.answers.op import op as op_answer
from caniexport.answers.operator_findings import findings_by_operator
from caniexport.answers.operator_grid import (
    FailingOperators,
    ListedEntry,
    every_operator,
    failing_operators,
)
from caniexport.answers.operator_lists import ListedOperator, OperatorList, listed, read_tests
from caniexport.answers.operator_score import ReleaseScore, read_used, scores
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import STANDS_FOR, OperatorsSummary
from caniexport.answers.wrong_outputs import WrongOutput
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import OPERATORS
from caniexport.model.status import Exporter
from caniexport.names import plural
from caniexport.operators import operator_key
from caniexport.pages.charts import Series, lines_chart
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.sheet import File, table_file

EXPORTERS = (Exporter.DYNAMO.value, Exporter.TRACE.value)
#: the lists by the name that an address has
LISTS = {
    OperatorList.SILENT.value: "another output than eager in the newest release, without an error",
    OperatorList.REGRESSED.value: "passed in the release before",
    OperatorList.TORCHSCRIPT_ONLY.value: "works by TorchScript and not by dynamo",
    OperatorList.DECLARED_FAILS.value: "declared, and fails",
    OperatorList.UNDECLARED_PASSES.value: "passes, and is not declared",
    OperatorList.ONNXSCRIPT.value: "what onnxscript's own tests expect",
}
#: the tables of that list
_WRONG = {
    WrongOutput.VALUES.value: "wrong values",
    WrongOutput.SHAPE.value: "another shape",
    WrongOutput.DTYPE.value: "another dtype",
    "output": "values, shape or dtype: not known",
}
_LIST_ROW = ("op", "dtype", "form", "exporter", "opset", "torch", "said")
#: operators of one name that are shown
_MOST = 4


def rank_name(op: str) -> tuple[bool, bool, bool, bool, str]:
    """By which the name comes first that people use: torch's before ONNX's, public ones before ``_fft_r2c``, those that
    give a new tensor before ``add_``, words before ``__and__``.
    """
    end = op.rpartition("::")[2]
    return "::" not in op, not op.startswith("aten::"), end.startswith("_"), end.endswith("_"), op


def page_names(kept: Kept, documented: Iterable[str]) -> dict[str, str]:
    """Under which name each operator of the database has its page: that of the cases about it, else its own."""
    named = sorted(documented, key=rank_name, reverse=True)
    by_key = {operator_key(name): name for name in named if "::" in name}
    summary = kept.operators()
    return {op: by_key.get(operator_key(op), op) for op in (summary.operators if summary else ())}


def failing(kept: Kept, exporter: str, torch: str = "") -> FailingOperators | None:
    """The operators that fail by an exporter in a release, or the newest; ``None`` where that is not known."""
    summary = kept.operators()
    if summary is None or exporter not in EXPORTERS:
        return None
    release = torch if torch in summary.releases else summary.releases[-1]
    return failing_operators(kept.answer(_every, release), exporter, release)


def table(kept: Kept, documented: Iterable[str], fails: str = "", *, mine: str = "") -> Markup:
    """The table of all operators, or of those that fail by an exporter; empty where there is no summary. ``mine`` is
    the reader's setting in words, which does not narrow it.
    """
    summary = kept.operators()
    if summary is None:
        return Markup()
    found, every = _entries(kept, fails)
    return render(
        "op_table.html",
        every=every,
        told=found.told if found else "",
        mine=mine,
        pages=page_names(kept, documented),
        mixed=share_class,
        words=words,
        releases=summary.releases,
        exporters=EXPORTERS,
        lists=LISTS,
        chart=_score_chart(kept.answer(_scores), summary.releases),
    )


def _entries(kept: Kept, fails: str) -> tuple[FailingOperators | None, Sequence[ListedEntry]]:
    """The operators that fail by an exporter where one is named, and those that the table has."""
    found = failing(kept, fails)
    return found, found.entries if found else kept.answer(_every, _summary(kept).releases[-1])


def table_of_all(kept: Kept, fails: str = "") -> File:
    """The table of all operators, or of those that fail by an exporter, as a file."""
    told = ("passes at opset", "since", "how it ends", "calls that pass", "it did")
    names = [f"{EXPORTER_SHORT[exporter]}: {name}" for exporter in EXPORTERS for name in told]
    found = partial(_entries, kept, fails)
    return table_file(
        "op", ("operator", "dtype", *names, "last in"), lambda: map(_entry_row, found()[1] if kept.operators() else ())
    )


def _entry_row(item: ListedEntry) -> tuple[object, ...]:
    found = [item.op, item.dtype]
    for exporter in EXPORTERS:
        ends = item.now[exporter].value if exporter in item.now else ""
        found += [item.passing.get(exporter, ""), item.since.get(exporter, ""), ends]
        found += [item.share.get(exporter, ""), item.passed.get(exporter, "")]
    return (*found, item.torch)


def list_file(kept: Kept, which: str) -> File:
    """One of the lists, as a file."""
    columns = ("operator", "dtype", "form", "exporter", "opset", "torch", "how it ends")
    return table_file(
        f"op-{which}",
        columns,
        lambda: map(attrgetter(*_LIST_ROW), kept.answer(_listed, which) if kept.operators() else ()),
    )


def _score_chart(scores: Sequence[ReleaseScore], releases: Sequence[str]) -> Markup:
    """The scores over the releases, two lines for each exporter."""
    by = {(score.torch, score.exporter): score for score in scores}
    shown = (("all operators", "share"), ("by use in models", "by_use"))
    series = [
        Series(
            f"{EXPORTER_SHORT[exporter]}, {words}",
            tuple(_number(by.get((torch, exporter)), name) for torch in releases),
        )
        for exporter in EXPORTERS
        for words, name in shown
    ]
    return lines_chart(
        releases, series, "Share of the calls that pass at the newest opset, in per cent, by torch release"
    )


def _number(score: ReleaseScore | None, name: str) -> float | None:
    found: float | None = getattr(score, name, None)
    return found


def one_list(kept: Kept, which: str, documented: Iterable[str]) -> Markup:
    """One of the lists."""
    found = kept.answer(_listed, which) if kept.operators() else []
    tables = {LISTS[which]: found}
    if which == OperatorList.SILENT:
        tables = {title: [item for item in found if item.wrong == wrong] for wrong, title in _WRONG.items()}
    pages = page_names(kept, documented)
    shown = {
        "tables": tables,
        "which": which,
        "lists": LISTS,
        "pages": pages,
        "words": words,
        "told": _tell(which, found),
    }
    return render("op_list.html", **shown, stands_for=STANDS_FOR)


def _tell(which: str, found: Sequence[ListedOperator]) -> str:
    """What a list says in one sentence: how many operators it has, by each exporter."""
    if not found:
        return ""
    ops = {exporter: {item.op for item in found if item.exporter == exporter} for exporter in EXPORTERS}
    by = ", ".join(f"{EXPORTER_SHORT[exporter]} {len(known)}" for exporter, known in ops.items() if known)
    return f"{plural(len({item.op for item in found}), 'operator')} of torch, in some dtype ({by}): {LISTS[which]}."


def names(kept: Kept, name: str) -> tuple[str, ...]:
    """The operators of the database that a name means, in whatever spelling; none where it means none."""
    summary = kept.operators()
    try:
        return tuple(summary.named(name)[:_MOST]) if summary else ()
    except UnknownName:
        return ()


def answer_of(kept: Kept, name: str) -> Answer:
    """What is known of the operators of a name that is in the database."""
    return kept.answer(_answer, name)


def _answer(kept: Kept, name: str) -> Answer:
    return op_answer(_summary(kept), kept, name, findings_by_operator(homes.find().of_corpus(OPERATORS).cases))


def share_class(share: str) -> str:
    """The class of a place of which some calls pass: ``2/3``."""
    passing, calls = map(int, share.split("/"))
    return f"s-mixed share-{max(1, min(9, round(10 * passing / calls)))}"


def words(op: str) -> str:
    """What narrowing a table looks at: the name, and its one spelling."""
    return f"{op.casefold()} {operator_key(op)}"


def _every(kept: Kept, torch: str) -> list[ListedEntry]:
    return every_operator(_summary(kept), torch)


def _scores(kept: Kept) -> list[ReleaseScore]:
    return scores(_summary(kept), read_used(homes.find().of_corpus(OPERATORS).cases))


def _listed(kept: Kept, which: str) -> list[ListedOperator]:
    tests = read_tests(homes.find().of_corpus(OPERATORS).cases)
    return list(listed(_summary(kept), kept, OperatorList(which), tests=tests))


def _summary(kept: Kept) -> OperatorsSummary:
    found = kept.operators()
    assert found is not None  # asked for where there is one alone
    return found
