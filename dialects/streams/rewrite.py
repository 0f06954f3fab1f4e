"""Loads and stores of arrays of FIFOs become gets and puts of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._mlir import ir
from ..affine.loops import (
    induction_variable,
    is_affine_loop,
    parent_of,
    string_attribute,
    walk,
)
from ..affine.maps import BoundMap, bound_map
from ..affine.substitute import simplify
from ..core.locations import place_of
from ..core.signature import callee_of, declared_type, functions_of, sign, signature_of
from ..diagnostics import IllegalTransformError
from ..passes.unroll import fold_conditions, unroll_completely
from .functions import call
from .network import StreamArray
from .trace import known_index, known_subscripts

_ACCESSES = ("affine.load", "affine.store", "memref.load", "memref.store")
_Fifo = tuple[int, tuple[int, ...]]


class StreamRewriter:
    """Gives the processes of a region streams in place of arrays."""

    def __init__(
        self, module: ir.Module, region: ir.Operation, arrays: Sequence[StreamArray]
    ) -> None:
        self._module = module
        self._region = region
        self._arrays = list(arrays)
        self._streams: dict[_Fifo, ir.Value] = {}

    def process(self, made: ir.Operation) -> None:
        """Rewrite the function a process calls, and its call."""
        numbers = {a.value: n for n, a in enumerate(self._arrays)}
        if not any(v in numbers for v in made.operands):
            return
        name = callee_of(made)
        callee = functions_of(self._module.operation)[name]
        block = callee.regions[0].blocks[0]
        known: dict[ir.Value, int] = {}
        taken: dict[ir.Value, int] = {}
        for operand, argument in zip(made.operands, block.arguments, strict=True):
            number = known_index(operand, {})
            if number is not None:
                known[argument] = number
            if operand in numbers:
                taken[argument] = numbers[operand]
        self._unroll(callee, taken)
        body = _Callee(callee, self._fifos(callee, taken, known))
        body.rewrite()
        kept = body.drop(
            [*taken, *(a for a in block.arguments if isinstance(a.type, ir.IndexType))]
        )
        operands = [made.operands[p] for p in kept] + [self._stream(f) for f in body.order]
        body.declare(kept, [self._type(f) for f in body.order])
        call(name, operands, made.location, ir.InsertionPoint(made))
        made.erase()

    def _unroll(self, callee: ir.Operation, taken: Mapping[ir.Value, int]) -> None:
        """Unroll the loops whose index says which FIFO: that must be known in hardware."""
        while True:
            loop = next((p for op in walk(callee) if (p := self._selector(op, taken))), None)
            if loop is None:
                break
            if not unroll_completely(loop):
                break
        fold_conditions(callee)

    def _selector(self, op: ir.Operation, taken: Mapping[ir.Value, int]) -> ir.Operation | None:
        """The loop around an access whose index says which FIFO it is."""
        array = _array_of(op)
        if array is None or array not in taken:
            return None
        space = self._arrays[taken[array]].space
        used = _operands_of(op, space.spatial)
        loop = parent_of(op)
        while loop is not None:
            if is_affine_loop(loop) and induction_variable(loop) in used:
                return loop
            loop = parent_of(loop)
        return None

    def _fifos(
        self,
        callee: ir.Operation,
        taken: Mapping[ir.Value, int],
        known: Mapping[ir.Value, int],
    ) -> list[tuple[ir.Operation, _Fifo]]:
        """Every access with the FIFO it is of."""
        found = []
        for op in walk(callee):
            touched = [v for v in op.operands if v in taken]
            if not touched:
                continue
            array = _array_of(op)
            number = taken[touched[0]]
            index = _subscripts(op, known) if array is not None else []
            which = [index[d] for d in self._arrays[number].space.spatial] if array else [None]
            if any(i is None for i in which):
                raise IllegalTransformError(
                    f"{self._arrays[number].name}: in which FIFO {op.name} is depends on more than "
                    "loops with constant bounds.",
                    place_of(op),
                    help="write and read it by subscripts of such loops, in the process itself.",
                )
            found.append((op, (number, tuple(i for i in which if i is not None))))
        return found

    def _stream(self, fifo: _Fifo) -> ir.Value:
        if fifo not in self._streams:
            array = self._arrays[fifo[0]]
            name = "_".join([array.name, *map(str, fifo[1])])
            attributes = {
                "name": ir.StringAttr.get(name),
                "dtype": ir.StringAttr.get(declared_type(self._region, array.value)),
                "depth": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), array.space.depth),
            }
            made = ir.Operation.create(
                "allo.stream",
                results=[ir.IndexType.get()],
                attributes=attributes,
                loc=array.value.owner.operation.location,
                ip=ir.InsertionPoint(array.value.owner.operation),
            )
            self._streams[fifo] = made.result
        return self._streams[fifo]

    def _type(self, fifo: _Fifo) -> str:
        array = self._arrays[fifo[0]]
        return f"stream<{declared_type(self._region, array.value)}, {array.space.depth}>"


class _Callee:
    """One process's function while its arrays become streams."""

    def __init__(
        self, callee: ir.Operation, accesses: Sequence[tuple[ir.Operation, _Fifo]]
    ) -> None:
        self._callee = callee
        self._block = callee.regions[0].blocks[0]
        self._accesses = list(accesses)
        signature = signature_of(callee)
        self._names, self._types = signature.names, signature.declared
        self._handles: dict[_Fifo, ir.Value] = {}
        self._labels: list[str] = []
        self.order: list[_Fifo] = []

    def rewrite(self) -> None:
        """Each load a get, each store a put."""
        for op, fifo in self._accesses:
            exchange_access(op, self._handle(op, fifo))
        for op, _ in self._accesses:
            op.erase()

    def _handle(self, op: ir.Operation, fifo: _Fifo) -> ir.Value:
        if fifo not in self._handles:
            label = _label(op)
            sharing = {f for other, f in self._accesses if _label(other) == label}
            wanted = "_".join([label, *map(str, fifo[1])]) if len(sharing) > 1 else label
            while wanted in self._labels:
                wanted += "_"
            self._labels.append(wanted)
            self.order.append(fifo)
            self._handles[fifo] = self._block.add_argument(ir.IndexType.get(), op.location)
        return self._handles[fifo]

    def drop(self, candidates: Sequence[ir.Value]) -> list[int]:
        """Erase arguments that nothing uses any more; the positions of the old ones that stay."""
        gone = {ir.BlockArgument(v).arg_number for v in candidates if not list(v.uses)} & set(
            range(len(self._names))
        )
        for position in sorted(gone, reverse=True):
            self._block.erase_argument(position)
        return [p for p in range(len(self._names)) if p not in gone]

    def declare(self, kept: Sequence[int], streams: Sequence[str]) -> None:
        """Write the new signature."""
        names = [self._names[p] for p in kept]
        labels = [label if label not in names else f"{label}_" for label in self._labels]
        sign(self._callee, [*names, *labels], [*(self._types[p] for p in kept), *streams])


