"""Sentences that say what holds an initiation interval at its value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from os.path import basename

from allo.dialects.core.partition import Partition
from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import common_factor
from ..graph.nodes import Access, Array, Body, Lin, Node
from .limits import limit
from .modulo import Recurrence
from .share import PORTS_PER_BANK

_SUMS = frozenset(
    f"arith.{name}"
    for name in (
        "addf",
        "subf",
        "addi",
        "subi",
        "mulf",
        "muli",
        "maximumf",
        "minimumf",
        "maxnumf",
        "minnumf",
    )
)
MOST_BANKS = 256
"""No partition into more banks is advised."""


def short(place: SourcePlace | None) -> str:
    """``gemm.py:12:9``, or ``?``."""
    return f"{basename(place.file)}:{place.line}:{place.col}" if place else "?"


def recurrence_limit(ii: int, found: Recurrence, body: Body) -> str:
    """Why a cycle of dependences asks for ``ii``."""
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
    chain = (
        f"{name} {lines} ({short(source)}){through}, "
        f"latency {found.latency}{waits}, distance {found.distance}"
    )
    kind = "busy" if waits else _kind_of_chain(found, body)
    return limit(kind, ii=ii, chain=chain, array=name)


def _kind_of_chain(found: Recurrence, body: Body) -> str:
    """What a cycle of dependences is: a sum, one that subscripts leave open, or another."""
    for edge in found.edges:
        for access in (edge.source.access, edge.target.access):
            if access is not None and _by_data(access, body):
                return "unknown"
    operations = {n.op for n in found.path if n.kind == "op" and n.op and n.op != "arith.select"}
    return "sum" if len(operations) == 1 and operations <= _SUMS else "chain"


def _by_data(access: Access, body: Body) -> bool:
    """Whether what the body computes says where an access goes."""
    return any(node.body is body for index in access.index for node, _ in index.terms)


def resource_limit(ii: int, resource: Hashable, body: Body, demand: int) -> str:
    """Why a port or a stream asks for ``ii``."""
    assert isinstance(resource, tuple)
    if resource[0] == "stream":
        first = next(n for n in body.nodes if n.stream and n.stream.number == resource[1])
        where = {"stream": first.label, "place": short(first.place)}
        return limit("words", ii=ii, count=demand, kind=first.kind, **where)
    if resource[0] == "cycles":
        node = next(n for n in body.nodes if n.number == resource[1])
        name = node.operator.name if node.operator is not None else node.op
        return limit("unit", ii=ii, unit=name, place=short(node.place), count=demand)
    kind, number, bank = resource
    users = [
        n
        for n in body.nodes
        if n.access is not None and n.access.array.number == number and bank in n.access.banks()
    ]
    if kind == "writes":
        users = [n for n in users if n.kind == "store"]
    accesses = [n.access for n in users if n.access is not None]
    array = accesses[0].array
    reads = [n for n in users if n.kind == "load"]
    writes = [n for n in users if n.kind == "store"]
    parts = []
    if reads:
        parts.append(f"{_count(reads, 'read')} of {array.name} ({short(reads[0].place)})")
    if writes:
        parts.append(f"{_count(writes, 'write')} of {array.name} ({short(writes[0].place)})")
    need = "need" if len(users) > 1 else "needs"
    needed = demand if kind == "writes" else _cycles(demand)
    gaps = {
        "accesses": f"{' and '.join(parts)} {need} {needed} cycles",
        "bank": bank,
        "array": array.name,
    }
    if kind == "writes":
        return limit("one_writes", ii=ii, **gaps)
    gaps["ports"] = PORTS_PER_BANK
    advice = partition_advice(array, users)
    if advice is not None:
        return limit("ports", ii=ii, dim=advice[0], banks=advice[1], **gaps)
    if any(_by_data(access, body) for access in accesses):
        return limit("gathers", ii=ii, **gaps)
    return limit("reads" if len(reads) >= len(writes) else "writes", ii=ii, **gaps)


def _count(nodes: list[Node], noun: str) -> str:
    return f"{len(nodes)} {noun}{'s' if len(nodes) != 1 else ''}"


def partition_advice(array: Array, users: list[Node]) -> tuple[int, int] | None:
    """The least cyclic partition of one dimension that saves most cycles of these accesses, if any does.

    Returns:
        The dimension, counted from 1, and the number of banks.
    """
    cycles, best = _cycles(len(users)), None
    for dim, layout in enumerate(array.layout.dims):
        if layout.kind not in (None, Partition.Cyclic):
            continue
        subscripts = [n.access.index[dim] for n in users if n.access is not None]
        most = min(layout.extent, layout.banks * len(users), MOST_BANKS)
        for banks in range(2 * layout.banks, most + 1, layout.banks):
            need = _cycles(_busiest_bank(subscripts, banks))
            if need < cycles:
                cycles, best = need, (dim + 1, banks)
    return best


def _cycles(accesses: int) -> int:
    return -(-accesses // PORTS_PER_BANK)


def _busiest_bank(subscripts: list[Lin], banks: int) -> int:
    """Accesses of the bank that has most; one whose bank only the run decides takes part in every bank."""
    fixed = Counter(s.const % banks for s in subscripts if common_factor(s) % banks == 0)
    return len(subscripts) - fixed.total() + max(fixed.values(), default=0)
