"""Replace scalar functions by arithmetic, once for every target.

Assumes upstream dialects and scalar operands. Leaves no operation of :data:`EXPANSIONS` on f16,
bf16 or f32, and on f64 only those of :data:`SINGLE_ONLY`; other ``math`` operations (``sqrt``,
``absf``, ``ctlz`` …) are arithmetic already.
CPU and RTL run this same pass, so their results agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.checked import module_pass

from .math.bits import Emitter
from .math.exponential import expand_exp, expand_exp2
from .math.logarithm import expand_log
from .math.odd_saturating import expand_erf, expand_tanh
from .math.power import expand_powf
from .math.reciprocal_root import expand_rsqrt
from .math.trigonometric import expand_cos, expand_sin, expand_tan

Expansion = Callable[..., ir.Value]
"""``expansion(emitter, *operands)`` gives the result, of the operands' type, f32 or f64."""


def _log(op: str) -> Expansion:
    return lambda emitter, value: expand_log(emitter, value, op)


EXPANSIONS: dict[str, Expansion] = {
    "math.exp": expand_exp,
    "math.exp2": expand_exp2,
    **{op: _log(op) for op in ("math.log", "math.log2", "math.log10")},
    "math.tanh": expand_tanh,
    "math.erf": expand_erf,
    "math.rsqrt": expand_rsqrt,
    "math.sin": expand_sin,
    "math.cos": expand_cos,
    "math.tan": expand_tan,
    "math.powf": expand_powf,
}
"""Functions that have an expansion. A new function is a new file and a line here."""

SINGLE_ONLY = frozenset({"math.sin", "math.cos", "math.tan", "math.powf"})
"""Those without an expansion for float64."""


@module_pass
def expand_math(module: ir.Module) -> int:
    """Rewrite, in place, every function of :data:`EXPANSIONS` into ``arith`` operations.

    f16 and bf16 go through f32.

    Returns:
        The number of operations rewritten.
    """
    found = [
        op
        for op in walk(module.operation)
        if op.name in EXPANSIONS and _has_expansion(op.name, str(op.results[0].type))
    ]
    for op in found:
        _rewrite(op)
    return len(found)


def _has_expansion(name: str, kind: str) -> bool:
    return kind in ("f16", "bf16", "f32") or (kind == "f64" and name not in SINGLE_ONLY)


def _rewrite(op: ir.Operation) -> None:
    emitter = Emitter(op)
    kind = op.results[0].type
    single = ir.F32Type.get(op.context)
    operands = list(op.operands)
    narrow = str(kind) in ("f16", "bf16")
    if narrow:
        operands = [emitter.make("arith.extf", single, [value]) for value in operands]
    result = EXPANSIONS[op.name](emitter, *operands)
    if narrow:
        result = emitter.make("arith.truncf", kind, [result])
    op.results[0].replace_all_uses_with(result)
    op.erase()
