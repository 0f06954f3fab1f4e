"""MachSuite md/knn, float64: forces of Lennard and Jones between an atom and its neighbours."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64, int32

# Atoms, neighbours of an atom.
SIZES = {"tiny": (32, 4), "full": (256, 16)}
LJ1 = 1.5
LJ2 = 2.0


def md_knn[N, M](
    neighbours: int32[N * M],
    x: float64[N],
    y: float64[N],
    z: float64[N],
    force_x: float64[N],
    force_y: float64[N],
    force_z: float64[N],
):
    """The force on every atom, component by component."""
    for i in range(N):
        sum_x: float64 = 0
        sum_y: float64 = 0
        sum_z: float64 = 0
        for j in range(M):
            other: int32 = neighbours[i * M + j]
            dx: float64 = x[i] - x[other]
            dy: float64 = y[i] - y[other]
            dz: float64 = z[i] - z[other]
            r2: float64 = 1.0 / (dx * dx + dy * dy + dz * dz)
            r6: float64 = r2 * r2 * r2
            potential: float64 = r6 * (LJ1 * r6 - LJ2)
            force: float64 = r2 * potential
            sum_x += dx * force
            sum_y += dy * force
            sum_z += dz * force
        force_x[i] = sum_x
        force_y[i] = sum_y
        force_z[i] = sum_z


def schedule(size: tuple[int, ...]) -> Schedule:
    """All pairs are one pipeline."""
    s = allo.customize(md_knn, instantiate=list(size))
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Atoms near a grid, so that none are close, and each one's nearest."""
    atoms, count = size
    side = int(np.ceil(atoms ** (1 / 3)))
    grid = np.array(list(np.ndindex(side, side, side)))[:atoms]
    position = grid + rng.uniform(-0.2, 0.2, grid.shape)
    distance = np.linalg.norm(position[:, None] - position, axis=2)
    nearest = distance.argsort(axis=1)[:, 1 : count + 1].astype(np.int32)
    xyz = (axis.copy() for axis in position.T)
    return nearest.reshape(-1), *xyz, *np.zeros((3, atoms))


def reference(neighbours: np.ndarray, *arrays: np.ndarray) -> None:
    """The j-th neighbours of all atoms at once."""
    position, forces = np.array(arrays[:3]), np.zeros((3, len(arrays[0])))
    for other in neighbours.reshape(len(arrays[0]), -1).T:
        d = position - position[:, other]
        r2 = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        r6 = r2 * r2 * r2
        forces += d * (r2 * (r6 * (LJ1 * r6 - LJ2)))
    for array, force in zip(arrays[3:], forces, strict=True):
        array[:] = force
