"""The shape of what each layer gives, which files do not say; the batch is 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

Shape = tuple[int, ...]


def shape_of(layer: Any, inputs: Sequence[Shape]) -> Shape:
    """The shape of a layer's result.

    Args:
        layer: of Keras 2, of a class that is supported.
        inputs: the shapes that it is applied to.
    """
    rule = _RULES.get(layer.kind)
    return inputs[0] if rule is None else rule(layer, inputs[0], inputs)


def _dense(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    return (*image[:-1], int(layer.units))


def _windows(layer: Any, image: Shape, sizes: Sequence[int], dilations: Sequence[int]) -> Shape:
    spans = [d * (k - 1) + 1 for k, d in zip(sizes, dilations, strict=True)]
    cut = [0] * len(spans) if layer.padding == "same" else [span - 1 for span in spans]
    return tuple(-(-(n - c) // s) for n, c, s in zip(image[1:-1], cut, layer.strides, strict=True))


def _filters(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    places = _windows(layer, image, layer.kernel_size, layer.dilation_rate)
    return (1, *places, int(layer.filters))


def _depthwise(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    places = _windows(layer, image, layer.kernel_size, layer.dilation_rate)
    return (1, *places, image[-1] * int(layer.depth_multiplier))


def _pool(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    return (1, *_windows(layer, image, layer.pool_size, [1] * len(layer.pool_size)), image[-1])


def _global(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    ones = (1,) * (len(image) - 2) if layer.keepdims else ()
    return (1, *ones, image[-1])


def _flat(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    return (1, prod(image[1:]))


def _reshaped(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    wanted = [int(n) for n in layer.target_shape]
    rest = prod(image[1:]) // max(1, prod(n for n in wanted if n != -1))
    return (1, *(rest if n == -1 else n for n in wanted))


def _permuted(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    return (1, *(image[axis] for axis in layer.dims))


def _joined(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    axis = int(layer.axis) % len(image)
    return (*image[:axis], sum(shape[axis] for shape in inputs), *image[axis + 1 :])


def _merged(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    return tuple(max(extents) for extents in zip(*inputs, strict=True))


def _padded(layer: Any, image: Shape, inputs: Sequence[Shape]) -> Shape:
    around = [sum(pair) if isinstance(pair, Sequence) else 2 * pair for pair in layer.padding]
    return (1, *(n + p for n, p in zip(image[1:-1], around, strict=True)), image[-1])


_RULES: dict[str, Callable[[Any, Shape, Sequence[Shape]], Shape]] = {
    **dict.fromkeys(("QDense", "Dense"), _dense),
    **dict.fromkeys(
        "QConv1D QConv2D QConv2DBatchnorm Conv1D Conv2D QSeparableConv1D QSeparableConv2D".split(),
        _filters,
    ),
    **dict.fromkeys(
        ("QDepthwiseConv2D", "QDepthwiseConv2DBatchnorm", "DepthwiseConv2D"), _depthwise
    ),
    **{f"{kind}Pooling{n}D": _pool for kind in ("Max", "Average", "QAverage") for n in (1, 2)},
    **{
        f"{prefix}Global{kind}Pooling{n}D": _global
        for prefix in ("", "Q")
        for kind in ("Max", "Average")
        for n in (1, 2)
    },
    "Flatten": _flat,
    "Reshape": _reshaped,
    "Permute": _permuted,
    "Concatenate": _joined,
    **dict.fromkeys(("Add", "Subtract", "Multiply"), _merged),
    "ZeroPadding2D": _padded,
}
"""Layers that change the shape; all others keep it."""
