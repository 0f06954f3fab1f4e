"""From core IR to core IR that suits a CPU: plain layouts, results by reference, cheap locals.

Five steps, each in place:

1. :func:`strip_layouts`: array partition and memory binding are for hardware; here an array
   is one row-major block.
2. :func:`results_to_arguments`: a returned array becomes an argument the caller allocates, so
   that the top function writes straight into NumPy's memory.
3. :func:`expand_copies`: a copy from or to a view, or of padded elements, becomes loops.
4. :func:`place_locals`: small arrays move to the stack and larger ones to the heap,
   both in the function's entry block, and the heap ones are freed.
5. :func:`drop_empty_loops`: loops whose constant bounds leave no iteration are gone.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import func, ir, memref
from allo.dialects.affine.bulk import expand_bulk
from allo.dialects.affine.loops import is_affine_loop, spec_of, walk
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import (
    callee_of,
    function_type,
    functions_of,
    has_body,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.types import parse_type

STACK_BYTES_PER_ARRAY = 1024
STACK_BYTES_PER_FUNCTION = 4096


def definitions_of(module: ir.Module) -> list[func.FuncOp]:
    """The functions of a module that have a body."""
    return [op.opview for op in functions_of(module).values() if has_body(op)]


def strip_layouts(module: ir.Module) -> None:
    """Replace every memref type by the row-major one in the default memory space.

    A view keeps its strides: only the layouts of array partition are dropped.
    """
    with module.context, ir.Location.unknown():
        for function in definitions_of(module):
            _strip_function(function)
        for op in module.body.operations:
            if op.operation.name == "memref.global":
                op.attributes["type"] = ir.TypeAttr.get(_plain(op.attributes["type"].value))


def _strip_function(function: func.FuncOp) -> None:
    def strip(op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            _strip_value(result)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    _strip_value(argument)
        return ir.WalkResult.ADVANCE

    function.operation.walk(strip)
    _map_signature(function, _plain)


def _map_signature(function: func.FuncOp, change: Callable[[ir.Type], ir.Type]) -> None:
    old = function_type(function)
    new = ir.FunctionType.get([change(t) for t in old.inputs], [change(t) for t in old.results])
    function.attributes["function_type"] = ir.TypeAttr.get(new)


def _strip_value(value: ir.Value) -> None:
    if isinstance(value.type, ir.MemRefType):
        value.set_type(_plain(value.type))


def _plain(mlir_type: ir.Type) -> ir.Type:
    if not isinstance(mlir_type, ir.MemRefType):
        return mlir_type
    if isinstance(mlir_type.layout, ir.StridedLayoutAttr):
        if mlir_type.memory_space is None:
            return mlir_type
        return ir.MemRefType.get(mlir_type.shape, mlir_type.element_type, layout=mlir_type.layout)
    return ir.MemRefType.get(mlir_type.shape, mlir_type.element_type)


def results_to_arguments(module: ir.Module) -> None:
    """Turn every memref result into a trailing argument of the same type, callers included.

    Raises:
        UnsupportedOpError: when a returned array has no constant shape.
    """
    with module.context, ir.Location.unknown():
        changed = {
            symbol(function)
            for function in definitions_of(module)
            if _returns_arrays(function) and _take_results_by_reference(function)
        }
        for call in _calls(module):
            if callee_of(call) in changed:
                _pass_results_by_reference(call)


def _returns_arrays(function: func.FuncOp) -> bool:
    return any(isinstance(t, ir.MemRefType) for t in function.type.results)


def _calls(module: ir.Module) -> list[ir.Operation]:
    return [
        op for function in definitions_of(module) for op in walk(function) if op.name == "func.call"
    ]


def _take_results_by_reference(function: func.FuncOp) -> bool:
    signature = signature_of(function)
    block = function.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1]
    kept, added = [], []
    for position in range(len(terminator.operands)):
        value = terminator.operands[position]
        if not isinstance(value.type, ir.MemRefType):
            kept.append(value)
            continue
        if not value.type.has_static_shape:
            raise UnsupportedOpError(
                f"{symbol(function)} returns an array of type {value.type}, whose extents are "
                "not known when compiling.",
                place_of(terminator),
                help="pass an array argument and store into it.",
            )
        plain = ir.MemRefType.get(value.type.shape, value.type.element_type)
        argument = block.add_argument(plain, terminator.location)
        added.append(signature.returned[position])
        if _is_own_allocation(value, block):
            _replace_allocation(value, argument)
        else:
            with ir.InsertionPoint(terminator), terminator.location:
                memref.CopyOp(value, argument)
    with ir.InsertionPoint(terminator), terminator.location:
        func.ReturnOp(kept)
    terminator.operation.erase()
    names = [f"result_{position}" for position in range(len(added))]
    sign(function.operation, [*signature.names, *names], [*signature.declared, *added])
    for name in ("res_attrs", "res_types", "otypes"):
        if name in function.attributes:
            del function.attributes[name]
    return True


def _is_own_allocation(value: ir.Value, block: ir.Block) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    return bool(owner.operation.name == "memref.alloc" and owner.operation.block == block)


def _replace_allocation(value: ir.Value, argument: ir.Value) -> None:
    owner = value.owner
    value.replace_all_uses_with(argument)
    owner.operation.erase()


def _pass_results_by_reference(call: ir.Operation) -> None:
    with ir.InsertionPoint(call), call.location:
        added = [
            memref.AllocOp(result.type, [], []).result
            for result in call.results
            if isinstance(result.type, ir.MemRefType)
        ]
        scalars = [r.type for r in call.results if not isinstance(r.type, ir.MemRefType)]
        new = func.CallOp(scalars, callee_of(call), [*call.operands, *added])
    references, values = iter(added), iter(new.operation.results)
    for result in call.results:
        is_array = isinstance(result.type, ir.MemRefType)
        result.replace_all_uses_with(next(references if is_array else values))
    call.erase()


def expand_copies(module: ir.Module) -> None:
    """Replace by loops each ``memref.copy`` of a view with strides, or of elements with padding.

    MLIR copies bytes, as many as the elements have without the padding between them.
    """
    with module.context:
        for op in [op for op in walk(module.operation) if _needs_loops(op)]:
            expand_bulk(op)


def _needs_loops(op: ir.Operation) -> bool:
    return op.name == "memref.copy" and any(
        _is_strided(v.type) or _is_padded(v.type.element_type) for v in op.operands
    )


def _is_strided(mlir_type: ir.Type) -> bool:
    return isinstance(mlir_type.layout, ir.StridedLayoutAttr)


def _is_padded(element: ir.Type) -> bool:
    if not isinstance(element, ir.IntegerType):
        return False
    return bool(element.width > 64 and element.width % 128 != 0)


def place_locals(module: ir.Module) -> None:
    """Move every allocation to its function's entry block, on the stack or on the heap."""
    with module.context, ir.Location.unknown():
        for function in definitions_of(module):
            _place_in(function)


