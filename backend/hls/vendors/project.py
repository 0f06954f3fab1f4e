"""Project folders: kernel, headers, scripts, host program and test bench, from templates."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from allo.dialects.reports.project_folder import write_folder
from allo.dialects.text.quoting import tcl_word

from ..emit.module import Whole
from ..errors import HlsConfigError, ReservedNameError, UnsupportedDeviceError
from ..external import External
from ..kernel import HlsKernel
from ..spread.layout import LINE_BITS, LINE_BYTES
from .connectivity import placement
from .devices import DEVICES, PROCESSING_SYSTEMS, Device, find_device
from .ports import Port, named_ports

_TEMPLATES = Path(__file__).parents[1] / "templates"
_FAMILIES = {
    "us_alveo": ("Alveo cards", "g++"),
    "zynqmp": ("Zynq UltraScale+ boards", "aarch64-linux-gnu-g++"),
    "zynq7000": ("Zynq 7000 boards", "arm-linux-gnueabihf-g++"),
    "versal": ("Versal boards", "aarch64-linux-gnu-g++"),
}
_MAKEFILES = {"alveo": "us_alveo", "zynq7": "zynq7000", "zynqmp": "zynqmp", "versal": "versal"}


@dataclass(frozen=True, slots=True)
class HostPart:
    """The elements of a port that lie in one memory: one parameter of the kernel.

    Attributes:
        name: of the parameter.
        position: of the parameter among those of the kernel.
        count: its elements.
        bytes: of its elements.
        offset: bytes of the port before them.
    """

    name: str
    position: int
    count: int
    bytes: int
    offset: int


@dataclass(frozen=True, slots=True)
class HostPort:
    """One port as the templates see it."""

    name: str
    type: str
    count: int
    bytes: int
    read: bool
    written: bool
    by_value: bool
    index: int
    output_file: str
    argument: str
    parts: tuple[HostPart, ...]
    word: str = ""
    packed_bits: int = 0
    is_signed: bool = False

    @property
    def dealt_bytes(self) -> int:
        """Bytes of the array as it lies in lines: ``packed_bits`` an element, or those of its C++ type."""
        return -(-self.count * self.packed_bits // 8) if self.packed_bits else self.bytes

    @property
    def is_dealt(self) -> bool:
        """Whether its lines lie on several channels in turn; ``word`` is then the type of their ports."""
        return bool(self.word)

    @property
    def flags(self) -> str:
        """The OpenCL flag of the port's buffer, by what the kernel does with it."""
        if self.read and self.written:
            return "CL_MEM_READ_WRITE"
        return "CL_MEM_READ_ONLY" if self.read else "CL_MEM_WRITE_ONLY"


def host_ports(module: HlsKernel) -> list[HostPort]:
    """The ports of the kernel for host programs and test benches."""
    outputs = [k for k, port in enumerate(module.args) if port.leaves_values]
    ports = []
    for position, port in enumerate(module.args):
        param = port.param
        count = prod(param.shape or (1,))
        by_value = not param.is_array and param.role == "in"
        written = position in outputs
        index = outputs.index(position) if written else 0
        whole = module.code.wholes[position]
        name = whole.names[0] if len(whole.names) == 1 else param.name
        size = count * _cpp_bytes(param.ctype.bits)
        dealt = whole.spread is not None
        ports.append(
            HostPort(
                name,
                module.vendor.spell(param.ctype),
                count,
                size,
                param.role == "in",
                written,
                by_value,
                index,
                "output.data" if len(outputs) == 1 else f"output{index}.data",
                _argument(module, port, name, whole, by_value),
                _parts(whole, size),
                _word(module, whole) if dealt else "",
                whole.spread.bits if whole.spread is not None and whole.spread.packed else 0,
                whole.spread is not None and whole.spread.is_signed,
            )
        )
    return ports


def _word(module: HlsKernel, whole: Whole) -> str:
    """The type of the elements of the ports of an array on several channels."""
    assert whole.spread is not None
    wide = whole.spread.wide
    return (
        module.vendor.spell_wide(LINE_BITS, False)
        if wide
        else module.vendor.spell(whole.param.ctype)
    )


