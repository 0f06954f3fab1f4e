"""Networks of signs whose layers are processes, joined by streams."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.quantised.convolutions import network_of_signs
from allo.errors import OptionError, UnsupportedOperatorError
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