def _place_in(function: func.FuncOp) -> None:
    block = function.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1]
    budget = STACK_BYTES_PER_FUNCTION
    allocations = [op for op in walk(function) if op.name in ("memref.alloc", "memref.alloca")]
    for alloc in allocations:
        if len(alloc.operands):
            if alloc.name == "memref.alloc":
                _free_at_end_of_block(alloc)
            continue
        size = _byte_size(alloc.results[0].type)
        with ir.InsertionPoint.at_block_begin(block), alloc.location:
            memref_type = alloc.results[0].type
            if size <= min(budget, STACK_BYTES_PER_ARRAY) or size <= 16:
                budget -= size
                new = memref.AllocaOp(memref_type, [], []).result
            else:
                new = memref.AllocOp(memref_type, [], []).result
                with ir.InsertionPoint(terminator):
                    memref.DeallocOp(new)
        alloc.results[0].replace_all_uses_with(new)
        alloc.erase()


def _free_at_end_of_block(alloc: ir.Operation) -> None:
    block = alloc.block
    end = block.operations[len(block.operations) - 1]
    with ir.InsertionPoint(end), alloc.location:
        memref.DeallocOp(alloc.results[0])


def _byte_size(memref_type: ir.MemRefType) -> int:
    count = 1
    for extent in memref_type.shape:
        count *= extent
    return count * cell_bytes(parse_type(str(memref_type.element_type)))


def drop_empty_loops(module: ir.Module) -> None:
    """Erase ``affine.for`` loops without an iteration, for MLIR takes their iterators to have values.

    Of a minimum over an iterator from 1 to 0 it finds every operand redundant, and a bound without
    operands ends the process.
    """
    empty: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_affine_loop(op) and spec_of(op).trip_count() == 0:
            empty.append(op)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for loop in empty:
        loop.erase()
