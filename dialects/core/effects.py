"""What memory an operation touches: the buffer behind a value, and the effects of calls.

Two array arguments of one function share memory where a call of the module passes one array, or parts
of one, for both, and nowhere else (the boundary refuses overlapping arrays that are written); a local
allocation is its own; a view shares the memory of its source; a call's result is the callee's
argument where the callee returns one, and fresh memory otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .._mlir import ir
from .fifos import STREAM_OPS
from .signature import argument_name, callee_of, function_type, functions_of, symbol

VIEWS = frozenset(
    {
        "memref.subview",
        "memref.cast",
        "memref.reinterpret_cast",
        "memref.expand_shape",
        "memref.collapse_shape",
        "memref.transpose",
        "memref.view",
        "memref.memory_space_cast",
    }
)
LOADS = {"affine.load": 0, "memref.load": 0}
STORES = {"affine.store": 1, "memref.store": 1}
_ORDERED = frozenset({"allo.print", "allo.assert"})


def whole_array(value: ir.Value) -> ir.Value:
    """The array that a view is a part of; an array itself."""
    while not isinstance(value, ir.BlockArgument) and value.owner.operation.name in VIEWS:
        value = value.owner.operation.operands[0]
    return value


def array_name(array: ir.Value) -> str:
    """The user's name of an array, or of the one that a view is a part of."""
    array = whole_array(array)
    if isinstance(array, ir.BlockArgument):
        return argument_name(array)
    attributes = array.owner.operation.attributes
    for key in ("var", "name"):
        if key in attributes and isinstance(attributes[key], ir.StringAttr):
            return str(attributes[key].value)
    return "array"


type Key = ir.Value | str


@dataclass(frozen=True, slots=True)
class Memory:
    """A piece of memory.

    Attributes:
        key: the defining value, or the name of a global or of another ordered resource.
        exact: subscripts on the value are subscripts on the memory (false through views).
    """

    key: Key
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Effect:
    """One read or write of an operation; ``value`` is the memref it goes through, if any."""

    memory: Memory
    writes: bool
    value: ir.Value | None = None


@dataclass(slots=True)
class FunctionEffects:
    """What a function does to memory visible outside it."""

    arguments_read: set[int] = field(default_factory=set)
    arguments_written: set[int] = field(default_factory=set)
    names_read: set[str] = field(default_factory=set)
    names_written: set[str] = field(default_factory=set)
    returned: dict[int, Memory] = field(default_factory=dict)


