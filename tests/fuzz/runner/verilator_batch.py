"""Verilated models of many designs in one shared library."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import allo.backend.sim.engines.verilator as engine
from allo.backend.sim.engines.interface import BuildOptions
from allo.backend.sim.engines.verilator.compile import ModelRequest, model_request
from allo.backend.sim.engines.verilator.runtime import UNOPTIMISED, Runtime
from allo.backend.sim.engines.verilator.tools import find_compiler, find_verilator, run
from allo.backend.sim.engines.verilator.wrapper import PREFIX
from allo.backend.sim.module import RTLModule
from allo.dialects.processes.tools import Programs

from .native import Numbered, with_numbered_entries

_STRUCT = re.compile(r"\bAlloModel\b")
LIMIT_S = 300.0


def attach_verilator(modules: list[RTLModule], folder: Path) -> None:
    """Verilate the modules one by one, compile them together, and build their simulation models."""
    verilator, compiler = find_verilator(), find_compiler()
    runtime = Runtime(verilator, compiler, "", LIMIT_S)
    units = [
        _verilated(
            number,
            model_request(module.design, _options(module), verilator, runtime.key()),
            folder,
        )
        for number, module in enumerate(modules)
    ]
    library = folder / "models.so"
    source, compiled = folder / "models.cpp", folder / "models.o"
    source.write_text("\n".join([UNOPTIMISED, *map(_unity, units)]))
    includes = [f"-I{folder / f'm{number}' / 'out'}" for number in range(len(units))]
    with Programs(run, timeout=LIMIT_S) as programs:
        models = programs.start(runtime.unit_command(source, compiled, *includes))
        linked = runtime.link_flags(programs)
        models.result()
    command = [str(compiler), str(compiled), *linked, "-shared", "-pthread", "-Wl,-Bsymbolic"]
    run([*command, "-o", str(library)], LIMIT_S)
    runtime.note_model()
    kept = engine._Library, engine.compile_model
    try:
        engine.compile_model = lambda *_: library  # type: ignore[assignment]
        for number, module in enumerate(modules):
            engine._Library = _own_library(library, number, kept[0])  # type: ignore[misc]
            module.build_model("verilator")
    finally:
        engine._Library, engine.compile_model = kept  # type: ignore[misc]


def _own_library(library: Path, number: int, base: Any) -> type:
    class Own(base):
        """The library as the model of one design sees it."""

        def __init__(self, path: Path, wave: str) -> None:
            del path
            self._library = Numbered(library, number)
            self._library.allo_new.restype = ctypes.c_void_p  # type: ignore[attr-defined]
            self._library.allo_state.restype = ctypes.c_void_p  # type: ignore[attr-defined]
            self._library.allo_signal.restype = ctypes.c_uint64  # type: ignore[attr-defined]
            self._wave = wave

    return Own


def _unity(files: list[Path]) -> str:
    """The files of a model in one unit with others: each has a guard of one name in its header."""
    lines = [f'#include "{file}"' for file in files]
    return "\n".join(["#undef VL_PCH_INCLUDED", *lines, ""])


def _options(module: RTLModule) -> BuildOptions:
    return BuildOptions("", module._outside, LIMIT_S, module.options.randomize)


def _verilated(number: int, request: ModelRequest, folder: Path) -> list[Path]:
    """Verilate one design; the files to compile, with names that end in its number."""
    verilator = find_verilator()
    place = folder / f"m{number}"
    place.mkdir()
    prefix = f"{PREFIX}{number}"
    command = [str(verilator.program), *request.settings, "--prefix", prefix]
    command += ["--top-module", request.top, "--Mdir", "out", *request.write_sources(place)]
    run(command, LIMIT_S, cwd=place, env={"VERILATOR_ROOT": str(verilator.root)})
    text = _STRUCT.sub(f"AlloModel{number}", request.wrapper.replace(PREFIX, prefix))
    wrapper = place / "wrapper.cpp"
    wrapper.write_text(with_numbered_entries(text, number))
    return [*sorted((place / "out").glob("*.cpp")), wrapper]
