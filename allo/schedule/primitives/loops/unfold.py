"""``unfold``: replicate the bodies of a nest, one copy an iteration."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    is_loop,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import constant_map
from allo.dialects.affine.substitute import replace_index
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import HandleTypeError, ScheduleError
from allo.dialects.streams.processes import UNFOLDED, is_pure
from allo.schedule.bands import Band
from allo.schedule.handles import BandName
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_band
from allo.schedule.state import ScheduleState


@primitive
def unfold(s: ScheduleState, band_name: BandName, axes: Sequence[int]) -> list[int]:
    """Make one copy of a nest's body for each iteration of the loops at positions ``axes``.

    ::

        pe = s.unfold("PE", [0, 1])

        for i in range(2):                     kernel_0_0(A, 0, 0)
            for j in range(2):          ──▶    kernel_0_1(A, 0, 1)
                kernel(A, i, j)                kernel_1_0(A, 1, 0)
                                               kernel_1_1(A, 1, 1)

    A function called in the body becomes one function a copy, so that each is hardware of its own.

    Returns:
        ``axes``.

    Raises:
        ScheduleError: axes that are not consecutive, or loops whose bounds are not constants from 0.
    """
    positions = _checked_axes(axes)
    _, band = find_band(s.module, s.top_func_name, band_name)
    chain = _chain(band, positions)
    called = {callee_of(op) for op in walk(chain[-1]) if op.name == "func.call"}
    _unfold(s, chain[positions[0]], len(positions), band.name, ())
    _drop_uncalled(s, called)
    return list(positions)


def _checked_axes(axes: Sequence[int]) -> list[int]:
    if not isinstance(axes, (list, tuple)) or not all(isinstance(a, int) for a in axes) or not axes:
        raise HandleTypeError(
            f"unfold: Axes must be a list of loop positions, got {axes!r}.",
            help="positions count from 0 at the band's outermost loop: [0, 1].",
        )
    positions = list(axes)
    if positions != list(range(positions[0], positions[0] + len(positions))) or positions[0] < 0:
        raise HandleTypeError(
            f"unfold: Axes must be consecutive, got {positions}.", help="for example [0, 1]."
        )
    return positions


def _chain(band: Band, positions: Sequence[int]) -> list[ir.Operation]:
    chain = [band.root]
    while len(chain) <= positions[-1]:
        operations = body_operations(chain[-1])
        if len(operations) != 1 or not is_loop(operations[0]):
            raise ScheduleError(
                f"unfold {band.name}: the nest has {len(chain)} perfectly nested loops, axis "
                f"{positions[-1]} does not exist.",
                place_of(band.root),
                help="name axes by their positions in the nest, from 0.",
            )
        chain.append(operations[0])
    for op in chain[positions[0] : positions[-1] + 1]:
        name = string_attribute(op, "loop_name")
        bounds = spec_of(op).constant_bounds() if is_affine_loop(op) else None
        if bounds is None or spec_of(op).step != 1:
            raise ScheduleError(
                f"unfold {band.name}: the bounds of loop {name} must be constants.",
                place_of(op),
                help="unfold loops whose bounds are numbers.",
            )
        if bounds[0] != 0:
            raise ScheduleError(
                f"unfold {band.name}: Lower bound must be 0, loop {name} begins at {bounds[0]}.",
                place_of(op),
                help="let the loop count from 0, and add the start in its subscripts.",
            )
    return chain[: positions[-1] + 1]


def _unfold(
    s: ScheduleState, op: ir.Operation, count: int, band: str, suffix: tuple[int, ...]
) -> None:
    for number in range(spec_of(op).trip_count() or 0):
        copy = op.clone(ir.InsertionPoint(op)).operation
        replace_index(induction_variable(copy), constant_map(number))
        here = (*suffix, number)
        if count > 1:
            nested = next(inner for inner in body_operations(copy) if is_loop(inner))
            _unfold(s, nested, count - 1, band, here)
        else:
            _rename(s, copy, here)
            _name_bands(copy, band, here)
            _tag(copy, f"{band}:{','.join(map(str, here))}")
        for inner in body_operations(copy):
            inner.move_before(copy)
        copy.erase()
    op.erase()


def _rename(s: ScheduleState, copy: ir.Operation, suffix: tuple[int, ...]) -> None:
    label = "_".join(map(str, suffix))
    for op in list(walk(copy)):
        if op.name == "func.call":
            _own_function(s, op, label)
        elif is_loop(op) and (band := string_attribute(op, "op_name")) is not None:
            op.attributes["op_name"] = ir.StringAttr.get(f"{band}_{label}")


def _name_bands(copy: ir.Operation, band: str, suffix: tuple[int, ...]) -> None:
    """A loop that stands outermost in its function from now on is a band of its own."""
    if len(enclosing_loops(copy)) >= len(suffix):  # the copies of outer unfolded loops go, too
        return
    loops = [op for op in body_operations(copy) if is_loop(op) and "op_name" not in op.attributes]
    for number, op in enumerate(loops):
        label = "_".join(map(str, suffix if number == 0 else (*suffix, number)))
        op.attributes["op_name"] = ir.StringAttr.get(f"{band}_{label}")


def _tag(copy: ir.Operation, tag: str) -> None:
    """Say of which iteration each operation was: together they are a process for ``to``."""
    for op in body_operations(copy):
        if is_pure(op) or op.name == "memref.alloc":
            continue
        op.attributes[UNFOLDED] = ir.StringAttr.get(tag)


def _own_function(s: ScheduleState, call: ir.Operation, label: str) -> None:
    name = callee_of(call)
    functions = functions_of(s.module)
    wanted = f"{name}_{label}"
    if wanted not in functions:
        made = functions[name].clone(ir.InsertionPoint(functions[name])).operation
        made.attributes["sym_name"] = ir.StringAttr.get(wanted)
    call.attributes["callee"] = ir.FlatSymbolRefAttr.get(wanted)


def _drop_uncalled(s: ScheduleState, names: set[str]) -> None:
    used = {callee_of(op) for op in walk(s.module.operation) if op.name == "func.call"}
    for name, function in functions_of(s.module).items():
        if name in names and name not in used and name != s.top_func_name:
            function.erase()
