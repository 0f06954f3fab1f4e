"""The estimate of a design's resources in its report: of the whole, of functions, of loops."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as File

from allo.backend.devices import family
from allo.dialects.diagnostics import CapacityWarning
from allo.dialects.processes.collecting import without_collection
from allo.dialects.reports.figures import DesignReport, LoopReport, PathPart, PortPath
from allo.dialects.reports.later import Later

from ..netlist.instance_counts import instance_counts
from ..netlist.modules import Netlist
from .capacity import crossed, excess, excess_of_regions
from .design import KINDS, ModuleResources, Placed, module_resources, whole
from .dies.crossings import Asked
from .paths import ModuleTiming, Path

_INSIDE = (str(File(__file__).parents[3]), str(File(contextlib.__file__).with_suffix("")))
"""A warning points behind our own code, and behind what wraps it. Python skips no file by its whole name."""

NOTE = (
    "Resources are estimates of everything in the design, as Yosys would map it to {device}: units, "
    "multiplexers, control, counters, FIFOs, registers and memories; memories of array arguments are "
    "outside of the design."
)


def add_estimates(
    report: DesignReport,
    netlist: Netlist,
    top: str,
    device: str,
    modules: Mapping[str, str],
    regions: Asked | None = None,
    *,
    clock: bool = True,
) -> None:
    """Fill in resources and clock of a report, and warn where the design does not fit the device.

    Args:
        netlist: the design.
        top: its top module.
        device: device family.
        modules: function name to module name.
        regions: of the device, in which processes lie.
        clock: whether the clock is estimated; regions need it.

    Raises:
        PlacementError: there is no such process or region.
    """
    placed = Placed(regions) if regions else None
    with without_collection():
        found = module_resources(netlist, device, placed, timed=clock or placed is not None)
    report.resources = whole(found, top)
    _clock(report, found[top].timing, device)
    functions = set(modules.values())
    counts = instance_counts(found, top)
    users: dict[str, dict[str, int]] = {}
    for function in report.functions:
        name = modules[function.name]
        if name not in found:
            continue
        function.resources = _with_units(found, name, functions)
        for loop in function.loops:
            _loop(loop, found[name])
    for name, module in found.items():
        times = counts.get(name, 0)
        if times:
            label = f"{times} of {name}" if times > 1 else name
            users[label] = {kind: times * count for kind, count in module.own.items()}
    report.notes.append(NOTE.format(device=device))
    part = family(device).part
    sentences = excess(part, report.resources, users)
    if placed is not None and part is not None:
        report.resources_of_regions, report.wires_of_regions = placed.resources, placed.wires
        if placed.borderless_ns > 0.0:
            report.borderless_mhz = round(1000.0 / placed.borderless_ns, 1)
        report.notes += crossed(placed.wires)
        sentences += excess_of_regions(part, placed.resources)
    for sentence in sentences:
        report.notes.append(sentence)
        warnings.warn(sentence, CapacityWarning, stacklevel=2, skip_file_prefixes=_INSIDE)


def _clock(report: DesignReport, timing: ModuleTiming, device: str) -> None:
    """Fill in the clock of a report, its longest path, and those of its ports."""
    signals = family(device).signals
    if timing.worst.delay_ns > 0.0:
        report.fmax_mhz = round(1000.0 / timing.worst.delay_ns, 1)
        report.critical_path = _parts(timing.worst)
    report.port_paths = [
        PortPath(start, end, round(path.delay_ns, 3), _parts(path))
        for start, end, path in timing.port_paths()
    ]
    longest = timing.registered_ns(signals.register_out, signals.setup)
    if longest > 0.0:
        report.registered_mhz = round(1000.0 / longest, 1)


def estimated(report: DesignReport) -> Iterator[tuple[Later, Sequence[str]]]:
    """The parts of a report that :func:`add_estimates` fills in, with the names of the fields."""
    clock = ("fmax_mhz", "critical_path", "port_paths", "registered_mhz")
    yield report, ("resources", *clock, "notes")
    for function in report.functions:
        yield function, ("resources",)
        loops = list(function.loops)
        while loops:
            loop = loops.pop()
            loops += loop.children
            yield loop, ("resources",)


def _parts(path: Path) -> list[PathPart]:
    """The steps of a path, those of one kind and place that follow one another as one."""
    found: list[PathPart] = []
    for step in path.steps:
        last = found[-1] if found else None
        if last is not None and (last.what, last.place) == (step.what, step.place):
            step_ns = last.delay_ns + step.delay_ns
            found[-1] = PathPart(step.what, round(step_ns, 3), step.place)
        else:
            found.append(PathPart(step.what, round(step.delay_ns, 3), step.place))
    return found


def _with_units(
    found: Mapping[str, ModuleResources], name: str, functions: set[str]
) -> dict[str, int]:
    """A function's module with the units and FIFOs in it, without other functions."""
    inner = {
        key: value if key == name or key not in functions else ModuleResources()
        for key, value in found.items()
    }
    # what synthesis merges of several functions is taken off the one that calls them
    return {kind: count for kind, count in whole(inner, name).items() if count > 0}


def _loop(loop: LoopReport, module: ModuleResources) -> Counter[str]:
    total = Counter(module.sections.get(loop.section, {})) if loop.section else Counter[str]()
    for child in loop.children:
        total.update(_loop(child, module))
    loop.resources = {kind: total[kind] for kind in KINDS if total[kind] > 0}
    return total
