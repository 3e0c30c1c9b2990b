"""What the search of the static copy reads, as a script: a page opened from a disk may load no other file.

Everything that Python's matcher knows is written; what it works out of that, ``match.js`` works out anew.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from caniexport import names, operators
from caniexport.answers.decide_fixes import answer_needed, still_needing
from caniexport.answers.filters import Filters
from caniexport.answers.operator_at import tell_called
from caniexport.answers.points import Places
from caniexport.answers.reading import MOST_CASES, Rows
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.standings import Workarounds, workarounds
from caniexport.answers.support import Support
from caniexport.answers.torch_operators import name_keys
from caniexport.match import (
    alike,
    code_phrases,
    complete,
    error_answer,
    error_index,
    errors,
    evidence,
    explain,
    mentions,
    named_fix,
    plain_causes,
    prose,
    question,
    search,
    seen,
    spelled_code,
    words,
)
from caniexport.match.error_index import ErrorIndex, KnownError
from caniexport.match.errors import Confidence, own_words
from caniexport.match.evidence import node_names
from caniexport.match.explain import asked_opset, tell_seen
from caniexport.match.judged import tell_place
from caniexport.match.search import SearchIndex
from caniexport.match.seen import SeenAt
from caniexport.match.words import WordIndex
from caniexport.model import messages
from caniexport.model.case import PLAIN
from caniexport.operators import DTYPE_WORDS, dtypes_of, operator_key
from caniexport.pages import looks
from caniexport.pages.kept import Kept
from caniexport.pages.links import slug
from caniexport.pages.overview import EXPORTERS
from caniexport.pages.site import javascript
from caniexport.pages.site.paths import addressing, case_file, op_file
from caniexport.pages.views import torch_op
from caniexport.pages.views.hits import BESIDE, Place, working_fixes

_MODULES = (
    operators,
    messages,
    evidence,
    mentions,
    prose,
    plain_causes,
    alike,
    code_phrases,
    complete,
    error_answer,
    error_index,
    errors,
    explain,
    seen,
    spelled_code,
    words,
    named_fix,
    question,
    search,
    names,
)
#: what stands for the place of an error in what is said of it there
_HERE = "{here}"
#: characters of an error's first line that are shown
_SHOWN = 220


class _Table(dict[Any, int]):
    """Different items, each with its number."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__()
        self.numbers(items)

    def numbers(self, items: Iterable[Any]) -> list[int]:
        """The numbers of items; new ones are added."""
        return [self.setdefault(item, len(self)) for item in items]


def script(data: Mapping[str, Any], opened: Mapping[str, Mapping[str, tuple[str, str]]]) -> str:
    """What :func:`read` gives as a script, with what the pages of upgrades open with."""
    told = json.dumps({**data, "upgrades": opened}, ensure_ascii=False, separators=(",", ":"))
    return f"window.CANIEXPORT = {told}\n"


def read(kept: Kept) -> dict[str, Any]:
    """Everything that the search of the front page reads but upgrades: what it matches, and the answers that it
    shows.
    """
    data = searched(kept.answer(search.index))
    seen, fixes = _seen(data), _Table()
    for number in add_ends(kept, data, range(len(data["cases"]))):
        case = data["cases"][number]
        working = working_fixes(kept, case["case"])
        case["file"] = case_file(case["case"])
        told = {at: tuple((fix.variant, fix.changed) for fix in found) for at, found in working.items()}
        case["fixes"] = {place: fixes.numbers([told[at]])[0] for place, at in seen[number].items() if at in told}
        found = kept.supports(case["case"], PLAIN)
        case["answers"] = [_answer(item) for item in found if item.exporter in EXPORTERS]
    data["fixes"] = [[(name, f"form-{slug(name)}", changed) for name, changed in names] for names in fixes]
    data["files"] = _files(kept.answer(search.index))
    data["pages"] = operator_pages(kept)
    data["torch"] = kept.rows().torch
    places = [Places(kept.rows()).fill({"torch": torch}) for torch in data["torch"]]
    data["called"] = {place.torch: (EXPORTER_SHORT[place.exporter], place.opset) for place in places}
    return data | _words_of_fixes(kept, data) | operators_told(kept)


