"""A network tried on data: in its own interpreter, on the CPU, and in simulated hardware."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from allo.dialects.diagnostics import ModelError

from .accuracy import AccuracyTable, Row
from .energy.estimate import Energy
from .integers.arithmetic import Array
from .origin import ReferenceOrigin
from .pictures.flows import Flow, flows_of
from .pictures.layers import Block, blocks_of, picture
from .schedule import ModelSchedule
from .streams.schedule import StreamSchedule

_WIDTH = 100
_CAPTION = "cycles of an image by the folding; words held at most of the FIFO's depth, foretold"
Run = Callable[..., Any]
Calls = Sequence[Sequence[Array]]


@dataclass(frozen=True, slots=True)
class Layer:
    """A function of the design.

    Attributes:
        path: of the module that it computes, ``"conv2d_3"``.
        kind: of that module, ``"CONV_2D"``.
        cycles: of one call, None where data decide; of a layer on streams those of an image by its folding.
        result: type and shape of what it gives, ``"int5[1, 64]"``.
        sources: the paths of the modules that it reads; ``""`` is an input of the network.
    """

    path: str
    kind: str
    cycles: int | None
    result: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Synthesised:
    """What open tools make of the hardware, beside what the estimate says of the same build.

    Attributes:
        device: the family that it was built and synthesised for.
        tool: who says so.
        resources, fmax_mhz: of the tools; the clock is None where no open tool routes the family.
        estimated, estimated_mhz: of the estimate.
    """

    device: str
    tool: str
    resources: Mapping[str, int]
    fmax_mhz: float | None
    estimated: Mapping[str, int]
    estimated_mhz: float | None

    @property
    def table(self) -> Table:
        """A row for each kind of resource, and for the clock."""
        shown = Table(self.device, box=box.SIMPLE)
        shown.add_column(self.tool, justify="right")
        shown.add_column("estimated", justify="right")
        for name, count in self.resources.items():
            if count or self.estimated.get(name):
                shown.add_row(name.upper(), f"{count:,}", f"{self.estimated.get(name, 0):,}")
        clocks = [
            "not routed" if mhz is None else f"{mhz:.1f}"
            for mhz in (self.fmax_mhz, self.estimated_mhz)
        ]
        shown.add_row("MHz, routed", *clocks)
        return shown


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the samples, and what the hardware is.

    Attributes:
        accuracy: a row for each way to run the network. The first is what the others are compared with.
        simulated: how many samples ran in hardware.
        equal: how many of these gave the bits of the CPU.
        cycles: of a sample in simulation, the most of all; ``predicted`` by the report.
        device, clock_mhz: for which the hardware was built.
        fmax_mhz: the clock that the estimate finds; None where there is none.
        resources: estimated, by name.
        layers: in the order in which they run.
        blocks: all modules of the network, those in which nothing is computed among them.
        flows: FIFOs between layers on streams, with their highest fill in the run that the report foretells.
        synthesised: the same by open tools, where that was asked for.
        energy: of the first sample, likewise.
    """

    accuracy: AccuracyTable
    simulated: int
    equal: int
    cycles: int
    predicted: int | None
    device: str
    clock_mhz: float
    fmax_mhz: float | None
    resources: Mapping[str, int]
    layers: tuple[Layer, ...]
    blocks: tuple[Block, ...] = ()
    flows: tuple[Flow, ...] = ()
    synthesised: Synthesised | None = None
    energy: Energy | None = None

    @property
    def picture(self) -> str:
        """The layers and what flows between them, with their cycles, as SVG."""
        cycles = {layer.path: layer.cycles for layer in self.layers}
        return picture(self.blocks, cycles, self.flows, _CAPTION if self.flows else "")

    @property
    def is_right(self) -> bool:
        """Whether every sample in hardware had the bits of the CPU."""
        return self.equal == self.simulated

    @property
    def latency_us(self) -> float:
        """Microseconds of a sample, at the clock that was asked for."""
        return self.cycles / self.clock_mhz

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        others = {
            name: getattr(self, name)
            for name in ("simulated", "equal", "cycles", "predicted", "device", "clock_mhz")
        }
        return {
            **self.accuracy.to_dict(),
            **others,
            "latency_us": self.latency_us,
            "samples_per_second": 1e6 / self.latency_us,
            "fmax_mhz": self.fmax_mhz,
            "resources": dict(self.resources),
            "layers": [asdict(layer) for layer in self.layers],
            "fifos": [asdict(flow) for flow in self.flows],
            "synthesised": None if self.synthesised is None else asdict(self.synthesised),
            "energy": None if self.energy is None else self.energy.to_dict(),
        }

    def to_json(self) -> str:
        """The figures."""
        return json.dumps(self.to_dict(), indent=2)

    def __rich__(self) -> Group:
        design = Table("hardware", "", box=box.SIMPLE)
        design.add_row("device, clock asked for", f"{self.device}, {self.clock_mhz:g} MHz")
        known = "" if self.predicted is None else f", {self.predicted:,} predicted"
        design.add_row("cycles of a sample, simulated", f"{self.cycles:,}{known}")
        design.add_row(
            "latency, samples a second",
            f"{self.latency_us:,.2f} µs, {1e6 / self.latency_us:,.0f} (one after the other)",
        )
        clock = "" if self.fmax_mhz is None else f"{self.fmax_mhz:.0f} MHz, "
        found = ", ".join(f"{n:,} {name.upper()}" for name, n in self.resources.items())
        design.add_row("estimated", f"{clock}{found}")
        design.add_row("bits of the CPU", f"{self.equal} of {self.simulated} samples")
        layers = Table("layer", "operator", box=box.SIMPLE)
        layers.add_column("cycles", justify="right")
        for layer in self.layers:
            cycles = "by data" if layer.cycles is None else f"{layer.cycles:,}"
            layers.add_row(layer.path, layer.kind, cycles)
        shown: list[RenderableType] = [self.accuracy.__rich__(), design, layers]
        if self.flows:
            fifos = Table("FIFO", "from", "to", box=box.SIMPLE)
            fifos.add_column("words held at most, foretold", justify="right")
            fifos.add_column("depth", justify="right")
            for flow in self.flows:
                ends = (flow.source or "input", flow.target)
                fifos.add_row(flow.name, *ends, f"{flow.most:,}", f"{flow.depth:,}")
            shown.append(fifos)
        if self.synthesised is not None:
            shown.append(self.synthesised.table)
        if self.energy is not None:
            shown.append(Text(str(self.energy)))
        return Group(*shown)

    def __str__(self) -> str:
        text = StringIO()
        Console(file=text, width=_WIDTH).print(self.__rich__())
        return text.getvalue()


