"""The resources of a design: of each module by section, and of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from allo.backend.devices import Cells, DeviceRecord, SignalDelays, family

from ..netlist.instance_counts import instance_counts
from ..netlist.memories import Memory
from ..netlist.modules import Netlist
from .build import Graph
from .cover import Costs, Cover
from .dies.crossings import Asked, Crossings, crossing_times, placed_instances
from .drawn import DrawnModule, bits_of_type, drawn_modules, inputs_of
from .memory import memory_cost
from .merging.echoes import Driven
from .merging.given import NOTHING_AROUND, Around, Joined
from .merging.inline import with_fifos
from .merging.registers import NOTHING_KNOWN
from .nodes import mask
from .paths import ModuleTiming, Path, Step
from .timing import Timer

LARGE_BITS = 64 * 1024
"""Bits of a memory below which it is not worth a block of 288 kbit."""
LEAVING = 3.1
"""Wires behind the register of a multiplier block, in those to a block: nothing draws logic to it."""
KINDS = ("lut", "ff", "dsp", "bram", "uram", "srl", "lutram")
"""The resources counted; ``srl`` and ``lutram`` are lookup tables that ``lut`` counts, too."""


@dataclass(slots=True)
class ModuleResources:
    """One module without the modules inside it.

    Attributes:
        sections: what its parts take; "" holds what belongs to none.
        instances: the modules inside it, each with how often it is there.
        timing: its longest paths.
    """

    sections: Costs = field(default_factory=dict)
    instances: Counter[str] = field(default_factory=Counter)
    timing: ModuleTiming = field(default_factory=ModuleTiming)

    @property
    def own(self) -> Counter[str]:
        """What the module itself takes."""
        total: Counter[str] = Counter()
        for cost in self.sections.values():
            total.update(cost)
        return total


@dataclass(slots=True)
class Placed:
    """A design whose processes lie in regions of the device.

    Attributes:
        asked: where they lie.
        resources: what each region has of it.
        wires: bits over each border.
        borderless_ns: the longest path without the borders.
    """

    asked: Asked
    resources: list[dict[str, int]] = field(default_factory=list)
    wires: list[int] = field(default_factory=list)
    borderless_ns: float = 0.0


def module_resources(
    netlist: Netlist, device: str, placed: Placed | None = None, *, timed: bool = True
) -> dict[str, ModuleResources]:
    """What the modules of a netlist take of a device family, by name; the last one is the top.

    Args:
        placed: where the processes lie, which is told what the regions then have.
        timed: whether their longest paths are found, which takes a third of the time.

    Raises:
        PlacementError: there is no such process or region.
    """
    record = family(device)
    blocks = {module.name for module in netlist.modules if module.block is not None}
    found: dict[str, ModuleResources] = {}
    drawn: list[tuple[DrawnModule, Graph, Cover]] = []
    drives: dict[str, Driven] = {}
    timings: dict[str, ModuleTiming] = {}
    apart = netlist.top.name if placed else ""
    modules = list(with_fifos(drawn_modules(netlist), products=record.cells.merges, apart=apart))
    around = _around(modules, record.cells)
    for module in modules:
        graph = settled_graph(module, drives, record.cells, around.get(module.name, NOTHING_AROUND))
        driven = _driven(module, graph)
        cover = Cover(graph, record.cells)
        inside = Counter(i.module for i in module.instances if i.module not in blocks)
        sections = cover.run()
        for instance in module.instances:
            if instance.module in blocks:
                sections.setdefault(instance.section, Counter())["dsp"] += 1
        found[module.name] = ModuleResources(sections, inside)
        drives[module.name] = driven.covered(graph.nodes)
        drawn.append((module, graph, cover))
    if not timed:
        return found
    if drawn:
        total = whole(found, drawn[-1][0].name)
        used = total.get("dsp", 0) + total.get("bram", 0)
        delays = record.signals.in_design(total.get("lut", 0), used)
        timings = dict.fromkeys(blocks, _block_timing(delays))
    for module, graph, cover in drawn:
        timing = Timer(module, graph, cover, record.cells, delays, timings).run()
        timings[module.name] = found[module.name].timing = timing
    if placed is not None and drawn:
        top = drawn[-1][0]
        placed.borderless_ns = found[top.name].timing.worst.delay_ns
        times = timings | crossing_times(len(_regions(record)), delays.crossing)
        crossed = _place(top, found, placed, len(_regions(record)))
        graph = settled_graph(crossed, drives, record.cells)
        cover = Cover(graph, record.cells)
        cover.run()
        found[top.name].timing = Timer(crossed, graph, cover, record.cells, delays, times).run()
    return found


def _regions(record: DeviceRecord) -> Sequence[Mapping[str, int]]:
    """What the regions of a family's largest device have."""
    return record.part.regions if record.part is not None else ()


