"""Calls that pass parts of one array for several parameters, where C++ would have to pass copies.

A part whose elements are not next to each other has no address that C++ could pass as an array, so a call
passes a copy of it. Two parts of one array would be two copies, and what the function writes in one would
not be read in the other. Such a function takes the whole array instead.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.core.effects import VIEWS
from allo.dialects.passes.fold_views import fold_views


def fold_shared_parts(module: ir.Module) -> None:
    """Let functions take whole arrays where calls pass overlapping copies, in place."""
    fold_views(module, _passes_copies)


def _passes_copies(call: ir.Operation) -> bool:
    """Whether a call passes one array twice, or parts of it, and some part as a copy."""
    parts: list[tuple[ir.Value, bool]] = []
    for value in call.operands:
        if not isinstance(value.type, ir.MemRefType):
            continue
        root, depth = value, 0
        while not isinstance(root, ir.BlockArgument) and root.owner.operation.name in VIEWS:
            depth += root.owner.operation.name == "memref.subview"
            root = root.owner.operation.operands[0]
        parts.append((root, depth > 1 or not _is_dense(ir.MemRefType(value.type))))
    return any(
        copied and any(other == root for other, _ in parts[:k] + parts[k + 1 :])
        for k, (root, copied) in enumerate(parts)
    )


def _is_dense(kind: ir.MemRefType) -> bool:
    """Whether the elements of an array are next to each other, in row-major order."""
    if not isinstance(kind.layout, ir.StridedLayoutAttr):
        return True
    stride = 1
    for extent, given in zip(
        reversed(list(kind.shape)), reversed(list(kind.layout.strides)), strict=True
    ):
        if extent != 1 and given != stride:
            return False
        stride *= extent
    return True


__all__ = ["fold_shared_parts"]
