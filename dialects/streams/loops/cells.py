"""Scalar variables that the tasks of a loop hand each other become arrays of one word.

A task takes the word into a variable of its own before it starts and, where it sets that, puts it back at
its end. What is known of arrays then holds for it: which iteration waits for which, and a second copy where
every iteration sets it anew. A variable of outside the loop goes into its array before the loop and comes
back behind it; one that the loop only reads is read before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..._mlir import ir
from ...affine.loops import body_operations, string_attribute, walk
from ..processes import Process

LOADS = ("affine.load", "memref.load")
STORES = ("affine.store", "memref.store")


def is_variable(value: ir.Value) -> bool:
    """Whether a value is a scalar variable that is only loaded and stored."""
    if isinstance(value, ir.BlockArgument) or not isinstance(value.type, ir.MemRefType):
        return False
    declared = value.owner.operation.name == "memref.alloc"
    return declared and not value.type.rank and all(_is_access(use, value) for use in value.uses)


def _is_access(use: ir.OpOperand, value: ir.Value) -> bool:
    op = use.owner.operation
    stored = op.name in STORES and op.operands[0] == value
    return op.name in (*LOADS, *STORES) and not stored


def read_before(loop: ir.Operation) -> None:
    """Variables of outside that a loop only reads are read before it."""
    for users in _outer_variables(loop).values():
        if any(op.name in STORES for op in users):
            continue
        read = users[0].clone(ir.InsertionPoint(loop)).operation
        for op in users:
            op.results[0].replace_all_uses_with(read.results[0])
            op.erase()


def sink_settings(loop: ir.Operation) -> None:
    """A variable is set right in front of what uses it next, where the value is from outside the body."""
    operations = body_operations(loop)
    order = {op: number for number, op in enumerate(operations)}
    for op in reversed(operations):
        if op.name not in STORES or not is_variable(op.operands[1]):
            continue
        if _is_made_in(op.operands[0], loop):
            continue
        tops = [_at_top(use.owner.operation, loop) for use in op.operands[1].uses]
        later = [t for t in tops if t is not None and order[t] > order[op]]
        if later:
            op.move_before(min(later, key=lambda top: order[top]))


def _is_made_in(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is computed in the body of a loop, from anything but constants."""
    if isinstance(value, ir.BlockArgument):
        return bool(value.owner.owner == loop)
    op = value.owner.operation
    return op.name != "arith.constant" and _at_top(op, loop) is not None


def _at_top(op: ir.Operation, loop: ir.Operation) -> ir.Operation | None:
    """The operation directly in a loop that is or holds another one; None for one outside."""
    while op.name != "func.func" and op.parent.operation != loop:
        op = op.parent.operation
    return None if op.name == "func.func" else op


def _outer_variables(loop: ir.Operation) -> dict[ir.Value, list[ir.Operation]]:
    """The variables of outside that a loop uses, with their users in it."""
    found: dict[ir.Value, list[ir.Operation]] = {}
    inside = list(walk(loop))
    made = set(inside)
    for op in inside:
        if op.name not in (*LOADS, *STORES):
            continue
        value = op.operands[1 if op.name in STORES else 0]
        if is_variable(value) and value.owner.operation not in made:
            found.setdefault(value, []).append(op)
    return found


def make_cells(loop: ir.Operation, tasks: Sequence[Process]) -> None:
    """Variables that several tasks use, or something outside the loop, become arrays of one word."""
    users: dict[ir.Value, list[Process]] = {}
    for task in tasks:
        for value in _variables_of(task):
            users.setdefault(value, []).append(task)
    outer = _outer_variables(loop)
    for value, sharing in users.items():
        if value in outer:
            cell = _make_cell(value, loop)
            _copy(value, cell, ir.InsertionPoint(loop))
            behind = ir.InsertionPoint(loop)
            back = _copy(cell, value, behind)
            last = loop
            for op in back:
                op.move_after(last)
                last = op
        elif len(sharing) > 1:
            cell = _make_cell(value, body_operations(loop)[0])
        else:
            continue
        for task in sharing:
            _use_own(task, value, cell)


def _variables_of(task: Process) -> list[ir.Value]:
    operands = (v for op in task.ops for inner in (op, *walk(op)) for v in inner.operands)
    inside = {inner for op in task.ops for inner in walk(op)}
    return [
        v for v in dict.fromkeys(operands) if is_variable(v) and v.owner.operation not in inside
    ]


def _make_cell(variable: ir.Value, before: ir.Operation) -> ir.Value:
    """An array of one word, with the name of a variable."""
    declaration = variable.owner.operation
    return ir.Operation.create(
        "memref.alloc",
        results=[ir.MemRefType.get([1], variable.type.element_type)],
        attributes={
            **{name: declaration.attributes[name] for name in declaration.attributes},
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        },
        loc=declaration.location,
        ip=ir.InsertionPoint(before),
    ).result


def _copy(source: ir.Value, target: ir.Value, ip: ir.InsertionPoint) -> list[ir.Operation]:
    """Read one of a variable and its array, and set the other; the operations."""
    declaration = target.owner.operation
    name = ir.StringAttr.get(string_attribute(declaration, "name") or "value")
    made: list[ir.Operation] = []

    def places(array: ir.Value) -> list[ir.Value]:
        if not array.type.rank:
            return []
        index = ir.IndexType.get()
        zero = ir.Operation.create(
            "arith.constant",
            results=[index],
            attributes={"value": ir.IntegerAttr.get(index, 0)},
            loc=declaration.location,
            ip=ip,
        )
        made.append(zero)
        return [zero.result]

    kind = source.type.element_type
    made.append(
        ir.Operation.create(
            "memref.load",
            results=[kind],
            operands=[source, *places(source)],
            attributes={"from": name},
            loc=declaration.location,
            ip=ip,
        )
    )
    word = made[-1].result
    made.append(
        ir.Operation.create(
            "memref.store",
            operands=[word, target, *places(target)],
            attributes={"to": name},
            loc=declaration.location,
            ip=ip,
        )
    )
    return made


def _use_own(task: Process, variable: ir.Value, cell: ir.Value) -> None:
    """A task uses a variable of its own, which it takes from the array and puts back."""
    inside = [inner for op in task.ops for inner in (op, *walk(op))]
    first, last = task.ops[0], task.ops[-1]
    declaration = variable.owner.operation
    own = declaration.clone(ir.InsertionPoint(first)).operation.results[0]
    sets = False
    for op in inside:
        for position, operand in enumerate(op.operands):
            if operand == variable:
                op.operands[position] = own
                sets = sets or op.name in STORES
    before: list[ir.Operation] = []
    if not (first.name in STORES and first.operands[1] == own):
        before = _copy(cell, own, ir.InsertionPoint(first))
    after: list[ir.Operation] = []
    if sets:
        for op in _copy(own, cell, ir.InsertionPoint(first)):
            op.move_after(last)
            last = op
            after.append(op)
    task.ops[:] = [op for op in (*before, *task.ops, *after) if op.name != "arith.constant"]


__all__ = ["LOADS", "STORES", "is_variable", "make_cells", "read_before", "sink_settings"]
