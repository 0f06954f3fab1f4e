"""LeNet on images of 8 × 8: two convolutions with pools, then two linear layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from allo.torch import from_pytorch

SIZE = 8


class LeNet(nn.Module):
    """Classes of digits from images of one channel."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.bn = nn.BatchNorm2d(6)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1)
        self.relu2 = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(48, 32)
        self.relu3 = nn.ReLU()
        self.fc2 = nn.Linear(32, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """The score of each class."""
        x = self.pool1(self.relu1(self.bn(self.conv1(image))))
        x = self.pool2(self.relu2(self.conv2(x)))
        x = self.relu3(self.fc1(x.flatten(1)))
        scores: torch.Tensor = self.fc2(x)
        return scores


def compiled(model: LeNet, op_dtypes: dict[str, Any] | None = None, *, library: bool = True) -> Any:
    """A model for one image, without steps of a schedule; ``library=False`` for plain nests."""
    image = torch.zeros(1, 1, SIZE, SIZE)
    return from_pytorch(model, [image], target="mlir", op_dtypes=op_dtypes, library=library)


def schedule(s: Any) -> Any:
    """Pipeline the inner loops: a row accumulates side by side, so an addition starts in every cycle."""
    inner = {
        "conv1": ("j0", "k3", "o0"),
        "conv2": ("j0", "k3", "o0"),
        "fc1": ("j0", "k1", "o0"),
        "fc2": ("j0", "k1", "o0"),
        "pool1": ("k1",),
        "pool2": ("k1",),
        "bn": ("i3",),
        "relu1": ("i3",),
        "relu2": ("i3",),
        "relu3": ("i1",),
    }
    for module, loops in inner.items():
        for loop in loops:
            s.pipeline(f"{module}:{loop}")
    return s


def schedule_integers(s: Any) -> Any:
    """The schedule of the quantised model: a row of a convolution at once, and all columns of a linear layer.

    int8 multipliers are small: conv1 takes 24 of them, conv2 12, fc1 32 and fc2 10.
    """
    for convolution in ("conv1", "conv2"):
        s.unroll(f"{convolution}:k3")
        s.unroll(f"{convolution}:k2")
        s.pipeline(f"{convolution}:k1")
        s.partition(f"{convolution}:x", dim=4)
        s.partition(f"{convolution}:g_{convolution}_weight", dim=4)
    for linear in ("fc1", "fc2"):
        s.unroll(f"{linear}:k1")
        s.pipeline(f"{linear}:k0")
        s.partition(f"{linear}:g_{linear}_weight", dim=1)
    for module in ("conv1", "conv2", "fc1", "fc2"):
        s.partition(f"{module}:row")
        s.unroll(f"{module}:j0")
        s.pipeline(f"{module}:o0")
    for pool in ("pool1", "pool2"):
        s.unroll(f"{pool}:k1")
        s.unroll(f"{pool}:k0")
        s.pipeline(f"{pool}:i3")
        s.partition(f"{pool}:x", dim=3)
    loops = s.get_loops(s.top_func_name)
    s.pipeline(loops["quantize"]["i3"])
    return s
