"""What aimed kernels share: arguments, the head of the kernel, short statements."""

from __future__ import annotations

from typing import Protocol

from ..expressions import condition, element_type, expression
from ..program import Argument, Program
from ..statements import assign, augment, store, target
from ..subscripts import element
from ..types import Ty, random_integer
from ..writer import Array, LoopVar, Scalar, Writer, annotation, argument_of


def integer_type(w: Writer, most: int = 64) -> Ty:
    """An integer type of at most ``most`` bits."""
    ty = random_integer(w.rng, wide=0)
    while ty.bits > most:
        ty = random_integer(w.rng, wide=0)
    return ty


def kernel(
    w: Writer, seed: int, params: list[Array | Scalar], result: Ty | None, body: list[str]
) -> Program:
    """The program of one kernel."""
    shown = ", ".join(
        f"{p.name}: {annotation(p.ty, p.shape if isinstance(p, Array) else None)}" for p in params
    )
    returned = f" -> {result.text}" if result is not None else ""
    w.functions.append("\n".join([f"def kernel({shown}){returned}:", *(body or ["    pass"])]))
    arguments: list[Argument] = [argument_of(p) for p in params]
    return Program(seed, w.module(), "kernel", arguments)


class StructOf(Protocol):
    """A Struct that a generator has drawn."""

    @property
    def name(self) -> str:
        """What the program calls it."""

    def about(self) -> tuple[tuple[str, str, object], ...]:
        """The fields as an argument has them."""


def struct_program(
    w: Writer,
    seed: int,
    layout: StructOf,
    length: int,
    others: list[Array],
    body: list[str],
    *,
    alone: bool,
    returned: bool,
) -> Program:
    """The program of one kernel of an array of Structs ``A0`` and other arrays.

    Args:
        alone: whether one Struct by itself, ``r0``, is the last argument.
        returned: whether a Struct is the result.
    """
    shown = [f"A0: {layout.name}[{length}]"]
    shown += [f"{p.name}: {annotation(p.ty, p.shape)}" for p in others]
    shown += [f"r0: {layout.name}"] if alone else []
    head = f"def kernel({', '.join(shown)}){f' -> {layout.name}' if returned else ''}:"
    w.functions.append("\n".join([head, *body]))
    arguments = [
        Argument("A0", "struct", 0, 0, (length,), layout.about()),
        *map(argument_of, others),
        *([Argument("r0", "struct", 0, 0, None, layout.about())] if alone else []),
    ]
    return Program(seed, w.module(), "kernel", arguments)


def into_scope(w: Writer, params: list[Array | Scalar]) -> None:
    """The parameters as names that statements may use."""
    w.scope.arrays += [p for p in params if isinstance(p, Array)]
    w.scope.scalars += [p for p in params if isinstance(p, Scalar)]


def work(w: Writer) -> None:
    """A statement that changes something a caller sees, mostly."""
    w.rng.choices([store, augment, assign], [5, 3, 2])[0](w)


def trace(w: Writer, array: Array) -> None:
    """Count in an element, so that it shows how often and in which order this line ran."""
    loops = [v for v in w.scope.loops if v.low >= 0 and v.high < array.shape[0]]
    at = w.pick(loops).name if loops and w.chance(0.7) else str(w.rng.randrange(array.shape[0]))
    w.line(f"{array.name}[{at}] += {w.rng.randint(1, 9)}")


def reached(w: Writer) -> str:
    """A condition that holds in some iterations and not in others, as a rule."""
    choice = w.rng.random()
    if w.scope.loops and choice < 0.35:
        v: LoopVar = w.pick(w.scope.loops)
        return f"{v.name} {w.pick(('==', '>=', '>', '!='))} {w.rng.randint(v.low, v.high)}"
    if w.scope.arrays and choice < 0.65:
        place = element(w, w.pick(w.scope.arrays))
        return f"{place} {w.pick(('<', '>', '>=', '!='))} {w.rng.randint(-2, 6)}"
    if w.scope.scalars and choice < 0.75:
        return f"{w.pick(w.scope.scalars).name} {w.pick(('<', '>'))} {w.rng.randint(-2, 9)}"
    return condition(w)


__all__ = [
    "assign",
    "augment",
    "element_type",
    "expression",
    "integer_type",
    "into_scope",
    "kernel",
    "reached",
    "target",
    "trace",
    "work",
]
