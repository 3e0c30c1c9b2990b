"""Verdicts and versions: their tables row by row, and the laws that hold for every input."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from caniexport import names, store, versions
from caniexport.alerts import changes
from caniexport.corpus.verdicts import Verdict, find_worst, is_working
from caniexport.model.errors import UnknownName
from caniexport.model.status import MEASURED, Status

VIEWS = (Path(store.__file__).parent / "views.sql").read_text()
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
    (before, after, position != 3, word)
    for before, words in TABLE.items()
    for position, (after, word) in enumerate(zip(AFTER, words.split(), strict=True))
]


def decide(pairs, *, code="false"):
    """The verdicts of pairs of statuses and whether their signatures are the same, and of them as workarounds."""
    rows = ", ".join(f"({at}, {text(one)}, {text(other)}, {same})" for at, (one, other, same) in enumerate(pairs))
    found = duckdb.connect()
    for macro in re.findall(r"CREATE OR REPLACE TEMP MACRO (?:works|verdict).*?;", VIEWS, re.DOTALL):
        found.execute(macro)
    return found.execute(
        f"""WITH pair(place, before, after, is_same) AS (VALUES {rows}), grouped AS (SELECT *, {code} AS is_other_code,
            {changes._KIND.format("before")} AS b, {changes._KIND.format("after")} AS a FROM pair)
        SELECT {changes.VERDICT}, verdict(before, after) FROM grouped ORDER BY place"""
    ).fetchall()


def text(status):
    return "NULL::VARCHAR" if status is None else f"'{getattr(status, 'value', status)}'"


def test_each_pair_of_statuses_has_the_verdict_of_the_decision_table():
    found = decide([(before, after, same) for before, after, same, _ in ROWS])
    assert [word for word, _ in found] == [word for *_, word in ROWS]


def test_every_verdict_is_reachable_from_the_table():
    assert {word for *_, word in ROWS} | {"rebaselined"} == {verdict.value for verdict in Verdict}


def test_cells_of_different_code_are_not_compared():
    assert decide([("fail", "pass", True)], code="true")[0][0] == "rebaselined"


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


def test_swapping_the_sides_mirrors_the_verdict():
    every = list(product([*Status, None], [*Status, None], [True, False]))
    forth, back = decide(every), decide([(after, before, same) for before, after, same in every])
    for (word, _), (other, _) in zip(forth, back, strict=True):
        if word in MIRRORED:
            assert other in MIRRORED[word], f"{word} back is {other}"
        if word.startswith("same-"):
            assert other == word


def test_a_clean_failure_that_becomes_wrong_numbers_is_a_silent_regression_and_no_progress():
    assert decide([("fail", "mismatch", False)])[0][0] == "regressed-silent"


def test_every_pair_of_statuses_has_a_verdict_and_what_was_not_measured_is_neither_better_nor_worse():
    every = list(product([*Status, None], [*Status, None], [True, False]))
    for (before, after, same), (word, _) in zip(every, decide(every), strict=True):
        assert word in set(Verdict)
        if after in UNMEASURED:
            assert word == "unknown"
        elif before in UNMEASURED:
            assert word.startswith("new-") or word == "unknown"
        elif before is after and same:
            assert word.startswith("same-")


PAIRS = [
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
]


def test_a_workaround_is_judged_by_the_pair_in_the_same_cell():
    found = decide([(plain, fix, True) for plain, fix, _ in PAIRS])
    assert [word for _, word in found] == [word for *_, word in PAIRS]


@given(st.lists(st.sampled_from([*Status, None]), min_size=1, max_size=6))
def test_repeats_count_as_the_worst_of_them_and_the_unmeasured_as_none(found):
    measured = [status for status in found if status in MEASURED]
    assert find_worst(found) is (max(measured, key=list(Status).index) if measured else None)


def test_only_pass_and_degraded_work_and_what_was_not_measured_is_neither():
    assert {status for status in Status if is_working(status)} == {Status.PASS, Status.DEGRADED}
    assert {status for status in Status if is_working(status) is None} == {Status.SKIP, Status.NOT_RUN, Status.INVALID}


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
    assert {opset for opset in range(7, 19) if versions.is_opset_in(opset, text)} == taken


def test_a_development_build_counts_for_the_specifiers_it_is_within():
    assert versions.within("2.10.0.dev20260101", ">=2.9")
    assert versions.within("2.9.1+cu128", "==2.9.1")
    assert not versions.within("2.9.0rc1", ">=2.9")


def test_an_unknown_name_is_answered_with_the_names_that_contain_it_or_look_like_it():
    known = ["cross-no-symbolic", "grid-sample-no-symbolic", "bit-shift-opset-11"]
    assert names.find_nearest("cross", known)[0] == "cross-no-symbolic"
    assert names.find_nearest("grid-smaple-no-symbolic", known)[0] == "grid-sample-no-symbolic"


def test_names_are_taken_whatever_their_case_and_globs_take_several():
    known = ["cross-no-symbolic", "grid-sample-no-symbolic"]
    assert names.require("case", "Cross-No-Symbolic", known) == "cross-no-symbolic"
    assert names.require_all("case", ["*-no-symbolic"], known) == set(known)
