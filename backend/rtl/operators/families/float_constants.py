"""Quotients of floats by constants.

They are asked before :mod:`.floats`, which answers for other constants: zeros, infinities and NaN, and
subnormal ones where these count as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from allo.backend.rtl.float.constants.quotient import divide_by
from allo.backend.rtl.float.constants.reciprocal import Reciprocal, constant_of, reciprocal_of
from allo.backend.rtl.float.formats import FORMATS, FloatFormat

from ..netlist import Signal
from ..request import Builder, Drawing, Request, unit
from ..spec import Operator
from .floats import binary_native, format_of
from .multiples import multiple_of
from .multiply import better, tiling_of
from .products import Part, Tiling, product_by_pieces

KEPT = 256
"""Reciprocals that one process keeps."""
SHORT = 20
"""Bits of the integers that stand in names of units."""


def makes_other_unit(op: str, constants: Sequence[int | None], result_type: str) -> bool:
    """Whether a constant second operand, a divisor, is none of the general unit."""
    kind = FORMATS.get(result_type)
    if kind is None or len(constants) != 2 or constants[0] is not None or constants[1] is None:
        return False
    found = constant_of(constants[1], kind)
    return found is not None and op in OPERATORS


@lru_cache(maxsize=KEPT)
def kept_reciprocal(odd: int, precision: int, ends: bool) -> Reciprocal:
    """The reciprocal of an odd number, computed once."""
    return reciprocal_of(odd, precision, ends=ends)


def _build(request: Request) -> Operator | None:
    """The unit for a constant second operand; its product is made as products of integers are."""
    kind, bits = format_of(request, request.result_type), request.constant(1)
    by = constant_of(bits, kind) if kind is not None and bits is not None else None
    if kind is None or bits is None or by is None:
        return None
    reciprocal = kept_reciprocal(by.odd, kind.precision, by.even_integer and not kind.flush)
    tiling = tiling_of(request)
    width = kind.precision + reciprocal.factor.bit_length()

    def tiled(significand: Signal) -> Signal:
        factor = significand.net.const(reciprocal.factor, reciprocal.factor.bit_length())
        a, b = Part(significand, False), Part(factor, False)
        if _blocks(b, a, tiling) < _blocks(a, b, tiling):
            a, b = b, a
        return product_by_pieces(a, b, width, tiling)

    def shifted(significand: Signal) -> Signal:
        return multiple_of(significand, reciprocal.factor)

    def drawing(*, blocks: bool) -> Drawing:
        multiple = tiled if blocks else shifted
        made = f"_{request.impl}" if request.impl else ""
        return Drawing(
            f"f{request.op[6:9]}_{kind.label}_by{_spelled(bits, kind)}{made}",
            lambda a, _: divide_by(a, by, reciprocal, kind, multiple),
            binary_native(request.op, kind),
        )

    sum_ = unit(request, drawing(blocks=False))
    if by.odd == 1 or request.impl == "fabric":
        return sum_
    product = unit(request, drawing(blocks=True))
    return sum_ if request.impl != "dsp" and better(sum_, product, request.device) else product


def _spelled(bits: int, kind: FloatFormat) -> str:
    """A constant as a part of a name: a short positive integer as such, others as their bits."""
    value = constant_of(bits, kind)
    if value is not None and not value.negative:
        shift = value.exponent + 1 - value.odd.bit_length()
        if 0 <= shift < SHORT and (whole := value.odd << shift) < 1 << SHORT:
            return str(whole)
    return f"0x{bits:0{-(-kind.width // 4)}x}"


def _blocks(a: Part, b: Part, tiling: Tiling) -> int:
    """Multiplier blocks of a product whose first factor is cut for their larger operand."""
    return -(-a.bits.width // tiling.large) * -(-b.bits.width // tiling.small)


OPERATORS: dict[str, Builder] = {"arith.divf": _build}
