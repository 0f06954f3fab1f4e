"""Verilog to a shared library, cached by content."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path

from allo.backend.rtl.design import HardwareDesign, SharedUnit
from allo.backend.rtl.emit.fifo import filling
from allo.backend.rtl.waiting import ModuleWaits
from allo.backend.sim.driver.ports import top_ports
from allo.dialects.caches.files import cached, content_key
from allo.dialects.processes.tools import Programs
from allo.dialects.text.verilog import without_comments

from ..interface import BuildOptions
from .model_class import drop_port_references
from .runtime import UNOPTIMISED, Runtime
from .tools import Verilator, find_compiler, find_verilator, run
from .units import units_as_functions
from .wrapper import PREFIX, wrapper_text

LIBRARY = "model.so"
_VERILATE = (
    "--cc",
    "-O3",
    "-fno-dfg",
    "--x-assign",
    "fast",
    "--no-timing",
    "--output-split",
    "0",
    "--output-split-cfuncs",
    "500",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-fatal",
)
_SMALL = 64 << 10
"""Bytes of set-up code from which a unit of its own is worth reading the headers once more."""
_INLINES_FUNCTIONS = (5, 44)
"""The first version of Verilator that inlines small C++ functions (its pull request 6815)."""
_TAKES_RECORDS = (5, 48)
"""The first version of Verilator that is known to take records by reference (:mod:`.units`)."""


def inlining_flags(verilator: Verilator) -> tuple[str, ...]:
    """Options that keep Verilator from inlining C++ functions.

    In 5.048 an inlined variable has its own width in place of its use's, so a signed comparison of a bit
    that was extended by zeros compares the bit alone (``VL_GTES_III(1, …)``).
    """
    known = verilator.release() >= _INLINES_FUNCTIONS
    return ("--inline-cfuncs", "0") if known else ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """All that a model is made from: it is built from this alone, and its name in the cache is this.

    Attributes:
        top: the top module of ``verilog``.
        units: modules that several instances may share.
        functions: whether these become functions (:mod:`.units`).
        seen: Verilator configuration of the signals that are read.
        wrapper: the C++ around the verilated model.
        settings: options of Verilator.
        runtime: the key of the run-time library: versions of the tools, and flags.
    """

    top: str
    verilog: str
    units: tuple[SharedUnit, ...]
    functions: bool
    seen: str
    wrapper: str
    settings: tuple[str, ...]
    runtime: str

    def key(self) -> str:
        """A name for the model, of every field."""
        return content_key(repr(astuple(self)), "3")

    def write_sources(self, folder: Path) -> tuple[str, str]:
        """Write the files that Verilator is given into a folder, and give their names."""
        verilog, units = self.verilog, self.units
        if self.functions:
            verilog, units = units_as_functions(verilog, units)
        (folder / "control.vlt").write_text(control_text(units) + self.seen)
        (folder / "design.sv").write_text(verilog)
        return "control.vlt", "design.sv"


def seen_text(waits: Mapping[str, ModuleWaits]) -> str:
    """Verilator configuration that lets the signals be read which say why a design hangs."""
    signals = {(name, wait.signal) for name, module in waits.items() for wait in module.waits}
    for name, module in waits.items():
        for fifo in module.fifos.values():
            signals |= {(fifo.module, register) for register in filling(fifo.depth)}
        for member in module.members:
            signals |= {(name, signal) for signal, _ in member.sites} | {(name, member.over)}
    return "".join(
        f'public_flat_rd -module "{module}" -var "{signal}"\n'
        for module, signal in sorted(signals)
        if signal
    )


def model_request(
    design: HardwareDesign, options: BuildOptions, verilator: Verilator, runtime: str
) -> ModelRequest:
    """What the model of a design depends on; ``runtime`` is the key of the run-time library."""
    initial = "fast" if options.randomize is None else "unique"
    trace = (f"--trace-{options.wave}",) if options.wave else ()
    return ModelRequest(
        design.top,
        without_comments(design.verilog),
        design.shared_units,
        verilator.release() >= _TAKES_RECORDS and not options.wave,
        seen_text(design.waits),
        wrapper_text([port.name for port in top_ports(design)], options.wave),
        (*_VERILATE, *inlining_flags(verilator), "--x-initial", initial, *trace),
        runtime,
    )


def compile_model(design: HardwareDesign, options: BuildOptions) -> Path:
    """The shared library of a design; built when the cache does not hold it.

    Raises:
        ToolMissingError: without Verilator or a C++ compiler.
        ToolFailedError: when one of them fails.
    """
    runtime = Runtime(find_verilator(), find_compiler(), options.wave, options.timeout)
    request = model_request(design, options, runtime.verilator, runtime.key())

    def make(build: Path) -> None:
        (build / "wrapper.cpp").write_text(request.wrapper)
        command = _verilating(runtime.verilator, request, build)
        root = {"VERILATOR_ROOT": str(runtime.verilator.root)}
        with ThreadPoolExecutor(1) as aside, Programs(run, timeout=options.timeout) as programs:
            verilated = programs.start(command, cwd=build, env=root)
            libraries = aside.submit(runtime.link_flags, programs)
            verilated.result()
            objects = _compile(runtime, build, programs)
            _link(runtime, build, [*objects, *libraries.result()])
        runtime.note_model()
        _keep_only(build, LIBRARY)

    return cached(("verilator",), f"model-{request.key()}", [LIBRARY], make) / LIBRARY


def control_text(units: Sequence[SharedUnit]) -> str:
    """Verilator configuration that keeps each shared unit one function for all its instances.

    ``no_inline`` alone would not do: with its ports public, signals of the parent are not
    substituted into the unit. Its clock stays private, or each instance would be triggered apart.
    """
    lines = ["`verilator_config"]
    for unit in units:
        lines.append(f'no_inline -module "{unit.module}"')
        lines += [
            f'public_flat_rd -module "{unit.module}" -var "{port}"'
            for port in unit.ports
            if port != "clk"
        ]
    return "\n".join(lines) + "\n"


def _verilating(verilator: Verilator, request: ModelRequest, build: Path) -> list[str]:
    """Verilator's command line; writes the files that it reads."""
    return [
        str(verilator.program),
        *request.settings,
        "--prefix",
        PREFIX,
        "--top-module",
        request.top,
        "--Mdir",
        "out",
        *request.write_sources(build),
    ]


