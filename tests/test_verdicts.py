"""Verdicts, ranges and versions: their tables row by row, and the laws that hold for every input."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from caniexport import names, versions
from caniexport.corpus.verdicts import (
    REGRESSIONS,
    AxisPoint,
    ComparedCell,
    RangeWord,
    Verdict,
    Workaround,
    alike,
    collapse,
    compare,
    ranges,
    stretches,
    workaround,
    works,
)
from caniexport.model.errors import UnknownName
from caniexport.model.status import MEASURED, Status

UNMEASURED = [None, Status.SKIP, Status.NOT_RUN, Status.INVALID]
#: a test's own copy of the decision table: before -> the verdicts for pass, degraded, fail (same signature),
#: fail (other), mismatch, crash, timeout, unsupported, not run
TABLE = {
    "pass": "same-pass degraded regressed regressed regressed-silent regressed-crash suspect withdrawn unknown",
    "degraded": "restored same-degraded regressed regressed regressed-silent regressed-crash suspect withdrawn unknown",
    "fail": "fixed fixed-degraded same-fail changed-failure regressed-silent regressed-crash changed-failure-suspect "
    "now-declared unknown",
    "mismatch": "fixed fixed-degraded now-fails-cleanly now-fails-cleanly same-mismatch regressed-crash "
    "changed-failure-suspect now-declared unknown",
    "crash": "fixed fixed-degraded now-fails-cleanly now-fails-cleanly regressed-silent same-crash "
    "changed-failure-suspect now-declared unknown",
    "timeout": "fixed-suspect fixed-suspect changed-failure changed-failure regressed-silent regressed-crash "
    "same-suspect now-declared unknown",
    "oom": "fixed-suspect fixed-suspect changed-failure changed-failure regressed-silent regressed-crash "
    "same-suspect now-declared unknown",
    "unsupported": "newly-supported newly-supported newly-failing newly-failing regressed-silent regressed-crash "
    "suspect same-unsupported unknown",
    "not_run": "new-passing new-passing new-failing new-failing new-failing new-failing unknown new-unsupported "
    "unknown",
}
AFTER = ["pass", "degraded", "fail", "fail", "mismatch", "crash", "timeout", "unsupported", "not_run"]
ROWS = [
    (before, after, "other" if position == 3 else "same", word)
    for before, words in TABLE.items()
    for position, (after, word) in enumerate(zip(AFTER, words.split(), strict=True))
]

statuses = st.sampled_from([*Status, None])
outcomes = st.builds(ComparedCell, statuses, st.sampled_from(["a", "b", None]), st.sampled_from(["h1", "h2", None]))
points = st.lists(st.sampled_from([True, False, None]), max_size=12).map(
    lambda values: [AxisPoint(f"v{index}", value) for index, value in enumerate(values)]
)


@pytest.mark.parametrize(("before", "after", "signature", "word"), ROWS)
def test_each_pair_of_statuses_has_the_verdict_of_the_decision_table(before, after, signature, word):
    found = compare(ComparedCell(Status(before), "same"), ComparedCell(Status(after), signature))
    assert found.value == word, f"{before} -> {after} ({signature} signature)"


def test_every_verdict_is_reachable_from_the_table():
    assert {word for *_, word in ROWS} | {"rebaselined"} == {verdict.value for verdict in Verdict}


@given(outcomes)
def test_a_thing_compared_with_itself_is_neither_regressed_nor_fixed(outcome):
    found = compare(outcome, outcome)
    assert found.value.startswith("same-") or found is Verdict.UNKNOWN


#: swapping the sides of these gives the other; the pairs not listed are deliberately not mirrored (see the tests below)
MIRRORED = {
    Verdict.REGRESSED: {Verdict.FIXED, Verdict.FIXED_DEGRADED},
    Verdict.FIXED: {Verdict.REGRESSED, Verdict.REGRESSED_SILENT, Verdict.REGRESSED_CRASH},
    Verdict.FIXED_DEGRADED: {Verdict.REGRESSED, Verdict.REGRESSED_SILENT, Verdict.REGRESSED_CRASH},
    Verdict.DEGRADED: {Verdict.RESTORED},
    Verdict.RESTORED: {Verdict.DEGRADED},
    Verdict.SUSPECT: {Verdict.FIXED_SUSPECT, Verdict.NOW_DECLARED},
    Verdict.FIXED_SUSPECT: {Verdict.SUSPECT},
    Verdict.WITHDRAWN: {Verdict.NEWLY_SUPPORTED},
    Verdict.NEWLY_SUPPORTED: {Verdict.WITHDRAWN},
    Verdict.NEWLY_FAILING: {Verdict.NOW_DECLARED},
    Verdict.NOW_FAILS_CLEANLY: {Verdict.REGRESSED_SILENT, Verdict.REGRESSED_CRASH},
    Verdict.REBASELINED: {Verdict.REBASELINED},
}


@given(outcomes, outcomes)
def test_swapping_the_sides_mirrors_the_verdict(before, after):
    forth, back = compare(before, after), compare(after, before)
    if forth in MIRRORED:
        assert back in MIRRORED[forth], f"{forth} back is {back}"
    if forth.value.startswith("same-"):
        assert back is forth


def test_wrong_numbers_and_crashes_are_worse_than_each_other_in_both_directions():
    wrong, crash = ComparedCell(Status.MISMATCH), ComparedCell(Status.CRASH)
    assert compare(wrong, crash) is Verdict.REGRESSED_CRASH
    assert compare(crash, wrong) is Verdict.REGRESSED_SILENT


def test_a_clean_failure_that_becomes_wrong_numbers_is_a_silent_regression_and_no_progress():
    assert compare(ComparedCell(Status.FAIL), ComparedCell(Status.MISMATCH)) is Verdict.REGRESSED_SILENT


@given(outcomes, st.sampled_from(UNMEASURED))
def test_what_was_not_measured_afterwards_says_nothing(before, nothing):
    assert compare(before, ComparedCell(nothing)) is Verdict.UNKNOWN


@given(st.sampled_from(UNMEASURED), outcomes)
def test_what_was_not_measured_before_never_regresses_and_is_never_fixed(nothing, after):
    found = compare(ComparedCell(nothing), after)
    assert found not in REGRESSIONS
    assert not found.value.startswith("fixed")


@given(statuses, statuses)
def test_cells_of_different_code_are_not_compared(before, after):
    assert compare(ComparedCell(before, "a", "h1"), ComparedCell(after, "a", "h2")) is Verdict.REBASELINED


@pytest.mark.parametrize(
    ("plain", "fix", "word"),
    [
        (Status.FAIL, Status.PASS, "needed"),
        (Status.MISMATCH, Status.DEGRADED, "needed"),
        (Status.UNSUPPORTED, Status.PASS, "needed"),
        (Status.PASS, Status.PASS, "obsolete"),
        (Status.DEGRADED, Status.PASS, "obsolete"),
        (Status.FAIL, Status.MISMATCH, "broken"),
        (Status.FAIL, Status.UNSUPPORTED, "broken"),
        (Status.PASS, Status.CRASH, "harmful"),
        (Status.PASS, None, "unknown"),
        (Status.INVALID, Status.PASS, "unknown"),
        (Status.UNSUPPORTED, Status.UNSUPPORTED, "unknown"),
    ],
)
def test_a_workaround_is_judged_by_the_pair_in_the_same_cell(plain, fix, word):
    assert workaround(plain, fix).value == word


@given(statuses, st.sampled_from(UNMEASURED))
def test_a_workaround_is_unknown_where_either_side_was_not_measured(status, nothing):
    assert workaround(status, nothing) is Workaround.UNKNOWN
    assert workaround(nothing, status) is Workaround.UNKNOWN


@given(st.sampled_from(sorted(MEASURED)))
def test_a_fix_that_does_as_the_plain_form_does_is_never_needed_nor_harmful(status):
    assert workaround(status, status) not in (Workaround.NEEDED, Workaround.HARMFUL)


@given(st.lists(statuses, max_size=6).flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_reordering_repeats_changes_nothing(both):
    found, shuffled = both
    assert collapse(found) is collapse(shuffled)
    assert compare(ComparedCell(collapse(found)), ComparedCell(Status.PASS)) is compare(
        ComparedCell(collapse(shuffled)), ComparedCell(Status.PASS)
    )


@given(st.lists(statuses, min_size=1, max_size=6))
def test_repeats_count_as_the_worst_of_them_and_the_unmeasured_as_none(found):
    measured = [status for status in found if status in MEASURED]
    assert collapse(found) is (max(measured, key=list(Status).index) if measured else None)


def test_only_pass_and_degraded_work_and_what_was_not_measured_is_neither():
    assert {status for status in Status if works(status)} == {Status.PASS, Status.DEGRADED}
    assert {status for status in Status if works(status) is None} == {Status.SKIP, Status.NOT_RUN, Status.INVALID}


@pytest.mark.parametrize(
    ("series", "word", "text"),
    [
        ("ok ok ok", "always", "always (v0 to v2)"),
        ("no no", "never", "never (v0 to v1)"),
        ("ok", "always", "always (v0)"),
        ("no no ok ok", "fixed-in", "works from v2 on (not at v1)"),
        ("ok no no", "broken-since", "broken from v1 on (worked at v0)"),
        ("no ok no", "broken-again", "broken again from v2 on (worked at v1)"),
        ("ok no ok", "fixed-in", "works from v2 on (not at v1)"),
        ("no ? ? ok", "fixed-in", "works from v3 on (not at v0)"),
        ("? ok ?", "always", "always (v1)"),
        ("? ?", "unknown", "not measured, or refused"),
        ("", "unknown", "not measured, or refused"),
    ],
)
def test_a_series_reads_as_one_range(series, word, text):
    values = {"ok": True, "no": False, "?": None}
    found = ranges([AxisPoint(f"v{index}", values[item]) for index, item in enumerate(series.split())])
    assert (found.word.value, found.text) == (word, text)


def _interval(change) -> tuple[int, int]:
    return int(change.after[1:]), int(change.by[1:])


@given(points, st.data())
def test_a_point_that_becomes_unknown_never_narrows_a_range(series, data):
    known = [index for index, point in enumerate(series) if point.works is not None]
    if not known:
        return
    lost = data.draw(st.sampled_from(known))
    fewer = [AxisPoint(point.label, None if index == lost else point.works) for index, point in enumerate(series)]
    before, after = ranges(series), ranges(fewer)

    assert len(after.changes) <= len(before.changes)
    assert after.unmeasured == before.unmeasured + 1
    for change in after.changes:
        low, high = _interval(change)
        inside = [item for item in before.changes if low <= _interval(item)[0] and _interval(item)[1] <= high]
        assert inside, "a bound appeared that holds no change seen before"


@given(points, st.integers(0, 12))
def test_an_unmeasured_point_more_changes_no_bound(series, position):
    more = [*series[:position], AxisPoint("between", None), *series[position:]]
    assert ranges(more).changes == ranges(series).changes
    assert ranges(more).word is ranges(series).word


@given(points)
def test_the_changes_of_a_range_tell_the_series_back(series):
    found = ranges(series)
    by_label = {point.label: point.works for point in series}
    for change in found.changes:
        assert by_label[change.by] is change.works
        assert by_label[change.after] is not change.works
    assert (found.word is RangeWord.UNKNOWN) == all(point.works is None for point in series)


endings = st.builds(ComparedCell, statuses, st.sampled_from(["a", "b", None]), st.just("h"))
series_of = st.lists(endings, max_size=10).map(lambda found: [(f"v{at}", item) for at, item in enumerate(found)])


@given(series_of)
def test_stretches_tell_the_series_back_and_neighbours_are_not_alike(series):
    found = stretches(series)
    at = dict(series)

    assert [label for item in found for label in item.points] == [
        label for label, item in series if item.status in MEASURED
    ]
    assert all(alike(at[label], item.outcome) for item in found for label in item.points)
    assert not any(alike(left.outcome, right.outcome) for left, right in pairwise(found))


@given(series_of, st.integers(0, 10), st.sampled_from(UNMEASURED))
def test_an_unmeasured_point_more_cuts_no_stretch(series, position, nothing):
    more = [*series[:position], ("between", ComparedCell(nothing)), *series[position:]]
    assert stretches(more) == stretches(series)


@given(series_of, st.data())
def test_a_point_that_becomes_unknown_only_widens_the_intervals_between_stretches(series, data):
    known = [at for at, (_, item) in enumerate(series) if item.status in MEASURED]
    if not known:
        return
    lost = data.draw(st.sampled_from(known))
    fewer = [(label, ComparedCell(None) if at == lost else item) for at, (label, item) in enumerate(series)]
    before, after = _bounds(stretches(series)), _bounds(stretches(fewer))

    assert len(after) <= len(before)
    for low, high in after:
        assert any(low <= start and end <= high for start, end in before), "a change appeared that was not there"


def _bounds(found):
    return [(int(left.last[1:]), int(right.first[1:])) for left, right in pairwise(found)]


@given(series_of)
def test_stretches_of_a_series_read_backwards_are_the_same_backwards(series):
    back = [item.points[::-1] for item in stretches(series[::-1])]
    assert back[::-1] == [item.points for item in stretches(series)]


def test_versions_of_every_kind_are_ordered_as_they_were_released():
    texts = ["2.10.0", "2.9.1+cu128", "2.9.0rc1", "2.9.0", "2.9.0.post1", "2.10.0.dev20260101", "1.13.1"]
    expected = ["1.13.1", "2.9.0rc1", "2.9.0", "2.9.0.post1", "2.9.1+cu128", "2.10.0.dev20260101", "2.10.0"]
    assert versions.ordered(texts) == expected


_parts = st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 5))
releases = _parts.map(lambda parts: ".".join(map(str, parts)))


@given(releases, st.sampled_from(["rc1", ".dev20260101"]))
def test_a_release_comes_after_its_own_candidates_and_nightlies(release, suffix):
    assert versions.ordered([release, release + suffix]) == [release + suffix, release]


@given(st.lists(releases, min_size=1))
def test_the_order_does_not_depend_on_the_order_of_the_input(texts):
    assert versions.ordered(texts) == versions.ordered(reversed(texts)) == sorted(set(texts), key=Version)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("2.9", "2.9.1"),
        ("2.9.1", "2.9.1"),
        ("2.9.1+cu128", "2.9.1"),
        ("v2.9", "2.9.1"),
        ("1.1", "1.1.0"),
        ("2", "2.9.1"),
        ("2.10", "2.10.0.dev20260101"),
        ("2.10.0.dev20260101+cpu", "2.10.0.dev20260101"),
        ("2.9rc1", "2.9.0rc1"),
    ],
)
def test_a_version_resolves_to_the_measured_release_it_means(asked, found):
    measured = ["1.1.0", "1.10.2", "2.9.0rc1", "2.9.0", "2.9.1", "2.10.0.dev20260101"]
    assert versions.resolve(asked, measured) == found


def test_a_version_that_was_not_measured_is_answered_with_its_neighbours():
    with pytest.raises(UnknownName, match=r"torch 2.7 has not been measured \(nearest measured: 2.0.1, 2.8.0\)"):
        versions.resolve("2.7", ["1.10.2", "2.0.1", "2.8.0", "2.9.1"])


@pytest.mark.parametrize(
    ("asked", "found"), [("1.10.0", "1.10.2"), ("2.9.3+cpu", "2.9.1"), ("2.9.0.post1", "2.9.0"), ("2.9", "2.9.1")]
)
def test_an_unmeasured_patch_release_is_answered_with_the_nearest_of_its_minor_version(asked, found):
    assert versions.resolve_patch(asked, ["1.10.2", "2.9.0rc1", "2.9.0", "2.9.1"]) == found


@pytest.mark.parametrize("asked", ["2.8.0", "3.0.0", "0.4.1", "2.9.2rc1", "2.9.0.dev20250801"])
def test_another_minor_version_and_an_unfinished_one_are_refused_with_their_neighbours(asked):
    with pytest.raises(UnknownName, match=r"nearest measured: "):
        versions.resolve_patch(asked, ["1.10.2", "2.9.0rc1", "2.9.0", "2.9.1"])


def test_text_that_is_no_version_is_refused_with_examples():
    with pytest.raises(UnknownName, match="'two' is not a version"):
        versions.resolve("two", ["2.9.1"])


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("14", {14}),
        ("9-11", {9, 10, 11}),
        ("11-9", {9, 10, 11}),
        (">=17", {17, 18}),
        ("<9", {7, 8}),
        ("7, 17-18", {7, 17, 18}),
    ],
)
def test_opsets_are_named_one_by_one_or_as_ranges(text, taken):
    assert {opset for opset in range(7, 19) if versions.opset_in(opset, text)} == taken


def test_a_development_build_counts_for_the_specifiers_it_is_within():
    assert versions.within("2.10.0.dev20260101", ">=2.9")
    assert versions.within("2.9.1+cu128", "==2.9.1")
    assert not versions.within("2.9.0rc1", ">=2.9")


def test_an_unknown_name_is_answered_with_the_names_that_contain_it_or_look_like_it():
    known = ["cross-no-symbolic", "grid-sample-no-symbolic", "bit-shift-opset-11"]
    assert names.nearest("cross", known)[0] == "cross-no-symbolic"
    assert names.nearest("grid-smaple-no-symbolic", known)[0] == "grid-sample-no-symbolic"


def test_names_are_taken_whatever_their_case_and_globs_take_several():
    known = ["cross-no-symbolic", "grid-sample-no-symbolic"]
    assert names.require("case", "Cross-No-Symbolic", known) == "cross-no-symbolic"
    assert names.require_all("case", ["*-no-symbolic"], known) == set(known)
