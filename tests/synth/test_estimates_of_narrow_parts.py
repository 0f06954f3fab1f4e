"""Estimates of shifts of few bits, memories of few words and of many, and inputs of which bits are known."""

from __future__ import annotations

import pytest

import allo
from allo.backend import devices
from allo.backend.rtl.netlist.passes import run_passes
from allo.backend.rtl.resources.design import module_resources, whole
from allo.backend.rtl.resources.memory import Memory, memory_cost
from allo.ir.types import float32, int32
from tests.netlist.reader import read_netlist

TOP = """hw.module private @inner(in %clk: !seq.clock, in %a: i32, out p: i32) {{
  %k = hw.constant 5 : i32
  %s = comb.add %a, %k : i32
  %0 = seq.compreg %s, %clk : i32
  hw.output %0 : i32
}}
hw.module @outer(in %clk: !seq.clock, in %x: i3, in %y: i5, in %w: i32, out p: i32, out q: i32) {{
  %z = hw.constant 0 : i29
  %n = comb.concat %z, %x : i29, i3
  %z5 = hw.constant 0 : i27
  %m = comb.concat %z5, %y : i27, i5
  %0 = hw.instance "one" @inner(clk: %clk: !seq.clock, a: {0}: i32) -> (p: i32)
  %1 = hw.instance "two" @inner(clk: %clk: !seq.clock, a: {1}: i32) -> (p: i32)
  hw.output %0, %1 : i32, i32
}}"""
"""Two modules, each a sum of 32 bits and a register."""


def counted(text: str, device: str) -> dict[str, int]:
    modules = module_resources(run_passes(read_netlist(text), device), device)
    return whole(modules, list(modules)[-1])


@pytest.mark.parametrize(
    ("size", "width", "moving", "yosys"),
    [(7, 32, 5, 43), (7, 32, 32, 53), (16, 32, 5, 68), (8, 64, 6, 60), (32, 64, 6, 175)],
)
def test_a_shift_of_few_bits_takes_fewer_tables(
    size: int, width: int, moving: int, yosys: int
) -> None:
    """Between registers, as Yosys 0.70 counted."""
    text = f"""hw.module @m(in %a: i{size}, in %s: i{moving}, out r: i{width}) {{
  %z = hw.constant 0 : i{width - size}
  %v = comb.concat %z, %a : i{width - size}, i{size}
  %y = hw.constant 0 : i{max(1, width - moving)}
  %n = comb.concat %y, %s : i{width - moving}, i{moving}
  %0 = comb.shl %v, {"%n" if moving < width else "%s"} : i{width}
  hw.output %0 : i{width}
}}"""
    if moving == width:
        text = "\n".join(line for line in text.splitlines() if "%y" not in line)
    assert counted(text, "xcup")["lut"] == pytest.approx(yosys, rel=0.15)


@pytest.mark.parametrize(("read", "least", "most"), [(0, 31, 35), (1, 32, 36), (32, 62, 98)])
def test_a_hold_behind_a_choice_is_in_the_enable(read: int, least: int, most: int) -> None:
    """Yosys 0.70 makes 33 tables of ECP5 of it, and 35 or 96 where an output reads bits that it chooses."""
    end = {
        0: ("", "", ""),
        1: (", out y: i1", ", %t", ", i1"),
        32: (", out y: i32", ", %s", ", i32"),
    }
    port, value, kind = end[read]
    bits, words = "in %{}: i1".format, "in %{}: i32".format
    ports = ", ".join([*map(bits, "elc"), *map(words, "kx"), f"out q: i32{port}"])
    text = f"""hw.module @m(in %clk: !seq.clock, {ports}) {{
  %s = comb.mux %c, %x, %q : i32
  %t = comb.extract %s from 31 : (i32) -> i1
  %d = comb.mux %l, %k, %s : i32
  %q = seq.compreg.ce %d, %clk, %e : i32
  hw.output %q{value} : i32{kind}
}}"""
    found = counted(text, "ecp5")
    assert least <= found["lut"] <= most
    assert found["ff"] == 32


