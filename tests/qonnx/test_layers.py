"""Layers between quantisers: integer sums of the executor, and one function of them for each channel."""

from __future__ import annotations

import numpy as np
import pytest

from allo.ir.types import Fixed, int8
from allo.qonnx.entry import from_qonnx, reference_of

from .support import Network, Pair, same, samples

IN, MIDDLE, OUT = 20, 12, 5


def norm(net, x, channels, rng):
    """A batch norm, some of whose channels fall."""
    gamma, beta, mean = (rng.normal(0, 1, channels) for _ in range(3))
    return net("BatchNormalization", x, gamma, beta, mean, rng.uniform(0.5, 2, channels))


def layered(bits, signs=False, *, seed=0):
    """Input quantiser, two products with batch norm, Relu and quantiser, and a scaled result."""
    rng = np.random.default_rng(seed)
    net = Network()

    def quantised(x, signed):
        if signs:
            return net("BipolarQuant", x, 1.0)
        return net.quant(x, 0.5, bits, signed=signed)

    x = quantised(net.input(1, IN), 1)
    for rows, columns in ((IN, MIDDLE), (MIDDLE, OUT)):
        weights = quantised(net.constant(rng.normal(0, 1, (columns, rows))), 1)
        x = net("MatMul", x, net("Transpose", weights, perm=[1, 0]))
        if columns == MIDDLE:
            x = norm(net, x, columns, rng)
            x = quantised(x if signs else net("Relu", x), 0)
    return net.model(net("Add", net("Mul", x, 0.25), rng.integers(-4, 4, OUT)))


@pytest.mark.parametrize("bits", [1, 2, 4, 7])
def test_networks_of_every_width_have_the_executors_results(bits):
    pair = Pair(layered(bits, seed=bits))
    rng = np.random.default_rng(bits)
    for _ in range(6):
        x = samples(rng, (1, IN))
        same(pair.reference(x), pair.expected(x))


def test_signs_are_bits_and_their_sums_count():
    pair = Pair(layered(1, signs=True))
    products = [op for op in pair.made.operators if op.target == "levels.matmul"]
    assert [op.args["agreeing"] for op in products] == [True, True]
    assert [op.metas[0].dtype for op in products] == ["uint5", "uint4"]
    assert {pair.made.narrow[op.args["other"].name] for op in products} == {"uint1"}
    rng = np.random.default_rng(5)
    for _ in range(6):
        x = samples(rng, (1, IN))
        same(pair.reference(x), pair.expected(x))


def test_sums_take_the_bits_that_they_need_and_no_floats_stand_between():
    """Only the last operator has floats: the table of its result."""
    pair = Pair(layered(3))
    kinds = [op.target for op in pair.made.operators]
    assert kinds == [
        "levels.thresholds",
        "levels.matmul",
        "levels.thresholds",
        "levels.matmul",
        "levels.table",
    ]
    first = pair.made.operators[1]
    weights = pair.made.weights[first.args["other"].name][1].astype(int)
    largest = np.maximum(weights * -4, weights * 3).sum(0).max()
    smallest = np.minimum(weights * -4, weights * 3).sum(0).min()
    bits = max(int(largest).bit_length(), int(-smallest - 1).bit_length()) + 1
    assert first.metas[0].dtype == f"int{bits}"


@pytest.mark.parametrize("signs", [False, True])
def test_the_cpu_and_hardware_have_the_executors_bits(signs):
    model = layered(3, signs, seed=9)
    s = from_qonnx(model, target="mlir", verify=True)
    cpu, hardware, pair = s.build(), s.build(target="verilog", simulator="jit"), Pair(model)
    x = samples(np.random.default_rng(2), (1, IN))
    (expected,) = pair.expected(x)
    np.testing.assert_array_equal(cpu(x), expected)
    np.testing.assert_array_equal(hardware(x), expected)


def scaled(seed=4):
    """Scales that are no powers of two, for each output of the products."""
    rng = np.random.default_rng(seed)
    net = Network()
    x = net.quant(net.input(1, IN), 0.37, 4)
    weights = net.quant(
        net.constant(rng.normal(0, 1, (IN, MIDDLE))),
        rng.uniform(0.1, 0.3, (1, MIDDLE)),
        3,
        narrow=1,
    )
    x = net("Gemm", x, weights, rng.normal(0, 1, MIDDLE))
    x = net.quant(net("Relu", norm(net, x, MIDDLE, rng)), 0.21, 4, signed=0)
    weights = net.quant(net.constant(rng.normal(0, 1, (MIDDLE, OUT))), 0.11, 4)
    return net.model(net("Softmax", net("MatMul", x, weights), axis=1))


