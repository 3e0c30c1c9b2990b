"""Deliveries of shards: brought into the local dataset, and judged over all that has come of a release.

Deliveries (:mod:`caniexport.measure.deliveries`) are kept in the folder ``shards`` of the local dataset, and each merge
looks at all of a release that lie there: in whatever order they come, the dataset is the same in the end. What they say
of themselves (their verdict, their counts) is not believed: the gate looks at their rows.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from caniexport.gate.repeats import COMPARED, identity
from caniexport.gate.verdict import DIFFERING, judge
from caniexport.machine.interpreters import on_the_common_python
from caniexport.measure.cells import measure
from caniexport.measure.deliveries import REPEATED, SHARDS, TEXTS, Row, delivered_files, key_of, lines
from caniexport.measure.job import MeasureOptions, cell_name
from caniexport.measure.merge_replays import NothingToMergeError
from caniexport.measure.settle import judged, timed, verdict, write_verdicts
from caniexport.measure.shards import CutShard, Shard, cut, digest, past_microseconds, read_cut_shard
from caniexport.model import plan, releases
from caniexport.model.canaries import is_canary
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.model.journal import Journal
from caniexport.model.status import MEASURED
from caniexport.profiles import find_profile
from caniexport.store import Dataset
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import Entries, read_journal

if TYPE_CHECKING:
    from caniexport.home import Home
    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release

_MEASURED = frozenset(status.value for status in MEASURED)
#: differences and cells that a message shows
_SHOWN = 5
_OTHER_PINS = "quarantined: it was measured with other packages than the table of releases asks for"

#: an environment and a run in it
Run = tuple[str | None, str | None]


class OverlapError(CaniexportError):
    """Two deliveries say different things of one cell."""


class UnusableDeliveryError(CaniexportError):
    """A file whose rows cannot be judged."""


class Origin(NamedTuple):
    """What the rows of a delivery are of: a torch release with the packages of a profile, on a provider."""

    torch: str
    profile: str
    provider: str

    @property
    def environment(self) -> str:
        """The tox environment that makes such rows."""
        return releases.environment_name(self.torch, self.profile, self.provider)


@dataclass(frozen=True)
class Delivery:
    """A file of rows, by whatever name a person knows it."""

    name: str
    path: Path
    entries: Entries
    origin: Origin

    @property
    def environments(self) -> dict[Run, Row]:
        """The environment's row of each run: of several the one that was written last."""
        return {(row["env_id"], row["run_id"]): row for row in self.entries.environments}


