"""Averages of integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from allo.models.graph import Operator, Ref
from allo.models.integers.arithmetic import sum_type
from allo.models.integers.editing import listed

from .endings import ended
from .values import Ending, Levels

_MEANS = frozenset({"aten.mean.dim", "aten.mean.default"})
POOLS = _MEANS | {f"aten.avg_pool{n}d.default" for n in (1, 2, 3)}


def pool_args(
    op: Operator, levels: Levels, shape: Sequence[int], ending: Ending
) -> dict[str, Any] | None:
    """The arguments of an average, or None where its windows do not all have as many elements."""
    zero = levels.grid.zero
    args: dict[str, Any] = {"self": Ref(levels.name)}
    if op.target in _MEANS:
        dims = op.args.get("dim") or list(range(len(shape)))
        count = prod(shape[d] for d in dims)
        args["dim"] = dims
    else:
        dims = int(op.target[len("aten.avg_pool")])
        args |= {key: listed(op.args[key], dims) for key in ("kernel_size", "stride", "padding")}
        padded = any(args["padding"])
        if op.args["ceil_mode"] or (padded and not op.args["count_include_pad"]):
            return None
        count = prod(args["kernel_size"])
        if op.args.get("divisor_override") not in (None, count):
            return None
        if padded:  # what is outside the image is 0, which is the level ``zero``
            args["zero_input"], zero = levels.grid.zero, 0
    bound = count * levels.grid.largest
    unit = np.asarray(levels.grid.step / count)
    return {
        **args,
        "sums": sum_type(bound),
        **ended(ending, unit, bound, less=np.asarray(zero * count)),
    }
