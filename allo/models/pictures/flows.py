"""The FIFOs between the layers of a network on streams, told from the report of its design."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.network import Network
from allo.dialects.reports.parts import FunctionReport

_PROCESS = re.compile(r"^stage_(.*)_0$")
_RESIZE = "_resize"


@dataclass(frozen=True, slots=True)
class Flow:
    """A FIFO from a layer to another one.

    Attributes:
        source, target: their names; ``""`` is the input of the network.
        name: of the FIFO.
        depth: words that it holds.
        most: words that it has held at most in the run that the report foretells.
    """

    source: str
    target: str
    name: str
    depth: int
    most: int


def flows_of(report: DesignReport, layers: Sequence[str]) -> list[Flow]:
    """The FIFOs between layers, in the order of the design; none where the report foretells no run.

    Args:
        report: of the design.
        layers: their names, which those of their processes begin with.
    """
    network = next((f.network for f in report.functions if _is_network(f)), None)
    if network is None:
        return []
    owners = _owners(network, layers)
    held = {fifo.name: fifo for region in report.regions for fifo in region.fifos}
    found = []
    for fifo in network.fifos:
        source, target = (owners.get(end or "", "") for end in (fifo.producer, fifo.consumer))
        if target and source != target and fifo.name in held:
            known = held[fifo.name]
            found.append(Flow(source, target, fifo.name, known.depth, known.most))
    return found


def _is_network(function: FunctionReport) -> bool:
    return function.network is not None and bool(function.network.fifos)


def _owners(network: Network, layers: Sequence[str]) -> Mapping[str, str]:
    """The layer of each process; one that only changes how wide words are goes with what reads it."""
    readers = {fifo.producer: fifo.consumer for fifo in network.fifos}
    found = {}
    for process in network.processes:
        whose: str | None = process
        while whose is not None and _unit(whose).endswith(_RESIZE):
            whose = readers.get(whose)
        found[process] = _layer(_unit(whose or ""), layers)
    return found


def _unit(process: str) -> str:
    match = _PROCESS.match(process)
    return match[1] if match else process


def _layer(unit: str, layers: Sequence[str]) -> str:
    mine = [layer for layer in layers if unit == layer or unit.startswith(f"{layer}_")]
    return max(mine, key=len, default="")
