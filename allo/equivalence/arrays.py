"""Arrays: allocation, loads and stores (symbolic subscripts included), views, fill and copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import bound_map
from allo.dialects.core.locations import place_of

from .literals import initial_values
from .machine import Frame, FunctionCode, Handler, Machine, Step, no_step, undecidable
from .memory import Storage, View
from .subscripts import known_indices, symbolic_indices
from .terms import Value

type Subscripts = tuple[list[Callable[[Frame], int]], Callable[[Frame], list[Value]]]


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["name"]).value if "name" in op.attributes else "array"


def _alloc(code: FunctionCode, op: ir.Operation) -> Step:
    kind = ir.MemRefType(op.result.type)
    if not kind.has_static_shape:
        raise undecidable(op, f"The array {_name(op)} has no fixed size.")
    slot, shape, element = code.slot(op.result), tuple(kind.shape), str(kind.element_type)
    name, machine = _name(op), code.machine

    def run(frame: Frame) -> None:
        frame[slot] = machine.undefined(name, element, shape)
        machine.count(len(frame[slot].storage.cells) // 8)

    return run


def _get_global(code: FunctionCode, op: ir.Operation) -> Step:
    symbol = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    view = code.machine.globals.get(symbol)
    if view is None:
        view = code.machine.globals[symbol] = global_view(code.machine, symbol)
    slot = code.slot(op.result)

    def run(frame: Frame) -> None:
        frame[slot] = view

    return run


def is_stateful(definition: ir.Operation) -> bool:
    """Whether a global keeps its value between calls."""
    return definition.name == "memref.global" and "constant" not in definition.attributes


def global_view(machine: Machine, symbol: str) -> View:
    """A constant's values, or the symbols a stateful variable holds when a call begins."""
    definition = machine.definitions[symbol]
    kind = ir.MemRefType(ir.TypeAttr(definition.attributes["type"]).value)
    shape, element = tuple(kind.shape), str(kind.element_type)
    if is_stateful(definition):
        return machine.symbols(symbol, element, shape)
    return View.whole(Storage(symbol, element, initial_values(machine.terms, definition)), shape)


# --- elements ---------------------------------------------------------------------------


def _subscripts(code: FunctionCode, op: ir.Operation, first: int) -> Subscripts:
    if op.name.startswith("affine."):
        bound = bound_map(op)
        slow = symbolic_indices(code, bound)
        return known_indices(code, bound), lambda frame: [f(frame) for f in slow]
    slots = [code.slot(v) for v in list(op.operands)[first:]]

    def known(slot: int) -> Callable[[Frame], int]:
        return lambda frame: frame[slot] + 0

    return [known(s) for s in slots], lambda frame: [frame[s] for s in slots]


def _position(view: View, functions: Sequence[Callable[[Frame], int]], frame: Frame) -> int | None:
    """Where the element lies, or None outside the array; TypeError for a symbolic subscript."""
    position, inside = view.offset, True
    for function, extent, stride in zip(functions, view.shape, view.strides, strict=True):
        index = function(frame)
        if not 0 <= index < extent:
            inside = False
        position += index * stride
    return position if inside else None


def _load(code: FunctionCode, op: ir.Operation) -> Step:
    functions, slow = _subscripts(code, op, 1)
    source, result = code.slot(op.operands[0]), code.slot(op.result)
    kind, place, machine = str(op.result.type), place_of(op), code.machine

    def run(frame: Frame) -> None:
        view = frame[source]
        try:
            position = _position(view, functions, frame)
        except TypeError:
            frame[result] = _gather(machine, view, slow(frame), kind)
            return
        if position is None:
            text = _text(view, slow(frame))
            frame[result] = machine.outside(view.storage.name, kind, text, place)
            return
        frame[result] = view.storage.cells[position]

    return run


def _store(code: FunctionCode, op: ir.Operation) -> Step:
    functions, slow = _subscripts(code, op, 2)
    value, target = code.slot(op.operands[0]), code.slot(op.operands[1])
    place, machine = place_of(op), code.machine
    memory = machine.memory

    def run(frame: Frame) -> None:
        view = frame[target]
        try:
            position = _position(view, functions, frame)
        except TypeError:
            _scatter(machine, view, slow(frame), frame[value], place)
            return
        if position is None:
            machine.outside(view.storage.name, view.storage.kind, _text(view, slow(frame)), place)
            return
        memory.write(view.storage, position, frame[value], place)

    return run


def _text(view: View, subscripts: Sequence[Value]) -> str:
    return f"{view.storage.name}[{', '.join(map(str, subscripts))}]"


