"""The roofline of a design: for each loop its operations a byte, and how fast it is under both roofs.

JSON first: the table, the picture (SVG) and the page are made from what :meth:`Roofline.to_json` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import log10
from typing import Any

WIDTH, HEIGHT, EDGE = 640, 400, 56
"""Of the picture, and of the margin for its scales, in pixels."""


@dataclass(frozen=True, slots=True)
class Point:
    """A loop, or the whole run.

    Attributes:
        name: of the loop, ``"run"`` for all.
        operations: in the whole run.
        moved: bytes of the words that pass there.
        needed: bytes of the elements that are used there, each once.
        cycles: that it takes: the larger of those alone and those for which its busiest channel moves data.
        memory: the latter.
    """

    name: str
    operations: int
    moved: int
    needed: int
    cycles: float
    memory: float

    @property
    def intensity(self) -> float | None:
        """Operations a byte; None where no byte passes."""
        return self.operations / self.moved if self.moved else None

    @property
    def speed(self) -> float:
        """Operations a cycle."""
        return self.operations / self.cycles if self.cycles else 0.0

    @property
    def share(self) -> float:
        """Part of its cycles in which its busiest channel moves data."""
        return self.memory / self.cycles if self.cycles else 0.0

    @property
    def bound(self) -> str:
        """``"memory"`` where the channel takes as long as the loop, else ``"compute"``."""
        return "memory" if self.moved and self.memory >= self.cycles else "compute"


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofs of a design, and its loops under them.

    Attributes:
        top: the function.
        unit: what is counted: ``"float operations"``, or ``"integer products"`` of a design without floats.
        mhz: the clock that the design can be expected to reach, or was built for.
        units: operations that it can begin in a cycle: the roof of computing.
        channels: bytes a cycle of each channel: together the roof of memory.
        points: loops that compute or pass words, and at last the run.
    """

    top: str
    unit: str
    mhz: float
    units: int
    channels: dict[str, float]
    points: tuple[Point, ...]

    @property
    def rate(self) -> float:
        """Bytes a cycle of all channels."""
        return sum(self.channels.values())

    @property
    def ridge(self) -> float:
        """Operations a byte from which on computing bounds a loop that uses all channels."""
        return self.units / self.rate if self.rate else 0.0

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data, what follows from it included."""
        shown = ("intensity", "speed", "share", "bound")
        points = [asdict(p) | {name: getattr(p, name) for name in shown} for p in self.points]
        return {
            "top": self.top,
            "unit": self.unit,
            "mhz": self.mhz,
            "units": self.units,
            "channels": dict(self.channels),
            "rate": self.rate,
            "ridge": self.ridge,
            "points": points,
        }

    def table(self) -> str:
        """A row for each loop, and the roofs."""
        head = (
            f"{'loop':<24} {'operations':>14} {'moved':>12} {'needed':>12} {'ops/byte':>9} {'ops/cycle':>10} "
            f"{'share':>7}  bound"
        )
        rows = [
            f"{p.name:<24} {p.operations:>14,} {p.moved:>12,} {p.needed:>12,} {_number(p.intensity):>9} "
            f"{p.speed:>10.2f} {p.share:>7.1%}  {p.bound}"
            for p in self.points
        ]
        roofs = (
            f"{self.units:,} {self.unit} a cycle ({self.units * self.mhz / 1e3:,.1f} G/s) and "
            f"{self.rate:,.1f} bytes a cycle ({self.rate * self.mhz / 1e3:,.1f} GB/s) at {self.mhz:.0f} MHz; "
            f"both roofs meet at {self.ridge:.2f} operations a byte"
        )
        return "\n".join([head, *rows, roofs])

    def __str__(self) -> str:
        return self.table()

    def svg(self) -> str:
        """The picture: operations a cycle over operations a byte, both as logarithms."""
        return _Picture(self).text()

    def html(self) -> str:
        """The picture and the table as a page that loads nothing else."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.top)} · roofline</title></head><body>\n{self._repr_html_()}\n"
            "</body></html>\n"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"{self.svg()}\n<pre>{escape(self.table())}</pre>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


class _Picture:
    """The lines and points of a roofline, in pixels."""

    def __init__(self, roofline: Roofline) -> None:
        self._roofline = roofline
        self._points = [p for p in roofline.points if p.intensity and p.speed]
        across = [p.intensity or 0 for p in self._points] + [roofline.ridge or 1.0]
        up = [p.speed for p in self._points] + [roofline.units or 1.0]
        self._left, self._right = _decades(across)
        self._low, self._high = _decades(up)

    def text(self) -> str:
        """SVG."""
        roof = self._roofline
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="11">',
            f"<title>Roofline of {escape(roof.top)}</title>",
        ]
        lines += self._grid()
        if roof.rate and roof.units:
            start = 10.0**self._left
            corners = [
                (start, start * roof.rate),
                (roof.ridge, roof.units),
                (10.0**self._right, roof.units),
            ]
            path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in corners)
            lines.append(
                f'<polyline points="{path}" fill="none" stroke="#1f5fbf" stroke-width="2"/>'
            )
        for point in self._points:
            x, y = self._x(point.intensity or 1), self._y(point.speed)
            color = "#c0392b" if point.bound == "memory" else "#2e7d32"
            lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>')
            lines.append(f'<text x="{x + 6:.1f}" y="{y - 5:.1f}">{escape(point.name)}</text>')
        return "\n".join([*lines, "</svg>"])

    def _grid(self) -> Sequence[str]:
        lines = []
        for power in range(self._left, self._right + 1):
            x = self._x(10.0**power)
            lines.append(self._line(x, EDGE / 2, x, HEIGHT - EDGE))
            lines.append(
                f'<text x="{x:.1f}" y="{HEIGHT - EDGE + 16}" text-anchor="middle">{10.0**power:g}</text>'
            )
        for power in range(self._low, self._high + 1):
            y = self._y(10.0**power)
            lines.append(self._line(EDGE, y, WIDTH - EDGE / 2, y))
            lines.append(
                f'<text x="{EDGE - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
            )
        unit = escape(self._roofline.unit)
        lines.append(
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 14}" text-anchor="middle">{unit} a byte</text>'
        )
        lines.append(f'<text x="{EDGE}" y="16">{unit} a cycle</text>')
        return lines

    def _line(self, x1: float, y1: float, x2: float, y2: float) -> str:
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'

    def _x(self, value: float) -> float:
        part = (log10(value) - self._left) / (self._right - self._left)
        return EDGE + part * (WIDTH - 1.5 * EDGE)

    def _y(self, value: float) -> float:
        part = (max(log10(value), self._low) - self._low) / (self._high - self._low)
        return HEIGHT - EDGE - part * (HEIGHT - 1.5 * EDGE)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around values."""
    logs = [log10(value) for value in values]
    return int(min(logs) // 1), int(max(logs) // 1) + 1


__all__ = ["Point", "Roofline"]
