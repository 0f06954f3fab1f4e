"""``project(mod, folder)``: what AMD's tools need for a board, and the programs that call the design."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allo.backend.devices import Bitstream
from allo.backend.hls.vendors import devices
from allo.backend.rtl.interfaces.board import BUS_ERROR
from allo.backend.rtl.interfaces.board import Board as Wrapper
from allo.backend.sim import RTLModule
from allo.backend.sim.boundary.project import MARK, own_folder
from allo.dialects.diagnostics import BoardError
from allo.dialects.reports.project_folder import write_folder

from ..flow import clock as clocks
from ..flow.constraints import constraints
from ..record import VIVADO, Board
from ..registry import board as board_of
from ..shell import shell_of
from ..shell.protocol import BAUD
from .describe import check_types, described, header, kernel_of, pieces_of
from .shim import shim

_TEMPLATES = (
    Path(__file__).with_name("templates"),
    Path(devices.__file__).parents[1] / "templates",
)
_HOSTS = Path(__file__).with_name("hosts")
_CHANNEL = re.compile(r"(hbm|ddr)(\d+)")
_XDC = Bitstream(
    constraints="pins.xdc",
    pin="set_property -dict {{PACKAGE_PIN {site}{attributes}}} [get_ports {{{port}}}]\n",
    attribute=" {name} {value}",
    arguments=(),
    packer="vivado",
    package="",
    packer_arguments=(),
    suffix=".bit",
)


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument as a host passes it.

    Attributes:
        position: among the arguments.
        offset: of its register.
        bytes: of the array, or of its part on a master, or of the scalar.
        bundle: of the AXI4 master of an array or a part; "" for scalars.
        memory: the channel of a card that the array lies in, or "".
    """

    name: str
    position: int
    offset: int
    bytes: int
    bundle: str = ""
    memory: str = ""


def project(mod: RTLModule, folder: str | Path, *, batches: bool = False) -> Path:
    """Write the project of a design for the board of its build, if AMD's tools make its bitstreams.

    Boards with pins get the shell that ``allo.boards.connect`` talks to, with a script for Vivado. On Zynq
    boards the design, built with ``configs={"interface": "m_axi"}``, stands in a block design, and
    ``driver.py`` calls it under PYNQ; for Alveo cards it becomes a kernel of Vitis, which ``driver.py`` and
    ``xrt_host.cpp`` call with XRT.

    Args:
        mod: what ``s.build(target="verilog", board=…)`` gave.
        folder: is replaced if Allo wrote it.
        batches: write ``batches.py`` too, which runs a network on a file of samples, for designs with
            ``driver.py``. The first dimension of each array counts the samples of a call.

    Raises:
        BoardError: the build names no board, or one with open tools; or the design lacks the interfaces, or
            arguments that count samples.
        BuildError: the folder cannot be written.
    """
    if mod.options.board is None:
        raise BoardError(
            f"{mod.top_func_name} was built for no board, so it has no project.",
            help='name one: s.build(target="verilog", board="pynq-z2").',
        )
    board = board_of(mod.options.board)
    if board.tools != VIVADO:
        raise BoardError(
            f"The bitstreams of {board.title} are made with open tools, which need no project.",
            help="call mod.bitstream(path).",
        )
    files = _with_pins(mod, board) if not board.platform else _around_wrapper(mod, board)
    if batches:
        files["batches.py"] = _batches(mod, files)
    files[MARK] = json.dumps({"top": mod.design.top, "board": board.name})
    target = own_folder(Path(folder), "project")
    write_folder(target, files, merge=False, programs=[n for n in files if n.endswith(".sh")])
    return target


def _batches(mod: RTLModule, files: dict[str, str]) -> str:
    shapes = [one.shape for one in mod.signature.arguments]
    if "driver.py" not in files or not shapes or len({shape and shape[0] for shape in shapes}) > 1:
        raise BoardError(
            f"{mod.top_func_name} takes no batches on this board: that needs arrays alone, whose first "
            "dimensions are equal, and a board with driver.py.",
            help="give a network of samples=64 of from_qonnx or from_tflite, and a Zynq board or a card.",
        )
    return (_HOSTS / "batches.py").read_text()


