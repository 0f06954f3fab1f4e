"""``dependence``: what the user knows of the dependences that a loop carries."""

from __future__ import annotations

from typing import Literal

from allo.dialects._mlir import ir
from allo.dialects.affine.asserted import KINDS, mark
from allo.dialects.affine.isl import isl
from allo.dialects.affine.loops import is_affine_loop, parent_of, spec_of, walk
from allo.dialects.affine.model import LoopVariable, Model, Statement
from allo.dialects.core.effects import LOADS, STORES, EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import IllegalTransformError, ScheduleError
from allo.schedule.analysis.legality import model_of
from allo.schedule.handles import Axis, Buffer
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import FoundBuffer, FoundLoop, find_buffer, find_loop
from allo.schedule.state import ScheduleState


@primitive
def dependence(
    s: ScheduleState,
    target: Buffer,
    axis: Axis,
    kind: Literal["RAW", "WAR", "WAW", "all"] = "all",
    distance: int | bool = False,
) -> None:
    """Assert what no analysis can know: when iterations of a loop touch one element of an array.

    ::

        s.dependence("h", "i", "all", False)   # no two iterations of i touch one element of h
        s.dependence("h", "i", "RAW", 8)       # what one stores is loaded 8 iterations later at the soonest

    The RTL scheduler leaves such dependences out, or shortens them to ``distance``, where ``i`` carries them.
    It is about two iterations of ``axis`` in one iteration of the loops around it, and about the accesses
    that stand in the loop now. So it is called after the primitives that change the loop.

    A kernel that breaks it computes something else in hardware. Builds with ``check_dependences=True`` check
    it when they run.

    Args:
        kind: a load after a store (``"RAW"``), a store after a load, a store after a store, or all of them.
        distance: iterations between the two at least; False where there are no two.

    Raises:
        ScheduleError: the loop does not access the array itself, or an argument is not accepted.
        IllegalTransformError: the accesses of the loop show that it does not hold.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "dependence")
    array = find_buffer(s.module, s.top_func_name, target, "dependence")
    what = f"dependence of {array.name} on {loop.name}"
    least = _distance(distance, what, loop)
    if kind not in (*KINDS, "all"):
        raise ScheduleError(
            f"{what}: there is no kind {kind!r}.",
            place_of(loop.op),
            help='it is "RAW", "WAR", "WAW" or "all".',
        )
    accesses = _accesses(s, loop, array, what)
    names = tuple(KINDS) if kind == "all" else (kind,)
    for name in names:
        _refuse_known(s, loop, array, name, least)
    mark(loop.function, loop.op, accesses, array.name, kind, least)
    s.asserted = True


def _distance(distance: int | bool, what: str, loop: FoundLoop) -> int:
    if distance is False:
        return 0
    help = (
        "give the iterations between two accesses of one element, or False where there are no two."
    )
    return check_integer(distance, 2, f"{what}: the distance", help, place_of(loop.op))


def _accesses(
    s: ScheduleState, loop: FoundLoop, array: FoundBuffer, what: str
) -> list[ir.Operation]:
    """The loads and stores of the array in the loop; nothing else there may touch it."""
    if array.func != loop.func:
        raise ScheduleError(
            f"{what}: the array is one of function {array.func}, and the loop one of {loop.func}.",
            place_of(loop.op),
            help=f'name the array as "{loop.func}:<array>".',
        )
    effects = EffectAnalysis(s.module.operation)
    key = effects.memory_of(array.value).key
    found = []
    for op in walk(loop.op):
        position = LOADS.get(op.name, STORES.get(op.name))
        if position is not None and op.operands[position] == array.value:
            found.append(op)
        elif effects.effects_on(op, key):
            raise ScheduleError(
                f"{what}: the array is also touched as a whole, in part or by another name here, which "
                "an assertion does not cover.",
                place_of(op),
                help="write the accesses as loads and stores of elements in the loop itself.",
            )
    if not found:
        raise ScheduleError(
            f"{what}: the loop does not access {array.name}.",
            place_of(loop.op),
            help="name a loop that loads or stores elements of the array.",
        )
    return found


def _refuse_known(
    s: ScheduleState, loop: FoundLoop, array: FoundBuffer, kind: str, least: int
) -> None:
    """Refuse an assertion that the subscripts contradict whatever the data are."""
    model = model_of(s.module, [loop.band.root])
    depth = _depth(model, loop.op)
    first, second = KINDS[kind]
    for a in _surely(model, loop.op, array.value, first):
        for b in _surely(model, loop.op, array.value, second):
            pair = _pair(model, a, b, depth, least, loop.op)
            if pair is not None:
                raise _contradiction(loop, array, kind, least, (a, b), pair)


def _depth(model: Model, loop: ir.Operation) -> int:
    """How many loops of the model are around ``loop``."""
    for statement in model.statements:
        for position, variable in enumerate(statement.loops):
            if variable.op == loop:
                return position
    return 0


def _surely(model: Model, loop: ir.Operation, array: ir.Value, writes: bool) -> list[Statement]:
    """Accesses whose iterations and elements are known exactly."""
    return [
        s
        for s in model.statements
        if any(v.op == loop for v in s.loops)
        and s.op.name in ("affine.load", "affine.store")
        and s.op.operands[1 if s.op.name == "affine.store" else 0] == array
        and s.accesses[0].writes == writes
        and s.accesses[0].subscripts is not None
        and _runs_for_sure(s.op)
    ]


def _runs_for_sure(op: ir.Operation) -> bool:
    """Whether only affine bounds and conditions of loops around it say when an operation runs."""
    parent = parent_of(op)
    while parent is not None and parent.name != "func.func":
        if parent.name == "affine.if":
            other = parent.regions[1]
            if len(other.blocks) and op.block == other.blocks[0]:
                return False
        elif not is_affine_loop(parent) or len(spec_of(parent).lower.results) != 1:
            return False
        op, parent = parent, parent_of(parent)
    return True


def _pair(
    model: Model, a: Statement, b: Statement, depth: int, least: int, loop: ir.Operation
) -> tuple[dict[str, int], dict[str, int]] | None:
    """Two iterations, nearer than ``least``, in which the accesses surely touch one element."""
    memory = a.accesses[0].memory
    touched = [
        model.accesses(memory, s.accesses[0].writes).intersect_domain(
            model.schedule(only=[s]).domain()
        )
        for s in (a, b)
    ]
    same = touched[0].apply_range(touched[1].reverse())
    left = [f"x{k}" for k in range(len(a.loops))]
    right = [f"y{k}" for k in range(len(b.loops))]
    rows = [f"{x} = {y}" for x, y in zip(left[:depth], right[:depth], strict=True)]
    rows.append(f"{right[depth]} > {left[depth]}")
    if least:
        rows.append(f"{right[depth]} - {left[depth]} < {least * spec_of(loop).step}")
    where = " and ".join(rows)
    near = isl.UnionMap(
        f"{{ {a.name}[{', '.join(left)}] -> {b.name}[{', '.join(right)}] : {where} }}"
    )
    found = same.intersect(near)
    if found.is_empty() or found.params().dim(isl.dim_type.param) and not _always(found):
        return None
    maps: list[isl.Map] = []
    found.foreach_map(maps.append)
    point = maps[0].wrap().lexmin().sample_point()
    values = [
        point.get_coordinate_val(isl.dim_type.set, k).to_python()
        for k in range(len(a.loops) + len(b.loops))
    ]
    return _named(a.loops, values[: len(a.loops)]), _named(b.loops, values[len(a.loops) :])


def _always(found: isl.UnionMap) -> bool:
    """Whether there is a pair whatever the arguments of the function are."""
    return bool(found.params().plain_is_universe())


def _named(loops: tuple[LoopVariable, ...], values: list[int]) -> dict[str, int]:
    return {v.name: value for v, value in zip(loops, values, strict=True)}


def _contradiction(
    loop: FoundLoop,
    array: FoundBuffer,
    kind: str,
    least: int,
    accesses: tuple[Statement, Statement],
    pair: tuple[dict[str, int], dict[str, int]],
) -> IllegalTransformError:
    verbs = [("load", "store")[s.accesses[0].writes] for s in accesses]
    at = [", ".join(f"{k}={v}" for k, v in where.items()) for where in pair]
    places = [place_of(s.op) for s in accesses]
    said = (
        "that touch one element are at least {least} apart"
        if least
        else "touch no element in common"
    )
    return IllegalTransformError(
        f"The dependence asserted on {array.name} does not hold: two iterations of {loop.name} "
        f"{said.format(least=least)} ({kind}), but the {verbs[0]} at ({at[0]}) and the {verbs[1]} at "
        f"({at[1]}) touch the same.",
        places[1],
        notes=tuple((f"the {v}", p) for v, p in zip(verbs, places, strict=True) if p is not None),
        help="assert what holds for all iterations, or leave the dependence to the scheduler.",
    )
