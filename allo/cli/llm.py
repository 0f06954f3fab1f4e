"""``allo llm plan``: the fastest wide transformer accelerator for a model on a device."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer
from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = typer.Typer(help="Transformer accelerators.", no_args_is_help=True)
    app.add_typer(group, name="llm")

    @group.callback()
    def llm() -> None:
        """Transformer accelerators."""

    @group.command()
    def plan(
        model: Annotated[str, typer.Option(help="a name of designs/llm/data/models.toml")],
        device: Annotated[str, typer.Option(help="a name of designs/llm/data/devices.toml")],
        bits: Annotated[int, typer.Option(help="of a weight: 8 or 4")] = 8,
        clock: Annotated[float, typer.Option(help="of the accelerator, in MHz")] = 300.0,
        context: Annotated[int, typer.Option(help="tokens that the caches hold")] = 256,
        position: Annotated[int, typer.Option(help="of the token whose time counts")] = 127,
        fill: Annotated[float, typer.Option(help="share of each resource to take")] = 0.85,
        json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    ) -> None:
        """Find parallelism and buffers under the resources and the bandwidth of a device."""
        from allo.designs.llm.analysis.data import fpga, transformer
        from allo.designs.llm.plan.search import Question
        from allo.designs.llm.plan.search import plan as find_plan
        from allo.designs.llm.plan.show import as_data, notes, tables

        asked = Question(transformer(model), fpga(device), bits, clock, context, position, fill)
        found = find_plan(asked)
        if json:
            typer.echo(json_text.dumps(as_data(found), indent=1))
            return
        console = Console(highlight=False)
        for table in tables(found):
            console.print(table)
        for note in notes(found):
            console.print(note, style="dim", markup=False, soft_wrap=True)