def _with_pins(mod: RTLModule, board: Board) -> dict[str, str]:
    """The shell with its serial port, pins, and a script that makes the bitstream."""
    setting = clocks.at_most(board, mod.report.clock_mhz) or clocks.settings(board)[0]
    shell = shell_of(mod, board, setting.mhz, BAUD)
    period = 1000 / board.oscillator_mhz
    render = _Renderer(
        top=shell.top, title=board.title, part=board.part, clock=f"{setting.mhz:g}",
        core=mod.design.top, estimated=mod.design.top, core_file="core.sv", core_clock="clk",
        period=f"{1000 / mod.report.clock_mhz:.3f}",
    )  # fmt: skip
    return {
        "design.sv": f"{shell.verilog}\n{clocks.verilog(board, setting)}",
        "core.sv": mod.design.verilog,
        "pins.xdc": f"create_clock -name oscillator -period {period:g} [get_ports clock]\n"
        + constraints(board, shell.ports, _XDC),
        "build.tcl": render("build.tcl"),
        "estimate.tcl": render("estimate.tcl"),
    }


def _around_wrapper(mod: RTLModule, board: Board) -> dict[str, str]:
    """A block design around the AXI wrapper, or a kernel of Vitis, and the programs that call it."""
    wrapper = _wrapper(mod, board)
    check_types(mod)
    card = board.platform == "alveo"
    written = [r for r in wrapper.registers or () if r.written]
    results = [r for r in wrapper.registers or () if not r.written and r.name != BUS_ERROR]
    if card and results:
        raise BoardError(
            f"XRT passes no scalar that a kernel returns, and {wrapper.core} returns {results[0].name}.",
            help="write it into an array of one element.",
        )
    pieces = pieces_of(wrapper)
    arguments = []
    for position, register in enumerate(written):
        piece = pieces.get(register.name)
        if piece is None:
            size = 4 * register.words
            arguments.append(_Argument(register.name, position, register.offset, size))
            continue
        channel = _CHANNEL.fullmatch(piece.bundle)
        memory = f"{channel[1].upper()}[{channel[2]}]" if channel and card else ""
        where = (register.offset, piece.bytes, piece.bundle, memory)
        arguments.append(_Argument(register.name, position, *where))
    kernel = kernel_of(wrapper)
    mhz = mod.report.clock_mhz if card else _system_clock(mod, board)
    render = _Renderer(
        top=kernel, core=wrapper.core, estimated=wrapper.top, title=board.title, part=board.part,
        device=board.name,
        masters=[m.bundle for m in wrapper.masters], bundles=[m.bundle for m in wrapper.masters],
        widths=wrapper.masters, arguments=arguments, xo=card, range=1 << wrapper.address_bits,
        clock=f"{mhz:g}", zynq=board.platform, ip_repo="ip", core_file=f"{wrapper.top}.sv",
        core_clock="ap_clk", period=f"{1000 / mhz:.3f}", xrt=board.xrt_platform,
        processing_system="" if card else devices.PROCESSING_SYSTEMS[board.platform].name,
    )  # fmt: skip
    files = {f"{wrapper.top}.sv": mod.verilog, f"{kernel}.v": shim(wrapper, kernel)}
    files |= {name: render(name) for name in ("package.tcl", "estimate.tcl")}
    image = f"{kernel}.{'xclbin' if card else 'bit'}"
    files |= {
        "design.json": described(mod, wrapper, image),
        "driver.py": (_HOSTS / "driver.py").read_text(),
    }
    if not card:
        return files | {"block_design.tcl": render("pynq/block_design.tcl")}
    files |= {name: render(name) for name in ("kernel.xml", "link.cfg", "link.sh")}
    return files | {
        "design.hpp": header(wrapper),
        "xrt_host.cpp": (_HOSTS / "xrt_host.cpp").read_text(),
    }


def _wrapper(mod: RTLModule, board: Board) -> Wrapper:
    """The wrapper of a design whose arrays all pass by AXI4 masters, and which registers start."""
    found = mod.design.board
    ours = (
        found is not None
        and found.registers is not None
        and bool(found.masters)
        and not (found.memories or found.streams or found.pins or found.results)
    )
    if found is None or not ours:
        raise BoardError(
            f"On {board.title} a host reaches a design by AXI4, and {mod.top_func_name} has other ports.",
            help='build with configs={"interface": "m_axi"}.',
        )
    return found


def _system_clock(mod: RTLModule, board: Board) -> float:
    """The fastest clock of the processing system that is no faster than the design is built for."""
    system = devices.PROCESSING_SYSTEMS[board.platform]
    asked = min(mod.report.clock_mhz, system.most_mhz)
    made = system.clock_below(asked)
    if made is None:
        raise BoardError(
            f"The processing system of {board.title} makes no clock of {asked:g} MHz or less.",
            help=f"build with clock_mhz={system.usual_mhz:g}.",
        )
    return made


class _Renderer:
    """Files from templates."""

    def __init__(self, **context: Any) -> None:
        import jinja2  # here: it takes long to load

        self._context = context
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def __call__(self, name: str) -> str:
        return self._environment.get_template(f"{name}.j2").render(self._context)
