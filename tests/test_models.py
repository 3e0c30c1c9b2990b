"""Whole models: a table entry as a case, what is installed for it, its rows, and what is answered from them."""

from __future__ import annotations

import inspect
import json
import textwrap

import pytest
from click.testing import CliRunner
from store_rows import cell, environment

from caniexport import home as homes
from caniexport.cli import main
from caniexport.cli.options import expand_cases
from caniexport.model import corpus, releases
from caniexport.model.architectures import MODELS, Architecture, Axis, Worker, ids, make_cases, mask
from caniexport.model.decoders import ATTENTION_OP, DECODING, EXPORTABLE_MODULE, STATIC_CACHE, DecoderCase, make_inputs
from caniexport.model.errors import StoreError
from caniexport.model.journal import Journal
from caniexport.model.plan import cells as plan_cells
from caniexport.model.status import Status
from caniexport.profiles import MorePackages, find_profile
from caniexport.reproduce.model_script import write_model_script
from caniexport.worker import decoders
from caniexport.worker.cell import classify_error
from caniexport.worker.failures import CannotBuild

BATCH, LENGTH = Axis("batch", 2, 3), Axis("length", 7, 11)
WORKER = Worker("code", lambda entry: entry, lambda entry: entry, lambda entry: {})
BERT = Architecture(
    "bert",
    "transformers",
    "BertModel",
    {"hidden_size": 32},
    {"input_ids": ids(BATCH, LENGTH), "attention_mask": mask(BATCH, LENGTH)},
)


def made(entry=BERT):
    (case,) = make_cases([entry], __name__, WORKER).values()
    return case


def test_an_entry_is_a_case_whose_second_input_set_is_longer_along_its_dynamic_axes():
    case = made()

    assert case.case_id() == "transformers-bert"
    assert [[spec.shape for spec in given] for given in case.inputs] == [[(2, 7), (2, 7)], [(3, 11), (3, 11)]]
    assert case.dynamic == {name: {0: "batch", 1: "length"} for name in ("input_ids", "attention_mask")}
    assert [*inspect.signature(case.forward).parameters] == ["self", "input_ids", "attention_mask"]


def test_a_mask_hides_something_in_both_input_sets():
    assert all(0 in given[1].data[-1] and 1 in given[1].data[-1] for given in made().inputs)


def test_the_static_form_has_no_dynamic_axes_and_one_size():
    static = made().own_variants()["static"]

    assert static.dynamic == {}
    assert {tuple(spec.shape for spec in given) for given in static.inputs} == {((2, 7), (2, 7))}


@pytest.mark.parametrize(
    "other",
    [
        {"settings": {"hidden_size": 64}},
        {"inputs": {"input_ids": ids(BATCH, LENGTH)}},
        {"inputs": {"input_ids": ids(BATCH, Axis("length", 7, 12)), "attention_mask": mask(BATCH, LENGTH)}},
        {"rtol": 1e-2},
    ],
)
def test_an_entry_that_builds_or_feeds_another_model_is_another_case(other):
    assert made().hash_of("plain") != made(BERT._replace(**other)).hash_of("plain")


def test_where_a_failure_of_it_is_described_does_not_change_what_is_measured():
    assert made().hash_of("plain") == made(BERT._replace(source=("owner/repo#1",))).hash_of("plain")


def test_each_exporter_is_asked_for_one_opset_in_every_release():
    case = made()

    assert case.asks("plain", releases.find("1.13.1"), "torchscript-trace") == (17,)
    assert case.asks("plain", releases.find("2.15.0"), "torchscript-trace") == (17,)
    assert case.asks("plain", releases.find("2.15.0"), "dynamo") == (18,)
    assert case.asks("plain", releases.find("1.13.1"), "dynamo") == ()
    assert case.asks("static", releases.find("2.15.0"), "default") == ()


