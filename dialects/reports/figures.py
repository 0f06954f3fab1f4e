"""Figures about a built design, the same for every target: JSON, table, HTML.

The RTL compiler fills one from its schedule, the HLS driver from a vendor's
report. Cycles are clock cycles; None means not known before running.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..diagnostics import SourcePlace
from .network import Network
from .parts import DesignFigures, FunctionReport, LoopReport, MemoryReport, PathPart, PortPath
from .regions import RegionReport

__all__ = [
    "DesignReport",
    "FunctionReport",
    "LoopReport",
    "MemoryReport",
    "PathPart",
    "PortPath",
    "place_text",
]


@dataclass(slots=True)
class DesignReport(DesignFigures):
    """A whole design, which can be shown and kept."""

    def to_json(self) -> dict[str, Any]:
        """The whole report as plain data."""
        return {**asdict(self), "utilisation": self.utilisation}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DesignReport:
        """The report that :meth:`to_json` gave; unknown keys are a TypeError."""
        plain = {key: value for key, value in data.items() if key != "utilisation"}
        functions = [_function_from_json(item) for item in plain.pop("functions", [])]
        path = [PathPart(**part) for part in plain.pop("critical_path", [])]
        ports = [_port_path_from_json(item) for item in plain.pop("port_paths", [])]
        regions = [RegionReport.from_json(item) for item in plain.pop("regions", [])]
        return cls(
            **plain, functions=functions, critical_path=path, port_paths=ports, regions=regions
        )

    def table(self) -> str:
        """The report as text tables."""
        from .view import render_table

        return render_table(self)

    def html(self) -> str:
        """The report as one self-contained HTML page."""
        from .view import render_html

        return render_html(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables of :meth:`html`, as a part of its page."""
        from .view import render_fragment

        return render_fragment(self)

    def __str__(self) -> str:
        return self.table()


def place_text(place: SourcePlace | None) -> str:
    """``file:line:col``, or "" for no place."""
    return str(place) if place else ""


def _function_from_json(data: dict[str, Any]) -> FunctionReport:
    plain = dict(data)
    loops = [_loop_from_json(item) for item in plain.pop("loops", [])]
    memories = [MemoryReport(**item) for item in plain.pop("memories", [])]
    network = plain.pop("network", None)
    joined = Network.from_json(network) if network else None
    return FunctionReport(**plain, loops=loops, memories=memories, network=joined)


def _port_path_from_json(data: dict[str, Any]) -> PortPath:
    return PortPath(**data | {"parts": [PathPart(**part) for part in data["parts"]]})


def _loop_from_json(data: dict[str, Any]) -> LoopReport:
    plain = dict(data)
    return LoopReport(**plain | {"children": [_loop_from_json(c) for c in data["children"]]})
