"""Slices go: every access names the whole array.

A ``memref.subview`` used by loads and stores is folded into their subscripts; a copy or a fill of one
becomes loops over its elements. One that is passed to a function moves into that function, which then
takes the whole array and, for each offset known only when it runs, an index: a function whose calls
slice alike changes in place, otherwise a copy ``<name>_v<n>`` is made. Two arguments that are one
array become one. Leaves no ``memref.subview`` but those that only dialect operations use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .._mlir import ir
from ..affine.bulk import BULK, expand_bulk
from ..affine.loops import walk
from ..affine.maps import BoundMap, bound_map
from ..affine.substitute import simplify
from ..checked import module_pass
from ..core.rewrite import replace_operation
from ..core.signature import declared_arguments, keep_declared, sign, signature_of, symbol
from .specialise import homes, specialise_calls

_DYNAMIC = ir.ShapedType.get_dynamic_size()
_VIEWS = ("memref.subview", "memref.cast")
_AFFINE = ("affine.load", "affine.store")
_PLAIN = ("memref.load", "memref.store")


@dataclass(frozen=True, slots=True)
class Slice:
    """A subview: of each source dimension the offset (a number or a value), step and result dimension."""

    source: ir.Value
    offsets: tuple[int | ir.Value, ...]
    steps: tuple[int, ...]
    dims: tuple[int | None, ...]

    def pattern(self) -> tuple[object, ...]:
        """What two slices share when one function can serve both."""
        offsets = tuple(o if isinstance(o, int) else None for o in self.offsets)
        return str(self.source.type), offsets, self.steps, self.dims


@module_pass
def fold_views(module: ir.Module, through: Callable[[ir.Operation], bool] | None = None) -> None:
    """Fold slices into subscripts and through calls, in place.

    Args:
        through: the calls to fold through, where those are not all; without one nothing is folded.
    """
    calls = [op for op in walk(module.operation) if op.name == "func.call"]
    if through is not None and not any(map(through, calls)):
        return
    with module.context, ir.Location.unknown():
        for _ in range(64):
            if not _step(module, through or (lambda call: True)):
                return


def fold_accesses(function: ir.Operation) -> None:
    """Fold the slices in one function into the accesses of its own, in place; calls stay as they are."""
    with function.context, ir.Location.unknown():
        changed = True
        while changed:
            changed = _fold_all(function)
            changed = _drop_unused(function) or changed


def _step(module: ir.Module, through: Callable[[ir.Operation], bool]) -> bool:
    """Fold every slice once; whether anything changed."""
    changed = _fold_all(module.operation)
    changed = _push_into_callees(module, through) or changed
    return _drop_unused(module.operation) or changed


def _fold_all(root: ir.Operation) -> bool:
    """Fold every slice below an operation into its accesses; whether anything changed."""
    changed = False
    for op in _views(root):
        changed = _fold_accesses(op) or changed
    return changed


def _drop_unused(root: ir.Operation) -> bool:
    """Erase the slices below an operation that nothing uses; whether there were any."""
    unused = [op for op in _views(root) if not list(op.result.uses)]
    for op in unused:
        op.erase()
    return bool(unused)


def _views(root: ir.Operation) -> list[ir.Operation]:
    """Chosen before anything is folded: a handle to an erased access must not be read again."""
    return [op for op in walk(root) if op.name in _VIEWS]


def slice_behind(value: ir.Value) -> Slice | None:
    """The slice a value is, casts looked through; None for a whole array or an unknown view."""
    casts = False
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name == "memref.subview":
            return slice_of(op)
        if op.name != "memref.cast":
            break
        casts = True
        value = op.operands[0]
    if not casts or not ir.MemRefType(value.type).has_static_shape:
        return None
    rank = ir.MemRefType(value.type).rank
    return Slice(value, (0,) * rank, (1,) * rank, tuple(range(rank)))


def slice_of(op: ir.Operation) -> Slice | None:
    """The slice a ``memref.subview`` takes; None where sizes or steps are not numbers."""
    static = {
        name: list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    }
    if _DYNAMIC in static["sizes"] or _DYNAMIC in static["strides"]:
        return None
    dynamic = iter(list(op.operands)[1:])
    offsets = tuple(next(dynamic) if o == _DYNAMIC else o for o in static["offsets"])
    shape = list(ir.MemRefType(op.result.type).shape)
    dims = _kept_dims(static["sizes"], shape)
    if dims is None:
        return None
    return Slice(op.operands[0], offsets, tuple(static["strides"]), dims)


def _kept_dims(sizes: Sequence[int], shape: Sequence[int]) -> tuple[int | None, ...] | None:
    """For each source dimension its place in the result; dimensions of extent 1 may be dropped."""
    dims: list[int | None] = []
    place = 0
    to_drop = len(sizes) - len(shape)
    for size in sizes:
        if place < len(shape) and size == shape[place] and not (size == 1 and to_drop):
            dims.append(place)
            place += 1
        elif size == 1:
            dims.append(None)
            to_drop -= 1
        else:
            return None
    return tuple(dims) if place == len(shape) else None


# --- loads and stores ---------------------------------------------------------------------


def _fold_accesses(op: ir.Operation) -> bool:
    found = slice_behind(op.result)
    if found is None:
        return False
    changed = False
    while bulk := next((u.owner.operation for u in op.result.uses if u.owner.name in BULK), None):
        expand_bulk(bulk)
        changed = True
    for user in [use.owner.operation for use in op.result.uses]:
        if user.name in _AFFINE:
            _fold_affine(user, found)
        elif user.name in _PLAIN:
            _fold_plain(user, found)
        else:
            continue
        changed = True
    return changed


def _lead(op: ir.Operation, source: ir.Value) -> list[ir.Value]:
    return [source] if op.name.endswith(".load") else [op.operands[0], source]


def _fold_affine(op: ir.Operation, found: Slice) -> None:
    bound = bound_map(op)
    if any(not isinstance(o, int) and not _is_affine_index(o) for o in found.offsets):
        indices = [_apply(op, bound.alone(expr)) for expr in bound.map.results]
        _replace_plain(op, found, indices)
        return
    offset_dims = [o for o in found.offsets if not isinstance(o, int)]
    base = bound.map.n_dims
    results = []
    for offset, step, dim in zip(found.offsets, found.steps, found.dims, strict=True):
        if isinstance(offset, int):
            expr: ir.AffineExpr = ir.AffineExpr.get_constant(offset)
        else:
            expr = ir.AffineExpr.get_dim(base + offset_dims.index(offset))
        if dim is not None:
            scaled = ir.AffineExpr.get_mul(bound.map.results[dim], ir.AffineExpr.get_constant(step))
            expr = ir.AffineExpr.get_add(expr, scaled)
        results.append(expr)
    made = ir.AffineMap.get(base + len(offset_dims), bound.map.n_symbols, results)
    whole = simplify(BoundMap(made, (*bound.dims, *offset_dims, *bound.symbols)))
    attributes = {n: op.attributes[n] for n in op.attributes}
    attributes["map"] = ir.AffineMapAttr.get(whole.map)
    replace_operation(op, op.name, [*_lead(op, found.source), *whole.operands], attributes)


def _is_affine_index(value: ir.Value) -> bool:
    """Whether MLIR takes the value as a dimension of an affine access."""
    if isinstance(value, ir.BlockArgument):
        return value.owner.owner.operation.name in ("affine.for", "func.func")
    op = value.owner.operation
    if op.name == "affine.apply":
        return all(_is_affine_index(v) for v in op.operands)
    return bool(op.name == "arith.constant" or op.parent.operation.name == "func.func")


def _fold_plain(op: ir.Operation, found: Slice) -> None:
    lead = 1 if op.name == "memref.load" else 2
    _replace_plain(op, found, list(op.operands)[lead:])


def _replace_plain(op: ir.Operation, found: Slice, indices: Sequence[ir.Value]) -> None:
    subscripts = []
    for offset, step, dim in zip(found.offsets, found.steps, found.dims, strict=True):
        start = _constant(op, offset) if isinstance(offset, int) else offset
        if dim is None:
            subscripts.append(start)
            continue
        moved = indices[dim]
        if step != 1:
            moved = _binary(op, "arith.muli", moved, _constant(op, step))
        subscripts.append(_binary(op, "arith.addi", start, moved))
    name = "memref.load" if op.name.endswith(".load") else "memref.store"
    attributes = {n: op.attributes[n] for n in op.attributes if n in ("from", "to", "unsigned")}
    replace_operation(op, name, [*_lead(op, found.source), *subscripts], attributes)


def _apply(op: ir.Operation, bound: BoundMap) -> ir.Value:
    made = ir.Operation.create(
        "affine.apply",
        results=[ir.IndexType.get()],
        operands=list(bound.operands),
        attributes={"map": ir.AffineMapAttr.get(bound.map)},
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    return made.result


def _constant(op: ir.Operation, value: int) -> ir.Value:
    index = ir.IndexType.get()
    made = ir.Operation.create(
        "arith.constant",
        results=[index],
        attributes={"value": ir.IntegerAttr.get(index, value)},
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    return made.result


def _binary(op: ir.Operation, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    made = ir.Operation.create(
        name, results=[a.type], operands=[a, b], loc=op.location, ip=ir.InsertionPoint(op)
    )
    return made.result


# --- calls ----------------------------------------------------------------------------------


def _push_into_callees(module: ir.Module, through: Callable[[ir.Operation], bool]) -> bool:
    def pattern(call: ir.Operation) -> object:
        return _call_pattern(call) if _slices(call) and through(call) else None

    return specialise_calls(module, pattern, _specialise)


def _slices(call: ir.Operation) -> dict[int, Slice]:
    """Argument position to the slice passed there."""
    found: dict[int, Slice] = {}
    for position, value in enumerate(call.operands):
        one = slice_behind(value) if isinstance(value.type, ir.MemRefType) else None
        if one is not None:
            found[position] = one
    return found


def _homes(call: ir.Operation, slices: dict[int, Slice]) -> list[int]:
    return homes([slices[k].source if k in slices else v for k, v in enumerate(call.operands)])


def _call_pattern(call: ir.Operation) -> object:
    slices = _slices(call)
    same = tuple(_homes(call, slices))
    return tuple((k, s.pattern()) for k, s in slices.items()), same


def _specialise(function: ir.Operation, sites: Sequence[ir.Operation]) -> None:
    """Let ``function`` take whole arrays and offsets; rewrite its calls."""
    slices = _slices(sites[0])
    block = function.regions[0].blocks[0]
    signature = signature_of(function)
    names, kinds = list(map(signature.name, range(len(signature.names)))), list(signature.declared)
    merged = {k: home for k, home in enumerate(_homes(sites[0], slices)) if home not in (-1, k)}
    _keep_declared(function, names, slices, merged)
    begin = ir.InsertionPoint.at_block_begin(block)
    added: list[tuple[str, str]] = []
    arguments = list(block.arguments)
    for position, one in slices.items():
        home = arguments[merged.get(position, position)]
        view_type = arguments[position].type
        offsets = []
        for dim, offset in enumerate(one.offsets):
            if isinstance(offset, int):
                continue
            offsets.append(block.add_argument(ir.IndexType.get(), function.location))
            added.append((f"{names[position]}_at{dim}", "index"))
        view = _subview(home, view_type, one, offsets, function.location, begin)
        arguments[position].replace_all_uses_except(view, [view.owner.operation])
        if position not in merged:
            arguments[position].set_type(one.source.type)
    for position, home in merged.items():
        if position not in slices:
            arguments[position].replace_all_uses_with(arguments[home])
    for position in sorted(merged, reverse=True):
        block.erase_argument(position)
        del names[position], kinds[position]
    sign(function, [*names, *(n for n, _ in added)], [*kinds, *(k for _, k in added)])
    for site in sites:
        _rewrite_call(site, symbol(function), merged)


def _keep_declared(
    function: ir.Operation, names: Sequence[str], slices: dict[int, Slice], merged: dict[int, int]
) -> None:
    """Note which dimensions of the whole arrays are those of the slices that the function declares."""
    moved = []
    for argument in declared_arguments(function):
        position = names.index(argument.holder)
        holder = names[merged.get(position, position)]
        dims = argument.dims
        if position in slices:
            taken = slices[position].dims
            dims = tuple(taken.index(dim) for dim in dims)
        moved.append(replace(argument, holder=holder, dims=dims))
    keep_declared(function, moved)


def _subview(
    source: ir.Value,
    kind: ir.Type,
    one: Slice,
    offsets: Sequence[ir.Value],
    location: ir.Location,
    ip: ir.InsertionPoint,
) -> ir.Value:
    shape = list(ir.MemRefType(kind).shape)
    sizes = [1 if dim is None else shape[dim] for dim in one.dims]
    static = [o if isinstance(o, int) else _DYNAMIC for o in one.offsets]
    op = ir.Operation.create(
        "memref.subview",
        results=[kind],
        operands=[source, *offsets],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get(static),
            "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
            "static_strides": ir.DenseI64ArrayAttr.get(list(one.steps)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(offsets), 0, 0]),
        },
        loc=location,
        ip=ip,
    )
    return op.result


def _rewrite_call(call: ir.Operation, callee: str, merged: dict[int, int]) -> None:
    slices = _slices(call)
    operands = [
        slices[k].source if k in slices else v
        for k, v in enumerate(call.operands)
        if k not in merged
    ]
    for one in slices.values():
        operands += [o for o in one.offsets if not isinstance(o, int)]
    attributes = {n: call.attributes[n] for n in call.attributes}
    attributes["callee"] = ir.FlatSymbolRefAttr.get(callee)
    replace_operation(call, "func.call", operands, attributes)
