"""The board's memory, the way of the core's AXI4 masters to it, and the core's registers, as Verilog."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import LITE, PAGE, Master
from allo.backend.rtl.interfaces.board import Board as Outside
from allo.dialects.diagnostics import BuildError

from ..record import Board, BoardMemory, Sdram
from .banks import MEMORY, MEMORY_WORDS, REGISTERS, Bank

Port = tuple[str, int, bool]
_CONTROL = (
    "AWADDR AWVALID AWREADY WDATA WSTRB WVALID WREADY BVALID BREADY "
    "ARADDR ARVALID ARREADY RDATA RVALID RREADY"
)
_WRITES = "AWADDR AWLEN AWVALID AWREADY WDATA WSTRB WLAST WVALID WREADY BRESP BVALID BREADY"
_READS = "ARADDR ARLEN ARVALID ARREADY RDATA RRESP RLAST RVALID RREADY"
_TO_MEMORY = ("valid", "write", "address", "data", "strobe")
CLOCK_OUT = "allo_clock_out"
"""The module that brings the memory's clock, the inverse of the shell's, to its pin."""


def places(outside: Outside) -> dict[str, int]:
    """The address of each array in the board's memory."""
    found, base = {}, 0
    for array in outside.arrays:
        found[array.name] = base
        base += -(-array.bytes // PAGE) * PAGE
    return found


def memory_of(design: HardwareDesign, board: Board) -> tuple[BoardMemory, Sdram]:
    """The memory in which arrays of ``m_axi`` lie.

    Raises:
        BuildError: the board has none, or they do not fit into it.
    """
    outside = design.board
    names = " and ".join(a.name for a in outside.arrays) if outside else ""
    known = [(m, m.sdram) for m in board.memories if m.sdram is not None]
    if not known or "sdram_clk" not in board.pins:
        raise BuildError(
            f"The interface 'm_axi' of {names} needs a memory beside the device, and {board.title} has none "
            "that the shell serves.",
            help="build for a board with SDRAM (ulx3s-85f), or without configs={'interface': …}.",
        )
    spread = None if outside is None else outside.spread
    if spread is not None:
        raise BuildError(
            f"{spread.name} lies on {len(spread.parts)} masters, and {board.title} has one memory.",
            help="give it one bundle.",
        )
    needed = sum(-(-a.bytes // PAGE) * PAGE for a in outside.arrays) if outside else 0
    room = min(known[0][0].bytes, 4 * MEMORY_WORDS)
    if needed > room:
        raise BuildError(
            f"The arrays {names} take {needed:,} bytes of the memory of {board.title}, which has {room:,}.",
            help="make them smaller, or split the work into several calls.",
        )
    return known[0]


def ports(found: tuple[BoardMemory, Sdram]) -> list[Port]:
    """The ports of the top that the memory has."""
    memory, sdram = found
    single = ("clk", "cke", "cs_n", "ras_n", "cas_n", "we_n")
    return [
        *((f"sdram_{name}", 1, True) for name in single),
        ("sdram_ba", 2, True),
        ("sdram_a", sdram.row_bits, True),
        ("sdram_dqm", memory.width // 8, True),
        ("sdram_dq", memory.width, True),
    ]


def outside(
    design: HardwareDesign,
    known: tuple[BoardMemory, Sdram],
    clock_mhz: float,
    banks: Sequence[Bank],
    taken: str,
) -> list[str]:
    """The lines of the memory, its controller and the registers.

    Raises:
        BuildError: the clock is too fast for the memory.
    """
    found, (memory, sdram) = design.board, known
    if found is None:
        return []
    numbers = {bank.name: number for number, bank in enumerate(banks)}
    address = sdram.row_bits + 2 + sdram.column_bits
    given = {"ADDRESS": address, "WIDTH": memory.width}
    lines = _control(found, numbers[REGISTERS], taken)
    lines += _host(numbers[MEMORY], given, taken)
    count = 1
    for master in found.masters:
        for wanted, kind, names in (
            (master.reads, "reads", _READS),
            (master.writes, "writes", _WRITES),
        ):
            if wanted:
                lines += _master(master, kind, names, count, given)
                count += 1
    lines += _vectors(count, given)
    return [*lines, *_controller(memory, sdram, clock_mhz)]


def _list(parameters: dict[str, int]) -> str:
    return ", ".join(f".{name}({value})" for name, value in parameters.items())


def _control(found: Outside, number: int, taken: str) -> list[str]:
    joined = ", ".join(f".{name}(core_{LITE}_{name})" for name in _CONTROL.split())
    return [
        "  // The registers of the core",
        f"  wire [31:0] {REGISTERS};",
        "  wire control_busy;",
        f"  allo_control #(.ADDRESS({found.address_bits})) control (",
        f"    .clock(link_clock), .reset(core_reset), .put(write && bank == {number}),",
        f"    .fetch(fetch && bank == {number}), .place(word[{found.address_bits - 3}:0]), .word({taken}),",
        f"    .found({REGISTERS}), .busy(control_busy), .start(start), .done(done),",
        f"    {joined});",
    ]


def _port_wires(number: int, given: dict[str, int]) -> list[str]:
    return [
        f"  wire port{number}_valid, port{number}_write;",
        f"  wire [{given['ADDRESS'] - 1}:0] port{number}_address;",
        f"  wire [{given['WIDTH'] - 1}:0] port{number}_data;",
        f"  wire [{given['WIDTH'] // 8 - 1}:0] port{number}_strobe;",
    ]


def _port(number: int, names: Sequence[str], *, reads: bool) -> str:
    joined = [f".{name}(port{number}_{name})" for name in names]
    joined.append(f".ready(ready[{number}])")
    if reads:
        joined += [f".returned(returned[{number}])", ".value(memory_value)"]
    return ", ".join(joined)


def _host(number: int, given: dict[str, int], taken: str) -> list[str]:
    return [
        "  // The board's memory, and the host's way to it",
        f"  wire [31:0] {MEMORY};",
        f"  wire [{given['WIDTH'] - 1}:0] memory_value;",
        "  wire host_busy;",
        *_port_wires(0, given),
        f"  allo_memory_host #({_list(given)}) host (",
        f"    .clock(link_clock), .reset(core_reset), .put(write && bank == {number}),",
        f"    .fetch(fetch && bank == {number}), .place(word[23:0]), .word({taken}), .found({MEMORY}),",
        f"    .busy(host_busy), {_port(0, _TO_MEMORY, reads=True)});",
        "  assign waiting = control_busy || host_busy;",
    ]


def _master(master: Master, kind: str, names: str, number: int, given: dict[str, int]) -> list[str]:
    """The reads, or the writes, of an AXI4 master of the core."""
    joined = ", ".join(f".{name}(core_{master.prefix}_{name})" for name in names.split())
    reads = kind == "reads"
    tied = [
        f"  assign port{number}_write = 1'b{int(not reads)};",
        *(f"  assign port{number}_{name} = 0;" for name in ("data", "strobe") if reads),
    ]
    own = ("valid", "address") if reads else ("valid", "address", "data", "strobe")
    parameters = _list(given | {"BUS": master.width})
    return [
        f"  // The {kind} of {master.prefix}",
        *_port_wires(number, given),
        *tied,
        f"  allo_memory_{kind} #({parameters}) {master.bundle}_{kind} (",
        "    .clock(link_clock), .reset(core_reset),",
        f"    {joined},",
        f"    {_port(number, own, reads=reads)});",
    ]


def _vectors(count: int, given: dict[str, int]) -> list[str]:
    def all_of(name: str) -> str:
        return "{" + ", ".join(f"port{k}_{name}" for k in reversed(range(count))) + "}"

    joined = ", ".join(f".{name}({all_of(name)})" for name in _TO_MEMORY)
    width = given["WIDTH"]
    return [
        f"  wire [{count - 1}:0] ready, returned;",
        "  wire memory_valid, memory_write, memory_ready, memory_returned;",
        f"  wire [{given['ADDRESS'] - 1}:0] memory_address;",
        f"  wire [{width - 1}:0] memory_data;",
        f"  wire [{width // 8 - 1}:0] memory_strobe;",
        f"  allo_memory_turns #(.PORTS({count}), {_list(given)}) turns (",
        "    .clock(link_clock), .reset(core_reset),",
        f"    {joined},",
        "    .ready(ready), .returned(returned), .memory_valid(memory_valid), .memory_write(memory_write),",
        "    .memory_address(memory_address), .memory_data(memory_data), .memory_strobe(memory_strobe),",
        "    .memory_ready(memory_ready), .memory_returned(memory_returned));",
    ]


def clocks(sdram: Sdram, clock_mhz: float) -> dict[str, int]:
    """The parameters of the controller: times in clocks.

    Raises:
        BuildError: the clock is too fast for the memory.
    """
    period = 1000 / clock_mhz
    if period < sdram.clock:
        raise BuildError(
            f"The board's memory takes a clock of at most {1000 / sdram.clock:g} MHz, and the design has "
            f"one of {clock_mhz:g} MHz.",
            help="ask for a slower one: clock_mhz= of bitstream.",
        )

    def up(time: float) -> int:
        return max(1, ceil(time / period - 1e-9))

    return {
        "ROW_BITS": sdram.row_bits, "COLUMN_BITS": sdram.column_bits, "CAS": sdram.cas,
        "POWER_UP": up(sdram.power_up), "RCD": max(up(sdram.rcd), up(sdram.rrd)), "RP": up(sdram.rp),
        "RAS": max(up(sdram.ras), up(sdram.rc) - up(sdram.rp)), "WR": max(2, up(sdram.wr)),
        "RFC": up(sdram.rfc), "REFRESH": floor(sdram.refresh / period),
    }  # fmt: skip


def _controller(memory: BoardMemory, sdram: Sdram, clock_mhz: float) -> list[str]:
    parameters = {"WIDTH": memory.width} | clocks(sdram, clock_mhz)
    single = ("cke", "cs_n", "ras_n", "cas_n", "we_n", "ba", "a", "dqm")
    pins = ", ".join(f".{name}(sdram_{name})" for name in single)
    return [
        f"  wire [{memory.width - 1}:0] dq_out;",
        "  wire dq_drive;",
        f"  assign sdram_dq = dq_drive ? dq_out : {memory.width}'bz;",
        f"  {CLOCK_OUT} memory_clock (.clock(link_clock), .pin(sdram_clk));",
        "  reg powered = 1'b0;  // the button resets the rest: the memory is refreshed meanwhile",
        "  always @(posedge link_clock) if (!reset_all) powered <= 1'b1;",
        f"  allo_sdram #({_list(parameters)}) memory (",
        "    .clock(link_clock), .reset(!powered), .drop(core_reset), .valid(memory_valid),",
        "    .write(memory_write), .address(memory_address), .data(memory_data), .strobe(memory_strobe),",
        "    .ready(memory_ready), .returned(memory_returned), .value(memory_value),",
        "    .awake(awake_memory),",
        f"    {pins},",
        "    .dq_out(dq_out), .dq_drive(dq_drive), .dq_in(sdram_dq));",
    ]
