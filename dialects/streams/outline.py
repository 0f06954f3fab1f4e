"""Processes become functions, and a function of processes a dataflow region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._mlir import ir
from ..affine.loops import is_loop, terminator, walk
from ..core.signature import callee_of, declared_type, functions_of, sign, signature_of, symbol
from .functions import call, free_function_name, new_function
from .processes import UNFOLDED, Process, is_pure
from .space import stream_space
from .trace import known_index
from .values import free_values, variable_name

FLOW = "_flow"
"""What ends the name of a function that calls with FIFOs between them are taken out into."""


class Outliner:
    """Moves the processes of one function into functions of their own, called by a region."""

    def __init__(self, module: ir.Module, function: ir.Operation) -> None:
        self._module = module
        self._function = function
        self._name = symbol(function)
        self._calls = Counter(
            callee_of(op) for op in walk(module.operation) if op.name == "func.call"
        )

    # --- processes -------------------------------------------------------------------

    def process(self, process: Process) -> ir.Operation:
        """Make a process one call, of a function nothing else calls; the call."""
        only = process.call
        if only is not None and not only.results and not _takes_computed(only):
            self._own_callee(only)
            only = self._with_own_constants(only)
            if UNFOLDED in only.attributes:
                del only.attributes[UNFOLDED]
            return only
        return self.outline(process)

    def _own_callee(self, made: ir.Operation) -> None:
        name = callee_of(made)
        if self._calls[name] == 1:
            return
        self._calls[name] -= 1
        original = functions_of(self._module.operation)[name]
        copy = original.clone(ir.InsertionPoint(original)).operation
        fresh = self._free(name)
        copy.attributes["sym_name"] = ir.StringAttr.get(fresh)
        made.attributes["callee"] = ir.FlatSymbolRefAttr.get(fresh)

    def _with_own_constants(self, made: ir.Operation) -> ir.Operation:
        """Let the callee hold the constant arrays that a call passes: a region holds none; the call."""
        held = [p for p, value in enumerate(made.operands) if _is_constant_array(value)]
        if not held:
            return made
        callee = functions_of(self._module.operation)[callee_of(made)]
        block, said = callee.regions[0].blocks[0], signature_of(callee)
        for position in reversed(held):
            source = made.operands[position].owner.operation
            copy = source.clone(ir.InsertionPoint.at_block_begin(block)).operation
            block.arguments[position].replace_all_uses_with(copy.results[0])
            block.erase_argument(position)
        kept = [p for p in range(len(made.operands)) if p not in held]
        sign(callee, [said.names[p] for p in kept], [said.declared[p] for p in kept])
        operands = [made.operands[p] for p in kept]
        fresh = call(symbol(callee), operands, made.location, ir.InsertionPoint(made))
        made.erase()
        return fresh

    def outline(self, process: Process) -> ir.Operation:
        """Make a process a call of a function of its own; the call."""
        own = _own_arrays(process.ops)
        ops = [*own, *process.ops]
        for op in ops:
            if UNFOLDED in op.attributes:
                del op.attributes[UNFOLDED]
            if is_loop(op) and "op_name" not in op.attributes:  # it was inside of a perfect nest
                op.attributes["op_name"] = ir.StringAttr.get(process.name)
        made = new_function(self._free(f"{self._name}_{process.name}"), self._function)
        body = _Body(self._function, made)
        copies = {v: body.inside(v) for v in free_values(ops)}
        inner = call(
            symbol(made),
            body.operands,
            process.ops[0].location,
            ir.InsertionPoint(process.ops[-1]),
        )
        body.take(ops, copies)
        for declaration in own:
            _drop_unread(declaration)
        return inner

    def _free(self, wanted: str) -> str:
        return free_function_name(self._module.operation, wanted)

    # --- the region ----------------------------------------------------------------------

    def region(
        self, calls: Sequence[ir.Operation], outside: Sequence[ir.Operation]
    ) -> ir.Operation:
        """Put the calls into a region: this function, or one it calls; the region."""
        function = self._function
        for made in calls:
            _fold_indices(made)
        if not all(op.name == "func.return" and not op.operands for op in outside):
            function = self._flow(calls)
        drop_unused(self._function)
        function.attributes["dataflow"] = ir.UnitAttr.get()
        function.attributes["region"] = ir.UnitAttr.get()
        return function

    def _flow(self, calls: Sequence[ir.Operation]) -> ir.Operation:
        """A function ``<name>_flow`` (``FLOW``) of the calls, called in their place."""
        if "dataflow" in self._function.attributes:
            del self._function.attributes["dataflow"]
        made = new_function(self._free(f"{self._name}{FLOW}"), self._function)
        ops = [*_own_arrays(calls), *calls]
        body = _Body(self._function, made)
        copies = {v: body.inside(v) for v in free_values(ops)}
        name = symbol(made)
        call(name, body.operands, calls[0].location, ir.InsertionPoint(calls[-1]))
        body.take(ops, copies)
        return made


class _Body:
    """The body of a new function that takes over operations of another one."""

    def __init__(self, function: ir.Operation, made: ir.Operation) -> None:
        self._function = function
        self._made = made
        self._block = made.regions[0].blocks[0]
        self._end = terminator(self._block)
        self._known: dict[ir.Value, ir.Value] = {}
        self._names: list[str] = []
        self._types: list[str] = []
        self.operands: list[ir.Value] = []

    def inside(self, value: ir.Value) -> ir.Value:
        """What stands for an outer value: pure operations are computed again, others passed."""
        if value not in self._known:
            self._known[value] = self._copy(value) if _is_pure_value(value) else self._pass(value)
        return self._known[value]

    def _copy(self, value: ir.Value) -> ir.Value:
        source = value.owner.operation
        operands = [self.inside(v) for v in source.operands]
        copy = source.clone(ir.InsertionPoint(self._end)).operation
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        return copy.results[list(source.results).index(value)]

    def _pass(self, value: ir.Value) -> ir.Value:
        self.operands.append(value)
        name = variable_name(self._function, value)
        while name in self._names:
            name += "_"
        self._names.append(name)
        self._types.append(declared_type(self._function, value))
        return self._block.add_argument(value.type, self._function.location)

    def take(self, ops: Sequence[ir.Operation], copies: dict[ir.Value, ir.Value]) -> None:
        """Move the operations in; their outer operands become inner ones."""
        for op in ops:
            op.move_before(self._end)
        for op in ops:
            for inner in (op, *walk(op)):
                for position, operand in enumerate(inner.operands):
                    if operand in copies:
                        inner.operands[position] = copies[operand]
        sign(self._made, self._names, self._types)


def _own_arrays(ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Declarations in the block of these operations that nothing else uses."""
    block = ops[0].operation.block
    inside = {op for each in ops for op in (each, *walk(each))}
    found = []
    for value in free_values(ops):
        owner = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        if owner is None or owner.name != "memref.alloc" or owner.block != block:
            continue
        if all(use.owner.operation in inside for use in value.uses):
            found.append(owner)
    return found


