"""The steps beyond csim: C synthesis, co-simulation, emulation.

A vendor's tool runs them where it is installed. Where it is not, csyn and cosim use Allo's
own Verilog, simulated by Verilator, with a report of the same type.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allo.backend.devices import family_of_part
from allo.dialects.boundary.arguments import Call
from allo.dialects.diagnostics import (
    ArgumentCountError,
    BuildError,
    ToolFailedError,
    ToolMissingError,
)
from allo.dialects.passes.flush_subnormals import FLUSH
from allo.dialects.processes.tools import run_tool
from allo.dialects.reports.figures import DesignReport
from allo.target import BuildRequest, find_target

from ..csim.build import bind
from ..kernel import HlsKernel
from .availability import WITHOUT_REPLACEMENT, find_tool
from .csynth import find_report, parse_csynth
from .devices import DEVICES
from .project import host_ports, write_project

log = logging.getLogger(__name__)
_INSTALL = (
    "install Vitis (https://www.xilinx.com/support/download.html) and source its settings64.sh"
)

_INSTALL_TAPA = "install TAPA (https://tapa.readthedocs.io) and put it on PATH"
_WITHOUT_TOOL = "mode='csim' and mode='cosim' run"


def run_csyn(module: HlsKernel) -> DesignReport:
    """C synthesis; the report is also left in ``module.report``.

    Raises:
        ToolMissingError: the tool is not installed and ``fallback`` is off.
        ToolFailedError: the tool failed or ran past its limit.
    """
    tool = find_tool(module.platform)
    if tool is None:
        rtl = _own_verilog(module, "debug" if module.mode == "debug" else "csyn")
        module.report = rtl.report
        found: DesignReport = rtl.report
        return found
    folder = _project_folder(module)
    _run_tcl(module, tool, folder, "C synthesis")
    if module.platform == "catapult":
        module.report = _catapult_report(module, folder)
        return module.report
    report = parse_csynth(
        find_report(folder, module.code.top.name), module.platform, module.code.top.name
    )
    module.report = report
    return report


def run_script(module: HlsKernel) -> DesignReport:
    """``impl``, ``custom``, ``debug``: the vendor's tool on ``run.tcl``; only ``debug``, C synthesis
    alone, has a replacement.

    Raises:
        ToolMissingError: the tool is not installed.
        ToolFailedError: the tool failed or ran past its limit.
    """
    if find_tool(module.platform) is None and module.mode in WITHOUT_REPLACEMENT:
        raise ToolMissingError(
            f"{module.platform} is not available; mode {module.mode} needs it.",
            help=f"{_INSTALL}; csim, csyn and cosim run without it.",
        )
    return run_csyn(module)


def _catapult_report(module: HlsKernel, folder: Path) -> DesignReport:
    """Where Catapult left its reports; they are kept as they are."""
    notes = [str(p) for p in sorted(folder.glob("Catapult*/*/*.rpt"))]
    top, clock = module.code.top.name, module.options.frequency
    return DesignReport("catapult", "catapult", top, clock, None, notes=notes)


def run_implementation(module: HlsKernel) -> DesignReport:
    """pynq ``impl``: synthesis and IP export by Vitis HLS, block design and bitstream by Vivado.

    Raises:
        ToolMissingError: one of the two tools is not installed.
        ToolFailedError: a tool failed or ran past its limit.
    """
    vivado = shutil.which("vivado")
    if vivado is None:
        raise ToolMissingError(
            "vivado is not available; mode impl of target pynq needs it.",
            help=f"{_INSTALL}; mode='csim' and mode='csyn' run without it.",
        )
    report = run_script(module)
    folder = _project_folder(module)
    run_tool(
        [vivado, "-mode", "batch", "-source", "block_design.tcl"],
        folder,
        what="Block design and implementation",
        timeout_s=module.options.timeout_s,
        progress=_progress(module),
        log=folder / "vivado.log",
    )
    report.notes.append(f"bitstream {folder / (module.code.top.name + '.bit')}")
    return report


def run_cosim(module: HlsKernel, args: Sequence[Any]) -> Any:
    """Run the synthesised hardware on arrays, in place; ``module.report`` has the measured cycles.

    Raises:
        ToolMissingError, ToolFailedError: as :func:`run_csyn`.
        BoundaryError: an argument of the wrong count, shape or type.
    """
    tool = find_tool(module.platform)
    if tool is None:
        return simulate_own_verilog(module, args)
    folder = _project_folder(module)
    call = bind(module.signature, args)
    _write_inputs(module, call, folder)
    _run_tcl(module, tool, folder, "C/RTL co-simulation")
    name = module.code.top.name
    module.report = parse_csynth(find_report(folder, name), module.platform, name)
    module.report.measured_cycles = _cosim_cycles(folder, name)
    outputs = [f"output{p.index}.data" for p in host_ports(module) if p.written]
    _read_outputs(module, call, folder, outputs)
    return call.finish()


def emulates_here(module: HlsKernel) -> bool:
    """Whether an emulation or ``hw`` must run without the vendor's tools, and may; the log then says so."""
    missing = _missing(module)
    if missing is None or not module.options.fallback:
        return False
    log.warning(
        "%s is not on PATH: %s of %s runs on Allo's own %s instead (fallback=False forbids it).",
        missing,
        module.mode,
        module.top_func_name,
        "csim" if module.mode == "sw_emu" else "Verilog",
    )
    return True


