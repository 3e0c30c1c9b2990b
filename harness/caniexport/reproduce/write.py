"""A cell as one Python file: exact pins in PEP 723 metadata, the module's own source, the export call, the check.

The file imports torch, onnx and onnxruntime and nothing of ours; it prints the status and the error, and ends with 0
where they are those of the row. An environment case becomes its packages and its line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from caniexport.measure.environment_cases import wanted
from caniexport.model.case import EnvironmentCase, Variant
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import StoreError
from caniexport.model.status import Status
from caniexport.model.tensors import Spec
from caniexport.reproduce import parts, stages
from caniexport.reproduce.call import Call
from caniexport.reproduce.source import VariantSource
from caniexport.reproduce.values import WIDTH, docstring, is_drawn, metadata, pins, quoted, written
from caniexport.worker.compare import TOLERANCES, tolerance
from caniexport.worker.envinfo import TEST_TOOLS
from caniexport.worker.failures import OPSET_REFUSED

#: what a person looks for first in the list of pins
_FIRST = ("torch", "onnx", "onnxscript", "onnx-ir", "onnxruntime", "onnxruntime-gpu", "numpy", "protobuf")
#: torch's wheel names its own CUDA libraries exactly; a run on the CPU is the same without
_GPU_LIBRARIES = re.compile(r"^(nvidia-|cuda-|triton$|pytorch-triton)")
_RELEASE = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})(?![0-9])")
_MESSAGE_LINES = 8
#: these end the process, or take so long that another has to end it
_WATCHED = frozenset({Status.CRASH.value, Status.TIMEOUT.value, Status.OOM.value})
_SECONDS = 120


@dataclass(frozen=True)
class ShownCell:
    """The cell that a script shows: what was asked for, and the row it must come to.

    ``packages`` are the installed versions by name, ``message`` the row's text, ``python`` the minor version (3.12).
    ``stale`` says that the case has changed since the row was measured.
    """

    variant: str
    torch: str
    python: str
    exporter: str
    opset: int | None
    stage: str
    status: str
    provider: str = "cpu"
    measured_at: str = ""
    message: str = ""
    stale: bool = False
    packages: Mapping[str, str] = field(default_factory=dict)


def script(loaded: LoadedCase, shown: ShownCell) -> str:
    """The file's text, for one variant of a case as ``shown``."""
    if issubclass(loaded.cls, EnvironmentCase):
        return _environment_script(loaded, shown)
    variant = loaded.variants[shown.variant]
    source = VariantSource(loaded.text, variant)
    version = _version(shown.torch)
    call = Call(variant, source, version, variant.exporter(shown.exporter), variant.opset(shown.opset))
    text = "\n\n\n".join(block.strip("\n") for block in _body(loaded, variant, source, call, shown))
    # the imports are known when everything that uses them has been written
    requirements, unnamed = _pins(shown)
    head = [metadata(shown.python, requirements), _words(loaded, shown, unnamed), _imports(source, call, text)]
    return "\n".join(head) + "\n\n" + text + "\n"


def _pins(shown: ShownCell) -> tuple[list[str], list[str]]:
    """The requirements, and the packages whose name or version no index can have."""
    skipped = {name for name in shown.packages if name in TEST_TOOLS}
    if shown.provider == "cpu":
        skipped |= {name for name in shown.packages if _GPU_LIBRARIES.match(name)}
    names = [name for name in _FIRST if name in shown.packages]
    names += sorted(set(shown.packages) - skipped - set(names))
    return pins(shown.packages, [name for name in names if name not in skipped])


def _words(loaded: LoadedCase, shown: ShownCell, unnamed: list[str]) -> str:
    """The file's docstring: what it shows and what was measured."""
    opset = "" if shown.opset is None else f", opset {shown.opset}"
    where = f"{loaded.id}/{shown.variant}: torch {shown.torch}, {shown.exporter}{opset}"
    fix = loaded.variants[shown.variant].fix
    lines = [loaded.cls.title(), "", where]
    if fix is not None:
        lines.append(f"This is a fix ({fix.kind}): {fix.note}")
    lines += textwrap.wrap(f"Sources: {', '.join(loaded.cls.sources)}", WIDTH)
    on = f" on {shown.measured_at[:10]}" if shown.measured_at else ""
    lines += ["", f"Measured{on}: {shown.status} at {shown.stage}", *_message(shown.message)]
    if shown.stale:
        lines += ["", "The case has changed since then: the result may differ."]
    if unnamed:
        lines += ["", f"Left out of the pins, for no index can have them: {', '.join(unnamed)[:WIDTH]}"]
    lines += ["", "`uv run --script FILE` makes the environment and runs it. Exit code 0: it is as it was measured."]
    return docstring("\n".join([*lines, ""])) + "\n"


def _message(text: str) -> list[str]:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    cut = [textwrap.shorten(line, WIDTH - 4, placeholder=" …") or line[:WIDTH] for line in lines[:_MESSAGE_LINES]]
    return [f"    {line}" for line in [*cut, *["…"] * (len(lines) > _MESSAGE_LINES)]]


