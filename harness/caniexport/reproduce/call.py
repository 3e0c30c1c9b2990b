"""The export call of one cell as a user of that release writes it: ``worker/exporters.py`` as source text."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from typing import Any

from caniexport.model.case import Variant
from caniexport.model.status import Exporter
from caniexport.reproduce.source import VariantSource
from caniexport.reproduce.values import WIDTH, quoted, written
from caniexport.worker.exporters import argument_names

_INDENT = "    "


@dataclass(frozen=True)
class Call:
    """What is exported and how: a variant, the release's ``version`` (2, 8), exporter and opset as they are used."""

    variant: Variant
    source: VariantSource
    version: tuple[int, int]
    exporter: str
    opset: int | None

    @property
    def arguments(self) -> list[str]:
        """Names of the module's arguments that have inputs."""
        return list(argument_names(self.variant.forward, len(self.variant.inputs[0])))

    @property
    def needs_outputs(self) -> bool:
        """Whether the call takes the outputs of an eager run (``example_outputs``, up to 1.9)."""
        return self._old_scripting and (self._scripts or self.variant.prepare is not None)

    def body(self) -> str:
        """Statements of a function ``export(model, args, example)`` that returns the serialised file."""
        lines = []
        if self.variant.prepare is not None:
            lines.append(f"model = {self._called('prepare', 'model, args')}")
        lines += self._patched(self._statements())
        return textwrap.indent("\n".join(lines), _INDENT)

    def surgery(self) -> str:
        """The statement that changes the exported ``model``; empty for none."""
        return f"model = {self._called('surgery', 'model')}" if self.variant.surgery is not None else ""

    @property
    def modules(self) -> set[str]:
        """Modules of the standard library that the statements use."""
        if self.exporter == Exporter.DEFAULT.value:
            return {"os", "tempfile"}
        return set() if self.exporter == Exporter.DYNAMO.value else {"io"}

    @property
    def _scripts(self) -> bool:
        return self.exporter == Exporter.SCRIPT.value

    @property
    def _old_scripting(self) -> bool:
        torchscript = self.exporter in (Exporter.TRACE.value, Exporter.SCRIPT.value)
        return torchscript and self.version < (1, 10)

    def _patched(self, statements: list[str]) -> list[str]:
        """The statements within the case's patch of the exporter, if it has one."""
        value = self.source.expression("patch")
        if value is None:
            return statements
        inner = [textwrap.indent(line, _INDENT) for line in statements]
        if isinstance(value, ast.Lambda) and len(value.args.args) == 1:
            return [self._opset_as(value.args.args[0].arg), f"with {self.source.segment(value.body)}:", *inner]
        return [self._opset_as("opset"), f"with {self._called('patch', 'opset')}:", *inner]

    def _opset_as(self, name: str) -> str:
        """The statement that gives a patch the opset of the call; one that names none has the release's own."""
        if self.opset is not None or self.version < (1, 2):
            return f"{name} = {self.opset}"
        if self.version < (1, 12):
            return f"from torch.onnx.symbolic_helper import _default_onnx_opset_version as {name}"
        constant = "ONNX_DEFAULT_OPSET" if self.version >= (1, 13) else "onnx_default_opset"
        return f"from torch.onnx._constants import {constant} as {name}"

    def _called(self, name: str, arguments: str) -> str:
        value = self.source.expression(name)
        assert value is not None
        if isinstance(value, ast.FunctionDef):
            return f"{value.name}({arguments})"
        text = self.source.segment(value)
        return f"{text}({arguments})" if isinstance(value, ast.Name | ast.Attribute) else f"({text})({arguments})"

    def _statements(self) -> list[str]:
        if self.exporter == Exporter.DYNAMO.value:
            return self._dynamo_export() if self.version < (2, 5) else self._dynamo()
        if self.exporter == Exporter.DEFAULT.value:
            return self._default()
        return self._torchscript()

    def _torchscript(self) -> list[str]:
        options = self._names()
        if self.opset is not None and self.version >= (1, 1):
            options["opset_version"] = str(self.opset)
        if self.variant.dynamic and self.version >= (1, 2):
            options["dynamic_axes"] = written(_axes(self.variant), indent=_INDENT)
        if self.version >= (2, 5):
            options["dynamo"] = "False"
        lines = []
        scripted = "model = torch.jit.script(model)"
        if self._scripts:
            prepared = self.variant.prepare is not None
            test = "if not isinstance(model, torch.jit.ScriptModule):\n" + _INDENT if prepared else ""
            lines.append(test + scripted)
        if self._scripts and self._old_scripting:
            options["example_outputs"] = "example"
        lines.append("buffer = io.BytesIO()")
        return [*lines, *self._export(["model", "args", "buffer"], options), "return buffer.getvalue()"]

    def _dynamo(self) -> list[str]:
        options = {**self._names(), "dynamo": "True"}
        if self.opset is not None:
            options["opset_version"] = str(self.opset)
        if self.variant.dynamic:
            options["dynamic_shapes"] = self._dynamic_shapes()
        lines = self._export(["model", "args"], options)
        return [*lines[:-1], f"program = {lines[-1]}", "return program.model_proto.SerializeToString()"]

    def _dynamo_export(self) -> list[str]:
        after = {"export_options": "torch.onnx.ExportOptions(dynamic_shapes=True)"} if self.variant.dynamic else {}
        lines = self._export(["model", "*args"], {}, after, "torch.onnx.dynamo_export")
        return [*lines[:-1], f"program = {lines[-1]}", "return program.model_proto.SerializeToString()"]

    def _default(self) -> list[str]:
        after = {}
        if self.variant.dynamic and self.version >= (1, 2):
            after["input_names"] = written(self.arguments if self.variant.case.named else [])
            after["dynamic_axes"] = written(_axes(self.variant), indent=_INDENT * 2)
        lines = ['path = os.path.join(folder, "model.onnx")', *self._export(["model", "args", "path"], {}, after)]
        if self.version >= (2, 9):
            # dynamo writes weights to a second file
            lines.append("return onnx.load(path).SerializeToString()")
        else:
            lines += ['with open(path, "rb") as file:', _INDENT + "return file.read()"]
        return ["with tempfile.TemporaryDirectory() as folder:", *(textwrap.indent(line, _INDENT) for line in lines)]

    def _names(self) -> dict[str, str]:
        found = {}
        if self.variant.case.named and self.arguments:
            found["input_names"] = written(self.arguments)
        if self.variant.case.output_names:
            found["output_names"] = written(list(self.variant.case.output_names))
        return found

    def _dynamic_shapes(self) -> str:
        parts = [f"{quoted(name)}: {self._dims(self.variant.dynamic.get(name))}" for name in self.arguments]
        flat = "{" + ", ".join(parts) + "}"
        if len(flat) < WIDTH - 30:
            return flat
        return "\n".join(["{", *(f"{_INDENT * 2}{part}," for part in parts), _INDENT + "}"])

    def _dims(self, axes: Any) -> str:
        if not axes:
            return "None"
        named = axes if isinstance(axes, dict) else {axis: f"axis_{axis}" for axis in axes}
        return "{" + ", ".join(f"{axis}: {self._dim(name)}" for axis, name in named.items()) + "}"

    def _dim(self, name: str) -> str:
        # 2.5 cannot leave it to the exporter which sizes a dimension takes
        return "torch.export.Dim.DYNAMIC" if self.version >= (2, 6) else f"torch.export.Dim({quoted(str(name))})"

    def _export(
        self,
        positional: list[str],
        options: dict[str, str],
        after: dict[str, str] | None = None,
        function: str = "torch.onnx.export",
    ) -> list[str]:
        """The call; the case's own options replace ``options``, and ``after`` replaces theirs."""
        own = self.source.expression("export")
        literal = _literal(self.source, own)
        late = "example_outputs" if self.variant.prepare is not None and self._old_scripting else ""
        if literal is not None and not late:
            return [_call(function, positional, {**options, **literal, **(after or {})})]
        lines = [f"options = {_dictionary(options)}"]
        if late and not self._scripts:
            lines += ["if isinstance(model, torch.jit.ScriptModule):", _INDENT + 'options["example_outputs"] = example']
        if literal is None:
            lines.append(f"options.update({self._called('export', '')})")
        elif literal:
            lines.append(f"options.update({_dictionary(literal)})")
        if after:
            lines.append(f"options.update({_dictionary(after)})")
        return [*lines, _call(function, [*positional, "**options"], {})]


def _axes(variant: Variant) -> dict[str, Any]:
    return {name: axes if isinstance(axes, list) else dict(axes) for name, axes in variant.dynamic.items()}


def _literal(source: VariantSource, node: ast.AST | None) -> dict[str, str] | None:
    """Options that are written down as a dictionary, in the case or in a lambda without arguments; else ``None``."""
    if node is None:
        return {}
    if isinstance(node, ast.Lambda):
        node = node.body
    if not isinstance(node, ast.Dict):
        return None
    found = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        found[key.value] = source.segment(value)
    return found


def _call(function: str, positional: list[str], options: dict[str, str]) -> str:
    parts = [*positional, *(f"{name}={value}" for name, value in options.items())]
    flat = f"{function}({', '.join(parts)})"
    if len(flat) <= WIDTH - 10 and "\n" not in flat:
        return flat
    return "\n".join([f"{function}(", *(f"{_INDENT}{part}," for part in parts), ")"])


def _dictionary(options: dict[str, str]) -> str:
    return "{" + ", ".join(f"{quoted(name)}: {value}" for name, value in options.items()) + "}"
