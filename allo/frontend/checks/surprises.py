"""Legal text whose result may surprise: what :data:`SURPRISES` lists, found in a program's text.

The typing is what is published, and stays. A store into a wider type shows that more bits were meant than
the operator keeps, so ``h << 5`` in a hash of one width is let pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from allo.dialects.diagnostics import SourcePlace, Surprise
from allo.dialects.ranges.interval import within
from allo.dialects.types import AlloType, Int, UInt

from ..rules.integers import range_of
from ..tree import (
    ArgValue,
    Binary,
    Call,
    Cast,
    Const,
    Copy,
    Expr,
    For,
    Function,
    Get,
    If,
    Put,
    Return,
    Stmt,
    Store,
    Var,
    View,
    While,
)
from .spans import evaluated, loads, span_of


def surprises_of(function: Function) -> list[Surprise]:
    """What may surprise in one function, in the order of its text."""
    found = [Surprise.of(rule, place, meant) for rule, place, meant in _narrow(function.body)]
    if not any(_argument_of(statement) for statement in function.body):
        return found
    walk = _Lost()
    walk.block(function.body)
    found += [
        Surprise.of("argument", place, f"return {var.name}, or pass an array of one element")
        for var, place in walk.assigned.items()
        if var not in walk.used
    ]
    return found


def shifted_out(place: SourcePlace, dtype: AlloType, amount: int) -> Surprise:
    """A constant shift to the left by the width or more."""
    return Surprise.of("shift", place, f"{spelled(dtype, dtype.bits + amount)}(x) << {amount}")


def shifted_back(place: SourcePlace, symbol: str, amount: int) -> Surprise:
    """A shift by a negative constant."""
    return Surprise.of("negative", place, f"x {'>>' if symbol == '<<' else '<<'} {-amount}")


def spelled(dtype: AlloType, bits: int) -> str:
    """An integer type of so many bits as a program writes it."""
    return f"{'Int' if isinstance(dtype, Int) else 'UInt'}({bits})"


# --- bits that a narrow operator loses -------------------------------------------------------


def _narrow(statements: Iterable[Stmt]) -> Iterator[tuple[str, SourcePlace, str]]:
    for statement in statements:
        if not (isinstance(statement, Store) and statement.partial):
            for value in evaluated(statement):
                if isinstance(value, Cast) and isinstance(value.dtype, (Int, UInt)):
                    yield from _within(value.value, value.dtype)
        for block in _blocks(statement):
            yield from _narrow(block)


def _blocks(statement: Stmt) -> tuple[list[Stmt], ...]:
    match statement:
        case If():
            return statement.then, statement.other
        case For():
            return (statement.body,)
        case While():
            return statement.prelude, statement.body
    return ()


def _within(value: Expr, wide: AlloType) -> Iterator[tuple[str, SourcePlace, str]]:
    """What loses bits that ``wide`` holds, below operators whose low bits depend on low bits only."""
    if isinstance(value, Cast):
        yield from _within(value.value, wide)
    if not isinstance(value, Binary) or value.op not in ("+", "-", "*", "&", "|", "^", "<<"):
        return
    if value.dtype.bits < wide.bits and isinstance(value.dtype, (Int, UInt)):
        meant = spelled(wide, wide.bits)
        amount = value.rhs.value if isinstance(value.rhs, Const) else None
        if value.op == "<<" and amount is not None and _loses(value, int(amount)):
            yield "shift", value.place, f"{meant}(x) << {amount}"
        elif value.op in "&|^" and (_reinterpreted(value.lhs) or _reinterpreted(value.rhs)):
            yield "bitwise", value.place, f"{meant}(x) {value.op} {meant}(y)"
    yield from _within(value.lhs, wide)
    if value.op != "<<":
        yield from _within(value.rhs, wide)


def _loses(value: Binary, amount: int) -> bool:
    span = span_of(value.lhs)
    if span is None:
        return False
    scale = 1 << amount
    return not within((span[0] * scale, span[1] * scale), range_of(value.dtype))


def _reinterpreted(value: Expr) -> bool:
    """Whether an unsigned operand has become a signed one that does not hold its values."""
    if not isinstance(value, Cast) or not isinstance(value.value.dtype, UInt):
        return False
    span = span_of(value.value)
    return span is not None and not within(span, range_of(value.dtype))


# --- scalar arguments that are assigned for nothing --------------------------------------------


def _argument_of(statement: Stmt) -> Var | None:
    """The scalar argument that a statement at the start of a function gives its value."""
    if isinstance(statement, Store) and isinstance(statement.value, ArgValue):
        return statement.var if statement.value.arg.place == statement.var.place else None
    return None


class _Lost:
    """Follows the statements of one function.

    Attributes:
        assigned: scalar arguments that were assigned, and where last.
        used: those of them that were read after it.
    """

    def __init__(self) -> None:
        self.assigned: dict[Var, SourcePlace] = {}
        self.used: set[Var] = set()
        self._arguments: set[Var] = set()

    def block(self, statements: Iterable[Stmt], again: bool = True) -> None:
        """Follow statements; those of an outermost loop twice, for a later iteration may read."""
        for statement in statements:
            self._reads(evaluated(statement))
            self._whole(statement)
            loop = isinstance(statement, (For, While))
            for _ in range(2 if loop and again else 1):
                for inner in _blocks(statement):
                    self.block(inner, again and not loop)
                if isinstance(statement, While):
                    self._reads([statement.condition])

    def _reads(self, values: Iterable[Expr]) -> None:
        for load in loads(values):
            self._read(load.var)

    def _read(self, var: Var) -> None:
        if var in self.assigned:
            self.used.add(var)

    def _whole(self, statement: Stmt) -> None:
        match statement:
            case Store(var=var) if _argument_of(statement):
                self._arguments.add(var)
            case Store(var=var) | Get(into=Var() as var) if var in self._arguments:
                self.assigned[var] = statement.place
            case Copy():
                self._read(statement.source)
            case Put(value=Var() as var):
                self._read(var)
            case Return():
                for result in statement.values:
                    if isinstance(result, Var):
                        self._read(result)
            case Call():
                for argument in statement.args:
                    owner = argument.var if isinstance(argument, View) else argument
                    if isinstance(owner, Var):
                        self._read(owner)
