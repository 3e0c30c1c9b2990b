"""``caniexport check`` of models of other packages against a plain export by hand, cell by cell.

``python benchmarks/packages.py [--only NAME ...] [--jobs 2] [--folder DIRECTORY] [--keep]``

A package may register symbolics, operators, translations and pytree nodes when it is imported, or replace functions of
torch: a check that loses or keeps too much of that is wrong. Each model is measured by ``check``, then, in the
environment that ``check`` made, exported and run by ``by_hand.py``, which shares no code with the harness, in a new
process for each cell. Compared are the status and, for a failure, the stage and the exception's class. Exit code 1
where they differ. An environment takes 6 GB of disk if it shares no file with uv's cache, and is deleted after use.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from caniexport import home as homes
from caniexport.check.environments import find_environments_root

ROOT = Path(__file__).resolve().parent.parent
EXPORTERS = {"torchscript-trace": "trace", "dynamo": "dynamo"}
#: opsets that each exporter is asked for
OPSETS = {"torchscript-trace": (17, 18), "dynamo": (18,)}
SECONDS = 1200

Cells = dict[tuple[str, int], str]


class Model(NamedTuple):
    """A model of some package: what is installed for it, and what makes it."""

    name: str
    packages: tuple[str, ...]
    source: str


class Compared(NamedTuple):
    """What both said of one model, by exporter and opset; ``problem`` where one of them said nothing."""

    model: Model
    checked: Cells
    by_hand: Cells
    reasons: Cells
    seconds: float
    problem: str

    def agreeing(self) -> list[tuple[str, int]]:
        return [cell for cell, said in self.by_hand.items() if self.checked.get(cell) == said]


#: a module around one expression
_MODULE = """
import torch
{imports}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {setup}

    def forward(self, {arguments}):
        return {result}


def make():
    return Model(), ({inputs},)
