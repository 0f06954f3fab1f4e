"""Arrays whose elements lie in memory without bits between them: which can pass so, and what that saves."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from allo.dialects.boundary.arguments import Parameter
from allo.dialects.boundary.layouts import packed_cell
from allo.dialects.diagnostics import InterfaceError
from allo.dialects.interfaces.runs import Runs
from allo.dialects.interfaces.transfers import Transfer

_BYTE = 8


def packed_transfer(
    transfer: Transfer, parameter: Parameter, top: str, notes: list[str]
) -> Transfer:
    """The transfer of an array that is packed; adds what it saves to the notes of the report.

    Raises:
        InterfaceError: a store would end within a byte, whose other bits are of another element.
    """
    bits, count = parameter.dtype.bits, prod(transfer.shape)
    if transfer.stores is not None and not _whole_bytes(transfer.stores, bits, count):
        raise refused_packed(parameter, top, "a run of its stores begins or ends within a byte")
    cell = packed_cell(bits)
    notes.append(
        f"{parameter.name} is packed: an element takes {bits} bits in place of {cell}, the array "
        f"{-(-count * bits // _BYTE):,} bytes in place of {count * cell // _BYTE:,}."
    )
    return replace(transfer, packed=True)


def refused_packed(parameter: Parameter, top: str, why: str) -> InterfaceError:
    """An array that is packed, and cannot pass while the core runs."""
    return InterfaceError(
        f"{parameter.name} is packed, and cannot pass while {top} runs: {why}.",
        parameter.place,
        help="leave out its layout 'packed'; or s.cache it at a loop, so that its elements pass in order.",
    )


def _whole_bytes(runs: Runs, bits: int, count: int) -> bool:
    """Whether runs begin and end between bytes; the last one may end with the array."""
    starts = [runs.base, *(stride for _, stride in runs.dims)]
    if any(start * bits % _BYTE for start in starts):
        return False
    last = runs.base + sum(max(0, stride * (extent - 1)) for extent, stride in runs.dims)
    alone = all(extent == 1 for extent, _ in runs.dims)
    ends = alone and last + runs.length == count
    return ends or runs.length * bits % _BYTE == 0
