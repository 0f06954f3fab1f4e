"""What is foretold of a run behind AXI4 masters before it is made: cycles, bytes, and what bounds each loop.

A loop that passes words of an array takes as long as the channel needs for their lines, if that is longer
than the loop alone. Arrays that are copied whole take a copy in front of the run, or behind it. Waits for
single lines, and conflicts of arrays that share a channel, are not foretold one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import Board, Buffered, Master
from allo.backend.rtl.interfaces.early.gate import deadlines
from allo.backend.rtl.interfaces.early.ports import shared_ports
from allo.backend.rtl.interfaces.walk import copy_lanes, folded
from allo.dialects.core.partition import ArrayLayout
from allo.dialects.diagnostics import PredictionError, SourcePlace
from allo.dialects.interfaces.runs import Runs

from .asked import request_cycles
from .coming import Coming, Late, leave_behind, waits_for
from .traffic import DRAM, MemoryChannel, Outside, device_of
from .updates import update_cycles

SEQUENTIAL = 0.92
"""Part of its peak that a channel with banks, rows and refresh moves of lines in order (docs/memory.md)."""
BOTH_WAYS = 0.90
"""The same where reads and writes of one loop take turns on it."""
ASKING = 2
"""Cycles of the design from the answer that a request waits for at the switch until that is under way."""
STARTING = 17
"""Cycles from start to interrupt in which neither the core nor a channel works."""


@dataclass(frozen=True, slots=True)
class Passing:
    """One array in one direction.

    Attributes:
        array: its name; ``way`` is ``"read"`` or ``"written"``.
        loop: where its words pass, "" for a copy of the whole array.
        moved: bytes of the words of the bus that pass.
        needed: bytes of the elements that are used, each once.
        rate: bytes a cycle that bus and channel can move.
        core: cycles that the loop takes by itself, in the whole run; 0 for a copy.
        apart: bytes a cycle that the channel can move, however narrow the bus; 0 where there is none.
    """

    array: str
    way: str
    loop: str
    moved: int
    needed: int
    rate: float
    core: int
    apart: float = 0.0

    @property
    def cycles(self) -> float:
        """Cycles for which bus and channel are busy."""
        return self.moved / self.rate

    @property
    def bound(self) -> str:
        """``"compute"`` or ``"memory"``: what takes longer."""
        return "memory" if self.cycles > self.core else "compute"


@dataclass(frozen=True, slots=True)
class Foretold:
    """A run that is foretold.

    Attributes:
        cycles: of the run, from start to interrupt.
        core: those of the core, where nothing waits.
        passing: every array that passes, by direction.
        busy: cycles for which the busiest channel, or bus in one direction, moves data.
        between: where data decide which elements are read and stored again, the cycles of runs whose data
            say another element each time, and the same one; ``cycles`` are those of elements drawn at
            random. None elsewhere.
    """

    cycles: int
    core: int
    passing: tuple[Passing, ...]
    busy: float
    between: tuple[int, int] | None = None

    @property
    def bound(self) -> str:
        """What bounds the run: ``"memory"`` where a channel is busy for longer than the core takes."""
        return "memory" if self.busy > self.core else "compute"

    def __str__(self) -> str:
        """A table of the arrays, and a sentence."""
        head = (
            f"{'array':<10} {'':<8} {'loop':<16} {'moved':>14} {'needed':>14} {'share':>7}  bound"
        )
        rows = [
            f"{p.array:<10} {p.way:<8} {p.loop or 'copy':<16} {p.moved:>14,} {p.needed:>14,} "
            f"{p.cycles / max(1, self.cycles):>7.1%}  {p.bound}"
            for p in self.passing
        ]
        told = f"{self.cycles:,} cycles, {self.core:,} of the core alone; bound by {self.bound}"
        if self.between:
            least, most = self.between
            told += (
                f"; data decide, from {least:,} (no element twice) to {most:,} (always the same)"
            )
        return "\n".join([head, *rows, told])


def foretell(
    design: HardwareDesign, outside: Outside, place: SourcePlace | None = None
) -> Foretold:
    """What is foretold of a run.

    Args:
        place: of the kernel, for errors.

    Raises:
        PredictionError: there are no AXI4 masters, or data decide how long the core takes.
    """
    name, board = design.report.top, board_of(design, place)
    told = _told(design, outside, "random")
    if told is None:
        raise PredictionError(
            f"No cycles of {name} are foretold: data decide {_undecided(design)}.",
            place,
            help="run it: mod.cycles are those of the last call.",
        )
    if not any(map(is_updated, board.arrays)):
        return told
    least, most = _told(design, outside, "apart"), _told(design, outside, "same")
    if least is None or most is None:
        return told
    return replace(told, between=(min(least.cycles, told.cycles), max(most.cycles, told.cycles)))


def board_of(design: HardwareDesign, place: SourcePlace | None = None) -> Board:
    """What a design with AXI4 masters has around it.

    Raises:
        PredictionError: it has no such masters.
    """
    if design.board is not None and design.board.masters:
        return design.board
    raise PredictionError(
        f"Nothing of {design.report.top} is foretold from memory to memory: it has no AXI4 masters.",
        place,
        help='build it with configs={"interface": "m_axi"}, or s.place its arrays in channels; without '
        "masters, report.cycles and mod.predict() say the cycles.",
    )


def _undecided(design: HardwareDesign) -> str:
    """What data decide of a run, in words."""
    for function in design.report.functions:
        for loop, _ in function.innermost():
            if loop.trips is None:
                return f"how often loop {loop.name} of {function.name} runs"
    return "how long its core takes"


def _told(design: HardwareDesign, outside: Outside, data: str) -> Foretold | None:
    """What is foretold where elements that data decide are ``"random"``, ``"apart"`` or the ``"same"``."""
    board, report = design.board, design.report
    core = report.cycles if report.cycles is not None else report.about
    if board is None or not board.masters or core is None:
        return None
    masters = {master.bundle: master for master in board.masters}
    passing: list[Passing] = []
    early: list[tuple[Buffered, Coming]] = []
    leaving: dict[str, list[tuple[str, float]]] = defaultdict(list)
    loops: dict[str, dict[str, list[Passing]]] = defaultdict(lambda: defaultdict(list))
    copies: dict[tuple[str, str], float] = {}
    for array in board.arrays:
        master, route = masters[array.bundles[0]], outside.memory.get(array.name, ())
        rate = rate_of(master, route, len(array.bundles))
        for way, runs, stream in _ways(array):
            if array.is_asked:
                found = _asks(design, array, way, master, route, data)
                if found is None:
                    return None
                one, function = found
                loops[function][one.loop].append(one)
            elif runs is None:
                layout = folded(_layout(design, array), array.fold)
                width = len(array.bundles) * master.width
                lanes = copy_lanes(layout, max(1, width // array.cell), uneven=array.uneven)
                one = Passing(array.name, way, "", array.bytes, array.bytes, rate, 0)
                took = max(one.cycles, array.count / lanes)
                if array.early and way == WAYS[0]:
                    early.append((array, _coming(design, array, lanes, took, _under_way(route))))
                elif array.leaves and way == WAYS[1]:
                    leaving[master.bundle].append((array.name, took))
                else:
                    copies[master.bundle, way] = copies.get((master.bundle, way), 0) + took
            else:
                one, function = _passes(design, array, (way, runs, stream), master, rate)
                one = replace(one, apart=channel_rate(route))
                loops[function][one.loop].append(one)
            passing.append(one)
    # Loops of a function run one after the other; what passes in one of them shares its channels.
    waits = {
        name: sum(_wait(some, outside) for some in mine.values()) for name, mine in loops.items()
    }
    told = core + max(waits.values(), default=0)
    beside = {array.name for array in board.arrays if array.beside is not None}
    told = max(told, busiest([each for each in passing if each.array in beside], outside))
    read, written = (
        max((c for (_, w), c in copies.items() if w == way), default=0) for way in WAYS
    )
    first = _latency(board, outside, WAYS[0])
    begins, late = read + first, Late(0, 0)
    if early:
        begins = read + (first if read else 0)
        late = waits_for(list(_in_turn(early, copies)), begins)
        passes = any(array.loaded and array.beside is not None for array in board.arrays)
        late = replace(late, waits=max(late.waits, first if passes else 0))
    told = max(told + begins + late.waits, late.whole)
    left = told + written
    for some in leaving.values():
        there = max(begins, late.whole)
        for name, took in some:
            ends = design.times.ends.get(name)
            if ends is not None:
                there = leave_behind(ends, took, there, (begins + late.waits, told))
        left = max(left, there)
    told = left + STARTING + _latency(board, outside, WAYS[1])
    return Foretold(round(told), core, tuple(passing), busiest(passing, outside))


WAYS = ("read", "written")


def _coming(
    design: HardwareDesign, array: Buffered, lanes: int, took: float, latency: int
) -> Coming:
    """An array that is copied in early, from the first cycle on."""
    inside = next(each for each in design.arrays if each.name == array.name)
    layout = folded(inside.layout, array.fold)
    due = deadlines(design.times.needs.get(array.name), layout, lanes)
    shares = bool(shared_ports(inside, layout.bank_depth, early=True))
    return Coming(0.0, took, latency, due, shares)


def _in_turn(
    early: Sequence[tuple[Buffered, Coming]], copies: Mapping[tuple[str, str], float]
) -> Iterator[Coming]:
    """Such arrays behind those that are copied whole first, and behind each other, on each master."""
    busy = {bundle: took for (bundle, way), took in copies.items() if way == WAYS[0]}
    for array, coming in early:
        bundle = array.bundles[0]
        yield replace(coming, begins=busy.get(bundle, 0.0))
        busy[bundle] = busy.get(bundle, 0.0) + coming.took


def _ways(array: Buffered) -> Iterator[tuple[str, Runs | None, str]]:
    beside = array.beside
    if array.loaded and not (beside and beside.request_stream and not beside.load_stream):
        yield WAYS[0], beside.loads if beside else None, beside.load_stream if beside else ""
    if array.stored and not (beside and beside.request_stream and not beside.store_stream):
        yield WAYS[1], beside.stores if beside else None, beside.store_stream if beside else ""


def _wait(passing: Sequence[Passing], outside: Outside) -> float:
    """Cycles that a loop takes longer than by itself, for all that passes in it."""
    return max(0.0, busiest(passing, outside) - max(each.core for each in passing))


def rate_of(master: Master, route: Sequence[MemoryChannel], masters: int) -> float:
    """Bytes a cycle between an array's masters, which are alike, and its channels.

    A master that reaches several channels across a switch waits for a line before it asks for one of
    another, unless its answers come in any order.
    """
    bus = masters * master.width / 8
    if not route:
        return bus
    channel = route[0]
    switch = device_of(channel).switch if channel.timing == DRAM else None
    if switch is None or len(route) <= masters:
        return min(bus, channel_rate(route))
    mhz = channel.clock_mhz or 1.0
    port = device_of(channel).burst_bytes * switch.mhz / mhz
    if not master.ids:
        there = (device_of(channel).hit_ns + switch.enter * 1e3 / switch.mhz) * mhz / 1e3
        port = channel.line_bytes / (there + ASKING)
    return min(bus, masters * port, channel_rate(route))


def channel_rate(route: Sequence[MemoryChannel]) -> float:
    """Bytes a cycle of channels side by side, for lines in order; 0 for none."""
    return sum(c.bytes_per_cycle * (SEQUENTIAL if c.timing == DRAM else 1) for c in route)


def _layout(design: HardwareDesign, array: Buffered) -> ArrayLayout:
    return next(each.layout for each in design.arrays if each.name == array.name)


def _passes(
    design: HardwareDesign,
    array: Buffered,
    walk: tuple[str, Runs, str],
    master: Master,
    rate: float,
) -> tuple[Passing, str]:
    """An array that passes beside the core, and the function whose loop takes its words."""
    way, runs, stream = walk
    line = max(1, master.width // array.cell)
    moved = runs.words_of(line) * master.width // 8
    needed = min(runs.elements, array.count) * array.cell // 8
    words = runs.elements // runs.word
    for function in design.report.functions:
        for loop, entries in function.innermost():
            if stream in loop.streams:
                once = entries * (loop.trips or 1)
                core = (loop.cycles or 0) * entries * max(1, -(-words // max(1, once)))
                return Passing(array.name, way, loop.name, moved, needed, rate, core), function.name
    return Passing(array.name, way, stream, moved, needed, rate, words), ""


def _asks(
    design: HardwareDesign,
    array: Buffered,
    way: str,
    master: Master,
    route: Sequence[MemoryChannel],
    data: str,
) -> tuple[Passing, str] | None:
    """Elements that data decide, as if they lay at random; None where data decide how many there are."""
    streams = array.beside.streams if array.beside else set()
    for function in design.report.functions:
        for loop, entries in function.innermost():
            if streams & set(loop.streams):
                if loop.trips is None:
                    return None
                asked = entries * loop.trips
                moved = asked * array.cell // 8
                needed = min(asked, array.count) * array.cell // 8
                core = (loop.cycles or 0) * entries
                apart = 0.0
                if is_updated(array):
                    each = update_cycles(array, master, route, _depth(design, array), data)
                    apart = channel_rate(route)  # both directions are in ``each`` already
                else:
                    each = request_cycles(array, master, route, writes=way == WAYS[1])
                rate = array.cell / 8 / each
                one = Passing(array.name, way, loop.name, moved, needed, rate, core, apart)
                return one, function.name
    return None


def is_updated(array: Buffered) -> bool:
    """Whether elements that data decide are read, and stored again."""
    return array.is_asked and len(list(_ways(array))) > 1


def _depth(design: HardwareDesign, array: Buffered) -> int:
    """Stages of the loop that gets an array's elements and puts what it makes of them."""
    streams = array.beside.streams if array.beside else set()
    loops = [loop for each in design.report.functions for loop, _ in each.innermost()]
    shared = [loop.depth or 1 for loop in loops if len(streams & set(loop.streams)) > 1]
    return max(shared, default=1)


