"""Scripting: the module as it is, exported by following numbers too."""

from torch import _era
from torch.nn import Module


class ScriptModule(Module):
    def __init__(self, module):
        self.module = module

    def forward(self, *args):
        return self.module(*args)


if _era.SCRIPT:

    def script(module):
        return ScriptModule(module)
