"""A block of LLaMA: RMS norms, rotary positions, grouped queries, a gated network; with its schedule."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from allo.torch import ModelSchedule, from_pytorch

LENGTH, WIDTH, HEADS, SHARED, HIDDEN = 6, 16, 4, 2, 24


class Attention(nn.Module):
    """Causal attention; several heads of queries have the keys and values of one."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = WIDTH // HEADS
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, SHARED * self.depth, bias=False)
        self.v_proj = nn.Linear(WIDTH, SHARED * self.depth, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        """Pairs of elements turned by an angle that grows with the position."""
        half = self.depth // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.outer(torch.arange(x.size(2), dtype=torch.float32), rates)
        cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * cos + turned * sin

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens mixed."""
        batch, length, width = x.shape
        q = self.q_proj(x).view(batch, length, HEADS, self.depth).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, SHARED, self.depth).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, SHARED, self.depth).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(
            self.rotated(q), self.rotated(k), v, is_causal=True, enable_gqa=True
        )
        result: torch.Tensor = self.o_proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


class Network(nn.Module):
    """The gated network."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.act = nn.SiLU()
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of each token."""
        result: torch.Tensor = self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))
        return result


class LlamaBlock(nn.Module):
    """One decoder block."""

    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.self_attn = Attention()
        self.post_attention_layernorm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.mlp = Network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens after the block."""
        x = x + self.self_attn(self.input_layernorm(x))
        result: torch.Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return result


def compiled(model: LlamaBlock, verify: bool = False) -> ModelSchedule:
    """The plain schedule of a block for one sequence."""
    tokens = torch.linspace(-1, 1, LENGTH * WIDTH).reshape(1, LENGTH, WIDTH)
    made: ModelSchedule = from_pytorch(model, [tokens], target="mlir", verify=verify)
    return made


def schedule(s: Any) -> Any:
    """Residual sums fused; projections of one shape share a function; pipelines; SiLU beside its gate."""
    s["self_attn"].fuse("add")
    s["mlp"].fuse("add_1")
    s["mlp.down_proj"].fuse("add_1")
    s["self_attn.[kv]_proj"].share()
    s["self_attn.[qo]_proj"].share()
    s["*_layernorm"].share()
    s["**"].pipeline()
    s["mlp.gate_proj"].stream_to("act", depth=4)
    return s