def busiest(passing: Iterable[Passing], outside: Outside) -> float:
    """Cycles for which the busiest channel, or bus in one direction, moves data."""
    busy: dict[str, float] = defaultdict(float)
    ways: dict[tuple[MemoryChannel, str], dict[str, float]] = defaultdict(dict)
    for each in passing:
        busy[f"{each.array} {each.way}"] += each.cycles
        for channel in outside.memory.get(each.array, ()):
            mine = ways[channel, each.loop]
            mine[each.way] = mine.get(each.way, 0) + each.moved / (each.apart or each.rate)
    for (channel, loop), mine in ways.items():
        turns = loop and channel.timing == DRAM and len(mine) > 1
        busy[channel.name] += sum(mine.values()) * (SEQUENTIAL / BOTH_WAYS if turns else 1)
    return max(busy.values(), default=0.0)


def _latency(board: Board, outside: Outside, way: str) -> int:
    """Cycles that the first line that is read, or the last one that is written, is under way."""
    names = [a.name for a in board.arrays if (a.loaded if way == WAYS[0] else a.stored)]
    return max((_under_way(outside.memory.get(n, ())) for n in names), default=0)


def _under_way(route: Sequence[MemoryChannel]) -> int:
    """Cycles from a request to its line."""
    return max((c.latency for c in route), default=0)


__all__ = ["Foretold", "Passing", "busiest", "channel_rate", "foretell", "rate_of"]
