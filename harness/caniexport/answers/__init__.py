"""Answers: functions from a dataset to frozen dataclasses. Nothing here prints, measures or writes.

::

    matrix.table(dataset, filters, by)           the matrix                               -> Table
    reasons.why(dataset, filters)                one or several cells, explained          -> list[Why]
    standings.workarounds(dataset, filters)      needed, obsolete, broken, harmful        -> Workarounds
    documents.claims(dataset, filters, sources)  what documents say against measurements  -> Claims

``dataset`` is a :class:`caniexport.store.Dataset`, ``filters`` a :class:`caniexport.answers.filters.Filters`. Every
function raises :class:`caniexport.model.errors.UnknownName` for a case, release, opset, exporter, provider, status,
theme or op that nobody knows, with the nearest known ones.
"""
