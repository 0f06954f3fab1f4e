"""One run of the tools: Yosys, nextpnr and the packer, whose results are kept in the cache."""

from __future__ import annotations

import gzip
import json
import logging
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from allo.backend import devices
from allo.backend.synth import Routing
from allo.backend.synth.cells import totals, with_sizes
from allo.backend.synth.paths import Places, read_routing
from allo.backend.synth.tools import find_tool, find_yosys, run
from allo.dialects.caches.files import cached, content_key
from allo.dialects.diagnostics import BoardError

from ..record import OPEN, Board

log = logging.getLogger(__name__)
_SOURCE, _CELLS, _NETLIST, _REPORT = "design.sv", "cells.json", "netlist.json", "report.json"
_FILE, _ROUTED, _KEPT = "design.bit", "routed.json", "routed.json.gz"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Design:
    """What the tools are given: a text, its top module, its pins, and the clock it shall have."""

    verilog: str
    top: str
    constraints: str
    clock_mhz: float


class Flow:
    """The tools of a board.

    Raises:
        BoardError: only tools of the vendor make bitstreams for the board.
        ToolMissingError: one of them is not installed.
    """

    def __init__(self, board: Board, timeout: float, progress: Progress | None = None) -> None:
        record = devices.family(board.family)
        synthesis, routing, bitstream = record.synthesis, record.routing, record.bitstream
        if board.tools != OPEN or synthesis is None or routing is None or bitstream is None:
            raise BoardError(
                f"The bitstreams of {board.title} are made by the tools of its vendor alone.",
                help="allo.boards.project(mod, folder) writes what they need; `allo boards` lists the boards "
                "whose tools are open.",
            )
        self._board, self._timeout = board, timeout
        self._progress = progress or log.info
        self._synthesis, self._routing, self.bitstream = synthesis, routing, bitstream
        self._yosys = find_yosys()
        self._nextpnr = find_tool(routing.tool, routing.package)
        self._packer = find_tool(bitstream.packer, bitstream.package, _program(bitstream))

    def untimed(self, used: Mapping[str, int]) -> tuple[str, ...]:
        """Parts of the paths of a design that nextpnr does not time, so that its clock may be too high."""
        there = {"product": used["dsp"], "memory": used["bram"]}
        return tuple(
            " to ".join(parts)
            for parts in self._routing.untimed
            if all(there.get(part, 1) for part in parts)
        )

    def count(self, design: Design) -> tuple[Path, dict[str, int]]:
        """Synthesise: the folder with netlist and cells, and what they take by resource."""
        script = (self.bitstream.script or self._synthesis.script).format(top=design.top)
        count = f"tee -q -o {_CELLS} stat -json"
        commands = f"read_verilog -sv {_SOURCE}; {script}; {count}; write_json {_NETLIST}"

        def make(folder: Path) -> None:
            self._progress(f"synthesis by {self._yosys.version}")
            (folder / _SOURCE).write_text(design.verilog)
            run(
                self._yosys, ["-q", "-p", commands], folder, what="Synthesis", timeout=self._timeout
            )

        key = content_key(design.verilog, commands, self._yosys.version)
        folder = cached(("netlists",), key, (_CELLS,), make, bulky=(_NETLIST,))
        kinds = json.loads((folder / _CELLS).read_text())["design"]["num_cells_by_type"]
        sized = self._synthesis.sized
        if sized.keys() & kinds:
            kinds = with_sizes(kinds, json.loads((folder / _NETLIST).read_text()), sized)
        return folder, totals(self._synthesis.cells, kinds, sized)

    def route(self, design: Design, lut: int, seed: int | None) -> Routing:
        """Place, route and pack; the clock reached and the slowest path."""
        folder = self._routed(design, lut, seed)
        return Routing.from_json(json.loads((folder / _REPORT).read_text()))

    def packed(self, design: Design, lut: int, seed: int | None) -> bytes:
        """The bitstream of a run."""
        return (self._routed(design, lut, seed) / _FILE).read_bytes()

    def netlist(self, design: Design, routed: tuple[int, int | None] | None) -> Any:
        """The netlist as JSON of Yosys: after synthesis, or after a run with so many tables and a seed."""
        if routed is None:
            return json.loads((self.count(design)[0] / _NETLIST).read_text())
        return routed_netlist(self.kept(design, *routed))

    def kept(self, design: Design, lut: int, seed: int | None) -> Path:
        """The file with the netlist of a run."""
        return self._routed(design, lut, seed) / _KEPT

    def _routed(self, design: Design, lut: int, seed: int | None) -> Path:
        routers = tuple(self._routing.routers.values())
        options = (
            *self._board.tool_arguments,
            *self._board_arguments(seed),
            *routers[-1 if lut > self._routing.crowded_lut else 0],
            *self.bitstream.arguments,
            "--freq",
            f"{design.clock_mhz:.6f}",
        )
        pack = (*self._board.pack_arguments, *self.bitstream.packer_arguments)
        netlist, _ = self.count(design)

        def make(kept: Path) -> None:
            with tempfile.TemporaryDirectory(prefix="allo_board_") as name:
                self._run(design, netlist, Path(name), kept, options, pack)

        key = content_key(
            netlist.name, design.constraints, " ".join(options), " ".join(pack),
            self._nextpnr.version, self._packer.version,
        )  # fmt: skip
        return cached(("bitstreams",), key, (_FILE, _REPORT), make, bulky=(_KEPT,))

    def _board_arguments(self, seed: int | None) -> tuple[str, ...]:
        return () if seed is None else ("--seed", str(seed))

    def _run(
        self,
        design: Design,
        netlist: Path,
        folder: Path,
        kept: Path,
        options: tuple[str, ...],
        pack: tuple[str, ...],
    ) -> None:
        (folder / self.bitstream.constraints).write_text(design.constraints)
        (folder / _NETLIST).write_bytes((netlist / _NETLIST).read_bytes())
        self._progress(f"place and route by {self._nextpnr.version}, for {design.clock_mhz:g} MHz")
        start = perf_counter()
        files = ["--json", _NETLIST, "--report", _REPORT, "--timing-allow-fail"]
        files += ["--write", _ROUTED] if "--write" not in options else []
        run(
            self._nextpnr, ["-q", *options, *files], folder,
            what="Place and route", timeout=self._timeout,
        )  # fmt: skip
        self._progress(f"bitstream by {self._packer.version}, after {perf_counter() - start:.0f} s")
        run(
            self._packer, [part.format(file=_FILE) for part in pack], folder,
            what="Packing the bitstream", timeout=self._timeout,
        )  # fmt: skip
        places = Places(
            json.loads((netlist / _NETLIST).read_text()),
            design.top, design.verilog, self._routing.signals,
        )  # fmt: skip
        report = json.loads((folder / _REPORT).read_text())
        found = read_routing(report, self._board.part, design.clock_mhz, places)
        (kept / _REPORT).write_text(json.dumps(found.to_json()))
        (kept / _FILE).write_bytes((folder / _FILE).read_bytes())
        (kept / _KEPT).write_bytes(gzip.compress((folder / _ROUTED).read_bytes(), 6, mtime=0))


def routed_netlist(file: Path) -> Any:
    """What nextpnr wrote of a routed design."""
    return json.loads(gzip.decompress(file.read_bytes()))


def _program(bitstream: devices.Bitstream) -> str:
    """What a wheel calls the packer: YoWASP's have its name before theirs."""
    prefix = "yowasp-" if bitstream.package.startswith("yowasp-") else ""
    return f"{prefix}{bitstream.packer}"