def test_the_models_of_the_corpus_are_planned_without_their_packages():
    known = corpus.load(homes.find().of_corpus("models").corpora, stand_in=True)
    models = [item for item in known.values() if item.cls.corpus == "models"]

    assert len(models) >= 150
    assert {item.cls.architecture.package for item in models} >= {
        *("transformers", "timm", "torchvision", "torchaudio"),
        *("diffusers", "ultralytics", "segmentation_models_pytorch"),
    }
    others = {name: item for name, item in known.items() if not issubclass(item.cls, DecoderCase)}
    planned = plan_cells(others, releases.find("2.15.0"), "cpu")
    asked = {cell.exporter: {other.opset for other in planned if other.exporter == cell.exporter} for cell in planned}
    assert {name: asked[name] for name in ("torchscript-trace", "dynamo", "default")} == {
        **{"torchscript-trace": {17}, "dynamo": {18}, "default": {None}}
    }


def test_packages_are_installed_with_the_releases_that_they_go_along_with(tmp_path):
    (tmp_path / "packages.toml").write_text('as_of = "2026-11-29"\n[packages]\ntimm = ""\nultralytics = ">=2.1"\n')
    more = MorePackages.read(tmp_path / "packages.toml")

    assert more.of(releases.find("1.13.1")) == ("timm",)
    wanted = find_profile("newest").asks(releases.find("2.15.0"), more)
    assert wanted.as_of == "2026-11-29"
    assert {"torch==2.15.0", "timm", "ultralytics"} <= {*wanted.requirements}
    assert find_profile("newest").asks(releases.find("2.15.0"), MorePackages.read(tmp_path / "none.toml")) is None


def test_a_variant_behind_a_pattern_is_that_of_the_cases_that_have_it():
    found = expand_cases(homes.find().of_corpus(MODELS), ["decoding-*/attention_op"])

    assert "decoding-llama-static-cache/attention_op" in found
    assert not any("falcon" in name for name in found)


def test_what_its_packages_cannot_build_is_skipped():
    assert classify_error(CannotBuild("timm 0.6 has no model fastvit_t8"), is_export=True) is Status.SKIP


def test_the_script_of_a_cell_has_the_entry_the_call_and_what_was_measured():
    case = made()
    text = write_model_script(case, case.own_variants()["plain"], "dynamo", 18, ("fail", "export"))

    space: dict[str, object] = {}
    exec(textwrap.dedent(text.partition("#: what is built")[2].partition("TORCH =")[0]).partition("\n")[2], space)
    assert space["MODEL"]["settings"] == {"hidden_size": 32}
    assert space["MODEL"]["inputs"][1]["input_ids"][1] == (3, 11)
    assert space["CELL"] == {"variant": "plain", "exporter": "dynamo", "opset": 18}
    assert space["MEASURED"] == "fail at export"
    compile(text, "script", "exec")


def test_the_script_of_a_decoder_has_its_four_input_sets_and_the_kind_of_its_cache():
    inputs = make_inputs(STATIC_CACHE, layers=1, heads=2, size=8)
    entry = Architecture("tiny", "transformers", "TinyForCausalLM", {}, inputs, call=STATIC_CACHE)
    (case,) = decoders.make_cases([entry], __name__).values()
    assert case.case_id().startswith(DECODING)
    forms = case.own_variants()

    text = write_model_script(case, forms[ATTENTION_OP], "dynamo", 23, ("pass", "done"))

    space: dict[str, object] = {}
    exec(textwrap.dedent(text.partition("#: what is built")[2].partition("TORCH =")[0]).partition("\n")[2], space)
    assert space["MODEL"]["call"] == STATIC_CACHE
    assert [given["cache_position"][4] for given in space["MODEL"]["inputs"]] == [[4, 5, 6], [7], [11], [*range(7)]]
    with pytest.raises(StoreError, match="torch_exportable_module has no script"):
        write_model_script(case, forms[EXPORTABLE_MODULE], "dynamo", 18, ("pass", "done"))


ERROR = "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported"


