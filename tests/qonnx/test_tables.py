"""Sparse layers of few bits as lookup tables: the executor's results, on the CPU and in hardware."""

from __future__ import annotations

import re

import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

from allo.designs.quantised.sparse import Shape, Sparse, restored, stored
from allo.designs.quantised.sparse_onnx import exported
from allo.errors import ModelError
from allo.frontend import from_qonnx
from allo.ir.types import int8
from allo.models.integers import neurons
from allo.models.integers.neurons import with_neurons
from allo.models.integers.reference import Reference
from allo.qonnx.entry import converted
from allo.qonnx.nodes.floats import in_floats
from allo.qonnx.reading import read

SHAPES = (Shape(9, 1), Shape(8, 3), Shape(6, 2, 3, True, 0.25))
RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def net() -> Sparse:
    made = Sparse(5, SHAPES, 2, seed=3)
    made.prune(RNG.normal(0, 1, (200, 5)).astype(np.float32), 1.0)
    return made


@pytest.fixture(scope="module")
def inputs() -> list[np.ndarray]:
    return [RNG.integers(-32, 32, (1, 5)).astype(np.float32) / 8 for _ in range(60)]


def _expected(net, inputs):
    """What qonnx's executor gives, and the network in NumPy does, too."""
    wrapper = ModelWrapper(exported(net)).transform(InferShapes())
    found = [execute_onnx(wrapper, {"sample": x})["sums"] for x in inputs]
    for x, result in zip(inputs, found, strict=True):
        assert np.array_equal(net.forward(x)[2], result)
    return found


def test_tables_have_the_executors_results(net, inputs):
    expected = _expected(net, inputs)
    s = from_qonnx(exported(net), input_type=(int8, 1 / 8), tables="always", target="mlir")
    assert [c.target for c in s.choices].count("levels.lookup") == 3
    text = str(s.module)
    assert text.count("arith.shrui %c") > 20 and "place" not in text
    for built in (s.build(), s.build(target="verilog", simulator="jit")):
        for x, result in zip(inputs, expected, strict=True):
            assert np.array_equal(built((x * 8).astype(np.int8)), result)


def test_a_network_is_stored_and_restored(net, inputs):
    again = restored(stored(net), 5, SHAPES, 2)
    for x in inputs[:10]:
        assert np.array_equal(again.forward(x)[2], net.forward(x)[2])


@pytest.mark.parametrize(("tables", "lookups"), [("never", 0), ("auto", 3), ("always", 3)])
def test_layers_are_chosen_by_cost(net, inputs, tables, lookups, monkeypatch):
    graph, _ = read(exported(net))
    made = converted(graph, (int8, 1 / 8)).made
    for rounded in (False, True):
        found = with_neurons(made, tables, rounded)
        targets = [op.target for op in found.operators]
        assert targets.count("levels.lookup") == lookups
        assert targets.count("levels.dense") == (3 - lookups if rounded else 0)
        before, after = (Reference(each, in_floats) for each in (made, found))
        for x in inputs:
            (a,), (b,) = (r((x * 8).astype(np.int8)) for r in (before, after))
            assert np.array_equal(a, b)
    monkeypatch.setattr(neurons, "sum_cost", lambda layer: 0)
    targets = [op.target for op in with_neurons(made, "auto", False).operators]
    assert "levels.lookup" not in targets


def test_a_wrong_place_is_seen(net, inputs, monkeypatch):
    real = neurons.Layer.sums
    monkeypatch.setattr(neurons.Layer, "sums", lambda *a: real(*a)[::-1])
    graph, _ = read(exported(net))
    made = converted(graph, (int8, 1 / 8)).made
    pair = [Reference(each, in_floats) for each in (made, with_neurons(made, "always", False))]
    results = [[r((x * 8).astype(np.int8))[0].tolist() for x in inputs] for r in pair]
    assert results[0] != results[1]


def test_no_other_ways_to_choose(net):
    with pytest.raises(ModelError) as caught:
        from_qonnx(exported(net), tables="some")
    said = r"tables='some' is no way to choose the layers.*help: it is 'never', 'auto', 'always'"
    assert re.search(said, str(caught.value), re.DOTALL), str(caught.value)
