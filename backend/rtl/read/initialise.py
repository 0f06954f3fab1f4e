"""Stateful arrays in RAM: their initial words are copied from a table in the first run."""

from __future__ import annotations

from ..graph.nodes import Array
from ..graph.regions import Block, If, Region, Seq
from .accesses import Memory
from .bulk import Bulk
from .storage import one_register
from .values import glue
from .values.builder import Builder


def first_run_arrays(array: Array) -> tuple[Array, Array]:
    """The table of initial words, and the register that says they have been copied."""
    table = Array(
        f"{array.name}_initial",
        array.dtype,
        array.width,
        array.layout,
        array.shape,
        "rom",
        place=array.place,
        initial=array.initial,
    )
    flag = one_register(f"{array.name}_ready", array.place)
    flag.first_run = True
    return table, flag


def first_run_regions(
    builder: Builder, memory: Memory, bulk: Bulk, array: Array, table: Array, flag: Array
) -> list[Region]:
    """Regions that copy the table unless that has been done."""
    test = Block(builder.function.new_body())
    with builder.filling(test.body):
        builder.place = array.place
        ready = memory.load(flag, ())
        memory.finish(test.body)
    with builder.filling(builder.static):
        missing = builder.op(glue.gate("xor"), (ready, builder.const(1, 1)))
    done = Block(builder.function.new_body())
    with builder.filling(done.body):
        memory.store(flag, (), builder.const(1, 1))
        memory.finish(done.body)
    copy = bulk.copy(table, array, array.place)
    return [test, If(missing, Seq([copy, done]), Seq())]
