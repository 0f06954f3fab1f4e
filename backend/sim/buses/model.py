"""A wrapped design under the models of its buses, which both engines return for one with interfaces."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import (
    BUS_ERROR,
    LITE,
    PAGE,
    Board,
    Buffered,
    Master,
    StreamEnd,
)
from allo.dialects.diagnostics import OptionError, ProtocolError, SimulationError

from ..boundary.storage import (
    arrangement,
    cell_bits,
    from_banks,
    is_sign_extended,
    to_banks,
    word_bits,
)
from ..boundary.traffic import (
    DRAM,
    TICKS,
    ChannelStatistics,
    MemoryChannel,
    StreamStatistics,
    Traffic,
    device_of,
)
from ..dram.crossing import Master as Reaching
from ..dram.ports import DramPorts, longest_wait
from ..driver.context import ContextLayout
from ..driver.ports import PortMap
from ..engines.interface import BuildOptions, RunOptions, SimResult
from ..engines.model import DrivenModel, Evaluated
from ..engines.progress import MARGIN, SETTLING, Watch
from .image import deal, from_image, gather, to_image
from .library import Buses
from .script import Script, run_script

FIELDS = ("status", "cycle", "stalls", "budget")
BROKEN = 2
"""What a step says of a broken rule; 0 and 1 are those of the plain driver."""
MOST_LINES = 4096
"""Lines that a master has under way at most, more or less: no run stands still before they are served."""
FIRST_ADDRESS = 1 << 32
"""Arguments lie above it, so that both halves of an address count."""


@dataclass(frozen=True, slots=True)
class Clocking:
    """How a design is evaluated: addresses of functions, and what they are given."""

    settle: int
    edge: int
    reset: int
    handle: int
    packed: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """An array in memory: where each of its parts lies, by register, their bytes, and bytes of a word."""

    bases: list[tuple[str, int]]
    images: list[np.ndarray]
    step: int


class BusModel(DrivenModel):
    """A wrapped design: its memory, its host and the other ends of its streams are models in C++."""

    def __init__(
        self,
        design: HardwareDesign,
        board: Board,
        options: BuildOptions,
        ports: PortMap,
        evaluated: Evaluated,
        clocking: Clocking,
        keep: object,
    ) -> None:
        self._design, self._board = design, board
        self._outside, self._evaluated = options.outside, evaluated
        if not evaluated.eval:  # the in-process engine names what it keeps by instances
            inside = replace(evaluated, signal=lambda path: evaluated.signal(f"shell/core/{path}"))
            self._evaluated = inside
        self._stall = options.stalls
        self._keep = keep
        how = clocking
        self._buses = Buses(how.settle, how.edge, how.reset, how.handle, packed=how.packed)
        for name, width in ports.widths.items():
            kept = ports.aliases.get(name, name)
            self._buses("wire", name, evaluated.base + ports.offsets[kept], width)
        self._arrays = {array.name: array for array in design.arrays}
        self._add_agents()
        layout = ContextLayout()
        for name in FIELDS:
            layout.add(name)
        self._context = layout.make()
        self._functions: dict[str, Callable[[int], None]] = {  # type: ignore[assignment]
            "allo_reset": lambda _: self._buses("reset"),
            "allo_step": lambda _: self._step_buses(),
        }
        self._open, self._stale = True, True
        self._failure: SimulationError | None = None
        stalled = [c.stall_cycles for c in self._outside.channels.values() if c.stall]
        latency = max((c.latency for c in self._outside.channels.values()), default=0)
        slow = max((self._pace(m)[1] for m in board.masters), default=0) // TICKS
        self._patience = SETTLING + MARGIN + latency + 2 * slow + max(stalled, default=0)
        chances = any(s.stall for s in self._outside.streams.values())
        self._dram: DramPorts | None = None
        lying = [c for c in self._outside.channels.values() if c.timing == DRAM]
        self._patience += longest_wait(lying, MOST_LINES) if lying else 0
        # While a channel counts a latency down, the design may stand with a state that comes back.
        waits = latency > 0 or slow > 1
        self._steady = not (self._stall or stalled or chances or lying or waits)

    def close(self) -> None:
        """Free the model; closing it again does nothing."""
        if self._open:
            self._buses.close()
        super().close()

    def _add_agents(self) -> None:
        board = self._board
        if board.registers is None:
            self._buses("pins")
        else:
            self._buses("host", LITE)
        for m in board.masters:
            kinds = m.reads, m.writes, m.ids > 0, m.burst == 1
            self._buses("memory", m.prefix, m.width, m.outstanding, *kinds)
            self._buses("pace", m.prefix, *self._pace(m))
        for end in board.streams:
            model = self._outside.streams.get(end.name)
            self._buses("stream", end.name, end.output, _threshold(model.stall if model else 0.0))
        for name in board.memories:
            for port in self._arrays[name].ports:
                self._buses("ram", port.prefix, port.reads, port.writes)

    def _pace(self, master: Master) -> tuple[int, int, int, int]:
        """Latency, ticks of a word, chance of a stall and the longest one, of the memory at a port.

        What a master reaches on several channels has the bandwidth of all of them. Where arrays of one
        bundle lie in different memories, the slowest counts.
        """
        routes = [
            route
            for a in self._board.arrays
            if self._is_ideal(a.name)
            for part, route in zip(a.parts, self._routes(a), strict=True)
            if part.bundle == master.bundle
        ]
        if not routes:
            return 0, 0, 0, 0
        rate = min(sum(c.bytes_per_cycle for c in route) for route in routes)
        channels = [channel for route in routes for channel in route]
        return (
            max(c.latency for c in channels),
            round(master.width // 8 / rate * TICKS),
            _threshold(max(c.stall for c in channels)),
            max(c.stall_cycles for c in channels),
        )

    def _is_ideal(self, name: str) -> bool:
        route = self._outside.memory.get(name, ())
        return any(channel.timing != DRAM for channel in route)

    def _routes(self, array: Buffered) -> list[tuple[MemoryChannel, ...]]:
        """The channels of each part of an array.

        Raises:
            OptionError: they cannot be shared out to the masters.
        """
        route, ways = tuple(self._outside.memory.get(array.name, ())), len(array.parts)
        if len(route) % ways and ways % max(1, len(route)):
            raise OptionError(
                f"{array.name} has {ways} masters, and memory= gives it {len(route)} channels.",
                help="give it one channel, or one for each master.",
            )
        if len(route) >= ways:
            each = len(route) // ways
            return [route[n * each : (n + 1) * each] for n in range(ways)]
        return [route[n * len(route) // ways :][:1] for n in range(ways)]

    def _step_buses(self) -> None:
        self._context["status"] = self._buses("step", self._context["budget"])
        self._context["cycle"] = self._buses("cycle")

    # --- a run -------------------------------------------------------------------------

    def _run(
        self,
        arrays: Mapping[str, np.ndarray],
        scalars: Mapping[str, int],
        options: RunOptions,
    ) -> SimResult:
        if self._stale:
            self.reset()
        self._stale = True
        rng = np.random.default_rng(options.stall_seed)
        images = self._place(arrays, rng)
        words = self._connect(arrays)
        banks = self._fill_banks(arrays)
        stalled = self._stall > 0
        values = {**scalars, **{r: base for found in images.values() for r, base in found.bases}}
        interrupts = not stalled or bool(rng.integers(2))
        script = run_script(self._board, values, interrupts=interrupts, check=stalled)
        rows = script.rows()
        if self._board.registers is not None:
            self._buses("script", LITE, rows.ctypes.data, len(rows))
        for name in self._board.pins:
            self._put(name, scalars[name])
        self._buses("begin", options.stall_seed, _threshold(self._stall))
        self._context["cycle"] = 0
        self._advance(options, self._watch([]))
        self._stale = False
        answers = self._answers(script)
        self._take(arrays, images, words, banks)
        return SimResult(self._buses("measured"), self._results(script, answers), self._traffic())

    def _place(
        self, arrays: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> dict[str, Placed]:
        """Put the buffered arrays into memory, at addresses that change from run to run."""
        self._buses("clear")
        lying = any(c.timing == DRAM for c in self._outside.channels.values())
        self._dram = DramPorts(self._outside.channels, self._reaching()) if lying else None
        found: dict[str, Placed] = {}
        lanes = {m.bundle: m.width // 8 for m in self._board.masters}
        base = FIRST_ADDRESS
        for each in self._board.arrays:
            step = lanes[each.bundles[0]]
            image = to_image(
                arrays[each.name], each.count, each.width, each.cell, signed=each.signed
            )
            images = deal(image, len(each.parts), step)
            bases = []
            for part, mine, route in zip(each.parts, images, self._routes(each), strict=True):
                base += PAGE + int(rng.integers(PAGE // step)) * step
                self._buses(
                    "region",
                    part.register,
                    base,
                    mine.nbytes,
                    mine.ctypes.data,
                    each.loaded,
                    each.stored,
                )
                self._lie(route, part.bundle)
                bases.append((part.register, base))
                base += -(-mine.nbytes // PAGE) * PAGE
                base -= base % PAGE
            found[each.name] = Placed(bases, images, step)
        return found

    def _reaching(self) -> list[Reaching]:
        """The channels with banks that each master reaches."""
        found: dict[str, dict[MemoryChannel, None]] = {m.bundle: {} for m in self._board.masters}
        for each in self._board.arrays:
            for part, route in zip(each.parts, self._routes(each), strict=True):
                found[part.bundle] |= dict.fromkeys(c for c in route if c.timing == DRAM)
        masters = self._board.masters
        return [Reaching(m.bundle, tuple(found[m.bundle]), not m.ids) for m in masters]

    def _lie(self, route: Sequence[MemoryChannel], bundle: str) -> None:
        """Let the array that was placed last lie on channels, if these are dynamic memory."""
        if self._dram is None or not route or route[0].timing != DRAM:
            return
        handles = self._dram.handles(route, bundle)
        sizes = route[0].line_bytes, device_of(route[0]).burst_bytes
        self._buses("dram", *self._dram.requests, handles, len(route), *sizes)

    def _connect(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Give every stream its words, or room for them."""
        found = {}
        for end in self._board.streams:
            cells = arrays[end.name]
            count = _words(cells, end)
            words = to_image(cells, count, end.width, end.cell, signed=end.signed)
            found[end.name] = words
            whole = end.count is not None
            self._buses("words", end.name, words.ctypes.data, end.cell // 8, count, whole)
        return found

    def _fill_banks(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Fill the memories at RAM ports."""
        found = {}
        for name in self._board.memories:
            array = self._arrays[name]
            banks = found[name] = to_banks(arrays[name], array.layout, array.dtype)
            how, size = arrangement(array.layout), cell_bits(array.dtype) // 8
            for port in array.ports:
                at = banks.ctypes.data + port.bank * how.bank_stride * size
                depth = array.layout.bank_depth
                self._buses("bank", port.prefix, at, size, depth, how.word_stride)
        return found

    def _take(
        self,
        arrays: Mapping[str, np.ndarray],
        images: Mapping[str, Placed],
        words: Mapping[str, np.ndarray],
        banks: Mapping[str, np.ndarray],
    ) -> None:
        """Put what the design has written back into the arrays."""
        for each in self._board.arrays:
            if each.stored:
                placed = images[each.name]
                whole = gather(placed.images, each.bytes, placed.step)
                self._take_image(arrays[each.name], whole, each)
        for end in self._board.streams:
            if end.output:
                cells = arrays[end.name]
                count = _words(cells, end)
                from_image(words[end.name], cells, count, end.width, end.cell, signed=False)
        for name, held in banks.items():
            array = self._arrays[name]
            if array.direction != "in":
                from_banks(held, arrays[name], array.layout, array.dtype)

    def _take_image(self, cells: np.ndarray, image: np.ndarray, each: Buffered) -> None:
        signed = is_sign_extended(self._arrays[each.name].dtype)
        from_image(image, cells, each.count, each.width, each.cell, signed=signed)

    # --- what came of it -----------------------------------------------------------------

    def _answers(self, script: Script) -> list[int]:
        """What the host has read.

        Raises:
            ProtocolError: a register does not hold what it must.
        """
        found = []
        for number, wanted in enumerate(script.expected):
            value = self._buses("answer", LITE, number)
            found.append(value)
            if wanted is not None and (value ^ wanted[0]) & wanted[1]:
                expected, mask, what = wanted
                raise ProtocolError(
                    f"{self._board.top} answers {value & mask:#x} for {what}, where {expected:#x} "
                    "must stand.",
                    help="this is a fault of the RTL compiler, not of your program.",
                )
        return found

    def _results(self, script: Script, answers: list[int]) -> dict[str, int]:
        found = {}
        for name, (first, count) in script.results.items():
            found[name] = sum(answers[first + n] << (32 * n) for n in range(count))
        if found.pop(BUS_ERROR, 0):
            raise SimulationError(
                f"The memory answered a burst of {self._board.top} with an error.",
                help="register bus_error says so on a board, too; see docs/interfaces.md.",
            )
        for name in self._board.results:
            found[name] = self._get(name)
        return found

    def _watch(self, arrays: list[np.ndarray]) -> Watch:
        """What tells whether the run that begins goes on."""
        return Watch(
            self._evaluated.state,
            [*self._evaluated.whole, *arrays],
            lambda: [self._buses("moved")],
            self._step,
            self._patience,
            self._steady,
        )

    def _traffic(self) -> Traffic:
        cycles = max(1, self._buses("measured"))
        channels = {}
        for m in self._board.masters:
            moved = self._buses("bytes", m.prefix, 0) + self._buses("bytes", m.prefix, 1)
            channels[m.bundle] = ChannelStatistics(moved, moved / (cycles * m.width // 8))
        for name, channel in self._outside.channels.items():
            if self._dram is not None and channel.timing == DRAM:
                channels[name] = self._dram.statistics(name, cycles)
        streams = {
            end.name: StreamStatistics(self._buses("passed", end.name), 0, 0)
            for end in self._board.streams
        }
        crossings = self._dram.crossings if self._dram is not None else ()
        return Traffic(0, channels, streams, crossings)

    def _put(self, name: str, value: int) -> None:
        width = next(w.width for w in self._board.wires if w.name == name)
        size = -(-width // 8)
        self._buses("put", name, value.to_bytes(size, "little"))

    def _get(self, name: str) -> int:
        width = next(w.width for w in self._board.wires if w.name == name)
        room = ctypes.create_string_buffer(-(-width // 8))
        self._buses("get", name, room)
        return int.from_bytes(room.raw, "little")

    def _passed(self, stream: str) -> str:
        end = next((e for e in self._board.streams if e.name == stream), None)
        if end is None:  # the elements of an array that pass beside the core
            bundles = next((a.bundles for a in self._board.arrays if a.name == stream), ())
            prefixes = [m.prefix for m in self._board.masters if m.bundle in bundles]
            moved = sum(self._buses("bytes", p, way) for p in prefixes for way in (0, 1))
            return f"moved {moved} bytes on the masters of {stream}"
        verb = "took" if end.output else "fed"
        return f"{verb} {self._buses('passed', stream)} words"

    def _stuck(self) -> SimulationError:
        found = self._standing()
        if found.blocked:
            return found.error()
        return SimulationError(
            f"{self._board.top} stands still since cycle {self._context['cycle']} or before and is not "
            "done.",
            help="it waits for something that never comes.",
            notes=tuple(self._streams_passed()),
        )

    def _broken(self, status: int) -> SimulationError:
        if status != BROKEN:
            return SimulationError(f"{self._board.top} ended with status {status}.")
        told = self._buses("fault").decode()
        return ProtocolError(
            f"{self._board.top} broke a rule of its bus in cycle {self._context['cycle']}: {told}.",
            help="this is a fault of the RTL compiler, not of your program.",
        )


def _words(cells: np.ndarray, end: StreamEnd) -> int:
    """How many words of a stream an array holds, or has room for."""
    return cells.nbytes * 8 // word_bits(end.width) if end.count is None else end.count


def _threshold(probability: float) -> int:
    """A probability as the models take it."""
    return round(probability * (1 << 32))


__all__ = ["BusModel", "Clocking"]
