"""The function of a script that goes through the stages of its cell: :mod:`caniexport.worker.cell` as source text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from caniexport.model.case import PLAIN, Variant
from caniexport.model.errors import StoreError
from caniexport.model.runtimes import PROVIDERS
from caniexport.reproduce.call import Call
from caniexport.reproduce.source import VariantSource


def function(call: Call, provider: str) -> str:
    """``reproduce()``: goes through the stages, raises where one fails, returns what is not as it was asked for."""
    variant, source = call.variant, call.source
    example = ", example" * call.needs_outputs
    lines = [
        *_truth(variant, source, call),
        "",
        'begin("export")',
        f"model = {_made(source, variant.case.__name__)}.eval()",
        f"content = export(model, tensors(INPUTS[0]){example})",
        "",
        'begin("check")',
        "model = onnx.load_model_from_string(content)",
    ]
    if call.surgery():
        lines.append(call.surgery())
    lines += [
        'opset = next(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))',
        'print("    opset {}, IR version {}: {}".format(',
        '    opset, model.ir_version, " ".join(node.op_type for node in model.graph.node)))',
        "try:",
        "    onnx.checker.check_model(model, full_check=True)",
        "except TypeError:",
        "    pass  # before onnx 1.6 there is no strict check",
        "except Exception as error:  # the runtime decides whether the file runs",
        '    print("    onnx\'s checker refuses the file: {}".format(error))',
        "",
        *_session(variant, provider),
        "",
        "found, borrowed = [], []",
        "for index, inputs in enumerate(INPUTS):",
        '    begin("run", "input set {}: ".format(index))',
        "    given = feeds(session, inputs)",
        "    found.append(session.run(None, given))",
        "    borrowed += memory_of_inputs(index, found[-1], given)",
        "",
        'begin("compare")',
        "problems = []",
        "for index, (want, got) in enumerate(zip(expected, found)):",
        '    problems += differences(index, want, got, "onnxruntime")',
        "if problems or borrowed:",
        '    raise Mismatch("\\n".join(problems or borrowed))',
    ]
    if call.opset is None:
        lines.append("return []")
    else:
        text = f'"opset {call.opset} asked for, the file has {{}}".format(opset)'
        lines.append(f"return [] if opset == {call.opset} else [{text}]")
    words = '"""Go through the stages; returns what is not as it was asked for."""'
    return "def reproduce():\n" + textwrap.indent("\n".join([words, *lines]), "    ")


def _made(source: VariantSource, name: str) -> str:
    return f"with_measured_parameters({name}())" if source.setup else f"{name}()"


def _maker(source: VariantSource, name: str) -> str:
    return f"lambda: with_measured_parameters({name}())" if source.setup else name


def _truth(variant: Variant, source: VariantSource, call: Call) -> Iterator[str]:
    """The outputs that the export is held against; a fix is first held against the failing form itself."""
    name = variant.case.__name__
    yield 'begin("eager")'
    ends = variant.name == PLAIN or not source.plain
    if call.needs_outputs:
        yield f"example = eager({_maker(source, name)}, INPUTS[0])"
    outputs = f"[flat(eager({_maker(source, name)}, inputs)) for inputs in INPUTS]"
    if variant.name == PLAIN and source.reference:
        yield f"{outputs}  # it must run; what it gives is known to be wrong"
    else:
        yield f"{'expected' if ends and not source.reference else 'outputs'} = {outputs}"
    failing = f"Failing{name}" if source.plain else name
    if source.reference:
        yield f"module = {_made(source, failing)}.eval()"
        yield "with torch.no_grad():"
        yield "    expected = [flat(reference(module, *tensors(inputs))) for inputs in INPUTS]"
    elif ends:
        return
    else:
        yield f"expected = [flat(eager({_maker(source, failing)}, inputs)) for inputs in INPUTS]"
    if variant.name != PLAIN:
        yield from _equivalence(variant)


def _equivalence(variant: Variant) -> Iterator[str]:
    if variant.changes_values:
        yield "expected = outputs  # the fix is meant to change the values"
        return
    yield "problems = []"
    yield "for index, (want, got) in enumerate(zip(expected, outputs)):"
    yield '    problems += differences(index, want, got, "the fix")'
    yield "if problems:"
    yield '    raise Mismatch("\\n".join(problems))'


def _session(variant: Variant, provider: str) -> Iterator[str]:
    if provider not in PROVIDERS:
        raise StoreError(f"the row's provider is {provider!r}, which cannot be reproduced ({', '.join(PROVIDERS)} can)")
    wanted = PROVIDERS[provider]
    yield 'begin("load")'
    options = ""
    if variant.session:
        options = "settings, "
        yield "settings = onnxruntime.SessionOptions()"
        for name, value in variant.session.items():
            level = f"onnxruntime.GraphOptimizationLevel({value!r})"
            yield f"settings.{name} = {level if name == 'graph_optimization_level' else repr(value)}"
    yield f'session = onnxruntime.InferenceSession(model.SerializeToString(), {options}providers=["{wanted}"])'
    if provider != "cpu":
        yield f'if session.get_providers()[:1] != ["{wanted}"]:'
        yield '    raise RuntimeError("the session runs on {}".format(session.get_providers()))'
