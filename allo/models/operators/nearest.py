"""What to write in place of an operator that cannot become hardware."""

from __future__ import annotations

from collections.abc import Iterable

from allo.dialects.text.near import did_you_mean

_MASK = "keep the shape and choose with torch.where(mask, x, 0)"
_FORMS = {
    "sort": "amax and argmax find the greatest element; nothing sorts",
    "topk": "amax and argmax find the greatest element; nothing sorts",
    "argsort": "amax and argmax find the greatest element; nothing sorts",
    "median": "mean, amax and amin reduce a dimension",
    "nonzero": _MASK,
    "masked_select": _MASK,
    "index": f"{_MASK}; index with a tensor of integers, or with slices",
    "unique2": "count with sums of comparisons, such as (x == k).sum()",
    "bincount": "count with sums of comparisons, such as (x == k).sum()",
    "cdist_forward": "write (a[:, None] - b[None]).square().sum(-1).sqrt()",
    "fft_r2c": "multiply by the matrix of the transform",
    "fft_c2c": "multiply by the matrix of the transform",
    "grid_sampler_2d": "gather with integer subscripts, and interpolate between what they give",
    "item": "compute both results and choose with torch.where",
    "_local_scalar_dense": "compute both results and choose with torch.where",
}


def nearest_form(target: str, known: Iterable[str]) -> str:
    """A sentence on the nearest supported form of an ATen operator.

    Args:
        target: the operator, ``"aten.sort.default"``.
        known: the operators that are supported.
    """
    kind = target.split(".")[:2][-1].strip("_")
    form = _FORMS.get(kind)
    if form is not None:
        return f"the nearest supported form: {form}."
    near = did_you_mean(kind, {name.split(".")[:2][-1] for name in known}, cutoff=0.75)
    return f"{near}docs/torch_operators.md lists the operators; write it with those."
