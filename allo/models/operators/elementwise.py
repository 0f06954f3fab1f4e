"""Operators that compute each element from the elements at the same place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..body import Call, Emitter, Result
from ..tensors import Tensor

# Of one tensor: `elem` is the element in the type of the result.
_UNARY = {
    "abs": "abs(elem)",
    "neg": "-elem",
    "relu": "max(elem, 0)",
    "relu6": "min(max(elem, 0), 6)",
    "exp": "allo.exp(elem)",
    "exp2": "allo.exp(elem * 0.6931471805599453)",
    "expm1": "allo.exp(elem) - 1.0",
    "log": "allo.log(elem)",
    "log2": "allo.log2(elem)",
    "log10": "allo.log10(elem)",
    "log1p": "allo.log(elem + 1.0)",
    "sqrt": "allo.sqrt(elem)",
    "rsqrt": "1.0 / allo.sqrt(elem)",
    "reciprocal": "1.0 / elem",
    "square": "elem * elem",
    "sin": "allo.sin(elem)",
    "cos": "allo.cos(elem)",
    "tan": "allo.tan(elem)",
    "tanh": "allo.tanh(elem)",
    "sigmoid": "1.0 / (1.0 + allo.exp(-elem))",
    "silu": "elem / (1.0 + allo.exp(-elem))",
    "log_sigmoid": "min(elem, 0.0) - allo.log(1.0 + allo.exp(-abs(elem)))",
    "erf": "allo.erf(elem)",
    "hardsigmoid": "min(max(elem + 3.0, 0.0), 6.0) / 6.0",
    "hardswish": "elem * min(max(elem + 3.0, 0.0), 6.0) / 6.0",
    "mish": "elem * allo.tanh(max(elem, 0.0) + allo.log(1.0 + allo.exp(-abs(elem))))",
    "selu": "1.0507009873554805 * (max(elem, 0.0)"
    " + 1.6732632423543772 * (allo.exp(min(elem, 0.0)) - 1.0))",
    "sign": "(1 if elem > 0 else 0) - (1 if elem < 0 else 0)",
    "logical_not": "1 if elem == 0 else 0",
}

# Of two tensors or a tensor and a number; {x} and {y} are the operands.
_BINARY = {
    "mul": "{x} * {y}",
    "maximum": "max({x}, {y})",
    "minimum": "min({x}, {y})",
    "logical_and": "1 if {x} != 0 and {y} != 0 else 0",
    "logical_or": "1 if {x} != 0 or {y} != 0 else 0",
    "logical_xor": "1 if ({x} != 0) != ({y} != 0) else 0",
    "bitwise_and": "{x} & {y}",
    "bitwise_or": "{x} | {y}",
    "bitwise_xor": "{x} ^ {y}",
}
_UNNAMED = {"maximum", "minimum", "logical_and", "logical_or", "logical_xor"}
"""These have one form only, and it has no name."""
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def number(value: float) -> str:
    """A number as it is written in a kernel."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        return "not_a_number" if math.isnan(value) else ("infinity" if value > 0 else "-infinity")
    return repr(value) if value >= 0 else f"({value!r})"


def pointwise(
    call: Call, operands: Sequence[Any], expression: str, dtype: str | None = None
) -> Tensor:
    """A nest over the result; ``{0}``, ``{1}`` … stand for the operands.

    Args:
        call: the operator.
        operands: tensors, which are broadcast, and numbers.
        expression: of the element.
        dtype: the type in which tensors are read; None: each in its own.
    """
    target = call.array()
    with call.text.loops(target.shape, call.op.kind) as at:
        names = []
        for operand, name in zip(operands, ("elem", "other", "third"), strict=False):
            if isinstance(operand, Tensor):
                element = operand.expanded(target.shape).at(*at)
                call.text.line(f"{name}: {dtype or operand.dtype} = {element}")
                names.append(name)
            else:
                names.append(number(operand))
        call.text.line(f"{target.at(*at)} = {expression.format(*names)}")
    return target


def _unary(expression: str) -> Emitter:
    def emit(call: Call) -> Result:
        source = call.tensor("self" if "self" in call.args else "input")
        compute = call.dtype if call.is_float else None
        return pointwise(call, [source], expression.replace("elem", "{0}"), compute)

    return emit


