"""The network of a dataflow region: its processes, and the FIFOs between them."""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.fifos import PUTS, STREAM_OPS, declared_stream
from allo.dialects.core.signature import callee_of
from allo.dialects.reports.network import Fifo, Network, process_names


def network_of(functions: Mapping[str, ir.Operation], top: str) -> Network | None:
    """The network that the top function declares, or None for one without FIFOs."""
    inside = list(walk(functions[top]))
    streams = [op for op in inside if op.name == "allo.stream"]
    if not streams:
        return None
    called = [op for op in inside if op.name == "func.call"]
    functions_called = [callee_of(call) for call in called]
    calls = dict(zip(process_names(functions_called), called, strict=True))
    fifos = tuple(_fifo(stream, calls, functions) for stream in streams)
    return Network(tuple(calls), fifos, tuple(functions_called))


def _fifo(
    stream: ir.Operation, calls: Mapping[str, ir.Operation], functions: Mapping[str, ir.Operation]
) -> Fifo:
    ends: dict[str, str] = {}
    for process, call in calls.items():
        for position, operand in enumerate(call.operands):
            if operand == stream.results[0]:
                for verb in _verbs(functions, callee_of(call), position):
                    ends.setdefault(verb, process)
    declared = declared_stream(stream)
    kind = declared.kind
    ends_of = (ends.get("allo.put"), ends.get("allo.get"))
    return Fifo(declared.name, kind.element, kind.depth, *ends_of)


def _verbs(functions: Mapping[str, ir.Operation], name: str, position: int) -> set[str]:
    """``allo.put`` and ``allo.get``, as a function uses the FIFO that is this argument of it."""
    function = functions.get(name)
    if function is None or not len(function.regions[0].blocks):
        return set()
    argument = function.regions[0].blocks[0].arguments[position]
    found: set[str] = set()
    for op in walk(function):
        places = [at for at, operand in enumerate(op.operands) if operand == argument]
        if not places:
            continue
        if op.name in STREAM_OPS and places[0] == 0:
            found.add("allo.put" if op.name in PUTS else "allo.get")
        elif op.name == "func.call":
            for at in places:
                found |= _verbs(functions, callee_of(op), at)
    return found
