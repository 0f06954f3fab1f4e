"""Core IR to a :class:`~allo.backend.rtl.design.HardwareDesign`: the road from end to end."""

from __future__ import annotations

from functools import partial
from typing import Any

from allo.dialects.diagnostics import BuildError
from allo.dialects.report import DesignReport
from allo.target import BuildRequest

from . import _circt
from .bind import Binding, Interface, bind
from .design import ArrayInterface, BankPort, HardwareDesign, ScalarPort, SharedUnit
from .elaborate import Elaborator
from .emit import Emitter
from .graph import Array, Function, Node
from .linear import bits_unsigned
from .memories import port_prefix
from .operators.library import OperatorLibrary
from .operators.spec import Operator
from .plan import plan, region_cycles
from .prune import prune
from .read import Program, read_program
from .report import design_report, float_operations, function_report
from .text import Locations, identifier
from .timing_model import TimingModel

DEFAULT_CLOCK_MHZ = 200.0
DEFAULT_DEVICE = "xcup"
MARGIN = 0.92


class Compiler:
    """Compiles the functions of one module, callees first, each once."""

    def __init__(self, program: Program, device: str, clock_mhz: float) -> None:
        self.program = program
        self.library = OperatorLibrary(device, clock_mhz)
        family = self.library.device
        self.timing = TimingModel(MARGIN * 1000.0 / clock_mhz - family.register_ns)
        self.locations = Locations()
        self.interfaces: dict[str, Interface] = {}
        self.functions: dict[str, Function] = {}
        self.bindings: dict[str, Binding] = {}
        self.units: dict[str, Operator] = {}
        self._modules_text: list[partial[str]] = []
        self.reports: dict[str, Any] = {}
        self.debug: dict[str, Any] = {}
        self._modules: set[str] = set()

    def compile(self, name: str, *, top: bool) -> None:
        """Compile a function and, before it, what it calls."""
        for callee in _callees(self.program, name):
            if callee not in self.interfaces:
                self.compile(callee, top=False)
        record = self.program.functions[name]
        elaborator = Elaborator(self.program, record, self._module_name(name), self.library)
        function = elaborator.run()
        static = elaborator.builder.static
        prune(function, static)
        _settle_storage(function)
        plan(function, static, self.timing)
        binding = bind(function, self.interfaces)
        self._cycles(function)
        emitter = Emitter(function, static, binding, self.interfaces, self.locations)
        interface = emitter.run()
        self._modules_text.append(
            partial(emitter.text.render, private=not top, place=function.place)
        )
        for module, (operator, _) in binding.units.items():
            self.units[module] = operator
        interface.float_ops = float_operations(function, self.interfaces)
        self.interfaces[name] = interface
        self.functions[name] = function
        self.bindings[name] = binding
        self.reports[name] = function_report(function, binding, self._callee_cycles)
        self.debug[function.module] = emitter.debug

    def _module_name(self, name: str) -> str:
        module = identifier(name)
        while module in self._modules:
            module += "_"
        self._modules.add(module)
        return module

    def _callee_cycles(self, name: str) -> int | None:
        return self.interfaces[name].cycles

    def _cycles(self, function: Function) -> None:
        body = region_cycles(function.root, self._callee_cycles)
        returns_scalar = any(isinstance(v, Node) for v in function.returned)
        if body is not None:
            body = max(1, body) + int(returns_scalar)
        function.cycles = body

    def text(self, style: str = "rtl") -> str:
        """The whole design; ``style`` says how arithmetic units are written."""
        units = [op.unit_text(style) for op in self.units.values() if op.unit_text is not None]
        modules = [render(native=style == "native") for render in self._modules_text]
        return "\n".join([*units, *modules, *self.locations.definitions(), ""])


def _settle_storage(function: Function) -> None:
    """Set what is known only after elaboration: latency of arrays whose storage changed."""
    for array in function.arrays:
        if array.storage == "ram":
            array.read_latency = 1


def _callees(program: Program, name: str) -> list[str]:
    found: list[str] = []

    def walk(ops: list[Any]) -> None:
        for op in ops:
            if op.name == "func.call" and op.attrs["callee"] not in found:
                found.append(op.attrs["callee"])
            for region in op.regions:
                walk(region)

    walk(program.functions[name].ops)
    return found


