"""TFLite networks on streams: a residual block, and what follows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from allo.errors import OptionError, UnsupportedOperatorError
from allo.frontend import from_tflite

from .support import SHARED
from .writer import Writer, interpreter, run


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


class Layers:
    """A network of 6 × 6 pixels in the making."""

    def __init__(self) -> None:
        self.writer, self.rng = Writer(), np.random.default_rng(5)
        self.image = self.writer.input([1, 6, 6, 4], scale=0.1, zero=3)

    def product(
        self, source: int, outs: int, ins: int, size: tuple[int, int] = (6, 6), **fields: int
    ) -> int:
        """A convolution of 3 × 3 elements; by channel where ``ins`` is 0."""
        writer, kind = self.writer, "CONV_2D" if ins else "DEPTHWISE_CONV_2D"
        shape = (outs, 3, 3, ins) if ins else (1, 3, 3, outs)
        scales = self.rng.uniform(0.004, 0.01, outs).tolist()
        data = self.rng.integers(-127, 128, shape).astype(np.int8)
        weight = writer.tensor(shape, scale=scales, data=data, axis=0 if ins else 3)
        bias = writer.tensor(
            [outs], "int32", scale=0.001, data=np.arange(outs, dtype=np.int32) * 99
        )
        made = self.result(outs, 0.2, size)
        options = "Conv2DOptions" if ins else "DepthwiseConv2DOptions"
        fields = {"strideH": 1, "strideW": 1, **fields}
        writer.node(kind, [source, weight, bias], [made], options, **fields)
        return made

    def result(self, channels: int, scale: float, size: tuple[int, int] = (6, 6)) -> int:
        return self.writer.tensor([1, *size, channels], scale=scale, zero=-7)

    def joined(self, kind: str, *sources: int, channels: int = 4, **fields: int) -> int:
        scale = 0.2 if kind == "CONCATENATION" else 0.7
        made = self.result(channels, scale)
        options = f"{kind.title()}Options" if kind != "RELU" else ""
        self.writer.node(kind, list(sources), [made], options, **fields)
        return made

    def check(self, result: int, fps: int = 50_000) -> Any:
        """Hardware whose results are the interpreter's, of two images."""
        model, count = self.writer.bytes(result), 2
        s = from_tflite(model, target="mlir", streams=True, samples=count, target_fps=fps)
        images = np.random.default_rng(0).integers(-128, 128, (count, *s.image_shape))
        made, expected = interpreter(model), []
        for image in images.astype(np.int8):
            run(made, [image[None]])
            expected.append(made.get_tensor(made.get_output_details()[0]["index"]))
        module = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
        found = module(images.astype(np.int8))
        np.testing.assert_array_equal(found.reshape(-1), np.stack(expected).reshape(-1))
        assert len(np.unique(found)) > 3
        return s


def test_gaps_and_groups_in_a_block_of_two_branches() -> None:
    made = Layers()
    gaps = made.product(made.image, 4, 2, dilationHFactor=2, dilationWFactor=2)
    more = made.product(made.image, 8, 0, depthMultiplier=2)
    s = made.check(made.joined("CONCATENATION", gaps, more, channels=12, axis=3))
    assert s.folds["conv2d_0"].cycles <= 2_000


def test_products_differences_and_functions() -> None:
    made = Layers()
    first, second = made.product(made.image, 4, 4), made.product(made.image, 4, 0)
    less = made.joined("SUB", made.joined("RELU", first), second)
    s = made.check(made.joined("MUL", less, second))
    assert "relu_2" in s.folds


def test_floats_at_the_end() -> None:
    made = Layers()
    sums = made.product(made.image, 2, 4, (1, 1), padding=1, strideH=6, strideW=6)
    result = made.writer.tensor([1, 1, 1, 2], "float32")
    made.writer.node("DEQUANTIZE", [sums], [result], "DequantizeOptions")
    assert "conv2d_0" in made.check(result).folds


def test_operators_without_a_streaming_layer() -> None:
    made = Layers()
    product = made.joined("MUL", made.image, made.image)
    with pytest.raises(
        UnsupportedOperatorError, match="Operator mul_0 .* multiplies a tensor and itself, and no"
    ) as caught:
        from_tflite(made.writer.bytes(product), streams=True)
    assert "a function of the one tensor" in str(caught.value)
    made = Layers()
    first, second = made.product(made.image, 4, 4), made.product(made.image, 4, 0)
    both = made.writer.tensor([1, 12, 6, 4], scale=0.2, zero=-7)
    made.writer.node("CONCATENATION", [first, second], [both], "ConcatenationOptions", axis=1)
    with pytest.raises(
        UnsupportedOperatorError, match="concatenation_2 .* side by side along dimension 1"
    ):
        from_tflite(made.writer.bytes(both), streams=True)


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


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the networks of others are not in {SHARED}")
def test_a_latency_of_residual_blocks_is_met_and_foretold() -> None:
    options = {"target": "mlir", "streams": True, "target_latency_ns": 1_000_000}
    s = from_tflite(SHARED / "resnet8_int8.tflite", **options)
    module = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
    module(np.random.default_rng(0).integers(-128, 128, (1, *s.image_shape)).astype(np.int8))
    assert module.cycles <= 100_000
    assert abs(s.latency_cycles / module.cycles - 1) < 0.04
