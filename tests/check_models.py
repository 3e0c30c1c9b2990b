"""What a user may hand to ``check``: models in a module, one that lacks a package, a case file."""

from __future__ import annotations

MODELS = """
import collections
import dataclasses
import time

import numpy as np
import torch

one = torch.from_numpy(np.arange(6, dtype="float32").reshape(2, 3) / 8)
two = torch.from_numpy(np.arange(6, dtype="float32").reshape(2, 3) / 4)
wide = torch.from_numpy(np.ones((4, 3), dtype="float32"))
wider = torch.from_numpy(np.zeros((4, 3), dtype="float32"))


class Adds(torch.nn.Module):
    def forward(self, left, right):
        return left + right


class Own(torch.nn.Module):
    '''Its weight is its own, and counts its calls.'''

    def __init__(self):
        self.weight = torch.nn.Parameter(np.array([0.1, 0.2, 70.0], dtype="float32"))
        self.calls = 0

    def train(self, mode=True):
        pass

    def eval(self):
        pass  # returns nothing, as many a model's does

    def forward(self, x):
        self.calls += 1
        return x * self.weight * float(self.calls)


class Rounds(torch.nn.Module):
    def forward(self, x):
        return torch.round(x)


class Anything(torch.nn.Module):
    def forward(self, *parts):
        return parts[0] + parts[1]


def adds():
    return Adds(), (one, two)


def several():
    return Adds(), [(one, two), (wide, wider)]


def aliased():
    return Adds(), (one, one)


def own():
    return Own(), one


def rounds():
    return Rounds(), (torch.from_numpy(np.array([0.2, 1.3, 2.7], dtype="float32")),)


class OtherSelf(torch.nn.Module):
    def forward(this, left, right):  # noqa: N805 - as some write it
        return left + right


def other_self():
    return OtherSelf(), (torch.zeros(2), torch.zeros(2))


class SlowAtFirst(Adds):
    is_ready = False

    def forward(self, left, right):
        if not SlowAtFirst.is_ready:
            SlowAtFirst.is_ready = True
            until = time.process_time() + 1.8
            while time.process_time() < until:
                pass
        return left + right


def slow_at_first():
    return SlowAtFirst(), (one, two)


def anything():
    return Anything(), (one, two)


class ByNameAlone(torch.nn.Module):
    def forward(self, left, *, right):
        return left + right


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Data:
    values: object
    count: int


class ReturnsData(torch.nn.Module):
    def forward(self, x):
        return Data(x + x, 2)


def returns_data():
    return ReturnsData(), (one,)


class Nested(torch.nn.Module):
    def forward(self, pair, data):
        return pair.left + pair.right + data.values


def by_name():
    return Adds(), {"right": two, "left": one}


def by_name_alone():
    return ByNameAlone(), (one,), {"right": two}


def nested():
    return Nested(), (Pair(one, two), Data(two, 3))


def alone():
    return Adds()


def three():
    return Adds(), (one,), 3


def nothing():
    return None


def no_module():
    return len, (one,)


def no_inputs():
    return Adds(), ()


def no_tensor():
    return Adds(), (3, 4)


def a_file():
    return Adds(), (one, open(__file__))


def raises():
    raise ValueError("the checkpoint is not here\\nmore of it")


number = 3
made = Adds()
"""

NEEDS = "import a_package_that_nobody_has\n\n\ndef make():\n    return None\n"

CASES = '''
from caniexport.model.case import Case, fix
from caniexport.model.tensors import f32
import torch


class MineRounds(Case):
    """A case of somebody else."""

    sources = ("mine",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        return torch.round(x)

    negated = fix("raise-opset", "export at opset 11", opset=11)
'''
