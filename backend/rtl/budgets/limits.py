"""What a design may take, and a design whose resources can be counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..compiled import CompiledModule
from ..graph.mapping.units import Wanted
from ..netlist.modules import Netlist


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a design may take; None is no limit.

    Attributes:
        dsp: multiplier blocks.
        lut: lookup tables, as its own estimate counts them.
    """

    dsp: int | None = None
    lut: int | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A design as far as its netlist.

    Attributes:
        modules: by name.
        top: name of the top module.
        netlist: its operations, after the passes.
    """

    modules: Mapping[str, CompiledModule]
    top: str
    netlist: Netlist


type Compile = Callable[[Mapping[str, Wanted]], Compiled]
"""Compiles a design with what is asked of each function's mapping, by module."""
