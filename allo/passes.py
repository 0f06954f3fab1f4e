"""Passes over core IR, under their published names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.checked import module_pass
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import HandleTypeError
from allo.dialects.passes import arg_access, io_buffers
from allo.dialects.text.not_provided import not_provided
from allo.dialects.text.shown import shown

__all__ = [
    "analyze_arg_load_store",
    "analyze_arg_load_store_in_func",
    "analyze_use_def",
    "df_pipeline",
    "generate_input_output_buffers",
]


def _of_mlir[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Refuse a first argument that is nothing of MLIR."""

    @wraps(function)
    def run(*args: P.args, **named: P.kwargs) -> R:
        if args and not isinstance(args[0], (ir.Module, ir.OpView, ir.Operation)):
            raise HandleTypeError(
                f"allo.passes.{function.__name__} takes a module of MLIR, or a function of one, "
                f"not {shown(args[0])}.",
                help="s.module of a schedule is one, and s.top_func its top function.",
            )
        return function(*args, **named)

    return run


analyze_arg_load_store = _of_mlir(arg_access.analyze_arg_load_store)
generate_input_output_buffers = _of_mlir(io_buffers.generate_input_output_buffers)
analyze_use_def = not_provided(
    "allo.passes.analyze_use_def",
    "is a step of a compiler that is not here: what it returns is published nowhere.",
    "s.get_equivalent_variables(…) gives the names of one array in all functions, and value.uses of MLIR "
    "the uses of a value.",
)


@_of_mlir
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


@_of_mlir
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
