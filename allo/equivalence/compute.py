"""Scalar operations on known and symbolic values."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from allo.dialects._mlir import ir
from allo.dialects.core.integers import as_signed

from . import integers
from .machine import Frame, FunctionCode, Handler, Step, undecidable
from .terms import Term, width_of

_PLAIN = frozenset(
    {"addi", "subi", "muli", "shli", "andi", "ori", "xori"}
    | {"minsi", "minui", "maxsi", "maxui", "addf", "subf", "mulf", "negf"}
)
_EXACT_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_SWAPPED = {4: 2, 5: 3, 8: 6, 9: 7}
_ATTRIBUTES = ("predicate",)


def _constant(code: FunctionCode, op: ir.Operation) -> Step | None:
    slot, kind = code.slot(op.result), op.result.type
    attribute = op.attributes["value"]
    value: int | Term
    if isinstance(kind, (ir.IntegerType, ir.IndexType)):
        raw = ir.IntegerAttr(attribute).value if not isinstance(attribute, ir.BoolAttr) else None
        raw = int(attribute.value) if raw is None else raw
        value = integers.normal(raw, width_of(str(kind)), isinstance(kind, ir.IndexType))
    elif isinstance(attribute, ir.FloatAttr):
        value = code.machine.terms.make(f"const {attribute.value!r}", str(kind))
    else:
        raise undecidable(op, f"A constant of type {kind} cannot be followed symbolically.")

    def run(frame: Frame) -> None:
        frame[slot] = value

    return run


def _compute(code: FunctionCode, op: ir.Operation) -> Step | None:
    """Any operation without regions, memory or effects: known values fold, others make a term."""
    short = op.name.split(".", 1)[1]
    if op.name.split(".")[0] not in ("arith", "math") or len(op.results) != 1:
        raise undecidable(op, f"The operation {op.name} cannot be followed symbolically.")
    kind = str(op.result.type)
    bits, is_index = width_of(kind), kind == "index"
    operands = [str(v.type) for v in op.operands]
    label = op.name if short in _PLAIN else f"{op.name} {_extra(op)}:{','.join(operands)}"
    slots = [code.slot(v) for v in op.operands]
    if len(slots) == 2 and bits:
        predicate = op.attributes["predicate"].value if short == "cmpi" else None
        if predicate is not None:
            return _comparison(code, op, predicate, slots)
        fold = integers.binary(short, bits, is_index)
        if fold is not None:
            return _binary(code, op, label, fold, slots)
    if len(slots) == 1 and bits and width_of(operands[0]):
        single = integers.unary(short, width_of(operands[0]), bits, is_index)
        if single is not None:
            return _unary(code, op, label, single, slots[0])
    if short in ("sitofp", "uitofp"):
        return _to_float(code, op, label, slots[0], short == "sitofp")
    return _uninterpreted(code, op, label, slots)


def _extra(op: ir.Operation) -> str:
    return "".join(str(op.attributes[a]) for a in _ATTRIBUTES if a in op.attributes)


def _binary(
    code: FunctionCode, op: ir.Operation, label: str, fold: integers.Fold, slots: list[int]
) -> Step:
    result, kind, (x, y) = code.slot(op.result), str(op.result.type), slots
    make = code.machine.terms.make
    adds = op.name in ("arith.addi", "arith.subi", "arith.ori", "arith.xori", "arith.shli")
    multiplies = op.name == "arith.muli"
    turns = op.name.split(".")[1] in integers.COMMUTATIVE

    def run(frame: Frame) -> None:
        a, b = frame[x], frame[y]
        if isinstance(a, int):
            if isinstance(b, int):
                frame[result] = fold(a, b)
                return
            if turns:
                a, b = b, a
        if isinstance(b, int):
            if (adds and b == 0) or (multiplies and b == 1):
                frame[result] = a
                return
            if multiplies and b == 0:
                frame[result] = 0
                return
        frame[result] = make(label, kind, (a, b))

    return run


def _comparison(code: FunctionCode, op: ir.Operation, predicate: int, slots: list[int]) -> Step:
    result, kind = code.slot(op.result), str(op.operands[0].type)
    fold = integers.compare(predicate, width_of(kind))
    x, y = reversed(slots) if predicate in _SWAPPED else slots
    make = code.machine.terms.make
    number = _SWAPPED.get(predicate, predicate)
    label = f"arith.cmpi {number}:{kind}"
    same = int(predicate in (0, 3, 5, 7, 9))
    symmetric = predicate in (0, 1)

    def run(frame: Frame) -> None:
        a, b = frame[x], frame[y]
        if isinstance(a, int) and isinstance(b, int):
            frame[result] = fold(frame[slots[0]], frame[slots[1]])
        elif a is b:
            frame[result] = same
        else:
            if symmetric and not isinstance(b, int) and _age(a) > b.number:
                a, b = b, a
            frame[result] = make(label, "i1", (a, b))

    return run


def _age(value: int | Term) -> int:
    return -1 if isinstance(value, int) else value.number


def _unary(
    code: FunctionCode, op: ir.Operation, label: str, fold: Callable[[int], int], slot: int
) -> Step:
    result, kind = code.slot(op.result), str(op.result.type)
    make = code.machine.terms.make

    def run(frame: Frame) -> None:
        a = frame[slot]
        frame[result] = fold(a) if isinstance(a, int) else make(label, kind, (a,))

    return run


def _to_float(code: FunctionCode, op: ir.Operation, label: str, slot: int, is_signed: bool) -> Step:
    result, kind = code.slot(op.result), str(op.result.type)
    bits = width_of(str(op.operands[0].type))
    exact = 1 << _EXACT_BITS.get(kind, 0)
    make = code.machine.terms.make

    def run(frame: Frame) -> None:
        a = frame[slot]
        if isinstance(a, int):
            number = as_signed(a, bits) if is_signed else a & ((1 << bits) - 1)
            if abs(number) <= exact and (kind != "f16" or abs(number) < 65504):
                frame[result] = make(f"const {float(number)!r}", kind)
                return
        frame[result] = make(label, kind, (a,))

    return run


def _uninterpreted(code: FunctionCode, op: ir.Operation, label: str, slots: list[int]) -> Step:
    result, kind = code.slot(op.result), str(op.result.type)
    make = code.machine.terms.make
    turns = len(slots) == 2 and op.name.split(".")[1] in integers.COMMUTATIVE
    folds = op.name in ("arith.extf", "arith.truncf")

    def run(frame: Frame) -> None:
        args = tuple(frame[s] for s in slots)
        if turns and _age(args[0]) > _age(args[1]):
            args = args[::-1]
        if folds and (known := _cast_constant(args[0], kind)) is not None:
            frame[result] = make(known, kind)
            return
        frame[result] = make(label, kind, args)

    return run


def _cast_constant(value: Term, kind: str) -> str | None:
    """A float constant in another format, where it is the same number there."""
    if not value.op.startswith("const "):
        return None
    number = float(value.op.removeprefix("const "))
    letter = {"f32": "<f", "f16": "<e", "f64": "<d"}.get(kind)
    if letter is None or not math.isfinite(number):
        return None
    try:
        there = struct.unpack(letter, struct.pack(letter, number))[0]
    except OverflowError:
        return None
    return value.op if there == number else None


def _select(code: FunctionCode, op: ir.Operation) -> Step:
    result, kind = code.slot(op.result), str(op.result.type)
    c, a, b = (code.slot(v) for v in op.operands)
    select = code.machine.terms.select

    def run(frame: Frame) -> None:
        frame[result] = select(frame[c], kind, frame[a], frame[b])

    return run


HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.select": _select,
    "": _compute,
}
