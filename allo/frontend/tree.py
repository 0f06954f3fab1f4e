"""The typed, elaborated tree: what `elaborate` leaves and `emit` reads.

Everything a template, a meta construct, a type rule or a whole-array operation stood for has
been decided: operands are cast, loops are explicit, every expression has a scalar type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Union

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import AlloType

from .affine import Affine, Iter, ScalarArg

Shape = tuple[int | None, ...]


@dataclass(slots=True, eq=False)
class Var:
    """Storage: an array, or a scalar held in a one-element buffer.

    Attributes:
        kind: ``arg``, ``local``, ``const`` (constant global), ``stateful``, ``result`` (of a call).
        symbol: name of the global behind a ``const`` or ``stateful`` variable.
        init: elements of a ``const`` or ``stateful`` global, a NumPy array.
        strides: of an array argument that may be a view of a larger array: its strides in
            elements (None: known at run time only); None for an array of its own.
        user_declared: a ``const`` the program declares by name, which becomes a local copy of the
            global as soon as something writes it.
    """

    name: str
    dtype: AlloType
    shape: Shape
    kind: str
    place: SourcePlace
    memory: Any = None
    symbol: str = ""
    init: Any = None
    strides: tuple[int | None, ...] | None = None
    user_declared: bool = False


@dataclass(slots=True, eq=False)
class StreamRef:
    """One FIFO as a kernel instance sees it."""

    name: str
    dtype: AlloType
    place: SourcePlace


# --- expressions ---------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Typed:
    """An expression: the type of its value, and where it stands in the program."""

    dtype: AlloType
    place: SourcePlace


@dataclass(slots=True, eq=False)
class Placed:
    """A statement, and where it stands in the program."""

    place: SourcePlace


@dataclass(slots=True, eq=False)
class Const(Typed):
    """A number; a ``literal`` takes the type of what stands beside it."""

    value: int | float
    literal: bool = False


@dataclass(slots=True, eq=False)
class IndexValue(Typed):
    """The value of an affine expression, of type index."""

    affine: Affine


@dataclass(slots=True, eq=False)
class ArgValue(Typed):
    """The value of a scalar argument."""

    arg: ScalarArg


Subscript = Union[Affine, "Expr"]


@dataclass(slots=True, eq=False)
class Load(Typed):
    """An element of a variable; a subscript is affine, or an expression of type index."""

    var: Var
    indices: tuple[Subscript, ...]


@dataclass(slots=True, eq=False)
class Binary(Typed):
    """``op`` on operands already cast to ``lhs.dtype``; ``op`` is the Python operator, min or max."""

    op: str
    lhs: Expr
    rhs: Expr


@dataclass(slots=True, eq=False)
class Compare(Typed):
    """A comparison of operands of one type, as one bit."""

    op: str
    lhs: Expr
    rhs: Expr


@dataclass(slots=True, eq=False)
class Select(Typed):
    """One of two values of one type."""

    condition: Expr
    then: Expr
    other: Expr


@dataclass(slots=True, eq=False)
class Cast(Typed):
    """A value in another type."""

    value: Expr


@dataclass(slots=True, eq=False)
class Math(Typed):
    """A scalar function of the ``math`` dialect, by its name there."""

    function: str
    args: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Bitcast(Typed):
    """The same bits as another type of the same width."""

    value: Expr


@dataclass(slots=True, eq=False)
class CallResult(Typed):
    """One scalar result of a call statement before it."""

    call: Call
    position: int


@dataclass(slots=True, eq=False)
class Computed(Typed):
    """A value computed once by an earlier :class:`Compute` statement."""

    source: Compute


@dataclass(slots=True, eq=False)
class StreamGet(Typed):
    """A value popped by an earlier :class:`Get` statement."""

    get: Get


@dataclass(slots=True, eq=False)
class Tried(Typed):
    """One result of an earlier :class:`Try` statement."""

    source: Try
    position: int


Expr = (
    Const
    | IndexValue
    | ArgValue
    | Load
    | Binary
    | Compare
    | Select
    | Cast
    | Math
    | Bitcast
    | CallResult
    | Computed
    | StreamGet
    | Tried
)


# --- statements ------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Declare(Placed):
    """Allocate a local, or fetch a global."""

    var: Var


@dataclass(slots=True, eq=False)
class Fill(Placed):
    """Every element of a variable set to one value."""

    var: Var
    value: Expr


@dataclass(slots=True, eq=False)
class Copy(Placed):
    """All of ``source`` into ``target``: same shape, same element type."""

    source: Var
    target: Var


@dataclass(slots=True, eq=False)
class Store(Placed):
    """``partial`` where ``value`` is the old element with some of its bits replaced."""

    var: Var
    indices: tuple[Subscript, ...]
    value: Expr
    partial: bool = False


@dataclass(slots=True, eq=False)
class For(Placed):
    """``for iter in range(max(lower), min(upper), step)`` when affine; else one lower and upper."""

    iter: Iter
    lower: tuple[Subscript, ...]
    upper: tuple[Subscript, ...]
    step: Subscript
    body: list[Stmt]
    loop_name: str
    op_name: str | None = None
    reduction: bool = False
    pipeline: int | None = None
    unroll: int | None = None


@dataclass(slots=True, eq=False)
class AffineCondition:
    """A conjunction of constraints, each ``expr >= 0`` or ``expr == 0``."""

    constraints: tuple[tuple[Affine, bool], ...]


@dataclass(slots=True, eq=False)
class If(Placed):
    """Statements that run where a condition holds, and others where it does not."""

    condition: Expr | AffineCondition
    then: list[Stmt]
    other: list[Stmt]


@dataclass(slots=True, eq=False)
class While(Placed):
    """``prelude`` computes what ``condition`` reads, before each test."""

    prelude: list[Stmt]
    condition: Expr
    body: list[Stmt]


@dataclass(slots=True, eq=False)
class View:
    """A strided part of an array: offset, size and step a dimension; size None drops it."""

    var: Var
    offsets: tuple[Subscript, ...]
    sizes: tuple[int | None, ...]
    steps: tuple[int, ...]
    place: SourcePlace

    def settle(self, settled: Callable[[Expr], Expr]) -> None:
        """Put ``settled(e)`` in the place of every computed offset."""
        self.offsets = tuple(o if isinstance(o, Affine) else settled(o) for o in self.offsets)


Argument = Expr | Var | View | StreamRef


@dataclass(slots=True, eq=False)
class Call(Placed):
    """A call; an array result becomes the variable of ``results`` at its position.

    Attributes:
        instance: of a kernel instance that uses the function of another one, its own name.
    """

    callee: str
    args: tuple[Argument, ...]
    results: tuple[Var | None, ...]
    instance: str = ""


@dataclass(slots=True, eq=False)
class Compute(Placed):
    """Evaluate an expression here, once, for several readers; ``index`` stands for it in subscripts."""

    value: Expr
    index: Iter | None = None


@dataclass(slots=True, eq=False)
class Return(Placed):
    """The end of the function, with its results."""

    values: tuple[Expr | Var, ...]


@dataclass(slots=True, eq=False)
class MakeStream(Placed):
    """One FIFO of a region."""

    stream: StreamRef


@dataclass(slots=True, eq=False)
class Put(Placed):
    """A value, or a block, put into a FIFO."""

    stream: StreamRef
    value: Expr | Var


@dataclass(slots=True, eq=False)
class Get(Placed):
    """Pop one element: a scalar, or a block into ``into``."""

    stream: StreamRef
    into: Var | None = None


@dataclass(slots=True, eq=False)
class Try(Placed):
    """``try_put`` of a value, ``try_get``, ``empty`` or ``full``: what does not wait for the other end."""

    operation: str
    stream: StreamRef
    value: Expr | None = None


@dataclass(slots=True, eq=False)
class Effect(Placed):
    """``print`` or ``assert``.

    Attributes:
        texts: the message of an assertion; of a print the text before each value, and after the last.
    """

    kind: str
    operands: tuple[Expr, ...]
    texts: tuple[str, ...]


Stmt = (
    Declare
    | Fill
    | Copy
    | Store
    | For
    | If
    | While
    | Call
    | Compute
    | Return
    | MakeStream
    | Put
    | Get
    | Try
    | Effect
)


@dataclass(slots=True, eq=False)
class Function:
    """One function of the core IR, elaborated.

    Attributes:
        params: a Var for an array, a ScalarArg for a scalar, a StreamRef for a stream.
        results: declared (dtype, shape) of each result.
        body: statements, the last a Return.
        written: the variables some statement stores into.
        endless: the condition of a loop without an end, in it or in what it calls.
    """

    name: str
    params: list[Var | ScalarArg | StreamRef]
    results: list[tuple[AlloType, Shape]]
    body: list[Stmt] = field(default_factory=list)
    place: SourcePlace | None = None
    globals: list[Var] = field(default_factory=list)
    written: set[Var] = field(default_factory=set)
    attributes: dict[str, Any] = field(default_factory=dict)
    endless: SourcePlace | None = None
