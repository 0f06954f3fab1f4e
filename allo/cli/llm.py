"""``allo llm``: the fastest wide transformer accelerator for a model on a device, and a server of models."""

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
        model: Annotated[
            str, typer.Option(help="a name of designs/llm/data/models.toml, or a folder")
        ],
        device: Annotated[str, typer.Option(help="a name of data/devices.toml, or such a file")],
        bits: Annotated[int, typer.Option(help="of a weight: 8 or 4")] = 8,
        clock: Annotated[
            float | None, typer.Option(help="of the accelerator, in MHz; by default the estimate's")
        ] = None,
        context: Annotated[int, typer.Option(help="tokens that the caches hold")] = 256,
        position: Annotated[int, typer.Option(help="of the token whose time counts")] = 127,
        fill: Annotated[float, typer.Option(help="share of each resource to take")] = 0.85,
        ternary: Annotated[
            bool, typer.Option("--ternary", help="ternary weights, on the chip")
        ] = False,
        cache: Annotated[
            str, typer.Option(help="where keys and values are: chip, external or channels")
        ] = "",
        cache_bits: Annotated[
            int, typer.Option(help="of an element of keys and values: 8 or 4")
        ] = 8,
        json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    ) -> None:
        """Find parallelism and buffers under the resources and the bandwidth of a device."""
        from allo.designs.llm.plan.inputs import device_of, model_of
        from allo.designs.llm.plan.question import Question
        from allo.designs.llm.plan.search import plan as find_plan
        from allo.designs.llm.plan.show import as_data, notes, tables

        chosen, card = model_of(model), device_of(device)
        asked = Question(
            chosen, card, bits, clock, context, position, fill, ternary, cache, cache_bits
        )
        found = find_plan(asked)
        if json:
            typer.echo(json_text.dumps(as_data(found), indent=1))
            return
        console = Console(highlight=False)
        for table in tables(found):
            console.print(table)
        for note in notes(found):
            console.print(note, style="dim", markup=False, soft_wrap=True)

    @group.command()
    def serve(
        model: Annotated[str, typer.Option(help="speaker, smollm2, a folder, or a file of GGUF")],
        engine: Annotated[str, typer.Option(help="cpu, or rtl: simulated hardware")] = "cpu",
        bits: Annotated[int, typer.Option(help="of a weight: 8 or 4")] = 8,
        context: Annotated[int | None, typer.Option(help="tokens that a cache holds")] = None,
        port: Annotated[int, typer.Option(help="of the loopback address; 0 for any")] = 8000,
        slots: Annotated[int, typer.Option(help="sequences under way at once")] = 8,
        batch: Annotated[
            int, typer.Option(help="sequences that share each pass over the weights")
        ] = 1,
        waiting: Annotated[int, typer.Option(help="requests that wait at most")] = 256,
        kept: Annotated[int, typer.Option(help="caches that are kept for what follows")] = 8,
    ) -> None:
        """Answer OpenAI's completions and chats on the loopback address."""
        from allo.designs.llm.server.models import prepare
        from allo.designs.llm.server.protocol.serve import address, listen, run
        from allo.designs.llm.server.scheduler import Scheduler

        console = Console(highlight=False)
        listening = listen(port)
        with console.status(f"reading {model}"):
            prepared = prepare(model, bits, context, batch)
        with console.status(f"building the engine {engine}"):
            built = prepared.engine(engine)
        served = prepared.served
        scheduler = Scheduler(built, served.tokenizer, served.ends, slots, waiting, kept)
        console.print(f"{served.name} answers at {address(listening)}; Ctrl-C ends the server.")
        run(served, scheduler, listening)
