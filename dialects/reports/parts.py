"""The figures of a built design as plain data: clock cycles, None where not known before running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .later import Later
from .network import Network
from .regions import RegionReport


@dataclass(slots=True)
class LoopReport(Later):
    """One loop nest or pipeline.

    Attributes:
        name: ``band.loop``, flattened loops joined by ``*``.
        place: ``file:line:col`` of the loop, or "".
        trips: iterations of the flattened loop, None where data-dependent.
        ii: initiation interval in cycles.
        depth: cycles of one iteration.
        cycles: predicted cycles of one execution of the loop.
        pipelined: whether iterations overlap.
        limit: what holds II at its value, as a sentence naming lines; "" when II is as asked.
        children: loops inside this one.
        section: name of the part of the hardware's text that is this loop's, or "".
        resources: what that part takes, with the loops inside; units that loops share are the function's.
        streams: names of the streams that a pipeline puts to or gets from.
        operations: float operations of a pipeline, or products of integers where it has none, in all of its
            entries in one run of the function; None where data decide.
    """

    name: str
    place: str
    trips: int | None
    ii: int
    depth: int
    cycles: int | None
    pipelined: bool
    limit: str = ""
    children: list[LoopReport] = field(default_factory=list)
    section: str = ""
    resources: dict[str, int] = field(default_factory=dict)
    streams: list[str] = field(default_factory=list)
    operations: int | None = None


@dataclass(slots=True)
class MemoryReport:
    """One array: banks, words a bank, word width in bits, ports a bank, and how it is stored."""

    name: str
    place: str
    banks: int
    words: int
    width: int
    ports: int
    storage: str


@dataclass(slots=True)
class FunctionReport(Later):
    """One function (one hardware module).

    Attributes:
        operators: unit name to number of instances in this function, for example
            ``{"fadd_f32": 8, "fmul_f32": 8}``.
        instances: callee function name to number of module instances.
        calls: callee function name to calls in one run of the function, None where data decide.
        resources: what one instance takes, without the functions inside it.
        network: of a dataflow region, its processes and FIFOs.
    """

    name: str
    place: str
    cycles: int | None
    loops: list[LoopReport] = field(default_factory=list)
    memories: list[MemoryReport] = field(default_factory=list)
    operators: dict[str, int] = field(default_factory=dict)
    instances: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int | None] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    network: Network | None = None

    def innermost(self) -> Iterator[tuple[LoopReport, int]]:
        """The loops without loops inside, each with how often it is entered in one run, at least."""
        yield from _innermost(self.loops, 1)


def _innermost(loops: Sequence[LoopReport], entries: int) -> Iterator[tuple[LoopReport, int]]:
    for loop in loops:
        if loop.children:
            yield from _innermost(loop.children, entries * (loop.trips or 1))
        else:
            yield loop, entries


@dataclass(frozen=True, slots=True)
class PathPart:
    """A part of the longest path from register to register.

    Attributes:
        what: what the signal passes: a sum, a product, a memory, logic …
        delay_ns: nanoseconds, with the wires in front of it.
        place: ``file:line:col`` of the operation, or "" for control and the inside of units.
    """

    what: str
    delay_ns: float
    place: str = ""


@dataclass(frozen=True, slots=True)
class PortPath:
    """The longest path from or to a port of a design; ``critical_path`` lies between registers inside of it.

    Attributes:
        start: the input port that it begins at; "" where a register does.
        end: the output port that it ends at; "" where a register does.
        delay_ns: nanoseconds in the design: what is outside of its ports is not known here.
        parts: what the signal passes.
    """

    start: str
    end: str
    delay_ns: float
    parts: list[PathPart]


@dataclass(slots=True)
class DesignFigures(Later):
    """A whole design.

    Attributes:
        tool: who made the figures (``"allo rtl"``, ``"vitis_hls 2023.2"``).
        target: target name of the build.
        clock_mhz: clock frequency in MHz.
        cycles: predicted total cycles from start to done.
        about: those where nothing waits, of a design whose processes may wait for each other.
        regions: its regions in the run that is foretold, or why that is not.
        measured_cycles: cycles of the last simulation, if one ran.
        resources: lut, ff, dsp, bram … totals or estimates. BRAM are blocks of 18 kbit; LUT counts those
            of shift registers (srl) and of memories (lutram), too.
        float_ops: useful float operations of one run, for unit utilisation; None if unknown.
        float_units: float adders and multipliers built.
        device: device family that a build was made for, or "".
        fmax_mhz: the clock that the design can be expected to reach between its registers; None if unknown.
        critical_path: its longest path, from register to register.
        port_paths: the longest path from an input port to a register, from a register to an output port, and
            from port to port, as far as there are any.
        registered_mhz: the clock where a register stands outside, beside each port; None if unknown.
        resources_of_regions: what each region of the device has of ``resources``, where processes were
            given regions; ``wires_of_regions``: bits over each border between two.
        borderless_mhz: ``fmax_mhz`` without those borders; None where nothing was placed.
    """

    tool: str
    target: str
    top: str
    clock_mhz: float
    cycles: int | None
    functions: list[FunctionReport] = field(default_factory=list)
    measured_cycles: int | None = None
    resources: dict[str, int] = field(default_factory=dict)
    float_ops: int | None = None
    float_units: int = 0
    notes: list[str] = field(default_factory=list)
    device: str = ""
    fmax_mhz: float | None = None
    critical_path: list[PathPart] = field(default_factory=list)
    port_paths: list[PortPath] = field(default_factory=list)
    registered_mhz: float | None = None
    about: int | None = None
    regions: list[RegionReport] = field(default_factory=list)
    resources_of_regions: list[dict[str, int]] = field(default_factory=list)
    wires_of_regions: list[int] = field(default_factory=list)
    borderless_mhz: float | None = None

    @property
    def utilisation(self) -> float | None:
        """Useful float operations per float unit and cycle (measured cycles where known)."""
        cycles = self.measured_cycles or self.cycles
        if not cycles or not self.float_units or self.float_ops is None:
            return None
        return self.float_ops / (self.float_units * cycles)
