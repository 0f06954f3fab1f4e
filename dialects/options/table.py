"""The table of every option: those of targets, and those of functions."""

from __future__ import annotations

from .of_functions import FUNCTION_OPTIONS
from .of_targets import TARGET_OPTIONS
from .option import Option

TABLE: tuple[Option, ...] = (*TARGET_OPTIONS, *FUNCTION_OPTIONS)


def options_of(group: str) -> dict[str, Option]:
    """The options a target or a function takes, by name."""
    return {option.name: option for option in TABLE if group in option.groups}
