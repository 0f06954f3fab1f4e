"""Both limits of a build, one after the other."""

from __future__ import annotations

from allo.dialects.diagnostics import SourcePlace

from ..graph.mapping.units import Wanted
from ..operators.library import OperatorLibrary
from .blocks import meet_limit
from .limits import Compile, Limits
from .tables import meet_tables


def meet_limits(
    compile: Compile,
    library: OperatorLibrary,
    limits: Limits,
    place: SourcePlace | None,
) -> dict[str, Wanted]:
    """What to ask of each function's mapping, by module, so that a design keeps to its limits.

    Raises:
        CapacityError: it takes more though nothing more can be moved.
    """
    wanted: dict[str, Wanted] = {}
    if limits.dsp is not None:
        wanted = meet_limit(compile, library, limits.dsp, place)
    if limits.lut is not None:
        wanted = meet_tables(compile, library, limits, wanted, place)
    return wanted
