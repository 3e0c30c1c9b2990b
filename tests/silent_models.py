"""Models that export without an error and agree with eager on their one example, and give wrong values elsewhere."""

from __future__ import annotations

import torch


def given(inputs):
    """Make a factory of a forward: ``inputs()`` are its sets of inputs."""

    def made(forward):
        module = type(forward.__name__, (torch.nn.Module,), {"forward": forward})
        return lambda: (module(), inputs())

    return made


@given(lambda: (torch.tensor([0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.5, 0.05] * 4) + torch.arange(40) / 997,))
def topk_of_ties(self, x):
    return torch.topk(x, 3).indices


@given(lambda: (torch.zeros(6), torch.tensor([4, 0, 2]), torch.tensor([1.0, 2.0, 3.0])))
def duplicate_indices(self, x, index, value):
    x = x.clone()
    x.index_put_((index,), value, accumulate=True)
    return x


@given(lambda: (torch.rand(1, 3, 8, 8),))
def baked_size(self, x):
    height = int(x.shape[2])
    return x * torch.full((height,), 1.0 / height).sum() * height


@given(lambda: (torch.rand(2, 3), 2))
def python_number(self, x, power):
    return x * 2 if power > 2 else x - 1


@given(lambda: (torch.rand(2, 3) + 0.5,))
def data_dependent_branch(self, x):
    if x.sum() > 0:
        return x * 2
    return x - 1


class TwiceTheSame(torch.nn.Module):
    def forward(self, query, key):
        return query * 2 + key


def one_tensor_twice():
    x = torch.rand(2, 3)
    return TwiceTheSame(), (x, x)


@given(lambda: (torch.rand(3), torch.tensor([1, 2, 3])))
def baked_count(self, x, counts):
    total = int(counts.sum())
    return torch.repeat_interleave(x, counts, output_size=total).cumsum(0)[-1] / total


@given(lambda: (torch.rand(6), torch.tensor([True, False, True, True, False, False])))
def baked_nonzero(self, x, mask):
    return x.sum() / len(torch.nonzero(mask))


@given(lambda: (torch.rand(6), torch.tensor([4, 0, 2])))
def negative_indices(self, x, index):
    if (index < 0).any():
        index = -index
    return x[index]


@given(lambda: (torch.tensor([9, 6, 3, 1]),))
def integer_division(self, x):
    return x // 4


@given(lambda: (torch.tensor([7, 3, 5, 9]), torch.tensor([2, 2, 3, 4])))
def quotient_of_two(self, x, y):
    return x // y


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


@given(lambda: (torch.rand(2, 3) + 0.5, torch.tensor([8.0, 16.0])))
def branch_beside_scales(self, x, scales):
    return x * scales[0] if x.sum() > 0 else x - scales[1]


@given(lambda: ({"b": torch.rand(3), "a": torch.rand(3)}, torch.rand(3)))
def dictionary_and_scale(self, batch, scale):
    return batch["b"] * 2 + batch["a"] * scale


@given(lambda: (torch.rand(2, 8), torch.tensor(0)))
def branch_on_item(self, x, task):
    return x.sum(1) if task.item() == 1 else x.mean(1)


@given(lambda: (torch.rand(2, 3), torch.tensor([5])))
def threshold_of_integer(self, x, n):
    return x * 2 if int(n[0]) > 300 else x + 1


@given(lambda: (torch.rand(2, 3),))
def rare_branch(self, x):
    if x.abs().max() > 100:
        x = x / x.abs().max()
    return torch.tanh(x)


@given(lambda: (torch.rand(8, 3),))
def threshold_of_size(self, x):
    if x.shape[0] > 512:
        x = x * 0.5
    return torch.tanh(x)


@given(lambda: [(torch.rand(2, 6),), (torch.rand(3, 9),)])
def loop_over_time(self, x):
    state = torch.zeros(x.shape[0])
    states = []
    for step in range(x.shape[1]):
        state = torch.tanh(state + x[:, step])
        states.append(state)
    return torch.stack(states, 1)


@given(lambda: (torch.rand(2, 3), torch.tensor([1, 2, 3])))
def unused_input(self, x, unused):
    return x * 2


@given(lambda: (torch.rand(2, 3) + 0.1,))
def loop_until_large(self, x):
    while x.sum() < 50:
        x = x * 2
    return x


@given(lambda: (torch.rand(4, 5),))
def dropped_at_random(self, x):
    return x * 2, torch.nn.functional.dropout(x, 0.5, training=True) + torch.randn_like(x)


@given(lambda: (torch.rand(2, 5),))
def branch_on_size(self, x):
    return x * 2 if x.shape[1] > 100_000 else x * 3


@given(lambda: (torch.rand(2, 3),))
def forces(self, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x**3).sum(), x)[0]


def lazily_made():
    """A layer whose weights are drawn when it is first called."""
    return torch.nn.Sequential(torch.nn.LazyLinear(3)), (torch.randn(2, 4),)
