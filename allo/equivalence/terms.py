"""Values of a symbolic execution: Python ints where known, shared expressions where not.

An integer of width w is an ``int`` in ``0 … 2**w - 1``; an index is a signed ``int``. Floats are
always terms, constants included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

type Value = int | Term

INDEX_BITS = 64


class Term:
    """A shared expression: equal expressions of one table are one object.

    Attributes:
        op: operation, with what it depends on beside its operands (predicate, operand types).
        kind: MLIR type of the value.
        args: operands, older than the term itself.
        number: age in its table.
    """

    __slots__ = ("args", "kind", "number", "op")

    def __init__(self, op: str, kind: str, args: tuple[Value, ...], number: int) -> None:
        self.op = op
        self.kind = kind
        self.args = args
        self.number = number


class Terms:
    """The table both programs build their expressions in."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, str, tuple[Value, ...]], Term] = {}

    def make(self, op: str, kind: str, args: tuple[Value, ...] = ()) -> Term:
        """The term of an operation, made once."""
        key = (op, kind, args)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = Term(op, kind, args, len(self._table))
        return found

    def select(self, condition: Value, kind: str, then: Value, other: Value) -> Value:
        """``then`` where the condition holds, ``other`` where not."""
        if isinstance(condition, int):
            return then if condition else other
        if then is other or (isinstance(then, int) and then == other):
            return then
        return self.make("arith.select", kind, (condition, then, other))


@cache
def width_of(kind: str) -> int:
    """Bits of an integer or index type; 0 for any other."""
    if kind == "index":
        return INDEX_BITS
    return int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 0


_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
}
_CASTS = ("arith.ext", "arith.trunc", "arith.index_cast")


def describe(value: Value, depth: int = 4) -> str:
    """An expression as a person would write it, cut at ``depth``."""
    if isinstance(value, int):
        return str(value)
    name = value.op.split(" ")[0]
    if name in ("input", "undef"):
        text = value.op.split(" ", 1)[1]
        return text if name == "input" else f"undefined {text}"
    if name == "const":
        return value.op.split(" ", 1)[1]
    if name.startswith(_CASTS):
        return describe(value.args[0], depth)
    if depth == 0:
        return "…"
    parts = [describe(a, depth - 1) for a in value.args]
    sign = _SIGNS.get(name.removeprefix("arith.").rstrip("fius"))
    if sign and len(parts) == 2:
        return f"({parts[0]} {sign} {parts[1]})"
    if name == "arith.select":
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    label = value.op.split(":")[0].removeprefix("arith.").removeprefix("math.")
    return f"{label}({_listed(parts)})"


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts if len(parts) <= 4 else [*parts[:3], "…"])


def element_name(name: str, position: int, shape: Iterable[int]) -> str:
    """``A[2, 3]``: an element by its place in row-major order; ``name`` for a scalar."""
    extents = list(shape)
    if not extents:
        return name
    indices = []
    for extent in reversed(extents):
        indices.append(position % extent)
        position //= extent
    return f"{name}[{', '.join(map(str, reversed(indices)))}]"
