"""``HLSModule``: what ``build`` returns for the HLS targets."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from allo.dialects._mlir import ir, make_context
from allo.target import BuildRequest

from .csim import CsimKernel, compile_csim
from .emit_module import EmitOptions, HlsCode, emit_module
from .vendors import VENDORS, Vendor


class HLSModule:
    """A kernel as HLS C++: its text, and in the project modes its project and how to run it.

    Attributes:
        hls_code: the C++ text.
        module: the MLIR module it was printed from.
        top_func_name, platform, mode, project: as asked for.
    """

    def __init__(self, request: BuildRequest) -> None:
        self._request = request
        self.top_func_name = request.top
        self.mode = request.mode
        self.project = request.project
        self.vendor: Vendor = VENDORS[request.target]
        self.platform = self.vendor.name
        self.module = ir.Module.parse(request.module_text, make_context())
        with self.module.context, ir.Location.unknown():
            self.code: HlsCode = emit_module(self.module, request.top, self.vendor, EmitOptions())

    @property
    def hls_code(self) -> str:
        return self.code.kernel

    @cached_property
    def _csim(self) -> CsimKernel:
        return CsimKernel(self.code, compile_csim(self.code, self.vendor))

    def __call__(self, *args: Any) -> Any:
        return self._csim(*args)

    def __repr__(self) -> str:
        if self.mode is None:
            return self.hls_code
        return f"HLSModule({self.top_func_name}, {self.mode}, {self.project})"
