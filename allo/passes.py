"""Passes over core IR, under their published names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.checked import module_pass
from allo.dialects.core.signature import symbol
from allo.dialects.passes.arg_access import analyze_arg_load_store
from allo.dialects.passes.io_buffers import generate_input_output_buffers

__all__ = [
    "analyze_arg_load_store",
    "analyze_arg_load_store_in_func",
    "df_pipeline",
    "generate_input_output_buffers",
]


def analyze_arg_load_store_in_func(
    func: ir.OpView | ir.Operation, mapping: Mapping[str, Any] | None = None
) -> list[str]:
    """``in``, ``out`` or ``both`` for each argument of one function of a module.

    ``mapping`` is accepted as published; calls are followed in the function's module.
    """
    del mapping
    operation = func.operation
    module = operation.parent
    while module is not None and module.operation.name != "builtin.module":
        module = module.operation.parent
    if module is None:
        raise ValueError("the function is in no module")
    return analyze_arg_load_store(module.operation)[symbol(operation)]


def df_pipeline(module: ir.Module, initiation_interval: int = 1, rewind: bool = False) -> None:
    """Pipeline every innermost loop of ``module``, in place."""
    _pipeline(module, initiation_interval, rewind)


@module_pass
def _pipeline(module: ir.Module, initiation_interval: int, rewind: bool) -> None:
    with module.context:
        interval = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), initiation_interval)
        for loop in _innermost(module.operation):
            loop.attributes["pipeline_ii"] = interval
            if rewind:
                loop.attributes["rewind"] = ir.UnitAttr.get()


def _innermost(root: ir.Operation) -> list[ir.Operation]:
    loops: list[ir.Operation] = []
    parents: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("affine.for", "scf.for"):
            loops.append(op.operation)
            around = op.parent
            while around is not None and around.operation.name != "func.func":
                parents.append(around.operation)
                around = around.operation.parent
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return [loop for loop in loops if loop not in parents]
