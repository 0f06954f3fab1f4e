"""A simulation model: an evaluated design with its generated driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.emit.bounds import BoundsPort
from allo.dialects.boundary.stream_arrays import passed_words
from allo.dialects.diagnostics import SimulationError, SourcePlace

from ..boundary.storage import from_banks, int_to_words, to_banks, word_bits, words_to_int
from ..boundary.traffic import (
    DRAM,
    TICKS,
    ChannelStatistics,
    Outside,
    StreamStatistics,
    Traffic,
    lines_ahead,
)
from ..driver import transaction as driver
from ..driver.channels import (
    BUSY,
    DEPTH,
    DRAM_PORT,
    DRAM_TOUCH,
    LINES,
    initial_channel,
    random_state,
)
from ..driver.context import Context
from ..driver.memory_ports import write_ports
from ..driver.stream_ports import LAST
from .deadlock import Standing
from .interface import RunOptions, SimResult
from .native import NativeModule
from .progress import FIRST_SLICE, LARGEST_SLICE, Progress, Watch, patience_of
from .registers import running, standing

if TYPE_CHECKING:
    from ..dram.ports import DramPorts, Region

CHUNK_SECONDS = 0.2
# Cycles in which an error looks at what runs.
WATCHED = 16


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A design an engine has made ready: one instance of its state.

    Attributes:
        base: address the port offsets count from.
        eval: address of ``void eval(handle)``, or 0 when the driver calls it by symbol.
        handle: what ``eval`` is given.
        close: frees the instance.
        peek: values of registers the engine can read, by name.
        state: the memory in which the design's registers lie; large memories may be left out.
        whole: all the memory of the design.
        probe: whether the design's probes (:mod:`allo.backend.rtl.waiting`) look from now on.
        signal: the value of a probe, a FIFO's count or a process's end by its path; 0 if unknown.
        begin_wave, end_wave: open and close a waveform; None when the model writes none.
    """

    base: int
    eval: int
    handle: int
    close: Callable[[], None]
    peek: Callable[[], dict[str, int]]
    state: Sequence[np.ndarray] = ()
    whole: Sequence[np.ndarray] = ()
    probe: Callable[[bool], None] = lambda on: None
    signal: Callable[[str], int] = lambda path: 0
    begin_wave: Callable[[str], None] | None = None
    end_wave: Callable[[], None] | None = None


