"""Products of three factors and more: what a loop does not change is multiplied first.

Of ``a[j] * alpha * b[i]`` in a loop over j, ``alpha * b[i]`` is the same in all iterations. Multiplied first,
it is one product for all of them where the loop is unrolled, and each iteration has one product less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .._mlir import ir
from ..affine.associative import Operand, combine, family_of, tree
from ..affine.loops import induction_variable, walk
from .chains import single_user

PRODUCTS = frozenset(("arith.mulf", "arith.muli"))


@dataclass(frozen=True, slots=True)
class _Product:
    """A product: its last operation, those behind it, each before those that it uses, and its factors."""

    root: ir.Operation
    inner: list[ir.Operation]
    fixed: list[ir.Value]
    moving: list[ir.Value]


def group_factors(operations: Iterable[ir.Operation], loop: ir.Operation) -> int:
    """Group the products that end in these operations by what a loop changes, and count the changed.

    Products in a loop inside that a wider cast joins stay apart: all factors are of one type.
    """
    changing = _changing(loop)
    taken: set[ir.Operation] = set()
    found: list[_Product] = []
    for op in reversed(list(operations)):
        if op in taken or op.name not in PRODUCTS:
            continue
        inner, factors = _opened(op)
        taken.update(inner)
        fixed = [value for value in factors if value not in changing]
        moving = [value for value in factors if value in changing]
        now = sum(each.results[0] in changing for each in (op, *inner))
        if len(fixed) > 1 and now > len(moving):
            found.append(_Product(op, inner, fixed, moving))
    for product in found:
        _rewrite(product)
    return len(found)


def _changing(loop: ir.Operation) -> set[ir.Value]:
    """What iterations of a loop have values of their own of: its counter, and all that is made of it."""
    found: set[ir.Value] = {induction_variable(loop)}
    for op in walk(loop):
        if any(value in found for value in op.operands):
            found.update(op.results)
            for region in op.regions:
                found.update(argument for block in region.blocks for argument in block.arguments)
    return found


def _opened(root: ir.Operation) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The operations of a product behind its last one, and its factors from left to right."""
    inner: list[ir.Operation] = []
    factors: list[ir.Value] = []
    for value in root.operands:
        maker = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        if (
            maker is None
            or family_of(maker.name) != root.name
            or maker.block != root.block
            or single_user(value) is None
        ):
            factors.append(value)
            continue
        below, own = _opened(maker)
        inner += [maker, *below]
        factors += own
    return inner, factors


def _rewrite(product: _Product) -> None:
    root = product.root
    location, ip = root.location, ir.InsertionPoint(root)
    first, rest = (
        tree(root.name, [Operand(value, False) for value in factors], location, ip).value
        for factors in (product.fixed, product.moving)
    )
    root.result.replace_all_uses_with(combine(root.name, first, rest, location, ip))
    for op in (root, *product.inner):
        op.erase()


__all__ = ["PRODUCTS", "group_factors"]