def try_network(
    schedule: ModelSchedule | StreamSchedule,
    judges: Mapping[str, Run],
    calls: Calls,
    labels: Array | None = None,
    *,
    simulate: int = 10,
    device: str,
    clock_mhz: float,
    progress: Callable[[str], None] = lambda _: None,
) -> Trial:
    """Run a network on samples: by its judges, on the CPU, and the first few in hardware.

    Args:
        schedule: of the network.
        judges: other ways to run it, by name; the first is what all are compared with.
        calls: the inputs of each sample.
        labels: the class of each sample.
        simulate: how many samples run in hardware.
        device, clock_mhz: of the hardware.
        progress: told what is done.

    Raises:
        ModelError: no samples, or another number of labels.
    """
    if not calls:
        raise ModelError("There are no samples.", help="give at least one.")
    if labels is not None and len(labels) != len(calls):
        raise ModelError(
            f"There are {len(labels)} labels for {len(calls)} samples.",
            help="give one label for each sample.",
        )
    found: dict[str, list[list[Array]]] = {}
    for name, judge in judges.items():
        progress(f"{name}: {len(calls)} samples")
        found[name] = [_listed(judge(*call)) for call in calls]
    progress(f"CPU: {len(calls)} samples")
    weights = [] if isinstance(schedule, StreamSchedule) else schedule.weight_data
    built = schedule.build()
    found["CPU"] = [_listed(built(*call, *weights)) for call in calls]
    progress("building hardware")
    hardware = schedule.build(target="verilog", simulator="jit", device=device, clock_mhz=clock_mhz)
    results, cycles = [], 0
    for number, call in enumerate(calls[:simulate]):
        progress(f"hardware: sample {number + 1} of {min(simulate, len(calls))}")
        results.append(_listed(hardware(*call, *weights)))
        cycles = max(cycles, hardware.cycles)
    equal = sum(map(_same, results, found["CPU"]))
    report, blocks = hardware.report, tuple(_blocks(schedule))
    flows = flows_of(report, list(schedule.folds)) if isinstance(schedule, StreamSchedule) else ()
    return Trial(
        _table(found, results, labels),
        len(results),
        equal,
        cycles,
        report.cycles,
        device,
        clock_mhz,
        report.fmax_mhz,
        report.resources,
        tuple(_layers(schedule, report, blocks)),
        blocks,
        tuple(flows),
    )


