"""Files of one operator, random in everything that its arithmetic depends on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tflite.writer import Writer

ACTIVATIONS = (0, 1, 2, 3)
SAME, VALID = 0, 1


class Case:
    """A random file of one operator."""

    def __init__(self, seed: int, dtype: str = "int8") -> None:
        self.random = np.random.default_rng(seed)
        self.writer = Writer()
        self.dtype = dtype

    def pick(self, *values: Any) -> Any:
        """One of the values."""
        return values[self.random.integers(len(values))]

    def size(self, low: int, high: int) -> int:
        """A number of ``low … high``."""
        return int(self.random.integers(low, high + 1))

    def scale(self) -> float:
        """Of an activation."""
        return float(np.float32(10 ** self.random.uniform(-3, -0.3)))

    def zero(self) -> int:
        """Of an activation: those of int16 have none."""
        return self.size(-128, 127) if self.dtype == "int8" else 0

    def input(self, shape: list[int]) -> int:
        return self.writer.input(shape, self.dtype, self.scale(), self.zero())

    def result(self, shape: list[int], scale: float) -> int:
        return self.writer.tensor(shape, self.dtype, scale, self.zero())

    def scale_of(self, index: int) -> float:
        return float(self.writer.graph.tensors[index].quantization.scale[0])

    def weights(self, shape: list[int], channels: int, axis: int) -> tuple[int, np.ndarray]:
        """Weights of int8, with one scale or one for each channel."""
        count = self.pick(1, channels)
        scales = (10 ** self.random.uniform(-3, -1, count)).astype(np.float32)
        data = self.random.integers(-127, 128, shape).astype(np.int8)
        return self.writer.tensor(shape, "int8", scales.tolist(), 0, data, axis), scales

    def bias(
        self, source: int, scales: np.ndarray, channels: int, *, needed: bool = False
    ) -> list[int]:
        """A bias with the scales of the products, or none."""
        wide = self.dtype == "int16"
        if not needed and self.pick(True, True, False) is False:
            return []
        data = self.random.integers(-20000, 20001, channels)
        products = (np.float32(self.scale_of(source)) * scales).tolist()
        kind = "int64" if wide else "int32"
        return [self.writer.tensor([channels], kind, products, 0, data.astype(kind))]

    def product_scale(self, source: int, scales: np.ndarray, depth: int) -> float:
        """A scale on which most sums are inside, and some are not."""
        spread = self.scale_of(source) * float(scales.max()) * 70 * 70 * depth**0.5
        levels = 128 if self.dtype == "int8" else 32768
        return float(np.float32(spread / levels * 10 ** self.random.uniform(-0.5, 0.7)))


def _extent(extent: int, size: int, stride: int, dilation: int, padding: int) -> int:
    span = (size - 1) * dilation + 1
    return -(-extent // stride) if padding == SAME else (extent - span) // stride + 1


def _window(
    case: Case, image: list[int], *, dilated: bool
) -> tuple[list[int], dict[str, int], list[int]]:
    """Window, options and extents of the result."""
    sizes = [case.size(1, 3), case.size(1, 3)]
    strides = [case.size(1, 2), case.size(1, 2)]
    dilations = [case.size(1, 2), case.size(1, 2)] if dilated and strides == [1, 1] else [1, 1]
    padding = case.pick(SAME, VALID)
    shape = [_extent(image[d], sizes[d], strides[d], dilations[d], padding) for d in range(2)]
    fields = {"padding": padding, "strideH": strides[0], "strideW": strides[1]}
    fields["fusedActivationFunction"] = case.pick(*ACTIVATIONS)
    if dilated:
        fields |= {"dilationHFactor": dilations[0], "dilationWFactor": dilations[1]}
    return sizes, fields, shape


def conv2d(case: Case) -> bytes:
    image, ins, outs = [case.size(5, 7), case.size(5, 7)], case.size(1, 4), case.size(1, 5)
    sizes, fields, shape = _window(case, image, dilated=True)
    source = case.input([1, *image, ins])
    weight, scales = case.weights([outs, *sizes, ins], outs, 0)
    bias = case.bias(source, scales, outs, needed=True)
    scale = case.product_scale(source, scales, sizes[0] * sizes[1] * ins)
    result = case.result([1, *shape, outs], scale)
    case.writer.node("CONV_2D", [source, weight, *bias], [result], "Conv2DOptions", **fields)
    return case.writer.bytes(result)


def depthwise(case: Case) -> bytes:
    image, ins, many = [case.size(5, 7), case.size(5, 7)], case.size(1, 4), case.size(1, 2)
    sizes, fields, shape = _window(case, image, dilated=True)
    source, outs = case.input([1, *image, ins]), ins * many
    weight, scales = case.weights([1, *sizes, outs], outs, 3)
    bias = case.bias(source, scales, outs)
    result = case.result([1, *shape, outs], case.product_scale(source, scales, sizes[0] * sizes[1]))
    case.writer.node(
        "DEPTHWISE_CONV_2D",
        [source, weight, *bias],
        [result],
        "DepthwiseConv2DOptions",
        depthMultiplier=many,
        **fields,
    )
    return case.writer.bytes(result)


def transpose_conv(case: Case) -> bytes:
    image, ins, outs = [case.size(2, 4), case.size(2, 4)], case.size(1, 3), case.size(1, 3)
    sizes, strides = [case.size(1, 3), case.size(1, 3)], [case.size(1, 2), case.size(1, 2)]
    padding = case.pick(SAME, VALID)
    shape = [
        n * s if padding == SAME else (n - 1) * s + k
        for n, s, k in zip(image, strides, sizes, strict=True)
    ]
    source = case.input([1, *image, ins])
    weight, scales = case.weights([outs, *sizes, ins], outs, 0)
    bias = case.bias(source, scales, outs)
    result = case.result([1, *shape, outs], case.product_scale(source, scales, 2 * ins))
    whole = np.array([1, *shape, outs], np.int32)
    extents = case.writer.tensor([4], "int32", data=whole)
    case.writer.node(
        "TRANSPOSE_CONV",
        [extents, weight, source, *bias],
        [result],
        "TransposeConvOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
    )
    return case.writer.bytes(result)


def fully_connected(case: Case) -> bytes:
    rows, ins, outs = case.size(1, 3), case.size(1, 20), case.size(1, 9)
    source = case.input([rows, ins])
    weight, scales = case.weights([outs, ins], outs, 0)
    bias = case.bias(source, scales, outs)
    result = case.result([rows, outs], case.product_scale(source, scales, ins))
    case.writer.node(
        "FULLY_CONNECTED",
        [source, weight, *bias],
        [result],
        "FullyConnectedOptions",
        fusedActivationFunction=case.pick(*ACTIVATIONS),
    )
    return case.writer.bytes(result)


def _pair(case: Case, kind: str, options: str) -> bytes:
    shape = [1, case.size(2, 5), case.size(2, 5), case.size(1, 4)]
    other = case.pick(shape, [1, 1, 1, shape[3]])
    left, right = case.input(shape), case.input(other)
    scale = max(case.scale_of(left), case.scale_of(right)) * float(case.pick(0.7, 1.3, 2.0))
    if kind == "MUL":
        levels = 128 if case.dtype == "int8" else 32768
        scale = case.scale_of(left) * case.scale_of(right) * levels * float(case.pick(0.3, 1.0))
    result = case.result(shape, scale)
    case.writer.node(
        kind, [left, right], [result], options, fusedActivationFunction=case.pick(*ACTIVATIONS)
    )
    return case.writer.bytes(result)


def add(case: Case) -> bytes:
    return _pair(case, "ADD", "AddOptions")


def sub(case: Case) -> bytes:
    return _pair(case, "SUB", "SubOptions")


def mul(case: Case) -> bytes:
    return _pair(case, "MUL", "MulOptions")


def _pool(case: Case, kind: str) -> bytes:
    image, channels = [case.size(5, 7), case.size(5, 7)], case.size(1, 4)
    sizes, fields, shape = _window(case, image, dilated=False)
    source = case.input([1, *image, channels])
    quantised = case.writer.graph.tensors[source].quantization
    zero = int(quantised.zeroPoint[0])
    result = case.writer.tensor([1, *shape, channels], case.dtype, case.scale_of(source), zero)
    case.writer.node(
        kind,
        [source],
        [result],
        "Pool2DOptions",
        filterHeight=sizes[0],
        filterWidth=sizes[1],
        **fields,
    )
    return case.writer.bytes(result)


def average_pool(case: Case) -> bytes:
    return _pool(case, "AVERAGE_POOL_2D")


def max_pool(case: Case) -> bytes:
    return _pool(case, "MAX_POOL_2D")


def softmax(case: Case) -> bytes:
    shape = [case.size(1, 3), case.size(2, 12)]
    source = case.input(shape)
    scale, zero = (1 / 256, -128) if case.dtype == "int8" else (1 / 32768, 0)
    result = case.writer.tensor(shape, case.dtype, scale, zero)
    beta = float(case.pick(1.0, 0.5, 2.0))
    case.writer.node("SOFTMAX", [source], [result], "SoftmaxOptions", beta=beta)
    return case.writer.bytes(result)


def _function(case: Case, kind: str, options: str = "", **fields: Any) -> bytes:
    shape = [1, case.size(2, 6), case.size(2, 40)]
    source = case.input(shape)
    if kind in ("LOGISTIC", "TANH"):
        if case.dtype == "int16":
            scale = float(case.pick(1 / 4096, 1 / 2048, case.scale() / 100))
            case.writer.graph.tensors[source].quantization.scale[0] = scale
            result = case.writer.tensor(shape, "int16", 1 / 32768)
            case.writer.node(kind, [source], [result])
            return case.writer.bytes(result)
        zero = -128 if kind == "LOGISTIC" else 0
        result = case.writer.tensor(shape, "int8", 1 / 256 if zero else 1 / 128, zero)
    else:
        result = case.result(shape, case.scale_of(source) * float(case.pick(0.6, 1.0, 1.7)))
    case.writer.node(kind, [source], [result], options, **fields)
    return case.writer.bytes(result)


def relu(case: Case) -> bytes:
    return _function(case, case.pick("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"))


def relu16(case: Case) -> bytes:
    return _function(case, case.pick("RELU", "RELU6"))


def leaky_relu(case: Case) -> bytes:
    alpha = float(case.pick(0.1, 0.3, 1.5))
    return _function(case, "LEAKY_RELU", "LeakyReluOptions", alpha=alpha)


def logistic(case: Case) -> bytes:
    return _function(case, "LOGISTIC")


def tanh(case: Case) -> bytes:
    return _function(case, "TANH")


def hard_swish(case: Case) -> bytes:
    return _function(case, "HARD_SWISH")


def requantize(case: Case) -> bytes:
    return _function(case, "QUANTIZE", "QuantizeOptions")


def floats(case: Case) -> bytes:
    """From floats to integers and back."""
    shape = [2, case.size(3, 30)]
    writer, source = case.writer, case.writer.input(shape, "float32")
    middle = case.result(shape, case.scale())
    result = writer.tensor(shape, "float32")
    writer.node("QUANTIZE", [source], [middle], "QuantizeOptions")
    writer.node("DEQUANTIZE", [middle], [result], "DequantizeOptions")
    return writer.bytes(result)


def mean(case: Case) -> bytes:
    shape = [1, case.size(2, 6), case.size(2, 6), case.size(1, 5)]
    axes = case.pick([1, 2], [-1], [1], [2, 1, 3])
    source = case.input(shape)
    keep = bool(case.pick(True, False))
    gone = {axis % 4 for axis in axes}
    after = [1 if d in gone else n for d, n in enumerate(shape) if keep or d not in gone]
    places = case.writer.tensor([len(axes)], "int32", data=np.array(axes, np.int32))
    result = case.result(after, case.scale_of(source) * float(case.pick(0.4, 1.0)))
    case.writer.node("MEAN", [source, places], [result], "ReducerOptions", keepDims=keep)
    return case.writer.bytes(result)


def _like(case: Case, source: int, shape: list[int]) -> int:
    """A tensor on the scale of another one."""
    zero = int(case.writer.graph.tensors[source].quantization.zeroPoint[0])
    return case.writer.tensor(shape, case.dtype, case.scale_of(source), zero)


def _numbers(case: Case, values: Any) -> int:
    array = np.array(values, np.int32)
    return case.writer.tensor(list(array.shape), "int32", data=array)


def concatenation(case: Case) -> bytes:
    shape = [1, case.size(2, 4), case.size(2, 4), case.size(1, 3)]
    axis, source = case.size(1, 3), case.input(shape)
    other = [case.size(1, 4) if d == axis else n for d, n in enumerate(shape)]
    second = _like(case, source, other)
    case.writer.graph.inputs.append(second)
    after = [n + other[d] if d == axis else n for d, n in enumerate(shape)]
    result = _like(case, source, after)
    case.writer.node(
        "CONCATENATION", [source, second], [result], "ConcatenationOptions", axis=axis - 4
    )
    return case.writer.bytes(result)


def pad(case: Case) -> bytes:
    shape = [1, case.size(2, 4), case.size(2, 4), case.size(1, 3)]
    pads = [[0, 0], *[[case.size(0, 2), case.size(0, 2)] for _ in range(3)]]
    source = case.input(shape)
    result = _like(case, source, [n + a + b for n, (a, b) in zip(shape, pads, strict=True)])
    case.writer.node("PAD", [source, _numbers(case, pads)], [result], "PadOptions")
    return case.writer.bytes(result)


def moved(case: Case) -> bytes:
    """A transposition, a slice, a strided slice and a sum, so that it is no view alone."""
    shape = [1, case.size(4, 6), case.size(4, 6), case.size(2, 3)]
    dims = case.pick([0, 2, 1, 3], [0, 3, 1, 2], [0, 2, 3, 1])
    writer, source = case.writer, case.input(shape)
    shape = [shape[d] for d in dims]
    first = _like(case, source, shape)
    writer.node("TRANSPOSE", [source, _numbers(case, dims)], [first], "TransposeOptions")
    begin = [0, *(case.size(0, 1) for _ in range(3))]
    shape = [n - b for n, b in zip(shape, begin, strict=True)]
    size = [-1, *(case.pick(-1, n) for n in shape[1:])]
    second = _like(case, source, shape)
    writer.node(
        "SLICE", [first, _numbers(case, begin), _numbers(case, size)], [second], "SliceOptions"
    )
    ends = [1, shape[1], -1 if shape[2] > 1 else 1, 1]
    after = [-(-shape[1] // 2), shape[2] - 1 if shape[2] > 1 else 1]
    third = _like(case, source, [1, *after])
    places = [_numbers(case, each) for each in ([0, 0, 0, 0], ends, [1, 2, 1, 1])]
    writer.node(
        "STRIDED_SLICE",
        [second, *places],
        [third],
        "StridedSliceOptions",
        beginMask=2,
        shrinkAxisMask=8,
    )
    result = case.result([1, *after], case.scale_of(source) * 1.5)
    writer.node("ADD", [third, third], [result], "AddOptions")
    return writer.bytes(result)


def split(case: Case) -> bytes:
    part, shape = case.size(1, 3), [1, case.size(2, 4), case.size(2, 4)]
    writer, source = case.writer, case.input([*shape, 2 * part])
    parts = [_like(case, source, [*shape, part]) for _ in range(2)]
    writer.node("SPLIT", [_numbers(case, 3), source], parts, "SplitOptions", numSplits=2)
    result = case.result([*shape, part], case.scale_of(source) * 1.5)
    writer.node("SUB", parts, [result], "SubOptions")
    return writer.bytes(result)


def resize(case: Case) -> bytes:
    image, channels = [case.size(2, 4), case.size(2, 4)], case.size(1, 3)
    after = case.pick([2 * image[0], 3 * image[1]], [image[0] + 3, image[1] + 1])
    source = case.input([1, *image, channels])
    result = _like(case, source, [1, *after, channels])
    fields = case.pick({}, {"alignCorners": True}, {"halfPixelCenters": True})
    case.writer.node(
        "RESIZE_NEAREST_NEIGHBOR",
        [source, _numbers(case, after)],
        [result],
        "ResizeNearestNeighborOptions",
        **fields,
    )
    return case.writer.bytes(result)


OPERATORS = {
    "conv2d": conv2d,
    "depthwise": depthwise,
    "transpose_conv": transpose_conv,
    "fully_connected": fully_connected,
    "add": add,
    "sub": sub,
    "mul": mul,
    "average_pool": average_pool,
    "max_pool": max_pool,
    "softmax": softmax,
    "relu": relu,
    "leaky_relu": leaky_relu,
    "logistic": logistic,
    "tanh": tanh,
    "hard_swish": hard_swish,
    "requantize": requantize,
    "floats": floats,
    "mean": mean,
    "concatenation": concatenation,
    "pad": pad,
    "moved": moved,
    "split": split,
    "resize": resize,
}
"""A maker of random files for each operator, int8."""
_SAME_16 = (
    "conv2d depthwise fully_connected transpose_conv add sub mul average_pool max_pool mean leaky_relu"
    " requantize floats softmax logistic tanh"
)
OPERATORS_16 = {name: OPERATORS[name] for name in _SAME_16.split()} | {"relu": relu16}
"""Those that are supported of int16."""


def make(name: str, seed: int, dtype: str = "int8") -> bytes:
    """A random file of one operator."""
    makers = OPERATORS if dtype == "int8" else OPERATORS_16
    return makers[name](Case(seed, dtype))
