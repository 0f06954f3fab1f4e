"""Writes the page of each open board from its record: `python -m scripts.pages.boards`.

Boards of one maker that have the same pins share a page. `tests/docs/test_board_pages.py` compares the pages
with what this writes.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from allo import boards
from allo.backend import devices
from allo.boards.flow.clock import settings
from allo.boards.record import OPEN, Board, Pin

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "boards"


def _page_of(board: Board) -> str:
    """The name of a board's page: boards of one maker that have the same pins share it."""
    first = board.name.partition("-")[0]
    others = [b for b in map(boards.board, boards.boards()) if b.name.startswith(f"{first}-")]
    return first if all(b.pins == board.pins for b in others) else board.name


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    known = [board for board in map(boards.board, boards.boards()) if board.tools == OPEN]
    return {name: _page(tuple(group)) for name, group in groupby(known, _page_of)}


def _page(group: tuple[Board, ...]) -> str:
    first = group[0]
    titles = [board.title for board in group]
    record = devices.family(first.family)
    program = " ".join(first.programmer)
    bitstream = record.bitstream
    suffix = bitstream.suffix if bitstream is not None else ".bit"
    notes = [first.cables, *dict.fromkeys(note for board in group for note in board.notes)]
    return "\n".join(
        [
            f"# {titles[0] if len(group) == 1 else _common(titles)}",
            "",
            "[Boards](../boards.md) says what is so of all of them; here is what is of this one. The page is "
            "written from its record.",
            "",
            "| `board=` | part | LUT | FF | DSP | blocks of RAM | oscillator |",
            "|---|---|---:|---:|---:|---:|---:|",
            *(_row(board) for board in group),
            "",
            "```bash",
            f"allo bitstream add.py:add --board {first.name} -o add{suffix}",
            f"allo program add{suffix} --board {first.name}      # openFPGALoader {program}",
            "```",
            "",
            f'* `allo.boards.connect("{first.port}", mod)` calls it; `ls /dev/tty*` tells others.',
            *(f"* {note}" for note in notes),
            f"* {_clocks(first)}",
            f"* {_memories(group)}",
            f"* {_links(first)}",
            "",
            "| role | site | of its buffer | active at |",
            "|---|---|---|---|",
            *_pins(first),
            "",
        ]
    )


def _common(titles: list[str]) -> str:
    """What the titles have in common, word by word."""
    words = [title.split() for title in titles]
    same = [pair[0] for pair in zip(*words, strict=False) if len(set(pair)) == 1]
    return " ".join(same)


def _row(board: Board) -> str:
    have = board.resources
    counts = " | ".join(f"{have[kind]:,}" for kind in ("lut", "ff", "dsp", "bram"))
    return f"| `{board.name}` | {board.part} | {counts} | {board.oscillator_mhz:g} MHz |"


def _clocks(board: Board) -> str:
    made = settings(board)
    usual = devices.family(board.family).usual_mhz
    return (
        f"Clocks: {len(made):,} from {made[0].mhz:.4g} to {made[-1].mhz:.4g} MHz. `mod.bitstream` chooses "
        f"the fastest that the routed design reaches; designs are built for {usual:g} MHz where `clock_mhz=` "
        "says nothing else."
    )


def _memories(group: tuple[Board, ...]) -> str:
    found = {
        f"{memory.kind.upper()} of {memory.bytes >> 10:,} KB, {memory.width} bits wide"
        + (f" ({memory.part})" if memory.part else "")
        + (
            ", for arrays of `m_axi`"
            if memory.sdram is not None
            else ", which the shell does not serve"
        )
        for board in group
        for memory in board.memories
    }
    return f"Memory: {'; '.join(sorted(found))}." if found else "No memory beside the device."


def _links(board: Board) -> str:
    return (
        'Links: the serial port of 1,000,000 baud, and `link="fifo245"` with an '
        "[FT232H](../boards.md#a-fifo-in-place-of-the-serial-line)."
        if "fifo_d[0]" in board.pins
        else "Link: the serial port of 1,000,000 baud."
    )


def _pins(board: Board) -> list[str]:
    return [
        f"| `{role}` | {pin.site} | {_buffer(pin)} | {0 if pin.low else 1} |"
        for role, pin in board.pins.items()
    ]


def _buffer(pin: Pin) -> str:
    return ", ".join(f"{key}={value}" for key, value in pin.attributes.items()) or "–"


def main() -> int:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text)
        sys.stdout.write(f"docs/boards/{name}.md\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
