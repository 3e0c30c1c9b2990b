"""Images: classification and its backbones."""

from caniexport.model.architectures import Architecture, Axis, floats
from caniexport.worker.architectures import make_cases

BATCH = Axis("batch", 2, 3)

TABLE = [
    Architecture("resnet18", "torchvision", "resnet18", {}, {"x": floats(BATCH, 3, 64, 64)}, "positions"),
    Architecture("resnet10t", "timm", "resnet10t", {}, {"x": floats(BATCH, 3, 64, 64)}, "positions"),
]
globals().update(make_cases(TABLE, __name__))
