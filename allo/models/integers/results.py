"""Results of a graph of levels as integers, before their scale and softmax."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError

from ..graph import Meta, Model, Operator, Ref


def with_integer_results(model: Model) -> Model:
    """The model whose results are integers: what the scale of a result multiplies, its offsets added.

    A softmax at the end is left out: it keeps their order.

    Raises:
        ModelError: a result is no integer times one scale, plus whole multiples of it.
    """
    made = replace(
        model,
        operators=list(model.operators),
        weights=dict(model.weights),
        narrow=dict(model.narrow),
        outputs=[],
    )
    for name in model.outputs:
        made.outputs.append(_integers(made, name))
    _drop_unread(made)
    return made


def _integers(made: Model, name: str) -> str:
    makers = {op.name: op for op in made.operators}
    op = makers.get(name)
    if op is not None and op.target.startswith("aten.softmax"):
        op = makers.get(op.args["self"].name)
    if op is not None and op.metas[0] is not None and "int" in op.metas[0].dtype:
        return op.name
    affine = None if op is None else _affine(made, op)
    if op is None or affine is None:
        raise _refusal(name, "it is no number times a level, with something added")
    scale, offset = affine
    units = np.unique(scale)
    if units.size > 1 or not units[0]:
        raise _refusal(name, "its scale differs between channels")
    whole = np.rint(offset / units[0])
    if not np.array_equal((whole * units[0]).astype(np.float32), offset.astype(np.float32)):
        raise _refusal(name, "an offset is no whole multiple of its scale")
    source = op.args["input"].name
    if not whole.any():
        return str(source)
    product = makers.get(source)
    meta = product.metas[0] if product is not None else None
    if product is None or meta is None or product.target != "levels.matmul" or _agrees(product):
        raise _refusal(name, "its offsets are added to what is no product with a matrix")
    made.operators[made.operators.index(op)] = _sums(made, op, product, meta, whole)
    return op.name


def _affine(made: Model, op: Operator) -> tuple[Any, Any] | None:
    """Scale and offset of what makes floats of levels; None where it has none."""
    if op.target == "levels.scaled":
        return _array(made, op.args["scale"]), _array(made, op.args["offset"])
    if op.target != "levels.table":
        return None
    table, low = _array(made, op.args["table"]), op.args["low"]
    count = table.shape[-1]
    if count < 2:
        return None
    scale = (table[..., -1] - table[..., 0]) / (count - 1)
    offset = table[..., 0] - scale * low
    levels = low + np.arange(count)
    values = scale[..., None] * levels + offset[..., None]
    same = np.array_equal(values.astype(np.float32), table.astype(np.float32))
    return (scale, offset) if same else None


def _agrees(product: Operator) -> bool:
    return bool(product.args.get("agreeing")) or product.args.get("zero_left", (1, 0))[:2] != (1, 0)


def _sums(made: Model, op: Operator, product: Operator, meta: Meta, whole: Any) -> Operator:
    """The product with the offsets in its sums."""
    addends = np.broadcast_to(whole.reshape(-1), (meta.shape[-1],)).astype(np.int64)
    bits, signed = int(meta.dtype.strip("uint")), not meta.dtype.startswith("u")
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    low, high = min(low + int(addends.min()), 0), high + int(addends.max())
    size = max(high.bit_length(), (-low - 1).bit_length() if low else 0) + 1
    key, path = f"{product.name}_offsets", product.path
    made.weights[key] = (f"{path}.offsets" if path else key, addends.astype(np.int32))
    kept = {k: v for k, v in product.args.items() if k in ("self", "other", "zero_right")}
    args = {
        **kept,
        "addends": Ref(key),
        "shift": 0,
        "even": False,
        "low": low,
        "high": high,
        "sums": f"int{size}",
    }
    metas = (Meta(meta.shape, f"int{size}"),)
    return replace(op, target="levels.dense", args=args, metas=metas, stack=product.stack)


def _array(made: Model, value: Any) -> Any:
    return np.asarray(made.weights[value.name][1] if isinstance(value, Ref) else value, np.float64)


def _drop_unread(made: Model) -> None:
    """Forget operators and weights that no result depends on."""
    wanted = set(made.outputs)
    for op in reversed(made.operators):
        if op.name in wanted:
            wanted.update(op.refs())
    made.operators = [op for op in made.operators if op.name in wanted]
    made.weights = {name: held for name, held in made.weights.items() if name in wanted}


def _refusal(name: str, why: str) -> ModelError:
    return ModelError(
        f"The result {name!r} cannot be given as integers: {why}.",
        help="end the graph with a product and biases that are multiples of its scale, or take "
        "results as float32.",
    )
