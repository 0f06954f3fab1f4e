"""LLaMA's blocks and a draft head in PyTorch, as they are computed with a mask and places of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


class Rotary:
    """Cosines and sines of places, for pairs that stand beside each other, as GGUF has them."""

    def __init__(self, steps: list[float], device: str) -> None:
        self.steps = torch.tensor(steps, device=device)

    def at(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Of places (…, length): two tensors (…, 1, length, pairs)."""
        angles = places[..., None].float() * self.steps
        return angles.cos().unsqueeze(-3), angles.sin().unsqueeze(-3)


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Every pair of x (batch, heads, length, width) turned."""
    cosine, sine = (t.to(x.dtype) for t in turn)
    low, high = x[..., 0::2], x[..., 1::2]
    return torch.stack((low * cosine - high * sine, high * cosine + low * sine), -1).flatten(-2)


class Block(nn.Module):
    """Attention and a gated layer, behind norms by the root mean square."""

    def __init__(self, shape: dict[str, Any]) -> None:
        super().__init__()
        d, self.heads, self.shared = shape["d"], shape["heads"], shape["kv_heads"]
        self.width, self.eps = d // self.heads, shape["eps"]
        inner = self.shared * self.width
        self.norm1, self.norm2 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        self.q, self.p = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.k, self.v = nn.Linear(d, inner, bias=False), nn.Linear(d, inner, bias=False)
        self.gate, self.f1 = (nn.Linear(d, shape["ffn"], bias=False) for _ in range(2))
        self.f2 = nn.Linear(shape["ffn"], d, bias=False)

    def taken(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x, heads in front, each head of keys as often as it is shared."""
        y = functional.rms_norm(x, x.shape[-1:], self.norm1, self.eps)
        q, k, v = (
            f(y).unflatten(-1, (-1, self.width)).transpose(-3, -2) for f in (self.q, self.k, self.v)
        )
        times = self.heads // self.shared
        return (
            turned(q, turn),
            turned(k, turn).repeat_interleave(times, 1),
            v.repeat_interleave(times, 1),
        )

    def ended(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The block's end, from what attention gives (batch, heads, length, width)."""
        x = x + self.p(mixed.transpose(-3, -2).flatten(-2))
        y = functional.rms_norm(x, x.shape[-1:], self.norm2, self.eps)
        return x + self.f2(functional.silu(self.gate(y)) * self.f1(y))

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        """With a mask of what each place sees, or causal."""
        q, k, v = self.taken(x, turn)
        mixed = functional.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        return self.ended(x, mixed)


class Target(nn.Module):
    """The model whose tokens are drafted; ``forward`` gives its last hidden values, behind the norm."""

    def __init__(self, shape: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.shape = shape
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.embedding = nn.Parameter(torch.from_numpy(tensors["token_embd.weight"]))
        self.norm = nn.Parameter(torch.from_numpy(tensors["output_norm.weight"]))
        for at, block in enumerate(self.blocks):
            for ours, theirs in NAMES.items():
                block.get_parameter(ours).data = torch.from_numpy(
                    tensors[f"blk.{at}.{theirs}.weight"]
                )
        self.requires_grad_(False)

    def forward(
        self, tokens: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None = None
    ) -> Tensor:
        x = self.embedding[tokens]
        for block in self.blocks:
            x = block(x, turn, mask)
        return functional.rms_norm(x, x.shape[-1:], self.norm, self.shape["eps"])


NAMES = {
    "norm1": "attn_norm", "norm2": "ffn_norm", "q.weight": "attn_q", "k.weight": "attn_k",
    "v.weight": "attn_v", "p.weight": "attn_output", "gate.weight": "ffn_gate", "f1.weight": "ffn_up",
    "f2.weight": "ffn_down",
}  # fmt: skip


class Head(nn.Module):
    """One block that foretells the target's next hidden values (Li et al., "EAGLE", ICML 2024).

    Its input at a place is the target's hidden values there, or its own of the place before, and the
    embedding of the token that follows.
    """

    def __init__(self, shape: dict[str, Any], like: Block) -> None:
        super().__init__()
        self.join = nn.Linear(2 * shape["d"], shape["d"], bias=False)
        self.block = Block(shape)
        self.block.load_state_dict(like.state_dict())
        self.norm = nn.Parameter(torch.ones(shape["d"]))
        self.eps = shape["eps"]

    def joined(self, hidden: Tensor, embedded: Tensor) -> Tensor:
        """What the block takes."""
        return self.join(torch.cat((hidden, embedded), -1))

    def normed(self, x: Tensor) -> Tensor:
        """The block's output behind its norm: hidden values as the target's."""
        return functional.rms_norm(x, x.shape[-1:], self.norm, self.eps)

    def forward(
        self, hidden: Tensor, embedded: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> Tensor:
        return self.normed(self.block(self.joined(hidden, embedded), turn, mask))


def read_tensors(folder: Path) -> dict[str, np.ndarray]:
    """The tensors that ``prepare.py`` left in blocks, float32."""
    parts = sorted(folder.glob("blocks-*.bin"), key=lambda path: int(path.stem.split("-")[1]))
    whole = b"".join(path.read_bytes() for path in parts)
    found = {}
    for name, kind, shape, start, size in json.loads((folder / "index.json").read_text()):
        data = np.frombuffer(whole, np.uint8, size, start)
        found[name] = UNPACKED[kind](data).astype(np.float32).reshape(shape)
    return found


def read_head(path: Path) -> dict[str, Tensor]:
    """A head's parameters, whether float16 as ``train.py`` writes them or int8 as ``finish.py`` does."""
    found = dict(np.load(path))
    one = np.float32(1)
    return {
        name: torch.from_numpy(value.astype(np.float32) * found.get(f"{name}_scale", one))
        for name, value in found.items()
        if not name.endswith("_scale")
    }


def _q4_1(data: np.ndarray) -> np.ndarray:
    blocks = data.reshape(-1, 20)
    step, least = blocks[:, :4].copy().view(np.float16).astype(np.float32).T
    levels = np.concatenate((blocks[:, 4:] & 15, blocks[:, 4:] >> 4), 1)
    return levels * step[:, None] + least[:, None]


def _q8_0(data: np.ndarray) -> np.ndarray:
    blocks = data.reshape(-1, 34)
    step = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return blocks[:, 2:].view(np.int8) * step


UNPACKED = {"F32": lambda data: data.view(np.float32), "Q4_1": _q4_1, "Q8_0": _q8_0}
"""By the kind of a block (ggml)."""
