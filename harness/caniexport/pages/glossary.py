"""The glossary of the answers, the pages and the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caniexport.answers.declared import Agreement
from caniexport.corpus.verdicts import Verdict
from caniexport.model.status import Exporter, FixKind, Stage, Status
from caniexport.pages import looks

EXPORTERS: Mapping[Exporter, str] = {
    Exporter.TRACE: "torch.onnx.export of the module, with dynamo=False where that argument exists",
    Exporter.SCRIPT: "the same of torch.jit.script(module)",
    Exporter.DYNAMO: "torch.onnx.export(dynamo=True); in torch 2.1 to 2.4 torch.onnx.dynamo_export",
    Exporter.DEFAULT: "torch.onnx.export(module, args, file) with neither exporter nor opset named",
}

STAGES: Mapping[Stage, str] = {
    Stage.RESOLVE: "installing the environment",
    Stage.IMPORT: "importing the packages",
    Stage.EAGER: "running the module in torch; a workaround must give the values of the original code",
    Stage.EXPORT: "the export call",
    Stage.CHECK: "onnx.checker with full check",
    Stage.TOOL: "changing the file by a tool",
    Stage.LOAD: "loading the file into the runtime",
    Stage.PARSE: "TensorRT's parser",
    Stage.BUILD: "TensorRT's builder",
    Stage.PLACE: "giving every node to the provider asked for",
    Stage.RUN: "running every input set",
    Stage.COMPARE: "comparing the outputs with eager",
    Stage.DONE: "every stage was passed",
}

FIX_KINDS: Mapping[FixKind, str] = {
    FixKind.REWRITE: "the same computation written in another way",
    FixKind.RAISE_OPSET: "the same module at a higher opset",
    FixKind.CUSTOM_SYMBOLIC: "a symbolic of your own, registered with the TorchScript exporter",
    FixKind.AUTOGRAD_FUNCTION: "torch.autograd.Function with a symbolic",
    FixKind.EXPORT_OPTION: "another argument of the export call, or another exporter",
    FixKind.MODULE_SWAP: "another layer in the model",
    FixKind.VERSION_UPGRADE: "another torch release; judged by the original code there",
    FixKind.GRAPH_SURGERY: "a change to the exported file",
    FixKind.RUNTIME_OPTION: "an option of the runtime's session",
}


#: every class of a comparison
CLASSES: Mapping[Verdict, str] = {
    Verdict.REGRESSED_SILENT: "gives wrong values now, without an error, and did not before",
    Verdict.REGRESSED_CRASH: "did not kill the process before, does now",
    Verdict.REGRESSED: "worked before, fails with an error now",
    Verdict.WITHDRAWN: "worked before, is refused now",
    Verdict.SUSPECT: "worked before; runs out of time or memory now, or is not the same when repeated",
    Verdict.DEGRADED: "works, but the file is no longer what was asked for",
    Verdict.CHANGED_FAILURE: "failed before and fails now, with another error",
    Verdict.CHANGED_FAILURE_SUSPECT: "failed before; runs out of time or memory now, or is not the same when repeated",
    Verdict.NOW_FAILS_CLEANLY: "gave wrong values before, fails with an error now",
    Verdict.NOW_DECLARED: "failed before, is refused now",
    Verdict.NEWLY_FAILING: "was refused before; is tried now, and fails",
    Verdict.FIXED: "did not work before, does now",
    Verdict.FIXED_DEGRADED: "did not work before; works now, not as asked",
    Verdict.FIXED_SUSPECT: "ran out of time or memory before, or was not the same when repeated; works now",
    Verdict.NEWLY_SUPPORTED: "was refused before, works now",
    Verdict.RESTORED: "worked, but not as asked; does now",
    Verdict.SAME_PASS: "passed before and passes now",
    Verdict.SAME_DEGRADED: "degraded before and now",
    Verdict.SAME_FAIL: "failed before and fails now, with the same error",
    Verdict.SAME_MISMATCH: "gave wrong values before, and does now",
    Verdict.SAME_CRASH: "killed the process before, and does now",
    Verdict.SAME_SUSPECT: "ran out of time or memory before and now, or was not the same when repeated",
    Verdict.SAME_UNSUPPORTED: "was refused before, and is now",
    Verdict.NEW_PASSING: "was not measured before; passes now",
    Verdict.NEW_FAILING: "was not measured before; fails now",
    Verdict.NEW_UNSUPPORTED: "was not measured before; is refused now",
    Verdict.REBASELINED: "the case itself has changed: not compared",
    Verdict.UNKNOWN: "is not measured now: nothing is known",
}

#: what exporters register, against what was measured
AGREEMENT: Mapping[Agreement, str] = {
    Agreement.NOTHING_PASSES: "it is registered, and no documented case or operator sample of it passes",
    Agreement.FEWER: "it passes at fewer of the tried opsets than registered",
    Agreement.UNREGISTERED: "it passes although it is not registered: torch decomposes it",
    Agreement.AGREES: "it passes at every tried opset for which it is registered",
    Agreement.NEITHER: "it is not registered, and nothing of it passes",
}


@dataclass(frozen=True)
class Entry:
    """An entry of the glossary; values are the names that stand for it in answers and rows."""

    name: str
    meaning: str
    values: Mapping[str, str] = field(default_factory=dict)


def _look_meanings(looked: Mapping[Any, looks.Look]) -> dict[str, str]:
    return _name_values({name: look.meaning for name, look in looked.items()})


def _status_meanings() -> dict[str, str]:
    """Return the meanings of statuses, with the name that pages show where it is another."""
    found = _look_meanings(looks.STATUS)
    for status in (Status.UNSUPPORTED, Status.NOT_RUN):
        found[status.value] += f"; shown as «{looks.STATUS[status].word}»"
    return found


def _sign_meanings() -> dict[str, str]:
    """Return what each sign stands for."""
    found: dict[str, list[str]] = {}
    for look in (*looks.STATUS.values(), *looks.WORD.values()):
        found.setdefault(look.sign, []).append(look.word)
    refused = looks.statuses()[None]
    return {sign: " or ".join(words) for sign, words in found.items()} | {refused.name: refused.meaning}


def _name_values(meanings: Mapping[Any, str]) -> dict[str, str]:
    return {str(getattr(name, "value", name)): meaning for name, meaning in meanings.items()}


TERMS = (
    Entry("case", "one documented failure: a small model with its inputs, its workarounds and its sources"),
    Entry("original", "the code of a case as its sources show it, without a workaround; its variant is called plain"),
    Entry("workaround", "a change that makes the model work", _name_values(FIX_KINDS)),
    Entry("variant", "the original code of a case, or one of its workarounds: cross-no-symbolic/stack_rewrite"),
    Entry("theme", "a group of cases about one family of operators: pooling, indexing, attention"),
    Entry(
        "corpus",
        "a source of cases, with a dataset of its own",
        {
            "documented": "failures that people reported; the default",
            "operators": "every operator of torch, called with the sample inputs of torch's own database",
            "models": "whole models of the packages that people use, small and with weights of our own",
            "patches": "what transformers patches for an ONNX export, a minimal case for each patch",
        },
    ),
    Entry("input set", "the arguments of one call. The first set is exported, and the file is run on all of them"),
    Entry("eager", "the module run by torch itself. Its outputs are what every exported file is compared with"),
    Entry("exporter", "the part of torch that writes the ONNX file", _name_values(EXPORTERS)),
    Entry(
        "call",
        "how torch.onnx.export is called: an exporter and an opset, or the default call, which names neither. Tables "
        "write it as code: dynamo=False, opset_version=17",
    ),
    Entry("opset", "the version of ONNX's operators that is asked for; each torch release can write some of them"),
    Entry("runtime", "the program that runs the file: onnxruntime, OpenVINO, TensorRT, tract"),
    Entry("provider", "the part of a runtime that computes on one kind of hardware: cpu, cuda, tensorrt"),
    Entry(
        "profile",
        "the companion packages with which rows were measured",
        {
            "newest": "the newest onnx, onnxscript and onnxruntime that install and import with the release",
            "period": "what was installed two weeks after the release came out",
            "onnxscript-0.5.6": "newest, with one package in another version",
            "lock-…": "what a user's lock file names",
        },
    ),
    Entry("cell", "one variant with one torch release, exporter and opset: the unit that is measured"),
    Entry("row", "the result of one measured cell, a line of the dataset with its versions, status and error"),
    Entry("stage", "the steps of a cell in their order; a row names the one at which it stopped", _name_values(STAGES)),
    Entry("status", "how a cell ended", _status_meanings()),
    Entry(
        "sign",
        "the character that stands for a status, or for the verdict of a workaround, in a table",
        _sign_meanings(),
    ),
    Entry("16+", "works at every opset tried from 16 on. 8-14, 20 names the only opsets that work"),
    Entry(
        "verdict",
        "the first line of an answer: what is true, and what to do. The verdict of a workaround is one word: needed, "
        "obsolete, broken, harmful or unknown",
    ),
    Entry("signature", "the first line of an error without what differs from run to run; one signature is one cause"),
    Entry("needed, obsolete", "whether a workaround is still needed in a cell", _look_meanings(looks.WORD)),
    Entry("interval (a, b]", "a change after version a, and at version b at the latest"),
    Entry("change", "what happened to a cell between two versions", _name_values(CLASSES)),
    Entry("alert", "changes of one kind with one cause, with the cells in which they happened"),
    Entry(
        "claim", "a statement of a source about a case, compared with what was measured", _look_meanings(looks.CLAIM)
    ),
    Entry(
        "declared",
        "what torch's own registries of symbolics and translations list, compared with what passes",
        _name_values(AGREEMENT),
    ),
    Entry("bundle", "an exported file with its inputs and expected outputs. To run one on another runtime is a replay"),
    Entry("run", "one call of measure for one environment. Its rows are published when they pass the gate's checks"),
    Entry("gate", "the checks that decide whether a run is published. A run that fails one is in quarantine"),
    Entry(
        "sample",
        "an operator sample is a call of an operator with inputs from torch's OpInfo database. A sample of cells "
        "(--sample, --audit) is a random choice of them",
    ),
    Entry(
        "seed",
        "a number that fixes a random draw: the same seed draws the same cells. As a source, seed:000 is a document "
        "with which the corpus began",
    ),
    Entry("shard", "a part of what is to be measured of a release, for one machine: 3/8 is the third of eight"),
    Entry("canary", "a case with a known outcome; every run measures it and is judged by it"),
    Entry("worker", "a process of a Dask cluster that measures shards, one after the other"),
    Entry("environment case", "a case about packages that do not install or import together; no export is made"),
)
