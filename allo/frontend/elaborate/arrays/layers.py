"""The whole-array functions that are kernels of the library: softmax, layer norm, convolution."""

from __future__ import annotations

from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import library
from allo.frontend.elaborate.arrays.lazy import Uniform, Value
from allo.frontend.elaborate.arrays.reductions import window_extents
from allo.frontend.elaborate.arrays.requests import Request, new_result, require_float
from allo.frontend.rules import operations as ops


def softmax(request: Request) -> Value:
    """``allo.softmax(x)``, along the last axis: ``nn.softmax_rows``."""
    x = request.stored("x")
    require_float(request, x)
    return library.matrix(request, "softmax.softmax_rows", ("R", "C"), x, {}, {})


def layernorm(request: Request) -> Value:
    """``allo.layernorm(x, gamma, beta, eps)``, along the last axis: ``nn.layer_norm``."""
    x, gamma, beta = (request.stored(name) for name in ("x", "gamma", "beta"))
    require_float(request, x)
    length = x.shape[-1:]
    if gamma.shape != length or beta.shape != length:
        raise request.error(
            f"gamma and beta must have shape {arrays.show(length)}, not {arrays.show(gamma.shape)} and "
            f"{arrays.show(beta.shape)}."
        )
    others, constants = {"gamma": gamma, "beta": beta}, {"EPSILON": _epsilon(request)}
    return library.matrix(request, "normalize.layer_norm", ("L", "D"), x, others, constants)


def _epsilon(request: Request) -> float:
    """What ``eps=`` gives."""
    node = request.nodes.get("eps")
    value = 1e-5 if node is None else request.ctx.constant(node, "eps of allo.layernorm")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise request.error(f"eps must be a number that is not negative, not {value!r}.")
    return float(value)


def conv2d(request: Request) -> Value:
    """``allo.conv2d(inp, weight)``, NCHW by FCHW, stride 1, no padding: ``nn.conv2d`` without a bias."""
    image, weight = request.stored("inp"), request.stored("weight")
    if len(image.shape) != 4 or len(weight.shape) != 4 or image.shape[1] != weight.shape[1]:
        raise request.error(
            f"NCHW and FCHW arrays with equal C are needed, not {arrays.show(image.shape)} and "
            f"{arrays.show(weight.shape)}."
        )
    (batch, channels, high, wide), (filters, _, *window) = image.shape, weight.shape
    height, width = window_extents(request, image.shape[2:], window)
    dtype, place = image.dtype, request.place
    names = ("B", "Cin", "Cout", "H", "W", "Kh", "Kw", "Oh", "Ow", "Sh", "Sw", "Pd0", "Pd1")
    sizes = (batch, channels, filters, high, wide, *window, height, width, 1, 1, 0, 0)
    zero = ops.cast(ops.literal(0, place), dtype)
    values = {
        "inp": image,
        "kernel": weight,
        "bias": Uniform(dtype, (filters,), place, zero),
    }
    result = new_result(request, dtype, (batch, filters, height, width))
    constants = {**dict(zip(names, sizes, strict=True)), "Ty": dtype}
    target = arrays.whole(result, place)
    library.kernel(request, "convolution.conv2d", values, constants, target)
    return target
