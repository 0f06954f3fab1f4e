"""Chooses what kind of program a seed gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .kernels import control_kernel, random_style
from .nests import nest_kernel
from .networks import network
from .program import Program
from .tensors import tensor_kernel
from .writer import Style, Writer

_KINDS: dict[str, tuple[int, Callable[[Writer, int], Program]]] = {
    "control": (55, control_kernel),
    "nests": (25, nest_kernel),
    "tensors": (8, tensor_kernel),
    "networks": (12, network),
}
FEATURES = tuple(_KINDS)
"""Kinds of program; any feature in ``Program.features`` may be asked for, too."""


def make_program(seed: int, only: str | None = None, skip: Sequence[str] = ()) -> Program:
    """The program of a seed.

    Args:
        only: a kind of program, or a feature that it must have.
        skip: features that it must not have.

    Raises:
        ValueError: no program like that was found.
    """
    kind = only if only in _KINDS else None
    for attempt in range(2000):
        program = _make(f"{seed}/{attempt}" if attempt else seed, seed, kind)
        features = set(program.features)
        if (only is None or only in features) and not features.intersection(skip):
            return program
    raise ValueError(f"No program has the feature {only!r} and none of {', '.join(skip)}.")


def _make(key: int | str, seed: int, kind: str | None) -> Program:
    w = Writer(key, Style())
    w.style = random_style(w)
    if kind is None:
        names = list(_KINDS)
        kind = w.rng.choices(names, [_KINDS[name][0] for name in names])[0]
    program = _KINDS[kind][1](w, seed)
    program.features = sorted({*w.features, kind})
    program.exact = w.exact
    return program
