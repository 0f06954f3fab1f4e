"""RMS norms that a model spells out, as one operator each: ``x · rsqrt(mean(x²) + eps)``, times a weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allo.models.graph import Model, Operator, Ref
from allo.models.integers.editing import array_of, beside, readers_of

_ROOTS = {"aten.rsqrt.default": "aten.mul.Tensor", "aten.sqrt.default": "aten.div.Tensor"}
"""A root, and the operator that takes it."""


@dataclass(frozen=True, slots=True)
class _Norm:
    """What is replaced: ``last`` by the norm, all of ``steps`` by nothing."""

    source: str
    eps: float
    extent: int
    steps: tuple[Operator, ...]
    last: Operator


def join_norms(model: Model) -> None:
    """Rewrite a graph in place."""
    readers = readers_of(model)
    by_name = {op.name: op for op in model.operators}
    for root in [op for op in model.operators if op.target in _ROOTS]:
        found = _norm_of(model, readers, by_name, root)
        if found is None:
            continue
        last, weight = found.last, None
        behind = readers.get(last.name, [])
        gone = {op.name for op in found.steps}
        if len(behind) == 1 and last.name not in model.outputs:
            weight = _weight(model, behind[0], last.name, found.extent)
            if weight:
                gone.add(last.name)
                last = behind[0]
        args = {"input": Ref(found.source), "normalized_shape": [found.extent]}
        args |= {"weight": weight, "eps": found.eps}
        if last.metas[0] is None:
            continue
        norm = beside(last, last.name, "aten.rms_norm.default", args, last.metas[0])
        model.operators = [
            norm if op.name == last.name else op for op in model.operators if op.name not in gone
        ]


def _norm_of(
    model: Model,
    readers: Mapping[str, Sequence[Operator]],
    by_name: Mapping[str, Operator],
    root: Operator,
) -> _Norm | None:
    total = _made_by(by_name, root.args["self"], "aten.add.Tensor")
    if total is None or not isinstance(total.args["other"], (int, float)):
        return None
    mean = _made_by(by_name, total.args["self"], "aten.mean.dim")
    square = by_name.get(mean.args["self"].name) if mean else None
    source = _squared(square) if square else None
    if mean is None or square is None or source is None or square.metas[0] is None:
        return None
    rank = len(square.metas[0].shape)
    if [d % rank for d in mean.args["dim"] or []] != [rank - 1] or not mean.args["keepdim"]:
        return None
    steps = (square, mean, total, root)
    alone = all(len(readers.get(s.name, [])) == 1 and s.name not in model.outputs for s in steps)
    last = readers[root.name][0] if alone else None
    if last is None or last.target != _ROOTS[root.target] or last.args.get("alpha", 1) != 1:
        return None
    operands = [last.args["self"], last.args["other"]]
    if operands != [Ref(source), Ref(root.name)] and (
        last.target != "aten.mul.Tensor" or operands != [Ref(root.name), Ref(source)]
    ):
        return None
    return _Norm(source, float(total.args["other"]), square.metas[0].shape[-1], steps, last)


def _made_by(by_name: Mapping[str, Operator], value: object, target: str) -> Operator | None:
    op = by_name.get(value.name) if isinstance(value, Ref) else None
    return op if op and op.target == target else None


def _squared(op: Operator) -> str | None:
    """What an operator gives the square of."""
    base = op.args.get("self")
    if not isinstance(base, Ref):
        return None
    same = op.target == "aten.mul.Tensor" and op.args["other"] == base
    power = op.target == "aten.pow.Tensor_Scalar" and op.args["exponent"] == 2
    return base.name if same or power or op.target == "aten.square.default" else None


def _weight(model: Model, op: Operator, norm: str, extent: int) -> Ref | None:
    """The weight that a product multiplies a norm by."""
    if op.target != "aten.mul.Tensor":
        return None
    for one, other in (("self", "other"), ("other", "self")):
        array = array_of(model, op.args[one])
        if array is not None and op.args[other] == Ref(norm) and array.shape == (extent,):
            weight: Ref = op.args[one]
            return weight
    return None
