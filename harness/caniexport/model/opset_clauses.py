"""Opsets as people write them: ``14``, ``9-14``, ``>=11``."""

from __future__ import annotations

import operator
import re

from caniexport.model.errors import UnknownName

_COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq}


def is_opset_in(opset: int, text: str) -> bool:
    """Whether an opset is within ``14``, ``9-14``, ``14-9``, ``>=11``, ``<11``, or several with commas; all by none."""
    clauses = [clause.strip() for clause in text.split(",") if clause.strip()]
    return not clauses or any(_is_in_clause(clause, opset) for clause in clauses)


def _is_in_clause(clause: str, opset: int) -> bool:
    span = re.match(r"(\d+)\s*-\s*(\d+)$", clause)
    if span:
        low, high = sorted(map(int, span.groups()))
        return low <= opset <= high
    bound = re.match(r"(>=|<=|==|>|<)?\s*(\d+)$", clause)
    if not bound:
        raise UnknownName("{!r} is not an opset (14, 9-14, >=11 are)".format(clause))
    return bool(_COMPARE[bound.group(1) or "=="](opset, int(bound.group(2))))
