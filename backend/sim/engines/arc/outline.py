"""Long sequences of operations as functions of their own.

LLVM takes a time that is quadratic in the operations of a block of code. Functions of bounded length
make it linear. What one computes for others lies in the block of state, behind the registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.backend.rtl._circt import ir

from .graph import MEMORY_READ, MEMORY_WRITE, STATE_READ, STATE_WRITE, STORAGE
from .words.parts import bits_of

LONGEST = 600
"""Operations of a block that is left as it is."""
LENGTH = 300
"""Operations of a function made of a part of a longer block."""
_CONDITIONAL = 4
"""What an access to a memory counts: a comparison of the address, an access and two blocks of code."""
_MEMORY = ("arc.root_input", "arc.root_output", "arc.alloc_state", "arc.alloc_memory", STORAGE)
_COPIED = ("hw.constant", *_MEMORY)
_CLOSED = ("scf.yield", "arc.as_context", "arc.set_next_wakeup")


class Outliner:
    """Makes the functions of a model.

    Attributes:
        size: bytes of state, those for values between functions included.
    """

    def __init__(self, model: ir.Operation, size: int) -> None:
        self._model = model
        self._storage = model.regions[0].blocks[0].arguments[0]
        self._name = ir.StringAttr(model.attributes["sym_name"]).value
        self._count = 0
        self._first = self.size = -(-size // 8) * 8
        self._slots: dict[ir.Value, int] = {}

    def function(self, ops: list[ir.Operation]) -> None:
        """Replace operations that follow each other by a call; nothing else uses their results."""
        with self._model.context, ir.Location.unknown():
            self._outline(ops)

    def cut(self) -> None:
        """Make functions of the parts of long blocks."""
        with self._model.context, ir.Location.unknown():
            for block in list(_blocks(self._model)):
                self._cut_block(block)

    def _cut_block(self, block: ir.Block) -> None:
        ops = [view.operation for view in block.operations]
        if sum(map(_length, ops)) <= LONGEST:
            return
        part: list[ir.Operation] = []
        length = 0
        for op in ops:
            if op.name in _COPIED:
                continue
            closed = bool(len(op.regions)) or op.name in _CLOSED
            full = length >= LENGTH and not self._keeps(op)
            if (closed or full) and len(part) > 1:
                self._segment(part)
            if closed or full:
                part, length = [], 0
            if not closed:
                part.append(op)
                length += _length(op)
        if len(part) > 1:
            self._segment(part)

    def _keeps(self, op: ir.Operation) -> bool:
        """Whether an operation keeps the value of the one before it for other functions."""
        return op.name == STATE_WRITE and offset_of(op.operands[0]) >= self._first

    def _segment(self, ops: list[ir.Operation]) -> None:
        """A function of operations whose results others may use."""
        inside: dict[ir.Value, list[tuple[ir.Operation, int]]] = {}
        for op in ops:
            for position, value in enumerate(op.operands):
                inside.setdefault(value, []).append((op, position))
        last, moved = ops[-1], []
        for op in ops:
            moved.append(op)
            for value in op.results:
                own = inside.get(value, [])
                if sum(1 for _ in value.uses) == len(own):
                    continue
                if not bits_of(value):
                    return
                write = self._slot(value)
                if write is not None:
                    own = [*own, (write, 1)]
                    moved.append(write)
                with ir.InsertionPoint.after(last):
                    loaded = self._load(value, self._storage)
                value.replace_all_uses_with(loaded)
                for user, position in own:
                    user.operands[position] = value
        self._outline(moved)

    def _outline(self, ops: list[ir.Operation]) -> None:
        captured = self._captured(ops)
        given = [value for value, how in captured.items() if how == "given"]
        kinds = [self._storage.type, *(value.type for value in given)]
        name = f"{self._name}_part{self._count}"
        self._count += 1
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(kinds, [])),
        }
        with ir.InsertionPoint.after(self._model):
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = function.regions[0].blocks.append(*kinds)
        with ir.InsertionPoint(ops[0]):
            callee = ir.FlatSymbolRefAttr.get(name)
            ir.Operation.create(
                "func.call", operands=[self._storage, *given], attributes={"callee": callee}
            )
        for value, how in captured.items():
            if how == "kept":
                self._slot(value)
        inside = dict(zip(given, list(block.arguments)[1:], strict=True))
        inside[self._storage] = block.arguments[0]
        with ir.InsertionPoint(block):
            for value, how in captured.items():
                if how == "copied":
                    inside[value] = _copy(value, block.arguments[0])
                elif how == "kept":
                    inside[value] = self._load(value, block.arguments[0])
            end = ir.Operation.create("func.return")
        for op in ops:
            op.move_before(end)
            for position, value in enumerate(list(op.operands)):
                if value in inside:
                    op.operands[position] = inside[value]

    def _captured(self, ops: list[ir.Operation]) -> dict[ir.Value, str]:
        """The values from outside that operations use, and how they come inside."""
        own = {result for op in ops for result in op.results}
        found: dict[ir.Value, str] = {}
        for op in ops:
            for value in op.operands:
                if value in own or value in found or value == self._storage:
                    continue
                owner = value.owner
                if isinstance(owner, ir.Block):
                    found[value] = "given"
                elif owner.name in _COPIED or self._is_kept(owner.operation):
                    found[value] = "copied"
                else:
                    found[value] = "kept" if bits_of(value) else "given"
        return found

    def _is_kept(self, op: ir.Operation) -> bool:
        """Whether an operation reads what a function kept."""
        return op.name == STATE_READ and offset_of(op.operands[0]) >= self._first

    def _slot(self, value: ir.Value) -> ir.Operation | None:
        """Keep a value in the block of state from where it is computed; the new write, if any."""
        if value in self._slots:
            return None
        room = room_of(bits_of(value))
        align = min(room, 16)  # as LLVM takes it for granted
        offset = self._slots[value] = -(-self.size // align) * align
        self.size = offset + room
        with ir.InsertionPoint.after(value.owner.operation):
            place = _state(self._storage, offset, value)
            return ir.Operation.create(STATE_WRITE, operands=[place, value])

    def _load(self, value: ir.Value, storage: ir.Value) -> ir.Value:
        place = _state(storage, self._slots[value], value)
        return ir.Operation.create(STATE_READ, results=[value.type], operands=[place]).result


def room_of(bits: int) -> int:
    """Bytes in which a value is kept: a power of two up to a word of 64 bits, whole words above.

    Values of one width lie without gaps. LLVM's vectoriser tries loads with gaps in all
    combinations, in a time that is quadratic in their number.
    """
    count = -(-bits // 8)
    return 1 << (count - 1).bit_length() if count < 8 else -(-count // 8) * 8


def _length(op: ir.Operation) -> int:
    """How many operations one becomes, about."""
    return _CONDITIONAL if op.name in (MEMORY_READ, MEMORY_WRITE) else 1


def _blocks(root: ir.Operation) -> Iterator[ir.Block]:
    """The blocks inside an operation, inner ones first."""
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _blocks(view.operation)
            yield block


def offset_of(state: ir.Value) -> int:
    """The byte offset of a state's storage, or -1."""
    owner = state.owner
    if isinstance(owner, ir.Block) or "offset" not in owner.attributes:
        return -1
    return int(ir.IntegerAttr(owner.attributes["offset"]).value)


def _state(storage: ir.Value, offset: int, value: ir.Value) -> ir.Value:
    """The storage of a value at an offset."""
    return ir.Operation.create(
        STORAGE,
        results=[ir.Type.parse(f"!arc.state<{value.type}>")],
        operands=[storage],
        attributes={"offset": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), offset)},
    ).result


def _copy(value: ir.Value, storage: ir.Value) -> ir.Value:
    owner = value.owner.operation
    if owner.name == "hw.constant":
        return owner.clone().results[0]
    if owner.name == STATE_READ:
        place = _copy(owner.operands[0], storage)
        return ir.Operation.create(STATE_READ, results=[value.type], operands=[place]).result
    return ir.Operation.create(
        STORAGE,
        results=[value.type],
        operands=[storage],
        attributes={"offset": owner.attributes["offset"]},
    ).result
