"""Registers of the same bits are one to synthesis, in one module and in several: estimates count them so."""

from __future__ import annotations

import pytest

from allo.backend.rtl.resources.design import module_resources, whole
from tests.netlist.reader import read_netlist

HEAD = "hw.module private @{name}(in %clk : !seq.clock, in %r : i8, in %x : i8, out a : i8, out b : i8) {{"
TOP = "hw.module @top(in %clk : !seq.clock, in %e : i1, in %r : i8, in %x : i8, in %y : i8, out o : i8) {"


def one_module(*lines: str) -> dict[str, int]:
    body = "\n".join(f"  {line}" for line in lines)
    head = "hw.module @m(in %clk : !seq.clock, in %e : i1, in %a : i8, out r : i8, out s : i8) {"
    return whole(module_resources(read_netlist(f"{head}\n{body}\n}}\n"), "xcup"), "m")


@pytest.mark.parametrize(
    ("control", "flops"), [(", %clk", 8), (", %clk, %e", 11)], ids=["same", "enabled"]
)
def test_registers_of_overlapping_bits_share_what_they_have_in_common(
    control: str, flops: int
) -> None:
    kind = ".ce" if "%e" in control else ""
    found = one_module(
        "%z = hw.constant 0 : i3",
        "%h = comb.extract %a from 3 : (i8) -> i5",
        "%l = comb.extract %a from 0 : (i8) -> i6",
        "%p = seq.compreg %h, %clk : i5",
        f"%q = seq.compreg{kind} %l{control} : i6",
        "%n = hw.constant 0 : i2",
        "%r = comb.concat %z, %p : i3, i5",
        "%s = comb.concat %n, %q : i2, i6",
        "hw.output %r, %s : i8, i8",
    )
    assert found == {"ff": flops}


def round_and_beside(last: str) -> dict[str, int]:
    """A sum that counts on; beside it two registers, one behind the other, ``last`` the second."""
    return one_module(
        "%n = comb.add %q, %a : i8",
        "%q = seq.compreg %n, %clk : i8",
        "%p = seq.compreg %n, %clk : i8",
        "%m = comb.add %p, %a : i8",
        f"%t = {last} : i8",
        "%x = comb.xor %t, %a : i8",
        "hw.output %q, %x : i8, i8",
    )


def test_a_register_holds_what_one_on_the_way_round_of_a_recurrence_holds() -> None:
    assert round_and_beside("seq.compreg %m, %clk") == {"ff": 8, "lut": 16}
    assert round_and_beside("seq.compreg.ce %m, %clk, %e") == {"ff": 16, "lut": 16}


@pytest.mark.parametrize(("read", "flops"), [("%q", 4), ("%n", 8)])
def test_bits_that_only_become_zero_are_none_unless_others_read_the_choice(
    read: str, flops: int
) -> None:
    """As Yosys 0.70 has it for ``q <= e ? {4'd0, a[3:0]} : q``."""
    found = one_module(
        "%z = hw.constant 0 : i4",
        "%l = comb.extract %a from 0 : (i8) -> i4",
        "%w = comb.concat %z, %l : i4, i4",
        "%n = comb.mux %e, %w, %q : i8",
        "%q = seq.compreg %n, %clk : i8",
        f"%x = comb.xor {read}, %a : i8",
        "hw.output %x, %a : i8, i8",
    )
    assert found["ff"] == flops


def two_users(second: str) -> dict[str, int]:
    """Two modules that keep the same word for two cycles, and one of which is chosen."""
    rows = {
        "row": ("%q1 = seq.compreg %r, %clk : i8", "%q2 = seq.compreg %q1, %clk : i8"),
        "mix": ("%q1 = comb.xor %r, %x : i8", "%q2 = seq.compreg %q1, %clk : i8"),
    }
    text = ""
    for name, kind in (("one", "row"), ("two", second)):
        body = "\n".join(f"  {line}" for line in rows[kind])
        head = HEAD.format(name=name)
        text += f"{head}\n{body}\n  hw.output %q2, %x : i8, i8\n}}\n"
    calls = "\n".join(
        f'  %{k}a, %{k}b = hw.instance "{name}" @{name}(clk: %clk: !seq.clock, r: %r: i8, '
        f"x: %{given}: i8) -> (a: i8, b: i8)"
        for k, name, given in ((1, "one", "x"), (2, "two", "y"))
    )
    text += f"{TOP}\n{calls}\n  %o = comb.mux %e, %1a, %2a : i8\n  hw.output %o : i8\n}}\n"
    return whole(module_resources(read_netlist(text), "xcup"), "top")


def test_registers_behind_one_value_are_one_in_all_modules_and_nothing_chooses() -> None:
    assert two_users("row") == {"ff": 16}
    assert two_users("mix") == {"ff": 24, "lut": 16}


FIFO = """\
hw.module private @{name}(in %clk : !seq.clock, in %d : i8, in %v : i1, out o : i8, out ok : i1) {{
  %s = seq.compreg %v, %clk : i1
  %q = seq.compreg %d, %clk : i8
  %o = comb.mux %s, %q, %d : i8
  hw.output %o, %s : i8, i1
}}
hw.module @top(in %clk : !seq.clock, in %d : i8, in %v : i1, out o : i8) {{
  %z = hw.constant 0 : i8
  %w, %ok = hw.instance "f" @{name}(clk: %clk: !seq.clock, d: %d: i8, v: %v: i1) -> (o: i8, ok: i1)
  %o = comb.mux %ok, %w, %z : i8
  hw.output %o : i8
}}
"""


