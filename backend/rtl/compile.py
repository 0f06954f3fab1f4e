"""Core IR to a :class:`~allo.backend.rtl.design.HardwareDesign`, from end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allo.backend.devices import DEFAULT_DEVICE, family
from allo.backend.devices.caches import check_caches, kept_caches, ram_bytes, refuse_blocks
from allo.dialects._mlir import ir
from allo.dialects.core.parse import parse_module
from allo.dialects.diagnostics import BuildError, InterfaceError, SourcePlace
from allo.dialects.passes.flush_subnormals import FLUSH
from allo.dialects.passes.run_time_checks import NO_CHECKS, Checks
from allo.dialects.processes.collecting import without_collection
from allo.dialects.streams.loops.attempts import loops_to_try
from allo.target import BuildRequest

from . import ports
from .budgets import Compiled, Limits, meet_limits, refuse_excess
from .budgets.ceiling import surely_fits
from .budgets.memories import settle_memories
from .circt import export_verilog, start_circt
from .clock import check_clock, warn_of_slow_operators
from .compiler import Compiler
from .design import HardwareDesign, SharedUnit
from .emit.bounds import BoundsPort
from .export.block_cells import block_modules
from .export.files import numbers_of
from .export.finish import finish_verilog
from .export.memories import told_memories
from .export.writes_in_reset import writes_in_reset
from .graph.mapping.units import Wanted
from .graph.prune import bodies_of
from .interfaces.arguments import read_arguments
from .interfaces.beside.choose import LINE, TransferChooser, join_transfers
from .interfaces.early.asked import Asked, early_positions
from .interfaces.early.needed import times_of
from .interfaces.placed import card_of, placed_interface
from .interfaces.wrapper import wrap
from .netlist.modules import with_locations
from .operators.iterated import GO
from .operators.library import OperatorLibrary
from .overlap_loops import choose_loops
from .plan.bind import Interface
from .plan.exact.notes import notes_of
from .plan.exact.search import EXACT, QUICK, Answers, Exact
from .read.records import ChooseTransfers, FunctionRecord, Program, read_program
from .read.stream_places import stream_places
from .regions.foretell import foretell
from .regions.predict import Compiled as RegionsOf
from .report import design_report
from .resources.design import module_resources, ultra_memories
from .slow_cycles import SlowCycle, slowest_cycle
from .waiting import ModuleWaits

DEFAULT_CLOCK_MHZ = 200.0
NO_LIMITS = Limits()


def compile_module(
    module: ir.Module,
    top: str,
    *,
    checks: Checks,
    overlap_loops: bool,
    limits: Limits,
    subnormals: str,
    choose: ChooseTransfers | None = None,
    **settings: Any,
) -> tuple[Compiler, Interface, list[str]]:
    """Compile a function of a module, which is changed, and what it calls; the third: notes of the report.

    The arguments are those of :func:`compile_design`.
    """

    check_caches(module, family(settings["device"]))
    answers: Answers = {}

    def attempt(
        module: ir.Module, quiet: bool, limits: Limits = NO_LIMITS
    ) -> tuple[Compiler, Interface]:
        flush = subnormals == FLUSH
        program = read_program(module, top, checks=checks, flush=flush, quiet=quiet, choose=choose)
        return _compile(
            program, top, limits=limits, subnormals=subnormals, answers=answers, **settings
        )

    tried = loops_to_try(module) if overlap_loops and checks == NO_CHECKS else []
    if tried:
        chosen = choose_loops(module, tried, attempt)
        compiler, made, notes = chosen.compiler, chosen.top, chosen.notes
        if limits != NO_LIMITS:
            program = compiler.program
            compiler, made = _compile(
                program, top, limits=limits, subnormals=subnormals, answers=answers, **settings
            )
    else:
        (compiler, made), notes = attempt(module, False, limits), []
    for compiled in compiler.modules.values():
        warn_of_slow_operators(
            compiled.function, compiler.library.record, compiler.library.clock_mhz
        )
    return compiler, made, compiler.program.notes + notes + notes_of(compiler.exact)


def _compile(
    program: Program,
    top: str,
    *,
    clock_mhz: float,
    device: str,
    external: Sequence[str],
    limits: Limits,
    subnormals: str,
    effort: str,
    answers: Answers,
    early: Sequence[int] = (),
    masters: bool = False,
) -> tuple[Compiler, Interface]:
    """Compile a function that is read and what it calls."""
    record = top_record(program, top)
    asked = Asked.of(program, top, early)
    waiting = frozenset(external if "region" in record.attrs else ())

    def around(fastest: int) -> SlowCycle | None:
        compiler = Compiler(program, device, fastest, waiting, {}, subnormals)
        compiler.compile_top(top, asked)
        return slowest_cycle(module.function for module in compiler.modules.values())

    def compiled(wanted: Mapping[str, Wanted]) -> tuple[Compiler, Interface]:
        shifts = family(device).cells.shift_registers
        exact = Exact(shifts, answers) if effort == EXACT else None
        compiler = Compiler(
            program, device, clock_mhz, waiting, wanted, subnormals, exact, masters=masters
        )
        with without_collection():
            return compiler, compiler.compile_top(top, asked)

    def attempt(wanted: Mapping[str, Wanted]) -> Compiled:
        compiler, made = compiled(wanted)
        return Compiled(compiler.modules, made.module, compiler.netlist())

    check_clock(family(device), clock_mhz, around)
    if limits == NO_LIMITS:
        return compiled({})
    library = OperatorLibrary(device, clock_mhz, subnormals)
    return compiled(meet_limits(attempt, library, limits, record.place))


@without_collection()
def compile_design(
    module: str | ir.Module,
    top: str,
    *,
    clock_mhz: float = DEFAULT_CLOCK_MHZ,
    device: str = DEFAULT_DEVICE,
    target: str = "verilog",
    external: Sequence[str] = (),
    check_bounds: bool = False,
    check_dependences: bool = False,
    interface: str | Mapping[str, Any] | None = None,
    max_dsp: int | None = None,
    max_lut: int | None = None,
    subnormals: str = "keep",
    overlap_loops: bool = True,
    effort: str = QUICK,
) -> HardwareDesign:
    """Compile a core IR module into hardware.

    Args:
        module: the core IR, with source locations, as text or as a module, which is changed.
        top: name of the top function.
        clock_mhz: clock frequency that operators are pipelined for.
        device: device family of the operator library.
        target: target name for the report.
        external: array arguments in external memory. The ports of a region's have a ``ready`` input
            by which the memory makes one kernel wait; those of any other top have none.
        check_bounds: watch the subscripts that may be out of range; see :mod:`.emit.bounds`.
        check_dependences: watch the dependences that the schedule asserts, in the same way.
        interface: which interface of a board each argument gets; see :mod:`.interfaces`.
        max_dsp: multiplier blocks that the design may take; see :mod:`.budgets.blocks`.
        max_lut: lookup tables that it may take, by its own estimate; see :mod:`.budgets.tables`.
        subnormals: ``"flush"`` makes float units to which they are zero.
        overlap_loops: whether loops around pipelines may run these at once; see :mod:`.overlap_loops`.
        effort: ``"exact"`` searches for the best schedule of each loop; see :mod:`.plan.exact`.

    Raises:
        UnsupportedOpError: for what the RTL compiler cannot build, with its line.
        InterfaceError: an interface that an argument cannot have.
        PlacementError: a place that an array cannot have.
        CapacityError: the design takes more than ``max_dsp`` blocks, or ``max_lut`` lookup tables, whatever
            it is made of.
        BuildError: when ``top`` names no function, or one without arguments and results; for a clock that
            no operator meets.
    """
    module = parse_module(module) if isinstance(module, str) else module
    interface = placed_interface(module, top, interface, external, device)
    about = None if interface is None else read_arguments(module, top, interface)
    early = () if interface is None or about is None else early_positions(about, interface)
    choose = None
    if interface is not None and about is not None and not (check_bounds or check_dependences):
        known = family(device)
        requests = known.bus_width >= LINE
        called = known.part.title if known.part else known.name
        choose = TransferChooser(
            about, interface, ram_bytes(known), requests=requests, title=called
        )
    checks, limits = Checks(check_bounds, check_dependences), Limits(max_dsp, max_lut)
    caches = kept_caches(module)
    start_circt()
    compiler, made, notes = compile_module(
        module,
        top,
        checks=checks,
        overlap_loops=overlap_loops,
        clock_mhz=clock_mhz,
        device=device,
        external=external,
        limits=limits,
        subnormals=subnormals,
        choose=choose,
        effort=effort,
        early=early,
        masters=interface is not None,
    )
    transfers = compiler.program.transfers
    record = compiler.program.functions[top]
    waiting = frozenset(external if "region" in record.attrs else ())
    function = compiler.modules[made.module].function
    report = design_report(compiler.modules, made, top, target, clock_mhz, device)
    report.notes += notes
    design = HardwareDesign(
        top=function.module,
        hw_text="",
        verilog="",
        arguments=tuple(ports.argument_names(function)),
        results=tuple(ports.result_names(function, made)),
        scalars_in=tuple(ports.scalars_in(function, made)),
        scalars_out=tuple(ports.scalars_out(function, made)),
        arrays=tuple(ports.arrays(function, made, waiting)),
        report=report,
        shared_units=_shared_units(compiler),
        modules={m.function.name: name for name, m in compiler.modules.items()},
        debug={name: m.debug for name, m in compiler.modules.items()},
        streams=tuple(ports.streams(made)),
        bounds=_bounds(compiler, made),
        waits={name: _waits(compiler, m.waits) for name, m in compiler.modules.items()},
        endless=made.endless,
    )
    design.compiled = compiled_of(compiler, made)
    foretell(report, design.compiled, waits=interface is not None)
    wrapper = None
    if interface is not None and about is not None:
        _refuse_endless(design, top, function.place)
        join_transfers(design, transfers, len(about.signature.arguments))
        card = card_of(device)
        asked = compiler.asked
        design.times = times_of(design.compiled, asked.names)
        widest = family(device).bus_width
        about = replace(about, widest=widest, early=design.times, waits=asked.waits)
        wrapper = wrap(design, made.ports, interface, about, transfers, compiler.locations, card)
        design.top, design.board = wrapper.board.top, wrapper.board
    netlist = compiler.netlist(wrapper=wrapper)
    refuse_blocks(caches, family(device), settle_memories(netlist, design.top, device))
    if wrapper is not None and max_lut is not None:
        found = module_resources(netlist, device, timed=False)
        refuse_excess(compiler.modules, found, design.top, limits, function.place)
    body = netlist.body_text()
    design.hw_text = with_locations(body, compiler.locations)
    title = [f"{design.top}: hardware by Allo for {device} at {clock_mhz:g} MHz"]
    directives = wrapper.directives if wrapper else []
    numbers = numbers_of(compiler.locations.files)
    design.verilog = finish_verilog(
        writes_in_reset(export_verilog(with_locations(body, compiler.locations, numbers)), device),
        design.top,
        title,
        directives,
        design.debug,
        ultra_memories(netlist, device),
        told_memories(netlist),
        block_modules(netlist, family(device).cells.registered),
        {number: path for path, number in numbers.items()},
        family(device).cells,
    )
    design.native_hw_text = compiler.netlist("native", wrapper).text()
    design.netlist = netlist
    known = family(device)
    large = known.large_text and len(design.hw_text) > known.large_text
    if large and not surely_fits(known.part, netlist, design.top, known.cells):
        design.estimate_resources()
    return design


def compiled_of(compiler: Compiler, made: Interface) -> RegionsOf:
    """What tells the cycles of the regions of a design."""
    return RegionsOf(compiler.modules, made.module, compiler.timing.late_returns)


def _refuse_endless(design: HardwareDesign, top: str, place: SourcePlace | None) -> None:
    """A board's control starts a run and waits for its end."""
    if design.endless:
        raise InterfaceError(
            f"No process of {top} ends, and the control of a board waits for the end of a run.",
            place,
            help="build without interface=: its ports data, valid and ready of each stream are TDATA, TVALID "
            "and TREADY of an AXI4-Stream, and start is high for one cycle behind the reset.",
        )


