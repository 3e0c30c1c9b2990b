"""A scan: the workarounds of a source tree, each with its verdict at the releases that the project takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from caniexport import names, versions
from caniexport.answers.answer import Answer, AnswerOutcome, Link, Mark, Place, Table, cell_text
from caniexport.answers.point import Points, call_text
from caniexport.answers.samples import EXPORTERS, Samples
from caniexport.answers.scope import Scope
from caniexport.answers.workaround import ADVICE, Standing, read_standings
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Exporter, FixKind
from caniexport.operators import operator_key
from caniexport.scan import files, pins
from caniexport.scan.files import Skipped, SourceFile
from caniexport.scan.gates import Condition
from caniexport.scan.site import Site, SiteKind
from caniexport.scan.sites import find
from caniexport.settings import read_settings
from caniexport.store import Dataset
from caniexport.store.views import Views

_DEFAULT = Exporter.DEFAULT.value
_TEST = re.compile(r"(^|[/_])(tests?|testing|unittests?|conftest)([/_.]|$)", re.IGNORECASE)
#: the verdicts in the order of a table: what to act on first
_ORDER = (Workaround.HARMFUL, Workaround.OBSOLETE, Workaround.BROKEN, Workaround.NEEDED, Workaround.UNKNOWN)
_REMOVED = (Workaround.HARMFUL, Workaround.OBSOLETE)


@dataclass(frozen=True)
class _Asked:
    """What the tree is held against: ``releases``, oldest first, and what its export calls name; ``opset`` is ``None``
    for each release's own. ``notes`` say what was assumed.
    """

    releases: tuple[str, ...]
    exporters: tuple[str, ...]
    opset: int | None
    notes: list[str] = field(default_factory=list)

    @property
    def torch(self) -> str:
        """The release at which workarounds are judged."""
        return self.releases[-1]

    @property
    def text(self) -> str:
        """``torch 2.5.1 to 2.8.0``."""
        return f"torch {' to '.join(dict.fromkeys((self.releases[0], self.torch)))}"


@dataclass(frozen=True)
class _Verdict:
    """What to do with a workaround at all releases; ``since`` is when the newest release's verdict began."""

    word: Workaround
    advice: str
    since: str | None = None


_UNKNOWN = _Verdict(Workaround.UNKNOWN, ADVICE[Workaround.UNKNOWN])


def scan(
    dataset: Dataset, path: Path, torch: Sequence[str] = (), exporter: str | None = None, opset: int | None = None
) -> Answer:
    """Say what to do with the workarounds in the source tree at ``path``.

    ``torch`` are releases, series or ranges; what is not given the project's own files say,
    ``[tool.caniexport]`` first. Raises :class:`UnknownName` for a path that is not there and a name nobody knows.
    """
    points = Points(dataset)
    points.find({})  # refuses an empty dataset
    read = list(files.find_torch_files(path))
    sources = [item for item in read if isinstance(item, SourceFile)]
    sites, unseen = find(sources)
    asked = _asked(path, points, [site for site in sites if not _TEST.search(site.path)], torch, (exporter, opset))
    judge = _Judge(dataset, asked, sites)
    judged = [(site, judge.verdict(site)) for site in sites if site.kind in (SiteKind.WORKAROUND, SiteKind.SYMBOLIC)]
    judged.sort(key=lambda pair: _ORDER.index(pair[1].word))
    tree = PurePosixPath(str(path).replace("\\", "/"))
    base = tree if path.is_dir() else tree.parent

    def at(site: Site | Skipped) -> Place:
        return Place(str(base / site.path), getattr(site, "line", 1))

    named = [(at(site), judge.named(site), Mark(each.word, each.advice), each.since, site.workaround[0])
             for site, each in judged]  # fmt: skip
    harmful = [(at(site), text, Mark(Workaround.HARMFUL, "fails")) for site in sites if (text := judge.harm(site))]
    gates = [(at(site), site.name, _holds(site.condition, asked)) for site in sites if site.condition]
    branches = [(at(site), site.name) for site in sites if site.kind is SiteKind.BRANCH]
    left = [(at(item), item.reason) for item in (*read, *unseen) if isinstance(item, Skipped)]
    columns = ("place", "workaround", "verdict", "since", "case")
    tables = (
        Table("workarounds", columns, tuple(named), shown=20, folded=("case",)),
        Table("export calls that fail", ("place", "argument", "verdict"), tuple(harmful), shown=5),
        Table("version gates", ("place", "condition", "at these releases"), tuple(gates), shown=0),
        Table("branches on exporting", ("place", "asks"), tuple(branches), shown=0),
        Table("not looked at", ("place", "reason"), tuple(left), shown=6),
    )
    notes = (
        f"{names.plural(len(sources) - len(unseen), 'file')} with torch, judged at {asked.text}",
        f"{names.plural(len(gates), 'version gate')}, branches on exporting: {len(branches)} (--all)",
        *asked.notes,
        *(f"{cell_text(at(site))}: {unknown}" for site in sites if (unknown := judge.unknown(site))),
    )
    verdict, outcome = _decision([each.word for _, each in judged], len(harmful), asked)
    return Answer(verdict, outcome, tables, notes, "--all: every place, with its case.")


