"""Registers that move with the counters of loops, as lines of Python.

The hardware of the same registers is :mod:`...emit.addresses.stepped`.
"""

from __future__ import annotations

from collections.abc import Collection

from ...emit.addresses.stepped import carries
from ...graph.regions import Leaf, Level, Stepped
from .values import mask


def deciding(leaf: Leaf, needed: Collection[int]) -> list[Stepped]:
    """The registers of a leaf that decide, and the remainders that move these."""
    found = [stepped for stepped in leaf.stepped if stepped.node.number in needed]
    for stepped in found:
        if stepped.rest is not None and stepped.rest not in found:
            found.append(stepped.rest)
    return found


def starts(registers: Collection[Stepped]) -> str:
    """The line that gives registers their first values."""
    return "; ".join(f"v{r.node.number} = {r.start}" for r in registers)


def step(registers: Collection[Stepped], leaf: Leaf) -> str:
    """The line behind an iteration: all registers take their next values at once."""
    names = ", ".join(f"v{register.node.number}" for register in registers)
    return f"{names} = {', '.join(_following(register, leaf) for register in registers)}"


def _following(register: Stepped, leaf: Leaf) -> str:
    name = f"v{register.node.number}"
    growth = str(register.back)
    for level, more in zip(register.levels, register.adds, strict=True):
        growth = f"({_choice(register, level, more)} if {_moves(level)} else {growth})"
    following = f"({name} + {growth}) & {mask(register.node.width)}"
    numbers = [level.iv.number for level in leaf.chain]
    inside = leaf.chain[numbers.index(register.levels[-1].iv.number) + 1 :]
    if not inside:
        return following
    return f"{name} if {' or '.join(map(_moves, inside))} else {following}"


def _moves(level: Level) -> str:
    """Whether a level moves on when all levels inside of it end."""
    return f"v{level.iv.number} != {(level.trips or 1) - 1}"


def _choice(register: Stepped, level: Level, more: int) -> str:
    """What is added when a level moves on; another number where the remainder passes its divisor."""
    by = carries(register, level)
    if not by:
        return str(more)
    passed, other = register, more - register.divisor
    if not register.divisor:
        assert register.rest is not None
        passed, other = register.rest, more + register.factor
    return f"({other} if v{passed.node.number} >= {passed.divisor - by} else {more})"


__all__ = ["deciding", "starts", "step"]
