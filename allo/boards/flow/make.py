"""``mod.bitstream(path)``: the clock chosen, the design in its shell, the bitstream written."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from allo.backend.synth import PathStep, Routing
from allo.dialects.caches.files import publish
from allo.dialects.diagnostics import AlloWarning, BuildError, TimingError

from ..record import Board
from ..shell import Shell, shell_of
from ..shell.protocol import BAUD
from . import clock
from .constraints import constraints
from .fit import check_fit
from .floorplan import Floorplan, floorplan_of
from .tools import Design, Flow, Progress, routed_netlist

_SHARE = 0.97
"""Of the clock that was reached, the largest part that is chosen: a device is no better than its model."""
_TRIES = 4
_GAIN = 1.05
"""A clock that is faster by no more than this is not worth another run of the tools."""
_PLACES = 6
"""Lines of Python that an error shows of the slowest path, those that take most of it."""


@dataclass(frozen=True, slots=True)
class Bitstream:
    """A bitstream that was written.

    Attributes:
        path: where it lies.
        board: the board it is for.
        clock_mhz: the clock of the design on the board.
        fmax_mhz: the clock that the routed design can have.
        cells: what it takes, shell included, and what the board has, by resource.
        seconds: how long this took.
        digest: what the host recognises the design by.
        routing: the critical path in lines of Python, and the units in use.
        untimed: parts of paths that nextpnr does not time; then ``fmax_mhz`` may be too high.
        routed: the netlist that nextpnr wrote, as JSON packed by gzip.
    """

    path: Path
    board: str
    clock_mhz: float
    fmax_mhz: float
    cells: dict[str, tuple[int, int]]
    seconds: float
    digest: bytes
    routing: Routing
    untimed: tuple[str, ...] = ()
    routed: Path | None = field(default=None, repr=False)

    def floorplan(self) -> Floorplan:
        """Where its cells lie on the device; a notebook shows the drawing, and ``.svg()`` is its text.

        Raises:
            BuildError: the cache no longer holds the netlist.
        """
        try:
            return floorplan_of(routed_netlist(self.routed or Path()))
        except OSError as error:
            raise BuildError(
                f"The netlist of {self.path} is no longer in the cache.",
                help="call mod.bitstream again.",
            ) from error

    def table(self) -> str:
        """The figures as text."""
        used = "   ".join(f"{n.upper()} {a:,} of {b:,}" for n, (a, b) in self.cells.items() if b)
        return (
            f"{self.path}: {self.board} at {self.clock_mhz:.6g} MHz, "
            f"routed for {self.fmax_mhz:.1f} MHz\n  {used}\n"
            + (
                f"  nextpnr times no path through {', '.join(self.untimed)}\n"
                if self.untimed
                else ""
            )
        )

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A design at one clock, placed and routed."""

    design: Design
    shell: Shell
    lut: int
    seed: int | None
    routing: Routing
    used: dict[str, int]

    @property
    def meets(self) -> bool:
        return self.routing.fmax_mhz >= self.design.clock_mhz


class _Maker:
    """The attempts for one module and one board."""

    def __init__(
        self,
        module: Any,
        board: Board,
        flow: Flow,
        seeds: tuple[int | None, ...],
    ) -> None:
        self._module, self._board, self._flow = module, board, flow
        self._seeds = seeds

    def design(self, setting: clock.Setting) -> tuple[Design, Shell]:
        """What the tools are given at one clock."""
        shell = shell_of(self._module, self._board, setting.mhz, BAUD)
        text = f"{shell.verilog}\n{clock.verilog(self._board, setting)}"
        if self._module.design.board is not None:
            text += clock.inverted(self._board)
        pins = constraints(self._board, shell.ports, self._flow.bitstream)
        return Design(text, shell.top, pins, setting.mhz), shell

    def attempt(self, setting: clock.Setting) -> _Attempt:
        """The best of the seeds at one clock."""
        design, shell = self.design(setting)
        _, used = self._flow.count(design)
        check_fit(self._board, used, self._module.report, shell.memories)
        lut = used["lut"]
        with ThreadPoolExecutor(min(len(self._seeds), os.cpu_count() or 1)) as pool:
            routed = list(pool.map(lambda seed: self._flow.route(design, lut, seed), self._seeds))
        best = max(range(len(routed)), key=lambda k: (routed[k].fmax_mhz, -k))
        return _Attempt(design, shell, lut, self._seeds[best], routed[best], used)

    def chosen(self) -> _Attempt:
        """The fastest clock that the routed design reaches with a reserve.

        Where nextpnr does not time all paths, it is no faster than operators were pipelined for.
        """
        built = float(self._module.report.clock_mhz)
        limit, best = built, None
        for _ in range(_TRIES):
            setting = clock.at_most(self._board, limit) or clock.settings(self._board)[0]
            if best is not None and setting.mhz <= best.design.clock_mhz:
                break
            tried = self.attempt(setting)
            reached = tried.routing.fmax_mhz * _SHARE
            untimed = self._flow.untimed(tried.used)
            faster = clock.at_most(self._board, min(reached, built) if untimed else reached)
            if tried.meets:
                best = tried
                if faster is None or faster.mhz <= setting.mhz * _GAIN:
                    break
                limit = faster.mhz
            elif faster is None or setting == clock.settings(self._board)[0]:
                raise _too_slow(tried, self._board)
            else:
                limit = min(faster.mhz, setting.mhz * _SHARE)
        if best is None:
            raise _too_slow(tried, self._board)
        return best


