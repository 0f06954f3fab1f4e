"""Counts that change by several conditions in one cycle."""

from __future__ import annotations

from .text import ModuleText

_CHOICES = 3
"""Changes in one cycle that choose between sums; further ones are added up."""


def changed_count(text: ModuleText, count: str, changes: list[tuple[str, int]], bits: int) -> str:
    """``count`` and the changes whose conditions hold, modulo ``2 ** bits``.

    Conditions are known late in a cycle, later than the count: they choose between sums of it.
    """
    sums = {0: count}

    def sum_of(step: int) -> str:
        if step not in sums:
            kind = "add" if step > 0 else "sub"
            sums[step] = text.binary(kind, count, text.const(abs(step), bits), bits)
        return sums[step]

    def choose(conditions: list[tuple[str, int]], step: int) -> str:
        if not conditions:
            return sum_of(step)
        (condition, change), *rest = conditions
        return text.mux(condition, choose(rest, step + change), choose(rest, step), bits)

    total = choose(changes[:_CHOICES], 0)
    for condition, change in changes[_CHOICES:]:
        amount = text.mux(condition, text.const(change, bits), text.const(0, bits), bits)
        total = text.binary("add", total, amount, bits)
    return total
