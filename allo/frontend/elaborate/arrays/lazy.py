"""Whole arrays as lazy values: views and element-wise expressions.

An :class:`ArrayValue` says how to compute one element. Nothing is stored until a statement asks
for it, so ``D = A + B * 2`` becomes one loop nest without temporaries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace
from allo.dialects.types import AlloType
from allo.frontend.affine import Affine, constant
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Binary, Const, Expr, IndexValue, Load, Subscript, Var

Indices = tuple[Subscript, ...]


@dataclass(frozen=True, slots=True)
class At:
    """A dimension fixed at one position."""

    position: Subscript


@dataclass(frozen=True, slots=True)
class Along:
    """A dimension walked by axis ``axis`` of the view: ``offset + step * index``."""

    offset: Subscript
    step: int
    axis: int


class ArrayValue:
    """An array-valued expression: ``shape`` and ``dtype`` known, elements on demand.

    Attributes:
        sources: the arrays it is computed from; of a `View` and a `Scalar` none.
    """

    dtype: AlloType
    shape: tuple[int, ...]
    place: SourcePlace
    sources: tuple[ArrayValue, ...]

    def element(self, indices: Indices) -> Expr:
        """The element at a place."""
        raise NotImplementedError

    def leaves(self) -> Iterator[View]:
        """Every variable it reads, as it reads it."""
        for source in self.sources:
            yield from source.leaves()

    def settle(self, settled: Callable[[Expr], Expr]) -> None:
        """Put ``settled(e)`` in the place of every scalar that all elements share."""
        for source in self.sources:
            source.settle(settled)


@dataclass(slots=True, eq=False)
class View(ArrayValue):
    """Part of a variable: slices, fixed subscripts, permuted axes."""

    var: Var
    selectors: tuple[At | Along, ...]
    shape: tuple[int, ...]
    place: SourcePlace

    @property
    def dtype(self) -> AlloType:  # type: ignore[override]
        """The type of the variable's elements."""
        return self.var.dtype

    @property
    def is_whole(self) -> bool:
        """Whether it is the variable itself."""
        return len(self.shape) == len(self.var.shape) and all(
            isinstance(s, Along)
            and s.axis == d
            and s.step == 1
            and s.offset == Affine()
            and self.shape[d] in (self.var.shape[d], -1)
            for d, s in enumerate(self.selectors)
        )

    def subscripts(self, indices: Indices) -> Indices:
        """Subscripts of the variable for an index of the view."""
        return tuple(
            s.position if isinstance(s, At) else plus(s.offset, scaled(indices[s.axis], s.step))
            for s in self.selectors
        )

    def element(self, indices: Indices) -> Expr:
        """A load of the variable."""
        return Load(self.var.dtype, self.place, self.var, self.subscripts(indices))

    def leaves(self) -> Iterator[View]:
        """The view itself."""
        yield self

    def settle(self, settled: Callable[[Expr], Expr]) -> None:
        """Put ``settled(e)`` in the place of every computed subscript."""

        def at(position: Subscript) -> Subscript:
            return position if isinstance(position, Affine) else settled(position)

        self.selectors = tuple(
            At(at(s.position)) if isinstance(s, At) else Along(at(s.offset), s.step, s.axis)
            for s in self.selectors
        )


@dataclass(slots=True, eq=False)
class Elementwise(ArrayValue):
    """``compute`` applied to the elements of broadcast operands."""

    dtype: AlloType
    shape: tuple[int, ...]
    place: SourcePlace
    sources: tuple[ArrayValue, ...]
    compute: Callable[[list[Expr]], Expr]

    def element(self, indices: Indices) -> Expr:
        """``compute`` of the elements of the operands."""
        return self.compute([broadcast_element(o, indices) for o in self.sources])


@dataclass(slots=True, eq=False)
class Generated(ArrayValue):
    """Elements computed from their index alone (ones, tril, concatenation)."""

    dtype: AlloType
    shape: tuple[int, ...]
    place: SourcePlace
    sources: tuple[ArrayValue, ...]
    compute: Callable[[Indices], Expr]

    def element(self, indices: Indices) -> Expr:
        """What ``compute`` gives for the place."""
        return self.compute(indices)


@dataclass(slots=True, eq=False)
class Uniform(ArrayValue):
    """An argument that a library kernel has and the caller has not: one value everywhere, and no array."""

    dtype: AlloType
    shape: tuple[int, ...]
    place: SourcePlace
    value: Expr
    sources: tuple[ArrayValue, ...] = ()

    def element(self, indices: Indices) -> Expr:
        """The value."""
        return self.value


@dataclass(slots=True, eq=False)
class Named(ArrayValue):
    """A value whose loops, when it is stored, are the band ``name``."""

    dtype: AlloType
    shape: tuple[int, ...]
    place: SourcePlace
    sources: tuple[ArrayValue]
    name: str

    def element(self, indices: Indices) -> Expr:
        """The element of the value it names."""
        return self.sources[0].element(indices)


