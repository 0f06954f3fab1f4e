"""Matrix products: rows of results accumulate side by side, so that additions do not wait."""

from __future__ import annotations

from collections.abc import Sequence

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .sums import Sums


def product(
    call: Call,
    left: Tensor,
    right: Tensor,
    bias: Tensor | None = None,
    scale: str = "",
    target: Tensor | None = None,
    band: str | None = None,
    sums: Sums | None = None,
) -> Tensor:
    """``left[…, M, K] · right[…, K, N] + bias[N]``, leading dimensions broadcast.

    Args:
        call: the operator.
        left, right: of at least two dimensions.
        bias: added to each row, or a tensor of the result's shape.
        scale: text behind each result, ``" * 0.5"``.
        target: where the result goes; by default a new array of the operator's result.
        band: name of the nest.
        sums: accumulators that are not of the result's type, and what becomes of them.
    """
    batch = _broadcast(left.shape[:-2], right.shape[:-2])
    depth, columns = right.shape[-2:]
    left = left.expanded((*batch, *left.shape[-2:]))
    right = right.expanded((*batch, depth, columns))
    shape = (*batch, left.shape[-2], columns)
    name = band or call.op.kind
    if target is None:
        target = call.array(shape)
    addend = None if bias is None else bias.expanded(shape)
    text = call.text
    row = text.array("row", (columns,), sums.dtype if sums else target.dtype)
    with text.loops(shape[:-1], name) as at:
        with text.loops((columns,), f"{name}_init", prefix="j") as j:
            text.line(f"{row.at(*j)} = {addend.at(*at, *j) if addend else 0}")
        with text.loops((depth, columns), f"{name}_product", prefix="k") as (k, n):
            first, second = left.at(*at, k), right.at(*at[:-1], k, n)
            if sums:
                first = sums.less_zero("zero_left", first, "elem")
                second = sums.less_zero("zero_right", second, "other") + sums.factor(n, k)
            term = sums.term(first, second) if sums else f"{first} * {second}"
            text.line(f"{row.at(n)} += {term}")
        with text.loops((columns,), f"{name}_back", prefix="o") as o:
            if sums:
                sums.finish(target.at(*at, *o), row.at(*o), *o)
            else:
                text.line(f"{target.at(*at, *o)} = {row.at(*o)}{scale}")
    return target


def matmul(call: Call, left: Tensor, right: Tensor, sums: Sums | None = None) -> Tensor:
    """The :func:`product` of two tensors, of which one or both may be vectors."""
    target = call.array()
    into = target
    if len(right.shape) == 1:
        right, into = right.unsqueezed(1), into.unsqueezed(len(into.shape))
    if len(left.shape) == 1:
        left, into = left.unsqueezed(0), into.unsqueezed(len(into.shape) - 1)
    product(call, left, right, target=into, sums=sums)
    return target


def _broadcast(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    count = max(len(left), len(right))
    padded = [(1,) * (count - len(shape)) + tuple(shape) for shape in (left, right)]
    return tuple(b if a == 1 else a for a, b in zip(*padded, strict=True))


def _linear(call: Call) -> Result:
    source, weight = call.operand("input"), call.tensor("weight")
    bias = call.optional("bias")
    target = call.array()
    rows = source if len(source.shape) > 1 else source.unsqueezed(0)
    into = target if len(target.shape) > 1 else target.unsqueezed(0)
    product(call, rows, weight.transposed(0, 1), bias, target=into)
    return target


def _matmul(call: Call) -> Result:
    names = ("self", "tensor" if "tensor" in call.args else "other")
    if "mat2" in call.args:
        names = ("self", "mat2")
    if "vec" in call.args:
        names = ("self", "vec")
    return matmul(call, call.operand(names[0]), call.tensor(names[1]))


def _addmm(call: Call) -> Result:
    if call["beta"] != 1 or call["alpha"] != 1:
        raise call.refusal("with alpha or beta other than 1", "multiply the operands.")
    names = ("batch1", "batch2") if "batch1" in call.args else ("mat1", "mat2")
    return product(call, call.operand(names[0]), call.tensor(names[1]), call.tensor("self"))


OPERATORS: dict[str, Emitter] = {
    "aten.linear.default": _linear,
    "aten.matmul.default": _matmul,
    "aten.mm.default": _matmul,
    "aten.bmm.default": _matmul,
    "aten.mv.default": _matmul,
    "aten.dot.default": _matmul,
    "aten.addmm.default": _addmm,
    "aten.baddbmm.default": _addmm,
}
