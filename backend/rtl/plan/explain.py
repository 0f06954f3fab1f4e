"""Sentences that say what holds an initiation interval at its value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from os.path import basename

from allo.dialects.core.partition import Partition
from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import common_factor
from ..graph.nodes import Array, Body, Lin, Node
from .modulo import Recurrence
from .share import PORTS_PER_BANK

MOST_BANKS = 256
"""No partition into more banks is advised."""


def short(place: SourcePlace | None) -> str:
    """``gemm.py:12:9``, or ``?``."""
    return f"{basename(place.file)}:{place.line}:{place.col}" if place else "?"


def recurrence_limit(ii: int, found: Recurrence | None) -> str:
    """Why a cycle of dependences asks for ``ii``."""
    if found is None or not found.edges:
        return f"II={ii}: a chain of dependences between iterations"
    edge = found.edges[0]
    name = edge.array.name if edge.array else "value"
    source, target = edge.source.place, edge.target.place
    lines = f"line {source.line if source else '?'} -> line {target.line if target else '?'}"
    units = Counter(
        n.operator.name for n in found.path if n.operator is not None and n.operator.latency
    )
    through = ", ".join(f"{k} {name}" if k > 1 else name for name, k in units.items())
    through = f" through {through}" if through else ""
    waits = " and waits for ports" if found.waits and found.least_ii < ii else ""
    return (
        f"II={ii}: {name} {lines} ({short(source)}){through}, "
        f"latency {found.latency}{waits}, distance {found.distance}"
    )


def resource_limit(ii: int, resource: Hashable, body: Body, demand: int) -> str:
    """Why a port or a shared unit asks for ``ii``."""
    assert isinstance(resource, tuple)
    if resource[0] == "stream":
        first = next(n for n in body.nodes if n.stream and n.stream.number == resource[1])
        return f"II={ii}: {demand} {first.kind}s of stream {first.label} ({short(first.place)})"
    if resource[0] != "port":
        return f"II={ii}: {demand} uses of {resource[1]} share units"
    _, number, bank = resource
    users = [
        n
        for n in body.nodes
        if n.access is not None and n.access.array.number == number and bank in n.access.banks()
    ]
    array = next(n.access.array for n in users if n.access is not None)
    reads = [n for n in users if n.kind == "load"]
    writes = [n for n in users if n.kind == "store"]
    parts = []
    if reads:
        parts.append(f"{_count(reads, 'read')} of {array.name} ({short(reads[0].place)})")
    if writes:
        parts.append(f"{_count(writes, 'write')} of {array.name} ({short(writes[0].place)})")
    need = "need" if len(users) > 1 else "needs"
    cycles = _cycles(demand)
    text = (
        f"II={ii}: {' and '.join(parts)} {need} {cycles} cycles of bank {bank}'s "
        f"{PORTS_PER_BANK} ports"
    )
    advice = partition_advice(array, users)
    return f"{text}; {advice}" if advice else text


def _count(nodes: list[Node], noun: str) -> str:
    return f"{len(nodes)} {noun}{'s' if len(nodes) != 1 else ''}"


def partition_advice(array: Array, users: list[Node]) -> str:
    """The least cyclic partition of one dimension that saves most cycles of these accesses, if any does."""
    cycles, best = _cycles(len(users)), ""
    for dim, layout in enumerate(array.layout.dims):
        if layout.kind not in (None, Partition.Cyclic):
            continue
        subscripts = [n.access.index[dim] for n in users if n.access is not None]
        most = min(layout.extent, layout.banks * len(users), MOST_BANKS)
        for banks in range(2 * layout.banks, most + 1, layout.banks):
            need = _cycles(_busiest_bank(subscripts, banks))
            if need < cycles:
                cycles, best = need, f"partition {array.name} on dim {dim + 1} by {banks}"
    return best


def _cycles(accesses: int) -> int:
    return -(-accesses // PORTS_PER_BANK)


def _busiest_bank(subscripts: list[Lin], banks: int) -> int:
    """Accesses of the bank that has most; one whose bank only the run decides takes part in every bank."""
    fixed = Counter(s.const % banks for s in subscripts if common_factor(s) % banks == 0)
    return len(subscripts) - fixed.total() + max(fixed.values(), default=0)
