"""Levels of lookup tables as the scheduler counts them, beside those that Yosys makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from allo.backend.devices import family
from allo.backend.rtl.operators.netlist import Netlist, Signal, cat, mux
from allo.backend.rtl.operators.tables.bits import ONE, ZERO, Tables
from allo.backend.rtl.operators.tables.words import Mapper, constant, latest
from allo.backend.synth.tools import find_yosys, run

WIDTH = 32
_LENGTH = re.compile(r"Longest topological path in \S+ \(length=(\d+)\)")


def crc_steps(a: Signal) -> Signal:
    """Eight steps of CRC-32, each a choice by the lowest bit of the one before."""
    for _ in range(8):
        a = mux(a.bit(0), a.shru(1) ^ 0xEDB88320, a.shru(1))
    return a


def barrel(a: Signal) -> Signal:
    """The upper 27 bits shifted by the lower five."""
    return a.bits(5, 27).shru(a.bits(0, 5).zext(27))


def equal(a: Signal) -> Signal:
    """Whether both halves are the same."""
    return a.bits(0, 16).eq(a.bits(16, 16))


def choices(a: Signal) -> Signal:
    """One of sixteen pairs of bits, by four bits that are one of them each time."""
    words = [a.bits(2 * k, 2) for k in range(16)]
    for place in range(4):
        words = [mux(a.bit(place), words[k + 1], words[k]) for k in range(0, len(words), 2)]
    return words[0]


def parity(a: Signal) -> Signal:
    """The parity of all bits, drawn as a chain."""
    total = a.bit(0)
    for place in range(1, WIDTH):
        total = total ^ a.bit(place)
    return total


def drawn(draw: Callable[[Signal], Signal]) -> Netlist:
    net = Netlist()
    return net.finish(draw(net.input("a", WIDTH)))


def levels(net: Netlist, fanin: int) -> float:
    """The levels that the scheduler counts, for tables of so many inputs."""
    device = replace(
        family("xcup").operators, level_ns=1.0, fanout_ns=0.0, fanin=fanin, joined_fanin=0
    )
    mapper = Mapper(device)
    return latest(mapper.output(net, [mapper.tables.leaves(0.0, WIDTH)]))


def verilog(net: Netlist) -> str:
    """A netlist as one Verilog module; written apart from the compiler's own printer."""
    lines = [f"module m(input [{WIDTH - 1}:0] a, output [{net.nodes[net.output].width - 1}:0] r);"]
    signs = {"and": "&", "or": "|", "xor": "^", "eq": "==", "ne": "!=", "shru": ">>", "shl": "<<"}
    for number, node in enumerate(net.nodes):
        args = [f"n{i}" for i in node.args]
        if node.op == "input":
            value = "a"
        elif node.op == "const":
            value = f"{node.width}'d{node.value}"
        elif node.op == "concat":
            value = f"{{{', '.join(args)}}}"
        elif node.op == "replicate":
            value = f"{{{node.width // net.nodes[node.args[0]].width}{{{args[0]}}}}}"
        elif node.op == "extract":
            value = f"{args[0]}[{node.value + node.width - 1}:{node.value}]"
        elif node.op == "mux":
            value = f"{args[0]} ? {args[1]} : {args[2]}"
        else:
            value = f"{args[0]} {signs[node.op]} {args[1]}"
        lines.append(f"  wire [{node.width - 1}:0] n{number} = {value};")
    return "\n".join([*lines, f"  assign r = n{net.output};", "endmodule", ""])


def levels_of_yosys(net: Netlist, fanin: int, folder: Path) -> int:
    (folder / "m.v").write_text(verilog(net))
    script = f"read_verilog m.v; synth -lut {fanin} -flatten -top m; tee -o path.txt ltp -noff"
    run(find_yosys(), ["-p", script], folder, what="Yosys", timeout=120.0)
    return int(_LENGTH.findall((folder / "path.txt").read_text())[-1])


@pytest.mark.parametrize("fanin", [4, 6])
@pytest.mark.parametrize("draw", [crc_steps, barrel, equal, choices])
def test_yosys_makes_as_many_levels(draw, fanin, tmp_path):
    net = drawn(draw)
    found = levels_of_yosys(net, fanin, tmp_path)
    assert found - 1 <= levels(net, fanin) <= found + 1


@pytest.mark.parametrize(("fanin", "most"), [(4, 11), (6, 7)])
def test_a_chain_of_gates_fills_tables(fanin, most):
    assert levels(drawn(parity), fanin) <= most


def test_a_tree_takes_early_bits_first():
    tables = Tables((4, 4), 1.0, 0.0)
    early = [tables.leaf(0.0) for _ in range(16)]
    assert tables.reduced([*early, tables.leaf(5.0)]).time == 6.0
    assert tables.reduced(early).time == 2.0


def test_joined_tables_take_more_time():
    tables = Tables((4, 6), 1.0, 0.25)
    assert tables.function(tables.leaf(0.0) for _ in range(4)).time == 1.0
    assert tables.function(tables.leaf(0.0) for _ in range(6)).time == 1.5


def test_constants_need_no_table():
    mapper = Mapper(family("ecp5").operators)
    net = Netlist()
    a = net.input("a", 4)
    net.finish(mux(a.bit(0) & a.bit(1), cat(a.bits(0, 2), net.const(1, 2)), a))
    known = constant(0b0111, 4)
    assert mapper.output(net, [known]) == (ONE, ZERO, ONE, ONE)
    assert latest(mapper.output(net, [known])) == 0.0


def test_a_complement_is_free_and_not_the_same():
    mapper = Mapper(family("ecp5").operators)
    net = Netlist()
    a = net.input("a", 2)
    net.finish(mux(a.bit(1), ~a.bit(0), a.bit(0)))
    (bit,) = mapper.output(net, [mapper.tables.leaves(0.0, 2)])
    assert bit.time == pytest.approx(family("ecp5").operators.level_ns, abs=0.2)


@pytest.mark.parametrize(("name", "levels"), [("xcup", 0), ("ecp5", 1)])
def test_a_carry_chain_takes_in_the_logic_of_one_operand(name, levels):
    device = family(name).operators

    def late(operands: Callable[[Signal, Signal], tuple[Signal, Signal]]) -> float:
        net, mapper = Netlist(), Mapper(device)
        first, second = operands(net.input("a", 8), net.input("b", 8))
        net.finish(first + second)
        return latest(mapper.output(net, [mapper.tables.leaves(0.0, 8) for _ in range(2)]))

    plain = late(lambda a, b: (a, b))
    assert late(lambda a, b: (a, a & b)) == pytest.approx(plain + levels * device.level_ns)
    # What is carried where both are equal comes past that table, as the left operand.
    assert late(lambda a, b: (a & b, a)) == pytest.approx(plain + device.level_ns)
