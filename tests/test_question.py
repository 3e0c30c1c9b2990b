"""Questions in words: what is read of them, and the answer that they are given."""

from __future__ import annotations

import csv
import html
import io
import re
from functools import cache

import pytest
from click.testing import CliRunner
from dashboard_data import CROSS, build
from questions import NO_QUESTIONS, QUESTIONS

from caniexport.answers.select import load
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.match import search
from caniexport.match.asked import understand
from caniexport.match.question import AskedQuestion, read_fix_parts, read_question
from caniexport.pages.kept import Kept
from caniexport.pages.page import page

pytestmark = pytest.mark.usefixtures("opened_once")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def kept(home):
    return Kept.open(home / "results", None)


@pytest.fixture(scope="module")
def understood(kept):
    where = kept.answer(search.index)

    def read(query):
        return understand(search.find(where, query).question, load(kept))

    return read


@pytest.fixture
def shown(kept):
    """What the front page shows for a query, and what it warns of."""

    def ask(query, **more):
        found = page("search", {"q": query, **more}, kept)
        return str(found.body), found.warnings

    return ask


@pytest.mark.parametrize("query", QUESTIONS)
def test_a_setting_and_what_is_asked_for_are_taken_out_of_the_words(query):
    read = read_question(query)

    assert (read.words, read.asks, read.kind, read.releases, read.opset, read.exporter, read.runtime) == QUESTIONS[
        query
    ]


@pytest.mark.parametrize("query", NO_QUESTIONS)
def test_words_and_errors_are_no_questions(query):
    assert read_question(query) is None


def test_a_pasted_error_with_versions_in_it_stays_an_error(kept):
    where = kept.answer(search.index)
    for text in (f"RuntimeError: {CROSS.format(12)}", f"torch 2.8.0\n{CROSS.format(12)}", CROSS.format(12)):
        found = search.find(where, text)
        assert found.error, text
        assert found.question is None, text


def test_the_releases_of_a_question_are_those_that_were_measured(understood):
    asks = understood("torch.cross torch 2.8 opset 18")
    assert (asks.answer, asks.setting) == ("cases", {"torch": "2.8.0", "opset": "18"})
    assert asks.told == "torch 2.8.0, opset 18, word: torch.cross"

    asks = understood("move from 1.10")
    assert (asks.answer, asks.before, asks.after) == ("upgrade", "1.10.2", "2.15.0")
    asks = understood("upgrade to 2.8")
    assert (asks.before, asks.after) == ("2.0.1", "2.8.0")


def test_an_unknown_release_is_named_with_the_nearest_and_no_other_is_answered_for(shown, understood):
    asks = understood("1.10 to 3.0")
    assert asks.answer == "cases"
    assert asks.before == asks.after == ""
    assert asks.unknown == ("torch 3.0 has not been measured (nearest measured: 2.15.0)",)

    body, warnings = shown("cross torch 3.0")
    assert "torch 3.0 has not been measured (nearest measured: 2.15.0)" in warnings
    assert "workaround is needed" not in body
    assert "cross-no-symbolic" in body


def test_the_nearest_patch_answers_for_one_that_was_not_measured(understood, home):
    asks = understood("2.0.3 to 2.8.1+cpu")
    assert (asks.before, asks.after) == ("2.0.1", "2.8.0")
    assert asks.notes[0] == "torch 2.0.3 was not measured; 2.0.1 is answered"

    assert "torch 2.0.3 was not measured; 2.0.1 is answered." in _told(home, "2.0.3 to 2.8")
    one = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["why", "cross-no-symbolic", "--torch", "2.8.1"])
    assert one.exit_code == 0
    assert "- torch 2.8.1 was not measured; 2.8.0 is answered" in one.output


def test_of_words_that_no_case_has_together_it_is_said_first_that_it_is_answered_without_them(kept, home, shown):
    said = "Not known with \u00abblorp\u00bb: no measured case is about it together with the rest. Without it:"
    body, _ = shown("cross blorp torch 2.8")
    bold = re.findall(r'<p class="decision">(.*?)</p>', body)
    assert bold[0] == said
    assert "is obsolete at torch 2.8.0" in bold[1]
    assert _told(home, "cross blorp torch 2.8").splitlines()[1] == said
    (first, *_) = page("workarounds", {"q": "is cross blorp still needed on 2.8?"}, kept).warnings
    assert first == "Answered without \u00abblorp\u00bb: no measured case is about it together with the rest."
    assert said not in shown("cross torch 2.8")[0]


def test_words_of_a_fix_beside_its_operator_are_not_told_as_left_out(kept, shown):
    asked = "Is my torch.cross workaround (stacked slice products) still needed on torch 2.8?"
    found = search.find(kept.answer(search.index), asked)
    assert (found.question.words, found.left_out, found.missing) == ("torch.cross", (), ())
    assert found.hits[0].case == "cross-no-symbolic"
    assert "Answered without" not in shown(asked)[0]
    assert search.find(kept.answer(search.index), "is my cross blorp products still needed?").left_out == ("blorp",)

    body, _ = shown("corss torch 2.8")
    assert "No measured case has all of these words" in body
    assert ">aten::cross</a>" in body


@pytest.mark.parametrize(
    ("query", "words", "case"),
    [
        ("topk float16 onnx", "topk", "topk-int64"),
        ("onnx export lstm", "lstm", "lstm-beside-gru"),
        ("searchsorted onnx", "searchsorted", ""),
    ],
)
def test_names_of_operators_among_words_that_fill_a_sentence_are_no_error(results, query, words, case):
    found = search.search(results, query)

    assert not found.error
    assert found.question.words == words
    assert [hit.case for hit in found.hits[:1]] == [case] * bool(case)


