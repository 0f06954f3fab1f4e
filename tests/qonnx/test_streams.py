"""Networks of signs whose layers are processes, joined by streams."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.quantised.convolutions import network_of_signs
from allo.errors import ModelError, OptionError, UnsupportedOperatorError
from allo.frontend import from_qonnx
from allo.ir.types import int8

from .support import Network


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


def test_levels_of_more_than_a_sign_are_refused() -> None:
    net = Network()
    image = net.input(1, 3, 6, 6)
    weights = net("BipolarQuant", np.ones((2, 3, 3, 3)), np.float32(1))
    sums = net("Conv", image, weights, kernel_shape=[3, 3])
    model = net.model(net.quant(sums, 0.5, 4))
    with pytest.raises(
        UnsupportedOperatorError, match="gives 16 levels, and no streaming"
    ) as caught:
        from_qonnx(model, input_type=(int8, 1 / 128), streams=True)
    assert "activations of BipolarQuant" in str(caught.value)


@pytest.mark.parametrize(
    "option", [{"weights": "embedded"}, {"tables": "always"}, {"results": "integers"}]
)
def test_options_of_layers_on_arrays_are_refused_with_streams(option: dict[str, str]) -> None:
    model = network_of_signs(((4,), (8,)), (16, 6), 12, seed=3)
    ((name, value),) = option.items()
    with pytest.raises(OptionError, match=f'{name}="{value}" does not go with streams=True'):
        from_qonnx(model, input_type=(int8, 1 / 128), streams=True, **option)