def add_ends(kept: Kept, data: dict[str, Any], numbers: Sequence[int]) -> Iterator[int]:
    """Add what is said of these cases where they were seen to fail: to each ``ends``, by place the numbers of sentences
    in the ``ends`` of all. Yields the number of each case that has them, while its cells are kept.
    """
    seen, ending = _seen(data), _ending(kept.answer(search.index).errors)
    ends = _Table()
    for place, number in enumerate(numbers):
        if place % MOST_CASES == 0:
            kept.rows().keep_cases(data["cases"][other]["case"] for other in numbers[place : place + MOST_CASES])
        case = data["cases"][number]
        named = ending.get(case["case"], {})
        told = _tell_ends(kept.rows(), case["case"], {at: named[at] for at in seen[number].values() if at in named})
        case["ends"] = {at: ends.numbers(told[where]) for at, where in seen[number].items() if where in told}
        yield number
    data |= {"ends": list(ends), "short": EXPORTER_SHORT}


def operators_told(kept: Kept) -> dict[str, Any]:
    """The sentences on torch's operators, and which a name or its key means."""
    summary = kept.operators()
    if summary is None:
        return {"told_of": {}, "sentences_of": []}
    summary.read_all()
    ends = {op: op.rpartition(".")[2] for op in summary.operators}
    keys = {key for op, end in ends.items() for key in (op, operator_key(end), *name_keys(op))}
    said = _Table()
    torch = kept.rows().torch[-1]
    named = {name: name for name in sorted(keys)} | {end.lower().replace("_", ""): end for end in ends.values()}
    told = {key: tell_called(summary, name, torch) for key, name in named.items()}
    return {"told_of": {name: said.numbers([text])[0] for name, text in told.items()}, "sentences_of": list(said)}


def _words_of_fixes(kept: Kept, data: Mapping[str, Any]) -> dict[str, Any]:
    """By entry, the failing form left out: the word of the fix on the newest release with each exporter that is told,
    as a letter of ``letters``; how each looks; and of those that compute other values that they do.
    """
    letters = {word: word.value[0] for word in looks.WORD}
    found = kept.answer(workarounds, Filters(exporters=BESIDE))
    words = {(item.case, item.variant, item.exporter): item.word for item in (*found.standings, *found.cautions)}
    forms = [(data["cases"][case]["case"], variant) for case, variant, _ in data["entries"]]
    every = [[(*form, name) for name in BESIDE] for form in forms]
    known = kept.rows().catalogue
    return {
        "changed": {place: known[form].changed for place, form in enumerate(forms) if known[form].changed},
        "fix_words": ["".join(letters[words[key]] if key in words else "-" for key in keys) for keys in every],
        "letters": {letter: (looks.WORD[word].css, looks.WORD[word].name) for word, letter in letters.items()},
        "beside": [EXPORTER_SHORT[name] for name in BESIDE],
        **_decided_fixes(kept, found),
    }


def _decided_fixes(kept: Kept, found: Workarounds) -> dict[str, Any]:
    """Whether fixes are needed on the newest release: by ``CASE/FIX``, the key of an operator before ``/FIX``, ``/FIX``
    of whatever case, and of all fixes of an operator by its key and ``/`` alone, the number of a sentence; and by
    operator the cases that still need one.
    """
    named: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for item in (*found.standings, *found.cautions):
        key = item.case, item.variant
        keys = sorted(operators.operator_keys(kept.rows().catalogue[key].ops))
        for before in (item.case, "", *keys):
            named[f"{before}/{item.variant}"][key] = None
        for before in keys:
            named[f"{before}/"][key] = None
    said = _Table()
    told = {name: said.numbers([answer_needed(found.of_fixes(keys), "the newest")])[0] for name, keys in named.items()}
    still = still_needing(found, ())
    needing = {
        before: [case for case in still if operators.operator_keys(kept.rows().catalogue[case, PLAIN].ops) >= {before}]
        for before in (name[:-1] for name in named if name.endswith("/"))
    }
    return {"decided": told, "decisions": list(said), "needing": {op: cases for op, cases in needing.items() if cases}}


