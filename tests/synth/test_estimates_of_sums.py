"""Estimates of sums of sums, comparisons with zero and operands of units, as Yosys counted them."""

from __future__ import annotations

import pytest

import allo
from allo.backend import devices
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.netlist.passes import run_passes
from allo.backend.rtl.resources.design import module_resources, whole
from allo.backend.rtl.resources.memory import Memory, memory_cost
from allo.backend.synth import synthesize
from allo.ir.types import Int, UInt
from tests.netlist.reader import read_netlist


def counted(text: str, device: str) -> dict[str, int]:
    modules = module_resources(run_passes(read_netlist(text), device), device)
    return whole(modules, list(modules)[-1])


def sum_of(terms: int, bits: int = 16) -> str:
    """A chain of sums, each read by the next one alone."""
    ports = ", ".join(f"in %x{i}: i{bits}" for i in range(terms))
    lines = ["  %s1 = comb.add %x0, %x1 : i16"]
    lines += [f"  %s{i} = comb.add %s{i - 1}, %x{i} : i16" for i in range(2, terms)]
    last = f"  hw.output %s{terms - 1} : i16"
    return "\n".join([f"hw.module @m({ports}, out r: i16) {{", *lines, last, "}"])


@pytest.mark.parametrize(
    ("terms", "device", "yosys"),
    [(3, "ecp5", 47), (4, "ecp5", 101), (8, "ecp5", 278), (3, "xcup", 31), (4, "xcup", 49), (8, "xcup", 150)],
)  # fmt: skip
def test_sums_of_many_terms_are_rows_of_full_adders(terms: int, device: str, yosys: int) -> None:
    assert counted(sum_of(terms), device)["lut"] == pytest.approx(yosys, rel=0.12)


@pytest.mark.parametrize(("second", "yosys"), [("%a", 8), ("%b", 23)])
def test_a_term_that_is_there_twice_takes_no_adders(second: str, yosys: int) -> None:
    """Two of three equal bits are the carry, and the third is the sum."""
    text = "\n".join(
        [
            "hw.module @m(in %x: i8, in %a: i8, in %b: i8, out r: i8) {",
            "  %0 = comb.add %x, %a : i8",
            f"  %1 = comb.add %0, {second} : i8",
            "  hw.output %1 : i8",
            "}",
        ]
    )
    assert counted(text, "ecp5")["lut"] == pytest.approx(yosys, rel=0.05)


@pytest.mark.parametrize(
    ("first", "second", "read", "device", "yosys"),
    [
        ("add %a, %b", "add %d, %a", "", "xcup", 16),
        ("sub %a, %b", "sub %a, %d", "", "xcup", 17),
        ("sub %a, %b", "sub %d, %a", "", "xcup", 48),
        ("add %a, %b", "add %a, %d", "%0", "xcup", 48),
        ("add %a, %b", "add %a, %d", "", "ecp5", 48),
    ],
)
def test_a_choice_between_sums_of_a_common_term_is_one_sum_on_xilinx(
    first: str, second: str, read: str, device: str, yosys: int
) -> None:
    """Not where something else reads one of them, or where the term is subtracted in one alone."""
    text = "\n".join(
        [
            "hw.module @m(in %c: i1, in %a: i16, in %b: i16, in %d: i16, out r: i16, out q: i16) {",
            f"  %0 = comb.{first} : i16",
            f"  %1 = comb.{second} : i16",
            "  %2 = comb.mux %c, %0, %1 : i16",
            f"  hw.output %2, {read or '%a'} : i16, i16",
            "}",
        ]
    )
    assert counted(text, device)["lut"] == pytest.approx(yosys, rel=0.07)


def test_a_sum_that_something_else_reads_stays() -> None:
    text = sum_of(3).replace("out r: i16", "out r: i16, out q: i16")
    text = text.replace("hw.output %s2 : i16", "hw.output %s2, %s1 : i16, i16")
    assert counted(text, "ecp5")["lut"] == 32


@pytest.mark.parametrize("device", ["ecp5", "xcup"])
def test_a_comparison_with_zero_is_the_sign(device: str) -> None:
    text = "\n".join(
        [
            "hw.module @m(in %a: i40, in %b: i40, out r: i1) {",
            "  %0 = hw.constant 0 : i40",
            "  %1 = comb.icmp slt %a, %0 : i40",
            "  %2 = comb.icmp sle %0, %b : i40",
            "  %3 = comb.and %1, %2 : i1",
            "  hw.output %3 : i1",
            "}",
        ]
    )
    assert counted(text, device) == {"lut": 1}


