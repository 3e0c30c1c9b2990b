"""Which entries of an archive are run: ``--only op=Resize``, ``--sample 50``."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Sequence

from caniexport.model.canaries import CANARY
from caniexport.model.errors import UnknownName
from caniexport.runner.archive import Archive, ArchiveEntry
from caniexport.runner.contents import Contents

#: corpora that go along whatever is chosen: a run without them cannot be judged
ALONG = ("probe", CANARY)
_KEYS = ("op", "opset", "case", "corpus")


class EntryChoice(NamedTuple):
    """Any of a key's patterns, for each key; of these files so many, drawn by ``seed``; none that is ``done``."""

    only: Mapping[str, Sequence[str]] = {}  # a default that nobody changes
    sample: int = 0
    seed: str = ""
    done: FrozenSet[str] = frozenset()


def parse_patterns(words: Sequence[str]) -> Dict[str, List[str]]:
    """``["op=Resize", "op=Conv*"]`` as patterns by key. Raises :class:`UnknownName`."""
    found: Dict[str, List[str]] = {}
    for word in words:
        key, sign, pattern = word.partition("=")
        if key not in _KEYS or not sign or not pattern:
            raise UnknownName("--only {}: wanted is KEY=PATTERN with one of {}".format(word, ", ".join(_KEYS)))
        found.setdefault(key, []).append(pattern)
    return found


def choose_entries(archive: Archive, choice: EntryChoice) -> List[int]:
    """The places of the entries to run, in their order. Raises :class:`UnknownName` where nothing is left to choose."""
    contents = archive.contents()
    numbered = list(enumerate(archive.entries))
    along = [place for place, entry in numbered if entry.corpus in ALONG]
    wanted = [place for place, entry in numbered if entry.corpus not in ALONG and _is_chosen(choice, entry, contents)]
    if choice.only and not wanted:
        words = [key + "=" + pattern for key, patterns in choice.only.items() for pattern in patterns]
        raise UnknownName("no file of {} has {}".format(archive.path, " ".join(words)))
    if choice.sample:
        wanted = sorted(wanted, key=lambda place: _draw_key(archive.entries[place], choice.seed))[: choice.sample]
    return [place for place in sorted(along + wanted) if archive.entries[place].key not in choice.done]


def _is_chosen(choice: EntryChoice, entry: ArchiveEntry, contents: Mapping[str, Contents]) -> bool:
    values = _collect_values(entry, contents.get(entry.bundle, Contents(0, [])))
    return all(
        any(fnmatchcase(value, pattern) for value in values[key] for pattern in patterns)
        for key, patterns in choice.only.items()
    )


def _collect_values(entry: ArchiveEntry, about: Contents) -> Dict[str, Sequence[str]]:
    """What the patterns of each key are held against."""
    cases = (entry.case, entry.case + "/" + entry.variant)
    return {"op": about.ops, "opset": (str(about.opset),), "case": cases, "corpus": (entry.corpus,)}


def _draw_key(entry: ArchiveEntry, seed: str) -> str:
    return hashlib.sha256((seed + entry.key).encode("utf-8")).hexdigest()
