"""TFLite networks on streams: a residual block, and what follows it."""

from __future__ import annotations

import numpy as np
import pytest

from allo.errors import OptionError, UnsupportedOperatorError
from allo.frontend import from_tflite

from .writer import Writer


def residual_network(size: int = 6) -> bytes:
    """A convolution, a residual block, a strided one, one by channel, a mean, and a layer of all."""
    rng = np.random.default_rng(3)
    writer = Writer()

    def product(
        kind: str, source: int, shape: tuple[int, ...], result: tuple[int, ...], **fields: int
    ) -> int:
        outs = shape[3] if kind == "DEPTHWISE_CONV_2D" else shape[0]
        weights = rng.integers(-127, 128, shape).astype(np.int8)
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        scales = rng.uniform(0.004, 0.01, outs if kind != "FULLY_CONNECTED" else 1).tolist()
        weight = writer.tensor(shape, scale=scales, data=weights, axis=axis)
        bias = writer.tensor(
            [outs], "int32", scale=0.001, data=rng.integers(-900, 900, outs).astype(np.int32)
        )
        made = writer.tensor(result, scale=0.2, zero=-7)
        options = {
            "CONV_2D": "Conv2DOptions",
            "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
            "FULLY_CONNECTED": "FullyConnectedOptions",
        }[kind]
        writer.node(kind, [source, weight, bias], [made], options, **fields)
        return made

    half = size // 2
    image = writer.input([1, size, size, 2], scale=0.1, zero=3)
    one, two = {"strideH": 1, "strideW": 1}, {"strideH": 2, "strideW": 2}
    first = product("CONV_2D", image, (4, 3, 3, 2), (1, size, size, 4), **one)
    inner = product(
        "CONV_2D", first, (4, 3, 3, 4), (1, size, size, 4), fusedActivationFunction=1, **one
    )
    both = writer.tensor([1, size, size, 4], scale=0.3, zero=5)
    writer.node("ADD", [first, inner], [both], "AddOptions")
    less = product("CONV_2D", both, (8, 1, 1, 4), (1, half, half, 8), **two)
    each = product(
        "DEPTHWISE_CONV_2D", less, (1, 3, 3, 8), (1, half, half, 8), depthMultiplier=1, **one
    )
    mean = writer.tensor([1, 1, 1, 8], scale=0.2, zero=-7)
    fields = {"filterHeight": half, "filterWidth": half, "strideH": half, "strideW": half}
    writer.node("AVERAGE_POOL_2D", [each], [mean], "Pool2DOptions", padding=1, **fields)
    last = product("FULLY_CONNECTED", mean, (3, 8), (1, 3))
    return writer.bytes(last)


def test_layers_on_streams_have_the_results_of_arrays() -> None:
    model, count = residual_network(), 2
    s = from_tflite(model, target="mlir", streams=True, samples=count, target_fps=100_000)
    images = np.random.default_rng(0).integers(-128, 128, (count, *s.image_shape)).astype(np.int8)
    expected = from_tflite(model, samples=count)(images[:, None])
    assert len(np.unique(expected)) > 3
    module = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
    np.testing.assert_array_equal(module(images), expected)
    assert module.cycles == module.report.cycles
    assert max(fold.cycles for fold in s.folds.values()) <= 1000
    images[1, 2, 2, 1] ^= 64
    assert (module(images) != expected).any()


def test_a_rate_that_no_folding_meets() -> None:
    with pytest.raises(OptionError, match="No folding of layer conv2d_0 takes 10 cycles") as caught:
        from_tflite(residual_network(), streams=True, target_fps=10_000_000)
    assert "images a second, or a higher clock_mhz" in str(caught.value)


def test_options_of_the_other_kind() -> None:
    with pytest.raises(OptionError, match="lanes does not go with streams=True"):
        from_tflite(residual_network(), streams=True, lanes=4)
    with pytest.raises(OptionError, match="target_fps is for layers on streams") as caught:
        from_tflite(residual_network(), target_fps=100)
    assert "give streams=True, too" in str(caught.value)


def test_an_operator_without_a_streaming_layer() -> None:
    writer = Writer()
    image = writer.input([1, 4, 4, 2], scale=0.1)
    result = writer.tensor([1, 4, 4, 2], scale=0.1)
    writer.node("MUL", [image, image], [result], "MulOptions")
    with pytest.raises(
        UnsupportedOperatorError, match="takes 2 values of int8, and no streaming layer"
    ):
        from_tflite(writer.bytes(result), streams=True)


def test_weights_of_convolutions_from_outside() -> None:
    model = residual_network()
    options = {
        "target": "mlir",
        "streams": True,
        "weights_as_args": ["conv2d_*.weight", "full*.weight"],
    }
    s = from_tflite(model, **options)
    image = np.random.default_rng(1).integers(-128, 128, (1, *s.image_shape)).astype(np.int8)
    module = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
    np.testing.assert_array_equal(module(image), from_tflite(model)(image)[None])
    others = [np.flip(weights, 0) for weights in module.weight_data]
    assert len(others) == 4 and (module(image, *others) != module(image)).any()
    with pytest.raises(
        UnsupportedOperatorError, match="depthwise_conv2d_4.weight' are to come from"
    ):
        from_tflite(model, streams=True, weights_as_args=True)
