"""Which operations of a function or loop are its tasks: the parts that ``s.dataflow`` lets run at once.

Every nest, call and other operation with an effect at the top of its block is a task. Tasks that
hand each other a value outside arrays are one: a scalar variable, a result, a variable that keeps its
value between calls. The tasks of a loop may hand each other variables (:mod:`.loops.cells`); short ones
join the one beside them that uses the same. What the returned scalars need stands behind the tasks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from .._mlir import ir
from ..affine.loops import is_loop, string_attribute, walk
from ..core.signature import callee_of, functions_of
from .loops.cells import LOADS, STORES, is_variable
from .processes import Process, Section, is_pure
from .values import free_values, variable_name


@dataclass(slots=True)
class Tasks:
    """The tasks of a function.

    Attributes:
        joined: names of what joins operations to one task, in order.
    """

    section: Section = field(default_factory=Section)
    joined: list[str] = field(default_factory=list)


def forward_scalars(owner: ir.Operation) -> None:
    """Scalar variables of a function or loop that are set once, before they are read, become values.

    In a loop these are values of outside: one that is loaded in an iteration stays where it is.
    """
    operations = [o.operation for o in owner.regions[0].blocks[0].operations]
    allocs = [op for op in operations if op.name == "memref.alloc"]
    for op in [op for op in allocs if not ir.MemRefType(op.results[0].type).rank]:
        _forward(op)


def _forward(declaration: ir.Operation) -> None:
    users = [use.owner.operation for use in declaration.results[0].uses]
    stores = [op for op in users if op.name in ("affine.store", "memref.store")]
    loads = [op for op in users if op.name in ("affine.load", "memref.load")]
    if len(stores) != 1 or len(stores) + len(loads) != len(users):
        return
    store, owner = stores[0], declaration.parent.operation
    if store.parent.operation != owner:
        return
    tops = [_at_top(op, owner) for op in loads]
    if not all(store.is_before_in_block(top) for top in tops):
        return
    if is_loop(owner) and any(_is_made_in(v, owner) for v in _sources(store)):
        return
    for op in loads:
        op.results[0].replace_all_uses_with(store.operands[0])
        op.erase()
    store.erase()
    declaration.erase()


def _is_made_in(value: ir.Value, owner: ir.Operation) -> bool:
    """Whether a value other than the variable itself is from the body of a loop, its iterator left out."""
    if isinstance(value, ir.BlockArgument) or is_variable(value):
        return False
    return bool(value.owner.operation.parent.operation == owner)


def _at_top(op: ir.Operation, owner: ir.Operation) -> ir.Operation:
    """The operation directly in ``owner`` that holds ``op``."""
    while op.parent.operation != owner:
        op = op.parent.operation
    return op


def tasks_of(
    module: ir.Operation, function: ir.Operation, loop: ir.Operation | None = None
) -> Tasks:
    """The tasks of a function, or of a loop in it, in order."""
    owner = loop or function
    _drop_dead(owner)
    operations = [op.operation for op in owner.regions[0].blocks[0].operations]
    active = [op for op in operations if not is_pure(op) and op.name != "memref.alloc"]
    final = None if loop else active[-1]
    active = active[:-1] if loop else active
    tasks = Tasks()
    spans = _spans(active, functions_of(module), function, tasks.joined, loose=loop is not None)
    for first, last in spans:
        members = active[first : last + 1]
        if final is not None and final in members:
            tasks.section.outside += members
        else:
            tasks.section.processes.append(_task(members, operations))
    return tasks


def _drop_dead(owner: ir.Operation) -> None:
    """Erase what computes values at the top of a function or loop that nothing uses."""
    for op in reversed([o.operation for o in owner.regions[0].blocks[0].operations]):
        computes = is_pure(op) or op.name in ("affine.load", "memref.load")
        if computes and not any(list(r.uses) for r in op.results):
            op.erase()


def _spans(
    active: list[ir.Operation],
    functions: dict[str, ir.Operation],
    function: ir.Operation,
    joined: list[str],
    *,
    loose: bool,
) -> list[tuple[int, int]]:
    """Ranges of operations that belong together, in order, each operation in one.

    ``loose``: scalar variables join only short ranges to others.
    """
    users: dict[Hashable, list[int]] = {}
    names: dict[Hashable, str] = {}
    for number, op in enumerate(active):
        for key, name in _shared_keys(op, functions, function):
            if loose and isinstance(key, ir.Value) and is_variable(key):
                continue
            users.setdefault(key, []).append(number)
            names[key] = name
    reach = list(range(len(active)))
    for key, numbers in users.items():
        reach[numbers[0]] = max(reach[numbers[0]], numbers[-1])
        if len(numbers) > 1:
            joined.append(names[key])
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(active):
        last, number = reach[first], first
        while number <= last:
            last = max(last, reach[number])
            number += 1
        short = not any(_is_long(op) for op in active[first : last + 1])
        if short and spans and not any(_is_long(op) for op in active[slice(spans[-1][0], first)]):
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
        first = last + 1
    return _with_short(active, spans) if loose else spans


def _with_short(active: list[ir.Operation], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join short ranges to the next one that uses a variable they set, or to the one before."""

    def variables(span: tuple[int, int], names: tuple[str, ...]) -> set[ir.Value]:
        inside = [i for op in active[span[0] : span[1] + 1] for i in (op, *walk(op))]
        return {v for op in inside if op.name in names for v in op.operands if is_variable(v)}

    found: list[tuple[int, int]] = []
    waiting = list(spans)
    while waiting:
        span = waiting.pop(0)
        if any(_is_long(op) for op in active[span[0] : span[1] + 1]):
            found.append(span)
            continue
        following = variables(waiting[0], (*LOADS, *STORES)) if waiting else set()
        before = variables(found[-1], (*LOADS, *STORES)) if found else set()
        if variables(span, STORES) & following:
            waiting[0] = span[0], waiting[0][1]
        elif variables(span, (*LOADS, *STORES)) & before:
            found[-1] = found[-1][0], span[1]
        else:
            found.append(span)
    return found