def _gather(machine: Machine, view: View, subscripts: list[Value], kind: str) -> Value:
    """Element at symbolic subscripts: an expression of the subscripts and of every element."""
    values = view.values()
    machine.count(len(values))
    shape = "x".join(map(str, view.shape))
    return machine.terms.make(f"element {shape}", kind, (*subscripts, *values))


def _scatter(
    machine: Machine, view: View, subscripts: list[Value], value: Value, place: Any
) -> None:
    """A write at symbolic subscripts: every element that it may hit is the new value or the old."""
    cells, kind = view.storage.cells, view.storage.kind
    for count, position in enumerate(view.positions()):
        hit = _hits(machine, view, subscripts, count)
        if hit is not None:
            new = machine.terms.select(hit, kind, value, cells[position])
            machine.memory.write(view.storage, position, new, place)
    machine.count(2 * (count + 1) if view.shape else 1)


def _hits(machine: Machine, view: View, subscripts: list[Value], count: int) -> Value | None:
    """Whether the subscripts are those of the view's element ``count``; None where never."""
    unknown: list[Value] = []
    for subscript, extent in zip(reversed(subscripts), reversed(view.shape), strict=True):
        count, index = divmod(count, extent)
        if isinstance(subscript, int):
            if subscript != index:
                return None
        else:
            unknown += [subscript, index]
    return machine.terms.make("is at", "i1", tuple(unknown))


# --- whole arrays and views -----------------------------------------------------------------


def _fill(code: FunctionCode, op: ir.Operation) -> Step:
    value, target = code.slot(op.operands[0]), code.slot(op.operands[1])
    place, machine = place_of(op), code.machine

    def run(frame: Frame) -> None:
        view = frame[target]
        for position in view.positions():
            machine.memory.write(view.storage, position, frame[value], place)
        machine.count(len(view.storage.cells))

    return run


def copy_into(machine: Machine, values: Sequence[Value], target: View, place: Any) -> None:
    """Write values to the elements of a view, in row-major order."""
    for position, value in zip(target.positions(), values, strict=True):
        machine.memory.write(target.storage, position, value, place)
    machine.count(len(values))


def _copy(code: FunctionCode, op: ir.Operation) -> Step:
    source, target = code.slot(op.operands[0]), code.slot(op.operands[1])
    place, machine = place_of(op), code.machine

    def run(frame: Frame) -> None:
        copy_into(machine, frame[source].values(), frame[target], place)

    return run


def _cast(code: FunctionCode, op: ir.Operation) -> Step:
    source, result = code.slot(op.operands[0]), code.slot(op.result)

    def run(frame: Frame) -> None:
        frame[result] = frame[source]

    return run


def _subview(code: FunctionCode, op: ir.Operation) -> Step:
    source, result = code.slot(op.operands[0]), code.slot(op.result)
    dynamic = ir.ShapedType.get_dynamic_size()
    static = {
        n: list(ir.DenseI64ArrayAttr(op.attributes[f"static_{n}"]))
        for n in ("offsets", "sizes", "strides")
    }
    if dynamic in static["sizes"] or dynamic in static["strides"]:
        raise undecidable(op, "A slice without fixed extents and steps cannot be followed.")
    slots = iter([code.slot(v) for v in list(op.operands)[1:]])
    offsets = [(next(slots), True) if o == dynamic else (o, False) for o in static["offsets"]]
    kept = _kept(static["sizes"], ir.MemRefType(op.result.type).rank)

    def run(frame: Frame) -> None:
        view = frame[source]
        starts = [frame[o] if in_frame else o for o, in_frame in offsets]
        if not all(isinstance(s, int) for s in starts):
            raise undecidable(
                op,
                "Where this slice begins depends on data, which cannot be followed symbolically.",
                "index the elements one by one instead.",
            )
        offset = view.offset + sum(s * t for s, t in zip(starts, view.strides, strict=True))
        strides = [s * t for s, t in zip(static["strides"], view.strides, strict=True)]
        shape = tuple(n for n, keep in zip(static["sizes"], kept, strict=True) if keep)
        left = tuple(s for s, keep in zip(strides, kept, strict=True) if keep)
        frame[result] = View(view.storage, offset, shape, left)

    return run


def _kept(sizes: list[int], rank: int) -> list[bool]:
    surplus, kept = len(sizes) - rank, []
    for size in sizes:
        drop = size == 1 and surplus > 0
        surplus -= drop
        kept.append(not drop)
    return kept


HANDLERS: dict[str, Handler] = {
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.dealloc": no_step,
    "memref.get_global": _get_global,
    "memref.cast": _cast,
    "memref.subview": _subview,
    "memref.copy": _copy,
    "memref.load": _load,
    "memref.store": _store,
    "affine.load": _load,
    "affine.store": _store,
    "linalg.fill": _fill,
}
