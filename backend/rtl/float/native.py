"""Units for the in-process simulator: one native operation and registers of equal latency.

A unit that takes subnormals for zero clears its operands by their bits. A result of float32 that may be
rounded up to the smallest normal number is computed in float64 first, which says whether it is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from allo.backend.rtl.netlist.modules import Module
from allo.backend.rtl.netlist.operations import Constant, Extract, Mux, Operation, Verbatim
from allo.backend.rtl.operators.modules import delayed_module

from .formats import FORMATS, FloatFormat
from .quick.joint import Scaled, Tree

NATIVE_FORMATS = ("f32", "f64")
"""Formats the host computes itself, bit for bit."""
EXACT_WHERE_TINY = ("arith.addf", "arith.subf", "arith.extf")
"""Operations whose results need no rounding where they are subnormal."""

_REMAINDER = re.compile(r"llvm\.frem (%[\w#]+), %[\w#]+ *: *(\w+)")


class _Body:
    """The operations of a unit, in order."""

    def __init__(self) -> None:
        self.made: list[Operation] = []

    def put(self, result: str, kind: str, text: str, *operands: tuple[str, str]) -> None:
        """An operation by its text; ``{0}``, ``{1}`` … in it are its operands, given with their types."""
        body = text.format(*(name for name, _ in operands))
        self.made.append(Verbatim(result, body, kind, operands))

    def cast(self, result: str, value: str, source: str, kind: str, how: str = "bitcast") -> None:
        """A value as one of another type."""
        self.put(result, kind, f"arith.{how} {{0}} : {source} to {kind}", (value, source))

    def flush(self, value: str, result: str, kind: FloatFormat) -> None:
        """The bits of a subnormal turned into those of a zero of its sign."""
        low, bits = f"{result}_field", kind.exponent
        field = f"i{bits}"
        self.made += [
            Extract(low, value, kind.fraction, bits, kind.width),
            Constant(f"{low}_none", 0, bits),
        ]
        equal = f"comb.icmp bin eq {{0}}, {{1}} : {field}"
        self.put(f"{result}_tiny", "i1", equal, (low, field), (f"{low}_none", field))
        self.zero_where(f"{result}_tiny", value, result, kind)

    def zero_where(self, tiny: str, value: str, result: str, kind: FloatFormat) -> None:
        """Bits turned into those of a zero of their sign where ``tiny`` holds."""
        sign, zero, word = f"{result}_sign", f"{result}_zero", f"i{kind.width}"
        self.made.append(Constant(sign, 1 << kind.width - 1, kind.width))
        self.put(zero, word, f"comb.and bin {{0}}, {{1}} : {word}", (value, word), (sign, word))
        chosen = f"comb.mux bin {{0}}, {{1}}, {{2}} : {word}"
        self.put(result, word, chosen, (tiny, "i1"), (zero, word), (value, word))

    def canonical(self, value: str, result: str, kind: FloatFormat) -> None:
        """A float turned into bits, NaN into the canonical NaN."""
        name, width = kind.name, kind.width
        self.cast("%raw", value, name, f"i{width}")
        self.put(
            "%is_nan", "i1", f"arith.cmpf uno, {{0}}, {{1}} : {name}", (value, name), (value, name)
        )
        self.made += [
            Constant("%nan", kind.nan, width),
            Mux(result, ("%is_nan", "%nan", "%raw"), width),
        ]


def square_root_unit(module: str, latency: int, kind: FloatFormat) -> Module:
    """A unit for square roots, complete after :func:`with_square_roots`.

    CIRCT has no square root that its arc lets pass. What passes is a remainder, which is no native
    operation otherwise; its second operand is what the unit held, so that no constant is folded.
    """
    name, width, body = kind.name, kind.width, _Body()
    if kind.flush:
        body.flush("%a", "%a_n", kind)
    body.cast("%a_f", "%a_n" if kind.flush else "%a", f"i{width}", name)
    body.cast("%held", "%d0", f"i{width}", name)
    remainder = f"arith.remf {{0}}, {{1}} : {name}"
    body.put("%value", name, remainder, ("%a_f", name), ("%held", name))
    body.canonical("%value", "%bits", kind)
    return delayed_module(module, [("a", width)], body.made, "%bits", width, latency)


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
) -> Module:
    """A unit.

    Args:
        operation: with the operands as ``{0}``, ``{1}``: ``"arith.addf {0}, {1} : f32"``.
        operands: (name, MLIR type) of each port; integers enter as they are.
        result: MLIR float type of the operation.
        flush: subnormal operands are zeros, and results that are exact where they are subnormal.
    """
    kind, body = FORMATS[result], _Body()
    inputs = [
        (name, FORMATS[mlir].width if mlir in FORMATS else int(mlir[1:])) for name, mlir in operands
    ]
    values: list[tuple[str, str]] = []
    for name, mlir in operands:
        if mlir in FORMATS:
            bits = f"%{name}"
            if flush:
                body.flush(bits, f"%{name}_n", FORMATS[mlir])
                bits = f"%{name}_n"
            body.cast(f"%{name}_f", bits, f"i{FORMATS[mlir].width}", mlir)
        values.append((f"%{name}_f" if mlir in FORMATS else f"%{name}", mlir))
    body.put("%value", result, operation, *values)
    body.canonical("%value", "%exact" if flush else "%bits", kind)
    if flush:
        body.flush("%exact", "%bits", kind)
    return delayed_module(module, inputs, body.made, "%bits", kind.width, latency)


def joint_unit(
    module: str, latency: int, *, tree: Tree, operands: int, kind: FloatFormat
) -> Module:
    """A unit for a tree of operations, none of which flushes subnormals."""
    name, word, body = kind.name, f"i{kind.width}", _Body()
    ports = [(port, kind.width) for port in "abcdefgh"[:operands]]
    for port, _ in ports:
        body.cast(f"%{port}_f", f"%{port}", word, name)

    def value(tree: Tree) -> str:
        if isinstance(tree, int):
            return f"%{ports[tree][0]}_f"
        if isinstance(tree, Scaled):
            left, right, op = value(tree.value), f"%by{len(body.made)}", "mulf"
            body.made.append(Constant(f"{right}_bits", tree.by, kind.width))
            body.cast(right, f"{right}_bits", word, name)
        else:
            left, right = value(tree.left), value(tree.right)
            op = "subf" if tree.minus else "addf"
        result = f"%value{len(body.made)}"
        body.put(result, name, f"arith.{op} {{0}}, {{1}} : {name}", (left, name), (right, name))
        return result

    body.canonical(value(tree), "%bits", kind)
    return delayed_module(module, ports, body.made, "%bits", kind.width, latency)


def narrowed_unit(
    module: str, latency: int, operation: str, operands: Sequence[tuple[str, str]]
) -> Module:
    """A unit whose float32 result is that of an operation on float64, 0 where it is subnormal.

    float64 holds products of float32 exactly, and rounding its quotients again changes none. A quotient
    is never within a rounding error of float64 of the bound.

    Args:
        operation: as for :func:`native_unit`, on float64; none rounds the one operand.
    """
    single, double, body = FORMATS["f32"], FORMATS["f64"], _Body()
    inputs = [(name, FORMATS[mlir].width) for name, mlir in operands]
    for name, mlir in operands:
        kind = FORMATS[mlir]
        body.flush(f"%{name}", f"%{name}_n", kind)
        read = f"%{name}_f" if mlir == "f64" else f"%{name}_s"
        body.cast(read, f"%{name}_n", f"i{kind.width}", mlir)
        if mlir != "f64":
            body.cast(f"%{name}_f", read, "f32", "f64", "extf")
    values = [(f"%{name}_f", "f64") for name, _ in operands]
    if operation:
        body.put("%wide", "f64", operation, *values)
    wide = "%wide" if operation else values[0][0]
    body.cast("%value", wide, "f64", "f32", "truncf")
    body.canonical("%value", "%rounded", single)
    body.cast("%wide_bits", wide, "f64", "i64")
    body.made += [
        Extract("%size", "%wide_bits", 0, 63, 64),
        Constant("%bound", _least_rounded(single, double), 63),
    ]
    less = "comb.icmp bin ult {0}, {1} : i63"
    body.put("%tiny", "i1", less, ("%size", "i63"), ("%bound", "i63"))
    body.zero_where("%tiny", "%rounded", "%bits", single)
    return delayed_module(module, inputs, body.made, "%bits", single.width, latency)


def _least_rounded(kind: FloatFormat, wide: FloatFormat) -> int:
    """The bits in ``wide`` of the least number that rounds to the smallest normal one of ``kind``."""
    field = wide.bias - kind.bias
    ones = (1 << kind.precision) - 1
    return field << wide.fraction | ones << (wide.fraction - kind.precision)
