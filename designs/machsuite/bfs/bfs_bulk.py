"""MachSuite bfs/bulk: breadth-first search that sweeps over all nodes once a level."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int8, int32

from .graph import UNREACHED, levels_of, random_graph

# Nodes, edges, levels.
SIZES = {"tiny": (32, 128, 6), "full": (256, 4096, 10)}


def bfs_bulk[N, E, L](
    begin: int32[N],
    end: int32[N],
    edges: int32[E],
    start: int32,
    level: int8[N],
    level_counts: int32[L],
):
    """Levels of the nodes reachable from ``start``, and how many nodes each level has."""
    level[start] = 0
    level_counts[0] = 1
    for horizon in range(L - 1):
        count: int32 = 0
        for n in range(N):
            if level[n] == horizon:
                for e in range(begin[n], end[n]):
                    target: int32 = edges[e]
                    if level[target] == UNREACHED:
                        level[target] = horizon + 1
                        count += 1
        level_counts[horizon + 1] = count
        if count == 0:
            break


def schedule(size: tuple[int, ...]) -> Schedule:
    """A node's edges are a pipeline."""
    s = allo.customize(bfs_bulk, instantiate=list(size))
    s.pipeline("e")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random graph with every level unknown."""
    nodes, edge_count, levels = size
    bounds, edges = random_graph(rng, nodes, edge_count)
    start = np.array(rng.integers(nodes), np.int32)
    level = np.full(nodes, UNREACHED, np.int8)
    return bounds[:-1].copy(), bounds[1:].copy(), edges, start, level, np.zeros(levels, np.int32)


def reference(
    begin: np.ndarray,
    end: np.ndarray,
    edges: np.ndarray,
    start: np.ndarray,
    level: np.ndarray,
    level_counts: np.ndarray,
) -> None:
    """By a queue of nodes."""
    levels_of(begin, end, edges, int(start), level, level_counts)