class EffectAnalysis:
    """Effects of the operations of one module; function summaries are computed once."""

    def __init__(self, module: ir.Operation) -> None:
        self._functions = functions_of(module)
        self._constants = {
            symbol(op)
            for op in module.regions[0].blocks[0].operations
            if op.operation.name == "memref.global" and "constant" in op.operation.attributes
        }
        self._summaries: dict[str, FunctionEffects] = {}
        self._aliases: dict[ir.Value, Memory] | None = None

    def memory_of(self, value: ir.Value) -> Memory:
        """The memory a memref (or stream handle) stands for; parameters that may be one share one."""
        memory = self._source_of(value)
        if not isinstance(memory.key, ir.BlockArgument):
            return memory
        if self._aliases is None:
            self._aliases = {}
            self._find_aliases()
        alias = self._aliases.get(memory.key)
        return memory if alias is None else Memory(alias.key, memory.exact and alias.exact)

    def _find_aliases(self) -> None:
        """Parameters that some call gives one array, callers before what they pass on."""
        calls = [c for f in self._functions.values() for c in _calls_of_arrays(f)]
        changed = True
        while changed:
            changed = False
            for call in calls:
                callee = self._functions.get(callee_of(call))
                if callee is not None and len(callee.regions[0].blocks):
                    changed = self._join_parameters(call, callee) or changed

    def _join_parameters(self, call: ir.Operation, callee: ir.Operation) -> bool:
        parameters = callee.regions[0].blocks[0].arguments
        first: dict[Key, tuple[ir.Value, bool]] = {}
        changed = False
        for operand, parameter in zip(call.operands, parameters, strict=True):
            if not isinstance(operand.type, ir.MemRefType):
                continue
            memory = self.memory_of(operand)
            other, exact = first.setdefault(memory.key, (parameter, memory.exact))
            if other != parameter:
                changed = self._join(other, parameter, exact and memory.exact) or changed
        return changed

    def _join(self, a: ir.Value, b: ir.Value, exact: bool) -> bool:
        """Make two parameters one memory; whether that is news."""
        aliases = self._aliases if self._aliases is not None else {}
        one, two = (aliases.get(v, Memory(v)) for v in (a, b))
        merged = Memory(one.key, exact and one.exact and two.exact)
        if one == two == merged:
            return False
        for value in [a, b, *(v for v, m in aliases.items() if m.key in (one.key, two.key))]:
            aliases[value] = merged
        return True

    def _source_of(self, value: ir.Value) -> Memory:
        """The memory by its own name: aliases of parameters are not looked up."""
        exact = True
        while not isinstance(value, ir.BlockArgument):
            op = value.owner.operation
            if op.name in VIEWS:
                exact = exact and op.name == "memref.cast"
                value = op.operands[0]
                continue
            if op.name == "memref.get_global":
                return Memory("@" + ir.FlatSymbolRefAttr(op.attributes["name"]).value, exact)
            if op.name == "func.call":
                return self._memory_of_result(op, value, exact)
            break
        return Memory(value, exact)

    def effects_of(self, op: ir.Operation) -> list[Effect]:
        """Reads and writes of one operation, nested regions left out."""
        name = op.name
        if name in LOADS:
            return [self._on(op.operands[0], False)]
        if name in STORES:
            return [self._on(op.operands[1], True)]
        if name == "func.call":
            return self._call_effects(op)
        if name == "memref.copy":
            return [self._on(op.operands[0], False), self._on(op.operands[1], True)]
        if name.startswith("linalg."):
            return self._linalg_effects(op)
        if name.startswith("allo."):
            return self._allo_effects(op)
        return []

    def effects_on(self, op: ir.Operation, key: Key) -> list[Effect]:
        """Those of :meth:`effects_of` that are of one memory."""
        return [effect for effect in self.effects_of(op) if effect.memory.key == key]

    def summary(self, name: str) -> FunctionEffects:
        """Effects of a function of the module on its arguments and on globals."""
        found = self._summaries.get(name)
        if found is None:
            found = self._summaries[name] = FunctionEffects()
            function = self._functions.get(name)
            if function is not None and len(function.regions[0].blocks):
                self._summarise(function, found)
            elif function is not None:
                _assume_everything(function, found)
        return found

    def _on(self, value: ir.Value, writes: bool) -> Effect:
        return Effect(self.memory_of(value), writes, value)

    def _memory_of_result(self, call: ir.Operation, value: ir.Value, exact: bool) -> Memory:
        position = list(call.results).index(value)
        callee = callee_of(call)
        memory = self.summary(callee).returned.get(position)
        if memory is None:
            return Memory(value, exact)
        if isinstance(memory.key, str):
            return Memory(memory.key, exact and memory.exact)
        if isinstance(memory.key, ir.BlockArgument):
            source = self._source_of(call.operands[memory.key.arg_number])
            return Memory(source.key, exact and memory.exact and source.exact)
        return Memory(value, exact and memory.exact)

    def _call_effects(self, op: ir.Operation) -> list[Effect]:
        summary = self.summary(callee_of(op))
        effects = []
        for position, operand in enumerate(op.operands):
            if position in summary.arguments_read:
                effects.append(self._on(operand, False))
            if position in summary.arguments_written:
                effects.append(self._on(operand, True))
        effects += [Effect(Memory(n), False) for n in sorted(summary.names_read)]
        effects += [Effect(Memory(n), True) for n in sorted(summary.names_written)]
        return effects

    def _linalg_effects(self, op: ir.Operation) -> list[Effect]:
        memrefs = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
        if op.name == "linalg.fill":
            return [self._on(v, True) for v in memrefs]
        return [self._on(v, w) for v in memrefs for w in (False, True)]

    def _allo_effects(self, op: ir.Operation) -> list[Effect]:
        if op.name in _ORDERED:
            shown = [self._on(v, False) for v in op.operands if isinstance(v.type, ir.MemRefType)]
            return [*shown, Effect(Memory("#output"), False), Effect(Memory("#output"), True)]
        effects = []
        for value in op.operands:
            if not isinstance(value.type, ir.MemRefType):
                continue
            effects.append(self._on(value, op.name != "allo.put"))
            if op.name not in ("allo.put", "allo.get_block"):
                effects.append(self._on(value, False))
        if op.name in STREAM_OPS or _touches_stream(op):
            handle = self.memory_of(op.operands[0])
            effects += [Effect(handle, False), Effect(handle, True)]
        return effects

    def _summarise(self, function: ir.Operation, into: FunctionEffects) -> None:
        block = function.regions[0].blocks[0]
        own_arguments = list(block.arguments)

        def note(effect: Effect) -> None:
            named = effect.memory if effect.value is None else self._source_of(effect.value)
            key = named.key
            if isinstance(key, str):
                (into.names_written if effect.writes else into.names_read).add(key)
            elif isinstance(key, ir.BlockArgument) and key in own_arguments:
                target = into.arguments_written if effect.writes else into.arguments_read
                target.add(key.arg_number)

        def visit(op: ir.Operation) -> ir.WalkResult:
            for effect in self.effects_of(op):
                note(effect)
            if op.name == "func.return":
                for position, value in enumerate(op.operands):
                    if isinstance(value.type, ir.MemRefType):
                        into.returned[position] = self._source_of(value)
            return ir.WalkResult.ADVANCE

        for op in block.operations:
            op.operation.walk(lambda o: visit(o.operation), ir.WalkOrder.PRE_ORDER)


def _calls_of_arrays(function: ir.Operation) -> list[ir.Operation]:
    """Calls in a function that pass two arrays or more."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            arrays = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
            if len(arrays) > 1:
                found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(lambda op: visit(op.operation), ir.WalkOrder.PRE_ORDER)
    return found


def _assume_everything(declaration: ir.Operation, into: FunctionEffects) -> None:
    """An external function may read and write each of its arrays."""
    inputs = function_type(declaration).inputs
    arrays = {i for i, kind in enumerate(inputs) if isinstance(kind, ir.MemRefType)}
    into.arguments_read |= arrays
    into.arguments_written |= arrays


def _touches_stream(op: ir.Operation) -> bool:
    return op.name != "allo.stream" and any(
        isinstance(v.type, ir.IndexType) and _is_stream(v) for v in op.operands
    )


def _is_stream(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "allo.stream"
