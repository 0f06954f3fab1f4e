"""Processes in the regions of a device, which several dies make, and the wires over the borders between them.

A process lies in the region that it is given, and a FIFO where the process that reads it lies. What joins
processes, such as the end of a run, lies where all lies that it reads, or else in the middle region; and a
register that keeps what comes from processes of one region alone, such as their end, lies there. A wire
takes :attr:`.SignalDelays.crossing` more for each border, so a path that leaves a region and comes back in
one cycle takes it twice. Crossings are drawn as modules between the others, for the timing alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from allo.dialects.diagnostics import PlacementError
from allo.dialects.text.near import did_you_mean

from ...netlist.operations import CLOCK_TYPE, Constant, Instance, Operation, Register
from ..drawn import DrawnModule, bits_of_type
from ..paths import ModuleTiming, Path, Step

type Asked = Mapping[str, int | Sequence[int]]
"""By process, the region of all its instances, or of each one in their order."""

FIFO = re.compile(r"(?:fifo|elastic)_\d+x\d+")
_PROCESS = re.compile(r"(.+?)(?:_\d+)*_i(?:_\d+)?")
_CROSSING = "crossing of {}"


def placed_instances(module: DrawnModule, asked: Asked, count: int) -> dict[str, int]:
    """The region of each process and FIFO of a module, by label.

    Args:
        count: regions of the device.

    Raises:
        PlacementError: the device has no regions or not that one, or there are not so many processes of a
            name.
    """
    processes: dict[str, list[str]] = defaultdict(list)
    for instance in module.instances:
        named = None if FIFO.fullmatch(instance.module) else _PROCESS.fullmatch(instance.label)
        if named is not None:
            processes[named[1]].append(instance.label)
    middle = (count - 1) // 2
    found = {instance.label: middle for instance in module.instances}
    for name, where in asked.items():
        labels = processes.get(name, [])
        regions = [where] * len(labels) if isinstance(where, int) else list(where)
        _check(name, labels, regions, count, processes)
        found |= dict(zip(labels, regions, strict=True))
    readers = {
        value: instance.label
        for instance in module.instances
        if not FIFO.fullmatch(instance.module)
        for value, _ in instance.inputs.values()
    }
    for instance in module.instances:
        if FIFO.fullmatch(instance.module):
            word = next(value for value, port, _ in instance.outputs if port == "out_data")
            found[instance.label] = found.get(readers.get(word, ""), middle)
    return found


def _check(
    name: str,
    labels: Sequence[str],
    regions: Sequence[int],
    count: int,
    known: Mapping[str, object],
) -> None:
    if count < 2:
        raise PlacementError(
            f"{name} is to lie in a region of a device that has none.",
            help="leave regions=, or estimate for a family whose largest device has several dies.",
        )
    if not labels:
        raise PlacementError(
            f"There is no process {name!r} to lie in a region.",
            help=f"{did_you_mean(name, known)}the processes are {', '.join(known)}.",
        )
    if len(regions) != len(labels):
        raise PlacementError(
            f"{name} has {len(labels)} processes, and regions for {len(regions)} are given.",
            help="give one region for all of them, or a list with one for each.",
        )
    wrong = [region for region in regions if not 0 <= region < count]
    if wrong:
        raise PlacementError(
            f"A process of {name} is to lie in region {wrong[0]}, and the device has {count}.",
            help=f"regions are counted from 0 to {count - 1}.",
        )


@dataclass(slots=True)
class Crossings:
    """A module whose wires over borders pass a module that takes their time.

    Attributes:
        module: as it is, with its values.
        regions: by label, where the instances lie.
        middle: where what has no region lies.
        wires: bits over each border, by the lower of its regions.
    """

    module: DrawnModule
    regions: Mapping[str, int]
    middle: int
    wires: dict[int, int] = field(default_factory=dict)
    _of: dict[str, int] = field(default_factory=dict)
    _defined: dict[str, Operation] = field(default_factory=dict)
    _made: dict[tuple[str, int], Instance] = field(default_factory=dict)

    def drawn(self) -> DrawnModule:
        """The module with its crossings."""
        module = self.module
        widths = {f"%{name[1:]}": bits for name, bits in module.inputs.items()}
        for instance in module.instances:
            for value, _, kind in instance.outputs:
                self._of[value] = self.regions[instance.label]
                widths[value] = bits_of_type(kind)
        self._defined = {op.result: op for op in module.ops if op.result}
        widths |= {op.result: op.width for op in module.ops if op.result}
        self._place_registers()
        ops = [self._moved(op, widths) for op in module.ops]
        instances = [self._joined(instance, widths) for instance in module.instances]
        return DrawnModule(
            module.name,
            module.inputs,
            module.outputs,
            ops,
            [*self._made.values(), *instances],
            module.output_values,
        )

    def _place_registers(self) -> None:
        """Registers that processes of one region alone set, with the logic that nothing else reads."""
        came, readers = dict(self._of), defaultdict[str, set[str]](set)
        for op in self.module.ops:
            for value in op.operands:
                readers[value].add(op.result)
        for instance in self.module.instances:
            for value, _ in instance.inputs.values():
                readers[value].add("")
        for register in self.module.ops:
            if not isinstance(register, Register):
                continue
            cone, regions, stack = {register.result}, set[int](), list(register.operands)
            while stack:
                value = stack.pop()
                logic = self._defined.get(value)
                if value in came:
                    regions.add(came[value])
                elif logic is not None and value not in cone and not isinstance(logic, Register):
                    cone.add(value)
                    stack += logic.operands
            if len(regions) != 1:
                continue
            (where,) = regions
            own = {value for value in cone if readers[value] <= cone} | {register.result}
            self._of |= dict.fromkeys(own, where)

    def _moved(self, op: Operation, widths: Mapping[str, int]) -> Operation:
        """An operation that reads what comes to its region."""
        where = self._region(op.result) if op.result else None
        if where is None or not op.operands:
            return op
        operands = [self._at(value, where, widths, op) for value in op.operands]
        return op.renamed(op.result, tuple(operands))

    def _joined(self, instance: Instance, widths: Mapping[str, int]) -> Instance:
        where = self.regions[instance.label]
        inputs = {
            port: (value if kind == CLOCK_TYPE else self._at(value, where, widths, instance), kind)
            for port, (value, kind) in instance.inputs.items()
        }
        made = Instance(instance.label, instance.module, inputs, instance.outputs)
        made.like(instance)
        return made

    def _at(self, value: str, where: int, widths: Mapping[str, int], reader: Operation) -> str:
        """A value in a region: itself, or what comes over the borders."""
        source = self._region(value)
        if source is None or source == where:
            return value
        key = value, where
        if key not in self._made:
            kind = f"i{widths[value]}"
            name = f"{value}.in_{where}"
            label = f"{value[1:]}_to_{where}"
            made = Instance(
                label,
                _CROSSING.format(abs(source - where)),
                {"d": (value, kind)},
                [(name, "q", kind)],
            )
            made.like(reader)
            self._made[key] = made
            for border in range(min(source, where), max(source, where)):
                if not any(
                    (value, beyond) in self._made for beyond in _beyond(source, border, where)
                ):
                    self.wires[border] = self.wires.get(border, 0) + widths[value]
        return self._made[key].outputs[0][0]

    def _region(self, value: str) -> int | None:
        """Where a value comes from; None for constants and for ports, whose wires are outside."""
        stack, open_ = [value], set[str]()
        while stack:
            top = stack[-1]
            operands = self._operands_to_place(top)
            missing = [v for v in operands if v not in open_ and self._operands_to_place(v)]
            if missing and top not in open_:
                open_.add(top)
                stack += missing
                continue
            stack.pop()
            if operands:
                read = {self._of[v] for v in operands if v in self._of}
                self._of[top] = read.pop() if len(read) == 1 else self.middle
        return self._of.get(value)

    def _operands_to_place(self, value: str) -> Sequence[str]:
        """What the operation of a value reads; nothing where it is no logic, or its region is known."""
        op = self._defined.get(value)
        is_known = op is None or value in self._of or isinstance(op, Constant)
        return () if op is None or is_known else op.operands


def _beyond(source: int, border: int, where: int) -> Iterator[int]:
    """Regions other than one whose wires from a source pass a border, too."""
    upward = where > source
    passing = range(border + 1, 64) if upward else range(border + 1)
    return (region for region in passing if region != where)


def crossing_times(count: int, border_ns: float) -> dict[str, ModuleTiming]:
    """What is known of the modules that :class:`Crossings` draws, of a device with so many regions."""
    found = {}
    for borders in range(1, count):
        took = borders * border_ns
        path = Path(took, (Step("crossing", took, ""),))
        timing = ModuleTiming(through={"q": (frozenset(("d",)), path)}, entered={"q": "d"})
        found[_CROSSING.format(borders)] = timing
    return found
