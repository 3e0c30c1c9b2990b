"""The ledger: transformers' patches that torch still needs, skips of its tests and onnxruntime's that still hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from caniexport import versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Mark, Message, Table
from caniexport.answers.left_out_tests import left_out_table, read_left_out_tests
from caniexport.answers.outcomes import short_cause
from caniexport.corpus.verdicts import Workaround
from caniexport.model.architectures import MODELS
from caniexport.model.status import WORKS, Status
from caniexport.store import Dataset
from caniexport.store.views import Views

#: the corpus of the cases, one for each patch
PATCHES = "patches"
_SHOWN = 40


def answer_ledger(dataset: Dataset) -> Answer:
    """Answer for each patch and release: needed, obsolete, harmful or broken; for each skip: does it still fail?"""
    verdicts = _read_verdicts(dataset.of_corpus(PATCHES))
    skips, filters = _read_skips(dataset.of_corpus(MODELS)), read_left_out_tests(PATCHES)
    if not verdicts:
        return Answer("Not measured: no patch of transformers.", AnswerOutcome.NOT_MEASURED)
    releases = versions.ordered({torch for found in verdicts.values() for torch in found})[::-1]
    words = Counter(found[releases[0]][0] for found in verdicts.values() if releases[0] in found)
    judged = sum(count for word, count in words.items() if word is not Workaround.UNKNOWN)
    left_out = left_out_table(dataset, filters)
    passing = sum(row[-1] == Message("") for row in left_out.rows)
    order = (Workaround.NEEDED, Workaround.OBSOLETE, Workaround.BROKEN, Workaround.HARMFUL)
    counted = ", ".join(f"{words[word]} {word.value}" for word in order if words[word])
    verdict = f"Of {judged} patches of transformers at torch {releases[0]}: {counted}."
    notes = (
        "Each patch alone, on a minimal case. Needed: fails without it, works with it. Obsolete: works without it.",
        "Broken: fails with it too. Harmful: only with it. A skip is judged with its exporter and dynamic shapes.",
        f"onnxruntime's filters are those of {filters.day} (commit {filters.commit}); all tests of {passing} of "
        f"{len(left_out.rows)} pass now.",
    )
    tables = (_patches_table(verdicts, releases), _skips_table(skips), left_out)
    return Answer(verdict, AnswerOutcome.LISTED, tables, notes, more="caniexport case NAME shows one.")


#: by case and patch: at each release the verdict, and the error without the patch
_Verdicts = Mapping[tuple[str, str], Mapping[str, tuple[Workaround, str]]]


def _read_verdicts(patches: Dataset) -> _Verdicts:
    rows = Views.of(patches).fetch(
        """SELECT p."case", coalesce(split_part(v.sources[1], '#', 2), ''), p.torch, verdict(p.status, f.status),
            coalesce(m.text, p.status)
        FROM cells p JOIN cells f USING (profile, torch, "case", exporter, opset)
        LEFT JOIN variants v ON v."case" = p."case" AND v.variant = 'plain'
        LEFT JOIN (SELECT DISTINCT message_id, text FROM message) m ON m.message_id = p.message_id
        WHERE p.corpus = $1 AND p.variant = 'plain' AND f.variant <> 'plain'""",
        [PATCHES],
    )
    found: dict[tuple[str, str], dict[str, tuple[Workaround, str]]] = {}
    for case, patch, torch, word, text in rows:
        found.setdefault((case, patch), {})[torch] = (Workaround(word), text)
    return found


def _patches_table(verdicts: _Verdicts, releases: Sequence[str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for (case, patch), found in sorted(verdicts.items()):
        words = [found[release][0] if release in found else Workaround.UNKNOWN for release in releases]
        failing = next((text for release in releases if (text := _error(found.get(release)))), "")
        rows.append(
            (
                Link(case, "case", {"case": case}),
                patch,
                _since(words, releases),
                Message(short_cause(failing), failing),
                *map(Mark, words),
            )
        )
    columns = ("case", "patch", "now", "without it", *releases)
    return Table("patches", columns, tuple(rows), _SHOWN, axis="torch", heads=4, folded=("without it",))


def _error(found: tuple[Workaround, str] | None) -> str:
    return found[1] if found and found[0] in (Workaround.NEEDED, Workaround.BROKEN) else ""


def _since(words: Sequence[Workaround], releases: Sequence[str]) -> str:
    """``obsolete since 2.13.0``: the newest word, and the first of the releases without a break that have it."""
    known = [(word, release) for word, release in zip(words, releases, strict=True) if word is not Workaround.UNKNOWN]
    if not known:
        return Workaround.UNKNOWN.value
    newest, since = known[0]
    for word, release in known:
        if word is not newest:
            return f"{newest.value} since {since}"
        since = release
    return newest.value


def _read_skips(models: Dataset) -> list[tuple[Any, ...]]:
    """Case, source, reason and expected message of each skip, and the row of the newest release that judges it."""
    return Views.of(models).fetch(
        f"""SELECT k."case", split_part(k.source, '#', 2), k.says,
            coalesce(json_extract_string(k.expects, '$.message'), ''), c.torch, c.status, coalesce(m.text, '')
        FROM ({models.relation("claims")}) k JOIN cells c ON c."case" = k."case" AND c.variant = k.variant
            AND c.exporter = k.exporter
        LEFT JOIN (SELECT DISTINCT message_id, text FROM message) m USING (message_id)
        JOIN version v ON v.torch = c.torch
        QUALIFY row_number() OVER (PARTITION BY k.claim ORDER BY v.n DESC) = 1 ORDER BY k."case\""""
    )


def _skips_table(skips: Sequence[tuple[Any, ...]]) -> Table:
    rows = tuple(
        (
            key,
            Link(case, "case", {"case": case}),
            _judge(Status(status), message, text),
            torch,
            says,
            Message(short_cause(text) if Status(status) not in WORKS else "", text),
        )
        for case, key, says, message, torch, status, text in skips
    )
    columns = ("skip", "case", "now", "torch", "reason", "error")
    return Table(
        "skips", columns, tuple(sorted(rows, key=lambda row: (row[2], row[0]))), _SHOWN, folded=("case", "error")
    )


def _judge(status: Status, message: str, text: str) -> str:
    """Whether a skip still holds; one that names no error cannot be told from another failure."""
    if status in WORKS:
        return "passes now"
    if status in (Status.SKIP, Status.NOT_RUN, Status.INVALID):
        return "not measured"
    if not message:
        return "fails, no error named"
    return "fails as said" if message in text else "fails otherwise"