def test_operands_that_are_extended_or_shared_have_one_register_a_bit() -> None:
    unit = """hw.module private @unit(in %clk: !seq.clock, in %ce: i1, in %a: i16, in %b: i16, out r: i16) {
  %0 = seq.compreg.ce %a, %clk, %ce : i16
  %1 = seq.compreg.ce %b, %clk, %ce : i16
  %2 = comb.mul %0, %1 : i16
  %3 = seq.compreg.ce %2, %clk, %ce : i16
  hw.output %3 : i16
}
"""
    ports = "clk: %clk: !seq.clock, ce: %on: i1, a: %wide: i16, b: {}: i16"
    top = "\n".join(
        [
            "hw.module @m(in %clk: !seq.clock, in %on: i1, in %x: i8, in %y: i16, in %z: i16, "
            "out r: i16, out s: i16) {",
            "  %0 = comb.extract %x from 7 : (i8) -> i1",
            "  %1 = comb.replicate %0 : (i1) -> i8",
            "  %wide = comb.concat %1, %x : i8, i8",
            f'  %2 = hw.instance "one" @unit({ports.format("%y")}) -> (r: i16)',
            f'  %3 = hw.instance "two" @unit({ports.format("%z")}) -> (r: i16)',
            "  hw.output %2, %3 : i16, i16",
            "}",
        ]
    )
    # 8 of the operand that both have, 16 of each other one, 16 of each result
    assert counted(unit + top, "xcup")["ff"] == 8 + 2 * 16 + 2 * 16
    # on ECP5 all of them are in the two blocks
    assert counted(unit + top, "ecp5") == {"dsp": 2}


def test_a_narrow_number_moves_through_few_tables() -> None:
    text = """hw.module @m(in %a: i6, in %s: i6, out r: i64) {
  %0 = hw.constant 0 : i58
  %1 = comb.concat %0, %a : i58, i6
  %2 = comb.concat %0, %s : i58, i6
  %3 = comb.shru %1, %2 : i64
  hw.output %3 : i64
}"""
    assert counted(text, "xcup")["lut"] <= 13


def test_gates_that_two_tables_read_are_drawn_into_both() -> None:
    text = """hw.module @m(in %a: i8, in %b: i8, in %c: i8, in %d: i8, out r: i8, out s: i8) {
  %0 = comb.xor %a, %b : i8
  %1 = comb.xor %0, %c : i8
  %2 = comb.and %0, %d : i8
  hw.output %1, %2 : i8, i8
}"""
    assert counted(text, "ecp5") == {"lut": 16}


COUNTER = """hw.module @m(in %clk: !seq.clock, in %up: i1, in %down: i1, out r: iN, out t: i1, out s: i1) {
  %1 = hw.constant 1 : iN
  %3 = hw.constant 3 : iN
  %r = seq.compreg %n, %clk : iN
  %p = comb.add %r, %1 : iN
  %q = comb.sub %r, %1 : iN
  %m = comb.mux %down, %q, %r : iN
  %n = comb.mux %up, %p, %m : iN
  %e = comb.icmp eq %r, %3 : iN
  %t = comb.and %e, %up : i1
  %l = comb.icmp ugt %r, %3 : iN
  %s = comb.or %l, %down : i1
  hw.output %r, %t, %s : iN, i1, i1
}"""


@pytest.mark.parametrize("bits", [2, 3])
def test_a_small_counter_is_no_carry_chain_on_ecp5(bits: int) -> None:
    """Its sums, choices and comparisons are functions of few bits, of one or two tables each."""
    text = COUNTER.replace("iN", f"i{bits}")
    yosys = synthesize(export_verilog(text), "m", "ecp5")
    found = counted(text, "ecp5")
    assert "CCU2C" not in yosys.cells
    assert found["ff"] == yosys.ff == bits
    assert abs(found["lut"] - yosys.lut) <= 1


def test_only_comparisons_of_the_same_bits_are_one() -> None:
    """Two of the bits (x, x, y) and (x, y, y), which have the same constant, are not."""
    text = """hw.module @m(in %x: i1, in %y: i1, out r: i1, out s: i1) {
  %3 = hw.constant 3 : i3
  %a = comb.concat %x, %x, %y : i1, i1, i1
  %b = comb.concat %x, %y, %y : i1, i1, i1
  %r = comb.icmp ugt %a, %3 : i3
  %s = comb.icmp ult %b, %3 : i3
  %t = comb.icmp ugt %b, %3 : i3
  %u = comb.xor %s, %t : i1
  hw.output %r, %u : i1, i1
}"""
    assert counted(text, "ecp5")["lut"] == 2


