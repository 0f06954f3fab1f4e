"""Projects for AMD's boards: scripts against a model of their commands, hosts against emulated devices."""

from __future__ import annotations

import subprocess
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import allo
from allo import boards
from allo.errors import BoardError
from allo.ir.types import int8, int32

from .tcl import TclError, check

STUB = Path(__file__).with_name("xrt_stub")
SCRIPTS = {"pynq-z2": ("package.tcl", "block_design.tcl", "estimate.tcl"),
           "u280": ("package.tcl", "estimate.tcl"),
           "arty-a7-35": ("build.tcl", "estimate.tcl", "pins.xdc")}  # fmt: skip


def axpy(a: int32, A: int32[64], B: int32[64]) -> int8[4]:
    C: int8[4] = 0
    for i in allo.grid(64):
        B[i] = B[i] + a * A[i]
        C[i % 4] = A[i]
    return C


def total(A: int32[16]) -> int32:
    sum: int32 = 0
    for i in range(16):
        sum += A[i]
    return sum


def built(kernel, board: str, **more):
    plain = boards.board(board).platform == ""
    interface = {} if plain else {"configs": {"interface": "m_axi"}}
    return allo.customize(kernel).build(
        target="verilog", board=board, clock_mhz=50, **interface, **more
    )


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """The module and the project of each board."""
    folder = tmp_path_factory.mktemp("vendor")
    found = {}
    for board in SCRIPTS:
        mod = built(axpy, board)
        found[board] = mod, boards.project(mod, folder / board)
    return found


def test_every_command_of_every_script_is_one_of_vivados(projects) -> None:
    for board, names in SCRIPTS.items():
        _, folder = projects[board]
        assert {file.name for file in folder.iterdir()} >= set(names)
        for name in names:
            assert len(check((folder / name).read_text())) >= 4, name
    design = check((projects["pynq-z2"][1] / "block_design.tcl").read_text())
    assert design.count("apply_bd_automation") == 1 + 1 + 3 and "write_bitstream" not in design
    assert "package_xo" in check((projects["u280"][1] / "package.tcl").read_text())


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("synth_design -top a", r"synth_design lacks \['-part'\]"),
        ("synth_desing -top a", "no command synth_desing"),
        ("opt_design -driective Explore", "opt_design has no option -driective"),
        ("set a [get_ports]", "get_ports takes 1 to 1 words, not 0"),
        ("if {1} {\n puts a\n", "{ is not closed"),
        ("foreach a {b} { write_bitstream }", "write_bitstream takes 1 to 1 words"),
    ],
)
def test_a_script_with_a_fault_is_seen(script: str, said: str) -> None:
    with pytest.raises(TclError, match=said):
        check(script)


def test_pins_and_the_clock_are_constrained(projects) -> None:
    folder = projects["arty-a7-35"][1]
    pins = (folder / "pins.xdc").read_text()
    assert "create_clock -name oscillator -period 10 [get_ports clock]" in pins
    assert "{PACKAGE_PIN E3 IOSTANDARD LVCMOS33} [get_ports {clock}]" in pins
    text = (folder / "design.sv").read_text()
    assert "MMCME2_BASE" in text and "~reset" in text and "module axpy_board" in text


def test_the_kernel_of_a_card_has_the_registers_of_the_wrapper(projects) -> None:
    mod, folder = projects["u280"]
    kernel = ElementTree.parse(folder / "kernel.xml").getroot().find("kernel")
    registers = {r.name: r.offset for r in mod.design.board.registers if r.written}
    arguments = kernel.findall("args/arg")
    assert {a.get("name"): int(a.get("offset"), 16) for a in arguments} == registers
    assert [a.get("id") for a in arguments] == ["0", "1", "2", "3"]
    ports = {p.get("name") for p in kernel.findall("ports/port")}
    assert ports == {"s_axi_control", "m_axi_gmem0", "m_axi_gmem1", "m_axi_gmem2"}
    assert {a.get("port") for a in arguments} == ports
    assert "--platform xilinx_u280_gen3x16_xdma_1_202211_1" in (folder / "link.sh").read_text()


class Memory:
    """Buffers by their addresses, and the design that a start runs on them."""

    def __init__(self, mod) -> None:
        self.mod, self.registers, self.buffers = mod, {}, {}

    def allocate(self, size: int):
        buffer = np.zeros(size, np.uint8).view(Buffer)
        buffer.device_address = 0x1_0000_0000 + 0x1000 * len(self.buffers)
        self.buffers[buffer.device_address] = buffer
        return buffer

    def run(self) -> None:
        given, taken = [], []
        for register in self.mod.design.board.registers:
            words = (
                self.registers.get(register.offset + 4 * k, 0) << 32 * k
                for k in range(register.words)
            )
            value = sum(words)
            array = next((a for a in self.mod.design.board.arrays if a.name == register.name), None)
            if array is not None:
                cells = self.buffers[value].memory.view(f"i{array.cell // 8}")
                (given if register.name in self.mod.design.arguments else taken).append(cells)
            elif register.written:
                given.append(value - (1 << 32) * (value >> 31))
        found = self.mod(*given)
        for cells in taken:
            cells[:] = found
        if not taken and found is not None:
            result = next(r for r in self.mod.design.board.registers if not r.written)
            self.registers[result.offset] = int(found) & 0xFFFFFFFF


class Buffer(np.ndarray):
    """What PYNQ allocates: the host sees what it has synchronised alone."""

    def sync_to_device(self) -> None:
        self.memory = np.array(self, np.uint8, copy=True)

    def sync_from_device(self) -> None:
        self[:] = self.memory


