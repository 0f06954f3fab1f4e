"""Arrays that pass between a function and a transfer engine: loads become gets, stores puts.

Assumes core IR in which task regions are made: a stream joins two processes, and the order of different
streams is free. Loads of neighbours in one block are one get of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._mlir import ir
from ..affine.loops import is_affine_loop, is_loop, parent_of, string_attribute, walk
from ..affine.maps import constant_map
from ..core.partition import ArrayLayout, Partition, make_dim, with_layout
from ..core.rewrite import replace_operation
from ..core.signature import (
    callee_of,
    declared_type,
    entry_of,
    functions_of,
    has_body,
    sign,
    signature_of,
)
from ..passes.unroll import unroll_completely
from ..streams.rewrite import exchange_access
from ..streams.trace import Trace
from .runs import IrregularError, Runs, walks_of
from .streamed import merge_loads

DEPTH = 2
MOST_BITS = 4096
"""Of a word that the function takes at once."""
_LOADS = ("affine.load", "memref.load")
STORES = ("affine.store", "memref.store")
_SECOND = "_stored"
"""What the name of the stream for stores ends in, where there is one for loads, too."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """An array argument that has become one stream, or two.

    Attributes:
        loads, stores: the runs that pass; None where the array is not loaded, or not stored.
        load_stream, store_stream: names of the streams, "" for none.
        packed: whether no bits lie between its elements in memory.
        forks: streams of further processes that load it, and how: the same runs, in words of their own.
        request_stream: the name of one by which the function says which elements it loads and stores, ""
            where that is known beforehand.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    loads: Runs | None
    stores: Runs | None
    load_stream: str
    store_stream: str
    request_stream: str = ""
    packed: bool = False
    forks: tuple[tuple[str, Runs], ...] = ()

    @property
    def is_loaded(self) -> bool:
        """Whether elements pass from memory to the function."""
        return self.loads is not None or bool(self.request_stream and self.load_stream)

    @property
    def is_stored(self) -> bool:
        """Whether elements pass from the function to memory."""
        return self.stores is not None or bool(self.request_stream and self.store_stream)

    @property
    def streams(self) -> set[str]:
        """The names of its streams."""
        own = {self.load_stream, self.store_stream, self.request_stream} - {""}
        return own.union(name for name, _ in self.forks)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an array is no stream: a clause."""

    why: str


def on_copies[T](
    module: ir.Module, positions: Iterable[int], find: Callable[[ir.Module, int], T]
) -> dict[int, T | Refusal]:
    """What is found of each of some arguments in a copy of a module, which stays; or why nothing is."""
    found: dict[int, T | Refusal] = {}
    with module.context, ir.Location.unknown():
        text = str(module)
        for position in positions:
            try:
                found[position] = find(ir.Module.parse(text), position)
            except IrregularError as error:
                found[position] = Refusal(str(error))
    return found


class Argument:
    """One array argument of the top function, and what it is called in the functions that get it."""

    _tails: Mapping[int, str] = {1: _SECOND}
    """What the name of a stream ends in that is not the first one, by its way."""

    def __init__(self, module: ir.Module, top: str, position: int) -> None:
        self._functions = functions_of(module.operation)
        self._top = self._functions[top]
        self._position = position
        self._value = entry_of(self._top).arguments[position]
        self._kind = ir.MemRefType(self._value.type)
        self._declared = declared_type(self._top, self._value)
        self._holders = self._find_holders()
        self._places: dict[ir.Operation, int] = {}

    def _find_holders(self) -> list[tuple[ir.Operation, ir.Value]]:
        """The functions that get the array, callers first, and their argument."""
        called: dict[str, int] = {}
        for function in filter(has_body, self._functions.values()):
            for op in walk(function):
                if op.name == "func.call":
                    called[callee_of(op)] = called.get(callee_of(op), 0) + 1
        found = [(self._top, self._value)]
        for function, value in found:
            for op in users_of(function, value):
                if op.name != "func.call":
                    continue
                if called[callee_of(op)] > 1 or list(op.operands).count(value) > 1:
                    raise IrregularError("a function that is called in several places uses it")
                if _is_copied(op):
                    raise IrregularError("a function called in a pipelined loop uses it")
                callee = self._functions[callee_of(op)]
                inner = entry_of(callee).arguments[list(op.operands).index(value)]
                found.append((callee, inner))
        return found

    # --- what passes ------------------------------------------------------------------

    def prepare(self) -> Transfer:
        """Unroll what is around accesses as far as hardware does; what passes then."""
        self._unroll_all()
        if not any(op.name in STORES for f, v in self._holders for op in users_of(f, v)):
            merge_loads(self._functions, self._top, self._position)
        shape = tuple(self._kind.shape)
        operations = [op.operation for op in entry_of(self._top).operations]
        trace = Trace(self._functions, operations, {self._value: 0})
        found = walks_of(trace, shape)
        loads, stores, self._places = found.loads, found.stores, found.places
        widest = max((runs.word for runs in (loads, stores) if runs is not None), default=0)
        if not widest:
            raise IrregularError("no turn of a loop uses it")
        if widest * _bits(self._kind.element_type) > MOST_BITS:
            raise IrregularError(f"an iteration uses more than {MOST_BITS} bits of it")
        self._check_processes()
        name = signature_of(self._top).name(self._position)
        second = name + _SECOND if loads else name
        return Transfer(
            name,
            self._declared,
            shape,
            loads,
            stores,
            name if loads else "",
            second if stores else "",
        )

    def _unroll_all(self) -> None:
        """Unroll what is around accesses, which are loads and stores of elements."""
        if isinstance(self._kind.element_type, ir.IndexType):
            raise IrregularError("its elements are of type index")
        for function, value in self._holders:
            self._check_users(function, value)
            self._unroll(function, value)

    def _check_users(self, function: ir.Operation, value: ir.Value) -> None:
        for op in users_of(function, value):
            if op.name not in (*_LOADS, *STORES, "func.call"):
                raise IrregularError("it is used as a whole")

    def _unroll(self, function: ir.Operation, value: ir.Value) -> None:
        while True:
            loops = (_unrolled_around(op) for op in users_of(function, value))
            loop = next((each for each in loops if each is not None), None)
            if loop is None:
                return
            if not unroll_completely(loop):
                raise IrregularError("a loop around it is unrolled as far as data decide")

    def _check_processes(self) -> None:
        """In a region one process loads it, and one stores it."""
        ways = self._ways()
        for function, value in self._holders:
            if "region" not in function.attributes:
                continue
            for way in range(3):
                users = [
                    op
                    for op in users_of(function, value)
                    if op.name == "func.call" and way in ways[callee_of(op)]
                ]
                if len(users) > 1:
                    raise IrregularError("several processes that run at once use it")

    def _ways(self) -> dict[str, set[int]]:
        """By function whether it loads (0) and stores (1), itself or by what it calls."""
        found: dict[str, set[int]] = {}
        for function, value in reversed(self._holders):
            mine: set[int] = set()
            for op in users_of(function, value):
                mine |= found[callee_of(op)] if op.name == "func.call" else self._ways_of(op)
            if not mine:
                raise IrregularError("a function gets it and does not use it")
            found[name_of(function)] = mine
        return found

    def _ways_of(self, op: ir.Operation) -> set[int]:
        """The ways of an access."""
        return {1 if op.name in STORES else 0}

    # --- rewriting ------------------------------------------------------------------

    def rewrite(self, transfer: Transfer) -> None:
        """Make the array streams."""
        ways = self._ways()
        handles: dict[str, dict[int, ir.Value]] = {}
        names = [name_of(function) for function, _ in self._holders]
        users = [users_of(f, v) for f, v in self._holders]
        places = {
            n: ir.BlockArgument(v).arg_number
            for n, (_, v) in zip(names, self._holders, strict=True)
        }
        for name, (function, value) in zip(names, self._holders, strict=True):
            handles[name] = self._declare(function, value, ways[name], transfer)
        for name, mine in zip(names, users, strict=True):
            calls = [op for op in mine if op.name == "func.call"]
            self._exchange_all([op for op in mine if op.name != "func.call"], handles[name])
            for op in calls:
                callee = callee_of(op)
                given = [handles[name][way] for way in sorted(ways[callee])]
                _pass(op, places[callee], given)

    def _declare(
        self, function: ir.Operation, value: ir.Value, ways: set[int], transfer: Transfer
    ) -> dict[int, ir.Value]:
        """Give a function its streams in place of the array: one more argument where it has both."""
        signature = signature_of(function)
        names, declared = list(signature.names), list(signature.declared)
        position = ir.BlockArgument(value).arg_number
        first, *others = sorted(ways)
        handles = {first: value}
        value.set_type(ir.IndexType.get())
        declared[position] = self._stream_type(transfer, first)
        for way in others:
            handles[way] = entry_of(function).add_argument(ir.IndexType.get(), function.location)
            names.append(names[position] + self._tails[way])
            declared.append(self._stream_type(transfer, way))
        sign(function, names, declared)
        return handles

    def _stream_type(self, transfer: Transfer, way: int) -> str:
        runs = transfer.stores if way else transfer.loads
        block = f"{runs.word}x" if runs is not None and runs.word > 1 else ""
        return f"stream<{block}{self._declared}, {DEPTH}>"

    def _exchange_all(
        self, accesses: Sequence[ir.Operation], handles: Mapping[int, ir.Value]
    ) -> None:
        for group in groups_of(accesses):
            self._exchange(group, handles[1 if group[0].name in STORES else 0])

    def _exchange(self, group: Sequence[ir.Operation], handle: ir.Value) -> None:
        """A get in front of loads, or a put behind stores, of the neighbours of one block."""
        if len(group) == 1:
            exchange_access(group[0], handle)
            group[0].erase()
            return
        first, last = group[0], group[-1]
        kind = ir.MemRefType.get([len(group)], self._kind.element_type)
        dim = make_dim(Partition.Complete, len(group), 0)
        word = ir.Operation.create(
            "memref.alloc",
            results=[with_layout(kind, ArrayLayout((dim,)))],
            attributes={
                "name": ir.StringAttr.get(f"{_label(first)}_word"),
                "dtype": ir.StringAttr.get(self._declared),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
            },
            loc=first.location,
            ip=ir.InsertionPoint(first),
        ).result
        if first.name in _LOADS:
            name, near, ip = "allo.get_block", first, ir.InsertionPoint(first)
        else:
            name, near, ip = "allo.put", last, ir.InsertionPoint.after(last)
        ir.Operation.create(name, operands=[handle, word], loc=near.location, ip=ip)
        for op in group:
            _redirect(op, word, self._places[op])


def _label(op: ir.Operation) -> str:
    return string_attribute(op, "to") or string_attribute(op, "from") or "array"


def _redirect(op: ir.Operation, word: ir.Value, place: int) -> None:
    """Let a load or store access one place of a word."""
    stores = op.name in STORES
    lead = [op.operands[0], word] if stores else [word]
    attributes = {n: op.attributes[n] for n in ("from", "to") if n in op.attributes}
    attributes["map"] = ir.AffineMapAttr.get(constant_map(place).map)
    replace_operation(op, "affine.store" if stores else "affine.load", lead, attributes)


def _pass(call: ir.Operation, position: int, handles: Sequence[ir.Value]) -> None:
    """Let a call pass streams in place of an array."""
    operands = list(call.operands)
    operands[position] = handles[0]
    attributes = {n: call.attributes[n] for n in call.attributes}
    replace_operation(call, call.name, [*operands, *handles[1:]], attributes)


def name_of(function: ir.Operation) -> str:
    """The name that calls have of a function."""
    return str(ir.StringAttr(function.attributes["sym_name"]).value)


def users_of(function: ir.Operation, value: ir.Value) -> list[ir.Operation]:
    """The operations of a function that take a value."""
    return [op for op in walk(function) if value in list(op.operands)]


def _bits(kind: ir.Type) -> int:
    return int(kind.width)


def _is_copied(op: ir.Operation) -> bool:
    """Whether a pipelined or unrolled loop is around an operation."""
    loop = parent_of(op)
    while loop is not None:
        if is_loop(loop) and {"pipeline_ii", "unroll"} & set(loop.attributes):
            return True
        loop = parent_of(loop)
    return False


def _unrolled_around(op: ir.Operation) -> ir.Operation | None:
    """The innermost loop around an access that hardware unrolls: marked, or in a pipelined one."""
    loop, found = parent_of(op), None
    pipelined = False
    inside: list[ir.Operation] = []
    while loop is not None and loop.name != "func.func":
        if is_loop(loop):
            if "unroll" in loop.attributes and ir.IntegerAttr(loop.attributes["unroll"]).value != 0:
                raise IrregularError("a loop around it is unrolled in part")
            if "unroll" in loop.attributes:
                found = found or loop
            pipelined = "pipeline_ii" in loop.attributes
            if pipelined and inside:
                found = inside[0]
            inside.append(loop)
        loop = parent_of(loop)
    if found is not None and not is_affine_loop(found):
        raise IrregularError("a loop around it is unrolled, and its bounds are data")
    return found


def groups_of(accesses: Sequence[ir.Operation]) -> list[list[ir.Operation]]:
    """Accesses of one direction that stand in one block, in order."""
    found: dict[tuple[ir.Block, bool], list[ir.Operation]] = {}
    for op in accesses:
        found.setdefault((op.block, op.name in STORES), []).append(op)
    return list(found.values())
