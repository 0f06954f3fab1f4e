"""Quotients of subscripts by constants, as sums of shifted numbers: every number of some widths."""

from __future__ import annotations

from itertools import count

import pytest

from allo.backend.rtl.netlist.operations import Concat, Constant, Extract, Gate, Operation
from allo.backend.rtl.read.values.glue import divide_by_constant, reciprocal


def value_of(operations: list[Operation], result: str, known: dict[str, int]) -> int:
    """What operations compute, without a simulator."""
    for op in operations:
        read = [known[name] for name in op.operands]
        match op:
            case Constant():
                known[op.result] = op.value
            case Concat():
                total = 0
                for part, width in zip(read, op.widths, strict=True):
                    total = total << width | part
                known[op.result] = total
            case Extract():
                known[op.result] = (read[0] >> op.low) % (1 << op.width)
            case Gate():
                sums = {"comb.add": sum(read), "comb.sub": read[0] - read[-1]}
                known[op.result] = sums[op.name] % (1 << op.width)
    return known[result]


@pytest.mark.parametrize("divisor", [3, 5, 6, 7, 10, 11, 12, 13, 15, 17, 24, 60, 100])
@pytest.mark.parametrize("width", [8, 9])
def test_a_quotient_is_right_for_every_number(width: int, divisor: int) -> None:
    most = ((1 << width) - 1) // divisor
    operator = divide_by_constant(width, divisor, max(1, most.bit_length()))
    names = (f"%t{k}" for k in count())
    assert operator.emit is not None
    operations, result = operator.emit(["%n"], lambda: next(names))
    found = [value_of(operations, result, {"%n": n}) for n in range(1 << width)]
    assert found == [n // divisor for n in range(1 << width)]


def test_terms_at_equal_distances_are_one_sum_twice() -> None:
    """n // 6 of 8 bits is 171 n >> 10, which is 256 n less 5 n and 16 times these 5 n."""
    assert reciprocal(8, 6) == (171, 10)
    names = (f"%t{k}" for k in count())
    emit = divide_by_constant(8, 6, 6).emit
    assert emit is not None
    operations, _ = emit(["%n"], lambda: next(names))
    assert sorted(op.name for op in operations if isinstance(op, Gate)) == [
        "comb.add",
        "comb.add",
        "comb.sub",
    ]
