"""Quantisers of every width, rounding and kind: each level is that of qonnx's executor."""

from __future__ import annotations

import numpy as np
import pytest

from allo.qonnx.entry import from_qonnx, reference_of

from .support import Network, Pair, same, samples

MODES = ["ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN"]
SHAPE = (2, 24)


def all_modes(net, x):
    """A quantiser of every rounding mode."""
    return [net.quant(x, 0.3, 3, mode=mode) for mode in MODES]


def all_widths(net, x):
    """Widths from 1, signed and not, narrow and not, with zero points."""
    made = []
    for bits in (1, 2, 3, 5, 8):
        for signed, narrow in ((1, 0), (1, 1), (0, 0), (0, 1)):
            if bits == 1 and narrow:
                continue  # no level but 0
            made.append(net.quant(x, 0.37, bits, float(bits % 3 - 1), signed, narrow))
    return made


def all_kinds(net, x):
    """The other quantisers of qonnx, and a scale for each channel."""
    rng = np.random.default_rng(3)
    channels = rng.uniform(0.1, 2, (1, SHAPE[1]))
    rows = np.sort(rng.normal(0, 1, (SHAPE[1], 5)), axis=1)
    return [
        net("BipolarQuant", x, 0.5),
        net.quant(x, channels, 4),
        net("MultiThreshold", x, rows, out_dtype="UINT3"),
        net("MultiThreshold", x, rows[:1], out_dtype="INT4", out_scale=0.25, out_bias=-0.5),
        net(
            "FloatQuant",
            x,
            0.5,
            3.0,
            2.0,
            3.0,
            20.0,
            has_inf=0,
            has_nan=0,
            has_subnormal=0,
            saturation=1,
        ),
        net("Trunc", net.quant(x, 0.25, 8), 0.25, 0.0, 8.0, 4.0, rounding_mode="FLOOR"),
    ]


def second_trunc(net, x):
    """The second form of Trunc has a scale for its result."""
    net.version = 2
    wide = net.quant(x, 0.25, 8)
    return [net("Trunc", wide, 0.25, 0.0, 8.0, 4.0, 4.0, rounding_mode=mode) for mode in MODES[:4]]


@pytest.mark.parametrize("kinds", [all_modes, all_widths, all_kinds, second_trunc])
def test_every_quantiser_is_the_executors(kinds):
    net = Network()
    pair = Pair(net.model(*kinds(net, net.input(*SHAPE))))
    rng = np.random.default_rng(1)
    for scale in (0.3, 0.37, 1.0):
        x = samples(rng, SHAPE, scale)
        same(pair.reference(x), pair.expected(x))


def test_the_cpu_and_hardware_have_every_kind():
    net = Network()
    x = net.input(*SHAPE)
    model = net.model(*all_kinds(net, x), *all_modes(net, x)[5:6])
    s = from_qonnx(model, target="mlir")
    cpu, hardware, pair = s.build(), s.build(target="verilog", simulator="jit"), Pair(model)
    x = samples(np.random.default_rng(2), SHAPE)
    same(cpu(x), pair.expected(x))
    same(hardware(x), pair.expected(x))


def test_a_threshold_moved_by_one_float_is_seen():
    """The comparison above finds a threshold that is off by the smallest step."""
    net = Network()
    pair = Pair(net.model(net.quant(net.input(1, 4), 0.37, 3)))
    name = pair.made.operators[0].args["table"].name
    path, table = pair.made.weights[name]
    x = np.resize(table, (1, 4)).astype(np.float32)
    same(pair.reference(x), pair.expected(x))
    pair.made.weights[name] = (path, np.nextafter(table, np.float32(np.inf)))
    with pytest.raises(AssertionError):
        same(reference_of(pair.made)(x), pair.expected(x))
