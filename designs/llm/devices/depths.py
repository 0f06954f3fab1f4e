"""What equations (21) to (24) need from the compiler's report of several devices."""

from __future__ import annotations

from typing import Any

from ..analysis.devices import LinkDepths
from ..analysis.engine import Depths
from ..plan import reports


def depths_of(report: Any, rows: int) -> tuple[Depths, LinkDepths]:
    """The depths of the loops of a device, and of those that are for the links' sake.

    Args:
        report: the ``DesignReport`` of a region of devices, which are alike.
        rows: words of V elements of the hidden width.

    Raises:
        KeyError: when a loop is not in the report.
    """
    found = reports.loops_of(report)

    def if_there(process: str, name: str) -> float:
        return float(found[process, name].depth) if (process, name) in found else 0.0

    links = LinkDepths(
        send=if_there("reduce_shares", "sent"),
        add=if_there("reduce_shares", "last"),
        leave=if_there("keep", "out"),
        enter=float(found["entering", "row"].depth),
        choose=float(found["saying", "step"].depth - found["say", "out"].cycles),
        vote=if_there("elect", "hop"),
    )
    return reports.depths_of(report, rows), links
