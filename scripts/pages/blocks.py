"""Python code blocks of the documents: every one parses, and those marked ``<!-- run -->`` run.

The mark stands alone on the line before the block. The marked blocks of a page are one program, run
from top to bottom in a process of its own, so that a later block uses the names of an earlier one:
``blocks.py PAGE.md ...`` checks pages and lists what is wrong.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

MARK = "<!-- run -->"
LIMIT_S = 300


@dataclass(frozen=True)
class Block:
    """A Python block of a page: its text without indentation, its first line, whether it is run."""

    text: str
    line: int
    runs: bool


def blocks_of(text: str) -> list[Block]:
    """The Python blocks of a page, those in lists included."""
    found: list[Block] = []
    lines: list[str] = []
    before, opened, start = "", "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if opened and bare == _backticks(opened):
            if opened == "```python":
                found.append(Block(textwrap.dedent("\n".join(lines)), start, before == MARK))
            before, opened = bare, ""
        elif opened:
            lines.append(line)
        elif _backticks(bare):
            opened, lines, start = bare, [], number + 1
        elif bare:
            before = bare
    return found


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


def program_of(blocks: list[Block]) -> str:
    """The marked blocks as one program in which every line keeps the number it has on the page."""
    lines: list[str] = []
    for block in blocks:
        if block.runs:
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines) + "\n"


def fault_of_run(page: Path, blocks: list[Block]) -> str | None:
    """The last lines of what the page's program said when it failed, or None."""
    if not any(block.runs for block in blocks):
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / f"{page.stem}.md.py"
        program.write_text(program_of(blocks))
        done = subprocess.run(
            [sys.executable, str(program)],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    return None if done.returncode == 0 else f"{page.name}: {done.stderr[-3000:]}"


def main(pages: list[str]) -> int:
    """Check the pages, and say which one is being run and what that took; 1 if anything is wrong."""
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
