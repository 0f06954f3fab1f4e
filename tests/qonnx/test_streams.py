"""Networks of signs and of levels whose layers are processes, joined by streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from allo.designs.quantised.convolutions import network_of_signs
from allo.designs.quantised.levels import network_of_levels, residual_network
from allo.errors import ModelError, OptionError, UnsupportedOperatorError
from allo.frontend import from_qonnx
from allo.ir.types import int8

from .support import SHARED, Network, Pair


def test_a_small_network_of_cnv_s_kind() -> None:
    model, given, count = network_of_signs(((4,), (8,)), (16, 6), 12, seed=3), (int8, 1 / 128), 2
    options = {"samples": count, "streams": True, "target_fps": 60_000}
    s = from_qonnx(model, input_type=given, target="mlir", **options)
    images = np.random.default_rng(0).integers(-128, 128, (count, 3, 12, 12)).astype(np.int8)
    plain = from_qonnx(model, input_type=given)
    expected = np.stack([plain(image[None]) for image in images])
    module = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
    np.testing.assert_array_equal(module(images), expected)
    assert module.cycles == module.report.cycles
    assert (expected[0] != expected[1]).any()


LATENCY = {"input_type": (int8, 1 / 128), "target": "mlir", "streams": True}


def test_a_latency_is_met_and_is_the_simulated_one() -> None:
    model, most = network_of_signs(((4,), (8,)), (16, 6), 12, seed=3), 30_000
    s = from_qonnx(model, target_latency_ns=most, **LATENCY)
    module = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
    module(np.zeros((1, 3, 12, 12), np.int8))
    simulated = module.cycles * 10
    assert simulated <= most and abs(s.latency_ns / simulated - 1) < 0.04
    slow = from_qonnx(model, **LATENCY)  # the least that there is
    area = [sum(fold.lut for fold in each.folds.values()) for each in (slow, s)]
    assert slow.latency_ns > 1.5 * simulated and area[0] < area[1]


def test_a_latency_that_no_folding_meets() -> None:
    model = network_of_signs(((4,), (8,)), (16, 6), 12, seed=3)
    with pytest.raises(OptionError, match="at least, of which 587 go to layer conv_0_0") as caught:
        from_qonnx(model, target_latency_ns=5_000, **LATENCY)
    least = int(str(caught.value).split("ask for at least ")[1].split(" ns")[0].replace(",", ""))
    found = from_qonnx(model, target_latency_ns=least, **LATENCY)
    assert found.latency_ns <= least < 12_050  # what the next error says of 2,000 LUT
    few = {"dsp": 0, "lut": 2_000, "bram": 0}
    with pytest.raises(OptionError, match="within the resources from the first element"):
        from_qonnx(model, target_latency_ns=least, resources=few, **LATENCY)
    with pytest.raises(ModelError, match="target_latency_ns is -1, and no latency"):
        from_qonnx(model, target_latency_ns=-1, **LATENCY)


UNIT = 1 / 128
HARDWARE = {"target": "verilog", "simulator": "jit", "device": "xc7", "clock_mhz": 100}


def check(model: Any, unit: float = UNIT, count: int = 2, **options: Any) -> Any:
    """The hardware of a network, of whose images every result was that of qonnx's executor."""
    pair = Pair(model, (int8, unit))
    ((_, shape),) = pair.graph.inputs.items()
    given = (int8, unit)
    s = from_qonnx(model, input_type=given, target="mlir", samples=count, streams=True, **options)
    images = np.random.default_rng(0).integers(-128, 128, (count, *shape)).astype(np.int8)
    expected = [pair.expected(image.astype(np.float32) * np.float32(unit))[0] for image in images]
    module = s.build(**HARDWARE)
    np.testing.assert_array_equal(module(images), np.stack(expected))
    assert len(np.unique(expected)) > 1
    images[0] = -images[1]
    assert (module(images) != np.stack(expected)).any()
    return module


def small(weight_bits: int, bits: int) -> Any:
    """A residual block between two layers."""
    net = Network()
    rng = np.random.default_rng(3)
    most = max(1, (1 << (weight_bits - 1)) - 1)

    def product(kind: str, x: str, shape: tuple[int, ...], **options: Any) -> str:
        weights = net.quant(rng.normal(0, most, shape), 1.0, weight_bits, narrow=1)
        return net(kind, x, weights, **options)

    def levels(x: str, scale: float) -> str:
        return net.quant(net("Relu", x), scale, bits, signed=0)

    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    first = levels(product("Conv", net.input(1, 1, 4, 4), (2, 1, 3, 3), **same), 0.25)
    second = levels(product("Conv", first, (2, 2, 3, 3), **same), 0.5)
    both = levels(net("Add", first, second), 0.5)
    return net.model(product("MatMul", net("Flatten", both), (32, 2)))


def test_a_residual_block_of_two_bits() -> None:
    module = check(small(2, 2), target_fps=100_000)
    assert module.cycles == module.report.cycles


