"""``XLSCCModule``: what ``build`` returns for the targets xls and xlscc."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from allo.backend.hls.csim.build import CsimKernel, compile_csim
from allo.backend.hls.csim.simulation import Simulation
from allo.backend.hls.emit.function import EmitOptions
from allo.backend.hls.emit.module import emit_module
from allo.backend.hls.external import read_externals
from allo.backend.hls.vendors.ports import count_outputs, read_ports
from allo.backend.hls.vendors.tables import XLS
from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import read_signature
from allo.dialects.boundary.arranging import arrange
from allo.dialects.copying import BuiltOnce
from allo.dialects.core.parse import parse_module, text_of
from allo.dialects.diagnostics import BuildError
from allo.dialects.passes.arg_access import analyze_arg_load_store, writes_everything
from allo.dialects.reports.project_folder import write_folder
from allo.target import BuildRequest

from . import text
from .check import XLSValidationError, check_module

log = logging.getLogger(__name__)


class XLSCallError(BuildError, RuntimeError):
    """A call in a mode that does not run the kernel."""


class XLSCCModule(BuiltOnce):
    """A kernel as C++ for XLS[cc].

    Attributes:
        core_code: the kernel's functions.
        final_cpp: the whole file, with its top function or block.
        rewrites_textproto: RAM configuration in memory mode, "" otherwise.
        project: the folder written, or None.
    """

    def __init__(
        self,
        mlir: ir.Module | str,
        top_func_name: str,
        project: str | None = None,
        use_memory: bool = False,
        mode: str | None = None,
        ext_libs: Sequence[Any] = (),
    ) -> None:
        options = {"use_memory": use_memory}
        request = BuildRequest("", top_func_name, "xls", mode, project, options=options)
        self.top_func_name = top_func_name
        self.mode = mode
        self.use_memory = use_memory
        self.project = request.project
        source = text_of(mlir)
        self.module = parse_module(source)
        with self.module.context, ir.Location.unknown():
            self._prepare(ext_libs)
        if self.project is not None:
            self._write(Path(self.project).absolute())
        self._kernel = self._compile() if mode == "sw_emu" else None

    @classmethod
    def from_request(cls, request: BuildRequest) -> XLSCCModule:
        """The module of a build request."""
        return cls(
            request.module_text,
            request.top,
            request.project,
            request.settings["use_memory"],
            request.mode,
            request.ext_libs,
        )

    def _prepare(self, ext_libs: Sequence[Any]) -> None:
        top = self.top_func_name
        try:
            check_module(self.module)
        except XLSValidationError as error:
            self._write_errors(error)
            raise
        self.signature = read_signature(self.module, top)
        self.args = read_ports(self.module, top, self._access(), self.mode)
        self.num_output_args = count_outputs(self.args, None, False)
        self._body = f"{top}_body"
        op = ir.SymbolTable(self.module.operation)[top]
        op.operation.attributes["sym_name"] = ir.StringAttr.get(self._body)
        has_arrays = any(p.param.is_array for p in self.args)
        memory = self.use_memory and has_arrays
        self.externals = read_externals(ext_libs)
        options = EmitOptions(flat_top=memory)
        self.code = emit_module(self.module, self._body, XLS, options, self.externals)
        names = self.code.parameters
        self._ports = [text.block_port(p, n) for p, n in zip(self.args, names, strict=True)]
        self.core_code = self.code.kernel
        self.rewrites_textproto = text.rewrites(self._ports) if memory else ""
        if not has_arrays:
            wrapped = text.plain_top(top, self._body, self._ports)
        elif memory:
            wrapped = text.memory_block(self._body, self._ports)
        else:
            wrapped = text.channel_block(self._body, self._ports)
        self.final_cpp = f"{self._helped()}\n{wrapped}"
        call = "" if has_arrays else f"{self._body}({self._arguments()});"
        self._adapter = text.adapter(self._ports, call, memory)

    def _access(self) -> list[str]:
        """Which arguments come in and go out; one that keeps some of its elements does both."""
        op = ir.SymbolTable(self.module.operation)[self.top_func_name].operation
        words = analyze_arg_load_store(self.module)[self.top_func_name]
        return [
            "both" if word == "out" and not writes_everything(op, position, self.module) else word
            for position, word in enumerate(words)
        ]

    def _helped(self) -> str:
        """The core with what it needs of min, max and fixed point behind the includes."""
        lines = self.core_code.splitlines(keepends=True)
        last = max(k for k, line in enumerate(lines) if line.startswith("#include"))
        fixed = text.FIXED if any("Fixed<" in line for line in lines) else ""
        helpers = text.PRELUDE if any("min(" in x or "max(" in x for x in lines) else ""
        return "".join([*lines[: last + 1], fixed, helpers, *lines[last + 1 :]])

    def _arguments(self) -> str:
        return ", ".join(p.name if p.read else f"*{p.name}" for p in self._ports)

    def _write(self, folder: Path) -> None:
        files = {"test_block.cpp": self.final_cpp}
        if self.rewrites_textproto:
            files["rewrites.textproto"] = self.rewrites_textproto
        if self.mode == "sw_emu":
            files["test_harness.cpp"] = f'#include "test_block.cpp"\n\n{self._adapter}'
        write_folder(folder, files, merge=True)

    def _write_errors(self, error: XLSValidationError) -> None:
        if self.project is None:
            return
        files = {"xls_errors.txt": f"{error}\n"}
        write_folder(Path(self.project).absolute(), files, merge=True)

    def _compile(self) -> CsimKernel:
        top = replace(self.code.top, name="allo_harness", flat=True)
        code = replace(self.code, kernel=f"{self.final_cpp}\n{self._adapter}", top=top)
        library = compile_csim(code, XLS, self.externals)
        return CsimKernel(self.signature, library, Simulation(self.top_func_name), ())

    def print_textproto(self) -> None:
        """Show the RAM configuration of memory mode."""
        from rich.console import Console

        shown = self.rewrites_textproto or "No RAM rewrites (not in memory mode)"
        Console(markup=False, highlight=False, soft_wrap=True).print(shown)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the block once on NumPy arrays; the rules are those of every back end.

        Raises:
            XLSCallError: the module was not built for sw_emu.
            BoundaryError: an argument of the wrong count, shape or type.
        """
        if self._kernel is None:
            raise XLSCallError(
                "__call__ only supported in sw_emu mode.", help="build with mode='sw_emu'."
            )
        return self._kernel(*arrange(self.signature, args, named, "A call of an XLSCCModule"))

    def __str__(self) -> str:
        return self.final_cpp
