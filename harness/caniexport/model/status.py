"""The words of a row: stages, statuses, exporters and fix kinds, each in one place."""

from __future__ import annotations

from enum import Enum


class Stage(str, Enum):
    """How far a cell got, in the order in which a cell passes through them."""

    RESOLVE = "resolve"
    IMPORT = "import"
    EAGER = "eager"
    EXPORT = "export"
    CHECK = "check"
    TOOL = "tool"
    LOAD = "load"
    PARSE = "parse"
    BUILD = "build"
    PLACE = "place"
    RUN = "run"
    COMPARE = "compare"
    DONE = "done"


class Status(str, Enum):
    """What happened. The first nine are ordered from best to worst."""

    PASS = "pass"
    DEGRADED = "degraded"
    UNSUPPORTED = "unsupported"
    FAIL = "fail"
    TIMEOUT = "timeout"
    OOM = "oom"
    CRASH = "crash"
    #: no row has it: what an answer says of a cell whose repetitions differ (its column ``unstable``)
    UNSTABLE = "unstable"
    MISMATCH = "mismatch"
    SKIP = "skip"
    NOT_RUN = "not_run"
    INVALID = "invalid"


#: Statuses that say something about torch, the exporter or the runtime.
MEASURED = frozenset(
    {
        Status.PASS,
        Status.DEGRADED,
        Status.UNSUPPORTED,
        Status.FAIL,
        Status.TIMEOUT,
        Status.OOM,
        Status.CRASH,
        Status.UNSTABLE,
        Status.MISMATCH,
    }
)

#: Statuses under which a user's model works.
WORKS = frozenset({Status.PASS, Status.DEGRADED})


class Exporter(str, Enum):
    """The ways torch turns a module into an ONNX file."""

    TRACE = "torchscript-trace"
    SCRIPT = "torchscript-script"
    DYNAMO = "dynamo"
    DEFAULT = "default"


#: as users mostly call them first
EXPORTERS = tuple(member.value for member in Exporter)


class Checker(str, Enum):
    """What onnx's checker says of a file. It is a fact beside the row: the runtime decides whether the file runs."""

    OK = "ok"
    #: its strict check (with shape inference) refuses the file
    STRICT = "strict"
    #: its plain check refuses it too
    PLAIN = "plain"
    #: it ends its process with a signal
    CRASH = "crash"


class FixKind(str, Enum):
    """What sort of change a fix asks of its user."""

    REWRITE = "rewrite"
    RAISE_OPSET = "raise-opset"
    CUSTOM_SYMBOLIC = "custom-symbolic"
    AUTOGRAD_FUNCTION = "autograd-function"
    EXPORT_OPTION = "export-option"
    MODULE_SWAP = "module-swap"
    VERSION_UPGRADE = "version-upgrade"
    GRAPH_SURGERY = "graph-surgery"
    RUNTIME_OPTION = "runtime-option"


class WhyNot(str, Enum):
    """Why what a source says is not what was measured: a reviewed word beside a claim."""

    #: the form of the source was measured as it says, and does otherwise
    CONTRADICTED = "contradicted"
    #: the source's own form (its model, call, device or machine) is not the one measured
    FORM = "form-not-met"
    #: a runtime or helper (onnxscript, onnx) newer than the source does it right, or otherwise
    NEWER = "hidden-by-newer"
    #: it is so in other versions than those that the source names
    VERSION = "version-misattributed"
