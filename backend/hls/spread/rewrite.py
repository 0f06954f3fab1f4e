"""Array arguments that lie on several channels: one parameter for each channel.

``s.place(s.A, "hbm[0:4]")``. Before::

    func.func @top(%A: memref<64x64xi32>)

After::

    func.func @load_buf0(%port_0: memref<64xi512>, …, %buffer: memref<64x64xi32>, %base: index)
    func.func @top(%A_0: memref<64xi512>, …, %A_3: memref<64xi512>)   // calls @load_buf0(%A_0, …)

The array is copied whole into a buffer, and back if it is written. Without such copies (``wrap_io=False``)
the loops that copy runs of whole lines, as ``s.cache`` makes them, become calls of movers (:mod:`.rows`).
Where there are other accesses, a port passes single elements, and each access chooses one of them. An array
that a function without a body takes is copied whole in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.affine.maps import bound_map
from allo.dialects.checked import module_pass
from allo.dialects.core.rewrite import replace_operation
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    functions_of,
    has_body,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.interfaces.placements import Placement, note_placements, placements_of
from allo.dialects.passes.arg_access import analyze_arg_load_store, writes_everything
from allo.dialects.passes.io_buffers import add_function, call, local_buffer
from allo.dialects.text.free_name import free_name

from ..process_copies import CONSTANTS, instantiated
from ..split_arguments import COUNTS, split_counts
from .layout import Spread, note_spreads
from .movers import mover, row_major
from .rows import Row, row_of

_ACCESSES = ("affine.load", "affine.store", "memref.load", "memref.store")
_WIDE, _NARROW, _WHOLE = range(3)


@module_pass
def spread_arguments(
    module: ir.Module, top: str, spreads: Mapping[int, Spread], *, whole: bool
) -> frozenset[int]:
    """Give arrays of the top function one parameter for each channel, in place.

    Args:
        spreads: by position of the user's argument.
        whole: copy them whole into buffers.

    Returns:
        The positions of these parameters.
    """
    with module.context, ir.Location.unknown():
        function = functions_of(module)[top]
        counts = list(split_counts(function, len(entry_of(function).arguments)))
        rewriter = _Rewriter(module, function)
        given: dict[int, Spread] = {}
        access = analyze_arg_load_store(module)[top]
        copied: list[tuple[int, Spread, bool]] = []
        for position, spread in spreads.items():
            first = sum(counts[:position])
            how = _WHOLE if whole else rewriter.how(function, first, spread)
            given[position] = made = replace(spread, wide=how != _NARROW)
            if how == _WHOLE:
                load = access[first] != "out" or not writes_everything(function, first, module)
                copied.append((first, made, load))
        for first, made, load in copied:
            rewriter.copy_whole(first, made, load=load, store=access[first] != "in")
        places = _placed(function, given)
        taken = {sum(counts[:position]): each for position, each in given.items()}
        with function.location:
            kept = rewriter.rewrite(function, taken)
        rewriter.drop()
        for position, each in given.items():
            counts[position] = each.channels
        function.attributes[COUNTS] = ir.DenseI64ArrayAttr.get(counts)
        note_spreads(function, given)
        note_placements(function, places)
        return kept


def part_names(taken: Sequence[str], spread: Spread) -> list[str]:
    """What the parameters of the channels are called; the one of a single channel as the array."""
    if spread.channels == 1:
        return [spread.name]
    tail = ""
    while any(f"{spread.name}{tail}_{c}" in taken for c in range(spread.channels)):
        tail += "_"
    return [f"{spread.name}{tail}_{c}" for c in range(spread.channels)]


def _placed(function: ir.Operation, given: Mapping[int, Spread]) -> dict[str, Placement]:
    """Where the arguments lie, with the parameters of the channels in the place of arrays."""
    placed = placements_of(function)
    names = signature_of(function).names
    for spread in given.values():
        where = placed.get(spread.name)
        if where is None or spread.channels == 1:
            continue
        del placed[spread.name]
        for c, name in enumerate(part_names(names, spread)):
            placed[name] = Placement(where.kind, where.first + c, where.first + c + 1)
    return placed


class _Rewriter:
    def __init__(self, module: ir.Module, top: ir.Operation) -> None:
        self._module = module
        self._top = top
        self._functions = functions_of(module)
        self._copies: dict[tuple[str, tuple[tuple[int, Spread], ...]], str] = {}
        self._movers = 0
        self._moving: set[str] = set()  # functions that take the parameters of channels already

    # --- how an array is used --------------------------------------------------------------------

    def how(self, function: ir.Operation, position: int, spread: Spread) -> int:
        """Whether lines can pass wherever the array is used, or elements, or it must be copied whole."""
        worst = _WIDE
        for use in entry_of(function).arguments[position].uses:
            op = use.owner.operation
            if op.name == "func.call":
                callee = self._functions[callee_of(op)]
                if not has_body(callee):
                    return _WHOLE
                for k, value in enumerate(op.operands):
                    if value == entry_of(function).arguments[position]:
                        worst = max(worst, self.how(callee, k, spread))
            elif op.name not in _ACCESSES:
                return _WHOLE
            elif not op.name.startswith("affine.") or row_of(op, spread) is None:
                worst = max(worst, _WHOLE if spread.packed else _NARROW)
        return worst

    # --- whole copies -----------------------------------------------------------------------------

    def copy_whole(self, position: int, spread: Spread, *, load: bool, store: bool) -> None:
        """Put a buffer in the place of an argument of the top; its movers still take the argument."""
        top, entry = self._top, entry_of(self._top)
        argument = entry.arguments[position]
        operations = list(entry.operations)
        first, last = operations[0].operation, operations[-1].operation
        with top.location:
            with ir.InsertionPoint(first):
                buffer = local_buffer(spread.kind, f"buf{position}", spread.declared)
            argument.replace_all_uses_with(buffer)
            whole = row_major(list(spread.kind.shape))
            for name, wanted, before, filled in (
                (f"load_buf{position}", load, first, True),
                (f"store_res{position}", store, last, False),
            ):
                if not wanted:
                    continue
                free = free_name(name, self._functions)
                text = mover(free, spread, spread.kind, spread.count, whole, load=filled)
                add_function(text, top)
                self._functions[free] = functions_of(self._module)[free]
                self._moving.add(free)
                with ir.InsertionPoint(before):
                    zero = ir.Operation.create(
                        "arith.constant",
                        results=[ir.IndexType.get()],
                        attributes={"value": ir.IntegerAttr.get(ir.IndexType.get(), 0)},
                    )
                    call(free, [argument, buffer, zero.result])

    # --- functions ----------------------------------------------------------------------------------

    def rewrite(self, function: ir.Operation, spreads: Mapping[int, Spread]) -> frozenset[int]:
        """Put the parameters of the channels in the place of arrays; their positions."""
        block = entry_of(function)
        old = list(block.arguments)
        arrays = {old[k]: spread for k, spread in spreads.items()}
        signature = signature_of(function)
        names: list[str] = []
        declared: list[str] = []
        parts: dict[ir.Value, list[ir.Value]] = {}
        places: dict[int, int] = {}
        kept: list[int] = []
        for position, argument in enumerate(old):
            spread = spreads.get(position)
            places[position] = len(names)
            if spread is None:
                fresh = block.add_argument(argument.type, function.location)
                argument.replace_all_uses_with(fresh)
                names.append(signature.names[position])
                declared.append(signature.declared[position])
                continue
            kept += range(len(names), len(names) + spread.channels)
            parts[argument] = [
                block.add_argument(spread.port, function.location) for _ in range(spread.channels)
            ]
            named = replace(spread, name=signature.name(position))
            names += part_names([*signature.names, *names], named)
            declared += [spread.port_declared] * spread.channels
        for argument, spread in arrays.items():
            self._uses(argument, spread, parts[argument])
        self._calls(function, arrays, parts)
        for position in reversed(range(len(old))):
            block.erase_argument(position)
        sign(function, names, declared)
        marked = [places[k] for k in instantiated(function) if k not in spreads]
        if CONSTANTS in function.attributes:
            function.attributes[CONSTANTS] = ir.DenseI64ArrayAttr.get(marked)
        return frozenset(kept)

    def _uses(self, array: ir.Value, spread: Spread, parts: Sequence[ir.Value]) -> None:
        accesses = [use.owner.operation for use in array.uses]
        for op in accesses:
            if op.name not in _ACCESSES:
                continue
            with op.location:
                if spread.wide:
                    row = row_of(op, spread)
                    if row is not None:
                        self._move_row(row, spread, parts)
                elif op.name.endswith("load"):
                    _load(op, spread, parts)
                else:
                    _store(op, spread, parts)

    def _move_row(self, row: Row, spread: Spread, parts: Sequence[ir.Value]) -> None:
        name = free_name(f"{'load' if row.load else 'store'}_rows{self._movers}", self._functions)
        self._movers += 1
        kind = ir.MemRefType(row.buffer.type)
        text = mover(
            name,
            spread,
            kind,
            row.count,
            row.subscripts,
            load=row.load,
            operands=len(row.operands),
        )
        add_function(text, self._top)
        self._functions[name] = functions_of(self._module)[name]
        self._moving.add(name)
        with ir.InsertionPoint(row.loop):
            base = ir.Operation.create(
                "affine.apply",
                results=[ir.IndexType.get()],
                operands=list(row.base.operands),
                attributes={"map": ir.AffineMapAttr.get(row.base.map)},
            ).result
            call(name, [*parts, row.buffer, base, *row.operands])
        row.loop.erase()

    def _calls(
        self,
        function: ir.Operation,
        arrays: Mapping[ir.Value, Spread],
        parts: Mapping[ir.Value, Sequence[ir.Value]],
    ) -> None:
        for op in [op for op in walk(function) if op.name == "func.call"]:
            given = {k: arrays[v] for k, v in enumerate(op.operands) if v in arrays}
            if not given:
                continue
            callee = self._functions[callee_of(op)]
            name = symbol(callee)
            if name not in self._moving:
                name = self._copy(callee, given)
            operands: list[ir.Value] = []
            for value in op.operands:
                operands += parts.get(value, [value])
            attributes = {n: op.attributes[n] for n in op.attributes}
            attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
            replace_operation(op, "func.call", operands, attributes)

    def _copy(self, callee: ir.Operation, given: Mapping[int, Spread]) -> str:
        """A function that takes the parameters of channels in the place of these arguments."""
        key = symbol(callee), tuple(given.items())
        if key not in self._copies:
            made = callee.clone(ir.InsertionPoint(callee)).operation
            self._copies[key] = free_name(f"{symbol(callee)}_s0", self._functions)
            made.attributes["sym_name"] = ir.StringAttr.get(self._copies[key])
            self._functions[self._copies[key]] = made
            self.rewrite(made, given)
        return self._copies[key]

    def drop(self) -> None:
        """Erase the functions that were copied and are called no more."""
        originals = {name for name, _ in self._copies}
        while True:
            called = {
                callee_of(op) for op in walk(self._module.operation) if op.name == "func.call"
            }
            gone = [n for n in originals if n in self._functions and n not in called]
            if not gone:
                return
            for name in gone:
                self._functions.pop(name).erase()


# --- single elements ----------------------------------------------------------------------------------


def _load(op: ir.Operation, spread: Spread, parts: Sequence[ir.Value]) -> None:
    ip = ir.InsertionPoint(op)
    part, offset = _where(op, spread, list(op.operands)[1:], ip)
    marks = {n: op.attributes[n] for n in ("from", "unsigned") if n in op.attributes}
    found: ir.Value | None = None
    for number, port in enumerate(parts):
        value = _make("memref.load", [port, offset], ip, op.results[0].type, marks)
        if found is None:
            found = value
            continue
        chosen = _compare(part, number, ip)
        found = _make("arith.select", [chosen, value, found], ip, value.type)
    if found is not None:
        op.results[0].replace_all_uses_with(found)
    op.erase()


def _store(op: ir.Operation, spread: Spread, parts: Sequence[ir.Value]) -> None:
    ip = ir.InsertionPoint(op)
    value = op.operands[0]
    part, offset = _where(op, spread, list(op.operands)[2:], ip)
    marks = {n: op.attributes[n] for n in ("to", "unsigned") if n in op.attributes}
    for number, port in enumerate(parts):
        guard = ir.Operation.create(
            "scf.if", operands=[_compare(part, number, ip)], regions=2, ip=ip
        )
        block = guard.regions[0].blocks.append()
        inside = ir.InsertionPoint(block)
        ir.Operation.create(
            "memref.store", operands=[value, port, offset], attributes=marks, ip=inside
        )
        ir.Operation.create("scf.yield", ip=inside)
    op.erase()


def _where(
    op: ir.Operation, spread: Spread, operands: list[ir.Value], ip: ir.InsertionPoint
) -> tuple[ir.Value, ir.Value]:
    """The channel of an access, and which element of it."""
    subscripts = operands
    if op.name.startswith("affine."):
        bound = bound_map(op)
        subscripts = [
            _make(
                "affine.apply",
                list(bound.operands),
                ip,
                ir.IndexType.get(),
                {"map": ir.AffineMapAttr.get(bound.alone(expr).map)},
            )
            for expr in bound.results
        ]
    shape = list(spread.kind.shape)
    number = _constant(0, ip)
    for dim, value in enumerate(subscripts):
        scaled = _with("arith.muli", value, prod(shape[dim + 1 :]), ip)
        number = _make("arith.addi", [number, scaled], ip, ir.IndexType.get())
    line = _with("arith.divui", number, spread.in_line, ip)
    part = _with("arith.remui", line, spread.channels, ip)
    begin = _with("arith.muli", _with("arith.divui", line, spread.channels, ip), spread.in_line, ip)
    inside = _with("arith.remui", number, spread.in_line, ip)
    return part, _make("arith.addi", [begin, inside], ip, ir.IndexType.get())


def _make(
    name: str,
    operands: Sequence[ir.Value],
    ip: ir.InsertionPoint,
    kind: ir.Type,
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Value:
    return ir.Operation.create(
        name, results=[kind], operands=list(operands), attributes=dict(attributes or {}), ip=ip
    ).result


def _constant(number: int, ip: ir.InsertionPoint) -> ir.Value:
    kind = ir.IndexType.get()
    return _make("arith.constant", [], ip, kind, {"value": ir.IntegerAttr.get(kind, number)})


def _with(name: str, value: ir.Value, number: int, ip: ir.InsertionPoint) -> ir.Value:
    return _make(name, [value, _constant(number, ip)], ip, ir.IndexType.get())


def _compare(part: ir.Value, number: int, ip: ir.InsertionPoint) -> ir.Value:
    equal = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    operands = [part, _constant(number, ip)]
    return _make("arith.cmpi", operands, ip, ir.IntegerType.get_signless(1), {"predicate": equal})
