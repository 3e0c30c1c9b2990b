"""One case: what fails, where, with which text, and which of its fixes is needed where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from caniexport import home as homes
from caniexport import names, versions
from caniexport.answers.documents import JudgedClaim, all_claims
from caniexport.answers.filters import Filters
from caniexport.answers.on_runtimes import ON_CPU
from caniexport.answers.profile_differences import ProfileDifference, differences_beside_torch
from caniexport.answers.provider_runs import ProviderEnd, worse_elsewhere
from caniexport.answers.reasons import Why, why
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.scope import Scope
from caniexport.answers.select import DEFAULT_OPSET, CatalogueEntry, Rows, exporter_name
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.words import Words
from caniexport.answers.workaround import workaround
from caniexport.corpus.verdicts import Workaround
from caniexport.home import NEWEST
from caniexport.model import corpus
from caniexport.model.case import PLAIN
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.pages import evidence, links, looks
from caniexport.pages.charts import HeatCell, heat_chart
from caniexport.pages.evidence import CellEvidence
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import cases, overview
from caniexport.pages.render import filled, opset_name, render
from caniexport.pages.setting import PROFILE, PROFILE_WORDS
from caniexport.pages.sheet import File
from caniexport.profiles import PERIOD
from caniexport.reproduce.find import of_answer

_EXPORTERS = [member.value for member in Exporter]
#: what is told of a case above its cells
_DESCRIBED = ("description", "aten_ops", "onnx_ops", "records")


@dataclass(frozen=True)
class Subject:
    """A case: its variants in reading order, its cells, and of an environment case what was tried."""

    case: str
    entries: Mapping[str, CatalogueEntry]
    cells: Sequence[MeasuredCell]
    tried: Sequence[MeasuredCell]

    @property
    def plain(self) -> CatalogueEntry:
        """The failing form."""
        return self.entries.get(PLAIN) or next(iter(self.entries.values()))

    @property
    def fixes(self) -> list[CatalogueEntry]:
        """The fixes: what sources state first, then our own proposals, what computes other values, what is known to be
        wrong.
        """
        found = [entry for entry in self.entries.values() if entry.variant != PLAIN]
        return sorted(found, key=lambda entry: (entry.caution, entry.changes_values, not entry.documented))


@dataclass(frozen=True)
class Choice:
    """What of a case is shown: one form with one exporter, on one provider; ``torch`` and ``opset`` may be empty."""

    case: str
    variant: str
    exporter: str
    provider: str
    torch: str = ""
    opset: str = ""
    profile: str = ""

    def at(self, torch: str, opset: str) -> dict[str, str]:
        """The parameters that lead to a cell of it."""
        variant = "" if self.variant == PLAIN else self.variant
        found = {"case": self.case, "variant": variant, "exporter": self.exporter, "torch": torch, "opset": opset}
        found |= {"profile": self.profile} if self.profile else {}
        return found if self.provider == "cpu" else {**found, "provider": self.provider}

    @property
    def told(self) -> str:
        """The cell in words: ``torch 2.8.0, dynamo, opset 18``."""
        torch, opset = self.torch and f"torch {self.torch}", self.opset and f"opset {self.opset}"
        return ", ".join(filled((torch, self.exporter, opset)))


class _Place(NamedTuple):
    """A place of a strip in a file: its class, its sign, the opset written, and where its text stands."""

    css: str
    sign: str
    written: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class Strip:
    """Releases by opsets of one form and exporter, and the word of each fix on every release."""

    choice: Choice
    cells: Mapping[tuple[str, int | None], MeasuredCell]
    words: Words
    judged: Mapping[str, int | None]
    opset: int | None
    chosen: tuple[str, int | None] | None

    @property
    def opsets(self) -> list[int | None]:
        """The columns; the release's own last."""
        return sorted({opset for _, opset in self.cells}, key=lambda opset: (opset is None, opset or 0))

    @property
    def heads(self) -> list[str]:
        """The same as they are read."""
        return ["torch \\ opset", *map(_column, self.opsets)]

    @property
    def seen_releases(self) -> list[tuple[str, str]]:
        """The releases; neighbours of which nothing was measured are one row, from the first to the last."""
        measured = {torch for torch, _ in self.cells}
        found = groupby(self.judged, key=lambda torch: torch if torch in measured else "")
        rows = [list(releases) for _, releases in found]
        return [(row[0], row[-1] if len(row) > 1 else "") for row in rows]

    def rows_alike(self, texts: Mapping[str, SeenText]) -> list[tuple[str, list[tuple[_Place, int]]]]:
        """The releases as a file shows them: neighbours that look alike are one row."""
        alike = groupby(self.judged, key=lambda torch: self.runs(torch, texts))
        return [(_from_to(list(releases)), row) for row, releases in alike]

    def runs(self, torch: str, texts: Mapping[str, SeenText]) -> list[tuple[_Place, int]]:
        """The places of a release as a file shows them: neighbours that look alike are one, with how many they are."""
        shown = (self._place(self.cells.get((torch, opset)), texts) for opset in self.opsets)
        return [(place, len(list(alike))) for place, alike in groupby(shown)]

    @staticmethod
    def _place(cell: MeasuredCell | None, texts: Mapping[str, SeenText]) -> _Place:
        if cell is None:
            return _Place("", looks.STATUS[Status.NOT_RUN].sign)
        look, text = looks.STATUS[cell.status], texts.get(cell.message_id or "")
        written = cell.opset_effective if cell.works and cell.opset_effective != cell.opset else None
        return _Place(look.css, look.sign, str(written or ""), text.anchor if text else "")

    def words_along(self, variant: str) -> tuple[tuple[looks.Look, int], ...]:
        """The word of a fix on every release; neighbours that have the same are one, with how many they are."""
        words = (looks.WORD[self.words[variant].get(torch, Workaround.UNKNOWN)] for torch in self.judged)
        return tuple((look, len(list(alike))) for look, alike in groupby(words))

    @property
    def seen(self) -> set[Status]:
        """The statuses in it, and what stands where nothing was measured."""
        return {cell.status for cell in self.cells.values()} | {Status.NOT_RUN}


