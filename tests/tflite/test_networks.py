"""Whole networks: small ones that the tests make, and those that others trained where they are there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.errors import ModelError
from allo.frontend import from_tflite
from allo.tflite import entry
from allo.tflite.entry import example_inputs
from allo.tflite.reader import read_network
from allo.tflite.steps import shortest
from tests.tflite.cases import Case
from tests.tflite.support import SHARED, check, check_hardware, inputs_of, tensors_equal

FILES = ("anomaly_autoencoder", "keywords_ds_cnn", "resnet8", "person_mobilenet")


def residual(seed: int = 0) -> bytes:
    """A convolution, a depthwise one, their sum, a pool, a layer of scores and a softmax."""
    case = Case(seed)
    writer, channels = case.writer, 4
    source = writer.input([1, 6, 6, 2], "int8", 0.05, 3)
    zero, scale = -7, 0.04
    window = {"padding": 0, "strideH": 1, "strideW": 1, "fusedActivationFunction": 1}
    weight, scales = case.weights([channels, 3, 3, 2], channels, 0)
    first = writer.tensor([1, 6, 6, channels], "int8", scale, zero)
    bias = case.bias(source, scales, channels, needed=True)
    writer.node("CONV_2D", [source, weight, *bias], [first], "Conv2DOptions", **window)
    weight, scales = case.weights([1, 3, 3, channels], channels, 3)
    second = writer.tensor([1, 6, 6, channels], "int8", 0.06, 5)
    bias = case.bias(first, scales, channels, needed=True)
    writer.node(
        "DEPTHWISE_CONV_2D",
        [first, weight, *bias],
        [second],
        "DepthwiseConv2DOptions",
        depthMultiplier=1,
        **window,
    )
    third = writer.tensor([1, 6, 6, channels], "int8", 0.07, -20)
    writer.node("ADD", [first, second], [third], "AddOptions")
    pooled = writer.tensor([1, 2, 2, channels], "int8", 0.07, -20)
    pool = {"filterHeight": 3, "filterWidth": 3, "padding": 1, "strideH": 3, "strideW": 3}
    writer.node("AVERAGE_POOL_2D", [third], [pooled], "Pool2DOptions", **pool)
    flat = writer.tensor([1, 4 * channels], "int8", 0.07, -20)
    writer.node("RESHAPE", [pooled], [flat], "ReshapeOptions", newShape=[1, 4 * channels])
    weight, scales = case.weights([5, 4 * channels], 5, 0)
    scores = writer.tensor([1, 5], "int8", 0.3, 10)
    bias = case.bias(flat, scales, 5)
    writer.node("FULLY_CONNECTED", [flat, weight, *bias], [scores], "FullyConnectedOptions")
    result = writer.tensor([1, 5], "int8", 1 / 256, -128)
    writer.node("SOFTMAX", [scores], [result], "SoftmaxOptions", beta=1.0)
    return writer.bytes(result)


def test_every_tensor_of_a_network_is_the_interpreters() -> None:
    s = check(residual(), 20)
    assert list(s.module_paths.values())[:3] == ["conv2d_0", "depthwise_conv2d_1", "add_2"]
    assert "fully_connected_5" in s.module_paths.values()  # 4 is the reshape, a view
    s["conv2d_0"].pipeline()
    assert "CONV_2D" in s.origin.kinds().values()


def test_a_network_in_hardware_has_the_cpus_bits(tmp_path: Path) -> None:
    model = residual()
    s = from_tflite(model, target="mlir", lanes=4)
    calls = inputs_of(read_network(model), 1)[-3:]
    plain = from_tflite(model, target="mlir")
    plain["**"].pipeline()
    rtl = check_hardware(s, calls)
    assert rtl.cycles == rtl.report.cycles and rtl.cycles < plain.estimate().cycles / 1.5
    design = from_tflite(model, target="verilog", project=str(tmp_path / "net.prj"))
    assert design.report.cycles < plain.estimate().cycles  # lanes by default


def test_weights_may_be_arguments_in_another_order() -> None:
    model = residual()
    call = example_inputs(read_network(model))
    built = from_tflite(
        model, weights_as_args=["*.weight"], layouts={"conv2d_*.weight": (1, 2, 3, 0)}
    )
    assert [array.shape for array in built.weight_data] == [(3, 3, 2, 4), (1, 3, 3, 4), (5, 16)]
    assert np.array_equal(built(*call), from_tflite(model)(*call))


def test_steps_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    s = from_tflite(residual(), target="mlir", verify=True)
    s["conv2d_0"].pipeline()
    monkeypatch.setattr(
        entry.Integers, "__call__", lambda self, *inputs: [np.zeros((1, 5), np.int8)]
    )
    with pytest.raises(ModelError, match="the integer reference"):
        from_tflite(residual(), target="mlir", verify=True)


def test_a_staircase_rises_at_the_same_sums() -> None:
    rates, bounds = np.array([0.0123, 0.7]), np.array([20_000, 300])
    found = shortest(lambda x: np.floor(x * rates[:, None] + 0.4999), rates, bounds, -100, 90)
    assert found is not None and found.multipliers.max() < 1 << 20
    for channel, bound in enumerate(bounds):
        sums = np.arange(-bound, bound + 1)
        got = sums * found.multipliers[channel] + found.addends[channel] >> found.shifts[channel]
        wanted = np.floor(sums * rates[channel] + 0.4999)
        assert np.array_equal(np.clip(got, -100, 90), np.clip(wanted, -100, 90))


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the networks of others are not in {SHARED}")
@pytest.mark.parametrize("name", FILES)
def test_every_tensor_of_a_trained_network_is_the_interpreters(name: str) -> None:
    model = (SHARED / f"{name}_int8.tflite").read_bytes()
    network = read_network(model)
    calls = inputs_of(network, 3)
    expected = tensors_equal(model, network, calls)
    if name == "keywords_ds_cnn":  # the benchmark runs the others
        built = from_tflite(model)
        for inputs, values in zip(calls, expected, strict=True):
            np.testing.assert_array_equal(built(*inputs), values[network.outputs[0]])
