"""Copies of whole arrays: how many elements a step takes, of rows of any length."""

from __future__ import annotations

from itertools import product

import pytest

import allo
from allo import Partition
from allo.backend.rtl.interfaces.walk import copy_lanes, folded, most_fold
from allo.dialects.core.partition import ArrayLayout, make_dim
from allo.ir.types import Int, int32

from .kernels import agree, build, values

WIDEST = 16
"""Elements of 32 bits in a word of the bus."""
KINDS = (None, Partition.Cyclic, Partition.Complete, Partition.Block)


def layout_of(shape: tuple[int, ...], kinds: tuple, factors: tuple[int, ...]) -> ArrayLayout:
    whole = ArrayLayout(tuple(make_dim(Partition.Cyclic, extent, 1) for extent in shape)).dims
    return ArrayLayout(
        tuple(
            dim if kind is None else make_dim(kind, extent, factor)
            for dim, kind, extent, factor in zip(whole, kinds, shape, factors, strict=True)
        )
    )


def goes(layout: ArrayLayout, shape: tuple[int, ...], lanes: int) -> bool:
    """Whether steps in row-major order have each lane in banks of its own, and one word for all."""
    places = [layout.locate(at) for at in product(*map(range, shape))]
    for first in range(0, len(places), lanes):
        step = places[first : first + lanes]
        begin, word = step[0]
        if begin % lanes or any(at != (begin + n, word) for n, at in enumerate(step)):
            return False
    return True


def test_each_element_of_a_step_has_its_own_bank() -> None:
    """As the layout itself says of each element, for any partition of three shapes."""
    wide = set()
    for shape in ((6, 21), (4, 38), (3, 2, 10)):
        for kinds in product(KINDS, repeat=len(shape)):
            for factors in ((2,) * len(shape), (3, 2, 5)[: len(shape)], (1, 7, 3)[: len(shape)]):
                layout = layout_of(shape, kinds, factors)
                cut = folded(layout, most_fold(layout, WIDEST))
                lanes = copy_lanes(cut, WIDEST)
                dims = [dim.extent for dim in cut.dims]
                assert goes(cut, tuple(dims), lanes), (shape, kinds, factors, lanes)
                wide.add(lanes)
    assert {7, 14, 16, 19} <= wide
    rows = layout_of((6, 21), (None, Partition.Complete), (1, 1))
    assert not goes(rows, (6, 21), 14), "two steps of a row and a half"


@pytest.mark.parametrize(
    ("dtype", "shape", "banks"),
    [(int32, (4, 21), (1, 21)), (Int(7), (9, 10), (3, 5))],
    ids=lambda value: str(value),
)
def test_rows_of_any_length_are_copied_as_fast_as_the_bus_brings_them(dtype, shape, banks) -> None:
    """In both directions, whatever stalls."""
    M, N = shape

    def add(A: dtype[M, N]):
        for j in range(N):
            for i in range(M):
                A[i, j] = A[i, j] + A[i, j]

    s = allo.customize(add)
    s.pipeline("i")
    for dim, factor in enumerate(banks, 1):
        s.partition(s.A, Partition.Cyclic, dim, factor)
    asked = {"A": {"kind": "m_axi", "copy": True}}
    modules = [build(s, asked, stalls=stalls) for stalls in (0.3, 0.0)]
    for module in modules:
        cycles = agree(s, module, lambda rng: [values(rng, dtype, shape)])
    (array,) = modules[1].design.board.arrays
    assert array.uneven
    # Two words of a step at a time, in and out: a step of one element would take 84 or 90 cycles each way.
    assert min(cycles) - modules[1].report.cycles < 75
