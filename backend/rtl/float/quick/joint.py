"""One unit for several float operations of which each waits for the one before.

Registers then part all their logic as a whole, and no operation rounds its own up to whole cycles. Every
operation keeps its rounding, so that the bits are those of the operations one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.backend.rtl.operators.netlist import Signal

from ..constants.power import multiply_by_power
from ..constants.reciprocal import constant_of
from ..formats import FloatFormat
from .paths import add_by_paths, subtract_by_paths

type Tree = int | Sum | Scaled
"""What a unit computes of its operands, which are numbers."""


@dataclass(frozen=True, slots=True)
class Sum:
    """``left + right``, or ``left - right`` where ``minus``."""

    left: Tree
    right: Tree
    minus: bool = False


@dataclass(frozen=True, slots=True)
class Scaled:
    """``value * by``, a power of two that :func:`~..constants.power.is_small_power` takes, by its bits."""

    value: Tree
    by: int


def draw(tree: Tree, operands: Sequence[Signal], kind: FloatFormat, *, flat: bool) -> Signal:
    """The value of a tree; ``flat`` as for :func:`.paths.add_by_paths`."""
    if isinstance(tree, int):
        return operands[tree]
    if isinstance(tree, Scaled):
        by = constant_of(tree.by, kind)
        assert by is not None
        value = draw(tree.value, operands, kind, flat=flat)
        return multiply_by_power(value, by, kind, canonical=False)
    left, right = (draw(side, operands, kind, flat=flat) for side in (tree.left, tree.right))
    sum_ = subtract_by_paths if tree.minus else add_by_paths
    return sum_(left, right, kind, flat=flat, rounds=not flat)


def spelled(tree: Tree) -> str:
    """A tree in one word: each operation before what it takes."""
    if isinstance(tree, int):
        return "abcdefgh"[tree]
    if isinstance(tree, Scaled):
        return f"by0x{tree.by:x}_{spelled(tree.value)}"
    return f"{'sub' if tree.minus else 'add'}_{spelled(tree.left)}_{spelled(tree.right)}"
