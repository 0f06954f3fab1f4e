"""``tabulate``: a nest whose elements depend on few bits each becomes lookup tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.tables.decompose import Decomposer
from allo.dialects.tables.network import Network
from allo.schedule.constants.unread import drop_unread
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState
from allo.schedule.tables.emit import TableEmitter
from allo.schedule.tables.trace import Entry, bits_of_type, traced
from allo.schedule.tables.values import values_of

LEAST_INPUTS, MOST_INPUTS = 4, 6
MOST_TABLES = 20_000
"""Lookup tables of one nest."""


@primitive
def tabulate(s: ScheduleState, axis: Axis, inputs: int = 6) -> None:
    """Run a nest whole, and make each element that it stores a table of the bits that it depends on.

    ::

        for j in range(2):
            total: int16 = 0                       y[0] = T0[x[1] ++ x[0]]
            for i in range(2):              ──▶    y[1] = T1[x[3] ++ x[2]]
                total += W[j, i] * x[2 * j + i]
            y[j] = min(max(total >> 2, 0), 3)      of 2 bits each: two lookup tables of 4 inputs, twice

    The nest may hold any arithmetic on integers and floats, functions of ``math``, and constant arrays at
    places that data say. All values are computed by the CPU build now, so every target gives the same
    results as before. Tables of more bits than ``inputs`` are taken apart into tables of so many, which
    equal parts share.

    Args:
        axis: the outermost loop of the nest; pipeline a loop around it.
        inputs: of a lookup table of the device, 4 to 6.

    Raises:
        ScheduleError: an element depends on more than 16 bits, the tables are more than 20,000, or the nest
            holds what cannot be unrolled or whose place is not known.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "tabulate")
    what = f"tabulate {loop.name}"
    place, most = place_of(loop.op), "lookup tables of devices have 4 to 6 inputs."
    check_integer(inputs, LEAST_INPUTS, f"{what}: the inputs of a table", most, place)
    if inputs > MOST_INPUTS:
        raise ScheduleError(
            f"{what}: the inputs of a table must be at most {MOST_INPUTS}, got {inputs}.",
            place,
            help=most,
        )
    trace, entries = traced(s.module, loop, what)
    values = values_of(s.module, trace, entries)
    network, places, outputs = _network(entries, values, inputs)
    if outputs is None:
        raise ScheduleError(
            f"{what}: the elements that this nest stores take more than {MOST_TABLES:,} lookup tables.",
            place,
            help="keep it as arithmetic, whose functions of many bits are shorter as sums and products, or "
            "split the loop.",
        )
    TableEmitter(trace, loop.op, network, places).emit_tables(entries, outputs)
    loop.op.erase()
    drop_unread(s.module, loop.function)


def _network(
    entries: Sequence[Entry], values: Sequence[NDArray[np.uint64]], inputs: int
) -> tuple[Network, list[tuple[int, int]], list[list[int]] | None]:
    """Tables for all bits of all elements; what its inputs are, and the bits of each element.

    There are no bits where the tables are too many.
    """
    fields = {f.word: f.width for entry in entries for f in entry.fields}
    places = [(word, bit) for word, width in sorted(fields.items()) for bit in range(width)]
    number = {place: k for k, place in enumerate(places)}
    network = Network(len(places))
    maker = Decomposer(network, inputs)
    outputs = []
    for entry, found in zip(entries, values, strict=True):
        variables = [number[f.word, bit] for f in entry.fields for bit in range(f.width)]
        kind = ir.MemRefType(entry.store.op.operands[1].type).element_type
        shifts = range(bits_of_type(kind))
        bits = [(found >> np.uint64(k) & np.uint64(1)).astype(bool) for k in shifts]
        kinds: dict[bytes, int] = {}
        which = [kinds.setdefault(bit.tobytes(), len(kinds)) for bit in bits]
        different = [bits[which.index(k)] for k in range(len(kinds))]
        made = maker.add(different, variables)
        outputs.append([made[k] for k in which])
        if len(network.tables) > MOST_TABLES:
            return network, places, None
    return network, places, outputs
