"""What the printer writes is what CIRCT reads, operation by operation."""

from __future__ import annotations

import inspect

from allo.backend.rtl.circt import export_verilog, in_circt
from allo.backend.rtl.netlist import memories, operations
from allo.backend.rtl.netlist.modules import Netlist
from allo.backend.rtl.netlist.operations import CLOCK_TYPE, Constant, Operation
from allo.backend.rtl.netlist.verify import problems

from .everything import everything
from .reader import lines_of, read_netlist

SECOND = ("sv.initial", "sv.read_inout")
"""Operations that stand behind another one in the text of one of ours."""


def _kinds() -> set[type[Operation]]:
    found = [*vars(operations).values(), *vars(memories).values()]
    return {k for k in found if inspect.isclass(k) and issubclass(k, Operation)} - {Operation}


def test_the_netlist_has_every_kind_of_operation() -> None:
    assert {type(op) for op in everything().top.operations} == _kinds()
    assert list(problems(everything())) == []


def test_circt_reads_the_types_that_operations_say() -> None:
    netlist = everything()
    read = in_circt("tests.netlist.everything:read_by_circt", netlist.text())
    for module in netlist.modules[1:]:
        rows = [row for row in read[module.name] if row[0] not in (*SECOND, "hw.output")]
        assert len(rows) == len(module.operations)
        for op, (name, operands, results) in zip(module.operations, rows, strict=True):
            wanted = [kind for _, kind in op.results()]
            read_types = sorted(kind for kind in operands if kind != CLOCK_TYPE)
            own = sorted(kind for kind in op.operand_types() if kind != CLOCK_TYPE)
            assert read_types == own, op.text()
            assert results == wanted or name == "sv.array_index_inout", op.text()


def test_values_have_the_names_and_places_that_they_were_given() -> None:
    """What is only for simulators, and what nothing reads, is not in the Verilog."""
    netlist = everything()
    top = netlist.top
    rtl = [op for op in top.operations if "arith" not in op.text() and "firmem" not in op.text()]
    verilog = export_verilog(
        netlist.with_modules([*netlist.modules[:-1], top.with_body(rtl)]).text()
    )
    flat = " ".join(verilog.split())
    assert "wire [7:0] seen = x - 8'h6;" in flat or "wire [7:0] seen = x + 8'hFA;" in flat
    assert '// @[a "b".py:5:6, k.py:3:4]' in verilog
    assert "[0] = 8'h7;" in verilog


def test_a_netlist_has_the_same_text_after_its_text_is_read() -> None:
    lines = [
        "hw.module private @m(in %clk : !seq.clock, in %rst : i1, in %a : i8, out r : i8) {",
        "  %0 = hw.constant -3 : i8",
        "  %true = hw.constant true",
        "  %q = seq.compreg.ce %a, %clk, %true reset %rst, %0 : i8",
        "  %1 = comb.icmp ule %q, %0 : i8",
        "  %2 = comb.mux %1, %q, %a : i8",
        "  hw.output %2 : i8",
        "}",
    ]
    assert lines_of(read_netlist("\n".join(lines))) == lines


def test_wide_constants_are_hexadecimal_and_narrow_ones_signed() -> None:
    assert Constant("%c", -1, 64).text() == "%c = hw.constant -1 : i64"
    assert Constant("%c", -1, 65).text() == f"%c = hw.constant {hex(2**65 - 1)} : i65"
    assert Constant("%c", 3, 1).text() == "%c = hw.constant true"


def test_files_may_have_other_names() -> None:
    netlist = Netlist([], everything().locations)
    assert netlist.text({"k.py": "0"}).split("\n")[1:3] == [
        '#p0 = loc("0":3:4)',
        '#p1 = loc("a \\"b\\".py":5:6)',
    ]
