"""The draft head in NumPy against the one that PyTorch trains: the same trees."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from allo.designs.llm.config import Architecture
from allo.designs.llm.draft.head import DraftHead

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "language_model" / "draft"))
from measure import Drafter, Tree
from model import Block, Head, Rotary

SHAPE: dict[str, Any] = {
    "d": 48, "heads": 6, "kv_heads": 2, "ffn": 40, "vocab": 90, "eps": 1e-5, "layers": 1,
    "rotary": [100.0 ** (-i / 4) for i in range(4)],
}  # fmt: skip
MODEL = Architecture(
    "llama", 1, 48, 6, 2, 8, 40, 64, 90, "silu", eps=1e-5, rms=True, gated=True,
    rotary=tuple(SHAPE["rotary"]),
)  # fmt: skip


class Fixed:
    """What a drafter takes of a model: its embedding."""

    def __init__(self, embedding: torch.Tensor) -> None:
        self.embedding = embedding


def pair() -> tuple[DraftHead, Drafter, np.random.Generator]:
    torch.manual_seed(3)
    head = Head(SHAPE, Block(SHAPE)).requires_grad_(False)
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter, mean=float(parameter.ndim == 1), std=0.2)
    embedding = torch.randn(90, 48)
    drafter = Drafter(Fixed(embedding), head, Rotary(SHAPE["rotary"], "cpu"))
    tensors = {name: value.numpy() for name, value in head.named_parameters()}
    return DraftHead(MODEL, tensors, embedding.numpy()), drafter, np.random.default_rng(5)


def edges(tree: Tree) -> list[tuple[int, int]]:
    return list(zip(tree.tokens, tree.parents, strict=True))


@pytest.mark.parametrize("room", [1, 7, 30])
def test_trees_are_those_of_pytorch(room: int) -> None:
    ours, theirs, draw = pair()
    text = draw.integers(0, 90, 30).tolist()
    hidden = draw.normal(size=(29, 48)).astype(np.float32)
    for taken, count in ((0, 11), (11, 12), (12, 29)):
        ours.take(hidden[taken:count], np.array(text[taken + 1 : count + 1]))
        expected = theirs.tree(text[: count + 1], torch.from_numpy(hidden[:count])).best(room)
        found = ours.grow(room)
        assert [(node.token, node.parent) for node in found] == edges(expected)
        assert np.allclose([node.score for node in found], expected.scores, atol=2e-4)


def test_a_wrong_place_gives_another_tree() -> None:
    ours, theirs, draw = pair()
    text = draw.integers(0, 90, 12).tolist()
    hidden = draw.normal(size=(11, 48)).astype(np.float32)
    ours.take(hidden[1:], np.array(text[2:]))  # the first place is missing
    expected = theirs.tree(text, torch.from_numpy(hidden)).best(20)
    assert [(node.token, node.parent) for node in ours.grow(20)] != edges(expected)
