"""An encoder block of BERT: self-attention and a feed-forward network, norms behind, with its schedule."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from allo.torch import ModelSchedule, from_pytorch

LENGTH, WIDTH, HEADS = 8, 16, 2


class SelfAttention(nn.Module):
    """Every token attends to every other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens mixed."""
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        parts = (self.query(x), self.key(x), self.value(x))
        q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v)
        result: torch.Tensor = self.output(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


class BertBlock(nn.Module):
    """One encoder block."""

    def __init__(self, width: int = WIDTH, heads: int = HEADS) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(2 * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens after the block."""
        x = self.norm1(x + self.attention(x))
        result: torch.Tensor = self.norm2(x + self.down(self.act(self.up(x))))
        return result


def compiled(model: BertBlock, verify: bool = False) -> ModelSchedule:
    """The plain schedule of a block for one sequence."""
    tokens = torch.linspace(-1, 1, LENGTH * WIDTH).reshape(1, LENGTH, WIDTH)
    made: ModelSchedule = from_pytorch(model, [tokens], target="mlir", verify=verify)
    return made


def schedule(s: Any) -> Any:
    """One function for query, key and value; every innermost loop is a pipeline; GELU while ``up`` runs."""
    s["attention.[qkv]*"].share()
    s["**"].pipeline()
    s["up"].stream_to("act", depth=4)
    return s
