"""Where a design stands, as lines for an error: from its registers and the map to its source."""

from __future__ import annotations

from collections.abc import Mapping

# Registers or loops an error lists at most.
SHOWN = 16


def standing(registers: Mapping[str, int], debug: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Where a design stands, as lines: its loops with their source, else its first registers."""
    loops = {
        signal: text
        for signals in debug.values()
        for signal, text in signals.items()
        if text.startswith("loop ")
    }
    lines = [
        f"{loops[name.rsplit('/', 1)[-1]]}: {name} = {value}."
        for name, value in registers.items()
        if name.rsplit("/", 1)[-1] in loops
    ]
    if lines or not registers:
        return lines[:SHOWN]
    shown = ", ".join(f"{name} = {value}" for name, value in list(registers.items())[:SHOWN])
    return [f"where it stands: {shown}."]


def running(registers: Mapping[str, int], debug: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The steps that a design is in, as lines: registers that are high and have a place."""
    steps = {
        signal: text.removeprefix("step ").split(" of ", 1)[1]
        for signals in debug.values()
        for signal, text in signals.items()
        if text.startswith("step ")
    }
    names = [name for name, value in registers.items() if value]
    found = [steps[last] for name in names if (last := name.rsplit("/", 1)[-1]) in steps]
    return [f"it runs {what}." for what in list(dict.fromkeys(found))[:SHOWN]]
