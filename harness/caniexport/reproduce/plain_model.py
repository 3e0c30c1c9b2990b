"""Build a model from its package, export it and compare: what a measured cell of a whole model comes to.

Nothing of ours is imported. Weights and inputs are drawn by name, so that they are the same everywhere.
"""

import importlib
import inspect
import io
import math
import os
import sys
import tempfile
import zlib

import numpy as np
import onnx
import onnxruntime
import torch

#: what is built; its inputs by name, for each input set: dtype, shape, lowest, highest, or the values
MODEL = {}
#: the form, the call and the opset (None: that of the release)
CELL = {}
#: the status and the stage of the row
MEASURED = ""

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
PLACES = {
    "torchvision": ["", ".detection", ".segmentation", ".video", ".optical_flow", ".quantization"],
    "torchaudio": [""],
}


def find():
    """The class or function of the model."""
    package, name = MODEL["package"], MODEL["name"]
    if package == "timm":
        return importlib.import_module("timm").create_model
    if package == "ultralytics":
        return getattr(importlib.import_module("ultralytics.nn.tasks"), name)
    for place in PLACES.get(package, [None]):
        module = importlib.import_module(package if place is None else f"{package}.models{place}")
        if hasattr(module, name):
            return getattr(module, name)
    raise SystemExit(f"{package} has no {name}")


def build(attention=""):
    """The model with weights."""
    made, settings = find(), MODEL["settings"]
    torch.manual_seed(0)
    if MODEL["package"] == "transformers":
        config = made.config_class(**settings)
        if "use_cache" not in settings and hasattr(config, "use_cache"):
            config.use_cache = False
        model = made._from_config(config, **({"attn_implementation": attention} if attention else {}))
    elif MODEL["package"] == "timm":
        model = made(MODEL["name"], pretrained=False, **settings)
    else:
        model = made(**settings)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dtype.is_floating_point:
                parameter.copy_(weights(name, parameter))
        for name, buffer in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.copy_(weights(name, buffer))
    return model.eval()


def weights(name, like):
    """Values of a parameter: those of matrices keep the size of what passes, those of norms are about one."""
    random, shape = np.random.RandomState(zlib.crc32(name.encode())), tuple(like.shape)
    if len(shape) > 1:
        values = random.standard_normal(shape) / math.sqrt(max(1, int(np.prod(shape[1:]))))
    else:
        values = random.uniform(-0.3, 0.3, size=shape)
        values = values if name.endswith(("bias", "running_mean")) else 1 + values
    return torch.from_numpy(np.asarray(values, dtype="float32")).to(like.dtype)


def inputs(which):
    """The arrays of an input set by name."""
    found = {}
    for position, (name, (dtype, shape, low, high, data)) in enumerate(MODEL["inputs"][which].items()):
        random = np.random.RandomState(zlib.crc32(f"{MODEL['case']}/{which}/{position}".encode()))
        if data is not None:
            found[name] = np.array(data, dtype=dtype)
        elif dtype == "bool":
            found[name] = random.randint(0, 2, size=shape).astype("bool")
        elif "int" in dtype:
            found[name] = random.randint(int(low), int(high), size=shape).astype(dtype)
        else:
            found[name] = random.uniform(low, high, size=shape).astype(dtype)
    return found


