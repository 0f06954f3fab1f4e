"""A limit on lookup tables, met by units in multiplier blocks where these take fewer tables.

Adders and multipliers of floats, and products of integers, can be made of blocks or of lookup tables. Where a
design takes too many tables, the compiler chooses anew which of all its units are in blocks
(:mod:`.knapsack`): as many as need be, and no more blocks than its limit or the device has. What a unit takes
is the estimate of that unit by itself, and the whole design is compiled and counted again, because units of
other latencies change the registers around them. What waits for a float (:func:`.quicker`), what the schedule
has bound, and products that share a block stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from allo.dialects.diagnostics import CapacityError, SourcePlace

from ..compiled import CompiledModule
from ..graph.mapping.units import Wanted, blocks_in, movable_nodes, plain_name
from ..graph.nodes import Node
from ..netlist.instance_counts import instance_counts
from ..netlist.modules import Netlist
from ..netlist.passes import run_passes
from ..operators.library import OperatorLibrary
from ..operators.spec import Operator
from ..resources.design import ModuleResources, module_resources, whole
from .knapsack import Kind, Knapsack
from .limits import Compile, Compiled, Limits
from .users import largest_users

ROUNDS = 6
"""Compilations after which a limit that is not met is given up."""
ALL = 1 << 30
"""More than any design has of a unit."""

type Found = Mapping[str, ModuleResources]


def meet_tables(
    compile: Compile,
    library: OperatorLibrary,
    limits: Limits,
    wanted: dict[str, Wanted],
    place: SourcePlace | None,
) -> dict[str, Wanted]:
    """What to ask of each function's mapping, by module, so that a design takes ``limits.lut`` tables.

    Args:
        wanted: what the limit on blocks has asked; it holds in what is returned, too.

    Raises:
        CapacityError: it takes more though nothing more can be moved.
    """
    most = limits.lut
    if most is None:
        return wanted
    device = library.record.name
    best, found = _counted(compile, wanted, device)
    if _tables(best, found) <= most:
        return wanted
    base = {name: Wanted(asked.saved, asked.least) for name, asked in wanted.items()}
    start, counts = (best, found) if base == wanted else _counted(compile, base, device)
    exchange = _Exchange(start, counts, library, base)
    room = limits.dsp if limits.dsp is not None else _blocks_of_device(library)
    at_least = whole(found, best.top).get("dsp", 0)
    goal, seen = most, set[tuple[int, ...]]()
    for _ in range(ROUNDS):
        choice = exchange.choice(goal, at_least, room)
        if choice is None or choice in seen:
            break
        seen.add(choice)
        asked = exchange.asked(choice)
        design, counts = _counted(compile, asked, device)
        tables, blocks = _tables(design, counts), whole(counts, design.top).get("dsp", 0)
        if (room is None or blocks <= room) and tables < _tables(best, found):
            best, found = design, counts
        if tables <= most and (room is None or blocks <= room):
            return asked
        goal -= max(1, tables - most)
    refuse_excess(best.modules, found, best.top, limits, place)
    return wanted


def refuse_excess(
    modules: Mapping[str, CompiledModule],
    found: Found,
    top: str,
    limits: Limits,
    place: SourcePlace | None,
) -> None:
    """Refuse a design that takes more lookup tables than it may.

    Args:
        modules: the functions of the design.
        found: what all its modules take, what lies around the functions included.

    Raises:
        CapacityError: it does; with its three largest users.
    """
    total = whole(found, top)
    used = total.get("lut", 0)
    if limits.lut is None or used <= limits.lut:
        return
    within = "" if limits.dsp is None else f" within max_dsp={limits.dsp}"
    raise CapacityError(
        f"The design takes about {used:,} lookup tables, {used - limits.lut:,} more than "
        f"max_lut={limits.lut} allows, and {total.get('dsp', 0):,} multiplier blocks; no other choice of the "
        f"units made of blocks was found to meet it{within}. Its largest users are "
        f"{largest_users(modules, found, top)}.",
        place,
        help="allow more of them, or let fewer units work at once: unroll or partition less, or pipeline "
        'with a larger interval, which shares units; subnormals="flush" makes units of floats smaller.',
    )


def _counted(
    compile: Compile, wanted: Mapping[str, Wanted], device: str
) -> tuple[Compiled, dict[str, ModuleResources]]:
    design = compile(wanted)
    return design, module_resources(design.netlist, device, timed=False)


def _tables(design: Compiled, found: Found) -> int:
    return whole(found, design.top).get("lut", 0)


def _blocks_of_device(library: OperatorLibrary) -> int | None:
    """Multiplier blocks of the largest device of the family."""
    part = library.record.part
    return None if part is None else part.resources.get("dsp")


@dataclass(frozen=True, slots=True)
class _Group:
    """Operations of one operator in one function, any number of which can be made of the other thing.

    Attributes:
        count: how many choices there are: of operations, or 1 where all of them share units.
        kind: as the knapsack takes it, with all instances of the function.
        in_blocks: whether they are in blocks as a rule.
    """

    module: str
    name: str
    count: int
    kind: Kind
    in_blocks: bool


class _Exchange:
    """Which units of a design are in blocks, chosen for all of them at once."""

    def __init__(
        self,
        design: Compiled,
        found: Found,
        library: OperatorLibrary,
        base: Mapping[str, Wanted],
    ) -> None:
        self._library, self._base = library, base
        self._costs: dict[str, tuple[int, int]] = {}
        self._kept: dict[str, frozenset[SourcePlace]] = {}
        self._groups: list[_Group] = []
        total = whole(found, design.top)
        self._tables, self._fixed = total.get("lut", 0), total.get("dsp", 0)
        for name, times in instance_counts(found, design.top).items():
            if name in design.modules:
                self._read(name, design.modules[name], times)
        for group in self._groups:
            if group.in_blocks:
                self._fixed -= group.count * group.kind.blocks
                self._tables += group.count * group.kind.saves
        self._most = sum(group.count * group.kind.blocks for group in self._groups)

    def _read(self, name: str, module: CompiledModule, times: int) -> None:
        nodes: dict[str, list[Node]] = {}
        kept = set()
        for node in movable_nodes(module.function):
            if node.operator is None or node.impl:
                continue
            if plain_name(node.operator) != node.operator.name:
                kept |= {n.place for n in (node, *node.joined) if n.place is not None}
            else:
                nodes.setdefault(node.operator.name, []).append(node)
        self._kept[name] = frozenset(kept)
        for label, group in nodes.items():
            free = [node for node in group if node.place not in kept]
            if free:
                self._group(name, label, free, module, times)

    def _group(
        self, name: str, label: str, nodes: list[Node], module: CompiledModule, times: int
    ) -> None:
        operator = nodes[0].operator
        if operator is None:
            return
        here = self._cost(operator)
        there = self._cost(self._library.variant(operator, "fabric" if here[1] else "dsp"))
        in_blocks = bool(here[1])
        inside, outside = (here, there) if in_blocks else (there, here)
        if inside[1] <= outside[1]:
            return
        units = module.binding.units.get(operator.module, (operator, 0))[1]
        shared = bool(operator.latency) and units < len(nodes)
        factor = times * (units if shared else 1)
        kind = Kind(
            1 if shared else len(nodes),
            factor * (inside[1] - outside[1]),
            factor * (outside[0] - inside[0]),
        )
        if factor:
            self._groups.append(_Group(name, label, kind.count, kind, in_blocks))

    def _cost(self, operator: Operator) -> tuple[int, int]:
        """Lookup tables and blocks of an operator; of a unit, as the estimate of a design counts them."""
        if operator.name not in self._costs:
            if operator.unit_module is None or not operator.latency:
                blocks = blocks_in(operator, self._library.record.cells.dsp_least)
                self._costs[operator.name] = operator.resources.lut, blocks
            else:
                device = self._library.record.name
                alone = run_passes(Netlist([operator.unit_module("rtl")]), device)
                cost = whole(module_resources(alone, device, timed=False), alone.top.name)
                self._costs[operator.name] = cost.get("lut", 0), cost.get("dsp", 0)
        return self._costs[operator.name]

    def choice(self, goal: int, least: int, room: int | None) -> tuple[int, ...] | None:
        """Of each group how many are in blocks, so that the design takes at most ``goal`` tables.

        The fewest blocks from ``least`` on, or all that ``room`` leaves where they are too few. None where
        nothing can be chosen.
        """
        space = self._most if room is None else min(self._most, room - self._fixed)
        if space < 0 or not self._groups:
            return None
        knapsack = Knapsack([group.kind for group in self._groups], space)
        least = min(space, max(0, least - self._fixed))
        blocks = knapsack.fewest(self._tables - goal, least)
        return tuple(knapsack.choice(space if blocks is None else blocks))

    def asked(self, choice: tuple[int, ...]) -> dict[str, Wanted]:
        """What a choice asks of each function's mapping."""
        wanted = dict(self._base)
        for group, inside in zip(self._groups, choice, strict=True):
            moved = group.count - inside if group.in_blocks else inside
            if moved == group.count:
                moved = ALL  # of what shares units all, and copies of a body that is planned in two ways
            known = wanted.get(group.module, Wanted())
            counts = Counter({group.name: moved})
            asked = replace(known, kept=self._kept[group.module])
            wanted[group.module] = (
                replace(asked, fabric=known.fabric + counts)
                if group.in_blocks
                else replace(asked, blocks=known.blocks + counts)
            )
        return wanted
