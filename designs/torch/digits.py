"""Small models that read images of digits, 8 × 8: a perceptron, a residual network, attention over rows."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import nn

SIZE = 8


class Perceptron(nn.Module):
    """Two linear layers with a GELU."""

    def __init__(self, hidden: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.up = nn.Linear(SIZE * SIZE, hidden)
        self.gelu = nn.GELU()
        self.down = nn.Linear(hidden, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """The score of each class."""
        scores: torch.Tensor = self.down(self.gelu(self.up(image.flatten(1))))
        return scores


class Residual(nn.Module):
    """Two convolutions with batch norms, beside a short path."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the same shape."""
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(x + inner)


class ResidualNetwork(nn.Module):
    """A convolution with a stride, a depthwise one, a residual block, and the mean of each channel."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.block = Residual(width)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """The score of each class."""
        x = self.block(torch.relu(self.depthwise(torch.relu(self.stem(image)))))
        scores: torch.Tensor = self.fc(self.pool(x).flatten(1))
        return scores


class Attention(nn.Module):
    """A transformer block over the rows of an image: attention and a gated network behind norms."""

    def __init__(self, width: int = 16, heads: int = 2, classes: int = 10) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Linear(SIZE, width)
        self.places = nn.Parameter(torch.zeros(SIZE, width))
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.fc = nn.Linear(SIZE * width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """The score of each class."""
        x = self.embed(image.flatten(0, 1)) + self.places
        rows, width = x.shape[-2:]
        q, k, v = (
            part.reshape(-1, rows, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(mixed.transpose(1, 2).reshape(x.shape))
        x = x + self.down(functional.gelu(self.up(self.norm2(x))))
        scores: torch.Tensor = self.fc(x.flatten(1))
        return scores
