"""Synthesis of a text of SystemVerilog; what the tools answer is kept in the cache."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from allo.backend import devices
from allo.dialects.caches.files import cached_text, content_key
from allo.dialects.diagnostics import BuildError
from allo.dialects.text.verilog import without_comments

from .cells import totals, with_sizes
from .figures import Routing, Synthesis
from .paths import Places, read_routing
from .surround import surround
from .tools import find_tool, find_yosys, run

AUTOMATIC = "auto"
"""The router by the size of the design: the first of the family's, or the last where it is crowded."""
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
        family: a family of :mod:`allo.backend.devices`.
        clock_mhz: the clock that routing is asked for.
        route: place and route the design, between registers at its ports (:mod:`.surround`).
        seed: of nextpnr's random numbers; None for its own. The clock reached differs by some per cent.
        router: one of those that the family has; ``"auto"`` takes one by the size of the design.
        timeout: seconds that each run of a tool may take.

    Raises:
        BuildError: the tools cannot synthesise for, or route on, this family, or have no such router.
        ToolMissingError: Yosys or nextpnr is not installed.
        ToolFailedError: one of them failed, with its last lines.
    """
    synthesis = _flow(family, route, router)
    record, routing = devices.family(family), synthesis.routing
    tool = find_yosys()
    script = f"read_verilog -sv {_SOURCE}; {synthesis.script.format(top=top)}"
    count = f"tee -q -o {_CELLS} stat -json"

    def yosys(folder: Path, last: str, result: str) -> str:
        (folder / _SOURCE).write_text(verilog)
        run(tool, ["-q", "-p", f"{script}; {last}"], folder, what="Synthesis", timeout=timeout)
        return (folder / result).read_text()

    def cells() -> str:
        with tempfile.TemporaryDirectory(prefix="allo_synth_") as name:
            if not synthesis.sized:
                return yosys(Path(name), count, _CELLS)
            stat = json.loads(yosys(Path(name), f"{count}; write_json {_NETLIST}", _CELLS))
            netlist = json.loads((Path(name) / _NETLIST).read_text())
            kinds = stat["design"]["num_cells_by_type"]
            stat["design"]["num_cells_by_type"] = with_sizes(kinds, netlist, synthesis.sized)
            return json.dumps(stat)

    def routed(routing: devices.Routing) -> str:
        with tempfile.TemporaryDirectory(prefix="allo_synth_") as name:
            netlist = json.loads(yosys(Path(name), f"write_json {_NETLIST}", _NETLIST))
            places = Places(netlist, top, verilog, routing.signals)
            surround(netlist, top, routing)
            (Path(name) / _NETLIST).write_text(json.dumps(netlist))
            for file, text in record.part.files.items() if record.part else ():
                (Path(name) / file).write_text(text)
            return _route(places, clock_mhz, options, Path(name), timeout, record, routing)

    key = content_key(without_comments(verilog), script, tool.version)
    counted = json.loads(cached_text(("synthesis",), f"{key}.json", cells))
    kinds = counted["design"]["num_cells_by_type"]
    taken = totals(synthesis.cells, kinds, synthesis.sized)
    found = Synthesis(tool.version, family, cells=kinds, routing=None, **taken)
    if not route or routing is None:
        return found
    seeded = () if seed is None else ("--seed", str(seed))
    part = record.part.arguments if record.part is not None else ()
    chosen = routing.routers[_router_of(router, found.lut, routing)]
    options = (*part, *seeded, *chosen)
    version = find_tool(routing.tool, routing.package).version
    key = content_key(verilog, script, tool.version, version, " ".join(options), str(clock_mhz))
    plain = json.loads(cached_text(("routing",), f"{key}.json", lambda: routed(routing)))
    return replace(found, routing=Routing.from_json(plain))


def _flow(family: str, route: bool, router: str) -> devices.Synthesis:
    """How a family is synthesised; raises BuildError where it cannot be, or not routed so."""
    synthesis = devices.family(family).synthesis if family in devices.families() else None
    if synthesis is None:
        raise BuildError(
            f"Yosys cannot synthesise for the device family {family!r} here.",
            help=f"name another one with device=: {', '.join(devices.synthesised())}.",
        )
    if route and synthesis.routing is None:
        others = " or ".join(f'device="{name}"' for name in devices.routed())
        raise BuildError(
            f"No open tool places and routes designs of the device family {family!r}.",
            help=f"use {others}, or leave out route=True.",
        )
    known = synthesis.routing.routers if synthesis.routing is not None else devices.routers()
    names = tuple(dict.fromkeys((AUTOMATIC, *known)))
    if router not in names:
        raise BuildError(
            f"nextpnr has no router {router!r}.", help=f"take one of {', '.join(names)}."
        )
    return synthesis


def _router_of(name: str, lut: int, routing: devices.Routing) -> str:
    """The router that is meant, by the tables of the design where it is the tool's choice."""
    if name != AUTOMATIC:
        return name
    names = tuple(routing.routers)
    return names[-1] if lut > routing.crowded_lut else names[0]


def _route(
    places: Places,
    clock_mhz: float,
    options: Sequence[str],
    folder: Path,
    timeout: float,
    record: devices.DeviceRecord,
    routing: devices.Routing,
) -> str:
    """What nextpnr tells of the netlist in a folder, as text of JSON."""
    files = ["--json", _NETLIST, "--report", _REPORT]
    clock = ["--freq", str(clock_mhz), "--timing-allow-fail", *routing.arguments]
    last = tuple(routing.routers)[-1]
    run(
        find_tool(routing.tool, routing.package),
        ["-q", *options, *files, *clock],
        folder,
        what="Place and route",
        timeout=timeout,
        instead="" if last in options else f', take router="{last}"',
    )
    report = json.loads((folder / _REPORT).read_text())
    part = record.part.routed if record.part is not None else record.title
    return json.dumps(read_routing(report, part, clock_mhz, places).to_json())