@dataclass(frozen=True)
class MergedRelease:
    """What has come of a release, from all machines.

    files     deliveries that it came in; ``rows`` that were taken from them
    shards    that have come, ``missing`` those that have not
    owed      cells that no row has come of: ``torch/case/variant/exporter/opset``
    outdated  rows that were left out: their case has changed since, or is not in this corpus
    problem   what the gate says of runs whose rows may not be used; empty where all are good
    notes     what else a person should know
    """

    torch: str
    profile: str
    provider: str
    files: int
    rows: int
    shards: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    outdated: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all of it is there and may be used."""
        return not (self.problem or self.missing or self.owed or self.outdated)


def read_delivery(path: Path, entries: Entries | None = None) -> Delivery:
    """The delivery in a file. Raises :class:`UnusableDeliveryError`."""
    entries = entries or read_journal(path)
    known = {(row["env_id"], row["run_id"]): row for row in entries.environments}
    if any((row["env_id"], row["run_id"]) not in known for row in entries.cells):
        raise UnusableDeliveryError(f"{path.name}: rows of a run whose environment is not in the file")
    found = {
        Origin(row["torch"] or "", known[row["env_id"], row["run_id"]]["profile"] or "newest", row["provider"] or "")
        for row in entries.cells
    }
    if len(found) != 1:
        raise UnusableDeliveryError(f"{path.name}: rows of {len(found)} releases or profiles, where one is wanted")
    origin = next(iter(found))
    try:
        find_profile(origin.profile)
        releases.find(origin.torch)
    except UnknownName as error:
        raise UnusableDeliveryError(f"{path.name}: {error}") from error
    return Delivery(path.name, path, entries, origin)


def merge_deliveries(
    arrived: Sequence[Delivery], home: Home, corpus: dict[str, LoadedCase], repeat: int, say: Callable[[str], None]
) -> list[MergedRelease]:
    """Bring deliveries into the local dataset, with all that have come before; one report for each release.

    Of each that has arrived ``repeat`` cells are measured here too. Bringing the same ones in again changes nothing.
    Raises :class:`OverlapError` before anything is written.
    """
    folders = {item.origin: home.of(item.origin.profile) for item in arrived}
    releases_merged = [
        MergingRelease(origin, folders[origin], corpus, _with_kept(origin, folders[origin].local, arrived))
        for origin in sorted(folders)
    ]
    for merging in releases_merged:
        merging.check_overlap()
    for merging in releases_merged:
        merging.measure_again([item for item in arrived if item.origin == merging.origin], repeat, say)
    for item in arrived:
        _keep(item, folders[item.origin].local)
    return [merging.write() for merging in releases_merged]


def _with_kept(origin: Origin, local: Path, arrived: Iterable[Delivery]) -> list[Delivery]:
    """The deliveries of a release, those that came before too; each content once."""
    kept = [read_delivery(path) for path in sorted((local / SHARDS).glob(f"{origin.environment}-*.jsonl"))]
    every = [*(item for item in arrived if item.origin == origin), *kept]
    by_content = {_content(item.path): item for item in reversed(every)}
    return [by_content[content] for content in sorted(by_content)]


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _keep(item: Delivery, local: Path) -> None:
    folder = local / SHARDS
    if item.path.resolve().parent != folder.resolve():
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{item.origin.environment}-{_content(item.path)}.jsonl"
        target.write_bytes(item.path.read_bytes())


@dataclass
class MergingRelease:
    """All deliveries of one release, looked at together."""

    origin: Origin
    home: Home
    corpus: dict[str, LoadedCase]
    deliveries: Sequence[Delivery]
    outdated: int = 0
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.release: Release = releases.find(self.origin.torch)
        self.plan = plan.cells(self.corpus, self.release, self.origin.provider)
        keys = {cell.key for cell in self.plan}
        for item in self.deliveries:
            mine: list[Row] = [row for row in item.entries.cells if row["case"] and key_of(row) in keys]
            self.outdated += len(item.entries.cells) - len(mine)
            self.rows[item.name] = mine

    def check_overlap(self) -> None:
        """Raise :class:`OverlapError` where two files, or a file and the local dataset, disagree about a cell."""
        seen: dict[tuple[object, ...], tuple[Row, str, str]] = {}
        found = []
        for name, row, cpu in self._every_row():
            if row["status"] not in _MEASURED or _is_settled(row):
                continue
            key = (*identity(row), row["env_id"], row["runtime_version"], row["case_hash"], row["code"])
            before, its_name, its_cpu = seen.setdefault(key, (row, name, cpu))
            column = _difference(before, row, cpu == its_cpu)
            if column:
                found.append(
                    f"{'/'.join(str(part) for part in identity(row))}: {column} is {before[column]} in {its_name} "
                    f"and {row[column]} in {name}"
                )
        if found:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise OverlapError(
                f"torch {self.origin.torch}: {len(found)} cells are there twice with different content, nothing was "
                f"merged: {'; '.join(found[:_SHOWN])}{more}"
            )

    def _every_row(self) -> Iterator[tuple[str, Row, str]]:
        """(file, row, processor) of all deliveries, then of the local dataset."""
        for item in self.deliveries:
            cpus = {run: str(row["cpu"]) for run, row in item.environments.items()}
            for row in self.rows[item.name]:
                yield item.name, row, cpus[row["env_id"], row["run_id"]]
        dataset = Dataset.open(None, self.home.local)
        silenced = {(row["env_id"], row["run_id"]) for row in dataset.silenced()}
        cpus = {(row["env_id"], row["run_id"]): str(row["cpu"]) for row in dataset.records("environments")}
        where = {"torch": (self.origin.torch,), "provider": (self.origin.provider,)}
        for row in dataset.records("cells", where):
            run = (row["env_id"], row["run_id"])
            if row["case"] and run not in silenced:
                yield "the local dataset", row, cpus.get(run, "")

    def measure_again(self, arrived: Sequence[Delivery], repeat: int, say: Callable[[str], None]) -> None:
        """Measure ``repeat`` cells of each of these deliveries here, drawn now, and keep what comes out."""
        drawn: set[str] = set()
        for item in arrived if repeat else ():
            names = {self._name(row) for row in self.rows[item.name] if not is_canary(row["case"])}
            drawn |= set(random.SystemRandom().sample(sorted(names), min(repeat, len(names))))
        if drawn:
            profile = find_profile(self.origin.profile)
            with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
                options = MeasureOptions(
                    home=replace(self.home, local=Path(folder)),
                    releases=(self.origin.torch,),
                    cells=frozenset(drawn),
                    provider=self.origin.provider,
                    profile=profile,
                    repeat=0,
                )
                measure(options, say)
                self._keep_repeated(Dataset.open(None, Path(folder)))

    def _keep_repeated(self, measured: Dataset) -> None:
        folder = self.home.local / REPEATED
        folder.mkdir(parents=True, exist_ok=True)
        rows = [row for row in measured.records("cells") if row["case"]]
        path = folder / f"{self.origin.environment}-{max((str(row['run_id']) for row in rows), default='none')}.jsonl"
        path.write_bytes(b"".join(lines(measured.records("environments"), rows, {})))

    def _repeated(self) -> dict[tuple[object, ...], tuple[Row, str]]:
        """The rows of cells that were measured here to compare them, with the processor."""
        found: dict[tuple[object, ...], tuple[Row, str]] = {}
        for path in sorted((self.home.local / REPEATED).glob(f"{self.origin.environment}-*.jsonl")):
            entries = read_journal(path)
            cpu = next((str(row["cpu"]) for row in entries.environments), "")
            found |= {(*identity(row), row["case_hash"]): (row, cpu) for row in entries.cells}
        return found

    def _otherwise(self, environments: Mapping[Run, Row]) -> dict[Run, tuple[int, list[str]]]:
        """By run how many of its cells were measured here too, and those that came out otherwise."""
        repeated, found = self._repeated(), dict[Run, tuple[int, list[str]]]()
        for row in (row for some in self.rows.values() for row in some if not is_canary(row["case"])):
            run = row["env_id"], row["run_id"]
            mine, cpu = repeated.get((*identity(row), row["case_hash"]), (None, ""))
            if mine is not None and {row["status"], mine["status"]} <= _MEASURED and not row["unstable"]:
                count, names = found.get(run, (0, []))
                other = _difference(row, mine, cpu == str(environments[run]["cpu"]))
                found[run] = count + 1, [*names, self._name(row)] if other else names
        return found

    def _name(self, row: Row) -> str:
        opset = "default" if row["opset"] is None else str(row["opset"])
        return "/".join((self.origin.torch, row["case"], row["variant"], row["exporter"], opset))

    def write(self) -> MergedRelease:
        """Judge the runs, write rows and verdicts, compact; what has come and what has not."""
        words = self._words()
        environments = self._environments()
        rows = [row for item in self.deliveries for row in self.rows[item.name]]
        texts: dict[str, str] = {}
        for item in self.deliveries:
            texts |= item.entries.messages
        rows = list({(*identity(row), row["run_id"], row["env_id"]): row for row in sorted(rows, key=str)}.values())
        by_run: dict[Run, list[Row]] = {}
        for row in rows:
            by_run.setdefault((row["env_id"], row["run_id"]), []).append(row)
        if rows:
            with Journal(self.home.local / "journal", f"merge-{self.origin.environment}") as journal:
                for row in rows:
                    journal.cell(timed(row), {row[name]: texts[row[name]] for name in TEXTS if row[name] in texts})
        write_verdicts(
            self.home.local,
            [judged(environments[run], words[run], some, environments[run]["planned"]) for run, some in by_run.items()],
        )
        good = [row for row in rows if words[row["env_id"], row["run_id"]] == GOOD]
        return self._report(words, environments, good, len(rows))

    def _environments(self) -> dict[Run, Row]:
        """The environment's row of each run; where files differ, one that was written when the run had ended."""
        rows = [
            (row["planned"] is not None, str(row), run, row)
            for item in self.deliveries
            for run, row in item.environments.items()
        ]
        return {run: row for *_, run, row in sorted(rows, key=lambda entry: entry[:2])}

    def _words(self) -> dict[Run, str]:
        """The gate's word on each run: on what a file has of an environment, then on all that is good together."""
        found: dict[Run, str] = {}
        environments = self._environments()
        for item in self.deliveries:
            for env_id in sorted({str(row["env_id"]) for row in self.rows[item.name]}):
                mine = [row for row in self.rows[item.name] if row["env_id"] == env_id]
                runs = {(row["env_id"], row["run_id"]) for row in mine}
                environment = dict(environments[min(runs, key=str)], repeated=None, differing=None)
                rows = [*mine, *self._canaries_for(mine, env_id)]
                pins = self._pins(environment)
                word = _OTHER_PINS if pins is None else verdict("cells", rows, environment, len(rows), pins)
                for run in runs:
                    found[run] = word if word != GOOD else found.get(run, word)
        for run, (count, otherwise) in self._otherwise(environments).items():
            if len(otherwise) > max(1, DIFFERING * count) and found[run] == GOOD:
                found[run] = (
                    f"quarantined: {len(otherwise)} of {count} cells came out otherwise when they were measured here"
                )
        whole = self._whole_word(found, environments)
        return {run: whole if word == GOOD else word for run, word in found.items()}

    def _canaries_for(self, rows: Sequence[Row], env_id: str) -> list[Row]:
        """Where a file has none: the canaries that others measured in the same environment."""
        if any(is_canary(row["case"]) for row in rows):
            return []
        every = (row for some in self.rows.values() for row in some)
        return [row for row in every if is_canary(row["case"]) and row["env_id"] == env_id]

    def _pins(self, environment: Row) -> Sequence[str] | None:
        """What the table of releases asks for, none in other profiles; ``None`` where it was asked for other pins."""
        if self.origin.profile != "newest":
            return ()
        entries = (self.release, on_the_common_python(self.release))
        return next((entry.requirements for entry in entries if entry.spec == environment["spec"]), None)

    def _whole_word(self, words: Mapping[Run, str], environments: Mapping[Run, Row]) -> str:
        """The gate's word on all good runs together, with their A/A samples."""
        good = [run for run in sorted(words, key=str) if words[run] == GOOD]
        rows = {
            identity(row): row
            for some in self.rows.values()
            for row in some
            if (row["env_id"], row["run_id"]) in set(good)
        }
        if not rows:
            return GOOD
        mine = [environments[run] for run in good]
        if len({row["spec"] for row in mine}) > 1 and self.origin.profile != "newest":
            return "quarantined: the machines were asked for different packages"
        together = dict(
            mine[-1],
            shard=None,
            repeated=sum(row["repeated"] or 0 for row in mine),
            differing=sorted({line for row in mine for line in row["differing"] or ()}),
        )
        return judge("cells", list(rows.values()), together, len(rows), ())

    def _report(
        self, words: Mapping[Run, str], environments: Mapping[Run, Row], good: Sequence[Row], rows: int
    ) -> MergedRelease:
        bad = Counter(word for run, word in words.items() if word != GOOD and environments[run]["planned"] is not None)
        unfinished = [run for run, word in words.items() if word != GOOD and environments[run]["planned"] is None]
        cuts = {
            cut_shard
            for run, row in environments.items()
            if words.get(run) == GOOD
            for cut_shard in [read_cut_shard(row["shard"] or "")]
            if cut_shard
        }
        have = {key_of(row) for row in good if row["status"] in _MEASURED}
        owed, whole, notes = self._owed(cuts, have)
        shards = sorted({item.shard for item in cuts})
        counts = {shard.of for shard in shards} if len({shard.of for shard in shards}) == 1 else set()
        every = [Shard(number, count) for count in counts for number in range(1, count + 1)]
        # one whose rows have all come before the file of the whole shard is not missing
        missing = [shard for shard in every if shard not in shards and shard.number not in whole]
        if unfinished:
            notes.append(f"{len(unfinished)} runs that were ended before their canaries could judge them are not used")
        codes = {row["code"] for row in good}
        if len(codes) > 1:
            notes.append(f"measured by {len(codes)} versions of the measuring code")
        return MergedRelease(
            *self.origin,
            files=len(self.deliveries),
            rows=rows,
            shards=tuple(map(str, shards)),
            missing=tuple(map(str, missing)),
            owed=tuple(owed),
            outdated=self.outdated,
            problem="; ".join(f"{word} ({count} runs)" for word, count in sorted(bad.items())),
            notes=tuple(notes),
        )

    def _owed(self, cuts: set[CutShard], have: set[str]) -> tuple[list[str], set[int], list[str]]:
        """The cells without a row and the shards that owe none, where the plan is cut here as it was; what to say."""
        if not cuts:
            return [], set(), []
        if len({(item.digest, item.shard.of) for item in cuts}) > 1:
            return [], set(), ["the shards are of plans that were cut differently: what is owed is not known"]
        some = next(iter(cuts))
        took = past_microseconds(Dataset.open(self.home.published, None), self.origin.torch)
        parts = cut(self.plan, some.shard.of, took)
        if digest(parts) != some.digest:
            note = "the plan was cut from other cases, rows or options than are here: what is owed is not known"
            return [], set(), [note]
        whole = {number for number, part in enumerate(parts, start=1) if all(cell.key in have for cell in part)}
        return [cell_name(self.origin.torch, cell) for cell in self.plan if cell.key not in have], whole, []


