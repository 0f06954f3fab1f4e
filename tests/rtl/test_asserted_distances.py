"""The least distance of a nest under asserted dependences, against all pairs of iterations."""

import itertools
import random

import pytest

from allo.backend.rtl.graph.nodes import Body, Node
from allo.backend.rtl.graph.regions import Level
from allo.backend.rtl.plan.orders.dependence import Distances
from allo.dialects.affine.asserted import Asserted


def _nest(trips):
    levels = [Level(f"l{k}", Node(k, "iv", 8), count) for k, count in enumerate(trips)]
    return Distances(Body(1), levels)


def _brute(trips, rows, floors):
    """The least flattened distance of all pairs that the assertions leave."""
    strides = [1] * len(trips)
    for k in reversed(range(len(trips) - 1)):
        strides[k] = strides[k + 1] * trips[k + 1]
    found = []
    for delta in itertools.product(*(range(1 - t, t) for t in trips)):
        carrier = next((k for k, d in enumerate(delta) if d), None)
        if carrier is None or delta[carrier] < 0:
            continue
        if not floors[carrier] or delta[carrier] < floors[carrier]:
            continue
        sums = [sum(c * d for c, d in zip(cs, delta, strict=True)) for cs, _, _ in rows]
        left = [(total - right, m) for total, (_, right, m) in zip(sums, rows, strict=True)]
        if all(rest % m == 0 if m else rest == 0 for rest, m in left):
            found.append(sum(s * d for s, d in zip(strides, delta, strict=True)))
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(300))
def test_the_least_distance(seed):
    rng = random.Random(seed)
    trips = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    rows = [
        (tuple(rng.choice((0, 0, 1, 1, 2, -1)) for _ in trips), rng.randint(-4, 4), 0)
        for _ in range(rng.randint(0, 2))
    ]
    if seed % 2:
        rows = [(*row[:2], rng.choice((0, 2, 3, 4, 6))) for row in rows]
    floors = tuple(rng.choice((0, 1, 1, 2, 3)) for _ in trips)
    assert _nest(trips)._solve(rows, floors) == _brute(trips, rows, floors)


def test_a_long_loop_without_dependences_is_seen_at_once():
    assert _nest([10**9])._solve([], (0,)) is None
    assert _nest([10**9])._solve([], (7,)) == 7
    assert _nest([4, 10**9])._solve([], (1, 0)) == 1


@pytest.mark.parametrize("distance", range(2, 12))
@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_steps_of_several_iterations(distance, copies):
    """Iterations a and b of two steps are at least ``distance`` apart for some a and b."""
    least = Asserted(0, "A", "all", distance).least(copies)
    reach = range(1, 2 * distance)
    spans = {
        d: max(copies * d + b - a for a in range(copies) for b in range(copies)) for d in reach
    }
    assert least == next(d for d in reach if spans[d] >= distance)
    assert Asserted(0, "A", "all", 0).least(copies) == 0
