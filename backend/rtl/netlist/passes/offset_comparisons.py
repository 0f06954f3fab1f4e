"""Comparisons that the end of a carry chain answers, for families whose chains give no sign.

Yosys makes a comparison of signed numbers of the sign of their difference and its overflow. On ECP5 this is
logic of several inputs, and each multiplexer that the comparison chooses by takes that logic into a table of
seven inputs, which is eight of four: 952 tables for two exchanges of 32 bits in place of 128. With both sign
bits inverted, the carry at the end of the chain is the answer.

A cell of the chain has two bits and no way out between them, so that the carry of an odd number of bits is
logic again: 246 tables for the largest of three numbers of 33 bits. The highest bit stands twice then, which
keeps the order and leaves 138. Where nothing wide is chosen by the comparison, or the difference of the same
numbers is there, whose chain Yosys then shares, the bits stay: that is less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from allo.backend.devices import DeviceRecord

from ..modules import Netlist
from ..operations import Compare, Concat, Constant, Extract, Gate, Mux, Operation
from .rewriting import each_body

_SIGNED = frozenset({"slt", "sgt", "sle", "sge"})
_LOGIC = 4
"""Bits that Yosys compares by tables alone."""
_WIDE = 8
"""Bits of a choice whose tables would take in the carry of an odd number of bits."""


def offset_comparisons(netlist: Netlist, _: DeviceRecord) -> Netlist:
    """A design whose signed comparisons are unsigned ones of operands with inverted sign bits.

    Comparisons with zero stay: they are the sign bit. Those that choose between words have an even number
    of bits; unsigned ones stay, for with an even number of them float adders took 5 % more.
    """
    return each_body(netlist, _is_signed, _rewritten)


def _is_signed(op: Operation) -> bool:
    return isinstance(op, Compare) and op.kind in _SIGNED


def _rewritten(body: list[Operation]) -> list[Operation]:
    constants = {op.result: op.value for op in body if isinstance(op, Constant)}
    wide = {op.operands[0] for op in body if isinstance(op, Mux) and op.width >= _WIDE}
    apart = {
        frozenset(op.operands) for op in body if isinstance(op, Gate) and op.name == "comb.sub"
    }
    made: list[Operation] = []
    for op in body:
        if not isinstance(op, Compare) or not _is_signed(op):
            made.append(op)
            continue
        known = [constants.get(operand) for operand in op.operands]
        evened = op.result in wide and frozenset(op.operands) not in apart and known == [None, None]
        if 0 not in known:
            made += _unsigned(op, constants, evened)
        else:
            made.append(op)
    return made


def _twice(name: str, operand: str, width: int, op: Compare) -> Iterator[Operation]:
    """A value with its highest bit twice."""
    yield Extract(f"{name}.top", operand, width - 1, 1, width).like(op)
    yield Concat(name, (f"{name}.top", operand), (1, width)).like(op)


def _unsigned(op: Compare, constants: Mapping[str, int], evened: bool) -> Iterator[Operation]:
    known = [constants.get(operand) for operand in op.operands]
    more = evened and op.of % 2 == 1 and op.of > _LOGIC
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
