"""The integer operators of models that :func:`allo.torch.quantize` makes."""

from __future__ import annotations

from collections.abc import Sequence

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .convolutions import convolution, scattered
from .pools import windows
from .products import matmul, product
from .sums import HIGHEST, LOWEST, Sums, requantise, rounded


def _linear(call: Call) -> Result:
    source, weight, target = call.tensor("input"), call.tensor("weight"), call.array()
    rows = source if len(source.shape) > 1 else source.unsqueezed(0)
    into = target if len(target.shape) > 1 else target.unsqueezed(0)
    bias, sums = call.optional("bias"), Sums.of(call)
    product(call, rows, weight.transposed(0, 1), bias, target=into, sums=sums)
    return target


def _matmul(call: Call) -> Result:
    return matmul(call, call.tensor("self"), call.tensor("other"), Sums.of(call))


def _convolution(call: Call) -> Result:
    return convolution(call, call["padding"], Sums.of(call))


def _transposed(call: Call) -> Result:
    return scattered(call, Sums.of(call))


def _quantize(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "quantize") as at:
        value = f"{source.at(*at)} * {call['inverse']!r}"
        rounded(call, target.at(*at), value, LOWEST, HIGHEST)
    return target


def _dequantize(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "dequantize") as at:
        call.text.line(f"elem: float32 = {source.at(*at)}")
        call.text.line(f"{target.at(*at)} = elem * {call['scale']!r}")
    return target


def _lookup(call: Call) -> Result:
    source, table, target = call.tensor("input"), call.tensor("table"), call.array()
    with call.text.loops(target.shape, call["function"]) as at:
        offset = call.args.get("offset", -LOWEST)
        place = f"{source.at(*at)} + {offset}" if offset else source.at(*at)
        call.text.line(f"{target.at(*at)} = {table.at(place)}")
    return target


def _add(call: Call) -> Result:
    """``self · first + other · second``, requantised."""
    target = call.array()
    left, right = (call.tensor(name).expanded(target.shape) for name in ("self", "other"))
    with call.text.loops(target.shape, "add") as at:
        scaled = f"{left.at(*at)} * {call['first']} + {right.at(*at)} * ({call['second']})"
        requantise(call, target.at(*at), scaled)
    return target


def _mul(call: Call) -> Result:
    target = call.array()
    left, right = (call.tensor(name).expanded(target.shape) for name in ("self", "other"))
    zeros = Sums(call, "")
    with call.text.loops(target.shape, "mul") as at:
        first = zeros.less_zero("zero_left", left.at(*at), "elem")
        second = zeros.less_zero("zero_right", right.at(*at), "other")
        scaled = f"{first} * {second} * {call['multiplier']}"
        requantise(call, target.at(*at), scaled)
    return target


def _rescale(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "rescale") as at:
        requantise(call, target.at(*at), f"{source.at(*at)} * {call['multiplier']}")
    return target


def _avg_pool(call: Call) -> Result:
    source, target = call.tensor("self"), call.array()
    sizes: Sequence[int] = call["kernel_size"]
    with call.text.loops(target.shape, "avg_pool") as at:
        call.text.line(f"total: {call.types.of_torch(call['sums'])} = 0")
        with call.text.loops(sizes, prefix="k", reduction=True) as offsets:
            zero = call.args.get("zero_input", 0)
            windows(
                call, source, at, offsets, f"total += {{}} - ({zero})" if zero else "total += {}"
            )
        requantise(call, target.at(*at), f"total * {call['multiplier']}")
    return target


def _mean(call: Call) -> Result:
    source, target = call.tensor("self"), call.array()
    rank = len(source.shape)
    dims = sorted(d % rank for d in call["dim"])
    into: Tensor = target
    if len(target.shape) == rank:
        for d in reversed(dims):
            into = into.selected(d, 0)
    with call.text.loops([source.shape[d] for d in range(rank) if d not in dims], "mean") as at:
        call.text.line(f"total: {call.types.of_torch(call['sums'])} = 0")
        extents = [source.shape[d] for d in dims]
        with call.text.loops(extents, prefix="r", reduction=True) as r:
            outer, inner = iter(at), iter(r)
            places = [next(inner) if d in dims else next(outer) for d in range(rank)]
            call.text.line(f"total += {source.at(*places)}")
        requantise(call, into.at(*at), f"total * {call['multiplier']}")
    return target


INTEGERS: dict[str, Emitter] = {
    "quantized.linear": _linear,
    "quantized.matmul": _matmul,
    "quantized.conv1d": _convolution,
    "quantized.conv2d": _convolution,
    "quantized.conv3d": _convolution,
    "quantized.conv_transpose1d": _transposed,
    "quantized.conv_transpose2d": _transposed,
    "quantized.quantize": _quantize,
    "quantized.dequantize": _dequantize,
    "quantized.lookup": _lookup,
    "quantized.add": _add,
    "quantized.mul": _mul,
    "quantized.rescale": _rescale,
    "quantized.avg_pool": _avg_pool,
    "quantized.mean": _mean,
}
