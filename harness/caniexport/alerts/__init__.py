"""Alerts: what is worse than it was, one for each cause, with an identity that a second run does not change.

::

    compare(before, after, expectations, known, today)    two states of a dataset        -> Comparison
    compare_runs(dataset, before, after)                  two releases or runs of one    -> Comparison
    compare_releases(dataset, expectations, known)        each release against the last  -> Comparison
    alerts_answer(comparison)                                                            -> Answer

All join two relations of cells (:mod:`caniexport.alerts.changes`) and group what changed by kind and cause.
"""
