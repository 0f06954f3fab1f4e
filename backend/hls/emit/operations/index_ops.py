"""Integer arithmetic on index values: ``int`` where the range is known to fit, 64 bits elsewhere.

An index is a signed integer of 64 bits; what passes them wraps. A result has the C++ type that its
range asks for, and an operation is done in 64 bits where ``int`` might not hold it.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.ranges.interval import Interval, combined, hull, of_bits

from ...text.ctype import (
    BOOL,
    INDEX,
    SMALL_INDEX,
    Bounds,
    CType,
    Kind,
    fits_index,
    fits_int,
    index_ctype,
)
from ..emitter import FunctionEmitter
from ..values import Scalar

_UNKNOWN: Bounds = (None, None)


def ends(value: Scalar) -> Bounds:
    """The inclusive range of a value, None where unknown."""
    if value.const is not None:
        return int(value.const), int(value.const)
    return value.low, value.high


def ends_of(operator: str, a: Scalar, b: Scalar) -> Bounds:
    """The range of what an operator of :mod:`allo.dialects.ranges.interval` gives."""
    return combined(operator, *(_interval(value) for value in (a, b))) or _UNKNOWN


def hull_of(a: Scalar, b: Scalar) -> Bounds:
    """The range of one value or the other."""
    one, other = _interval(a), _interval(b)
    return _UNKNOWN if one is None or other is None else hull(one, other)


def _interval(value: Scalar) -> Interval | None:
    low, high = ends(value)
    return None if low is None or high is None else (low, high)


def non_negative(value: Scalar) -> bool:
    """Whether a value is known not to be negative."""
    low, _ = ends(value)
    return low is not None and low >= 0


def wide_text(e: FunctionEmitter, value: Scalar) -> str:
    """An index as an operand of 64 bits."""
    if value.const is None and value.ctype.bits > 32:
        return e.text(value)
    return f"(int64_t){e.text(value)}"


def _is_wide(value: Scalar) -> bool:
    return value.ctype.bits > 32 if value.const is None else not fits_int(ends(value))


def arithmetic(e: FunctionEmitter, op: ir.Operation, symbol: str, a: Scalar, b: Scalar) -> None:
    """``a + b``, ``a - b`` or ``a * b``."""
    bounds = ends_of(symbol, a, b)
    left, right = e.text(a), e.text(b)
    if not fits_index(bounds):
        text = f"(int64_t)((uint64_t){left} {symbol} (uint64_t){right})"
        e.define(op, text, INDEX)
        return
    if not (fits_int(bounds) or _is_wide(a) or _is_wide(b)):
        left = wide_text(e, a)
    e.define(op, f"{left} {symbol} {right}", index_ctype(bounds), bounds=bounds)


def bitwise(e: FunctionEmitter, op: ir.Operation, symbol: str, a: Scalar, b: Scalar) -> None:
    """``a & b``, ``a | b`` or ``a ^ b``."""
    both = fits_int(ends(a)) and fits_int(ends(b))
    bounds: Bounds = of_bits(32) if both else _UNKNOWN
    if both and non_negative(a) and non_negative(b):
        bounds = (0, bounds[1])
    e.define(op, f"{e.text(a)} {symbol} {e.text(b)}", index_ctype(bounds), bounds=bounds)


def shift_left(e: FunctionEmitter, op: ir.Operation, a: Scalar, amount: Scalar) -> None:
    """``a << amount``; 0 where the amount, unsigned, is 64 or more."""
    if amount.const is None:
        call = e.context.helpers.use("shl")
        text = f"(int64_t){call}<uint64_t, 64>({e.text(a)}, {e.text(amount)})"
        e.define(op, text, INDEX)
        return
    count = int(amount.const)
    if not 0 <= count < 64:
        e.define(op, "0", index_ctype((0, 0)), bounds=(0, 0))
        return
    low, high = ends(a)
    bounds = _UNKNOWN if low is None or high is None else (low << count, high << count)
    if not fits_index(bounds):
        e.define(op, f"(int64_t)((uint64_t){e.text(a)} << {count})", INDEX)
        return
    left = e.text(a) if fits_int(bounds) else wide_text(e, a)
    e.define(op, f"{left} << {count}", index_ctype(bounds), bounds=bounds)


def shift_right(
    e: FunctionEmitter, op: ir.Operation, a: Scalar, amount: Scalar, *, signed: bool
) -> None:
    """``a >> amount``: every bit the sign, or 0, where the amount, unsigned, is 64 or more."""
    low, high = ends(a)
    natural = non_negative(a)
    known = low is not None and high is not None and (signed or natural)
    bounds = (min(low, 0), max(high, 0)) if known else _UNKNOWN  # type: ignore[type-var]
    if amount.const is None:
        own, unsigned = ("int64_t, uint64_t", "shrs") if signed else ("uint64_t", "shru")
        call = e.context.helpers.use(unsigned)
        text = f"(int64_t){call}<{own}, 64>({e.text(a)}, {e.text(amount)})"
        e.define(op, text, index_ctype(bounds), bounds=bounds)
        return
    count = int(amount.const)
    past = not 0 <= count < 64
    if past and (natural or not signed):
        e.define(op, "0", index_ctype((0, 0)), bounds=(0, 0))
        return
    if signed or natural:
        e.define(
            op, f"{wide_text(e, a)} >> {63 if past else count}", index_ctype(bounds), bounds=bounds
        )
        return
    e.define(op, f"(int64_t)((uint64_t){e.text(a)} >> {count})", INDEX)


# --- division -------------------------------------------------------------------------


def division(
    e: FunctionEmitter, op: ir.Operation, helper: str, symbol: str, a: Scalar, b: Scalar
) -> None:
    """Quotient or remainder, by zero and by -1 as the core IR says; ``helper`` is of the emitter's."""
    bounds = _quotients(helper, ends(a), b)
    if helper.endswith("u") and not (non_negative(a) and non_negative(b)):
        call = e.context.helpers.use(helper)
        e.define(op, f"(int64_t){call}<uint64_t>({e.text(a)}, {e.text(b)})", INDEX)
        return
    if b.const is not None and int(b.const) not in (0, -1):
        _by_constant(e, op, helper, symbol, a, b, bounds)
        return
    small = fits_int(ends(a)) and fits_int(ends(b)) and fits_int(bounds)
    own, unsigned = ("int", "unsigned") if small else ("int64_t", "uint64_t")
    signed = {"divu": "divs", "remu": "rems", "cdivu": "cdivs"}.get(helper, helper)
    types = own if signed == "rems" else f"{own}, {unsigned}"
    call = e.context.helpers.use(signed)
    e.define(op, f"{call}<{types}>({e.text(a)}, {e.text(b)})", index_ctype(bounds), bounds=bounds)


