"""The report of nextpnr: clock, use of the part, and the critical path in lines of Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .figures import PathStep, Routing

_PLACE = re.compile(r"//\s*(\S.*?):(\d+):(\d+)")
_FILE = re.compile(r"// (\S+) is (.+)")
_LINE = re.compile(r":(\d+)\.")
_DRIVEN = re.compile(r"\s*(?:assign (\w+) = |\w+ (\w+) \((?:$|  //))")


class Places:
    """The Python lines of a netlist's signals, by way of the comments of the Verilog."""

    def __init__(
        self, netlist: dict[str, Any], top: str, verilog: str, kinds: Sequence[str]
    ) -> None:
        self._cell = re.compile(f"_({'|'.join(kinds)})")
        self._lines = verilog.splitlines()
        head = (line for line in self._lines if line.startswith("//"))
        self._files = {f[1]: f[2] for f in map(_FILE.fullmatch, head) if f is not None}
        nets = netlist["modules"][top]["netnames"]
        self._sources = {
            name: net["attributes"]["src"]
            for name, net in nets.items()
            if "src" in net["attributes"]
        }
        found = ((_DRIVEN.match(line), line) for line in self._lines)
        self._drivers = {driven[driven.lastindex or 1]: line for driven, line in found if driven}

    def signal(self, net: str) -> str:
        """The signal of the Verilog that a net of the tools belongs to."""
        return self._cell.split(re.sub(r"\[\d+\]$", "", net), maxsplit=1)[0]

    def of(self, signal: str) -> str:
        """``file:line:col`` of a signal, or "".

        A port is declared without a place, and so is what an instance has inside: the assignment of the
        one and the instance of the other have it.
        """
        found = _LINE.search(self._sources.get(signal, ""))
        declared = self._lines[int(found[1]) - 1 : int(found[1])] if found else []
        assigned = self._drivers.get(signal.partition(".")[0], "")
        places = (first_place(line, self._files) for line in (*declared, assigned))
        return next(filter(None, places), "")


def first_place(line: str, files: Mapping[str, str] | None = None) -> str:
    """The first place that the comment of a line of Verilog names, as ``file:line:col``, or "".

    ``files`` are the paths of the files that the head of the Verilog explains, by their short names.
    """
    found = _PLACE.search(line)
    if found is None:
        return ""
    return f"{(files or {}).get(found[1], found[1])}:{found[2]}:{found[3]}"


def read_routing(report: dict[str, Any], device: str, asked_mhz: float, places: Places) -> Routing:
    """The figures of the report that nextpnr writes."""
    reached = min((c["achieved"] for c in report["fmax"].values()), default=asked_mhz)
    used = {
        kind: (found["used"], found["available"])
        for kind, found in report["utilization"].items()
        if found["used"]
    }
    inside = [p for p in report["critical_paths"] if _clocked(p["from"]) and _clocked(p["to"])]
    slowest = max(inside, key=_length, default=None)
    steps = tuple(_step(s, places) for s in slowest["path"]) if slowest else ()
    return Routing(device, asked_mhz, round(reached, 2), steps, used)


def _clocked(end: str) -> bool:
    return end.startswith(("posedge", "negedge"))


def _length(path: dict[str, Any]) -> float:
    return float(sum(step["delay"] for step in path["path"]))


def _step(step: dict[str, Any], places: Places) -> PathStep:
    signal = places.signal(step["net"]) if "net" in step else ""
    return PathStep(step["type"], round(step["delay"], 3), signal, places.of(signal))
