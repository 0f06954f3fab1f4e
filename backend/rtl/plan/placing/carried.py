"""The orders between iterations that a pass over a body may break."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...graph.nodes import Edge


class Carried:
    """Orders between iterations.

    Args:
        positions: of nodes in their body, by number.
    """

    def __init__(self, edges: Sequence[Edge], positions: Mapping[int, int]) -> None:
        self._edges = edges
        self._sources = np.array([positions[e.source.number] for e in edges], dtype=np.int64)
        self._targets = np.array([positions[e.target.number] for e in edges], dtype=np.int64)
        self._latencies = np.array([e.latency for e in edges], dtype=np.int64)
        self._distances = np.array([e.distance for e in edges], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._edges)

    def broken(
        self, times: Sequence[int], ii: int
    ) -> tuple[Edge | None, list[tuple[int, int, Edge]]]:
        """The last order that does not hold, and what asks most of each target that starts too early.

        That is the position of the target, when it has to start, and the order, the first of equals.
        """
        found = np.array(times, dtype=np.int64)
        need = found[self._sources] + (self._latencies - self._distances * ii)
        late = np.flatnonzero(need > found[self._targets])
        if not len(late):
            return None, []
        targets, needs = self._targets[late], need[late]
        order = np.lexsort((late, -needs, targets))
        first = np.append(True, np.diff(targets[order]) > 0)
        asked = [
            (int(self._targets[k]), int(need[k]), self._edges[k])
            for k in late[order[first]].tolist()
        ]
        return self._edges[int(late[-1])], asked