def exchange_access(op: ir.Operation, handle: ir.Value) -> None:
    """Put a get in front of a load, and take its value, or a put in front of a store; the access stays."""
    ip = ir.InsertionPoint(op)
    if op.name.endswith("store"):
        operands = [handle, op.operands[0]]
        ir.Operation.create("allo.put", operands=operands, loc=op.location, ip=ip)
        return
    kind = op.results[0].type
    got = ir.Operation.create("allo.get", results=[kind], operands=[handle], loc=op.location, ip=ip)
    op.results[0].replace_all_uses_with(got.result)


def _label(op: ir.Operation) -> str:
    return string_attribute(op, "to") or string_attribute(op, "from") or "fifo"


def _array_of(op: ir.Operation) -> ir.Value | None:
    if op.name not in _ACCESSES:
        return None
    return op.operands[1 if op.name.endswith("store") else 0]


def _operands_of(op: ir.Operation, dims: Sequence[int]) -> set[ir.Value]:
    """Values in the subscripts of some dimensions, those behind ``affine.apply`` included."""
    start = 2 if op.name.endswith("store") else 1
    if op.name.startswith("affine."):
        bound = bound_map(op)
        found = {v for d in dims for v in _in_expression(bound.map.results[d], bound)}
    else:
        found = {op.operands[start + d] for d in dims}
    waiting = list(found)
    while waiting:
        value = waiting.pop()
        if not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "affine.apply":
            waiting += [v for v in value.owner.operation.operands if v not in found]
            found |= set(value.owner.operation.operands)
    return found


def _in_expression(expr: ir.AffineExpr, bound: BoundMap) -> list[ir.Value]:
    return list(simplify(bound.alone(expr)).operands)


def _subscripts(op: ir.Operation, known: Mapping[ir.Value, int]) -> list[int | None]:
    if op.name.startswith("affine."):
        return known_subscripts(bound_map(op), known)
    start = 2 if op.name.endswith("store") else 1
    return [known_index(v, known) for v in list(op.operands)[start:]]