def run_emulation(module: HlsKernel, args: Sequence[Any]) -> Any:
    """Emulation or hardware: ``make`` of the project, with v++ (or TAPA) and the platform ``$XDEVICE``.

    Raises:
        ToolMissingError: v++, TAPA or make is not installed, or ``$XDEVICE`` is not set.
        ToolFailedError: a step failed or ran past its limit.
    """
    name = _missing(module)
    if name is not None:
        install = _INSTALL_TAPA if name == "tapa" else _INSTALL
        others = "mode='csim' runs" if module.platform == "tapa" else _WITHOUT_TOOL
        raise ToolMissingError(
            f"{name} is not available; mode {module.mode} needs it.",
            help=f"{install}; {others} without it.",
        )
    platform = os.environ.get("XDEVICE")
    if not platform:
        raise ToolMissingError(
            f"The environment variable XDEVICE is not set; mode {module.mode} needs a platform.",
            help="set it to the path of a .xpfm platform file.",
        )
    expected = len(module.args)
    if len(args) != expected:
        raise ArgumentCountError(
            f"Number of arguments mismatch, got {len(args)} but expected {expected} "
            "(inputs, then outputs).",
            module.signature.place,
        )
    folder = _project_folder(module)
    call = bind(module.signature, args)
    _write_inputs(module, call, folder)
    goal = [module.mode or ""] if module.platform == "tapa" else ["run", f"TARGET={module.mode}"]
    run_tool(
        ["make", *goal, f"PLATFORM={platform}"],
        folder,
        what=f"Building and running for {module.mode}",
        timeout_s=module.options.timeout_s,
        progress=_progress(module),
        log=folder / f"{module.mode}.log",
    )
    outputs = [p.output_file for p in host_ports(module) if p.written]
    _read_outputs(module, call, folder, outputs)
    return call.finish()


def _missing(module: HlsKernel) -> str | None:
    return next((name for name in _needed(module) if shutil.which(name) is None), None)


def _needed(module: HlsKernel) -> tuple[str, ...]:
    if module.platform != "tapa":
        return "v++", "make"
    return ("tapa", "make") if module.mode == "fast_hw_emu" else ("tapa", "v++", "make")


# --- Allo's own Verilog in place of the tool -------------------------------------------


def _own_verilog(module: HlsKernel, step: str) -> Any:
    """The same kernel built as Allo's own Verilog."""
    if not module.options.fallback:
        raise ToolMissingError(
            f"{module.platform} is not available; {step} needs it.",
            help=f"{_INSTALL}, or leave out fallback=False to use Allo's own Verilog.",
        )
    if module.mode == step:
        log.warning(
            "%s is not on PATH: %s of %s runs on Allo's own Verilog instead "
            "(fallback=False forbids it).",
            module.platform,
            step,
            module.top_func_name,
        )
    request = module.request
    configs: dict[str, Any] = {"frequency": module.options.frequency, "memory": {}}
    if (device := DEVICES.get(module.options.device)) is not None:
        configs["device"] = family_of_part(device.part)
    if module.options.flush:
        configs["subnormals"] = FLUSH
    return find_target("verilog")(
        BuildRequest(request.module_text, request.top, "verilog", configs=configs)
    )


