"""Shapes of SVG as text: the same bytes every time, and readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

COLOURS = ("#cfe3f7", "#fbd9b5", "#cdebc5", "#e3d1f4", "#f9c9cf", "#e8e2b8")
FRAME = "#5b6472"
CHARACTER = 6.6
"""Width of a letter of 11 pixels."""


def page(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """A picture on white paper."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" font-family="monospace" font-size="11">\n<title>{escape(title)}</title>\n'
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def box(x: float, y: float, wide: float, high: float, fill: str = "#fff") -> str:
    """A rectangle with a frame."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" fill="{fill}" '
        f'stroke="{FRAME}" stroke-width="0.8"/>'
    )


def words(x: float, y: float, text: str, *, anchor: str = "start", style: str = "") -> str:
    """A line of text; ``style`` is further attributes."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="#1d2433"{style}>{escape(text)}</text>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    """A thin grey line."""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="#d5dae2" fill="none"/>'