def test_any_scale_gives_the_executors_levels_but_for_ties_of_its_rounding():
    """A level may differ where the executor's own sum of rounded floats stands at an edge."""
    pair = Pair(scaled())
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = samples(rng, (1, IN))
        assert pair.ties(x) == 0  # of these inputs none is at an edge
        (result,), (expected,) = pair.reference(x), pair.expected(x)
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-7)


def test_a_difference_that_is_no_tie_is_told_from_one():
    pair = Pair(scaled())
    path, table = pair.made.weights["t5_table"]
    pair.made.weights["t5_table"] = (path, table + 20)
    x = samples(np.random.default_rng(3), (1, IN))
    with pytest.raises(AssertionError, match="from an edge"):
        pair.ties(x)


@pytest.mark.parametrize("given", [Fixed(12, 6), (int8, 1 / 32)])
def test_an_input_of_integers_is_exact_from_there_on(given):
    """No product is left in floats where the file has an input that it does not quantise."""
    rng = np.random.default_rng(8)
    net = Network()
    weights = net.quant(net.constant(rng.normal(0, 1, (IN, OUT))), 0.125, 5)
    model = net.model(net.quant(net("MatMul", net.input(1, IN), weights), 0.25, 6))
    pair = Pair(model, given)
    assert not any(op.target.startswith("aten.") for op in pair.made.operators)
    mod = from_qonnx(model, input_type=given)
    for _ in range(4):
        levels = rng.integers(-128, 128, (1, IN))
        unit = given[1] if isinstance(given, tuple) else 2.0**-given.fracs
        floats = (levels * unit).astype(np.float32)
        x = floats if isinstance(given, Fixed) else levels.astype(np.int8)
        same(pair.reference(x), pair.expected(floats))
        np.testing.assert_array_equal(mod(x), pair.expected(floats)[0])


def test_bits_that_agree_are_counted():
    net = Network()
    bits = net.quant(net.input(1, 9), 1.0, 1, signed=0)
    weights = np.random.default_rng(0).integers(0, 2, (9, 4))
    model = net.model(net("XnorPopcountMatMul", bits, weights))
    pair = Pair(model)
    x = samples(np.random.default_rng(1), (1, 9))
    same(pair.reference(x), pair.expected(x))


def test_a_planted_fault_in_a_threshold_or_weight_is_seen():
    pair = Pair(layered(3))
    rng = np.random.default_rng(1)
    pairs = [(x, pair.expected(x)[0]) for x in (samples(rng, (1, IN)) for _ in range(20))]
    for name, (path, array) in list(pair.made.weights.items()):
        fault = array + 1 if path.endswith("table") else np.roll(array, 1, 0)
        pair.made.weights[name] = (path, fault)
        changed = reference_of(pair.made)
        assert any(not np.array_equal(changed(x)[0], y) for x, y in pairs), path
        pair.made.weights[name] = (path, array)


def test_attention_multiplies_two_quantised_tensors():
    """Queries and keys are levels, and what softmax gives becomes levels again before the values."""
    rng = np.random.default_rng(6)
    net = Network()
    x = net.quant(net.input(1, 4, 6), 0.25, 5)
    queries, keys, values = (
        net.quant(
            net("MatMul", x, net.quant(net.constant(rng.normal(0, 1, (6, 6))), 0.5, 3)), 1.0, 4
        )
        for _ in range(3)
    )
    scores = net("MatMul", queries, net("Transpose", keys, perm=[0, 2, 1]))
    weights = net.quant(net("Softmax", net("Mul", scores, 0.0625), axis=2), 0.03125, 5, signed=0)
    model = net.model(net.quant(net("MatMul", weights, values), 0.5, 6))
    pair = Pair(model)
    products = [op.target for op in pair.made.operators if "matmul" in op.target]
    assert products == ["levels.matmul"] * 5
    mod = from_qonnx(model)
    for _ in range(4):
        x = samples(rng, (1, 4, 6))
        assert pair.ties(x) == 0
        same(pair.reference(x), pair.expected(x))
        same([mod(x)], pair.expected(x))


def test_a_curve_of_levels_becomes_levels_where_it_has_their_unit():
    rng = np.random.default_rng(7)
    net = Network()
    x = net("Clip", net("Relu", net.quant(net.input(1, 6), 0.5, 5)), -1.0, 4.0)
    model = net.model(net("MatMul", x, net.quant(net.constant(rng.normal(0, 1, (6, 3))), 0.5, 3)))
    pair = Pair(model)
    assert [op.target for op in pair.made.operators][:3] == [
        "levels.thresholds",
        "levels.table",
        "levels.matmul",
    ]
    x = samples(rng, (1, 6))
    same(pair.reference(x), pair.expected(x))
