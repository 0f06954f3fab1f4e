"""Processes that never end, in a vendor's text: an ``hls::task`` beside the functions of a dataflow region.

Such a task has no start and no end of its own (``ap_ctrl_none``), and joins the others by its streams alone;
the region's functions start and end as ever. TAPA detaches it: ``.invoke<tapa::detach>(…)``.
"""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.streams.endless import ENDLESS, starts_endless

from ..vendors.tables import Vendor
from .emitter import FunctionEmitter
from .signature import Signature

TASK_HEADER = "hls_task.h"


def _has_tasks(vendor: Vendor) -> bool:
    return vendor.pragmas == "xilinx" and not vendor.tasks


def start_first(vendor: Vendor, functions: Mapping[str, ir.Operation]) -> None:
    """Let regions start such processes before they call the functions that join them, in place."""
    for function in functions.values():
        if "region" not in function.attributes or not _has_tasks(vendor):
            continue
        ops = [each.operation for each in function.regions[0].blocks[0].operations]
        made = [position for position, op in enumerate(ops) if op.name == "allo.stream"]
        place = ops[made[-1] + 1] if made else ops[0]
        for op in ops:
            if op.name == "func.call" and starts_endless(op, dict(functions)) and op != place:
                op.move_before(place)


def uses_tasks(vendor: Vendor, functions: Mapping[str, ir.Operation]) -> bool:
    """Whether the text needs the header of ``hls::task``."""
    return _has_tasks(vendor) and any(ENDLESS in op.attributes for op in functions.values())


def is_free_running(e: FunctionEmitter, signature: Signature) -> bool:
    """Whether the region that is printed has a function run without an end, by the vendor's means."""
    region = "region" in e.signature.op.attributes
    return region and e.context.simulation is None and ENDLESS in signature.op.attributes


def declare_task(e: FunctionEmitter, op: ir.Operation, signature: Signature, call: str) -> None:
    """``hls_thread_local hls::task w_0_task(w_0, s, t);``

    Raises:
        UnsupportedOpError: it takes more than streams, or the vendor has no such processes.
    """
    if not _has_tasks(e.vendor):
        raise UnsupportedOpError(
            f"The process {symbol(signature.op)} never ends: a block of {e.vendor.name} is called again and "
            "again, and each call must end.",
            place_of(op),
            help="end its loop after the words of one call, or build for vitis_hls, tapa or verilog.",
        )
    other = next((p.name for p in signature.params if not p.is_stream), None)
    if other is not None:
        raise UnsupportedOpError(
            f"The process {symbol(signature.op)} never ends, so it is an hls::task, which takes streams and "
            f"nothing else; it has {other}.",
            place_of(op),
            help=f"let a process that ends read {other} and put it into a stream.",
        )
    name, arguments = call.removesuffix(");").split("(", 1)
    task = e.names.of(f"{name}_task")
    given = ", ".join(filter(None, (name, arguments)))
    e.out.line(f"hls_thread_local hls::task {task}({given});", place_of(op))


def storage_of_stream(e: FunctionEmitter, op: ir.Operation) -> str:
    """What stands before the declaration of a FIFO: a task's lives as long as its thread."""
    if e.vendor.pragmas == "catapult":
        return "static "
    users = [use.owner.operation for use in op.results[0].uses]
    functions = {name: s.op for name, s in e.context.signatures.items()}
    tasks = any(user.name == "func.call" and starts_endless(user, functions) for user in users)
    return "hls_thread_local " if tasks and _has_tasks(e.vendor) else ""
