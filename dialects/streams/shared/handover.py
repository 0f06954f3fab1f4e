"""Memory that one process of a region hands over to another, by a word in a FIFO.

All that the first does with it comes before its first put into the FIFO, and all that the second does comes
behind a get from it that surely happens: so the two never touch it at one time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ..._mlir import ir
from ...affine.loops import walk
from ...core.effects import VIEWS
from ...core.fifos import PUTS
from ...core.signature import callee_of, entry_of, functions_of, has_body, symbol

HANDS_OVER = "hands_over"
"""Attribute of a function of which a stream operation orders accesses to memory that others touch."""
_READ = "memref.get_global"
_GETS = frozenset(("allo.get", "allo.get_block"))


@dataclass(frozen=True, slots=True)
class Shared:
    """Memory that several processes touch: an array of the region, or a stateful variable."""

    array: ir.Value | None = None
    symbol: str = ""

    def positions(self, call: ir.Operation) -> list[int]:
        """As which arguments a call passes it."""
        if self.array is None:
            return []
        return [n for n, value in enumerate(call.operands) if value == self.array]


def orders(
    functions: Mapping[str, ir.Operation], shared: Shared, calls: Sequence[ir.Operation]
) -> set[tuple[int, int]]:
    """The pairs of processes, by number, of which the first has done with memory before the second begins."""
    after: dict[int, set[int]] = {
        first: {
            second
            for second, taker in enumerate(calls)
            if first != second and _hands_over(functions, shared, giver, taker)
        }
        for first, giver in enumerate(calls)
    }
    for through in range(len(calls)):
        for found in after.values():
            if through in found:
                found |= after[through]
    return {(first, second) for first, found in after.items() for second in found}


def unordered(
    functions: Mapping[str, ir.Operation], shared: Shared, calls: Sequence[ir.Operation]
) -> tuple[ir.Operation, ir.Operation] | None:
    """Two of the processes of which neither hands memory over to the other; None where there are none."""
    ordered = orders(functions, shared, calls)
    for second in range(len(calls)):
        for first in range(second):
            if not ordered & {(first, second), (second, first)}:
                return calls[first], calls[second]
    return None


def first_of(
    functions: Mapping[str, ir.Operation], shared: Shared, calls: Sequence[ir.Operation]
) -> ir.Operation:
    """The process that has memory before the others have it; the first, where nothing tells."""
    for taker in calls:
        if not any(
            _hands_over(functions, shared, giver, taker) for giver in calls if giver != taker
        ):
            return taker
    return calls[0]


def _hands_over(
    functions: Mapping[str, ir.Operation], shared: Shared, giver: ir.Operation, taker: ir.Operation
) -> bool:
    before, behind = (
        _accesses(functions, callee_of(call), shared.positions(call), shared.symbol)
        for call in (giver, taker)
    )
    if not before or not behind:
        return False  # one of them is given the memory and leaves it alone
    for number, fifo in enumerate(giver.operands):
        if not isinstance(fifo.type, ir.IndexType):
            continue
        puts = _puts(functions, callee_of(giver), number)
        gets = [
            at
            for n, value in enumerate(taker.operands)
            if value == fifo
            for at in _gets(functions, callee_of(taker), n)
        ]
        if puts and gets and max(before) < min(puts) and min(behind) > min(gets):
            return True
    return False


def _statements(functions: Mapping[str, ir.Operation], name: str) -> list[ir.Operation]:
    function = functions[name]
    return [op.operation for op in entry_of(function).operations] if has_body(function) else []


def _accesses(
    functions: Mapping[str, ir.Operation], name: str, positions: Collection[int], symbol: str
) -> list[int]:
    """Numbers of the statements of a function that touch memory: arguments of it, or a variable."""
    statements = _statements(functions, name)
    if not statements:
        return [0] if positions else []
    arguments = entry_of(functions[name]).arguments
    held = {arguments[position] for position in positions}
    found = []
    for number, statement in enumerate(statements):
        if any(_touches(functions, op, held, symbol) for op in (statement, *walk(statement))):
            found.append(number)
    return found


def _touches(
    functions: Mapping[str, ir.Operation], op: ir.Operation, held: set[ir.Value], symbol: str
) -> bool:
    """Whether an operation touches the memory; what it gives of it is held from then on."""
    if op.name == _READ:
        if symbol and ir.FlatSymbolRefAttr(op.attributes["name"]).value == symbol:
            held.add(op.results[0])
        return False
    given = [n for n, value in enumerate(op.operands) if value in held]
    if op.name in VIEWS:
        if given:
            held.add(op.results[0])
        return False
    if op.name == "func.call":
        return bool(_accesses(functions, callee_of(op), given, symbol))
    return bool(given)


def _puts(functions: Mapping[str, ir.Operation], name: str, position: int) -> list[int]:
    """Numbers of the statements of a function that may put into a FIFO."""

    def puts(statement: ir.Operation, fifo: ir.Value) -> bool:
        return any(
            (op.name in PUTS and op.operands[0] == fifo)
            or (op.name == "func.call" and fifo in list(op.operands))
            for op in (statement, *walk(statement))
        )

    return _where(functions, name, position, puts)


def _gets(functions: Mapping[str, ir.Operation], name: str, position: int) -> list[int]:
    """Numbers of the statements of a function that surely get from a FIFO."""
    return _where(
        functions, name, position, lambda op, fifo: op.name in _GETS and op.operands[0] == fifo
    )


def _where(
    functions: Mapping[str, ir.Operation],
    name: str,
    position: int,
    does: Callable[[ir.Operation, ir.Value], bool],
) -> list[int]:
    """Numbers of the statements of a function that do something with one of its arguments."""
    statements = _statements(functions, name)
    if not statements:
        return []
    argument = entry_of(functions[name]).arguments[position]
    return [number for number, op in enumerate(statements) if does(op, argument)]


def states_of(module: ir.Module, region: ir.Operation) -> dict[str, list[ir.Operation]]:
    """The processes of a region that use each stateful variable, by its symbol."""
    functions = functions_of(module)
    kept = {
        symbol(op)
        for op in module.body.operations
        if op.operation.name == "memref.global" and "constant" not in op.operation.attributes
    }
    users: dict[str, list[ir.Operation]] = {}
    for op in (each.operation for each in entry_of(region).operations):
        if op.name == "func.call":
            for name in sorted(_variables(functions, callee_of(op)) & kept):
                users.setdefault(name, []).append(op)
    return users


def read_of(function: ir.Operation, variable: str) -> ir.Operation | None:
    """Where a function itself reads a stateful variable; None where it does not."""
    reads = (op for op in walk(function) if op.name == _READ)
    return next(
        (op for op in reads if ir.FlatSymbolRefAttr(op.attributes["name"]).value == variable), None
    )


def _variables(functions: Mapping[str, ir.Operation], name: str) -> set[str]:
    """Symbols of the globals that a function and what it calls read."""
    found: set[str] = set()
    for op in walk(functions[name]) if has_body(functions[name]) else ():
        if op.name == _READ:
            found.add(ir.FlatSymbolRefAttr(op.attributes["name"]).value)
        elif op.name == "func.call":
            found |= _variables(functions, callee_of(op))
    return found
