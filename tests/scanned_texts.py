"""Sources that a scan finds something in."""

from __future__ import annotations

SYMBOLIC = """
import torch
from torch.onnx import register_custom_op_symbolic

register_custom_op_symbolic("aten::cross", lambda g, *_: None, 11)
"""

GATE = """
import torch
import torch.nn.functional as F


def warp(x, grid):
    if torch.onnx.is_in_onnx_export() and torch.__version__ < "1.12":
        return by_hand(x, grid)
    return F.grid_sample(x, grid)


def sized(x):
    if torch.__version__ < "1.12":
        return torch.cross(x, x)
    return x
"""

#: a workaround of the corpus, cross-no-symbolic/stack_rewrite, under other names
CROSS = """
def turned(self, first, second):
    a, b, c = first[:, 0], first[:, 1], first[:, 2]
    d, e, f = second[:, 0], second[:, 1], second[:, 2]
    return self.conv(torch.stack((b * f - c * e, c * d - a * f, a * e - b * d), dim=1))
"""

PIN = "import torch\ntorch.onnx.export(m, a, 'f', dynamo=False)\n"


def only(found, kind):
    (one,) = [item for item in found.findings if item.site.kind.value == kind]
    return one
