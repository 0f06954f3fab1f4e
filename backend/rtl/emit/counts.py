"""The count of a stream's words or places, which changes by several conditions in one cycle."""

from __future__ import annotations

from collections.abc import Callable

from .builder import ModuleBuilder
from .channels import Channel

_CHOICES = 3
"""Changes in one cycle that choose between sums; further ones are added up."""


def keep_count(text: ModuleBuilder, channel: Channel, returned: list[str], bits: int) -> None:
    """The counter of places kept (puts) or words promised (gets) of issued iterations.

    Whether places are free is known by registers of their own, so no comparison stands before an issue.

    Args:
        returned: conditions under which one fewer is kept.
        bits: of the counter.
    """
    changes = [*((condition, -1) for condition in returned), *channel.taken]
    for words, short in channel.short.items():
        above = _is_above(text, channel.reserved, changes, bits, channel.buffer - words)
        text.register(short, above, 1, reset=0, free=True)
    total = _changed_count(text, channel.reserved, changes, bits)
    text.register(channel.reserved, total, bits, reset=0, free=True)


def given_back(text: ModuleBuilder, channel: Channel, taken: str, *, late: bool) -> str:
    """When a place that a put has kept is free again: its word is ``taken``, by a FIFO that may be far away.

    Args:
        late: whether a register says so, a cycle later; the buffer then has a place more.
    """
    if not late:
        return taken
    return text.register(text.named(f"{channel.prefix}_given_back"), taken, 1, reset=0, free=True)


def _changed_count(
    text: ModuleBuilder, count: str, changes: list[tuple[str, int]], bits: int
) -> str:
    """``count`` and the changes whose conditions hold, modulo ``2 ** bits``.

    Conditions are known late in a cycle, later than the count: they choose between sums of it.
    """
    total = _chosen(text, changes[:_CHOICES], lambda step: _sum(text, count, step, bits), bits)
    for condition, change in changes[_CHOICES:]:
        amount = text.mux(condition, text.const(change, bits), text.const(0, bits), bits)
        total = text.binary("add", total, amount, bits)
    return total


def _is_above(
    text: ModuleBuilder, count: str, changes: list[tuple[str, int]], bits: int, most: int
) -> str:
    """Whether :func:`_changed_count` is more than ``most``; its conditions choose between comparisons."""
    limit = text.const(most, bits)
    if len(changes) > _CHOICES:
        return text.compare("ugt", _changed_count(text, count, changes, bits), limit, bits)
    return _chosen(
        text,
        changes,
        lambda step: text.compare("ugt", _sum(text, count, step, bits), limit, bits),
        1,
    )


def _sum(text: ModuleBuilder, count: str, step: int, bits: int) -> str:
    if not step:
        return count
    return text.binary("add" if step > 0 else "sub", count, text.const(abs(step), bits), bits)


def _chosen(
    text: ModuleBuilder, changes: list[tuple[str, int]], leaf: Callable[[int], str], bits: int
) -> str:
    """The leaf of the sum of the changes whose conditions hold."""
    leaves: dict[int, str] = {}

    def choose(conditions: list[tuple[str, int]], step: int) -> str:
        if not conditions:
            if step not in leaves:
                leaves[step] = leaf(step)
            return leaves[step]
        (condition, change), *rest = conditions
        return text.mux(condition, choose(rest, step + change), choose(rest, step), bits)

    return choose(changes, 0)
