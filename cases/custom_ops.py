"""Operators without a translation: the ways to an ONNX file, from a missing symbolic to a custom operator."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix

#: libraries made by :func:`cube_library`; torch removes a library's operators together with the object
LIBRARIES = []


@contextmanager
def registered(name, rule, opset):
    """Register a symbolic (``"::name"`` is torch's own domain) for one export."""
    torch.onnx.register_custom_op_symbolic(name, rule, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    if unregister is not None:
        unregister(name, opset or 9)


def own_domain():
    """Return export options that write the version of a custom domain; releases before 1.6 have no such option."""
    import inspect

    takes = "custom_opsets" in inspect.signature(torch.onnx.export).parameters
    return {"custom_opsets": {"caniexport.demo": 1}} if takes else {}


def foreign_nodes(model):
    """Return the node types outside ONNX's own domain, and the domains that the ONNX file imports."""
    return {
        "foreign": sorted({node.domain + "::" + node.op_type for node in model.graph.node if node.domain}),
        "domains": sorted(item.domain for item in model.opset_import if item.domain),
    }


def cube_library():
    """Define ``caniexport::cube`` once: an operator of a library, as an extension would add it."""
    if LIBRARIES:
        return
    library = torch.library.Library("caniexport", "DEF")
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CPU")
    # the shape, for exporters that trace without values
    library.impl("cube", torch.empty_like, "Meta")
    LIBRARIES.append(library)


def cube_rule(g, x):
    """A cube of standard nodes."""
    return g.op("Mul", x, g.op("Mul", x, x))


def cube_own_rule(g, x):
    """A cube as a node of a custom domain."""
    return g.op("caniexport.demo::Cube", x)


def cube_translation():
    """Return options of the torch.export based exporter: an ONNX Script function for the library's operator."""
    try:
        import onnxscript
    except ImportError:
        # releases before that exporter reject the option, whatever it contains
        return {"custom_translation_table": {}}

    op = onnxscript.opset18

    def cube(x):
        return op.Mul(x, op.Mul(x, x))

    return {"custom_translation_table": {torch.ops.caniexport.cube.default: cube}}


class RouteTorchscriptCustomOp(Case):
    """Operator of an extension library: no ONNX translation."""

    sources = ("seed:001",)
    aten_ops = ("caniexport::cube",)
    needs_torch = ">=1.12"
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    facts = staticmethod(foreign_nodes)

    def setup(self):
        cube_library()

    def forward(self, x):
        return torch.ops.caniexport.cube(x) + 1.0

    custom_symbolic = fix(
        "custom-symbolic",
        "register a symbolic that maps it to standard nodes",
        patch=lambda opset: registered("caniexport::cube", cube_rule, opset),
    )

    own_domain = fix(
        "custom-symbolic",
        "register a symbolic that maps it to a node of a custom domain; the runtime needs a kernel",
        patch=lambda opset: registered("caniexport::cube", cube_own_rule, opset),
        export=own_domain,
        caution=True,
    )

    translation_table = fix(
        "export-option",
        "pass custom_translation_table to the torch.export based exporter",
        export=cube_translation,
        documented=False,
    )

    @fix("rewrite", "write the mathematics of the operator in the module", documented=False)
    def inlined(self, x):
        return x * x * x + 1.0


class CubeWithoutRule(torch.autograd.Function):
    """A cube without a symbolic, which no exporter can translate."""

    @staticmethod
    def forward(ctx, x):
        return x * x * x


class CubeWithRule(torch.autograd.Function):
    """The same cube with a symbolic."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Mul", x, g.op("Mul", x, x))

    @staticmethod
    def forward(ctx, x):
        return x * x * x


class RouteAutogradFunctionSymbolic(Case):
    """autograd.Function without a symbolic: TorchScript fails before torch 1.13."""

    sources = ("seed:001",)
    aten_ops = ("prim::PythonOp",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    facts = staticmethod(foreign_nodes)

    def forward(self, x):
        return CubeWithoutRule.apply(x) + 1.0

    @fix("autograd-function", "add a symbolic method to the function")
    def symbolic(self, x):
        return CubeWithRule.apply(x) + 1.0

    @fix("rewrite", "write the mathematics of the function in the module", documented=False)
    def inlined(self, x):
        return x * x * x + 1.0

    fallthrough = fix(
        "export-option",
        "pass operator_export_type=ONNX_FALLTHROUGH; writes a node that the runtime must know",
        export=lambda: {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_FALLTHROUGH},
        caution=True,
        documented=False,
    )


class CubeOfOwnDomain(torch.autograd.Function):
    """A cube that becomes one node of a custom domain."""

    @staticmethod
    def symbolic(g, x):
        return g.op("caniexport.demo::Cube", x)

    @staticmethod
    def forward(ctx, x):
        return x * x * x


def define_cube(model):
    """Add a definition of the node to the ONNX file: a function of the model, made of standard nodes."""
    import onnx
    from onnx import helper

    version = max(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    nodes = [helper.make_node("Mul", ["x", "x"], ["square"]), helper.make_node("Mul", ["x", "square"], ["y"])]
    imports = [helper.make_opsetid("", version)]
    model.functions.append(helper.make_function("caniexport.demo", "Cube", ["x"], ["y"], nodes, imports))
    if all(item.domain != "caniexport.demo" for item in model.opset_import):
        model.opset_import.append(helper.make_opsetid("caniexport.demo", 1))
    # functions of a model exist from IR version 8 on
    model.ir_version = max(model.ir_version, 8)
    # the exporter leaves the node's output without a type
    return onnx.shape_inference.infer_shapes(model)


class RouteNewOnnxOp(Case):
    """Node of a custom domain: exports and passes the checker, but has no kernel."""

    sources = ("seed:001",)
    aten_ops = ("prim::PythonOp",)
    onnx_ops = ("caniexport.demo::Cube",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(own_domain)
    facts = staticmethod(foreign_nodes)

    def forward(self, x):
        return CubeOfOwnDomain.apply(x) + 1.0

    @fix("rewrite", "use standard operators instead")
    def decomposed(self, x):
        return x * x * x + 1.0

    model_function = fix(
        "graph-surgery",
        "define the node in the ONNX file, as a function of the model (IR version 8)",
        surgery=define_cube,
        documented=False,
    )


class RouteComposeExistingOps(Case):
    """Operator composed of existing operators: exports without a symbolic of its own."""

    sources = ("seed:001",)
    aten_ops = ("aten::mul", "aten::sum", "aten::sqrt", "aten::div")
    onnx_ops = ("Mul", "ReduceSum", "Sqrt", "Div")
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(5, 3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        # the squashing of capsule networks: keeps the direction and makes the length smaller than one
        square = (x * x).sum(dim=-1, keepdim=True)
        return x * square / ((1.0 + square) * torch.sqrt(square + 1e-6))
