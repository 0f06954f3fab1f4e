"""Schedules of networks whose weights are in the logic: lookup tables, and additions in place of products."""

from __future__ import annotations

from math import prod
from typing import Literal

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import argument_name, functions_of
from allo.dialects.diagnostics import ModelError

from ..graph import Model, Operator, Ref
from ..lowering import TOP
from ..schedule import ModelSchedule

_SAMPLES = "samples"
SUMS = ("levels.dense", "levels.matmul")
MOST_WORDS = 1024
"""Words of a table of levels that becomes lookup tables; a longer one stays an array."""


def tabulate_neurons(schedule: ModelSchedule) -> None:
    """Make the truth tables of a schedule's layers lookup tables: on every target, with the same bits.

    Args:
        schedule: of a model whose layers :func:`~allo.models.integers.neurons.with_neurons` made tables.
    """
    functions = {c.function for c in schedule.choices if c.target == "levels.lookup"}
    for function in sorted(functions):
        band = schedule.get_loops(function)["lookup"]
        schedule.tabulate(band[list(dict(band))[-1]])


def embed(schedule: ModelSchedule, model: Model, depth: Literal["least"] | None = "least") -> None:
    """Make a network one pipeline that takes a sample in each cycle, with its weights in the logic.

    Products by constants become additions, by default as few behind one another as there can be; arrays
    within a sample are wires and registers. Tables of few levels, such as those of float results, are lookup
    tables, too.

    Args:
        model: what the schedule was made of.
        depth: None for the fewest additions.

    Raises:
        ModelError: the schedule has no loop over samples.
    """
    bands = dict(schedule.get_loops(TOP))
    if _SAMPLES not in bands:
        raise ModelError(
            'weights="embedded" makes a pipeline over samples, and a call takes one sample.',
            help="say how many a call takes: samples=64.",
        )
    tabulate_neurons(schedule)
    short = {op.name for op in model.operators if _words(model, op) <= MOST_WORDS}
    for choice in schedule.choices:
        if choice.target == "levels.table" and choice.operator in short and choice.function != TOP:
            band = schedule.get_loops(choice.function)[choice.nests[0]]
            schedule.tabulate(band[list(dict(band))[-1]])
        if choice.target in SUMS and choice.function != TOP:
            band = schedule.get_loops(choice.function)[choice.nests[0]]
            loops = list(dict(band))
            axis = loops[1] if choice.target == "levels.dense" else loops[0]
            schedule.constant_multiply(band[axis], depth=depth)
    functions = functions_of(schedule.module.operation)
    for name in functions:
        if name != TOP:
            schedule.inline(name)
    for target, dims in _arrays(functions):
        for dim in dims:
            schedule.partition(target, dim=dim)
    samples = bands[_SAMPLES]
    schedule.pipeline(samples[list(dict(samples))[0]])


def _words(model: Model, op: Operator) -> int:
    """The levels that a table has a word for."""
    table = op.args.get("table")
    return model.weights[table.name][1].shape[-1] if isinstance(table, Ref) else 0


def _arrays(functions: dict[str, ir.Operation]) -> list[tuple[str, tuple[int, ...]]]:
    """Arrays and the dimensions along which they are parted: 0 for all; of the top's own all but samples."""
    found: dict[str, tuple[int, ...]] = {}
    for name, function in functions.items():
        returned = [v for op in walk(function) if op.name == "func.return" for v in op.operands]
        outside = [*function.regions[0].blocks[0].arguments, *returned] if name == TOP else []
        for value in outside:
            extents = list(ir.MemRefType(value.type).shape)
            held = (
                argument_name(value)
                if isinstance(value, ir.BlockArgument)
                else ir.StringAttr(value.owner.operation.attributes["name"]).value
            )
            found[f"{name}:{held}"] = tuple(
                dim for dim, extent in enumerate(extents[1:], 2) if extent > 1
            )
        for op in walk(function):
            if op.name != "memref.alloc" or "name" not in op.attributes:
                continue
            handle = f"{name}:{ir.StringAttr(op.attributes['name']).value}"
            if prod(ir.MemRefType(op.result.type).shape) > 1:
                found.setdefault(handle, (0,))
    return list(found.items())