def _bounds(compiler: Compiler, interface: Interface) -> BoundsPort | None:
    if not interface.bounds:
        return None
    modules = compiler.modules.values()
    deepest = max((b.depth for m in modules for b in bodies_of(m.function.root)), default=1)
    drain = deepest + len(compiler.modules) + 2
    return BoundsPort(tuple(compiler.program.checks), compiler.told, drain)


def _waits(compiler: Compiler, waits: ModuleWaits) -> ModuleWaits:
    """Where a module can wait, in the places of the functions that its instances stand for."""
    members = []
    for member in waits.members:
        made = compiler.modules[member.module].function.name
        places = stream_places(compiler.program, made, member.name) if made != member.name else {}
        members.append(replace(member, places=places))
    return replace(waits, members=members)


def top_record(program: Program, top: str) -> FunctionRecord:
    """The function that becomes the top module.

    Raises:
        BuildError: there is none of this name, or it has neither arguments nor results.
    """
    if top not in program.functions:
        known = ", ".join(program.functions)
        raise BuildError(f"There is no function {top!r} in the module.", help=f"it has: {known}.")
    record = program.functions[top]
    if not record.args and not record.result_types:
        raise BuildError(
            f"The top function {top} has neither arguments nor results, so its hardware would do "
            "nothing that can be seen.",
            record.place,
            help="pass an array in which it leaves its result.",
        )
    return record


def _shared_units(compiler: Compiler) -> tuple[SharedUnit, ...]:
    units = []
    for module, operator in compiler.units.items():
        names = "abcd"[: len(operator.operand_widths)]
        go = (GO,) if operator.initiation_interval > 1 else ()
        units.append(SharedUnit(module, ("clk", "ce", *names, *go, "r")))
    return tuple(units)


@without_collection()
def build_text(request: BuildRequest) -> str:
    """Builder of target ``systemverilog``: the SystemVerilog text alone."""
    options = dict(request.settings)
    frequency = options.pop("frequency")
    del options["regions"]  # of an estimate alone
    options["clock_mhz"] = frequency or options["clock_mhz"]
    return compile_design(
        request.module_text, request.top, target=request.target, **options
    ).verilog


__all__ = ["build_text", "compile_design"]
