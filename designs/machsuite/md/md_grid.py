"""MachSuite md/grid, float64: forces of Lennard and Jones between atoms of neighbouring blocks."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Struct, float64, int32

# Blocks a side, places in a block.
SIZES = {"tiny": (2, 4), "full": (4, 10)}
LJ1 = 1.5
LJ2 = 2.0
AXES = ("x", "y", "z")
Vector = Struct(dict.fromkeys(AXES, float64))
RECORD = np.dtype([(axis, np.float64) for axis in AXES])


def lower(a: Int(34)) -> int32:
    """The first block in reach."""
    return max(a, 0)


def upper(a: Int(34), b: int32) -> int32:
    """The block behind the last in reach."""
    return min(a, b)


def md[B, D](count: int32[B, B, B], position: Vector[B, B, B, D], force: Vector[B, B, B, D]):
    """Adds to the force on every atom those of the atoms in its own and all adjacent blocks."""
    for ax, ay, az in allo.grid(B, B, B):
        for bx in range(lower(ax - 1), upper(ax + 2, B)):
            for by in range(lower(ay - 1), upper(ay + 2, B)):
                for bz in range(lower(az - 1), upper(az + 2, B)):
                    others: int32 = count[bx, by, bz]
                    for p in range(count[ax, ay, az]):
                        here: Vector = position[ax, ay, az, p]
                        total: Vector = force[ax, ay, az, p]
                        for q in range(others):
                            there: Vector = position[bx, by, bz, q]
                            dx: float64 = here["x"] - there["x"]
                            dy: float64 = here["y"] - there["y"]
                            dz: float64 = here["z"] - there["z"]
                            if dx != 0 or dy != 0 or dz != 0:
                                r2: float64 = 1.0 / (dx * dx + dy * dy + dz * dz)
                                r6: float64 = r2 * r2 * r2
                                f: float64 = r2 * (r6 * (LJ1 * r6 - LJ2))
                                total["x"] += f * dx
                                total["y"] += f * dy
                                total["z"] += f * dz
                        force[ax, ay, az, p] = total


def schedule(size: tuple[int, ...]) -> Schedule:
    """The atoms of a block are a pipeline."""
    s = allo.customize(md, instantiate=list(size))
    s.pipeline("q")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Blocks with some of their places taken, atoms not too close."""
    side, density = size
    shape = (side, side, side)
    count = rng.integers(1, density + 1, shape, np.int32)
    position, force = np.zeros((2, *shape, density), RECORD)
    for block in np.ndindex(shape):
        corners = rng.permutation(27)[:density]
        for axis, name in enumerate(AXES):
            inside = corners // 3**axis % 3 + rng.uniform(-0.2, 0.2, density)
            position[name][block] = block[axis] + inside / 3
            force[name][block] = 0
    return count, position, force


def reference(count: np.ndarray, position: np.ndarray, force: np.ndarray) -> None:
    """All atoms of a block at once, its neighbours' atoms one after the other."""
    places = np.stack([position[name] for name in AXES])
    side = len(count)
    for block in np.ndindex(count.shape):
        mine = places[:, *block, : count[block]]
        total = np.zeros_like(mine)
        near = [range(max(c - 1, 0), min(c + 2, side)) for c in block]
        for other in ((i, j, k) for i in near[0] for j in near[1] for k in near[2]):
            for atom in places[:, *other, : count[other]].T:
                d = mine - atom[:, None]
                apart = (d != 0).any(axis=0)
                r2 = 1.0 / np.where(apart, d[0] * d[0] + d[1] * d[1] + d[2] * d[2], 1)
                r6 = r2 * r2 * r2
                f = r2 * (r6 * (LJ1 * r6 - LJ2))
                total = np.where(apart, total + f * d, total)
        for name, row in zip(AXES, total, strict=True):
            force[name][block][: count[block]] = row
