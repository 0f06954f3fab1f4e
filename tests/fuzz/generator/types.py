"""Element types as the generator sees them, and the type of an operation's result.

The tables are those of docs/language.md, written a second time: the generator only needs them to
write programs that are well typed and whose widths stay bounded.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

MAX_BITS = 250
"""Wider results are cast down before they are used again."""

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOAT_BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}


@dataclass(frozen=True, slots=True)
class Ty:
    """A scalar type: kind is int, uint, index, fixed, ufixed, or the name of a float.

    ``modes`` is how a fixed-point type says its rounding and its overflow, as text.
    """

    kind: str
    bits: int
    frac: int = 0
    modes: str = ""

    @property
    def text(self) -> str:
        """How a kernel writes it."""
        if self.kind == "int":
            return f"Int({self.bits})"
        if self.kind == "uint":
            return f"UInt({self.bits})"
        if self.kind in ("fixed", "ufixed"):
            return (
                f"{'U' if self.kind[0] == 'u' else ''}Fixed({self.bits}, {self.frac}{self.modes})"
            )
        return self.kind

    @property
    def is_float(self) -> bool:
        return self.kind in MANTISSA

    @property
    def is_fixed(self) -> bool:
        return self.kind in ("fixed", "ufixed")

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint", "index")

    @property
    def signed(self) -> bool:
        return self.kind in ("int", "fixed")

    @property
    def whole(self) -> int:
        """Bits before the point."""
        return self.bits - self.frac


def other_signedness(ty: Ty) -> Ty:
    """An integer type of the same width; other types as they are."""
    kinds = {"int": "uint", "uint": "int"}
    return Ty(kinds[ty.kind], ty.bits) if ty.kind in kinds else ty


INDEX = Ty("index", 32)
BOOL = Ty("uint", 1)
INT32 = Ty("int", 32)
FLOAT32 = Ty("float32", 32)


def integer(bits: int, *, signed: bool) -> Ty:
    return Ty("int" if signed else "uint", bits)


def floating(name: str) -> Ty:
    return Ty(name, FLOAT_BITS[name])


def result(op: str, a: Ty, b: Ty) -> Ty | None:
    """The type of ``a op b``, or None where the tables have none."""
    if op in ("<<", ">>"):
        return a if not a.is_float and b.is_integer else None
    if op in ("&", "|", "^"):
        return _bitwise(a, b)
    if a.is_float or b.is_float:
        if not a.is_float:
            return b
        return a if not b.is_float or a.bits >= b.bits else b
    if a == b == INDEX and op in ("+", "-", "*", "//", "/", "%", "?"):
        return INDEX
    if op in ("+", "-", "%", "?"):
        return _aligned(a, b, 1 if op in "+-" else 0)
    if op == "*":
        return _product(a, b)
    if op in ("/", "//"):
        return _quotient(a, b)
    return None


def _bitwise(a: Ty, b: Ty) -> Ty | None:
    if not (a.is_integer and b.is_integer):
        return None
    if a == b == INDEX:
        return INDEX
    return integer(max(a.bits, b.bits), signed=a.signed or b.signed)


def _aligned(a: Ty, b: Ty, grow: int) -> Ty:
    signed = a.signed or b.signed
    whole = max(
        a.whole + (signed and not a.signed),
        b.whole + (signed and not b.signed),
    )
    frac = max(a.frac, b.frac)
    return _made(whole + frac + grow, frac, signed, a.is_fixed or b.is_fixed)


def _product(a: Ty, b: Ty) -> Ty:
    return _made(a.bits + b.bits, a.frac + b.frac, a.signed or b.signed, a.is_fixed or b.is_fixed)


def _quotient(a: Ty, b: Ty) -> Ty | None:
    if not (a.is_fixed or b.is_fixed):
        if a.kind == "index":
            return integer(32, signed=True) if b.signed else INDEX
        return integer(a.bits, signed=a.signed or b.signed)
    bits, signed = a.bits + b.bits, a.signed or b.signed
    if not a.is_fixed:
        extra = a.kind == "int" and b.kind == "ufixed"
        return _made(bits + extra, max(a.bits - b.frac, 0), signed, True)
    extra = (a.kind == "fixed" and b.kind in ("uint", "index", "ufixed")) or (
        a.kind == "ufixed" and b.kind == "int"
    )
    frac = b.bits + a.frac - (b.frac if b.is_fixed else 0)
    return _made(bits + extra, frac, signed, True)


def _made(bits: int, frac: int, signed: bool, fixed: bool) -> Ty:
    if fixed:
        return Ty("fixed" if signed else "ufixed", bits, frac)
    return integer(bits, signed=signed)


# --- random types -------------------------------------------------------------

_COMMON = (8, 16, 32, 32, 32, 64)
_ODD = (1, 2, 3, 5, 7, 9, 12, 13, 15, 17, 24, 31, 33, 40, 48, 63)
_WIDE = (65, 70, 96, 100, 127, 128, 129, 130)


def random_integer(rng: random.Random, *, wide: float = 0.12) -> Ty:
    """Int or UInt of 1 to 130 bits, the common widths more often."""
    choice = rng.random()
    if choice < wide:
        bits = rng.choice(_WIDE)
    elif choice < 0.5 + wide / 2:
        bits = rng.choice(_COMMON)
    elif choice < 0.9:
        bits = rng.choice(_ODD)
    else:
        bits = rng.randint(1, 64)
    return integer(bits, signed=rng.random() < 0.55)


def random_float(rng: random.Random) -> Ty:
    return floating(rng.choice(("float32", "float32", "float32", "float64", "float16", "bfloat16")))


_ROUNDING = ("truncate", "nearest", "convergent")
_OVERFLOW = ("wrap", "saturate", "saturate")


def random_modes(rng: random.Random) -> str:
    """How a fixed-point type rounds, and what it does with numbers that are too large."""
    return f', rounding="{rng.choice(_ROUNDING)}", overflow="{rng.choice(_OVERFLOW)}"'


def random_fixed(rng: random.Random) -> Ty:
    bits = rng.choice((4, 7, 8, 12, 16, 16, 18, 24, 32, 33, 40))
    frac = rng.randint(0, bits) if rng.random() < 0.3 else rng.randint(1, max(1, bits - 2))
    return Ty(rng.choice(("fixed", "fixed", "ufixed")), bits, frac)
