"""What new users typed and pasted, and what the first sentence of the answer must and must not say.

Examples that other tests hold: a dump alone and texts of many kinds (test_match.py),
names and typos in a small dataset (test_planning.py, test_cli.py), what `check` says (test_check_headline.py).
"""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from caniexport.cli import main

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

UNFOLD = (
    "torch.onnx.OnnxExporterError: No ONNX function found for <OpOverload(op='aten.unfold', overload='default')>. "
    "Failure message: No decompositions registered for the real-valued input"
)
ADAPTIVE = "ONNX export of operator adaptive pooling, since output_size is not constant"
DIFF = "Exporting the operator 'aten::diff' to ONNX opset version 17 is not supported"
MOVE = ("upgrade", "--from", "torch=2.5", "--to", "torch=2.9")


def ask(*words):
    return CliRunner(env={"COLUMNS": "120"}).invoke(main, words)


def ask_error(text, *options):
    """An error text from standard input, which needs no exception's name."""
    return CliRunner(env={"COLUMNS": "120"}).invoke(main, ["why", "-", *options], input=text)


def first(reply):
    """What is printed before the first empty line, without the text that was read, as one line."""
    return " ".join(reply.stdout.split("\n\n")[0].partition("\n  read ")[0].split())


@pytest.mark.parametrize(
    ("text", "has", "has_not"),
    [
        # the name of an error says nothing of its cause
        ("GuardOnDataDependentSymNode", ("Not known.",), ("workaround",)),
        ("UnsupportedOperatorError", ("Not known.",), ("workaround",)),
        # one that no measured case gives there
        (UNFOLD, ("Not known of unfold",), ("avg_pool2d",)),
        *(
            (
                f"{raised}Couldn't export operator aten::adaptive_avg_pool2d",
                ("use the workaround matrices_of_size",),
                (),
            )
            for raised in ("RuntimeError: ",)
        ),
        (ADAPTIVE, ("Not known of adaptive",), ("use the workaround",)),
        (DIFF, ("Not known: no measured case is about aten::diff.",), ()),
    ],
)
def test_an_error_is_answered_by_what_it_is_about(text, has, has_not):
    reply = ask_error(text)
    assert reply.exit_code == 0
    said = first(reply)
    assert [words for words in has if words not in said] == [], said
    assert [words for words in has_not if words in said] == [], said


GUARD = (
    "torch.onnx._internal.exporter._errors.TorchExportError: Failed to export the model with torch.export.\n"
    "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression "
    "Eq(u3, 1) (unhinted: Eq(u3, 1)).  (Size-like symbols: none)"
)


@pytest.mark.parametrize("options", [(), ("--torch", "2.9.1", "--exporter", "default")])
def test_a_data_dependent_guard_of_the_default_exporter_names_the_other_exporter_first(options):
    answer = ask_error(GUARD, *options)
    assert first(answer).startswith("Try dynamo=False first"), answer.output


@pytest.mark.parametrize("options", [("--torch", "2.6.0"), ("--torch", "2.13.0", "--exporter", "dynamo")])
def test_a_guard_that_no_default_call_gives_is_answered_without_that(options):
    assert "Try dynamo=False first" not in ask_error(GUARD, *options).stdout


def test_an_operator_in_place_is_led_to_its_own_case():
    for raised in ("", "RuntimeError: ONNX export failed: "):
        said = first(ask_error(f"{raised}Couldn't export operator aten::__iand_", "--torch", "1.10"))
        assert said == "Fails as and-in-place does: use the workaround out_of_place."
    for op in ("__iand_", "__ior_"):
        error = f"Exporting the operator 'aten::{op}' to ONNX opset version 17 is not supported"
        placed = first(ask("why", f"UnsupportedOperatorError: {error}", "--torch", "2.8"))
        assert placed.startswith(f"Fails as {op.strip('_i')}-in-place does: use the workaround ")


