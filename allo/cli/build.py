"""``allo build FILE.py:NAME``: build a kernel, a schedule, or what a function returns as one."""

from __future__ import annotations

import contextlib
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
from allo.dialects.diagnostics import AlloError, SourcePlace
from allo.schedule import Schedule
from allo.target import target_names


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
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        place = SourcePlace(error.filename or str(path), error.lineno or 1, error.offset or 1)
        raise AlloError(f"{path} is not Python: {error.msg}.", place) from error
    return module


def find_schedule(what: str, schedule: str | None = None) -> Schedule:
    """The schedule named by ``FILE.py:NAME`` or ``MODULE:NAME``.

    NAME is a kernel, a Schedule, or a function that needs no argument and returns a Schedule. What the
    program prints meanwhile goes to the standard error.

    Args:
        schedule: another name of the file: a Schedule, a function that returns one, or a function that
            takes the kernel's schedule and changes it.

    Raises:
        AlloError: when the text, the module or the function is not as asked.
    """
    name, colon, function = what.rpartition(":")
    if not colon:
        raise AlloError(f"{what!r} names no function.", help="write FILE.py:FUNCTION.")
    with contextlib.redirect_stdout(sys.stderr):
        module = load_module(name)
        if schedule is None:
            return _schedule_of(_member(module, name, function))
        _member(module, name, function)
        return _changed(_member(module, name, schedule), module, function)


def _member(module: ModuleType, name: str, wanted: str) -> Any:
    found = getattr(module, wanted, None)
    if isinstance(found, Schedule) or callable(found):
        return found
    names = [n for n, v in vars(module).items() if _is_own(v, module)]
    raise AlloError(
        f"{name} has no function or schedule {wanted!r}.",
        help=f"it has {', '.join(names)}." if names else None,
    )


def _is_own(value: Any, module: ModuleType) -> bool:
    own = inspect.isfunction(value) and value.__module__ == module.__name__
    return own or isinstance(value, Schedule)


def _schedule_of(found: Any) -> Schedule:
    """A Schedule, what a function without arguments returns, or a kernel's schedule that changes nothing."""
    if isinstance(found, Schedule):
        return found
    if not _required(found) and isinstance(returned := found(), Schedule):
        return returned
    return allo.customize(found)


def _changed(change: Any, module: ModuleType, kernel: str) -> Schedule:
    """The schedule of a kernel after ``change``, or the one that ``change`` is or returns."""
    if isinstance(change, Schedule):
        return change
    takes = _required(change)
    given = [_schedule_of(getattr(module, kernel))] if takes else []
    returned = change(*given) if len(takes) < 2 else None
    if isinstance(returned, Schedule):
        return returned
    if given and returned is None and len(takes) == 1:
        return given[0]
    raise AlloError(
        f"{change.__name__} is no schedule of {kernel}: it takes {len(takes)} arguments and returns "
        f"{type(returned).__name__}.",
        help=f"write a function that takes the schedule, def {change.__name__}(s): s.pipeline(…), or one "
        "that takes nothing and returns it.",
    )


def _required(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty]


def _targets(incomplete: str) -> list[str]:
    """Completion of ``--target``."""
    return [name for name in target_names() if name.startswith(incomplete)]


What = Annotated[str, typer.Argument(help="FILE.py:NAME or MODULE:NAME, of a kernel or schedule")]
Change = Annotated[
    str | None, typer.Option(help="schedule or function of the file that changes one")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def build(
        what: What,
        target: Annotated[
            str, typer.Option(help="see `allo targets`", autocompletion=_targets)
        ] = "verilog",
        schedule: Change = None,
        mode: Annotated[str | None, typer.Option(help="the target's step, e.g. csim")] = None,
        project: Annotated[str | None, typer.Option(help="folder for a tool's project")] = None,
        output: Annotated[Path | None, typer.Option("-o", help="write the text here")] = None,
        report: Annotated[Path | None, typer.Option(help="write the report's JSON here")] = None,
    ) -> None:
        """Build a design and print (or write) its text: Verilog, HLS C++ …"""
        made = find_schedule(what, schedule)
        with contextlib.redirect_stdout(sys.stderr):
            built = made.build(target=target, mode=mode, project=project)
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
