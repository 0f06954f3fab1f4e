"""Runs of a wrapper under cocotbext-axi in Icarus Verilog, and what must come of them by the CPU build.

The bytes of arguments are written as ``docs/interfaces.md`` says, by no function of the simulators.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb_tools.config
import find_libpython
import numpy as np

from allo.backend.rtl.interfaces.board import Board
from allo.ir.types import Fixed, Float, UFixed, UInt

HERE = Path(__file__).parent
PAGE, SECONDS, MOST_NS = 4096, 600, 4_000_000_000
GUARD = 64
"""Random bytes on both sides of an array, which no run may change."""


@dataclass(slots=True)
class Wanted:
    """What a run must leave, by the CPU build.

    Attributes:
        blocks: of each part of an array its name, its bytes, and those that it may also keep: an element that
            the kernel does not change has the bits above it as they were, or its sign.
    """

    blocks: list[tuple[str, bytes, bytes]] = field(default_factory=list)
    streams: dict[str, bytes] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)


def words_of(value: Any, dtype: Any) -> list[int]:
    """The elements of an array, or a scalar, as the integers that their bits mean."""
    array = np.ascontiguousarray(value).reshape(-1)
    if array.dtype.names:
        raw = [int.from_bytes(item.tobytes(), "little") for item in array]
        sign = 1 << (dtype.bits - 1)
        return raw if isinstance(dtype, UInt) else [(r & sign - 1) - (r & sign) for r in raw]
    if isinstance(dtype, (Fixed, UFixed)):
        return [round(float(v) * 2**dtype.fracs) for v in array]
    if isinstance(dtype, Float):
        return [int(v) for v in array.astype(f"f{dtype.bits // 8}").view(f"u{dtype.bits // 8}")]
    return [int(v) for v in array]


def image(words: list[int], cell: int, width: int, noise: np.random.Generator | None) -> bytes:
    """Elements in cells of so many bits; the bits above are the sign, or random where they do not count."""
    out = bytearray()
    for word in words:
        value = word & (1 << cell) - 1
        if noise is not None and cell > width:
            above = int.from_bytes(noise.bytes(cell // 8), "little") & ~((1 << width) - 1)
            value = value & (1 << width) - 1 | above & (1 << cell) - 1
        out += value.to_bytes(cell // 8, "little")
    return bytes(out)


def unchanged(first: bytes, plain: bytes, last: bytes, cell: int) -> bytes:
    """The bytes after a run, with those before it where an element of so many bytes has the same value."""
    out = bytearray(last)
    for at in range(0, len(last), cell):
        if plain[at : at + cell] == last[at : at + cell]:
            out[at : at + cell] = first[at : at + cell]
    return bytes(out)


def memory_cell(width: int) -> int:
    """Bits that an element takes in memory."""
    return max(8, 1 << (width - 1).bit_length())


def harness(board: Board) -> str:
    """A top that cocotb drives: the wrapper, its clock, and the identities of AXI that it does not have.

    Bytes of WDATA without a strobe mean nothing, and are no X for the slave.
    """
    lines = [
        "`timescale 1ns/1ps",
        "module bench;",
        "  reg ap_clk = 0, ap_rst_n = 0;",
        "  always #5 ap_clk = !ap_clk;",
        f"  initial #{MOST_NS} $finish;",
    ]
    ports = ["    .ap_clk(ap_clk), .ap_rst_n(ap_rst_n)"]
    for wire in board.wires:
        kind = "wire" if wire.output else "reg"
        bits = f"[{wire.width - 1}:0] " if wire.width > 1 else ""
        lines.append(f"  {kind} {bits}{wire.name}{'' if wire.output else ' = 0'};")
        ports.append(
            f"    .{wire.name}({wire.name}{'_all' if wire.name.endswith('WDATA') and wire.output else ''})"
        )
    for master in board.masters:
        kinds = {"AR": "wire", "R": "reg"} if master.reads else {}
        kinds |= {"AW": "wire", "B": "reg"} if master.writes else {}
        if master.ids:
            kinds = {channel: kind for channel, kind in kinds.items() if channel not in ("AR", "R")}
        lines += [f"  {kind} {master.prefix}_{channel}ID = 0;" for channel, kind in kinds.items()]
        if master.writes:
            lines.append(f"  wire [{master.width - 1}:0] {master.prefix}_WDATA_all;")
        for lane in range(master.width // 8 if master.writes else 0):
            part = f"{master.prefix}_WDATA{{}}[{8 * lane + 7}:{8 * lane}]"
            lines.append(
                f"  assign {part.format('')} = {master.prefix}_WSTRB[{lane}] === 0 ? 8'h5a : "
                f"{part.format('_all')};"
            )
    return "\n".join([*lines, f"  {board.top} dut (", ",\n".join(ports), "  );", "endmodule", ""])


def dealt(data: bytes, ways: int, step: int) -> list[bytes]:
    """An array in parts: its words of ``step`` bytes go to them in turn; the last ones may be short."""
    words = [data[at : at + step] for at in range(0, len(data), step)]
    return [b"".join(words[n::ways]) for n in range(ways)] if ways > 1 else [data]


class Plan:
    """The runs of one design, which are made before the simulation starts."""

    def __init__(self, schedule: Any, module: Any, stalls: float) -> None:
        self.cpu, self.module, self.stalls = schedule.build(), module, stalls
        self.board: Board = module.design.board
        self.runs: list[dict[str, Any]] = []
        self.cycles = 0
        self.wanted: list[Wanted] = []

    def add(self, given: list[Any], seed: int) -> None:
        """One run with these arguments."""
        rng = np.random.default_rng((seed, 7))
        left = [np.copy(v) if np.ndim(v) else v for v in given]
        expected = self.cpu(*left)
        arguments = self.module.signature.arguments
        names = dict(zip((a.name for a in arguments), self.module.design.arguments, strict=True))
        types = {names[a.name]: a.dtype for a in arguments}
        before = {names[a.name]: v for a, v in zip(arguments, given, strict=True)}
        after = {names[a.name]: v for a, v in zip(arguments, left, strict=True)}
        wanted, run = (
            Wanted(),
            {"seed": seed, "stalls": self.stalls, "blocks": [], "refused": [0, 0]},
        )
        addresses = self._blocks(run, wanted, (before, after, types), rng)
        self._refusal(run, wanted, addresses, rng)
        self._streams(run, wanted, (before, after, types), rng)
        self._registers(run, wanted, {n: (v, types[n]) for n, v in before.items()}, addresses, rng)
        results = self.module.signature.results
        if expected is not None:
            found = expected if isinstance(expected, (list, tuple)) else [expected]
            for name, value, result in zip(self.module.design.results, found, results, strict=True):
                if np.ndim(value) == 0:
                    mask = (1 << result.dtype.bits) - 1
                    wanted.registers[name] = words_of(value, result.dtype)[0] & mask
        self.runs.append(run)
        self.wanted.append(wanted)

    def _blocks(
        self, run: Any, wanted: Wanted, values: Any, rng: np.random.Generator
    ) -> dict[str, int]:
        """The arrays in memory, at random addresses of 64 bits; before and after."""
        before, after, types = values
        lanes = {m.bundle: m.width // 8 for m in self.board.masters}
        place = int(rng.integers(1, 1 << 40)) * PAGE
        found = {}
        for each in self.board.arrays:
            dtype = types[each.name]
            cell = memory_cell(dtype.bits)
            first = image(words_of(before[each.name], dtype), cell, dtype.bits, rng)
            last = image(words_of(after[each.name], dtype), cell, dtype.bits, None)
            step, ways = lanes[each.bundles[0]], len(each.parts)
            last = last if each.stored else first
            plain = image(words_of(before[each.name], dtype), cell, dtype.bits, None)
            kept = unchanged(first, plain, last, cell // 8)
            pieces = zip(
                each.parts, *(dealt(b, ways, step) for b in (first, last, kept)), strict=True
            )
            for part, now, then, also in pieces:
                name = part.register
                place += int(rng.integers(PAGE // step)) * step
                low, high = rng.bytes(GUARD), rng.bytes(GUARD)
                data = (low + now + high).hex()
                run["blocks"].append({"address": place - GUARD, "data": data, "name": name})
                wanted.blocks.append((name, low + then + high, low + also + high))
                found[name] = place
                place += -(-(len(now) + 2 * PAGE) // PAGE) * PAGE
                place -= place % PAGE
        return found

    def _refusal(self, run: Any, wanted: Wanted, places: Any, rng: np.random.Generator) -> None:
        """One run in eight meets a memory that answers an array with errors."""
        if not places:
            return
        wanted.registers["bus_error"] = 0
        if rng.random() >= 0.125:
            return
        each = self.board.arrays[rng.integers(len(self.board.arrays))]
        at = places[each.name] + int(rng.integers(max(1, each.bytes // len(each.parts))))
        run["refused"] = [at, at + 1]
        wanted.registers["bus_error"] = 1

    def _streams(self, run: Any, wanted: Wanted, values: Any, rng: np.random.Generator) -> None:
        before, after, types = values
        run["sent"] = {}
        for end in self.board.streams:
            dtype = types[end.name]
            cell = -(-dtype.bits // 8) * 8
            source = after if end.output else before
            noise = None if end.output else rng
            data = image(words_of(source[end.name], dtype), cell, dtype.bits, noise)
            if end.output:
                wanted.streams[end.name] = data
            else:
                run["sent"][end.name] = data.hex()

    def _registers(
        self, run: Any, wanted: Wanted, scalars: Any, places: Any, rng: np.random.Generator
    ) -> None:
        run |= {"registers": {}, "masks": {}, "results": {}, "restarts": 0}
        bits = {
            n: words_of(v, t)[0] & (1 << t.bits) - 1
            for n, (v, t) in scalars.items()
            if not np.ndim(v)
        }
        run["pins"] = {name: bits[name] for name in self.board.pins}
        for register in self.board.registers or ():
            if not register.written:
                run["results"][register.name] = (register.offset, register.words)
                continue
            value = places[register.name] if register.name in places else bits[register.name]
            above = int.from_bytes(rng.bytes(4 * register.words), "little") >> register.width
            data = (value | above << register.width).to_bytes(4 * register.words, "little")
            run["registers"][str(register.offset)] = data.hex()
            run["masks"][str(register.offset)] = (1 << register.width) - 1
        if self.board.registers and not self.board.arrays and not self.board.streams:
            run["restarts"] = int(rng.integers(3))

    # --- the simulation ------------------------------------------------------------------

    def simulate(self, folder: Path) -> list[str]:
        """Run all; what is wrong, in words."""
        board = self.board
        plan = {
            "lite": board.registers is not None,
            "masters": [{"bundle": m.bundle, "reads": m.reads, "writes": m.writes} for m in board.masters],
            "streams": [{"name": s.name, "output": s.output} for s in board.streams],
            "result_ports": list(board.results),
            "runs": self.runs,
        }  # fmt: skip
        (folder / "plan.json").write_text(json.dumps(plan))
        (folder / "bench.sv").write_text(harness(board) + self.module.verilog)
        fault = simulated(folder, HERE / "inside.py")
        return [fault] if fault else self.compared(folder)

    def compared(self, folder: Path) -> list[str]:
        """What is wrong in the answers of a simulation."""
        told = json.loads((folder / "answers.json").read_text())
        answers, self.cycles = told["runs"], told["cycles"]
        return [
            f"run {number}: {wrong}"
            for number, pair in enumerate(zip(self.wanted, answers, self.runs, strict=True))
            for wrong in _wrong(*pair)
        ]


def simulated(folder: Path, inside: Path) -> str:
    """Compile and run a bench that a module of cocotb drives; what went wrong, or ""."""
    library = cocotb_tools.config.lib_name_path("vpi", "icarus")
    files = {n: str(folder / f"{n}.json") for n in ("plan", "answers")} | {
        "fault": str(folder / "fault.txt")
    }
    path = os.pathsep.join([str(inside.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    settings = {
        "COCOTB_TEST_MODULES": inside.stem,
        "COCOTB_TOPLEVEL": "bench",
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_LOG_LEVEL": "WARNING",
        "GPI_LOG_LEVEL": "ERROR",
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": ";".join(
            [find_libpython.find_libpython(), cocotb_tools.config.pygpi_entry_point()]
        ),
        "PYTHONPATH": path,
        "PYTHONWARNINGS": "ignore::DeprecationWarning",
    }
    settings |= {f"ALLO_{name.upper()}": file for name, file in files.items()}
    commands = [
        ["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.sv"],
        ["vvp", "-m", str(library), "bench.vvp"],
    ]
    for command in commands:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode:
            return f"{command[0]} failed: {(done.stdout + done.stderr)[-2000:]}"
    if (folder / "fault.txt").exists():
        return (folder / "fault.txt").read_text()
    return "" if (folder / "answers.json").exists() else done.stdout[-3000:] + done.stderr[-1000:]


def _wrong(wanted: Wanted, found: Any, run: Any) -> list[str]:
    wrong = []
    if (
        "bus_error" in wanted.registers
    ):  # an array that passes beside the core is read where it is used
        wanted.registers["bus_error"] = int(found["refused"])
    for name, value in wanted.registers.items():
        if name in found["registers"] and (
            name == "bus_error" or not wanted.registers.get("bus_error")
        ):
            got = found["registers"][name]
            wrong += [f"{name} is {got:#x} in place of {value:#x}"] if got != value else []
    if wanted.registers.get("bus_error"):
        return wrong
    for (name, data, also), held in zip(wanted.blocks, found["memory"], strict=True):
        if not all(a in pair for a, *pair in zip(bytes.fromhex(held), data, also, strict=True)):
            wrong.append(f"{name} in memory is {held} in place of {data.hex()}")
    for name, data in wanted.streams.items():
        if bytes.fromhex(found["taken"][name]) != data:
            wrong.append(f"{name} is {found['taken'][name]} in place of {data.hex()}")
    return wrong