def pynq_of(mod):
    """An emulated ``pynq`` whose overlay is a design."""
    memory = Memory(mod)

    class Ip:
        def write(self, offset: int, value: int) -> None:
            assert offset % 4 == 0 and 0 <= value < 1 << 32
            memory.registers[offset] = value
            if offset == 0 and value & 1:
                memory.run()
                memory.registers[0] = 0b1110

        def read(self, offset: int) -> int:
            return memory.registers.get(offset, 0)

    overlay = type(
        "Overlay", (), {"__init__": lambda self, path: None, f"{mod.design.top}_0": Ip()}
    )
    found = types.ModuleType("pynq")
    found.Overlay, found.allocate = overlay, lambda shape, dtype: memory.allocate(*shape)
    return found


def loaded(file: Path, name: str, module, monkeypatch):
    """A program that Allo wrote, with an emulated package."""
    monkeypatch.setitem(__import__("sys").modules, name, module)
    space: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space["Kernel"]


def arrays(rng) -> tuple:
    return (
        int(rng.integers(-99, 99)),
        *(rng.integers(-(2**20), 2**20, 64, np.int32) for _ in range(2)),
        np.zeros(4, np.int8),
    )


def test_the_driver_of_pynq_calls_the_design(projects, monkeypatch, tmp_path) -> None:
    mod, folder = projects["pynq-z2"]
    kernel = loaded(folder / "driver.py", "pynq", pynq_of(mod), monkeypatch)()
    cpu, rng = allo.customize(axpy).build(), np.random.default_rng(3)
    for _ in range(3):
        a, A, B, C = arrays(rng)
        wanted = B.copy()
        expected = cpu(a, A, wanted)
        assert kernel(a, A, B, C) is None
        np.testing.assert_array_equal(B, wanted)
        np.testing.assert_array_equal(C, expected)
    with pytest.raises(ValueError, match="A is a contiguous NumPy array of 256 bytes"):
        kernel(1, np.zeros(3), B, C)
    other = built(total, "kv260")
    project = boards.project(other, tmp_path / "total")
    sums = loaded(project / "driver.py", "pynq", pynq_of(other), monkeypatch)()
    assert sums(np.arange(16, dtype=np.int32)) == 120


def xrt_of(mod):
    """An emulated ``pyxrt`` whose kernel is a design."""
    memory = Memory(mod)
    found = types.ModuleType("pyxrt")
    found.xclBOSyncDirection = types.SimpleNamespace(
        XCL_BO_SYNC_BO_TO_DEVICE=0, XCL_BO_SYNC_BO_FROM_DEVICE=1
    )
    found.ert_cmd_state = types.SimpleNamespace(ERT_CMD_STATE_COMPLETED=4)
    found.xclbin = str

    class Bo:
        normal = 0

        def __init__(self, device, size: int, flags: int, group: int) -> None:
            assert flags == Bo.normal
            self.buffer = memory.allocate(size)

        def write(self, data: bytes, offset: int) -> None:
            self.buffer[offset : offset + len(data)] = np.frombuffer(data, np.uint8)

        def read(self, size: int, offset: int) -> bytes:
            return self.buffer[offset : offset + size].tobytes()

        def sync(self, direction: int, size: int, offset: int) -> None:
            (self.buffer.sync_to_device, self.buffer.sync_from_device)[direction]()

    class Kernel:
        def __init__(self, device, uuid, name: str) -> None:
            assert name == mod.design.top and uuid == "axpy_axi.xclbin"

        def group_id(self, position: int) -> int:
            return position

        def __call__(self, *given):
            for value, register in zip(given, mod.design.board.registers, strict=False):
                word = value.buffer.device_address if isinstance(value, Bo) else value & 0xFFFFFFFF
                for k in range(register.words):
                    memory.registers[register.offset + 4 * k] = word >> 32 * k & 0xFFFFFFFF
            memory.run()
            return types.SimpleNamespace(wait=lambda timeout: 4)

    found.device = lambda number: types.SimpleNamespace(load_xclbin=lambda path: path)
    found.bo, found.kernel = Bo, Kernel
    return found


def test_the_host_of_xrt_calls_the_design(projects, monkeypatch) -> None:
    mod, folder = projects["u280"]
    kernel = loaded(folder / "host.py", "pyxrt", xrt_of(mod), monkeypatch)()
    a, A, B, C = arrays(np.random.default_rng(4))
    wanted = B.copy()
    expected = allo.customize(axpy).build()(a, A, wanted)
    kernel(a, A, B, C)
    np.testing.assert_array_equal(B, wanted)
    np.testing.assert_array_equal(C, expected)


def test_the_host_in_cpp_is_read_by_a_compiler(projects) -> None:
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", "-I", str(STUB)]
    found = subprocess.run(
        [*command, str(projects["u280"][1] / "host.cpp")], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


def test_what_no_project_can_be_written_for_is_refused(projects, tmp_path) -> None:
    s = allo.customize(total)
    for options, said in (
        ({}, "total was built for no board, so it has no project."),
        ({"board": "icebreaker"}, "iCEBreaker are made with open tools, which need no project."),
        ({"board": "zcu104"}, "reaches a design by AXI4, and total has other ports."),
        (
            {"board": "u50", "configs": {"interface": "m_axi"}},
            "XRT passes no scalar that a kernel returns",
        ),
    ):
        with pytest.raises(BoardError) as caught:
            boards.project(s.build(target="verilog", clock_mhz=24, **options), tmp_path / "p")
        assert said in str(caught.value)
    with pytest.raises(BoardError, match="made by the tools of its vendor alone"):
        projects["arty-a7-35"][0].bitstream(tmp_path / "x.bit")
