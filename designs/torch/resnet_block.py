"""A basic block of ResNet-18 with a projection on the short path, with its schedule."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from allo.customize import Partition
from allo.torch import ModelSchedule, from_pytorch

SIZE = 8
INPUTS, OUTPUTS = 4, 8


class ResNetBlock(nn.Module):
    """Two convolutions of 3 × 3, the first with a stride, and a projection of 1 × 1 beside them."""

    def __init__(self, inputs: int = INPUTS, outputs: int = OUTPUTS, stride: int = 2) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        )
        self.relu2 = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Half the size, twice the channels."""
        y = self.relu1(self.bn1(self.conv1(x)))
        result: torch.Tensor = self.relu2(self.bn2(self.conv2(y)) + self.downsample(x))
        return result


def compiled(model: ResNetBlock, verify: bool = False) -> ModelSchedule:
    """The plain schedule of a block."""
    image = torch.linspace(-1, 1, INPUTS * SIZE * SIZE).reshape(1, INPUTS, SIZE, SIZE)
    made: ModelSchedule = from_pytorch(model, [image], target="mlir", verify=verify)
    return made


def schedule(s: Any) -> Any:
    """Each row accumulates in registers, one tap of a filter in every cycle; norms feed what follows."""
    s["conv[12]"].partition("row", Partition.Complete, 1)
    s["**"].pipeline()
    s["bn1"].stream_to("relu1", depth=4)
    return s
