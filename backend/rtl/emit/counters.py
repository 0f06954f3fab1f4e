"""Counters of loops: their values, and when a nest is at its last iteration."""

from __future__ import annotations

from collections.abc import Callable

from ..graph.regions import Level
from .context import Context


class Counters:
    """Emits the counters of one function; ``register`` makes a register of its control."""

    def __init__(self, context: Context, register: Callable[..., str]) -> None:
        self._c = context
        self._text = context.text
        self._register = register

    def nest(self, levels: list[Level], advance: str, stop: str = "") -> str:
        """Counters of a nest with constant bounds; returns "this is the last iteration".

        ``stop`` starts them anew.
        """
        return self.nest_of_runs(levels, 0, advance, stop)[0]

    def nest_of_runs(
        self, levels: list[Level], outer: int, advance: str, stop: str = ""
    ) -> tuple[str, str]:
        """The same, and "this is the last iteration of a run of the levels from ``outer`` on"."""
        carry, finals, turn = advance, [], ""
        for position, level in reversed(list(enumerate(levels))):
            end = self._counter(level, carry, stop)
            if end:
                carry = self._text.all_of(carry, end)
                finals.append(end)
            if position == outer:
                turn = self._text.all_of(*finals)
        return self._text.all_of(*finals), turn

    def _counter(self, level: Level, carry: str, stop: str) -> str:
        """A loop of constant trip count; returns "at its last value", or "" for a single trip."""
        text, context = self._text, self._c
        width, trips = level.iv.width, level.trips or 1
        if trips == 1:
            context.stable[level.iv.number] = text.const(0, width)
            return ""
        name = self._name(level)
        end = text.compare("eq", name, text.const(trips - 1, width), width)
        following = text.binary("add", name, text.const(1, width), width)
        if trips != 1 << width:
            following = text.mux(end, text.const(0, width), following, width)
        if stop:
            following = text.mux(stop, text.const(0, width), following, width)
            carry = text.any_of(carry, stop)
        self._register(name, following, width, enable=carry, reset=0, place=level.place)
        return end

    def _name(self, level: Level) -> str:
        """The counter's name, under which bounds of loops inside may ask for it before it is made."""
        context = self._c
        if level.iv.number not in context.stable:
            name = self._text.named(level.name)
            context.stable[level.iv.number] = name
            context.debug[name[1:]] = f"loop {level.name} ({level.place})"
        return context.stable[level.iv.number]

    def range_nest(
        self, levels: list[Level], go: str, advance: str, stop: str = ""
    ) -> tuple[str, str, str]:
        """A nest with a bound known at run time: (enter, skipped, "last iteration")."""
        text = self._text
        carry, finals, some = advance, [], []
        for level in levels:
            if level.trips is not None and level.trips > 1:
                self._name(level)
            elif level.trips == 1:
                self._c.stable[level.iv.number] = text.const(0, level.iv.width)
        for level in reversed(levels):
            if level.trips is not None:
                end = self._counter(level, carry, stop)
            else:
                end, runs = self._range_counter(level, go, carry)
                some.append(runs)
            if end:
                carry = text.all_of(carry, end)
                finals.append(end)
        runs = text.all_of(*some)
        return text.all_of(go, runs), text.all_of(go, text.invert(runs)), text.all_of(*finals)

    def _range_counter(self, level: Level, go: str, carry: str) -> tuple[str, str]:
        """A loop of bounds known at run time: ("at its last value", "runs at all")."""
        text, context = self._text, self._c
        assert level.lower is not None and level.upper is not None
        lower, upper = context.stable_value(level.lower), context.stable_value(level.upper)
        width = level.lower.width
        held = text.named(f"{level.name}_held")
        current = text.named(level.name)
        text.alias(current, text.mux(go, lower, held, width), width)
        context.debug[held[1:]] = f"loop {level.name} ({level.place})"
        wide = text.binary(
            "add",
            text.extend(current, width, width + 1, signed=True),
            text.const(level.step, width + 1),
            width + 1,
            level.place,
        )
        limit = text.extend(upper, width, width + 1, signed=True)
        end = text.compare("sge", wide, limit, width + 1)
        following = text.mux(end, lower, text.slice(wide, 0, width, width + 1), width)
        self._step(level, go, carry, (held, current, following), width)
        context.stable[level.iv.number] = current
        if level.counts:
            context.stable[level.iv.number] = self._iteration(level, go, carry, end)
        return end, text.compare("slt", lower, upper, width)

    def _iteration(self, level: Level, go: str, carry: str, end: str) -> str:
        """The number of the iteration, beside the iterator."""
        text, width = self._text, level.iv.width
        held, current = text.named(f"{level.name}_number"), text.named(f"{level.name}_n")
        zero = text.const(0, width)
        self._text.alias(current, text.mux(go, zero, held, width), width)
        following = text.mux(
            end, zero, text.binary("add", current, text.const(1, width), width), width
        )
        self._step(level, go, carry, (held, current, following), width)
        return current

    def _step(
        self, level: Level, go: str, carry: str, names: tuple[str, str, str], width: int
    ) -> None:
        """The register (held, current, following) of a counter that starts with ``go``."""
        text, (held, current, following) = self._text, names
        value = text.mux(carry, following, current, width)
        enable = text.any_of(carry, go)
        self._register(held, value, width, enable=enable, place=level.place)
