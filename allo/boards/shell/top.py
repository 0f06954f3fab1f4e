"""The Verilog of a whole board but its clock: the core, the memories of its arguments, and the link."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import CLOCK, RESET
from allo.backend.sim import RTLModule
from allo.backend.sim.driver.ports import top_ports
from allo.dialects.text.verilog import without_comments

from ..record import Board
from .banks import CYCLES, IDENTITY, PROGRESS, Bank, banks_of
from .memories import memory
from .outside import memory_of, outside
from .outside import ports as memory_ports
from .protocol import DIGEST_BYTES, POSITION_BITS, VERSION
from .streams import progress, ring
from .transports import BYTES, TRANSPORTS, Times, Transport, declared_port

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Shell:
    """A design as a board has it.

    Attributes:
        top: the top module.
        verilog: every module but ``allo_clock``.
        ports: role, bits and direction (true for outputs) of each port of the top.
        digest: what a bitstream of the design is recognised by.
        memory_bytes: of the memories of the arguments.
        memories: bits of each argument's memory in the device.
    """

    top: str
    verilog: str
    ports: tuple[tuple[str, int, bool], ...]
    digest: bytes
    memory_bytes: int
    memories: Mapping[str, int]


def digest_of(design: HardwareDesign) -> bytes:
    """What tells a design from another one: its text, its arguments, and the protocol's version."""
    arguments = [(b.name, b.width, b.depth, b.written, b.read) for b in banks_of(design)]
    text = f"{VERSION} {arguments} {design.arguments} {design.results}"
    return hashlib.sha256((text + without_comments(design.verilog)).encode()).digest()[
        :DIGEST_BYTES
    ]


def shell_of(mod: RTLModule, board: Board, clock_mhz: float, baud: int) -> Shell:
    """The shell around a module's core.

    Raises:
        BuildError: the design has what the shell does not serve, or the clock is too slow for the transport.
    """
    design = mod.design
    transport = TRANSPORTS[mod.options.link]
    times = transport.times(clock_mhz, baud)
    banks, digest = banks_of(design), digest_of(design)
    ports = [("clock", 1, False), *transport.ports]
    ports += [(name, 1, name == "led") for name in ("reset", "led") if _has(board, name)]
    low = frozenset(role.partition("[")[0] for role, pin in board.pins.items() if pin.low)
    lines, files = [], ["link.v", transport.file]
    if design.board is not None:
        found = memory_of(design, board)
        ports += memory_ports(found)
        lines = outside(design, found, clock_mhz, banks, _taken(banks, 32))
        files += ["memory.v", "sdram.v"]
    text = _top(design, banks, digest, tuple(ports), (transport, times), low, lines)
    size = sum(b.depth * b.lanes for b in banks[:-1] if not b.slow)
    verilog = "\n".join([text, *((_FOLDER / f).read_text() for f in files), design.verilog])
    memories: Counter[str] = Counter()
    for bank in banks[:-1]:
        if bank.array is not None and not bank.slow:
            memories[bank.source] += bank.depth * bank.width
    return Shell(f"{design.top}_board", verilog, tuple(ports), digest, size, memories)


def _has(board: Board, role: str) -> bool:
    return role in board.pins or f"{role}[0]" in board.pins


def _widest(banks: Sequence[Bank]) -> int:
    return 8 * max(bank.lanes for bank in banks)


