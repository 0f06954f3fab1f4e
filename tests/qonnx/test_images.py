"""Networks on images: convolutions, pools, padding, tensors side by side and added."""

from __future__ import annotations

import numpy as np
import pytest

from allo.errors import UnsupportedOperatorError
from allo.qonnx.entry import from_qonnx, reference_of

from .support import Network, Pair, same, samples

SHAPE = (1, 4, 7, 6)


def norm(net, x, channels, rng):
    """A batch norm, some of whose channels fall."""
    gamma, beta, mean = (rng.normal(0, 1, channels) for _ in range(3))
    return net("BatchNormalization", x, gamma, beta, mean, rng.uniform(0.5, 2, channels))


def weights(net, rng, *shape, bits=3):
    return net.quant(net.constant(rng.normal(0, 1, shape)), 0.5, bits, narrow=1)


def plain(net, x, rng):
    """Padding on one side more than on the other, a stride, a bias, a norm of each channel."""
    y = net(
        "Conv",
        x,
        weights(net, rng, 5, 4, 3, 2),
        rng.integers(-4, 4, 5) * 0.25,
        pads=[1, 0, 2, 1],
        strides=[2, 1],
    )
    return net.quant(net("Relu", norm(net, y, 5, rng)), 0.5, 3, signed=0)


def grouped(net, x, rng):
    """Groups and dilations; then each channel for itself, with a scale for each."""
    y = net("Conv", x, weights(net, rng, 6, 2, 2, 3), group=2, dilations=[2, 1])
    y = net.quant(y, 2.0 ** -np.arange(6).reshape(1, 6, 1, 1), 4)
    return net("Conv", y, weights(net, rng, 6, 1, 3, 3), group=6, pads=[1, 1, 1, 1])


def signs(net, x, rng):
    """Signs, a pool behind a norm of which channels fall, and rows of what was an image."""
    y = net("BipolarQuant", x, 1.0)
    y = net(
        "Conv",
        y,
        net("BipolarQuant", net.constant(rng.normal(0, 1, (6, 4, 3, 3))), 1.0),
        pads=[0, 1, 0, 0],
    )
    y = net("MaxPool", norm(net, y, 6, rng), kernel_shape=[2, 2], strides=[2, 2])
    y = net("Reshape", net("BipolarQuant", y, 1.0), net.constant([1, -1], np.int64))
    return net("MatMul", y, weights(net, rng, 24, 3, bits=2))


def pooled(net, x, rng):
    """Maxima under a rising function, means, the mean of each channel, rows behind a norm."""
    y = net("Conv", x, weights(net, rng, 8, 4, 1, 1))
    y = net("MaxPool", net("Relu", y), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0])
    y = net.quant(y, 0.5, 4, signed=0)
    means = net("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])
    flat = net("Flatten", norm(net, means, 8, rng))
    return [net.quant(flat, 0.25, 5), net("GlobalAveragePool", y)]


def residual(net, x, rng):
    """Two scales of which one is three quarters of the other; zeros around; side by side."""
    y = net.quant(net("Conv", x, weights(net, rng, 4, 4, 3, 3), pads=[1, 1, 1, 1]), 0.75, 4)
    y = net("Sub", net("Add", y, x), net.quant(y, 0.5, 3))
    z = net.quant(y, 0.5, 5)
    z = net(
        "Concat",
        net("Pad", z, net.constant([0, 0, 1, 0, 0, 0, 0, 2], np.int64)),
        net("Pad", x, net.constant([0, 0, 0, 1, 0, 0, 1, 1], np.int64)),
        axis=1,
    )
    return net("Transpose", z, perm=[0, 2, 3, 1])


def summed(net, x, rng):
    """qonnx's own pool of integers, and windows as rows before a product."""
    y = net.quant(net("Mul", x, 2.0), 1.0, 4, signed=0)
    pool = net(
        "QuantAvgPool2d", y, stride=2, kernel=3, ibits=4, obits=4, signed=0, data_layout="NCHW"
    )
    return pool


NETWORKS = [plain, grouped, signs, pooled, residual, summed]


def model_of(build, seed=0):
    rng = np.random.default_rng(seed)
    net = Network()
    found = build(net, net.quant(net.input(*SHAPE), 0.5, 4), rng)
    return net.model(*(found if isinstance(found, list) else [found]))


@pytest.mark.parametrize("build", NETWORKS)
def test_images_have_the_executors_results(build):
    pair = Pair(model_of(build))
    rng = np.random.default_rng(1)
    assert not any(op.target.startswith("aten.conv") for op in pair.made.operators)
    for _ in range(4):
        x = samples(rng, SHAPE)
        same(pair.reference(x), pair.expected(x))


@pytest.mark.parametrize("build", NETWORKS)
def test_the_cpu_has_the_executors_bits(build):
    model = model_of(build)
    mod, pair = from_qonnx(model), Pair(model)
    x = samples(np.random.default_rng(2), SHAPE)
    found, expected = mod(x), pair.expected(x)
    same(list(found) if isinstance(found, (list, tuple)) else [found], expected)


def test_hardware_has_the_executors_bits():
    model = model_of(plain)
    mod = from_qonnx(model, target="mlir").build(target="verilog", simulator="jit")
    x = samples(np.random.default_rng(3), SHAPE)
    np.testing.assert_array_equal(mod(x), Pair(model).expected(x)[0])


def test_a_planted_fault_in_a_convolution_is_seen():
    pair = Pair(model_of(grouped))
    x = samples(np.random.default_rng(4), SHAPE)
    for op in pair.made.operators:
        if op.target == "levels.conv2d":
            for key, fault in (("padding", [0, 1]), ("dilation", [1, 2]), ("groups", 1)):
                if op.args[key] == fault:
                    continue
                kept, op.args[key] = op.args[key], fault
                try:
                    assert not np.array_equal(reference_of(pair.made)(x)[0], pair.expected(x)[0])
                except (ValueError, IndexError):
                    pass  # shapes that do not fit are seen too
                op.args[key] = kept


def test_scales_without_a_ratio_say_the_error_and_what_accepts_it():
    net = Network()
    x = net.input(1, 8)
    left, right = net.quant(x, 0.3, 6), net.quant(x, 0.3 * 2**0.5, 6)
    model = net.model(net("Add", left, right))
    with pytest.raises(
        UnsupportedOperatorError, match="(?s)wrong by up to .* accept_error="
    ) as found:
        from_qonnx(model)
    accepted = float(str(found.value).split("accept_error=")[1].split()[0].rstrip("."))
    mod = from_qonnx(model, accept_error=accepted * 1.1)
    x = samples(np.random.default_rng(5), (1, 8))
    parts = Network()
    given = parts.input(1, 8)
    pair = Pair(parts.model(*(parts.quant(given, 0.3 * root, 6) for root in (1, 2**0.5))))
    total = sum(pair.expected(x))
    assert np.abs(mod(x) - total).max() <= accepted * 1.1 * 0.3 * 2**0.5 + 1e-6


def test_zeros_around_signs_are_refused():
    net = Network()
    x = net("BipolarQuant", net.input(*SHAPE), 1.0)
    model = net.model(net("Pad", x, net.constant([0, 0, 1, 1, 0, 0, 1, 1], np.int64)))
    with pytest.raises(UnsupportedOperatorError, match="no level: the nearest one is off by 1"):
        from_qonnx(model)
