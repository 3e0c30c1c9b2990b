"""Where something works in one line, and what a search means."""

from __future__ import annotations

import pytest

from caniexport.answers.rows import MeasuredCell
from caniexport.answers.support import support
from caniexport.model.status import Status

PASS, FAIL, WRONG, REFUSED, CONVERTED = (
    Status.PASS,
    Status.FAIL,
    Status.MISMATCH,
    Status.UNSUPPORTED,
    Status.DEGRADED,
)


def line(**releases):
    """The answer for ``v1_10={9: PASS}``: statuses by opset by release."""
    cells = []
    for name, statuses in releases.items():
        torch = name.removeprefix("v").replace("_", ".")
        for opset, status in statuses.items():
            cells.append(
                MeasuredCell(torch, "case", "plain", "dynamo", opset, *[None] * 5, "done", status, *[None] * 6, False)
            )
    return support("dynamo", cells)


def at(status, *opsets):
    return dict.fromkeys(opsets, status)


@pytest.mark.parametrize(
    ("releases", "said"),
    [
        ({"v1_0": at(PASS, 9, 10), "v2_0": at(PASS, 9, 10, 11)}, "on every measured release"),
        ({"v1_0": at(FAIL, 9), "v2_0": at(WRONG, 9)}, "on no measured release (torch 1.0 to 2.0)"),
        ({"v1_0": at(FAIL, 9), "v2_0": at(PASS, 9)}, "from torch 2.0"),
        ({"v1_0": at(PASS, 9), "v2_0": at(FAIL, 9)}, "up to torch 1.0"),
        ({"v1_0": at(FAIL, 9, 10), "v2_0": at(FAIL, 9) | at(PASS, 10, 11)}, "from torch 2.0, opset ≥ 10"),
        ({"v1_0": at(PASS, 9, 10) | at(FAIL, 11)}, "on every measured release, opset ≤ 10"),
        ({"v1_0": at(FAIL, 9, 12) | at(PASS, 10, 11)}, "on every measured release, opset 10-11"),
        # a release that takes no opset below 11 agrees with the rule of the others
        ({"v1_0": at(FAIL, 10) | at(PASS, 11), "v2_0": at(PASS, 11, 12)}, "on every measured release, opset ≥ 11"),
        (
            {"v1_0": at(FAIL, 9) | at(PASS, 10), "v2_0": at(PASS, 9, 10)},
            "on every measured release, opset ≥ 10 (every opset from 2.0)",
        ),
        ({"v1_0": at(PASS, 9), "v1_5": at(FAIL, 9), "v2_0": at(PASS, 9)}, "from torch 2.0; up to torch 1.0"),
        ({"v1_0": at(PASS, 9), "v2_0": at(PASS, 10) | at(FAIL, 9)}, "differ by release (opset ≥ 10 from 2.0)"),
        ({"v1_0": at(PASS, 9) | at(FAIL, 10), "v2_0": at(PASS, 10) | at(FAIL, 9)}, "that differ by release"),
        # a refused opset was not tried, and a release that refuses all of them says nothing
        ({"v1_0": at(REFUSED, 9), "v2_0": at(PASS, 10) | at(REFUSED, 99)}, "on every measured release"),
        ({"v1_0": at(REFUSED, 9)}, "refused on every measured release to 1.0"),
        # a file of another opset than the one asked for counts where nothing better is to be had
        ({"v1_0": at(CONVERTED, 9) | at(PASS, 18)}, "on every measured release, opset ≥ 18"),
        ({"v1_0": at(CONVERTED, 9), "v2_0": at(FAIL, 9)}, "up to torch 1.0"),
        # no release is said to pass at an opset that it was not measured at
        (
            {"v1_0": at(PASS, 18), "v2_0": at(FAIL, 13, 17) | at(PASS, 14, 18)},
            "on every measured release, opset ≥ 18 (opset 14, 18 from 2.0)",
        ),
        # an opset that failed in an older release alone
        (
            {"v1_0": at(FAIL, 9, 11) | at(PASS, 10), "v1_5": at(FAIL, 9) | at(PASS, 10, 11), "v2_0": at(PASS, 10, 11)},
            "on every measured release, opset 10 (opset ≥ 10 from 1.5)",
        ),
    ],
)
def test_the_line_says_from_where_on_and_at_which_opsets(releases, said):
    assert said in line(**releases).text


def test_the_line_says_what_happens_elsewhere_the_worst_first():
    found = line(v1_0=at(FAIL, 9), v1_5=at(WRONG, 9), v2_0=at(PASS, 9))

    assert found.status is PASS
    assert found.otherwise_text == "elsewhere: wrong values, an error"
    assert line(v1_0=at(CONVERTED, 9) | at(PASS, 18)).otherwise_text == "elsewhere: a file of another opset"


def test_behind_the_sign_of_a_failure_stands_where_it_works():
    once = line(v1_0=at(FAIL, 9), v1_5=at(PASS, 9), v2_0=at(FAIL, 9))
    before = line(v1_0=at(PASS, 9), v1_5=at(PASS, 9), v2_0=at(WRONG, 9))
    never = line(v1_0=at(FAIL, 9), v2_0=at(FAIL, 9))

    assert (once.told, once.otherwise_text) == ("works on torch 1.5", "elsewhere: an error")
    assert (before.told, before.otherwise_text) == ("works up to torch 1.5", "elsewhere: wrong values")
    assert (never.told, never.otherwise_text) == ("works on no measured release (torch 1.0 to 2.0)", "an error")


def test_the_status_is_that_of_the_newest_release():
    assert line(v1_0=at(PASS, 9), v2_0=at(WRONG, 9) | at(FAIL, 10)).status is WRONG
    assert line(v1_0=at(WRONG, 9), v2_0=at(FAIL, 9) | at(CONVERTED, 10)).status is CONVERTED


def test_more_than_two_runs_are_counted():
    found = line(
        **{f"v{number}_0": at(PASS if number % 2 else FAIL, 9) for number in range(1, 8)},
    )

    assert found.text == "from torch 7.0; on 4 of 7 measured releases in all"
