"""``allo autoschedule FILE.py:NAME``: find a schedule for a kernel on a budget, and print its Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from allo.explore import Progress
from allo.explore import autoschedule as search

from .build import What, find_schedule, write_text


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def autoschedule(
        what: What,
        device: Annotated[str, typer.Option(help="a card such as u280, or a family")] = "u280",
        max_dsp: Annotated[int | None, typer.Option(help="multiplier blocks at most")] = None,
        max_lut: Annotated[int | None, typer.Option(help="lookup tables at most")] = None,
        max_bram: Annotated[int | None, typer.Option(help="18 kbit memories at most")] = None,
        clock_mhz: Annotated[float, typer.Option(help="the clock of the units")] = 200.0,
        objective: Annotated[str, typer.Option(help="cycles, area or throughput")] = "cycles",
        seconds: Annotated[float, typer.Option(help="time that the search may take")] = 60.0,
        reassociate: Annotated[
            bool, typer.Option("--reassociate", help="float sums may be added in another order")
        ] = False,
        output: Annotated[Path | None, typer.Option("-o", help="write the Python here")] = None,
    ) -> None:
        """Find a schedule, and print the Python that makes it; Ctrl-C takes the best so far."""
        given = find_schedule(what)
        console = Console(stderr=True, highlight=False)
        with console.status("reading the kernel") as status:
            found = search(
                given,
                device=device,
                max_dsp=max_dsp,
                max_lut=max_lut,
                max_bram=max_bram,
                clock_mhz=clock_mhz,
                objective=objective,  # type: ignore[arg-type]
                seconds=seconds,
                reassociate=reassociate,
                progress=lambda at: show(status, at),
            )
        console.print(str(found.trace), markup=False, soft_wrap=True)
        if output is None:
            typer.echo(found.script(), nl=False)
        else:
            write_text(output, found.script())


def show(status: Status, at: Progress) -> None:
    """Where the search stands, in one line that changes."""
    best = "no design yet" if at.cycles is None else f"best {at.cycles:,} cycles"
    bound = f", bound {at.bound:,}" if at.bound else ""
    status.update(f"{at.seconds:.0f} s: {best}{bound}, {at.tried} reports; {at.doing}")
