"""What an SSA value is called in the emitted C++: scalars, arrays, streams, index expressions."""

from __future__ import annotations

from dataclasses import dataclass

from ..text.ctype import CType


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
        base: the array of which this is a view, or None.
        selectors: for a view, one (offset, step, kept) for each dimension of the base.
    """

    name: str
    shape: tuple[int, ...]
    ctype: CType
    flat: bool = False
    boxed: bool = False
    base: Buffer | None = None
    selectors: tuple[tuple[str, int, bool], ...] = ()

    def element(self, subscripts: list[str]) -> str:
        """The C++ lvalue of one element."""
        if self.base is not None:
            return self.base.element(self._base_subscripts(subscripts))
        if not self.shape:
            return f"{self.name}[0]" if self.boxed or self.flat else self.name
        if not self.flat:
            return self.name + "".join(f"[{s}]" for s in subscripts)
        text = subscripts[0]
        for extent, subscript in zip(self.shape[1:], subscripts[1:], strict=True):
            text = f"({text}) * {extent} + ({subscript})"
        return f"{self.name}[{text}]"

    def _base_subscripts(self, subscripts: list[str]) -> list[str]:
        remaining = iter(subscripts)
        texts = []
        for offset, step, kept in self.selectors:
            if not kept:
                texts.append(offset)
                continue
            inner = next(remaining)
            scaled = inner if step == 1 else f"({inner}) * {step}"
            texts.append(scaled if offset == "0" else f"{offset} + {scaled}")
        return texts

    def pointer(self) -> str | None:
        """A C++ expression that passes as an array of this shape, or None where it is not dense."""
        if self.base is None:
            return self.name if self.shape or self.boxed or self.flat else f"&{self.name}"
        if self.base.base is not None:
            return None
        extents = self.base.shape
        leading = 0
        while leading < len(extents) and not self.selectors[leading][2]:
            leading += 1
        rest = list(zip(self.selectors[leading:], extents[leading:], strict=True))
        kept = list(self.shape)
        dense = all(step == 1 and is_kept for (_, step, is_kept), _ in rest)
        whole = all(
            extent == size and offset == "0"
            for ((offset, _, _), extent), size in zip(rest[1:], kept[1:], strict=False)
        )
        if not dense or not whole or not rest or (self.base.flat and len(kept) > 1):
            return None
        start = [s[0] for s in self.selectors[: leading + 1]]
        start += ["0"] * (len(extents) - leading - 1)
        if self.base.flat or len(rest) == 1:
            return f"&{self.base.element(start)}"
        return f"&{self.base.name}" + "".join(f"[{s}]" for s in start[: leading + 1])

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
