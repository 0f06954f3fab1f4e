"""The ``allo`` command: gathers the commands and turns Allo's errors into an exit code."""

from __future__ import annotations

import typer
from rich.console import Console

from allo.dialects.diagnostics import AlloError

from . import (
    autoschedule,
    board,
    build,
    doctor,
    llm,
    network,
    options,
    report,
    synth,
    targets,
    version,
)

_COMMANDS = (
    version,
    targets,
    options,
    doctor,
    build,
    synth,
    report,
    autoschedule,
    board,
    llm,
    network,
)


def make_app() -> typer.Typer:
    """The application with every command registered."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    for command in _COMMANDS:
        command.register(app)
    return app


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; an error of the user's program is one readable text and status 1."""
    try:
        status: int = make_app()(args=arguments, prog_name="allo", standalone_mode=False) or 0
        return status
    except typer.Exit as done:
        return done.exit_code
    except AlloError as error:
        Console(stderr=True, highlight=False).print(
            f"{type(error).__name__}: {error}", markup=False, soft_wrap=True
        )
        return 1
    except typer.Abort:
        return 130
    except Exception as error:
        if not hasattr(error, "exit_code") or not hasattr(error, "show"):
            raise
        error.show()
        code: int = error.exit_code
        return code
