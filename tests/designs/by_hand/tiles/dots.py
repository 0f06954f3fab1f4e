"""Triangles of dot products: elements computed at once, each as a tree over all of its terms.

Where one element takes more multipliers than there are, its pipeline starts an iteration every few cycles,
and operations in different cycles share a unit. No sum waits in a memory between iterations.
"""

from __future__ import annotations

from math import ceil

from allo.customize import Schedule

from .products import OF_PAIR, TABLES, divisors

OF_OPERANDS, OF_SWEPT = 72, 220
"""Lookup tables of the operands of a pair, and of what chooses where a swept word goes."""
INTERVALS = 12
"""The longest interval, in cycles, that is tried."""
OF_INTERVAL = 0.02
"""The share of its cycles that a triangle may take more of for an interval one cycle shorter, because the
units of a longer one have multiplexers."""
FEW_ELEMENTS = 3
"""As many that are computed at once with an interval of one cycle need no longer interval beside it."""
DRAIN = 90
"""Cycles in which a pipeline of trees of 200 to 260 terms ends."""
SIDE = 12
"""The most rows, and the most columns, that are computed at once."""


def dot_tiles(pairs: int, rows: int, terms: int, *, sweeps: int = 0) -> tuple[int, int, int]:
    """Rows and columns of a triangle to compute at once, and the interval: the fewest cycles.

    Few elements of a tile that is nearly square lie beyond the diagonal. The rows divide the columns, so that
    each column of a tile lies in one bank.

    Args:
        pairs: multiplier-adder pairs, at most.
        rows: those of the triangle.
        terms: products of an element, at least.
        sweeps: how often a pair is used for each of ``rows`` times ``terms`` words beside the triangle.
    """
    found = []
    for down in range(1, SIDE + 1):
        for across in range(down, SIDE + 1, down):
            at_once = down * across
            interval = max(1, ceil(at_once * terms / pairs))
            if interval > INTERVALS or (interval > 1 and pairs >= FEW_ELEMENTS * terms):
                continue
            if interval == 1 and OF_PAIR * at_once * terms > TABLES:
                continue
            if across >= rows:
                continue
            tiles = sum(-(-min(rows, last) // across) for last in range(down, rows + down, down))
            cycles = interval * (tiles + sweeps * -(-rows // at_once)) + DRAIN
            cost = cycles * (1 + OF_INTERVAL * (interval - 1))
            found.append((cost, at_once, down, across, interval))
    if not found:
        return 1, 1, ceil(terms / pairs)
    return min(found)[2:]


def triangle_of_dots(s: Schedule, function: str, down: int, across: int, interval: int) -> None:
    """Nest of i, j up to i, and the terms k: a tile of elements every ``interval`` cycles."""
    i, j, k = (f"{function}:{name}" for name in "ijk")
    if down > 1:
        s.split(i, down)
        s.reorder(f"{i}.outer", j, f"{i}.inner")
    s.unroll(j, factor=across)
    s.pipeline(j, initiation_interval=interval, rewind=True)
    s.rebalance(k)


def swept_columns(elements: int, columns: int, terms: int, pairs: int) -> int:
    """Columns to sweep at once on the units of so many elements: all, where a U280 has lookup tables for it.

    An operand that comes from several places takes more of them; a sweep of few columns reads few places.
    """
    for few in [*divisors(elements), elements][::-1]:
        of_pair = OF_PAIR + OF_OPERANDS
        if few <= columns and terms * (of_pair * elements + OF_SWEPT * few) <= TABLES:
            return few
    return 1