def _decision(words: Sequence[Workaround], harmful: int, asked: _Asked) -> tuple[str, AnswerOutcome]:
    """What to do, in one line."""
    counts = Counter(words)
    whole, removed = len(words), sum(counts[word] for word in _REMOVED)
    calls = f"Fix {names.plural(harmful, 'export call')}" if harmful else ""
    outcome = AnswerOutcome.FAILS if harmful or counts[Workaround.HARMFUL] else AnswerOutcome.LISTED
    if not whole:
        return f"{calls or 'No known workaround found'} at {asked.text}.", outcome
    found = f"{whole} workaround{'s' * (whole > 1)} found"
    if removed:
        do = f"{'remove' if calls else 'Remove'} {removed} of {found}"
    elif counts[Workaround.UNKNOWN] == whole:
        outcome = outcome if harmful else AnswerOutcome.NOT_MEASURED
        do = f"{'not' if calls else 'Not'} measured: {found}"
    elif counts[Workaround.NEEDED]:
        do = f"{'keep' if calls else 'Keep'} {counts[Workaround.NEEDED]} of {found}"
    else:
        do = f"{counts[Workaround.BROKEN]} of {found} without effect"
    return f"{', '.join(filter(None, (calls, do)))} at {asked.text}.", outcome


def _holds(gate: Condition, asked: _Asked) -> str:
    at = {gate.holds(torch) for torch in asked.releases}
    return "true at some" if len(at) > 1 else "always true" if True in at else "never true"


def _asked(
    path: Path, points: Points, sites: Sequence[Site], torch: Sequence[str], named: tuple[str | None, int | None]
) -> _Asked:
    """The releases that are asked for or that the project takes, and what its export calls name."""
    own = read_settings(path)
    exporter, opset = named[0] or own.exporter or None, named[1] or int(own.opset or 0) or None
    used = [key for key, given in (("torch", torch), *zip(("exporter", "opset"), named, strict=True)) if not given]
    notes = [note for note in (own.describe(*used),) if note]
    texts = torch or filter(None, (own.torch,))
    releases = tuple(versions.ordered({one for text in texts for one in versions.resolve_range(text, points.releases)}))
    if not releases:
        taken = pins.read(path, points.releases)
        releases = taken.torch
        notes += [taken.text, *(f"{problem}: not looked at for its torch" for problem in taken.problems)]
    calls = [site for site in sites if site.kind is SiteKind.CALL]
    if opset is None:
        counts = Counter(site.opset for site in calls if site.opset)
        opset = next((number for number, count in counts.most_common(1) if 2 * count > counts.total()), None)
        if counts:
            listed = ", ".join(f"{number} ({count})" for number, count in counts.most_common())
            notes.append(f"opset {opset or 'of each release'}: export calls name {listed}")
    used_by = (site.exporter for site in calls if not site.is_unread and (site.name or site.exporter))
    exporters = [exporter] if exporter else list(dict.fromkeys(used_by))
    unread = [f"{site.path}:{site.line}" for site in calls if site.is_unread]
    if unread and not exporter:
        notes.append(f"exporter not known: the arguments of export calls at {names.some(unread, 3)}")
    found: dict[str, None] = {}
    for one in exporters or [None]:
        point, assumed = points.find(
            {"torch": releases[-1], "exporter": one or _DEFAULT, "opset": str(opset or _DEFAULT)}
        )
        notes += assumed
        found[_DEFAULT if point.is_default else point.exporter] = None
    called = [call_text(releases[-1], name) if name != _DEFAULT else "the default call" for name in found]
    notes.append(f"export by {' and '.join(called)}{f', opset_version={opset}' if opset else ''}")
    return _Asked(releases, tuple(found), opset, list(dict.fromkeys(notes)))


