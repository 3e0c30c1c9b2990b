"""The row contract: every column of the dataset, its type and its meaning. Writer, reader and docs use this list.

Types are parquet's: ``string``, ``int32``, ``int64``, ``float32``, ``float64``, ``bool``, ``timestamp`` (UTC, ISO 8601
text in a journal) and ``list<string>``. A column may be null unless its meaning says otherwise.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional, Tuple

#: version of the row contract; a reader refuses rows of another major version and says which command migrates them
SCHEMA_VERSION = 1

#: version of the measuring code: raised when the same case in the same environment could get another row
MEASURING_VERSION = 3

#: the name of a case, a variant or a corpus: letters of any language, digits, and what stands between them in a name;
#: no path, no quote, no line feed
NAME = re.compile(r"(?!.*\.\.)\w[\w.+-]{0,299}")


#: a bundle is named by the first digits of its content's sha256; a longer name, as files and rows once had, is cut
BUNDLE_DIGITS = 24


class Column(NamedTuple):
    """One column: its name, parquet type and meaning."""

    name: str
    type: str
    meaning: str


CELLS: Tuple[Column, ...] = (
    Column("run_id", "string", "the run that measured the row: one invocation in one environment"),
    Column("measured_at", "timestamp", "when the cell finished, UTC"),
    Column(
        "env_id",
        "string",
        "the environment (environments.parquet); null for environment cases, which install their own",
    ),
    Column("torch", "string", "torch version as the package reports it, without the local part"),
    Column("python", "string", "Python version, three parts"),
    Column("onnx", "string", "onnx version"),
    Column("onnxscript", "string", "onnxscript version; null where not installed"),
    Column("corpus", "string", "documented, canary, or another corpus's name"),
    Column("case", "string", "case id"),
    Column("variant", "string", "plain (the original code) or the name of a workaround"),
    Column("case_hash", "string", "hash over the syntax tree of what is measured"),
    Column("measuring", "int32", "version of the measuring code"),
    Column("exporter", "string", "exporter asked for: torchscript-trace, torchscript-script, dynamo, default"),
    Column("exporter_effective", "string", "exporter that wrote the file, read back from it"),
    Column("opset", "int32", "opset asked for; null for the exporter default"),
    Column("opset_effective", "int32", "opset of the ai.onnx domain in the file"),
    Column("ir_version", "int32", "IR version of the file"),
    Column("bundle", "string", "first 24 hex digits of the sha256 of the bundle; null where nothing was exported"),
    Column("runtime", "string", "runtime that ran the file: onnxruntime, ...; of a replay also a tool or a plugin"),
    Column("runtime_version", "string", "version of the runtime"),
    Column(
        "provider",
        "string",
        "provider asked for: cpu, cuda, openvino, tensorrt, none; what a tool is asked for (to13), or the onnxruntime "
        "that loads a plugin (ort1.32)",
    ),
    Column("device", "string", "the device's name: cpu, or the GPU's"),
    Column("stage", "string", "how far the cell got; done where it passed"),
    Column("status", "string", "what happened"),
    Column(
        "signature",
        "string",
        "stage, exception type and first line, with addresses, paths, shapes and versions stripped",
    ),
    Column("message_id", "string", "the error text (messages.parquet)"),
    Column("warning_id", "string", "warnings during the export (messages.parquet)"),
    Column("max_abs_error", "float32", "largest absolute difference to the reference over all inputs and outputs"),
    Column(
        "max_rel_error", "float32", "largest relative difference, the reference's magnitude below 1e-6 counted as 1e-6"
    ),
    Column("rtol", "float32", "relative tolerance used (the widest over the outputs)"),
    Column("atol", "float32", "absolute tolerance used (the widest over the outputs)"),
    Column("seconds_export", "float32", "seconds in the export call; two significant digits where published"),
    Column("seconds_load", "float32", "seconds to create the runtime session"),
    Column("seconds_run", "float32", "seconds to run all input sets"),
    Column("seconds_eager", "float32", "seconds that torch itself takes for all input sets; null in older rows"),
    Column("memory_mb", "float32", "MiB by which the export raised its process's peak; null in older rows"),
    Column("load", "float32", "the machine's load over the minute before the cell ended; null in older rows"),
    Column("file_bytes", "int64", "size of the exported file with its weights; null in older rows"),
    Column("node_count", "int32", "nodes in the file's main graph"),
    Column(
        "ops", "string", "operators of the file with counts, sorted, subgraphs and functions included: Conv*2 Loop Relu"
    ),
    Column("facts", "string", "what the case notes of the file, as a JSON object"),
    Column(
        "attempts",
        "int32",
        "how often the cell was run; more than 1 after a timeout, exhausted memory, a crash or a kill from outside: "
        "the row is of the last attempt, and has such a status only where two attempts had it (a crash measured "
        "before December 2026: one). Where the cell was measured apart and twice, the attempts of both runs",
    ),
    Column("code", "string", "hash of the measuring code that made the row; null for rows made before it was kept"),
    Column("apart", "bool", "the cell had a process of its own, with nothing kept or shared"),
    Column(
        "checker",
        "string",
        "onnx's checker on the file: ok, strict (only its strict check refuses it), plain (its plain check "
        "refuses it too), crash (it ends its process); null where no file got that far or the row is older than the "
        "column",
    ),
    Column("checker_id", "string", "the checker's message (messages.parquet)"),
    Column(
        "unstable",
        "list<string>",
        "the statuses seen where repetitions of the cell differ; null where they agree or it was not repeated",
    ),
)

RUNS: Tuple[Column, ...] = tuple(
    column
    for column in CELLS
    if column.name
    in (
        "bundle corpus case variant runtime runtime_version provider device env_id run_id measured_at stage status "
        "signature message_id max_abs_error max_rel_error seconds_load seconds_run"
    ).split()
) + (
    Column("session", "string", "the runtime's session options as a JSON object; null for its own"),
    Column("placement", "string", "nodes that each provider ran, as a JSON object; null on cpu and where not known"),
    Column(
        "facts",
        "string",
        "how the provider computed, and how far its outputs are from the CPU provider's; what a tool did to the file; "
        "as a JSON object; null on cpu",
    ),
    Column("code", "string", "hash of the measuring code that made the row; null for rows made before it was kept"),
    Column(
        "unstable",
        "list<string>",
        "the statuses seen where repetitions of the run differ; null where they agree or it was not repeated",
    ),
)

ENVIRONMENTS: Tuple[Column, ...] = (
    Column("env_id", "string", "hash over Python, platform, device and every installed package but the test tools"),
    Column("release", "string", "the release asked for, as in the table of releases"),
    Column("spec", "string", "hash of the pins asked for: the same pins make the same environment"),
    Column("python", "string", "Python version, three parts"),
    Column("torch", "string", "torch version without the local part"),
    Column("torch_build", "string", "torch version as reported, with the local part (2.13.0+cpu)"),
    Column("packages", "string", "every installed package and version, as a JSON object"),
    Column("platform", "string", "operating system, kernel family and machine"),
    Column("cpu", "string", "the processor's model name"),
    Column("gpu", "string", "the GPU's name; null without one"),
    Column("run_id", "string", "the run that found it"),
    Column("measured_at", "timestamp", "when it was found, UTC"),
    Column("gate", "string", "good, or why the run is quarantined; null where no verdict was kept"),
    Column("planned", "int32", "cells planned in the run"),
    Column("rows", "int32", "rows of the run"),
    Column("repeated", "int32", "cells measured a second time, alone and with nothing shared; null where none were"),
    Column("differing", "list<string>", "of those, the cells whose second row differs, and in what"),
    Column("profile", "string", "companion packages: period, onnxscript-0.5.6, ...; null for newest"),
    Column("as_of", "string", "the day whose packages were installed: 2025-11-26; null where none was asked for"),
    Column("contributor", "string", "who handed in its rows, as they name themselves; null for this project's own"),
    Column("contributed_from", "string", "where they were measured, in the contributor's words: a board, a CI job"),
    Column("codes", "list<string>", "the measuring code of its rows (cells.code); null for runs before it was kept"),
    Column("shard", "string", "the part of the release's plan that the run took: 3/8; null for all of it"),
)

MESSAGES: Tuple[Column, ...] = (
    Column("message_id", "string", "first 16 hex digits of the text's sha256"),
    Column("text", "string", "the text: the real end of the error, or the warnings"),
)

CASES: Tuple[Column, ...] = (
    Column("case", "string", "case id"),
    Column("variant", "string", "plain or the name of a fix; one row each"),
    Column("corpus", "string", "documented, canary, or another corpus's name"),
    Column("title", "string", "one line"),
    Column("description", "string", "the rest of the case's docstring"),
    Column("theme", "string", "op family: the name of the case file"),
    Column("records", "list<string>", "entries of the list of known failures that the case covers"),
    Column("aten_ops", "list<string>", "torch operators, as torch names them"),
    Column("onnx_ops", "list<string>", "ONNX operators"),
    Column("sources", "list<string>", "owner/repo#number, a document, or seed:NNN"),
    Column("kind", "string", "plain or the fix's kind"),
    Column("note", "string", "the fix in one line"),
    Column("caution", "bool", "known to be wrong or partial"),
    Column("documented", "bool", "a source states this fix"),
    Column("changes_values", "bool", "the fix is meant to change values"),
    Column(
        "needs_torch", "string", "releases that can run the case at all (case), or that have the fix (version-upgrade)"
    ),
    Column("code", "string", "the variant's source code"),
    Column("case_hash", "string", "hash over the syntax tree of what is measured"),
)

CLAIMS: Tuple[Column, ...] = (
    Column("claim", "string", "claim id: case/number"),
    Column("case", "string", "case id"),
    Column("variant", "string", "variant the claim is about"),
    Column("record", "string", "entry of the list of known failures that the claim belongs to"),
    Column("source", "string", "the document that states it"),
    Column("says", "string", "what the source states, paraphrased"),
    Column("torch", "string", "versions it names, as a specifier"),
    Column("exporter", "string", "exporter it is about"),
    Column("opset", "string", "opsets it names"),
    Column(
        "runtime",
        "string",
        "versions of a runtime it names: onnxruntime<1.21; it is judged on how its files end on these. Null: on the "
        "runtime installed with each release",
    ),
    Column("expects", "string", "the documented outcome: statuses, stage, message, ops, facts as a JSON object"),
    Column(
        "outcome",
        "string",
        "reproduced, partly (on some of the cells), not-reproduced, pending (not measured yet), "
        "not-measured (cannot be)",
    ),
    Column(
        "why_not",
        "string",
        "of one not reproduced, as reviewed: contradicted, form-not-met (the source's own model, call or device is not "
        "the one measured), hidden-by-newer (by a newer runtime or helper), version-misattributed (so in others)",
    ),
    Column("reason", "string", "why: counts of cells, the differing outcome, or what could not be measured"),
    Column("cells", "list<string>", "cells that show it: torch/case/variant/exporter/opset"),
)

SOURCES: Tuple[Column, ...] = (
    Column("source", "string", "where a case is documented: owner/repo#number"),
    Column("kind", "string", "issue or pull request"),
    Column("state", "string", "open, closed or merged; a source that has no row is not known"),
    Column("as_of", "string", "the day that the state is of; empty where the copy looked at does not say its age"),
    Column("seen", "string", "the day on which it was looked up"),
)

DECLARED: Tuple[Column, ...] = (
    Column("release", "string", "the release in whose environment the table was read"),
    Column("by", "string", "torchscript (symbolic registry), dynamo (torchlib's registry), onnx (onnx.defs)"),
    Column("version", "string", "whose table it is: torch 2.8.0, onnx 1.23.2"),
    Column("op", "string", "operator as torch or ONNX names it: aten::add, aten::add.Tensor, Add"),
    Column("opsets", "string", "opsets with a rule (onnx: opsets that changed it): 7-9,11"),
)

GRAPHS: Tuple[Column, ...] = (
    Column("bundle", "string", "the bundle whose file this is: its name was computed from the file again"),
    Column("nodes", "int32", "operators in the picture; files with more than 40 have no row"),
    Column(
        "graph",
        "string",
        "the main graph as a JSON object: nodes (op, inputs, outputs, number of constants), inputs, outputs, types",
    ),
)

AUDIT: Tuple[Column, ...] = (
    Column("torch", "string", "the release whose published cells were measured again by a plain script"),
    Column("measured_at", "timestamp", "when they were, UTC"),
    Column("seed", "int64", "the seed of the sample"),
    Column("cells", "int32", "cells of the release in the sample"),
    Column("agreeing", "int32", "of them, those that ended at the same stage with the same status and message"),
    Column("differing", "list<string>", "the others: cell, what is published and what the script found"),
)

OPERATORS: Tuple[Column, ...] = (
    Column("torch", "string", "the release"),
    Column("op", "string", "operator as torch's own database names it: nn.functional.grid_sample, div.floor_rounding"),
    Column("dtype", "string", "dtype of the first tensor; null where the whole operator is left out"),
    Column(
        "form",
        "string",
        "null: a plain call; dynamic (its first axis is), inplace, out; float-left (a Python float on the left), "
        "with-int64 (a second tensor of this dtype)",
    ),
    Column("exporter", "string", "torchscript-trace or dynamo; null where nothing is measured"),
    Column("opset", "int32", "opset asked for"),
    Column("calls", "int32", "calls that were measured: sample inputs of the database"),
    Column("passing", "int32", "of them, those that pass"),
    Column("status", "string", "the worst status of the calls; skip where nothing is measured"),
    Column("sample", "string", "the first call that does not pass: plain, shape, arguments"),
    Column("arguments", "string", "what each call is given, a line each (in the first dtype): plain: f32[2, 3], 1"),
    Column("signature", "string", "how it ends; with the status skip the reason"),
    Column("ops", "string", "operators of the first file that passes, with counts"),
)

TABLES: Dict[str, Tuple[Column, ...]] = {
    "cells": CELLS,
    "runs": RUNS,
    "environments": ENVIRONMENTS,
    "messages": MESSAGES,
    "cases": CASES,
    "claims": CLAIMS,
    "sources": SOURCES,
    "declared": DECLARED,
    "graphs": GRAPHS,
    "audit": AUDIT,
    "operators": OPERATORS,
}


def make_cell_key(
    case_hash: str, measuring: int, case: str, variant: str, exporter: str, opset: Optional[int], provider: str
) -> str:
    """What makes a cell of an environment new: the same key is never measured twice on the same pins."""
    number = "-" if opset is None else str(int(opset))
    return ":".join((case_hash, str(int(measuring)), case, variant, exporter, number, provider))
