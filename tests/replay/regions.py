"""A function run region by region: a few iterations of its loops, each body as written and as scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod

from allo.backend.rtl.graph.nodes import Body, Node
from allo.backend.rtl.graph.regions import (
    Block,
    Call,
    Function,
    If,
    Leaf,
    Level,
    Loop,
    Region,
    Seq,
    While,
)

from . import ReplayError, Unjudged
from .bodies import AsScheduled, AsWritten, Outcome, signed
from .memory import World
from .reading import Source, constants_of, step_of
from .sides import Counters, Side
from .values import Units

BUDGET = 40_000
"""Steps that a function may take."""
FEWEST, MOST, WINDOW = 4, 100, 6_000
"""Iterations of a pipeline, and steps that they may take beyond the fewest."""


class Replay:
    """One function, scheduled, beside its source."""

    def __init__(
        self, function: Function, static: Body, source: Source, units: Units, seed: int
    ) -> None:
        self._function, self._source, self._units = function, source, units
        self.world = World(function.arrays, source.small, seed)
        constants = dict(source.constants)
        constants_of(static.nodes, constants)
        self._written = Side(source.static, constants)
        self._scheduled = Side([step_of(n, units) for n in static.nodes], constants)
        self._left = BUDGET
        self._calls = 0
        self._runs: dict[int, tuple[AsWritten, AsScheduled]] = {}
        self.bodies, self.unjudged = 0, ""
        """How often bodies were run both ways, and why no more of them."""

    def run(self) -> None:
        """Run the function once.

        Raises:
            ReplayError: a body's schedule does something else than its source says.
        """
        for node in self._function.scalar_args:
            self._both(node, self.world.outside(node, 0))
        try:
            self._region(self._function.root)
        except Unjudged as why:
            self.unjudged = str(why)

    def _both(self, node: Node, value: int) -> None:
        for side in (self._written, self._scheduled):
            side.values[node.number] = value & (1 << node.width) - 1

    def _region(self, region: Region) -> None:
        if self._left <= 0:
            return
        match region:
            case Seq():
                for child in region.children:
                    self._region(child)
            case Block():
                self._body(region.body, None, [()])
            case Leaf():
                self._leaf(region)
            case Loop():
                for value in _some(self._range(region.level)):
                    self._both(region.level.iv, value)
                    self._region(region.child)
            case If():
                self._region(region.then if self._holds(region.condition) else region.other)
            case While():
                self._region(region.test)
                if self._holds(region.condition):
                    self._region(region.child)
                    self._region(region.test)
            case Call():
                self._calls += 1
                for array in region.arrays:
                    self.world.change(array)
                for node in region.results:
                    self._both(node, self.world.outside(node, self._calls))

    def _holds(self, node: Node) -> bool:
        constants: dict[int, int] = {node.number: node.data} if node.kind == "const" else {}
        for side in (self._written, self._scheduled):
            side.values.update(constants)
        scheduled = self._scheduled.value(node.number)
        if self._written.knows(node.number) and self._written.value(node.number) != scheduled:
            raise ReplayError(
                f"{self._function.name}: a condition is computed wrong ({node.place})"
            )
        return bool(scheduled)

    # --- loops --------------------------------------------------------------------

    def _bound(self, node: Node) -> int:
        if node.kind == "const":
            return signed(node, node.data)
        side = self._written if self._written.knows(node.number) else self._scheduled
        return signed(node, side.value(node.number))

    def _range(self, level: Level) -> range:
        """The values of a loop's counter."""
        if level.trips is not None:
            return range(level.trips)
        assert level.lower is not None and level.upper is not None
        found = range(self._bound(level.lower), self._bound(level.upper), level.step)
        return range(len(found)) if level.counts else found

    def _nest(self, levels: Sequence[Level]) -> Iterator[Counters]:
        """The counters of a nest, iteration by iteration."""
        if not levels:
            yield ()
            return
        iv = levels[0].iv
        top = (1 << iv.width) - 1
        for value in self._range(levels[0]):
            self._both(iv, value)
            for inner in self._nest(levels[1:]):
                yield ((iv.number, value & top), *inner)

    def _leaf(self, leaf: Leaf) -> None:
        body = leaf.body
        written, scheduled = self._pair(body, leaf)
        flying = -(-body.depth // body.ii)
        cost = written.cost + scheduled.cost
        length = max(FEWEST, min(flying + 2, MOST, WINDOW // max(1, cost)))
        if not leaf.levels:
            self._body(body, leaf, [()] * length)
            return
        wrap = prod(level.trips or 4 for level in leaf.levels[1:]) - length // 2
        for first in (0, wrap) if 0 < wrap < 2000 else (0,):
            if self._left > 0:
                counters = list(islice(self._nest(leaf.levels), first, first + length))
                self._body(body, leaf, counters)

    def _starts(self, leaf: Leaf | None, body: Body, counters: Sequence[Counters]) -> list[int]:
        """The cycles in which iterations start."""
        if leaf is None or not leaf.rewind or not leaf.gap:
            return [k * body.ii for k in range(len(counters))]
        found, cycle = [0], 0
        for before, now in zip(counters, counters[1:], strict=False):
            moves = before[: leaf.outer] != now[: leaf.outer]
            cycle += body.ii + (leaf.gap if moves else 0)
            found.append(cycle)
        return found

    def _pair(self, body: Body, leaf: Leaf | None) -> tuple[AsWritten, AsScheduled]:
        found = self._runs.get(body.number)
        if found is None:
            place = f"{self._function.name}, body {body.number}"
            if leaf is not None and leaf.place is not None:
                place = f"{place}, {leaf.place}"
            found = self._runs[body.number] = (
                AsWritten(self._written, self._source, self.world, body.number, place),
                AsScheduled(self._scheduled, self._units, self.world, body, leaf, place),
            )
            found[1].check_times()
        return found

    def _body(self, body: Body, leaf: Leaf | None, counters: Sequence[Counters]) -> None:
        if not counters:
            return
        written, scheduled = self._pair(body, leaf)
        self._left -= (written.cost + scheduled.cost) * len(counters)
        said = written.run(counters, leaves=leaf is not None and leaf.exit is not None)
        self.bodies += 1
        if leaf is not None and _is_left_out(leaf):
            scheduled.follow(self._written.values)
            self._keep(said)
            return
        memory, channels = scheduled.run(counters, self._starts(leaf, body, counters))
        for spot in said.memory.keys() | memory.keys():
            array = self._function.arrays[spot[0]]
            if said.memory[spot] != memory[spot] and array.private is None:
                raise ReplayError(
                    f"{written.place}: {array.name}, bank and word {spot[1:]}, is "
                    f"{said.memory[spot]:#x} by the source and {memory[spot]:#x} by the schedule"
                )
        if said.channels.puts != channels.puts:
            raise ReplayError(f"{written.place}: other words are put by the schedule")
        self._keep(said)

    def _keep(self, said: Outcome) -> None:
        """Go on with what a body leaves by its source."""
        self.world.update(said.memory)
        self.world.gets = said.channels.got


def _is_left_out(leaf: Leaf) -> bool:
    """Whether values drawn may break what the user asserts, or a quotient is a register with a carry."""
    asserted = any(level.asserted for level in leaf.levels)
    return asserted or any(stepped.rest is not None for stepped in leaf.stepped)


def _some(values: range) -> Iterator[int]:
    """The first two and the last."""
    yield from values[:2]
    if len(values) > 2:
        yield values[-1]
