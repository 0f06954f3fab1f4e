"""Random options of a build, from choices of their own: the text of a program does not depend on them.

Every option that ``build`` takes on a target of the random programs is drawn here (:data:`DRAWN`), or set by
each build (:data:`SET`), or left out for a reason (:data:`LEFT_OUT`).
"""

from __future__ import annotations

import random
from typing import Any

from allo.backend.devices import families

from .program import Program

SHARE = 0.6
"""How many of all programs are built with options other than the defaults."""
TARGETS = ("llvm", "vhls", "verilog")
"""Random programs are built for these, the last of them on both engines."""
BUILD = ("check_dependences", "subnormals")
"""Options of every target; the others are those of hardware."""
BUSES = ("interface", "stalls")
OUTSIDE = (*BUSES, "memory", "external")
"""Options of what surrounds a design."""
DRAWN = (
    *BUILD,
    *OUTSIDE,
    "check_bounds",
    "reassociate",
    "clock_mhz",
    "frequency",
    "device",
    "overlap_loops",
    "max_dsp",
    "max_lut",
    "configs",
    "effort",
)
SET = {
    "target": "each program runs on several",
    "simulator": "each engine is a target",
    "opt_level": "none or all, by the seed",
    "randomize": "the seed of the program: no build starts from zeros",
    "max_cycles": "so many that no program needs them",
}
LEFT_OUT = {
    "mode": "the steps of the HLS targets write projects for the vendors' tools",
    "project": "it writes the same text to a folder",
    "wrap_io": "csim compiles the kernel inside the wrapper",
    "fast_math": "what it gives is not bit-equal by its rule",
    "streams": "the programs have no stream at a port",
    "hbm_mapping": "it names banks in a project's configuration",
    "num_output_args": "it names directions in a project's host program",
    "mappings": "it has no effect",
    "timeout": "it limits tools",
    "warnings": "it is about what is said, not about what is built",
    "fallback": "it is about the vendors' tools",
    "progress": "it shows lines of the vendors' tools",
    "link": "it is outside of the design, in the shell of a board",
    "board": "it sets device= and clock_mhz=, which are drawn",
}
_CLOCKS = (1, 25, 100, 300, 450, 500, 550, 600)
_KINDS = ("memory", "m_axi", "m_axi", "axis")


def draw_options(program: Program, rng: random.Random) -> dict[str, Any]:
    """Options of ``build``; empty for the programs that have the defaults.

    ``check_bounds``, ``reassociate`` and whether the design starts anew are attributes of the program,
    which this may set.
    """
    if rng.random() >= SHARE:
        return {}
    clock = rng.choice(_CLOCKS) if rng.random() < 0.4 else rng.randint(1, 600)
    found: dict[str, Any] = {"frequency" if rng.random() < 0.1 else "clock_mhz": clock}
    if rng.random() < 0.7:
        found["device"] = rng.choice(families())
    if rng.random() < 0.3:
        found["overlap_loops"] = False
    if rng.random() < 0.25:
        found["max_dsp"] = rng.choice((0, 1, 2, 4, 16, 64))
    if rng.random() < 0.2:
        found["check_dependences"] = True
    if rng.random() < 0.15 and "float16" not in program.source:
        found["subnormals"] = "flush"
    if rng.random() < 0.2:
        found["configs"] = True
    program.reassociated |= rng.random() < 0.25
    program.restarted = rng.random() < 0.3
    outside = rng.random()
    program.checked |= outside > 0.2 and rng.random() < 0.15
    if outside < 0.1 and not (program.checked or "check_dependences" in found):
        found |= _interface(program, rng)
        if "interface" in found and "stream arguments" in program.features:
            program.runs = 1  # an AXI4-Stream takes words ahead, which wait for the next call
    elif 0.1 < outside < 0.2:
        found |= _memory(program, rng)
    if rng.random() < 0.15:
        found["max_lut"] = rng.choice((500, 1000, 2000, 5000, 20_000))
    if rng.random() < 0.15:
        found["effort"] = "exact"
    return found


def drawn(program: Program) -> list[str]:
    """The names of the options that a program's builds have, whatever the target."""
    flags = {"check_bounds": program.checked, "reassociate": program.reassociated}
    return sorted([*program.options, *(name for name, wanted in flags.items() if wanted)])


def _interface(program: Program, rng: random.Random) -> dict[str, Any]:
    """The interface of each array: one of a board or RAM ports; and how often its buses stall."""
    one = rng.choice((None, None, *_KINDS))
    kinds: dict[str, Any] = {
        a.name: _fields(one or rng.choice(_KINDS), rng) for a in program.arguments if a.shape
    }
    if not kinds:
        return {}
    if rng.random() < 0.5:
        kinds["return"] = rng.choice(("s_axilite", "port"))
    return {"interface": kinds, "stalls": rng.choice((0.0, 0.1, 0.5))}


def _fields(kind: str, rng: random.Random) -> Any:
    """A kind of interface, with fields of its own for some AXI4 masters."""
    if kind != "m_axi" or rng.random() < 0.6:
        return kind
    fields = {
        "bundle": f"bus{rng.randint(0, 1)}",
        "width": rng.choice((32, 64, 128, 512)),
        "burst": rng.choice((1, 4, 64)),
        "outstanding": rng.choice((1, 2, 16)),
    }
    return {"kind": kind} | {name: fields[name] for name in fields if rng.random() < 0.5}


def _memory(program: Program, rng: random.Random) -> dict[str, Any]:
    """Arrays in external memory, some at channels of a bandwidth, a latency and a probability of stalls."""
    names = [a.name for a in program.arguments if a.shape and rng.random() < 0.6]
    if not names:
        return {}
    if rng.random() < 0.3:
        return {"external": names}
    channels = [
        (name, rng.choice((1, 8, 64)), rng.choice((0, 3, 20)), rng.choice((0.0, 0.2)))
        for name in ("near", "far")
    ]
    return {"memory": {name: rng.choice(channels) for name in names}}