def test_plain_words_that_leave_cases_of_an_operator_out_are_told(results):
    query = "Our code stacks it by hand where torch.cross used to fail. torch 2.8, opset 18. Is it fine?"
    found = search.search(results, query)

    assert re.search(r"This is one of the \d cases about torch\.cross, those with «stacks»\.", found.aside)
    assert not search.search(results, "cross torch 2.8 opset 18").aside


def test_a_question_in_place_of_a_command_is_led_to_the_one_that_answers_it():
    found = CliRunner().invoke(main, ["cross torch 2.8"])

    assert found.exit_code == 2
    assert "caniexport why 'cross torch 2.8'" in found.output


def test_beside_an_operator_a_word_of_a_cases_code_hides_none_of_its_cases(results):
    found = search.search(results, "is LSTM with batch_first ok in pytorch 2.9?")

    assert found.left_out == ("batch_first",)
    assert {"lstm-dynamic-batch", "bilstm-by-two-lstms", "lstm-packed-unsorted"} <= {hit.case for hit in found.hits}


def test_a_word_in_the_note_of_a_fix_narrows_no_operator_and_brackets_are_no_part_of_a_word(results):
    """«a rule of one's own» does not make a case the only one about somebody's own products: it only goes first."""
    found = search.search(results, "I have a workaround for torch.cross (own products). torch 2.8, can I delete it?")

    assert {"cross-no-symbolic", "cross-default-dim-first-size-3"} <= {hit.case for hit in found.hits}
    assert found.left_out == ()


@pytest.fixture(scope="module")
def first_said(kept_results):
    """The front page for a query on the published dataset, and its first sentence."""

    @cache
    def ask(query):
        body = str(page("search", {"q": query}, kept_results).body)
        return body, html.unescape(re.sub(r"<[^>]+>", "", re.search(r"<p[^>]*>(On torch .*?)</p>", body)[1]))

    return ask


@pytest.mark.parametrize("query", ["grid_sample", "where does grid_sample work", "is grid_sample supported"])
def test_a_question_about_an_operator_begins_with_how_torchs_own_calls_of_it_end(kept_results, first_said, query):
    body, first = first_said(query)

    newest = load(kept_results).torch[-1]
    assert first.startswith(f"On torch {newest} torch's own calls of nn.functional.grid_sample (float32) are exported ")
    assert '<p class="decision">On torch' not in body, "a case may fail where they pass"
    assert "grid-sampler-unsupported-opset-11" in body


@pytest.mark.parametrize("query", ["grid_sample", "is grid_sample supported"])
def test_the_terminal_says_how_torchs_own_calls_of_an_operator_end_as_the_page_does(first_said, query):
    said = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(main, ["why", query]).output.split())

    assert first_said(query)[1].partition(" Every release")[0] in said.replace("`", "")


def test_of_several_operators_each_has_its_cases_though_one_case_has_them_all(results):
    found = [hit.case for hit in search.search(results, "unique and nonzero in torch 2.7 trace").hits]

    assert found[0] == "unique-consecutive-no-rule"
    assert {"unique-int32", "nonzero-node-layout", "masked-select-no-rule"} <= set(found)
    both = search.search(results, "unique nonzero, torch 2.7")
    assert [hit.case for hit in both.hits] == ["unique-consecutive-no-rule"]


def test_of_several_operators_that_no_case_has_together_each_has_its_cases(kept, shown):
    found = search.find(kept.answer(search.index), "cross and roll on 2.8")
    every = [lead.case for lead in found.hits]
    assert every[0] == "cross-no-symbolic" and every[1] == "roll-negative"
    assert (found.left_out, found.question.words) == ((), "cross roll")
    assert not search.find(kept.answer(search.index), "cross and blorp on 2.8").hits[1:]

    body, _ = shown("is roll or cross ok on 2.8")
    assert "cross-no-symbolic" in body and "roll-negative" in body
    assert "the nearest answers" not in body


def test_of_operators_that_a_sentence_ties_together_the_first_is_asked_about(results):
    found = search.search(results, "do I still need a cumsum workaround for int inputs (cumsum as a matmul)")

    hits = [hit.case for hit in found.hits]
    assert hits[0] == "cumsum-opset-9"
    assert "cumsum-of-padded-int32" in hits[1:3]
    assert "sdpa-causal" not in hits


