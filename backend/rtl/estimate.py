"""The report of a design without its Verilog: what ``Schedule.estimate`` calls."""

from __future__ import annotations

from allo.dialects.core.parse import parse_module
from allo.dialects.passes.run_time_checks import Checks
from allo.dialects.reports.figures import DesignReport
from allo.target import BuildRequest

from .budgets import Limits
from .compile import compile_module, compiled_of
from .regions.foretell import foretell
from .report import design_report
from .resources.report import add_estimates


def estimate(request: BuildRequest, *, clock: bool = True) -> DesignReport:
    """Compile the requested module as far as its text in hw, comb and seq, and estimate that.

    Args:
        clock: whether its clock is estimated, too.

    Raises:
        UnsupportedOpError: for what the RTL compiler cannot build, with its line.
        CapacityError: the design takes more than ``max_dsp`` blocks, or ``max_lut`` lookup tables, whatever
            it is made of.
        PlacementError: there is no such process, or no such region of the device.
        BuildError: when the top is no function, or has neither arguments nor results.
    """
    settings = request.settings
    clock_mhz = settings["frequency"] or settings["clock_mhz"]
    device = settings["device"]
    checks = Checks(*(bool(settings.get(name)) for name in ("check_bounds", "check_dependences")))
    module = parse_module(request.module_text)
    compiler, interface, notes = compile_module(
        module,
        request.top,
        checks=checks,
        overlap_loops=settings["overlap_loops"],
        clock_mhz=clock_mhz,
        device=device,
        external=settings["external"],
        limits=Limits(settings["max_dsp"], settings["max_lut"]),
        subnormals=settings["subnormals"],
        effort=settings["effort"],
    )
    report = design_report(
        compiler.modules, interface, request.top, request.target, clock_mhz, device
    )
    report.notes += notes
    foretell(report, compiled_of(compiler, interface))
    top = compiler.modules[interface.module].function.module
    modules = {m.function.name: name for name, m in compiler.modules.items()}
    regions = settings["regions"]
    add_estimates(report, compiler.netlist(), top, device, modules, regions, clock=clock)
    return report
