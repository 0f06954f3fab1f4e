"""What the search knows of a kernel: its nests, with their loops, accesses, sums and float operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

type Unit = tuple[str, tuple[str, ...], str]
"""An operation that takes a unit of hardware: MLIR name, types of operands, type of the result."""
type Shares = Mapping[Unit, Mapping[frozenset[str], int]]
"""Of the operations of each kind, how many the counters of which loops decide on."""
type Dimension = tuple[str, int]
"""An array of the kernel, by its key, and one of its dimensions, from 0."""
WHILE = "it holds a while loop"
"""The obstacle of a nest that cannot be a pipeline."""
APPLIED = "the user has applied primitives to it"
"""The obstacle of a nest that stays as it is."""
OUTSIDE = "it is outside of the part that is scheduled"
"""The same, of a nest that the user has not asked for."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A counted loop of a nest.

    Attributes:
        name: in the schedule.
        extent: the most iterations it runs at a time; None where data decide.
        low: its first iterator, where that is a constant.
        constant: whether both bounds are constants.
        over: the loop of the nest that its bounds depend on, with (coefficient, constant) of each bound.
    """

    name: str
    extent: int | None
    low: int
    constant: bool
    over: tuple[str, tuple[int, int], tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Subscript:
    """An affine subscript: the coefficient of each loop, and a constant."""

    terms: Mapping[str, int]
    constant: int


@dataclass(frozen=True, slots=True)
class Access:
    """An access of an array; a subscript that is not affine in the loops of the nest is None."""

    array: str
    subscripts: tuple[Subscript | None, ...]
    writes: bool


@dataclass(frozen=True, slots=True)
class Sum:
    """An element that iterations update by an associative operation.

    Attributes:
        unit: the operation.
        over: the loops whose iterations update one element.
        rounded: whether another order gives other bits.
    """

    unit: Unit
    over: frozenset[str]
    rounded: bool


@dataclass(slots=True)
class Nest:
    """A perfect nest of loops and what stands in its innermost body, or a loop around other nests.

    Attributes:
        function, band: where its loops are named.
        chain: the loops, outermost first, each the only statement of the one before.
        inner: loops of the body, whole, which a pipeline around them unrolls.
        work: operations of one iteration of the chain, with all of ``inner`` unrolled.
        shares: the same by the loops of the chain that decide on them: the iterations of others share one.
        levels: units one after the other in one iteration of the body, from loads to stores.
        entries: how often it runs in one run of the kernel.
        copies: of innermost bodies in one iteration of the chain, with all of ``inner`` unrolled.
        parent: the nest in whose body it stands, by its number.
        obstacle: why nothing of it can be chosen but the pipelining of its innermost loops; or "".
        orders: whether the loops may be told to go in another order.
    """

    function: str
    band: str
    chain: list[Loop]
    place: str
    inner: list[Loop] = field(default_factory=list)
    work: dict[Unit, int] = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)
    levels: list[Unit] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    inner_sums: list[tuple[str, bool]] = field(default_factory=list)
    entries: int = 1
    parent: int | None = None
    children: list[int] = field(default_factory=list)
    copies: int = 1
    obstacle: str = ""
    number: int = 0
    serial: bool = False
    task: int = 0

    @property
    def name(self) -> str:
        """``function:band``, with the first loop of one inside another nest."""
        first = self.chain[0].name if self.chain else ""
        return f"{self.function}:{self.band}" + (f".{first}" if self.parent is not None else "")

    @property
    def fixed(self) -> bool:
        """Whether it stays as it is, without a pipeline too."""
        return self.obstacle in (APPLIED, OUTSIDE)

    def own(self, unit: Unit) -> int:
        """Operations of a kind that no two iterations of the chain share."""
        every = frozenset(loop.name for loop in self.chain)
        return self.shares.get(unit, {every: self.work[unit]}).get(every, 0)


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the kernel under all of its names.

    Attributes:
        handle: what a primitive calls it.
        shape: its extents.
        local: whether it is made inside, and so takes memory of the design.
        banked: dimensions the user has partitioned, with their banks.
        obstacle: why it cannot be partitioned, or "".
        copies: how many memories these are: results of all calls of a function have one key, what the top
            function returns is none.
    """

    key: str
    handle: str
    shape: tuple[int, ...]
    bits: int
    local: bool
    banked: Mapping[int, int]
    obstacle: str = ""
    copies: int = 1


@dataclass(slots=True)
class Kernel:
    """A whole kernel: its nests in the order in which they run, and its arrays.

    Attributes:
        tasks: for each statement of the top function's body that runs loops: the nests that it runs.
        waits: pairs of tasks of which the second cannot start before the first has ended.
        together: whether the tasks run at the same time as it is, in a region.
    """

    top: str
    nests: list[Nest]
    arrays: dict[str, Array]
    tasks: list[list[int]]
    waits: list[tuple[int, int]]
    rounded: bool = False
    together: bool = False

    @property
    def variants(self) -> list[bool]:
        """Whether tasks may run at the same time: where not every two wait for one another."""
        if self.together:
            return [True]
        tasks = len(self.tasks)
        pairs = tasks * (tasks - 1) // 2
        return [False, True] if tasks > 1 and len(self.waits) < pairs else [False]

    def leaves(self) -> list[Nest]:
        """The nests that hold no others."""
        return [nest for nest in self.nests if not nest.children]

    def entries_of_task(self, number: int) -> int:
        """How often a nest runs in each task that has it: calls of one function have the same nests."""
        return self.nests[number].entries // max(1, sum(number in task for task in self.tasks))

    def around(self, nest: Nest) -> Iterator[int]:
        """The nests in whose bodies a nest stands, the innermost first, by their numbers."""
        parent = nest.parent
        while parent is not None:
            yield parent
            parent = self.nests[parent].parent


def banks_of(banks: Mapping[Dimension, int], arrays: Iterable[str]) -> int:
    """The banks of some arrays together, each the product of those of its dimensions."""
    return sum(
        prod(factor for (name, _), factor in banks.items() if name == array) for array in arrays
    )
