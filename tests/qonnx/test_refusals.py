"""What cannot become hardware says which node it is, and what would do."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import allo.frontend
from allo.errors import ModelError, ToolMissingError, UnsupportedOperatorError
from allo.ir.types import Fixed, float32

from .support import Network


def refused(kind, message, *made, **options):
    net = Network()
    x = net.input(1, 8)
    with pytest.raises(kind, match=message):
        allo.frontend.from_qonnx(net.model(*(build(net, x) for build in made)), **options)


def test_an_operator_that_is_not_known_names_the_node_and_the_nearest():
    refused(
        UnsupportedOperatorError,
        r"Node 'ReduceL2_0' is ReduceL2 which is not supported",
        lambda net, x: net("ReduceL2", x),
    )
    refused(UnsupportedOperatorError, "did you mean 'Tanh'", lambda net, x: net("Tan", x))


def test_a_padding_that_is_none():
    net = Network()
    image = net.quant(net.input(1, 2, 8, 8), 1.0, 4)
    weights = net.constant(np.ones((2, 2, 3, 3)))
    model = net.model(net("Conv", image, weights, kernel_shape=[3, 3], auto_pad="SAME_WHAT"))
    with pytest.raises(
        UnsupportedOperatorError, match="Node 'Conv_1' is Conv with auto_pad 'SAME_WHAT'"
    ) as found:
        allo.frontend.from_qonnx(model)
    assert "ONNX defines NOTSET, VALID, SAME_UPPER, SAME_LOWER" in str(found.value)


def test_a_width_or_scale_that_gives_no_levels():
    refused(UnsupportedOperatorError, "of 2.5 bits", lambda net, x: net.quant(x, 1.0, 2.5))
    refused(ModelError, "has a scale of 0", lambda net, x: net.quant(x, 0.0, 3))
    refused(
        ModelError,
        r"levels up to 536870912, which float32 does not hold: .* by up to 32 levels",
        lambda net, x: net.quant(x, 1.0, 30),
    )
    refused(
        UnsupportedOperatorError,
        "scale, zero point or width that depends on the input",
        lambda net, x: net.quant(x, net("Relu", x), 3),
    )


def test_a_scale_that_differs_along_a_sum():
    scales = np.linspace(0.1, 1, 8)
    refused(
        UnsupportedOperatorError,
        "whose scale differs along the sum",
        lambda net, x: net("MatMul", net.quant(x, scales, 4), np.ones((8, 2))),
    )


def test_a_zero_point_between_levels_says_what_it_would_cost():
    refused(
        UnsupportedOperatorError,
        "no multiple of integers: the nearest integers would be wrong by up to half a unit",
        lambda net, x: net("MatMul", net.quant(x, 1.0, 4, zero=0.25), np.ones((8, 2))),
    )


def test_a_function_that_rises_and_falls_over_floats():
    refused(
        UnsupportedOperatorError,
        "neither rises nor falls",
        lambda net, x: net.quant(net("Abs", x), 1.0, 4),
    )


def test_shapes_that_depend_on_the_input():
    net = Network()
    model = net.model(net("Relu", net.input("batch", 8)))
    with pytest.raises(ModelError, match="'x' has no fixed extent in dimension 0"):
        allo.frontend.from_qonnx(model)


def test_files_and_types_that_are_none(tmp_path):
    with pytest.raises(ModelError, match="There is no QONNX file"):
        allo.frontend.from_qonnx(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match="A dict is no QONNX model"):
        allo.frontend.from_qonnx({})
    refused(ModelError, "input_type is f32", lambda net, x: net("Relu", x), input_type=float32)
    refused(
        ModelError,
        "float32, which holds 24 bits",
        lambda net, x: net("Relu", x),
        input_type=Fixed(32, 4),
    )


def test_a_package_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "qonnx.core.modelwrapper", None)
    net = Network()
    model = net.model(net("Relu", net.input(1, 4)))
    with pytest.raises(
        ToolMissingError, match="qonnx.core.modelwrapper cannot be imported"
    ) as found:
        allo.frontend.from_qonnx(model)
    assert "allo[qonnx]" in str(found.value)
