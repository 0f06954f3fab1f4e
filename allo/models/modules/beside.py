"""The module that another one is named with: ``s["blocks.*.mlp.0"].stream_to("1")``."""

from __future__ import annotations

from allo.dialects.diagnostics import UnknownHandleError

from ..places import place_of_caller
from .paths import Match, filled, unmatched
from .state import ModelState


def path_beside(s: ModelState, source: Match, named: str) -> str | None:
    """The path that a name stands for: in the model, or beside the source; None where there is none.

    Args:
        s: the model's schedule.
        source: the module, with what the wildcards of its pattern stand for.
        named: a path, in which wildcards stand for the same.
    """
    whole = filled(named, source.wild)
    if whole in s.functions:
        return whole
    beside = _beside(source, named)
    return beside if beside in s.functions else None


def unknown_beside(s: ModelState, source: Match, named: str) -> UnknownHandleError:
    """The error for a name that :func:`path_beside` does not find."""
    whole, beside = filled(named, source.wild), _beside(source, named)
    parent = source.path.rpartition(".")[0]
    idle = [path for path in s.origin.kinds() if path not in s.functions]
    near = [path for path in s.functions if path.rpartition(".")[0] == parent]
    wanted = whole if "." in named else beside
    return unmatched(wanted, near or s.functions, idle, place_of_caller())


def _beside(source: Match, named: str) -> str:
    parent = source.path.rpartition(".")[0]
    return f"{parent}.{named}" if parent else named
