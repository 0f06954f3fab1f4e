"""A block of GPT-2, with a schedule in steps that are verified against PyTorch one by one.

``schedule(compiled(model, verify=True))`` compares with PyTorch after each of them.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import allo
from allo.customize import Partition
from allo.ir.types import float32, int32
from allo.library import nn as library
from allo.torch import ModelSchedule, from_pytorch

LENGTH, WIDTH, HEADS = 8, 16, 2
LANES = 4


class Attention(nn.Module):
    """Causal attention: one projection for queries, keys and values."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.register_buffer("bias", torch.ones(length, length).tril().view(1, 1, length, length))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens mixed with those before them."""
        batch, length, width = x.size()
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(self.bias == 0, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        result: torch.Tensor = self.c_proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


class Network(nn.Module):
    """The feed-forward network."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of each token."""
        result: torch.Tensor = self.c_proj(self.act(self.c_fc(x)))
        return result


class GPT2Block(nn.Module):
    """One decoder block, with the names of the published checkpoints."""

    def __init__(self, width: int = WIDTH, heads: int = HEADS, length: int = LENGTH) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, length)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Network(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens after the block."""
        x = x + self.attn(self.ln_1(x))
        result: torch.Tensor = x + self.mlp(self.ln_2(x))
        return result


def gelu[B: int32, L: int32, D: int32](x: float32[B, L, D]) -> float32[B, L, D]:
    """GELU by ``x / (1 + exp(-2 t))``, which is ``x (1 + tanh t) / 2`` with one exponential and no tanh."""
    z: float32[B, L, D]
    for b, i, j in allo.grid(B, L, D, name="gelu"):
        v: float32 = x[b, i, j]
        t: float32 = 0.7978845608028654 * (v + 0.044715 * v * v * v)
        z[b, i, j] = v / (1.0 + allo.exp(-2.0 * t))
    return z


def compiled(model: GPT2Block, verify: bool = False) -> ModelSchedule:
    """The plain schedule of a block for one sequence."""
    tokens = torch.linspace(-1, 1, LENGTH * WIDTH).reshape(1, LENGTH, WIDTH)
    made: ModelSchedule = from_pytorch(model, [tokens], target="mlir", verify=verify)
    return made


def schedule(s: Any) -> Any:
    """From plain nests to lanes and FIFOs, one step a line."""
    # Kernels of the library and our own, with the schedules that they bring.
    s["**.c_*"].replace(library.linear3d)
    s["mlp.act"].replace(gelu)

    # The products of the wide layers: four columns in every cycle.
    for wide in ("attn.c_attn", "mlp.c_fc"):
        s[wide].split("j", LANES)
        s[wide].unroll("j.inner")
        s[wide].partition("W", Partition.Cyclic, 1, LANES)
        s[wide].partition("buf", Partition.Cyclic, 1, LANES)
        s[wide].pipeline("j.outer")

    # Attention: scores and mixtures accumulate row by row; the mask is applied where scores are scaled.
    s["attn"].compute_at("div.i3", "masked_fill.i3")
    s["attn"].pipeline()

    # The two norms are one instance of hardware.
    s["ln_*"].share()
    s["ln_1"].pipeline()

    # GELU runs while the layer before it does.
    s["mlp.act"].pipeline("j")
    s["mlp.c_fc"].stream_to("act", depth=LANES)

    # The residual sums are computed where the projections store their rows.
    for path, total in (("attn", "add"), ("mlp", "add_1")):
        s[path].fuse(total)
        s[f"{path}.c_proj"].fuse(total)
    return s
