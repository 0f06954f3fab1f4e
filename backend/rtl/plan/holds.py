"""How long RAM outside a module holds what it has answered, where the module may stand still.

A word that a module reads comes in the next cycle. Where the module stands still in that cycle, it takes
the word later, so either the RAM still answers with it, or the module keeps it in registers, with a
multiplexer in front of whatever takes the word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..read.records import FunctionRecord, MemType, Op


@dataclass(frozen=True, slots=True)
class Holds:
    """What RAM outside a module with ``ce`` promises: nothing, or to hold its answers while ``ce`` is low.

    Attributes:
        frozen: whether it promises anything.
        until_read: positions of array parameters whose RAM holds an answer until the port is read again, so
            that the module may also wait by itself.
        always: whether that is true of all.
    """

    frozen: bool = False
    until_read: frozenset[int] = frozenset()
    always: bool = False

    def keeps(self, position: int, *, waits: bool) -> bool:
        """Whether RAM holds the answers of an array for as long as the module stands still.

        Args:
            waits: whether it also stands still by itself, while ``ce`` is high.
        """
        return self.always or position in self.until_read or (self.frozen and not waits)

    def of_callee(
        self, record: FunctionRecord, callee: FunctionRecord, *, frozen: bool, keeps: bool
    ) -> Holds:
        """What a function's callee can count on, where the function has this.

        RAM in the caller holds while the caller stands still.

        Args:
            frozen: whether the callee stands still with the caller.
            keeps: whether the caller keeps what RAM outside has answered to it, if that does not hold it.
        """
        if not frozen or not (keeps or self.frozen):
            return NOTHING
        passed: list[set[int]] = []
        for call in _calls(record.ops, callee.name):
            kinds = zip(call.operands, callee.arg_types, strict=True)
            arrays = [value for value, kind in kinds if isinstance(kind, MemType)]
            passed.append({n for n, value in enumerate(arrays) if self._of(record, value)})
        until = set.intersection(*passed) if passed else set[int]()
        return Holds(frozen=True, until_read=frozenset(until))

    def _of(self, record: FunctionRecord, value: int) -> bool:
        """Whether a value is a parameter that is held until it is read again."""
        arrays = [
            own
            for own, kind in zip(record.args, record.arg_types, strict=True)
            if isinstance(kind, MemType)
        ]
        return value in arrays and (self.always or arrays.index(value) in self.until_read)


NOTHING, WHILE_FROZEN, UNTIL_READ = Holds(), Holds(frozen=True), Holds(frozen=True, always=True)


def _calls(ops: list[Op], callee: str) -> Iterator[Op]:
    """The calls of a function, at any depth."""
    for op in ops:
        if op.name == "func.call" and op.attrs["callee"] == callee:
            yield op
        for region in op.regions:
            yield from _calls(region, callee)


__all__ = ["NOTHING", "UNTIL_READ", "WHILE_FROZEN", "Holds"]
