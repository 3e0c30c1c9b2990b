"""Report the run of an archive for a CI job: JSON, JUnit XML, and whether the job fails.

Probes and canaries judge the run and are left out. Of the other files one is ``pass`` (it works),
``expected`` (the list of expectations allows how it ended), ``skipped`` (its tensors cannot be held here, or it is a
node test whose failure is none), or ``news``.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence
from xml.sax.saxutils import quoteattr

from caniexport.model.status import MEASURED, WORKS, Status
from caniexport.runner.archive import ArchiveEntry
from caniexport.runner.chosen import ALONG
from caniexport.runner.contents import Contents
from caniexport.runner.expectations import (
    Expectation,
    ReplayResult,
    UnmetExpectation,
    find_reason,
    find_unmet,
    is_marked,
)

FORMAT = 1
PASS, EXPECTED, SKIPPED, NEWS = "pass", "expected", "skipped", "news"
#: what XML cannot hold, control characters and halves of surrogate pairs
_UNFIT = dict.fromkeys(range(55296, 57344), "?")
_UNFIT.update({number: "?" for number in [*range(32), 127] if chr(number) not in "\t\n\r"})


class EndedFile(NamedTuple):
    """A file's entry with its row and the text of its error."""

    entry: ArchiveEntry
    row: Mapping[str, Any]
    text: str


class JudgedFile(NamedTuple):
    """A file with its outcome; ``says`` is the reason of an expected failure."""

    ended: EndedFile
    result: ReplayResult
    outcome: str
    says: str

    @property
    def name(self) -> str:
        """``case/variant``, the opset, and the start of the file's hash."""
        return "{0.case}/{0.variant} opset {1} {2}".format(self.result, self.result.opset, self.ended.entry.bundle[:8])


class ArchiveReport(NamedTuple):
    """All files of a run, and the entries that do not hold. ``of`` says what ran: runtime, version, provider, …"""

    of: Mapping[str, Any]
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
    of: Mapping[str, Any],
    ended: Sequence[EndedFile],
    contents: Mapping[str, Contents],
    entries: Sequence[Expectation],
    today: datetime.date,
) -> ArchiveReport:
    """The report of a run's rows."""
    files = [
        _judge_file(item, contents, str(of["provider"]), entries) for item in ended if item.entry.corpus not in ALONG
    ]
    return ArchiveReport(of, files, find_unmet(entries, [item.result for item in files], today))


def _judge_file(
    ended: EndedFile, contents: Mapping[str, Contents], provider: str, entries: Sequence[Expectation]
) -> JudgedFile:
    entry, status = ended.entry, Status(ended.row["status"])
    about = contents.get(entry.bundle, Contents(0, []))
    result = ReplayResult(entry.corpus, entry.case, entry.variant, about.opset, about.ops, provider, status)
    if status in WORKS:
        return JudgedFile(ended, result, PASS, "")
    if status not in MEASURED or is_marked(entry.corpus, entry.variant):
        return JudgedFile(ended, result, SKIPPED, "")
    reason = find_reason(result, entries)
    return JudgedFile(ended, result, EXPECTED if reason else NEWS, reason)


def format_json(found: ArchiveReport) -> str:
    """One object: what ran, counts, entries that do not hold, files."""
    files = [
        {
            "name": item.name,
            "corpus": item.result.corpus,
            "case": item.result.case,
            "variant": item.result.variant,
            "bundle": item.ended.entry.bundle,
            "opset": item.result.opset,
            "ops": list(item.result.ops),
            "stage": item.ended.row["stage"],
            "status": item.result.status.value,
            "signature": item.ended.row.get("signature"),
            "text": item.ended.text,
            "outcome": item.outcome,
            "expected": item.says,
        }
        for item in found.files
    ]
    unmet = [{"trouble": item.trouble.value, "entry": item.entry.text, **_unmet_values(item)} for item in found.unmet]
    whole = {"format": FORMAT, **found.of, "stops": found.stops, "counts": found.counts, "unmet": unmet}
    return json.dumps({**whole, "files": files}, indent=1, sort_keys=False) + "\n"


def _unmet_values(item: UnmetExpectation) -> Dict[str, Any]:
    return {"number": item.entry.number, "reason": item.entry.reason, "says": item.says, "files": list(item.cells)}