def test_a_sum_of_sums_waits_for_all_of_its_terms() -> None:
    """Products behind the inner sum, and a chain where a term's low bits are themselves of sums."""

    def delay(*sums: str) -> float:
        held = [f"  %{n} = seq.compreg %i{n}, %clk : i16" for n in "abc"]
        lines = [*held, "  %p = comb.mul %a, %b : i16", *sums, "  %q = seq.compreg %s, %clk : i16"]
        ports = ", ".join(f"in %i{n}: i16" for n in "abc")
        head = f"hw.module @m(in %clk: !seq.clock, {ports}, out r: i16) {{"
        text = "\n".join([head, *lines, "  hw.output %q : i16", "}"])
        return module_resources(read_netlist(text), "xcup")["m"].timing.worst.delay_ns

    one = delay("  %s = comb.add %p, %c : i16")
    three = delay("  %t = comb.add %p, %c : i16", "  %s = comb.add %t, %a : i16")
    four = delay(
        "  %t = comb.add %p, %c : i16",
        "  %u = comb.add %t, %a : i16",
        "  %s = comb.add %u, %b : i16",
    )
    assert one < three < four < 3 * one


def product[A, B](x: A[16], y: A[16], z: B[16]):
    for i in range(16):
        z[i] = x[i] * y[i]


@pytest.mark.parametrize(
    ("operand", "result", "yosys"),
    [
        (UInt(36), UInt(72), {"lut": 169, "ff": 318, "dsp": 4}),
        (UInt(40), UInt(80), {"lut": 267, "ff": 598, "dsp": 9}),
        (Int(32), Int(64), {"lut": 115, "ff": 286, "dsp": 4}),
    ],
)
def test_wide_products_join_their_parts_as_the_text_does(operand, result, yosys) -> None:
    """Bits that the text joins to a sum, or takes of it, keep it apart; two bits alone have a carry."""
    schedule = allo.customize(product, instantiate=[operand, result])
    schedule.pipeline("i")
    found = schedule.estimate(device="ecp5", clock_mhz=80).resources
    assert found == pytest.approx(yosys, rel=0.03)


def compared(name: str, other: str, device: str) -> dict[str, int]:
    """Whether a choice of two words of 32 bits is ``other``."""
    text = "\n".join(
        [
            "hw.module @m(in %c: i1, in %a: i32, in %b: i32, in %d: i32, out r: i1) {",
            "  %k = hw.constant 305419896 : i32",
            "  %h = hw.constant -2147483648 : i32",
            "  %0 = comb.mux %c, %a, %d : i32",
            f"  %1 = comb.icmp {name} {other} : i32",
            "  hw.output %1 : i1",
            "}",
        ]
    )
    return counted(text, device)


@pytest.mark.parametrize(
    ("name", "other", "device", "yosys"),
    [
        ("eq", "%0, %b", "ecp5", 43),
        ("eq", "%0, %b", "xcup", 37),
        ("eq", "%0, %k", "xcup", 20),
        ("eq", "%a, %b", "xcup", 21),
        ("ugt", "%a, %h", "ecp5", 11),
        ("ugt", "%a, %h", "xcup", 11),
        ("ult", "%0, %b", "ecp5", 65),
    ],
)
def test_comparisons_take_in_choices(name: str, other: str, device: str, yosys: int) -> None:
    assert compared(name, other, device)["lut"] == pytest.approx(yosys, rel=0.2)


@pytest.mark.parametrize(
    ("words", "reads", "late", "yosys"),
    [(18, 4, False, 508), (64, 1, False, 639), (32, 4, True, 1008), (80, 4, True, 2033)],
)
def test_memories_of_flip_flops_choose_their_words(
    words: int, reads: int, late: bool, yosys: int
) -> None:
    """Of four bits and two ports that write, with an adder in front of a late address."""
    cells = devices.family("ecp5").cells
    memory = Memory(words, 4, False, "")
    memory.reads = [(((port, 0, 7),), 20 + port) for port in range(reads)]
    memory.writes = [(((p, 0, 7),), ((p + 1, 0, 4),), ((p + 2, 0, 1),)) for p in (10, 13)]
    found = memory_cost(cells, memory, lambda number: False, late)
    assert found["ff"] == 4 * words
    assert found["lut"] + 6 * reads * late == pytest.approx(yosys, rel=0.2)