def _compile(runtime: Runtime, build: Path, programs: Programs) -> list[str]:
    """Compile the model's units; gives their objects.

    Beside a large unit of what runs every cycle, set-up code is one of its own. The class of the model
    and the wrapper count as set-up code: what they do in a cycle is one call, and optimising the list
    of thousands of ports takes the compiler long.
    """
    out = build / "out"
    drop_port_references(out, PREFIX)
    sources = sorted(out.glob("*.cpp"))
    slow = [s for s in sources if "Slow" in s.name or "Syms" in s.name or s.stem == PREFIX]
    fast = [s for s in sources if s not in slow]
    slow.append(build / "wrapper.cpp")
    texts = [_unity(fast), UNOPTIMISED + _unity(slow)]
    if sum(source.stat().st_size for source in slow) < _SMALL:
        texts = ["".join(texts)]
    objects, runs = [], []
    for number, text in enumerate(texts):
        unit = out / f"unit{number}.cpp"
        unit.write_text(text)
        objects.append(str(unit.with_suffix(".o")))
        command = runtime.unit_command(unit, unit.with_suffix(".o"), f"-I{out}")
        runs.append(programs.start(command))
    for each in runs:
        each.result()
    return objects


def _link(runtime: Runtime, build: Path, parts: Sequence[str]) -> None:
    link = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-o", str(build / LIBRARY)]
    run([str(runtime.compiler), *parts, *link], runtime.timeout)


def _unity(sources: Sequence[Path]) -> str:
    return "".join(f'#include "{source}"\n' for source in sources)


def _keep_only(folder: Path, name: str) -> None:
    for entry in folder.iterdir():
        if entry.name == name:
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