def fix_lines(strips: Sequence[Strip], variant: str) -> list[tuple[list[str], tuple[tuple[looks.Look, int], ...]]]:
    """The words of a fix as a file shows them: a line for the exporters that have the same on every release."""
    found: dict[tuple[tuple[looks.Look, int], ...], list[str]] = {}
    for strip in strips:
        found.setdefault(strip.words_along(variant), []).append(strip.choice.exporter)
    return [(exporters, words) for words, exporters in found.items()]


@dataclass(frozen=True)
class SeenText:
    """The text of an error, how and where it was first seen, and its anchor on the page."""

    anchor: str
    status: Status
    where: str
    text: str


def page(form: Form, kept: Kept) -> Page:
    """The page of the case that is asked for, or the list of all."""
    known = list(dict.fromkeys(case for case, _ in kept.rows().catalogue))
    form.take("variant", "provider", "script", "picture")
    name, _, fix = form.text("case").partition("/")
    if fix:  # as the terminal names a fix: case/fix
        form.asked = {"variant": fix, **form.asked}
    try:
        case = names.require("case", name, known)
    except UnknownName:
        return _listing(form, kept)
    newest, kept = kept.of(NEWEST), _with_packages(form, kept)
    subject = _subject(kept, case)
    given: dict[str, Any] = {
        "subject": subject,
        "claims": _claims(kept, case),
        "texts": {},
        "choice": None,
        "picture": "",
    }
    if subject.tried:
        given |= {"strips": (), "tried": [(entry, _tried(kept, entry)) for entry in subject.entries.values()]}
    elif form.whole:
        texts = _texts(kept, subject)
        given |= {"strips": [_strip(kept, subject, choice) for choice in _every(subject)], "texts": texts}
    else:
        given |= _chosen(form, kept, subject)
    given["fix_lines"] = partial(fix_lines, given["strips"])
    given["seen"] = {status for strip in given["strips"] for status in strip.seen}
    given["other"] = PERIOD if kept.profile == NEWEST else kept.profile
    where = {"case": (case,), "variant": (PLAIN,)}
    differences = differences_beside_torch(newest.rows(), given["other"], where)
    given["beside"] = _alike_beside(differences)
    installed = newest.rows().installed if differences else ()
    given["installed"] = {(item.profile, item.torch): item.text for item in installed}
    lead = f"{case} · {subject.plain.theme or 'no theme'}"
    title = subject.plain.title or case
    is_known = not {"torch", "opset", "exporter"} & set(form.missing)
    decision = _decide_form(kept, given["choice"]) if is_known else ""
    script = given.get("script")
    files = (File(f"{links.slug(case)}.py", lambda: script[0]),) if script and script[1] else ()
    above = _above(kept, subject, decision)
    return form.page(title, lead, render("case.html", **given), above, back=True, files=files)