@pytest.mark.parametrize(("name", "tables"), [("fifo_8x1", 8), ("stage", 16)])
def test_the_logic_of_a_fifo_is_packed_with_that_around_it(name: str, tables: int) -> None:
    found = whole(module_resources(read_netlist(FIFO.format(name=name)), "xcup"), "top")
    assert found == {"ff": 9, "lut": tables}


def test_a_gate_that_several_tables_can_take_in_is_none_of_its_own() -> None:
    lines = [
        "%0 = comb.extract %a from 0 : (i8) -> i1",
        "%1 = comb.extract %a from 1 : (i8) -> i1",
        "%2 = comb.extract %a from 2 : (i8) -> i1",
        "%g = comb.and %0, %1 : i1",
        "%p = comb.xor %g, %2 : i1",
        "%q = comb.or %g, %2 : i1",
        "%z = hw.constant 0 : i7",
        "%x = comb.concat %z, %p : i7, i1",
        "%y = comb.concat %z, %q : i7, i1",
    ]
    assert one_module(*lines, "hw.output %x, %y : i8, i8") == {"lut": 2}
    kept = "%r = comb.concat %z, %g : i7, i1"
    assert one_module(*lines, kept, "hw.output %x, %r : i8, i8") == {"lut": 2}


def test_bits_that_nothing_reads_are_not_taken_off_twice() -> None:
    """The register keeps eight bits, of which two are read; five of the others extend what it is given."""
    text = """
hw.module private @low(in %clk : !seq.clock, in %r : i8, out a : i2) {
  %q = seq.compreg %r, %clk : i8
  %a = comb.extract %q from 0 : (i8) -> i2
  hw.output %a : i2
}
hw.module @top(in %clk : !seq.clock, in %s : i3, out o : i2) {
  %z = hw.constant 0 : i5
  %v = comb.concat %z, %s : i5, i3
  %o = hw.instance "low" @low(clk: %clk: !seq.clock, r: %v: i8) -> (a: i2)
  hw.output %o : i2
}
"""
    assert whole(module_resources(read_netlist(text), "xcup"), "top") == {"ff": 2}


@pytest.mark.parametrize(
    ("taken", "flops"),
    [("comb.mux %e, %w, %q", 4), ("comb.mux %e, %w, %k", 4), ("comb.xor %w, %q", 8)],
    ids=["kept", "kept behind another choice", "not kept"],
)
def test_upper_bits_that_take_the_same_or_are_kept_are_one(taken: str, flops: int) -> None:
    """As Yosys 0.70 has it for ``q <= e ? {{4{a[3]}}, a[3:0]} : q``, and with one choice more."""
    found = one_module(
        "%s = comb.extract %a from 3 : (i8) -> i1",
        "%u = comb.replicate %s : (i1) -> i4",
        "%l = comb.extract %a from 0 : (i8) -> i4",
        "%w = comb.concat %u, %l : i4, i4",
        "%t = comb.extract %a from 2 : (i8) -> i1",
        "%y = comb.replicate %t : (i1) -> i5",
        "%m = comb.extract %a from 0 : (i8) -> i3",
        "%v = comb.concat %y, %m : i5, i3",
        "%k = comb.mux %t, %v, %q : i8",
        f"%n = {taken} : i8",
        "%q = seq.compreg %n, %clk : i8",
        "hw.output %q, %a : i8, i8",
    )
    assert found["ff"] == flops


INNER = """\
hw.module private @inner(in %clk : !seq.clock, in %e : i1, in %a : i8, in %b : i8, out p : i8, out q : i8) {{
  %p = seq.compreg.ce %a, %clk, %e : i8
  %q = seq.compreg.ce %b, %clk, %e : i8
  hw.output %p, %q : i8, i8
}}
hw.module @top(in %clk : !seq.clock, in %e : i1, in %x : i8, in %y : i8, out o : i8, out w : i5, out v : i3){{
  %n = comb.xor %x, %y : i8
  %p1, %q1 = hw.instance "one" @inner({clk}, e: %e: i1, a: %x: i8, b: {first}: i8) -> (p: i8, q: i8)
  %p2, %q2 = hw.instance "two" @inner({clk}, e: %e: i1, a: %n: i8, b: {second}: i8) -> (p: i8, q: i8)
  %o = comb.and %p1, %p2, {seen} : i8
  %w = comb.extract {low} from 0 : (i8) -> i5
  %v = comb.extract {high} from 4 : (i8) -> i3
  hw.output %o, %w, %v : i8, i5, i3
}}
"""


def two_inner(**joined: str) -> dict[str, int]:
    text = INNER.format(clk="clk: %clk: !seq.clock", **joined)
    return whole(module_resources(read_netlist(text), "xcup"), "top")


@pytest.mark.parametrize(("second", "flops"), [("%n", 16), ("%y", 24)])
def test_inputs_that_are_the_same_in_all_places_have_one_register(second: str, flops: int) -> None:
    """As Yosys has it for ``x`` and what else there is."""
    found = two_inner(first="%x", second=second, seen="%q1, %q2", low="%q1", high="%q2")
    assert found["ff"] == flops


def test_what_no_place_reads_of_an_output_is_not_made() -> None:
    """One place reads bits 0 to 4 of ``q``, another one bits 4 to 6; both keep the same bits 0 to 6."""
    found = two_inner(first="%y", second="%y", seen="%p1", low="%q1", high="%q2")
    assert found["ff"] == 8 + 8 + 7
