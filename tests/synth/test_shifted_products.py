"""Products by constants that end in zeros: one multiplier block where the digits fit it, and exact."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.rtl.netlist.passes import run_passes
from allo.ir.types import int16, int32
from tests.netlist.reader import lines_of, read_netlist

FACTORS = (0x5AA, 0xCD4, -0x2D50, 0x65F0)


def scaled(x: int16[64], out: int32[64, 4]):
    for i in range(64):
        out[i, 0] = x[i] * 0x5AA
        out[i, 1] = x[i] * 0xCD4
        out[i, 2] = x[i] * -0x2D50
        out[i, 3] = x[i] * 0x65F0


def filtered(x: int16[64], out: int32[64, 2]):
    for i in range(64):
        out[i, 0] = x[i] * 0x5AA
        out[i, 1] = x[i] * 0xCD4


def built(device: str):
    s = allo.customize(scaled)
    s.pipeline("i")
    s.partition(s.out, dim=2)
    s.bind("mul", "dsp")
    return s.build(target="verilog", simulator="verilator", device=device, clock_mhz=100)


def test_products_are_exact() -> None:
    x = np.random.default_rng(0).integers(-(2**15), 2**15, 64).astype(np.int16)
    x[:4] = [-(2**15), 2**15 - 1, -1, 0]
    out = np.zeros((64, 4), np.int32)
    built("ecp5")(x, out)
    assert np.array_equal(out, x.astype(np.int32)[:, None] * np.array(FACTORS, np.int32))


@pytest.mark.parametrize("device", ["ecp5", "xcup"])
def test_yosys_takes_as_many_blocks_as_we_say(device: str) -> None:
    s = allo.customize(filtered)
    s.pipeline("i")
    s.partition(s.out, dim=2)
    s.bind("mul", "dsp")
    hardware = s.build(target="verilog", simulator="jit", device=device, clock_mhz=100)
    assert hardware.report.resources["dsp"] == 2
    assert hardware.synthesize().dsp == hardware.report.resources["dsp"]


def test_zeros_of_a_constant_stand_below_the_product() -> None:
    lines = [
        "hw.module @m(in %a : i16, out r : i16) {",
        "  %0 = hw.constant 10 : i8",
        "  %1 = hw.constant 0 : i8",
        "  %2 = comb.concat %1, %0 : i8, i8",
        "  %3 = comb.mul %a, %2 : i16",
        "  %4 = hw.constant 8 : i16",
        "  %5 = comb.mul %4, %a : i16",
        "  hw.output %3 : i16",
        "}",
    ]
    found = lines_of(run_passes(read_netlist("\n".join(lines)), "xcup"))
    assert found[:4] + found[-4:] == lines[:4] + lines[-4:]
    assert found[4:-4] == [
        "  %$l.3 = comb.extract %a from 0 : (i16) -> i15",
        "  %$k.3 = hw.constant 5 : i15",
        "  %$p.3 = comb.mul %$l.3, %$k.3 : i15",
        "  %$z.3 = hw.constant false",
        "  %3 = comb.concat %$p.3, %$z.3 : i15, i1",
    ]


def test_a_negative_constant_whose_sign_is_repeated_loses_its_zeros() -> None:
    """With the zero at the end of -114, Yosys took three blocks of iCE40 for one."""

    def scaled_once(x: int16) -> int32:
        return x * -114

    built = allo.customize(scaled_once).build(target="verilog", device="ice40", clock_mhz=10)
    product = next(line for line in built.verilog.splitlines() if " * " in line)
    assert "FFFF8E" not in product and "FFC7" in product
