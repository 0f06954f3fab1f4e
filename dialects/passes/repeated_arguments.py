"""One array passed for several parameters becomes one parameter.

Hardware gives each array parameter ports of its own, and a schedule orders the accesses of each by
itself. A function that is called with one array twice therefore gets a copy in which the parameters
are one: what it reads and writes through either name is then one memory, in the program's order.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._mlir import ir
from ..checked import module_pass
from ..core.rewrite import replace_operation
from ..core.signature import sign, signature_of, symbol
from .specialise import homes, specialise_calls


@module_pass
def merge_repeated_arguments(module: ir.Module) -> None:
    """Make every call pass an array once, in place. Slices are arrays of their own: fold them first."""
    with module.context, ir.Location.unknown():
        while specialise_calls(module, _pattern, _merge):
            pass


def _pattern(call: ir.Operation) -> tuple[int, ...] | None:
    same = homes(list(call.operands))
    return tuple(same) if _repeated(same) else None


def _repeated(same: Sequence[int]) -> dict[int, int]:
    """Positions of arrays that are passed before, and where."""
    return {k: home for k, home in enumerate(same) if home not in (-1, k)}


def _merge(function: ir.Operation, sites: Sequence[ir.Operation]) -> None:
    merged = _repeated(homes(list(sites[0].operands)))
    block = function.regions[0].blocks[0]
    signature = signature_of(function)
    names, kinds = list(signature.names), list(signature.declared)
    for position, home in merged.items():
        block.arguments[position].replace_all_uses_with(block.arguments[home])
    for position in sorted(merged, reverse=True):
        block.erase_argument(position)
        del names[position], kinds[position]
    sign(function, names, kinds)
    for site in sites:
        operands = [v for k, v in enumerate(site.operands) if k not in merged]
        attributes = {n: site.attributes[n] for n in site.attributes}
        attributes["callee"] = ir.FlatSymbolRefAttr.get(symbol(function))
        replace_operation(site, "func.call", operands, attributes)


__all__ = ["merge_repeated_arguments"]