def _drop_unread(declaration: ir.Operation) -> None:
    """Erase an array that is stored to and never read, as where the last elements only leave FIFOs."""
    users = {use.owner.operation for use in declaration.results[0].uses}
    if all(op.name in ("affine.store", "memref.store") for op in users):
        for op in users:
            op.erase()
        declaration.erase()


def _is_pure_value(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and is_pure(value.owner.operation)


def _is_constant_array(value: ir.Value) -> bool:
    return _is_pure_value(value) and value.owner.operation.name == "memref.get_global"


def _takes_computed(made: ir.Operation) -> bool:
    """Whether an operand is computed, or a constant array: a region holds numbers alone.

    Constant arrays move into the callee where its accesses must stay those of a FIFO.
    """
    joined = any(stream_space(v.type) is not None for v in made.operands)
    pure = [
        v for v in made.operands if _is_pure_value(v) and not (joined and _is_constant_array(v))
    ]
    return any(
        value.owner.operation.name != "arith.constant" and known_index(value, {}) is None
        for value in pure
    )


def _fold_indices(made: ir.Operation) -> None:
    """Index operands that are known become constants."""
    for position, operand in enumerate(made.operands):
        number = known_index(operand, {})
        if number is None:
            continue
        constant = ir.Operation.create(
            "arith.constant",
            results=[operand.type],
            attributes={"value": ir.IntegerAttr.get(operand.type, number)},
            loc=made.location,
            ip=ir.InsertionPoint(made),
        )
        made.operands[position] = constant.result


def drop_unused(owner: ir.Operation) -> None:
    """Erase pure operations and declarations at the top of a function or loop that nothing uses."""
    for op in reversed([o.operation for o in owner.regions[0].blocks[0].operations]):
        if (is_pure(op) or op.name == "memref.alloc") and not any(list(r.uses) for r in op.results):
            op.erase()
