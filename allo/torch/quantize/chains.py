"""Activations that a model spells out, such as GELU from powers and a tanh, as one table each."""

from __future__ import annotations

from collections.abc import Mapping

from allo.models.graph import Model, Operator, Ref
from allo.models.integers.editing import readers_of
from allo.models.integers.pointwise import POINTWISE

from ..running import CHAIN
from .plan import TABLES

_CURVED = TABLES | {
    *(
        f"aten.{name}.default"
        for name in "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan".split()
    ),
    "aten.pow.Tensor_Scalar",
}
"""What makes a table worth while; sums and products with numbers alone are done in float32."""


def join_chains(model: Model) -> None:
    """Replace operators whose elements depend on those of one tensor, at the same places, by chains."""
    roots = _roots(model)
    readers, by_name = readers_of(model), {op.name: op for op in model.operators}
    made: dict[str, Operator] = {}
    for name, root in roots.items():
        behind = readers.get(name, [])
        inside = behind and all(roots.get(reader.name) == root for reader in behind)
        if inside and name not in model.outputs:
            continue
        op = by_name[name]
        steps = _steps(op, by_name, roots)
        curved = [step for step in steps if step.target in _CURVED]
        if not curved or (len(steps) == 1 and op.target in TABLES):
            continue
        args = {"self": Ref(root), "steps": steps, "function": curved[-1].kind}
        made[name] = Operator(name, CHAIN, args, op.metas, op.stack, op.place)
    model.operators = [made.get(op.name, op) for op in model.operators]
    _drop_unread(model, roots)


def _roots(model: Model) -> dict[str, str]:
    """The values that are functions of another one, and the first of those."""
    metas = {op.name: op.metas[0] for op in model.operators} | dict(model.inputs)
    roots: dict[str, str] = {}
    for op in model.operators:
        before = {roots.get(name, name) for name in op.refs()}
        if op.target not in POINTWISE or len(before) != 1:
            continue
        root, meta = before.pop(), op.metas[0]
        if meta is not None and meta.dtype == "float32" and metas.get(root) == meta:
            roots[op.name] = root
    return roots


def _steps(
    last: Operator, by_name: Mapping[str, Operator], roots: Mapping[str, str]
) -> tuple[Operator, ...]:
    """The operators between the root of a value and the value, in order."""
    found: dict[str, Operator] = {}

    def take(op: Operator) -> None:
        for name in op.refs():
            if roots.get(name) == roots[op.name] and name not in found:
                take(by_name[name])
        found[op.name] = op

    take(last)
    return tuple(found.values())


def _drop_unread(model: Model, names: Mapping[str, str]) -> None:
    kept: list[Operator] = []
    read = set(model.outputs)
    for op in reversed(model.operators):
        if op.name in names and op.name not in read:
            continue
        read.update(op.refs())
        kept.append(op)
    model.operators = kept[::-1]