def compile_design(
    module_text: str,
    top: str,
    *,
    clock_mhz: float = DEFAULT_CLOCK_MHZ,
    device: str = DEFAULT_DEVICE,
    target: str = "verilog",
) -> HardwareDesign:
    """Compile a core IR module into hardware.

    Args:
        module_text: the core IR, with source locations.
        top: name of the top function.
        clock_mhz: clock frequency that operators are pipelined for.
        device: device family of the operator library.
        target: target name for the report.

    Raises:
        UnsupportedOpError: for what the RTL compiler cannot build, with its line.
        BuildError: when ``top`` names no function.
    """
    program = read_program(module_text)
    if top not in program.functions:
        known = ", ".join(program.functions)
        raise BuildError(f"There is no function {top!r} in the module.", help=f"it has: {known}.")
    compiler = Compiler(program, device, clock_mhz)
    compiler.compile(top, top=True)
    hw_text = compiler.text()
    function, interface = compiler.functions[top], compiler.interfaces[top]
    report = design_report(compiler, top, target, clock_mhz)
    return HardwareDesign(
        top=function.module,
        hw_text=hw_text,
        verilog=_circt.export_verilog(hw_text),
        arguments=tuple(_argument_names(function)),
        results=tuple(_result_names(function, interface)),
        scalars_in=tuple(
            ScalarPort(name, kind, width)
            for (name, width), kind in zip(interface.scalars_in, function.scalar_types, strict=True)
        ),
        scalars_out=tuple(_scalars_out(function, interface)),
        arrays=tuple(_arrays(function, interface)),
        report=report,
        native_hw_text=compiler.text("native"),
        shared_units=_shared_units(compiler),
        modules={name: f.module for name, f in compiler.functions.items()},
        debug=compiler.debug,
    )


def _argument_names(function: Function) -> list[str]:
    scalars = {node.label for node in function.scalar_args}
    return [identifier(n) if n in scalars else n for n in function.argument_names]


def _result_names(function: Function, interface: Interface) -> list[str]:
    scalars = iter(interface.scalars_out)
    return [v.name if isinstance(v, Array) else next(scalars)[0] for v in function.returned]


def _scalars_out(function: Function, interface: Interface) -> list[ScalarPort]:
    kinds = [
        kind
        for kind, value in zip(function.result_types, function.returned, strict=True)
        if isinstance(value, Node)
    ]
    return [
        ScalarPort(name, kind, width)
        for (name, width), kind in zip(interface.scalars_out, kinds, strict=True)
    ]


def _arrays(function: Function, interface: Interface) -> list[ArrayInterface]:
    declared = dict(zip((id(v) for v in function.returned), function.result_types, strict=False))
    result = []
    for array, (prefix, uses) in zip(function.parameters, interface.arrays, strict=True):
        width = bits_unsigned(array.depth - 1)
        ports = tuple(
            BankPort(port_prefix(prefix, bank, port), bank, use.reads, use.writes, width)
            for (bank, port), use in sorted(uses.items())
        )
        direction = "both" if array.loaded and array.stored else "out" if array.stored else "in"
        result.append(
            ArrayInterface(
                array.name,
                declared.get(id(array), array.dtype),
                array.width,
                array.shape,
                array.layout,
                direction,
                ports,
                array.read_latency,
            )
        )
    return result


def _shared_units(compiler: Compiler) -> tuple[SharedUnit, ...]:
    units = []
    for module, operator in compiler.units.items():
        names = "abcd"[: len(operator.operand_widths)]
        units.append(SharedUnit(module, ("clk", "ce", *names, "r")))
    return tuple(units)


def build_text(request: BuildRequest) -> str:
    """Builder of target ``systemverilog``: the SystemVerilog text alone."""
    options = {**request.configs, **request.options}
    known = {k: options[k] for k in ("clock_mhz", "device") if k in options}
    return compile_design(request.module_text, request.top, target=request.target, **known).verilog


__all__ = ["DesignReport", "build_text", "compile_design"]