def asked(query):
    return " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(main, ["why", query]).output.split())


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "LSTM with variable batch size gave wrong results so we pass h0 explicitly, still needed on torch 2.14 "
            "opset 17 dynamo?",
            "a workaround is still needed for lstm-dynamic-batch by dynamo",
        ),
        (
            "torch.median was replaced by sort and index, is that needed on torch 2.11 opset 18?",
            "On torch 2.11.0 no exporter exports torch's own calls of median",
        ),
        (
            "custom layer norm for fp16 export; do we still need it on torch 2.15 opset 18?",
            "for layer-norm-half-large-deviation",
        ),
        (
            "forward returns a tuple rather than a dict because of onnx, is that still necessary with torch 2.6 "
            "dynamo?",
            "Not needed, with one exception. At torch 2.6.0, opset 18: a workaround is still needed for "
            "dict-as-last-input",
        ),
        (
            "we cast bool masks to int before cumsum, otherwise onnx breaks. is this still necessary in torch 2.6 "
            "opset 18 dynamo?",
            "Not needed, with exceptions. cumsum-of-bools/as_int64 is obsolete at torch 2.6.0, opset 18 (dynamo)",
        ),
        (
            "x[:, idx] = y fails when exporting so we use torch.where; do we still have to on torch 2.9 opset 20 "
            "dynamo?",
            "index-put-inplace-assign",
        ),
        (
            "adaptive max pool replaced by own code, is it needed on 2.9 opset 20?",
            "Needed. adaptive-max-pool-stride-kernel-formula/max_of_each_bin is needed at torch 2.9.1, opset 20",
        ),
    ],
)
def test_what_a_sentence_is_about_is_answered_and_not_the_words_around_it(opened_once, query, told):
    assert told in asked(query).partition("(our own proposal")[0]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "torch.searchsorted was swapped for a sum of comparisons; torch 2.5 opset 17 trace; can we put it back?",
            "On torch 2.5.1 no exporter exports torch's own calls of searchsorted",
        ),
        (
            "torchvision nms: we run it outside the model. torch 2.9 dynamo opset 18 still necessary?",
            "'nms' is no case",
        ),
        ("pad_sequence is done outside of the model. torch 2.6 dynamo opset 18 - necessary?", "no measured case has"),
    ],
)
def test_of_an_operator_that_no_case_is_about_the_words_around_it_decide_nothing(opened_once, query, told):
    answer = asked(query)
    assert told in answer
    assert "needed." not in answer.casefold() and "obsolete" not in answer


def test_a_reason_that_complains_is_no_error_and_no_upgrade(opened_once):
    bools = asked(
        "our code casts a bool mask to int before cumsum, because cumsum on bool failed in onnx; do I still have to do "
        "this with torch 2.3 opset 16?"
    )
    assert "cumsum-of-bools/as_int64 is needed at torch 2.3.1, opset 16" in bools
    slices = asked(
        "x[:, 2:5] = y was changed into torch.cat of pieces since slice assignment broke the export. torch 1.10, "
        "opset 11. may I revert it?"
    )
    assert "nothing breaks" not in slices
    assert "At torch 1.10.2, opset 11:" in slices and "slice-assign-dynamic" in slices
    fold = asked("since torch 1.8 we moved F.fold to a conv_transpose; is that still needed in 2.5 at opset 17 trace?")
    assert "At torch 2.5.1, opset 17: a workaround is still needed by trace: fold-opset-12" in fold


def test_many_brackets_in_a_question_are_read_at_once():
    # an expression that tries each bracket in two ways would not end
    assert read_fix_parts("we made " + "(a)" * 80 + " torch 2.8, still needed?") == frozenset()


def test_what_is_used_instead_is_not_what_is_asked_about(results):
    def read(query):
        found = search.search(results, query)
        return found.question.words, {hit.case for hit in found.hits}

    words, cases = read("we replaced torch.sort(stable=True) by topk, can it go on torch 2.8 opset 18?")
    assert words == "torch.sort stable=true"
    assert "sort-stable-true" in cases and "topk-int64" not in cases
    words, cases = read("we use two slices and a cat instead of roll, is that still needed on torch 2.8?")
    assert "roll-by-half-the-size" in cases and "concatenated-by-numpy" not in cases


def test_a_fix_that_a_sentence_names_comes_first(opened_once):
    told = asked("do I still need a cumsum workaround for int inputs (cumsum as a matmul)")

    assert "torch's own calls of cumsum (int64) are exported by" in told
    assert "(int32) do not pass: TorchScript (`dynamo=False`) exports, but gives int32 in place of int64" in told
    assert "by `dynamo=True` they were not measured" in told
    assert told.index("cumsum-opset-9/triangle") < told.index("cumprod-no-rule/stacked_products")
    assert "sdpa" not in told


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("int64 cumsum", "torch's own calls of cumsum (int64) are exported by"),
        ("is cumsum ok in half precision?", "torch's own calls of cumsum (float16) are exported by TorchScript"),
        ("does grid_sample work in fp16", "nn.functional.grid_sample (float16) pass by no exporter"),
        ("is cumsum ok for float64", "No call of cumsum was measured in float64."),
    ],
)
def test_a_type_of_tensors_in_a_question_is_what_the_calls_are_told_in(opened_once, query, said):
    assert said in asked(query)


def test_a_word_that_is_no_operator_does_not_narrow_an_upgrade_and_is_named(shown, home):
    body, _ = shown("from 1.10 to 2.8 resnet cross")
    first, *_ = re.findall(r'<p class="decision">(.*?)</p>', body)
    assert first == "Nothing was measured of an operator called resnet. Of the rest:"
    assert "ops=cross" in body or "ops=aten%3A%3Across" in body

    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["why", "from 1.10 to 2.8 resnet"])
    lead, _, decided = found.output.splitlines()[1].partition(" Of all cases: ")
    assert lead == "Nothing was measured of an operator called resnet."
    assert decided.startswith("Mov")


def test_the_links_of_an_answer_carry_its_setting(shown):
    body, _ = shown("is my cross workaround needed on 2.8 at opset 18")
    assert "./workarounds?torch=2.8.0&amp;opset=18&amp;q=cross" in body

    body, _ = shown("which torch may I move to from 1.10 with opset 9")
    assert "./upgrade?opset=9&amp;from=1.10.2&amp;to=2.15.0" in body

    body, _ = shown("cross torch 2.8", exporter="dynamo")
    assert "my_exporter=dynamo" in body
    assert "torch 2.8.0, dynamo" in body
    assert "torch 2.8.0, trace" not in body


