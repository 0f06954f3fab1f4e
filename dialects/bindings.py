"""What operations are made of in hardware, as the schedule asks: an attribute of the operation."""

from __future__ import annotations

from ._mlir import ir

BINDING = "bind"
"""What :data:`IMPLEMENTATIONS` names; without it the target chooses."""

OPERATIONS: dict[str, tuple[str, ...]] = {
    "fadd": ("arith.addf", "arith.subf"),
    "fmul": ("arith.mulf",),
    "mul": ("arith.muli",),
    "frem": ("arith.remf",),
}
"""The operations of each kind that can be bound."""

IMPLEMENTATIONS: dict[str, tuple[str, ...]] = {
    "fadd": ("dsp", "fabric"),
    "fmul": ("dsp", "fabric"),
    "mul": ("dsp", "fabric", "packed"),
    "frem": ("iterated", "pipelined"),
}
"""What each kind can be made of."""


def binding_of(op: ir.Operation) -> str:
    """What an operation is asked to be made of, ``""`` where the target chooses."""
    return str(ir.StringAttr(op.attributes[BINDING]).value) if BINDING in op.attributes else ""


def bind(op: ir.Operation, impl: str) -> None:
    """Ask for an operation to be made of ``impl``."""
    op.attributes[BINDING] = ir.StringAttr.get(impl)
