"""The ends of a layer by comparison: thresholds, in lookup tables or memories, and tables of levels."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt

from .shapes import Element, divides
from .units import Unit, unit

COMPARED, SEARCHED, LOOKED_UP, SCALED = "compared", "searched", "looked up", "scaled"


@dataclass(frozen=True, slots=True)
class Steps:
    """What levels, or sums, become: each array has a row for each channel, or one row for all.

    Attributes:
        element: what they become.
        limits: thresholds, ``[rows, count]``, rising: the result is ``first`` and the number of those that
            are reached.
        first: the least result.
        falling: 1 in the rows in which the result is that of thresholds that are not reached.
        table: in place of thresholds, what each of the numbers from ``low`` on becomes, ``[rows, numbers]``.
        low: as above.
        offset, factor, right: in place of both, ``(factor · number + offset) >> right``.
    """

    element: Element
    limits: Any = None
    first: int = 0
    falling: Any = None
    table: Any = None
    low: int = 0
    offset: Any = None
    factor: int = 1
    right: int = 0

    @property
    def methods(self) -> tuple[str, ...]:
        """The ways in which they are found."""
        if self.offset is not None:
            return (SCALED,)
        if self.table is not None:
            return (LOOKED_UP,)
        return (COMPARED,) if self.count < 3 else (COMPARED, SEARCHED)

    @property
    def count(self) -> int:
        """Thresholds of a row."""
        return 0 if self.limits is None else int(self.limits.shape[1])

    @property
    def depth(self) -> int:
        """Comparisons one behind the other where thresholds are searched."""
        return self.count.bit_length()

    @property
    def rows(self) -> int:
        """1, or the channels."""
        kept = (self.limits, self.table, self.offset)
        return next(len(array) for array in kept if array is not None)

    def of_rows(self, order: Any) -> Steps:
        """The rows in another order, or some of them; one row stays."""
        arrays = [
            array if array is None or len(array) == 1 else np.asarray(array)[order]
            for array in (self.limits, self.falling, self.table, self.offset)
        ]
        limits, falling, table, offset = arrays
        return Steps(
            self.element,
            limits,
            self.first,
            falling,
            table,
            self.low,
            offset,
            self.factor,
            self.right,
        )

    def of(self, numbers: Any) -> Any:
        """What numbers become, ``[…, channels]``: in NumPy."""
        found = np.asarray(numbers, np.int64)
        if self.offset is not None:
            return (found * self.factor + self.offset) >> self.right
        if self.table is not None:
            rows = np.broadcast_to(self.table, (*found.shape, np.shape(self.table)[-1]))
            return np.take_along_axis(rows, (found - self.low)[..., None], -1)[..., 0]
        reached = (found[..., None] >= self.limits).sum(-1)
        if self.falling is not None:
            reached = np.where(self.falling, self.count - reached, reached)
        return reached + self.first


def stage(limits: Any, number: int, depth: int, beyond: int) -> Any:
    """The thresholds of one comparison of a search, ``[rows · 2 ** number]``.

    Args:
        limits: ``[rows, count]``.
        number: of the comparison.
        depth: of all.
        beyond: what no number reaches.
    """
    rows, count = limits.shape
    places = np.arange(1 << number) * (1 << (depth - number)) + (1 << (depth - 1 - number)) - 1
    filled = np.full((rows, (1 << depth) - 1), beyond, np.int64)
    filled[:, :count] = limits
    return np.ascontiguousarray(filled[:, places].reshape(-1))


def steps(
    come_element: Element,
    function: Steps,
    *,
    channels: int,
    pe: int = 1,
    simd: int = 1,
    lanes: int = 1,
    vectors: int = 1,
    method: str = COMPARED,
    name: str = "steps",
) -> Unit:
    """A unit that applies a function of levels to the sums of a layer, or to an image.

    Words of ``pe`` numbers come, and words of ``simd`` elements go; ``lanes`` are found in a cycle.

    Args:
        come_element: what comes.
        function: what becomes of it.
        channels: of a vector.
        pe: numbers in a word that comes.
        simd: elements in a word that goes.
        lanes: at once.
        vectors: how many come.
        method: one of the function's methods: thresholds are all compared at once, or found by halving, one
            comparison and one memory for each bit of the result.
        name: of the kernel.

    Raises:
        OptionError: ``lanes`` does not divide ``pe`` or ``simd``, or these not the channels.
    """
    if function.rows == 1:  # all alike: a vector is what both words divide
        vectors, channels = vectors * channels // lcm(pe, simd), lcm(pe, simd)
    divides(f"pe of {name}", pe, channels)
    divides(f"simd of {name}", simd, channels)
    divides(f"lanes of {name}", lanes, pe)
    divides(f"lanes of {name}", lanes, simd)
    parts_of_vector, together, parts = channels // lanes, simd // lanes, pe // lanes
    rows = max(function.rows // lanes, 1)
    alike = function.rows == 1 or rows == 1
    sums, kind = come_element.bits, come_element.kind
    size, go_kind = function.element.bits, function.element.kind
    come_bits, go_bits = sums * pe, size * simd
    part, rest, step = sums * lanes, size * (simd - lanes), size * lanes
    count, depth, first, low = function.count, function.depth, function.first, function.low
    factor, right = function.factor, function.right
    # One more than what comes: thresholds that nothing reaches are kept as such.
    held = Element(sums + 1)
    limit_kind, count_bits = held.kind, max(count, 1).bit_length()
    compares, searches = method == COMPARED, method == SEARCHED
    looks_up = method == LOOKED_UP
    compared, searched = count if compares else 0, depth if searches else 0
    limits, tables, offsets = _by_lanes(function, held, lanes, rows, compares, searches)
    falls, has_falling = _falling(function, lanes, rows)
    numbers = len(tables[0]) // rows
    sizes = [rows << j for j in range(depth)]
    offset_element = Element.of(min(map(min, offsets)), max(map(max, offsets)))
    offset_kind, wide = (
        offset_element.kind,
        Element(max(offset_element.bits, sums + factor.bit_length()) + 2).kind,
    )

    def stepping(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Numbers to levels."""
        others: UInt(come_bits) = 0
        out: UInt(go_bits) = 0
        for _v, k in allo.grid(vectors, parts_of_vector, name="steps"):
            word: UInt(come_bits) = 0
            if k % parts == 0:
                word = come.get()
            else:
                word = others
            others = word >> part
            new: UInt(go_bits) = 0
            row: UInt(32) = 0 if alike else k
            with allo.meta_for(lanes) as o:
                one: kind = word[sums * o : sums * o + sums]
                level: go_kind = 0
                with allo.meta_if(compares or searches):
                    reached: UInt(count_bits) = 0
                    with allo.meta_for(compared) as t:
                        limit: limit_kind[rows] = limits[o][t]
                        hit: UInt(1) = 1 if one >= limit[row] else 0
                        reached = reached + hit
                    with allo.meta_for(searched) as j:
                        level_of: limit_kind[sizes[j]] = limits[o][j]
                        bit: UInt(1) = 1 if one >= level_of[(row << j) | reached] else 0
                        reached = (reached << 1) | bit
                    with allo.meta_if(has_falling):
                        fall: UInt(1)[rows] = falls[o]
                        if fall[row] == 1:
                            reached = count - reached
                    level = reached + first
                with allo.meta_elif(looks_up):
                    known: go_kind[rows * numbers] = tables[o]
                    level = known[row * numbers + (one - low)]
                with allo.meta_else():
                    added: offset_kind[rows] = offsets[o]
                    scaled: wide = one * factor + added[row]
                    level = scaled >> right
                new[rest + size * o : rest + size * o + size] = level
            out = (out >> step) | new
            if k % together == together - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:k")

    return unit(stepping, name, schedule, locals())


