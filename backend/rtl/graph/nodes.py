"""The compiler's own graph: nodes in bodies, bodies in a tree of regions (``regions.py``).

A :class:`Body` is straight-line code after if-conversion, in program order. Every function is converted
to this form once; scheduling, binding and emission work on it alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.core.partition import ArrayLayout
from allo.dialects.diagnostics import SourcePlace

from ..operators.spec import Operator

FREE = frozenset({"const", "iv", "arg", "result"})

type Literal = tuple[Hashable, bool]
"""A value of one bit, or that a value equals a constant; and whether it holds."""
type Cases = frozenset[frozenset[Literal]]
"""A condition: alternatives of literals that hold together."""
ALWAYS: Cases = frozenset({frozenset()})


@dataclass(slots=True, unsafe_hash=True)
class Lin:
    """``const + sum(coefficient * symbol)``; symbols are nodes that carry a range. It is never changed.

    Attributes:
        const: the constant part.
        terms: (node, coefficient) pairs in order of node number, without zero coefficients.
    """

    const: int
    terms: tuple[tuple[Node, int], ...] = ()

    @property
    def signature(self) -> tuple[tuple[int, int], ...]:
        """The expression without its constant: equal signatures differ by a known distance."""
        return tuple((node.number, factor) for node, factor in self.terms)

    @property
    def key(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The whole expression as numbers: equal keys mean equal expressions."""
        return self.const, self.signature

    @property
    def is_const(self) -> bool:
        """Whether it has no symbols."""
        return not self.terms

    def bounds(self) -> tuple[int, int]:
        """Lowest and highest value the ranges of the symbols allow."""
        low = high = self.const
        if not self.terms:
            return low, high
        for node, factor in self.terms:
            a, b = factor * node.low, factor * node.high
            low += min(a, b)
            high += max(a, b)
        return low, high


ASKS = frozenset(("empty", "full"))
"""Operations of streams that pass no word."""


@dataclass(slots=True, eq=False)
class Node:
    """One operation and its value.

    Attributes:
        number: unique in the function, in order of creation.
        kind: ``const``, ``iv`` (loop counter), ``arg`` (scalar argument), ``result`` (scalar a call
            returned), ``lin`` (a linear expression), ``op`` (a library operator), ``wire`` (bits
            selected or resized, no logic), ``load``, ``store``, ``get``, ``put``, ``check`` (of
            subscripts: whether none has failed so far; operands: inside, predicate, what to tell),
            ``exit`` (its operand: whether the loop ends with this iteration).
        width: bits of the value, 0 where there is none.
        body: the body it runs in; None for values that are stable while bodies read them.
        low, high: range of the value where it serves as an index symbol.
        rest_of: of a remainder the expression and the divisor.
        quotient_of: of a quotient by no power of two the expression, which is not negative, and the divisor.
        test: of a comparison of two index values their difference, and which of 0 it is held to be (0: equal,
            1: other than it, 2: below, 3: at most, 4: above, 5: at least).
        floors, ceilings: expressions of outer symbols that a loop counter, times ``stride``, is not
            below and not above.
        data: constant value, :class:`Lin`, wire spelling, by kind; of a put or get that does not
            wait its name, ``try_put``, ``full``, ``try_get`` (value: what was got, and above it a bit
            that says whether anything was) or ``empty``.
        op: the operation of the core IR that an operator computes, "" for what has none.
        impl: what it is asked to be made of, see :mod:`allo.dialects.bindings`.
        cases: when a stream operation happens.
        party: number of the first of the stream operations with which it shares the stream's port, in one
            cycle, because they exclude each other; -1 where it has none.
        time: cycle in its body in which it starts (set by the scheduler).
        avail: cycle from which its value can be read.
        settle: nanoseconds into cycle ``avail`` until it is stable.
        crosses: whether another body reads it.
        joined: the operations before it that its operator computes, too.
    """

    number: int
    kind: str
    width: int
    operands: tuple[Node, ...] = ()
    body: Body | None = None
    operator: Operator | None = None
    op: str = ""
    impl: str = ""
    data: Any = None
    access: Access | None = None
    place: SourcePlace | None = None
    low: int = 0
    high: int = 0
    rest_of: tuple[Lin, int] | None = None
    quotient_of: tuple[Lin, int] | None = None
    test: tuple[int, Lin] | None = None
    floors: tuple[Lin, ...] = ()
    ceilings: tuple[Lin, ...] = ()
    stride: int = 1
    label: str = ""
    float_op: bool = False
    guard: tuple[Any, ...] = ()
    stream: Stream | None = None
    predicate: Node | None = None
    cases: Cases = ALWAYS
    party: int = -1
    time: int = 0
    avail: int = 0
    settle: float = 0.0
    crosses: bool = False
    joined: tuple[Node, ...] = ()
    unit: int = -1

    @property
    def is_free(self) -> bool:
        """Whether it belongs to no body: a constant, a counter, an argument, a call's result."""
        return self.kind in FREE

    @property
    def waits(self) -> bool:
        """Whether it is a put or a get that waits for the other end of its stream."""
        return self.stream is not None and self.data is None

    @property
    def tries(self) -> bool:
        """Whether it asks a stream, and perhaps passes a word, without waiting."""
        return self.stream is not None and self.data is not None

    @property
    def latency(self) -> int:
        """Cycles from the node's start to its value; 0 if it is ready in the same cycle."""
        if self.operator is not None:
            return self.operator.latency
        if self.kind == "load" and self.access is not None:
            return self.access.array.read_latency + int(self.access.late)
        return 0


