"""Arrays that are distinct: LLVM is told which arguments share no memory.

The boundary refuses an array that the kernel writes and that shares memory with another argument
(:mod:`allo.dialects.boundary.arguments`), and results are fresh memory. Inside the module, two
parameters share memory where some call passes one array for both; :class:`EffectAnalysis` knows.
``noalias`` on a pointer says that what is written through it is read through no other.

The processes of a region take turns on shared arrays while one of their functions runs, so
modules with streams say nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.signature import symbol

from .prepare import definitions_of

_POINTERS = 2
"""A descriptor begins with the address that was allocated and the one that is used."""

type Words = list[tuple[int, bool]]
"""For each parameter: how many words it has in LLVM, and whether it is an array of its own."""


def find_distinct(module: ir.Module) -> dict[str, Words]:
    """Of each function of a module in core IR, which parameters share memory with no other."""
    effects = EffectAnalysis(module.operation)
    found: dict[str, Words] = {}
    for function in definitions_of(module):
        arguments = list(function.regions[0].blocks[0].arguments)
        arrays = [a for a in arguments if isinstance(a.type, ir.MemRefType)]
        keys = {a: effects.memory_of(a).key for a in arrays}
        uses = Counter(keys.values())
        found[symbol(function)] = [
            (1 + _POINTERS + 2 * a.type.rank, uses[keys[a]] == 1) if a in keys else (1, False)
            for a in arguments
        ]
    return found


def mark_distinct(module: ir.Module, distinct: Mapping[str, Words]) -> None:
    """Put ``noalias`` on the addresses of those arrays, in place.

    Args:
        module: in the LLVM dialect.
        distinct: what :func:`find_distinct` gave before the module was lowered to it.
    """
    with module.context:
        nothing = ir.DictAttr.get({})
        own = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
        for op in module.body.operations:
            words = distinct.get(symbol(op)) if op.operation.name == "llvm.func" else None
            if not words or not any(is_own for _, is_own in words):
                continue
            marks = []
            for count, is_own in words:
                marks += [nothing] * count
                if is_own:
                    marks[-count + 1] = own
            op.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)
