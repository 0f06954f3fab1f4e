"""Operations on floats: numbers that depend on the operation and its operands.

They keep the laws by which the compiler puts units together, and no other: a sum and a product do not ask
which operand is the first one, a difference is the sum with the negative, and a product takes the signs of
its operands. NaNs have signs here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allo.backend.rtl.float.quick.joint import Scaled, Tree
from allo.backend.rtl.operators.netlist import mask
from allo.backend.rtl.operators.spec import Operator

type Fn = Callable[..., int]

_SPREAD = sum(1 << 53 * k for k in range(40)) * 0x9E3779B97F4A7C15F39CC0605CEDC8341


def scattered(*parts: Any) -> int:
    """A number that depends on all parts, of more bits than anything is wide."""
    return (hash(parts) & mask(61)) * _SPREAD >> 11


def float_function(operator: Operator) -> Fn:
    """What an operator on floats computes."""
    op, types, result, given = operator.asked
    attributes, width = dict(given), operator.result_width
    tree = attributes.get("tree")
    if tree is not None:
        return lambda *values: _joint(tree, values, types[0], width)
    match op:
        case "arith.negf":
            return lambda a: a ^ 1 << width - 1
        case "arith.addf" | "arith.subf":
            minus = op == "arith.subf"
            return lambda a, b: _sum(a, b, result, width, minus=minus)
        case "arith.mulf":
            return lambda a, b: _product(a, b, result, width)
    number, top = (
        _number_of((op or operator.name, types, result, attributes.get("predicate"))),
        mask(width),
    )
    return lambda *values: scattered(number, *values) & top


def _joint(tree: Tree, values: tuple[int, ...], kind: str, width: int) -> int:
    """The value of a tree of sums and products."""
    if isinstance(tree, int):
        return values[tree]
    if isinstance(tree, Scaled):
        return _product(_joint(tree.value, values, kind, width), tree.by, kind, width)
    left, right = (_joint(side, values, kind, width) for side in (tree.left, tree.right))
    return _sum(left, right, kind, width, minus=tree.minus)


def _sum(a: int, b: int, kind: str, width: int, *, minus: bool = False) -> int:
    b ^= int(minus) << width - 1
    return scattered(_number_of(("arith.addf", kind)), min(a, b), max(a, b)) & mask(width)


def _product(a: int, b: int, kind: str, width: int) -> int:
    size = mask(width - 1)
    x, y = a & size, b & size
    number = scattered(_number_of(("arith.mulf", kind)), min(x, y), max(x, y))
    return number & size | (a ^ b) & ~size & mask(width)


def _number_of(parts: tuple[Any, ...]) -> int:
    """A number for some words, the same in every process."""
    return int.from_bytes(str(parts).encode()) % ((1 << 61) - 1)
