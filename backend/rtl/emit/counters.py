"""Counters of loops: their values, and when a nest is at its last iteration."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects.core.integers import as_signed

from ..graph.regions import Level
from ..graph.spans import value_range
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
        self, levels: list[Level], go: str, advance: str, stop: str = "", *, later: bool = False
    ) -> tuple[str, str, str]:
        """A nest with a bound known at run time: (enter, skipped, "last iteration").

        ``later`` says that no iteration ends in the cycle of ``go``.
        """
        text = self._text
        carry, finals, some = advance, [], []
        inside = {level.iv.number for level in levels}
        for level in levels:
            if level.trips is not None and level.trips > 1:
                self._name(level)
            elif level.trips == 1:
                self._c.stable[level.iv.number] = text.const(0, level.iv.width)
        for level in reversed(levels):
            if level.trips is not None:
                end = self._counter(level, carry, stop)
            else:
                end, runs = self._range_counter(level, go, carry, later, inside)
                some.append(runs)
            if end:
                carry = text.all_of(carry, end)
                finals.append(end)
        runs = text.all_of(*some)
        return text.all_of(go, runs), text.all_of(go, text.invert(runs)), text.all_of(*finals)

    def _range_counter(
        self, level: Level, go: str, carry: str, later: bool, inside: set[int]
    ) -> tuple[str, str]:
        """A loop of bounds known at run time: ("at its last value", "runs at all")."""
        text, context = self._text, self._c
        assert level.lower is not None and level.upper is not None
        lower, upper = context.stable_value(level.lower), context.stable_value(level.upper)
        width = level.lower.width
        held = text.named(f"{level.name}_held")
        current = text.named(level.name)
        text.alias(current, text.mux(go, lower, held, width), width)
        context.debug[held[1:]] = f"loop {level.name} ({level.place})"
        further = text.binary("add", current, self._steps(level, 1, width), width, level.place)
        if _moves(level, inside):
            end = self._reaches(level, current, upper)
        else:
            end = self._last_of_range(level, go, carry, (lower, upper), later)
        following = text.mux(end, lower, further, width)
        self._step(level, go, carry, (held, current, following), width)
        context.stable[level.iv.number] = current
        if level.counts:
            context.stable[level.iv.number] = self._iteration(level, go, carry, end)
        runs = [] if _least(level) > 0 else [text.compare("slt", lower, upper, width)]
        if level.stride is not None and value_range(level.stride)[0] <= 0:
            runs.append(
                text.compare("sgt", self._steps(level, 1, width), text.const(0, width), width)
            )
        return end, text.all_of(*runs)

    def _steps(self, level: Level, count: int, width: int) -> str:
        """One step, or two, of a range known at run time."""
        text = self._text
        if level.stride is None:
            return text.const(count * level.step, width)
        by = text.extend(self._c.stable_value(level.stride), level.stride.width, width, signed=True)
        return by if count == 1 else text.binary("shl", by, text.const(count - 1, width), width)

    def _reaches(self, level: Level, current: str, upper: str) -> str:
        """Whether a range is at its last value, by its bound, which another counter of the nest moves."""
        text = self._text
        assert level.lower is not None
        width = level.lower.width
        value, limit = (text.extend(x, width, width + 1, signed=True) for x in (current, upper))
        step = self._steps(level, 1, width + 1)
        return text.compare(
            "sge", text.binary("add", value, step, width + 1, level.place), limit, width + 1
        )

    def _last_of_range(
        self, level: Level, go: str, carry: str, bounds: tuple[str, str], later: bool
    ) -> str:
        """Whether a range is at its last value: a register, set an iteration ahead.

        What is left of the range is counted down beside the iterator, so that no sum is compared with a
        bound in the cycle in which the iteration starts.
        """
        text, alone = self._text, level.step == 1 and level.stride is None
        assert level.lower is not None
        width = level.lower.width + 1
        lower, upper = (text.extend(x, width - 1, width, signed=True) for x in bounds)
        all_of_it = text.binary("sub", upper, lower, width, level.place)

        def within(value: str, steps: int) -> str:
            # a value that is compared is at least so many steps, so with steps of one it is equal
            how = "eq" if alone else "sle"
            return text.compare(how, value, self._steps(level, steps, width), width)

        left_held, last_held = text.named(f"{level.name}_left"), text.named(f"{level.name}_last")
        left = text.mux(go, all_of_it, left_held, width)
        longer = level.stride is None and _least(level) > level.step
        at_once = text.const(0, 1) if longer else within(all_of_it, 1)
        current = text.mux(go, at_once, last_held, 1)
        end = last_held if later else current
        less = text.binary("sub", left, self._steps(level, 1, width), width)
        following = text.mux(end, all_of_it, less, width)
        last = text.mux(end, at_once, within(left, 2), 1)
        self._step(level, go, carry, (left_held, left, following), width)
        self._step(level, go, carry, (last_held, current, last), 1)
        return end

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


def _moves(level: Level, counters: set[int]) -> bool:
    """Whether a bound of a range depends on one of these counters."""
    seen: set[int] = set()
    stack = level.bounds
    while stack:
        node = stack.pop()
        if node.number in counters:
            return True
        if node.number not in seen:
            seen.add(node.number)
            stack += node.operands
            stack += [term for term, _ in node.data.terms] if node.kind == "lin" else []
    return False


def _least(level: Level) -> int:
    """The least that a range known at run time may span; 0 where nothing is known."""
    lower, upper = level.lower, level.upper
    if lower is None or upper is None or lower.kind != "const":
        return 0
    return value_range(upper)[0] - as_signed(lower.data, lower.width)
