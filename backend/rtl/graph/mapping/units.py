"""Units of the kind that the schedule asks for, or a limit on multiplier blocks or lookup tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace

from ...operators.library import OperatorLibrary
from ...operators.spec import Operator
from ..nodes import Body, Node
from ..prune import bodies_of, prune
from ..regions import Function
from .packing import PRODUCT, pack_body

MOVABLE = ("arith.addf", "arith.mulf", "arith.divf", PRODUCT)
"""Operations that can be made of multiplier blocks or of lookup tables."""

_EXTREMA = ("arith.minimumf", "arith.maximumf", "arith.minnumf", "arith.maxnumf")
QUICK = ("arith.addf", "arith.subf", "arith.mulf", "arith.cmpf", *_EXTREMA)
"""Operations that have units in fewer cycles, for loops that wait for them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What limits on multiplier blocks and lookup tables ask of one function.

    Attributes:
        saved: multiplier blocks that packing products should save.
        least: bits of the products that take a block.
        fabric: of the operations of each operator, by name, how many are to be made of lookup tables.
        blocks: the same of multiplier blocks.
        kept: places of operations that are left as they are.
    """

    saved: int = 0
    least: int = 1
    fabric: Counter[str] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    kept: frozenset[SourcePlace] = frozenset()


def map_units(
    function: Function, static: Body, library: OperatorLibrary, wanted: Wanted | None = None
) -> None:
    """Pack the products of a function and choose other operators, in place.

    What the schedule binds stays so, whatever a limit asks.
    """
    wanted = wanted or Wanted()
    for impl, counts in (("fabric", wanted.fabric), ("dsp", wanted.blocks)):
        left = Counter(counts)
        for node in movable_nodes(function, static):
            assert node.operator is not None
            if not node.impl and left[node.operator.name] > 0 and node.place not in wanted.kept:
                left[node.operator.name] -= 1
                node.impl = impl
    changed = _pack(function, library, wanted)
    for node in movable_nodes(function, static):
        assert node.operator is not None
        if node.impl in ("dsp", "fabric"):
            node.operator = library.variant(node.operator, node.impl)
    if changed:
        prune(function, static)


def movable_nodes(function: Function, static: Body | None = None) -> Iterator[Node]:
    """The operations of a function that can be made of one thing or another."""
    for body in (*bodies_of(function.root), *((static,) if static else ())):
        for node in body.nodes:
            if node.op in MOVABLE and node.operator is not None:
                yield node


def quicker(node: Node, library: OperatorLibrary) -> Operator | None:
    """The operator in fewer cycles that can take the place of a node's, of which nothing else is asked."""
    operator = node.operator
    if node.op not in QUICK or node.impl or operator is None:
        return None
    op, operand_types, result_type, given = operator.asked
    attributes = {**dict(given), "impl": "fast"}
    constants = tuple(o.data if o.kind == "const" else None for o in node.operands)
    if op == "arith.mulf" and any(value is not None for value in constants):
        attributes["constants"] = constants
    found = library.find(op, operand_types, result_type, attributes)
    return found if found.latency < operator.latency else None


def plain_name(operator: Operator) -> str:
    """The name of the operator that was in the place of one for a loop that waits."""
    return operator.name.removesuffix("_fast")


def blocks_of(node: Node, least: int) -> int:
    """Multiplier blocks of an operation; products of fewer than ``least`` bits take none."""
    return 0 if node.operator is None else blocks_in(node.operator, least)


def blocks_in(operator: Operator, least: int) -> int:
    """Multiplier blocks of an operator; products of fewer than ``least`` bits take none."""
    if operator.netlist is None:
        return 0
    return sum(n.op == "mul" and n.width >= least for n in operator.netlist.nodes)


def _pack(function: Function, library: OperatorLibrary, wanted: Wanted) -> bool:
    """Pack the products that are to be, and others until so many blocks are saved; whether any was."""
    asked = packed = blocks = 0
    saved = wanted.saved
    for body in bodies_of(function.root):
        products = [n for n in body.nodes if n.op == PRODUCT and n.operator is not None]
        bound = [n for n in products if n.impl == "packed"]
        free = [n for n in products if not n.impl and blocks_of(n, wanted.least) == 1]
        asked += len(bound)
        for chosen, most in ((bound, None), (free, saved)):
            if chosen and (most is None or most > 0):
                found = pack_body(function, body, library, chosen, most)
                packed, blocks = packed + found[0], blocks + found[1]
                saved -= 0 if most is None else found[0] - found[1]
    if packed:
        function.notes.append(
            f"{function.name}: {packed} products are computed in {blocks} multiplier blocks."
        )
    if asked and not packed:
        function.notes.append(
            f"{function.name}: none of {asked} products shares a factor with another one in its iteration, "
            "so that none is packed."
        )
    return packed > 0
