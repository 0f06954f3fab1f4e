"""The regions of a design in its report: foretold, or why they are not."""

from __future__ import annotations

import os
from dataclasses import replace

from allo.dialects.diagnostics import DeadlockError, ToolFailedError, ToolMissingError
from allo.dialects.reports.figures import DesignReport, place_text
from allo.dialects.reports.regions import RegionReport

from .costs import fifo_costs
from .predict import REPORT_EVENTS, REPORT_RECORDS, Compiled, RegionModel
from .refusal import Unforeseen

FIRST_RUN = (
    "Cycles are those of the first run, which copies first values of variables; later runs do not."
)


def foretell(report: DesignReport, compiled: Compiled, *, waits: bool = False) -> None:
    """Fill in the regions of a report, and the cycles of the design where nothing else tells them, or, behind
    a bus, about how many they are.

    Args:
        waits: whether something outside of the design makes it wait, such as a bus.
    """
    if not compiled.waits:
        return
    module = compiled.modules[compiled.top]
    function = module.function
    name, place = function.name, place_text(function.place)
    if module.graph is not None and module.graph.external:
        reason = (
            "arrays outside of the design may make it wait; `predict()` tells it where they do not"
        )
        report.regions = [RegionReport(name, "", place, None, reason)]
        return
    try:
        found = RegionModel(compiled, records=REPORT_RECORDS, events=REPORT_EVENTS).prediction()
    except Unforeseen as why:
        where = f" ({why.place})" if why.place else ""
        report.regions = [RegionReport(name, "", place, None, f"{why.reason}{where}")]
        return
    except DeadlockError as stuck:
        reason = stuck.message[0].lower() + stuck.message[1:].rstrip(".")
        report.regions = [RegionReport(name, "", place, None, reason)]
        return
    except (ToolMissingError, ToolFailedError) as missing:
        reason = missing.message[0].lower() + missing.message[1:].rstrip(".")
        report.regions = [RegionReport(name, "", place, None, reason)]
        return
    except Exception as fault:
        if os.environ.get("ALLO_VERIFY"):
            raise
        reason = f"the model met {type(fault).__name__}: {fault}, which is a fault of Allo"
        report.regions = [RegionReport(name, "", place, None, reason)]
        return
    report.regions = list(found.regions)
    for region in report.regions:
        region.fifos = [
            replace(fifo, resources=fifo_costs(fifo.width, fifo.depth, report.device))
            for fifo in region.fifos
        ]
    if waits and report.cycles is None and report.about is None:
        report.about = found.cycles
        report.notes.append(f"About {found.cycles} cycles where nothing waits.")
    if report.cycles is None and not waits:
        report.cycles = found.cycles
        report.notes = [n for n in report.notes if not n.startswith("About ")]
        if any(a.first_run for m in compiled.modules.values() for a in m.function.arrays):
            report.notes.append(FIRST_RUN)
        for each in report.functions:
            if each.name == name:
                each.cycles = found.cycles
