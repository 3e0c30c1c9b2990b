"""Operators without a rule: the routes to an ONNX file, from a missing symbolic to an operator of one's own."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from harness.worker.case import Case, Claim, fix
from harness.worker.tensors import f32, values

#: libraries made by :func:`cube_library`; torch forgets a library's operators with the object
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
    """Export options that write the version of an own domain; releases before 1.6 have no such option."""
    import inspect

    takes = "custom_opsets" in inspect.signature(torch.onnx.export).parameters
    return {"custom_opsets": {"caniexport.demo": 1}} if takes else {}


def foreign_nodes(model):
    """Node types outside ONNX's own domain, and the domains that the file imports."""
    return {
        "foreign": sorted({node.domain + "::" + node.op_type for node in model.graph.node if node.domain}),
        "domains": sorted(item.domain for item in model.opset_import if item.domain),
    }


def asinh_rule(g, x):
    """Asinh is one node from opset 9 on."""
    return g.op("Asinh", x)


class AsinhOpset9(Case):
    """torch.asinh has no rule although ONNX has had Asinh since opset 9."""

    id = "asinh-opset-9"
    records = ("asinh-opset-9", "route-aten-symbolic")
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::asinh",)
    onnx_ops = ("Asinh",)
    needs_torch = ">=1.6"
    inputs = (
        (values([-1.0, -0.5, 0.0, 1.0, 1e4]),),
        (values([-1e4, -3.0, -1e-3, 1e-3, 2.0]),),
        (f32(7, low=-5.0, high=5.0),),
    )
    dynamic = {"x": {0: "length"}}
    facts = staticmethod(foreign_nodes)
    claims = (
        Claim(
            "seed:001",
            "the operator and the node exist, only the rule is missing",
            record="route-aten-symbolic",
            opset=9,
            torch=">=1.6,<1.12",
            status="fail",
            stage="export",
            message="Exporting the operator asinh to ONNX opset version 9 is not supported",
        ),
        Claim(
            "seed:002",
            "a rule for opset 9 makes it one Asinh of ONNX's own domain",
            record="asinh-opset-9",
            opset=">=9",
            variant="custom_symbolic",
            status="pass",
            ops={"Asinh": 1},
            facts={"foreign": []},
        ),
        Claim(
            "catalogue",
            "the textbook logarithm loses large negative values",
            record="asinh-opset-9",
            exporter="",
            variant="log_rewrite",
            status="mismatch",
            stage="eager",
        ),
    )

    def forward(self, x):
        return torch.asinh(x)

    custom_symbolic = fix(
        "custom-symbolic", "one Asinh node", patch=lambda opset: registered("::asinh", asinh_rule, opset)
    )

    @fix("rewrite", "log(x + sqrt(x * x + 1)): cancels for large negative x", caution=True, documented=False)
    def log_rewrite(self, x):
        return torch.log(x + torch.sqrt(x * x + 1))

    @fix("rewrite", "the logarithm of the magnitude, with the sign put back", documented=False)
    def signed_log_rewrite(self, x):
        magnitude = torch.abs(x)
        # log1p's argument keeps small magnitudes, which log(1 + x) would round away
        return torch.sign(x) * torch.log1p(magnitude + x * x / (1 + torch.sqrt(x * x + 1)))


def cube_library():
    """Define ``caniexport::cube`` once: an operator of a library, as an extension would bring it."""
    if LIBRARIES:
        return
    library = torch.library.Library("caniexport", "DEF")
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CPU")
    # the shape, for exporters that trace without values
    library.impl("cube", torch.empty_like, "Meta")
    LIBRARIES.append(library)


def cube_rule(g, x):
    """A cube out of standard nodes."""
    return g.op("Mul", x, g.op("Mul", x, x))


def cube_own_rule(g, x):
    """A cube as a node of an own domain."""
    return g.op("caniexport.demo::Cube", x)


def cube_translation():
    """Options of the torch.export based exporter: an ONNX Script function for the library's operator."""
    import onnxscript

    op = onnxscript.opset18

    def cube(x):
        return op.Mul(x, op.Mul(x, x))

    return {"custom_translation_table": {torch.ops.caniexport.cube.default: cube}}


