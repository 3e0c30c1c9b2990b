"""Modules with parameters."""

import numpy as np

from torch.tensor import Tensor


class Parameter(Tensor):
    pass


_hooks = []


def register_module_forward_hook(hook):
    _hooks.append(hook)


class Module:
    def __call__(self, *args):
        result = self.forward(*args)
        for hook in _hooks:
            result = hook(self, args, result)
        return result

    def eval(self):
        return self

    def named_parameters(self):
        for name, value in vars(self).items():
            if isinstance(value, Parameter):
                yield name, value
            elif isinstance(value, Module):
                for inner, parameter in value.named_parameters():
                    yield name + "." + inner, parameter


class Scale(Module):
    """Multiplies by a weight per feature."""

    def __init__(self, features):
        self.weight = Parameter(np.zeros(features, dtype="float32"))

    def forward(self, x):
        return x * self.weight
