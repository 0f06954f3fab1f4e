"""Projects for AMD's boards: scripts against a model of their commands; what is said without the tools."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree

import pytest

import allo
from allo import boards
from allo.errors import BoardError, ToolFailedError, ToolMissingError
from allo.ir.types import Int, int8, int32
from tests.verilog.readers import icarus, with_icarus

from .tcl import TclError, check

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
    assert [int(a.get("size"), 16) for a in arguments] == [4, 8, 8, 8]
    assert [a.get("id") for a in arguments] == ["0", "1", "2", "3"]
    ports = {p.get("name") for p in kernel.findall("ports/port")}
    assert ports == {"s_axi_control", "m_axi_gmem0", "m_axi_gmem1", "m_axi_gmem2"}
    assert {a.get("port") for a in arguments} == ports
    text = (folder / "axpy_ip.v").read_text()
    assert {line.split()[0] for line in text.splitlines() if line.endswith(" wrapper (")} == {
        "axpy_axi"
    }
    for wire in mod.design.board.wires:
        bits = f"[{wire.width - 1}:0] " if wire.width > 1 else ""
        assert f"{'output' if wire.output else 'input'} {bits}{wire.name}" in text
        assert f".{wire.name}({wire.name})" in text
    assert (
        kernel.get("name") == "axpy_ip"
        and "axpy_axi.sv axpy_ip.v" in (folder / "package.tcl").read_text()
    )
    assert "--platform xilinx_u280_gen3x16_xdma_1_202211_1" in (folder / "link.sh").read_text()


@with_icarus
def test_the_top_of_the_ip_is_verilog_around_the_wrapper(projects, tmp_path) -> None:
    mod, folder = projects["pynq-z2"]
    text = (folder / "axpy_ip.v").read_text() + mod.verilog
    assert icarus(text, "axpy_ip", tmp_path) == ""
    assert icarus(text.replace(".ap_clk(ap_clk)", ".ap_klk(ap_clk)"), "axpy_ip", tmp_path) != ""


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
    with pytest.raises(
        BoardError, match="The clock of a bitstream for Digilent Arty A7-35T is that of"
    ):
        projects["arty-a7-35"][0].bitstream(tmp_path / "x.bit", clock_mhz=20)

    def wide(A: Int(100)[4], B: Int(100)[4]):
        for i in range(4):
            B[i] = A[i]

    with pytest.raises(
        BoardError, match="A is of type i100, which the driver on the board does not"
    ):
        boards.project(built(wide, "kv260", simulator="jit"), tmp_path / "p")


@pytest.mark.parametrize(
    ("board", "tool", "command"),
    [
        ("arty-a7-35", "vivado", "vivado -mode batch -source build.tcl"),
        (
            "pynq-z2",
            "vivado",
            "vivado -mode batch -source package.tcl && vivado -mode batch -source block_design.tcl",
        ),
        ("u280", "vivado", "sh link.sh"),
    ],
)
def test_without_the_tool_the_project_is_kept_and_the_command_is_named(
    board: str, tool: str, command: str, projects, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError) as caught:
        projects[board][0].bitstream(tmp_path / "my.bit")
    folder = tmp_path / f"my_{board}"
    assert f"{tool} is not installed" in str(caught.value) and str(folder) in str(caught.value)
    assert str(caught.value).endswith(f"and run there: {command}") and any(folder.glob("*.tcl"))


def test_with_the_tools_the_bitstream_is_written(projects, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    bodies = {
        "vivado": """f=$(sed -n 's/^write_bitstream -force //p' "$4"); [ -z "$f" ] || echo bits > "$f" """,
        "v++": """while [ "$1" != --output ]; do shift; done; echo xclbin > "$2" """,
    }
    for name, body in bodies.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    made = projects["u280"][0].bitstream(tmp_path / "my.xclbin")
    assert made.path.read_text() == "xclbin\n" and "my.xclbin: u280" in str(made)
    assert projects["arty-a7-35"][0].bitstream(tmp_path / "a b.bit").path.read_text() == "bits\n"
    with pytest.raises(
        ToolFailedError, match="block_design.tcl ended without an error and wrote no"
    ):
        projects["pynq-z2"][0].bitstream(tmp_path / "my.bit")