class _EndsBeside(NamedTuple):
    """Exporters and opsets that end alike with the packages of a profile, and otherwise with the newest ones."""

    exporters: tuple[str, ...]
    opsets: tuple[int | None, ...]
    there: Status
    newest: Status


def _alike_beside(found: Iterable[ProfileDifference]) -> list[tuple[str, list[_EndsBeside]]]:
    """By release: how it ends with other packages; exporters that end alike at the same opsets are one."""
    made = []
    for torch, mine in groupby(found, key=lambda item: item.torch):
        alike: dict[tuple[tuple[int | None, ...], Status, Status], list[str]] = {}
        for item in mine:
            alike.setdefault((item.opsets, item.there, item.newest), []).append(item.exporter)
        made.append((torch, [_EndsBeside(tuple(exporters), *ends) for ends, exporters in alike.items()]))
    return made


def _with_packages(form: Form, kept: Kept) -> Kept:
    """The dataset of the packages that the address names for its cell, else of the reader's own."""
    return kept.of(form.one_of(PROFILE, kept.rows().profiles, "packages") or kept.profile)


def _listing(form: Form, kept: Kept) -> Page:
    entries, asked = cases(kept), form.text("case")
    known = [entry.case for entry in entries]
    form.select("case", "Case", known, text="choose one", width=420, linked=True)
    found = kept.answer(overview)
    body = render("cases.html", entries=entries, found=found, near=names.nearest(asked, known) if asked else ())
    return form.page("Cases", f"Each is one documented failure with its fixes. {found.told}", body)


def _subject(kept: Kept, case: str) -> Subject:
    rows = kept.rows()
    entries = {entry.variant: entry for entry in rows.entries(case)}
    return Subject(case, entries, kept.cells_of(case), [cell for cell in rows.environment if cell.case == case])


def _decide_form(kept: Kept, choice: Choice | None) -> str:
    """The sentence about the fix that is shown, at the cell of the address; empty for the failing form."""
    if choice is None or choice.variant == PLAIN:
        return ""
    opset = int(choice.opset) if choice.opset.isdigit() else None
    asked = Scope(frozenset({choice.case}), variants=frozenset({choice.variant}))
    return workaround(kept, asked, choice.torch, opset).verdict


def _above(kept: Kept, subject: Subject, decision: str) -> Markup:
    """What is decided of the fix that is shown, what the case is about, where it is documented, and where it works."""
    row = kept.answer(_described).get((subject.case, subject.plain.variant), dict.fromkeys(_DESCRIBED))
    supports = kept.supports(subject.case, PLAIN) if subject.cells else ()
    sources = kept.sources(subject.case)
    worse = _on_other_providers(kept, subject.case)
    return render(
        "case_above.html",
        **{"decision": decision, "subject": subject, "row": row, "supports": supports, "sources": sources},
        elsewhere=worse,
    )


def _described(kept: Kept) -> dict[tuple[str, str], dict[str, Any]]:
    """By case and variant what is told of it at the top."""
    rows = kept.records("cases")
    return {(row["case"], row["variant"]): {name: row.get(name) for name in _DESCRIBED} for row in rows}


def _on_other_providers(kept: Kept, case: str) -> list[tuple[Status, str]]:
    """What another provider does to files of the case that work on the CPU: a sentence for each form, with its sign."""
    return [
        (
            Status.MISMATCH if item.end is ProviderEnd.VALUES else Status.FAIL,
            f"{place}: {names.plural(item.files, 'file')} of "
            f"{'the failing form' if item.variant == PLAIN else f'the fix {item.variant}'} {item.end.value}",
        )
        for place, item in worse_elsewhere(kept, (case,))[case]
    ]


def _claims(kept: Kept, case: str) -> list[JudgedClaim]:
    return [claim for claim in kept.answer(all_claims) if claim.case == case]


def _chosen(form: Form, kept: Kept, subject: Subject) -> dict[str, Any]:
    """One form with one exporter, and the evidence of one of its cells."""
    choice = _choose(form, kept, subject)
    shown = kept.answer(_explain, choice)
    detail = evidence.of(kept, shown)
    script = _script(kept, shown) if form.text("script") == "1" and detail else None
    chosen = (detail.row["torch"], detail.row["opset"]) if detail else None
    strip = _strip(kept, subject, choice, chosen, choice.opset in form.mine.of("opset"))
    picture = _pictured(strip) if form.text("picture") == "1" else Markup()
    return {"strips": [strip], "choice": choice, "detail": detail, "script": script, "picture": picture}


