"""An array that two ports could write is a block, of one writing port on some families, as Yosys makes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.backend import devices
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


def fill(kept: int8[256], x: int8[256]):
    for i in range(256):
        kept[i] = x[i]


def increase(kept: int8[256]):
    for i in range(256):
        kept[i] += 1


def filled_and_increased(x: int8[256], y: int8[256]):
    kept: int8[256]
    fill(kept, x)
    increase(kept)
    for j in range(256):
        y[j] = kept[255 - j]


def turned(x: int8[256], y: int8[256]):
    kept: int8[256]
    for i in range(256):
        kept[i] = x[i]
    for j in range(128):
        first: int8 = kept[j]
        kept[j] = kept[255 - j] if x[j] > 0 else first
        kept[255 - j] = first
    for k in range(256):
        y[k] = kept[k]


@pytest.mark.parametrize("family", ["ice40", "gowin", "gatemate", "ecp5"])
def test_two_writes_of_a_cycle_take_what_yosys_makes_of_them(family: str) -> None:
    schedule = allo.customize(pairs)
    schedule.pipeline("i")
    module = schedule.build(target="verilog", device=family, clock_mhz=25.0)
    estimated, found = module.report.resources, module.synthesize().resources
    assert found["bram"] == estimated.get("bram", 0) == 1
    one = devices.family(family).cells.write_ports == 1
    assert module.report.functions[0].loops[1].ii == (2 if one else 1)
    assert abs(estimated["ff"] - found["ff"]) <= 0.1 * found["ff"]
    # of so few tables those that Yosys makes twice, to be sooner at the ports of the block, are a fifth
    assert (
        abs(estimated["lut"] - found["lut"]) <= (0.25 if family == "ecp5" else 0.2) * found["lut"]
    )


@pytest.mark.parametrize(("kernel", "blocks"), [(filled_and_increased, 1), (turned, 2)])
def test_an_array_of_two_functions_and_of_conditions_is_one_block(
    kernel: Callable[..., None], blocks: int
) -> None:
    module = allo.customize(kernel).build(
        target="verilog", device="ice40", clock_mhz=25.0, simulator="jit"
    )
    x = np.random.default_rng(0).integers(-99, 99, 256).astype(np.int8)
    found, expected = np.zeros(256, np.int8), np.zeros(256, np.int8)
    module(x, found)
    allo.customize(kernel).build()(x, expected)
    assert (found == expected).all()
    assert module.report.resources["bram"] == blocks  # one a reading port
    assert module.report.resources["ff"] < 256


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
