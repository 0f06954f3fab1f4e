"""Regions say when bodies run: one after another, in a loop, under a condition; a function is their tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.affine.asserted import Asserted
from allo.dialects.diagnostics import SourcePlace

from ..operators.spec import Operator
from .nodes import Array, Body, Node, Stream


@dataclass(slots=True, eq=False)
class Level:
    """One loop.

    ``asserted``: what the user says of its iterations, of which ``copies`` stand in one of the body.
    ``trips`` is None for a loop with bounds known only at run time; then ``lower``, ``upper`` are stable
    nodes and ``iv`` is the Python iterator itself, unless the level ``counts``; otherwise ``iv`` counts
    0 … trips-1. ``stride`` is the step where only the run decides it; then ``step`` is the least, 1.
    """

    name: str
    iv: Node
    trips: int | None
    step: int = 1
    lower: Node | None = None
    upper: Node | None = None
    place: SourcePlace | None = None
    counts: bool = True
    asserted: tuple[Asserted, ...] = ()
    copies: int = 1
    stride: Node | None = None

    @property
    def bounds(self) -> list[Node]:
        """What a loop known only at run time is made of: bounds and step."""
        return [node for node in (self.lower, self.upper, self.stride) if node is not None]


@dataclass(slots=True, eq=False)
class Stepped:
    """A register that holds an expression of loop counters, and moves when they do.

    When a level moves on, and with it all levels inside go back to their start, the register grows by what
    stands in ``adds`` for this level, modulo ``divisor`` where that is not 0, else modulo its bits. When all
    ``levels`` go back to their start, it grows by ``back``, and is at ``start`` again.

    Attributes:
        node: its value.
        levels: the outermost first, each of several iterations. Levels inside of these do not move it.
        start: the value in the first iteration.
        rest: a remainder; where it passes its divisor, ``factor`` is added once more.
    """

    node: Node
    levels: tuple[Level, ...]
    adds: tuple[int, ...]
    start: int
    back: int
    divisor: int = 0
    rest: Stepped | None = None
    factor: int = 0


@dataclass(slots=True, eq=False)
class Guess:
    """A register that iterations of a loop write before it is known that they run.

    An iteration leaves ``final``, which is ``following`` where another one follows. In ``step`` of the last
    one the register takes ``final``.
    """

    store: Node
    loads: list[Node]
    final: Node
    following: Node
    step: int = 0


@dataclass(slots=True, eq=False)
class Exit:
    """What ends a loop before its counters do.

    ``node``, of kind ``exit``, holds in the last iteration; its ``step`` stops later ones. ``guesses``, used
    where ``guessing``, alone need those of the body's ``nodes`` with numbers in ``extra``.
    """

    node: Node
    guesses: list[Guess] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    extra: frozenset[int] = frozenset()
    guessing: bool = False
    step: int = 0


class Region:
    """A part of a function's control."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Seq(Region):
    """Regions one after the other; ``waits`` are cycles left in front of a child, by its position."""

    children: list[Region] = field(default_factory=list)
    waits: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Block(Region):
    """Straight-line code run once."""

    body: Body


@dataclass(slots=True, eq=False)
class Leaf(Region):
    """A loop nest without loops inside its body: one pipeline.

    ``asked`` is the initiation interval the user asked for, None for a loop that is not pipelined.
    ``exit`` may end the loop; nothing else ends a while loop, which has no levels and may have no exit.
    ``rewind``: the first ``outer`` levels may run on without waiting for the pipeline to drain; then
    ``gap`` cycles are left between the iterations of one run of the inner levels and those of the next.
    ``stepped``: registers that move with the counters of ``chain``: levels, and of loops around them, that
    have several iterations. ``remake`` makes the schedule again that was found for the levels and nodes of
    then, once others were tried.
    """

    levels: list[Level]
    body: Body
    asked: int | None
    band: str = ""
    exit: Exit | None = None
    limit: str = ""
    place: SourcePlace | None = None
    notes: list[str] = field(default_factory=list)
    rewind: bool = False
    outer: int = 0
    gap: int = 0
    chain: tuple[Level, ...] = ()
    stepped: list[Stepped] = field(default_factory=list)
    remake: Callable[[], None] | None = None


@dataclass(slots=True, eq=False)
class Loop(Region):
    """A loop around other regions. An iteration in which ``guard`` does not hold is the last one.

    ``wait``: cycles left between two iterations.
    """

    level: Level
    child: Seq
    band: str = ""
    guard: Node | None = None
    wait: int = 0


@dataclass(slots=True, eq=False)
class If(Region):
    """A condition around other regions; ``condition`` is stable while it runs."""

    condition: Node
    then: Seq
    other: Seq


@dataclass(slots=True, eq=False)
class Choice(Region):
    """Ways to build one thing, until the plan takes the fastest."""

    options: list[Seq]


@dataclass(slots=True, eq=False)
class While(Region):
    """``test`` runs, and while ``condition`` (of its last block) holds, ``child``.

    ``held`` is the control in it that makes it no leaf.
    """

    test: Seq
    condition: Node
    child: Seq
    place: SourcePlace | None = None
    held: tuple[str, SourcePlace | None] | None = None

    @property
    def never_ends(self) -> bool:
        """Whether the condition is a constant that holds."""
        return self.condition.kind == "const" and bool(self.condition.data)


@dataclass(slots=True, eq=False)
class Call(Region):
    """A run of another function's module.

    Attributes:
        scalars: nodes of the scalar arguments, in order.
        streams: streams bound to the callee's stream parameters, in order.
        arrays: arrays bound to the callee's array parameters, results included.
        results: nodes of the scalar results.
    """

    callee: str
    scalars: list[Node]
    arrays: list[Array]
    results: list[Node]
    streams: list[Stream] = field(default_factory=list)
    place: SourcePlace | None = None


@dataclass(slots=True, eq=False)
class Function:
    """One function as a tree of regions.

    Attributes:
        parameters: array parameters in order: arguments, then results that have storage here.
        scalar_args: nodes of the scalar arguments in order.
        argument_names: all arguments in the user's order.
        returned: what is returned, in order: an :class:`Array` or a node.
        drain: cycles at its end in which the last iterations drain.
        packed: the operators of products that share multiplier blocks to meet a limit.
    """

    name: str
    module: str
    root: Seq = field(default_factory=Seq)
    parameters: list[Array] = field(default_factory=list)
    scalar_args: list[Node] = field(default_factory=list)
    scalar_types: list[str] = field(default_factory=list)
    argument_names: list[str] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)
    result_types: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    place: SourcePlace | None = None
    notes: list[str] = field(default_factory=list)
    count: int = 0
    bodies: int = 0
    float_ops: int | None = 0
    cycles: int | None = None
    drain: int = 0
    packed: list[Operator] = field(default_factory=list)

    def number(self) -> int:
        """The number of the next node; each is given once."""
        self.count += 1
        return self.count

    def new_body(self) -> Body:
        """A new body with a number of its own."""
        self.bodies += 1
        return Body(self.bodies)