def row(case, torch, exporter="dynamo", status="pass", stage="done", variant="plain", **more):
    opset = 18 if exporter == "dynamo" else 17
    return cell(
        case=case, torch=torch, exporter=exporter, opset=opset, status=status, stage=stage, variant=variant,
        corpus="models", case_hash="c", run_id=f"run-{torch}", env_id=f"env-{torch}", **more,
    )  # fmt: skip


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Ask about a home with these rows of models, and the documented corpus without rows."""
    for folder in ("cases", "harness", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tox.ini").touch()
    monkeypatch.setenv(homes.VARIABLE, str(tmp_path))

    def answer(rows, *words, corpus="models"):
        with Journal(homes.find().local / corpus / "journal", "measure") as journal:
            for torch in {item["torch"] for item in rows}:
                run = {"env_id": f"env-{torch}", "run_id": f"run-{torch}", "torch": torch}
                journal.environment(environment(planned=len(rows), rows=len(rows), **run))
            for item in rows:
                text = item.pop("text", "")
                journal.cell(item | ({"message_id": "m" * 16} if text else {}), {"m" * 16: text} if text else {})
        found = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        return json.loads(found.output)

    return answer


def test_models_are_counted_by_call_at_the_newest_release_and_causes_grouped(ask):
    failing = {"status": "fail", "stage": "export", "signature": "export|RuntimeError|x", "text": ERROR}
    rows = [row("timm-a", "2.13.0"), row("timm-a", "2.12.1"), row("timm-b", "2.12.1"), row("timm-c", "2.13.0")]
    rows += [row("timm-b", "2.13.0", **failing), row("timm-b", "2.13.0", variant="static")]
    answer = ask(rows, "table", "--models")

    assert answer["verdict"] == "At torch 2.13.0 2 of 3 models work with dynamo=True."
    causes, models = answer["tables"][:2]
    assert [(line["models"], line["stage"], line["helps"]) for line in causes["rows"]] == [(1, "export", "static 1")]
    assert next((line["model"]["case"], line["2.13.0"]) for line in models["rows"]) == ("timm-b", "fail")


def test_a_model_that_its_packages_cannot_build_counts_neither_way(ask):
    skipped = {"status": "skip", "stage": "eager", "signature": "eager|CannotBuild|x", "text": "timm has no b"}
    answer = ask([row("timm-a", "2.13.0"), row("timm-b", "2.13.0", **skipped)], "table", "--models")

    assert answer["verdict"] == "At torch 2.13.0 1 of 1 models work with dynamo=True."
    assert [table["title"] for table in answer["tables"]] == ["models"]


def test_times_of_a_busy_machine_are_no_cost(ask):
    costs = {"node_count": 10, "file_bytes": 100, "memory_mb": 5.0, "seconds_run": 2.0, "seconds_eager": 1.0}
    rows = [
        row(case, "2.13.0", exporter, load=load, seconds_export=seconds, **costs)
        for case, load in (("timm-a", 0.5), ("timm-b", 7.0))
        for exporter, seconds in (("dynamo", 3.0), ("torchscript-trace", 1.0))
    ]
    cost = ask(rows, "table", "--models")["tables"][-1]["rows"]

    dynamo = next(line for line in cost if line["call"] == "dynamo=True")
    assert (dynamo["models"], dynamo["quiet"], dynamo["seconds"], dynamo["/ trace"]) == (2, 1, "3", "3")


def test_a_patch_is_needed_until_its_plain_form_works(ask):
    failing = {"status": "fail", "stage": "export", "signature": "export|RuntimeError|x", "text": ERROR}
    rows = [row("roll", "2.12.1", **failing), row("roll", "2.13.0")]
    rows += [row("roll", torch, variant="transformers_patch") for torch in ("2.12.1", "2.13.0")]
    answer = ask([item | {"corpus": "patches"} for item in rows], "table", "--lines", "patches", corpus="patches")

    assert answer["verdict"] == "Of 1 patches of transformers at torch 2.13.0: 1 obsolete."
    (line,) = answer["tables"][0]["rows"]
    assert line["now"] == "obsolete since 2.13.0"
    assert [line[torch] for torch in ("2.13.0", "2.12.1")] == ["obsolete", "needed"]


def test_a_model_is_a_case_by_its_name_alone(ask):
    answer = ask([row("timm-a", "2.13.0"), row("timm-a", "2.13.0", "torchscript-trace")], "case", "timm-a")

    assert answer["verdict"].startswith("Works at torch 2.13.0")
