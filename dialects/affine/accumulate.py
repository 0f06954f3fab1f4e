"""Accumulations: ``x = x op y`` on one element, whose order may be relaxed when ``op`` allows.

An integer sum modulo 2**n gives the same bits in any order; a floating-point sum does not.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .._mlir import ir
from .associative import EXTREMES, MODULAR, ROUNDED
from .maps import bound_map


class Order(enum.Enum):
    """Whether the order of an accumulation can be seen in its result."""

    FREE = "free"
    ROUNDED = "rounded"


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One ``x = x op y``: the load and the store of ``x`` and what the order does."""

    load: ir.Operation
    store: ir.Operation
    order: Order


_LEFT_ONLY = {"arith.subi": Order.FREE, "arith.subf": Order.ROUNDED}
_WIDEN = ("arith.extsi", "arith.extui")


def accumulation_of(store: ir.Operation) -> Accumulation | None:
    """The accumulation an ``affine.store`` ends, or None when it ends none."""
    value = store.operands[0]
    narrowed = widened = False
    op = _single_use_owner(value)
    if op is not None and op.name == "arith.trunci":
        narrowed = True
        op = _single_use_owner(op.operands[0])
    if op is None or len(op.operands) != 2:
        return None
    for position, operand in enumerate(op.operands):
        load = _single_use_owner(operand)
        if load is not None and load.name in _WIDEN:
            widened = True
            load = _single_use_owner(load.operands[0])
        if load is None or load.name != "affine.load" or not _same_element(load, store):
            widened = False
            continue
        order = _order(op.name, position, narrowed or widened)
        return None if order is None else Accumulation(load, store, order)
    return None


def _order(name: str, position: int, casts: bool) -> Order | None:
    if name in MODULAR:
        return Order.FREE
    if name in EXTREMES and not casts:
        return Order.FREE
    if name in ROUNDED and not casts:
        return Order.ROUNDED
    return _LEFT_ONLY.get(name) if position == 0 else None


def _single_use_owner(value: ir.Value) -> ir.Operation | None:
    if isinstance(value, ir.BlockArgument):
        return None
    if sum(1 for _ in value.uses) != 1:
        return None
    return value.owner.operation


def _same_element(load: ir.Operation, store: ir.Operation) -> bool:
    if load.operands[0] != store.operands[1]:
        return False
    a, b = bound_map(load), bound_map(store)
    return a.map == b.map and a.operands == b.operands
