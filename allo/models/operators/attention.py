"""Softmax and scaled dot-product attention."""

from __future__ import annotations

from math import sqrt

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .products import product


def softmax(call: Call, source: Tensor, target: Tensor, *, log: bool = False) -> None:
    """Softmax over the last dimension: the maximum, the sum of exponentials, the quotient."""
    text, dtype = call.text, target.dtype
    *outer, count = source.shape
    exponentials = None if log else text.array("exps", (count,), dtype)
    with text.loops(outer, "log_softmax" if log else "softmax") as at:
        text.line(f"best: {dtype} = {source.at(*at, '0')}")
        with text.loops((count,), prefix="k") as k:
            text.line(f"elem: {dtype} = {source.at(*at, *k)}")
            text.line("best = max(best, elem)")
        text.line(f"total: {dtype} = 0")
        with text.loops((count,), prefix="r", reduction=True) as r:
            text.line(f"other: {dtype} = {source.at(*at, *r)} - best")
            if exponentials:
                text.line(f"{exponentials.at(*r)} = allo.exp(other)")
                text.line(f"total += {exponentials.at(*r)}")
            else:
                text.line("total += allo.exp(other)")
        if log:
            text.line(f"scale: {dtype} = allo.log(total)")
        with text.loops((count,), "softmax_scale", prefix="j") as j:
            result = (
                f"{exponentials.at(*j)} / total"
                if exponentials
                else f"{source.at(*at, *j)} - best - scale"
            )
            text.line(f"{target.at(*at, *j)} = {result}")


def _softmax(*, log: bool) -> Emitter:
    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        if not source.shape:
            raise call.refusal("of a tensor without a dimension")
        dim = call["dim"]
        softmax(call, source.transposed(dim, -1), target.transposed(dim, -1), log=log)
        return target

    return emit


def _attention(call: Call) -> Result:
    if call["dropout_p"]:
        raise call.refusal("with dropout_p other than 0", "call model.eval() first.")
    query, key, value = (call.operand(name) for name in ("query", "key", "value"))
    target = call.array()
    into = target
    if key.shape[:-2] != query.shape[:-2] and call["enable_gqa"]:
        heads, shared = query.shape[-3], key.shape[-3]
        query, into = _grouped(call, query, shared), _grouped(call, into, shared)
        key, value = key.unsqueezed(-3), value.unsqueezed(-3)
        key = key.expanded((*key.shape[:-3], heads // shared, *key.shape[-2:]))
        value = value.expanded((*value.shape[:-3], heads // shared, *value.shape[-2:]))
    scale = call["scale"] if call["scale"] is not None else 1.0 / sqrt(query.shape[-1])
    scores = call.text.array("scores", (*query.shape[:-1], key.shape[-2]), target.dtype)
    keys = key.transposed(-2, -1)
    product(call, query, keys, scale=f" * {scale!r}", target=scores, band="scores")
    mask = call.optional("attn_mask")
    if mask:
        _masked(call, scores, _grouped_mask(call, mask, scores))
    if call["is_causal"]:
        _causal(call, scores)
    weights = call.text.array("weights", scores.shape, target.dtype)
    softmax(call, scores, weights)
    product(call, weights, value, target=into, band="mixed")
    return target


def _grouped(call: Call, tensor: Tensor, shared: int) -> Tensor:
    """The heads as two dimensions: those of the keys, and the queries that share one."""
    *batch, heads, rows, columns = tensor.shape
    split = tensor.reshaped((*batch, shared, heads // shared, rows, columns))
    if split is None:
        raise call.refusal("of heads that are no view of one array", "make the queries contiguous.")
    return split


def _grouped_mask(call: Call, mask: Tensor, scores: Tensor) -> Tensor:
    if len(scores.shape) == 5:
        wide = mask.expanded(
            (*scores.shape[:-4], scores.shape[-4] * scores.shape[-3], *scores.shape[-2:])
        )
        return call.reshaped(wide, scores.shape)
    return mask.expanded(scores.shape)


def _masked(call: Call, scores: Tensor, mask: Tensor) -> None:
    text = call.text
    with text.loops(scores.shape, "mask") as at:
        if mask.dtype == "uint1":
            with text.block(f"if {mask.at(*at)} == 0:"):
                text.line(f"{scores.at(*at)} = -infinity")
        else:
            text.line(f"{scores.at(*at)} = {scores.at(*at)} + {mask.at(*at)}")


def _causal(call: Call, scores: Tensor) -> None:
    text = call.text
    with text.loops(scores.shape, "causal") as at, text.block(f"if {at[-1]} > {at[-2]}:"):
        text.line(f"{scores.at(*at)} = -infinity")


OPERATORS: dict[str, Emitter] = {
    "aten.softmax.int": _softmax(log=False),
    "aten.log_softmax.int": _softmax(log=True),
    "aten.scaled_dot_product_attention.default": _attention,
}
