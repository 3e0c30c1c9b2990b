"""Three jobs of a new user, each answered by the first screen of one command and of one page."""

from __future__ import annotations

import html
import re

import pytest
from click.testing import CliRunner

from caniexport.cli import main
from caniexport.home import find
from caniexport.pages.kept import Kept
from caniexport.pages.page import page

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

RFFT = (
    "Traceback (most recent call last):\n  File 'export.py', line 9, in <module>\n"
    "torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::fft_rfft' to ONNX opset version 17 is "
    "not supported. Please feel free to request support or submit a pull request on PyTorch GitHub."
)
MAXIMUM = "UnsupportedOperatorError: Exporting the operator 'aten::maximum' to ONNX opset version 11 is not supported."
OPS = ("grid_sample", "SDPA", "LSTM", "index_put")


@pytest.fixture(scope="module")
def kept():
    return Kept.open(find().published, None)


def printed(*words, text=None):
    """What the command prints before the first empty line, as one line."""
    reply = CliRunner(env={"COLUMNS": "120"}).invoke(main, words, input=text)
    return " ".join(reply.stdout.split("\n\n")[0].split())


def decided(kept, name, **asked):
    """The sentence with which a page opens."""
    (told, *_) = re.findall(r'<p class="decision">(.*?)</p>', page(name, asked, kept).body, re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", told)).split())


def test_choose_between_two_releases_for_the_operators_of_a_model(kept):
    asked = [word for op in OPS for word in ("--op", op)]
    said = printed("upgrade", "--from", "torch=2.5,opset=17", "--to", "torch=2.9,opset=17", *asked)
    assert said.startswith(
        "Move to torch 2.9.1 with `dynamo=False, opset_version=17`: nothing breaks of what was measured"
    )
    assert "With `opset_version=17` (dynamo since 2.9.1): 6 of" in said
    points = {"from": "2.5.1", "from_opset": "17", "to": "2.9.1", "to_opset": "17"}
    # the way to go, the others beneath it
    first = decided(kept, "upgrade", **points, ops=" ".join(OPS))
    assert said.replace("`", "").startswith(first) and first.startswith("Move to torch 2.9.1")


def test_a_page_and_the_command_tell_workarounds_that_stop_working_in_the_same_words(kept):
    said = printed("upgrade", "--from", "2.5.1", "--to", "2.9.1", "--op", "scatter_reduce").replace("`", "")
    body = page("upgrade", {"from": "2.5.1", "to": "2.9.1", "ops": "scatter_reduce"}, kept).body
    told = html.unescape(re.sub(r"<[^>]+>", "", body))

    first = decided(kept, "upgrade", **{"from": "2.5.1", "to": "2.9.1", "ops": "scatter_reduce"})
    assert said.startswith(first)
    lost = "2 workarounds stop working, and no other is known there (scatter-reduce-mean/compared, scatter-reduce-mean/"
    assert lost in said and lost in told
    assert "workarounds that stop working, with no other there" in told


def test_whether_my_workaround_is_still_needed(kept):
    said = printed("workaround", "cross-no-symbolic", "--torch", "2.8", "--opset", "18")
    assert said == "At torch 2.8.0, opset 18: no workaround is needed, the failing form works: cross-no-symbolic."
    assert decided(kept, "workarounds", torch="2.8.0", opset="18", q="cross-no-symbolic") == said


@pytest.mark.parametrize(
    "name", ["cross/stack_rewrite", "stack_rewrite", "cross", "cross-no-symbolic/stack_rewrite", "SDPA"]
)
def test_a_workaround_by_any_of_its_names_is_answered_with_when_it_may_go_and_where_not(kept, name):
    said = printed("workaround", name, "--torch", "2.8", "--opset", "18")
    assert decided(kept, "workarounds", torch="2.8.0", opset="18", q=name) == said
    if name == "SDPA":
        # most cases need one: no all-clear leads
        assert said.startswith(
            "It depends on the call and the exporter. At torch 2.8.0, opset 18: a workaround is still "
        )
        assert "needed for 8 of 13 cases: " in said
        return
    assert "(trace, script, default since 1.12.1; dynamo" in said
    assert "obsolete" in said or "no workaround is needed any more for cross-no-symbolic" in said
    # the condition under which it stays is told with what it is
    is_one = name == "cross-no-symbolic/stack_rewrite"
    assert ("still needed for cross-default-dim-first-size-3" in said) is not is_one
    assert ("torch.cross without dim takes the first axis of size 3" in said) is not is_one


def test_the_first_sentence_says_by_which_exporter_a_workaround_is_needed_where_they_differ(kept):
    said = printed("workaround", "cumsum")
    assert "still needed for 4 of 6 cases: cumprod-no-rule, log-cumulative-sum-of-exponentials (by every " in said
    assert "exporter), cumsum-of-bools (by trace, script, not by dynamo, default) and 1 more" in said
    # by one exporter nothing differs
    assert " by " not in printed("workaround", "cumsum", "--exporter", "trace").split("cumprod")[0]


def test_what_to_do_where_my_own_model_fails(kept):
    said = printed("why", "-", "--torch", "2.8", text=RFFT)
    assert re.match(r"2 measured cases end with this error, the first is rfft-\S+ \(torch\.fft\.rfft", said)
    assert "At torch 2.8.0, trace, opset 17 the fix" in said
    assert "By dynamo, opset" in said
    assert decided(kept, "search", torch="2.8.0", q=RFFT) in said.replace("`", "")


def test_what_to_do_where_my_own_model_fails_by_an_operator_without_a_case(kept):
    said = printed("why", MAXIMUM, "--torch", "1.10")
    assert "On torch 1.10.2 no exporter exports torch's own calls of maximum (float32): TorchScript does not" in said
    body = page("search", {"torch": "1.10.2", "q": MAXIMUM}, kept).body
    assert decided(kept, "search", torch="1.10.2", q=MAXIMUM) in said.replace("`", "")
    assert "aten::maximum</a>" in body
    assert "not measured" not in body


@pytest.mark.parametrize("words", ["own model fails, what now", "My export fails."])
def test_words_that_name_no_error_are_answered_with_what_to_do_next(kept, words):
    said = printed("why", words)
    assert "Paste the whole error (`caniexport why - < error.txt`)" in said
    assert "`caniexport check FILE.py:FACTORY` takes the model itself through releases" in said
    body = page("search", {"q": words}, kept).body
    assert "paste the whole error; <code>caniexport check FILE.py:FACTORY</code> takes the model itself" in body


def test_a_question_about_a_model_that_names_nothing_else_is_answered_with_how_to_ask_and_no_table():
    reply = CliRunner().invoke(main, ["why", "Which torch should my model use?"])
    assert len(reply.stdout.splitlines()) == 1
    assert "`caniexport check FILE.py:FACTORY` measures it on each release" in reply.stdout


def test_where_most_was_not_measured_that_nothing_breaks_is_not_what_leads():
    """From one onnxscript to the next, of which few cases were measured."""
    said = printed("upgrade", "--from", "torch=2.9,onnxscript=0.5.6", "--to", "torch=2.9,onnxscript=0.6")
    assert re.search(r"`opset_version=18`: only \d+ of \d+ cases were measured there, and none of them breaks", said)
    assert "nothing breaks of what was measured" not in said


def test_an_operator_at_a_release_is_told_of_that_release_first():
    said = printed("op", "index_put", "--torch", "2.5")
    assert said.startswith(
        "On torch 2.5.1 torch's own calls of index_put (float32) are exported by `dynamo=True` at every opset tried"
    )
    assert "TorchScript (`dynamo=False`) exports 2 of 3 calls at opset 11, 14, 17, 20" in said
