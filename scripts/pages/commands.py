"""The reference page of the command line, written from the commands themselves."""

from __future__ import annotations

from typing import Any

import typer.main

from allo.cli.app import make_app


def page() -> str:
    """One section a command: what it does, how it is called, its arguments and options."""
    group: Any = typer.main.get_command(make_app())
    parts = [
        "# Command line",
        "The set-up installs a command `allo`; `python -m allo` is the same. This page is written "
        "from the commands when the site is built. A command that fails prints one message and "
        "ends with status 1.",
    ]
    for name in sorted(group.commands):
        parts += _section(group.commands[name], name)
    return "\n\n".join(parts) + "\n"


def _section(command: Any, name: str) -> list[str]:
    shown = [p for p in command.params if p.name != "help"]
    usage = " ".join(["allo", name, *(_usage(p) for p in shown)])
    rows = [
        f"| {_names(p)} | {_default(p)} | {_cell(getattr(p, 'help', None) or '')} |" for p in shown
    ]
    table = "\n".join(["| argument or option | default | meaning |", "|---|---|---|", *rows])
    return [
        f"## `allo {name}`",
        (command.help or "").strip(),
        f"```sh\n{usage}\n```",
        *([table] if rows else []),
    ]


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _usage(parameter: Any) -> str:
    if not _is_option(parameter):
        name = str(parameter.name).upper()
        return name if parameter.required else f"[{name}]"
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.name.upper()}"
    return f"[{max(parameter.opts, key=len)}{value}]"


def _names(parameter: Any) -> str:
    if not _is_option(parameter):
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _default(parameter: Any) -> str:
    default = parameter.default
    if parameter.required:
        return "required"
    if default is None or default is False or callable(default) or default in ("", [], ()):
        return "–"
    return f"`{default}`"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
