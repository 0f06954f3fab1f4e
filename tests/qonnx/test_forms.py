"""Operators of transformers, recurrent networks and decoders, between quantisers and on floats."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from allo.errors import ModelError, UnsupportedOperatorError
from allo.qonnx.entry import from_qonnx, reference_of

from .support import Network, Pair, same, samples

RNG = np.random.default_rng(11)


def gelu(net, x, form):
    """``x / 2 · (1 + erf(x / √2))`` as exporters spell it, or as one operator."""
    if form == "one":
        return net("Gelu", x)
    bent = net("Add", net("Erf", net("Div", x, 1.41421354)), 1.0)
    return net("Mul", net("Mul", x, bent), 0.5)


def image(net, *shape):
    return net.quant(net.input(*shape), 0.25, 4, signed=0)


def weights(net, *shape, bits=3, scale=0.5):
    return net.quant(net.constant(RNG.normal(0, 1, shape)), scale, bits)


def transposed(net, **attributes):
    given = {"kernel_shape": [3, 2], "strides": [2, 1], "group": 2, **attributes}
    return net.quant(
        net("ConvTranspose", image(net, 1, 4, 3, 3), weights(net, 4, 2, 3, 2), **given), 1.0, 6
    )


def sliced(net):
    x = net.quant(net.input(1, 6, 4), 0.5, 4)
    y = net("Add", x, RNG.integers(-2, 3, (1, 6, 4)) / 2)  # parameters that move along
    part = net(
        "Slice", y, *(net.constant(n, np.int64) for n in ([1, -1], [6, -9], [1, 2], [2, -1]))
    )
    return net("Tile", net("Clip", part, -1.0, 1.0), net.constant([1, 1, 2], np.int64))


def gathered(net):
    x = net.quant(net.input(1, 5, 3), 0.5, 4)
    one = net("Gather", x, net.constant([[4, 0], [2, 2]], np.int64), axis=1)
    row = net("Gather", x, net.constant(1, np.int64), axis=1)
    wide = net(
        "Expand",
        net("Unsqueeze", row, net.constant([1], np.int64)),
        net.constant([1, 2, 3], np.int64),
    )
    return net("Add", net("ReduceMax", one, axes=[1], keepdims=0), wide)


def gated(net):
    """Products of two quantised tensors, and of one with a function of itself."""
    x = net.quant(net.input(1, 6), 0.25, 4)
    y = net("Mul", x, net("Sigmoid", x))
    other = net.quant(net("Mul", x, 3.0), 0.5, 3, zero=1.0, signed=0)
    return net.quant(net("Mul", net.quant(y, 0.25, 4), other), 0.25, 8)


def meant(net):
    x = net.quant(net.input(1, 4, 8), 0.5, 5)
    total = net("ReduceSum", x, net.constant([2], np.int64), keepdims=1)
    return net("Sub", net("ReduceMean", x, axes=[2], keepdims=1), net("Mul", total, 0.25))


def classes(net):
    """The greatest element of each channel, and which channel has the greatest and the least of all."""
    x = net("Mul", net.quant(net.input(1, 5, 3, 2), 0.5, 5), -2.0)
    best = net("GlobalMaxPool", net.quant(x, 1.0, 6))
    places = [net(op, best, axis=1, keepdims=1) for op in ("ArgMax", "ArgMin")]
    turned = net("ArgMax", net("Mul", best, RNG.normal(0, 1, (1, 5, 1, 1))), axis=1, keepdims=1)
    return net(
        "Concat", best, *(net("Cast", p, to=TensorProto.FLOAT) for p in (*places, turned)), axis=1
    )


EXACT = {
    "gelu as spelled": lambda net: net.quant(
        gelu(net, net.quant(net.input(1, 6), 0.25, 5), ""), 0.125, 5
    ),
    "gelu as one": lambda net: net.quant(
        gelu(net, net.quant(net.input(1, 6), 0.25, 5), "one"), 0.125, 5
    ),
    "transposed": transposed,
    "transposed with padding": lambda net: transposed(
        net, pads=[1, 0, 1, 0], output_padding=[1, 0], dilations=[1, 2]
    ),
    "transposed lines": lambda net: net(
        "ConvTranspose",
        image(net, 1, 2, 5),
        weights(net, 2, 3, 4),
        RNG.integers(-2, 2, 3),
        strides=[3],
    ),
    "slices": sliced,
    "gathers": gathered,
    "gates": gated,
    "means": meant,
    "classes": classes,
}
OPSETS = {"gelu as one": 20}


@pytest.mark.parametrize("form", EXACT)
def test_every_result_is_the_executors(form):
    net = Network(opset=OPSETS.get(form, 13))
    pair = Pair(net.model(EXACT[form](net)))
    ((_, shape),) = pair.graph.inputs.items()
    for _ in range(3):
        x = samples(RNG, shape)
        same(pair.reference(x), pair.expected(x))


def floats(net):
    """Layer norm as one operator and spelled out, a chain of curves, and a decoder of floats."""
    x = net.input(1, 2, 6)
    y = net("LayerNormalization", x, RNG.normal(1, 0.2, 6), RNG.normal(0, 1, 6), epsilon=1e-3)
    centred = net("Sub", y, net("ReduceMean", y, axes=[-1]))
    deviation = net(
        "Sqrt", net("Add", net("ReduceMean", net("Pow", centred, 2.0), axes=[-1]), 1e-5)
    )
    y = net("LogSoftmax", y, axis=2)
    z = net("Tanh", net("Max", net("Div", centred, deviation), net("Neg", gelu(net, y, ""))))
    return net("ConvTranspose", z, RNG.normal(0, 1, (2, 3, 2)), RNG.normal(0, 1, 3))


def test_floats_are_the_executors_but_for_their_rounding():
    net = Network(opset=17)
    pair = Pair(net.model(floats(net)))
    x = RNG.normal(0, 1, (1, 2, 6)).astype(np.float32)
    np.testing.assert_allclose(pair.reference(x)[0], pair.expected(x)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["gates", *(f for f in EXACT if f != "gates"), "floats"])
def test_hardware_has_the_references_bits(form):
    net = Network(opset=17 if form == "floats" else OPSETS.get(form, 13))
    model = net.model({**EXACT, "floats": floats}[form](net))
    hardware = from_qonnx(model, target="mlir").build(target="verilog", simulator="jit")
    pair = Pair(model)
    x = samples(RNG, next(iter(pair.graph.inputs.values())))
    same([hardware(x)], pair.reference(x))


def test_a_planted_fault_in_weights_is_seen():
    net = Network()
    pair = Pair(net.model(transposed(net)))
    x = samples(RNG, (1, 4, 3, 3))
    for name, (path, array) in pair.made.weights.items():
        pair.made.weights[name] = (path, np.roll(array, 1, 0) if array.ndim > 1 else array + 1)
    assert not np.array_equal(reference_of(pair.made)(x)[0], pair.expected(x)[0])


def lstm(direction, length=2, batch=2, wide=3, size=2):
    """The ONNX operator, with weights of 4 bits, whose hidden states are quantised."""
    net = Network(opset=14)
    both = 2 if direction == "bidirectional" else 1
    x = net.quant(net.input(length, batch, wide), 0.25, 4)
    given = [
        net.quant(net.constant(RNG.normal(0, 1, (both, 4 * size, n))), 0.125, 4)
        for n in (wide, size)
    ]
    given.append(net.constant(RNG.normal(0, 1, (both, 8 * size))))
    node = helper.make_node(
        "LSTM", [x, *given], ["y", "last"], name="cell", hidden_size=size, direction=direction
    )
    net.nodes.append(node)
    return net.model(net.quant("y", 0.125, 4), "last")


def test_an_lstm_has_the_results_of_onnxruntime():
    """Forwards and backwards; the executor runs the steps, onnxruntime the operator."""
    model = lstm("bidirectional")
    pair = Pair(model)
    x = samples(RNG, (2, 2, 3), 0.5)
    constants = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
    before = {**constants, **pair.executed(x)}
    inputs = {n: before[n] for n in model.graph.node[-2].input}
    assert model.graph.node[-2].op_type == "LSTM"
    ours, last = pair.reference(x)
    y, expected = alone(model.graph.node[-2], inputs)
    np.testing.assert_allclose(last, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(ours, np.clip(np.round(y * 8), -8, 7) / 8)


def alone(node, inputs):
    """One node in onnxruntime."""
    given = [numpy_helper.from_array(array, name) for name, array in inputs.items()]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in node.output]
    graph = helper.make_graph([node], "one", [], results, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {})


def test_results_that_are_constants_are_left_out():
    """Brevitas returns the scale, the zero point and the bits beside a quantised tensor."""
    net = Network()
    scale = net.constant(0.5)
    y = net(
        "Quant", net.input(1, 4), scale, 0.0, 4.0, signed=1, narrow=0, rounding_mode="ROUND_TO_ZERO"
    )
    pair = Pair(net.model(y, scale))
    x = samples(RNG, (1, 4))
    same(pair.reference(x), [np.clip(np.trunc(x * 2), -8, 7) / 2])
    net = Network()
    net.input(1, 4)
    with pytest.raises(ModelError, match="No result of this file depends on an input"):
        from_qonnx(net.model(net.constant(0.5)))


def test_a_bias_of_32_bits_is_a_constant():
    net = Network()
    x = net.quant(net.input(1, 4), 0.5, 4)
    bias = net.quant(net.constant(RNG.normal(0, 1, 3)), 2.0**-10, 32)
    pair = Pair(net.model(net("Gemm", x, weights(net, 4, 3), bias)))
    x = samples(RNG, (1, 4))
    same(pair.reference(x), pair.expected(x))


def refused(build, message, opset=14):
    net = Network(opset)
    with pytest.raises(UnsupportedOperatorError, match=message):
        from_qonnx(net.model(build(net)))


def test_what_is_refused_says_what_would_do():
    def mode(net):
        attributes = {"signed": 1, "narrow": 0, "rounding_mode": "HALF_ODD"}
        return net("Quant", net.input(1, 4), 0.5, 0.0, 4.0, **attributes)

    def clipped(net):
        net.input(3, 1, 2)
        given = [net.constant(np.ones((1, 8, 2))) for _ in range(2)]
        node = helper.make_node("LSTM", ["x", *given], ["y"], name="cell", hidden_size=2, clip=1.0)
        net.nodes.append(node)
        return "y"

    def padded(net):
        return transposed(net, auto_pad="SAME_UPPER")

    refused(mode, "rounds by 'HALF_ODD', which QONNX does not define.(?s:.*)did you mean 'HALF_")
    refused(clipped, "Node 'cell' is LSTM with peepholes(?s:.*)sigmoid and tanh")
    refused(padded, "ConvTranspose with auto_pad(?s:.*)pads and output_padding")
