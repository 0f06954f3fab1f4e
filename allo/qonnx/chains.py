"""Nodes that act on each element alone: what they do to a real value that is affine in a level."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .quantisers import QUANTISERS
from .reading import Array, Node
from .values import Affine, Function, Levels, Step, aligned

_RISING = frozenset(
    "Relu Clip Sigmoid Tanh HardSigmoid Erf Softplus Softsign Floor Ceil Round Identity Cast Exp"
    " Dropout HardTanh ThresholdedRelu".split()
)
_SHAPED = frozenset({"Neg", "LeakyRelu", "Elu", "Selu", "Celu"})
_OTHERS = frozenset({"Abs", "Sqrt", "Reciprocal", "Log", "HardSwish", "Gelu", "Sign", "PRelu"})
_BINARY = frozenset({"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"})
POINTWISE = _RISING | _SHAPED | _OTHERS | _BINARY | {"BatchNormalization"} | QUANTISERS


def extended(function: Function, node: Node, given: Sequence[Array | None]) -> Function:
    """A function with one node more.

    Args:
        function: of the node's data.
        node: of :data:`POINTWISE`.
        given: its inputs; None where the data is.

    Raises:
        UnsupportedOperatorError: parameters that differ along the batch.
    """
    rank = len(function.shape)
    place = next(k for k, array in enumerate(given) if array is None and node.inputs[k])
    channel = _channel(node, rank)
    if channel is None:
        given = [None if array is None else _of_batch(array, rank) for array in given]
    step = Step(node, place, tuple(given), channel, rank)
    if channel is None:
        for array in given:
            if array is not None and (
                array.ndim > rank or (array.ndim == rank and array.shape[0] > 1)
            ):
                raise node.refusal(
                    f"with a constant of shape {list(array.shape)} for a tensor of shape "
                    f"{list(function.shape)}",
                    "constants that are the same for all of a batch are supported.",
                )
    rule = _AFFINE.get(node.op)
    affine = None
    if function.affine and rule:
        affine = rule(function.affine, node, place, [None if a is None else a for a in given], rank)
    return function.then(
        step, affine and affine.compressed(), monotone=_monotone(node, place, given)
    )


def _of_batch(array: Array, rank: int) -> Array:
    """A constant with one row where the rows of a batch are equal."""
    alike = array.ndim == rank and rank > 0 and array.shape[0] > 1
    return array[:1] if alike and np.array_equal(array, array[:1] + 0 * array) else array


def joined(node: Node, given: Sequence[object]) -> Function | None:
    """Two functions of the same levels as one, as in ``x * sigmoid(x)``; None where they are not such.

    Args:
        node: the node.
        given: its inputs.
    """
    if node.op not in _BINARY or len(given) != 2:
        return None
    first, second = given
    if not isinstance(first, Function) or not isinstance(second, Function):
        return None
    of = first.of
    if not isinstance(of, Levels) or of != second.of or (first.affine and second.affine):
        return None
    if first.start is not second.start and not _alike(first.start, second.start):
        return None
    step = Step(node, 0, (None, second), None, len(first.shape))
    return first.then(step, None, monotone=False)


def _alike(one: Affine | None, other: Affine | None) -> bool:
    if one is None or other is None:
        return one is other
    pairs = ((one.scale, other.scale), (one.offset, other.offset))
    return all(np.array_equal(a, b) for a, b in pairs)


def _channel(node: Node, rank: int) -> int | None:
    if node.op == "BatchNormalization":
        return 1
    if node.op == "MultiThreshold":
        layout = node.attributes.get("data_layout", "")
        if not layout and rank < 5:
            layout = {2: "NC", 3: "NWC", 4: "NCHW"}.get(rank, "")
        return layout.index("C") if "C" in layout else 1
    return None


def _monotone(node: Node, place: int, given: Sequence[Array | None]) -> bool:
    if node.op == "MultiThreshold":
        table = given[1]
        return table is not None
    if node.op in _RISING or node.op in QUANTISERS or node.op == "BatchNormalization":
        return True
    if node.op in ("Add", "Sub", "Mul", "Max", "Min", "Neg"):
        return True
    if node.op == "Div":
        return place == 0
    return node.op in ("LeakyRelu", "Elu", "Selu", "Celu") and _positive(node)


def _positive(node: Node) -> bool:
    return all(float(node.attributes.get(key, 1)) >= 0 for key in ("alpha", "gamma"))


def _add(x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int) -> Affine:
    return Affine(*_shared(x.scale, x.offset + aligned(_one(given), rank)))


def _sub(x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int) -> Affine:
    other, sign = aligned(_one(given), rank), 1.0 if place == 0 else -1.0
    return Affine(*_shared(sign * x.scale, sign * (x.offset - other)))


def _mul(
    x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int
) -> Affine | None:
    other = aligned(_one(given), rank)
    return Affine(*_shared(x.scale * other, x.offset * other)) if np.all(other) else None


def _div(
    x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int
) -> Affine | None:
    other = aligned(_one(given), rank)
    return (
        Affine(*_shared(x.scale / other, x.offset / other))
        if place == 0 and np.all(other)
        else None
    )


def _norm(
    x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int
) -> Affine | None:
    shape = [1, -1, *[1] * (rank - 2)]
    gamma, beta, mean, variance = (
        np.asarray(a, np.float64).reshape(shape) for a in given[1:5] if a is not None
    )
    factor = gamma / np.sqrt(variance + float(node.attributes.get("epsilon", 1e-5)))
    if not np.all(factor):
        return None
    return Affine(*_shared(x.scale * factor, (x.offset - mean) * factor + beta))


def _same(x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int) -> Affine:
    return x


def _neg(x: Affine, node: Node, place: int, given: Sequence[Array | None], rank: int) -> Affine:
    return Affine(-x.scale, -x.offset)


def _one(given: Sequence[Array | None]) -> Array:
    return next(array for array in given if array is not None)


def _shared(*arrays: Array) -> Sequence[Array]:
    return [np.array(a) for a in np.broadcast_arrays(*arrays)]


_AFFINE: dict[str, Callable[[Affine, Node, int, Sequence[Array | None], int], Affine | None]] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "BatchNormalization": _norm,
    "Identity": _same,
    "Dropout": _same,
    "Neg": _neg,
}
