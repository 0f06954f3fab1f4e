"""``allo boards``, ``allo bitstream FILE.py:NAME`` and ``allo program FILE``: from a design to a board."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from allo import boards as known
from allo.dialects.diagnostics import BoardError, ToolMissingError
from allo.dialects.processes.tools import run_tool

from .build import Change, What, find_schedule

_Board = Annotated[str, typer.Option("--board", help="name of the board; `allo boards` lists them")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""

    @app.command()
    def boards() -> None:
        """List the boards, and whose tools make their bitstreams."""
        table = Table("board", "what", "part", "LUTs", "DSP", "block RAM", "oscillator", "tools")
        for name in known.boards():
            board = known.board(name)
            counts = (
                f"{board.resources[kind]:,}" if kind in board.resources else ""
                for kind in ("lut", "dsp", "bram")
            )
            tools = "vendor tools" if board.tools == "vivado" else board.tools
            clock = f"{board.oscillator_mhz:g} MHz" if board.oscillator_mhz else ""
            table.add_row(name, board.title, board.part, *counts, clock, tools)
        Console(width=None if Console().is_terminal else 140).print(table)

    @app.command()
    def bitstream(
        what: What,
        board: _Board,
        output: Annotated[Path, typer.Option("-o", help="write the bitstream here")],
        schedule: Change = None,
        clock: Annotated[
            float | None, typer.Option(help="clock in MHz; the fastest reached where left out")
        ] = None,
        link: Annotated[
            str, typer.Option(help="how calls come to the board: uart or fifo245")
        ] = "uart",
        seeds: Annotated[int, typer.Option(help="so many seeds of nextpnr are tried")] = 1,
        timeout: Annotated[float, typer.Option(help="seconds for one run of a tool")] = 1800.0,
    ) -> None:
        """Build a design for a board and write its bitstream."""
        built = find_schedule(what, schedule).build(target="verilog", board=board, link=link)
        made = built.bitstream(
            output,
            clock_mhz=clock,
            seeds=seeds,
            timeout=timeout,
            progress=lambda step: typer.echo(step, err=True),
        )
        typer.echo(made.table(), nl=False)
        for note in known.board(board).notes:
            typer.echo(f"  {note}")

    @app.command()
    def program(
        file: Path,
        board: _Board,
        timeout: Annotated[float, typer.Option(help="seconds that it may take")] = 300.0,
    ) -> None:
        """Load a bitstream into a board, with openFPGALoader."""
        found = known.board(board)
        if not file.is_file():
            raise BoardError(f"There is no bitstream {file}.", help="`allo bitstream` writes one.")
        if not found.programmer:
            raise BoardError(
                f"How {found.title} is programmed is not known here.",
                help="name openFPGALoader's arguments in its record (Board.programmer).",
            )
        loader = shutil.which("openFPGALoader")
        if loader is None:
            raise ToolMissingError(
                "openFPGALoader is not installed.",
                help="run `sudo apt-get install -y openfpgaloader`.",
            )
        run_tool(
            [loader, *found.programmer, str(file)], None, what="Programming", timeout_s=timeout
        )
        typer.echo(f"{found.title} is programmed with {file}.")