def searched(where: SearchIndex) -> dict[str, Any]:
    """What ``match.js`` reads to find what :func:`caniexport.match.search.find` finds."""
    cases = {entry.case: entry for entry in where.words.entries.values()}
    spoken = _Table(_by_use(word for item in where.errors.known for word in item.told.words))
    own = [sorted(spoken.numbers(sorted(own_words(entry)))) for entry in cases.values()]
    described = ("case", "title", "theme", "ops", "sources")
    return {
        "constants": {module.__name__.rpartition(".")[2]: javascript.constants(module) for module in _MODULES},
        "rules": [[javascript.plain(pattern), new] for pattern, new in messages._SIGNATURE_RULES],
        "space": javascript.SPACE,
        "confidence": {item.name: item.value for item in Confidence},
        "cases": [{name: getattr(entry, name) for name in described} for entry in cases.values()],
        "own": own,
        "claimed": [sorted(where.errors.claimed.get(case, ())) for case in cases],
        "nodes": sorted(node_names()),
        "long_nodes": mentions.long_nodes(),
        "dtypes": DTYPE_WORDS,
        "dtypes_of": {word: dtypes_of(word) for word in DTYPE_WORDS},
        "listed": sorted(where.errors.listed),
        "every_operator": sorted(mentions.every_operator()),
        "sentences": sorted(part for parts in where.errors.sentences.values() for part in parts),
        "spoken": list(spoken),
        "rarity": [where.errors.rarity.get(word, 0) for word in spoken],
        **_words(where.words, list(cases)),
        **_errors(where.errors, spoken),
    }


def _seen(data: Mapping[str, Any]) -> Mapping[int, Mapping[int, Place]]:
    """By the number of a case: the places where an error of it was seen, by their numbers."""
    found: dict[int, dict[int, Place]] = defaultdict(dict)
    for _, _, flat, others in data["known"]:
        told = [
            *zip(flat[::3], flat[1::3], strict=True),
            *((entry, place) for entry, *places in others for place in places),
        ]
        for entry, place in told:
            torch, exporter, opset, _ = data["places"][place]
            found[data["entries"][entry][0]][place] = (torch, exporter, opset)
    return found


def _tell_ends(rows: Rows, case: str, places: Mapping[Place, bool]) -> dict[Place, list[tuple[str, int, int]]]:
    """By place: what to do where a case was last seen with an error there, and behind it the same of an error that
    names the opset, where one does.
    """
    found = {}
    for place, is_named in places.items():
        at = SeenAt(case, PLAIN, *place)
        told = [tell_seen(rows, at, names_opset=named) for named in (False, True)[: 1 + is_named]]
        here = tell_place(*place)
        ends = [(end.told.replace(here, _HERE), int(end.works), int(end.helping)) for end in told]
        found[place] = [*dict.fromkeys(ends)]
    return found


def _ending(where: ErrorIndex) -> Mapping[str, Mapping[Place, bool]]:
    """By case: the places where its failing form was last seen with an error, and whether one names the opset. What
    only a runtime gave is not among them.
    """
    wanted = defaultdict[str, dict[Place, bool]](dict)
    for item in where.known:
        is_named = bool(asked_opset(item.seen.text))
        for at in item.seen.places:
            if at.variant == PLAIN and not at.runtime:
                others = [(torch, exporter, other) for other, torch, exporter in at.others]
                for place in ((at.torch, at.exporter, at.opset), *others):
                    wanted[at.case][place] = wanted[at.case].get(place, False) or is_named
    return wanted


def operator_pages(kept: Kept) -> dict[str, str]:
    """The page of each of torch's operators by the keys of its names; one that is called so goes before its forms."""
    files = {op: op_file(page) for op, page in torch_op.page_names(kept, _ops(kept)).items()}
    by_end = {operator_key(op.rpartition(".")[2]): file for op, file in files.items()}
    by_part = {key: file for op, file in reversed(files.items()) for key in name_keys(op)}
    found = by_end | by_part | {operator_key(op): file for op, file in files.items()}
    return dict(sorted(found.items()))


def _ops(kept: Kept) -> set[str]:
    """The operators that cases are about."""
    return {op for entry in kept.answer(search.index).words.entries.values() for op in entry.ops}


def _files(where: SearchIndex) -> dict[str, str]:
    """Where operators and themes are told of."""
    entries = where.words.entries.values()
    ops = {op: op_file(op) for entry in entries for op in entry.ops}
    matrix = addressing("index.html")
    return {entry.theme: matrix("matrix", {"theme": entry.theme}) for entry in entries if entry.theme} | ops


