"""From prepared core IR to the LLVM dialect."""

from __future__ import annotations

from allo.dialects._mlir import affine, func, ir, run_passes
from allo.dialects.affine.loops import walk
from allo.dialects.boundary.arguments import find_function
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import function_type, symbol
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.passes.define_arith import define_arith
from allo.dialects.passes.expand_math import expand_math
from allo.dialects.passes.flush_subnormals import flush_arithmetic, flush_functions
from allo.dialects.passes.loop_steps import counted_steps, positive_steps
from allo.dialects.passes.merge_instances import merge_instances
from allo.dialects.passes.run_time_checks import NO_CHECKS, Checks, insert_checks

from ..native.float_state import guard_float_state
from .bf16_bits import hold_bf16_as_bits
from .distinct import find_distinct, mark_distinct
from .loops.order import order_loops
from .narrow_floats import lower_narrow_floats
from .prepare import (
    definitions_of,
    drop_empty_loops,
    expand_copies,
    place_locals,
    results_to_arguments,
    strip_layouts,
)
from .program import Program, read_program
from .streams import lower_streams
from .unsigned_floats import convert_as_signed

FAMILY = 8
"""Functions that are alike but for constants, from which on one of them serves all."""

ENTRY = "__allo_entry"
"""Name of the function Python calls: arguments as the top's, every result by reference."""

_TO_INDEX = ",".join(
    (
        "func.func(convert-linalg-to-affine-loops)",
        "lower-affine",
        "expand-strided-metadata",
        "lower-affine",
    )
)
_TO_LLVM = ",".join(
    (
        "convert-scf-to-cf",
        "convert-math-to-llvm",
        "convert-math-to-libm",
        "convert-arith-to-llvm",
        "convert-cf-to-llvm",
        "finalize-memref-to-llvm",
        "convert-func-to-llvm",
        "reconcile-unrealized-casts",
    )
)


def prepare(
    module: ir.Module,
    top: str,
    *,
    fast_math: bool = False,
    checks: Checks = NO_CHECKS,
    flush: bool = False,
) -> Program | None:
    """Run the shared passes and the CPU's own, and add the entry function. In place.

    Args:
        fast_math: leave ``math`` operations to the C library instead of the shared expansion.
        checks: what is checked when it runs.
        flush: compute as with floats that have no subnormals.

    Returns:
        The dataflow of the module, if it has any: it then runs on the native runtime.
    """
    module.context.get_dialect_descriptor("llvm")
    insert_checks(module, checks)
    merge_instances(module, _instances(module, top), at_least=FAMILY, constants=True)
    strip_layouts(module)
    if flush:
        flush_functions(module)
    if not fast_math:
        expand_math(module)
    counted_steps(module)
    define_arith(module)
    positive_steps(module)
    lower_narrow_floats(module)
    convert_as_signed(module)
    results_to_arguments(module)
    dataflow = read_program(module, top)
    if dataflow is not None:
        lower_streams(module, *dataflow)
    expand_copies(module)
    add_entry(module, top)
    place_locals(module)
    drop_empty_loops(module)
    order_loops(module)
    if flush:
        flush_arithmetic(module)
    return dataflow[0] if dataflow else None


def _instances(module: ir.Module, top: str) -> list[str]:
    """The functions that may become one with others: all but the top and regions."""
    functions = [op.operation for op in definitions_of(module)]
    return [symbol(f) for f in functions if symbol(f) != top and "region" not in f.attributes]


def add_entry(module: ir.Module, top: str) -> None:
    """Add :data:`ENTRY`, and give all other functions internal linkage so that LLVM may inline them."""
    target = find_function(module, top)
    kind = function_type(target)
    with module.context, ir.InsertionPoint(module.body), target.location:
        outputs = [ir.MemRefType.get([], result) for result in kind.results]
        entry = func.FuncOp(ENTRY, ir.FunctionType.get([*kind.inputs, *outputs], []))
        block = entry.add_entry_block()
        with ir.InsertionPoint(block):
            inputs = list(block.arguments)[: len(kind.inputs)]
            call = func.CallOp(kind.results, top, inputs)
            for result, output in zip(
                call.operation.results, list(block.arguments)[len(inputs) :], strict=True
            ):
                affine.AffineStoreOp(
                    result, output, [], map=ir.AffineMapAttr.get(ir.AffineMap.get(0, 0, []))
                )
            func.ReturnOp([])
    with module.context:
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        for function in definitions_of(module):
            if function.name.value != ENTRY:
                function.attributes["llvm.linkage"] = internal


def to_llvm(module: ir.Module, top: str, *, bf16: bool, streams: bool) -> None:
    """Lower a prepared module to the LLVM dialect, in place.

    Args:
        bf16: whether the module may hold values of this type.
        streams: whether processes of a region take turns in it.

    Raises:
        UnsupportedOpError: when an operation has no lowering; the message gives its line.
    """
    _refuse_unknown(module)
    distinct = {} if streams else find_distinct(module)
    try:
        run_passes(module, f"builtin.module({_TO_INDEX})", verify=False)
        _wrap_products(module)
        run_passes(module, f"builtin.module({_TO_LLVM})", verify=False)
    except ir.MLIRError as error:
        raise _as_build_error(error) from None
    mark_distinct(module, distinct)
    if bf16:
        hold_bf16_as_bits(module)
    guard_float_state(module, ENTRY, top)


def _wrap_products(module: ir.Module) -> None:
    """Let index products wrap as the language says: ``lower-affine`` promises LLVM that none does."""
    for op in walk(module.operation):
        if op.name == "arith.muli" and "overflowFlags" in op.attributes:
            del op.attributes["overflowFlags"]


_KNOWN = frozenset(
    ("builtin", "func", "affine", "scf", "arith", "math", "memref", "linalg", "llvm", "cf")
)


def _refuse_unknown(module: ir.Module) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.split(".")[0] not in _KNOWN:
            unknown.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    unknown: list[ir.Operation] = []
    module.operation.walk(visit)
    if unknown:
        raise UnsupportedOpError(
            f"The CPU back end does not support operation {unknown[0].name}.",
            place_of(unknown[0]),
        )


def _as_build_error(error: ir.MLIRError) -> UnsupportedOpError:
    for diagnostic in error.error_diagnostics:
        return UnsupportedOpError(
            f"The CPU back end cannot lower this: {diagnostic.message}.",
            place_of(diagnostic.location),
        )
    return UnsupportedOpError(f"The CPU back end cannot lower the module: {error}.")