def test_the_terminal_answers_the_same_words(home):
    ask = CliRunner(env={VARIABLE: str(home), "COLUMNS": "200"})
    found = ask.invoke(main, ["why", "cross torch 2.8 opset 18"])
    assert found.exit_code == 0, found.output
    assert "Read as: torch 2.8.0, opset 18, word: cross." in found.output
    assert "is obsolete at torch 2.8.0, opset 18" in found.output

    found = ask.invoke(main, ["why", "1.10 to 2.8"])
    assert "Read as: from torch 1.10.2 to torch 2.8.0." in found.output
    assert "→ torch 2.8.0" in found.output

    found = ask.invoke(main, ["why", "cross torch 3.0"])
    assert found.exit_code == 2
    assert "nearest measured: 2.15.0" in found.output


def _told(home, query):
    found = CliRunner(env={VARIABLE: str(home), "COLUMNS": "200"}).invoke(main, ["why", query])
    assert found.exit_code == 0, found.output
    return found.output


def test_the_terminal_answers_a_question_without_a_setting_by_where_its_cases_work(home):
    said = _told(home, "since when is torch.cross supported")
    assert said.startswith("Read as: word: torch.cross.")
    assert said.splitlines()[3].split() == ["exporter", "newest", "works", "elsewhere"]
    assert _told(home, "export cross please").startswith("Read as: word: cross.")


def test_the_terminal_shows_a_range_of_releases_as_columns(home):
    for query in ("cross 1.10 to 2.8 as a table", "cross 1.10.2-2.8.0"):
        said = _told(home, query)
        assert said.startswith("Read as: torch 1.10.2..2.8.0, ")
        assert said.splitlines()[1].split()[2:4] == ["1.10.2", "2.0.1"], said


def test_a_table_along_releases_is_no_upgrade_whichever_words_say_so(shown, understood):
    asks = understood("geometry table torch 2.0 to 2.15")
    assert (asks.answer, asks.setting) == ("matrix", {"torch": "2.0.1..2.15.0"})
    assert understood("table 2.15 to 2.0").setting == {"torch": "2.0.1..2.15.0"}
    assert understood("geometry table from 2.0").setting == {"torch": "2.0.1.."}

    body, _ = shown("geometry table torch 2.0 to 2.8")
    assert ">2.0.1</th>" in body
    assert ">2.8.0</th>" in body
    assert ">2.15.0</th>" not in body


def test_a_theme_narrows_an_upgrade_to_its_cases(shown, home):
    body, _ = shown("from 1.10 to 2.8 geometry")
    assert "ops=geometry" in body
    assert "case=cross-no-symbolic" in body
    assert "case=roll-negative" not in body
    both, _ = shown("from 1.10 to 2.8 geometry roll")
    assert "case=roll-negative" in both

    found = CliRunner(env={VARIABLE: str(home)}).invoke(main, ["why", "from 1.10 to 2.8 geometry"])
    assert "Nothing was measured" not in found.output


@pytest.mark.parametrize(
    ("name", "line", "read_as"),
    [
        ("upgrade", "from 1.10 to 2.8 opset 9 cross", {"from": "1.10.2", "to": "2.8.0", "opset": "9", "ops": "cross"}),
        ("upgrade", "1.10", {"from": "1.10.2", "to": "2.15.0"}),
        ("upgrade", "cross roll", {"ops": "cross,roll"}),
        (
            "workarounds",
            "stack_rewrite torch 2.8 opset 18 trace",
            {"q": "stack_rewrite", "torch": "2.8.0", "opset": "18", "exporter": "trace"},
        ),
        ("matrix", "geometry 2.0 to 2.15", {"q": "geometry", "torch": "2.0.1..2.15.0"}),
    ],
)
def test_the_search_of_a_page_takes_a_question_with_its_setting(kept, name, line, read_as):
    found = page(name, {"q": line}, kept)

    assert found.read_as == read_as
    assert found.body == page(name, found.read_as, kept).body


def test_the_search_of_a_page_answers_what_another_page_has(kept):
    found = page("workarounds", {"q": "1.10 to 2.8"}, kept)
    assert found.read_as is None
    assert "Read as: <b>from torch 1.10.2 to torch 2.8.0</b>" in found.body

    assert "stack_rewrite" in page("upgrade", {"q": f"RuntimeError: {CROSS.format(12)}"}, kept).body
    unknown = page("workarounds", {"q": "cross torch 3.0"}, kept)
    assert "torch 3.0 has not been measured (nearest measured: 2.15.0)" in unknown.warnings
    assert "decision" not in unknown.body


@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        ("what breaks if I go from 1.13 opset 14 to 2.9 opset 18", "to_opset", "18"),
        ("LSTM dynamo vs trace torch 2.9", "exporter", "trace,dynamo"),
        ("where does onnxruntime disagree with eager", "status", "mismatch"),
        ("LSTM torch 2.9 legacy exporter", "exporter", "TorchScript"),
        ("CUDA error: 2.00 GiB were asked for, is that cross?", "releases", ()),
    ],
)
def test_no_part_of_a_question_is_lost(query, field, value):
    assert getattr(read_question(query) or AskedQuestion(""), field) == value


