"""2mm: columns of A and rows of B are multiplied as they come; the second product is stored as it is made."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from ..products.two_mm_in_place import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all
from .shape import Shape, bank

ARRAYS = ("A", "B", "C", "D")
SHAPES = {
    "one": Shape(30, 20, (14, 19, 20, 6, 42, 38)),
    "many": Shape(30, 44, (42, 38, 44, 6, 42, 38)),
    "mini": Shape(8, 6, (22, 6, 6, 2, 22, 9)),
}
"""For one channel an array, at most four, and a small size: rows of a tile, lanes of D; lanes of A, B, C,
rows at once, columns of A that are fetched together, and rows of C."""


def two_products[P, R, Q, S, T, U, K, LM](
    t: index,
    a: float32[P, Q],
    b: float32[Q, S],
    c: float32[R, S],
    sums: float32[P, S],
    done: float32[T, S],
):
    """K columns of a with as many rows of b in Q / K turns, then a tile of the second product in each."""
    left: float32[T, R]
    if t < Q // K:
        for k in range(K):
            for i in range(P // U):
                e: float32[U]
                for u in range(U):
                    e[u] = a[i * U + u, t * K + k]
                for j in range(S):
                    row: float32 = b[t * K + k, j]
                    for v in range(U):
                        sums[i * U + v, j] += e[v] * row
    else:
        for i1 in range(T // U):
            for j1 in range(R // LM):
                for u1 in range(U):
                    for l1 in range(LM):
                        product: float32 = sums[(t - Q // K) * T + i1 * U + u1, j1 * LM + l1]
                        left[i1 * U + u1, j1 * LM + l1] = product * alpha
        for i2 in range(T // U):
            for j2 in range(S):
                for u2 in range(U):
                    sums[(t - Q // K) * T + i2 * U + u2, j2] = 0
        for k2 in range(R):
            for i4 in range(T // U):
                e2: float32[U]
                for u4 in range(U):
                    e2[u4] = left[i4 * U + u4, k2]
                for j4 in range(S):
                    row2: float32 = c[k2, j4]
                    for v2 in range(U):
                        sums[(t - Q // K) * T + i4 * U + v2, j4] += e2[v2] * row2
        for i3 in range(T // U):
            for u3 in range(U):
                for j3 in range(S):
                    done[i3 * U + u3, j3] = sums[(t - Q // K) * T + i3 * U + u3, j3]


def two_mm[P, R, Q, S, T, U, K, W, LA, LB, LC, LD](
    A: float32[P, Q], B: float32[Q, R], C: float32[R, S], D: float32[P, S]
):
    """``D = alpha * A @ B @ C + beta * D``; K columns of A, W rows of C and T of D are a tile."""
    a: float32[P, Q]
    b: float32[Q, S] = 0
    c: float32[R, S]
    d: float32[P, S]
    sums: float32[P, S] = 0
    for t in range(Q // K + P // T):
        done: float32[T, S]
        if t < Q // K:
            for ma in range(P):
                for na in range(K // LA):
                    for la in range(LA):
                        a[ma, t * K + na * LA + la] = A[ma, t * K + na * LA + la]
        if t < Q // K:
            for mb in range(K):
                for nb in range(R // LB):
                    for lb in range(LB):
                        b[t * K + mb, nb * LB + lb] = B[t * K + mb, nb * LB + lb]
        if t < R // W:
            for mc in range(W):
                for nc in range(S // LC):
                    for lc in range(LC):
                        c[t * W + mc, nc * LC + lc] = C[t * W + mc, nc * LC + lc]
        if t < P // T:
            for md in range(T):
                for nd in range(S // LD):
                    for ld in range(LD):
                        d[t * T + md, nd * LD + ld] = D[t * T + md, nd * LD + ld]
        two_products[P, R, Q, S, T, U, K, LB](t, a, b, c, sums, done)
        if t >= Q // K:
            for m in range(T):
                for n in range(S // LD):
                    for l in range(LD):
                        old: float32 = d[(t - Q // K) * T + m, n * LD + l] * beta
                        D[(t - Q // K) * T + m, n * LD + l] = done[m, n * LD + l] + old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """Fetches, products and stores of different tiles run beside each other."""
    *of_others, at_once, columns, of_c = shape.each
    lanes = (*of_others, shape.lanes)
    tiles = shape.rows, at_once
    inner = allo.customize(two_products, instantiate=[*size, *tiles, columns, lanes[1]])
    for loop in ("i", "j1", "i2", "i3", "i4"):
        inner.pipeline(loop)
    for array in (inner.e, inner.e2):
        inner.partition(array)
    bank(inner, at_once, inner.left)
    bank(inner, lanes[1], inner.left, dim=2)
    s = allo.customize(two_mm, instantiate=[*size, *tiles, columns, of_c, *lanes])
    s.compose(inner)
    for loop in ("na", "nb", "nc", "nd", "n"):
        s.pipeline(f"two_mm:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, (*ARRAYS, "a", "d"), (*lanes, lanes[0], lanes[3]))
    bank(s, at_once, s.a, s.sums, s.done)
    for array in (s.b, s.c, s.sums, s.done):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    P, R, Q, S = size
    return {"A": 4 * P * Q, "B": 4 * Q * R, "C": 4 * R * S, "D": 8 * P * S}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
