"""One array read by several consumers: an array of its own for one of them."""

from __future__ import annotations

from dataclasses import replace

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.text.free_name import free_name

from ..resolve import FoundBuffer, buffers_of

_STORES = ("affine.store", "memref.store")


def fork(
    buffer: FoundBuffer, producer: ir.Operation, consumer: ir.Operation, label: str
) -> FoundBuffer | None:
    """Let ``producer`` write a second array that ``consumer`` reads in place of ``buffer``.

    ::

        B[i] = x      ──▶    B[i] = x; B_label[i] = x
        … = B[i]             … = B_label[i]              # in the consumer

    Returns:
        The second array; None, with nothing changed, where the producer is no nest of plain stores
        or the array is not declared in the function.
    """
    declaration = buffer.value.owner.operation if isinstance(buffer.value, ir.OpResult) else None
    if declaration is None or declaration.name != "memref.alloc" or producer.name == "func.call":
        return None
    inside = [op for op in walk(producer) if buffer.value in list(op.operands)]
    if not inside or any(op.name not in _STORES for op in inside):
        return None
    name = free_name(f"{buffer.name}_{label}", buffers_of(buffer.function), first=2)
    copy = declaration.clone(ip=_behind(declaration))
    copy.operation.attributes["name"] = ir.StringAttr.get(name)
    for store in inside:
        twin = store.clone(ip=_behind(store)).operation
        twin.operands[1] = copy.operation.results[0]
        twin.attributes["to"] = ir.StringAttr.get(name)
    for op in (consumer, *walk(consumer)):
        for position, operand in enumerate(op.operands):
            if operand == buffer.value:
                op.operands[position] = copy.operation.results[0]
                if "from" in op.attributes:
                    op.attributes["from"] = ir.StringAttr.get(name)
    return replace(buffer, name=name, value=copy.operation.results[0])


def _behind(op: ir.Operation) -> ir.InsertionPoint:
    return ir.InsertionPoint.after(op)
