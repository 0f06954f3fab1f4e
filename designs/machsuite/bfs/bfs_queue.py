"""MachSuite bfs/queue: breadth-first search by a ring buffer of nodes, each a Struct."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Struct, int8, int32, uint1

from .graph import UNREACHED, levels_of, random_graph

# Nodes, edges, levels.
SIZES = {"tiny": (32, 128, 6), "full": (256, 4096, 10)}
Node = Struct({"begin": int32, "end": int32})


def bfs_queue[N, E, L](
    nodes: Node[N], edges: int32[E], start: int32, level: int8[N], level_counts: int32[L]
):
    """Levels of the nodes reachable from ``start``, and how many nodes each level has."""
    queue: int32[N]
    head: int32 = 0
    tail: int32 = 1
    queue[0] = start
    level[start] = 0
    level_counts[0] = 1
    searching: uint1 = 1
    while searching:
        n: int32 = queue[head]
        head = (head + 1) % N
        depth: int8 = level[n]
        if depth < L - 1:
            node: Node = nodes[n]
            for e in range(node["begin"], node["end"]):
                target: int32 = edges[e]
                if level[target] == UNREACHED:
                    level[target] = depth + 1
                    level_counts[depth + 1] += 1
                    queue[tail] = target
                    tail = 0 if tail == N - 1 else tail + 1
        searching = head != tail


def schedule(size: tuple[int, ...]) -> Schedule:
    """A node's edges are a pipeline."""
    s = allo.customize(bfs_queue, instantiate=list(size))
    s.pipeline("e")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random graph with every level unknown."""
    count, edge_count, levels = size
    bounds, edges = random_graph(rng, count, edge_count)
    nodes = np.zeros(count, [("begin", np.int32), ("end", np.int32)])
    nodes["begin"], nodes["end"] = bounds[:-1], bounds[1:]
    start = np.array(rng.integers(count), np.int32)
    return nodes, edges, start, np.full(count, UNREACHED, np.int8), np.zeros(levels, np.int32)


def reference(
    nodes: np.ndarray,
    edges: np.ndarray,
    start: np.ndarray,
    level: np.ndarray,
    level_counts: np.ndarray,
) -> None:
    """By Python's own queue."""
    levels_of(nodes["begin"], nodes["end"], edges, int(start), level, level_counts)
