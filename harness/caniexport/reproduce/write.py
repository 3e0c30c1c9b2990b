"""A cell as one Python file: exact pins in PEP 723 metadata, the case's own source, and the plain script.

The file imports torch, onnx and onnxruntime and nothing of ours; it prints the status and the error, and ends with 0
where they are those of the row. An environment case becomes its packages and its line.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from caniexport.measure.environment_cases import resolve_variant
from caniexport.model.architectures import ArchitectureCase
from caniexport.model.case import PLAIN, EnvironmentCase, Variant
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import StoreError
from caniexport.model.runtimes import PROVIDERS
from caniexport.model.status import Exporter, Status
from caniexport.reproduce.export_call import export_call
from caniexport.reproduce.model_script import write_model_script
from caniexport.reproduce.source import VariantSource, find_definitions, find_imports
from caniexport.reproduce.values import (
    WIDTH,
    Source,
    format_docstring,
    format_metadata,
    format_requirement,
    format_value,
)
from caniexport.worker.envinfo import TEST_TOOLS

#: what a person looks for first in the list of pins
_FIRST = ("torch", "onnx", "onnxscript", "onnx-ir", "onnxruntime", "onnxruntime-gpu", "numpy", "protobuf")
#: torch's wheel names its own CUDA libraries exactly; a run on the CPU is the same without
_GPU_LIBRARIES = re.compile(r"^(nvidia-|cuda-|triton$|pytorch-triton)")
_RELEASE = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})(?![0-9])")
_MESSAGE_LINES = 8
#: these end the process, or take so long that another has to end it
_APART = frozenset({Status.CRASH.value, Status.TIMEOUT.value, Status.OOM.value})
_SECONDS = 120
_PLAIN = Path(__file__).with_name("plain.py").read_text(encoding="utf-8")
_CALLS = {
    Exporter.TRACE.value: "by_torchscript",
    Exporter.SCRIPT.value: "by_script",
    Exporter.DYNAMO.value: "by_dynamo",
    Exporter.DEFAULT.value: "by_default",
}
#: what the plain script's cells have of a variant where it is not that script's default
_SETTINGS = ("changes_values", "dynamic", "session")
_SETTINGS_OF_THE_CASE = ("named", "output_names", "rtol", "atol")
#: the case's own code, by the name that it has in the plain script
_CODE = {"options": "export", "prepare": "prepare", "patch": "patch", "route": "route", "surgery": "surgery"}
#: a class of ours that a case imports where it needs it; the plain script has it under the same name
_OURS = re.compile(r"^ +from caniexport\.\S+ import (\w+)\n\n?", re.MULTILINE)


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


def name_export_function(variant: Variant, exporter: str, torch: str) -> str:
    """The function of the plain script that writes a file by an exporter of a release."""
    found = _CALLS[variant.exporter(exporter)]
    return "by_dynamo_export" if found == "by_dynamo" and parse_release(torch) < (2, 5) else found


def parse_release(torch: str) -> tuple[int, int]:
    """``(2, 8)`` of a row's torch."""
    numbers = _RELEASE.match(torch)
    if numbers is None:
        raise StoreError(f"the row's torch is {torch!r}, which is no release: it cannot be reproduced")
    return int(numbers[1]), int(numbers[2])


def write_script(loaded: LoadedCase, shown: ShownCell) -> str:
    """The file's text, for one variant of a case as ``shown``."""
    if issubclass(loaded.cls, EnvironmentCase):
        return _environment_script(loaded, shown)
    variant = loaded.variants[shown.variant]
    requirements, unnamed = _find_pins(shown)
    head = f"{format_metadata(shown.python, requirements)}\n{_write_docstring(loaded, shown, unnamed)}"
    if issubclass(loaded.cls, ArchitectureCase):
        ended = (shown.status, shown.stage)
        return f"{head}\n\n{write_model_script(loaded.cls, variant, shown.exporter, shown.opset, ended)}"
    source = VariantSource(loaded.text, variant)
    cell, call = _cell(loaded.id, variant, source, shown)
    apart = f"apart(cell, {_SECONDS})" if shown.status in _APART else "measure(cell, print)"
    parts = [part for part in (*source.helpers(), *_modules(variant, source), call, cell) if part]
    case, ours = [_OURS.sub("", part) for part in parts], _OURS.findall("\n".join(parts))
    end = f'if __name__ == "__main__":\n    sys.exit(report({apart}, MEASURED))'
    shared, names = _plain_part(cell, call, apart, *dict.fromkeys(ours))
    first = f"MEASURED = {f'{shown.status} at {shown.stage}'!r}"
    text = "\n\n\n".join(part.strip("\n") for part in [first, *case, shared, end])
    bound = {loaded.text: _names("\n".join(case)), _PLAIN: names, "import sys": {"sys"}}
    lines = sorted(find_imports(bound), key=_import_order)
    third = [line for line in lines if line.split()[1].split(".")[0] not in sys.stdlib_module_names]
    standard = "\n".join(line for line in lines if line not in third)
    return "\n\n".join([head, standard, "\n".join(third), text]) + "\n"


@cache
def _plain_part(*used: str) -> tuple[str, set[str]]:
    """What a script takes of the plain one, and the names in it."""
    roots = ast.parse("\n".join(["PlainCell, draw, report", *used]))
    words = "# how a cell is measured: the same for every case"
    text = "\n\n\n".join([words, *find_definitions(_PLAIN, [roots])])
    return text, _names(text)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split(maxsplit=1)[1]