def _is_long(op: ir.Operation) -> bool:
    """Whether an operation takes more than a few cycles, and so is worth a task."""
    return bool(op.regions) or op.name in ("func.call", "memref.copy", "func.return")


def _shared_keys(
    op: ir.Operation, functions: dict[str, ir.Operation], function: ir.Operation
) -> Iterator[tuple[Hashable, str]]:
    """What an operation shares with others by more than arrays: the key, and the user's name of it."""
    for value in op.results:
        yield value, variable_name(function, value)
    for value in _sources(op):
        if isinstance(value, ir.BlockArgument):
            continue
        kind = value.type
        owner = value.owner.operation
        scalar = isinstance(kind, ir.MemRefType) and not kind.rank
        if owner.name == "memref.alloc" and not scalar:
            continue
        if not scalar and owner.block != op.block:
            continue
        yield value, variable_name(function, value)
    for name in variables_of(op, functions):
        yield name, name


def _sources(op: ir.Operation) -> set[ir.Value]:
    """Values from outside, those behind pure operations included; what these compute is not one."""
    waiting, seen = list(free_values([op])), set()
    found: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if not isinstance(value, ir.BlockArgument) and is_pure(value.owner.operation):
            waiting += value.owner.operation.operands
        else:
            found.add(value)
    return found


def variables_of(op: ir.Operation, functions: dict[str, ir.Operation]) -> set[str]:
    """Variables that keep their values between calls, used by an operation or what it calls."""
    found: set[str] = set()
    waiting, seen = [op], set()
    while waiting:
        current = waiting.pop()
        for inner in (current, *walk(current)):
            for value in inner.operands:
                if isinstance(value, ir.BlockArgument):
                    continue
                owner = value.owner.operation
                if owner.name == "memref.get_global":
                    found.add(ir.FlatSymbolRefAttr(owner.attributes["name"]).value)
            if inner.name == "func.call" and callee_of(inner) not in seen:
                seen.add(callee_of(inner))
                if callee_of(inner) in functions:
                    waiting.append(functions[callee_of(inner)])
    return found - _constants(op)


def _constants(op: ir.Operation) -> set[str]:
    module = op
    while module.name != "builtin.module":
        module = module.parent.operation
    return {
        ir.StringAttr(o.operation.attributes["sym_name"]).value
        for o in module.regions[0].blocks[0].operations
        if o.operation.name == "memref.global" and "constant" in o.operation.attributes
    }


def _task(members: list[ir.Operation], operations: list[ir.Operation]) -> Process:
    """A task of some operations and of the pure ones that depend on their results."""
    if len(members) > 1:
        made = {v for op in members for v in op.results}
        for op in operations:
            if is_pure(op) and made.intersection(op.operands):
                made.update(op.results)
                members = [*members, op]
        order = {op: n for n, op in enumerate(operations)}
        members = sorted(members, key=lambda op: order[op])
    return Process(_name(members), members)


def _name(members: list[ir.Operation]) -> str:
    for op in members:
        if is_loop(op):
            return string_attribute(op, "op_name") or "nest"
        if op.name == "func.call":
            return callee_of(op)
    first = members[0]
    return f"set_{string_attribute(first, 'to') or first.name.rpartition('.')[2]}"
