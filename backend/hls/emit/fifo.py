"""Arrays that a schedule has made FIFOs (``s.to``): a memref in memory space ``"stream:D"``.

They are written once in order and read once in that order, so a store is a ``write``, a load a
``read``, and the subscripts are left out. In csim, which runs such code in order, they hold any
number of elements. Arrays of FIFOs are streams of a region by then (``stream_regions``).
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.streams.space import stream_space

from ..text.ctype import CType
from ..vendors.tables import Vendor
from .emitter import FunctionEmitter
from .pragmas import stream_pragmas
from .values import Scalar, StreamRef


def fifo_depth(vendor: Vendor, memref: ir.MemRefType | None) -> int | None:
    """Elements the FIFO holds; None for an array, and for vendors whose FIFOs join tasks only."""
    if memref is None or vendor.tasks or vendor.pragmas == "intel":
        return None
    space = stream_space(memref)
    return space.depth if space is not None and not space.labels else None


def stream_type(e: FunctionEmitter, ctype: CType, block: tuple[int, ...]) -> str:
    """``hls::stream< T >``; of vectors of the innermost extent for blocks."""
    return e.vendor.stream.format(element=element_text(e, ctype, block))


def element_text(e: FunctionEmitter, ctype: CType, block: tuple[int, ...]) -> str:
    """The type of what one write carries: a scalar, or a vector of the innermost extent."""
    element = e.spell(ctype)
    if not block:
        return element
    if e.vendor.vector.startswith("allo_"):
        e.context.helpers.use("vector")
    return e.vendor.vector.format(element=element, count=block[-1])


def declare_fifo(
    e: FunctionEmitter, name: str, ctype: CType, depth: int, place: SourcePlace | None
) -> StreamRef:
    """Declare a FIFO of scalars with its depth."""
    static = "static " if e.vendor.pragmas == "catapult" else ""
    e.out.line(f"{static}{stream_type(e, ctype, ())} {name};", place)
    for pragma in stream_pragmas(e.vendor, name, depth):
        e.out.line(pragma)
    return StreamRef(name, ctype)


def write(e: FunctionEmitter, fifo: StreamRef, value: Scalar, place: SourcePlace | None) -> None:
    """``X.write(value);``"""
    if fifo.ctype.is_fixed:
        text = e.fixed_point(value, fifo.ctype, place)
    else:
        text = e.typed(value, fifo.ctype)
    e.out.line(f"{fifo.name}.write({text});", place)
