"""Rows of a triangle in pieces, and banks for the copies of arrays behind buses."""

from dataclasses import replace

import numpy as np

from allo.designs.polybench.kernels import load, plain
from allo.dialects.core.partition import Partition
from allo.explore.apply import Step, apply
from allo.explore.beyond.hoist import hoisted
from allo.explore.beyond.lanes import lanes_of, with_lanes
from allo.explore.beyond.pieces import cuts_of, narrowed, steps_of_cuts
from allo.explore.beyond.rows import SHARED, blocks_of, steps_of_rows
from allo.explore.model.kernel import Array, Kernel
from allo.explore.model.read import read_kernel
from allo.explore.model.units import Units
from allo.schedule.handles import LoopWrapper

UNITS = Units("xcup", 300.0, "keep")


def work(kernel: Kernel) -> int:
    return blocks_of(kernel, UNITS, 0, 0)


def test_rows_of_a_triangle_are_cut_where_their_units_are_used_best() -> None:
    """trmm of 20 rows of 30: row i takes 30 · (19 - i) products, of 2 blocks each."""
    kernel = read_kernel(plain("trmm", (20, 30)))
    loop = kernel.nests[0].chain[0]
    assert [work(narrowed(kernel, 0, loop, low, low + 1)) for low in (0, 7, 18)] == [1140, 720, 60]
    limit = 124
    found = cuts_of(kernel, 0, 0, work, limit)

    def cycles(cuts: list[int]) -> int:
        ends = [0, *cuts, 20]
        blocks = (60 * (19 - low) for low in ends[:-1])
        return sum(
            (b - a) * max(1, -(-n // limit))
            for a, b, n in zip(ends, ends[1:], blocks, strict=False)
        )

    assert cycles(found[0]) == min(cycles([at]) for at in range(1, 20)) < cycles([])
    best = min(cycles([a, b]) for a in range(1, 19) for b in range(a + 1, 20))
    assert cycles(found[1]) == best < cycles(found[0])


def test_an_inner_loop_stays_in_its_nest() -> None:
    nest = read_kernel(plain("trmm", (6, 4))).nests[0]
    for each, band in ((nest, "S_i_0.rest"), (replace(nest, parent=0), "S_i_0")):
        _, last = steps_of_cuts(each, 0, [2, 4])
        assert last.arguments[0] == LoopWrapper(nest.function, band, "i.rest")


def test_loops_that_bound_nothing_are_left_whole() -> None:
    kernel = read_kernel(plain("gemm", (4, 6, 5)))
    assert cuts_of(kernel, 0, 0, work, 4) == []


def test_pieces_give_the_bits_of_the_cpu_and_the_short_rows_a_shorter_interval() -> None:
    size, limit = (6, 4), 16
    s = plain("trmm", size)
    nest = read_kernel(s).nests[0]
    apply(s, list(steps_of_cuts(nest, 0, cuts_of(read_kernel(s), 0, 0, work, limit)[0])))
    kernel = read_kernel(s)
    loops = next(hoisted(kernel, SHARED))
    blocks = {number: blocks_of(kernel, UNITS, number, at) for number, at in loops.items()}
    steps = steps_of_rows(kernel, loops, 3, trees=True, dataflow=False, work=blocks)
    apply(s, with_lanes(kernel, steps))
    mod = s.build(target="verilog", simulator="jit", clock_mhz=300)
    ours, theirs = (load("trmm").inputs(np.random.default_rng(0), size) for _ in range(2))
    mod(*ours)
    s.build()(*theirs)
    assert ours[1].tobytes() == theirs[1].tobytes()
    pipelines = [step for step in steps if step.primitive == "pipeline"]
    long, short, _ = [dict(step.options).get("initiation_interval", 1) for step in pipelines]
    assert short < long == 3


def test_banks_along_rows_divide_them_and_fill_a_word_of_the_bus() -> None:
    def of(shape: tuple[int, ...], now: int) -> int | None:
        return lanes_of(Array("f:A", "f:A", shape, 32, False, {}), now)

    assert [of((20, 30), 1), of((20, 30), 2), of((20, 30), 30)] == [10, 10, None]
    assert of((20, 20), 4) == 20
    assert of((4, 8), 1) is None, "a small array is copied in a few steps"
    kernel = read_kernel(plain("trmm", (20, 30)))
    rows = [Step("partition", (f"trmm:{name}", Partition.Cyclic, 1, 4)) for name in "AB"]
    lanes = [Step("partition", (f"trmm:{name}", Partition.Cyclic, 2, 10)) for name in "AB"]
    assert with_lanes(kernel, rows) == [*rows, *lanes]
    assert with_lanes(kernel, lanes) == lanes
