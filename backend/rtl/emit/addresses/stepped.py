"""Registers that hold expressions of loop counters, and move when these do."""

from __future__ import annotations

from collections.abc import Callable

from ...graph.regions import Leaf, Level, Stepped
from ..context import Context


class SteppedRegisters:
    """Emits the registers of one function; ``register`` makes a register of its control."""

    def __init__(self, context: Context, register: Callable[..., str]) -> None:
        self._c = context
        self._text = context.text
        self._register = register

    def emit(self, stepped: Stepped, leaf: Leaf, advance: str, stop: str) -> None:
        """Emit one register, whose rest has been emitted before.

        Args:
            advance: high when the counters of the leaf move.
            stop: high when they start anew, "" where they never do.
        """
        text, node, width = self._text, stepped.node, stepped.node.width
        name = text.named(node.label)
        self._c.stable[node.number] = name
        self._c.debug[name[1:]] = f"{node.label} of loop {leaf.band} ({node.place})"
        ends = {level.iv.number: self._end(level) for level in leaf.chain}
        carry = text.all_of(advance, *(ends[n] for n in _inside(leaf, stepped)))
        following = text.binary("add", name, self._growth(stepped, ends), width, node.place)
        if stop:
            following = text.mux(stop, text.const(stepped.start, width), following, width)
            carry = text.any_of(carry, stop)
        self._register(name, following, width, enable=carry, reset=stepped.start, place=node.place)

    def _end(self, level: Level) -> str:
        """High in the last iteration of a level."""
        counter, width = level.iv, level.iv.width
        last = self._text.const((level.trips or 1) - 1, width)
        return self._text.compare("eq", self._c.stable[counter.number], last, width)

    def _growth(self, stepped: Stepped, ends: dict[int, str]) -> str:
        """What is added, by the outermost level that moves on."""
        text, width = self._text, stepped.node.width
        before: tuple[int, int] | None = None
        chosen, inner = "", list[str]()
        for level, more in reversed(list(zip(stepped.levels, stepped.adds, strict=True))):
            kind = more, carries(stepped, level)
            if kind != before:
                value = self._choice(stepped, *kind)
                chosen = text.mux(text.all_of(*inner), value, chosen, width) if chosen else value
            before = kind
            inner.append(ends[level.iv.number])
        back = (stepped.back, 0)
        if back != before:
            chosen = text.mux(text.all_of(*inner), text.const(stepped.back, width), chosen, width)
        return chosen

    def _choice(self, stepped: Stepped, more: int, by: int) -> str:
        """A constant; where the remainder grows by ``by`` beyond its divisor, another one."""
        text, width = self._text, stepped.node.width
        value = text.const(more, width)
        if not by:
            return value
        if stepped.divisor:
            passed, other = stepped, more - stepped.divisor
        else:
            assert stepped.rest is not None
            passed, other = stepped.rest, more + stepped.factor
        rest, bits = self._c.stable[passed.node.number], passed.node.width
        limit = text.const(passed.divisor - by, bits)
        over = text.compare("eq" if by == 1 else "uge", rest, limit, bits)
        return text.mux(over, text.const(other, width), value, width)


def carries(stepped: Stepped, level: Level) -> int:
    """How far a remainder grows when a level moves on, 0 where it does not pass its divisor."""
    if stepped.divisor:
        return stepped.adds[stepped.levels.index(level)]
    rest = stepped.rest
    return rest.adds[rest.levels.index(level)] if rest is not None and level in rest.levels else 0


def _inside(leaf: Leaf, stepped: Stepped) -> list[int]:
    """Counters of the levels inside those that move a register."""
    numbers = [level.iv.number for level in leaf.chain]
    return numbers[numbers.index(stepped.levels[-1].iv.number) + 1 :]