def _binary(expression: str) -> Emitter:
    text = expression.format(x="{0}", y="{1}")

    def emit(call: Call) -> Result:
        other = "other" if "other" in call.args else "exponent"
        return pointwise(call, [call["self"], call[other]], text, _computed(call))

    return emit


def _computed(call: Call) -> str | None:
    """The type in which operands are read: that of a float result, else each its own."""
    return call.dtype if call.is_float else None


def _scaled(call: Call) -> str:
    alpha = call.args.get("alpha", 1)
    return "{1}" if alpha == 1 else f"{number(alpha)} * {{1}}"


def _add(call: Call) -> Result:
    return pointwise(
        call, [call["self"], call["other"]], f"{{0}} + {_scaled(call)}", _computed(call)
    )


def _sub(call: Call) -> Result:
    return pointwise(
        call, [call["self"], call["other"]], f"{{0}} - {_scaled(call)}", _computed(call)
    )


def _rsub(call: Call) -> Result:
    alpha = call.args.get("alpha", 1)
    left = "{0}" if alpha == 1 else f"{number(alpha)} * {{0}}"
    return pointwise(call, [call["self"], call["other"]], f"{{1}} - {left}", _computed(call))


def _div(call: Call) -> Result:
    mode = call.args.get("rounding_mode")
    if mode == "trunc" and call.is_float:
        raise call.refusal("with rounding_mode='trunc' of floats", 'use rounding_mode="floor".')
    sign = "//" if mode == "floor" else "/"
    return pointwise(call, [call["self"], call["other"]], f"{{0}} {sign} {{1}}", _computed(call))


def _comparison(sign: str) -> Emitter:
    def emit(call: Call) -> Result:
        return pointwise(call, [call["self"], call["other"]], f"1 if {{0}} {sign} {{1}} else 0")

    return emit


def _pow(call: Call) -> Result:
    base, exponent = call["self"], call["exponent"]
    simple = {
        2: "{0} * {0}",
        3: "{0} * {0} * {0}",
        0.5: "allo.sqrt({0})",
        -1: "1.0 / {0}",
        1: "{0}",
    }
    if not isinstance(exponent, Tensor) and exponent in simple:
        return pointwise(call, [base, exponent], simple[exponent], _computed(call))
    return pointwise(call, [base, exponent], "allo.power({0}, {1})", _computed(call))


def _gelu(call: Call) -> Result:
    if call["approximate"] == "tanh":
        inner = "0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0})"
        text = f"0.5 * {{0}} * (1.0 + allo.tanh({inner}))"
    else:
        text = "0.5 * {0} * (1.0 + allo.erf({0} * 0.7071067811865476))"
    return pointwise(call, [call.tensor("self")], text, call.dtype)


def _with_numbers(expression: Callable[[Call], str]) -> Emitter:
    """An activation with parameters."""

    def emit(call: Call) -> Result:
        return pointwise(call, [call.tensor("self")], expression(call), _computed(call))

    return emit


def _leaky_relu(call: Call) -> str:
    return f"{{0}} if {{0}} > 0 else {number(call['negative_slope'])} * {{0}}"


def _elu(call: Call) -> str:
    alpha, scale, inner = (number(call[k]) for k in ("alpha", "scale", "input_scale"))
    low = f"{alpha} * (allo.exp({inner} * min({{0}}, 0.0)) - 1.0)"
    return f"{scale} * (max({{0}}, 0.0) + {low})"


def _softplus(call: Call) -> str:
    beta, threshold = number(call["beta"]), number(call["threshold"])
    product = f"{beta} * {{0}}"
    smooth = f"(max({product}, 0.0) + allo.log(1.0 + allo.exp(-abs({product})))) / {beta}"
    return f"{{0}} if {product} > {threshold} else {smooth}"


def _threshold(call: Call) -> str:
    return f"{{0}} if {{0}} > {number(call['threshold'])} else {number(call['value'])}"


def _clamped(low: str | None, high: str | None) -> Callable[[Call], str]:
    def expression(call: Call) -> str:
        text = "{0}"
        if low and call.args.get(low) is not None:
            text = f"max({text}, {number(call[low])})"
        if high and call.args.get(high) is not None:
            text = f"min({text}, {number(call[high])})"
        return text

    return expression


def _where(call: Call) -> Result:
    operands = [call["condition"], call["self"], call["other"]]
    return pointwise(call, operands, "{1} if {0} != 0 else {2}")