def format_junit(found: ArchiveReport) -> str:
    """A test suite with a test for each file and one for each entry that does not hold."""
    suite = "{runtime} {runtime_version} on {provider}".format(**found.of)
    tests = [_format_test(item) for item in found.files]
    tests += [
        _format_testcase(
            "expectations", item.entry.text, _format_failure(item.trouble.value, item.says, "\n".join(item.cells))
        )
        for item in found.unmet
    ]
    counts = found.counts
    numbers = 'tests="{}" failures="{}" skipped="{}"'.format(
        len(tests), counts[NEWS] + len(found.unmet), counts[EXPECTED] + counts[SKIPPED]
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n<testsuite name={} {}>\n'.format(_quote_attribute(suite), numbers)
    return head + "".join(tests) + "</testsuite>\n"


def _format_test(item: JudgedFile) -> str:
    inner = ""
    if item.outcome == NEWS:
        inner = _format_failure(item.result.status.value, item.ended.row.get("signature") or "", item.ended.text)
    elif item.outcome != PASS:
        inner = "<skipped message={}/>".format(_quote_attribute(item.says or item.result.status.value))
    return _format_testcase(item.result.corpus, item.name, inner)


def _format_testcase(group: str, name: str, inner: str) -> str:
    return " <testcase classname={} name={}>{}</testcase>\n".format(
        _quote_attribute(group), _quote_attribute(name), inner
    )


def _format_failure(kind: str, message: str, text: str) -> str:
    words = _replace_unfit(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "<failure type={} message={}>{}</failure>".format(_quote_attribute(kind), _quote_attribute(message), words)


def _quote_attribute(text: str) -> str:
    return quoteattr(_replace_unfit(text))


def _replace_unfit(text: str) -> str:
    return text.translate(_UNFIT)


def format_expectations(found: ArchiveReport, review: datetime.date) -> str:
    """A list that expects what is news now: an entry for each variant and opset with such a file.

    Reasons are how the files ended: a start, for somebody to go through.
    """
    groups: Dict[Any, List[JudgedFile]] = {}
    for item in found.files:
        if item.outcome != SKIPPED:
            groups.setdefault((item.result.case, item.result.variant, item.result.opset), []).append(item)
    return "\n".join(
        _format_entry(items, review) for items in groups.values() if any(item.outcome == NEWS for item in items)
    )


def _format_entry(items: Sequence[JudgedFile], review: datetime.date) -> str:
    first = next(item for item in items if item.outcome == NEWS)
    case, variant, opset = first.result.case, first.result.variant, first.result.opset
    statuses = sorted({item.result.status.value for item in items})
    lines = [
        "[[expect]]",
        "case = " + _quote_toml(_escape_pattern(case) + "/" + _escape_pattern(variant)),
        *(["opset = " + _quote_toml(str(opset))] if opset else []),
        "allowed = [{}]".format(", ".join(map(_quote_toml, statuses))),
        "reason = " + _quote_toml(first.ended.row.get("signature") or first.result.status.value),
        "review = {}".format(review),
    ]
    return "\n".join(lines) + "\n"


def _quote_toml(text: str) -> str:
    """A text as TOML has it."""
    return json.dumps(_replace_unfit(text), ensure_ascii=False)


def _escape_pattern(name: str) -> str:
    """A name as a pattern that takes it alone."""
    return name.replace("[", "[[]")


def format_lines(found: ArchiveReport, most: int = 10) -> List[str]:
    """What is printed: the counts, then what stops the job."""
    counts = ", ".join("{} {}".format(number, word) for word, number in found.counts.items())
    news = [item for item in found.files if item.outcome == NEWS]
    text_lines = ["against the list of expectations: " + counts]
    text_lines += [
        "  {}: {}".format(item.name, item.ended.row.get("signature") or item.result.status.value) for item in news
    ][:most]
    text_lines += ["  and {} more".format(len(news) - most)] if len(news) > most else []
    text_lines += [
        "  entry {} is {}: {} ({})".format(i.entry.number, i.trouble.value, i.says, i.entry.text) for i in found.unmet
    ]
    return text_lines
