"""What a scalar function takes: the units of its arithmetic, and those of its longest chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.passes.expand_math import EXPANSIONS, expand_math

from .kernel import Unit


@dataclass(frozen=True, slots=True)
class Expansion:
    """The units that a scalar function becomes, and those of them that work one after the other."""

    work: Counter[Unit]
    levels: list[Unit]


class Expansions:
    """The expansions of functions, each made once, as every target makes them.

    Args:
        unit: the unit that an operation of arithmetic takes, or None.
    """

    def __init__(self, unit: Callable[[ir.Operation], Unit | None]) -> None:
        self._unit = unit
        self._known: dict[tuple[str, tuple[str, ...]], Expansion] = {}

    def of(self, op: ir.Operation) -> Expansion | None:
        """What an operation becomes; None of one that is arithmetic already."""
        if op.name not in EXPANSIONS:
            return None
        key = op.name, tuple(str(operand.type) for operand in op.operands)
        if key not in self._known:
            self._known[key] = self._expanded(*key)
        return self._known[key]

    def _expanded(self, name: str, kinds: tuple[str, ...]) -> Expansion:
        """Expand a function of nothing else."""
        given = ", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds))
        operands = ", ".join(f"%{n}" for n in range(len(kinds)))
        module = ir.Module.parse(
            f"func.func @f({given}) -> {kinds[0]} {{ %r = {name} {operands} : {kinds[0]} "
            f"return %r : {kinds[0]} }}"
        )
        expand_math(module)
        work: Counter[Unit] = Counter()
        behind: dict[ir.Value, list[Unit]] = {}
        best: list[Unit] = []
        for op in module.body.operations[0].regions[0].blocks[0].operations:
            operation = op.operation
            before = max((behind.get(o, []) for o in operation.operands), key=len, default=[])
            unit = self._unit(operation)
            if unit is not None:
                work[unit] += 1
            here = [*before, unit] if unit is not None else before
            for result in operation.results:
                behind[result] = here
            best = max(best, here, key=len)
        return Expansion(work, best)