class _Judge:
    """The verdicts of all sites, from one query."""

    def __init__(self, dataset: Dataset, asked: _Asked, sites: Sequence[Site]) -> None:
        self._dataset, self._asked, self._views = dataset, asked, Views.of(dataset)
        order = {torch: n for n, torch in enumerate(Points(dataset).releases)}
        self._is_old = {torch: n <= order[asked.releases[0]] for torch, n in order.items()}
        self._symbolics = {site.name: self._about(site.name) for site in sites if site.kind is SiteKind.SYMBOLIC}
        known = self._views.fetch("""SELECT "case" || '/' || variant FROM variants WHERE variant <> 'plain'""")
        self._variants = {name for (name,) in known}
        cases = {site.workaround[0] for site in sites if site.workaround[0]}
        cases |= {case for about in self._symbolics.values() for case, _ in about}
        self._standings: dict[tuple[str, str], list[Standing]] = {}
        for item in read_standings(dataset, asked.torch, Scope(frozenset(cases)), asked.opset, asked.exporters):
            self._standings.setdefault((item.case, item.variant), []).append(item)
        calls = self._views.fetch(
            """SELECT torch, exporter, max(opset) FROM call GROUP BY ALL UNION ALL
            SELECT torch, 'default', max(call.opset) FROM call JOIN release USING (torch, exporter) GROUP BY ALL"""
        )
        self._highest = {(torch, exporter): opset for torch, exporter, opset in calls}

    def _about(self, op: str) -> Mapping[tuple[str, str], bool]:
        """The workarounds of the cases that an operator of torch leads, and whether they are symbolics."""
        if not op.startswith("aten::"):
            return {}
        rows = self._views.fetch(
            """SELECT "case", variant, kind, aten_ops FROM variants
            WHERE variant <> 'plain' AND kind <> 'version-upgrade' AND NOT caution AND len(aten_ops) > 0"""
        )
        symbolic, key = FixKind.CUSTOM_SYMBOLIC.value, operator_key(op)
        found = {(case, variant): kind == symbolic for case, variant, kind, ops in rows if operator_key(ops[0]) == key}
        return {name: True for name, is_symbolic in found.items() if is_symbolic} or found

    def unknown(self, site: Site) -> str:
        """A message about a marker of an unknown workaround; empty for any other site."""
        name = "/".join(site.workaround)
        if not site.workaround[0] or name in self._variants:
            return ""
        return str(names.unknown_name("workaround", name, self._variants))

    def named(self, site: Site) -> Link | str:
        """How a site is called in a table."""
        if site.kind is SiteKind.SYMBOLIC:
            return f"symbolic of {site.name}" if site.name else "symbolic"
        case, variant = site.workaround
        return Link(variant, "case", {"case": case, "variant": variant, "torch": self._asked.torch})

    def verdict(self, site: Site) -> _Verdict:
        """What to do with a workaround or a registered symbolic."""
        if site.kind is SiteKind.WORKAROUND:
            return self._of((site.workaround,))
        about = self._symbolics[site.name]
        found = self._of(about)
        if not all(about.values()):
            # no symbolic was measured: all that is known is whether the operator exports without a workaround
            known = {item.verdict for name in about for item in self._standings.get(name, ())} - {Workaround.UNKNOWN}
            found = found if known <= {Workaround.OBSOLETE, Workaround.HARMFUL} else _UNKNOWN
        is_sure = found.word is not Workaround.OBSOLETE or self._has_no_failing_sample(site.name)
        return found if is_sure else _UNKNOWN

    def _of(self, workarounds: Iterable[tuple[str, str]]) -> _Verdict:
        """One verdict of several workarounds, by each exporter that the project uses."""
        found = {name: self._standings.get(name, []) for name in workarounds}
        missing = any(len(items) < len(self._asked.exporters) for items in found.values())
        return _together([*(self._over(item) for items in found.values() for item in items), *[_UNKNOWN] * missing])

    def _has_no_failing_sample(self, op: str) -> bool:
        """Whether no operator sample is measured to fail: a registered symbolic stands for all calls."""
        samples = Samples.of(self._dataset)
        exporters = [name for name in self._asked.exporters if name in EXPORTERS] or EXPORTERS
        ends = (samples.pass_at(op, self._asked.torch, name, self._asked.opset) for name in exporters)
        return all(end is not False for end in ends)

    def _over(self, item: Standing) -> _Verdict:
        """The verdict over all releases: one that the oldest needs stays."""
        if item.verdict is not Workaround.OBSOLETE or item.since is None or self._is_old[item.since]:
            return _Verdict(item.verdict, ADVICE[item.verdict], item.since)
        word = item.before if item.before is Workaround.NEEDED else Workaround.UNKNOWN
        return _Verdict(word, f"remove with torch>={item.since}", item.since)

    def harm(self, site: Site) -> str:
        """The argument of an export call that one of the releases refuses; empty where none does."""
        if site.is_gated:
            return ""
        if site.kind is SiteKind.ORIGINAL:
            is_refused = any(item.verdict is Workaround.NEEDED for item in self._standings.get(site.workaround, ()))
            return site.workaround[0] if is_refused else ""
        if site.kind is not SiteKind.CALL or not site.opset:
            return ""
        for torch in reversed(self._asked.releases):
            for exporter in (site.exporter,) if site.exporter else self._asked.exporters:
                if site.opset > self._highest.get((torch, exporter), site.opset):
                    return f"opset_version={site.opset}: not in torch {torch}"
        return ""


def _together(found: Iterable[_Verdict]) -> _Verdict:
    """One verdict of several: needed where any is; to be removed where all are."""
    verdicts = list(found)
    known = {item.word for item in verdicts}
    if known == {Workaround.OBSOLETE, Workaround.HARMFUL}:
        known = {Workaround.OBSOLETE}
    word = Workaround.NEEDED if Workaround.NEEDED in known else known.pop() if len(known) == 1 else Workaround.UNKNOWN
    return next((item for item in verdicts if item.word is word), _UNKNOWN)
