"""Integer operations on known values, as ``docs/internals/core_ir.md`` defines them for every operand."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects.core.integers import as_signed, is_unsigned, relation, truncating_division

from .terms import INDEX_BITS

type Fold = Callable[[int, int], int]

COMMUTATIVE = frozenset(
    {"addi", "muli", "andi", "ori", "xori", "minsi", "minui", "maxsi", "maxui"}
    | {"addf", "mulf", "minimumf", "maximumf", "minnumf", "maxnumf"}
)


def normal(value: int, bits: int, is_index: bool) -> int:
    """A result as values are kept: unsigned, an index signed."""
    return as_signed(value, INDEX_BITS) if is_index else value & ((1 << bits) - 1)


def binary(name: str, bits: int, is_index: bool) -> Fold | None:
    """The function of a two-operand operation on values as they are kept; None if unknown."""
    raw = _RAW.get(name)
    if raw is not None:
        return lambda a, b: normal(raw(a, b), bits, is_index)
    mask = (1 << bits) - 1
    on_signed = _SIGNED.get(name)
    if on_signed is not None:
        return lambda a, b: normal(
            on_signed(as_signed(a, bits), as_signed(b, bits)), bits, is_index
        )
    on_unsigned = _UNSIGNED.get(name)
    if on_unsigned is not None:
        return lambda a, b: normal(on_unsigned(a & mask, b & mask), bits, is_index)
    if name == "shli":
        return lambda a, b: normal(a << b if 0 <= b < bits else 0, bits, is_index)
    if name == "shrui":
        return lambda a, b: normal((a & mask) >> b if 0 <= b < bits else 0, bits, is_index)
    if name == "shrsi":
        return lambda a, b: normal(
            as_signed(a, bits) >> (b if 0 <= b < bits else bits), bits, is_index
        )
    return None


def compare(predicate: int, bits: int) -> Callable[[int, int], int]:
    """The function of ``arith.cmpi`` with a predicate number."""
    holds = relation(predicate)
    if not is_unsigned(predicate):
        return lambda a, b: int(holds(as_signed(a, bits), as_signed(b, bits)))
    mask = (1 << bits) - 1
    return lambda a, b: int(holds(a & mask, b & mask))


def unary(name: str, bits_in: int, bits_out: int, is_index: bool) -> Callable[[int], int] | None:
    """The function of a cast or a bit count on values as they are kept; None if unknown."""
    mask = (1 << bits_in) - 1
    if name in ("extsi", "index_cast"):
        return lambda a: normal(as_signed(a, bits_in), bits_out, is_index)
    if name in ("extui", "index_castui", "trunci"):
        return lambda a: normal(a & mask, bits_out, is_index)
    if name == "ctlz":
        return lambda a: bits_in - (a & mask).bit_length()
    if name == "cttz":
        return lambda a: ((a & -a).bit_length() - 1) if a & mask else bits_in
    if name == "ctpop":
        return lambda a: (a & mask).bit_count()
    if name == "absi":
        return lambda a: normal(abs(as_signed(a, bits_in)), bits_out, is_index)
    return None


_RAW: dict[str, Fold] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
_SIGNED: dict[str, Fold] = {
    "divsi": lambda a, b: truncating_division(a, b) if b else -1,
    "floordivsi": lambda a, b: a // b if b else -1,
    "ceildivsi": lambda a, b: -(-a // b) if b else -1,
    "remsi": lambda a, b: a - b * truncating_division(a, b) if b else a,
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
