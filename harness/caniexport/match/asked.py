"""What a question in words asks of a dataset: which answer, at which releases, and what was understood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from caniexport import versions
from caniexport.answers import points
from caniexport.answers.filters import Filters
from caniexport.answers.opset_ranges import tell_opsets
from caniexport.answers.reading import Rows
from caniexport.answers.select import exporter_names, opsets
from caniexport.match.question import OPERATORS, PROVIDER, PROVIDERS, AskedQuestion
from caniexport.match.search import SearchHits
from caniexport.match.words import choose_main
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.names import plural

#: what stands beside a provider's name and says nothing more
_BESIDE = (
    "provider providers execution ep onnxruntime ort openvino runtime file files wrong value values fail fails failing "
    "left cpu right result results device"
)
_BESIDE_PROVIDER = frozenset({*PROVIDERS, *_BESIDE.split()})
#: the exporters that torch's own calls are asked of
_CALLED_BY = (Exporter.DYNAMO.value, Exporter.TRACE.value)
#: the answer that a question is given: what becomes of one release on another, how fixes stand, a table of cases,
#: what each release broke, or how each case that was found ends
Answer = Literal["upgrade", "workarounds", "matrix", "alerts", "cases"]


@dataclass(frozen=True)
class Understood:
    """A question with the names that a dataset knows. ``setting`` is what it names of torch, opset, exporter,
    runtime and status, each as an address has it; ``before`` and ``after`` are the releases of a move, empty where
    none is asked for. ``told`` is all of it in words; ``unknown`` says what of it nobody knows, and the nearest;
    ``notes`` which release answers for one that was not measured; ``opsets`` which the one release takes that is asked
    about without more words; ``searched`` its words as another search is asked for them; ``own`` whether they speak of
    somebody's own file or model.
    """

    answer: Answer
    words: str
    setting: Mapping[str, str]
    before: str
    after: str
    told: str
    unknown: tuple[str, ...]
    notes: tuple[str, ...] = ()
    opsets: str = ""
    searched: str = ""
    own: bool = False

    @property
    def on_runtime(self) -> str:
        """``onnxruntime 1.15.1``, the release of a runtime that is asked about; empty where none is."""
        return self.setting.get("runtime", "").replace("==", " ")


def understand(question: AskedQuestion, rows: Rows) -> Understood:
    """What a question asks of these rows. What nobody knows of it is told, and counts as not given."""
    unknown: list[str] = []
    notes: list[str] = []
    releases = [_known(partial(_release, notes), text, rows, unknown) for text in question.releases]
    before, after = _move(question, releases, rows)
    if question.kind == "range" and all(releases):
        releases.sort(key=rows.torch.index)
    setting = {
        "torch": "" if before or question.kind == "move" else "..".join(releases),
        "opset": _known(_opset, question.opset, rows, unknown),
        "exporter": question.exporter,
        "runtime": _known(_runtime, question.runtime, rows, unknown),
    }
    setting = {name: value for name, value in setting.items() if value.strip(".")}
    if before and question.to_opset:
        setting["to_opset"] = _known(_opset, question.to_opset, rows, unknown)
    elif before and not _takes(rows, before, setting):
        # what only the newer release takes is asked of that one
        setting["to_opset"] = setting.pop("opset")
    if question.status and _answer(question, setting, before) == "matrix":
        setting["status"] = question.status
    notes += [
        f"{item} is not looked at: each release was measured with packages of its own" for item in question.others
    ]
    told = _told(question, setting, before, after)
    answer = _answer(question, setting, before)
    is_release = answer == "matrix" and not question.words and setting.get("torch", "") in rows.torch
    return Understood(
        answer, question.words, setting, before, after, told, tuple(unknown), tuple(notes),
        tell_opsets(rows, setting["torch"]) if is_release else "", question.searched, question.own,
    )  # fmt: skip


def _takes(rows: Rows, torch: str, setting: Mapping[str, str]) -> bool:
    """Whether a release takes the one opset of a setting, by the exporter that it names."""
    opset = setting.get("opset", "")
    exporter = setting.get("exporter") or rows.default_exporters.get(torch, Exporter.TRACE.value)
    return not opset.isdigit() or int(opset) in rows.offers.get((torch, exporter), (int(opset),))


def asked_exporter(query: str, asks: Understood) -> str:
    """The exporter whose failing operators a question asks for; empty where it asks for something else."""
    if asks.words or asks.answer != "matrix" or not OPERATORS.search(query):
        return ""
    asked = exporter_names(asks.setting.get("exporter", Exporter.DYNAMO.value).split(","))
    return next((name for name in asked if name in _CALLED_BY), "")


def called_at(asks: Understood, rows: Rows) -> tuple[str, tuple[str, ...], int | None]:
    """The release, exporters and opset that torch's own calls are told at: without a release the newest, in the place
    of a default call the exporter which that uses there, and no opset where none or several are asked for.
    """
    torch, opset = asks.setting.get("torch", "").rpartition("..")[2] or rows.torch[-1], asks.setting.get("opset", "")
    default = rows.default_exporters.get(torch, Exporter.TRACE.value)
    named = exporter_names(filter(None, asks.setting.get("exporter", "").split(",")))
    exporters = dict.fromkeys(default if name == Exporter.DEFAULT.value else name for name in named)
    return torch, tuple(exporters), int(opset) if opset.isdigit() else None


@dataclass(frozen=True)
class AskedProvider:
    """What a question asks of a provider of a runtime: its ``name``, such as ``cuda``, and the cells whose files are
    meant. ``missing`` are words of it that no case is about, ``runtime`` the release of one that it names.
    """

    name: str
    filters: Filters
    missing: tuple[str, ...] = ()
    runtime: str = ""


def asked_provider(found: SearchHits, asks: Understood, rows: Rows) -> AskedProvider | None:
    """The provider that a question is about, and which files; ``None`` where it names none, or asks for something else
    of what it names.
    """
    named = PROVIDER.search(found.query)
    if named is None or asks.answer in ("upgrade", "workarounds"):
        return None
    words, missing = (_beside_provider(each) for each in (asks.words.split(), found.left_out))
    cases = tuple(hit.case for hit in choose_main(found.hits)) if words and found.hits else ()
    low, _, high = asks.setting.get("torch", "").partition("..")
    torch = rows.torch[rows.torch.index(low) : rows.torch.index(high or low) + 1] if low else ()
    opset, exporter = (tuple(filter(None, asks.setting.get(name, "").split(","))) for name in ("opset", "exporter"))
    asked = Filters(
        cases, torch=tuple(torch), opsets=tuple(text.replace("..", "-") for text in opset), exporters=exporter
    )
    missing = missing if cases or not words else (*words, *missing)
    return AskedProvider(PROVIDERS[named[0].casefold()], asked, missing, asks.setting.get("runtime", ""))


def _beside_provider(words: Iterable[str]) -> tuple[str, ...]:
    """The words that say more than a provider's name does."""
    return tuple(word for word in words if word.casefold() not in _BESIDE_PROVIDER)


