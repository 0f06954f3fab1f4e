"""The loops of a module in the order that suits a CPU."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_affine_loop
from allo.dialects.checked import module_pass
from allo.dialects.core.effects import EffectAnalysis

from ..prepare import definitions_of
from .carry import carry
from .interchange import move_inside
from .jam import jam
from .late import take_late_last
from .meetings import divide_at_meetings
from .scalars import forward_scalars
from .tails import divide_rows


@module_pass
def order_loops(module: ir.Module) -> None:
    """Move loops inside, jam them, divide them, carry values in them, in place.

    What every element goes through stays the same.

    After the passes that place arrays, so that memory declared in a loop lies outside of it.
    """
    memory = EffectAnalysis(module.operation)
    with module.context:
        for function in definitions_of(module):
            forward_scalars(function.regions[0].blocks[0])
            for change in (
                move_inside,
                jam,
                divide_at_meetings,
                divide_rows,
                carry,
                take_late_last,
            ):
                for op in _outermost(function.regions[0].blocks[0]):
                    change(op, memory)


def _outermost(block: ir.Block) -> list[ir.Operation]:
    return [op.operation for op in block.operations if is_affine_loop(op)]
