"""The array of multipliers that the products of one design share, and copies of whole matrices."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from .shape import bank


def add_product[P, U, K, J](depth: index, a: float32[P, K], b: float32[K, J], c: float32[P, J]):
    """``c += a[:, :depth] @ b[:depth]``, U rows of it at once: an element is added to every P / U cycles."""
    for k in range(depth):
        for i in range(P // U):
            for u in range(U):
                e: float32 = a[i * U + u, k]
                for j in range(J):
                    c[i * U + u, j] += e * b[k, j]


def schedule_product(rows: int, at_once: int, depth: int, columns: int) -> Schedule:
    """The product with all columns of as many rows in a cycle."""
    s = allo.customize(add_product, instantiate=[rows, at_once, depth, columns])
    s.pipeline("i")
    return s


def bank_product(s: Schedule, at_once: int, lanes: int, a: str, b: str, c: str) -> None:
    """Banks for the product: rows of a and c, lanes of a as they are fetched, all columns of b and c."""
    for array in (b, c):
        s.partition(getattr(s, array), dim=2)
    if at_once > 1:
        bank(s, at_once, getattr(s, a), getattr(s, c))
    bank(s, lanes, getattr(s, a), dim=2)


def fetch[M, N, P, Q, L](X: float32[M, N], x: float32[P, Q]):
    """A matrix from memory, L elements at once, into the corner of one that may be larger."""
    for m in range(M):
        for n in range(N // L):
            for l in range(L):
                x[m, n * L + l] = X[m, n * L + l]


def fetch_at_once(s: Schedule, function: str, names: str) -> None:
    """Fetches of a function run beside each other, an element of each lane in a cycle."""
    for name in names:
        s.pipeline(f"fetch_{name}:n")
    s.dataflow(function)


def bank_all(s: Schedule, arrays: tuple[str, ...], lanes: tuple[int, ...]) -> None:
    """As many neighbours of each array in a cycle."""
    for array, count in zip(arrays, lanes, strict=True):
        bank(s, count, getattr(s, array), dim=2)
