"""A pipeline that has ended before another step waits for a stream does not stand still with it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int8, int32

ROUNDS, DEPTH = 9, 7


@df.region()
def sums_of_products(A: int8[ROUNDS, DEPTH], B: int8[ROUNDS, DEPTH], C: int32[ROUNDS]):
    left: Stream[int8, 2]
    right: Stream[int8, 2]
    results: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def give_left(a: int8[ROUNDS, DEPTH]):
        for r in range(ROUNDS):
            for k in range(DEPTH):
                left.put(a[r, k])

    @df.kernel(mapping=[1], args=[B])
    def give_right(b: int8[ROUNDS, DEPTH]):
        for r in range(ROUNDS):
            for k in range(DEPTH):
                right.put(b[r, k])

    @df.kernel(mapping=[1])
    def cell():
        for _ in range(ROUNDS):
            acc: int32 = 0
            for k in range(DEPTH):
                acc += left.get() * right.get() * (k + 1)
            results.put(acc)

    @df.kernel(mapping=[1], args=[C])
    def collect(c: int32[ROUNDS]):
        for r in range(ROUNDS):
            late: int32 = 0
            for k in range((r * 37) % 50):
                late += k
            c[r] = results.get() + late


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_pipeline_moves_while_what_follows_it_waits(simulator: str) -> None:
    """Its consumer is now and then so late that the step that puts the sum waits for tens of cycles."""
    s = allo.customize(sums_of_products)
    s.pipeline("cell_0:k")
    module = s.build(target="verilog", simulator=simulator, device="ecp5", clock_mhz=100)
    generator = np.random.default_rng(5)
    a, b = (generator.integers(-128, 128, (ROUNDS, DEPTH)).astype(np.int8) for _ in range(2))
    c = np.zeros(ROUNDS, np.int32)
    module(a, b, c)
    products = (a.astype(np.int32) * b) @ np.arange(1, DEPTH + 1, dtype=np.int32)
    late = [sum(range((r * 37) % 50)) for r in range(ROUNDS)]
    np.testing.assert_array_equal(c, products + np.array(late, np.int32))


def test_the_registers_of_the_pipeline_have_no_enable() -> None:
    """Those of the steps, and those that hold its values; what starts the waiting step has one."""
    s = allo.customize(sums_of_products)
    s.pipeline("cell_0:k")
    text = s.build(target="verilog", device="ecp5", clock_mhz=100).verilog
    cell = re.search(r"^module cell_0\(.*?^endmodule", text, re.M | re.S)
    assert cell is not None
    blocks = re.findall(
        r"always_ff @\(posedge clk\).*?(?=\n  (?:always|reg|wire|assign|//|/\*))", cell[0], re.S
    )
    assert len(blocks) > 10
    steps = [b for b in blocks if re.search(r"b\d+_run\d+ +<=|op_b\d+_\d+ +<=", b)]
    assert len(steps) >= 3
    assert [b for b in steps if "if (~" in b or "if (and" in b] == []
    assert [b for b in blocks if re.search(r"\bgo_\d+ <= ", b) and "if (~" in b]
