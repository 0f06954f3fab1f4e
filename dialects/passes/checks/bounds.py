"""Checks before every access whose subscripts are not surely inside the array.

Assumes core IR. Before a load, a store or a slice ``x[i, j]`` that may be out of range stands then

    %inside = …                                     // every subscript is in 0 … extent − 1
    "allo.check_bounds"(%inside, %i, %j) {array = "x", shape = array<i64: 4, 8>}

which a target turns into what ends the run with :class:`~allo.dialects.diagnostics.BoundsError`
(:mod:`allo.dialects.core.bounds`). The extents of an array of any length are further operands, −1 in
``shape``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..._mlir import ir
from ...affine.loops import walk
from ...affine.maps import BoundMap, bound_map
from ...checked import module_pass
from ...core.bounds import CHECK
from ...core.effects import array_name
from ...ranges.values import expression_interval, interval_of
from ...streams.space import stream_space
from .maker import Maker

_ACCESSES = {"affine.load": 0, "affine.store": 1, "memref.load": 0, "memref.store": 1}
_SLT, _SGE = 2, 5


@module_pass
def check_bounds(module: ir.Module) -> None:
    """Insert the checks, in place."""
    with module.context, ir.Location.unknown():
        for function in module.body.operations:
            op = function.operation
            if op.name != "func.func" or not len(op.regions[0].blocks):
                continue
            for access in list(_accesses(op)):
                _check(access)


def _accesses(function: ir.Operation) -> Iterator[ir.Operation]:
    for op in walk(function):
        position = _ACCESSES.get(op.name, 0 if op.name == "memref.subview" else -1)
        if position < 0:
            continue
        kind = ir.MemRefType(op.operands[position].type)
        if kind.rank and stream_space(kind) is None:
            yield op


# --- one access ----------------------------------------------------------------------------


def _check(access: ir.Operation) -> None:
    maker = _BoundsMaker(access)
    if access.name == "memref.subview":
        rows = list(_slice_rows(maker, access))
    else:
        rows = list(_element_rows(access))
    if all(row.safe for row in rows):
        return
    array = access.operands[_ACCESSES.get(access.name, 0)]
    inside, extents = maker.conjunction(array, rows)
    shape = [-1 if row.extent is None else row.extent for row in rows]
    ir.Operation.create(
        CHECK,
        [],
        [inside, *(row.reported(maker) for row in rows), *extents],
        attributes={
            "array": ir.StringAttr.get(_name(access, array)),
            "shape": ir.DenseI64ArrayAttr.get(shape),
        },
        loc=access.location,
        ip=maker.ip,
    )


class _Row:
    """One subscript: how to compute it, and what is known of it.

    ``reach`` is how far an access goes beyond the subscript (the length of a slice).
    """

    def __init__(
        self,
        source: ir.Value | BoundMap,
        position: int,
        extent: int | None,
        at: ir.Operation,
        reach: int = 0,
    ) -> None:
        self._source = source
        self._position = position
        self.extent = extent
        self.reach = reach
        if isinstance(source, BoundMap):
            span = expression_interval(source.results[position], source, at)
        else:
            span = interval_of(source, at)
        least = span is not None and span[0] >= 0
        self.safe = bool(
            least and extent is not None and span is not None and span[1] + reach < extent
        )
        self._value: ir.Value | None = None

    def index(self, maker: _BoundsMaker) -> ir.Value:
        """The subscript as a value; of a slice its first element."""
        if self._value is None:
            self._value = (
                maker.applied(self._source, self._position)
                if isinstance(self._source, BoundMap)
                else self._source
            )
        return self._value

    def reported(self, maker: _BoundsMaker) -> ir.Value:
        """The subscript a failure tells of: of a slice the last element, where the first is not below."""
        index = self.index(maker)
        if not self.reach:
            return index
        low = maker.compare(_SLT, index, maker.constant(0))
        return maker.op("arith.select", index.type, [low, index, self.last(maker)])

    def last(self, maker: _BoundsMaker) -> ir.Value:
        """The last element that the access touches."""
        index = self.index(maker)
        if not self.reach:
            return index
        return maker.op("arith.addi", index.type, [index, maker.constant(self.reach)])


def _element_rows(access: ir.Operation) -> Iterator[_Row]:
    first = _ACCESSES[access.name]
    shape = _extents(access.operands[first])
    if access.name.startswith("affine."):
        bound = bound_map(access)
        for position, extent in enumerate(shape):
            yield _Row(bound, position, extent, access)
        return
    for position, extent in enumerate(shape):
        yield _Row(access.operands[first + 1 + position], 0, extent, access)


def _slice_rows(maker: _BoundsMaker, view: ir.Operation) -> Iterator[_Row]:
    dynamic = ir.ShapedType.get_dynamic_size()
    offsets = iter(list(view.operands)[1:])
    rows = zip(
        view.attributes["static_offsets"],
        view.attributes["static_sizes"],
        view.attributes["static_strides"],
        _extents(view.operands[0]),
        strict=True,
    )
    for offset, size, step, extent in rows:
        value = next(offsets) if offset == dynamic else maker.constant(offset)
        yield _Row(value, 0, extent, view, (size - 1) * step)


def _extents(array: ir.Value) -> list[int | None]:
    kind = ir.MemRefType(array.type)
    return [None if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in range(kind.rank)]


class _BoundsMaker(Maker):
    """Makes the checks in front of an access."""

    def conjunction(self, array: ir.Value, rows: Sequence[_Row]) -> tuple[ir.Value, list[ir.Value]]:
        """That all subscripts are in range, and the extents that only the run knows."""
        tests: list[ir.Value] = []
        opened: list[ir.Value] = []
        zero = self.constant(0)
        for dimension, row in enumerate(rows):
            if row.extent is None:
                number = self.constant(dimension)
                extent = self.op("memref.dim", self.index, [array, number])
                opened.append(extent)
            elif row.safe:
                continue
            else:
                extent = self.constant(row.extent)
            tests.append(self.compare(_SGE, row.index(self), zero))
            tests.append(self.compare(_SLT, row.last(self), extent))
        inside = tests[0]
        for test in tests[1:]:
            inside = self.op("arith.andi", test.type, [inside, test])
        return inside, opened


# --- names -----------------------------------------------------------------------------------


def _name(access: ir.Operation, array: ir.Value) -> str:
    for key in ("from", "to"):
        if key in access.attributes:
            return str(ir.StringAttr(access.attributes[key]).value)
    return array_name(array)
