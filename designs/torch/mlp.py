"""A perceptron for images of 8 × 8 digits, with its schedule."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from allo.customize import Partition
from allo.torch import ModelSchedule, from_pytorch

LANES = 4


class MLP(nn.Module):
    """Classes of digits, by two hidden layers."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.fc1 = nn.Linear(64, 32)
        self.act1 = nn.ReLU()
        self.fc2 = nn.Linear(32, 16)
        self.act2 = nn.ReLU()
        self.fc3 = nn.Linear(16, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """The score of each class."""
        x = self.act1(self.fc1(image.flatten(1)))
        scores: torch.Tensor = self.fc3(self.act2(self.fc2(x)))
        return scores


def compiled(model: MLP, verify: bool = False) -> ModelSchedule:
    """The plain schedule of a model for one image."""
    made: ModelSchedule = from_pytorch(
        model, [torch.linspace(-1, 1, 64).reshape(1, 1, 8, 8)], target="mlir", verify=verify
    )
    return made


def schedule(s: Any) -> Any:
    """Activations fused; all loops pipelined; the hidden layers compute four products in every cycle."""
    s["fc1"].fuse("act1")
    s["fc2"].fuse("act2")
    s["fc[12]"].split("k1", LANES)
    s["fc[12]"].unroll("k1.inner")
    s["fc[12]"].partition("weight", Partition.Cyclic, 1, LANES)
    s["fc[12]"].partition("row", Partition.Cyclic, 1, LANES)
    s["fc[12]"].pipeline("k1.outer")
    s["**"].pipeline()
    return s