"""


def _around(imports: str, result: str, inputs: str, setup: str = "pass", arguments: str = "x") -> str:
    return _MODULE.format(imports=imports, setup=setup, arguments=arguments, result=result, inputs=inputs)


_BOXES = "torch.tensor([[i % 5 * 3.0, i // 5 * 2.0, i % 5 * 3.0 + 4, i // 5 * 2.0 + 4.5] for i in range(20)])"
_ROIS = "torch.tensor([[0, 1, 1, 9, 9], [1, 0, 2, 12, 7.5], [0, 3, 3, 14, 15], [1, 5, 1, 6, 8.0]])"
_IMAGE = "torch.rand(1, 3, 64, 64)"
_TOKENS = "torch.arange(1, 17).reshape(1, 16)"

MODELS = (
    Model(
        "torchvision-nms",
        ("torchvision",),
        _around(
            "import torchvision",
            "torchvision.ops.nms(boxes, scores, 0.5)",
            f"{_BOXES}, torch.rand(20)",
            arguments="boxes, scores",
        ),
    ),
    Model(
        "torchvision-roi-align",
        ("torchvision",),
        _around(
            "import torchvision",
            "torchvision.ops.roi_align(image, rois, (3, 3), 1.0, 2)",
            f"torch.rand(2, 3, 16, 16), {_ROIS}",
            arguments="image, rois",
        ),
    ),
    Model(
        "torchvision-deform-conv",
        ("torchvision",),
        _around(
            "import torchvision",
            "self.conv(image, offset)",
            "torch.rand(1, 3, 8, 8), torch.rand(1, 18, 8, 8)",
            setup="self.conv = torchvision.ops.DeformConv2d(3, 4, 3, padding=1)",
            arguments="image, offset",
        ),
    ),
    Model(
        "timm",
        ("timm",),
        "import timm\nimport torch\n\n\ndef make():\n"
        f"    return timm.create_model('vit_tiny_patch16_224', img_size=64, depth=2), ({_IMAGE},)\n",
    ),
    Model(
        "transformers-bert",
        ("transformers",),
        _around(
            "from transformers import BertConfig, BertModel",
            "self.bert(input_ids=tokens, attention_mask=mask)",
            f"{_TOKENS}, torch.tensor([[1] * 12 + [0] * 4])",
            setup="self.bert = BertModel(BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, "
            "num_attention_heads=4, intermediate_size=48, max_position_embeddings=32))",
            arguments="tokens, mask",
        ),
    ),
    Model(
        "transformers-llama-cache",
        ("transformers",),
        _around(
            "from transformers import LlamaConfig, LlamaForCausalLM",
            "self.llama(input_ids=tokens, use_cache=True)",
            _TOKENS,
            setup="self.llama = LlamaForCausalLM(LlamaConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, "
            "num_attention_heads=4, num_key_value_heads=2, intermediate_size=48, max_position_embeddings=32))",
            arguments="tokens",
        ),
    ),
    Model(
        "onnxruntime-extensions",
        ("onnxruntime-extensions",),
        "import onnxruntime_extensions\nimport torch\n\n\ndef inverse(g, x):\n"
        "    return g.op('ai.onnx.contrib::Inverse', x).setType(x.type())\n\n\n"
        "torch.onnx.register_custom_op_symbolic('aten::linalg_inv', inverse, 15)\n"
        + _around("", "torch.linalg.inv(x)", "torch.rand(3, 3) + torch.eye(3)"),
    ),
    Model(
        "einops",
        ("einops",),
        _around(
            "from einops import rearrange, reduce\nfrom einops.layers.torch import Rearrange",
            "reduce(rearrange(self.patches(x), 'b n (p q c) -> b n c p q', p=8, q=8), 'b n c p q -> b n c', 'max')",
            _IMAGE,
            setup="self.patches = Rearrange('b c (h p) (w q) -> b (h w) (p q c)', p=8, q=8)",
        ),
    ),
    Model(
        "kornia",
        ("kornia",),
        _around(
            "import kornia",
            "kornia.geometry.warp_affine(kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), angle, (32, 32))",
            "torch.rand(2, 3, 32, 32), torch.tensor([[[0.9, 0.1, 1], [-0.1, 0.9, 2]], [[1, 0.2, 0], [0, 1, 1.0]]])",
            arguments="x, angle",
        ),
    ),
    Model(
        "torchmetrics",
        ("torchmetrics",),
        _around(
            "from torchmetrics.functional.image import structural_similarity_index_measure as similarity",
            "similarity(x, y, data_range=1.0)",
            "torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)",
            arguments="x, y",
        ),
    ),
    Model(
        "segmentation-models-pytorch",
        ("segmentation-models-pytorch",),
        "import segmentation_models_pytorch as smp\nimport torch\n\n\ndef make():\n"
        f"    return smp.Unet('resnet18', encoder_weights=None, classes=2), ({_IMAGE},)\n",
    ),
    Model(
        "torch-geometric",
        ("torch-geometric",),
        _around(
            "from torch_geometric.nn import GATConv, GCNConv",
            "self.second(self.first(x, edges).relu(), edges)",
            "torch.rand(8, 5), torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 2], [1, 2, 3, 4, 5, 6, 7, 0, 6]])",
            setup="self.first, self.second = GCNConv(5, 8), GATConv(8, 4, heads=2)",
            arguments="x, edges",
        ),
    ),
    Model(
        "monai",
        ("monai",),
        "import torch\nfrom monai.networks.nets import UNet\n\n\ndef make():\n"
        "    return UNet(2, 1, 2, (4, 8, 16), (2, 2), num_res_units=1), (torch.rand(1, 1, 32, 32),)\n",
    ),
    Model(
        "pytorch-lightning",
        ("pytorch-lightning",),
        _around(
            "import pytorch_lightning",
            "self.layers(x)",
            "torch.rand(4, 6)",
            setup="self.layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))",
        ).replace("(torch.nn.Module)", "(pytorch_lightning.LightningModule)"),
    ),
    Model(
        "sentence-transformers",
        ("sentence-transformers",),
        _around(
            "from sentence_transformers.models import Dense, Normalize, Pooling",
            "self.steps({'token_embeddings': x, 'attention_mask': mask})['sentence_embedding']",
            "torch.rand(2, 6, 8), torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])",
            setup="self.steps = torch.nn.Sequential(Pooling(8), Dense(8, 4), Normalize())",
            arguments="x, mask",
        ),
    ),
    Model(
        "diffusers",
        ("diffusers", "transformers"),
        _around(
            "from diffusers import UNet2DModel",
            "self.unet(x, time).sample",
            "torch.rand(1, 3, 16, 16), torch.tensor([7])",
            setup="self.unet = UNet2DModel(sample_size=16, block_out_channels=(8, 16), layers_per_block=1, "
            "norm_num_groups=4, down_block_types=('DownBlock2D', 'AttnDownBlock2D'), attention_head_dim=8, "
            "up_block_types=('AttnUpBlock2D', 'UpBlock2D'))",
            arguments="x, time",
        ),
    ),
    Model(
        "ultralytics",
        ("ultralytics",),
        _around(
            "from ultralytics.nn.modules import C2f, Conv, Detect, SPPF",
            "self.detect([self.first(x), self.second(self.first(x))])[0]",
            _IMAGE,
            setup="self.first = Conv(3, 8, 3, 2)\n"
            "        self.second = torch.nn.Sequential(C2f(8, 8), SPPF(8, 16), Conv(16, 16, 3, 2))\n"
            "        self.detect = Detect(nc=3, ch=(8, 16))\n        self.detect.stride = torch.tensor([2.0, 4.0])",
        ),
    ),
    Model(
        "x-transformers",
        ("x-transformers",),
        "import torch\nfrom x_transformers import Decoder, TransformerWrapper\n\n\ndef make():\n"
        "    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True)\n"
        f"    return TransformerWrapper(num_tokens=60, max_seq_len=32, attn_layers=layers), ({_TOKENS},)\n",
    ),
    Model(
        "vector-quantize-pytorch",
        ("vector-quantize-pytorch",),
        "import torch\nfrom vector_quantize_pytorch import VectorQuantize\n\n\ndef make():\n"
        "    return VectorQuantize(dim=8, codebook_size=16), (torch.rand(1, 12, 8),)\n",
    ),
    Model(
        "rotary-embedding-torch",
        ("rotary-embedding-torch",),
        _around(
            "from rotary_embedding_torch import RotaryEmbedding",
            "self.rotary.rotate_queries_or_keys(x)",
            "torch.rand(1, 2, 6, 16)",
            setup="self.rotary = RotaryEmbedding(dim=8)",
        ),
    ),
    Model(
        "local-attention",
        ("local-attention",),
        _around(
            "from local_attention import LocalAttention",
            "self.attention(q, k, v)",
            "torch.rand(1, 2, 16, 8), torch.rand(1, 2, 16, 8), torch.rand(1, 2, 16, 8)",
            setup="self.attention = LocalAttention(dim=8, window_size=4, causal=True, autopad=True)",
            arguments="q, k, v",
        ),
    ),
    Model(
        "pytorch-msssim",
        ("pytorch-msssim",),
        "import torch\nfrom pytorch_msssim import SSIM\n\n\ndef make():\n"
        "    return SSIM(data_range=1.0, channel=3), (torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24))\n",
    ),
    Model(
        "lpips",
        ("lpips",),
        "import lpips\nimport torch\n\n\ndef make():\n"
        "    model = lpips.LPIPS(net='squeeze', pretrained=False, pnet_rand=True, verbose=False)\n"
        "    return model, (torch.rand(1, 3, 64, 64) * 2 - 1, torch.rand(1, 3, 64, 64) * 2 - 1)\n",
    ),
    Model(
        "open-clip",
        ("open-clip-torch",),
        _around(
            "from open_clip.model import CLIP",
            "self.clip(image, text)",
            f"{_IMAGE}, {_TOKENS}",
            setup="self.clip = CLIP(16, {'layers': 1, 'width': 64, 'head_width': 16, 'patch_size': 32, "
            "'image_size': 64}, {'context_length': 16, 'vocab_size': 60, 'width': 32, 'heads': 2, 'layers': 1})",
            arguments="image, text",
        ),
    ),
    Model(
        "torchdiffeq",
        ("torchdiffeq",),
        _around(
            "from torchdiffeq import odeint",
            "odeint(lambda t, y: self.rate(y), x, torch.linspace(0, 1, 5), method='rk4')",
            "torch.rand(3, 4)",
            setup="self.rate = torch.nn.Linear(4, 4)",
        ),
    ),
    Model(
        "e3nn",
        ("e3nn",),
        _around(
            "from e3nn import o3",
            "self.product(x, o3.spherical_harmonics('0e+1o', y, normalize=True))",
            "torch.rand(5, 5), torch.rand(5, 3)",
            setup="self.product = o3.FullyConnectedTensorProduct('2x0e+1x1o', '0e+1o', '2x0e+1x1o')",
            arguments="x, y",
        ),
    ),
    Model(
        "entmax",
        ("entmax",),
        _around("import entmax", "entmax.sparsemax(x, -1), entmax.entmax15(x, -1)", "torch.rand(3, 7) * 3"),
    ),
    Model(
        "brevitas",
        ("brevitas",),
        _around(
            "import brevitas.nn",
            "self.second(self.first(x).relu())",
            "torch.rand(2, 6)",
            setup="self.first = brevitas.nn.QuantLinear(6, 8, bias=True, weight_bit_width=4)\n"
            "        self.second = brevitas.nn.QuantLinear(8, 3, bias=True, weight_bit_width=4)",
        ),
    ),
    Model(
        "peft",
        ("peft", "transformers"),
        _around(
            "from peft import LoraConfig, get_peft_model\nfrom transformers import GPT2Config, GPT2LMHeadModel",
            "self.model(input_ids=tokens, use_cache=False).logits",
            _TOKENS,
            setup="self.model = get_peft_model(GPT2LMHeadModel(GPT2Config(vocab_size=60, n_positions=32, n_embd=32, "
            "n_layer=2, n_head=4)), LoraConfig(r=2, target_modules=['c_attn'], init_lora_weights=False))",
            arguments="tokens",
        ),
    ),
    Model(
        "torchao",
        ("torchao",),
        _around(
            "from torchao.quantization import Int8WeightOnlyConfig, quantize_",
            "self.layers(x)",
            "torch.rand(2, 32)",
            setup="self.layers = torch.nn.Sequential(torch.nn.Linear(32, 16))\n"
            "        quantize_(self.layers, Int8WeightOnlyConfig())",
        ),
    ),
)


def compare(model: Model, folder: Path, asked: argparse.Namespace) -> Compared:
    """Check one model, then export it by hand in the same environment."""
    started = time.time()
    place = folder / model.name
    place.mkdir(parents=True, exist_ok=True)
    (place / "model.py").write_text(model.source, encoding="utf-8")
    checked, reasons, problem = _checked(model, place, asked)
    by_hand: Cells = {}
    if not problem:
        for exporter, opsets in OPSETS.items():
            for opset in opsets:
                said = _exported_by_hand(model, place, asked.release, exporter, opset)
                by_hand[exporter, opset] = " ".join(filter(None, said[:3]))
                if len(said) > 3:
                    reasons.setdefault((exporter, opset), said[3])
    if not asked.keep:
        shutil.rmtree(place, ignore_errors=True)
    return Compared(model, checked, by_hand, reasons, time.time() - started, problem)


def _checked(model: Model, place: Path, asked: argparse.Namespace) -> tuple[Cells, Cells, str]:
    """What check says of each cell, its reasons, and the problem where it says nothing."""
    program = "from caniexport.cli import main; main()"
    line = [sys.executable, "-c", program, "check", "model.py:make", "--release", asked.release, "--json"]
    for name in model.packages:
        line += ["--with", name]
    for exporter in EXPORTERS.values():
        line += ["--exporter", exporter]
    for opset in sorted({opset for opsets in OPSETS.values() for opset in opsets}):
        line += ["--opset", str(opset)]
    line += ["--workers", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "harness")}
    reply = subprocess.run(line, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS)
    (place / "check.json").write_text(reply.stdout, encoding="utf-8")
    try:
        answer = json.loads(reply.stdout)
    except ValueError:
        return {}, {}, (reply.stderr.strip().splitlines() or ["check said nothing"])[-1]
    if answer["outcome"] == "not measured":
        return {}, {}, answer["verdict"]
    rows = next(table["rows"] for table in answer["tables"] if table["title"] == "cells")
    exporters = {"dynamo=False": "torchscript-trace", "dynamo=True": "dynamo"}
    cells = {(exporters[row["call"]], row["opset"]): _said(row) for row in rows}
    return cells, {key: row["why"].partition("\n")[0] for key, row in zip(cells, rows, strict=True)}, ""


def _said(row: dict[str, Any]) -> str:
    """What came of a cell in the words of ``by_hand.py``."""
    if row["ends"] in ("pass", "degraded"):
        return str(row["ends"])
    # an error of the model's own file is the cause of a sentence of check's
    found = re.search(r"^(?:input set \d+: |(?:ModelNotImported|FactoryRaised): .*\ncaused by )?(\w+): ", row["why"])
    return " ".join([row["ends"], row["at"], *([found.group(1)] if row["ends"] == "fail" and found else [])])


def _exported_by_hand(model: Model, place: Path, release: str, exporter: str, opset: int) -> list[str]:
    """What ``by_hand.py`` says of one cell, in the environment that check made."""
    root = find_environments_root(homes.find(), model.packages)
    python = root / ".tox" / f"torch{release}-cpu" / "bin" / "python"
    scratch = place / f"{exporter}-{opset}"
    scratch.mkdir(exist_ok=True)
    line = [str(python), str(ROOT / "benchmarks" / "by_hand.py"), str(place / "model.py"), EXPORTERS[exporter]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    reply = subprocess.run(
        [*line, str(opset)], cwd=scratch, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    (scratch / "said.txt").write_text(reply.stdout + reply.stderr, encoding="utf-8")
    if reply.returncode:
        return ["crash", "", "", (reply.stderr.strip().splitlines() or [str(reply.returncode)])[-1]]
    said: list[str] = json.loads(reply.stdout.strip().splitlines()[-1])
    return [*said[:2], "", *said[2:]] if said[0] == "mismatch" else said


def show(found: Compared) -> None:
    """One line for the model and, where both do not say the same, one for each cell."""
    total, agreeing = len(found.by_hand), found.agreeing()
    words = found.problem or f"{len(agreeing)} of {total} cells agree"
    print(f"{found.model.name:28} {words[:200]} ({found.seconds:.0f} s)")
    for (exporter, opset), by_hand in found.by_hand.items():
        checked = found.checked.get((exporter, opset), "no cell")
        differs = "  " if (exporter, opset) in agreeing else "!!"
        said = checked if differs == "  " else f"check: {checked}; by hand: {by_hand}"
        print(f"  {differs} {EXPORTERS[exporter]:6} {opset}: {said} {found.reasons.get((exporter, opset), '')[:160]}")
    sys.stdout.flush()


def main() -> int:
    """Compare each model, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [model.name for model in MODELS]
    parser.add_argument("--only", action="append", default=[], choices=known, metavar="NAME", help="one model")
    parser.add_argument("--release", default="2.15.0")
    parser.add_argument("--jobs", type=int, default=2, help="models side by side")
    parser.add_argument("--folder", type=Path, help="where environments are made; a temporary one if left out")
    parser.add_argument("--keep", action="store_true", help="leave the environments")
    asked = parser.parse_args()
    models = [model for model in MODELS if not asked.only or model.name in asked.only]
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="caniexport-packages-"))
    found = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(lambda model: compare(model, folder.resolve(), asked), models):
            show(one)
            found.append(one)
    cells = sum(len(one.by_hand) for one in found)
    agreeing = sum(len(one.agreeing()) for one in found)
    unsaid = [one.model.name for one in found if one.problem]
    packages = {name for one in found if not one.problem for name in one.model.packages}
    print(
        f"{len(found) - len(unsaid)} models of {len(packages)} packages, {cells} cells, {agreeing} agree"
        + (f"; not checked: {', '.join(unsaid)}" if unsaid else "")
    )
    return 1 if agreeing < cells or unsaid else 0


if __name__ == "__main__":
    sys.exit(main())
