"""What the schedules of a budget share: the size of a tile, banks, and the loops of matrix products."""

from __future__ import annotations

from allo import Partition
from allo.customize import Schedule
from allo.ir.utils import MockBuffer

DISTANCE = 10
"""Cycles between two additions to one element: an adder at 300 MHz, its load and its store take 9."""


def divisors(extent: int) -> list[int]:
    """Those below ``extent``, ascending."""
    return [d for d in range(1, extent) if extent % d == 0]


def tile(
    pairs: int, rows: int, columns: int, *, along: int = 1, around: int = 1, ragged: bool = False
) -> tuple[int, int]:
    """Rows and columns to compute at once, on at most ``pairs`` multiplier-adder pairs.

    Takes the fewest tiles, then the fewest pairs, then the fewest ports.

    Args:
        along: the least number of tiles along each side, where there are as many.
        around: the least number of tiles in all, where there are as many.
        ragged: the number of rows need not divide those of the matrix.
    """
    found = []
    for t in range(1, rows) if ragged else divisors(rows):
        for u in divisors(columns):
            down, across = -(-rows // t), columns // u
            far = down >= min(along, rows) and across >= min(along, columns)
            if far and t * u <= pairs and down * across >= min(around, rows * columns):
                found.append((down * across, t * u, t + u, t, u))
    return min(found)[3:]


def bank(s: Schedule, array: MockBuffer | str, *factors: int) -> None:
    """Spread the array over so many banks in each dimension, cyclically."""
    for dim, factor in enumerate(factors, 1):
        if factor > 1:
            s.partition(array, Partition.Cyclic, dim, factor)


def spread(factor: int, extent: int) -> int:
    """Banks of a vector of which ``factor`` elements are used at once: as many, but at least 8.

    A vector is cleared a bank at a time, which would take long with one bank.
    """
    enough = [d for d in divisors(extent) if d >= 8 and d % factor == 0]
    return factor if factor >= 8 or not enough else enough[0]


def outer_products(s: Schedule, function: str, rows: int, columns: int) -> None:
    """``C[i, j] += A[i, k] * B[k, j]``: for each k every tile of C, one a cycle."""
    i, j, k = (f"{function}:{name}" for name in "ijk")
    s.split(i, rows)
    s.split(j, columns)
    s.reorder(k, f"{i}.outer", f"{j}.outer", f"{i}.inner", f"{j}.inner")
    s.pipeline(f"{j}.outer")


def matrix_vector(
    s: Schedule, function: str, lanes: tuple[str, int], sums: tuple[str, int]
) -> None:
    """``y[i] += A[i, j] * x[j]``: ``lanes`` of i at once, each a tree over so many ``sums`` of j."""
    (i, at_once), (j, terms) = lanes, sums
    i, j = f"{function}:{i}", f"{function}:{j}"
    s.split(i, at_once)
    s.split(j, terms)
    s.reorder(f"{j}.outer", f"{i}.outer", f"{i}.inner", f"{j}.inner")
    s.pipeline(f"{i}.outer")
    s.rebalance(f"{j}.inner")
