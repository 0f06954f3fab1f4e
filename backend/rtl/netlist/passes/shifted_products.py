"""Products by constants without the zeros at their end, which then stand below the product.

Yosys takes such zeros off before it looks for operands that are extended by their sign, and no longer sees
that one is: a product of 16 bits by 0x5AA took two multiplier blocks in place of one, on every family.
"""

from __future__ import annotations

from allo.backend.devices import DeviceRecord

from ..modules import Netlist
from ..operations import Concat, Constant, Extract, Gate, Operation, Replicate
from .rewriting import each_body

Known = dict[str, tuple[int, int]]
"""Constants of a module by name: the number, and its bits."""

_OF_CONSTANTS = (Constant, Extract, Replicate, Concat)


def shifted_products(netlist: Netlist, _: DeviceRecord) -> Netlist:
    """A design in which no product has a constant operand that ends in zeros."""
    return each_body(netlist, _is_product, _rewritten)


def _is_product(op: Operation) -> bool:
    return isinstance(op, Gate) and op.name == "comb.mul"


def _rewritten(body: list[Operation]) -> list[Operation]:
    made: list[Operation] = []
    known: Known = {}
    for op in body:
        if isinstance(op, Gate):
            if _is_product(op):
                made += _without_zeros(op, known)
                continue
        elif isinstance(op, _OF_CONSTANTS):
            _learn(op, known)
        made.append(op)
    return made


def _learn(op: Operation, known: Known) -> None:
    """Keep what an operation says of a constant, whole or in parts."""
    if isinstance(op, Constant):
        known[op.result] = op.value, op.width
    elif isinstance(op, Extract) and op.operands[0] in known:
        known[op.result] = (known[op.operands[0]][0] >> op.low) % (1 << op.width), op.width
    elif isinstance(op, Replicate) and op.operands[0] in known:
        repeated = sum(known[op.operands[0]][0] << low for low in range(0, op.width, op.of))
        known[op.result] = repeated, op.width
    elif isinstance(op, Concat) and all(part in known for part in op.operands):
        value = 0
        for part, width in zip(op.operands, op.widths, strict=True):
            value = value << width | known[part][0]
        known[op.result] = value, op.width


def _without_zeros(op: Operation, known: Known) -> list[Operation]:
    a, b = op.operands
    other, factor = (b, known[a][0]) if a in known else (a, known.get(b, (0, 0))[0])
    zeros = (factor & -factor).bit_length() - 1
    if zeros < 1 or factor.bit_count() == 1:
        return [op]
    width = op.width - zeros
    low, digits, product, below = (f"%${letter}.{op.result[1:]}" for letter in "lkpz")
    return [
        Extract(low, other, 0, width, op.width).like(op),
        Constant(digits, factor >> zeros, width).like(op),
        Gate("comb.mul", product, (low, digits), width).like(op),
        Constant(below, 0, zeros).like(op),
        Concat(op.result, (product, below), (width, zeros)).like(op),
    ]
