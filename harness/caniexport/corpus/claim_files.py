"""What the documents say of the cases: ``cases/claims/<theme>.toml``, a file beside each case file.

Under a case's id stand its ``records`` and its claims, in the order in which they are numbered::

    [cross-no-symbolic]
    records = ["cross-has-no-rule"]

    [[cross-no-symbolic.claims]]
    source = "onnx/onnx#2683"
    says = "fails at export: no symbolic for cross"
    torch = "<1.12"
    status = "fail"

:class:`Claim` has every key of a claim. A measured environment never reads these files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from caniexport import names, versions
from caniexport.corpus import replays
from caniexport.model.case import PLAIN
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import CorpusError, UnknownName
from caniexport.model.status import Exporter, Stage, Status, WhyNot

FOLDER = "claims"


@dataclass(frozen=True)
class Claim:
    """What a source says, in a form that rows can judge.

    ``torch`` is a version specifier (``"==1.10.*"``, ``">=1.12"``; empty for every release), ``opset`` a number, a
    range ``"9-10"``, a bound ``">=11"`` or empty, ``exporter`` one exporter or empty for both TorchScript ones and
    dynamo. The claim is reproduced when every measured cell so selected has one of ``status`` (and ``stage``, and
    ``message`` in its text, and at least these ``ops`` counts, and these ``facts``, where they are given).
    ``runtime`` names versions of a runtime (``"onnxruntime>=1.8,<1.21"``), ``needs`` one of its providers (``"cuda"``):
    the claim is then judged on how the files of its cells end on these. Where ``needs`` is another word (``"the model
    on a GPU"``), nothing here can measure it.
    ``finding`` is what was found when the measurement disagreed with the source, in one sentence, and ``why_not`` the
    reviewed word for it. ``record`` is needed only where the case has several.
    """

    source: str
    says: str
    record: str = ""
    torch: str = ""
    exporter: str = Exporter.TRACE.value
    opset: str = ""
    variant: str = PLAIN
    status: tuple[str, ...] = ()
    stage: str = ""
    message: str = ""
    ops: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    runtime: str = ""
    finding: str = ""
    why_not: str = ""


@dataclass(frozen=True)
class DocumentedCase:
    """What the documents say of one case: the records that it stands for, and the claims in their order."""

    records: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()


#: what the documents say, by the id of the case
DocumentedCases = Mapping[str, DocumentedCase]

_OF_A_CASE = tuple(item.name for item in fields(DocumentedCase))
_OF_A_CLAIM = tuple(item.name for item in fields(Claim))
_NEEDED = ("source", "says")
_TABLES = ("ops", "facts")
#: keys that take one of the words of a list
_WORDS: Mapping[str, type[Enum]] = {"status": Status, "stage": Stage, "exporter": Exporter, "why_not": WhyNot}


def read_documents(corpus: Mapping[str, LoadedCase]) -> dict[str, DocumentedCase]:
    """What the files beside the case files say of every case of the corpus, in its order; nothing for most canaries.

    Raises :class:`CorpusError` naming the file, the case and the claim that cannot be used.
    """
    found: dict[str, DocumentedCase] = {}
    for path, cases in _group_by_file(corpus).items():
        found.update(_read_file(path, cases))
    return {case: found.get(case, DocumentedCase()) for case in corpus}


def find_claims_file(case_file: Path) -> Path:
    """The file with the claims of the cases of ``case_file``."""
    return case_file.parent / FOLDER / f"{case_file.stem}.toml"


def _group_by_file(corpus: Mapping[str, LoadedCase]) -> dict[Path, dict[str, LoadedCase]]:
    """The cases by their claims file, in the order of the corpus. Raises for a file that has no case file."""
    found: dict[Path, dict[str, LoadedCase]] = {}
    for item in corpus.values():
        found.setdefault(find_claims_file(item.path), {})[item.id] = item
    for folder in {path.parent for path in found}:
        for path in sorted(folder.glob("*.toml")):
            if not (folder.parent / f"{path.stem}.py").is_file():
                themes = [other.stem for other in folder.parent.glob("*.py")]
                raise CorpusError(f"{path}: {names.unknown_name('case file', path.stem, themes)}")
    return found


def _read_file(path: Path, cases: Mapping[str, LoadedCase]) -> dict[str, DocumentedCase]:
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read ({error})") from error
    found = {}
    for case, entry in entries.items():
        try:
            _require_known("case", [case], cases)
            found[case] = _read_case(entry, cases[case])
        except (UnknownName, CorpusError) as error:
            raise CorpusError(f"{path}: case {case}: {error}") from None
    return found


def _read_case(entry: Any, item: LoadedCase) -> DocumentedCase:
    if not isinstance(entry, dict):
        raise CorpusError("a table is wanted, with records and claims")
    _require_known("key", entry, _OF_A_CASE)
    records, claims = entry.get("records", []), entry.get("claims", [])
    _require(_is_texts(records), "records takes a list of texts")
    _require(isinstance(claims, list), "claims are written as [[case.claims]]")
    return DocumentedCase(tuple(records), tuple(_read_claims(claims, item, records)))


def _read_claims(entries: Iterable[Any], item: LoadedCase, records: list[str]) -> Iterator[Claim]:
    variants = [*(item.environment_variants if item.is_environment else item.variants)]
    for number, entry in enumerate(entries, start=1):
        try:
            claim = _read_claim(entry)
            _require_known("variant", [claim.variant], variants)
            _require_known("record", filter(None, [claim.record]), records)
        except (UnknownName, CorpusError) as error:
            raise CorpusError(f"claim {number}: {error}") from None
        yield claim


def _read_claim(entry: Any) -> Claim:
    _require(isinstance(entry, dict), "a table is wanted")
    _require_known("key", entry, _OF_A_CLAIM)
    for key in _NEEDED:
        _require(bool(entry.get(key)), f"{key} is missing")
    claim = Claim(**{key: _read_value(key, value) for key, value in entry.items()})
    for key, words in _WORDS.items():
        value = getattr(claim, key)
        _require_known(key, filter(None, [value] if isinstance(value, str) else value), [word.value for word in words])
    versions.within("1.0", claim.torch)
    for clause in claim.opset.split(","):
        versions.is_opset_in(0, clause)
    if claim.runtime:
        replays.parse_runtime(claim.runtime)
    return claim


def _read_value(key: str, value: Any) -> Any:
    """The value of a claim's key as :class:`Claim` has it: ``opset = 11`` and ``status = "fail"`` are short forms."""
    if key == "status":
        value = [value] if isinstance(value, str) else value
        _require(_is_texts(value), f"{key} takes a name or a list of names")
        return tuple(value)
    if key in _TABLES:
        _require(isinstance(value, dict), f"{key} takes a table")
        return value
    value = str(value) if key == "opset" and isinstance(value, int) and not isinstance(value, bool) else value
    _require(isinstance(value, str), f"{key} takes a text")
    return value


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CorpusError(otherwise)


def _require_known(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise for the first name that is not known as it is written."""
    known = list(known)
    for name in given:
        if name not in known:
            raise names.unknown_name(kind, name, known)
