"""What the operators must compute, in plain Python integers."""

from __future__ import annotations

from collections.abc import Callable


def signed(value: int, width: int) -> int:
    """Two's complement reading of a bit vector."""
    return value - (1 << width) if value >> (width - 1) else value


def _truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def _quotient(op: str, a: int, b: int) -> int:
    if b == 0:
        return a if op.startswith("rem") else -1
    if op.startswith("floordiv"):
        return a // b
    if op.startswith("ceildiv"):
        return -(-a // b)
    whole = _truncating(a, b)
    return whole if op.startswith("div") else a - whole * b


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def binary(op: str, a: int, b: int, width: int) -> int:
    """Result bits of a two-operand ``arith`` operation (name without the dialect)."""
    sa, sb = signed(a, width), signed(b, width)
    left, right = (sa, sb) if op.endswith("si") else (a, b)
    simple: dict[str, Callable[[], int]] = {
        "addi": lambda: a + b,
        "subi": lambda: a - b,
        "muli": lambda: a * b,
        "andi": lambda: a & b,
        "ori": lambda: a | b,
        "xori": lambda: a ^ b,
        "shli": lambda: a << min(b, width),
        "shrui": lambda: a >> min(b, width),
        "shrsi": lambda: sa >> min(b, width),
        "minsi": lambda: min(left, right),
        "minui": lambda: min(left, right),
        "maxsi": lambda: max(left, right),
        "maxui": lambda: max(left, right),
    }
    result = simple[op]() if op in simple else _quotient(op, left, right)
    return result & ((1 << width) - 1)


def compare(predicate: str, a: int, b: int, width: int) -> int:
    """Result bit of ``arith.cmpi``."""
    if predicate[0] == "s":
        a, b = signed(a, width), signed(b, width)
    return int(_COMPARE[predicate[-2:]](a, b))
