"""Registers on the way round of a recurrence that hold what another one holds, and bits that are all one.

A register that its own data is computed from has a node before its data is known, so that nothing was there
to compare. Yosys finds such registers to be one (``opt_merge``), then what is computed from them, and the
registers behind that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..nodes import Node, Run, Value, cut, part_of, width_of

_CHOICES = 8
"""Choices in front of a register that are followed."""


def twins_of(registers: Iterable[tuple[str, Value, tuple[object, ...]]]) -> dict[str, str]:
    """The registers that others of different nodes stand for.

    Args:
        registers: the name, the value, and what decides what it holds. Those whose nodes came before their
            data are first.
    """
    first: dict[tuple[object, ...], tuple[str, Value]] = {}
    found: dict[str, str] = {}
    for name, held, decides in registers:
        known, value = first.setdefault(decides, (name, held))
        if value != held:
            found[name] = known
    return found


def own_size(nodes: Sequence[Node], held: Value, data: Value) -> int:
    """The bits of a register without those above that hold what the last of them holds.

    Each of these keeps its own value or takes the same as the others, by the same choices. Synthesis makes
    the choice of a register's own value its enable, and what is left is the same for all.
    """
    top = width_of(held) - 1
    last = _taken(nodes, cut(data, top, 1)[0], _bit(cut(held, top, 1)[0]))
    while top:
        below = _taken(nodes, cut(data, top - 1, 1)[0], _bit(cut(held, top - 1, 1)[0]))
        if below != last:
            break
        top -= 1
    return top + 1


def _taken(nodes: Sequence[Node], data: Run, own: tuple[int, int], depth: int = 0) -> object:
    """What a bit of a register takes: equal for those that take the same or keep what they have."""
    bit = _bit(data)
    if bit == own:
        return "own"
    node = nodes[data[0]] if data[0] >= 0 else None
    if node is None or node.detail != "mux" or depth == _CHOICES:
        return bit
    control, then, other = (part_of((*bit, 1), value[0]) for value in node.operands)
    return _bit(control), *(_taken(nodes, side, own, depth + 1) for side in (then, other))


def _bit(run: Run) -> tuple[int, int]:
    """The node and the place of a run of one bit."""
    return run[0], run[1] if run[0] < 0 or run[1] >= 0 else ~run[1]