def synthesised(
    schedule: ModelSchedule | StreamSchedule, device: str, clock_mhz: float, *, route: bool
) -> Synthesised:
    """The hardware of a network built for a family, by Yosys and, where it is routed, nextpnr.

    Raises:
        BuildError: there is no open tool for the family.
        ToolMissingError, ToolFailedError: of the tools.
    """
    built = schedule.build(target="verilog", device=device, clock_mhz=clock_mhz)
    report, found = built.report, built.synthesize(route=route)
    return Synthesised(
        device, found.tool, found.resources, found.fmax_mhz, report.resources, report.fmax_mhz
    )


def _table(
    found: Mapping[str, list[list[Array]]], simulated: list[list[Array]], labels: Array | None
) -> AccuracyTable:
    """The first result of every sample, beside that of the first way to run the network."""
    first = [np.asarray(results[0]).reshape(-1) for results in next(iter(found.values()))]
    rows = []
    for name, each in {**found, "hardware, simulated": simulated}.items():
        count = len(each)
        if count:
            mine = [np.asarray(results[0]).reshape(-1) for results in each]
            wanted = None if labels is None else labels[:count]
            title = name if count == len(first) else f"{name}, {count} samples"
            rows.append(Row.of(title, mine, first[:count], wanted))
    return AccuracyTable(tuple(rows), len(first))


def _blocks(schedule: ModelSchedule | StreamSchedule) -> list[Block]:
    """The layers of the graph that the schedule was made of; none where PyTorch alone has it."""
    if isinstance(schedule, StreamSchedule):
        kinds, names = schedule.origin.kinds(), set(schedule.folds)
        return [
            Block(
                layer.name,
                kinds.get(layer.name, type(layer).__name__),
                f"{layer.element.name}[{layer.elements}]",
                tuple(name if name in names else "" for name in layer.reads),
            )
            for layer in schedule.layers
        ]
    origin = schedule.origin
    graph = origin.graph if isinstance(origin, ReferenceOrigin) else None
    return [] if graph is None else blocks_of(graph, origin.kinds())


def _layers(
    schedule: ModelSchedule | StreamSchedule, report: Any, blocks: Sequence[Block]
) -> list[Layer]:
    if isinstance(schedule, StreamSchedule):
        return [
            Layer(b.path, b.kind, schedule.folds[b.path].cycles, b.result, b.sources)
            for b in blocks
        ]
    kinds, known = schedule.origin.kinds(), {block.path: block for block in blocks}
    found = []
    for function in report.functions:
        path = schedule.module_paths.get(function.name)
        if path:
            block = known.get(path, Block(path, "", "", ()))
            kind = kinds.get(path, "")
            found.append(Layer(path, kind, function.cycles, block.result, block.sources))
    return found


def _listed(results: Any) -> list[Array]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _same(mine: list[Array], theirs: list[Array]) -> bool:
    return all(
        np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(mine, theirs, strict=True)
    )