def simulate_own_verilog(module: HlsKernel, args: Sequence[Any]) -> Any:
    """Run the kernel as Allo's own Verilog; ``module.report`` has the measured cycles."""
    rtl = _own_verilog(module, "cosim")
    call = bind(module.signature, args)
    arguments = args[: len(module.signature.arguments)]
    results = rtl(*arguments)
    module.report = rtl.report
    if call.signature.results or len(args) == len(arguments):
        return results
    given = results if isinstance(results, list) else [results]
    for target, value in zip(args[len(arguments) :], given, strict=True):
        target[...] = np.asarray(value).reshape(target.shape)
    return None


# --- the vendor's tool ---------------------------------------------------------------


def _project_folder(module: HlsKernel) -> Path:
    """The project, or a folder for the tool when none was asked for, which goes with the module."""
    if module.options.project is not None:
        return module.options.project
    if module.scratch is None:
        module.scratch = Path(tempfile.mkdtemp(prefix="allo_hls_"))
        weakref.finalize(module, shutil.rmtree, module.scratch, ignore_errors=True)
        write_project(module, module.scratch)
    return module.scratch


def _run_tcl(module: HlsKernel, tool: str, folder: Path, what: str) -> None:
    command = [tool, "-f", "run.tcl"]
    if module.platform == "catapult":
        command = [tool, "-shell", "-f", "run.tcl"]
    if Path(tool).name == "vitis-run":
        command = [tool, "--mode", "hls", "--tcl", "run.tcl"]
    run_tool(
        command,
        folder,
        what=what,
        timeout_s=module.options.timeout_s,
        progress=_progress(module),
        log=folder / f"{module.platform}.run.log",
    )


def _progress(module: HlsKernel) -> Callable[[str], None]:
    return module.options.progress or (lambda line: log.info("%s", line))


def _write_inputs(module: HlsKernel, call: Call, folder: Path) -> None:
    """``input<i>.data``: the values as the C++ types lie in memory."""
    for position, cells in enumerate(call.inputs):
        if position < sum(p.param.role == "in" for p in module.args):
            param = module.args[position].param
            raw = _to_memory(cells, param.ctype.bits, param.ctype.signed)
            _write(folder / f"input{position}.data", raw)


def _write(path: Path, raw: bytes) -> None:
    try:
        path.write_bytes(raw)
    except OSError as error:
        raise BuildError(
            f"{path} cannot be written: {error.strerror or error}.",
            help="give another project=…, or free the folder.",
        ) from error


def _to_memory(cells: np.ndarray, bits: int, signed: bool) -> bytes:
    """Cells are zero-extended; ``ap_int`` sign-extends, and counts in words of 8 bytes above 64."""
    if bits > 64:
        words = -(-bits // 64) * 8
        return np.ascontiguousarray(cells[..., :words]).tobytes()
    if cells.dtype.kind != "u" or not signed or bits == 8 * cells.dtype.itemsize:
        return cells.tobytes()
    shift = 8 * cells.dtype.itemsize - bits
    return ((cells << shift).view(f"i{cells.dtype.itemsize}") >> shift).tobytes()


def _read_outputs(module: HlsKernel, call: Call, folder: Path, names: Sequence[str]) -> None:
    written = [k for k, p in enumerate(host_ports(module)) if p.written]
    cells = [*call.inputs, *call.outputs]
    for position, name in zip(written, names, strict=True):
        target = cells[position]
        path = folder / name
        if not path.is_file():
            raise ToolFailedError(f"The run left no {name} in {folder}.")
        _from_memory(_read(path), target, module.args[position].param.ctype.bits, path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ToolFailedError(f"{path} cannot be read: {error.strerror or error}.") from error


def _from_memory(raw: bytes, target: np.ndarray, bits: int, path: Path) -> None:
    words = -(-bits // 64) * 8
    values = np.frombuffer(raw, np.uint8)
    if bits > 64:
        part = target[..., :words]
        expected = part.size
    else:
        part, expected = target, target.nbytes
    if values.size != expected:
        raise ToolFailedError(f"{path} holds {values.size} bytes instead of {expected}.")
    if bits > 64:
        part[...] = values.reshape(part.shape)
    else:
        target[...] = values.view(target.dtype).reshape(target.shape)


def _cosim_cycles(folder: Path, top: str) -> int | None:
    """Measured latency from ``<top>_cosim.rpt``: the largest number of its result row."""
    for report in sorted(folder.glob(f"**/sim/report/{top}_cosim.rpt")):
        for line in report.read_text(errors="replace").splitlines():
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            if len(cells) >= 5 and cells[1].lower() == "pass":
                numbers = [int(cell) for cell in cells[2:5] if cell.isdigit()]
                return max(numbers) if numbers else None
    return None
