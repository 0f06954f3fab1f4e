"""What stands behind an operator: bounds and quantisations that can be done with its sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allo.models.graph import Model, Operator, Ref
from allo.models.integers.editing import array_of

from .values import Ending, Grid

QUANTIZE = frozenset(
    f"quantized_decomposed.quantize_per_tensor.{form}" for form in ("default", "tensor")
)
_BOUNDS = {
    "aten.relu.default": (0.0, None),
    "aten.relu6.default": (0.0, 6.0),
}
_NAMED_BOUNDS = {
    "aten.hardtanh.default": ("min_val", "max_val"),
    "aten.clamp.default": ("min", "max"),
    "aten.clamp_min.default": ("min", ""),
    "aten.clamp_max.default": ("", "max"),
}


def grid_of(model: Model, op: Operator) -> Grid | None:
    """The grid of a quantisation or dequantisation of whole tensors; None where it depends on the input."""
    scale, zero = (_number(model, op.args[key]) for key in ("scale", "zero_point"))
    if scale is None or zero is None:
        return None
    low, high = int(op.args["quant_min"]), int(op.args["quant_max"])
    return Grid(scale, int(zero), low, high, op.args["dtype"], op.args.get("exact", False))


def _number(model: Model, value: object) -> float | None:
    if not isinstance(value, Ref):
        return float(value) if isinstance(value, (int, float)) else None
    array = array_of(model, value)
    return None if array is None else float(array.reshape(-1)[0])


def ending_of(
    model: Model, readers: Mapping[str, Sequence[Operator]], op: Operator
) -> Ending | None:
    """What makes integers of a result, where nothing else reads it on the way."""
    steps: list[Operator] = []
    bounds: list[tuple[float | None, float | None]] = []
    last = op
    while True:
        found = readers.get(last.name, [])
        if not found or last.name in model.outputs:
            return None
        if all(reader.target in QUANTIZE for reader in found):
            break
        if len(found) > 1 or (limits := _bounds(found[0])) is None:
            return None
        bounds.append(limits)
        steps.append(found[0])
        last = found[0]
    grids = {grid_of(model, reader) for reader in found}
    grid = grids.pop()
    if grids or grid is None:
        return None
    low, high = grid.low, grid.high
    for least, most in bounds:
        floor = grid.low if least is None else grid.level(least)
        top = grid.high if most is None else grid.level(most)
        low, high = (min(max(level, floor), top) for level in (low, high))
    return Ending(grid, low, high, (*steps, *found))


def _bounds(op: Operator) -> tuple[float | None, float | None] | None:
    if op.target in _BOUNDS:
        return _BOUNDS[op.target]
    if op.target not in _NAMED_BOUNDS:
        return None
    least, most = (op.args.get(name) if name else None for name in _NAMED_BOUNDS[op.target])
    return least, most
