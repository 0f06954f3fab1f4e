"""What is rewritten before anything is measured: batch norms are folded, attention is spelled out."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from allo.models.graph import Meta, Model, Operator, Ref
from allo.models.integers.editing import array_of, beside, readers_of, rename_values
from allo.models.integers.pools import windowed

from .chains import join_chains
from .spelled import join_norms

_BATCH_NORM = "aten._native_batch_norm_legit_no_training.default"
_ATTENTION = "aten.scaled_dot_product_attention.default"
_FOLDED_INTO = (
    "aten.linear.default",
    *(f"aten.conv{n}d.default" for n in (1, 2, 3)),
    *(f"aten.conv{n}d.padding" for n in (1, 2)),
)


def rewrite(model: Model) -> None:
    """Rewrite a graph in place; its results stay what they are, up to rounding."""
    _each(model, _BATCH_NORM, _folded)
    _each(model, _ATTENTION, _spelled_out)
    _each(model, "aten.addmm.default", _as_linear)
    windowed(model)
    join_norms(model)
    join_chains(model)


def _each(model: Model, target: str, rewritten: Any) -> None:
    for op in [op for op in model.operators if op.target == target]:
        at = next(k for k, other in enumerate(model.operators) if other.name == op.name)
        model.operators[at : at + 1] = rewritten(model, model.operators[at])


def _folded(model: Model, op: Operator) -> list[Operator]:
    """A batch norm, into the weights of the operator before it; else a product and a sum."""
    gamma, beta, mean, var = (
        array_of(model, op.args[name]) for name in ("weight", "bias", "running_mean", "running_var")
    )
    scale = (1.0 if gamma is None else gamma) / np.sqrt(var.astype(np.float64) + op.args["eps"])
    shift = (0.0 if beta is None else beta) - mean * scale
    source = op.args["input"].name
    producer = next((other for other in model.operators if other.name == source), None)
    first = next(
        o.name
        for o in model.operators
        if o.target == "getitem" and o.args["0"] == Ref(op.name) and o.args["1"] == 0
    )
    model.operators = [o for o in model.operators if o.name != first]
    meta = op.metas[0]
    alone = readers_of(model).get(source, []) == [op] and source not in model.outputs
    if producer and alone and _takes_factors(model, producer, meta):
        _fold_into(model, producer, scale, shift)
        rename_values(model, {first: source})
        return []
    at = next(k for k, other in enumerate(model.operators) if other.name == op.name)
    rank = len(meta.shape) if meta else 2
    if meta and rank > 2:
        rename_values(model, {first: op.name})
        return [_each_channel(model, model.operators[at], scale, shift, meta)]
    shape = (1, -1, *[1] * (rank - 2))
    names = {"scale": f"{op.name}_scale", "shift": f"{op.name}_shift"}
    model.constants[names["scale"]] = scale.astype(np.float32).reshape(shape)
    model.constants[names["shift"]] = shift.astype(np.float32).reshape(shape)
    rename_values(model, {first: op.name})
    same = model.operators[at]
    meta = meta or Meta((), "float32")
    scaled = f"{op.name}_scaled"
    args = {"self": op.args["input"], "other": Ref(names["scale"])}
    product = beside(same, scaled, "aten.mul.Tensor", args, meta)
    addend = {"self": Ref(scaled), "other": Ref(names["shift"]), "alpha": 1}
    return [product, beside(same, op.name, "aten.add.Tensor", addend, meta)]


def _as_linear(model: Model, op: Operator) -> list[Operator]:
    """A product with weights that stand the other way round, as some models have their layers."""
    weight, bias = array_of(model, op.args["mat2"]), array_of(model, op.args["self"])
    plain = op.args["beta"] == 1 and op.args["alpha"] == 1
    if weight is None or bias is None or bias.ndim != 1 or not plain or op.metas[0] is None:
        return [op]
    name = f"{op.name}_weight_turned"
    path = model.weights.get(op.args["mat2"].name, (name, None))[0]
    model.weights[name] = (path, np.ascontiguousarray(weight.T))
    args = {"input": op.args["mat1"], "weight": Ref(name), "bias": op.args["self"]}
    return [beside(op, op.name, "aten.linear.default", args, op.metas[0])]


def _each_channel(model: Model, op: Operator, scale: Any, shift: Any, meta: Meta) -> Operator:
    """A product and a sum for each channel, as a convolution with a window of one element."""
    dims = len(meta.shape) - 2
    names = {"weight": f"{op.name}_weight_folded", "bias": f"{op.name}_bias_folded"}
    weight = scale.reshape(-1, 1, *[1] * dims)
    for key, array in (("weight", weight), ("bias", shift)):
        model.weights[names[key]] = (f"{op.path}.{key}", array.astype(np.float32))
    args = {"input": op.args["input"], **{key: Ref(name) for key, name in names.items()}}
    args |= {"stride": [1] * dims, "padding": [0] * dims, "dilation": [1] * dims}
    args["groups"] = len(scale)
    return beside(op, op.name, f"aten.conv{dims}d.default", args, meta)


def _takes_factors(model: Model, producer: Operator, meta: Meta | None) -> bool:
    if producer.target not in _FOLDED_INTO or array_of(model, producer.args["weight"]) is None:
        return False
    return "conv" in producer.target or (meta is not None and len(meta.shape) == 2)


def _fold_into(model: Model, producer: Operator, scale: Any, shift: Any) -> None:
    weight = array_of(model, producer.args["weight"])
    bias = array_of(model, producer.args["bias"])
    folded = weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    moved = shift + (0.0 if bias is None else bias * scale)
    names = {"weight": f"{producer.name}_weight_folded", "bias": f"{producer.name}_bias_folded"}
    for key, array in (("weight", folded), ("bias", moved)):
        model.weights[names[key]] = (f"{producer.path}.{key}", array.astype(np.float32))
    at = model.operators.index(producer)
    refs = {key: Ref(name) for key, name in names.items()}
    model.operators[at] = replace(producer, args={**producer.args, **refs})


def _spelled_out(model: Model, op: Operator) -> list[Operator]:
    """Scaled dot-product attention as two products and a softmax."""
    made: list[Operator] = []
    metas = {o.name: o.metas[0] for o in model.operators} | dict(model.inputs)

    def meta_of(ref: Ref) -> Meta:
        known = metas.get(ref.name)
        if known is not None:
            return known
        array = array_of(model, ref)
        return Meta(array.shape, array.dtype.name)

    def add(suffix: str, target: str, args: dict[str, Any], shape: Any, dtype: str = "") -> Ref:
        name = f"{op.name}_{suffix}" if suffix else op.name
        metas[name] = Meta(tuple(shape), dtype or out.dtype)
        made.append(beside(op, name, target, args, Meta(tuple(shape), dtype or out.dtype)))
        return Ref(name)

    out = op.metas[0] or Meta((), "float32")
    query, key, value = (op.args[name] for name in ("query", "key", "value"))
    heads = meta_of(query).shape[:-2]
    if op.args["enable_gqa"] and meta_of(key).shape[:-2] != heads:
        key = _repeated(add, "key", key, meta_of(key).shape, heads[-1])
        value = _repeated(add, "value", value, meta_of(value).shape, heads[-1])
    *batch, length, depth = meta_of(key).shape
    rows = meta_of(query).shape[-2]
    args: dict[str, Any] = {"self": key, "dim0": -2, "dim1": -1}
    turned = add("keys", "aten.transpose.int", args, (*batch, depth, length))
    shape = (*out.shape[:-2], rows, length)
    scores = add("dot", "aten.matmul.default", {"self": query, "other": turned}, shape)
    factor = op.args["scale"] if op.args["scale"] is not None else 1.0 / sqrt(depth)
    scores = add("scores", "aten.mul.Tensor", {"self": scores, "other": float(factor)}, shape)
    mask = op.args["attn_mask"]
    if op.args["is_causal"]:
        hidden = f"{op.name}_hidden"
        model.constants[hidden] = np.triu(np.ones((rows, length), bool), 1)
        scores = _masked(add, scores, Ref(hidden), shape)
    elif mask is not None and meta_of(mask).dtype == "bool":
        array = array_of(model, mask)
        if array is None:
            hidden_ref = add(
                "hidden", "aten.logical_not.default", {"self": mask}, meta_of(mask).shape, "bool"
            )
        else:
            model.constants[f"{op.name}_hidden"] = ~array
            hidden_ref = Ref(f"{op.name}_hidden")
        scores = _masked(add, scores, hidden_ref, shape)
    elif mask is not None:
        args = {"self": scores, "other": mask, "alpha": 1}
        scores = add("biased", "aten.add.Tensor", args, shape)
    args = {"self": scores, "dim": -1, "dtype": None}
    weights = add("weights", "aten.softmax.int", args, shape)
    add("", "aten.matmul.default", {"self": weights, "other": value}, out.shape)
    return made


def _masked(add: Any, scores: Ref, hidden: Ref, shape: Any) -> Any:
    args = {"self": scores, "mask": hidden, "value": float("-inf")}
    return add("masked", "aten.masked_fill.Scalar", args, shape)


def _repeated(add: Any, what: str, ref: Ref, shape: Any, heads: int) -> Any:
    """Each head as often as queries share it."""
    *batch, shared, length, depth = shape
    wide = (*batch, shared, 1, length, depth)
    spread = (*batch, shared, heads // shared, length, depth)
    ref = add(f"{what}_one", "aten.unsqueeze.default", {"self": ref, "dim": len(batch) + 1}, wide)
    ref = add(f"{what}_all", "aten.expand.default", {"self": ref, "size": list(spread)}, spread)
    whole = (*batch, heads, length, depth)
    return add(f"{what}_heads", "aten.view.default", {"self": ref, "size": list(whole)}, whole)