def _parts(whole: Whole, size: int) -> tuple[HostPart, ...]:
    if (spread := whole.spread) is not None:
        count = spread.port_count
        return tuple(
            HostPart(name, whole.first + c, count, spread.lines * LINE_BYTES, 0)
            for c, name in enumerate(whole.names)
        )
    each = size // len(whole.names)
    return tuple(
        HostPart(name, whole.first + number, whole.part_count, each, number * each)
        for number, name in enumerate(whole.names)
    )


def _argument(module: HlsKernel, port: Port, name: str, whole: Whole, by_value: bool) -> str:
    if by_value:
        return f"arg_{name}[0]"
    if whole.spread is not None:
        return ", ".join(f"part_{part}" for part in whole.names)
    if len(whole.names) > 1:
        begins = (number * whole.part_count for number in range(len(whole.names)))
        return ", ".join(f"arg_{name} + {begin}" for begin in begins)
    shape = port.param.shape or (1,)
    if module.code.top.flat or len(shape) == 1:
        return f"arg_{name}"
    dims = "".join(f"[{extent}]" for extent in shape[1:])
    return f"({module.vendor.spell(port.param.ctype)} (*){dims})arg_{name}"


def _cpp_bytes(bits: int) -> int:
    """``sizeof`` of the C++ type of an integer of this width."""
    if bits > 64:
        return -(-bits // 64) * 8
    size = 1
    while 8 * size < bits:
        size *= 2
    return size


def write_project(module: HlsKernel, folder: Path) -> None:
    """Write the project of a module; the folder changes only when everything could be made.

    Files of other names that lie in an existing folder are kept.

    Raises:
        UnsupportedDeviceError: unknown device.
        HlsConfigError: ``hbm_mapping`` names something that is no port, or a PYNQ board cannot make the
            clock.
        BuildError: the folder cannot be written.
    """
    device = find_device(module.options.device)
    if module.platform == "pynq" and device.family not in PROCESSING_SYSTEMS:
        boards = ", ".join(d.name for d in DEVICES.values() if d.family in PROCESSING_SYSTEMS)
        raise UnsupportedDeviceError(
            f"Device {device.name} is no board PYNQ runs on.", help=f"boards: {boards}."
        )
    files = _project_files(module, device)
    if _has_streams(module):
        files = {name: text for name, text in files.items() if name not in _PASS_ARRAYS}
    files |= _source_files(module.externals, files)
    write_folder(folder, files, merge=True)


_PASS_ARRAYS = ("tb.cpp", "host.cpp", "tapa_host.cpp", "xcl2.cpp", "xcl2.hpp", "block_design.tcl")
"""Files of projects that give the kernel arrays and scalars."""


def _has_streams(module: HlsKernel) -> bool:
    return any(port.param.is_stream for port in module.args)


def _source_files(externals: Sequence[External], taken: Container[str]) -> dict[str, str]:
    files = {}
    for source in externals:
        if source.name in taken:
            raise ReservedNameError(
                f"The external file {source.path} cannot be named {source.name}: the project has "
                "its own.",
                help="rename the file.",
            )
        files[source.name] = source.path.read_text()
    return files


def _project_files(module: HlsKernel, device: Device) -> dict[str, str]:
    options = module.options
    context: dict[str, object] = {
        "top": module.code.top.name,
        "platform": module.platform,
        "tool": module.platform,
        "device": device.name,
        "part": device.part,
        "frequency": f"{options.frequency:g}",
        "period": f"{options.period_ns:.2f}",
        "sources": list(dict.fromkeys(e.name for e in module.externals)),
        "testbench": "" if _has_streams(module) else "tb.cpp",
        "data": [f"input{k}.data" for k, p in enumerate(host_ports(module)) if p.read],
        "ports": host_ports(module),
        "steps": tcl_steps(options.mode, device),
        "connectivity": _connectivity(module),
        "makefile": _MAKEFILES[device.family],
    }
    render = _Renderer(context)
    files = {"kernel.cpp": module.code.kernel, "kernel.h": module.code.header}
    if context["connectivity"] and module.platform in ("vitis_hls", "tapa"):
        files[f"{module.code.top.name}.cfg"] = render("vitis_hls/cfg")
    if module.platform == "tapa":
        return files | {name: render(f"tapa/{name}") for name in ("tapa_host.cpp", "Makefile")}
    if module.platform == "catapult":
        return files | _catapult_files(module, render)
    files |= {"run.tcl": render("common/run.tcl"), "tb.cpp": render("common/tb.cpp")}
    if module.platform == "vivado_hls":
        return files | {name: render(f"vivado_hls/{name}") for name in ("Makefile", "timer.h")}
    if module.platform == "pynq":
        return files | _pynq_files(module, render, device)
    names = ["README.md", "description.json", "hls.cfg", "hls_pre.tcl", "Makefile"]
    names += ["host.cpp", "xcl2.cpp", "xcl2.hpp"]
    files |= {name: render(f"vitis_hls/{name}") for name in names}
    for name, (title, compiler) in _FAMILIES.items():
        more = {"family_title": title, "compiler": compiler}
        files[f"makefile_{name}.mk"] = render("vitis_hls/makefile.mk", **more)
    return files


def _pynq_files(module: HlsKernel, render: _Renderer, device: Device) -> dict[str, str]:
    """The block design around the kernel, and for ``impl`` the program that runs on the board."""
    arrays = [p for p in host_ports(module) if not p.by_value]
    more: dict[str, object] = {
        "processing_system": PROCESSING_SYSTEMS[device.family].name,
        "clock": f"{_board_clock(device, module.options.frequency):g}",
        "zynq": device.family,
        "bundles": [f"gmem{k}" for k in range(len(arrays))],
    }
    files = {"block_design.tcl": render("pynq/block_design.tcl", **more)}
    if module.options.mode == "impl":
        files["deploy.py"] = render("pynq/deploy.py")
    return files


def _board_clock(device: Device, frequency: float) -> float:
    """The clock that the board is to make: the one that is asked, or the fastest below it.

    Raises:
        HlsConfigError: the board makes none.
    """
    system = PROCESSING_SYSTEMS[device.family]
    made = system.clock_below(frequency)
    if made is None:
        raise HlsConfigError(
            f"The processing system of {device.name} makes clocks of {system.pll_mhz / 63**2:.2g} to "
            f"{system.most_mhz} MHz for a kernel, not of {frequency:g} MHz.",
            help=f"build with configs={{'frequency': {system.usual_mhz:g}}}.",
        )
    return made


def _catapult_files(module: HlsKernel, render: _Renderer) -> dict[str, str]:
    """Catapult's script, and for csim the test bench."""
    csim = module.options.mode == "csim" and not _has_streams(module)
    more: dict[str, object] = {
        "testbench": "host.cpp" if csim else "",
        "half_period": f"{module.options.period_ns / 2:.2f}",
    }
    files = {"run.tcl": render("catapult/run.tcl", **more)}
    return files | ({"host.cpp": render("common/tb.cpp")} if csim else {})


class _Renderer:
    def __init__(self, context: dict[str, object]) -> None:
        import jinja2  # here: a build of text alone needs no templates, and they take long to load

        self._context = context
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._environment.filters["tcl"] = tcl_word

    def __call__(self, name: str, **more: object) -> str:
        return self._environment.get_template(f"{name}.j2").render(self._context, **more)


def tcl_steps(mode: str | None, device: Device) -> list[str]:
    """The commands of ``run.tcl``, by what the mode contains; all without a mode."""
    mode = mode or "csim csyn cosim impl"
    export = "export_design -rtl verilog -format ip_catalog"
    if not device.ip_catalog:
        export = "export_design -flow impl"
    commands = (
        (("csim", "sw_emu"), "csim_design -O"),
        (("csyn", "debug", "cosim", "custom"), "csynth_design"),
        (("cosim", "hw_emu"), "cosim_design"),
        (("impl", "hw"), export),
    )
    return [text for words, text in commands if any(word in mode for word in words)]


def _connectivity(module: HlsKernel) -> list[str]:
    """``sp=`` lines of the linker configuration, from ``hbm_mapping``."""
    mapping = module.options.hbm_mapping
    lines = []
    for name, position in named_ports(module.args, module.top_func_name, mapping).items():
        given = mapping[name]
        banks = (given,) if isinstance(given, str) else given
        ports = module.code.wholes[position].names
        top = module.code.top.name
        lines += [placement(top, port, bank) for port, bank in zip(ports, banks, strict=True)]
    return lines
