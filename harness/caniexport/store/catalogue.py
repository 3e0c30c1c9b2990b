"""The corpus as rows of ``CASES``: one per case and variant, with the words and the code of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caniexport.model.case import PLAIN, Case, EnvironmentFix, Variant
from caniexport.model.corpus import LoadedCase
from caniexport.store.sources import CaseSource


def case_rows(corpus: Mapping[str, LoadedCase], records: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Rows of ``CASES`` for every variant of the corpus, version upgrades (which are not measured) included.

    ``records`` are the records of the documents that each case stands for, by its id.
    """
    parsed: dict[str, CaseSource] = {}
    rows = []
    for item in corpus.values():
        if item.text not in parsed:
            parsed[item.text] = CaseSource(item.text)
        case = _case(item, records[item.id])
        rows += [
            {**case, **words, "variant": name, **_measured(item, name, parsed[item.text])}
            for name, words in _variants(item)
        ]
    return rows


def measured_variants(corpus: Mapping[str, LoadedCase]) -> set[tuple[str, str]]:
    """(case, variant) of everything that the corpus can leave rows of."""
    return {(item.id, name) for item in corpus.values() for name, _ in _variants(item)}


def _case(item: LoadedCase, records: Sequence[str]) -> dict[str, Any]:
    cls = item.cls
    return {
        "case": item.id,
        "corpus": cls.corpus,
        "title": cls.title(),
        "description": cls.description(),
        "theme": item.theme,
        "records": list(records),
        "aten_ops": list(cls.aten_ops),
        "onnx_ops": list(cls.onnx_ops),
        "sources": list(cls.sources),
        "needs_torch": cls.needs_torch if issubclass(cls, Case) else "",
    }


def _measured(item: LoadedCase, variant: str, file: CaseSource) -> dict[str, Any]:
    return {"code": file.code(item.cls.__name__, variant), "case_hash": item.case_hash(variant)}


def _variants(item: LoadedCase) -> Iterable[tuple[str, dict[str, Any]]]:
    if item.is_environment:
        return [(name, _environment_words(fix)) for name, fix in item.environment_variants.items()]
    return [(name, _words(variant)) for name, variant in item.variants.items()]


def _words(variant: Variant) -> dict[str, Any]:
    """What differs from the case's own words; a version upgrade names the releases that have it."""
    fix = variant.fix
    words = {
        "kind": variant.kind,
        "note": variant.note,
        "caution": bool(fix and fix.caution),
        "documented": fix.documented if fix else True,
        "changes_values": variant.changes_values,
    }
    return {**words, "needs_torch": fix.torch} if fix and fix.torch else words


def _environment_words(fix: EnvironmentFix | None) -> dict[str, Any]:
    return {
        "kind": fix.kind if fix else PLAIN,
        "note": fix.note if fix else "",
        "caution": False,
        "documented": fix.documented if fix else True,
        "changes_values": False,
    }
