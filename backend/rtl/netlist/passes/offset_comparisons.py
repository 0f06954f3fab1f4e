"""Comparisons that the end of a carry chain answers, for families whose chains give no sign.

Yosys makes a comparison of signed numbers of the sign of their difference and its overflow. On ECP5 this is
logic of several inputs, and each multiplexer that the comparison chooses by takes that logic into a table of
seven inputs, which is eight of four: 952 tables for two exchanges of 32 bits in place of 128. With both sign
bits inverted, the carry at the end of the chain is the answer.

A cell of the chain has two bits and no way out between them, so that the carry of an odd number of bits is
logic again: 246 tables for the largest of three numbers of 33 bits. The highest bit stands twice then, which
keeps the order and leaves 138.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from allo.backend.devices import DeviceRecord

from ..modules import Netlist
from ..operations import Compare, Concat, Constant, Extract, Gate, Operation
from .rewriting import each_body

_SIGNED = frozenset({"slt", "sgt", "sle", "sge"})
_UNSIGNED = frozenset({"ult", "ugt", "ule", "uge"})
_LOGIC = 4
"""Bits that Yosys compares by tables alone."""


def offset_comparisons(netlist: Netlist, _: DeviceRecord) -> Netlist:
    """A design whose comparisons are unsigned ones of an even number of bits.

    Those of signed numbers invert the sign bits. Comparisons with zero stay: they are the sign bit. Of those
    with other constants, the number of bits stays.
    """
    return each_body(netlist, _orders, _rewritten)


def _orders(op: Operation) -> bool:
    return isinstance(op, Compare) and (op.kind in _SIGNED or op.kind in _UNSIGNED)


def _rewritten(body: list[Operation]) -> list[Operation]:
    constants = {op.result: op.value for op in body if isinstance(op, Constant)}
    joined = {op.result: op for op in body if isinstance(op, Concat)}
    made: list[Operation] = []
    for op in body:
        if not isinstance(op, Compare) or not _orders(op):
            made.append(op)
            continue
        known = [constants.get(operand) for operand in op.operands]
        if op.kind in _SIGNED and 0 not in known:
            made += _unsigned(op, constants)
        elif op.kind in _UNSIGNED and known == [None, None]:
            made += _even(op, max(_bits(name, op.of, joined, constants) for name in op.operands))
        else:
            made.append(op)
    return made


def _bits(name: str, width: int, joined: Mapping[str, Concat], known: Mapping[str, int]) -> int:
    """Bits of a value without the zeros that stand in front of it."""
    parts = joined.get(name)
    if parts is None or known.get(parts.operands[0]) != 0:
        return width
    return width - parts.widths[0]


def _even(op: Compare, bits: int) -> Iterator[Operation]:
    """A comparison of an even number of bits, the highest twice where there is one too few."""
    if bits % 2 == 0 or bits < _LOGIC:
        yield op
        return
    names = []
    for letter, operand in zip("ab", op.operands, strict=True):
        name = f"%${letter}.{op.result[1:]}"
        names.append(name)
        low = operand
        if bits < op.of:
            low = f"{name}.low"
            yield Extract(low, operand, 0, bits, op.of).like(op)
        yield from _twice(name, low, bits, op)
    yield Compare(op.kind, op.result, (names[0], names[1]), bits + 1).like(op)


def _twice(name: str, operand: str, width: int, op: Compare) -> Iterator[Operation]:
    """A value with its highest bit twice."""
    yield Extract(f"{name}.top", operand, width - 1, 1, width).like(op)
    yield Concat(name, (f"{name}.top", operand), (1, width)).like(op)


def _unsigned(op: Compare, constants: Mapping[str, int]) -> Iterator[Operation]:
    known = [constants.get(operand) for operand in op.operands]
    more = op.of % 2 and op.of > _LOGIC and known == [None, None]
    width = op.of + 1 if more else op.of
    sign = 1 << width - 1
    names = []
    for letter, operand, value in zip("ab", op.operands, known, strict=True):
        name = f"%${letter}.{op.result[1:]}"
        names.append(name)
        if value is not None:
            yield Constant(name, value ^ sign, width).like(op)
            continue
        whole = operand
        if more:
            whole = f"{name}.wide"
            yield from _twice(whole, operand, op.of, op)
        yield Constant(f"{name}.sign", sign, width).like(op)
        yield Gate("comb.xor", name, (whole, f"{name}.sign"), width).like(op)
    yield Compare(f"u{op.kind[1:]}", op.result, (names[0], names[1]), width).like(op)
