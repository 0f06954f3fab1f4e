"""Pieces of text in LLVM's dialect, and where packs lie in the block of state."""

from __future__ import annotations

from .layout import Layout, alignment_of, stored_type, value_type
from .nodes import Node, UnpackableError


class Text:
    """The lines of one block of a function of the state ``%s``.

    Args:
        first: how many values the function has before.
    """

    def __init__(self, layout: Layout, first: int = 0) -> None:
        self.lines: list[str] = []
        self._layout = layout
        self._texts: dict[str, str] = {}
        self._count = first

    # --- pieces of text -----------------------------------------------------------

    def op(self, text: str) -> str:
        """The value of an operation without effects."""
        if text not in self._texts:
            self._count += 1
            self._texts[text] = f"%v{self._count}"
            self.lines.append(f"  %v{self._count} = {text}")
        return self._texts[text]

    def two(self, name: str, a: str, b: str, kind: str) -> str:
        """``llvm.<name>`` of two values."""
        return self.op(f"llvm.{name} {a}, {b} : {kind}")

    def constant(self, value: int, kind: str) -> str:
        """A constant; each lane of a vector has it."""
        bits = int(kind.rstrip(">").rsplit("i", 1)[1])
        value &= (1 << bits) - 1
        signed = value - (1 << bits) if value >> (bits - 1) else value
        text = str(signed) if bits > 1 else ("true" if value else "false")
        if kind.startswith("vector"):
            return self.op(f"llvm.mlir.constant(dense<{text}> : {kind}) : {kind}")
        return self.op(f"llvm.mlir.constant({text}{'' if bits == 1 else f' : {kind}'}) : {kind}")

    def resized(self, value: str, bits: int, wanted: int) -> str:
        """An integer, cut or extended by zeros."""
        if bits == wanted:
            return value
        name = "zext" if wanted > bits else "trunc"
        return self.op(f"llvm.{name} {value} : i{bits} to i{wanted}")

    def _converted(self, value: str, kind: str, wanted: str) -> str:
        if kind == wanted:
            return value
        have, want = (int(k.rstrip(">").rsplit("i", 1)[1]) for k in (kind, wanted))
        name = "zext" if want > have else "trunc"
        return self.op(f"llvm.{name} {value} : {kind} to {wanted}")

    def _shifted(self, value: str, bits: int, distance: int) -> str:
        """To the left; to the right where the distance is negative."""
        if not distance:
            return value
        amount = self.constant(abs(distance), f"i{bits}")
        return self.two("shl" if distance > 0 else "lshr", value, amount, f"i{bits}")

    # --- memory -------------------------------------------------------------------

    def load(self, node: Node, part: int, word: int = 0) -> str:
        """A part of a register, or of a word of a memory, as it is before the clock edge."""
        address = self.address(self._layout.offset(node, part, word))
        stored = stored_type(node)
        value = self.op(f"llvm.load {address} {_aligned(node)} : !llvm.ptr -> {stored}")
        return self._converted(value, stored, value_type(node))

    def address(self, offset: int) -> str:
        """The address of a place in the state."""
        return self.op(f"llvm.getelementptr %s[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8")

    def store(self, value: str, node: Node, part: int, word: int = 0) -> None:
        """Store a part of a register, or of a word of a memory."""
        address = self.address(self._layout.offset(node, part, word))
        stored = stored_type(node)
        value = self._converted(value, value_type(node), stored)
        self.lines.append(f"  llvm.store {value}, {address} {_aligned(node)} : {stored}, !llvm.ptr")

    def port(self, name: str, width: int) -> str:
        """The value of an input."""
        bits = -(-width // 8) * 8
        address = self.address(self._layout.ports[name])
        value = self.op(f"llvm.load {address} {{alignment = 1 : i64}} : !llvm.ptr -> i{bits}")
        return self.resized(value, bits, width)

    def put_port(self, name: str, width: int, value: str) -> None:
        """Store an output."""
        bits = -(-width // 8) * 8
        address = self.address(self._layout.ports[name])
        value = self.resized(value, width, bits)
        self.lines.append(
            f"  llvm.store {value}, {address} {{alignment = 1 : i64}} : i{bits}, !llvm.ptr"
        )

    # --- vectors ----------------------------------------------------------------

    def _list(self, values: list[int], kind: str) -> str:
        """A constant vector."""
        bits = int(kind.rstrip(">").rsplit("i", 1)[1])
        signed = (value - (1 << bits) if value >> (bits - 1) else value for value in values)
        text = ", ".join(map(str, signed))
        return self.op(f"llvm.mlir.constant(dense<[{text}]> : {kind}) : {kind}")

    def _splat(self, value: str, kind: str, lanes: int) -> str:
        """A scalar in each lane."""
        zero = self.constant(0, "i64")
        nothing = self.op(f"llvm.mlir.undef : {kind}")
        one = self.op(f"llvm.insertelement {value}, {nothing}[{zero} : i64] : {kind}")
        return self._shuffled(one, one, [0] * lanes, kind, lanes)

    def _shuffled(self, a: str, b: str, mask: list[int], kind: str, lanes: int) -> str:
        places = ", ".join(map(str, mask))
        if len(mask) != lanes:
            raise UnpackableError("lanes")
        return self.op(f"llvm.shufflevector {a}, {b} [{places}] : {kind}")


def _aligned(node: Node) -> str:
    return f"{{alignment = {alignment_of(node)} : i64}}"
