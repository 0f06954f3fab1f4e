"""Bits that have a register, so that another register of the same bits is not a second one."""

from __future__ import annotations

from collections.abc import Iterator

from ..nodes import Run, Value, cut, join, one_of


def repeated(data: Value) -> Iterator[tuple[Value, int]]:
    """A value in pieces, from below: one bit that is repeated, and how often; other bits once."""
    others: list[Run] = []
    for run in data:
        if run[0] < 0 or run[1] >= 0:
            others.append(run)
            continue
        if others:
            yield tuple(others), 1
        others = []
        yield (one_of(run),), run[2]
    if others:
        yield tuple(others), 1


class KeptBits:
    """The bits that registers with the same enable and reset hold."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[tuple[Run, Value]]] = {}

    def add(self, data: Value, held: Value) -> None:
        """Say which register holds a value."""
        at = 0
        for run in data:
            self._pieces.setdefault(run[0], []).append((run, cut(held, at, run[2])))
            at += run[2]

    def split(self, data: Value) -> list[tuple[Value, Value | None]]:
        """A value in pieces, from below: what is held is beside them, None where nothing is."""
        found: list[tuple[Value, Value | None]] = []
        for run in data:
            for piece, held in self._of(run):
                if held is None and found and found[-1][1] is None:
                    found[-1] = (join([found[-1][0], (piece,)]), None)
                else:
                    found.append(((piece,), held))
        return found

    def _of(self, run: Run) -> Iterator[tuple[Run, Value | None]]:
        node, low, count = run
        known = self._pieces.get(node, ())
        if node < 0 or low < 0:
            held = next((value for other, value in known if other == run), None)
            yield run, held
            return
        at, end = low, low + count
        while at < end:
            held, stop = None, end
            for (_, start, size), value in known:
                if start < 0:
                    continue
                if start <= at < start + size:
                    stop = min(end, start + size)
                    held = cut(value, at - start, stop - at)
                    break
                if at < start:
                    stop = min(stop, start)
            yield (node, at, stop - at), held
            at = stop
