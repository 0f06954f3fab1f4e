"""A vendor's C synthesis report (``csynth.xml``) as the shared design report."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from allo.dialects.diagnostics import ToolFailedError
from allo.dialects.reports.figures import DesignReport, FunctionReport, LoopReport

_RESOURCES = {
    "LUT": "lut",
    "FF": "ff",
    "DSP": "dsp",
    "DSP48E": "dsp",
    "BRAM_18K": "bram",
    "URAM": "uram",
}


def find_report(project: Path, top: str) -> Path:
    """The XML report of the last C synthesis in a project folder.

    Raises:
        ToolFailedError: when the tool left none.
    """
    for pattern in (f"**/syn/report/{top}_csynth.xml", "**/syn/report/csynth.xml"):
        found = sorted(project.glob(pattern), key=lambda p: p.stat().st_mtime)
        if found:
            return found[-1]
    raise ToolFailedError(
        f"The tool left no csynth.xml report in {project}.",
        help="look at the tool's log in that folder.",
    )


def parse_csynth(path: Path, target: str, top: str) -> DesignReport:
    """Read a report: clock, latency, loops, resources.

    Raises:
        ToolFailedError: when the file is not such a report.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError) as error:
        raise ToolFailedError(f"The report {path} cannot be read: {error}.") from error
    if root.find("PerformanceEstimates") is None:
        raise ToolFailedError(f"The report {path} holds no performance estimates.")
    assignments = root.find("UserAssignments")
    version = _text(root, "ReportVersion/Version")
    period = _number(_text(assignments, "TargetClockPeriod"))
    estimated = _number(
        _text(root, "PerformanceEstimates/SummaryOfTimingAnalysis/EstimatedClockPeriod")
    )
    functions = _functions(root, top)
    area = root.find("AreaEstimates/Resources")
    notes = []
    part = _text(assignments, "Part") or _text(assignments, "ProductFamily")
    if part:
        notes.append(f"part {part}")
    if estimated is not None:
        notes.append(f"estimated clock period {estimated:g} ns")
    return DesignReport(
        tool=f"{target} {version}".strip(),
        target=target,
        top=_text(assignments, "TopModelName") or top,
        clock_mhz=1000.0 / period if period else 0.0,
        cycles=functions[0].cycles,
        functions=functions,
        resources=_resources(area),
        notes=notes,
    )


def _functions(root: ElementTree.Element, top: str) -> list[FunctionReport]:
    whole = root.find("PerformanceEstimates")
    assert whole is not None
    functions = [_function(top, whole)]
    for module in root.findall("ModuleInformation/Module"):
        name = _text(module, "Name")
        estimates = module.find("PerformanceEstimates")
        if estimates is not None and name != top:
            functions.append(_function(name, estimates))
    return functions


def _function(name: str, estimates: ElementTree.Element) -> FunctionReport:
    latency = estimates.find("SummaryOfOverallLatency")
    loops = estimates.find("SummaryOfLoopLatency")
    return FunctionReport(
        name,
        "",
        _integer(_text(latency, "Worst-caseLatency")),
        [] if loops is None else [_loop(child) for child in loops if _is_loop(child)],
    )


def _is_loop(element: ElementTree.Element) -> bool:
    return element.find("TripCount") is not None or element.find("IterationLatency") is not None


def _loop(element: ElementTree.Element) -> LoopReport:
    interval = _integer(_text(element, "PipelineII"))
    depth = _integer(_text(element, "PipelineDepth")) or _range_end(element, "IterationLatency")
    return LoopReport(
        name=_text(element, "Name") or element.tag,
        place="",
        trips=_range_end(element, "TripCount"),
        ii=interval or depth or 0,
        depth=depth or 0,
        cycles=_range_end(element, "Latency"),
        pipelined=interval is not None,
        children=[_loop(child) for child in element if _is_loop(child)],
    )


def _range_end(element: ElementTree.Element, name: str) -> int | None:
    """A number, or the upper end of ``<range><min/><max/></range>``."""
    found = element.find(name)
    if found is None:
        return None
    return _integer(_text(found, "range/max") or found.text)


def _resources(area: ElementTree.Element | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for child in area if area is not None else ():
        value = _integer(child.text)
        if child.tag in _RESOURCES and value is not None:
            found[_RESOURCES[child.tag]] = value
    return found


def _text(element: ElementTree.Element | None, path: str) -> str:
    found = element.find(path) if element is not None else None
    return (found.text or "").strip() if found is not None else ""


def _number(text: str | None) -> float | None:
    """A figure: a finite number that is not negative, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _integer(text: str | None) -> int | None:
    value = _number(text)
    return None if value is None else int(value)
