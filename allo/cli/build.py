"""``allo build FILE.py:FUNCTION``: build a kernel, or what a schedule function returns."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

import allo
from allo.dialects.diagnostics import AlloError


def load_module(name: str) -> ModuleType:
    """Import a Python file by its path, or a module by its dotted name.

    Raises:
        AlloError: when there is none, or it cannot be imported.
    """
    path = Path(name)
    try:
        return _from_file(path) if path.suffix == ".py" else importlib.import_module(name)
    except ImportError as error:
        raise AlloError(
            f"{name} cannot be imported: {error}.",
            help="a file of a package is named as a module: package.module:FUNCTION.",
        ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise AlloError(f"There is no file {path}.", help="give FILE.py:FUNCTION.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise AlloError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    folder = str(path.absolute().parent)
    if folder not in sys.path:  # as `python FILE.py` does
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    return module


def find_schedule(what: str) -> Any:
    """The schedule named by ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``.

    FUNCTION is a kernel, or a function that needs no argument and returns a schedule.

    Raises:
        AlloError: when the text, the module or the function is not as asked.
    """
    name, colon, function = what.rpartition(":")
    if not colon:
        raise AlloError(f"{what!r} names no function.", help="write FILE.py:FUNCTION.")
    found = getattr(load_module(name), function, None)
    if not callable(found):
        raise AlloError(f"{name} has no function {function!r}.")
    required = [
        parameter
        for parameter in inspect.signature(found).parameters.values()
        if parameter.default is parameter.empty
    ]
    return allo.customize(found) if required else found()


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def build(
        what: Annotated[str, typer.Argument(help="FILE.py:FUNCTION or MODULE:FUNCTION")],
        target: Annotated[str, typer.Option(help="see `allo targets`")] = "verilog",
        mode: Annotated[str | None, typer.Option(help="the target's step, e.g. csim")] = None,
        project: Annotated[str | None, typer.Option(help="folder for a tool's project")] = None,
        output: Annotated[Path | None, typer.Option("-o", help="write the text here")] = None,
        report: Annotated[Path | None, typer.Option(help="write the report's JSON here")] = None,
    ) -> None:
        """Build a design and print (or write) its text: Verilog, HLS C++ …"""
        built = find_schedule(what).build(target=target, mode=mode, project=project)
        if report is not None:
            write_text(report, json.dumps(built.report.to_json(), indent=1))
        if output is not None:
            write_text(output, str(built))
        elif report is None:
            typer.echo(str(built))


def write_text(path: Path, text: str) -> None:
    """Write a file and the folders above it.

    Raises:
        AlloError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.endswith("\n") else f"{text}\n")
    except OSError as error:
        raise AlloError(
            f"{path} cannot be written: {error.strerror or error}.", help="name another file."
        ) from error
