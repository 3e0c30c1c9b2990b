"""One case: the answer about it, the cells of one variant by one exporter, and the evidence of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from caniexport import home as homes
from caniexport import names, versions
from caniexport.answers.case import answer_case, find
from caniexport.answers.cell import NamedCase, Row, answer_evidence, find_most_telling, read_rows
from caniexport.answers.filters import DEFAULT_OPSET, Filters, exporter_name
from caniexport.answers.point import call_text
from caniexport.answers.profile_differences import profile_difference_table
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.home import NEWEST
from caniexport.model import corpus
from caniexport.model.case import PLAIN
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.model.status import WORKS, Exporter, Status
from caniexport.pages import links
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.graph import Drawing, draw_graph
from caniexport.pages.kept import Kept
from caniexport.pages.render import opset_name, render
from caniexport.pages.setting import PROFILE, PROFILE_WORDS
from caniexport.pages.sheet import File
from caniexport.profiles import PERIOD
from caniexport.reproduce.find import find_reproduction
from caniexport.store.views import Views

_EXPORTERS = [member.value for member in Exporter]
#: long tables, which the static copy has in the file of the case alone
_APART = ("every outcome", "the same files on other runtimes")
_MEASURED = """SELECT DISTINCT variant, exporter, opset FROM cells
    WHERE "case" = $1 AND profile = $2 AND exporter IS NOT NULL"""


@dataclass(frozen=True)
class CellGrid:
    """The cells of one variant by one exporter; ``chosen`` is the one that is open."""

    asked: Mapping[str, str]
    cells: Mapping[tuple[str, int | None], Row]
    chosen: tuple[str, int | None] | None

    @property
    def opsets(self) -> list[int | None]:
        """The columns; the release's own last."""
        return sorted({opset for _, opset in self.cells}, key=lambda opset: (opset is None, opset or 0))

    @property
    def releases(self) -> list[str]:
        """The lines."""
        return versions.ordered({torch for torch, _ in self.cells})[::-1]

    def at(self, torch: str, opset: int | None) -> dict[str, str]:
        """The parameters that open a cell."""
        return {**self.asked, "torch": torch, "opset": opset_name(opset)}

    @staticmethod
    def status(row: Row | None) -> Status:
        """How a cell ends."""
        return Status(row["status"]) if row else Status.NOT_RUN

    @staticmethod
    def written(row: Row | None) -> str:
        """The opset of a file that is another than the one asked for."""
        if row is None or Status(row["status"]) not in WORKS or row["opset_effective"] == row["opset"]:
            return ""
        return str(row["opset_effective"] or "")


@dataclass(frozen=True)
class Open:
    """The cell that is open: its evidence, the graph of its file, and its script where that is asked for."""

    evidence: Markup
    picture: Drawing | None
    script: tuple[str, bool] | None


def page(form: Form, kept: Kept) -> Page:
    """The page of the case that is asked for, or the list of all."""
    form.take("variant", "provider", "script")
    name, _, variant = form.text("case").partition("/")
    if variant:  # as the terminal names a workaround: case/workaround
        form.asked = {"variant": variant, **form.asked}
    kept = kept.holding(name)
    try:
        case = find(Views.of(kept), name).case
    except UnknownName:
        return _listing(form, kept)
    newest, named_profile = kept.of(NEWEST), form.one_of(PROFILE, kept.profiles(), "packages")
    kept = kept.of(named_profile or kept.profile)
    known = {variant: entry for (name, variant), entry in kept.inventory.catalogue.items() if name == case}
    about = known.get(PLAIN) or next(iter(known.values()), None)
    measured = Views.of(kept).fetch(_MEASURED, [case, kept.profile])
    given: dict[str, Any] = {"case": case, "about": about, "grid": None, "open": None, "missing": ""}
    variant = PLAIN
    if measured and not form.whole:
        exporters = [one for one in _EXPORTERS if any(exporter == one for _, exporter, _ in measured)]
        variants = [one for one in known if any(variant == one for variant, _, _ in measured)] or [PLAIN]
        variant = form.tabs("variant", "Variant", variants, PLAIN, {PLAIN: "original"})
        opsets = sorted({opset for named, _, opset in measured if named == variant and opset is not None})
        given |= _chosen(form, kept, NamedCase(case, variant), exporters, opsets)
    answer = kept.answer(answer_case, NamedCase(case, variant).text)
    other = PERIOD if kept.profile == NEWEST else kept.profile
    packages = newest.answer(profile_difference_table, case, other)
    # the heading has the title
    tables = [
        replace(table, title="" if about and table.title == about.title else table.title) for table in answer.tables
    ]
    given["apart"] = [table for table in tables if form.whole and table.title in _APART and table.rows]
    tables = [table for table in (*tables, packages) if table not in given["apart"]]
    given["answer"] = render_answer(replace(answer, tables=tuple(tables)))
    described = kept.answer(_described).get(case, {})
    script = given["open"].script if given["open"] else None
    files = [File(f"{links.slug(case)}.py", lambda: script[0])] if script and script[1] else []
    files += make_files("case", answer)
    lead = f"{case} · {about.theme if about and about.theme else 'no theme'}"
    above = render("case_above.html", row=described, sources=kept.sources(case))
    title = about.title if about and about.title else case
    return form.page(title, lead, render("case.html", **given), above, back=True, folds=True, files=tuple(files))


