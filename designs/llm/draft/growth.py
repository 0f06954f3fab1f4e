"""Trees of proposals that grow by their likeliest nodes (Li et al., "EAGLE-2", EMNLP 2024)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Node:
    """A proposed token: the node that it follows, -1 for the text, and the logarithm of its probability."""

    token: int
    parent: int
    score: float


Level = Callable[[list[Node], list[int], list[int]], np.ndarray]
"""Takes all nodes, those of a level, and the row of logits that each of these was taken from; gives the
logits behind each of them."""


def grown(logits: np.ndarray, level: Level, beam: int, depth: int, room: int) -> list[Node]:
    """The likeliest continuations of a text: ``room`` nodes at most, parents before their children.

    Args:
        logits: behind the text, (tokens,).
        beam: nodes of a level that grow.
        depth: levels.
    """
    nodes: list[Node] = []
    front, sources, rows = [-1], [0], logits[None]
    for at_level in range(depth):
        if at_level:
            rows = level(nodes, front, sources)
        found = _likeliest(nodes, front, rows, beam)
        front, sources = [], []
        for score, token, parent, row in found:
            nodes.append(Node(token, parent, score))
            front.append(len(nodes) - 1)
            sources.append(row)
    return _best(nodes, room)


def path_of(nodes: list[Node], at: int) -> list[int]:
    """A node behind those that it follows."""
    path: list[int] = []
    while at >= 0:
        path.insert(0, at)
        at = nodes[at].parent
    return path


def _likeliest(
    nodes: list[Node], front: list[int], logits: np.ndarray, beam: int
) -> list[tuple[float, int, int, int]]:
    """Score, token, parent and row of the best children of a level, the likeliest first."""
    peak = logits.max(-1, keepdims=True)
    shares = logits - peak - np.log(np.exp(logits - peak).sum(-1, keepdims=True))
    top = np.argpartition(-shares, beam - 1, axis=-1)[:, :beam]
    found = [
        (float(shares[row, token]) + (nodes[at].score if at >= 0 else 0.0), int(token), at, row)
        for row, at in enumerate(front)
        for token in top[row]
    ]
    return sorted(found, reverse=True)[:beam]


def _best(nodes: list[Node], room: int) -> list[Node]:
    """The likeliest nodes; no child is likelier than its parent, so parents are among them."""
    order = sorted(range(len(nodes)), key=lambda at: (-nodes[at].score, at))[:room]
    kept = sorted(order)
    number = {at: new for new, at in enumerate(kept)} | {-1: -1}
    return [Node(nodes[at].token, number[nodes[at].parent], nodes[at].score) for at in kept]
