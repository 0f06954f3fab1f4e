"""The state of a program being written: lines, names in scope, definitions around the kernel."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .program import Argument
from .types import Ty

CONVERTS = 0.12
"""Programs that pass arrays for the other signedness and put expressions without a variable between."""
COMPOSES = 0.2
"""Programs whose functions call each other, return arrays, and are called in the middle of expressions."""
ROUNDS = 0.5
"""Programs with fixed-point types that say how to round and what to do with numbers that are too large."""
HEADER = """import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream
"""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar in scope; ``constant`` where its value is known at compile time."""

    name: str
    ty: Ty
    writable: bool = True
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """An array in scope."""

    name: str
    ty: Ty
    shape: tuple[int, ...]
    writable: bool = True


@dataclass(frozen=True, slots=True)
class LoopVar:
    """A loop iterator with the range of its values, both ends included; ``affine`` says whether it
    is the iterator of an affine loop."""

    name: str
    low: int
    high: int
    affine: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """A Struct in scope, or an array of them."""

    name: str
    fields: tuple[tuple[str, Ty], ...]
    shape: tuple[int, ...] | None = None
    writable: bool = True


@dataclass(slots=True)
class Scope:
    scalars: list[Scalar] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    loops: list[LoopVar] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(list(self.scalars), list(self.arrays), list(self.loops), list(self.records))


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that a kernel may call: its parameters, and the type and shape of what it returns."""

    name: str
    params: tuple[Scalar | Array, ...]
    result: Ty | None
    shape: tuple[int, ...] | None = None


@dataclass(slots=True)
class Style:
    """What a program may hold; drawn once a program, so that programs differ in kind."""

    floats: float = 0.0
    fixed: float = 0.0
    wide: float = 0.12
    depth: int = 2
    math: bool = False
    guards: float = 0.3
    runtime: float = 0.4
    affine_only: bool = False
    power: bool = False


class Writer:
    """Collects the text of one module.

    Attributes:
        rng: every choice comes from here.
        scope: what statements may use.
        work: how many times the current statement runs in one call; bounds loops.
        features: what was used, for statistics.
        converts: whether arrays are passed for the other signedness, and expressions put as they are.
        has_modes: whether fixed-point types say how to round and what to do with numbers too large.
        rounds: choices about these.
        composes: whether functions call functions, return arrays, and are called inside expressions.
        aside: choices about these; those of ``rng`` are what they were without them.
    """

    def __init__(self, seed: int | str, style: Style) -> None:
        self.rng = random.Random(seed)
        self.style = style
        self.scope = Scope()
        self.lines: list[str] = []
        self.depth = 0
        self.work = 1
        self.budget = 12
        self.features: set[str] = set()
        self.definitions: list[str] = []
        self.functions: list[str] = []
        self.helpers: list[Helper] = []
        self.constants: list[Array | Scalar] = []
        self.result: Ty | None = None
        self.exact = True
        self.in_loop = False
        aside = random.Random(f"{seed}/conversions")
        self.converts = aside.random() < CONVERTS
        self.aside = aside
        self.rounds = random.Random(f"{seed}/modes")
        self.has_modes = self.rounds.random() < ROUNDS
        self.composes = random.Random(f"{seed}/compositions").random() < COMPOSES
        self._aliases: dict[Ty, str] = {}
        self._count = 0

    # --- choices ----------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick[T](self, options: list[T] | tuple[T, ...]) -> T:
        return self.rng.choice(options)

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    # --- text -------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def use(self, feature: str) -> None:
        self.features.add(feature)

    def cast(self, ty: Ty) -> str:
        """A name that casts to a type, defined around the kernel."""
        if ty.is_float:
            return ty.kind
        if ty not in self._aliases:
            name = f"T{ty.kind[:2]}{ty.bits}" + (f"_{ty.frac}" if ty.frac else "")
            self._aliases[ty] = f"{name}_{len(self._aliases)}" if ty.modes else name
            self.definitions.append(f"{self._aliases[ty]} = {ty.text}")
        return self._aliases[ty]

    @contextmanager
    def block(self) -> Iterator[None]:
        """A nested block: names declared in it end with it."""
        saved, self.scope = self.scope, self.scope.copy()
        self.depth += 1
        before = len(self.lines)
        try:
            yield
        finally:
            if len(self.lines) == before:
                self.line("pass")
            self.depth -= 1
            self.scope = saved

    @contextmanager
    def function(self) -> Iterator[list[str]]:
        """A function of its own: nothing of the current one is in scope; yields its lines."""
        saved = (self.scope, self.lines, self.depth, self.work, self.result, self.in_loop)
        self.scope, self.lines, self.depth, self.work = Scope(), [], 1, 1
        self.result, self.in_loop = None, False
        try:
            yield self.lines
        finally:
            self.scope, self.lines, self.depth, self.work, self.result, self.in_loop = saved

    def module(self) -> str:
        """The whole module."""
        parts = [HEADER, "\n".join(self.definitions), *self.functions]
        return "\n".join(part for part in parts if part) + "\n"


def annotation(ty: Ty, shape: tuple[int, ...] | None) -> str:
    return ty.text if shape is None else f"{ty.text}[{', '.join(map(str, shape))}]"


def argument_of(value: Scalar | Array, values: str = "any") -> Argument:
    shape = value.shape if isinstance(value, Array) else None
    ty = value.ty
    return Argument(value.name, ty.text, ty.bits, ty.frac, shape, (), values)
