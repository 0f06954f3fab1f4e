"""Units for the in-process simulator: one native operation and registers of equal latency."""

from __future__ import annotations

import re
from collections.abc import Sequence

from allo.backend.rtl.operators.hw_text import delay_lines, wrap_module

from .formats import FloatFormat

NATIVE_FORMATS = ("f32", "f64")
"""Formats the host computes itself, bit for bit."""

_REMAINDER = re.compile(r"llvm\.frem (%[\w#]+), %[\w#]+ *: *(\w+)")


def square_root_unit(module: str, latency: int, kind: FloatFormat) -> str:
    """The text of a unit for square roots, complete after :func:`with_square_roots`.

    CIRCT has no square root that its arc lets pass. What passes is a remainder, which is no native
    operation otherwise; its second operand is what the unit held, so that no constant is folded.
    """
    name, width = kind.name, kind.width
    lines = [
        f"%a_f = arith.bitcast %a : i{width} to {name}",
        f"%held = arith.bitcast %d0 : i{width} to {name}",
        f"%value = arith.remf %a_f, %held : {name}",
        *canonical_bits("%value", "%bits", kind),
        *delay_lines("%bits", width, latency),
    ]
    return wrap_module(module, [("a", width)], width, lines)


def with_square_roots(text: str) -> str:
    """Text in the llvm dialect with the square roots of native units as such."""
    return _REMAINDER.sub(r"llvm.intr.sqrt(\1) : (\2) -> \2", text)


def native_unit(
    module: str, latency: int, operation: str, operands: Sequence[tuple[str, str]], result: str
) -> str:
    """The text of a unit.

    Args:
        operation: with the operands as ``{0}``, ``{1}``: ``"arith.addf {0}, {1} : f32"``.
        operands: (name, MLIR type) of each port; integers enter as they are.
        result: MLIR float type of the operation.
    """
    from .formats import FORMATS

    kind = FORMATS[result]
    inputs = [
        (name, FORMATS[mlir].width if mlir in FORMATS else int(mlir[1:])) for name, mlir in operands
    ]
    lines: list[str] = []
    values: list[str] = []
    for name, mlir in operands:
        if mlir in FORMATS:
            lines.append(f"%{name}_f = arith.bitcast %{name} : i{FORMATS[mlir].width} to {mlir}")
        values.append(f"%{name}_f" if mlir in FORMATS else f"%{name}")
    lines.append(f"%value = {operation.format(*values)}")
    lines += canonical_bits("%value", "%bits", kind)
    return wrap_module(
        module, inputs, kind.width, [*lines, *delay_lines("%bits", kind.width, latency)]
    )


def canonical_bits(value: str, result: str, kind: FloatFormat) -> list[str]:
    """Lines that turn a float into bits, NaN into the canonical NaN."""
    width = kind.width
    return [
        f"%raw = arith.bitcast {value} : {kind.name} to i{width}",
        f"%is_nan = arith.cmpf uno, {value}, {value} : {kind.name}",
        f"%nan = hw.constant {kind.nan} : i{width}",
        f"{result} = comb.mux %is_nan, %nan, %raw : i{width}",
    ]
