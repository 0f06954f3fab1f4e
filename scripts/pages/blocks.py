"""Python code blocks of the documents: every one parses, and those marked ``<!-- run -->`` run.

The mark stands alone on the line before the block. The marked blocks of a page are one program, run
from top to bottom in a process of its own, so that a later block uses the names of an earlier one. A
block marked ``<!-- output -->`` behind one of them is what that one prints, where ``…`` stands for any
text and, on a line of its own, for any lines. ``<!-- run with torch -->`` marks a block that is run where
that extra is installed:

blocks.py PAGE.md ...             check pages, and list what is wrong
blocks.py --update PAGE.md ...    write what the blocks print into the pages
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

MARK = "<!-- run -->"
MARK_WITH = "<!-- run with {} -->"
OUTPUT = "<!-- output -->"
LIMIT_S = 300
_ENDED = "\x1e"
"""What the program prints behind each block."""


@dataclass(frozen=True)
class Block:
    """A Python block of a page: its text without indentation, its first line, whether it is run.

    ``shown`` is the output that the page shows of it, and ``shown_line`` the first line of that.
    """

    text: str
    line: int
    runs: bool
    shown: str | None = None
    shown_line: int = 0


@dataclass(frozen=True)
class _Fenced:
    """What stands between two lines of backticks."""

    opened: str
    mark: str
    line: int
    text: str


def blocks_of(text: str, *extras: str) -> list[Block]:
    """The Python blocks of a page, those in lists included; blocks that need these extras are run."""
    found: list[Block] = []
    marks = {MARK, *(MARK_WITH.format(extra) for extra in extras)}
    for fenced in _fenced(text):
        if fenced.opened == "```python":
            found.append(Block(fenced.text, fenced.line, fenced.mark in marks))
        elif fenced.mark == OUTPUT and found:
            found[-1] = replace(found[-1], shown=fenced.text, shown_line=fenced.line)
    return found


def without_outputs(text: str) -> str:
    """The page without what its blocks print, every line at its place."""
    lines = text.splitlines()
    for fenced in _fenced(text):
        if fenced.mark == OUTPUT:
            for number in range(len(fenced.text.splitlines())):
                lines[fenced.line - 1 + number] = ""
    return "\n".join(lines) + "\n"


def _fenced(text: str) -> Iterator[_Fenced]:
    lines: list[str] = []
    before, opened, start = "", "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if opened and bare == _backticks(opened):
            yield _Fenced(opened, before, start, textwrap.dedent("\n".join(lines)))
            before, opened = bare, ""
        elif opened:
            lines.append(line)
        elif _backticks(bare):
            opened, lines, start = bare, [], number + 1
        elif bare:
            before = bare


def _backticks(line: str) -> str:
    """The backticks a line begins a block with: three or more, and none later in the line."""
    fence = line[: len(line) - len(line.lstrip("`"))]
    return fence if len(fence) >= 3 and "`" not in line[len(fence) :] else ""


def faults_of_syntax(page: Path, blocks: list[Block]) -> list[str]:
    """``page:line: message`` of every block that is not Python."""
    faults = []
    for block in blocks:
        try:
            ast.parse(block.text)
        except SyntaxError as error:
            faults.append(f"{page.name}:{block.line + (error.lineno or 1) - 1}: {error.msg}")
    return faults


def program_of(blocks: list[Block]) -> tuple[str, list[int]]:
    """The marked blocks as one program, a line between two of them, and the page's line of each line."""
    lines: list[str] = []
    places: list[int] = []
    for block in blocks:
        if block.runs:
            text = block.text.splitlines()
            lines += [*text, f"print({_ENDED!r})"]
            places += range(block.line, block.line + len(text) + 1)
    return "\n".join(lines) + "\n", places


class PageError(Exception):
    """A page whose program fails."""


def outputs_of(page: Path, blocks: list[Block]) -> list[str]:
    """What each marked block of a page prints. Lines are those of the program, as a reader pastes it.

    Raises:
        PageError: when the program fails, with the last lines that it wrote.
    """
    text, places = program_of(blocks)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / f"{page.stem}.py"
        program.write_text(text)
        done = subprocess.run(
            [sys.executable, "-u", "-P", str(program)],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    if done.returncode != 0:
        place = re.compile(rf'({re.escape(program.name)}(?:", line |:))(\d+)')
        said = place.sub(lambda m: f"{m[1]}{places[int(m[2]) - 1]}", done.stderr)
        raise PageError(f"{page.name}: {said[-3000:]}")
    parts = done.stdout.replace(f"{folder}/", "").split(_ENDED)[:-1]
    return [part.removeprefix("\n") for part in parts]


def fault_of_run(page: Path, blocks: list[Block]) -> str | None:
    """The last lines of what the page's program said when it failed, or None."""
    marked = [block for block in blocks if block.runs]
    if not marked:
        return None
    try:
        outputs = outputs_of(page, blocks)
    except PageError as error:
        return str(error)
    for block, printed in zip(marked, outputs, strict=True):
        if block.shown is not None and not agrees(block.shown, printed):
            return (
                f"{page.name}:{block.shown_line}: the block of line {block.line} prints something "
                f"else; scripts/python scripts/pages/blocks.py --update {page} writes it:\n{printed}"
            )
    return None


def agrees(shown: str, printed: str) -> bool:
    """Whether an output is the one shown; blanks at the ends of lines do not count."""
    pattern = re.escape(_trimmed(shown)).replace("…", ".*?")
    return re.fullmatch(pattern, _trimmed(printed), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def updated(page: Path, text: str) -> str:
    """The page with what its blocks print now; an output that agrees stays as it is."""
    blocks = blocks_of(text)
    marked = [block for block in blocks if block.runs]
    lines = text.splitlines()
    for block, printed in reversed(list(zip(marked, outputs_of(page, blocks), strict=True))):
        if block.shown is None or agrees(block.shown, printed):
            continue
        first, count = block.shown_line - 1, len(block.shown.splitlines())
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first : first + count] = [
            (indent + line).rstrip() for line in _trimmed(printed).splitlines()
        ]
    return "\n".join(lines) + "\n"


def main(pages: list[str]) -> int:
    """Check the pages, and say which one is being run and what that took; 1 if anything is wrong."""
    if pages[:1] == ["--update"]:
        for number, page in enumerate(map(Path, pages[1:]), start=1):
            print(f"[{number}/{len(pages) - 1}] {page}", flush=True)
            page.write_text(updated(page, page.read_text()))
        return 0
    faults = []
    for number, page in enumerate(map(Path, pages), start=1):
        blocks = blocks_of(page.read_text())
        faults += faults_of_syntax(page, blocks)
        run = sum(block.runs for block in blocks)
        if run:
            print(f"[{number}/{len(pages)}] {page}: running {run} blocks", end="", flush=True)
        began = time.monotonic()
        fault = fault_of_run(page, blocks)
        if run:
            print(f": {'FAILED' if fault else 'ok'}, {time.monotonic() - began:.0f} s", flush=True)
        faults += [fault] if fault else []
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
