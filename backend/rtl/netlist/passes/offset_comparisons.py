"""Comparisons of signed numbers as those of unsigned ones, for families whose carry chains give no sign.

Yosys makes a comparison of signed numbers of the sign of their difference and its overflow. On ECP5 this is
logic of several inputs, and each multiplexer that the comparison chooses by takes that logic into a table of
seven inputs, which is eight of four: 952 tables for two exchanges of 32 bits in place of 128. With both sign
bits inverted, the carry at the end of the chain is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from allo.backend.devices import DeviceRecord

from ..modules import Netlist
from ..operations import Compare, Constant, Gate, Operation
from .rewriting import each_body

_SIGNED = frozenset({"slt", "sgt", "sle", "sge"})


def offset_comparisons(netlist: Netlist, _: DeviceRecord) -> Netlist:
    """A design whose signed comparisons are unsigned ones of operands with inverted sign bits.

    Comparisons with zero stay: they are the sign bit.
    """
    return each_body(netlist, _is_signed, _rewritten)


def _is_signed(op: Operation) -> bool:
    return isinstance(op, Compare) and op.kind in _SIGNED


def _rewritten(body: list[Operation]) -> list[Operation]:
    constants = {op.result: op.value for op in body if isinstance(op, Constant)}
    made: list[Operation] = []
    for op in body:
        if isinstance(op, Compare) and _is_signed(op) and _against_others(op, constants):
            made += _unsigned(op, constants)
        else:
            made.append(op)
    return made


def _against_others(op: Compare, constants: Mapping[str, int]) -> bool:
    """Whether neither operand is zero."""
    return 0 not in [constants.get(operand) for operand in op.operands]


def _unsigned(op: Compare, constants: Mapping[str, int]) -> Iterator[Operation]:
    width = op.of
    sign = 1 << width - 1
    names = []
    for letter, operand in zip("ab", op.operands, strict=True):
        name = f"%${letter}.{op.result[1:]}"
        names.append(name)
        known = constants.get(operand)
        if known is not None:
            yield Constant(name, known ^ sign, width).like(op)
            continue
        yield Constant(f"{name}.sign", sign, width).like(op)
        yield Gate("comb.xor", name, (operand, f"{name}.sign"), width).like(op)
    yield Compare(f"u{op.kind[1:]}", op.result, (names[0], names[1]), width).like(op)
