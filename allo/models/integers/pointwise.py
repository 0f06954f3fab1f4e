"""Which operators compute each element from the elements at the same place."""

from __future__ import annotations

_UNARY = (
    "abs neg relu relu6 exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan tanh"
    " sigmoid silu log_sigmoid erf hardsigmoid hardswish mish selu sign gelu leaky_relu elu softplus"
    " threshold hardtanh clamp clamp_min clamp_max clone alias maximum minimum"
).split()
POINTWISE = frozenset(
    {
        *(f"aten.{name}.default" for name in _UNARY),
        *(f"aten.{name}.Tensor" for name in ("add", "sub", "mul", "div")),
        "aten.rsub.Scalar",
        "aten.pow.Tensor_Scalar",
    }
)
"""Operators whose elements depend on the elements at the same places only."""
