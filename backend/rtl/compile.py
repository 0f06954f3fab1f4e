"""Core IR to a :class:`~allo.backend.rtl.design.HardwareDesign`, from end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.parse import parse_module
from allo.dialects.diagnostics import BuildError, UnsupportedOpError
from allo.dialects.passes.flush_subnormals import FLUSH
from allo.dialects.passes.run_time_checks import Checks
from allo.target import BuildRequest

from . import ports
from .budget import Compiled, meet_limit
from .circt import export_verilog, start_circt
from .clock import check_clock, warn_of_slow_operators
from .compiled import CompiledModule
from .design import HardwareDesign, SharedUnit
from .emit.bounds import BoundsPort
from .emit.deep_fifo import fifo_of
from .emit.fifo import fifo_name
from .emit.function import Emitter
from .emit.memory.asked import ask_for_memories
from .emit.network.region import RegionCompiler
from .emit.text import Locations, ModuleText, identifier
from .functions import callees as callees_of
from .functions import count_cycles, estimate, partitioned, settle
from .graph.mapping.units import Wanted, map_units
from .graph.prune import bodies_of, regions_of
from .graph.regions import Call
from .graph.simplify.steps import simplify
from .graph.stepping import step_addresses
from .interfaces.arguments import read_arguments
from .interfaces.wrapper import Wrapper, wrap
from .operators.library import OperatorLibrary
from .operators.spec import Operator
from .plan.bind import Interface, bind
from .plan.bodies import plan
from .plan.runs.collisions import separate_banks
from .plan.runs.overlap import overlap
from .plan.timing_model import TimingModel
from .read.elaborate import Elaborator
from .read.records import FunctionRecord, Program, read_program
from .read.stream_places import stream_places
from .report import design_report, float_operations, function_report
from .resources.capacity import LARGE_TEXT
from .resources.design import has_ultra, ultra_memories
from .verilog.comparisons import offset_comparisons
from .verilog.finish import finish_verilog
from .verilog.memories import told_memories
from .verilog.products import shifted_products
from .waiting import ModuleWaits

DEFAULT_CLOCK_MHZ = 200.0
DEFAULT_DEVICE = "xcup"


class Compiler:
    """Compiles the functions of one module, callees first, each different one once."""

    def __init__(
        self,
        program: Program,
        device: str,
        clock_mhz: float,
        external: frozenset[str] = frozenset(),
        wanted: Mapping[str, Wanted] | None = None,
        subnormals: str = "keep",
    ) -> None:
        self.program = program
        self.wanted = wanted or {}
        self.external = external
        self.library = OperatorLibrary(device, clock_mhz, subnormals)
        check_clock(self.library.device, clock_mhz)
        self._ask = partial(ask_for_memories, device=device, has_ultra=has_ultra(device))
        self.timing = TimingModel.of(self.library.device, clock_mhz)
        self.locations = Locations()
        self.modules: dict[str, CompiledModule] = {}
        self.units: dict[str, Operator] = {}
        self.fifos: set[tuple[int, int, bool]] = set()
        self._interfaces: dict[tuple[Any, ...], Interface] = {}
        self._texts: dict[str, partial[str]] = {}
        self.told = max((site.words for site in program.checks), default=0)
        self._names: set[str] = set()
        self._open: list[str] = []

    def compile(
        self,
        name: str,
        constants: dict[int, int] | None = None,
        *,
        frozen: bool = False,
        lends: bool = False,
    ) -> Interface:
        """Compile a function and, before it, what it calls.

        Args:
            constants: values of scalar arguments known where it is called, by position.
            frozen: whether the module gets a ``ce`` input that freezes it when low.
            lends: whether its arithmetic units are its caller's, which shares them.
        """
        record = self.program.functions[name]
        known = dict(constants or {}) if partitioned(record) else {}
        key = (self.program.same[name], tuple(sorted(known.items())), frozen, lends)
        if key not in self._interfaces:
            if name in self._open:
                raise UnsupportedOpError(
                    f"Function {name} calls itself.", record.place, help="use a loop."
                )
            self._open.append(name)
            if "region" in record.attrs:
                outer = self.external if len(self._open) == 1 else frozenset()
                self._interfaces[key] = self._region(record, outer, frozen=frozen)
            else:
                self._interfaces[key] = self._function(record, known, frozen=frozen, lends=lends)
            self._open.pop()
        return self._interfaces[key]

    def _function(
        self,
        record: FunctionRecord,
        constants: dict[int, int],
        *,
        frozen: bool,
        lends: bool,
    ) -> Interface:
        callees = {
            callee: self.compile(callee, frozen=frozen, lends=True)
            for callee in callees_of(record.ops)
        }
        module = self._module_name(record.name)
        elaborator = Elaborator(self.program, record, module, self.library, constants)
        function = elaborator.run()
        static = elaborator.builder.static
        simplify(function, static, self.library, self.timing)
        step_addresses(function, static, self.timing)
        map_units(function, static, self.library, self.wanted.get(module))
        settle(function, callees)
        plan(function, static, self.timing)
        warn_of_slow_operators(function, self.library.device, self.library.clock_mhz)
        binding = bind(function, callees)
        overlap(function, lambda: estimate(function, callees))
        binding.separate = separate_banks(function, binding, callees)
        self._ask(function, binding)
        count_cycles(function, callees, frozen=frozen)
        emitter = Emitter(
            function,
            static,
            binding,
            callees,
            self.locations,
            frozen=frozen,
            lends=lends,
            told=self.told,
            late_returns=self.timing.late_returns,
        )
        interface = emitter.run()
        interface.estimate = estimate(function, callees)
        interface.float_ops = float_operations(function, callees)
        for unit, (operator, _) in binding.units.items():
            self.units[unit] = operator
        self.fifos |= {(width, depth, True) for width, depth in emitter.streams.fifos}
        used = [r.callee for r in regions_of(function.root) if isinstance(r, Call)]
        self._keep(
            interface,
            emitter.text,
            CompiledModule(
                function,
                interface,
                binding,
                function_report(function, binding, lambda name: callees[name].estimate),
                [callees[name].module for name in dict.fromkeys(used)],
                emitter.context.debug,
                emitter.context.waits,
                owns_units=not emitter.lends,
            ),
        )
        return interface

    def _region(
        self, record: FunctionRecord, external: frozenset[str], *, frozen: bool
    ) -> Interface:
        region = RegionCompiler(
            record,
            self._module_name(record.name),
            self.locations,
            lambda name, constants, freeze: self.compile(name, constants, frozen=freeze),
            frozen=frozen,
            external=external,
            told=self.told,
            ask=self._ask,
        )
        result = region.run()
        self.fifos |= {(width, depth, False) for width, depth in result.fifos}
        report = function_report(result.function, result.binding, lambda name: None)
        for name, _ in result.instances:
            report.instances[name] = report.instances.get(name, 0) + 1
        inner = [interface.float_ops for _, interface in result.instances]
        result.interface.float_ops = (
            None if None in inner else sum(n for n in inner if n is not None)
        )
        self._keep(
            result.interface,
            result.text,
            CompiledModule(
                result.function,
                result.interface,
                result.binding,
                report,
                [interface.module for _, interface in result.instances],
                {},
                result.waits,
            ),
        )
        return result.interface

    def _keep(self, interface: Interface, text: ModuleText, module: CompiledModule) -> None:
        self.modules[interface.module] = module
        self._texts[interface.module] = partial(text.render, place=module.function.place)

    def _module_name(self, name: str) -> str:
        base = module = identifier(name)
        number = 1
        while module in self._names:
            number += 1
            module = f"{base}_{number}"
        self._names.add(module)
        return module

    def text(self, style: str = "rtl", wrapper: Wrapper | None = None) -> str:
        """The whole design, its top last; ``style`` says how arithmetic units are written."""
        native = style == "native"
        written = frozenset(fifo_name(w, d, bypass=b) for w, d, b in self.fifos)
        outside = wrapper.render(native=native, without=written) if wrapper else []
        fifos = [
            fifo_of(width, depth, bypass=bypass, native=native).render(private=True, native=native)
            for width, depth, bypass in sorted(self.fifos)
        ]
        top = list(self._texts)[-1]
        used = self._used(top)
        modules = [
            render(private=wrapper is not None or name != top, native=native)
            for name, render in self._texts.items()
            if name in used
        ]
        units = [
            op.unit_text(style)
            for op in self.units.values()
            if op.unit_text is not None and any(f"@{op.module}(" in text for text in modules)
        ]
        parts = [*units, *fifos, *modules, *outside, *self.locations.definitions(), ""]
        return "\n".join(parts)

    def _used(self, top: str) -> set[str]:
        """Modules that are in the design: some are compiled twice, with and without ``ce``."""
        found, stack = {top}, [top]
        while stack:
            for inner in self.modules[stack.pop()].instances:
                if inner not in found:
                    found.add(inner)
                    stack.append(inner)
        return found


def compile_program(
    program: Program,
    top: str,
    *,
    clock_mhz: float,
    device: str,
    external: Sequence[str],
    max_dsp: int | None,
    subnormals: str = "keep",
) -> tuple[Compiler, Interface]:
    """Compile a function that is read and what it calls; see :func:`compile_design`."""
    record = top_record(program, top)
    waiting = frozenset(external if "region" in record.attrs else ())

    def compiled(wanted: Mapping[str, Wanted]) -> tuple[Compiler, Interface]:
        compiler = Compiler(program, device, clock_mhz, waiting, wanted, subnormals)
        return compiler, compiler.compile(top)

    def attempt(wanted: Mapping[str, Wanted]) -> Compiled:
        compiler, made = compiled(wanted)
        return Compiled(compiler.modules, made.module, compiler.text())

    if max_dsp is None:
        return compiled({})
    library = OperatorLibrary(device, clock_mhz, subnormals)
    return compiled(meet_limit(attempt, library, max_dsp, record.place))


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
    subnormals: str = "keep",
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
        max_dsp: multiplier blocks that the design may take; see :mod:`.budget`.
        subnormals: ``"flush"`` makes float units to which they are zero.

    Raises:
        UnsupportedOpError: for what the RTL compiler cannot build, with its line.
        InterfaceError: an interface that an argument cannot have.
        CapacityError: the design takes more than ``max_dsp`` blocks whatever it is made of.
        BuildError: when ``top`` names no function, or one without arguments and results; for a clock that
            no operator meets.
    """
    module = parse_module(module) if isinstance(module, str) else module
    about = None if interface is None else read_arguments(module, top, interface)
    checks = Checks(check_bounds, check_dependences)
    program = read_program(module, checks=checks, flush=subnormals == FLUSH)
    record = top_record(program, top)
    start_circt()
    waiting = frozenset(external if "region" in record.attrs else ())
    compiler, made = compile_program(
        program,
        top,
        clock_mhz=clock_mhz,
        device=device,
        external=external,
        max_dsp=max_dsp,
        subnormals=subnormals,
    )
    function = compiler.modules[made.module].function
    report = design_report(compiler.modules, made, top, target, clock_mhz, device)
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
    )
    wrapper = None
    if interface is not None and about is not None:
        wrapper = wrap(design, made.ports, interface, about, compiler.locations)
        design.top, design.board = wrapper.board.top, wrapper.board
    design.hw_text = compiler.text(wrapper=wrapper)
    title = [f"{design.top}: hardware by Allo for {device} at {clock_mhz:g} MHz"]
    directives = wrapper.directives if wrapper else []
    exported = export_verilog(shifted_products(offset_comparisons(design.hw_text, device)))
    design.verilog = finish_verilog(
        exported,
        design.top,
        title,
        directives,
        design.debug,
        ultra_memories(design.hw_text, device),
        told_memories(design.hw_text),
    )
    design.native_hw_text = compiler.text("native", wrapper)
    if len(design.hw_text) > LARGE_TEXT.get(device, len(design.hw_text)):
        design.estimate_resources()
    return design


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
        units.append(SharedUnit(module, ("clk", "ce", *names, "r")))
    return tuple(units)


def build_text(request: BuildRequest) -> str:
    """Builder of target ``systemverilog``: the SystemVerilog text alone."""
    options = dict(request.settings)
    frequency = options.pop("frequency")
    options["clock_mhz"] = frequency or options["clock_mhz"]
    return compile_design(
        request.module_text, request.top, target=request.target, **options
    ).verilog


__all__ = ["build_text", "compile_design"]