def bitstream(
    module: Any,
    path: str | Path,
    board: Board,
    *,
    clock_mhz: float | None = None,
    seed: int | None = None,
    seeds: int = 1,
    timeout: float = 1800.0,
    progress: Progress | None = None,
) -> Bitstream:
    """Write the bitstream of a design for a board.

    Args:
        module: what ``s.build(target="verilog", board=…)`` gave.
        path: the file to write.
        board: the board.
        clock_mhz: the clock of the design; None chooses the fastest that is reached with a reserve.
        seed: of nextpnr's random numbers; None for its own.
        seeds: how many seeds are tried, the first and those after it; the fastest is taken.
        timeout: seconds that each run of a tool may take.
        progress: called with each step that begins.

    Raises:
        BoardError: the board has no open tools, lacks a pin, or cannot make the clock.
        CapacityError: the design does not fit.
        TimingError: the clock that was asked for is not reached.
        ToolMissingError, ToolFailedError: one of the tools.
    """
    start = perf_counter()
    target = Path(path)
    flow = Flow(board, timeout, progress)
    first = 1 if seed is None else seed
    tried = (seed,) if seeds == 1 else tuple(range(first, first + seeds))
    made = _routed(_Maker(module, board, flow, tried), board, clock_mhz)
    untimed = flow.untimed(made.used)
    if clock_mhz is not None and untimed:
        warnings.warn(
            f"{board.name}: nextpnr times no path through {', '.join(untimed)}, so that a clock of "
            f"{clock_mhz:.6g} MHz is not sure; without clock_mhz it is no faster than the build's.",
            AlloWarning,
            stacklevel=3,
        )
    _write(target, flow.packed(made.design, made.lut, made.seed))
    return Bitstream(
        path=target,
        board=board.name,
        clock_mhz=made.design.clock_mhz,
        fmax_mhz=made.routing.fmax_mhz,
        cells={name: (made.used[name], have) for name, have in board.resources.items()},
        seconds=round(perf_counter() - start, 1),
        digest=made.shell.digest,
        routing=made.routing,
        untimed=untimed,
        routed=flow.kept(made.design, made.lut, made.seed),
    )


def _routed(maker: _Maker, board: Board, clock_mhz: float | None) -> _Attempt:
    """A design at the clock that is asked for, or at the fastest that it reaches."""
    if clock_mhz is None:
        return maker.chosen()
    made = maker.attempt(clock.asked(board, clock_mhz))
    if not made.meets:
        raise _too_slow(made, board)
    return made


@dataclass(frozen=True, slots=True)
class Netlist:
    """A design as the tools have it: what Yosys or nextpnr wrote, the shell it was made of, and its clock."""

    modules: Any
    shell: Shell
    clock_mhz: float


def netlist(
    module: Any, board: Board, *, clock_mhz: float | None, routed: bool, timeout: float
) -> Netlist:
    """The netlist that the bitstream of a design is made of, or that which is placed and routed for it.

    Raises:
        BoardError, CapacityError, TimingError, ToolMissingError, ToolFailedError: as of :func:`bitstream`.
    """
    flow = Flow(board, timeout)
    maker = _Maker(module, board, flow, (None,))
    if routed or clock_mhz is None:
        made = _routed(maker, board, clock_mhz)
        found = flow.netlist(made.design, (made.lut, made.seed) if routed else None)
        return Netlist(found, made.shell, made.design.clock_mhz)
    design, shell = maker.design(clock.asked(board, clock_mhz))
    return Netlist(flow.netlist(design, None), shell, design.clock_mhz)


def _write(path: Path, data: bytes) -> None:
    try:
        publish(path, data)
    except OSError as error:
        raise BuildError(
            f"The bitstream cannot be written to {path}: {error.strerror or error}.",
            help="name a file in a folder that you may write to.",
        ) from error


def _too_slow(made: _Attempt, board: Board) -> TimingError:
    """What is said of a clock that is not reached, with the slowest path in lines of Python."""
    routing = made.routing
    slower = clock.at_most(board, routing.fmax_mhz * _SHARE)
    take = f"ask for clock_mhz={slower.mhz:.6g}, " if slower is not None else ""
    error = TimingError(
        f"The routed design reaches {routing.fmax_mhz:.1f} MHz on {board.title}, and "
        f"{made.design.clock_mhz:.6g} MHz is asked for.",
        help=f"{take}try more seeds (seeds=4), or build it for a faster clock (build's clock_mhz).",
    )
    for note in _path_notes(routing):
        error.add_note(note)
    return error


def _path_notes(routing: Routing) -> Iterator[str]:
    """The ends of the slowest path, what its delays add up to, and the lines of Python on it."""
    steps = routing.critical_path
    if not steps:
        return
    yield f"The slowest path is from {_end(steps)} to {_end(steps[::-1])}."
    sums: dict[str, float] = {}
    for step in steps:
        sums[step.kind] = sums.get(step.kind, 0.0) + step.delay_ns
    parts = ", ".join(f"{kind} {total:.1f}" for kind, total in sums.items())
    yield f"Its {sum(sums.values()):.1f} ns are, in {len(steps)} steps: {parts}."
    places: dict[str, float] = {}
    for step in steps:
        if step.place:
            places[step.place] = places.get(step.place, 0.0) + step.delay_ns
    longest = sorted(places, key=lambda place: -places[place])[:_PLACES]
    for place in (p for p in places if p in longest):
        yield f"  {places[place]:6.2f} ns  {place}"


def _end(steps: Sequence[PathStep]) -> str:
    """The first signal of a path that has a name, and its line."""
    named = next((step for step in steps if step.signal), steps[0])
    place = f" ({named.place})" if named.place else ""
    return f"{named.signal or 'a register without a name'}{place}"
