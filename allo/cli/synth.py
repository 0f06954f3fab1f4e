"""``allo synth FILE.py:FUNCTION``: what a design takes of a device, as Yosys and nextpnr say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from allo.backend.devices import DEFAULT_DEVICE

from .build import Change, What, find_schedule, write_text


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def synth(
        what: What,
        schedule: Change = None,
        device: Annotated[str, typer.Option(help="device family")] = DEFAULT_DEVICE,
        clock: Annotated[float, typer.Option(help="clock in MHz to build and route for")] = 200.0,
        route: Annotated[bool, typer.Option(help="place and route, too")] = False,
        seed: Annotated[
            int | None, typer.Option(help="seed of the random numbers of nextpnr")
        ] = None,
        router: Annotated[
            str, typer.Option(help="router1, router2 for crowded designs, or auto")
        ] = "auto",
        timeout: Annotated[float, typer.Option(help="seconds for one run of a tool")] = 1800.0,
        output: Annotated[Path | None, typer.Option("-o", help="write the JSON here")] = None,
    ) -> None:
        """Build a design for a device, synthesise it, and show its cells, clock and critical path."""
        options: dict[str, Any] = {"clock_mhz": clock, "device": device}
        built = find_schedule(what, schedule).build(target="verilog", **options)
        found = built.synthesize(route=route, seed=seed, router=router, timeout=timeout)
        typer.echo(found.table(), nl=False)
        if output is not None:
            write_text(output, json.dumps(found.to_json(), indent=1))
