"""Builds a program for a target with the options drawn for it.

Not every design has every option: an array that is read twice is no stream, and a device has so many
multipliers. So an option of hardware that is refused by name is left out and counted, by option. What no
error names is a failure of the program, and so is a refusal that the option never deserves
(:data:`MAY_BE_REFUSED`).
"""

from __future__ import annotations

from typing import Any, Protocol

from allo.backend.sim import MemoryChannel, external_memory
from allo.dialects.boundary.layouts import layouts_of
from allo.dialects.core.signature import functions_of
from allo.dialects.interfaces.placements import placements_of
from allo.errors import AlloError

from ..generator.memory import FROM_MEMORY
from ..generator.options import BUILD, BUSES, OUTSIDE
from ..generator.program import Program
from .quiet import without_verilog
from .verdict import Verdict, is_named, reason_of

MAX_CYCLES = 200_000
REMAINDERS = 20
"""With remainders of floats a program may run so many times as long: one takes up to two thousand cycles."""
LONG = frozenset(("float remainders", FROM_MEMORY))
"""Features of programs that may run so long; a request to memory takes a hundred cycles and more."""
CLOCK_MHZ = 200.0
"""What channels with banks take for the clock of a design."""
_CLOCK = "No operator meets a clock of"
MAY_BE_REFUSED = {
    "interface": "",
    "max_dsp": "",
    "max_lut": "",
    "memory": "",
    "external": "",
    "clock_mhz": _CLOCK,
    "frequency": _CLOCK,
    "device": _CLOCK,
}
"""Options that a sound design may not have, with words of the refusal where only one is right."""
_OPTIONS_OF_FORM = ("configs",)
_TOGETHER = {"interface": BUSES, "stalls": BUSES}


class Built(Protocol):
    """What a build needs of a prepared program."""

    program: Program
    schedule: Any
    verdict: Verdict


class RefusedWithoutReason(Exception):
    """An option that every design has was refused."""


def cpu_options(program: Program) -> dict[str, Any]:
    """The options of every build of the program."""
    names = {"check_bounds": program.checked, "reassociate": program.reassociated}
    given = {name: value for name, value in program.options.items() if name in BUILD}
    return given | {name: True for name, wanted in names.items() if wanted}


def hardware_options(program: Program, target: str) -> dict[str, Any]:
    """The options of the program's hardware; test benches serve RAM ports that answer at once."""
    left_out = (*BUILD, *_OPTIONS_OF_FORM, *(OUTSIDE if target == "icarus" else ()))
    return {name: value for name, value in program.options.items() if name not in left_out}


def build(prepared: Built, target: str) -> Any:
    """The program's module for a target."""
    schedule, seed = prepared.schedule, prepared.program.seed
    options = cpu_options(prepared.program)
    if target == "cpu":
        return schedule.build(opt_level=3 if seed % 8 == 0 else 0, **options)
    if target == "csim":
        if FROM_MEMORY in prepared.program.features and _passes_lines(schedule):
            # Lines pass by one port for each channel, behind copies of whole arrays or of rows.
            return schedule.build(target="vitis_hls", mode="csim", wrap_io=seed % 3 == 0, **options)
        return schedule.build(target="vhls", **options)
    drawn = hardware_options(prepared.program, target)
    if not drawn:
        return _hardware(prepared, target, {})
    try:
        return _hardware(prepared, target, drawn)
    except AlloError as error:
        if not is_named(error):
            raise
        refusal = error
    return _with_fewer(prepared, target, drawn, refusal)


def _passes_lines(schedule: Any) -> bool:
    """Whether an array is placed in several channels, or packed."""
    module = schedule.module
    with module.context:
        top = functions_of(module)[schedule.top_func_name]
        packed = any(layout.packed for layout in layouts_of(top).values())
        return packed or any(where.count > 1 for where in placements_of(top).values())


def _with_fewer(prepared: Built, target: str, drawn: dict[str, Any], refusal: AlloError) -> Any:
    """The build without the one option that is refused, or without any where more than one is.

    Those that the refusal names are tried first: each try is a build.
    """
    tried = [name for name in drawn if name != "stalls" or "interface" not in drawn]
    for name in sorted(tried, key=lambda name: name not in str(refusal)):
        fewer = {n: v for n, v in drawn.items() if n not in _TOGETHER.get(name, (name,))}
        try:
            module = _hardware(prepared, target, fewer)
        except AlloError as error:
            if not is_named(error):
                raise
            continue
        _count(prepared, name, refusal)
        return module
    plain = _hardware(prepared, target, {})
    _count(prepared, "several", refusal)
    return plain


def _count(prepared: Built, name: str, refusal: AlloError) -> None:
    words = "" if name == "several" else MAY_BE_REFUSED.get(name)
    if words is None or words not in refusal.message:
        raise RefusedWithoutReason(f"{name} is refused: {reason_of(refusal)}") from refusal
    prepared.verdict.declined.append(f"{name}: {reason_of(refusal)}")


def _hardware(prepared: Built, target: str, drawn: dict[str, Any]) -> Any:
    schedule, program = prepared.schedule, prepared.program
    options = cpu_options(program)
    general = {name: options.pop(name) for name in ("reassociate",) if name in options}
    options |= {
        "simulator": "verilator" if target == "verilator" else "jit",
        "max_cycles": MAX_CYCLES * (REMAINDERS if LONG.intersection(program.features) else 1),
        "randomize": program.seed % (1 << 30),
        **_with_channels(drawn),
    }
    if "configs" in program.options:
        options = {"configs": options}
    options |= general
    if target != "jit" or program.seed % 8 == 0:
        return schedule.build(target="verilog", **options)
    with without_verilog():  # the in-process engine does not read it
        return schedule.build(target="verilog", **options)


def _with_channels(drawn: dict[str, Any]) -> dict[str, Any]:
    """The options with channels of memory in place of their figures."""
    if isinstance(drawn.get("memory", ""), str):
        return drawn
    return {**drawn, "memory": {name: _channel(*how) for name, how in drawn["memory"].items()}}


def _channel(name: str, *how: Any) -> MemoryChannel:
    """A channel of a bandwidth, a latency and stalls, or by its number one with banks, rows and refresh."""
    if len(how) == 1:
        return external_memory(name, clock_mhz=CLOCK_MHZ, timing="dram")[how[0]]
    size, latency, stall = how
    return MemoryChannel(name, size, latency=latency, stall=stall)
