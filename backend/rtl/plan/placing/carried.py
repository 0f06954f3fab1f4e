"""The orders between iterations that a pass over a body may break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...graph.nodes import Edge


class Carried:
    """Orders between iterations at one initiation interval.

    Args:
        positions: of nodes in their body, by number.
    """

    def __init__(self, edges: Sequence[Edge], positions: Mapping[int, int], ii: int) -> None:
        self._edges = edges
        self._sources = np.array([positions[e.source.number] for e in edges], dtype=np.int64)
        self._targets = np.array([positions[e.target.number] for e in edges], dtype=np.int64)
        self._slack = np.array([e.latency - e.distance * ii for e in edges], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._edges)

    def broken(self, times: Sequence[int]) -> Iterator[tuple[int, int, Edge]]:
        """Of each order that does not hold the position of its target, when that has to start, and itself."""
        found = np.array(times, dtype=np.int64)
        need = found[self._sources] + self._slack
        for k in np.flatnonzero(need > found[self._targets]):
            yield int(self._targets[k]), int(need[k]), self._edges[int(k)]
