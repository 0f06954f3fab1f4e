"""Run compiled hardware designs on NumPy arrays, and the ``verilog`` target."""

from __future__ import annotations

from typing import Any

from allo.dialects._mlir import ir, make_context
from allo.dialects.boundary import read_signature
from allo.target import BuildRequest

from .engine import BuildOptions, Engine, RunOptions, SimModel, SimResult, find_engine
from .module import RTLModule
from .traffic import MemoryChannel, StreamModel, Traffic, external_memory

__all__ = [
    "BuildOptions",
    "Engine",
    "MemoryChannel",
    "RTLModule",
    "RunOptions",
    "SimModel",
    "SimResult",
    "StreamModel",
    "Traffic",
    "build",
    "external_memory",
    "find_engine",
]

_SIMULATION_OPTIONS = ("simulator", "max_cycles", "memory", "streams", "timeout")


def build(request: BuildRequest) -> RTLModule:
    """Compile the requested module to hardware that runs on NumPy arrays.

    Options of the simulation: ``simulator``, ``max_cycles``, ``memory``, ``streams``, ``timeout`` (see
    :class:`RTLModule`). Everything else, and ``configs``, goes to
    ``allo.backend.rtl.compile_design``. With ``project=`` a folder is written.

    Raises:
        BuildError: when the module cannot be compiled; an existing project is then unchanged.
    """
    from allo.backend.rtl import compile_design

    options: dict[str, Any] = {**request.configs, **request.options}
    simulation = {name: options.pop(name) for name in _SIMULATION_OPTIONS if name in options}
    with make_context() as context:
        signature = read_signature(ir.Module.parse(request.module_text, context), request.top)
    design = compile_design(request.module_text, request.top, **options)
    module = RTLModule(design, signature, **simulation)
    if request.project is not None:
        module.write_project(request.project)
    return module
