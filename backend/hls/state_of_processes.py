"""Variables that processes hand over to each other: the text has them, a vendor's dataflow has not."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.streams.shared.handover import read_of, states_of

_RUN_HERE = (None, "csim")


def refuse_state_of_processes(module: ir.Module, mode: str | None) -> None:
    """Refuse hardware of two processes with one static variable: in a dataflow region each has its own.

    Raises:
        UnsupportedOpError: the mode makes hardware of such a region.
    """
    if mode in _RUN_HERE:
        return
    functions = functions_of(module)
    for region in functions.values():
        if "region" not in region.attributes:
            continue
        for symbol, calls in states_of(module, region).items():
            if len(calls) > 1:
                names = " and ".join(callee_of(call) for call in calls)
                read = read_of(functions[callee_of(calls[0])], symbol)
                raise UnsupportedOpError(
                    f"{names} hand a stateful variable over to each other, and the processes of a vendor's "
                    "dataflow region share no variable.",
                    place_of(calls[0] if read is None else read),
                    help="send its value by a stream, or build with target='verilog'; mode='csim' runs it "
                    "here.",
                )
