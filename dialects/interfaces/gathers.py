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
from .requests import LOADS, STORES, Requests, uses_element
from .runs import IrregularError
from .transfers import DEPTH, Argument, Refusal, Transfer, on_copies

WANTED = "_wanted"
"""What the name of the stream of requests ends in, where there is one of elements, too."""
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


class Asked(Argument):
    """An argument of which data decide the elements that one function uses."""

    _verb = "uses"

    def __init__(self, module: ir.Module, top: str, position: int) -> None:
        super().__init__(module, top, position)
        self._module = module
        if isinstance(self._kind.element_type, ir.IndexType):
            raise IrregularError("its elements are of type index")
        for function, value in self._holders:
            self._check_users(function, value)
        holding = [(f, v) for f, v in self._holders if self._uses_of(f, v)]
        if len(holding) != 1:
            which = "more than one function" if holding else "nothing"
            raise IrregularError(f"{which} {self._verb} it")
        self._function, self._array = holding[0]
        self._check_processes()

    def _uses_of(self, function: ir.Operation, value: ir.Value) -> list[ir.Operation]:
        """The accesses that are asked for."""
        return [op for op in walk(function) if uses_element(op, value)]

    def count(self) -> int | None:
        """How many elements are used at most; None where data decide that."""
        return _count_of(self._uses_of(self._function, self._array))

    def _asking_nest(self, several: str) -> tuple[ir.Operation, Requests]:
        """The loop at the top of the function that holds every use, and what decides these.

        Args:
            several: the reason against it where more than one nest does.
        """
        uses = self._uses_of(self._function, self._array)
        tops = {_top_of(op, self._function) for op in uses}
        if len(tops) > 1:
            raise IrregularError(several)
        [nest] = tops
        if not is_loop(nest):
            raise IrregularError("data decide which element is used, outside of loops")
        return nest, Requests(nest, self._array)

    def _split(
        self, work: tuple[ir.Operation, Requests], outstanding: int
    ) -> tuple[list[ir.Operation], list[ir.Operation]]:
        label = str(signature_of(self._top).name(self._position))
        return _split_nest(self._module, self._function, work, label, outstanding)


class _Gather(Asked):
    """An argument, and the nest that loads it."""

    _verb = "loads"

    def __init__(self, module: ir.Module, top: str, position: int) -> None:
        super().__init__(module, top, position)
        self._work = self._asking_nest("more than one nest of loops uses it")

    def _check_users(self, function: ir.Operation, value: ir.Value) -> None:
        super()._check_users(function, value)
        if any(
            op.name not in (*LOADS, "func.call") for op in walk(function) if value in op.operands
        ):
            raise IrregularError("data decide which element is used, and it is stored, too")

    def split(self, outstanding: int) -> list[ir.Operation]:
        """Make the nest two processes; the loads of the first, which stand for requests."""
        return self._split(self._work, outstanding)[0]


def _count_of(accesses: Iterable[ir.Operation]) -> int | None:
    """How often accesses run at most; None where data decide that."""
    total = 0
    for op in accesses:
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


def _split_nest(
    module: ir.Module,
    function: ir.Operation,
    work: tuple[ir.Operation, Requests],
    label: str,
    outstanding: int,
) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """Make a nest two processes: the first has what decides which elements of an array are used.

    Args:
        work: the nest, and what that is.
        label: the name of the array.
        outstanding: how many requests may be under way.

    Returns:
        The loads of the first process that stand for accesses of the second, and those among them that
        stand for stores.
    """
    nest, wanted = work
    asking = nest.clone(ir.InsertionPoint(nest)).operation
    twin = dict(zip([nest, *walk(nest)], [asking, *walk(asking)], strict=True))
    first, stored = [], []
    for op in wanted.accesses:
        made = twin[op]
        if op.name in STORES:
            made = _as_load(made)
            stored.append(made)
        made.attributes["from"] = ir.StringAttr.get(label)
        first.append(made)
    kept = {twin[op] for op in wanted.kept if op not in wanted.accesses} | set(first)
    for op in reversed(list(walk(asking))):
        if op not in kept and not _ends_block(op):
            op.erase()
    wanted.drop_dead()
    pairs = [(twin[op], op) for op in wanted.carried]
    out = Outliner(module, function)
    name = string_attribute(nest, "op_name") or "nest"
    calls = [
        out.process(Process(f"{name}_requests", [asking])),
        out.process(Process(name, [nest])),
    ]
    names = [callee_of(made) for made in calls]
    operations = [op.operation for op in entry_of(function).operations]
    outside = [op for op in operations if op not in calls and _is_active(op)]
    region = out.region(calls, outside)
    _carry(module, region, names, pairs, outstanding + AHEAD)
    return first, stored


