"""Forms that random single operators do not have: groups, constants, several results, arguments."""

from __future__ import annotations

import numpy as np

from allo.tflite.reader import read_network
from tests.tflite.cases import Case
from tests.tflite.support import check, check_hardware, inputs_of
from tests.tflite.test_networks import residual
from tests.tflite.writer import Writer


def in_hardware(model: bytes, lanes: int, **options: object) -> None:
    s = check(model, 1, lanes=lanes, **options)
    check_hardware(s, inputs_of(read_network(model), 1)[-1:])


def test_a_convolution_of_groups_and_two_images() -> None:
    case = Case(3)
    writer, source = case.writer, case.writer.input([2, 5, 5, 4], "int8", 0.1, 3)
    weight, scales = case.weights([6, 3, 3, 2], 6, 0)
    bias = case.bias(source, scales, 6, needed=True)
    result = writer.tensor([2, 5, 5, 6], "int8", 0.5, 2)
    window = {"padding": 0, "strideH": 1, "strideW": 1}
    writer.node("CONV_2D", [source, weight, *bias], [result], "Conv2DOptions", **window)
    in_hardware(writer.bytes(result), 3)


def test_two_results_for_each_channel() -> None:
    case = Case(4)
    writer, source = case.writer, case.writer.input([1, 5, 5, 3], "int8", 0.1, 3)
    weight, scales = case.weights([1, 3, 3, 6], 6, 3)
    bias = case.bias(source, scales, 6, needed=True)
    result = writer.tensor([1, 5, 5, 6], "int8", 0.5, 2)
    fields = {"padding": 0, "strideH": 1, "strideW": 1, "depthMultiplier": 2}
    writer.node(
        "DEPTHWISE_CONV_2D", [source, weight, *bias], [result], "DepthwiseConv2DOptions", **fields
    )
    in_hardware(writer.bytes(result), 2)


def test_a_constant_operand() -> None:
    writer = Writer()
    source = writer.input([1, 3, 4], "int8", 0.1, 3)
    data = np.array([1, -5, 100, -128], np.int8)
    constant = writer.tensor([4], "int8", 0.05, -2, data)
    result = writer.tensor([1, 3, 4], "int8", 0.2, 1)
    writer.node("ADD", [source, constant], [result], "AddOptions")
    in_hardware(writer.bytes(result), 1)


def test_several_results() -> None:
    writer = Writer()
    source = writer.input([1, 4], "int8", 0.1, 3)
    first, second = (writer.tensor([1, 4], "int8", scale, 1) for scale in (0.2, 0.3))
    writer.node("ADD", [source, source], [first], "AddOptions")
    writer.node("RELU", [first], [second])
    check(writer.bytes(second, first))


def test_weights_as_arguments_have_lanes() -> None:
    in_hardware(residual(), 4, weights_as_args=True)