def _find_pins(shown: ShownCell) -> tuple[list[str], list[str]]:
    """The requirements, and the packages whose name or version no index can have."""
    skipped = {name for name in shown.packages if name in TEST_TOOLS}
    if shown.provider == "cpu":
        skipped |= {name for name in shown.packages if _GPU_LIBRARIES.match(name)}
    names = [name for name in dict.fromkeys([*_FIRST, *sorted(shown.packages)]) if name in shown.packages]
    found = {name: format_requirement(name, shown.packages[name]) for name in names if name not in skipped}
    return [text for text in found.values() if text], [name for name, text in found.items() if not text]


def _write_docstring(loaded: LoadedCase, shown: ShownCell, unnamed: list[str]) -> str:
    """The file's docstring: what it shows and what was measured."""
    opset = "" if shown.opset is None else f", opset {shown.opset}"
    lines = [loaded.cls.title(), "", f"{loaded.id}/{shown.variant}: torch {shown.torch}, {shown.exporter}{opset}"]
    fix = loaded.variants[shown.variant].fix
    if fix is not None:
        lines.append(f"This is a fix ({fix.kind}): {fix.note}")
    lines += textwrap.wrap(f"Sources: {', '.join(loaded.cls.sources)}", WIDTH)
    lines += ["", *_measured(shown)]
    if shown.stale:
        lines += ["", "The case has changed since then: the result may differ."]
    if unnamed:
        lines += ["", f"Left out of the pins, for no index can have them: {', '.join(unnamed)[:WIDTH]}"]
    lines += ["", "`uv run --script FILE` makes the environment and runs it. Exit code 0: it is as it was measured."]
    return format_docstring("\n".join([*lines, ""]))


def _measured(shown: ShownCell) -> list[str]:
    """How the row ended, with the first lines of its message."""
    on = f" on {shown.measured_at[:10]}" if shown.measured_at else ""
    lines = [line for line in shown.message.strip().splitlines() if line.strip()]
    cut = [textwrap.shorten(line, WIDTH - 4, placeholder=" …") or line[:WIDTH] for line in lines[:_MESSAGE_LINES]]
    more = ["…"] * (len(lines) > _MESSAGE_LINES)
    return [f"Measured{on}: {shown.status} at {shown.stage}", *(f"    {line}" for line in [*cut, *more])]


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


def _cell(case: str, variant: Variant, source: VariantSource, shown: ShownCell) -> tuple[str, str]:
    """The function that makes the plain script's cell, and the one that exports."""
    if shown.provider not in PROVIDERS:
        raise StoreError(
            f"the row's provider is {shown.provider!r}, which cannot be reproduced ({', '.join(PROVIDERS)} can)"
        )
    name = variant.case.__name__
    inputs = [
        tuple(Source(format_value(part, f"{case}/{index}/{place}", 12)) for place, part in enumerate(given))
        for index, given in enumerate(variant.inputs)
    ]
    names = list(inspect.signature(variant.forward).parameters)[1 : 1 + len(variant.inputs[0])]
    given = {setting: getattr(variant, setting) for setting in _SETTINGS}
    given |= {setting: getattr(variant.case, setting) for setting in _SETTINGS_OF_THE_CASE}
    given |= {"names": names, "opset": variant.opset(shown.opset)}
    code = {setting: text for setting, ours in _CODE.items() if (text := source.expression(ours))}
    function = "by_route" if "route" in code else name_export_function(variant, shown.exporter, shown.torch)
    # what is prepared may be scripted already, which only the release can say
    as_it_is = {"prepare", "route"} & {*code}
    call = "" if as_it_is else export_call(function, given, parse_release(shown.torch), code.get("options", ""))
    if call and "own_options" not in call:
        code.pop("options", None)
    settings = {
        "case": repr(case),
        "module": name,
        "names": format_value(names),
        "inputs": format_value(inputs, indent=8),
        "export": "export_call" if call else function,
        "opset": repr(given["opset"]),
        "shows_checker": "True",
    }
    if variant.name != PLAIN:
        settings["failing"] = f"Failing{name}" if source.plain else name
    if source.reference:
        settings["reference"] = "reference"
    if shown.provider != "cpu":
        settings["provider"] = repr(PROVIDERS[shown.provider])
    usual = {"named": True}
    settings |= {
        setting: format_value(value, indent=8)
        for setting, value in given.items()
        if setting not in settings and value is not None and value != usual.get(setting, type(value)())
    }
    # the call has them already
    for setting in ("dynamic", "named", "output_names") if call else ():
        settings.pop(setting, None)
    settings |= code
    lines = "".join(f"        {setting}={text},\n" for setting, text in settings.items())
    return f"def cell():\n    return PlainCell(\n{lines}    )", call


def _environment_script(loaded: LoadedCase, shown: ShownCell) -> str:
    """The packages of an environment case and its line: whether they install is the first half of the answer."""
    assert issubclass(loaded.cls, EnvironmentCase)
    what = resolve_variant(loaded.cls, loaded.environment_variants[shown.variant])
    lines = [loaded.cls.title(), "", f"{loaded.id}/{shown.variant}: these packages on Python {what.python}", ""]
    lines += [*_measured(shown), ""]
    lines += ["`uv run --no-build --script FILE` makes the environment (stage resolve) and runs it (stage import)."]
    head = format_metadata(what.python, list(what.packages))
    return f"{head}\n{format_docstring(chr(10).join([*lines, '']))}\n\n{what.code.strip()}\n"