def _masked_fill(call: Call) -> Result:
    return pointwise(call, [call["mask"], call["value"], call["self"]], "{1} if {0} != 0 else {2}")


def _addc(sign: str) -> Emitter:
    def emit(call: Call) -> Result:
        text = f"{{0}} + {number(call['value'])} * {{1}} {sign} {{2}}"
        return pointwise(call, [call[k] for k in ("self", "tensor1", "tensor2")], text, call.dtype)

    return emit


def _lerp(call: Call) -> Result:
    text = "{0} + {2} * ({1} - {0})"
    return pointwise(call, [call[k] for k in ("self", "end", "weight")], text, call.dtype)


def _prelu(call: Call) -> Result:
    weight = call.tensor("weight")
    if len(call.shape) > 1 and weight.shape != (1,):
        weight = weight.view((*weight.shape, *[1] * (len(call.shape) - 2)), weight.rows[:1])
    text = "{0} if {0} > 0 else {1} * {0}"
    return pointwise(call, [call.tensor("self"), weight], text, call.dtype)


def _converted(call: Call) -> Result:
    source = call.tensor("self")
    if source.dtype == call.dtype:
        return source
    text = "1 if {0} != 0 else 0" if call.meta().dtype == "bool" else "{0}"
    return pointwise(call, [source], text)


def _triangle(sign: str) -> Emitter:
    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        diagonal = call["diagonal"]
        with call.text.loops(target.shape, call.op.kind) as at:
            row, column = at[-2:]
            with call.text.block(f"if {column} {sign} {row} + {diagonal}:"):
                call.text.line(f"{target.at(*at)} = {source.at(*at)}")
            with call.text.block("else:"):
                call.text.line(f"{target.at(*at)} = 0")
        return target

    return emit


def _filled(value: float | None) -> Emitter:
    def emit(call: Call) -> Result:
        target = call.array()
        given = call.args.get("fill_value", call.args.get("value"))
        chosen = given if value is None else value
        if not isinstance(chosen, (bool, int, float)):
            raise call.refusal("with a value that is a tensor", "use torch.where.")
        with call.text.loops(target.shape, call.op.kind) as at:
            call.text.line(f"{target.at(*at)} = {number(chosen)}")
        return target

    return emit


OPERATORS: dict[str, Emitter] = {
    **{f"aten.{name}.default": _unary(text) for name, text in _UNARY.items()},
    **{
        f"aten.{name}.{'default' if name in _UNNAMED else 'Tensor'}": _binary(text)
        for name, text in _BINARY.items()
    },
    **{
        f"aten.{name}.{overload}": _comparison(sign)
        for name, sign in _COMPARISONS.items()
        for overload in ("Tensor", "Scalar")
    },
    "aten.add.Tensor": _add,
    "aten.sub.Tensor": _sub,
    "aten.rsub.Scalar": _rsub,
    "aten.div.Tensor": _div,
    "aten.div.Tensor_mode": _div,
    "aten.pow.Tensor_Scalar": _pow,
    "aten.pow.Tensor_Tensor": _pow,
    "aten.gelu.default": _gelu,
    "aten.leaky_relu.default": _with_numbers(_leaky_relu),
    "aten.elu.default": _with_numbers(_elu),
    "aten.softplus.default": _with_numbers(_softplus),
    "aten.threshold.default": _with_numbers(_threshold),
    "aten.hardtanh.default": _with_numbers(_clamped("min_val", "max_val")),
    "aten.clamp.default": _with_numbers(_clamped("min", "max")),
    "aten.clamp_min.default": _with_numbers(_clamped("min", None)),
    "aten.clamp_max.default": _with_numbers(_clamped(None, "max")),
    "aten.where.self": _where,
    "aten.masked_fill.Scalar": _masked_fill,
    "aten.addcmul.default": _addc("*"),
    "aten.addcdiv.default": _addc("/"),
    "aten.lerp.Scalar": _lerp,
    "aten.lerp.Tensor": _lerp,
    "aten.prelu.default": _prelu,
    "aten._to_copy.default": _converted,
    "aten.tril.default": _triangle("<="),
    "aten.triu.default": _triangle(">="),
    "aten.zeros_like.default": _filled(0),
    "aten.ones_like.default": _filled(1),
    "aten.full_like.default": _filled(None),
}
