"""Compiles the functions of one program, callees first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.streams.endless import ENDLESS
from allo.dialects.text.free_name import free_name

from .compiled import CompiledModule
from .emit.builder import ModuleBuilder, identifier
from .emit.deep_fifo import fifo_of
from .emit.fifo import fifo_name
from .emit.function import Emitter
from .emit.memory.asked import ask_for_memories
from .emit.network.region import RegionCompiler
from .functions import callees as callees_of
from .functions import count_cycles, cycles_at, estimate, partitioned, settle
from .graph.addresses.stepping import step_addresses
from .graph.mapping.joint import joint
from .graph.mapping.turns import late_units, most_turns, register_operands, register_units
from .graph.mapping.units import Wanted, map_units, quicker
from .graph.mapping.write_ports import keep_to_write_ports
from .graph.nodes import Body
from .graph.prune import bodies_of, regions_of
from .graph.regions import Call, Function
from .graph.simplify.steps import simplify
from .interfaces.early.asked import NOTHING_ASKED, Asked
from .interfaces.wrapper import Wrapper
from .netlist.instance_counts import instance_counts
from .netlist.locations import Locations
from .netlist.modules import Module, Netlist
from .netlist.passes import run_passes
from .netlist.verify import verify
from .operators.library import OperatorLibrary
from .operators.spec import Operator
from .plan.bind import Binding, Interface, bind
from .plan.bodies import plan
from .plan.exact.search import Exact
from .plan.holds import NOTHING, Holds
from .plan.placing.check import check_plan
from .plan.runs.collisions import separate_banks
from .plan.runs.early import overlap_early
from .plan.timing_model import TimingModel
from .read.elaborate import Elaborator
from .read.records import FunctionRecord, Program
from .report import float_operations, function_report, network_report
from .resources.design import has_ultra


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
        exact: Exact | None = None,
        *,
        masters: bool = False,
    ) -> None:
        self.program = program
        self.wanted = wanted or {}
        self.external = external
        self.library = OperatorLibrary(device, clock_mhz, subnormals)
        self._ask = partial(ask_for_memories, device=device, has_ultra=has_ultra(device))
        self.exact = exact
        improve = None if exact is None else exact.improve
        self.timing = TimingModel.of(
            self.library.device,
            clock_mhz,
            partial(quicker, library=self.library),
            improve,
            partial(joint, library=self.library),
        )
        self._turns = most_turns(program) if masters else 0
        self.locations = Locations()
        self.modules: dict[str, CompiledModule] = {}
        self.units: dict[str, Operator] = {}
        self.fifos: set[tuple[int, int, bool]] = set()
        self._interfaces: dict[tuple[Any, ...], Interface] = {}
        self._made: dict[str, Callable[..., Module]] = {}
        self.asked = NOTHING_ASKED
        self.told = max((site.words for site in program.checks), default=0)
        self._names: set[str] = set()
        self._open: list[str] = []

    def compile_top(self, name: str, asked: Asked) -> Interface:
        """Compile the top of a design, of whose arrays something is asked."""
        self.asked = asked
        return self.compile(name, frozen=asked.frozen, holds=asked.holds)

    def compile(
        self,
        name: str,
        constants: dict[int, int] | None = None,
        *,
        frozen: bool = False,
        lends: bool = False,
        holds: Holds = NOTHING,
    ) -> Interface:
        """Compile a function and, before it, what it calls.

        Args:
            constants: values of scalar arguments known where it is called, by position.
            frozen: whether the module gets a ``ce`` input that freezes it when low.
            lends: whether its arithmetic units are its caller's, which shares them.
            holds: what RAM outside holds of its answers while the module stands still.
        """
        record = self.program.functions[name]
        known = dict(constants or {}) if partitioned(record) else {}
        key = (self.program.same[name], tuple(sorted(known.items())), frozen, lends, holds)
        if key not in self._interfaces:
            if name in self._open:
                raise UnsupportedOpError(
                    f"Function {name} calls itself.", record.place, help="use a loop."
                )
            self._open.append(name)
            if "region" in record.attrs:
                outer = self.external if len(self._open) == 1 else frozenset()
                self._interfaces[key] = self._region(record, outer, frozen=frozen, holds=holds)
            else:
                self._interfaces[key] = self._function(
                    record, known, frozen=frozen, lends=lends, holds=holds
                )
            self._interfaces[key].endless = ENDLESS in record.attrs
            self._open.pop()
        return self._interfaces[key]

    def _function(
        self,
        record: FunctionRecord,
        constants: dict[int, int],
        *,
        frozen: bool,
        lends: bool,
        holds: Holds,
    ) -> Interface:
        functions = self.program.functions
        callees = {
            callee: self.compile(
                callee,
                frozen=frozen,
                lends=True,
                holds=holds.of_callee(record, functions[callee], frozen=frozen, keeps=True),
            )
            for callee in callees_of(record.ops)
        }
        module = self._module_name(record.name)
        function, static, binding = self._planned(record, constants, module, callees)
        overlap_early(function, binding, lambda: estimate(function, callees))
        binding.separate = separate_banks(function, binding, callees)
        check_plan(function)
        self._ask(function, binding)
        count_cycles(function, callees, frozen=frozen)
        emitter = Emitter(
            function,
            static,
            binding,
            callees,
            self.locations,
            self.timing,
            frozen=frozen,
            lends=lends,
            holds=holds,
            told=self.told,
        )
        interface = emitter.run()
        interface.estimate = estimate(function, callees)
        interface.cycles_at = cycles_at(function, callees, frozen=frozen)
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
                Counter(callees[name].module for name in dict.fromkeys(used)),
                emitter.context.debug,
                emitter.context.waits,
                owns_units=not emitter.lends,
                static=static,
                callees={name: callees[name].module for name in used},
            ),
        )
        return interface

    def _planned(
        self,
        record: FunctionRecord,
        constants: dict[int, int],
        module: str,
        callees: dict[str, Interface],
    ) -> tuple[Function, Body, Binding]:
        """A function with its schedule, and what it binds.

        Where the choice in front of shared units is too late for the clock, these get registers for their
        operands, unless a loop took a longer interval with them.
        """
        proofs = [] if self.exact is None else self.exact.proofs
        before = len(proofs)
        first = self._scheduled(record, constants, module, callees, frozenset())
        bodies = list(bodies_of(first[0].root))
        late = frozenset() if self._turns else late_units(bodies, self.library)
        if not late:
            return first
        between = len(proofs)
        again = self._scheduled(record, constants, module, callees, late)
        if sum(body.ii for body in bodies_of(again[0].root)) > sum(body.ii for body in bodies):
            del proofs[between:]
            return first
        del proofs[before:between]
        return again

    def _scheduled(
        self,
        record: FunctionRecord,
        constants: dict[int, int],
        module: str,
        callees: dict[str, Interface],
        late: frozenset[str],
    ) -> tuple[Function, Body, Binding]:
        """A function as it is read, scheduled and bound; units of the modules ``late`` have registers."""
        elaborator = Elaborator(self.program, record, module, self.library, constants)
        function = elaborator.run()
        keep_to_write_ports(
            function.arrays, self.library.record.cells, outermost=len(self._open) == 1
        )
        static = elaborator.builder.static
        simplify(function, static, self.library, self.timing)
        step_addresses(function, static, self.timing)
        map_units(function, static, self.library, self.wanted.get(module))
        bodies = list(bodies_of(function.root))
        if self._turns:
            register_operands(bodies, self.library, self._turns)
        if late:
            register_units(bodies, self.library, late)
        settle(function, callees)
        plan(function, static, self.timing)
        return function, static, bind(function, callees)

    def _region(
        self, record: FunctionRecord, external: frozenset[str], *, frozen: bool, holds: Holds
    ) -> Interface:
        region = RegionCompiler(
            record,
            self._module_name(record.name),
            self.locations,
            lambda name, constants, freeze, held: self.compile(
                name, constants, frozen=freeze, holds=held
            ),
            self.program.functions,
            frozen=frozen,
            holds=holds,
            external=external,
            told=self.told,
            outermost=len(self._open) == 1,
            ask=self._ask,
        )
        result = region.run()
        self.fifos |= {(width, depth, False) for width, depth in result.fifos}
        report = function_report(result.function, result.binding, lambda name: None)
        for name, _ in result.instances:
            report.instances[name] = report.instances.get(name, 0) + 1
        report.network = network_report(result.waits)
        inner = [interface.float_ops for _, interface in result.instances]
        result.interface.float_ops = (
            None if None in inner else result.trips * sum(n for n in inner if n is not None)
        )
        self._keep(
            result.interface,
            result.text,
            CompiledModule(
                result.function,
                result.interface,
                result.binding,
                report,
                Counter(interface.module for _, interface in result.instances),
                {},
                result.waits,
                graph=result.graph,
            ),
        )
        return result.interface

    def _keep(self, interface: Interface, text: ModuleBuilder, module: CompiledModule) -> None:
        self.modules[interface.module] = module
        self._made[interface.module] = partial(text.module, place=module.function.place)

    def _module_name(self, name: str) -> str:
        module = free_name(identifier(name), self._names, first=2)
        self._names.add(module)
        return module

    def netlist(self, style: str = "rtl", wrapper: Wrapper | None = None) -> Netlist:
        """The whole design, its top last: what the Verilog is exported from, or what is simulated in process.

        Args:
            style: ``"rtl"`` or ``"native"``.
        """
        native = style == "native"
        written = frozenset(fifo_name(w, d, bypass=b) for w, d, b in self.fifos)
        outside = wrapper.modules(native=native, without=written) if wrapper else []
        fifos = [
            fifo_of(width, depth, bypass=bypass, native=native).module(private=True, native=native)
            for width, depth, bypass in sorted(self.fifos)
        ]
        top = list(self._made)[-1]
        used = self._used(top)
        modules = [
            make(private=wrapper is not None or name != top, native=native)
            for name, make in self._made.items()
            if name in used
        ]
        called = {instance.module for module in modules for instance in module.instances()}
        units = [
            op.unit_module(style)
            for op in self.units.values()
            if op.unit_module is not None and op.module in called
        ]
        made = verify(Netlist([*units, *fifos, *modules, *outside], self.locations))
        return made if native else run_passes(made, self.library.record.name)

    def _used(self, top: str) -> set[str]:
        """Modules that are in the design: some are compiled twice, with and without ``ce``."""
        return set(instance_counts(self.modules, top))
