"""Operations that several iterations of a tile share: those on which some of its loops have no say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import induction_variable, is_loop, string_attribute, walk

_LOADS = ("affine.load", "memref.load")
_STORES = ("affine.store", "memref.store")
_PLAIN = ("arith.", "math.", "affine.apply")


class Deciding:
    """Which loops of a nest decide on a value; all around it, where that is not plain.

    ``alpha * A[i, k]`` is one product for all iterations of a loop j beside i and k.
    """

    def __init__(self, root: ir.Operation) -> None:
        loops = [root, *(op for op in walk(root) if is_loop(op))]
        self._names = {
            induction_variable(op): string_attribute(op, "loop_name") or "L" for op in loops
        }
        self._known: dict[ir.Value, frozenset[str]] = {}
        self._stored = {op.operands[1] for op in walk(root) if op.name in _STORES}
        self._inside = set(walk(root))

    def of(self, op: ir.Operation) -> frozenset[str]:
        """The names of the loops that decide on the operands of an operation of the body."""
        parent = op.parent
        if parent is None or not is_loop(parent.operation):
            return frozenset(self._around(op))  # in a branch
        return self._joined(op.operands)

    def _joined(self, values: Iterable[ir.Value]) -> frozenset[str]:
        return frozenset[str]().union(*(self._value(value) for value in values))

    def _around(self, op: ir.Operation) -> Iterator[str]:
        while op in self._inside:
            op = op.parent.operation
            if is_loop(op):
                yield self._names[induction_variable(op)]

    def _value(self, value: ir.Value) -> frozenset[str]:
        if value in self._names:
            return frozenset((self._names[value],))
        if value not in self._known:
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: ir.Value) -> frozenset[str]:
        owner = value.owner
        if isinstance(owner, ir.Block):
            owner = owner.owner
            return frozenset(self._around(owner.operation))
        op = owner.operation
        if op not in self._inside:
            return frozenset()
        if op.name in _LOADS and op.operands[0] not in self._stored:
            return self._joined(list(op.operands)[1:])
        if op.name.startswith(_PLAIN):
            return self._joined(op.operands)
        return frozenset(self._around(op))
