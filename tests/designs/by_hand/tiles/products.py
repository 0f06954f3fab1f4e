"""What the schedules of a budget share: the size of a tile, banks, and the loops of matrix products."""

from __future__ import annotations

from math import prod

from allo import Partition
from allo.customize import Schedule
from allo.ir.utils import MockBuffer

DISTANCE = 10
"""Tiles between two additions to one element."""
ADDED = 7
"""Cycles that these take at least: an adder at 300 MHz, and one where its sum is forwarded to the next."""
FEWER_PAIRS = 0.05
"""The share of its cycles that a triangle may take more of on fewer pairs that are busier."""
LEVEL = 6
"""Cycles that a level of a tree of additions takes."""

DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Terms of an element of a product that may be computed at once."""
DRAIN = 50
"""Cycles in which a pipeline of a product by a vector ends."""
SLACK = 0.005
"""The share of its cycles that a product may take more of for two terms of an element at once, not one."""
TABLES = 1_303_680
"""Lookup tables of a U280."""
OF_PAIR, OF_ELEMENT, OF_TURNS = 667, 170, 80
"""Those of a float32 multiplier and adder, of what each element that is computed at once has beside, and
of what chooses between the elements of products that take turns."""


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


def dots_tile(pairs: int, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of a matrix to multiply by a vector at once, down its columns: the fewest cycles.

    Of as many tiles, those of few columns have low trees.
    """
    found = []
    for u in divisors(columns):
        for t in range(1, rows):
            down = -(-rows // t)
            if t * u <= pairs and down >= min(DISTANCE, rows):
                cycles = down * (columns // u) + DRAIN + LEVEL * (u - 1).bit_length()
                found.append((cycles, t * u, t, u))
    return min(found)[2:]


def two_products(
    pairs: int, rows: int, columns: int, *, ragged: bool = False
) -> tuple[int, int, bool]:
    """Rows and columns of two matrices to multiply by vectors at once, and whether both products run at once.

    Then each has half of the pairs, and the ends of the two pipelines are one.
    """
    found = []
    for at_once in (1, 2):
        t, u = tile(max(1, pairs // at_once), rows, columns, along=DISTANCE, ragged=ragged)
        cycles = (-(-rows // t) * -(-columns // u) + DRAIN) * (2 // at_once)
        found.append((cycles, at_once, t, u))
    _, at_once, t, u = min(found)
    return t, u, at_once == 2


def product_tiles(
    pairs: int,
    rows: int,
    columns: int,
    terms: int,
    *before: tuple[int, int, int],
    depths: tuple[int, ...] = DEPTHS,
    around: float = 0.0,
    turned: bool = False,
) -> tuple[int, ...]:
    """What of a product to compute at once, on at most ``pairs`` pairs, and of those before it.

    Takes the fewest cycles in all; ``SLACK`` of them are given for half as many elements, which have half as
    many memories and multiplexers. Then the fewest pairs and ports. A factor of rows or columns need
    not divide its extent. Nothing is computed at once for which a U280 has no lookup tables.

    Args:
        before: products that compute as many rows (0) or columns (1) at once as this one reads of
            them: which of the two, the extent of their other side, and their number of terms.
        depths: how many terms of an element may be computed at once.
        around: cycles that are added for each tile of this product, beside those that clear it.
        turned: tiles of the left factor are also read with rows and columns changed, so that the rows
            at once divide those of the matrix, and are a multiple of the terms.

    Returns:
        Terms of an element of each product, rows and columns of this one, then a factor for the other
        side of each one before it. This is a multiple of the terms, which are read at once.
    """
    found = []
    pairs = min(pairs, TABLES // OF_PAIR)
    beside = OF_ELEMENT + (OF_TURNS if before else 0)
    for depth in depths:
        if depth > pairs or any(length % depth for length in (terms, *(b[2] for b in before))):
            continue
        for t in _steps(rows):
            if turned and (rows % t or t % depth):
                continue
            for u in _steps(columns):
                sides = ((rows, t), (columns, u))
                parts, factors = [(rows, t, columns, u, terms)], [depth, t, u]
                for which, extent, length in before:
                    whole, part = sides[which]
                    fitting = [f for f in _steps(extent, depth) if f * part * depth <= pairs]
                    most = max((f for f in fitting if _far(whole, part, extent, f)), default=0)
                    if (
                        not which
                        and most < u < extent
                        and u % depth == 0
                        and t * u * depth <= pairs
                    ):
                        same = most and -(-extent // most) == -(-extent // u)
                        most = u if same else most  # units then take turns of equal operands
                    factors.append(most)
                    parts.append((*sides[which], extent, most, length))
                most = max(a * b for _, a, _, b, _ in parts)
                if most * depth > pairs or OF_PAIR * most * depth + beside * most > TABLES:
                    continue
                if all(b and _far(m, a, n, b) for m, a, n, b, _ in parts):
                    tiles = [-(-m // a) * -(-n // b) for m, a, n, b, _ in parts]
                    cycles = sum(
                        n * (p[-1] / depth + 0.5) for n, p in zip(tiles, parts, strict=True)
                    )
                    cycles += tiles[0] * around * (2 if depth == 1 else 1)
                    found.append((cycles * (1 + 2 * SLACK / depth), most * depth, t + u, factors))
    return tuple(min(found)[-1])


def rows_above(pairs: int, rows: int, columns: int) -> tuple[int, int]:
    """Elements of a row, and rows below it, that are multiplied and added at once.

    Each group of rows, the last first, meets all rows above its last. The sums are cleared and scaled as many
    at once. Two additions to an element lie at least ``ADDED`` cycles apart, where there are as many: all but
    the last group have another one behind them. Of the tiles that take at most ``FEWER_PAIRS`` more cycles
    than the fastest one, that whose units are busiest.
    """
    found = []
    for terms in range(2, rows - 1):
        groups = range(rows - 1, 0, -terms)
        for lanes in (*_steps(columns), columns):
            if lanes * terms > max(2, pairs):
                continue
            pieces = -(-columns // lanes)
            cycles = pieces * (sum(groups) + 2 * len(groups)) + DRAIN
            near = groups[-2] * pieces < min(ADDED, columns)
            found.append((near, cycles, lanes * terms, lanes, terms))
    near, fastest = min(found)[:2]
    fast = [f for f in found if f[0] == near and f[1] <= fastest * (1 + FEWER_PAIRS)]
    return min(fast, key=lambda f: (f[1] * f[2], f))[3:]


def _steps(extent: int, multiple: int = 1) -> list[int]:
    """The least factor below ``extent`` for each number of tiles, made a multiple."""
    least = {-(-extent // n) for n in range(2, extent + 1)}
    steps = {-(-step // multiple) * multiple for step in least}
    return sorted(step for step in steps if step < extent)


def _far(rows: int, t: int, columns: int, u: int) -> bool:
    return -(-rows // t) * -(-columns // u) >= min(DISTANCE, rows * columns)


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


def outer_products(
    s: Schedule, function: str, band: str, rows: int, columns: int, terms: int = 1
) -> None:
    """``C[i, j] += A[i, k] * B[k, j]``: for each group of ``terms`` k every tile of C, one a cycle."""
    nest = s.get_loops(function)[band]
    for name, size in (("i", rows), ("j", columns), ("k", terms)):
        s.split(nest[name], size)
    nest = s.get_loops(function)[band]
    order = ("k.outer", "i.outer", "j.outer", "i.inner", "j.inner", "k.inner")
    s.reorder(*(nest[name] for name in order))
    nest = s.get_loops(function)[band]
    s.pipeline(nest["j.outer"])
    if terms > 1:
        s.rebalance(nest["k.inner"])


def sweep(
    s: Schedule, function: str, band: str, rows: int, columns: int, interval: int = 1
) -> None:
    """A nest of i and j a tile at a time, every ``interval`` cycles."""
    nest = s.get_loops(function)[band]
    s.split(nest["i"], rows)
    s.split(nest["j"], columns)
    nest = s.get_loops(function)[band]
    s.reorder(*(nest[name] for name in ("j.outer", "i.inner", "j.inner")))
    s.pipeline(s.get_loops(function)[band]["j.outer"], initiation_interval=interval)


def clear(
    s: Schedule, function: str, band: str, extents: tuple[int, int], rows: int, columns: int
) -> None:
    """A nest that clears a matrix: two tiles a cycle, through both ports of each bank, where it has two."""

    def sweeps(at_once: tuple[int, int]) -> int:
        return prod(-(-extent // size) for extent, size in zip(extents, at_once, strict=True))

    pairs = ((2 * rows, columns), (rows, 2 * columns))
    fitting = [pair for pair in pairs if pair[0] < extents[0] and pair[1] < extents[1]]
    sweep(s, function, band, *min(fitting, key=sweeps, default=(rows, columns)))


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
