"""The corpus as rows of ``CASES``: one per case and variant, with the words and the code of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caniexport.model.case import PLAIN, Case, EnvironmentFix, Fix, Variant
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
        cls = item.cls
        case = {
            "case": item.id,
            "corpus": cls.corpus,
            "title": cls.title(),
            "description": cls.description(),
            "theme": item.theme,
            "records": list(records[item.id]),
            "aten_ops": list(cls.aten_ops),
            "onnx_ops": list(cls.onnx_ops),
            "sources": list(cls.sources),
            "needs_torch": cls.needs_torch if issubclass(cls, Case) else "",
        }
        variants: Mapping[str, Variant | EnvironmentFix | None] = item.variants
        for name, variant in (variants or item.environment_variants).items():
            of_table = getattr(cls, "code_of", None)
            code = of_table(name) if of_table else parsed[item.text].code(cls.__name__, name)
            source = {"code": code, "case_hash": item.case_hash(name)}
            rows.append({**case, **_words(variant), "variant": name, **source})
    return rows


def _words(variant: Variant | EnvironmentFix | None) -> dict[str, Any]:
    """What differs from the case's own words; a version upgrade names the releases that have it."""
    fix = variant.fix if isinstance(variant, Variant) else variant
    words = {
        "kind": variant.kind if variant else PLAIN,
        "note": variant.note if variant else "",
        "caution": isinstance(fix, Fix) and fix.caution,
        "documented": fix.documented if fix else True,
        "changes_values": isinstance(variant, Variant) and variant.changes_values,
    }
    return {**words, "needs_torch": fix.torch} if isinstance(fix, Fix) and fix.torch else words