def _by_constant(
    e: FunctionEmitter,
    op: ir.Operation,
    helper: str,
    symbol: str,
    a: Scalar,
    b: Scalar,
    bounds: Bounds,
) -> None:
    plain = non_negative(a) and int(b.const or 0) > 0
    if symbol or (plain and helper == "fdivs"):
        e.define(op, f"{e.text(a)} {symbol or '/'} {e.text(b)}", index_ctype(bounds), bounds=bounds)
        return
    name = "floordiv" if helper[0] == "f" else "ceildiv"
    call = e.context.helpers.use(f"{name}64" if _is_wide(a) or _is_wide(b) else name)
    e.define(op, f"{call}({e.text(a)}, {e.text(b)})", index_ctype(bounds), bounds=bounds)


def _quotients(helper: str, a: Bounds, b: Scalar) -> Bounds:
    """What a division may give, the -1 of a division by zero included."""
    low, high = a
    if low is None or high is None:
        return _UNKNOWN
    divisor = None if b.const is None else int(b.const)
    if helper.startswith("rem"):
        size = max(-low, high) if not divisor else min(max(-low, high), abs(divisor) - 1)
        return (0 if low >= 0 else -size), (0 if high <= 0 else size)
    if divisor is not None and divisor > 0:
        return (
            (low // divisor, -(-high // divisor))
            if low < 0
            else (low // divisor, _up(helper, high, divisor))
        )
    size = max(-low, high, 1)
    return -size, size


def _up(helper: str, high: int, divisor: int) -> int:
    return -(-high // divisor) if helper.startswith("cdiv") else high // divisor


# --- comparisons, conversions -----------------------------------------------------------


def comparison(
    e: FunctionEmitter, op: ir.Operation, symbol: str, a: Scalar, b: Scalar, *, unsigned: bool
) -> None:
    """``a < b`` and the others."""
    left, right = e.text(a), e.text(b)
    if unsigned and not (non_negative(a) and non_negative(b)):
        left, right = f"(uint64_t){left}", f"(uint64_t){right}"
    e.define(op, f"{left} {symbol} {right}", BOOL)


def from_integer(e: FunctionEmitter, op: ir.Operation, a: Scalar, *, signed: bool) -> None:
    """An integer as an index: its low 64 bits."""
    if a.ctype.is_bool:
        bounds = (-1, 0) if signed else (0, 1)
        e.define(op, f"{e.text(a)} ? {bounds[0] or 1} : 0", index_ctype(bounds), bounds=bounds)
        return
    bits = a.ctype.bits
    bounds = of_bits(bits, signed=signed)
    known = bounds if fits_index(bounds) else _UNKNOWN
    text = e.plain(a, a.ctype.with_sign(signed))
    e.define(op, text, index_ctype(known), bounds=known)


def to_integer(
    e: FunctionEmitter, op: ir.Operation, a: Scalar, ctype: CType, *, signed: bool
) -> None:
    """The low bits of an index, or the index extended."""
    if ctype.is_bool:
        e.define(op, f"{e.text(a)} & 1", ctype)
        return
    bounds = ends(a)
    source = e.text(a)
    if not signed and not non_negative(a) and ctype.bits > 64:
        source = f"(uint64_t){source}"
    e.define(op, source, ctype, need=need_of_bounds(bounds))


def need_of_bounds(bounds: Bounds) -> int:
    """Bits of two's complement that hold a range; 0 where it is unknown."""
    low, high = bounds
    if low is None or high is None:
        return 0
    return max((n if n >= 0 else ~n).bit_length() + 1 for n in (low, high))


def extremum_text(e: FunctionEmitter, name: str, a: Scalar, b: Scalar) -> str:
    """``min(a, b)`` or ``max(a, b)`` of two operands of one C++ type."""
    if _is_wide(a) or _is_wide(b):
        return f"{name}({wide_text(e, a)}, {wide_text(e, b)})"
    return f"{name}({e.typed(a, SMALL_INDEX)}, {e.typed(b, SMALL_INDEX)})"


def is_index(value: Scalar) -> bool:
    """Whether a value is an index."""
    return value.ctype.kind is Kind.INDEX