def tensors(output):
    """The tensors of an output, in order."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for item in output for tensor in tensors(item)]
    return [output] if isinstance(output, torch.Tensor) else []


def wrap(model):
    """The model as a module that takes its inputs in order and gives tensors."""
    names = list(MODEL["inputs"][0])
    calls = {
        "keywords": f"self.model({', '.join(f'{name}={name}' for name in names)})",
        "positions": f"self.model({', '.join(names)})",
        "images": f"self.model([item for item in {names[0]}])",
        "dynamic_cache": f"decode(self.model, {', '.join(names)})",
        "static_cache": f"decode(self.model, {', '.join(names)})",
    }
    text = f"def forward(self, {', '.join(names)}):\n    return tensors({calls[MODEL['call']]})"
    space = {"tensors": tensors, "decode": decode}
    exec(text, space)
    module = type("Model", (torch.nn.Module,), {"forward": space["forward"]})()
    module.model = model
    return module.eval()


def decode(model, input_ids, attention_mask, *rest):
    """The logits of a decoder, and the keys and values after these tokens; ``rest`` has those before them."""
    caches = importlib.import_module("transformers.cache_utils")
    names, more = inspect.signature(model.forward).parameters, {}
    if MODEL["call"] == "static_cache":
        position, *rest = rest
        slots = rest[0].shape[2]
        cache = caches.StaticCache(config=model.config, max_cache_len=slots)
        for index, (key, value) in enumerate(zip(rest[::2], rest[1::2])):
            layer = cache.layers[index] = caches.StaticLayer(slots)
            layer.keys, layer.values = key.clone(), value.clone()
            layer.device, layer.dtype, layer.is_initialized = key.device, key.dtype, True
            layer.cumulative_length = position[0].clone()
        if "cache_position" in names:
            more["cache_position"] = position
    else:
        cache = caches.DynamicCache()
        for index, (key, value) in enumerate(zip(rest[::2], rest[1::2])):
            cache.update(key, value, index)
    more["cache" if "cache" in names else "past_key_values"] = cache
    output = model(input_ids=input_ids, attention_mask=attention_mask, use_cache=True, **more)
    return [output.logits] + [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def asked_attention():
    """The attention that a form asks for: by name, or as the operator of ONNX."""
    if CELL["variant"] == "eager_attention":
        return "eager"
    if CELL["variant"] != "attention_op":
        return ""

    def attend(_, query, key, value, attention_mask, scaling=None, **more):
        cap = more.get("softcap") or 0.0
        output = torch.onnx.ops.attention(query, key, value, attn_mask=attention_mask, scale=scaling, softcap=cap)[0]
        return output.transpose(1, 2).contiguous(), None

    masks = importlib.import_module("transformers.masking_utils")
    importlib.import_module("transformers.modeling_utils").AttentionInterface.register("onnx_attention", attend)
    masks.AttentionMaskInterface.register(
        "onnx_attention", lambda *args, **more: masks.sdpa_mask(*args, **{**more, "allow_is_causal_skip": False})
    )
    return "onnx_attention"


def export(module, arrays):
    """The bytes of the exported file."""
    names, dynamic = list(arrays), MODEL["dynamic"]
    args = tuple(torch.from_numpy(array.copy()) for array in arrays.values())
    exporter, opset = CELL["exporter"], CELL["opset"]
    if CELL["variant"] == "own_export":
        import onnx_ir
        from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter

        config = OnnxConfig(dynamic=True, opset_version=18)
        made = OnnxExporter().export(module.model, dict(zip(names, args)), config=config)
        return onnx_ir.to_proto(made.program).SerializeToString()
    if exporter == "default":
        options = {"input_names": names, "dynamic_axes": dynamic} if dynamic else {}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            torch.onnx.export(module, args, path, **options)
            return onnx.load(path).SerializeToString()
    if exporter == "torchscript-trace":
        options = {"dynamo": False} if TORCH >= (2, 5) else {}
        options.update({"dynamic_axes": dynamic} if dynamic else {})
        buffer = io.BytesIO()
        torch.onnx.export(module, args, buffer, input_names=names, opset_version=opset, **options)
        return buffer.getvalue()
    if TORCH < (2, 5):
        options = {"export_options": torch.onnx.ExportOptions(dynamic_shapes=True)} if dynamic else {}
        return torch.onnx.dynamo_export(module, *args, **options).model_proto.SerializeToString()
    options = {}
    if dynamic:
        anything = getattr(torch.export.Dim, "DYNAMIC", None)
        options["dynamic_shapes"] = {
            name: {axis: anything or torch.export.Dim(word) for axis, word in dynamic[name].items()}
            if name in dynamic
            else None
            for name in names
        }
    program = torch.onnx.export(module, args, input_names=names, dynamo=True, opset_version=opset, **options)
    return program.model_proto.SerializeToString()


def run(content, sets):
    """What onnxruntime gives for each input set."""
    model = onnx.load_from_string(content)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    yield "run"
    weights_in_file = {item.name for item in model.graph.initializer}
    wanted = [item.name for item in model.graph.input if item.name not in weights_in_file]
    for arrays in sets:
        by_name = all(name in arrays for name in wanted)
        feeds = {name: arrays[name] for name in wanted} if by_name else dict(zip(wanted, arrays.values()))
        yield session.run(None, feeds)


def differ(want, got):
    """Whether two lists of arrays differ beyond the tolerance, which follows the largest value."""
    if [(item.dtype, item.shape) for item in want] != [(item.dtype, item.shape) for item in got]:
        return True
    for left, right in zip(want, got):
        if left.dtype.kind != "f":
            if not np.array_equal(left, right):
                return True
            continue
        finite = np.abs(left[np.isfinite(left)]).max(initial=0.0)
        limit = max(MODEL["rtol"] / 10, MODEL["rtol"] / 10 * finite)
        if not np.allclose(right, left, rtol=MODEL["rtol"], atol=limit, equal_nan=True):
            return True
    return False


def measure():
    """The status and the stage."""
    stage = "eager"
    try:
        sets = [inputs(which) for which in range(len(MODEL["inputs"]))]
        try:
            model = build()
        except Exception as error:
            print(error)
            return "skip at eager"
        truth = []
        with torch.no_grad():
            for arrays in sets:
                output = wrap(build())(*[torch.from_numpy(array.copy()) for array in arrays.values()])
                truth.append([item.detach().numpy().copy() for item in output])
        stage = "export"
        asked = asked_attention()
        module = wrap(build(asked) if asked else model)
        content = export(module, sets[0])
        stage = "load"
        outputs = run(content, sets)
        stage = next(outputs)
        found = list(outputs)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return f"fail at {stage}"
    if any(differ(want, got) for want, got in zip(truth, found)):
        return "mismatch at compare"
    return "pass at done"


if __name__ == "__main__":
    found = measure()
    print(f"here: {found}; measured: {MEASURED}")
    sys.exit(found != MEASURED)
