"""Alerts: what is worse than it was, one for each cause, with an identity that a second run does not change.

::

    differences(before, after)              every cell that changed, and the count of every verdict -> Differences
    group(differences, after)               one alert per verdict and signature                     -> list[Alert]
    expectations.judge(entries, after, day) entries that are expired, unmatched, or pass            -> list[Finding]
    lifecycle.carry(known, alerts, after)   open, acknowledged, resolved                            -> list[State]

``before`` and ``after`` are :class:`caniexport.answers.reading.Rows`.
"""
