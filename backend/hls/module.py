"""``HLSModule``: what ``build`` returns for the HLS targets."""

from __future__ import annotations

import threading
from typing import Any

from allo.dialects.boundary.arranging import arrange
from allo.dialects.boundary.stream_arrays import filled_streams, with_stream_arrays
from allo.dialects.diagnostics import ArgumentCountError
from allo.target import BuildRequest

from .csim.build import CsimKernel, compile_csim
from .kernel import HlsKernel
from .vendors.project import write_project
from .vendors.steps import (
    emulates_here,
    run_cosim,
    run_csyn,
    run_emulation,
    run_implementation,
    run_script,
    simulate_own_verilog,
)

_ON_ARRAYS = (None, "csim", "cosim", "sw_emu", "fast_hw_emu", "hw_emu", "hw")


class HLSModule(HlsKernel):
    """A kernel as HLS C++: its text, and in the project modes its project and how to run it.

    Calling it runs the step ``mode`` names: csim on NumPy arrays (by g++ against open headers);
    csyn without arguments, returning a report; cosim on arrays, cycle by cycle. Without a mode the
    call is csim, too. Attributes: those of :class:`.kernel.HlsKernel`.
    """

    def _emitted(self) -> None:
        self._building = threading.Lock()
        self._kernel: CsimKernel | None = None
        if self.options.project is not None:
            write_project(self, self.options.project)

    @classmethod
    def from_request(cls, request: BuildRequest) -> HLSModule:
        """The module of a build request."""
        return cls(
            request.module_text,
            request.top,
            request.target,
            request.mode,
            request.project,
            request.ext_libs,
            request.configs,
            wrap_io=request.wrap_io,
            options=request.options,
        )

    @property
    def host_code(self) -> str | None:
        """The OpenCL host program of a Vitis project."""
        folder = self.options.project
        host = folder / "host.cpp" if folder else None
        return host.read_text() if host and host.is_file() else None

    def _csim(self) -> CsimKernel:
        with self._building:
            if self._kernel is None:
                self._kernel = self._compiled()
            return self._kernel

    def _compiled(self) -> CsimKernel:
        code = self.csim_code()
        assert code.simulation is not None
        fills = filled_streams(self.module, self.signature)
        signature = with_stream_arrays(self.signature, fills)
        library = compile_csim(code, self.vendor.for_csim, self.externals)
        return CsimKernel(signature, library, code.simulation, list(fills))

    @property
    def words(self) -> dict[str, int]:
        """How many words each stream argument passed in the last run of csim."""
        return {} if self._kernel is None else self._kernel.words

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or self.mode in _ON_ARRAYS:
            args = tuple(arrange(self.signature, args, named, "A call of an HLSModule"))
        if self.mode in (None, "csim"):
            return self._csim()(*args)
        if self.mode == "cosim":
            return run_cosim(self, args)
        if self.mode in ("sw_emu", "fast_hw_emu", "hw_emu", "hw"):
            return self._emulate(args)
        if args:
            raise ArgumentCountError(
                f"{self.mode} mode does not need to pass in arguments, got {len(args)}.",
                help="call the module without arguments, or build with mode='csim'.",
            )
        if self.mode == "csyn":
            return run_csyn(self)
        return run_implementation(self) if self.platform == "pynq" else run_script(self)

    def _emulate(self, args: tuple[Any, ...]) -> Any:
        if not emulates_here(self):
            return run_emulation(self, args)
        return self._csim()(*args) if self.mode == "sw_emu" else simulate_own_verilog(self, args)

    def __repr__(self) -> str:
        if self.mode is None:
            return self.hls_code
        return f"HLSModule({self.top_func_name}, {self.mode}, {self.project})"