def test_whether_an_operator_works_on_a_provider_is_said_first_with_why_files_are_missing(opened_once):
    told = asked("does grid_sample work on CUDA")

    first = "It depends on the call: at torch 2.15.0 1 of 13 cases fails or is wrong on the CPU too: deform-attn-"
    assert told.startswith(f"Read as: word: grid_sample. {first}")
    assert ": with onnxruntime 1.31.1 on cuda 1,350 of 1,357 files that work on the CPU work, too" in told
    assert "files packed for that machine: none that was exported on torch 1.0.1 to 1.4.0" in told
    assert "no measured case is about nms: no file of it was run there" in asked("nms on gpu")


@pytest.mark.parametrize("exporter", ["trace", "dynamo"])
def test_the_page_opens_with_what_the_terminal_says_of_a_workaround_for_a_type(kept_results, exporter):
    query = f"do I still need a cumsum workaround for int inputs (cumsum as a matmul) {exporter}".strip()
    terminal = CliRunner().invoke(main, ["why", query]).output
    shown = html.unescape(re.sub("<[^>]+>", "", str(page("search", {"q": query}, kept_results).body)))
    said = "torch's own calls of cumsum (int32) do not pass as asked for: TorchScript (`dynamo=False`) exports, but"
    needed = re.compile(r"(?:still needed|no workaround is needed any more) for (?:\d of \d cases: )?[\w-]+")

    assert said in terminal
    assert said.replace("`", "") in shown
    assert needed.search(shown)[0] == needed.search(" ".join(terminal.split()))[0]


@pytest.mark.parametrize("query", ["cumsum matmul", "grid_sample, roll", "cumsum and cumprod", "cumsum int"])
def test_a_page_finds_for_words_what_the_search_finds(kept_results, query):
    found = search.search(kept_results, f"do I still need a workaround for {query}")
    shown = page("workarounds", {"q": found.question.searched}, kept_results).files[0]
    cases = [row["case"] for row in csv.DictReader(io.StringIO(shown.content()))]
    best = next(hit.case for hit in found.hits if any(case == hit.case for case in cases))

    assert set(cases) <= {hit.case for hit in found.hits}
    assert cases[0] == best


@pytest.mark.parametrize(
    ("query", "first", "never"),
    [
        ("rms norm", "rms-norm-of-sum-half", "weight-norm-interface"),
        ("weight norm with dynamo", "weight-norm", "No measured case has just this error"),
        ("conv3d bfloat16", "torch's own calls of nn.functional.conv3d (bfloat16)", "calls of bfloat16"),
        ("can I export torch.cond", "cond-on-mean", "linalg.cond"),
        ("SDPA with a bool mask on torch 2.5", "sdpa-bool-mask", "was measured in bool"),
    ],
)
def test_words_without_a_question_mark_are_about_what_they_name(opened_once, query, first, never):
    told = asked(query)

    assert first in told
    assert never not in told


@pytest.mark.parametrize("query", ["does grid_sample work on CUDA", "grid_sampler onnxruntime gpu", "LSTM on CUDA"])
def test_the_page_answers_a_question_about_a_provider_by_what_fails_before_it(kept_results, query):
    shown = html.unescape(re.sub("<[^>]+>", "", str(page("search", {"q": query}, kept_results).body)))

    assert re.search(r"It depends on the call: at torch .* made: with onnxruntime [\d.]+ on cuda", shown)


@pytest.mark.parametrize("word", ["failures", "calls", "problems"])
def test_words_of_a_sentence_look_for_nothing(kept_results, word):
    found = search.search(kept_results, f"table of pooling {word} from torch 2.0 to 2.15")

    assert found.question.words == "pooling"
    assert not found.left_out


def test_a_long_sentence_that_asks_is_no_error(kept_results):
    long = (
        "we are on torch 2.4 with opset 17 and use grid_sample, sdpa and LSTM, and we would like to go to torch 2.12; "
        "what breaks, and which workarounds can we delete"
    )
    found = search.search(kept_results, long)

    assert not found.error
    assert found.question.asks == "upgrade"
    assert found.question.releases == ("2.4", "2.12")


def test_which_release_broke_the_most_is_answered_by_the_alerts_of_every_release(kept_results):
    query = "Which release broke the most"
    shown = page("search", {"q": query}, kept_results)
    text = " ".join(html.unescape(re.sub("<[^>]+>", "", str(shown.body))).split())
    terminal = asked(query)

    assert "Read as: what each release broke." in text
    assert text.count("most came with torch") == terminal.count("most came with torch") == 2
    assert 'href="./alerts"' in str(shown.body)
    assert re.search(r"torch against made worse ─+ 1\.2\.0 1\.1\.0 58 ", terminal)
    assert "mode-no-rule" not in text.partition("Alerts by release")[0]


@pytest.mark.parametrize(("runtime", "unmeasured"), [("1.15", True), ("1.31.1", False)])
def test_a_runtime_that_ran_nothing_on_a_provider_is_not_answered_by_another_without_a_word(
    kept_results, runtime, unmeasured
):
    query = f"Is my file OK on onnxruntime {runtime} with CUDA"
    shown = html.unescape(re.sub("<[^>]+>", "", str(page("search", {"q": query}, kept_results).body)))
    told = "onnxruntime 1.15.1 on cuda was not measured; measured there: onnxruntime 1.31.1, onnxruntime 1.28.0."

    for text in (shown, asked(query)):
        assert (told in text) is unmeasured
        assert ("onnxruntime 1.28.0 on cuda (" in text) is unmeasured
        wrong = re.search(r" files, [\d,]+ are wrong there", text)
        assert text.index("caniexport upgrade --model FILE.onnx") < wrong.start()