def test_fifos_around_a_block_do_not_throttle() -> None:
    options = {"input_type": (int8, UNIT), "target": "mlir", "samples": 3, "streams": True}
    s = from_qonnx(small(2, 2), target_fps=100_000, **options)
    less = from_qonnx(small(2, 2), target_fps=100_000, **options)
    found = s.size_fifos(device="xc7", clock_mhz=100)
    assert found.before == found.unbounded == found.cycles
    less.fifo_depths(["t3_1"], [12])  # the stream around the second convolution
    slower = less.size_fifos(device="xc7", clock_mhz=100)
    assert slower.before is None or slower.before > slower.unbounded


def with_weights(**options: Any) -> tuple[Any, Any, Any]:
    """A built network with weights from outside, an image, and its result by the executor."""
    model = small(2, 2)
    image = np.random.default_rng(0).integers(-128, 128, (1, 1, 1, 4, 4)).astype(np.int8)
    given: dict[str, Any] = {"input_type": (int8, UNIT), "target": "mlir", "streams": True}
    s = from_qonnx(model, **given, **options)
    expected = Pair(model, (int8, UNIT)).expected(image[0].astype(np.float32) * np.float32(UNIT))
    return s.build(**HARDWARE), image, expected[0]


@pytest.mark.parametrize("options", [{"weights_as_args": True}, {"weights": "streamed"}])
def test_weights_from_outside(options: dict[str, Any]) -> None:
    module, image, expected = with_weights(**options)
    np.testing.assert_array_equal(module(image)[0], expected)
    others = [np.array(weights) for weights in module.weight_data]
    assert [other.shape for other in others] == [(2, 1, 3, 3), (2, 2, 3, 3), (32, 2)]
    others[2] = -others[2]
    np.testing.assert_array_equal(module(image, *others)[0], -expected)
    with pytest.raises(OptionError, match="was given 1 arrays of weights behind its images") as few:
        module(image, others[0])
    assert "give them in this order, or none for those of the file" in str(few.value)
    with pytest.raises(
        OptionError, match="A weight is .*, and those of this layer are numbers"
    ) as far:
        module(image, others[0] + 9, *others[1:])
    assert "whose bits the hardware has" in str(far.value)


def test_weights_of_single_channels_stay_in_their_layer() -> None:
    with pytest.raises(UnsupportedOperatorError, match="are to come from outside") as caught:
        from_qonnx(
            residual_network(2, 2, 4, 6),
            input_type=(int8, UNIT),
            streams=True,
            weights_as_args=True,
        )
    assert "patterns of the other weights in weights_as_args=" in str(caught.value)


@pytest.mark.parametrize(("weight_bits", "bits"), [(1, 1), (1, 3), (2, 2), (3, 5), (4, 4), (8, 8)])
def test_residual_networks_of_levels(weight_bits: int, bits: int) -> None:
    check(residual_network(weight_bits, bits, 4, 6), target_fps=50_000)


@pytest.mark.parametrize(("weight_bits", "bits"), [(1, 2), (2, 2), (4, 4)])
def test_networks_of_levels_of_cnv_s_kind(weight_bits: int, bits: int) -> None:
    check(network_of_levels(weight_bits, bits, ((4,), (8,)), (16, 6), 12), target_fps=60_000)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the networks of others are not in {SHARED}")
@pytest.mark.parametrize(
    ("file", "unit"), [("tfc_2w2a.onnx", UNIT), ("keyword_mlp_w3a3.onnx", 1 / 16)]
)
def test_networks_that_others_trained(file: str, unit: float) -> None:
    given, count = (int8, unit), 3
    s = from_qonnx(
        SHARED / file,
        input_type=given,
        target="mlir",
        samples=count,
        streams=True,
        target_fps=20_000,
    )
    plain = from_qonnx(SHARED / file, input_type=given)
    images = np.random.default_rng(0).integers(-128, 128, (count, *s.image_shape)).astype(np.int8)
    np.testing.assert_array_equal(
        s.build(**HARDWARE)(images), np.stack([plain(i[None]) for i in images])
    )


def convolution(outs: int = 4, **options: Any) -> Any:
    """A network of one layer, of four channels and 4 bits."""
    net = Network()
    channels = 4 // options.get("group", 1)
    weights = np.random.default_rng(3).normal(0, 2, (outs, channels, 3, 3))
    levels = net.quant(weights, 1.0, 3, narrow=1)
    sums = net("Conv", net.input(1, 4, 8, 8), levels, kernel_shape=[3, 3], **options)
    return net.model(net.quant(sums, 0.5, 4))


@pytest.mark.parametrize(
    "options",
    [
        {"dilations": [2, 1], "pads": [2, 1, 2, 1], "strides": [1, 2]},
        {"group": 2, "dilations": [2, 2], "outs": 6},
        {"group": 4, "outs": 8},
    ],
)
def test_windows_with_gaps_and_groups_of_channels(options: dict[str, Any]) -> None:
    module = check(convolution(**options), target_fps=70_000)
    assert module.cycles == module.report.cycles


