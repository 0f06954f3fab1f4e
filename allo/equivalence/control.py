"""Loops, branches, calls and streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import bound_map, condition_of
from allo.dialects.core.fifos import TRIES, declared_stream
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of
from allo.dialects.streams.endless import is_endless

from .arrays import copy_into
from .machine import Block, Fifo, Frame, FunctionCode, Handler, Step, no_step, undecidable
from .memory import View
from .subscripts import known_indices, symbolic_indices
from .terms import Value

_CLAMP = "bound the loop by a constant and guard its body with an if."


def _affine_for(code: FunctionCode, op: ir.Operation) -> Step:
    lows = known_indices(code, bound_map(op, "lowerBoundMap"))
    highs = known_indices(code, bound_map(op, "upperBoundMap"))
    step = ir.IntegerAttr(op.attributes["step"]).value
    body = code.block(op.regions[0].blocks[0])
    iterator, machine = body.arguments[0], code.machine

    def run(frame: Frame) -> None:
        try:
            low = max(f(frame) for f in lows)
            high = min(f(frame) for f in highs)
        except TypeError:
            raise _unbounded(op) from None
        for frame[iterator] in range(low, high, step):
            machine.run(body, frame)

    return run


def _unbounded(op: ir.Operation) -> Exception:
    name = ir.StringAttr(op.attributes["loop_name"]).value if "loop_name" in op.attributes else ""
    return undecidable(
        op, f"How often the loop {name} runs depends on data, so it cannot be unfolded.", _CLAMP
    )


def _scf_for(code: FunctionCode, op: ir.Operation) -> Step:
    slots = [code.slot(v) for v in list(op.operands)[:3]]
    body = code.block(op.regions[0].blocks[0])
    iterator, machine = body.arguments[0], code.machine

    def run(frame: Frame) -> None:
        bounds = [frame[s] for s in slots]
        if not all(isinstance(b, int) for b in bounds):
            raise _unbounded(op)
        for frame[iterator] in range(*bounds) if bounds[2] > 0 else ():
            machine.run(body, frame)

    return run


def _while(code: FunctionCode, op: ir.Operation) -> Step:
    before = code.block(op.regions[0].blocks[0])
    body = code.block(op.regions[1].blocks[0])
    machine, endless = code.machine, is_endless(op)

    def run(frame: Frame) -> None:
        while True:
            if endless:
                machine.turn()
            machine.run(before, frame)
            condition = frame[before.yielded[0]]
            if not isinstance(condition, int):
                raise undecidable(
                    op,
                    "Whether this loop goes on depends on data, so it cannot be unfolded.",
                    _CLAMP,
                )
            if not condition:
                return
            machine.run(body, frame)

    return run


# --- branches ------------------------------------------------------------------------------


def _affine_if(code: FunctionCode, op: ir.Operation) -> Step:
    condition = condition_of(op)
    known = list(zip(known_indices(code, condition.exprs), condition.equal, strict=True))
    slow = list(zip(symbolic_indices(code, condition.exprs), condition.equal, strict=True))
    machine = code.machine

    def decide(frame: Frame) -> Value:
        try:
            return int(all(f(frame) == 0 if equal else f(frame) >= 0 for f, equal in known))
        except TypeError:
            rows = [(f(frame), equal) for f, equal in slow]
        left = [(v, equal) for v, equal in rows if not isinstance(v, int)]
        if any((v != 0 if equal else v < 0) for v, equal in rows if isinstance(v, int)):
            return 0
        text = "".join("=" if equal else ">" for _, equal in left)
        return machine.terms.make(f"holds {text}", "i1", tuple(v for v, _ in left))

    return _branch(code, op, decide)


def _scf_if(code: FunctionCode, op: ir.Operation) -> Step:
    slot = code.slot(op.operands[0])
    return _branch(code, op, lambda frame: frame[slot])


def _branch(code: FunctionCode, op: ir.Operation, decide: Callable[[Frame], Value]) -> Step:
    if len(op.results):
        raise undecidable(op, f"An {op.name} with results cannot be followed symbolically.")
    blocks = [[code.block(b) for b in region.blocks] for region in op.regions]
    then, other = blocks[0], blocks[1] if len(blocks) > 1 else []
    machine, place = code.machine, place_of(op)

    def run(frame: Frame) -> None:
        condition = decide(frame)
        if isinstance(condition, int):
            for block in then if condition else other:
                machine.run(block, frame)
            return
        taken, skipped = run_guarded(then, frame), run_guarded(other, frame)
        for key in {**taken, **skipped}:
            storage, position = key
            old = storage.cells[position]
            value = machine.terms.select(
                condition, storage.kind, taken.get(key, old), skipped.get(key, old)
            )
            machine.memory.write(storage, position, value, place)
        machine.count(len(taken) + len(skipped))

    def run_guarded(branch: list[Block], frame: Frame) -> dict[Any, Value]:
        outer = machine.memory.start()
        for block in branch:
            machine.run(block, frame)
        return machine.memory.undo(outer)

    return run


# --- calls --------------------------------------------------------------------------------


def _call(code: FunctionCode, op: ir.Operation) -> Step:
    name = callee_of(op)
    operands = [code.slot(v) for v in op.operands]
    results = [code.slot(v) for v in op.results]
    machine = code.machine
    if not len(machine.definitions[name].regions[0].blocks):
        return _external(code, op, name)

    is_process = "region" in code.op.attributes and not results

    def run(frame: Frame) -> None:
        if is_process and machine.start(name, [frame[s] for s in operands]):
            return
        returned = machine.call(name, [frame[s] for s in operands])
        for slot, value in zip(results, returned, strict=True):
            frame[slot] = value

    return run


def _external(code: FunctionCode, op: ir.Operation, name: str) -> Step:
    """A function without a body: what it leaves is an unknown function of all it is given."""
    operands = [code.slot(v) for v in op.operands]
    machine, place = code.machine, place_of(op)
    if len(op.results):
        raise undecidable(op, f"The external function {name} returns a value.")

    def run(frame: Frame) -> None:
        given = [frame[s] for s in operands]
        values: list[Value] = []
        for value in given:
            values += value.values() if isinstance(value, View) else [value]
        call = machine.terms.make(f"call {name}", "none", tuple(values))
        for position, value in enumerate(given):
            if not isinstance(value, View):
                continue
            kind = value.storage.kind
            left = [
                machine.terms.make(f"left {position} {k}", kind, (call,))
                for k in range(len(value.values()))
            ]
            copy_into(machine, left, value, place)

    return run


def _apply(code: FunctionCode, op: ir.Operation) -> Step:
    bound = bound_map(op)
    (known,), (slow,) = known_indices(code, bound), symbolic_indices(code, bound)
    result = code.slot(op.result)

    def run(frame: Frame) -> None:
        try:
            frame[result] = known(frame)
        except TypeError:
            frame[result] = slow(frame)

    return run


def _extreme(code: FunctionCode, op: ir.Operation) -> Step:
    bound = bound_map(op)
    known, slow = known_indices(code, bound), symbolic_indices(code, bound)
    result, machine = code.slot(op.result), code.machine
    fold = min if op.name == "affine.min" else max
    label = "arith.minsi" if op.name == "affine.min" else "arith.maxsi"

    def run(frame: Frame) -> None:
        try:
            frame[result] = fold(f(frame) for f in known)
        except TypeError:
            value, *rest = (f(frame) for f in slow)
            for other in rest:
                value = machine.terms.make(label, "index", (value, other))
            frame[result] = value

    return run


# --- streams -------------------------------------------------------------------------------


def _stream(code: FunctionCode, op: ir.Operation) -> Step:
    slot = code.slot(op.result)
    name = declared_stream(op).name

    def run(frame: Frame) -> None:
        frame[slot] = Fifo(name)

    return run


def _put(code: FunctionCode, op: ir.Operation) -> Step:
    stream, value = (code.slot(v) for v in op.operands)
    machine = code.machine

    def run(frame: Frame) -> None:
        if machine.memory.guarded:
            raise undecidable(op, "Whether this put happens depends on data.")
        item = frame[value]
        frame[stream].items.append(item.values() if isinstance(item, View) else item)

    return run


def _get(code: FunctionCode, op: ir.Operation) -> Step:
    stream = code.slot(op.operands[0])
    target = code.slot(op.result if len(op.results) else op.operands[1])
    machine, place, block = code.machine, place_of(op), not len(op.results)

    def run(frame: Frame) -> None:
        if machine.memory.guarded:
            raise undecidable(op, "Whether this get happens depends on data.")
        fifo = frame[stream]
        machine.await_item(fifo, op)
        item = fifo.items.popleft()
        if block:
            copy_into(machine, item, frame[target], place)
        else:
            frame[target] = item

    return run


def _try(code: FunctionCode, op: ir.Operation) -> Step:
    operation = op.name.removeprefix("allo.")

    def run(frame: Frame) -> None:
        raise undecidable(
            op,
            f"What .{operation}() tells depends on when it is asked, which no order of the "
            "processes decides.",
            "compare the results of runs, or write the process with .put and .get, which wait.",
        )

    return run


HANDLERS: dict[str, Handler] = {
    "affine.for": _affine_for,
    "scf.for": _scf_for,
    "scf.while": _while,
    "affine.if": _affine_if,
    "scf.if": _scf_if,
    "affine.apply": _apply,
    "affine.min": _extreme,
    "affine.max": _extreme,
    "func.call": _call,
    "allo.stream": _stream,
    "allo.put": _put,
    "allo.get": _get,
    "allo.get_block": _get,
    **dict.fromkeys(TRIES, _try),
    "allo.print": no_step,
    "allo.assert": no_step,
}