def test_cases_are_told_at_the_release_that_is_named_beside_an_opset_that_nobody_measured(kept_results):
    shown = page("search", {"q": "lstm opset 30 torch 2.9"}, kept_results)
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", str(shown.body))).split())

    assert shown.warnings == ("opset 30 has not been measured (measured: 7 to 28)",)
    (case,) = re.findall(r"lstm-dynamic-batch · found by .*? dynamo, opset", text)
    assert "✗ fail torch 2.9.1, dynamo, opset" in case
    assert "from torch 2.15.0" not in text


def test_of_a_runtime_that_is_asked_for_every_sentence_is_about_it_or_says_that_it_is_not(kept_results):
    query = "onnxruntime 1.15 attention"
    shown = " ".join(re.sub("<[^>]+>", "", str(page("search", {"q": query}, kept_results).body)).split())

    for text in (html.unescape(shown), asked(query)):
        assert "Cases are told as their files end on onnxruntime 1.15.1." in text
        assert "beside each torch, not on onnxruntime 1.15.1. There, on torch 2.15.0 torch's own calls of" in text
    decided = "opset 20, on onnxruntime 1.15.1: no workaround that was measured helps"
    assert decided in html.unescape(shown)
    assert "At torch 2.8.0, opset 18, on onnxruntime 1.15.1: " in asked("onnxruntime 1.15 cross torch 2.8")
    assert "beside each torch" not in asked("cross torch 2.8")


def test_what_torch_itself_refuses_is_no_reason_to_keep_a_workaround_and_cases_that_are_named_are_links(kept_results):
    query = "torch.cross workaround torch 2.8 opset 18"
    body = str(page("search", {"q": query}, kept_results).body)
    (decision,) = (text for text in re.findall(r'<p class="decision">(.*?)</p>', body) if "At torch" in text)
    said = re.sub("<[^>]+>", "", decision)

    assert said in asked(query)
    assert said.endswith("; torch itself refuses what is to be exported: cross-rewrite-rejects-rank-broadcast.")
    assert "still needed for cross-default-dim-first-size-3 by" in said
    named = re.findall(r"\bcross-[a-z0-9-]+", said)
    assert [name for name in named if f">{name}</a>" not in decision] == []
    assert len(named) == 5


def test_a_fix_that_is_known_to_be_wrong_is_a_link_with_its_reason_in_words(kept_results):
    shown = str(page("search", {"q": "unfold"}, kept_results).body)

    link = r'<a [^>]*href="./case\?case=tensor-unfold-dynamic&amp;variant=static_axis"[^>]*>bad fix: static_axis</a>'
    assert re.search(rf"{link} the axis static, and one length only: a negative axis then gives transposed", shown)


@pytest.mark.parametrize(
    "query", ["grid_sample 5D", "Does grid_sample with 5D input work", "torch.nn.functional.grid_sample 5D input"]
)
def test_the_case_that_is_about_a_condition_answers_it_and_not_torchs_own_calls(kept_results, query):
    shown = " ".join(html.unescape(re.sub("<[^>]+>", "", str(page("search", {"q": query}, kept_results).body))).split())

    for absent in ("No measured case", "Read as the error", "since torch 2.6.0", "grid-sample-bicubic"):
        assert absent not in shown
    assert re.search(r"grid-sample-volume · found by .*? dynamo \(torch.export\) from torch 2.8.0", shown)


def test_beside_a_case_torchs_own_calls_are_not_the_bolder_claim_and_of_a_dtype_that_no_case_has_they_speak_first(
    kept_results,
):
    body = str(page("search", {"q": "grid_sample torch 2.6"}, kept_results).body)
    assert re.search(r'<p class="decision">At torch 2.6.0: .*<p>On torch 2.6.0 torch&#39;s own calls', body, re.DOTALL)
    found = page("search", {"q": "float16 cumsum right values torch 2.9"}, kept_results)
    body = html.unescape(re.sub("</?code>", "", str(found.body)))
    first, *_ = re.findall(r'<p class="decision">(On torch .*?)</p>', body)
    assert "No measured case is about float16: those below are about other types of tensors." in body
    assert "right as well" not in body
    assert "exports at opset 20, but gives float32 in place of float16, without an error" in first
    (link,) = re.findall(r'href="./op\?([^"]*)">Every release, dtype and opset', first)
    opened = page("op", dict(part.split("=") for part in link.split("&amp;" if "&amp;" in link else "&")), kept_results)
    assert "torch's own calls of cumsum (float16) are exported by" in html.unescape(str(opened.body))


LONG_MOVE = (
    "We are on torch 2.5 and think of 2.9. Our model uses grid_sample, SDPA, LSTM and index_put, we export at opset "
    "17. Should we move, and how must we call the export then?"
)
BY_HAND = "Our code stacks the products by hand where torch.cross used to fail. torch 2.8, opset 18. Is it fine?"


def _text(kept, query):
    return " ".join(html.unescape(re.sub("<[^>]+>", "", str(page("search", {"q": query}, kept).body))).split())


@pytest.mark.parametrize("long", [LONG_MOVE, LONG_MOVE.replace(". ", ".\n")])
def test_a_long_text_that_asks_and_has_no_exception_is_read_as_the_short_form_is(kept_results, long):
    short = search.search(kept_results, "from torch 2.5 to 2.9 opset 17: grid_sample, SDPA, LSTM, index_put").question
    read = search.search(kept_results, long).question
    parts = ("words", "asks", "kind", "releases", "opset")

    assert [getattr(read, part) for part in parts] == [getattr(short, part) for part in parts]
    for told in (_text(kept_results, long), asked(long)):
        assert "from torch 2.5.1 to torch 2.9.1, opset 17, words: grid_sample SDPA LSTM index_put" in told
        assert "just this error" not in told


