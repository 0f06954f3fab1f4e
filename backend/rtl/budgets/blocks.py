"""A limit on multiplier blocks, met by packing products and by units of lookup tables.

The design is compiled, and its blocks are counted. Where there are too many, products that share
factors are packed first. Then units are made of lookup tables, those first that take the fewest more of them
for a block saved: float adders in blocks, small products, wide ones. The design is compiled again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from allo.dialects.diagnostics import CapacityError, SourcePlace

from ..compiled import CompiledModule
from ..graph.mapping.packing import PRODUCT, factors_of
from ..graph.mapping.units import Wanted, blocks_of, movable_nodes, plain_name
from ..graph.nodes import Node
from ..netlist.instance_counts import instance_counts
from ..operators.library import OperatorLibrary
from ..operators.spec import Operator
from ..resources.capacity import largest
from ..resources.design import ModuleResources, module_resources, whole
from .limits import Compile, Compiled

ROUNDS = 16
"""Compilations after which a limit that is not met is given up."""


def meet_limit(
    compile: Compile,
    library: OperatorLibrary,
    most: int,
    place: SourcePlace | None,
) -> dict[str, Wanted]:
    """What to ask of each function's mapping, by module, so that a design takes ``most`` blocks.

    Raises:
        CapacityError: it takes more though nothing more can be moved.
    """
    wanted: dict[str, Wanted] = {}
    for _ in range(ROUNDS):
        design = compile(wanted)
        found = module_resources(design.netlist, library.record.name, timed=False)
        used = whole(found, design.top).get("dsp", 0)
        if used <= most:
            return wanted
        search = _Search(design, library, instance_counts(found, design.top), wanted)
        if not search.pack(used - most) and not search.move(used - most):
            break
    raise _too_many(found, design.top, used, most, place)


def _too_many(
    found: Mapping[str, ModuleResources], top: str, used: int, most: int, place: SourcePlace | None
) -> CapacityError:
    users = {}
    for name, times in instance_counts(found, top).items():
        label = f"{times} of {name}" if times > 1 else name
        users[label] = {kind: times * count for kind, count in found[name].own.items()}
    return CapacityError(
        f"The design takes {used:,} multiplier blocks, {used - most:,} more than max_dsp={most} allows, and "
        f"nothing more of it can be made of lookup tables. Its largest users are {largest('dsp', users)}.",
        place,
        help="allow more blocks, or take back a bind to them; divisions, square roots and subscripts stay.",
    )


@dataclass(slots=True)
class _Move:
    """Operations of one operator that can be made of lookup tables.

    Attributes:
        price: lookup tables for each block saved.
        saves: blocks that ``each`` of them save in the design, or all of them where they are ``whole``.
    """

    module: str
    operator: Operator
    count: int
    price: float
    saves: int
    each: int = 1
    whole: bool = False


class _Search:
    """What else can be moved in a design."""

    def __init__(
        self,
        design: Compiled,
        library: OperatorLibrary,
        counts: Mapping[str, int],
        wanted: dict[str, Wanted],
    ) -> None:
        self._design = design
        self._library = library
        self._counts = counts
        self._wanted = wanted
        self._least = library.record.cells.dsp_least

    def _modules(self) -> Iterator[tuple[str, CompiledModule, int]]:
        for name, module in self._design.modules.items():
            if self._counts.get(name):
                yield name, module, self._counts[name]

    def pack(self, excess: int) -> bool:
        """Ask for products to be packed where that was not asked yet, so that it may be enough."""
        asked = False
        for name, module, times in self._modules():
            if name in self._wanted or excess <= 0:
                continue
            products = [n for n in movable_nodes(module.function) if n.op == PRODUCT and not n.impl]
            products = [
                n for n in products if blocks_of(n, self._least) == 1 and _has_partner(n, products)
            ]
            saved = min(-(-excess // times), len(products) // 2)
            if saved:
                self._wanted[name] = Wanted(saved, self._least)
                excess -= saved * times
                asked = True
        return asked

    def move(self, excess: int) -> bool:
        """Ask for enough units of lookup tables, the cheapest first; whether there is any."""
        moves = sorted(self._moves(), key=lambda m: (m.price, m.module, m.operator.name))
        for move in moves:
            if excess <= 0:
                break
            times = 1 if move.whole else min(move.count // move.each, -(-excess // move.saves))
            number = move.count if move.whole else times * move.each
            excess -= move.saves * times
            known = self._wanted.get(move.module, Wanted())
            fabric = known.fabric + Counter({plain_name(move.operator): number})
            self._wanted[move.module] = Wanted(known.saved, self._least, fabric)
        return bool(moves)

    def _moves(self) -> Iterator[_Move]:
        for name, module, times in self._modules():
            groups: dict[str, list[Node]] = {}
            for node in movable_nodes(module.function):
                if node.operator is not None and not node.impl and blocks_of(node, self._least):
                    groups.setdefault(node.operator.name, []).append(node)
            for nodes in groups.values():
                operator, blocks = nodes[0].operator, blocks_of(nodes[0], self._least)
                assert operator is not None
                other = self._library.variant(operator, "fabric")
                price = (other.resources.lut - operator.resources.lut) / blocks
                units = module.binding.units.get(operator.module, (operator, 0))[1]
                shared = bool(operator.latency) and units < len(nodes)
                saves = blocks * times * (units if shared else 1)
                yield _Move(name, operator, len(nodes), price, saves, whole=shared)
            for operator, count in Counter(module.function.packed).items():
                other = self._library.variant(operator, "fabric")
                if count > 1:
                    yield _Move(name, operator, count, 2 * other.resources.lut, times, each=2)


def _has_partner(node: Node, products: list[Node]) -> bool:
    """Whether a product of the same body has a factor in common with this one."""
    factors = factors_of(node)
    if factors is None:
        return False
    keys = {factor.key for factor in factors}
    return any(
        other is not node
        and other.body is node.body
        and any(factor.key in keys for factor in factors_of(other) or ())
        for other in products
    )
