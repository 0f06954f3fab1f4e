"""Large memories of a design between the two kinds of block RAM that some families have.

Each memory alone goes where it takes the smaller share of a device. Where that asks for more blocks of the
small kind than there are, those that one port reads and one port writes are moved to the large blocks,
the ones first of which a large block replaces most.
"""

from __future__ import annotations

from collections import Counter

from allo.backend.devices import family

from ..netlist.instance_counts import instance_counts
from ..netlist.memories import ULTRA, Memory
from ..netlist.modules import Netlist
from ..resources.build import Graph
from ..resources.cover import Cover
from ..resources.design import ModuleResources, is_large
from ..resources.drawn import drawn_modules
from ..resources.memory import is_simple, memory_cost


def settle_memories(netlist: Netlist, top: str, device: str) -> int:
    """Say of memories of a netlist that they are large blocks, in place, until the small ones suffice.

    Returns:
        How many small blocks the memories then take above those of the largest device; 0 or less for none.
    """
    record = family(device)
    part, cells = record.part, record.cells
    if part is None:
        return 0
    modules = list(drawn_modules(netlist))
    inside = {m.name: ModuleResources({}, Counter(i.module for i in m.instances)) for m in modules}
    counts = instance_counts(inside, top)
    there = part.resources["bram"]
    large = {
        m.name: [op for op in m.ops if isinstance(op, Memory) and is_large(op)] for m in modules
    }
    bits = sum(
        op.depth * op.width * counts.get(name, 0) for name, ops in large.items() for op in ops
    )
    if 2 * bits < there * part.block_kbit * 1024:
        return 0
    taken, ultra = 0, 0
    movable: list[tuple[float, int, int, Memory]] = []
    for module in modules:
        times = counts.get(module.name, 0)
        if not times or not large[module.name]:
            continue
        graph = Graph(module, {}, cells)
        cover = Cover(graph, cells)
        cover.run()
        for op in large[module.name]:
            memory = graph.memories[op.result]
            cost = memory_cost(cells, memory, cover.is_held)
            taken += times * cost.get("bram", 0)
            ultra += times * cost.get("uram", 0)
            blocks = cells.ultra_blocks(op.depth, op.width)
            if cost.get("bram") and blocks and not op.style and is_simple(memory):
                saved = times * cost["bram"]
                movable.append((saved / (times * blocks), saved, times * blocks, op))
    for _, saved, blocks, op in sorted(movable, key=lambda each: -each[0]):
        if taken <= there:
            break
        if ultra + blocks <= part.resources["uram"]:
            op.style = ULTRA
            taken, ultra = taken - saved, ultra + blocks
    return taken - there