class Blocks:
    """Two convolutions in a row, of 2 and 4 channels, and what joins their results."""

    def __init__(self) -> None:
        self.net = Network()
        same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        self.rng = np.random.default_rng(3)
        image = self.net.input(1, 1, 4, 4)
        self.first = self.levels(self.product(image, (2, 1, 3, 3), **same), 3)
        self.second = self.levels(self.product(self.first, (4, 2, 3, 3), **same), 2)

    def product(self, x: str, shape: tuple[int, ...], kind: str = "Conv", **options: Any) -> str:
        weights = self.net.quant(self.rng.normal(0, 2, shape), 1.0, 3, narrow=1)
        return self.net(kind, x, weights, **options)

    def levels(self, x: str, bits: int) -> str:
        return self.net.quant(self.net("Relu", x), 0.5, bits, signed=0)

    def third(self) -> str:
        """Signed levels of two channels."""
        sums = self.product(self.second, (2, 4, 1, 1), kernel_shape=[1, 1])
        return self.net.quant(sums, 0.5, 4)

    def ended(self, x: str, count: int) -> Any:
        return self.net.model(self.product(self.net("Flatten", x), (count, 3), "MatMul"))


def test_images_side_by_side() -> None:
    made = Blocks()
    parts = [made.first, made.second, made.third(), made.first]
    module = check(made.ended(made.net("Concat", *parts, axis=1), 160), target_fps=30_000)
    assert module.cycles == module.report.cycles


def test_products_of_two_images() -> None:
    made = Blocks()
    product = made.net("Mul", made.first, made.third())
    check(made.ended(made.net.quant(product, 1.0, 4), 32), target_fps=30_000)


def test_a_softmax_at_the_end() -> None:
    made = Blocks()
    sums = made.product(made.net("Flatten", made.second), (64, 5), "MatMul")
    model = made.net.model(made.net("Softmax", made.net.quant(sums, 0.5, 6), axis=1))
    s = from_qonnx(model, samples=2, **LATENCY)
    images = np.random.default_rng(0).integers(-128, 128, (2, 1, 1, 4, 4)).astype(np.int8)
    plain, pair = from_qonnx(model, input_type=(int8, UNIT)), Pair(model, (int8, UNIT))
    found = s.build(**HARDWARE)(images)
    np.testing.assert_array_equal(found, np.stack([plain(image) for image in images]))
    expected = [pair.expected(image.astype(np.float32) * np.float32(UNIT))[0] for image in images]
    np.testing.assert_allclose(found, np.stack(expected), rtol=1e-5)
    assert (found[0] != found[1]).any()


def of_two_sizes() -> Any:
    made = Blocks()
    return made.net("Add", made.first, made.net("MaxPool", made.first, kernel_shape=[4, 4])), made


def of_rows() -> Any:
    made = Blocks()
    return made.net("Concat", made.first, made.third(), axis=2), made


def of_itself() -> Any:
    made = Blocks()
    return made.net("Mul", made.first, made.first), made


def of_floats() -> Any:
    made = Blocks()
    return made.net("Softmax", made.second, axis=1), made


@pytest.mark.parametrize(
    ("joined", "why", "help"),
    [
        (of_two_sizes, r"Add_\d+ .*adds images of two shapes, and no", "two of one shape"),
        (of_rows, r"Concat_\d+ .*side by side along dimension 2", "channels, so that each pixel"),
        (of_itself, r"Mul_\d+ .*multiplies a tensor and itself", "a function of the one tensor"),
        (of_floats, r"makes floats of an image", "a mean, or a layer of all pixels"),
    ],
)
def test_images_that_no_layer_joins(joined: Any, why: str, help: str) -> None:
    value, made = joined()
    with pytest.raises(UnsupportedOperatorError, match=why) as caught:
        from_qonnx(made.net.model(value), **LATENCY)
    assert help in str(caught.value)


def test_padding_for_which_signs_have_no_level() -> None:
    net = Network()
    signs = net("BipolarQuant", net.input(1, 1, 4, 4), 1.0)
    weights = net.quant(np.ones((1, 1, 3, 3)), 1.0, 3)
    model = net.model(net("Conv", signs, weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    with pytest.raises(
        UnsupportedOperatorError, match="padding with 0, for which its input has"
    ) as caught:
        from_qonnx(model, input_type=(int8, UNIT), streams=True)
    assert "activations of Quant, of which one is 0" in str(caught.value)


def test_inputs_of_floats() -> None:
    with pytest.raises(UnsupportedOperatorError, match="takes float32") as caught:
        from_qonnx(convolution(), streams=True)
    assert "input_type=(int8, 1 / 128)" in str(caught.value)


@pytest.mark.parametrize("option", [{"weights": "embedded"}, {"tables": "always"}])
def test_options_of_layers_on_arrays_are_refused_with_streams(option: dict[str, str]) -> None:
    model = network_of_signs(((4,), (8,)), (16, 6), 12, seed=3)
    ((name, value),) = option.items()
    with pytest.raises(OptionError, match=f'{name}="{value}" does not go with streams=True'):
        from_qonnx(model, input_type=(int8, 1 / 128), streams=True, **option)
