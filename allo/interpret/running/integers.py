"""Integer and fixed-point operations that Python has otherwise: division, shifts, bits."""

from __future__ import annotations


def truncating(left: int, right: int) -> int:
    """``/`` of integers: cut toward zero, all bits one for a divisor of zero."""
    if not right:
        return -1
    if left >= 0 and right > 0:
        return left // right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def flooring(left: int, right: int) -> int:
    """``//`` of integers: rounded down, all bits one for a divisor of zero."""
    return left // right if right else -1


def remainder(left: int, right: int) -> int:
    """``%`` of integers: the sign of the dividend, and the dividend for a divisor of zero."""
    if not right:
        return left
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def shift_left(value: int, amount: int, bits: int) -> int:
    """``<<`` before it wraps: by the width or more, or by a negative amount, nothing is left."""
    return value << amount if 0 <= amount < bits else 0


def shift_right(value: int, amount: int, bits: int) -> int:
    """``>>``: by the width or more, or by a negative amount, only the sign is left."""
    if 0 <= amount < bits:
        return value >> amount
    return -1 if value < 0 else 0


def reverse(value: int, bits: int) -> int:
    """The pattern of ``bits`` bits, read from the other end, as an unsigned number."""
    result = 0
    for _ in range(bits):
        result = result << 1 | (value & 1)
        value >>= 1
    return result


def fixed_quotient(left: int, right: int, up: int, down: int) -> int:
    """``left * 2**up / (right * 2**down)``, cut toward zero; all bits one for zero."""
    return truncating(left << up, right << down)


def fixed_floor(left: int, right: int, up: int, down: int, fracs: int) -> int:
    """The largest whole number not above ``left * 2**up / (right * 2**down)``, with its
    fraction bits; all of its whole bits one for zero."""
    return flooring(left << up, right << down) << fracs
