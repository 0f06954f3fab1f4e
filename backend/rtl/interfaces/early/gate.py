"""Lets a core run as far as what has come in allows.

The compiler knows in which cycle of the core each element is first asked for. So for each number of steps
of a copy that have come there is a cycle of the core that must not begin yet: a table. The core has a
counter of its cycles, and stands still in front of that one. What says so is a register.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allo.dialects.core.partition import ArrayLayout

from ...emit.builder import ModuleBuilder
from ...emit.memory.rom import RomBank
from ...graph.linear import bits_unsigned
from ..walk import merged

WORDS = 256
"""Words of a table, at most; one of an array with more steps has one for several of them."""


def steps_of_elements(layout: ArrayLayout, lanes: int) -> np.ndarray:
    """The step of a copy in which each element passes, row-major."""
    dims = merged(layout)
    row = dims[-1].extent
    flat = np.arange(int(np.prod([dim.extent for dim in dims])))
    return flat // row * -(-row // lanes) + flat % row // lanes


def deadlines(needs: np.ndarray | None, layout: ArrayLayout, lanes: int) -> list[float]:
    """By the steps of a copy that have come, the first cycle of the core that needs one that has not.

    Args:
        needs: by element, the cycle in which it is first asked for; None where that is not known: then all of
            them are in the first one.
        layout: of the RAM that is filled, ``lanes`` elements of a row in a step.
    """
    steps = steps_of_elements(layout, lanes)
    wanted = np.full(int(steps[-1]) + 1, np.inf)
    np.minimum.at(wanted, steps, np.ones(len(steps)) if needs is None else needs)
    after = np.minimum.accumulate(wanted[::-1])[::-1]
    return [*after.tolist(), np.inf]


@dataclass(frozen=True, slots=True)
class Coming:
    """An array that comes in.

    Attributes:
        step: whether a step of its copy is written in this cycle.
        deadlines: see :func:`deadlines`.
    """

    name: str
    step: str
    deadlines: Sequence[float]


@dataclass(frozen=True, slots=True)
class Pulses:
    """The parts of a run.

    Attributes:
        begin: the pulse that starts the core; ``runs`` is high from then to its end.
        over: the pulse behind the last part of a run.
        moves: the promised name of whether the core goes on.
    """

    begin: str
    runs: str
    over: str
    moves: str


def emit_gate(
    text: ModuleBuilder, coming: Sequence[Coming], most: int, pulses: Pulses
) -> tuple[str, int]:
    """Define whether the core goes on, where arrays come in; the counter of its cycles, and its bits.

    Args:
        most: the last cycle that must be told from those behind it, beside those of ``coming``.
    """
    begin, runs, over, moves = pulses.begin, pulses.runs, pulses.over, pulses.moves
    last = int(max((d for c in coming for d in c.deadlines if d != np.inf), default=1))
    last = max(last, most)
    bits = bits_unsigned(last + 2)
    never = (1 << bits) - 1
    cycle = text.named("core_cycle")
    on = text.any_of(begin, text.all_of(runs, moves) if coming else runs)
    stays = text.compare("eq", cycle, text.const(last + 1, bits), bits)
    more = text.binary("add", cycle, text.const(1, bits), bits)
    more = text.mux(stays, cycle, more, bits)
    following = text.mux(on, more, cycle, bits)
    zero = text.const(0, bits)
    text.register(cycle, text.mux(over, zero, following, bits), bits, reset=0)
    if not coming:
        return cycle, bits
    # Whether the counter moves in this cycle is not waited for: the cycle behind it is compared.
    allowed = []
    for each in coming:
        before = _before(text, each, bits, never, over)
        allowed.append(text.compare("ult", more, before, bits))
    rests = text.invert(text.any_of(begin, runs))
    text.register(moves, text.any_of(rests, text.all_of(*allowed)), 1, reset=1)
    return cycle, bits


def _before(text: ModuleBuilder, each: Coming, bits: int, never: int, over: str) -> str:
    """The cycle of the core in front of which it stands still, for one array."""
    steps = len(each.deadlines) - 1
    shift = max(0, bits_unsigned(steps) - bits_unsigned(WORDS - 1))
    table = [never if d == np.inf else int(d) for d in each.deadlines]
    # So many steps have come at least where the lower bits of their number are not looked at.
    words = [*table[:: 1 << shift]]
    if steps % (1 << shift):
        words.append(never)
    wide = bits_unsigned(steps)
    come = text.named(f"{each.name}_come")
    more = text.binary("add", come, text.const(1, wide), wide)
    text.register(
        come,
        text.mux(over, text.const(0, wide), more, wide),
        wide,
        enable=text.any_of(over, each.step),
        reset=0,
    )
    rom = RomBank(text, text.named(f"{each.name}_deadlines"), words, bits, None)
    address = bits_unsigned(len(words) - 1)
    whole = text.compare("eq", come, text.const(steps, wide), wide)
    place = text.extend(
        text.slice(come, shift, wide - shift, wide), wide - shift, address, signed=False
    )
    found = text.mux(whole, text.const(never, bits), rom.read(place), bits)
    before = text.named(f"{each.name}_before")
    first = text.const(table[0], bits)
    return text.register(before, text.mux(over, first, found, bits), bits, reset=table[0])


__all__ = ["WORDS", "Coming", "Pulses", "deadlines", "emit_gate", "steps_of_elements"]