def _described(kept: Kept) -> dict[str, dict[str, Any]]:
    """The description of each case at the top of its page."""
    return {row["case"]: row for row in kept.records("cases") if row["variant"] == PLAIN}


def _chosen(form: Form, kept: Kept, named: NamedCase, exporters: list[str], opsets: list[int]) -> dict[str, Any]:
    """The grid of a variant by one exporter, and the cell that the address or the reader's setting opens; of what both
    leave open the newest that fails.
    """
    torch = form.one_of("torch", kept.inventory.torch, "torch release")
    opset = form.one_of("opset", [*map(str, opsets), DEFAULT_OPSET])
    asked = exporter_name(form.asked.get("exporter", ""))
    opsets_asked = [opset] if opset else form.mine.of("opset")[-1:]
    chosen = {
        "torch": [torch] if torch else form.mine.of("torch")[-1:],
        "opset": [int(text) if text.isdigit() else None for text in opsets_asked],
        "exporter": [asked] if asked in exporters else form.mine.of("exporter"),
    }
    where = {
        "case": [named.case],
        "variant": [named.variant],
        **{name: given for name, given in chosen.items() if given},
    }
    row, _ = find_most_telling(kept, where)
    exporter = form.tabs("exporter", "Exporter", exporters, row["exporter"] if row else exporters[0], EXPORTER_SHORT)
    mine_profile = form.mine.profile
    profiles = [name for name in kept.profiles() if name != mine_profile or name == form.asked.get(PROFILE)]
    if profiles:
        usual = PROFILE_WORDS.get(mine_profile, mine_profile)
        form.select(PROFILE, "Packages", profiles, text=usual, shown=PROFILE_WORDS, width=190)
    query = """cells WHERE "case" = $1 AND variant = $2 AND exporter = $3 AND profile = $4
        QUALIFY row_number() OVER (PARTITION BY torch, opset ORDER BY provider <> 'cpu', provider) = 1"""
    found = read_rows(Views.of(kept), query, [named.case, named.variant, exporter, kept.profile])
    address = {"case": named.case, "exporter": exporter}
    address |= {"variant": named.variant} if named.variant != PLAIN else {}
    address |= {PROFILE: kept.profile} if form.text(PROFILE) else {}
    place = (row["torch"], row["opset"]) if row else None
    grid = CellGrid(address, {(item["torch"], item["opset"]): item for item in found}, place)
    if row is None:
        parts = (torch and f"torch {torch}", EXPORTER_SHORT.get(exporter, exporter), opset and f"opset {opset}")
        return {"grid": grid, "missing": ", ".join(filter(None, parts))}
    where_text = f"torch {row['torch']}, {_call(row)}"
    script = _script(kept, row) if form.text("script") == "1" else None
    graph = kept.graph(row["bundle"]) if row["bundle"] else None
    evidence = render_answer(answer_evidence(kept, row, where_text))
    return {"grid": grid, "open": Open(evidence, draw_graph(graph) if graph else None, script)}


def _call(row: Row) -> str:
    opset = "" if row["opset"] is None else f", opset_version={row['opset']}"
    return (
        "default" if row["exporter"] == Exporter.DEFAULT.value else f"{call_text(row['torch'], row['exporter'])}{opset}"
    )


def _listing(form: Form, kept: Kept) -> Page:
    entries, asked = kept.inventory.documented, form.text("case")
    known = [entry.case for entry in entries]
    form.select("case", "Case", known, text="choose one", width=420, linked=True)
    near = names.find_nearest(asked, known) if asked else ()
    body = render("cases.html", entries=entries, unmeasured=kept.inventory.unmeasured, near=near)
    return form.page("Cases", f"Each is one documented failure with its fixes. {kept.inventory.cases_text}", body)


def _script(kept: Kept, row: Row) -> tuple[str, bool]:
    """The cell as a script that needs nothing of ours, or why it cannot be written; and whether it could."""
    asked = Filters(
        cases=(f"{row['case']}/{row['variant']}",),
        exporters=(row["exporter"],),
        torch=(row["torch"],),
        opsets=(opset_name(row["opset"]),),
    )
    try:
        return find_reproduction(kept, _load_corpus(homes.find().of_corpus(kept.corpus).corpora), asked).script, True
    except CaniexportError as error:
        return str(error), False


@lru_cache(maxsize=1)
def _load_corpus(folders: tuple[Path, ...]) -> dict[str, LoadedCase]:
    """Return the cases of some folders; the last result is kept."""
    return dict(corpus.load(folders, stand_in=True))
