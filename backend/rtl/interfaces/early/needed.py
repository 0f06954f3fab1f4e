"""When a core uses each element of an array that is copied while it runs: first, and last as it writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...compiled import CompiledModule
from ...design import Times
from ...graph.nodes import Access
from ...graph.regions import Block, Call, If, Leaf, Level, Loop, Region, Seq
from ...plan.cycles import decided, region_cycles, span, value_of
from ...regions.predict import Compiled

LIMIT = 1 << 20
"""Iterations that are followed; a design with more is not."""
FIRST = 1
"""Cycles from the start of a function to its first step."""

type Held = Mapping[int, str]
"""The arrays that are followed, by their numbers in a function."""


def times_of(compiled: Compiled, names: Collection[str]) -> Times:
    """The first cycle of the core in which each element may be asked for, and the last one of a write.

    It counts the cycles of a run in which nothing waits, so that no element is asked for earlier; infinite
    where it never is. None where that is not followed: data decide it, or the tasks of a loop run at the same
    time. The last writes are not known either where functions of the design run at the same time, as these
    may wait for each other.
    """
    if not names:
        return Times()
    top = compiled.modules[compiled.top]
    mine = [array for array in top.function.parameters if array.name in names]
    asks = _Asks(compiled)
    for array in mine:
        asks.needs[array.name] = np.full(array.shape, np.inf).reshape(-1)
        asks.ends[array.name] = np.zeros(array.shape).reshape(-1)
        asks.shapes[array.name] = array.shape
    try:
        asks.module(top, {array.number: array.name for array in mine}, 0)
    except _UnknownError:
        return Times(dict.fromkeys(names), dict.fromkeys(names))
    apart = all(module.graph is None for module in compiled.modules.values())
    return Times(dict(asks.needs), dict(asks.ends) if apart else dict.fromkeys(names))


class _UnknownError(Exception):
    """Data decide when or where an array is asked for."""


class _Asks:
    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self._left = LIMIT
        self.needs: dict[str, np.ndarray] = {}
        self.ends: dict[str, np.ndarray] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def module(self, made: CompiledModule, held: Held, start: int) -> None:
        """Follow a run of a function or a region."""
        if made.static is not None and any(node.access for node in made.static.nodes):
            raise _UnknownError
        if made.graph is None:
            _Run(self, made, held).region(made.function.root, start + FIRST, {})
            return
        if made.graph.turns is not None:
            raise _UnknownError
        for member in made.graph.members:
            inner = self.inside(member.module, held, member.arrays)
            if inner:
                self.module(self.compiled.modules[member.module], inner, start)

    def inside(self, module: str, held: Held, numbers: Sequence[int]) -> dict[int, str]:
        """The arrays that are followed as a callee has them."""
        parameters = self.compiled.modules[module].function.parameters
        pairs = zip(parameters, numbers, strict=True)
        return {own.number: held[number] for own, number in pairs if number in held}

    def spend(self, iterations: int) -> None:
        """Count iterations that are followed."""
        self._left -= iterations
        if self._left < 0:
            raise _UnknownError

    def estimate(self, module: str) -> int | None:
        """Cycles of a run of a module."""
        return self.compiled.modules[module].interface.estimate


class _Run:
    """One run of a function."""

    def __init__(self, asks: _Asks, made: CompiledModule, held: Held) -> None:
        self._asks, self._made, self._held = asks, made, held

    def region(self, region: Region, start: int, values: dict[int, Any]) -> int:
        """The cycle in which control goes on behind a region."""
        match region:
            case Seq():
                for position, child in enumerate(region.children):
                    start = self.region(child, start + region.waits.get(position, 0), values)
                return start
            case Block():
                self._accesses(region.body.nodes, start, values)
                return start + region.body.stay
            case Leaf():
                return self._leaf(region, start, values)
            case Loop():
                return self._loop(region, start, values)
            case If():
                holds = decided(region.condition, values)
                if holds is None:
                    raise _UnknownError
                branch = region.then if holds else region.other
                return self.region(branch, start, values) if branch.children else start + 1
            case Call():
                return self._call(region, start)
        raise _UnknownError

    def _loop(self, loop: Loop, start: int, values: dict[int, Any]) -> int:
        turns = span(loop.level, values)
        if turns is None or loop.guard is not None:
            raise _UnknownError
        if not turns:
            return start + 1
        for turn in turns:
            self._asks.spend(1)
            inner = {**values, loop.level.iv.number: turn}
            start = self.region(loop.child, start, inner) + loop.wait
        return start - loop.wait

    def _call(self, call: Call, start: int) -> int:
        module = self._made.callees[call.callee]
        inner = self._asks.inside(module, self._held, [array.number for array in call.arrays])
        if inner:
            self._asks.module(self._asks.compiled.modules[module], inner, start)
        took = self._asks.estimate(module)
        if took is None:
            raise _UnknownError
        return start + took + 1

    def _leaf(self, leaf: Leaf, start: int, values: dict[int, Any]) -> int:
        took = region_cycles(leaf, lambda _: None, values)
        if took is None:
            raise _UnknownError
        counters = _turns(leaf.levels, values)
        count = len(counters)
        self._asks.spend(count)
        if count:
            inner = {level.iv.number: counters[:, n] for n, level in enumerate(leaf.levels)}
            runs = np.zeros(count, int)
            if leaf.gap and leaf.outer:
                changed = (np.diff(counters[:, : leaf.outer], axis=0) != 0).any(axis=1)
                runs[1:] = np.cumsum(changed)
            issued = start + np.arange(count) * leaf.body.ii + runs * leaf.gap
            self._accesses(leaf.body.nodes, issued, {**values, **inner})
        return start + took

    def _accesses(self, nodes: Sequence[Any], start: Any, values: Mapping[int, Any]) -> None:
        for node in nodes:
            if node.access is not None and node.access.array.number in self._held:
                name = self._held[node.access.array.number]
                self._need(name, node.access, np.asarray(start) + node.time, values)

    def _need(self, name: str, access: Access, time: np.ndarray, values: Mapping[int, Any]) -> None:
        shape = self._asks.shapes[name]
        if access.by_bank:
            raise _UnknownError
        place: Any = 0
        inside: Any = True
        for subscript, extent in zip(access.index, shape, strict=True):
            at = value_of(subscript, values)  # type: ignore[arg-type]
            if at is None:
                raise _UnknownError
            inside = inside & (np.asarray(at) >= 0) & (np.asarray(at) < extent)
            place = place * extent + at
        place, time, inside = np.broadcast_arrays(place, time, inside)
        np.minimum.at(self._asks.needs[name], place[inside], time[inside])
        if access.data is not None:
            np.maximum.at(self._asks.ends[name], place[inside], time[inside])


def _turns(levels: Sequence[Level], values: Mapping[int, Any]) -> np.ndarray:
    """The counters of the iterations of nested loops, in their order, a row for each."""
    if not levels:
        return np.zeros((1, 0), int)
    turns = span(levels[0], dict(values))
    if turns is None:
        raise _UnknownError
    if all(level.trips is not None for level in levels):
        grid = np.indices([level.trips or 0 for level in levels]).reshape(len(levels), -1)
        return grid.T
    rows = [
        np.insert(_turns(levels[1:], {**values, levels[0].iv.number: turn}), 0, turn, axis=1)
        for turn in turns
    ]
    return np.concatenate(rows) if rows else np.zeros((0, len(levels)), int)


__all__ = ["times_of"]