@pytest.mark.parametrize(("device", "least", "most"), [("xcup", 150, 175), ("ecp5", 220, 365)])
def test_three_words_with_two_ports_are_registers(device: str, least: int, most: int) -> None:
    """Yosys 0.70 makes 163 tables of UltraScale+ of them and 332 of ECP5, beside 96 flip-flops."""
    memory = Memory(3, 32, False, "")
    memory.reads = [(((port, 0, 2),), 20 + port) for port in (1, 4)]
    memory.writes = [(((p, 0, 2),), ((p + 1, 0, 32),), ((p + 2, 0, 1),)) for p in (1, 4)]
    found = memory_cost(devices.family(device).cells, memory, lambda number: True, True)
    assert found["ff"] == 96 and "bram" not in found
    assert least <= found["lut"] <= most


@pytest.mark.parametrize(
    ("device", "words", "width", "blocks", "yosys"),
    [
        ("xcup", 16641, 32, 34, 252),
        ("xcup", 3000, 32, 6, 35),
        ("xcup", 16641, 2, 3, 5),
        ("ecp5", 3000, 32, 6, 67),
        ("ecp5", 16641, 2, 3, 7),
        ("ecp5", 1000, 32, 2, 0),
    ],
)
def test_a_word_is_chosen_from_rows_of_blocks(
    device: str, words: int, width: int, blocks: int, yosys: int
) -> None:
    """One port that writes and one that reads, as Yosys 0.70 counted them."""
    memory = Memory(words, width, False, "", separate=True)
    memory.reads = [(((1, 0, 15),), 2)]
    memory.writes = [(((3, 0, 15),), ((4, 0, width),), ((5, 0, 1),))]
    found = memory_cost(devices.family(device).cells, memory, lambda number: True)
    assert found["bram"] == blocks
    assert found.get("lut", 0) == pytest.approx(yosys, rel=0.06)


@pytest.mark.parametrize(
    ("first", "second", "bits"), [("%n", "%n", 4), ("%n", "%m", 6), ("%m", "%w", 32)]
)
def test_inputs_are_known_as_far_as_all_places_say(first: str, second: str, bits: int) -> None:
    assert counted(TOP.format(first, second), "ecp5")["ff"] == 2 * bits


@pytest.mark.parametrize(("known", "lut"), [(("one", "one"), 0), (("one", "zero"), 17)])
@pytest.mark.parametrize("device", ["xcup", "ecp5"])
def test_bits_that_every_place_knows_are_known_inside_a_module(
    known: tuple[str, str], lut: int, device: str
) -> None:
    """The bit above a fraction, times a word, is that word: what both places know takes no tables."""
    places = [
        f'  %{name} = hw.instance "{name}" '
        f"@inner(clk: %clk: !seq.clock, a: %f{name}: i18, b: %b: i17) -> (p: i17)"
        for name in ("u", "v")
    ]
    joined = [
        f"  %f{name} = comb.concat %{bit}, %x : i1, i17"
        for name, bit in zip(("u", "v"), known, strict=True)
    ]
    text = """hw.module private @inner(in %clk: !seq.clock, in %a: i18, in %b: i17, out p: i17) {
  %t = comb.extract %a from 17 : (i18) -> i1
  %r = comb.replicate %t : (i1) -> i17
  %g = comb.and %r, %b : i17
  %0 = seq.compreg %g, %clk : i17
  hw.output %0 : i17
}
hw.module @outer(in %clk: !seq.clock, in %x: i17, in %b: i17, out p: i17, out q: i17) {
  %one = hw.constant 1 : i1
  %zero = hw.constant 0 : i1
"""
    lines = [*joined, *places, "  hw.output %u, %v : i17, i17", "}"]
    assert counted(text + "\n".join(lines), device).get("lut", 0) == 2 * lut


def numbered(y: float32[5]):
    for i in range(5):
        y[i] = i


def converted(x: int32[5], y: float32[5]):
    for i in range(5):
        y[i] = x[i]


def test_bits_that_are_known_hold_up_no_reset() -> None:
    """A conversion of three bits, or of 32: what it asks of the others holds, and takes no table in front."""
    known, unknown = (
        allo.customize(kernel).estimate(device="ecp5", clock_mhz=180)
        for kernel in (numbered, converted)
    )
    assert known.resources["lut"] < unknown.resources["lut"]
    assert known.fmax_mhz >= unknown.fmax_mhz