def test_a_long_question_about_a_workaround_is_answered_by_its_word(kept_results):
    query = (
        "is stack_rewrite still needed for torch.cross on torch 2.8 opset 18 with a batch of three vectors and no dim "
        "argument given, since our product calls it that way everywhere?"
    )

    for told in (_text(kept_results, query), asked(query)):
        assert "is a workaround needed, fix: cross-default-dim-first-size-3/stack_rewrite." in told
        assert "Needed. cross-default-dim-first-size-3/stack_rewrite is needed at torch 2.8.0, opset 18" in told


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG_MOVE} torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::x' is not supported",
        "RuntimeError: could not move the tensor from the old device to the new one. " * 3 + "Should we report this?",
        "on torch 2.8 our export stops, it is not supported to give the batch a dynamic size here and there. " * 2
        + "Can you help?",
    ],
)
def test_a_long_text_with_an_exception_or_a_complaint_stays_an_error(text):
    assert search.is_error(text)


def test_an_operator_that_nothing_was_measured_of_is_in_the_first_sentence_of_an_upgrade(kept_results):
    query = "from torch 2.5 to 2.9 opset 17: LSTM and flex_attention"
    lead = "Nothing was measured of an operator called flex_attention. Of the rest:"
    body = html.unescape(str(page("search", {"q": query}, kept_results).body))
    own = page("upgrade", {"from": "2.5.1", "to": "2.9.1", "ops": "LSTM,flex_attention"}, kept_results)

    assert asked(query).partition(". ")[2].startswith(f"{lead} Move to torch 2.9.1")
    for shown in (body, html.unescape(str(own.body))):
        assert re.findall(r'<p class="decision">(.*?)</p>', shown)[0] == lead


def test_of_an_operator_without_a_case_torchs_own_calls_are_told_before_the_rest(kept_results):
    told = "No case is about addmv. On torch 2.9.1 torch's own calls of addmv (float32) are exported by"
    upgrade = [
        *("upgrade", "--from", "torch=2.5,opset=17", "--to", "torch=2.9,opset=17,exporter=trace", "--op", "LSTM")
    ]
    of_both = CliRunner().invoke(main, [*upgrade, "--op", "addmv"])

    assert told in asked("from torch 2.5 to 2.9 opset 17: LSTM and addmv").partition("Move to")[0]
    assert told in _text(kept_results, "from torch 2.5 to 2.9: LSTM and addmv").replace("`", "").partition("Move to")[0]
    assert of_both.output.startswith(told)
    assert "Of the rest: " in of_both.output.splitlines()[0]
    assert of_both.exit_code == 1
    assert CliRunner().invoke(main, upgrade).exit_code == 0


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (BY_HAND, "stacks torch.cross"),
        ("is stack_rewrite still needed where we call it on 2.8?", "stack_rewrite"),
        ("Is torch.cross still needed where we split the batch on 2.8?", "torch.cross batch"),
        ("does torch.where work on 2.8", "torch.where"),
        ("is where ok on 2.8?", "where"),
        ("is grid_sample, where and max ok at opset 17", "grid_sample where max"),
        ("can we export index_put and the where operator on 2.8?", "index_put where"),
    ],
)
def test_a_word_of_plain_english_beside_an_operator_is_none_unless_it_is_listed(kept_results, query, words):
    assert search.search(kept_results, query).question.words == words


def test_words_of_a_sentence_that_no_case_has_are_told_in_plain_text_behind_the_decision(kept_results):
    said = "Answered without \u00abproducts\u00bb, \u00abhand\u00bb: no measured case is about them together"
    body = str(page("search", {"q": BY_HAND}, kept_results).body)

    assert said in asked(BY_HAND)
    assert f'<p class="hint">{said} with the rest. This is one of the' in body
    assert body.index(said) > body.index('<p class="decision">At torch 2.8.0, opset 18')


@pytest.mark.parametrize(
    "query",
    [
        "Is my torch.cross workaround (stacked slice products) still needed on torch 2.8 at opset 18?",
        BY_HAND.replace("Is it fine?", "Can we go back?"),
        "I stack slice products in place of cross. Still needed on torch 2.8 at opset 18?",
    ],
)
def test_a_workaround_told_in_words_of_its_own_is_answered_first_and_alone(kept_results, query):
    """Those that hold a rewrite of theirs want a yes or no of it, not of every case about its operator."""
    body = str(page("search", {"q": query}, kept_results).body)
    first = html.unescape(re.search(r'<p class="decision">(.*?)</p>', body)[1])

    for told in (re.sub(r"<[^>]+>", "", first), asked(query).partition(". ")[2]):
        assert (
            "Not needed, with one exception. At torch 2.8.0, opset 18: stack_rewrite is still needed for cross-default"
            in told
        )
        assert "stack_rewrite is obsolete for cross-no-symbolic" in told
    assert "custom_symbolic" not in body.partition("Every fix of its case")[0]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("can I remove my roll workaround on 2.8", "Needed. roll-by-half-the-size/two_slices is needed at torch 2.8.0"),
        ("is the unfold workaround still needed on 2.8", "a workaround is still needed by trace, script, default, not"),
        ("is the cumsum workaround needed on 2.8", "It depends on the call and the exporter. At torch 2.8.0"),
        (
            "do we still need our gather rewrite of grid_sample on 2.8?",
            "Not needed, with exceptions. grid-sampler-",
        ),
        (
            "is my upper triangular matmul for cumsum still needed on 2.8?",
            "Not needed, with exceptions. cumsum-opset-9/",
        ),
        ("can I drop the as_int64 cast before cumsum", "It depends on the exporter. cumsum-of-bools/as_int64 is"),
        ("does grid_sample work on 2.8?", "At torch 2.8.0, opset 18: a workaround is still needed"),
        ("is cross-no-symbolic/stack_rewrite needed on 1.11?", "Needed. cross-no-symbolic/stack_rewrite is needed"),
    ],
)
def test_a_question_about_a_workaround_has_its_answer_in_the_first_words(kept_results, query, said):
    assert f" {said}" in asked(query)
    assert f" {said}" in _text(kept_results, query)


