"""Weights in the logic: one pipeline that takes a sample in each cycle, with the executor's levels."""

from __future__ import annotations

import re

import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

from allo.designs.quantised.perceptron import Perceptron, exported
from allo.designs.quantised.sparse import Shape, Sparse
from allo.designs.quantised.sparse_onnx import exported as exported_sparse
from allo.errors import ModelError, OptionError
from allo.frontend import from_qonnx
from allo.ir.types import Int, UInt, int8
from allo.models.integers import neurons
from allo.qonnx.entry import converted
from allo.qonnx.reading import read

RNG = np.random.default_rng(6)
SAMPLES = 12


@pytest.fixture(scope="module")
def dense():
    """8-7-5-3 with weights and activations of 3 bits, and what the executor says of some samples."""
    sizes = (8, 7, 5, 3)
    weights = [RNG.normal(0, 0.5, pair) for pair in zip(sizes, sizes[1:], strict=False)]
    model = exported(Perceptron(weights, 3, 2.0**-2, 2.0**-1))
    x = RNG.integers(0, 16, (SAMPLES, 1, 8)).astype(np.uint8)
    return model, x, _expected(model, "image", x / 16)


def _expected(model, name, x):
    wrapper = ModelWrapper(model).transform(InferShapes())
    result = wrapper.graph.output[0].name
    given = [{name: sample.astype(np.float32)} for sample in x]
    return np.stack([execute_onnx(wrapper, sample)[result] for sample in given])


def test_a_sample_in_each_cycle(dense):
    model, x, expected = dense
    options = {"weights": "embedded", "results": "integers", "samples": SAMPLES, "target": "mlir"}
    s = from_qonnx(model, input_type=(UInt(4), 1 / 16), **options)
    assert "arith.muli" not in str(s.module) and "memref.global" not in str(s.module)
    hardware = s.build(target="verilog", simulator="jit")
    (loop,) = hardware.report.functions[0].loops
    assert loop.ii == 1 and hardware.report.resources.get("dsp", 0) == 0
    for built in (s.build(), hardware):
        assert np.array_equal(built(x) * 2.0**-3, expected)
    assert hardware.cycles == hardware.report.cycles == SAMPLES + loop.depth - 1


def test_a_latency_is_that_of_the_simulated_pipeline(dense):
    model, x, expected = dense
    options = {"weights": "embedded", "results": "integers", "samples": SAMPLES, "target": "mlir"}
    s = from_qonnx(model, input_type=(UInt(4), 1 / 16), target_latency_ns=30, **options)
    found = s.latency
    hardware = s.build(target="verilog", simulator="jit", clock_mhz=found.clock_mhz)
    assert np.array_equal(hardware(x) * 2.0**-3, expected)
    cycles = hardware.cycles - (SAMPLES - 1)  # of the first sample, as one comes in each cycle
    period = 1000 / hardware.report.registered_mhz
    assert cycles == found.cycles and cycles * period == pytest.approx(found.ns, rel=0.02)
    assert found.ns <= 30 and found.cycles > 1


def test_a_latency_that_no_clock_meets(dense):
    options = {"weights": "embedded", "samples": SAMPLES, "target": "mlir"}
    with pytest.raises(OptionError, match="layer layer_0 sets the bound, in which 4 a") as caught:
        from_qonnx(dense[0], input_type=(UInt(4), 1 / 16), target_latency_ns=1, **options)
    assert "ask for at least" in str(caught.value)


def test_float_results_are_tables_too(dense):
    model, x, expected = dense
    options = {"weights": "embedded", "samples": SAMPLES, "target": "mlir"}
    s = from_qonnx(model, input_type=(UInt(4), 1 / 16), **options)
    hardware = s.build(target="verilog", simulator="jit")
    assert [loop.ii for loop in hardware.report.functions[0].loops] == [1]
    assert hardware.report.resources.get("bram", 0) == 0
    assert np.array_equal(hardware(x), expected)


def test_tables_and_sums_together():
    net = Sparse(4, (Shape(5, 1), Shape(5, 2), Shape(4, 5, 3, True, 0.25)), 2, seed=1)
    net.prune(RNG.normal(0, 1, (200, 4)).astype(np.float32), 1.0)
    model = exported_sparse(net)
    x = RNG.integers(-32, 32, (SAMPLES, 1, 4)).astype(np.int8)
    s = from_qonnx(
        model, input_type=(Int(6), 1 / 8), tables="auto", weights="embedded", samples=SAMPLES,
        results="integers", target="mlir",
    )  # fmt: skip
    targets = [choice.target for choice in s.choices]
    assert targets.count("levels.lookup") >= 2 and "levels.thresholds" not in targets
    assert np.array_equal(s.build()(x) * 0.25, _expected(model, "sample", x / 8))


def test_thresholds_of_a_rounding_are_found(dense):
    model, _, _ = dense
    made = converted(read(model)[0], (UInt(4), 1 / 16)).made
    arrays = {name: array for name, (_, array) in made.weights.items()}
    found = [neurons.rounding_of(layer, arrays) for layer in neurons._layers(made, arrays)]
    assert [(f.even, f.low, f.high) for f in found if f] == [(True, 0, 5), (True, 0, 7)]
    layer = neurons._layers(made, arrays)[0]
    table = layer.function.args["table"].name
    arrays[table] = arrays[table].copy()
    arrays[table].flat[1] += 1  # no rounding has such steps
    assert neurons.rounding_of(layer, arrays) is None


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (
            {"weights": "embedded"},
            r"makes a pipeline over samples, and a call takes one.*samples=64",
        ),
        (
            {"weights": "embedded", "weights_as_args": True, "samples": 4},
            r"Weights that are arguments are not known.*help: leave out weights_as_args",
        ),
        ({"weights": "here"}, r"weights='here' is unknown\..*'stored' or 'embedded'"),
        ({"results": "levels"}, r"results='levels' is unknown\..*'float' or 'integers'"),
    ],
)
def test_it_says_what_is_missing(dense, options, pattern):
    with pytest.raises(ModelError) as caught:
        from_qonnx(dense[0], input_type=(int8, 1 / 16), **options)
    assert re.search(pattern, str(caught.value), re.DOTALL), str(caught.value)