def _taken(banks: Sequence[Bank], width: int) -> str:
    """A word of so many bits that the host has sent: it ends at the highest byte of the link's data."""
    lowest = _widest(banks) - 8 * -(-width // 8)
    return f"data[{lowest + width - 1}:{lowest}]"


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _top(
    design: HardwareDesign,
    banks: Sequence[Bank],
    digest: bytes,
    ports: tuple[tuple[str, int, bool], ...],
    link: tuple[Transport, Times],
    low: frozenset[str],
    others: Sequence[str],
) -> str:
    widest = _widest(banks)
    bank_bits = max(1, len(banks).bit_length())
    word_bits = max(8, max(bank.depth for bank in banks).bit_length())
    if design.streams:
        word_bits = max(word_bits, POSITION_BITS)
    lane_bits = max(1, (widest // 8).bit_length())
    transport, times = link
    parameters = {
        "QUIET_CLOCKS": times.quiet, "BANK_BITS": bank_bits, "WORD_BITS": word_bits,
        "LANE_BITS": lane_bits, "WIDTH": widest, "WAIT_BITS": max(16, times.wait.bit_length()),
        "HASTY": int(bool(design.streams)),
    }  # fmt: skip
    names = {role for role, _, _ in ports}
    button = f"{'~' if 'reset' in low else ''}reset" if "reset" in names else "1'b0"
    declared = ", ".join(declared_port(*port) for port in ports)
    given = ", ".join(f".{name}({value})" for name, value in parameters.items())
    return "\n".join(
        [
            f"// {design.top} on a board: the core, the memories of its arguments, and a link.",
            f"module {design.top}_board ({declared});",
            "  wire link_clock, locked;",
            "  allo_clock generator (.oscillator(clock), .clock(link_clock), .locked(locked));",
            "  reg [1:0] pressed = 2'b00;",
            "  reg [3:0] awake = 4'd0;",
            "  wire reset_all = ~&awake;",
            "  always @(posedge link_clock) begin",
            f"    pressed <= {{pressed[0], {button}}};",
            "    if (pressed[1] || !locked) awake <= 4'd0;",
            "    else if (reset_all) awake <= awake + 4'd1;",
            "  end",
            f"  wire {_range(bank_bits)}bank;",
            f"  wire {_range(word_bits)}word;",
            f"  reg {_range(lane_bits)}last_lane;",
            "  reg last_word, live;",
            "  wire write, commit, fetch, start, restart, done;",
            f"  wire awake_memory{'' if others else ' = 1' + chr(39) + 'b1'};",
            f"  wire {'waiting' if others else 'waiting = 1' + chr(39) + 'b0'};",
            f"  wire {_range(widest)}data;",
            f"  reg {_range(widest)}read_data;",
            "  reg running;",
            "  wire core_reset = reset_all | restart;",
            *transport.instance(times.parameters, "reset_all || !awake_memory"),
            f"  allo_link #({given}) link (",
            "    .clock(link_clock), .reset(reset_all || !awake_memory),",
            f"    {', '.join(f'.{name}({name})' for name in BYTES)},",
            "    .bank(bank), .word(word), .last_lane(last_lane), .last_word(last_word), .live(live),",
            "    .write(write), .data(data), .fetch(fetch), .waiting(waiting), .read_data(read_data),",
            "    .commit(commit), .start(start), .restart(restart), .running(running));",
            *([f"  assign led = {'~' if 'led' in low else ''}running;"] if "led" in names else []),
            "  reg [39:0] cycles;",
            "  always @(posedge link_clock) begin",
            "    if (core_reset) running <= 1'b0;",
            "    else if (start) running <= 1'b1;",
            "    else if (done) running <= 1'b0;",
            "    if (start) cycles <= 40'd1;",
            "    else if (running && !done) cycles <= cycles + 40'd1;",
            "  end",
            *_signals(design),
            *_banks(banks, digest, design),
            *others,
            *_selection(banks, bank_bits, word_bits, lane_bits),
            f"  {design.top} core (",
            ",\n".join(f"    .{p.name}({_wired(p.name, design)})" for p in top_ports(design)),
            "  );",
            "endmodule",
            "",
        ]
    )


_OWN = {"clk": "link_clock", "rst": "core_reset", "start": "start", "done": "done"}
_WRAPPED = {CLOCK: "link_clock", RESET: "!core_reset"}


def _wired(name: str, design: HardwareDesign) -> str:
    own = _OWN if design.board is None else _WRAPPED
    return own.get(name, f"core_{name}")


def _signals(design: HardwareDesign) -> list[str]:
    held = {f"{p.prefix}_ready" for a in design.arrays for p in a.ports}
    return [
        f"  wire {_range(p.width)}core_{p.name}{' = 1' + chr(39) + 'b1' if p.name in held else ''};"
        for p in top_ports(design)
        if p.name not in (_OWN if design.board is None else _WRAPPED)
    ]


def _banks(banks: Sequence[Bank], digest: bytes, design: HardwareDesign) -> list[str]:
    lines = []
    for number, bank in enumerate(banks):
        taken = _taken(banks, bank.width)
        here = f"write && bank == {number}"
        word = bank.name
        if bank.array is not None:
            lines += memory(bank, here, taken)
        elif bank.stream is not None:
            lines += ring(bank, here, number, taken)
        elif word == PROGRESS:
            lines += progress([b for b in banks if b.stream is not None])
        elif word == CYCLES:
            lines += _cycles(bank, design)
        elif word == IDENTITY:
            value = int.from_bytes(digest, "little")
            lines += [f"  wire [7:0] {word} = 64'h{value:016x} >> {{word[2:0], 3'd0}};"]
        elif bank.written and not bank.slow:
            lines += [
                f"  reg {_range(bank.width)}{word};",
                f"  always @(posedge link_clock) if ({here}) {word} <= {taken};",
                f"  assign core_{bank.source} = {word};",
            ]
        elif bank.source:
            lines += [
                f"  reg {_range(bank.width)}{word};",
                f"  always @(posedge link_clock) if (running && done) {word} <= core_{bank.source};",
            ]
    return lines


def _cycles(bank: Bank, design: HardwareDesign) -> list[str]:
    """The cycles of a run: to its end, or to the last word of one that has none."""
    if not design.endless:
        return [f"  wire {_range(bank.width)}{bank.name} = cycles;"]
    return [
        f"  reg {_range(bank.width)}{bank.name};",
        f"  always @(posedge link_clock) if (moves) {bank.name} <= cycles + {bank.width}'d1;",
    ]


def _selection(banks: Sequence[Bank], bank_bits: int, word_bits: int, lane_bits: int) -> list[str]:
    lines = [
        "  always @* begin",
        "    read_data = 0;",
        f"    last_lane = {lane_bits}'d0;",
        "    last_word = 1'b1;",
        "    live = 1'b0;",
        "    case (bank)",
    ]
    for number, bank in enumerate(banks):
        last = f"last_word = word == {word_bits}'d{bank.depth - 1};"
        if bank.stream is not None:
            last = "last_word = 1'b0;"
        read = f" read_data = {bank.name};" if bank.read else ""
        live = " live = 1'b1;" if bank.live else ""
        lane = f"last_lane = {lane_bits}'d{bank.lanes - 1};"
        lines.append(f"      {bank_bits}'d{number}: begin {lane} {last}{live}{read} end")
    return [*lines, "      default: ;", "    endcase", "  end"]
