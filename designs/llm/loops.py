"""Loops of a compiler's report by the names of their function and their iterator."""

from __future__ import annotations

from typing import Any


class Loops:
    """Loops of a report by function and iterator name; KeyError if there is no such loop."""

    def __init__(self, report: Any) -> None:
        self._functions = {function.name: function for function in report.functions}

    def __contains__(self, function: str) -> bool:
        return function in self._functions

    def _find(self, function: str, name: str) -> Any:
        found = [
            loop
            for loop in _flatten(self._functions[function].loops)
            if loop.name.split(".")[-1].split("*")[-1] == name
        ]
        if not found:
            raise KeyError(f"{function} has no loop {name!r}")
        return found[0]

    def depth(self, function: str, name: str) -> int:
        """Cycles of one iteration of a loop."""
        depth: int = self._find(function, name).depth
        return depth

    def interval(self, function: str, name: str) -> int:
        """Cycles between two iterations of a loop."""
        interval: int = self._find(function, name).ii
        return interval

    def cycles(self, function: str, name: str) -> int:
        """Cycles of one entry of a loop."""
        cycles: int = self._find(function, name).cycles
        return cycles

    def row(self, function: str) -> int:
        """Cycles of one iteration of a function's outer loop."""
        depth: int = self._functions[function].loops[0].depth
        return depth


def _flatten(loops: list[Any]) -> list[Any]:
    return [one for loop in loops for one in (loop, *_flatten(loop.children))]
