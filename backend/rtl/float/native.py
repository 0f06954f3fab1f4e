"""Units for the in-process simulator: one native operation and registers of equal latency.

A unit that takes subnormals for zero clears its operands by their bits. A result of float32 that may be
rounded up to the smallest normal number is computed in float64 first, which says whether it is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from allo.backend.rtl.operators.hw_text import delay_lines, wrap_module

from .formats import FORMATS, FloatFormat

NATIVE_FORMATS = ("f32", "f64")
"""Formats the host computes itself, bit for bit."""
EXACT_WHERE_TINY = ("arith.addf", "arith.subf", "arith.extf")
"""Operations whose results need no rounding where they are subnormal."""

_REMAINDER = re.compile(r"llvm\.frem (%[\w#]+), %[\w#]+ *: *(\w+)")


def square_root_unit(module: str, latency: int, kind: FloatFormat) -> str:
    """The text of a unit for square roots, complete after :func:`with_square_roots`.

    CIRCT has no square root that its arc lets pass. What passes is a remainder, which is no native
    operation otherwise; its second operand is what the unit held, so that no constant is folded.
    """
    name, width = kind.name, kind.width
    lines = flushed_bits("%a", "%a_n", kind) if kind.flush else []
    lines += [
        f"%a_f = arith.bitcast {'%a_n' if kind.flush else '%a'} : i{width} to {name}",
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
    module: str,
    latency: int,
    operation: str,
    operands: Sequence[tuple[str, str]],
    result: str,
    *,
    flush: bool = False,
) -> str:
    """The text of a unit.

    Args:
        operation: with the operands as ``{0}``, ``{1}``: ``"arith.addf {0}, {1} : f32"``.
        operands: (name, MLIR type) of each port; integers enter as they are.
        result: MLIR float type of the operation.
        flush: subnormal operands are zeros, and results that are exact where they are subnormal.
    """
    kind = FORMATS[result]
    inputs = [
        (name, FORMATS[mlir].width if mlir in FORMATS else int(mlir[1:])) for name, mlir in operands
    ]
    lines: list[str] = []
    values: list[str] = []
    for name, mlir in operands:
        if mlir in FORMATS:
            bits = f"%{name}"
            if flush:
                lines += flushed_bits(bits, f"%{name}_n", FORMATS[mlir])
                bits = f"%{name}_n"
            lines.append(f"%{name}_f = arith.bitcast {bits} : i{FORMATS[mlir].width} to {mlir}")
        values.append(f"%{name}_f" if mlir in FORMATS else f"%{name}")
    lines.append(f"%value = {operation.format(*values)}")
    lines += canonical_bits("%value", "%exact" if flush else "%bits", kind)
    if flush:
        lines += flushed_bits("%exact", "%bits", kind)
    return wrap_module(
        module, inputs, kind.width, [*lines, *delay_lines("%bits", kind.width, latency)]
    )


def narrowed_unit(
    module: str, latency: int, operation: str, operands: Sequence[tuple[str, str]]
) -> str:
    """The text of a unit whose float32 result is that of an operation on float64, 0 where it is subnormal.

    float64 holds products of float32 exactly, and rounding its quotients again changes none. A quotient
    is never within a rounding error of float64 of the bound.

    Args:
        operation: as for :func:`native_unit`, on float64; none rounds the one operand.
    """
    single, double = FORMATS["f32"], FORMATS["f64"]
    inputs = [(name, FORMATS[mlir].width) for name, mlir in operands]
    lines: list[str] = []
    for name, mlir in operands:
        kind = FORMATS[mlir]
        lines += flushed_bits(f"%{name}", f"%{name}_n", kind)
        read = f"%{name}_f" if mlir == "f64" else f"%{name}_s"
        lines.append(f"{read} = arith.bitcast %{name}_n : i{kind.width} to {mlir}")
        if mlir != "f64":
            lines.append(f"%{name}_f = arith.extf %{name}_s : f32 to f64")
    values = [f"%{name}_f" for name, _ in operands]
    if operation:
        lines.append(f"%wide = {operation.format(*values)}")
    wide = "%wide" if operation else values[0]
    lines += [
        f"%value = arith.truncf {wide} : f64 to f32",
        *canonical_bits("%value", "%rounded", single),
        f"%wide_bits = arith.bitcast {wide} : f64 to i64",
        "%size = comb.extract %wide_bits from 0 : (i64) -> i63",
        f"%bound = hw.constant {_least_rounded(single, double)} : i63",
        "%tiny = comb.icmp bin ult %size, %bound : i63",
        *zero_where("%tiny", "%rounded", "%bits", single),
    ]
    return wrap_module(
        module, inputs, single.width, [*lines, *delay_lines("%bits", single.width, latency)]
    )


def _least_rounded(kind: FloatFormat, wide: FloatFormat) -> int:
    """The bits in ``wide`` of the least number that rounds to the smallest normal one of ``kind``."""
    field = wide.bias - kind.bias
    ones = (1 << kind.precision) - 1
    return field << wide.fraction | ones << (wide.fraction - kind.precision)


def flushed_bits(value: str, result: str, kind: FloatFormat) -> list[str]:
    """Lines that turn the bits of a subnormal into those of a zero of its sign."""
    low, bits = f"{result}_field", kind.exponent
    return [
        f"{low} = comb.extract {value} from {kind.fraction} : (i{kind.width}) -> i{bits}",
        f"{low}_none = hw.constant 0 : i{bits}",
        f"{result}_tiny = comb.icmp bin eq {low}, {low}_none : i{bits}",
        *zero_where(f"{result}_tiny", value, result, kind),
    ]


def zero_where(tiny: str, value: str, result: str, kind: FloatFormat) -> list[str]:
    """Lines that turn bits into those of a zero of their sign where ``tiny`` holds."""
    width = kind.width
    return [
        f"{result}_sign = hw.constant {-1 << width - 1} : i{width}",
        f"{result}_zero = comb.and bin {value}, {result}_sign : i{width}",
        f"{result} = comb.mux bin {tiny}, {result}_zero, {value} : i{width}",
    ]


def canonical_bits(value: str, result: str, kind: FloatFormat) -> list[str]:
    """Lines that turn a float into bits, NaN into the canonical NaN."""
    width = kind.width
    return [
        f"%raw = arith.bitcast {value} : {kind.name} to i{width}",
        f"%is_nan = arith.cmpf uno, {value}, {value} : {kind.name}",
        f"%nan = hw.constant {kind.nan} : i{width}",
        f"{result} = comb.mux %is_nan, %nan, %raw : i{width}",
    ]
