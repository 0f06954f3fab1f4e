"""``allo options [TARGET]``: what each target and function takes."""

from __future__ import annotations

from typing import Annotated

import typer

from allo.dialects.diagnostics import AlloError
from allo.dialects.options.describe import markdown


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def options(
        group: Annotated[str | None, typer.Argument(help="a target, build or customize")] = None,
    ) -> None:
        """Print the table of options, of one target or of all, as Markdown."""
        text = markdown(group)
        if not text:
            raise AlloError(f"Nothing called {group!r} takes options.", help="see `allo targets`.")
        typer.echo(text)
