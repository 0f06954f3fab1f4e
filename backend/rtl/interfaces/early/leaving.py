"""Lets elements leave while a core runs, once it has written them for the last time.

The compiler knows in which cycle of the core each element is last written, where nothing but arrays that
come in can make the core wait. A copy goes in order: so by the cycles of the core that are over, so many
of its steps may be made, which is a table. The elements leave through a port of the RAM of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from allo.dialects.core.partition import ArrayLayout

from ...design import ArrayInterface, Times
from ...emit.builder import ModuleBuilder
from ...emit.memory.rom import RomBank
from ...graph.linear import bits_unsigned
from ..board import Buffered
from .gate import WORDS, steps_of_elements

PACE = 3
"""Cycles in which a table is read, compared and gone on with."""
AHEAD, PART = 8, 0.25
"""Where at least such a part of an array is written so many cycles before the last element, it may leave."""
SMALL = 64
"""Words of a bank of lookup tables, in which another port is no second block of RAM."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """An array that leaves.

    Attributes:
        left: whether a step of its copy is made in this cycle.
        may: the promised name of whether one may be.
        steps: of its copy.
        releases: see :func:`releases`.
    """

    name: str
    left: str
    may: str
    steps: int
    releases: Sequence[tuple[int, int]]


def with_leaving(
    arrays: tuple[Buffered, ...], inside: Mapping[str, ArrayInterface], times: Times
) -> tuple[Buffered, ...]:
    """The arrays, with those marked that leave while the core runs.

    All that are stored on the same masters do so, or none.

    Args:
        inside: the arrays as the core has them.
    """
    able = {each.name for each in arrays if _may_leave(each, inside[each.name], times)}
    others = {each.bundles for each in arrays if each.stored and each.name not in able}
    return tuple(
        replace(each, leaves=each.name in able and each.bundles not in others) for each in arrays
    )


def _may_leave(buffered: Buffered, array: ArrayInterface, times: Times) -> bool:
    """Whether much is written long before the end, and each bank has room for a port."""
    ends = times.ends.get(buffered.name)
    if not buffered.stored or buffered.beside is not None or ends is None:
        return False
    done = np.maximum.accumulate(ends)
    if np.count_nonzero(done < done[-1] - AHEAD) < PART * len(done):
        return False
    depth = array.layout.bank_depth
    for bank in range(array.layout.bank_count if depth > 1 else 0):
        ports = [port for port in array.ports if port.bank == bank]
        writes = sum(port.writes for port in ports)
        fills = buffered.loaded and len(ports) == 1 and not writes
        small = writes <= 1 and depth <= SMALL
        if len(ports) + fills > 1 and not small:
            return False
    return True


def releases(ends: np.ndarray, layout: ArrayLayout, lanes: int) -> list[tuple[int, int]]:
    """Cycles of the core, and how many steps of the copy may be made when each of them is over.

    Those of the last cycle are left out: what is left may go when the core is done.

    Args:
        ends: by element, the cycle in which it is last written.
        layout: of the RAM, ``lanes`` elements of a row in a step.
    """
    steps = steps_of_elements(layout, lanes)
    final = np.zeros(int(steps[-1]) + 1)
    np.maximum.at(final, steps, ends)
    done = np.maximum.accumulate(final)
    found: list[tuple[int, int]] = []
    for cycle in np.unique(done)[:-1].tolist():
        if not found or cycle >= found[-1][0] + PACE:
            found.append((int(cycle), int(np.searchsorted(done, cycle, side="right"))))
    return found[:: ceil(len(found) / WORDS)] if found else []


def emit_leaving(
    text: ModuleBuilder, each: Leaving, cycle: tuple[str, int], ended: str, over: str
) -> None:
    """Define whether a step of an array's copy may be made.

    Args:
        cycle: the counter of the core's cycles that are over, and its bits.
        ended: whether the core is done; ``over`` is the pulse behind the last part of a run.
    """
    now, bits = cycle
    wide = bits_unsigned(each.steps)

    def counts(name: str, following: str, step: str, width: int) -> None:
        """A register that goes on at a step, and is 0 in front of each run."""
        value = text.mux(over, text.const(0, width), following, width)
        text.register(name, value, width, enable=text.any_of(over, step), reset=0)

    if not each.releases:
        text.alias(each.may, ended, 1)
        return
    names = "gone", "freed", "release", "due"
    gone, freed, event, due = (text.named(f"{each.name}_{name}") for name in names)
    places = bits_unsigned(len(each.releases))
    never = (1 << bits) - 1
    words = [count << bits | after for after, count in each.releases]
    rom = RomBank(text, text.named(f"{each.name}_releases"), [*words, never], bits + wide, None)
    word = rom.read(event)
    after = text.register(
        text.named(f"{each.name}_after"), text.slice(word, 0, bits, bits + wide), bits, reset=never
    )
    upto = text.register(
        text.named(f"{each.name}_upto"), text.slice(word, bits, wide, bits + wide), wide
    )
    was = text.register(text.named(f"{each.name}_was_due"), due, 1, reset=0)
    passed = text.compare("ult", after, now, bits)
    text.register(due, text.all_of(passed, text.invert(text.any_of(due, was))), 1, reset=0)
    more = text.binary("add", event, text.const(1, places), places)
    counts(event, more, due, places)
    counts(freed, upto, due, wide)
    counts(gone, text.binary("add", gone, text.const(1, wide), wide), each.left, wide)
    text.alias(each.may, text.any_of(ended, text.compare("ne", gone, freed, wide)), 1)


__all__ = ["Leaving", "emit_leaving", "releases", "with_leaving"]
