"""Which entries of an archive are run: ``--only op=Resize``, ``--sample 50``."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase
from typing import Dict, List, Mapping, Sequence

from caniexport.model.canaries import CANARY
from caniexport.model.errors import UnknownName
from caniexport.runner.archive import Archive, ArchiveEntry
from caniexport.runner.contents import Contents

#: corpora that go along whatever is chosen: a run without them cannot be judged
ALONG = ("probe", CANARY)
_KEYS = ("op", "opset", "case", "corpus")


def parse_patterns(words: Sequence[str]) -> Dict[str, List[str]]:
    """``["op=Resize", "op=Conv*"]`` as patterns by key. Raises :class:`UnknownName`."""
    found: Dict[str, List[str]] = {}
    for word in words:
        key, sign, pattern = word.partition("=")
        if key not in _KEYS or not sign or not pattern:
            raise UnknownName("--only {}: wanted is KEY=PATTERN with one of {}".format(word, ", ".join(_KEYS)))
        found.setdefault(key, []).append(pattern)
    return found


def choose_entries(
    archive: Archive, only: Sequence[str] = (), sample: int = 0, seed: str = "", done: Sequence[str] = ()
) -> List[int]:
    """Return the places of the entries to run, in the order of the archive.

    only    ``KEY=PATTERN``: an entry matches a pattern of each key that is named
    sample  draw at most so many of them, by ``seed``; 0 takes all
    done    keys of entries to leave out

    Probes and canaries always come along. Raises :class:`UnknownName` where ``only`` matches nothing.
    """
    patterns, contents = parse_patterns(only), archive.contents()
    numbered = list(enumerate(archive.entries))
    along = [place for place, entry in numbered if entry.corpus in ALONG]
    wanted = [place for place, entry in numbered if entry.corpus not in ALONG and _is_chosen(patterns, entry, contents)]
    if only and not wanted:
        raise UnknownName("no file of {} has {}".format(archive.path, " ".join(only)))
    if sample:
        drawn = {place: (seed + archive.entries[place].key).encode("utf-8") for place in wanted}
        wanted = sorted(wanted, key=lambda place: hashlib.sha256(drawn[place]).hexdigest())[:sample]
    ended = frozenset(done)
    return [place for place in sorted(along + wanted) if archive.entries[place].key not in ended]


def _is_chosen(patterns: Mapping[str, Sequence[str]], entry: ArchiveEntry, contents: Mapping[str, Contents]) -> bool:
    about = contents.get(entry.bundle, Contents(0, []))
    cases = (entry.case, entry.case + "/" + entry.variant)
    values = {"op": about.ops, "opset": (str(about.opset),), "case": cases, "corpus": (entry.corpus,)}
    return all(
        any(fnmatchcase(value, pattern) for value in values[key] for pattern in wanted)
        for key, wanted in patterns.items()
    )
