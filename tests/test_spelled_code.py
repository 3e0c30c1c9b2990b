"""Code in a question is read as the operators that it calls, and what it is not about goes."""

from __future__ import annotations

import pytest

from caniexport.match import search
from caniexport.match.spelled_code import spell_code

SPELLED = {
    "x[mask] = v": "index_put",
    "x[:, 1:] += y": "aten::copy_",
    "out[..., 0] = 0.5": "aten::copy_",
    "out[:, idx] = torch.exp(out)": "index_put torch.exp",
    "x[:, ::-1]": "negative step slice",
    "x[:n.item()]": "aten::slice item",
    "x[..., None]": "aten::unsqueeze",
    "x[mask > 0]": "torch.masked_select mask",
    "logits[rows, cols]": "aten::index",
    "x.shape[0] and x.size(0)": "size and size",
    "x.view(x.size(0), -1)": "x.view size",
    "scores.masked_fill(mask == 0, float('-inf'))": "x.masked_fill",
    "torch.sum(x.to(torch.int64), dim=1, keepdim=True)": "torch.sum(int64,dim=1,keepdim=True)",
    "F.interpolate(x, size=(h, w), mode='area')": "F.interpolate(size=0,mode='area')",
    "x.reshape(n.item(), -1)": "x.reshape item",
    "torch.cumsum(torch.abs(x), 0)": "torch.cumsum torch.abs",
    "torch.zeros(n, torch.bool)": "torch.zeros(torch.bool)",
    "for i in range(x.shape[0]):": "trip-count",
    "for i in range(4):": "python loop",
    "while not done.all():": "trip-count",
    "mask.float().cumsum(1)": "float x.cumsum",
    "for row in x:": "iterating tensor",
    "if x.sum() > 0:": "branch-on-value",
    "if x.shape[0] == 1:": "branch-on-size",
    "a // b": "aten::floor_divide",
    "x ** 0.5": "aten::pow",
    "q @ k.transpose": "aten::matmul",
    "mask_a & mask_b": "aten::bitwise_and",
    "mask_a |= mask_b": "aten::__ior__",
}
#: what prose, names and versions have, and is no code
UNSPELLED = (
    "GroupNorm (reshape + instance norm)", "topk(k as a tensor)", "is cross fixed in torch 2.9 (opset 17)?",
    "25 % of our models fail", "conv and/or relu", "see https://example.com/a//b", "List[Tensor] as input",
    "floor_divide // by a negative number", "cross/stack_rewrite", "add & relu", "onnx::Gather", "for bool in 2.9",
    "what if it fails: is there a fix", "torch>=2.1",
)  # fmt: skip


@pytest.mark.parametrize("text", SPELLED)
def test_code_is_spelled_as_the_operators_that_it_calls(text):
    assert " ".join(spell_code(text).split()) == SPELLED[text]


@pytest.mark.parametrize("text", UNSPELLED)
def test_what_is_no_code_stays_as_it_is(text):
    assert spell_code(text) == text


def test_a_variable_of_the_code_is_no_word_elsewhere():
    assert spell_code("x.repeat(1, n, 1) where n is dynamic").split() == ["x.repeat", "where", "is", "dynamic"]


@pytest.mark.published
@pytest.mark.parametrize(
    ("query", "case"),
    [
        ("does for i in range(x.shape[0]): export by trace on 2.5", "trace-tensor-trip-count-baked"),
        ("x[:, ::-1] on 2.9", "negative-step-slice"),
        ("if x.sum() > 0: in forward, on 2.9 dynamo", "branch-on-value"),
        ("x & y on int tensors opset 13", "and-of-integers"),
        ("x[:n.item()] on 2.8", "slice-by-item"),
    ],
)
def test_code_leads_to_the_case_about_it(results, query, case):
    assert search.search(results, query).hits[0].case == case


@pytest.mark.published
@pytest.mark.parametrize("query", ["torch.tile", "torch.tile on 2.9", "x.repeat(1, n, 1) on 2.9"])
def test_a_function_of_torch_is_not_answered_by_what_is_exported_as_a_node_of_its_name(results, query):
    """``torch.repeat_interleave`` becomes Tile nodes, and is not ``torch.tile``."""
    assert not [hit.case for hit in search.search(results, query).hits if "interleave" in hit.case]
