"""What an SSA value is called in the emitted C++: scalars, arrays, streams, index expressions."""

from __future__ import annotations

from dataclasses import dataclass

from .ctype import CType


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar in C++: an atom (identifier, literal or parenthesised expression).

    Attributes:
        text: the atom; for a constant, unused (the literal depends on its use).
        ctype: with which type it was declared.
        const: its value when it is a constant.
        need: bits of two's complement that hold every value it can take, at most the width.
        low, high: inclusive range, for index values; None where unknown.
    """

    text: str
    ctype: CType
    const: int | float | None = None
    need: int = 0
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array in C++.

    Attributes:
        name: its identifier.
        shape: extents; () for a scalar variable.
        ctype: element type.
        flat: whether it is addressed by one linear subscript (a pointer port).
        boxed: whether a variable without dimensions is an array of one (a parameter).
    """

    name: str
    shape: tuple[int, ...]
    ctype: CType
    flat: bool = False
    boxed: bool = False

    def element(self, subscripts: list[str]) -> str:
        """The C++ lvalue of one element."""
        if not self.shape:
            return f"{self.name}[0]" if self.boxed or self.flat else self.name
        if not self.flat:
            return self.name + "".join(f"[{s}]" for s in subscripts)
        text = subscripts[0]
        for extent, subscript in zip(self.shape[1:], subscripts[1:], strict=True):
            text = f"({text}) * {extent} + ({subscript})"
        return f"{self.name}[{text}]"

    def declarator(self) -> str:
        """``name[4][4]``, or ``*name`` for a pointer port."""
        if self.flat:
            return f"*{self.name}"
        dims = self.shape or ((1,) if self.boxed else ())
        return self.name + "".join(f"[{extent}]" for extent in dims)


@dataclass(frozen=True, slots=True)
class StreamRef:
    """A FIFO in C++: its identifier, element type and block shape (() for scalars)."""

    name: str
    ctype: CType
    block: tuple[int, ...] = ()


Bound = Scalar | Buffer | StreamRef
