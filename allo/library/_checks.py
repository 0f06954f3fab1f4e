"""Conditions on template arguments, evaluated while a kernel compiles."""

from __future__ import annotations


def reaches(outputs: int, stride: int, window: int) -> int:
    """The extent of an image over which ``outputs`` windows lie side by side."""
    return (outputs - 1) * stride + window


def quotient(whole: int, part: int) -> int:
    """``whole // part`` where it leaves no rest.

    Raises:
        ValueError: otherwise; the compiler reports it at the kernel's line.
    """
    if part <= 0 or whole % part:
        raise ValueError(f"{part} does not divide {whole}")
    return whole // part
