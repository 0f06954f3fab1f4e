"""Tensors as the generated kernels hold them: arrays, and views that are only subscripts.

A view (permute, slice, expand, a split dimension) costs nothing: each dimension of the array is
subscripted by a sum of multiples of the view's own indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Subscript:
    """``const + Σ factor · index[dim]``; ``terms`` holds (dim, factor)."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()

    def factor(self, dim: int) -> int:
        """The multiple of index ``dim``."""
        return sum(factor for d, factor in self.terms if d == dim)

    def of(self, inner: Sequence[Subscript]) -> Subscript:
        """This subscript where index ``d`` is itself ``inner[d]``."""
        const, factors = self.const, dict[int, int]()
        for dim, factor in self.terms:
            const += factor * inner[dim].const
            for d, f in inner[dim].terms:
                factors[d] = factors.get(d, 0) + factor * f
        return Subscript(const, tuple(sorted((d, f) for d, f in factors.items() if f)))

    def text(self, indices: Sequence[str]) -> str:
        """The subscript as an expression."""
        parts = [_multiple(indices[d], f) for d, f in self.terms if indices[d] != "0"]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts).replace("+ -", "- ")


def _multiple(index: str, factor: int) -> str:
    if factor == 1:
        return index
    wrapped = index if index.isidentifier() or index.isdigit() else f"({index})"
    return f"{wrapped} * {factor}"


def index_of(dim: int, factor: int = 1, const: int = 0) -> Subscript:
    """``factor · index[dim] + const``."""
    return Subscript(const, ((dim, factor),) if factor else ())


@dataclass(frozen=True, slots=True)
class Tensor:
    """A view of an array variable.

    Attributes:
        array: the variable.
        extents: of the variable; ``(1,)`` where the tensor has no dimension.
        shape: of the view.
        dtype: the spelling of the element type in the generated text.
        rows: a subscript in the view's indices for each dimension of the variable.
    """

    array: str
    extents: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    rows: tuple[Subscript, ...]

    @staticmethod
    def whole(array: str, shape: Sequence[int], dtype: str) -> Tensor:
        """A variable as it is."""
        extents = tuple(shape) or (1,)
        rows = tuple(index_of(d) for d in range(len(shape))) or (Subscript(),)
        return Tensor(array, extents, tuple(shape), dtype, rows)

    @property
    def is_whole(self) -> bool:
        """Whether this is the variable, element by element."""
        if self.extents != (self.shape or (1,)):
            return False
        plain = (Subscript(), *(index_of(d) for d in range(len(self.shape))))
        return all(
            row == index_of(d) or (self.extents[d] == 1 and row in plain)
            for d, row in enumerate(self.rows)
        )

    def at(self, *indices: str) -> str:
        """The element at these indices, an expression or a target of an assignment."""
        return f"{self.array}[{', '.join(row.text(indices) for row in self.rows)}]"

    def view(self, shape: Sequence[int], olds: Sequence[Subscript]) -> Tensor:
        """A view whose element at new indices is this one's at ``olds`` of them."""
        rows = tuple(row.of(olds) for row in self.rows)
        return Tensor(self.array, self.extents, tuple(shape), self.dtype, rows)

    # --- views -------------------------------------------------------------------------------

    def permuted(self, dims: Sequence[int]) -> Tensor:
        """Dimension ``d`` of the result is dimension ``dims[d]``."""
        dims = [d % len(self.shape) for d in dims]
        return self.view(
            [self.shape[d] for d in dims], [index_of(dims.index(d)) for d in range(len(dims))]
        )

    def transposed(self, first: int, second: int) -> Tensor:
        """Two dimensions exchanged."""
        if not self.shape:
            return self
        dims = list(range(len(self.shape)))
        dims[first], dims[second] = dims[second], dims[first]
        return self.permuted(dims)

    def sliced(self, dim: int, start: int, count: int, step: int = 1) -> Tensor:
        """``count`` elements of a dimension, from ``start`` on."""
        dim %= len(self.shape)
        shape = [*self.shape[:dim], count, *self.shape[dim + 1 :]]
        olds = [index_of(d) for d in range(len(shape))]
        olds[dim] = index_of(dim, step, start)
        return self.view(shape, olds)

    def selected(self, dim: int, at: int) -> Tensor:
        """One element of a dimension, which goes."""
        dim %= len(self.shape)
        olds = [index_of(d if d < dim else d - 1) for d in range(len(self.shape))]
        olds[dim] = Subscript(at)
        return self.view([*self.shape[:dim], *self.shape[dim + 1 :]], olds)

    def unsqueezed(self, dim: int) -> Tensor:
        """A new dimension of extent 1."""
        dim %= len(self.shape) + 1
        olds = [index_of(d if d < dim else d + 1) for d in range(len(self.shape))]
        return self.view([*self.shape[:dim], 1, *self.shape[dim:]], olds)

    def expanded(self, shape: Sequence[int]) -> Tensor:
        """Broadcast; dimensions of extent 1 are repeated, new ones stand in front."""
        new = len(shape) - len(self.shape)
        wanted = [self.shape[d - new] if n == -1 else n for d, n in enumerate(shape)]
        olds = [
            Subscript() if extent == 1 else index_of(d + new) for d, extent in enumerate(self.shape)
        ]
        return self.view(wanted, olds)

    def flipped(self, dims: Sequence[int]) -> Tensor:
        """The elements of some dimensions in the other order."""
        chosen = {d % len(self.shape) for d in dims}
        olds = [
            index_of(d, -1, extent - 1) if d in chosen else index_of(d)
            for d, extent in enumerate(self.shape)
        ]
        return self.view(self.shape, olds)

    def reshaped(self, shape: Sequence[int]) -> Tensor | None:
        """The same elements in another shape, or None where that is no view of the array."""
        terms: list[list[tuple[int, int]]] = [[] for _ in self.rows]
        for old, new in groups(self.shape, shape):
            steps = self._steps(old)
            if steps is None:
                return None
            flat = strided(new, shape)
            for k, step in enumerate(steps):
                terms[k] += [(d, f * step) for d, f in flat if step]
        rows = tuple(
            Subscript(row.const, tuple(sorted(t))) for row, t in zip(self.rows, terms, strict=True)
        )
        return Tensor(self.array, self.extents, tuple(shape), self.dtype, rows)

    def _steps(self, dims: Sequence[int]) -> list[int] | None:
        """For each row, the step of the flattened dimensions; None where they cannot be one."""
        kept = [d for d in dims if self.shape[d] != 1]
        steps = []
        for row in self.rows:
            step = row.factor(kept[-1]) if kept else 0
            expected = step
            for d in reversed(kept):
                if row.factor(d) != expected:
                    return None
                expected *= self.shape[d]
            steps.append(step)
        return steps


def strided(dims: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The terms of the row-major number of an element among ``dims`` of ``shape``."""
    return tuple(
        (d, prod(shape[e] for e in dims[k + 1 :])) for k, d in enumerate(dims) if shape[d] != 1
    )


def groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The finest pairs of runs of dimensions with the same number of elements."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right = [i] if i < len(old) else [], [j] if j < len(new) else []
        i, j = i + len(left), j + len(right)
        while prod(old[d] for d in left) != prod(new[d] for d in right):
            if prod(old[d] for d in left) < prod(new[d] for d in right):
                left.append(i)
                i += 1
            else:
                right.append(j)
                j += 1
        found.append((left, right))
    return found
