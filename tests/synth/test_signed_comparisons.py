"""Comparisons of signed numbers on ECP5: the same results, in tables that Yosys does not blow up."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.rtl.netlist.passes import run_passes
from allo.ir.types import Int, UInt, int16, int32
from tests.netlist.reader import lines_of, read_netlist


def exchanged(keys: int16[32, 4], out: int16[32, 4], kinds: int32[32, 4]):
    for i in range(32):
        a: int16 = keys[i, 0]
        b: int16 = keys[i, 1]
        out[i, 0] = min(a, b)
        out[i, 1] = max(a, b)
        out[i, 2] = keys[i, 2] if keys[i, 2] > keys[i, 3] else keys[i, 3]
        out[i, 3] = 1 if keys[i, 3] >= -7 else 0
        kinds[i, 0] = 1 if a < 0 else 2
        kinds[i, 1] = 1 if b <= 100 else 2
        kinds[i, 2] = 1 if a < -32768 else 2
        kinds[i, 3] = 1 if a >= b else 2


def network(keys: int32[8, 4], out: int32[8, 4]):
    for g in range(8):
        a: int32 = min(keys[g, 0], keys[g, 1])
        b: int32 = max(keys[g, 0], keys[g, 1])
        c: int32 = min(keys[g, 2], keys[g, 3])
        d: int32 = max(keys[g, 2], keys[g, 3])
        out[g, 0] = min(a, c)
        out[g, 1] = max(a, c)
        out[g, 2] = min(b, d)
        out[g, 3] = max(b, d)


def built():
    s = allo.customize(exchanged)
    s.pipeline("i")
    for array in ("keys", "out", "kinds"):
        s.partition(f"exchanged:{array}", dim=2)
    return s.build(target="verilog", simulator="verilator", device="ecp5", clock_mhz=80)


def test_results_are_those_of_signed_numbers() -> None:
    keys = np.random.default_rng(0).integers(-(2**15), 2**15, (32, 4)).astype(np.int16)
    keys[:4] = [[-32768, 32767, 0, -7], [32767, -32768, -1, -8], [0, -1, -1, 0], [100, 100, 5, 101]]
    keys[4:8, 1] = [99, 100, 101, -1]
    out, kinds = np.zeros_like(keys), np.zeros((32, 4), np.int32)
    built()(keys, out, kinds)
    a, b, c, d = keys.T
    expected = [np.minimum(a, b), np.maximum(a, b), np.maximum(c, d), d >= -7]
    assert np.array_equal(out, np.stack(expected, -1).astype(np.int16))
    told = [a < 0, b <= 100, a < -32768, a >= b]
    assert np.array_equal(kinds, 2 - np.stack(told, -1).astype(np.int32))


def test_yosys_takes_a_table_for_a_bit_of_an_exchange() -> None:
    s = allo.customize(network)
    s.pipeline("g")
    s.partition(s.keys, dim=2)
    s.partition(s.out, dim=2)
    hardware = s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=80)
    found = hardware.synthesize().lut
    assert found == pytest.approx(hardware.report.resources["lut"], rel=0.1)
    assert found < 8 * 32 + 4 * 34 + 60  # multiplexers, comparisons, control


def test_other_families_and_comparisons_with_zero_stay() -> None:
    lines = [
        "hw.module @m(in %a : i8, out r : i1) {",
        "  %0 = hw.constant 0 : i8",
        "  %1 = comb.icmp slt %a, %0 : i8",
        "  %2 = hw.constant -3 : i8",
        "  %3 = comb.icmp sge %a, %2 : i8",
        "  hw.output %3 : i1",
        "}",
    ]
    netlist = read_netlist("\n".join(lines))
    assert lines_of(run_passes(netlist, "xcup")) == lines
    made = lines_of(run_passes(netlist, "ecp5"))
    assert made[:4] + made[-2:] == lines[:4] + lines[-2:]
    assert made[4:-2] == [
        "  %$a.3.sign = hw.constant -128 : i8",
        "  %$a.3 = comb.xor %a, %$a.3.sign : i8",
        "  %$b.3 = hw.constant 125 : i8",
        "  %3 = comb.icmp uge %$a.3, %$b.3 : i8",
    ]


def odd(a: int16[64], b: int16[64], u: UInt(9)[64], v: UInt(9)[64], out: int32[64, 4]):
    for i in range(64):
        x: Int(17) = a[i] + 1
        y: Int(17) = b[i] - 1
        out[i, 0] = x if x > y else y
        out[i, 1] = u[i] if u[i] < v[i] else v[i]
        out[i, 2] = 1 if x <= b[i] else 2
        out[i, 3] = 1 if u[i] >= v[i] else 2


def test_odd_numbers_of_bits_are_compared_with_one_more() -> None:
    """The carry of an odd number of bits is logic on ECP5, which each multiplexer behind it takes in."""
    s = allo.customize(odd)
    s.pipeline("i")
    s.partition("odd:out", dim=2)
    hardware = s.build(target="verilog", simulator="verilator", device="ecp5", clock_mhz=80)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-(2**15), 2**15, (2, 64)).astype(np.int16)
    u, v = rng.integers(0, 2**9, (2, 64)).astype(np.uint16)
    a[:4], b[:4] = [32767, -32768, 0, -1], [-32768, 32767, 2, 1]
    u[:4], v[:4] = [511, 0, 256, 255], [0, 511, 255, 256]
    out = np.zeros((64, 4), np.int32)
    hardware(a, b, u, v, out)
    x, y = a.astype(np.int32) + 1, b.astype(np.int32) - 1
    told = [np.maximum(x, y), np.minimum(u, v), np.where(x <= b, 1, 2), np.where(u >= v, 1, 2)]
    assert np.array_equal(out, np.stack(told, -1).astype(np.int32))
    found = hardware.synthesize().lut
    assert found == pytest.approx(hardware.report.resources["lut"], rel=0.2)
    assert found < 134  # 141 with odd numbers of bits


def test_a_comparison_with_a_constant_keeps_its_bits() -> None:
    lines = [
        "hw.module @m(in %a : i9, in %b : i8, out r : i1, out s : i1) {",
        "  %0 = hw.constant 0 : i2",
        "  %1 = hw.constant 100 : i9",
        "  %2 = comb.icmp ult %a, %1 : i9",
        "  %3 = comb.concat %0, %b : i2, i8",
        "  %4 = comb.icmp ult %3, %3 : i10",
        "  hw.output %2, %4 : i1, i1",
        "}",
    ]
    assert lines_of(run_passes(read_netlist("\n".join(lines)), "ecp5")) == lines