class DrivenModel:
    """A design under the generated driver; the model both engines return."""

    _open = False

    def __init__(
        self,
        design: HardwareDesign,
        outside: Outside,
        driver_text: driver.DriverText,
        native: NativeModule,
        evaluated: Evaluated,
    ) -> None:
        self._design = design
        self._outside = outside
        self._evaluated = evaluated
        self._functions = {
            name: native.function(name) for name in ("allo_reset", "allo_start", "allo_step")
        }
        self._context: Context = driver_text.make_context()
        self._context["base"] = evaluated.base
        self._context["eval"] = evaluated.eval
        self._context["handle"] = evaluated.handle
        self._open = True
        self._stale = True
        self._failure: SimulationError | None = None
        self._dram: DramPorts | None = None
        self._patience = patience_of(design, outside)
        stalls = any(stream.stall for stream in outside.streams.values())
        self._steady = not outside.channels and not stalls

    def close(self) -> None:
        """Free the model; closing it again does nothing."""
        if self._open:
            self._open = False
            self._evaluated.close()

    def __del__(self) -> None:
        self.close()

    def reset(self) -> None:
        """Bring the design back to its initial state."""
        self._call("allo_reset")
        self._stale = False

    def run(
        self,
        arrays: Mapping[str, np.ndarray],
        scalars: Mapping[str, int],
        options: RunOptions,
    ) -> SimResult:
        """Run one transaction from start to done, with a waveform if the options name a file.

        Raises:
            SimulationError: the run exceeds its cycles, never ends, or breaks the protocol.
            DeadlockError: every process waits for another.
            BoundsError: a subscript is out of range, in a design that checks them.
        """
        if options.wave is not None:
            self._begin_wave(options)
        try:
            return self._run(arrays, scalars, options)
        finally:
            if options.wave is not None and self._evaluated.end_wave is not None:
                self._evaluated.end_wave()

    def _begin_wave(self, options: RunOptions) -> None:
        if self._evaluated.begin_wave is None:
            raise SimulationError(
                "This model was built without waveforms.",
                help='build it with BuildOptions(wave="vcd").',
            )
        self._evaluated.begin_wave(str(options.wave))

    def _run(
        self,
        arrays: Mapping[str, np.ndarray],
        scalars: Mapping[str, int],
        options: RunOptions,
    ) -> SimResult:
        if self._stale:
            self.reset()
        banks = {
            array.name: to_banks(arrays[array.name], array.layout, array.dtype)
            for array in self._design.arrays
        }
        for name, cells in banks.items():
            self._context[f"array {name}"] = cells.ctypes.data
        for scalar in self._design.scalars_in:
            field = self._context.field(f"scalar {scalar.name}")
            field[:] = int_to_words(scalars[scalar.name], len(field))
        self._connect_streams(arrays, options)
        self._idle_channels(options)
        self._context["cycle"] = self._context["stalls"] = 0
        self._stale = True
        self._call("allo_start")
        failure = self._advance(options, self._watch(list(banks.values())))
        self._stale = failure is not None or self._design.endless
        for array in self._design.arrays:
            if array.direction != "in":
                from_banks(banks[array.name], arrays[array.name], array.layout, array.dtype)
        if failure is not None:
            raise failure
        if self._design.endless:
            self._context["cycle"] = self._context[LAST] + 1
        return SimResult(self._context["cycle"], self._scalars_out(), self._traffic())

    def _connect_streams(self, arrays: Mapping[str, np.ndarray], options: RunOptions) -> None:
        if self._design.endless:
            self._context[LAST] = 0
        for stream in self._design.streams:
            cells = arrays[stream.name]
            name = stream.name
            self._context[f"data {name}"] = cells.ctypes.data
            self._context[f"count {name}"] = cells.nbytes * 8 // word_bits(stream.width)
            self._context[f"random {name}"] = random_state(name, options.stall_seed)
            for field in ("position", "starved", "blocked", "pending"):
                self._context[f"{field} {name}"] = 0

    def _idle_channels(self, options: RunOptions) -> None:
        channels = self._outside.channels
        for name, channel in channels.items():
            self._context.field(f"channel {name}")[:] = initial_channel(channel, options.stall_seed)
        self._dram = None
        if not channels:
            return
        from ..dram.ports import DramPorts, regions

        if any(channel.timing == DRAM for channel in channels.values()):
            self._dram = DramPorts(channels)
        words = {s.name: self._context[f"count {s.name}"] for s in self._design.streams}
        for region, names in regions(self._design, self._outside, words):
            self._open_ports(region, names)

    def _open_ports(self, region: Region, names: Sequence[str]) -> None:
        """Idle ports on a region."""
        route, dram = region.channels, self._dram if region.channels[0].timing == DRAM else None
        base = dram.place(region) if dram else 0
        for name in names:
            state = self._context.field(f"port {name}")
            state[:] = 0
            state[DEPTH] = lines_ahead(route)
            if dram:
                state[DRAM_PORT], state[DRAM_TOUCH] = dram.port(region, base), dram.touch
            offsets = [self._context.offset(f"channel {channel.name}") for channel in route]
            self._context.field(f"route {name}")[:] = offsets

    def _traffic(self) -> Traffic:
        cycles = max(1, self._context["cycle"])
        channels = {}
        for name, channel in self._outside.channels.items():
            if self._dram and channel.timing == DRAM:
                channels[name] = self._dram.statistics(name, cycles)
                continue
            state = self._context.field(f"channel {name}")
            moved = int(state[LINES]) * channel.line_bytes
            channels[name] = ChannelStatistics(moved, int(state[BUSY]) / (TICKS * cycles))
        streams = {
            s.name: StreamStatistics(
                self._context[f"position {s.name}"],
                self._context[f"starved {s.name}"],
                self._context[f"blocked {s.name}"],
            )
            for s in self._design.streams
        }
        crossings = self._dram.crossings if self._dram else ()
        return Traffic(self._context["stalls"], channels, streams, crossings)

    def _scalars_out(self) -> dict[str, int]:
        return {
            s.name: words_to_int(self._context.field(f"scalar {s.name}").tolist())
            for s in self._design.scalars_out
        }

    def _watch(self, arrays: list[np.ndarray]) -> Watch:
        """What tells whether the run that begins goes on."""
        names = [stream.name for stream in self._design.streams]
        return Watch(
            self._evaluated.state,
            [*self._evaluated.whole, *arrays],
            lambda: [self._context[f"position {name}"] for name in names],
            self._step,
            self._patience,
            self._steady,
        )

    def _advance(self, options: RunOptions, watch: Watch) -> SimulationError | None:
        """Run to done, in slices short enough that Ctrl-C is served and a hang is seen.

        A subscript out of range ends the run, too, once what was under way has been written; it is
        returned.
        """
        self._failure = None
        if self._design.bounds is not None:
            self._context["draining"] = 0
        budget = FIRST_SLICE
        while True:
            left = options.max_cycles - self._context["cycle"]
            began = time.perf_counter()
            if self._step(max(1, min(budget, left))):
                return self._failure
            quick = time.perf_counter() - began < CHUNK_SECONDS
            given_up = self._context["cycle"] >= options.max_cycles
            registers = self._evaluated.peek() if given_up else {}
            match watch.look(self._context["cycle"]):
                case Progress.STANDS | Progress.REPEATS if self._ran_out():
                    return self._failure
                case Progress.STANDS:
                    raise self._stuck()
                case Progress.REPEATS:
                    raise self._endless(watch.period)
                case Progress.DONE if not given_up:
                    return self._failure
            if given_up:
                raise self._hung(options, registers)
            if quick:
                budget = min(2 * budget, LARGEST_SLICE)

    def _step(self, cycles: int) -> bool:
        """Run some cycles; whether the run ended in them, by done or by a subscript out of range."""
        self._context["budget"] = cycles
        self._call("allo_step")
        status = self._context["status"]
        if port := self._design.bounds:
            self._failure = self._out_of_bounds(port, done=status == driver.DONE)
        if status not in (driver.RUNNING, driver.DONE) and self._failure is None:
            raise self._broken(status)
        return status == driver.DONE or self._failure is not None

    def _out_of_bounds(self, port: BoundsPort, *, done: bool) -> SimulationError | None:
        """The failure of a check, if there is one; after done, one that is still on its way up."""
        told = words_to_int(self._context.field("bounds").tolist())
        if not (told & 1 or done):
            return None
        cycle, status = self._context["cycle"], self._context["status"]
        self._context["draining"], self._context["budget"] = 1, port.drain
        self._call("allo_step")
        self._context["cycle"], self._context["status"] = cycle, status
        told = words_to_int(self._context.field("bounds").tolist())
        return port.error(told) if told & 1 else None

    def _call(self, name: str) -> None:
        self._functions[name](self._context.address)

    def _ran_out(self) -> bool:
        """Whether a design without an end has taken all words of a stream, or given as many as are wanted."""
        names = [stream.name for stream in self._design.streams]
        return self._design.endless and any(
            self._context[f"position {name}"] == self._context[f"count {name}"] for name in names
        )

    # --- errors ------------------------------------------------------------------

    def _standing(self) -> Standing:
        """Which processes wait now."""
        self._evaluated.probe(True)
        self._step(1)
        self._evaluated.probe(False)
        return Standing(self._design, self._evaluated.signal, self._passed)

    def _passed(self, stream: str) -> str:
        """What a stream port has passed."""
        fills = {s.name: s.direction == "out" for s in self._design.streams}
        passed, room = (self._context[f"{f} {stream}"] for f in ("position", "count"))
        return passed_words(fills[stream], passed, room)

    def _streams_passed(self) -> list[str]:
        return [f"stream {s.name} {self._passed(s.name)}." for s in self._design.streams]

    def _stuck(self) -> SimulationError:
        """The error for a design that will never change again."""
        found = self._standing()
        if found.blocked:
            return found.error()
        fifos = any(module.fifos for module in self._design.waits.values())
        if self._steady and not fifos and not self._design.streams:
            return self._endless(1)
        return SimulationError(
            f"{self._design.top} stands still since cycle {self._context['cycle']} or before and is "
            "not done.",
            help="it waits for something that never comes.",
            notes=(
                *standing(self._evaluated.peek(), self._design.debug),
                *self._streams_passed(),
            ),
        )

    def _endless(self, period: int) -> SimulationError:
        """The error for a loop that comes back to where it was, or processes that ask in vain."""
        for _ in range(period if any(m.fifos for m in self._design.waits.values()) else 0):
            found = self._standing()
            if found.tries:
                return found.error()
        return SimulationError(
            f"{self._design.top} never ends: by cycle {self._context['cycle']} it repeats the same "
            f"{'cycle' if period == 1 else f'{period} cycles'} and changes nothing.",
            help="its loop waits for a condition that nothing in it changes.",
            notes=tuple(self._ran_last()),
        )

    def _ran_last(self) -> list[str]:
        """What runs in the next few cycles, as lines."""
        found: dict[str, None] = {}
        for _ in range(WATCHED):
            found |= dict.fromkeys(running(self._evaluated.peek(), self._design.debug))
            if self._step(1):
                break
        return list(found)

    def _hung(self, options: RunOptions, registers: Mapping[str, int]) -> SimulationError:
        """The error for a run given up; ``registers`` are those of its last cycle."""
        notes: list[str | tuple[str, SourcePlace]] = []
        notes += standing(registers, self._design.debug)
        notes += self._ran_last()
        waiting = self._standing().notes()
        notes += [(text, place) if place else text for text, place in waiting]
        notes += self._streams_passed()
        advice = "pass max_cycles= if the run is longer than that; otherwise the design waits for "
        advice += "something that never comes."
        if not registers:
            advice += ' simulator="jit" also says what every loop holds.'
        return SimulationError(
            f"{self._design.top} was not done after {options.max_cycles} cycles.",
            help=advice,
            notes=tuple(notes),
        )

    def _broken(self, status: int) -> SimulationError:
        cycle = self._context["cycle"]
        top = self._design.top
        if status == driver.LATE_DONE:
            return SimulationError(
                f"{top} broke its protocol: done is high for more than cycle {cycle}.",
                help="this is a fault of the RTL compiler, not of your program.",
            )
        if status == driver.WORD_DROPPED:
            stream = self._design.streams[self._context["fault"]]
            return SimulationError(
                f"{top} withdrew or changed a word of stream {stream.name} before it was taken, "
                f"in cycle {cycle}.",
                help="this is a fault of the RTL compiler, not of your program.",
            )
        array, port = write_ports(self._design)[self._context["fault"]]
        where = f"{array.name} (bank {port.bank}, port {port.prefix})"
        if status == driver.LATE_WRITE:
            return SimulationError(
                f"{top} broke its protocol: it writes {where} after done in cycle {cycle}.",
                help="this is a fault of the RTL compiler, not of your program.",
            )
        if status == driver.WRITE_CONFLICT:
            return SimulationError(
                f"{top} writes one word of {where} through two ports in cycle {cycle}.",
                help="two writes to one element must not fall in one cycle; this is a fault of "
                "the RTL compiler.",
            )
        return SimulationError(
            f"{top} writes {where} outside its {array.layout.bank_depth} words in cycle {cycle}.",
            help=f"an index of {array.name} runs past its shape {list(array.shape)}.",
        )
