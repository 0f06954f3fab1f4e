"""An array that is written through two ports: a block on Gowin, registers on iCE40, as Yosys makes it."""

from __future__ import annotations

import pytest

import allo
from allo.ir.types import int8, int32


def pairs(x: int8[16]) -> int32:
    a: int8[64] = 0
    total: int32 = 0
    for i in range(32):
        a[2 * i] = x[0]
        a[2 * i + 1] = x[1]
    for j in range(64):
        total += a[j]
    return total


@pytest.mark.parametrize(("family", "blocks"), [("ice40", 0), ("gowin", 1), ("ecp5", 1)])
def test_two_writing_ports_take_what_yosys_makes_of_them(family: str, blocks: int) -> None:
    schedule = allo.customize(pairs)
    schedule.pipeline("i")
    module = schedule.build(target="verilog", device=family, clock_mhz=25.0)
    estimated, found = module.report.resources, module.synthesize().resources
    assert found["bram"] == estimated.get("bram", 0) == blocks
    assert abs(estimated["ff"] - found["ff"]) <= 0.05 * found["ff"]
    assert abs(estimated["lut"] - found["lut"]) <= 0.2 * found["lut"]


def counter(n: int32) -> int32:
    total: int32 = 0
    for i in range(1000):
        if i < n:
            total += i
    return total


@pytest.mark.parametrize("family", ["ice40", "gowin"])
def test_a_counter_is_within_a_tenth_of_yosys(family: str) -> None:
    """``n - i - 1`` is one carry chain, and conditions go to the enable and the reset of a register."""
    module = allo.customize(counter).build(target="verilog", device=family, clock_mhz=25.0)
    estimated, found = module.report.resources["lut"], module.synthesize().resources["lut"]
    assert abs(estimated - found) <= 0.1 * found