def _pictured(strip: Strip) -> Markup:
    """Opsets by releases in one picture; the strip has the same as a table."""
    choice = strip.choice
    cells = [
        HeatCell(torch, _column(opset), looks.STATUS[cell.status].sign, *looks.INK[cell.status])
        for (torch, opset), cell in strip.cells.items()
    ]
    what = f"{choice.case}, {'failing form' if choice.variant == PLAIN else choice.variant}, {choice.exporter}"
    seen = ", ".join(look.name for look in looks.statuses(strip.seen).values())
    caption = f"{what}: outcome by torch release and opset ({seen})"
    return heat_chart(cells, list(strip.judged), list(map(_column, strip.opsets)), caption)


def _from_to(values: Sequence[object]) -> str:
    return f"{values[0]} to {values[-1]}" if len(values) > 1 else f"{values[0]}"


def _column(opset: int | None) -> str:
    return "own" if opset is None else str(opset)


def _choose(form: Form, kept: Kept, subject: Subject) -> Choice:
    opening = _opening(form, kept.rows(), subject)
    exporters = [name for name in _EXPORTERS if any(cell.exporter == name for cell in subject.cells)] or _EXPORTERS
    variants = [name for name, entry in subject.entries.items() if entry.kind != FixKind.VERSION_UPGRADE.value]
    providers = sorted({cell.provider for cell in subject.cells if cell.provider}) or ["cpu"]
    provider = "cpu" if "cpu" in providers else providers[0]
    first = opening.exporter if opening else exporters[0]
    exporter = form.tabs("exporter", "Exporter", exporters, first, EXPORTER_SHORT)
    variant = form.tabs("variant", "Form", variants, PLAIN, {PLAIN: "failing form"})
    if len(providers) > 1:
        provider = form.tabs("provider", "Provider", providers, provider)
    else:
        form.one_of("provider", providers)
    mine = form.mine.profile
    profiles = [name for name in kept.profiles() if name != mine or name == form.asked.get(PROFILE)]
    if profiles:
        form.select(PROFILE, "Packages", profiles, text=PROFILE_WORDS.get(mine, mine), shown=PROFILE_WORDS, width=190)
    opsets = sorted({cell.opset for cell in subject.cells if cell.opset is not None})
    known = [*map(str, opsets), DEFAULT_OPSET]
    torch = form.one_of("torch", kept.rows().torch, "torch release")
    opset = form.one_of("opset", known)
    if not torch and not opset:
        torch = opening.torch if opening else form.mine.one("torch")
        opset = opset_name(opening.opset) if opening else "".join(form.mine.of("opset")[-1:])
    opset = opset or _own_opset(kept.rows(), subject, (variant, exporter, provider, torch))
    profile = form.text(PROFILE) and kept.profile
    return Choice(subject.case, variant, exporter, provider, torch, opset, profile)


def _opening(form: Form, rows: Rows, subject: Subject) -> MeasuredCell | None:
    """The cell that is shown where an address names none: at the reader's setting, and of what they left open at a
    release's own opset where it fails; of several the newest release's, with the exporter of its default call first.
    """
    mine, variant = form.mine, form.asked.get("variant") or PLAIN
    asked = exporter_name(form.asked.get("exporter", ""))
    exporters = (asked,) if asked else mine.of("exporter")
    found = [
        cell
        for cell in subject.cells
        if cell.variant == variant
        and cell.exporter in (exporters or _EXPORTERS)
        and cell.torch in (mine.of("torch")[-1:] or rows.torch)
        and opset_name(cell.opset) in (mine.of("opset")[-1:] or (opset_name(rows.opset(cell.torch, cell.exporter)),))
    ]
    return max(found, key=lambda cell: _telling(cell, rows), default=None)


def _own_opset(rows: Rows, subject: Subject, place: tuple[str, str, str, str]) -> str:
    """The opset at which a release that is chosen alone is shown: its own where the form was measured there, as a table
    of releases has it; empty where it was not.
    """
    _, exporter, _, torch = place
    own = rows.opset(torch, exporter) if torch else None
    measured = any(
        (cell.variant, cell.exporter, cell.provider, cell.torch) == place and cell.opset == own
        for cell in subject.cells
    )
    return opset_name(own) if own is not None and measured else ""


