"""A netlist with every kind of operation, and what CIRCT makes of a text."""

from __future__ import annotations

from allo.backend.rtl._circt import parse_hw
from allo.backend.rtl.netlist.blocks import BlockShape
from allo.backend.rtl.netlist.locations import Locations
from allo.backend.rtl.netlist.memories import (
    ArrayCreate,
    ConstantArray,
    Element,
    Memory,
    Read,
    SimulatedMemory,
    SimulatedRead,
    SimulatedWrite,
    Table,
    TableRead,
    Write,
)
from allo.backend.rtl.netlist.modules import Module, Netlist, Ports
from allo.backend.rtl.netlist.operations import (
    CLOCK,
    CLOCK_TYPE,
    RESET,
    BlockSum,
    Compare,
    Concat,
    Constant,
    Extract,
    Gate,
    Instance,
    Mux,
    Operation,
    Register,
    Replicate,
    Verbatim,
    Wire,
)
from allo.dialects.diagnostics import SourcePlace


def everything() -> Netlist:
    """A module with every operation, the module inside it, and a block."""
    shape = BlockShape(8, 8, 16, True, False, True)
    block = Module(shape.module, Ports(shape.inputs(), [("p", "i16", "")]), None, block=shape)
    inner = Module(
        "inner",
        Ports([("clk", CLOCK_TYPE), ("x", "i8")], [("y", "i8", "%y")]),
        [Register("%y", "%x", 8)],
    )
    body: list[Operation] = [
        Constant("%no", 0, 1),
        Constant("%wide", 3 << 70, 72),
        Constant("%ten", -6, 8),
        Gate("comb.add", "%sum", ("%x", "%ten"), 8),
        BlockSum("%blocks", ("%x", "%ten"), 8),
        Gate("comb.or", "%all", ("%x", "%sum", "%ten"), 8),
        Gate("arith.divui", "%quotient", ("%x", "%ten"), 8),
        Compare("slt", "%less", ("%sum", "%x"), 8),
        Mux("%chosen", ("%less", "%sum", "%x"), 8),
        Extract("%low", "%x", 1, 2, 8),
        Replicate("%signs", "%less", 3),
        Concat("%word", ("%signs", "%low", "%x"), (3, 2, 8)),
        Wire("%plain", "%x", 8),
        Wire("%seen", "%sum", 8, visible=True),
        Register("%r0", "%x", 8),
        Register("%r1", "%x", 8, "%en"),
        Register("%r2", "%x", 8, reset="%ten"),
        Register("%r3", "%x", 8, "%en", "%ten"),
        Verbatim("%bits", "arith.bitcast %float : f32 to i32", "i32", [("%float", "f32")]),
        Verbatim("%float", "arith.bitcast %bits32 : i32 to f32", "f32", [("%bits32", "i32")]),
        Concat("%bits32", ("%x", "%x", "%x", "%x"), (8, 8, 8, 8)),
        Memory("%memory", 5, 8, separate=True, style="block"),
        Read("%read", ("%memory", "%address", "%en"), 5, 8, 3),
        Write(("%memory", "%address", "%x", "%en"), 5, 8, 3),
        SimulatedMemory("%ring", 5, 8),
        SimulatedRead("%old", ("%ring", "%address", "%en"), 5, 8, 3),
        SimulatedWrite(("%ring", "%address", "%x", "%en"), 5, 8, 3),
        ArrayCreate("%array", ("%x", "%sum"), 8),
        Element("%element", ("%array", "%less"), 2, 8, 1),
        ConstantArray("%constants", (1, 2, 3, 4), 8),
        Extract("%index", "%x", 0, 2, 8),
        Element("%constant", ("%constants", "%index"), 4, 8, 2),
        Table("%table", (7, 8, 9), 8, "all"),
        TableRead("%9", ("%table", "%index"), 3, 8, 2),
        Instance(
            "one", "inner", {"clk": (CLOCK, CLOCK_TYPE), "x": ("%x", "i8")}, [("%o", "y", "i8")]
        ),
        Instance(
            "two",
            shape.module,
            {"clk": (CLOCK, CLOCK_TYPE), "ce": ("%en", "i1"), "a": ("%x", "i8"), "b": ("%x", "i8")},
            [("%p", "p", "i16")],
        ),
    ]
    locations = Locations()
    places = [SourcePlace("k.py", 3, 4), SourcePlace('a "b".py', 5, 6)]
    for op in body:
        op.location = locations.of(places)
    inputs = [("clk", CLOCK_TYPE), (RESET[1:], "i1"), ("en", "i1"), ("x", "i8"), ("address", "i3")]
    outputs = [("r", "i8", "%chosen"), ("s", "i13", "%word")]
    top = Module(
        "all", Ports(inputs, outputs), body, private=False, location=locations.of(places[0])
    )
    return Netlist([block, inner, top], locations)


def read_by_circt(text: str) -> dict[str, list[tuple[str, list[str], list[str]]]]:
    """By module: each operation as CIRCT parses it, with the types of its operands and results."""
    found: dict[str, list[tuple[str, list[str], list[str]]]] = {}
    for module in parse_hw(text).body.operations:
        if module.operation.name != "hw.module":
            continue
        rows = found[str(module.operation.attributes["sym_name"]).strip('"')] = []
        for op in module.operation.regions[0].blocks[0].operations:
            o = op.operation
            types = [str(v.type) for v in o.operands], [str(v.type) for v in o.results]
            rows.append((o.name, *types))
    return found
