"""The static copy's JSON files: what the commands print, at addresses that can be guessed, as the schema says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from dashboard_data import CASES, RELEASES, build

from caniexport.answers.answer import AnswerOutcome
from caniexport.answers.inventory import Inventory
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.pages.kept import Kept
from caniexport.pages.site import api


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def copy(home, tmp_path_factory):
    """A folder with what the copy has below ``api/``."""
    folder = tmp_path_factory.mktemp("copy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(home))
        kept = Kept.open(home / "results", None)
        api.write(kept, folder)
        for entry in kept.inventory.documented:
            api.write_case(kept, folder, entry.case)
        for op in kept.inventory.ops:
            api.write_op(kept, folder, op)
    return folder


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def files(copy):
    """Every file but the schema, with the name of its schema."""
    inside = copy / "api" / "v1"
    found = {path: path.parent.name for path in inside.glob("*/*.json")}
    return {inside / "index.json": "index", **found}


def test_every_file_is_as_the_published_schema_says(copy):
    schema = read(copy / "api" / "v1" / "schema.json")
    kinds = files(copy)

    assert set(kinds.values()) == {"index", "case", "op", "torch", "badge"}
    for path, kind in kinds.items():
        jsonschema.validate(read(path), {"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})


def test_the_schema_takes_no_file_without_its_answer(copy):
    schema = read(copy / "api" / "v1" / "schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)

    assert schema["$defs"]["answer"]["properties"]["outcome"]["enum"] == [member.value for member in AnswerOutcome]
    with pytest.raises(jsonschema.ValidationError, match="answer"):
        jsonschema.validate({"api": 1, "command": "c"}, {"$ref": "#/$defs/case", "$defs": schema["$defs"]})


def test_an_answer_is_what_the_command_that_it_names_prints(copy, home):
    answers = {path: read(path) for path, kind in files(copy).items() if kind in ("case", "op", "torch")}

    assert len(answers) > len(CASES)
    for path, found in answers.items():
        reply = CliRunner(env={VARIABLE: str(home)}).invoke(main, found["command"].split()[1:])
        # 1: an upgrade that breaks something
        assert reply.exit_code == 0 or "upgrade" in found["command"], reply.output
        assert json.loads(reply.stdout) == found["answer"], path


def test_the_file_of_a_case_has_each_of_its_cells_once(copy, home):
    columns = ("variant", "torch", "opset", "status", "stage")
    for name in ("cross-no-symbolic", "item-baked"):
        answer = read(copy / "api" / "v1" / "case" / f"{name}.json")["answer"]
        (rows,) = [table["rows"] for table in answer["tables"] if table["title"].startswith("every outcome")]
        cells = [
            (row["variant"], torch, opset, row["outcome"], row["stage"])
            for row in rows
            for torch in row["torch"]
            for opset in row["opset"]
        ]
        where = {"case": (name,), "provider": ("cpu",)}

        assert len(cells) > 1
        assert sorted(cells, key=str) == sorted(Kept.open(home / "results", None).select(columns, where), key=str)
        assert any(row["error"] for row in rows)
        assert rows[0]["variant"] == "plain"


def test_the_index_names_every_file_and_its_addresses_can_be_guessed(copy):
    inside = copy / "api" / "v1"
    index = read(inside / "index.json")
    named = {address for kind in ("cases", "ops", "torch") for address in index[kind].values()}

    assert named == {
        f"{path.parent.name}/{path.name}" for path in files(copy) if path.parent.name in ("case", "op", "torch")
    }
    assert index["cases"]["cross-no-symbolic"] == "case/cross-no-symbolic.json"
    assert index["torch"] == {torch: f"torch/{torch}.json" for torch in RELEASES}
    assert index["ops"]["aten::cross"] == "op/aten.cross.json"
    assert len({address.casefold() for address in named}) == len(named)


def test_a_badge_says_whether_a_case_works(copy):
    badge = read(copy / "api" / "v1" / "badge" / "cross-no-symbolic.json")
    answer = read(copy / "api" / "v1" / "case" / "cross-no-symbolic.json")["answer"]

    assert badge["message"] == answer["outcome"]
    assert badge["color"] in {"brightgreen", "red", "lightgrey"}


@pytest.mark.published
def test_operators_of_the_published_dataset_have_addresses_of_their_own(results):
    ops = Inventory.of(results).ops

    assert len({api.op_address(op).casefold() for op in ops}) == len(ops)


@pytest.mark.published
def test_agents_are_told_examples_that_are_in_the_published_copy(results):
    text = (Path(api.__file__).parent / "llms.txt").read_text(encoding="utf-8")
    known = Inventory.of(results)
    there = {api.case_address(case) for case, _ in known.catalogue} | {*map(api.torch_address, known.torch)}
    there |= {*map(api.op_address, known.ops)} | {api.badge_address(case) for case, _ in known.catalogue}

    told = re.findall(r"`api/v1/((?:case|op|torch|badge)/(?![A-Z]+\.json)\S+\.json)`", text)

    assert {address.split("/")[0] for address in told} == {"case", "op", "torch", "badge"}
    assert set(told) <= there
