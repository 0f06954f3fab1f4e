"""A kernel as HLS C++ for one vendor, before anything runs it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from allo.backend.devices import DeviceRecord, family, family_of_part
from allo.backend.devices.caches import check_caches, ram_bytes
from allo.backend.devices.copies import refuse_copies
from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import Signature, read_signature
from allo.dialects.copying import BuiltOnce
from allo.dialects.core.parse import parse_module, text_of
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import UnsupportedTargetError
from allo.dialects.interfaces.placements import placements_of
from allo.dialects.passes.arg_access import analyze_arg_load_store
from allo.dialects.passes.flush_subnormals import (
    flush_arithmetic,
    flush_functions,
    refuse_narrow_floats,
)
from allo.dialects.passes.io_buffers import generate_input_output_buffers
from allo.dialects.passes.loop_steps import counted_steps
from allo.dialects.passes.repeated_arguments import merge_repeated_arguments
from allo.dialects.passes.run_time_checks import insert_checks
from allo.dialects.passes.stream_regions import make_regions
from allo.dialects.reports.figures import DesignReport
from allo.dialects.types import Stream
from allo.target import BuildRequest

from .emit.function import EmitOptions
from .emit.module import HlsCode, emit_module
from .external import read_externals
from .process_copies import copied_functions, merge_copies
from .reread_arguments import declare_as_passed
from .shared_parts import fold_shared_parts
from .split_arguments import split_arguments
from .spread.rewrite import spread_arguments
from .state_of_processes import refuse_state_of_processes
from .vendors.connectivity import SPREADING, placed_banks, spread_over
from .vendors.devices import DEVICES
from .vendors.options import HlsOptions, read_options
from .vendors.ports import count_outputs, packed_arrays, read_ports, split_ports, spread_ports
from .vendors.tables import VENDORS, Vendor
from .vendors.widths import check_widths


class HlsKernel(BuiltOnce):
    """What a vendor's project and tools are given.

    Attributes:
        hls_code: the C++ text of the kernel.
        module: the MLIR module it was printed from.
        top_func_name, platform, mode, project, ext_libs: as asked for.
        signature: what a call takes and returns.
        externals: the user's own C++ files.
        args: the ports of the top function, in order.
        num_output_args: trailing outputs.
        report: figures of the last csyn or cosim, or None.
        scratch: the folder of the vendor's tool when no project was asked for.
    """

    def __init__(
        self,
        mod: ir.Module | str,
        top_func_name: str,
        platform: str = "vivado_hls",
        mode: str | None = None,
        project: str | None = None,
        ext_libs: Sequence[Any] | None = None,
        configs: Mapping[str, Any] | None = None,
        func_args: Any = None,
        wrap_io: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        text = text_of(mod)
        self.request = BuildRequest(
            text,
            top_func_name,
            platform,
            mode,
            project,
            configs,
            wrap_io,
            tuple(ext_libs or ()),
            dict(options or {}),
        )
        self.top_func_name = top_func_name
        self.func_args = func_args
        self.vendor: Vendor = _vendor(platform)
        self.platform = self.vendor.name
        self.options: HlsOptions = read_options(self.request, self.platform)
        self.mode = mode
        self.project = self.request.project
        self.ext_libs = self.request.ext_libs
        self.report: DesignReport | None = None
        self.scratch: Path | None = None
        self.module = parse_module(text)
        with self.module.context, ir.Location.unknown():
            self._prepare(self.request)
        self._emitted()

    def _emitted(self) -> None:
        """What a class below this one does when the text is there."""

    def _prepare(self, request: BuildRequest) -> None:
        if self.vendor.pragmas != "intel":
            unfolded = copied_functions(self.module)
            make_regions(self.module)
            merge_copies(self.module, unfolded)
        refuse_state_of_processes(self.module, request.mode)
        merge_repeated_arguments(self.module)
        declare_as_passed(self.module)
        # csim of a checked build leaves what was written in the caller's arrays: no buffers there.
        self._checked: ir.Module | None = None
        if self.options.flush:
            refuse_narrow_floats(self.module)
        if self.options.checks:
            insert_checks(self.module, self.options.checks)
        counted_steps(self.module)
        fold_shared_parts(self.module)
        if self.options.checks:
            self._checked = _copied(self.module)
        self.signature: Signature = read_signature(self.module, request.top)
        copied = self.vendor.flat_top and request.wrap_io and not self._is_task_graph()
        if (board := DEVICES.get(self.options.device)) is not None:
            check_caches(self.module, family(family_of_part(board.part)))
            if copied:
                self._check_copies(family(family_of_part(board.part)))
        placed = placements_of(functions_of(self.module.operation)[request.top])
        asked, device = self.options.hbm_mapping, self.options.device
        apart = spread_over(placed) if self.vendor.name in SPREADING else {}
        mapping = placed_banks(self.signature, placed, asked, device, apart)
        access = analyze_arg_load_store(self.module).get(request.top, [])
        self.args = read_ports(self.module, request.top, access, request.mode)
        vendor = self.vendor
        # csim runs on the caller's arrays, wherever they stand; a host program knows them by their order.
        strict = vendor.flat_top and request.mode != "csim"
        self.num_output_args = count_outputs(self.args, self.options.num_output_args, strict)
        parts = split_ports(self.args, request.top, request.target, mapping)
        packed = packed_arrays(self.signature, self.vendor.name, parts)
        if parts:
            split_arguments(self.module, request.top, parts)
        banks = {name: where.banks for name, where in apart.items()}
        self.options = dataclasses.replace(self.options, hbm_mapping={**mapping, **banks})
        kept: frozenset[int] = frozenset()
        if apart or packed:
            spreads = spread_ports(self.args, apart, packed)
            kept = spread_arguments(self.module, request.top, spreads, whole=copied)
        if copied:
            generate_input_output_buffers(
                self.module,
                request.top,
                flatten=True,
                mappings=self.options.mappings,
                kept=kept,
            )
        check_widths(self.module, vendor, request.mode)
        flush = self.options.flush
        emit = EmitOptions(vendor.flat_top, vendor.interfaces, vendor.extern_c, flush=flush)
        self.externals = read_externals(request.ext_libs)
        self.code: HlsCode = emit_module(
            self.module, request.top, self.vendor, emit, self.externals
        )
        self._emit_options = emit

    def _check_copies(self, record: DeviceRecord) -> None:
        """Whether a device holds the arrays that are copied whole, each by itself.

        Raises:
            CapacityError: it does not.
        """
        ram = ram_bytes(record)
        if record.part is None or ram is None:
            return
        arguments = enumerate(self.signature.arguments)
        whole = {
            n: (each, "wrap_io=True asks for it")
            for n, each in arguments
            if each.shape and not isinstance(each.dtype, Stream)
        }
        otherwise = "build with wrap_io=False, so that loops reach it where it lies; "
        top = self.top_func_name
        refuse_copies(self.module, top, whole, ram, record.part.title, otherwise)

    def _is_task_graph(self) -> bool:
        """Whether the top is a region that prints as task invocations, which take the ports."""
        if not self.vendor.tasks:
            return False
        top = ir.SymbolTable(self.module.operation)[self.top_func_name]
        return "region" in top.operation.attributes

    @property
    def hls_code(self) -> str:
        """The C++ text of the kernel."""
        return self.code.kernel

    def csim_code(self) -> HlsCode:
        """The C++ text that csim compiles."""
        with self.module.context, ir.Location.unknown():
            vendor = self.vendor.for_csim
            flat = self._emit_options.flat_top and vendor.flat_top
            options = dataclasses.replace(self._emit_options, simulate=True, flat_top=flat)
            module = self._checked or self.module
            if self.options.flush:
                module = _copied(module)
                flush_functions(module)
                flush_arithmetic(module)
            return emit_module(module, self.top_func_name, vendor, options, self.externals)


def _copied(module: ir.Module) -> ir.Module:
    return ir.Module.parse(module.operation.get_asm(enable_debug_info=True))


def _vendor(platform: str) -> Vendor:
    if platform not in VENDORS:
        raise UnsupportedTargetError(
            f"Target {platform} is not an HLS platform.",
            help=f"HLS platforms: {', '.join(VENDORS)}.",
        )
    return VENDORS[platform]