@pytest.mark.parametrize(
    "query", ["do I still need dynamo=False for LSTM on 2.9?", "is dynamo=False needed for LSTM on 2.9?"]
)
def test_an_exporter_that_is_asked_about_is_no_place_where_nothing_is_needed(kept_results, query):
    """By `dynamo=False` nothing is needed: said without the other exporter it would answer that one may go."""
    for told in (asked(query), _text(kept_results, query)):
        assert "Not needed" not in told and "Needed" not in told
        assert "still needed for lstm-dynamic-batch by dynamo, default, not by trace" in told


@pytest.mark.parametrize(
    ("query", "others"),
    [
        (
            "is the fixed avg pool for adaptive_avg_pool2d still needed on torch 2.8 opset 18",
            "adaptive-avg-pool2d-dynamic-size",
        ),
        ("is a triangular matmul for cumsum still needed, torch 2.8 opset 18", "cumsum-of-bools"),
    ],
)
def test_a_needless_fix_is_no_all_clear_for_what_else_fails_of_its_operator(kept_results, query, others):
    """Words narrow the cases: what they leave out may be the one of whoever asks."""
    for told in (asked(query), _text(kept_results, query)):
        assert "Not needed, with exceptions." in told
        assert others in told.partition("still need a workaround: ")[2].partition(".")[0]


def test_where_no_fix_helps_beside_the_exporter_that_needs_one_it_is_said(kept_results):
    query = "is the grid_sample workaround needed on torch 2.9"

    assert "still needed for deform-attn-untraceable by trace, and none helps by dynamo, default" in asked(query)


def test_an_opset_that_is_asked_about_is_not_said_to_be_needless(kept_results):
    query = "do we still need to export at opset 16 for grid_sample on 2.8?"
    for told in (asked(query), _text(kept_results, query)):
        assert "Not needed" not in told and "Needed" not in told
        assert "opset 16" in told


@pytest.mark.parametrize(
    "query", ["is my interpolate fixed-size workaround needed on 2.9", "is my cross workaround ok"]
)
def test_no_fix_is_taken_that_the_words_do_not_say(kept_results, query):
    assert search.search(kept_results, query).question.fix == ""


@pytest.mark.parametrize("name", ["flex_attention", "int4", "MyLayer"])
def test_a_name_that_no_case_has_is_told_first(kept_results, name):
    body = str(page("search", {"q": f"is torch.cross ok beside {name} on torch 2.8?"}, kept_results).body)
    first, *_ = re.findall(r'<p class="decision">(.*?)</p>', body)

    assert name in first


def test_two_names_of_one_operator_are_one_and_a_word_that_no_case_has_is_told(kept_results):
    query = "Can we drop the zorbing cross and use torch.cross natively on 2.9, or must it stay?"
    told = asked(query)

    assert told.startswith(
        "Read as: torch 2.9.1, is a workaround needed, word: cross. Answered without \u00abzorbing\u00bb"
    )
    assert "Not needed, with one exception. At torch 2.9.1" in told


@pytest.mark.parametrize(
    ("query", "lead", "rest"),
    [
        ("torch.searchsorted and torch.bucketize were replaced by a comparison, torch 2.9 dynamo, needed?",
         "No case is about torch.searchsorted. On torch 2.9.1 no exporter exports", "Of the rest: Not needed."),
        ("torch.gather and torch.median replaced by topk, torch 2.9 dynamo, still needed?",
         "No case is about torch.median. On torch 2.9.1 no exporter exports", "Of the rest: Not needed, with"),
        ("torch.Tensor.diagonal / torch.diag_embed workaround. torch 2.5 opset 17 trace",
         "TorchScript (`dynamo=False`) does not, whichever the opset", "Of the rest: Not needed."),
    ],
)  # fmt: skip
def test_of_an_operator_that_no_case_is_about_torchs_own_calls_are_told_before_a_word_on_the_others(
    kept_results, query, lead, rest
):
    body = html.unescape(str(page("search", {"q": query}, kept_results).body))

    for told in (asked(query), re.sub(r"<[^>]+>|\s+", " ", body.replace("<code>", "`").replace("</code>", "`"))):
        assert lead in told.partition("Of the rest:")[0]
    assert rest in asked(query)


def test_an_operator_with_a_typo_is_not_answered_by_the_other_words(kept_results):
    found = search.search(kept_results, "searchsrted replaced with broadcasting compare, torch 2.11, dynamo, opset 20")

    assert found.question is not None
    assert (found.question.words, found.hits) == ("searchsrted", ())


def test_an_opset_that_the_older_release_does_not_take_is_asked_of_the_newer_one(kept_results):
    told = asked("upgrade from torch 1.10 to 2.8 opset 17: torch.cross")

    assert "nothing of this was measured at both ends" not in told
    assert "to torch 2.8.0" in told
