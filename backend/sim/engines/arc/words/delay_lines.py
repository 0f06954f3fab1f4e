"""Pack delay lines: registers that only hand a value on become one wide register.

``b = reg a; c = reg b; d = reg c`` of equal clock, enable and reset is a shift of one wide word, which
costs one load and one store where each register cost both. Half the registers of a
pipelined design are such lines.
"""

from __future__ import annotations

import re

from allo.backend.rtl._circt import ir

SHORTEST = 3
WIDEST = 128

_KINDS = ("seq.compreg", "seq.compreg.ce")
_INTEGER = re.compile(r"i(\d+)")


def pack_delay_lines(module: ir.Module) -> None:
    """Rewrite the delay lines of a flattened module, in place."""
    top = next(op for op in module.body.operations if op.operation.name == "hw.module")
    registers = {
        op.operation.results[0]: op.operation
        for op in top.regions[0].blocks[0].operations
        if op.operation.name in _KINDS and _may_pack(op.operation)
    }
    taken: set[ir.Value] = set()
    following: dict[ir.Value, ir.Value] = {}
    for value, register in registers.items():
        before = registers.get(register.operands[0])
        source = register.operands[0]
        if before is not None and source not in following and _alike(before, register):
            following[source] = value
    heads = registers.keys() - following.values()
    for head in [value for value in registers if value in heads]:
        line = _line(head, following, taken)
        for part in _cut(line):
            if len(part) >= SHORTEST:
                _pack([registers[value] for value in part])


def _may_pack(register: ir.Operation) -> bool:
    """Whether a register resets to zero or not at all, and has no preset."""
    plain = 2 + (register.name == "seq.compreg.ce")
    count = len(register.operands)
    return count == plain or (count == plain + 2 and _is_zero(register.operands[count - 1]))


def _is_zero(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "hw.constant":
        return False
    return bool(ir.IntegerAttr(value.owner.operation.attributes["value"]).value == 0)


def _alike(a: ir.Operation, b: ir.Operation) -> bool:
    """Whether two registers differ in nothing but their input."""
    return (
        a.name == b.name
        and a.results[0].type == b.results[0].type
        and list(a.operands)[1:] == list(b.operands)[1:]
    )


def _line(
    head: ir.Value, following: dict[ir.Value, ir.Value], taken: set[ir.Value]
) -> list[ir.Value]:
    line, value = [], head
    while value is not None and value not in taken:
        taken.add(value)
        line.append(value)
        value = following.get(value)
    return line


def _cut(line: list[ir.Value]) -> list[list[ir.Value]]:
    """A line in pieces that fit a wide register; nothing when its words are not integers."""
    width = _INTEGER.fullmatch(str(line[0].type))
    if width is None or not int(width[1]):
        return []
    most = max(1, WIDEST // int(width[1]))
    return [line[start : start + most] for start in range(0, len(line), most)]


def _pack(line: list[ir.Operation]) -> None:
    first = line[0]
    width = int(_INTEGER.fullmatch(str(first.results[0].type))[1])  # type: ignore[index]
    total = width * len(line)
    with first.context, first.location, ir.InsertionPoint(first):
        wide = ir.IntegerType.get_signless(total)
        zero = ir.Operation.create(
            "hw.constant", results=[wide], attributes={"value": ir.IntegerAttr.get(wide, 0)}
        )
        operands = [zero.result, *list(first.operands)[1:]]
        if len(operands) >= 4:
            operands[-1] = zero.result
        attributes = {name: first.attributes[name] for name in first.attributes}
        word = ir.Operation.create(
            first.name, results=[wide], operands=operands, attributes=attributes
        )
        kept = _extract(word.result, 0, total - width)
        moved = ir.Operation.create(
            "comb.concat", results=[wide], operands=[kept, first.operands[0]]
        )
        word.operands[0] = moved.result
        taps = [_extract(word.result, width * k, width) for k in range(len(line))]
    for register, tap in zip(line, taps, strict=True):
        register.results[0].replace_all_uses_with(tap)
    for register in reversed(line):
        register.erase()


def _extract(value: ir.Value, low: int, width: int) -> ir.Value:
    kind = ir.IntegerType.get_signless(width)
    bit = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), low)
    return ir.Operation.create(
        "comb.extract", results=[kind], operands=[value], attributes={"lowBit": bit}
    ).result