def _by_use(items: Iterable[str]) -> list[str]:
    """Different words, the most used first: their numbers are short."""
    return [word for word, _ in sorted(Counter(items).items(), key=lambda item: (-item[1], item[0]))]


def _words(where: WordIndex, cases: Sequence[str]) -> dict[str, Any]:
    """The texts in which words are looked for: those that all variants of a case have, and those of each variant."""
    found = {key: set(texts) for key, texts in where.words.items()}
    common = {case: reduce(set.intersection, (found[key] for key in found if key[0] == case)) for case in cases}
    texts = _Table(sorted({text for known in found.values() for text in known}))
    kinds = _Table((weight, what) for _, weight, what in texts)
    return {
        "texts": _shortened([text for text, _, _ in texts]),
        "kinds": list(kinds),
        "kind_of_text": kinds.numbers((weight, what) for _, weight, what in texts),
        "common": [sorted(texts.numbers(common[case])) for case in cases],
        "entries": [
            [cases.index(case), variant, sorted(texts.numbers(found[case, variant] - common[case]))]
            for case, variant in where.entries
        ],
    }


def _errors(where: ErrorIndex, spoken: _Table) -> dict[str, Any]:
    """Every known error: what it says, its first line, and where it was seen."""
    entries = {key: number for number, key in enumerate(where.entries)}
    told = _Table(sorted({text for item in where.known for part in _told(item) for text in part}))
    lines = _Table(sorted({_first_line(item.seen.text) for item in where.known}))
    said, places, known = _Table(), _Table(), []
    for item in where.known:
        seen = [
            (entries[place.case, place.variant], *places.numbers([_place(place)]), place.cells)
            for place in _first_of_each_case(item)
        ]
        others = [
            (entries[place.case, place.variant], *places.numbers((torch, by, at, "") for at, torch, by in place.others))
            for place in _first_of_each_case(item)
            if place.others
        ]
        line = lines[_first_line(item.seen.text)]
        known.append([*said.numbers([_said(item, told, spoken)]), line, [*_flat(seen)], others])
    return {
        "told": _shortened(told),
        "lines": _shortened(lines),
        "said": list(said),
        "places": list(places),
        "known": known,
        "operator_by_clause": dict(sorted(where.operator_by_clause.items())),
    }


def _told(item: KnownError) -> tuple[Sequence[str], ...]:
    """The exceptions that an error names, its lines, its patterns, and the patterns that tell too little alone."""
    return item.told.kinds, item.told.lines, item.told.patterns, item.told.others


def _said(item: KnownError, told: _Table, spoken: _Table) -> tuple[object, ...]:
    """What an error says, in numbers; those of its words as steps from one to the next."""
    numbers = sorted(spoken.numbers(item.told.words))
    steps = tuple(number - before for number, before in zip(numbers, [0, *numbers], strict=False))
    return item.name, *(tuple(told.numbers(part)) for part in _told(item)), steps


def _place(place: SeenAt) -> tuple[object, ...]:
    return place.torch, place.exporter, place.opset, place.runtime


def _first_of_each_case(item: KnownError) -> list[SeenAt]:
    """Of each case the place that is told: its failing form's, else the first."""
    found: dict[str, SeenAt] = {}
    for place in sorted(item.seen.places, key=lambda place: place.variant != PLAIN):
        found.setdefault(place.case, place)
    return list(found.values())


def _flat(rows: Iterable[Iterable[int]]) -> Iterator[int]:
    return (number for row in rows for number in row)


def _shortened(texts: Iterable[str]) -> list[str]:
    """Texts in order, each as the number of letters that it begins with like the one before, and its other letters."""
    found, before = [], ""
    for text in texts:
        shared = os.path.commonprefix([before, text])  # noqa: RUF071  # letters, not folders
        # JavaScript counts the halves of a character of more than 16 bits
        found.append(f"{len(shared.encode('utf-16-le')) // 2}|{text[len(shared) :]}")
        before = text
    return found


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")[:_SHOWN]


def _answer(item: Support) -> tuple[str, str, str, str]:
    """Class, sign and word, exporter, sentence."""
    elsewhere = f" ({item.otherwise_text})" if item.otherwise_text else ""
    look = looks.STATUS[item.status]
    return look.css, look.name, looks.EXPORTER[item.exporter], item.told + elsewhere
