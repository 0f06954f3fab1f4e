"""What equations (21) to (24) need from the compiler's report of several devices."""

from __future__ import annotations

import re
from typing import Any

from ..analysis.devices import LinkDepths
from ..analysis.engine import Depths


def depths_of(report: Any, rows: int) -> tuple[Depths, LinkDepths]:
    """The depths of the loops of a device, and of those that are for the links' sake.

    Args:
        report: the ``DesignReport`` of a region of devices, which are alike.
        rows: words of V elements of the hidden width.

    Raises:
        KeyError: when a loop is not in the report.
    """
    found: dict[tuple[str, str], Any] = {}

    def note(process: str, loops: list[Any]) -> None:
        for loop in loops:
            name = re.sub(r"^S_[a-z]+_\d+\.", "", loop.name).split("*")[-1]
            found.setdefault((process, name), loop)
            note(process, loop.children)

    for function in report.functions:
        note(re.sub(r"(_v\d+|_\d+|_end|_stage)+$", "", function.name), function.loops)

    def depth(process: str, name: str) -> float:
        return float(found[process, name].depth)

    def if_there(process: str, name: str) -> float:
        return depth(process, name) if (process, name) in found else 0.0

    engine = Depths(
        multiply=depth("multiply", "mac"),
        gather=depth("gather", "word"),
        rescale=depth("rescale", "out"),
        spread=depth("spreading", "word"),
        normalise=depth("normalise", "n") - 2 * rows,
        bend=depth("bend", "out"),
        pack=depth("pack", "out"),
        deal=depth("dealing", "head"),
        score=depth("score", "key"),
        mix=depth("mix", "key"),
        turn=depth("collecting", "turn"),
        divide=depth("divide", "out"),
        embed=depth("embed", "row"),
        say=depth("say", "out"),
    )
    links = LinkDepths(
        send=if_there("reduce_shares", "sent"),
        add=if_there("reduce_shares", "last"),
        leave=if_there("keep", "out"),
        enter=depth("entering", "row"),
        choose=depth("saying", "step") - found["say", "out"].cycles,
        vote=if_there("elect", "hop"),
    )
    return engine, links
