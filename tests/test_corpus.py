"""The corpus: every record of the seed documents is accounted for, and every case could prove something."""

import os
import sys
from pathlib import Path

import pytest

from caniexport.corpus.claim_files import read_documents
from caniexport.model import corpus as corpus_module
from caniexport.model.case import to_kebab_case
from caniexport.model.errors import CorpusError

ROOT = Path(__file__).resolve().parent.parent


def records(file):
    lines = (ROOT / "tests" / file).read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if not line.startswith("#")]


RECORDS = records("seed_records.txt")
DOCUMENTED = records("documented_records.txt")


@pytest.fixture(scope="module")
def corpus():
    return corpus_module.load([ROOT / "cases"], stand_in=True)


@pytest.fixture(scope="module")
def documents(corpus):
    return read_documents(corpus)


def test_every_seed_record_is_covered_by_a_case(documents):
    covered = {record for documented in documents.values() for record in documented.records}

    assert len(set(RECORDS)) == 78
    assert set(RECORDS) - covered == set()


def test_a_case_names_only_records_that_exist(documents):
    named = {record for documented in documents.values() for record in documented.records}

    assert named - set(RECORDS) - set(DOCUMENTED) == set()


@pytest.mark.parametrize(
    ("source", "case"),
    [
        ("microsoft/onnxruntime#26717", "rms-norm-half-twice"),
        ("microsoft/onnxruntime#29153", "layer-norm-half-written-out-twice"),
        ("pytorch/pytorch#113652", "traced-function-in-scripted-branch"),
        ("OHF-Voice/piper1-gpl#148", "length-regulator"),
        ("microsoft/onnxscript#2651", "batch-norm-2d-of-older-torch"),
        ("microsoft/onnxruntime#25890", "linear-then-quantize-dynamic"),
    ],
)
def test_a_public_report_has_a_case_with_a_workaround(corpus, source, case):
    found = corpus[case]
    assert source in found.cls.sources
    assert len(found.variants) > 1


def test_ids_are_the_class_names_in_kebab_case():
    assert to_kebab_case("CrossNoSymbolic") == "cross-no-symbolic"
    assert to_kebab_case("BitshiftOpset11") == "bitshift-opset-11"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "from caniexport.model.case import Case\nfrom caniexport.model.tensors import f32\n"
            "class OneInput(Case):\n    'title'\n    sources = ('seed:000',)\n    inputs = ((f32(2),),)\n"
            "    def forward(self, x):\n        return x\n",
            "one-input/plain: 1 input set",
        ),
        ("import torch\nraise ValueError('not yet')\n", r"made\.py: ValueError: not yet"),
        ("raise SystemExit(0)\n", r"made\.py: a case file may not end the program: Syste"),
        ("raise GeneratorExit('so')\n", r"made\.py: a case file may not end the program: Gener"),
        ("raise BaseException('it')\n", r"made\.py: a case file may not end the program: BaseE"),
        ("# caf\xe9\n", r"made\.py: cannot be read .*utf-8"),
    ],
)
def test_a_case_file_that_cannot_be_used_is_named(tmp_path, text, said):
    (tmp_path / "made.py").write_bytes(text.encode("latin-1"))

    with pytest.raises(CorpusError, match=said):
        corpus_module.load([tmp_path], stand_in=True)


@pytest.mark.parametrize("stand_in", [True, False])
def test_a_case_file_is_loaded_as_it_reads_now_also_when_it_was_edited_in_the_same_second(
    tmp_path, monkeypatch, stand_in
):
    """Python's cached bytecode knows a file by its size and the second of its last change."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    file = tmp_path / f"edited_{stand_in}.py"
    text = (
        "from caniexport.model.case import Case\nfrom caniexport.model.tensors import f32\n"
        "class Edited(Case):\n    'one'\n    sources = ('seed:000',)\n    inputs = ((f32(2),), (f32(3),))\n"
        "    def forward(self, x):\n        return x\n"
    )
    for title in ("one", "two"):
        file.write_text(text.replace("'one'", f"'{title}'"))
        os.utime(file, (1.7e9, 1.7e9))
        # another process begins with no module of this file
        sys.modules.pop(f"caniexport_cases_{file.stem}", None)
        assert corpus_module.load([file], stand_in=stand_in)["edited"].cls.title() == title
    assert not (tmp_path / "__pycache__").exists()


def test_loading_with_stand_ins_leaves_no_stand_in_behind(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text(
        "import torch\nimport torch.nn.functional as F\nimport onnx\nclass G(torch.autograd.Function):\n    pass\n"
    )
    corpus_module.load([file], stand_in=True)

    assert not [name for name in sys.modules if "_StandIn" in type(sys.modules[name]).__name__]
    assert "torch" not in sys.modules or hasattr(sys.modules["torch"], "__version__")
