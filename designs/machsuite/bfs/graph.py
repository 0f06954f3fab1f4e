"""Random graphs, and breadth-first search in Python: what the two bfs kernels share."""

from __future__ import annotations

from collections import deque

import numpy as np

UNREACHED = 127


def random_graph(
    rng: np.random.Generator, nodes: int, edge_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """A graph as rows of targets: where each node's edges begin (one entry more), and the targets.

    Many nodes have few edges and some none, so that there are several levels and unreachable nodes.
    """
    sources = np.sort((nodes * rng.random(edge_count) ** 2).astype(np.int32))
    bounds = np.searchsorted(sources, np.arange(nodes + 1)).astype(np.int32)
    near = sources + rng.integers(-3, 4, edge_count)
    return bounds, (near % nodes).astype(np.int32)


def levels_of(
    begin: np.ndarray,
    end: np.ndarray,
    edges: np.ndarray,
    start: int,
    level: np.ndarray,
    level_counts: np.ndarray,
) -> None:
    """Levels up to the last that ``level_counts`` has room for, and how many nodes each has.

    The counts are written up to the first empty level.
    """
    last = len(level_counts) - 1
    level[start] = 0
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if level[node] == last:
            continue
        for target in edges[begin[node] : end[node]]:
            if level[target] == UNREACHED:
                level[target] = level[node] + 1
                queue.append(int(target))
    for depth in range(last + 1):
        level_counts[depth] = (level == depth).sum()
        if level_counts[depth] == 0:
            break
