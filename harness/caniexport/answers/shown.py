"""Answers in a notebook: a heading and a table as HTML, and the table as a pandas frame."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from caniexport.answers.html_table import AnswerTable


@singledispatch
def as_table(answer: object) -> AnswerTable:
    """The table of an answer: ``answers/tables.py`` has one for each kind. Raises :class:`TypeError` without one."""
    raise TypeError(f"{type(answer).__name__} has no table")


class Shown:
    """An answer that a notebook shows as a table."""

    def to_pandas(self) -> pd.DataFrame:
        """The table's rows; raises :class:`ModuleNotFoundError`, which names the extra, without pandas."""
        from caniexport.answers.pandas_extra import import_pandas
        from caniexport.answers.plain import plain

        frame: pd.DataFrame = import_pandas("to_pandas()").DataFrame(plain(as_table(self).rows))
        return frame

    def _repr_html_(self) -> str:
        from caniexport.answers.html_table import html_table

        return html_table(as_table(self))
