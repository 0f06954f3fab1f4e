"""``allo targets``: the names ``build(target=…)`` accepts."""

from __future__ import annotations

import typer
from rich.console import Console

from allo.target import target_names


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def targets() -> None:
        """List the targets, those of installed plug-ins included."""
        console = Console(highlight=False)
        for name in target_names():
            console.print(name, markup=False)
