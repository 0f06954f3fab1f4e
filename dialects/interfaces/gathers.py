"""Arrays of which data decide the element that is loaded: an address goes out, and the element comes back.

The nest that loads such an array becomes two processes of a region. The first runs what decides the
elements, and puts their numbers into a stream of requests. The second runs the rest, and gets the elements
from another stream. So the first is as many iterations ahead as requests may be under way. What both need
is loaded by the first, and passed on by a FIFO.

Assumes core IR in which task regions are made. Only one nest loads the array, and nothing stores to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from .._mlir import ir
from ..affine.loops import is_affine_loop, is_loop, parent_of, spec_of, string_attribute, walk
from ..affine.maps import bound_map
from ..core.fifos import MAKE
from ..core.signature import callee_of, declared_type, entry_of, functions_of, sign, signature_of
from ..passes.checks.maker import Maker
from ..streams.functions import call
from ..streams.outline import Outliner
from ..streams.processes import Process, is_pure
from ..streams.rewrite import exchange_access
from .requests import LOADS, Requests
from .runs import IrregularError
from .transfers import DEPTH, Argument, Refusal, Transfer, on_copies

AHEAD = 16
"""Words that a FIFO between the two processes holds beside those of requests under way."""


def find_gathers(
    module: ir.Module, top: str, positions: Iterable[int]
) -> dict[int, int | Refusal | None]:
    """Of array arguments how often each is loaded by requests, None for unknown; the module stays."""
    return on_copies(module, positions, lambda copy, n: _Gather(copy, top, n).count())


def make_gather(module: ir.Module, top: str, position: int, outstanding: int) -> Transfer:
    """Make two streams of an argument that :func:`find_gathers` has found, in place.

    Args:
        outstanding: how many requests may be under way.
    """
    with module.context, ir.Location.unknown():
        asking = _Gather(module, top, position).split(outstanding)
        return _Requested(module, top, position, asking).make()


class _Gather(Argument):
    """An argument, and the nest that loads it."""

    def __init__(self, module: ir.Module, top: str, position: int) -> None:
        super().__init__(module, top, position)
        self._module = module
        if isinstance(self._kind.element_type, ir.IndexType):
            raise IrregularError("its elements are of type index")
        for function, value in self._holders:
            self._check_users(function, value)
        holding = [(f, v) for f, v in self._holders if any(_loads(f, v))]
        if len(holding) != 1:
            raise IrregularError(
                "more than one function loads it" if holding else "nothing loads it"
            )
        self._function, self._array = holding[0]
        self._check_processes()
        self._nest = self._find_nest()
        self._requests = Requests(self._nest, self._array)

    def _check_users(self, function: ir.Operation, value: ir.Value) -> None:
        super()._check_users(function, value)
        if any(
            op.name not in (*LOADS, "func.call") for op in walk(function) if value in op.operands
        ):
            raise IrregularError("data decide which element is used, and it is stored, too")

    def _find_nest(self) -> ir.Operation:
        """The loop at the top of its function that holds every load."""
        tops = {_top(op, self._function) for op in _loads(self._function, self._array)}
        if len(tops) > 1:
            raise IrregularError("more than one nest of loops uses it")
        [nest] = tops
        if not is_loop(nest):
            raise IrregularError("data decide which element is used, outside of loops")
        return nest

    def count(self) -> int | None:
        """How many elements are loaded at most; None where data decide that."""
        total = 0
        for op in _loads(self._function, self._array):
            trips = 1
            loop = parent_of(op)
            while loop is not None and loop.name != "func.func":
                if is_loop(loop):
                    extent = spec_of(loop).trip_count() if is_affine_loop(loop) else None
                    if extent is None:
                        return None
                    trips *= extent
                loop = parent_of(loop)
            total += trips
        return total

    # --- two processes ----------------------------------------------------------------

    def split(self, outstanding: int) -> list[ir.Operation]:
        """Make the nest two processes; the loads of the first, which stand for requests."""
        nest, wanted = self._nest, self._requests
        asking = nest.clone(ir.InsertionPoint(nest)).operation
        twin = dict(zip([nest, *walk(nest)], [asking, *walk(asking)], strict=True))
        kept = {twin[op] for op in wanted.kept}
        for op in reversed(list(walk(asking))):
            if op not in kept and not _ends_block(op):
                op.erase()
        first = [twin[op] for op in wanted.loads]
        for op in first:
            op.attributes["from"] = ir.StringAttr.get(self._label())
        wanted.drop_dead()
        pairs = [(twin[op], op) for op in wanted.carried]
        out = Outliner(self._module, self._function)
        name = string_attribute(nest, "op_name") or "nest"
        calls = [
            out.process(Process(f"{name}_requests", [asking])),
            out.process(Process(name, [nest])),
        ]
        names = [callee_of(made) for made in calls]
        operations = [op.operation for op in entry_of(self._function).operations]
        outside = [op for op in operations if op not in calls and _is_active(op)]
        region = out.region(calls, outside)
        _carry(self._module, region, names, pairs, outstanding + AHEAD)
        return first

    def _label(self) -> str:
        return str(signature_of(self._top).name(self._position))


class _Requested(Argument):
    """The argument of a nest that was split: the first process asks, and the second one gets."""

    _second = "_wanted"

    def __init__(
        self, module: ir.Module, top: str, position: int, asking: list[ir.Operation]
    ) -> None:
        super().__init__(module, top, position)
        self._asking = asking
        self._bits = max(1, (prod(self._kind.shape) - 1).bit_length())

    def make(self) -> Transfer:
        """Make the streams; what they are called."""
        name = signature_of(self._top).name(self._position)
        shape = tuple(self._kind.shape)
        wanted = name + self._second
        made = Transfer(name, self._declared, shape, None, None, name, "", wanted)
        self.rewrite(made)
        return made

    def _gives(self, op: ir.Operation) -> bool:
        return op in self._asking

    def _stream_type(self, transfer: Transfer, way: bool) -> str:
        return f"stream<{f'ui{self._bits}' if way else transfer.dtype}, {DEPTH}>"

    def _exchange_all(
        self, accesses: Sequence[ir.Operation], handles: Mapping[bool, ir.Value]
    ) -> None:
        for op in accesses:
            if self._gives(op):
                operands = [handles[True], self._number(op)]
                before = ir.InsertionPoint(op)
                ir.Operation.create("allo.put", operands=operands, loc=op.location, ip=before)
            else:
                exchange_access(op, handles[False])
            op.erase()

    def _number(self, op: ir.Operation) -> ir.Value:
        """The place of an element among all of its array, row-major."""
        maker = Maker(op)
        total: ir.Value | None = None
        for subscript, extent in zip(_subscripts(op, maker), self._kind.shape, strict=True):
            if total is not None:
                scaled = maker.op("arith.muli", maker.index, [total, maker.constant(extent)])
                total = maker.op("arith.addi", maker.index, [scaled, subscript])
            else:
                total = subscript
        word = ir.IntegerType.get_signless(self._bits)
        return maker.op("arith.index_cast", word, [maker.constant(0) if total is None else total])


def _carry(
    module: ir.Module,
    region: ir.Operation,
    names: Sequence[str],
    pairs: Sequence[tuple[ir.Operation, ir.Operation]],
    depth: int,
) -> None:
    """Give what the first process loads to the second by FIFOs, and drop arguments that are not used."""
    functions = functions_of(module.operation)
    sender, receiver = (functions[name] for name in names)
    streams: list[ir.Value] = []
    for number, (source, target) in enumerate(pairs):
        kind = _declared(sender, source)
        for function in (sender, receiver):
            said = signature_of(function)
            block = entry_of(function)
            handle = block.add_argument(ir.IndexType.get(), function.location)
            label = f"{string_attribute(source, 'from') or 'value'}_kept{number}"
            sign(function, [*said.names, label], [*said.declared, f"stream<{kind}, {depth}>"])
            if function is sender:
                after = ir.InsertionPoint.after(source)
                operands = [handle, source.results[0]]
                ir.Operation.create("allo.put", operands=operands, loc=source.location, ip=after)
            else:
                exchange_access(target, handle)
                target.erase()
        attributes = {
            "name": ir.StringAttr.get(label),
            "dtype": ir.StringAttr.get(kind),
            "depth": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), depth),
        }
        made = ir.Operation.create(
            MAKE,
            results=[ir.IndexType.get()],
            attributes=attributes,
            loc=source.location,
            ip=ir.InsertionPoint.at_block_begin(entry_of(region)),
        )
        streams.append(made.result)
    for op in [op for op in walk(region) if op.name == "func.call"]:
        if callee_of(op) in names:
            _call_anew(functions[callee_of(op)], op, streams)


def _call_anew(function: ir.Operation, old: ir.Operation, streams: Sequence[ir.Value]) -> None:
    """Let a call pass streams, and nothing that its function does not use."""
    block, said = entry_of(function), signature_of(function)
    operands = [*old.operands, *streams]
    kept = [n for n, argument in enumerate(block.arguments) if list(argument.uses)]
    for position in reversed(range(len(operands))):
        if position not in kept:
            block.erase_argument(position)
    sign(function, [said.names[n] for n in kept], [said.declared[n] for n in kept])
    call(callee_of(old), [operands[n] for n in kept], old.location, ir.InsertionPoint(old))
    old.erase()


def _declared(function: ir.Operation, source: ir.Operation) -> str:
    """The declared type of what an operation loads or gets."""
    declared = declared_type(function, source.operands[0])
    if declared.startswith("stream<"):
        declared = declared.removeprefix("stream<").rpartition(",")[0]
    return declared


def _subscripts(op: ir.Operation, maker: Maker) -> list[ir.Value]:
    """The subscripts of a load, as values in front of it."""
    if op.name == "memref.load":
        return list(op.operands)[1:]
    bound = bound_map(op)
    return [maker.applied(bound, position) for position in range(len(bound.results))]


def _loads(function: ir.Operation, value: ir.Value) -> list[ir.Operation]:
    return [op for op in walk(function) if op.name in LOADS and op.operands[0] == value]


def _top(op: ir.Operation, function: ir.Operation) -> ir.Operation:
    """The operation directly in a function that holds another one."""
    while op.parent.operation != function:
        op = op.parent.operation
    return op


def _ends_block(op: ir.Operation) -> bool:
    return op.name in ("affine.yield", "scf.yield")


def _is_active(op: ir.Operation) -> bool:
    return not is_pure(op) and op.name not in ("memref.alloc", MAKE)


__all__ = ["find_gathers", "make_gather"]