@dataclass(slots=True, eq=False)
class Stream:
    """A FIFO as one function sees it.

    Attributes:
        dtype: textual type of an element, ``"f32"`` or ``"4x4xf32"``; ``width`` bits of a word.
        shape: extents of a block element, () for a scalar.
        direction: ``"put"`` or ``"get"`` by the function's use, "" while unknown.
        parameter: position among the function's stream parameters, -1 for a region's own.
        tried: whether the function asks it without waiting.
        group: of two streams in different groups, nobody outside of the function waits for a word of one
            before giving or taking one of the other.
    """

    name: str
    dtype: str
    width: int
    depth: int
    shape: tuple[int, ...] = ()
    number: int = 0
    direction: str = ""
    parameter: int = -1
    place: SourcePlace | None = None
    tried: bool = False
    group: int = 0


@dataclass(slots=True, eq=False)
class Array:
    """A memory as one function sees it.

    Attributes:
        storage: ``"ram"``, ``"reg"`` (a register a bank), ``"port"`` (argument or result),
            ``"rom"``.
        parameter: position among the function's array parameters for ``"port"``.
        initial: words of a constant or of a stateful variable, row-major; None when undefined.
        constant: nothing writes it. With one word a bank it is ``"reg"``, and no register but wires.
        private: declared in the body it is used in: no value outlives an iteration.
        copied: so many copies the iterations of a loop of tasks take in turn, 0 where there is one; they lie
            in one memory for each bank, or in one each where they are ``split``.
        style: what its banks are to be made of, as their declarations say; "" where any will do.
        one_writes: only one of the two ports of a bank may write, so that it is a block of its device.
        first_run: the register is set by the first run, which copies initial words.
    """

    name: str
    dtype: str
    width: int
    layout: ArrayLayout
    shape: tuple[int, ...]
    storage: str
    place: SourcePlace | None = None
    initial: list[int] | None = None
    constant: bool = False
    read_latency: int = 1
    private: Body | None = None
    parameter: int = -1
    number: int = 0
    loaded: bool = False
    stored: bool = False
    space: str = ""
    copied: int = 0
    split: bool = False
    style: str = ""
    one_writes: bool = False
    first_run: bool = False

    @property
    def banks(self) -> int:
        """The number of banks; of copies that are split, those of the first one come first."""
        return self.copied * self.layout.bank_count if self.split else self.layout.bank_count

    @property
    def depth(self) -> int:
        """The number of words in each bank; of one with all copies, each begins at a power of two.

        The banks of a RAM have two words at least, for an address.
        """
        words = max(self.layout.bank_depth, 2 if self.storage == "ram" else 1)
        together = self.copied and not self.split
        return self.copied << max(1, (words - 1).bit_length()) if together else words


