"""What a dataset has: its releases, opsets, providers and runtimes, and every variant of a case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from caniexport import versions
from caniexport.home import NEWEST
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.names import plural
from caniexport.store import Dataset, sql
from caniexport.store.elsewhere import Runtime
from caniexport.store.views import Views

Key = tuple[str, str]


@dataclass(frozen=True)
class CatalogueEntry:
    """One variant of a case, as the dataset's catalogue describes it; empty texts where there are only rows of it."""

    case: str
    variant: str
    title: str = ""
    theme: str = ""
    corpus: str = ""
    kind: str = PLAIN
    note: str = ""
    needs_torch: str = ""
    ops: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Inventory:
    """The names that a question about a dataset may have. Each part is read when it is first asked for."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.views = Views.of(dataset)

    @classmethod
    def of(cls, dataset: Dataset) -> Self:
        """Return the inventory of a dataset, made once."""
        if "inventory" not in dataset.cache:
            dataset.cache["inventory"] = cls(dataset)
        made: Self = dataset.cache["inventory"]
        return made

    @cached_property
    def catalogue(self) -> dict[Key, CatalogueEntry]:
        """By (case, variant), by theme and case, the original first and the workarounds that change values last: what
        is described, and what was measured of a case that nobody describes.
        """
        rows = self.views.fetch(
            """SELECT "case", variant, coalesce(title, ''), coalesce(theme, ''), coalesce(corpus, ''),
                coalesce(kind, ''), coalesce(note, ''), coalesce(needs_torch, ''),
                coalesce(list_concat(aten_ops, onnx_ops), []), coalesce(sources, [])
            FROM variants ORDER BY coalesce(theme, ''), "case", variant <> 'plain', changes_values, line"""
        )
        found = []
        for row in rows:
            values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in row]
            found.append(CatalogueEntry(*values))
        described = {entry.case for entry in found}
        # rows of a workaround that its case no longer has are history, not an answer
        others = [key for key in self.dataset.distinct(("case", "variant")) if key[0] and key[0] not in described]
        found[:0] = [
            CatalogueEntry(case, variant or PLAIN, corpus=CANARY if case.startswith(CANARY) else "")
            for case, variant in sorted(others, key=lambda key: (key[0], key[1] != PLAIN))
        ]
        return {(entry.case, entry.variant): entry for entry in found}

    @property
    def documented(self) -> list[CatalogueEntry]:
        """The original of every case, in the order of the catalogue, canaries left out."""
        return [entry for entry in self.catalogue.values() if entry.variant == PLAIN and entry.corpus != CANARY]

    @cached_property
    def unmeasured(self) -> frozenset[str]:
        """The documented cases that have no cell."""
        measured = {case for (case,) in self.views.fetch('SELECT DISTINCT "case" FROM cells')}
        return frozenset(entry.case for entry in self.documented if entry.case not in measured)

    @property
    def cases_text(self) -> str:
        """``480 cases, each measured on some release.``"""
        cases, missing = len(self.documented), len(self.unmeasured)
        if not missing:
            return f"{plural(cases, 'case')}, each measured on some release."
        return f"{plural(cases, 'case')}: {cases - missing:,} measured, {missing:,} not measured yet."

    @property
    def ops(self) -> dict[str, None]:
        """The operators that cases are about, as the catalogue spells them."""
        return dict.fromkeys(op for entry in self.catalogue.values() for op in entry.ops)

    @cached_property
    def torch(self) -> tuple[str, ...]:
        """The measured releases, oldest first."""
        return tuple(versions.ordered(self._read_column("torch")))

    @cached_property
    def opsets(self) -> tuple[int, ...]:
        """The opsets that anything was asked for, ascending."""
        return tuple(self._read_column("opset"))

    @cached_property
    def providers(self) -> tuple[str, ...]:
        """The providers that anything was measured on."""
        return tuple(self._read_column("provider"))

    def _read_column(self, column: str) -> list[Any]:
        rows = self.views.fetch(
            f"""SELECT DISTINCT {column} FROM places
                WHERE profile = $1 AND exporter IS NOT NULL AND {column} IS NOT NULL ORDER BY ALL""",
            [self.dataset.profile],
        )
        return [value for (value,) in rows]

    @cached_property
    def runtimes(self) -> tuple[Runtime, ...]:
        """The releases of runtimes that ran files of the corpus, oldest first within a name and provider."""
        rows = self.views.fetch(
            """SELECT runtime, runtime_version, provider FROM replays
                WHERE corpus NOT IN ('onnx-node', 'probe') AND "case" IS NOT NULL AND runtime_version IS NOT NULL
            UNION SELECT runtime, runtime_version, provider FROM places WHERE runtime_version IS NOT NULL"""
        )
        found = [Runtime(*row) for row in rows]
        return tuple(sorted(found, key=lambda one: (one.name, one.provider, versions.parse(one.version))))

    def own_runtime(self, torch: str, profile: str = NEWEST, provider: str = "cpu") -> Runtime | None:
        """The runtime that most cells of a release were measured on, installed with it."""
        rows = self.views.fetch(
            """SELECT runtime, runtime_version, provider FROM places
                WHERE profile = $1 AND torch = $2 AND provider = $3 AND runtime_version IS NOT NULL
                GROUP BY ALL ORDER BY sum(cells) DESC LIMIT 1""",
            [profile, torch, provider],
        )
        return Runtime(*rows[0]) if rows else None

    def count(self, condition: str = "true") -> int:
        """How many cells were measured; those of a condition on the columns of ``places``."""
        ((found,),) = self.views.fetch(
            f"SELECT sum(cells) FROM places WHERE profile = $1 AND exporter IS NOT NULL AND {condition}",
            [self.dataset.profile],
        )
        return int(found or 0)

    @property
    def local(self) -> int:
        """How many of them were measured on this machine."""
        return self.count("origin = 'local'")

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.count() and not self.views.fetch("SELECT 1 FROM environment LIMIT 1")

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The operators that the newest release's torch or onnx lists."""
        tables = self.dataset.records("declared", {"release": self.torch[-1:]})
        return tuple(dict.fromkeys(row["op"] for row in tables))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was measured or tried and is not used: quarantined runs, releases that cannot be entered."""
        return tuple(self._explain_left_out_rows())

    def _explain_left_out_rows(self) -> Iterator[str]:
        lost = self.views.fetch(
            f"""SELECT torch, message_id FROM cells WHERE "case" IS NULL AND profile = $1
                AND (torch IN {sql.listed(self.torch)}) IS NOT TRUE ORDER BY ALL""",
            [self.dataset.profile],
        )
        texts = self.dataset.messages(message for _, message in lost)
        for torch, message in lost:
            reason = texts.get(message, "").strip().split("\n")[0]
            yield f"torch {torch} could not be measured: {reason or 'no reason was kept'}"
        for row in self.dataset.quarantined_environments():
            of = f"torch {row['torch']}" if row["torch"] else row["release"]
            yield f"{of}: the rows of run {row['run_id']} are left out: {row['gate']}"
