"""Verilog to a shared library, cached by content."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from allo.backend.rtl.design import HardwareDesign, SharedUnit
from allo.dialects.cache import cache_dir, content_key, publishing

from ..engine import BuildOptions
from ..ports import top_ports
from .runtime import Runtime, prepare_runtime
from .tools import Verilator, find_compiler, find_verilator, run
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


def compile_model(design: HardwareDesign, options: BuildOptions) -> Path:
    """The shared library of a design; built when the cache does not hold it.

    Raises:
        ToolMissingError: without Verilator or a C++ compiler.
        ToolFailedError: when one of them fails.
    """
    verilator = find_verilator()
    compiler = find_compiler()
    runtime = prepare_runtime(verilator, compiler, options.wave, options.timeout)
    names = [port.name for port in top_ports(design)]
    control = control_text(design.shared_units)
    wrapper = wrapper_text(names, options.wave)
    key = content_key(
        runtime.key,
        design.top,
        design.verilog,
        control,
        wrapper,
        " ".join(_VERILATE),
        "1",
    )
    folder = cache_dir("verilator") / f"model-{key}"
    if not (folder / LIBRARY).exists():
        with publishing(folder) as build:
            _verilate(verilator, design, control, options, build)
            (build / "wrapper.cpp").write_text(wrapper)
            _compile(compiler, runtime, build, options.timeout)
            _keep_only(build, LIBRARY)
    return folder / LIBRARY


def _settings(options: BuildOptions) -> str:
    """Everything the verilated code depends on beside the design."""
    initial = "fast" if options.randomize is None else "unique"
    trace = (f"--trace-{options.wave}",) if options.wave else ()
    return " ".join((*_VERILATE, "--x-initial", initial, *trace))


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


def _verilate(
    verilator: Verilator,
    design: HardwareDesign,
    control: str,
    options: BuildOptions,
    build: Path,
) -> None:
    (build / "design.sv").write_text(design.verilog)
    (build / "control.vlt").write_text(control)
    command = [
        str(verilator.program),
        *_settings(options).split(),
        "--prefix",
        PREFIX,
        "--top-module",
        design.top,
        "--Mdir",
        "out",
        "control.vlt",
        "design.sv",
    ]
    run(command, options.timeout, cwd=build, env={"VERILATOR_ROOT": str(verilator.root)})


def _compile(compiler: Path, runtime: Runtime, build: Path, timeout: float) -> None:
    """Two translation units side by side: what runs every cycle at -O1, set-up code at -O0."""
    out = build / "out"
    sources = sorted(out.glob("*.cpp"))
    slow = [s for s in sources if "Slow" in s.name or "Syms" in s.name]
    fast = [s for s in sources if s not in slow]
    (out / "fast.cpp").write_text(_unity([*fast, build / "wrapper.cpp"]))
    (out / "slow.cpp").write_text(_unity(slow))
    flags = [*runtime.compile_flags, f"-I{out}", "-w"]
    commands = [
        [
            str(compiler),
            *flags,
            level,
            "-c",
            str(out / f"{unit}.cpp"),
            "-o",
            str(out / f"{unit}.o"),
        ]
        for unit, level in (("fast", "-O1"), ("slow", "-O0"))
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        for _ in pool.map(lambda command: run(command, timeout), commands):
            pass
    objects = [str(out / "fast.o"), str(out / "slow.o")]
    link = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-o", str(build / LIBRARY)]
    run([str(compiler), *objects, *runtime.link_flags, *link], timeout)


def _unity(sources: Sequence[Path]) -> str:
    return "".join(f'#include "{source}"\n' for source in sources)


def _keep_only(folder: Path, name: str) -> None:
    for entry in folder.iterdir():
        if entry.name == name:
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
