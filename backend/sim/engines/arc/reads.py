"""Reads of one register with no write of it between them are one read, in one pass over a model.

CIRCT's ``cse`` looks through all operations between two reads for a write of anything, which takes time in
the square of the registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.backend.rtl._circt import ir

from .graph import STATE_READ, STATE_WRITE, STORAGE

_Place = tuple[int, ir.Type]


def merge_reads(model: ir.OpView) -> None:
    """Merge the reads of a model, and the names of its registers, in place.

    Args:
        model: an ``arc.model`` whose storage has been allocated. Functions that it calls compute on
            values alone.
    """
    block = model.regions[0].blocks[0]
    _merge_names(block, block.arguments[0])
    written = {op.operands[0] for op, _ in _walk(block, None) if op.name == STATE_WRITE}
    _Merger(written).visit(block, None)


def _walk(
    block: ir.Block, outermost: ir.Operation | None
) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """All operations, each with the operation of the outermost block that it is or lies in."""
    for op in [view.operation for view in block.operations]:
        around = outermost or op
        inner = [part for region in op.regions for part in region.blocks]
        yield op, around  # which may be erased meanwhile
        for part in inner:
            yield from _walk(part, around)


def _merge_names(block: ir.Block, storage: ir.Value) -> None:
    names: dict[_Place, ir.Value] = {}
    for op, around in _walk(block, None):
        if op.name != STORAGE or op.operands[0] != storage:
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
            if op.name == STATE_READ:
                self._read(op, outermost, before)
                continue
            ended = {op.operands[0]} if op.name == STATE_WRITE else set()
            for region in op.regions:
                for inner in region.blocks:
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
