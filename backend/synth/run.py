"""Synthesis of a text of SystemVerilog; what the tools answer is kept in the cache."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from allo.dialects.caches.files import cached_text, content_key
from allo.dialects.diagnostics import BuildError

from .cells import totals
from .figures import Routing, Synthesis
from .paths import Places, read_routing
from .surround import surround
from .tools import find_nextpnr, find_yosys, run

_XILINX = "synth_xilinx -flatten -family {family} -noiopad -noclkbuf -top {top}"
_ONE_PORT = (
    "t:$mem_v2 r:SIZE>256 %i r:RD_PORTS=1 %i r:WR_PORTS=1 %i r:RD_CLK_ENABLE=1'1 %i a:ram_style %d"
)
"""Deep memories with one port: Yosys 0.70 knows a LUT memory for them that UltraScale+ does not have.

Those that ask for a kind of block get it.
"""
SCRIPTS = {
    "xcup": f"{_XILINX} -run begin:map_memory; "
    f'setattr -set ram_style "block" {_ONE_PORT}; {_XILINX} -run map_memory:',
    "xc7": _XILINX,
    "ecp5": "synth_ecp5 -top {top}",
}
FAMILIES = tuple(SCRIPTS)
ROUTED = "ecp5"
PART = ("--85k", "--package", "CABGA381", "--speed", "6")
PART_NAME = "LFE5U-85F CABGA381, speed grade 6"
ROUTERS = {"router1": (), "router2": ("--router", "router2", "--tmg-ripup")}
"""The routers of nextpnr: its own choice, and one that shares wires until few are crowded.

The second one ends in minutes where the first one takes an hour. Small designs are 10 to 25 per cent
slower by it. ``--tmg-ripup`` has it prefer short wires on slow paths.
"""
AUTOMATIC = "auto"
CROWDED_LUT = 10_000
"""Lookup tables above which a design is routed by ``router2``, unless it asks for the other one.

Measured on the LFE5U-85F: a bitonic sorter of 7,851 ends by ``router1`` in a minute with every seed,
and an array of 13,226 does not end with one seed of three.
"""
_SOURCE, _CELLS, _NETLIST, _REPORT = "design.sv", "cells.json", "netlist.json", "report.json"


def synthesize(
    verilog: str,
    top: str,
    family: str,
    *,
    clock_mhz: float = 100.0,
    route: bool = False,
    seed: int | None = None,
    router: str = AUTOMATIC,
    timeout: float = 1800.0,
) -> Synthesis:
    """Synthesise a design with Yosys and, if asked to, place and route it with nextpnr.

    Args:
        verilog: the whole design.
        top: its top module.
        family: ``"xcup"``, ``"xc7"`` or ``"ecp5"``.
        clock_mhz: the clock that routing is asked for.
        route: place and route the design, between registers at its ports (:mod:`.surround`).
        seed: of nextpnr's random numbers; None for its own. The clock reached differs by some per cent.
        router: a key of :data:`ROUTERS`; ``"auto"`` takes one by the size of the design.
        timeout: seconds that each run of a tool may take.

    Raises:
        BuildError: the tools cannot synthesise for, or route on, this family, or have no such router.
        ToolMissingError: Yosys or nextpnr is not installed.
        ToolFailedError: one of them failed, with its last lines.
    """
    _check(family, route, router)
    tool = find_yosys()
    script = f"read_verilog -sv {_SOURCE}; {SCRIPTS[family].format(family=family, top=top)}"
    count = f"tee -q -o {_CELLS} stat -json"

    def yosys(folder: Path, last: str, result: str) -> str:
        (folder / _SOURCE).write_text(verilog)
        run(tool, ["-q", "-p", f"{script}; {last}"], folder, what="Synthesis", timeout=timeout)
        return (folder / result).read_text()

    def cells() -> str:
        with tempfile.TemporaryDirectory(prefix="allo_synth_") as name:
            return yosys(Path(name), count, _CELLS)

    def routed() -> str:
        with tempfile.TemporaryDirectory(prefix="allo_synth_") as name:
            netlist = json.loads(yosys(Path(name), f"write_json {_NETLIST}", _NETLIST))
            places = Places(netlist, top, verilog)
            surround(netlist, top)
            (Path(name) / _NETLIST).write_text(json.dumps(netlist))
            return _route(places, clock_mhz, options, Path(name), timeout)

    key = content_key(verilog, script, tool.version)
    counted = json.loads(cached_text(("synthesis",), f"{key}.json", cells))
    kinds = counted["design"]["num_cells_by_type"]
    found = Synthesis(tool.version, family, cells=kinds, routing=None, **totals(family, kinds))
    if not route:
        return found
    seeded = () if seed is None else ("--seed", str(seed))
    options = (*PART, *seeded, *ROUTERS[_router_of(router, found.lut)])
    version = find_nextpnr().version
    key = content_key(verilog, script, tool.version, version, " ".join(options), str(clock_mhz))
    plain = json.loads(cached_text(("routing",), f"{key}.json", routed))
    return replace(found, routing=Routing.from_json(plain))


def _check(family: str, route: bool, router: str) -> None:
    if family not in SCRIPTS:
        raise BuildError(
            f"Yosys cannot synthesise for the device family {family!r} here.",
            help=f"name another one with device=: {', '.join(FAMILIES)}.",
        )
    if route and family != ROUTED:
        raise BuildError(
            f"No open tool places and routes designs of the device family {family!r}.",
            help=f'use device="{ROUTED}", or leave out route=True.',
        )
    if router not in (AUTOMATIC, *ROUTERS):
        raise BuildError(
            f"nextpnr has no router {router!r}.",
            help=f"take one of {', '.join((AUTOMATIC, *ROUTERS))}.",
        )


def _router_of(name: str, lut: int) -> str:
    if name != AUTOMATIC:
        return name
    return "router2" if lut > CROWDED_LUT else "router1"


def _route(
    places: Places, clock_mhz: float, options: Sequence[str], folder: Path, timeout: float
) -> str:
    """What nextpnr tells of the netlist in a folder, as text of JSON."""
    files = ["--json", _NETLIST, "--report", _REPORT]
    clock = ["--freq", str(clock_mhz), "--timing-allow-fail", "--lpf-allow-unconstrained"]
    run(
        find_nextpnr(),
        ["-q", *options, *files, *clock],
        folder,
        what="Place and route",
        timeout=timeout,
        instead="" if "router2" in options else ', take router="router2"',
    )
    report = json.loads((folder / _REPORT).read_text())
    return json.dumps(read_routing(report, PART_NAME, clock_mhz, places).to_json())
