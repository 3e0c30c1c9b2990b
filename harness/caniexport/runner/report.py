"""Report the run of an archive for a CI job: JUnit XML, and whether the job fails.

Probes and canaries judge the run and are left out. Of the other files one is ``pass`` (it works),
``expected`` (the list of expectations allows how it ended), ``skipped`` (its tensors cannot be held here, or it is a
node test whose failure is none), or ``news``.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence
from xml.etree import ElementTree

from caniexport.model.status import MEASURED, WORKS
from caniexport.runner.chosen import ALONG
from caniexport.runner.expectations import (
    Expectation,
    ReplayResult,
    UnmetExpectation,
    find_reason,
    find_unmet,
    is_marked,
)

PASS, EXPECTED, SKIPPED, NEWS = "pass", "expected", "skipped", "news"
#: what XML cannot hold, control characters and halves of surrogate pairs
_UNFIT = dict.fromkeys(range(55296, 57344), "?")
_UNFIT.update({number: "?" for number in [*range(32), 127] if chr(number) not in "\t\n\r"})


class JudgedFile(NamedTuple):
    """A file with its outcome; ``says`` is the reason of an expected failure."""

    ended: ReplayResult
    outcome: str
    says: str

    @property
    def name(self) -> str:
        """``case/variant``, the opset, and the start of the file's hash."""
        entry = self.ended.entry
        return "{0.case}/{0.variant} opset {1} {2}".format(entry, self.ended.about.opset, entry.bundle[:8])

    @property
    def end(self) -> str:
        """How it ended, in a line."""
        return self.ended.row.get("signature") or self.ended.status.value


class ArchiveReport(NamedTuple):
    """All files of a run, and the entries that do not hold. ``of`` says what ran: runtime, version, provider."""

    of: str
    files: List[JudgedFile]
    unmet: List[UnmetExpectation]

    @property
    def stops(self) -> bool:
        """Whether a CI job is to fail."""
        return bool(self.unmet) or any(item.outcome == NEWS for item in self.files)

    @property
    def counts(self) -> Dict[str, int]:
        """The files by outcome."""
        found = Counter(item.outcome for item in self.files)
        return {outcome: found[outcome] for outcome in (PASS, EXPECTED, SKIPPED, NEWS)}


def make_report(
    of: str, ended: Sequence[ReplayResult], entries: Sequence[Expectation], today: datetime.date
) -> ArchiveReport:
    """Return the outcome of each file, and the entries that do not hold at the day ``today``.

    Probes and canaries are left out.
    """
    mine = [result for result in ended if result.entry.corpus not in ALONG]
    return ArchiveReport(of, [_judge(result, entries) for result in mine], list(find_unmet(entries, mine, today)))


def _judge(result: ReplayResult, entries: Sequence[Expectation]) -> JudgedFile:
    if result.status in WORKS:
        return JudgedFile(result, PASS, "")
    if result.status not in MEASURED or is_marked(result.entry.corpus, result.entry.variant):
        return JudgedFile(result, SKIPPED, "")
    reason = find_reason(result, entries)
    return JudgedFile(result, EXPECTED if reason else NEWS, reason)


def format_junit(found: ArchiveReport) -> str:
    """Return JUnit XML: one suite with a test for each file, and one for each entry that does not hold."""
    counts, unmet = found.counts, len(found.unmet)
    suite = _add(None, "testsuite", name=found.of)
    for name, number in (
        ("tests", len(found.files) + unmet),
        ("failures", counts[NEWS] + unmet),
        ("skipped", counts[EXPECTED] + counts[SKIPPED]),
    ):
        suite.set(name, str(number))
    for item in found.files:
        test = _add(suite, "testcase", classname=item.ended.entry.corpus, name=item.name)
        if item.outcome == NEWS:
            message = item.ended.row.get("signature") or ""
            _add(test, "failure", item.ended.text, type=item.ended.status.value, message=message)
        elif item.outcome != PASS:
            _add(test, "skipped", message=item.says or item.ended.status.value)
    for entry in found.unmet:
        test = _add(suite, "testcase", classname="expectations", name=entry.entry.text)
        _add(test, "failure", "\n".join(entry.cells), type=entry.trouble.value, message=entry.says)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"


def _add(parent: Optional[ElementTree.Element], tag: str, text: str = "", **attributes: str) -> ElementTree.Element:
    """An element, below its parent where it has one."""
    made = ElementTree.Element(tag, {name: value.translate(_UNFIT) for name, value in attributes.items()})
    made.text = text.translate(_UNFIT)
    if parent is not None:
        parent.append(made)
    return made


def format_expectations(found: ArchiveReport, review: datetime.date) -> str:
    """A list that expects what is news now: an entry for each variant and opset with such a file.

    Reasons are how the files ended: a start, for somebody to go through.
    """
    groups: Dict[Any, List[JudgedFile]] = {}
    for item in found.files:
        if item.outcome != SKIPPED:
            entry = item.ended.entry
            groups.setdefault((entry.case, entry.variant, item.ended.about.opset), []).append(item)
    texts = []
    for (case, variant, opset), items in groups.items():
        news = [item for item in items if item.outcome == NEWS]
        if news:
            lines = [
                "[[expect]]",
                # a pattern that takes this name alone
                "case = " + _quote_toml("{}/{}".format(case, variant).replace("[", "[[]")),
                *(["opset = " + _quote_toml(str(opset))] if opset else []),
                "allowed = " + json.dumps(sorted({item.ended.status.value for item in items})),
                "reason = " + _quote_toml(news[0].end),
                "review = {}".format(review),
            ]
            texts.append("\n".join(lines) + "\n")
    return "\n".join(texts)


def _quote_toml(text: str) -> str:
    """A text as TOML has it."""
    return json.dumps(text.translate(_UNFIT), ensure_ascii=False)


def format_lines(found: ArchiveReport, most: int = 10) -> List[str]:
    """Return the lines to print: the counts, at most ``most`` files that stop the job, the entries that do not hold."""
    counts = ", ".join("{} {}".format(number, word) for word, number in found.counts.items())
    news = ["  {}: {}".format(item.name, item.end) for item in found.files if item.outcome == NEWS]
    more = ["  and {} more".format(len(news) - most)] if len(news) > most else []
    unmet = [
        "  entry {} is {}: {} ({})".format(i.entry.number, i.trouble.value, i.says, i.entry.text) for i in found.unmet
    ]
    return ["against the list of expectations: " + counts, *news[:most], *more, *unmet]
