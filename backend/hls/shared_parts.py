"""Calls that pass parts of one array for several parameters, where C++ would have to pass copies.

A part whose elements are not next to each other has no address that C++ could pass as an array, so a call
passes a copy of it. Two parts of one array would be two copies, and what the function writes in one would
not be read in the other. Such a function takes the whole array instead.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.core.effects import whole_array
from allo.dialects.passes.fold_views import fold_views, slice_behind


def fold_shared_parts(module: ir.Module) -> None:
    """Let functions take whole arrays where calls pass overlapping copies, in place."""
    fold_views(module, _passes_copies)


def _passes_copies(call: ir.Operation) -> bool:
    """Whether a call passes one array twice, or parts of it, and some part as a copy."""
    parts = [
        (whole_array(value), _is_copied(value))
        for value in call.operands
        if isinstance(value.type, ir.MemRefType)
    ]
    return any(
        copied and any(other == root for other, _ in parts[:k] + parts[k + 1 :])
        for k, (root, copied) in enumerate(parts)
    )


def _is_copied(value: ir.Value) -> bool:
    """Whether C++ passes a part as a copy: unless it is the whole of the dimensions behind its first."""
    part = slice_behind(value)
    if part is None or part.source == value:
        return bool(whole_array(value) != value)
    if whole_array(part.source) != part.source:
        return True
    extents, shape = ir.MemRefType(part.source.type).shape, ir.MemRefType(value.type).shape
    dims = list(part.dims)
    while dims and dims[0] is None:
        dims = dims[1:]
    behind = list(extents)[len(extents) - len(dims) :]
    is_dense = None not in dims and all(step == 1 for step in part.steps)
    return not (is_dense and list(shape)[1:] == behind[1:])


__all__ = ["fold_shared_parts"]
