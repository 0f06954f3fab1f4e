"""The functions a kernel calls, as ordinary Python: a kernel run by Python gives NumPy's answer.

In a kernel the compiler knows them by identity; ``__allo_dsl__`` holds the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def _dsl(function: _F) -> _F:
    function.__allo_dsl__ = function.__name__  # type: ignore[attr-defined]
    return function


def _numpy() -> Any:
    import numpy

    return numpy


# --- loops -------------------------------------------------------------------------------


@_dsl
def grid(
    *extents: int, name: str | None = None, pipeline: Any = False, unroll: Any = False
) -> Iterator[Any]:
    """The index tuples of a perfect nest; a single extent gives plain integers."""
    del name, pipeline, unroll
    if len(extents) == 1:
        return iter(range(extents[0]))
    return iter(_numpy().ndindex(*extents))


@_dsl
def reduction(
    *extents: int, name: str | None = None, pipeline: Any = False, unroll: Any = False
) -> Iterator[Any]:
    """Like :func:`grid`; each loop is marked as a reduction."""
    return grid(*extents, name=name, pipeline=pipeline, unroll=unroll)


# --- scalars and elements --------------------------------------------------------------------


@_dsl
def exp(x: Any, name: str | None = None) -> Any:
    """e to the power x."""
    return _numpy().exp(x)


@_dsl
def log(x: Any, name: str | None = None) -> Any:
    """The natural logarithm."""
    return _numpy().log(x)


@_dsl
def log2(x: Any, name: str | None = None) -> Any:
    """The logarithm to base 2."""
    return _numpy().log2(x)


@_dsl
def log10(x: Any, name: str | None = None) -> Any:
    """The logarithm to base 10."""
    return _numpy().log10(x)


@_dsl
def sqrt(x: Any, name: str | None = None) -> Any:
    """The square root."""
    return _numpy().sqrt(x)


@_dsl
def rsqrt(x: Any, name: str | None = None) -> Any:
    """One over the square root."""
    return 1 / _numpy().sqrt(x)


@_dsl
def sin(x: Any, name: str | None = None) -> Any:
    """The sine."""
    return _numpy().sin(x)


@_dsl
def cos(x: Any, name: str | None = None) -> Any:
    """The cosine."""
    return _numpy().cos(x)


@_dsl
def tan(x: Any, name: str | None = None) -> Any:
    """The tangent."""
    return _numpy().tan(x)


@_dsl
def tanh(x: Any, name: str | None = None) -> Any:
    """The hyperbolic tangent."""
    return _numpy().tanh(x)


@_dsl
def erf(x: Any, name: str | None = None) -> Any:
    """The error function."""
    import math

    numpy = _numpy()
    value = numpy.vectorize(math.erf)(x)
    return value.astype(numpy.asarray(x).dtype) if isinstance(x, numpy.ndarray) else float(value)


@_dsl
def power(x: Any, y: Any, name: str | None = None) -> Any:
    """x to the power y."""
    return _numpy().power(x, y)


@_dsl
def abs(x: Any, name: str | None = None) -> Any:
    """The absolute value."""
    return _numpy().abs(x)


@_dsl
def popcount(x: Any, name: str | None = None) -> Any:
    """How many bits of an integer are one; those of a negative number are its two's complement.

    Raises:
        TypeMismatchError: a negative Python integer, which has no width, or a value that is no integer.
    """
    numpy = _numpy()
    if isinstance(x, int) and x >= 0:
        return x.bit_count()
    kind = getattr(x, "dtype", None)
    if kind is None or kind.kind not in "iub":
        from allo.dialects.diagnostics import TypeMismatchError
        from allo.dialects.text.shown import shown

        raise TypeMismatchError(
            f"allo.popcount counts the bits of an integer of known width, not of {shown(x)}.",
            help="give a NumPy integer: np.int32(-1) has 32 bits.",
        )
    return numpy.bitwise_count(x.view(f"u{kind.itemsize}"))


@_dsl
def relu(x: Any, name: str | None = None) -> Any:
    """max(x, 0)."""
    return _numpy().maximum(x, 0)


@_dsl
def gelu(x: Any, name: str | None = None) -> Any:
    """The Gaussian error linear unit, tanh form."""
    numpy = _numpy()
    return 0.5 * x * (1 + numpy.tanh(0.797885 * (x + 0.044715 * x**3)))


# --- whole arrays -------------------------------------------------------------------------------


@_dsl
def add(a: Any, b: Any, name: str | None = None) -> Any:
    """a + b."""
    return a + b


@_dsl
def sub(a: Any, b: Any, name: str | None = None) -> Any:
    """a - b."""
    return a - b


@_dsl
def mul(a: Any, b: Any, name: str | None = None) -> Any:
    """a * b."""
    return a * b


@_dsl
def div(a: Any, b: Any, name: str | None = None) -> Any:
    """a / b; on integers the quotient truncated toward zero."""
    numpy = _numpy()
    quotient = numpy.true_divide(a, b)
    if numpy.issubdtype(numpy.asarray(a).dtype, numpy.integer):
        return numpy.trunc(quotient).astype(numpy.asarray(a).dtype)
    return quotient


@_dsl
def matmul(a: Any, b: Any, name: str | None = None) -> Any:
    """The matrix product; batched from three dimensions on."""
    return _numpy().matmul(a, b)


@_dsl
def bmm(a: Any, b: Any, name: str | None = None) -> Any:
    """The batched matrix product of two three-dimensional arrays."""
    return _numpy().matmul(a, b)


@_dsl
def linear(x: Any, weight: Any, bias: Any = None, name: str | None = None) -> Any:
    """x · weightᵀ, plus bias."""
    product = _numpy().matmul(x, weight.T)
    return product if bias is None else product + bias


@_dsl
def softmax(x: Any, name: str | None = None) -> Any:
    """exp(x) over its sum, along the last axis."""
    numpy = _numpy()
    powers = numpy.exp(x - numpy.max(x, axis=-1, keepdims=True))
    return powers / numpy.sum(powers, axis=-1, keepdims=True)


@_dsl
def layernorm(x: Any, gamma: Any, beta: Any, eps: float = 1e-5, name: str | None = None) -> Any:
    """Normalised to mean 0 and variance 1 along the last axis, then scaled and shifted."""
    numpy = _numpy()
    mean = numpy.mean(x, axis=-1, keepdims=True)
    variance = numpy.var(x, axis=-1, keepdims=True)
    return gamma * (x - mean) / numpy.sqrt(variance + eps) + beta


def _windows(x: Any, height: int, width: int) -> Any:
    return _numpy().lib.stride_tricks.sliding_window_view(x, (height, width), axis=(-2, -1))


@_dsl
def conv2d(inp: Any, weight: Any, name: str | None = None) -> Any:
    """NCHW by FCHW, stride 1, no padding."""
    windows = _windows(inp, weight.shape[2], weight.shape[3])
    return _numpy().einsum("nchwij,fcij->nfhw", windows, weight)


@_dsl
def maxpool(inp: Any, window: Any, name: str | None = None) -> Any:
    """The largest element of each window, stride 1; ``window`` counts by its shape."""
    return _windows(inp, *window.shape).max(axis=(-2, -1))


@_dsl
def sumpool(inp: Any, window: Any, name: str | None = None) -> Any:
    """The sum of each window, stride 1; ``window`` counts by its shape."""
    return _windows(inp, *window.shape).sum(axis=(-2, -1))


@_dsl
def copy(x: Any, name: str | None = None) -> Any:
    """A new array with the same elements."""
    return _numpy().copy(x)


@_dsl
def transpose(x: Any, axes: Sequence[int] | None = None, name: str | None = None) -> Any:
    """Axes permuted; reversed without ``axes``."""
    return _numpy().transpose(x, axes)


@_dsl
def view(x: Any, shape: Sequence[int], name: str | None = None) -> Any:
    """The same elements, row-major, in another shape."""
    return _numpy().reshape(x, shape)


@_dsl
def concat(x: Any, y: Any, axis: int = 0, name: str | None = None) -> Any:
    """Two arrays joined along an axis."""
    return _numpy().concatenate((x, y), axis=axis)


@_dsl
def tril(x: Any, name: str | None = None) -> Any:
    """The lower triangle; 0 above the diagonal."""
    return _numpy().tril(x)


@_dsl
def ones(shape: Sequence[int], dtype: Any = None, name: str | None = None) -> Any:
    """An array of ones."""
    return _numpy().ones(shape, dtype=_numpy_dtype(dtype))


@_dsl
def zeros(shape: Sequence[int], dtype: Any = None, name: str | None = None) -> Any:
    """An array of zeros."""
    return _numpy().zeros(shape, dtype=_numpy_dtype(dtype))


def _numpy_dtype(dtype: Any) -> Any:
    """NumPy's type for one of ours."""
    if dtype is None or not hasattr(dtype, "bits"):
        return dtype
    kind = type(dtype).__name__
    stem = {"Int": "int", "UInt": "uint", "Float": "float"}.get(kind, "int")
    width = next(w for w in (8, 16, 32, 64) if w >= min(dtype.bits, 64))
    return f"{stem}{width}"


def get_pid() -> tuple[int, ...]:
    """The coordinates of a dataflow kernel; known only while compiling."""
    raise NotImplementedError("get_pid() has a value only while a df.kernel is compiled.")
