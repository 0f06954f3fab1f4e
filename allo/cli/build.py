"""``allo build FILE:FUNCTION``: build a kernel, or what a schedule function returns, for a target."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console

import allo
from allo.dialects.diagnostics import AlloError


def load_module(path: Path) -> ModuleType:
    """Import a Python file by its path.

    Raises:
        AlloError: when there is no such file.
    """
    if not path.is_file():
        raise AlloError(f"There is no file {path}.", help="give FILE.py:FUNCTION.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise AlloError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def find_schedule(what: str) -> Any:
    """The schedule named by ``FILE.py:FUNCTION``.

    FUNCTION is a kernel, or a function without parameters that returns a schedule.

    Raises:
        AlloError: when the text, the file or the function is not as asked.
    """
    file, colon, name = what.rpartition(":")
    if not colon:
        raise AlloError(f"{what!r} names no function.", help="write FILE.py:FUNCTION.")
    module = load_module(Path(file))
    found = getattr(module, name, None)
    if not callable(found):
        raise AlloError(f"{file} has no function {name!r}.")
    annotations = getattr(found, "__annotations__", {})
    takes_nothing = not getattr(found, "__code__", None) or found.__code__.co_argcount == 0
    if takes_nothing and "return" in annotations:
        return found()
    return allo.customize(found)  # type: ignore[attr-defined]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def build(
        what: Annotated[str, typer.Argument(help="FILE.py:FUNCTION, a kernel or a schedule")],
        target: Annotated[str, typer.Option(help="see `allo targets`")] = "verilog",
        mode: Annotated[str | None, typer.Option(help="the target's step, e.g. csim")] = None,
        project: Annotated[str | None, typer.Option(help="folder for a tool's project")] = None,
        output: Annotated[Path | None, typer.Option("-o", help="write the text here")] = None,
        report: Annotated[Path | None, typer.Option(help="write the report's JSON here")] = None,
    ) -> None:
        """Build a design and print (or write) its text: Verilog, HLS C++ …"""
        built = find_schedule(what).build(target=target, mode=mode, project=project)
        if report is not None:
            _write(report, json.dumps(built.report.to_json(), indent=1))
        if output is not None:
            _write(output, str(built))
        elif report is None:
            Console(highlight=False, soft_wrap=True).print(str(built), markup=False)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.endswith("\n") else f"{text}\n")