Value = Expr | ArrayValue


def plus(a: Subscript, b: Subscript) -> Subscript:
    """The sum of two subscripts."""
    if isinstance(a, Affine) and isinstance(b, Affine):
        return a + b
    for zero, other in ((a, b), (b, a)):
        if isinstance(zero, Affine) and not zero.terms and not zero.const:
            return other
    place = b.place if isinstance(a, Affine) else a.place  # type: ignore[union-attr]
    return Binary(ops.INDEX, place, "+", as_expr(a, place), as_expr(b, place))


def scaled(value: Subscript, factor: int) -> Subscript:
    """A subscript times a constant."""
    if factor == 1:
        return value
    if isinstance(value, Affine):
        return value.scaled(factor)
    return Binary(ops.INDEX, value.place, "*", value, Const(ops.INDEX, value.place, factor))


def as_expr(value: Subscript, place: SourcePlace) -> Expr:
    """A subscript as an expression of type index."""
    return IndexValue(ops.INDEX, place, value) if isinstance(value, Affine) else value


def whole(var: Var, place: SourcePlace) -> View:
    """A variable as an array value."""
    shape = tuple(extent if extent is not None else -1 for extent in var.shape)
    selectors = tuple(Along(Affine(), 1, d) for d in range(len(shape)))
    return View(var, selectors, shape, place)


def transposed(view: View, axes: Sequence[int], place: SourcePlace) -> View:
    """The view with its axes permuted: axis ``k`` of the result is axis ``axes[k]`` of ``view``."""
    where = {old: new for new, old in enumerate(axes)}
    selectors = tuple(
        s if isinstance(s, At) else Along(s.offset, s.step, where[s.axis]) for s in view.selectors
    )
    return View(view.var, selectors, tuple(view.shape[a] for a in axes), place)


def broadcast_shape(
    shapes: Sequence[tuple[int, ...]], place: SourcePlace, what: str
) -> tuple[int, ...]:
    """The shape NumPy's rules give, or an error that shows both shapes."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        a = (1,) * (rank - len(result)) + result
        b = (1,) * (rank - len(shape)) + shape
        for x, y in zip(a, b, strict=True):
            if x != y and 1 not in (x, y):
                raise ShapeMismatchError(
                    f"{what}: shapes {show(result)} and {show(shape)} do not broadcast.",
                    place,
                    help="extents must be equal, or 1, counted from the last dimension.",
                )
        result = tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))
    return result


def show(shape: Sequence[int | None]) -> str:
    """A shape as users write it: ``[4, 8]``, ``[...]``."""
    return "[" + ", ".join("..." if d in (None, -1) else str(d) for d in shape) + "]"


def broadcast_element(value: ArrayValue, indices: Indices) -> Expr:
    """An element of ``value`` broadcast to the index's rank."""
    own = indices[len(indices) - len(value.shape) :]
    return value.element(
        tuple(constant(0) if extent == 1 else i for extent, i in zip(value.shape, own, strict=True))
    )


def elementwise(
    values: Sequence[Value],
    compute: Callable[[list[Expr]], Expr],
    place: SourcePlace,
    what: str,
) -> ArrayValue:
    """``compute`` over arrays and scalars, broadcast."""
    arrays = [v if isinstance(v, ArrayValue) else Scalar(v) for v in values]
    shape = broadcast_shape([a.shape for a in arrays], place, what)
    probe = compute([broadcast_element(a, (constant(0),) * len(shape)) for a in arrays])
    return Elementwise(probe.dtype, shape, place, tuple(arrays), compute)


class Scalar(ArrayValue):
    """A scalar beside arrays."""

    def __init__(self, value: Expr) -> None:
        self.value = value
        self.dtype = value.dtype
        self.shape = ()
        self.place = value.place
        self.sources = ()

    def element(self, indices: Indices) -> Expr:
        """The scalar, at every place."""
        return self.value

    def settle(self, settled: Callable[[Expr], Expr]) -> None:
        """Put ``settled`` of the scalar in its place."""
        self.value = settled(self.value)


def cast_array(value: ArrayValue, dtype: AlloType, place: SourcePlace) -> ArrayValue:
    """Every element cast to ``dtype``."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Named):
        source = cast_array(value.sources[0], dtype, place)
        return Named(dtype, value.shape, place, (source,), value.name)
    ops.cast(value.element((constant(0),) * len(value.shape)), dtype, place)
    return Elementwise(dtype, value.shape, place, (value,), lambda v: ops.cast(v[0], dtype, place))


def total(extents: Sequence[int]) -> int:
    """The number of elements of a shape."""
    return functools.reduce(lambda a, b: a * b, extents, 1)