def _imports(source: VariantSource, call: Call, text: str) -> str:
    ours = {f"import {name}" for name in ("re", "sys", *call.modules)}
    if "zlib." in text:
        ours.add("import zlib")
    if "subprocess." in text:
        ours |= {"import subprocess", "import threading"}
    theirs = {"import numpy as np", "import onnx", "import onnxruntime", "import torch"}
    case = [line for line in source.imports() if line not in ours | theirs]
    third = [line for line in case if _is_third_party(line)]
    standard = sorted({*ours, *(line for line in case if line not in third)}, key=_import_order)
    return "\n".join([*standard, "", *sorted({*theirs, *third}, key=_import_order)])


def _is_third_party(line: str) -> bool:
    import sys

    return line.split()[1].split(".")[0] not in sys.stdlib_module_names


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split(maxsplit=1)[1]


def _body(loaded: LoadedCase, variant: Variant, source: VariantSource, call: Call, shown: ShownCell) -> Iterator[str]:
    """Top-level definitions in order; what they take from the case is asked for before its helpers are listed."""
    run = stages.function(call, shown.provider)
    function = f"def export(model, args{', example' * call.needs_outputs}):\n{call.body()}"
    yield _constants(variant, call, shown)
    yield from source.helpers()
    yield from _modules(variant, source)
    if is_drawn(variant.inputs):
        yield parts.DRAW
    yield _inputs(loaded.id, variant)
    if source.setup:
        yield parts.FILL.format(prefix=quoted(f"{loaded.id}:"))
    yield function
    yield parts.TENSORS
    yield parts.FLAT
    yield parts.EAGER
    yield parts.FEEDS if all(isinstance(item, Spec) for one in variant.inputs for item in one) else parts.FEEDS_NESTED
    yield parts.DIFFERENCES
    yield run
    yield parts.MAIN
    yield parts.WATCH.format(seconds=_SECONDS) if shown.status in _WATCHED else parts.RUN_MAIN


def _constants(variant: Variant, call: Call, shown: ShownCell) -> str:
    case = variant.case
    widths = {name: tolerance(name, case.rtol, case.atol) for name in TOLERANCES}
    return "\n".join(
        [
            f"MEASURED = {quoted(f'{shown.status} at {shown.stage}')}",
            f"ARGUMENTS = {written(call.arguments)}",
            f"TOLERANCES = {written(widths)}  # rtol, atol; other types are exact",
            f'REFUSED = re.compile(r"{OPSET_REFUSED.pattern}")',
        ]
    )


def _modules(variant: Variant, source: VariantSource) -> Iterator[str]:
    name = variant.case.__name__
    lines = [f"class {name}(torch.nn.Module):"]
    if source.setup:
        head, _, rest = source.setup.partition("\n")
        lines += [textwrap.indent(f"{head}\n    super().__init__()\n{rest}", "    "), ""]
    yield "\n".join([*lines, textwrap.indent(source.forward, "    ")])
    if source.plain:
        plain = textwrap.indent(source.plain, "    ")
        yield f'class Failing{name}({name}):\n    """The failing form, which the fix must equal."""\n\n{plain}'
    if source.reference:
        yield source.reference.replace("def reference(self", "def reference(module", 1).replace("self.", "module.")


def _inputs(case: str, variant: Variant) -> str:
    sets = ["# the first is exported, all are run", "INPUTS = ["]
    for index, arguments in enumerate(variant.inputs):
        texts = [written(item, f"{case}/{index}/{position}", " " * 8) for position, item in enumerate(arguments)]
        flat = f"    ({', '.join(texts)}{',' * (len(texts) == 1)}),"
        if len(flat) > WIDTH or "\n" in flat:
            flat = "\n".join(["    (", *(f"        {text}," for text in texts), "    ),"])
        sets.append(flat)
    return "\n".join([*sets, "]"])


def _environment_script(loaded: LoadedCase, shown: ShownCell) -> str:
    """The packages of an environment case and its line: whether they install is the first half of the answer."""
    assert issubclass(loaded.cls, EnvironmentCase)
    what = wanted(loaded.cls, loaded.environment_variants[shown.variant])
    on = f" on {shown.measured_at[:10]}" if shown.measured_at else ""
    lines = [loaded.cls.title(), "", f"{loaded.id}/{shown.variant}: these packages on Python {what.python}", ""]
    lines += [f"Measured{on}: {shown.status} at {shown.stage}", *_message(shown.message), ""]
    lines += ["`uv run --no-build --script FILE` makes the environment (stage resolve) and runs it (stage import)."]
    head = metadata(what.python, list(what.packages))
    return f"{head}\n{docstring(chr(10).join([*lines, '']))}\n\n{what.code.strip()}\n"


def _version(torch: str) -> tuple[int, int]:
    numbers = _RELEASE.match(torch)
    if numbers is None:
        raise StoreError(f"the row's torch is {torch!r}, which is no release: it cannot be reproduced")
    return int(numbers[1]), int(numbers[2])
