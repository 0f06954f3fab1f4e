"""Functions whose arrays are FIFOs become dataflow regions: processes joined by streams.

Assumes core IR in which ``to`` has given arrays the memory space ``"stream:D;SST"`` (and, if asked
for, ``"stream:D"``). Every nest and call between the first and the last that touches such an array
becomes a function called by a region, each FIFO an ``allo.stream``, each load an ``allo.get`` and
each store an ``allo.put``. Leaves no array of that kind, and the operations ``docs/internals/core_ir.md``
lists under dataflow. The region is the function itself where nothing else stands in it, otherwise
a function ``<name>_flow`` that it calls.
"""

from __future__ import annotations

from contextlib import suppress

from .._mlir import ir
from ..checked import module_pass
from ..core.signature import functions_of
from ..diagnostics import IllegalTransformError
from ..streams.network import Network, StreamArray, stream_arrays
from ..streams.outline import Outliner, drop_unused
from ..streams.rewrite import StreamRewriter
from ..streams.shared.sharing import check_memories
from .fold_views import fold_views


def has_stream_arrays(module: ir.Module, *, plain: bool = False) -> bool:
    """Whether any function holds arrays of FIFOs; with ``plain`` also arrays that are one FIFO."""
    functions = functions_of(module.operation).values()
    return any(_arrays(f, plain=plain) for f in functions if len(f.regions[0].blocks))


@module_pass
def make_regions(module: ir.Module) -> None:
    """Make the functions with arrays of FIFOs dataflow regions, in place.

    Raises:
        IllegalTransformError: the processes cannot run side by side, or the order of a FIFO's
            elements, changed since ``to`` was applied, is not first in, first out.
    """
    if not has_stream_arrays(module):
        return
    with module.context, ir.Location.unknown():
        fold_views(module)
        for function in list(functions_of(module.operation).values()):
            if _arrays(function, plain=False):
                _make_region(module, _checked(module, function))


@module_pass
def make_plain_regions(module: ir.Module) -> None:
    """Make functions with single FIFOs regions, too; those whose processes share memory stay."""
    if not has_stream_arrays(module, plain=True):
        return
    with module.context, ir.Location.unknown():
        fold_views(module)
        for function in list(functions_of(module.operation).values()):
            if not _arrays(function, plain=True):
                continue
            network = None
            with suppress(IllegalTransformError):
                found = _ordered(module, function)
                check_memories(found)  # before the depths, which take longer
                found.check_depths()
                network = found
            if network is not None:
                _make_region(module, network)


def _arrays(function: ir.Operation, *, plain: bool) -> list[StreamArray]:
    if not len(function.regions[0].blocks):
        return []
    return [a for a in stream_arrays(function) if plain or a.space.labels]


def _checked(module: ir.Module, function: ir.Operation) -> Network:
    network = _ordered(module, function)
    network.check_depths()
    check_memories(network)
    return network


def _ordered(module: ir.Module, function: ir.Operation) -> Network:
    network = Network(module.operation, function, stream_arrays(function))
    network.check_order()
    return network


def _make_region(module: ir.Module, network: Network) -> None:
    outliner = Outliner(module, network.function)
    calls = [outliner.process(process) for process in network.processes]
    region = outliner.region(calls, network.section.outside)
    rewriter = StreamRewriter(module, region, network.arrays)
    for made in calls:
        rewriter.process(made)
    drop_unused(region)


__all__ = ["has_stream_arrays", "make_plain_regions", "make_regions"]
