"""What compiling a function must know of it beside its graph: callees, settings, cycles."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from allo.dialects.diagnostics import BuildError

from .graph.nodes import Node
from .graph.prune import regions_of
from .graph.regions import Call, Function
from .plan.bind import Interface
from .plan.cycles import region_cycles
from .read.records import FunctionRecord, MemType, Op


def partitioned(record: FunctionRecord) -> bool:
    """Whether knowing scalar arguments may decide the bank of an access."""
    return any(isinstance(k, MemType) and k.layout.bank_count > 1 for k in record.arg_types)


def settle(function: Function, callees: dict[str, Interface]) -> None:
    """Set what is known only after elaboration: latencies of arrays, directions of streams."""
    for array in function.arrays:
        if array.storage == "ram":
            array.read_latency = 1
    for region in regions_of(function.root):
        if not isinstance(region, Call):
            continue
        for stream, (_, port) in zip(region.streams, callees[region.callee].streams, strict=True):
            if port.direction and stream.direction and port.direction != stream.direction:
                raise BuildError(
                    f"Function {function.name} both puts to and gets from stream {stream.name}.",
                    region.place,
                    help="give each direction a stream of its own.",
                )
            stream.direction = stream.direction or port.direction
            stream.tried = stream.tried or port.tried


def estimate(
    function: Function, callees: dict[str, Interface], scalars: Mapping[int, int] | None = None
) -> int | None:
    """Cycles of a run that never waits; ``scalars``: arguments that are known, by position."""
    known = {function.scalar_args[n].number: value for n, value in (scalars or {}).items()}
    cycles = region_cycles(function.root, lambda name: callees[name].estimate, known)
    if cycles is None:
        return None
    return max(1, cycles + function.drain) + int(
        any(isinstance(v, Node) for v in function.returned)
    )


def count_cycles(function: Function, callees: dict[str, Interface], *, frozen: bool) -> None:
    """Set the cycles of a run where no wait can change them."""
    calls = [r for r in regions_of(function.root) if isinstance(r, Call)]
    waits = frozen or bool(function.streams)
    if waits or any(callees[call.callee].cycles is None for call in calls):
        function.cycles = None
        return
    function.cycles = estimate(function, callees)


def cycles_at(
    function: Function, callees: dict[str, Interface], *, frozen: bool
) -> Callable[[Mapping[int, int]], int | None] | None:
    """Cycles of a run by its scalar arguments; None where they are known without, or where it waits."""
    calls = [r for r in regions_of(function.root) if isinstance(r, Call)]
    waits = frozen or bool(function.streams)
    waits = waits or any(callees[call.callee].cycles is None for call in calls)
    if waits or function.cycles is not None or not function.scalar_args:
        return None
    return lambda scalars: estimate(function, callees, scalars)


def callees(ops: list[Op]) -> list[str]:
    """The functions that operations and those inside them call, each once."""
    found: list[str] = []
    for op in ops:
        if op.name == "func.call":
            found.append(op.attrs["callee"])
        for region in op.regions:
            found += callees(region)
    return list(dict.fromkeys(found))
