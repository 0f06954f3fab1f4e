"""Elements chosen by tensors of indices."""

from __future__ import annotations

from ..body import Call, Emitter, Result
from ..tensors import Tensor


def _wrapped(call: Call, indices: Tensor, at: tuple[str, ...], extent: int) -> str:
    """An index in a local variable; a negative one counts from the end."""
    text = call.text
    text.line(f"at: {indices.dtype} = {indices.at(*at)}")
    with text.block("if at < 0:"):
        text.line(f"at = at + {extent}")
    return "at"


def _embedding(call: Call) -> Result:
    weight, indices, target = call.tensor("weight"), call.tensor("indices"), call.array()
    rank = len(indices.shape)
    with call.text.loops(indices.shape, "embedding") as at:
        call.text.line(f"at: {indices.dtype} = {indices.at(*at)}")
        with call.text.loops(target.shape[rank:], "embedding_row", prefix="j") as j:
            call.text.line(f"{target.at(*at, *j)} = {weight.at('at', *j)}")
    return target


def _index_select(call: Call) -> Result:
    source, indices, target = call.tensor("self"), call.tensor("index"), call.array()
    dim = call["dim"] % len(source.shape)
    with call.text.loops(target.shape, "index_select") as at:
        place = _wrapped(call, indices, (at[dim],), source.shape[dim])
        places = [place if d == dim else index for d, index in enumerate(at)]
        call.text.line(f"{target.at(*at)} = {source.at(*places)}")
    return target


def _gather(call: Call) -> Result:
    source, indices, target = call.tensor("self"), call.tensor("index"), call.array()
    dim = call["dim"] % len(source.shape)
    with call.text.loops(target.shape, "gather") as at:
        place = _wrapped(call, indices, at, source.shape[dim])
        places = [place if d == dim else index for d, index in enumerate(at)]
        call.text.line(f"{target.at(*at)} = {source.at(*places)}")
    return target


def _index(call: Call) -> Result:
    """``x[:, i]``: one tensor of integer indices."""
    source, target = call.tensor("self"), call.array()
    given = [(d, index) for d, index in enumerate(call["indices"]) if index is not None]
    if len(given) != 1 or given[0][1].dtype == "uint1":
        raise call.refusal(
            "with several tensors of indices or a mask",
            "index one dimension after the other; choose by a mask with torch.where.",
        )
    dim, indices = given[0]
    rank = len(indices.shape)
    with call.text.loops(target.shape, "index") as at:
        place = _wrapped(call, indices, at[dim : dim + rank], source.shape[dim])
        call.text.line(f"{target.at(*at)} = {source.at(*at[:dim], place, *at[dim + rank :])}")
    return target


OPERATORS: dict[str, Emitter] = {
    "aten.embedding.default": _embedding,
    "aten.index_select.default": _index_select,
    "aten.gather.default": _gather,
    "aten.index.Tensor": _index,
}
