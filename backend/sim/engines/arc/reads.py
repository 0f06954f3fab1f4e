"""Reads of one register with no write of it between them are one read, in one pass over a model.

CIRCT's ``cse`` looks through all operations between two reads for a write of anything, which takes time in
the square of the registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.backend.rtl._circt import ir

from .graph import STATE_READ, STATE_WRITE, STORAGE

_PLAIN = ("comb.", "arith.", "hw.constant", STATE_READ, STATE_WRITE, STORAGE)
"""How the names of operations begin that hold no blocks."""

_Place = tuple[int, ir.Type]


def merge_reads(model: ir.OpView) -> None:
    """Merge the reads of a model, and the names of its registers, in place.

    Args:
        model: an ``arc.model`` whose storage has been allocated. Functions that it calls compute on
            values alone.
    """
    block = model.regions[0].blocks[0]
    operations = list(_walk(block, None))
    _merge_names(operations, block.arguments[0])
    written = {op.operands[0] for op, name, _ in operations if name == STATE_WRITE}
    _Merger(written).visit(block, None)


def _walk(
    block: ir.Block, outermost: ir.Operation | None
) -> Iterator[tuple[ir.Operation, str, ir.Operation]]:
    """All operations, their names, and the operation of the outermost block that each is or lies in."""
    for view in block.operations:
        op = view.operation
        name = op.name
        around = outermost or op
        yield op, name, around
        for part in _inside(op, name):
            yield from _walk(part, around)


def _inside(op: ir.Operation, name: str) -> list[ir.Block]:
    """The blocks in an operation."""
    if name.startswith(_PLAIN):
        return []
    return [block for region in op.regions for block in region.blocks]


def _merge_names(
    operations: list[tuple[ir.Operation, str, ir.Operation]], storage: ir.Value
) -> None:
    names: dict[_Place, ir.Value] = {}
    for op, name, around in operations:
        if name != STORAGE or op.operands[0] != storage:
            continue
        state = op.results[0]
        first = names.setdefault((ir.IntegerAttr(op.attributes["offset"]).value, state.type), state)
        if first is not state:
            state.replace_all_uses_with(first)
            op.erase()
        elif op != around:
            op.move_before(around)


class _Merger:
    """The reads whose values still hold, in front of the current operation.

    Args:
        written: the registers that the model writes anywhere.
    """

    def __init__(self, written: set[ir.Value]) -> None:
        self._written = written
        self._known: dict[ir.Value, ir.Value] = {}

    def visit(self, block: ir.Block, outermost: ir.Operation | None) -> set[ir.Value]:
        """Merge what a block holds; gives the registers that it may write."""
        written: set[ir.Value] = set()
        before: dict[ir.Value, ir.Value | None] = {}
        for op in [view.operation for view in block.operations]:
            name = op.name
            if name == STATE_READ:
                self._read(op, outermost, before)
                continue
            ended = {op.operands[0]} if name == STATE_WRITE else set()
            for inner in _inside(op, name):
                ended |= self.visit(inner, outermost or op)
            for state in ended:
                before.setdefault(state, self._known.pop(state, None))
            written |= ended
        if outermost is not None:
            self._restore(before)
        return written

    def _read(
        self,
        op: ir.Operation,
        outermost: ir.Operation | None,
        before: dict[ir.Value, ir.Value | None],
    ) -> None:
        state = op.operands[0]
        known = self._known.get(state)
        if known is not None:
            op.results[0].replace_all_uses_with(known)
            op.erase()
            return
        if outermost is not None and state not in self._written:
            op.move_before(outermost)
        else:
            before.setdefault(state, None)
        self._known[state] = op.results[0]

    def _restore(self, before: dict[ir.Value, ir.Value | None]) -> None:
        """Forget what is known in a block alone."""
        for state, value in before.items():
            if value is None:
                self._known.pop(state, None)
            else:
                self._known[state] = value