def _place(
    top: DrawnModule, found: Mapping[str, ModuleResources], placed: Placed, count: int
) -> DrawnModule:
    """The top with its crossings; what the regions have is told."""
    regions = placed_instances(top, placed.asked, count)
    middle = (count - 1) // 2
    crossings = Crossings(top, regions, middle)
    drawn = crossings.drawn()
    totals = [Counter[str]() for _ in range(count)]
    totals[middle].update(found[top.name].own)
    for instance in top.instances:
        if instance.module in found:
            totals[regions[instance.label]].update(whole(found, instance.module))
    placed.resources = [{kind: t[kind] for kind in KINDS if t[kind] > 0} for t in totals]
    placed.wires = [crossings.wires.get(border, 0) for border in range(count - 1)]
    return drawn


def settled_graph(
    module: DrawnModule,
    inside: Mapping[str, Driven],
    family: Cells,
    around: Around = NOTHING_AROUND,
) -> Graph:
    """The graph of a module without registers that are others, and bits that only ever get one value."""
    known = NOTHING_KNOWN
    while True:
        graph = Graph(module, inside, family, known, around)
        found = graph.found()
        if found == NOTHING_KNOWN:
            return graph
        known = known.joined(found)


def _around(modules: Sequence[DrawnModule], cells: Cells) -> dict[str, Around]:
    """What is known around the modules that others have; those come before the others."""
    inner = {module.name for module in modules}
    having = [m for m in modules if any(i.module in inner for i in m.instances)]
    if not having:
        return {}
    drives: dict[str, Driven] = {}
    for module in modules:
        graph = Graph(module, drives, cells)
        drives[module.name] = _driven(module, graph)
    joined = Joined()
    for module in reversed(having):
        if module is not modules[-1]:  # whose graph is there: nothing is around it
            graph = Graph(module, drives, cells, around=joined.around(module.name))
        heard = Cover(graph, cells).heard()
        for number, (instance, values) in enumerate(graph.calls):
            read = {
                port: heard.get((number, port), mask(0, bits_of_type(kind)))
                for _, port, kind in instance.outputs
            }
            joined.add(instance.module, dict(zip(inputs_of(instance), values, strict=True)), read)
    return {name: joined.around(name) for name in inner}


def _driven(module: DrawnModule, graph: Graph) -> Driven:
    """What drives the outputs of a module."""
    outputs = dict(zip(module.outputs, graph.outputs, strict=False))
    return Driven.of(outputs, graph.nodes, graph.inputs)


def has_ultra(device: str) -> bool:
    """Whether a family has blocks of 288 kbit."""
    return bool(family(device).cells.ultra[0])


def ultra_memories(netlist: Netlist, device: str) -> dict[str, frozenset[str]]:
    """The memories of a netlist in blocks of 288 kbit, by module: those that the estimate counts so."""
    cells = family(device).cells
    if not has_ultra(device):
        return {}
    large = {}
    for module in drawn_modules(netlist):
        if not any(isinstance(op, Memory) and is_large(op) for op in module.ops):
            continue
        graph = Graph(module, {}, cells)
        cover = Cover(graph, cells)
        cover.run()
        found = {
            name[1:]
            for name, memory in graph.memories.items()
            if "uram" in memory_cost(cells, memory, cover.is_held)
        }
        if found:
            large[module.name] = frozenset(found)
    return large


def is_large(memory: Memory) -> bool:
    """Whether a memory is worth a block of 288 kbit."""
    return memory.depth * memory.width >= LARGE_BITS


def whole(modules: Mapping[str, ModuleResources], top: str) -> dict[str, int]:
    """What a module takes with all that is inside it."""
    total: Counter[str] = Counter()
    for name, count in instance_counts(modules, top).items():
        for kind, value in modules[name].own.items():
            total[kind] += count * value
    return {kind: total[kind] for kind in KINDS if total[kind]}


def _block_timing(delays: SignalDelays) -> ModuleTiming:
    """A multiplier block with registers at its operands (``a``, ``b``) and its result (``p``)."""
    d = delays
    inside = d.clock_out + d.block
    into, out = d.wire + d.far + d.block_setup, d.block_out + LEAVING * d.far
    gate = Path(d.wire + d.far, (Step("enable or reset", d.wire + d.far, ""),))
    operand = Path(into, (Step("register", into, ""),))
    return ModuleTiming(
        worst=Path(inside, (Step("product", inside, ""),)),
        ends={"a": operand, "b": operand, "ce": gate},
        starts={"p": Path(out, (Step("register", out, ""),))},
    )