def test_an_operator_without_a_case_is_answered_by_its_samples_there_too():
    assert "Operator samples: diff: all samples pass since 2.1.2 (dynamo=True, opset 18+)" in ask_error(DIFF).stdout


def test_the_release_that_a_pasted_text_names_is_the_point_of_the_answer():
    """One release named as torch's counts, an option counts more, and of several none does."""
    text = "RuntimeError: Exporting the operator cross to ONNX opset version 13 is not supported."
    assert (
        "torch 1.11.0, torch.onnx.export, opset_version=13"
        in ask("why", f"PyTorch version: 1.11.0+cu113\n{text}").stdout
    )
    named = ask("why", f"{text} torch 1.11", "--torch", "1.10").stdout
    assert "torch 1.10.2, torch.onnx.export, opset_version=13" in named
    assert "torch 1.10.2" not in ask("why", f"{text} It worked on torch 1.11, on torch 1.10 too").stdout


@pytest.mark.parametrize(("name", "cases"), [("cross", 5), ("SDPA", 13), ("F.scaled_dot_product_attention", 13)])
def test_a_word_that_is_an_operator_is_answered_as_the_operator(name, cases):
    reply = ask("why", name)
    assert reply.exit_code == 0
    assert reply.stdout == ask("op", name).stdout + "- read as: an operator\n"
    assert f"{cases} documented cases about it" in reply.stdout


def test_what_breaks_is_told_by_its_cause_and_not_by_what_wraps_it():
    said = ask("upgrade", "--from", "2.8", "--to", "2.9,exporter=dynamo", "--op", "SDPA").stdout
    assert "AssertionError: only 4D query" in said
    assert "This is step" not in said


def test_a_way_by_which_nothing_breaks_is_named_where_neither_the_default_nor_todays_is_one():
    """At opset 17 a volume stops TorchScript, and by default an LSTM: by TorchScript at its own opset nothing does."""
    named = ("--op", "grid_sample", "--op", "lstm")
    said = ask("upgrade", "--from", "torch=1.13,opset=17,exporter=TorchScript", "--to", "2.9", *named).stdout
    assert said.startswith("Move to 2.9.1 with dynamo=False, opset_version=20: nothing breaks (20 measured cases).")
    assert breaks_by_call(said) == [
        ("dynamo=False, opset_version=20", 0),
        ("dynamo=False, opset_version=17", 1),
        ("default (dynamo=True, opset 20)", 4),
    ]


def test_of_two_ways_that_break_nothing_the_one_that_works_for_more_is_named_too():
    said = ask("upgrade", "--from", "1.13", "--to", "2.9", "--op", "grid_sample", "--op", "lstm").stdout
    assert "nothing breaks, 13 of 20 still fail." in said.splitlines()[0]
    assert breaks_by_call(said)[:2] == [("dynamo=False, opset_version=14", 0), ("dynamo=False, opset_version=20", 0)]


def breaks_by_call(said):
    """The calls of an upgrade's first table, and how much breaks by each."""
    lines = said.split("\n\n")[1].splitlines()[1:]
    found = (re.match(r"  (.*?)  +(\d+)", line) for line in lines)
    return [(line[1], int(line[2])) for line in found if line]


def test_torchscript_is_an_exporter_in_options():
    """Traced and scripted: both end alike here."""
    assert (
        ask("table", "--op", "cross", "--torch", "2.8", "--exporter", "TorchScript").stdout.count("every call  ") == 5
    )


