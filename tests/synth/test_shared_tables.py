"""Gates that several lookup tables of six inputs take in, counted by hand."""

from __future__ import annotations

import pytest

from allo.backend.rtl.resources.design import module_resources, whole
from tests.netlist.reader import read_netlist

SUMS = """
hw.module @m(in %a : i16, in %b : i16, in %c : i16, out p : i15, out q : i15, out r : i16OUT) {
  %s = comb.xor %a, %b, %c : i16
  %ab = comb.and %a, %b : i16
  %ac = comb.and %a, %c : i16
  %bc = comb.and %b, %c : i16
  %k = comb.or %ab, %ac, %bc : i16
  %s0 = comb.extract %s from 0 : (i16) -> i15
  %s1 = comb.extract %s from 1 : (i16) -> i15
  %k0 = comb.extract %k from 0 : (i16) -> i15
  %k1 = comb.extract %k from 1 : (i16) -> i15
  %p = comb.xor %s0, %s1 : i15
  %q = comb.and %k0, %k1 : i15
  %r = comb.and %s, %k : i16
  hw.output %p, %q, %rMORE : i15, i15, i16TYPE
}
"""
"""Both bits of three words' sum, each read three times by tables of at most six inputs."""


def tables(text: str, device: str) -> int:
    return whole(module_resources(read_netlist(text), device), "m")["lut"]


def sums(out: str = "", more: str = "", kind: str = "") -> str:
    return SUMS.replace("OUT", out).replace("MORE", more).replace("TYPE", kind)


@pytest.mark.parametrize("device", ["xcup", "xc7"])
def test_a_gate_that_all_its_readers_take_in_has_no_table(device: str) -> None:
    assert tables(sums(), device) == 15 + 15 + 16


@pytest.mark.parametrize("device", ["xcup", "xc7"])
def test_a_gate_that_is_read_from_outside_too_has_one(device: str) -> None:
    assert tables(sums(", out t : i16", ", %s", ", i16"), device) == 15 + 15 + 16 + 16


def test_tables_of_four_inputs_cannot_take_them_in() -> None:
    assert tables(sums(), "ecp5") == 16 + 16 + 15 + 15 + 16


def chain(length: int) -> str:
    """Gates one behind the other, each with a bit of its own and all that its operand reads."""
    lines = [f"hw.module @m(in %a : i{length}, in %x0 : i1, out y : i1) {{"]
    for n in range(length):
        kind = ("and", "xor", "or")[n % 3]
        lines.append(f"  %a{n} = comb.extract %a from {n} : (i{length}) -> i1")
        lines.append(f"  %x{n + 1} = comb.{kind} %x{n}, %a{n} : i1")
    return "\n".join([*lines, f"  hw.output %x{length} : i1", "}", ""])


@pytest.mark.parametrize("tables_in_a_row", [3, 600])
def test_a_chain_of_any_length_is_cut(tables_in_a_row: int) -> None:
    """Each table of six inputs takes in five gates, however many there are."""
    assert tables(chain(5 * tables_in_a_row), "xcup") == tables_in_a_row
