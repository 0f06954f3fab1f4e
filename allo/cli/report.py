"""``allo report FILE.json``: shows a design report, or writes it as HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from allo.dialects.diagnostics import AlloError
from allo.dialects.reports.figures import DesignReport


def load_report(path: Path) -> DesignReport:
    """Read the JSON a build wrote.

    Raises:
        AlloError: when the file is missing, is no JSON, or is not a design report.
    """
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise AlloError(f"The report {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise AlloError(f"The report {path} is not JSON: {error}.") from error
    try:
        return DesignReport.from_json(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise AlloError(
            f"The file {path} is not a design report: {error}.",
            help="give the report.json that a build or scripts/demo wrote.",
        ) from error


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def report(
        path: Annotated[Path, typer.Argument(help="the report.json of a build")],
        html: Annotated[Path | None, typer.Option(help="write a page here instead")] = None,
    ) -> None:
        """Show a design report: loops with II and cycles, memories, operators."""
        found = load_report(path)
        console = Console(highlight=False)
        if html is None:
            console.print(found.table(), markup=False, soft_wrap=True)
            return
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(found.html())
        console.print(f"wrote {html}", markup=False)