class RouteTorchscriptCustomOp(Case):
    """An operator of an extension library has no ONNX rule."""

    records = ("route-torchscript-custom-op",)
    sources = ("seed:001",)
    aten_ops = ("caniexport::cube",)
    needs_torch = ">=1.12"
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    facts = staticmethod(foreign_nodes)
    claims = (
        Claim(
            "seed:001 (catalogue)",
            "export is refused without a rule",
            record="route-torchscript-custom-op",
            opset="9-17",
            status="fail",
            stage="export",
            message="unrecognized namespace",
        ),
        Claim(
            "seed:001",
            "a rule for the library's operator exports it",
            record="route-torchscript-custom-op",
            opset="9-17",
            variant="custom_symbolic",
            status="pass",
            ops={"Mul": 2},
        ),
        Claim(
            "catalogue",
            "mapped to an own domain it loads only where the runtime has a kernel",
            record="route-torchscript-custom-op",
            opset="9-17",
            variant="own_domain",
            status="fail",
            stage="load",
        ),
        Claim(
            "catalogue",
            "the torch.export based exporter takes a translation table",
            exporter="dynamo",
            opset=18,
            torch=">=2.6",
            record="route-torchscript-custom-op",
            variant="translation_table",
            status="pass",
        ),
    )

    def setup(self):
        cube_library()

    def forward(self, x):
        return torch.ops.caniexport.cube(x) + 1.0

    custom_symbolic = fix(
        "custom-symbolic",
        "a rule that maps it to standard nodes",
        patch=lambda opset: registered("caniexport::cube", cube_rule, opset),
    )

    own_domain = fix(
        "custom-symbolic",
        "a rule that maps it to a node of an own domain, which the runtime must know",
        patch=lambda opset: registered("caniexport::cube", cube_own_rule, opset),
        export=own_domain,
        caution=True,
    )

    translation_table = fix(
        "export-option",
        "custom_translation_table of the torch.export based exporter",
        export=cube_translation,
        documented=False,
    )

    @fix("rewrite", "the operator's mathematics in the module", documented=False)
    def inlined(self, x):
        return x * x * x + 1.0


class CubeWithoutRule(torch.autograd.Function):
    """A cube that no exporter can look into by rule."""

    @staticmethod
    def forward(ctx, x):
        return x * x * x