@pytest.mark.parametrize("name", ["F.bilinear", "nn.Bilinear"])
def test_why_of_an_operator_without_a_case_is_answered_by_torchs_own_calls(name):
    assert first(ask("why", name)).startswith(
        "bilinear: all samples pass since 2.6.0 (dynamo=True, opset 18+), none with dynamo=False."
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("table", "--op", "corss"), "unknown op 'corss' (nearest: aten::cross"),
        ((*MOVE, "--op", "GQA", "--op", "corss"), "unknown op 'corss' (nearest: aten::cross"),
        (("why", "corss"), "unknown case, operator or words 'corss' (nearest: aten::cross"),
        ((*MOVE, "--model", "no-such-file.onnx"), "there is no such file"),
    ],
)
def test_a_typo_is_wrong_use_and_names_what_is_meant(words, said):
    reply = ask(*words)
    assert (reply.exit_code, said in reply.stderr) == (2, True), reply.stderr


@pytest.mark.parametrize("name", ["SDPA", "nn.LSTM"])
def test_an_operator_is_known_by_every_name_that_people_use(name):
    assert first(ask(*MOVE, "--op", name)).startswith("Move to 2.9.1 with ")


def test_an_operator_without_a_case_is_no_all_clear_whatever_the_others_are():
    both, alone = ask(*MOVE, "--op", "GQA", "--op", "NMS"), ask(*MOVE, "--op", "NMS")
    assert first(both) == "Not enough measured: no case is about 1 of 2 operators; nothing else breaks."
    assert first(alone).startswith("Not enough measured: 0 cases")
    for reply in (both, alone):
        assert (reply.exit_code, "No case is about NMS: nothing is known of it here." in reply.stdout) == (1, True)


def test_an_operator_without_a_case_is_answered_by_its_samples():
    reply = ask(*MOVE, "--op", "amax")
    assert "No case is about amax: only operator samples are." in reply.stdout
    assert re.search(r"operator samples .*\n  amax +✓ \d+ of \d+ pass", reply.stdout)


def test_an_operator_without_samples_has_a_line_that_says_so():
    reply = ask(*MOVE, "--op", "lstm", "--op", "amax")
    assert re.search(
        r"operator samples .*\n  lstm +· no samples +· no samples\n  amax +✓ \d+ of \d+ pass", reply.stdout
    )


def test_two_numbers_of_a_release_are_its_newest_patch():
    assert "2.9.1" in ask("table", "--op", "cross", "--torch", "2.9").stdout.splitlines()[0]


def test_where_no_fix_helps_by_one_exporter_and_the_others_need_none_that_is_what_is_said():
    said = first(ask("workaround", "cross-no-symbolic", "--torch", "2.8", "--opset", "17"))
    assert said.startswith("Fails with dynamo=True at torch 2.8.0: none of the measured workarounds helps.")


UNFLATTEN = (
    "UnsupportedOperatorError: Exporting the operator 'aten::unflatten' to ONNX opset version 17 is not supported."
)


@pytest.mark.parametrize("words", [(UNFLATTEN, "--torch", "2.6"), (f"torch 2.6: {UNFLATTEN}",)])
def test_an_error_that_its_case_has_at_another_release_is_no_reason_for_a_fix(words):
    """On 2.6 torch has a rule for it at this opset."""
    said = first(ask("why", *words))
    assert said == "Known error of unflatten, and it works at torch 2.6.0: look for another cause."


def test_what_breaks_by_its_arguments_is_named_last():
    said = ask("upgrade", "--from", "torch=2.5,opset=17", "--to", "torch=2.10").stdout

    assert said.startswith("Move to 2.10.0 with dynamo=False, opset_version=17: 9 of 466 cases break")
    named = re.findall(r"✗ breaks +(\S+)", said)
    assert named[:2] == ["cdist-expansion", "distance-of-matrices"]
    assert len(named) == 8


@pytest.mark.parametrize("to", [("--to", "torch=2.15"), ()])
def test_samples_of_an_operator_that_pass_no_more_are_no_all_clear_though_its_cases_stay_as_they_are(to):
    reply = ask("upgrade", "--from", "torch=2.9.1", *to, "--op", "dropout")

    told = "No documented case breaks (1 measured case), and operator samples that passed fail at 2.15.0."
    assert (reply.exit_code, first(reply)) == (1, told)