def _as_load(store: ir.Operation) -> ir.Operation:
    """A load of the element that a store writes, in the place of that."""
    value, array, *subscripts = list(store.operands)
    attributes = {"map": store.attributes["map"]} if "map" in store.attributes else {}
    made = ir.Operation.create(
        store.name.replace("store", "load"),
        results=[value.type],
        operands=[array, *subscripts],
        attributes=attributes,
        loc=store.location,
        ip=ir.InsertionPoint(store),
    )
    store.erase()
    return made


class _Requested(Argument):
    """The argument of a nest that was split: the first process asks, and the second one gets."""

    _tails: Mapping[int, str] = {1: WANTED}

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
        wanted = name + WANTED
        made = Transfer(name, self._declared, shape, None, None, name, "", wanted)
        self.rewrite(made)
        return made

    def _ways_of(self, op: ir.Operation) -> set[int]:
        return {1 if op in self._asking else 0}

    def _stream_type(self, transfer: Transfer, way: int) -> str:
        return f"stream<{f'ui{self._bits}' if way else transfer.dtype}, {DEPTH}>"

    def _exchange_all(
        self, accesses: Sequence[ir.Operation], handles: Mapping[int, ir.Value]
    ) -> None:
        for op in accesses:
            if op in self._asking:
                put(op, handles[1], number_of(op, self._kind, self._bits))
            else:
                exchange_access(op, handles[0])
            op.erase()


def put(near: ir.Operation, stream: ir.Value, value: ir.Value) -> None:
    """Put a value into a stream, in front of an operation."""
    before = ir.InsertionPoint(near)
    ir.Operation.create("allo.put", operands=[stream, value], loc=near.location, ip=before)


def number_of(op: ir.Operation, kind: ir.MemRefType, bits: int) -> ir.Value:
    """The place of the element of an access among all of its array, row-major, as a word of ``bits``."""
    maker = Maker(op)
    total: ir.Value | None = None
    for subscript, extent in zip(_subscripts(op, maker), kind.shape, strict=True):
        if total is not None:
            scaled = maker.op("arith.muli", maker.index, [total, maker.constant(extent)])
            total = maker.op("arith.addi", maker.index, [scaled, subscript])
        else:
            total = subscript
    word = ir.IntegerType.get_signless(bits)
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
    """The subscripts of an access, as values in front of it."""
    if op.name.startswith("memref."):
        return list(op.operands)[2 if op.name.endswith("store") else 1 :]
    bound = bound_map(op)
    return [maker.applied(bound, position) for position in range(len(bound.results))]


def _top_of(op: ir.Operation, function: ir.Operation) -> ir.Operation:
    """The operation directly in a function that holds another one."""
    while op.parent.operation != function:
        op = op.parent.operation
    return op


def _ends_block(op: ir.Operation) -> bool:
    return op.name in ("affine.yield", "scf.yield")


def _is_active(op: ir.Operation) -> bool:
    return not is_pure(op) and op.name not in ("memref.alloc", MAKE)


__all__ = ["WANTED", "Asked", "find_gathers", "make_gather", "number_of", "put"]
