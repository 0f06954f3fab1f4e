"""The CPU back end: core IR becomes machine code by way of MLIR's JIT.

``build`` serves the targets ``llvm`` and ``cpu``; :class:`LLVMModule` may be made directly from MLIR.
"""

from __future__ import annotations

from allo.dialects.core.parse import parse_module
from allo.target import BuildRequest

from .module import LLVMModule

__all__ = ["LLVMModule", "build", "build_simulator", "parse_module"]


def build(request: BuildRequest) -> LLVMModule:
    """Compile the requested module for this machine.

    Options: ``fast_math`` (False): ``math`` functions from the C library; ``opt_level`` (3);
    ``check_bounds`` (False): a subscript out of range is a ``BoundsError``;
    ``check_dependences`` (False): an asserted dependence that does not hold is a ``DependenceError``;
    ``subnormals`` ("keep"): "flush" makes them zeros.

    Raises:
        BuildError: when the module cannot be compiled.
    """
    settings = request.settings
    return LLVMModule(
        request.module_text,
        request.top,
        request.ext_libs,
        fast_math=settings["fast_math"],
        opt_level=settings["opt_level"],
        check_bounds=settings["check_bounds"],
        check_dependences=settings["check_dependences"],
        subnormals=settings["subnormals"],
    )


def build_simulator(request: BuildRequest) -> LLVMModule:
    """Compile a dataflow region for the simulator: its processes run as fibers on one thread.

    The result is called like any CPU module, and so is a plain kernel's. :func:`build` gives the
    same for a module with streams.

    Raises:
        BuildError: when the module cannot be compiled, or a FIFO has two producers or consumers.
        ToolMissingError: when the runtime must be compiled and there is no C++ compiler.
    """
    return build(request)
