"""Chooses what kind of program a seed gives."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from .aimed.asserted import asserted_kernel
from .aimed.cached import cached_kernel
from .aimed.copies import constants_kernel, guarded_kernel
from .aimed.exits import exit_kernel
from .aimed.hazards import hazard_kernel
from .aimed.outside import outside_kernel
from .aimed.packets import packet_kernel
from .aimed.passing import passing_kernel
from .aimed.records import record_kernel
from .aimed.remainders import remainder_kernel
from .aimed.rounds import round_kernel
from .aimed.searches import search_kernel
from .aimed.strides import stride_kernel
from .aimed.sweeps import sweep_kernel
from .aimed.turns import turn_kernel
from .kernels import control_kernel, random_style
from .memory import FROM_MEMORY, put_in_memory
from .nests import nest_kernel
from .networks import network
from .options import draw_options
from .program import Program
from .regions.cells import cell_network
from .regions.forever import forever_network
from .regions.handed import handed_network
from .regions.ports import port_network
from .regions.tries import try_network
from .searched import AUTOSCHEDULED, NESTS, ask_for_schedule
from .tensors import tensor_kernel
from .writer import Style, Writer

_KINDS: dict[str, tuple[int, Callable[[Writer, int], Program]]] = {
    "control": (55, control_kernel),
    "nests": (25, nest_kernel),
    "tensors": (8, tensor_kernel),
    "networks": (12, network),
}
_AIMED: dict[str, tuple[int, Callable[[Writer, int], Program]]] = {
    "exits": (4, exit_kernel),
    "searches": (4, search_kernel),
    "hazards": (8, hazard_kernel),
    "cells": (4, cell_network),
    "outside": (3, outside_kernel),
    "rounds": (3, round_kernel),
    "turns": (1, turn_kernel),
    "sweeps": (3, sweep_kernel),
    "guarded": (3, guarded_kernel),
    "constants": (2, constants_kernel),
    "tries": (2, try_network),
    "records": (2, record_kernel),
    "asserted": (2, asserted_kernel),
    "forever": (2, forever_network),
    "packets": (2, packet_kernel),
    "strides": (2, stride_kernel),
    "remainders": (1, remainder_kernel),
    "handed": (1, handed_network),
    "ports": (2, port_network),
}
"""Of a hundred programs; the others are what they were without these kinds."""
_FROM_MEMORY = {"passing": (0, passing_kernel), "cached": (0, cached_kernel)}
"""Kinds of programs from memory alone."""
FEATURES = (*_KINDS, *_AIMED)
"""Kinds of program; any feature in ``Program.features`` may be asked for, :data:`.memory.FROM_MEMORY`
and :data:`.searched.AUTOSCHEDULED`."""
CHECKED = 0.05
"""How many of all programs are built with ``check_bounds=True``, which must not change what they give."""
REASSOCIATED = 0.05
"""How many are built with ``reassociate=True``, which must change the bits of floats on all targets alike."""
COPIED = 0.08
"""How many have a copy of their schedule scheduled and built beside it."""
EDITED = 0.05
"""How many are imported from a file that is changed before they are customized."""
PASSING = 0.3
"""How many of the programs from memory walk over long arrays."""
CACHED = 0.5
"""How many of them are kernels that one would give a cache."""
EDITS = ("shifted", "number", "declared", "local", "touched", "commented", "appended")


def make_program(seed: int, only: str | None = None, skip: Sequence[str] = ()) -> Program:
    """The program of a seed.

    Args:
        only: a kind of program, or a feature that it must have.
        skip: features that it must not have.

    Raises:
        ValueError: no program like that was found.
    """
    kind = only if only in FEATURES or only in _FROM_MEMORY else None
    for attempt in range(2000):
        key: int | str = f"{seed}/{attempt}" if attempt else seed
        nests = only == AUTOSCHEDULED and random.Random(f"{key}/nests").random() < NESTS
        asked = _from_memory(key) if only == FROM_MEMORY else "nests" if nests else kind
        program = _make(key, seed, asked)
        if only == FROM_MEMORY:
            put_in_memory(program, random.Random(f"{key}/memory"))
        if only == AUTOSCHEDULED:
            ask_for_schedule(program, random.Random(f"{key}/search"))
        features = set(program.features)
        if (only is None or only in features) and not features.intersection(skip):
            return program
    raise ValueError(f"No program has the feature {only!r} and none of {', '.join(skip)}.")


def _from_memory(key: int | str) -> str | None:
    """The kind of a program from memory; None for what other programs are."""
    share = random.Random(f"{key}/walks").random()
    return "passing" if share < PASSING else "cached" if share < PASSING + CACHED else None


def _make(key: int | str, seed: int, kind: str | None) -> Program:
    w = Writer(key, Style())
    w.style = random_style(w)
    kind = kind or _aimed_kind(key)
    if kind is None:
        names = list(_KINDS)
        kind = w.rng.choices(names, [_KINDS[name][0] for name in names])[0]
    program = {**_KINDS, **_AIMED, **_FROM_MEMORY}[kind][1](w, seed)
    program.features = sorted({*w.features, kind})
    program.exact = w.exact
    program.checked |= random.Random(f"{key}/checked").random() < CHECKED
    program.reassociated = random.Random(f"{key}/reassociated").random() < REASSOCIATED
    program.options = draw_options(program, random.Random(f"{key}/options"))
    _draw_form(program, random.Random(f"{key}/form"))
    if program.options:
        program.features.append("options")
    if program.reassociated:
        program.features.append("reassociated")
    if _has_unused_arguments(program):
        program.features.append("unused arguments")
    return program


def _draw_form(program: Program, rng: random.Random) -> None:
    """Whether a copy is made on the way, and whether the file is edited."""
    copied, edited = rng.random() < COPIED, rng.random() < EDITED
    # The order of a reassociated sum is that of its own schedule.
    if copied and not (program.reassociated and program.has_floats):
        program.copied = True
        program.features.append("copies")
    if edited:
        program.edited = rng.choice(EDITS)
        program.features.append("edited sources")


def _has_unused_arguments(program: Program) -> bool:
    """Whether an array stands in the head of the top function and nowhere else."""
    return any(
        a.shape and len(re.findall(rf"\b{a.name}\b", program.source)) == 1
        for a in program.arguments
    )


def _aimed_kind(key: int | str) -> str | None:
    """The aimed kind of a seed, from choices of its own; None for most."""
    share = random.Random(f"{key}/kind").random() * 100
    for name, (weight, _) in _AIMED.items():
        if share < weight:
            return name
        share -= weight
    return None