def _is_settled(row: Row) -> bool:
    """Whether a row is of a cell that was measured apart and twice, in place of another one."""
    return bool(row["apart"]) and (row["attempts"] or 1) >= 2


def _difference(one: Row, other: Row, same_processor: bool) -> str:
    """The first column in which two rows of a cell differ; the file carries values, in which processors do."""
    columns = (name for name in COMPARED if same_processor or name != "bundle")
    return next((name for name in columns if one[name] != other[name]), "")


def merge(
    folders: Sequence[Path], home: Home, repeat: int = 0, say: Callable[[str], None] = print
) -> tuple[list[MergedRelease], list[str]]:
    """Bring what lies in these folders into the local dataset; (reports, problems).

    Of each delivery ``repeat`` cells are measured here too: whoever makes up rows is found out then.
    Raises :class:`NothingToMergeError`, :class:`UnusableDeliveryError` and :class:`OverlapError`.
    """
    arrived, problems = [], []
    for path in (path for folder in folders for path in delivered_files(folder)):
        entries = read_journal(path)
        problems += entries.problems
        if entries.cells:
            arrived.append(read_delivery(path, entries))
    if not arrived:
        why = f"; {problems[0]}" if problems else ""
        raise NothingToMergeError(f"{', '.join(map(str, folders))}: no rows in it{why}")
    return merge_deliveries(arrived, home, home.read_cases(), repeat, say), problems