@dataclass(slots=True, eq=False)
class Access:
    """Where a load or store goes.

    Attributes:
        index: the subscripts, a linear expression a dimension (for dependences).
        places: the bank of each dimension, as far as subscripts say; () where ``by_bank``.
        rotation: says which other accesses of unknown banks are of others, None where nothing is known (set
            by :func:`~allo.backend.rtl.plan.turns.rotation.rotate`).
        by_bank: ``index`` is a bank and a word of it: a whole array is filled or copied.
        bank: the bank, where known at compile time.
        candidates: the banks it may touch where that is not known.
        bank_node: says which of the candidates, by its position among them.
        word_node: the word in its bank; None where a bank has one.
        data, predicate: nodes of a store; ``predicate`` None means always.
        ports: RAM port used in each bank touched (set by binding).
        bypass: stores whose data a load takes when both meet in one cycle on one element.
        late: a register is behind the memory's output. The load also takes the data of a store in the
            cycle after its own, one of ``late_bypass``.
        prompt: it also takes the data of a store in the cycle in which its word is there, one of
            ``prompt_bypass``.
        forwarded: whether the schedule may ask for such stores.
        asserted: the user's assertions that cover it.
        gate: what held where a load stands in the program, if that is all it is needed for. A load whose
            address need not wait for it happens always, as long as it is not ``gated``.
        cases: when it happens, a load if it is gated; ``needed``: when it matters to the program.
    """

    array: Array
    index: tuple[Lin, ...]
    bank: int | None
    bank_node: Node | None = None
    word_node: Node | None = None
    data: Node | None = None
    predicate: Node | None = None
    ports: dict[int, int] = field(default_factory=dict)
    bypass: list[Node] = field(default_factory=list)
    forwarded: bool = False
    late: bool = False
    late_bypass: list[Node] = field(default_factory=list)
    prompt: bool = False
    prompt_bypass: list[Node] = field(default_factory=list)
    asserted: frozenset[int] = frozenset()
    candidates: tuple[int, ...] = ()
    gate: Node | None = None
    gated: bool = False
    cases: Cases = ALWAYS
    needed: Cases = ALWAYS
    by_bank: bool = False
    places: tuple[Lin, ...] = ()
    rotation: Any = None

    def banks(self) -> tuple[int, ...]:
        """Every bank it may touch."""
        return (self.bank,) if self.bank is not None else self.candidates


@dataclass(slots=True, eq=False)
class Edge:
    """``target`` starts at least ``latency`` cycles after ``source``, ``distance`` iterations on.

    ``bypass``: a store and a load that may start in the same cycle, because the load then takes the
    stored value on its way. ``back``: the source comes later in the program, in the same iteration.
    """

    source: Node
    target: Node
    latency: int
    distance: int
    array: Array | None = None
    bypass: bool = False
    back: bool = False

    @property
    def passes_register(self) -> bool:
        """Whether the load may take what goes to a register."""
        return self.bypass and self.array is not None and self.array.storage == "reg"

    @property
    def passes_word(self) -> bool:
        """Whether the load may take what goes to a memory in the cycle in which its own word is there."""
        access = self.target.access
        return self.bypass and access is not None and access.prompt


@dataclass(slots=True, eq=False)
class Body:
    """Straight-line code with its schedule.

    Attributes:
        number: unique in the function.
        edges: orders beyond data flow (memory).
        ii: cycles between iterations; equal to ``depth`` when they do not overlap.
        depth: cycles of one iteration.
        hold: cycles from the last issue until control goes on, while the rest runs on; 0 for all of
            ``depth``.
        alive: that no check of subscripts before this point has failed, while the body is filled.
    """

    number: int
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    ii: int = 1
    depth: int = 1
    hold: int = 0
    overlaps: bool = False
    unique: dict[Any, Any] = field(default_factory=dict)
    known: Any = None
    alive: Node | None = None

    @property
    def stay(self) -> int:
        """Cycles from the last issue until control goes on."""
        return self.hold or self.depth

    @property
    def runs_on(self) -> bool:
        """Whether other regions run while its last iteration drains."""
        return self.stay < self.depth
