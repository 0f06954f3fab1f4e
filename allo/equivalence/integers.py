"""Integer operations on known values, as ``docs/core_ir.md`` defines them for every operand."""

from __future__ import annotations

from collections.abc import Callable

from .terms import INDEX_BITS

type Fold = Callable[[int, int], int]

COMMUTATIVE = frozenset(
    {"addi", "muli", "andi", "ori", "xori", "minsi", "minui", "maxsi", "maxui"}
    | {"addf", "mulf", "minimumf", "maximumf", "minnumf", "maxnumf"}
)


def signed(value: int, bits: int) -> int:
    """The value of a bit pattern read as two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def normal(value: int, bits: int, is_index: bool) -> int:
    """A result as values are kept: unsigned, an index signed."""
    return signed(value, INDEX_BITS) if is_index else value & ((1 << bits) - 1)


def binary(name: str, bits: int, is_index: bool) -> Fold | None:
    """The function of a two-operand operation on values as they are kept; None if unknown."""
    raw = _RAW.get(name)
    if raw is not None:
        return lambda a, b: normal(raw(a, b), bits, is_index)
    mask = (1 << bits) - 1
    on_signed = _SIGNED.get(name)
    if on_signed is not None:
        return lambda a, b: normal(on_signed(signed(a, bits), signed(b, bits)), bits, is_index)
    on_unsigned = _UNSIGNED.get(name)
    if on_unsigned is not None:
        return lambda a, b: normal(on_unsigned(a & mask, b & mask), bits, is_index)
    if name == "shli":
        return lambda a, b: normal(a << b if 0 <= b < bits else 0, bits, is_index)
    if name == "shrui":
        return lambda a, b: normal((a & mask) >> b if 0 <= b < bits else 0, bits, is_index)
    if name == "shrsi":
        return lambda a, b: normal(
            signed(a, bits) >> (b if 0 <= b < bits else bits), bits, is_index
        )
    return None


def compare(predicate: int, bits: int) -> Callable[[int, int], int]:
    """The function of ``arith.cmpi`` with a predicate number."""
    relation = _RELATIONS[predicate]
    if predicate < 6:
        return lambda a, b: int(relation(signed(a, bits), signed(b, bits)))
    mask = (1 << bits) - 1
    return lambda a, b: int(relation(a & mask, b & mask))


def unary(name: str, bits_in: int, bits_out: int, is_index: bool) -> Callable[[int], int] | None:
    """The function of a cast or a bit count on values as they are kept; None if unknown."""
    mask = (1 << bits_in) - 1
    if name in ("extsi", "index_cast"):
        return lambda a: normal(signed(a, bits_in), bits_out, is_index)
    if name in ("extui", "index_castui", "trunci"):
        return lambda a: normal(a & mask, bits_out, is_index)
    if name == "ctlz":
        return lambda a: bits_in - (a & mask).bit_length()
    if name == "cttz":
        return lambda a: ((a & -a).bit_length() - 1) if a & mask else bits_in
    if name == "ctpop":
        return lambda a: (a & mask).bit_count()
    if name == "absi":
        return lambda a: normal(abs(signed(a, bits_in)), bits_out, is_index)
    return None


def _truncated(a: int, b: int) -> int:
    if b == 0:
        return -1
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_RAW: dict[str, Fold] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
_SIGNED: dict[str, Fold] = {
    "divsi": _truncated,
    "floordivsi": lambda a, b: a // b if b else -1,
    "ceildivsi": lambda a, b: -(-a // b) if b else -1,
    "remsi": lambda a, b: a - b * _truncated(a, b) if b else a,
    "minsi": min,
    "maxsi": max,
}
_UNSIGNED: dict[str, Fold] = {
    "divui": lambda a, b: a // b if b else -1,
    "ceildivui": lambda a, b: -(-a // b) if b else -1,
    "remui": lambda a, b: a % b if b else a,
    "minui": min,
    "maxui": max,
}
_RELATIONS: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)
