"""Subscripts that surely leave their array in some iteration: refused while compiling.

Sure are the iterations of loops with affine bounds, as conditions on their iterators cut them.
What stands under another condition, in a while or in a loop of a bound known at run time may not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace
from allo.dialects.ranges.points import first_point, span_over
from allo.frontend.checks.spans import evaluated, loads

from ..affine import Affine, FloorDiv, Iter, Mod, shown_iteration
from ..tree import (
    AffineCondition,
    Call,
    For,
    Function,
    If,
    Stmt,
    Store,
    Subscript,
    Var,
    View,
    While,
)
from .spans import is_inside


class _Unknown(Exception):
    """An expression of something that only the run knows."""


@dataclass(frozen=True, slots=True)
class _Domain:
    """The iterations that reach a statement: names by iterator, constraints on them."""

    names: dict[Iter, str]
    constraints: tuple[str, ...]

    def text(self, value: Affine) -> str:
        """isl's text of an expression.

        Raises:
            _Unknown: where it is of more than the iterators around.
        """
        parts = [str(value.const)]
        for atom, coefficient in value.terms:
            parts.append(f"{coefficient} * {self._atom(atom)}")
        return " + ".join(parts)

    def _atom(self, atom: object) -> str:
        if isinstance(atom, FloorDiv):
            return f"floor(({self.text(atom.value)})/{atom.divisor})"
        if isinstance(atom, Mod):
            return f"(({self.text(atom.value)}) mod {atom.divisor})"
        if isinstance(atom, Iter) and atom in self.names:
            return self.names[atom]
        raise _Unknown

    def under(self, *constraints: str) -> _Domain:
        return replace(self, constraints=(*self.constraints, *constraints))


def refuse_out_of_range(function: Function) -> None:
    """Refuse a function with a subscript that surely leaves its array.

    Raises:
        ShapeMismatchError: with the array, its extent, the subscript's range and an iteration.
    """
    _block(function.body, _Domain({}, ()))


def _block(statements: Iterable[Stmt], domain: _Domain | None) -> None:
    for statement in statements:
        if domain is None:
            return
        for place, var, index, reach in _accesses(statement):
            _check(domain, place, var, index, reach)
        match statement:
            case For():
                _block(statement.body, _inside_loop(domain, statement))
            case If():
                _branches(domain, statement)
            case While():
                _block(statement.prelude, domain)


def _inside_loop(domain: _Domain, loop: For) -> _Domain | None:
    parts = (*loop.lower, *loop.upper, loop.step)
    affine = [part for part in parts if isinstance(part, Affine)]
    if len(affine) < len(parts) or not affine[-1].is_constant:
        return None
    name, step = f"i{len(domain.names)}", affine[-1].const
    lowers, uppers = affine[: len(loop.lower)], affine[len(loop.lower) : -1]
    try:
        rows = [f"{name} >= {domain.text(low)}" for low in lowers]
        rows += [f"{name} < {domain.text(high)}" for high in uppers]
        if step > 1:
            if len(lowers) > 1:
                return None
            rows.append(f"({name} - ({domain.text(lowers[0])})) mod {step} = 0")
    except _Unknown:
        return None
    return _Domain({**domain.names, loop.iter: name}, (*domain.constraints, *rows))


def _branches(domain: _Domain, statement: If) -> None:
    if not isinstance(statement.condition, AffineCondition):
        return
    try:
        rows = [
            f"{domain.text(value)} {'=' if equal else '>='} 0"
            for value, equal in statement.condition.constraints
        ]
    except _Unknown:
        return
    _block(statement.then, domain.under(*rows))
    _block(statement.other, domain.under(f"not ({' and '.join(f'({row})' for row in rows)})"))


# --- accesses --------------------------------------------------------------------------------


Access = tuple[SourcePlace, Var, tuple[Subscript, ...], tuple[int, ...]]


def _accesses(statement: Stmt) -> Iterator[Access]:
    """Place, array, subscripts, and how far a slice goes beyond each."""
    if isinstance(statement, Store):
        yield statement.place, statement.var, statement.indices, (0,) * len(statement.indices)
    for load in loads(evaluated(statement)):
        yield load.place, load.var, load.indices, (0,) * len(load.indices)
    for argument in statement.args if isinstance(statement, Call) else ():
        if isinstance(argument, View):
            rows = zip(argument.sizes, argument.steps, strict=True)
            reach = tuple(((size or 1) - 1) * step for size, step in rows)
            yield argument.place, argument.var, argument.offsets, reach


def _check(
    domain: _Domain,
    place: SourcePlace,
    var: Var,
    indices: tuple[Subscript, ...],
    reaches: tuple[int, ...],
) -> None:
    rows = zip(indices, reaches, var.shape, strict=True)
    for dimension, (index, reach, extent) in enumerate(rows):
        if extent is None or not isinstance(index, Affine):
            continue
        if is_inside(index, extent) and is_inside(index + Affine(reach), extent):
            continue
        try:
            text = domain.text(index)
        except _Unknown:
            continue
        names = list(domain.names.values())
        if not names:
            continue
        wrong = domain.under(f"{text} < 0 or {text} + {reach} >= {extent}")
        point = first_point(names, wrong.constraints)
        if point is not None:
            raise _refusal(domain, place, var, dimension, text, reach, point)


def _refusal(
    domain: _Domain,
    place: SourcePlace,
    var: Var,
    dimension: int,
    text: str,
    reach: int,
    point: tuple[int, ...],
) -> ShapeMismatchError:
    names = list(domain.names.values())
    at = [f"{name} = {number}" for name, number in zip(names, point, strict=True)]
    here = span_over(names, at, text)
    span = span_over(names, domain.constraints, text)
    assert here is not None
    value = here[0] if here[0] < 0 else here[0] + reach
    iteration = shown_iteration(dict(zip(domain.names, point, strict=True)))
    takes = "" if span is None else f"it takes {span[0]} to {span[1] + reach}, and is "
    return ShapeMismatchError(
        f"Index out of range: subscript {dimension} reaches {value} for a dimension of extent "
        f"{var.shape[dimension]} of {var.name}.",
        place,
        notes=(f"{takes}{value} at {iteration}.",),
        help="shorten the loop, or guard the access with an if.",
    )