def _by_lanes(
    function: Steps, held: Element, lanes: int, rows: int, compares: bool, searches: bool
) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """Thresholds, tables and offsets of each lane, each an array of the rows that the lane has."""
    nothing = [np.zeros(rows, np.int64)] * lanes

    def mine(array: Any, lane: int) -> Any:
        """The rows of a lane."""
        return np.asarray(array) if len(array) == 1 else np.asarray(array)[lane::lanes]

    limits: list[list[Any]] = [[] for _ in range(lanes)]
    if compares or searches:
        kept = np.clip(np.asarray(function.limits, np.int64), held.low, held.high)
        for lane in range(lanes):
            own = mine(kept, lane)
            limits[lane] = (
                [np.ascontiguousarray(column) for column in own.T]
                if compares
                else [stage(own, j, function.depth, held.high) for j in range(function.depth)]
            )
    tables = nothing
    if function.table is not None:
        tables = [np.ascontiguousarray(mine(function.table, o).reshape(-1)) for o in range(lanes)]
    offsets = nothing
    if function.offset is not None:
        offsets = [np.ascontiguousarray(mine(function.offset, o)) for o in range(lanes)]
    return limits, tables, offsets


def _falling(function: Steps, lanes: int, rows: int) -> tuple[list[Any], bool]:
    """Which rows fall, of each lane."""
    found = np.zeros(rows * lanes, np.uint8)
    if function.falling is not None:
        found = np.broadcast_to(np.asarray(function.falling, np.uint8), (rows * lanes,))
    return [np.ascontiguousarray(found[lane::lanes]) for lane in range(lanes)], bool(found.any())
