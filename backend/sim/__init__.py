"""Run compiled hardware designs on NumPy arrays, and the ``verilog`` target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from allo.backend.devices import family
from allo.dialects.boundary.arguments import Signature, read_signature
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import BoardError, OptionError
from allo.dialects.options.kinds import from_above
from allo.dialects.text.near import did_you_mean
from allo.target import BuildRequest, find_target

from ..rtl.interfaces.placed import card_of, part_of
from .boundary.placed import placed_memory
from .boundary.traffic import MemoryChannel, PerBank, StreamModel, Traffic, external_memory
from .engines.interface import BuildOptions, Engine, RunOptions, SimModel, SimResult, find_engine
from .module import RTLModule, SimulationOptions

__all__ = [
    "BuildOptions",
    "Engine",
    "MemoryChannel",
    "PerBank",
    "RTLModule",
    "RunOptions",
    "SimModel",
    "SimResult",
    "SimulationOptions",
    "StreamModel",
    "Traffic",
    "build",
    "external_memory",
    "find_engine",
]

_SIMULATION_OPTIONS = tuple(option.name for option in fields(SimulationOptions))


def build(request: BuildRequest) -> RTLModule:
    """Compile the requested module to hardware that runs on NumPy arrays.

    Options of the simulation are the fields of :class:`SimulationOptions`. The others, and
    ``configs``, are those of
    :func:`allo.backend.rtl.compile_design`; ``frequency`` (MHz) is its ``clock_mhz``.
    With ``project=`` a folder is written.

    Raises:
        BuildError: when the module cannot be compiled; an existing project is then unchanged.
    """
    from allo.backend.rtl import compile_design

    options: dict[str, Any] = dict(request.settings)
    simulation = {name: options.pop(name) for name in _SIMULATION_OPTIONS}
    frequency = options.pop("frequency")
    options["clock_mhz"] = frequency or options["clock_mhz"]
    options |= _of_board(
        simulation["board"], simulation["link"], {**(request.configs or {}), **request.options}
    )
    options["target"] = request.target
    core = parse_module(request.module_text)
    ports = simulation["memory"] is not None or options["external"]
    top = functions_of(core.operation)[request.top]
    simulation["memory"] = placed_memory(
        top,
        simulation["memory"],
        options["clock_mhz"],
        card_of(options["device"]),
        part_of(options["device"]),
    )
    if options["interface"] is None and ports:
        options["external"] = (*options["external"], *(simulation["memory"] or ()))
    signature = read_signature(core, request.top)
    _check_external(request.settings["external"], signature)
    design = compile_design(core, request.top, **options)
    module = RTLModule(
        design, signature, SimulationOptions(**simulation), partial(_simulator, request)
    )
    if request.project is not None:
        module.write_project(request.project)
    return module


def _of_board(name: str | None, link: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a board says of a build: its device family, and a usual clock where none is asked for.

    Raises:
        BoardError: another family is asked for, or a link whose pins it lacks.
    """
    if name is None:
        return {}
    board = from_above("allo.boards:board")(name)
    from_above("allo.boards.shell:check_link")(board, link)
    asked = given.get("device", board.family)
    if asked != board.family:
        raise BoardError(
            f"The board {name!r} has a device of the family {board.family!r}, and device={asked!r} is "
            "another.",
            help="leave out device=, or name another board.",
        )
    clock = (
        {}
        if {"clock_mhz", "frequency"} & set(given)
        else {"clock_mhz": family(board.family).usual_mhz}
    )
    return {"device": board.family, **clock}


def _simulator(request: BuildRequest) -> Any:
    """The dataflow simulator of a request's program."""
    name = "simulator"
    own = BuildRequest(request.module_text, request.top, name, ext_libs=request.ext_libs)
    return find_target(name)(own)


def _check_external(names: Sequence[str], signature: Signature) -> None:
    """What ``external=`` names must be arguments: another name would do nothing, in silence."""
    known = [parameter.name for parameter in signature.arguments if parameter.shape is not None]
    for name in names:
        if name not in known:
            raise OptionError(
                f"external= names {name!r}, which is no array argument of {signature.top}.",
                help=f"{did_you_mean(name, known)}its arrays: {', '.join(known) or 'none'}.",
            )
