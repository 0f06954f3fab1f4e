"""The body of a function of an arc model as numbered operations, and the lanes in it.

A lane is a set of writes with what is computed for these writes alone. Values that more than a few writes
use belong to none; a read of a register belongs to each lane that uses its value.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from allo.backend.rtl._circt import ir

from ..graph import MEMORY_READ, MEMORY_WRITE, STATE_READ, STATE_WRITE, STORAGE

CONSTANT = "hw.constant"
MOST_WRITES = 8
"""Writes of one lane that use a value; one with more users is computed outside of lanes."""
_WRITES = frozenset((STATE_WRITE, MEMORY_WRITE))
_NOT_COMPUTED = _WRITES | {STORAGE, CONSTANT, STATE_READ}
_HINT = "sv.namehint"


@dataclass(slots=True)
class Step:
    """An operation.

    Attributes:
        operands: the number of the operation that computes each operand; an argument of the function counts
            from -1 downward.
        state: byte offset of the register or memory that it names, reads or writes, or -1.
        writes: whether it is a write of a register or memory.
        computes: whether it computes a value of others, or takes one from a memory.
    """

    op: ir.Operation
    name: str
    operands: list[int]
    state: int = -1
    writes: bool = field(init=False)
    computes: bool = field(init=False)

    def __post_init__(self) -> None:
        self.writes = self.name in _WRITES
        self.computes = self.name not in _NOT_COMPUTED


@dataclass(slots=True, eq=False)
class Lane:
    """Some writes and all that only they use.

    Attributes:
        numbers: of its operations in order, reads of registers included.
        shape: what it does, the same for lanes that differ only in where what they access lies.
        places: byte offsets of what it accesses, in the order in which the shape has them.
    """

    numbers: list[int]
    shape: tuple[Any, ...] = ()
    places: list[int] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    written: list[int] = field(default_factory=list)


class Body:
    """A function's operations, all in one block.

    Attributes:
        steps: the operations in order, without the return.
        end: the return.
        lanes: in the order of their first writes.
    """

    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.steps: list[Step] = []
        self.lanes: list[Lane] = []
        *operations, self.end = [view.operation for view in block.operations]
        self.known = self._number(operations)
        if self.known:
            self._divide()

    def _number(self, operations: list[ir.Operation]) -> bool:
        """Number the operations; whether all are of kinds that lanes may hold."""
        numbers = {value: -1 - at for at, value in enumerate(self.block.arguments)}
        written: set[int] = set()
        for op in operations:
            step = Step(op, op.name, [numbers[value] for value in op.operands])
            results = op.results
            if len(op.regions) or len(results) != (not step.writes):
                return False
            if step.name == STORAGE:
                if step.operands != [-1]:
                    return False
                step.state = ir.IntegerAttr(op.attributes["offset"]).value
            elif step.writes or step.name in (STATE_READ, MEMORY_READ):
                if step.operands[0] < 0:
                    return False
                step.state = self.steps[step.operands[0]].state
                if not step.writes and step.state in written:
                    return False
            if step.writes:
                written.add(step.state)
            else:
                numbers[results[0]] = len(self.steps)
            self.steps.append(step)
        return True

    def _divide(self) -> None:
        """Find the lanes."""
        users = self._users()
        first: dict[int, int] = {}  # of each write one that stands for its lane

        def lane_of(number: int) -> int:
            while first.setdefault(number, number) != number:
                first[number] = number = first[first[number]]
            return number

        of_state: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            together = list(users.get(number) or ())
            if step.writes:
                together = [number, of_state.setdefault(step.state, number)]
            for other in together[1:]:
                a, b = sorted((lane_of(together[0]), lane_of(other)))
                first[b] = a
        members: dict[int, list[int]] = defaultdict(list)
        for number, step in enumerate(self.steps):
            if step.writes:
                members[lane_of(number)].append(number)
            elif found := users.get(number):
                members[lane_of(next(iter(found)))].append(number)
        self.lanes = [self._lane(members[number]) for number in sorted(members)]

    def _users(self) -> dict[int, set[int] | None]:
        """The writes that use each computed value; None where they are many."""
        users: dict[int, set[int] | None] = {}
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            if not step.writes and not step.computes:
                continue
            mine = {number} if step.writes else users.get(number, set())
            for operand in step.operands:
                if operand < 0 or not self.steps[operand].computes:
                    continue
                known = users.get(operand, set())
                if known is None or mine is None or len(known | mine) > MOST_WRITES:
                    users[operand] = None
                else:
                    users[operand] = known | mine
        return users

    def _lane(self, members: list[int]) -> Lane:
        steps = self.steps
        reads = {
            o for m in members for o in steps[m].operands if o >= 0 and steps[o].name == STATE_READ
        }
        lane = Lane(sorted({*members, *reads}))
        local = {number: at for at, number in enumerate(lane.numbers)}
        lane.shape = tuple(self._shape(number, local, lane) for number in lane.numbers)
        return lane

    def _shape(self, number: int, local: dict[int, int], lane: Lane) -> tuple[Any, ...]:
        """What an operation does; where what it accesses lies is added to the places."""
        step = self.steps[number]
        if step.state >= 0:
            if step.writes:
                lane.written.append(step.state)
            else:
                lane.read.add(step.state)
        operands = [self._operand(operand, local, lane) for operand in step.operands]
        if step.name == STATE_READ:
            return (step.name, *operands)
        attributes = [
            (name, step.op.attributes[name]) for name in step.op.attributes if name != _HINT
        ]
        kinds = [result.type for result in step.op.results]
        return (step.name, *kinds, *attributes, *operands)

    def _operand(self, number: int, local: dict[int, int], lane: Lane) -> Any:
        if number in local:
            return local[number]
        if number < 0:
            return ("given", number)
        step = self.steps[number]
        if step.name == STORAGE:
            lane.places.append(step.state)
            return step.op.results[0].type
        if step.name == CONSTANT:
            return (step.op.attributes["value"], step.op.results[0].type)
        return ("outside", number)