def _telling(cell: MeasuredCell, rows: Rows) -> tuple[Any, ...]:
    is_usual = cell.exporter == rows.default_exporters.get(cell.torch)
    fails = not cell.works and cell.status is not Status.UNSUPPORTED
    return fails, versions.parse(cell.torch), is_usual, -_EXPORTERS.index(cell.exporter), cell.provider in ON_CPU


def _explain(kept: Kept, choice: Choice) -> Why:
    filters = Filters(
        cases=(f"{choice.case}/{choice.variant}",),
        exporters=(choice.exporter,),
        providers=(choice.provider,) if choice.provider in kept.rows().providers else (),
        torch=(choice.torch,) if choice.torch else (),
        opsets=(choice.opset,) if choice.opset and choice.exporter != Exporter.DEFAULT.value else (),
    )
    return why(kept, filters)[0]


def _tried(kept: Kept, entry: CatalogueEntry) -> CellEvidence | None:
    """What came of one environment of an environment case."""
    return evidence.of(kept, kept.answer(_environment, entry.case, entry.variant))


def _environment(kept: Kept, case: str, variant: str) -> Why:
    return why(kept, Filters(cases=(f"{case}/{variant}",)))[0]


def _every(subject: Subject) -> list[Choice]:
    """The failing form with every exporter that it was measured with."""
    measured = {cell.exporter for cell in subject.cells if cell.variant == PLAIN}
    others = [cell.provider for cell in subject.cells if cell.provider not in ON_CPU]
    provider = others[0] or "" if others and len(others) == len(subject.cells) else "cpu"
    return [Choice(subject.case, PLAIN, name, provider) for name in _EXPORTERS if name in measured]


def _strip(
    kept: Kept, subject: Subject, choice: Choice, chosen: tuple[str, int | None] | None = None, by_reader: bool = False
) -> Strip:
    providers = (choice.provider, None, "none")
    where = choice.variant, choice.exporter
    mine = [cell for cell in subject.cells if (cell.variant, cell.exporter) == where and cell.provider in providers]
    # a release that is chosen has its own opset for the forms, unless the reader's setting names one
    opset = int(choice.opset) if choice.opset.isdigit() and (by_reader or not choice.torch) else None
    judged = {torch: kept.rows().opset(torch, choice.exporter, opset) for torch in kept.rows().torch}
    words = kept.words(subject.case, choice.exporter, choice.provider, opset)
    cells = {(cell.torch, cell.opset): cell for cell in mine}
    return Strip(choice, cells, words, judged, opset, chosen)


def _texts(kept: Kept, subject: Subject) -> dict[str, SeenText]:
    """By its id: the text of each error of the failing form, in the order of the cells that have it first.

    Texts of one error, which differ in their numbers alone, are told by the first of them.
    """
    alike: dict[tuple[str, Status, str], list[MeasuredCell]] = {}
    for cell in subject.cells:
        if cell.message_id and cell.variant == PLAIN:
            alike.setdefault((cell.stage, cell.status, cell.signature or cell.message_id), []).append(cell)
    known = kept.messages({cells[0].message_id for cells in alike.values()})
    found = {}
    for number, cells in enumerate(alike.values()):
        told = _seen(number, known.get(cells[0].message_id or ""), cells)
        found.update(dict.fromkeys((cell.message_id or "" for cell in cells), told))
    return found


def _seen(number: int, text: str | None, cells: Sequence[MeasuredCell]) -> SeenText:
    torch = versions.ordered({cell.torch for cell in cells})
    exporters = filled(EXPORTER_SHORT.get(cell.exporter, cell.exporter) for cell in cells)
    opsets = sorted({cell.opset for cell in cells if cell.opset is not None})
    spans = _span("torch", torch), ", ".join(exporters), _span("opset", opsets)
    where = ", ".join(filled((f"at {cells[0].stage}", *spans)))
    return SeenText(f"text-{number}", cells[0].status, where, text or "(the text is missing in the dataset)")


def _span(noun: str, values: Sequence[object]) -> str:
    return f"{noun} {_from_to(values)}" if values else ""


def _script(kept: Kept, shown: Why) -> tuple[str, bool]:
    """The cell as a script that needs nothing of ours, or why it cannot be written; and whether it could."""
    try:
        return of_answer(shown, kept, _corpus(homes.find().corpora)).script, True
    except CaniexportError as error:
        return str(error), False


@lru_cache(maxsize=1)
def _corpus(folders: tuple[Path, ...]) -> dict[str, LoadedCase]:
    return dict(corpus.load(folders, stand_in=True))