def _answer(question: AskedQuestion, setting: Mapping[str, str], before: str) -> Answer:
    if before:
        return "upgrade"
    if question.asks in ("workarounds", "matrix", "alerts"):
        return question.asks
    is_range = ".." in setting.get("torch", "") or not question.words
    return "matrix" if is_range and question.kind != "move" and question.asks != "upgrade" else "cases"


def _move(question: AskedQuestion, releases: list[str], rows: Rows) -> tuple[str, str]:
    """From where to where: a move without an end goes to the newest release, one without a beginning comes from the
    release before its end.
    """
    is_span = question.kind == "range" and not question.words and question.asks != "matrix"
    is_move = question.kind == "move" or question.asks == "upgrade" or is_span
    if not is_move or not any(releases):
        return "", ""
    # a release that nobody knows is not replaced by another
    if any(text and not known for text, known in zip(question.releases, releases, strict=True)):
        return "", ""
    begins, ends = releases[0], releases[-1] if len(releases) > 1 else ""
    if not begins:
        earlier = rows.torch[: rows.torch.index(ends)]
        begins = earlier[-1] if earlier else ends
    return begins, ends or rows.torch[-1]


def _known(read: Callable[[str, Rows], str], text: str, rows: Rows, unknown: list[str]) -> str:
    if not text:
        return ""
    try:
        return read(text, rows)
    except UnknownName as error:
        unknown.append(str(error))
        return ""


def _release(notes: list[str], text: str, rows: Rows) -> str:
    """The measured release, of an unmeasured patch the nearest, which ``notes`` are told; raises :class:`UnknownName`
    with those beside it.
    """
    if text.startswith("<"):
        return _release_before(notes, text[1:], rows)
    if text.startswith(">"):
        notes.append(f"torch {rows.torch[-1]} is the newest release measured")
        return rows.torch[-1]
    found, told = versions.resolve_told(versions.public(text), rows.torch)
    notes += filter(None, (told,))
    return found


def _release_before(notes: list[str], text: str, rows: Rows) -> str:
    """The newest measured release that is older than one; raises :class:`UnknownName` where none is."""
    older = [torch for torch in rows.torch if versions.parse(torch) < versions.parse(versions.public(text))]
    if not older:
        raise UnknownName(f"no release before torch {text} has been measured (the oldest: {rows.torch[0]})")
    notes.append(f"torch {older[-1]} is the newest release measured before torch {text}")
    return older[-1]


def _opset(text: str, rows: Rows) -> str:
    if not opsets((text.replace("..", "-"),), rows.opsets):
        measured = f"{rows.opsets[0]} to {rows.opsets[-1]}" if rows.opsets else "nothing"
        raise UnknownName(f"opset {text} has not been measured (measured: {measured})")
    return text


def _runtime(text: str, rows: Rows) -> str:
    found = points.find_runtime(rows, text, None, [])
    return f"{found.name}=={found.version}"


def _told(question: AskedQuestion, setting: Mapping[str, str], before: str, after: str) -> str:
    """``from torch 1.13.1 to torch 2.9.1, opset 17, words: cross``."""
    parts = [f"from torch {before} to torch {after}"] if before else []
    shown = {name.replace("_", " "): value.replace("==", " ").replace(",", " and ") for name, value in setting.items()}
    parts += [f"{name} {value}" for name, value in shown.items()]
    parts += {
        "workarounds": ["is a workaround needed"],
        "matrix": ["as a table"],
        "alerts": ["what each release broke"],
    }.get(question.asks, [])
    words = question.words.split()
    if question.fix:
        parts.append(f"fix: {question.fix}")
    elif words:
        parts.append(f"{plural(len(words), 'word').partition(' ')[2]}: {question.words}")
    return ", ".join(parts)
