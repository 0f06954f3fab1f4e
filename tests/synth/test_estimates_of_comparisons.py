"""Comparisons beside differences, and registers that get one value alone, against what Yosys 0.70 counts."""

from __future__ import annotations

import pytest

from allo.backend.rtl.resources.design import module_resources, whole
from tests.netlist.reader import read_netlist

HEAD = "hw.module @m(in %clk : !seq.clock, in %s : i1, in %a : i32, in %b : i32, in %h : i16, "
COMPARED = """out g : i1, out r : i32) {
  %0 = hw.constant 0 : i8
  %n = PUT
  %g = comb.icmp KIND %a, %n : i32
  %d = DIFFERENCE : i32
  %q = seq.compreg %d, %clk : i32
  %p = seq.compreg %g, %clk : i1
  hw.output %p, %q : i1, i32
}
"""
ALL = "comb.or %b, %b : i32"
MIDDLE = "comb.concat %0, %h, %0 : i8, i16, i8"
LOW = "comb.concat %0, %0, %h : i8, i8, i16"
HIGH = "comb.concat %h, %0, %0 : i16, i8, i8"


def tables(text: str, device: str) -> dict[str, int]:
    return whole(module_resources(read_netlist(text), device), "m")


def compared(kind: str, put: str, difference: str = "comb.or %a, %a") -> str:
    text = (HEAD + COMPARED).replace("KIND", kind).replace("PUT", put)
    return text.replace("DIFFERENCE", difference)


@pytest.mark.parametrize("kind", ["uge", "ult"])
def test_a_comparison_is_the_carry_of_the_same_difference_on_ecp5(kind: str) -> None:
    """Yosys counts 32 or 33 for both, and 65 where the difference is the other way round."""
    assert tables(compared(kind, ALL, "comb.sub %a, %n"), "ecp5")["lut"] in (32, 33)
    assert tables(compared(kind, ALL), "ecp5")["lut"] in (32, 33)
    assert tables(compared(kind, ALL, "comb.sub %n, %a"), "ecp5")["lut"] in (64, 65)


def test_zeros_at_the_end_of_what_is_compared_take_no_carry() -> None:
    """Yosys counts 24 for the comparison alone."""
    assert tables(compared("uge", MIDDLE), "ecp5")["lut"] in (24, 25)


@pytest.mark.parametrize(("put", "found"), [(ALL, 22), (MIDDLE, 30), (LOW, 16), (HIGH, 30)])
def test_known_bits_below_make_stages_of_more_than_a_table(put: str, found: int) -> None:
    assert tables(compared("uge", put), "xcup")["lut"] == pytest.approx(found, rel=0.07)


@pytest.mark.parametrize(
    ("bits", "read", "yosys"), [(16, "%g", 17), (32, "%g", 35), (32, "%k", 22)]
)
def test_a_word_that_a_bit_lets_through_is_in_the_tables_of_its_comparison(
    bits: int, read: str, yosys: int
) -> None:
    """Yosys counted the three."""
    lines = [
        f"hw.module @m(in %s : i1, in %k : i{bits}, in %b : i{bits}, out r : i1) {{",
        f"  %0 = hw.constant 0 : i{bits}",
        f"  %g = comb.mux %s, %k, %0 : i{bits}",
        f"  %r = comb.icmp ult {read}, %b : i{bits}",
        "  hw.output %r : i1",
        "}",
    ]
    assert tables("\n".join(lines), "xcup")["lut"] == pytest.approx(yosys, rel=0.07)


KEEPS = """in %v : i1, out y : i32) {
  %k = hw.constant 1 : i32
  %z = hw.constant 0 : i32
  %w = comb.mux %v, WORD, %r : i32
  %x = comb.mux %s, %k, %w : i32
  %r = seq.compreg %x, %clk : i32
  %q = seq.compreg %r, %clk : i32
  hw.output %q : i32
}
"""


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
def test_bits_that_get_one_constant_alone_have_no_register(device: str) -> None:
    assert tables(HEAD + KEEPS.replace("WORD", "%z"), device)["ff"] == 2
    assert tables(HEAD + KEEPS.replace("WORD", "%a"), device)["ff"] == 64


@pytest.mark.parametrize(
    ("bits", "upper", "moved", "device", "yosys"),
    [
        (16, 8, False, "xcup", 17),
        (16, 8, True, "xcup", 14),
        (32, 8, False, "xcup", 28),
        (52, 8, True, "xcup", 26),
        (16, 0, False, "ecp5", 14),
        (16, 0, True, "ecp5", 7),
        (52, 8, True, "ecp5", 28),
    ],
)
def test_choices_of_bits_that_are_compared_alone_are_in_the_comparison(
    bits: int, upper: int, moved: bool, device: str, yosys: int
) -> None:
    """The bits above are read too. A word that is moved by a place is read once by the tables."""
    width, above = bits + upper, max(1, upper)
    lines = [
        f"hw.module @m(in %q : i1, in %x : i{width + 1}, in %y : i{width}, "
        f"out r : i1, out u : i{above}) {{",
        f"  %0 = hw.constant 0 : i{bits}",
        f"  %h = comb.extract %x from 1 : (i{width + 1}) -> i{width}",
        f"  %l = comb.extract %x from 0 : (i{width + 1}) -> i{width}",
        f"  %w = comb.mux %q, %h, {'%l' if moved else '%y'} : i{width}",
        f"  %c = comb.extract %w from 0 : (i{width}) -> i{bits}",
        f"  %r = comb.icmp ne %c, %0 : i{bits}",
        f"  %u = comb.extract %w from {bits} : (i{width}) -> i{upper}" if upper else "",
        f"  hw.output %r, {'%u' if upper else '%q'} : i1, i{above}",
        "}",
    ]
    assert tables("\n".join(filter(None, lines)), device)["lut"] == pytest.approx(
        yosys, rel=0.15, abs=1
    )


@pytest.mark.parametrize(("number", "yosys"), [(1024, 10), (1077, 16)])
def test_bits_above_that_both_numbers_have_are_not_compared(number: int, yosys: int) -> None:
    """Yosys counts tables and halves of carry cells; signed numbers of 32 bits are compared with their signs
    turned."""
    text = f"""hw.module @m(in %clk : !seq.clock, in %a : i11, out g : i1) {{
  %o = hw.constant {1 << 20} : i21
  %k = hw.constant {(1 << 31) + number} : i32
  %w = seq.compreg %a, %clk : i11
  %c = comb.concat %o, %w : i21, i11
  %g = comb.icmp ugt %c, %k : i32
  %p = seq.compreg %g, %clk : i1
  hw.output %p : i1
}}"""
    assert tables(text, "ecp5")["lut"] in range(yosys - 6, yosys + 1)


def test_a_comparison_with_a_number_takes_no_difference_from_it() -> None:
    """The Verilog asks whether %a > 65520 in place of %a >= 65521, which is another chain."""
    text = compared("uge", ALL, "comb.sub %a, %k").replace(
        "%n = comb.or %b, %b : i32", "%k = hw.constant 65521 : i32"
    )
    assert tables(text.replace("%a, %n", "%a, %k"), "ecp5")["lut"] > 60