class CubeWithRule(torch.autograd.Function):
    """The same cube with a rule."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Mul", x, g.op("Mul", x, x))

    @staticmethod
    def forward(ctx, x):
        return x * x * x


class RouteAutogradFunctionSymbolic(Case):
    """An autograd.Function without a symbolic method is refused."""

    records = ("route-autograd-function-symbolic",)
    sources = ("seed:001",)
    aten_ops = ("prim::PythonOp",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    facts = staticmethod(foreign_nodes)
    claims = (
        Claim(
            "seed:001 (catalogue)",
            "refused without a rule",
            record="route-autograd-function-symbolic",
            opset=9,
            status="fail",
            stage="export",
            message="Couldn't export Python operator CubeWithoutRule",
            finding="Later releases look into the function's forward and inline it.",
        ),
        Claim(
            "seed:001",
            "with a rule it exports",
            record="route-autograd-function-symbolic",
            opset=">=9",
            variant="symbolic",
            status="pass",
            ops={"Mul": 2},
        ),
        Claim(
            "catalogue",
            "fallthrough writes a node that no runtime knows",
            record="route-autograd-function-symbolic",
            opset=9,
            variant="fallthrough",
            status="fail",
            stage="load",
            finding="From torch 1.12 on; before, a Python function is refused with this option too.",
        ),
    )

    def forward(self, x):
        return CubeWithoutRule.apply(x) + 1.0

    @fix("autograd-function", "a symbolic method beside its forward")
    def symbolic(self, x):
        return CubeWithRule.apply(x) + 1.0

    @fix("rewrite", "the function's mathematics in the module", documented=False)
    def inlined(self, x):
        return x * x * x + 1.0

    fallthrough = fix(
        "export-option",
        "operator_export_type=ONNX_FALLTHROUGH: a node that the runtime must know",
        export=lambda: {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_FALLTHROUGH},
        caution=True,
        documented=False,
    )


class CubeOfOwnDomain(torch.autograd.Function):
    """A cube that becomes one node of an own domain."""

    @staticmethod
    def symbolic(g, x):
        return g.op("caniexport.demo::Cube", x)

    @staticmethod
    def forward(ctx, x):
        return x * x * x


def define_cube(model):
    """Give the file its own definition of the node: a function of the model, out of standard nodes."""
    import onnx
    from onnx import helper

    version = max(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    nodes = [helper.make_node("Mul", ["x", "x"], ["square"]), helper.make_node("Mul", ["x", "square"], ["y"])]
    imports = [helper.make_opsetid("", version)]
    model.functions.append(helper.make_function("caniexport.demo", "Cube", ["x"], ["y"], nodes, imports))
    if all(item.domain != "caniexport.demo" for item in model.opset_import):
        model.opset_import.append(helper.make_opsetid("caniexport.demo", 1))
    # functions of a model came with IR version 8
    model.ir_version = max(model.ir_version, 8)
    # the exporter leaves the node's output without a type
    return onnx.shape_inference.infer_shapes(model)


class RouteNewOnnxOp(Case):
    """A node of an own domain exports and passes the checker; no runtime has a kernel for it."""

    records = ("route-new-onnx-op",)
    sources = ("seed:001",)
    aten_ops = ("prim::PythonOp",)
    onnx_ops = ("caniexport.demo::Cube",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(own_domain)
    facts = staticmethod(foreign_nodes)
    claims = (
        Claim(
            "seed:001 (catalogue)",
            "the file is written, and refused where a kernel is missing",
            opset=">=9",
            record="route-new-onnx-op",
            status="fail",
            stage="load",
            message="Cube",
            facts={"foreign": ["caniexport.demo::Cube"]},
        ),
        Claim(
            "seed:001",
            "standard nodes instead run",
            record="route-new-onnx-op",
            opset=">=9",
            variant="decomposed",
            status="pass",
        ),
    )

    def forward(self, x):
        return CubeOfOwnDomain.apply(x) + 1.0

    @fix("rewrite", "standard operators instead")
    def decomposed(self, x):
        return x * x * x + 1.0

    model_function = fix(
        "graph-surgery",
        "define the node in the file, as a function of the model (IR version 8)",
        surgery=define_cube,
        documented=False,
    )


class RouteComposeExistingOps(Case):
    """An operator that torch does not have, composed of ones that it has, exports."""

    records = ("route-compose-existing-ops",)
    sources = ("seed:001",)
    aten_ops = ("aten::mul", "aten::sum", "aten::sqrt", "aten::div")
    onnx_ops = ("Mul", "ReduceSum", "Sqrt", "Div")
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(5, 3, 4),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "seed:001",
            "a composition of existing operators needs no rule of its own",
            opset="9-17",
            record="route-compose-existing-ops",
            status="pass",
        ),
    )

    def forward(self, x):
        # the capsule networks' squashing: direction kept, length brought below one
        square = (x * x).sum(dim=-1, keepdim=True)
        return x * square / ((1.0 + square) * torch.sqrt(square + 1e-6))


class ExportOneNode(Case):
    """An operator with an ONNX counterpart becomes one node."""

    records = ("export-three-mapping-outcomes",)
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "seed:001",
            "one to one",
            record="export-three-mapping-outcomes",
            status="pass",
            opset=">=9",
            ops={"Relu": 1},
        ),
    )

    def forward(self, x):
        return torch.relu(x)


class ExportSeveralNodes(Case):
    """An operator that ONNX lacks becomes several nodes: hardswish, until opset 14."""

    records = ("export-three-mapping-outcomes",)
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::hardswish",)
    onnx_ops = ("HardSwish", "Mul", "Clip", "Add", "Div", "HardSigmoid")
    needs_torch = ">=1.6"
    inputs = (
        (values([-4.0, -3.0, -1.0, 0.5, 3.0, 5.0]),),
        (values([-2.9, 2.9, 0.0, 1.0, -6.0, 6.0]),),
        (f32(9, low=-4.0, high=4.0),),
    )
    dynamic = {"x": {0: "length"}}
    claims = (
        Claim(
            "seed:001",
            "one operator becomes several nodes where ONNX has none for it",
            opset="9-13",
            torch=">=1.8",
            record="export-three-mapping-outcomes",
            status="pass",
            ops={"Mul": 1},
        ),
        Claim(
            "catalogue",
            "from opset 14 it is one node",
            opset=">=14",
            torch=">=1.10",
            record="export-three-mapping-outcomes",
            status="pass",
            ops={"HardSwish": 1},
        ),
    )

    def forward(self, x):
        return F.hardswish(x)

    @fix("rewrite", "the same out of clamp and mul", documented=False)
    def composed(self, x):
        return x * torch.clamp(x + 3.0, 0.0, 6.0) / 6.0


class ExportNoRule(Case):
    """An operator that nobody wrote a rule for is refused: torch.expm1."""

    records = ("export-three-mapping-outcomes",)
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::expm1",)
    onnx_ops = ("Exp", "Sub")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "seed:001",
            "no rule, no file",
            record="export-three-mapping-outcomes",
            status="fail",
            stage="export",
            opset="9-17",
        ),
        Claim(
            "seed:001",
            "a rule is what is missing",
            record="export-three-mapping-outcomes",
            opset="9-17",
            variant="custom_symbolic",
            status="pass",
        ),
        Claim(
            "seed:001",
            "and so are operators that have one",
            record="export-three-mapping-outcomes",
            opset="9-17",
            variant="composed",
            status="pass",
        ),
    )

    def forward(self, x):
        return torch.expm1(x)

    @fix("rewrite", "exp(x) - 1 (loses digits near zero)")
    def composed(self, x):
        return torch.exp(x) - 1.0

    custom_symbolic = fix(
        "custom-symbolic", "a rule of Exp and Sub", patch=lambda opset: registered("::expm1", expm1_rule, opset)
    )


def expm1_rule(g, x):
    """exp(x) - 1, in float32."""
    return g.op("Sub", g.op("Exp", x), g.op("Constant", value_t=torch.tensor(1.0)))
