"""Models that export without an error and agree with eager on their one example, and give wrong values elsewhere."""

from __future__ import annotations

import torch


class TopkOfTies(torch.nn.Module):
    def forward(self, x):
        return torch.topk(x, 3).indices


def topk_of_ties():
    return TopkOfTies(), (
        torch.tensor([0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.5, 0.05] * 4) + torch.arange(40) / 997,
    )


class DuplicateIndices(torch.nn.Module):
    def forward(self, x, index, value):
        x = x.clone()
        x.index_put_((index,), value, accumulate=True)
        return x


def duplicate_indices():
    return DuplicateIndices(), (torch.zeros(6), torch.tensor([4, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))


class BakedSize(torch.nn.Module):
    def forward(self, x):
        height = int(x.shape[2])
        return x * torch.full((height,), 1.0 / height).sum() * height


def baked_size():
    return BakedSize(), (torch.rand(1, 3, 8, 8),)


class PythonNumber(torch.nn.Module):
    def forward(self, x, power):
        return x * 2 if power > 2 else x - 1


def python_number():
    return PythonNumber(), (torch.rand(2, 3), 2)


class DataDependentBranch(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x - 1


def data_dependent_branch():
    return DataDependentBranch(), (torch.rand(2, 3) + 0.5,)


class TwiceTheSame(torch.nn.Module):
    def forward(self, query, key):
        return query * 2 + key


def one_tensor_twice():
    x = torch.rand(2, 3)
    return TwiceTheSame(), (x, x)


class BakedCount(torch.nn.Module):
    def forward(self, x, counts):
        total = int(counts.sum())
        return torch.repeat_interleave(x, counts, output_size=total).cumsum(0)[-1] / total


def baked_count():
    return BakedCount(), (torch.rand(3), torch.tensor([1, 2, 3]))


class BakedNonzero(torch.nn.Module):
    def forward(self, x, mask):
        return x.sum() / len(torch.nonzero(mask))


def baked_nonzero():
    return BakedNonzero(), (torch.rand(6), torch.tensor([True, False, True, True, False, False]))


class NegativeIndices(torch.nn.Module):
    def forward(self, x, index):
        if (index < 0).any():
            index = -index
        return x[index]


def negative_indices():
    return NegativeIndices(), (torch.rand(6), torch.tensor([4, 0, 2]))


class IntegerDivision(torch.nn.Module):
    def forward(self, x):
        return x // 4


def integer_division():
    return IntegerDivision(), (torch.tensor([9, 6, 3, 1]),)


class QuotientOfTwo(torch.nn.Module):
    def forward(self, x, y):
        return x // y


def quotient_of_two():
    return QuotientOfTwo(), (torch.tensor([7, 3, 5, 9]), torch.tensor([2, 2, 3, 4]))


class CountsCalls(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


def counts_calls():
    return CountsCalls(), (torch.rand(2, 3),)


class HalfLayers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8).half()
        self.norm = torch.nn.LayerNorm(8).half()

    def forward(self, x):
        return self.norm(self.linear(x.half())).float()


def half_layers():
    return HalfLayers(), (torch.rand(2, 8),)


class BranchBesideScales(torch.nn.Module):
    def forward(self, x, scales):
        return x * scales[0] if x.sum() > 0 else x - scales[1]


def branch_beside_scales():
    return BranchBesideScales(), (torch.rand(2, 3) + 0.5, torch.tensor([8.0, 16.0]))


class DictionaryAndScale(torch.nn.Module):
    def forward(self, batch, scale):
        return batch["b"] * 2 + batch["a"] * scale


def dictionary_and_scale():
    return DictionaryAndScale(), ({"b": torch.rand(3), "a": torch.rand(3)}, torch.rand(3))


class BranchOnItem(torch.nn.Module):
    def forward(self, x, task):
        return x.sum(1) if task.item() == 1 else x.mean(1)


def branch_on_item():
    return BranchOnItem(), (torch.rand(2, 8), torch.tensor(0))


class ThresholdOfInteger(torch.nn.Module):
    def forward(self, x, n):
        return x * 2 if int(n[0]) > 300 else x + 1


def threshold_of_integer():
    return ThresholdOfInteger(), (torch.rand(2, 3), torch.tensor([5]))


class RareBranch(torch.nn.Module):
    def forward(self, x):
        if x.abs().max() > 100:
            x = x / x.abs().max()
        return torch.tanh(x)


def rare_branch():
    return RareBranch(), (torch.rand(2, 3),)


class ThresholdOfSize(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 512:
            x = x * 0.5
        return torch.tanh(x)


def threshold_of_size():
    return ThresholdOfSize(), (torch.rand(8, 3),)


class LoopOverTime(torch.nn.Module):
    def forward(self, x):
        state = torch.zeros(x.shape[0])
        states = []
        for step in range(x.shape[1]):
            state = torch.tanh(state + x[:, step])
            states.append(state)
        return torch.stack(states, 1)


def loop_over_time():
    return LoopOverTime(), [(torch.rand(2, 6),), (torch.rand(3, 9),)]


class UnusedInput(torch.nn.Module):
    def forward(self, x, unused):
        return x * 2


def unused_input():
    return UnusedInput(), (torch.rand(2, 3), torch.tensor([1, 2, 3]))


class LoopUntilLarge(torch.nn.Module):
    def forward(self, x):
        while x.sum() < 50:
            x = x * 2
        return x


def loop_until_large():
    return LoopUntilLarge(), (torch.rand(2, 3) + 0.1,)


class DroppedAtRandom(torch.nn.Module):
    def forward(self, x):
        return x * 2, torch.nn.functional.dropout(x, 0.5, training=True) + torch.randn_like(x)


def dropped_at_random():
    return DroppedAtRandom(), (torch.rand(4, 5),)


class BranchOnSize(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[1] > 100_000 else x * 3


def branch_on_size():
    return BranchOnSize(), (torch.rand(2, 5),)


class FarFromOthers(torch.nn.Module):
    def forward(self, x, scores):
        x = x[scores > 0.5]
        return x[~((x[:, None] - x[None]).prod(-1) > 0.3).any(0)]


def far_from_others():
    return FarFromOthers(), (torch.rand(4, 4), torch.tensor([0.9, 0.1, 0.7, 0.6]))


class Forces(torch.nn.Module):
    def forward(self, x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x**3).sum(), x)[0]


def forces():
    return Forces(), (torch.rand(2, 3),)


def lazily_made():
    """A layer whose weights are drawn when it is first called."""
    return torch.nn.Sequential(torch.nn.LazyLinear(3)), (torch.randn(2, 4),)
