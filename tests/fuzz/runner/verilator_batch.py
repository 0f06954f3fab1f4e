"""Verilated models of many designs in one shared library."""

from __future__ import annotations

import ctypes
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import allo.backend.sim.verilator as engine
from allo.backend.sim.engine import BuildOptions
from allo.backend.sim.module import RTLModule
from allo.backend.sim.ports import top_ports
from allo.backend.sim.verilator import compile as plain
from allo.backend.sim.verilator.runtime import prepare_runtime
from allo.backend.sim.verilator.tools import find_compiler, find_verilator, run
from allo.backend.sim.verilator.wrapper import PREFIX, wrapper_text

from .native import Renamed

_ENTRIES = ("allo_new", "allo_delete", "allo_eval", "allo_ports")
_STRUCT = re.compile(r"\bAlloModel\b")
LIMIT_S = 300.0


def attach_verilator(modules: list[RTLModule], folder: Path) -> None:
    """Verilate the modules one by one, compile them together, and build their simulation models."""
    verilator, compiler = find_verilator(), find_compiler()
    runtime = prepare_runtime(verilator, compiler, "", LIMIT_S)
    with ThreadPoolExecutor(max_workers=1) as pool:
        units = list(
            pool.map(lambda pair: _verilated(*pair, folder, verilator), enumerate(modules))
        )
    library = folder / "models.so"
    source = folder / "models.cpp"
    source.write_text("".join(f'#include "{file}"\n' for unit in units for file in unit))
    command = [str(compiler), *runtime.compile_flags, "-w", "-O0", str(source), "-shared"]
    command += [*runtime.link_flags, "-pthread", "-Wl,-Bsymbolic", "-o", str(library)]
    run(command, LIMIT_S)
    loaded = ctypes.CDLL(str(library))
    kept = engine._Library, engine.compile_model
    try:
        engine.compile_model = lambda *_: library  # type: ignore[assignment]
        for number, module in enumerate(modules):
            engine._Library = _own_library(loaded, number, kept[0])  # type: ignore[misc]
            module.build_model("verilator")
    finally:
        engine._Library, engine.compile_model = kept  # type: ignore[misc]


def _own_library(loaded: ctypes.CDLL, number: int, base: Any) -> type:
    class Own(base):
        """The library as the model of one design sees it."""

        def __init__(self, path: Path, wave: str) -> None:
            del path
            self._library = Renamed(loaded, number, _ENTRIES)
            self._library.allo_new.restype = ctypes.c_void_p  # type: ignore[attr-defined]
            self._wave = wave

    return Own


def _verilated(number: int, module: RTLModule, folder: Path, verilator: Any) -> list[Path]:
    """Verilate one design; the files to compile, with names that end in its number."""
    design = module.design
    place = folder / f"m{number}"
    place.mkdir()
    options = BuildOptions("", None, LIMIT_S, module.options.randomize)  # type: ignore[arg-type]
    prefix = f"{PREFIX}{number}"
    (place / "design.sv").write_text(design.verilog)
    (place / "control.vlt").write_text(plain.control_text(design.shared_units))
    command = [str(verilator.program), *plain._settings(options).split()]
    command += ["--prefix", prefix, "--top-module", design.top, "--Mdir", "out"]
    command += ["control.vlt", "design.sv"]
    subprocess.run(
        command,
        cwd=place,
        check=True,
        capture_output=True,
        timeout=LIMIT_S,
        env={"VERILATOR_ROOT": str(verilator.root), "PATH": "/usr/bin:/bin"},
    )
    text = wrapper_text([port.name for port in top_ports(design)], "")
    text = _STRUCT.sub(f"AlloModel{number}", text.replace(PREFIX, prefix))
    for name in _ENTRIES:
        text = re.sub(rf"\b{name}\b", f"{name}_{number}", text)
    wrapper = place / "wrapper.cpp"
    wrapper.write_text(text)
    return [*sorted((place / "out").glob("*.cpp")), wrapper]
