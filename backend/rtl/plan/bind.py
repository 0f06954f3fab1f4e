"""Binding: which RAM port each access takes, which unit each operation, after scheduling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..graph.nodes import Array, Body, Node, Stream
from ..graph.prune import bodies_of, regions_of
from ..graph.regions import Call, Function
from ..netlist.modules import Ports
from ..operators.spec import Operator
from .share import parties


@dataclass(slots=True)
class PortUse:
    """How one RAM port of a bank is used."""

    reads: bool = False
    writes: bool = False


@dataclass(slots=True)
class Interface:
    """A compiled function as its callers see it.

    Attributes:
        scalars_in, scalars_out: port names and widths.
        streams: port prefix and stream of each stream parameter.
        ports: all ports of the module, in order.
        units: arithmetic units that the module uses but its caller holds, by module and number;
            their ports are named by :func:`unit_stem`.
        frozen: whether the module has a ``ce`` input that freezes it when low.
        estimate: cycles of a run without waiting for streams.
        cycles_at: where the cycles of a run depend on scalar arguments: these cycles for arguments given by
            position among the scalars, None where they depend on more.
        endless: whether it never ends.
        bounds: whether the module has the port of :mod:`..emit.bounds`.
        arrays: for each array parameter: its prefix, and the ports it uses by (bank, port).
        separate: by position of an array parameter, its banks of :attr:`Binding.separate`.
    """

    module: str
    cycles: int | None
    scalars_in: list[tuple[str, int]] = field(default_factory=list)
    scalars_out: list[tuple[str, int]] = field(default_factory=list)
    arrays: list[tuple[str, dict[tuple[int, int], PortUse]]] = field(default_factory=list)
    separate: dict[int, frozenset[int]] = field(default_factory=dict)
    streams: list[tuple[str, Stream]] = field(default_factory=list)
    ports: Ports = field(default_factory=Ports)
    units: dict[tuple[str, int], Operator] = field(default_factory=dict)
    frozen: bool = False
    estimate: int | None = None
    cycles_at: Callable[[Mapping[int, int]], int | None] | None = None
    float_ops: int | None = 0
    bounds: bool = False
    endless: bool = False


@dataclass(slots=True)
class Binding:
    """What binding decided.

    Attributes:
        ports: uses of the RAM ports of each array, by array number, then (bank, port).
        units: how many units of each module there are, with the operator.
        separate: arrays, by number, and their banks in which no port reads a word, for use, in the cycle in
            which the other port writes it (:mod:`.runs.collisions`).
    """

    ports: dict[int, dict[tuple[int, int], PortUse]] = field(default_factory=dict)
    units: dict[str, tuple[Operator, int]] = field(default_factory=dict)
    separate: frozenset[tuple[int, int]] = frozenset()

    def separate_of(self, array: Array) -> frozenset[int]:
        """The banks of an array that are in :attr:`separate`."""
        return frozenset(bank for number, bank in self.separate if number == array.number)


def bind(function: Function, callees: dict[str, Interface]) -> Binding:
    """Bind ports and units of a scheduled function."""
    binding = Binding()
    for array in function.arrays:
        binding.ports[array.number] = {}
    written_only = {
        a.number for a in function.arrays if a.stored and not a.loaded and not a.one_writes
    }
    for body in bodies_of(function.root):
        _bind_ports(body, binding, written_only)
        _bind_units(body, binding)
    for region in regions_of(function.root):
        if isinstance(region, Call):
            for array, (_, uses) in zip(region.arrays, callees[region.callee].arrays, strict=True):
                for key, use in uses.items():
                    _use(binding, array, *key, reads=use.reads, writes=use.writes)
            for (name, number), operator in callees[region.callee].units.items():
                _need_unit(binding, name, operator, number + 1)
    return binding


def _use(
    binding: Binding, array: Array, bank: int, port: int, *, reads: bool, writes: bool
) -> None:
    use = binding.ports[array.number].setdefault((bank, port), PortUse())
    use.reads = use.reads or reads
    use.writes = use.writes or writes
    array.loaded = array.loaded or reads
    array.stored = array.stored or writes


def _bind_ports(body: Body, binding: Binding, written_only: set[int]) -> None:
    ii = body.ii if body.overlaps else 0
    slots: dict[tuple[int, int, int], list[Node]] = defaultdict(list)
    for node in body.nodes:
        access = node.access
        if access is None or access.array.storage == "reg":
            continue
        slot = node.time % ii if ii else node.time
        for bank in access.banks():
            slots[access.array.number, bank, slot].append(node)
    found: dict[tuple[int, ...], list[list[Node]]] = {}
    for (number, bank, _), users in slots.items():
        key = tuple(node.number for node in users)
        if key not in found:
            found[key] = parties(((node, node.time) for node in users), ii)
            found[key].sort(key=lambda group: all(node.kind != "load" for node in group))
        groups = found[key]
        for position, group in enumerate(groups):
            port = position
            only_stores = all(node.kind == "store" for node in group)
            if len(groups) == 1 and only_stores and number not in written_only:
                port = 1
            for node in group:
                access = node.access
                assert access is not None
                access.ports[bank] = port
                is_store = node.kind == "store"
                _use(binding, access.array, bank, port, reads=not is_store, writes=is_store)


def _bind_units(body: Body, binding: Binding) -> None:
    taken: dict[tuple[str, int], int] = defaultdict(int)
    for node in body.nodes:
        operator = node.operator
        if operator is None or operator.latency == 0:
            continue
        slot = node.time % body.ii if body.overlaps else node.time
        name = operator.module
        if operator.shareable:
            node.unit = taken[name, slot]
            taken[name, slot] += 1
        elif operator.initiation_interval > 1:
            # What it works on it holds for longer than a step: no other body may use it meanwhile.
            node.unit = binding.units[name][1] if name in binding.units else 0
        else:
            node.unit = taken[name, -1]
            taken[name, -1] += 1
        _need_unit(binding, name, operator, node.unit + 1)


def _need_unit(binding: Binding, name: str, operator: Operator, count: int) -> None:
    _, known = binding.units.get(name, (operator, 0))
    binding.units[name] = (operator, max(known, count))


def unit_stem(module: str, number: int) -> str:
    """Port prefix of a unit that a caller holds."""
    return f"unit_{module}_{number}"
