"""Draws signals as an SVG picture: a row a signal, a column a clock cycle; the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

CELL, ROW, TOP, EDGE = 34, 24, 22, 3
CHARACTER = 5.5
HIGH, LOW = 5, 19
CHARACTERS = 8
STYLE = (
    "text{font:9px monospace;fill:#222}.n{fill:#777}.s{font-size:7px}.t{font-size:6px}"
    ".g{stroke:#e4e4e4}.w{stroke:#1d5fa8;fill:none}.b{stroke:#1d5fa8;fill:#eaf2fb}"
    ".x{fill:#f0f0f0}.p{fill:#fff}"
)


@dataclass(frozen=True)
class Row:
    """One line of the picture.

    Attributes:
        label: what stands in front.
        texts: what each cycle holds; None where the value means nothing.
        bit: draw ``"0"`` and ``"1"`` as a line.
    """

    label: str
    texts: tuple[str | None, ...]
    bit: bool = False


def draw(title: str, rows: Sequence[Row], first_cycle: int) -> str:
    """The picture as text of an SVG file; ``first_cycle`` is the number of the first column."""
    cycles = max(len(row.texts) for row in rows)
    left = 10 + round(CHARACTER * max(len(row.label) for row in rows))
    width, height = left + CELL * cycles + 6, TOP + ROW * len(rows) + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="p" width="{width}" height="{height}"/>',
    ]
    grid = "".join(f"M{left + CELL * c} {TOP - 4}V{height - 2}" for c in range(cycles + 1))
    parts.append(f'<path class="g" d="{grid}"/>')
    for c in range(cycles):
        parts.append(_text(left + CELL * c + CELL // 2, 12, str(first_cycle + c), "n"))
    for number, row in enumerate(rows):
        top = TOP + ROW * number
        parts.append(f'<text x="4" y="{top + 15}">{escape(row.label)}</text>')
        parts.extend(_line(row, left, top) if row.bit else _cells(row, left, top))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}" text-anchor="middle"{attribute}>{escape(text)}</text>'


def _line(row: Row, left: int, top: int) -> list[str]:
    """A wire of one bit."""
    steps, last = "", ""
    for c, text in enumerate(row.texts):
        y = top + (HIGH if text == "1" else LOW)
        if text != last:
            steps += f"M{left}{f' {y}'}" if not steps else f"V{y}"
        steps += f"H{left + CELL * (c + 1)}"
        last = text or ""
    return [f'<path class="w" d="{steps}"/>']


def _cells(row: Row, left: int, top: int) -> list[str]:
    """A bus: one box for as long as a value stays."""
    parts = []
    start = 0
    for c in range(1, len(row.texts) + 1):
        if c < len(row.texts) and row.texts[c] == row.texts[start]:
            continue
        parts.append(_box(row.texts[start], left + CELL * start, CELL * (c - start), top))
        start = c
    return [part for part in parts if part]


def _box(text: str | None, x: int, width: int, top: int) -> str:
    if text is None:
        return f'<rect class="x" x="{x}" y="{top + HIGH}" width="{width}" height="{LOW - HIGH}"/>'
    middle, half = top + (HIGH + LOW) // 2, (LOW - HIGH) // 2
    inner = width - 2 * EDGE
    shape = (
        f'<path class="b" d="M{x} {middle}l{EDGE} {-half}h{inner}l{EDGE} {half}'
        f'l{-EDGE} {half}h{-inner}z"/>'
    )
    room = max(CHARACTERS, int((width - 2 * EDGE) / CHARACTER))
    shown = text if len(text) <= room else "…" + text[1 - room :]
    narrow = width == CELL and len(shown) > 5
    size = ("s" if len(shown) == 6 else "t") if narrow else ""
    return shape + _text(x + width // 2, middle + 3, shown, size)
