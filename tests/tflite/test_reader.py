"""What is read of a file, and the files that are refused."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

from allo.errors import ModelError, ToolMissingError, UnsupportedOperatorError
from allo.frontend import from_tflite
from allo.tflite.reader import read_network
from tests.tflite.cases import Case, conv2d, make
from tests.tflite.writer import Writer


def test_tensors_have_their_scales_and_elements() -> None:
    writer = Writer()
    source = writer.input([1, 3], "int8", 0.5, -3)
    data = np.arange(6, dtype=np.int8).reshape(2, 3)
    weight = writer.tensor([2, 3], "int8", [0.25, 0.125], 0, data, 0)
    result = writer.tensor([1, 2], "int8", 2.0, 7)
    writer.node("FULLY_CONNECTED", [source, weight, -1], [result], "FullyConnectedOptions")
    network = read_network(writer.bytes(result))
    first, second, third = network.tensors
    assert (first.shape, first.dtype, first.scale, first.zero) == ((1, 3), "int8", 0.5, -3)
    assert second.per_channel and second.scales.tolist() == [0.25, 0.125] and second.axis == 0
    assert second.data is not None and np.array_equal(second.data, data)
    assert third.data is None and network.outputs == [2] and network.inputs == [0]
    assert [node.path for node in network.nodes] == ["fully_connected_0"]
    assert network.optional(network.nodes[0], 2) is None


def test_weights_of_four_bits_are_unpacked() -> None:
    writer = Writer()
    source = writer.input([1, 3], "int8", 0.5)
    weight = writer.tensor([1, 3], "int4", 0.25, 0, np.array([0xF1, 0x07], np.uint8))
    result = writer.tensor([1, 1], "int8", 1.0)
    writer.node("FULLY_CONNECTED", [source, weight, -1], [result], "FullyConnectedOptions")
    data = read_network(writer.bytes(result)).tensors[1].data
    assert data is not None and data.tolist() == [[1, -1, 7]]


def refused(kind: type[Exception], message: str, model: Any, **options: Any) -> str:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        from_tflite(model, **options)
    return str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Any) -> None:
    refused(ModelError, "cannot be read", tmp_path / "nothing.tflite")
    refused(ModelError, "is no TFLite file", b"0123456789")
    text = refused(ModelError, "is damaged", make("add", 0)[:90])
    assert "test_reader.py" in text and "from_tflite(model" in text  # the user's line


def test_a_dynamic_shape_is_refused() -> None:
    writer = Writer()
    source = writer.input([1, 1, 3], "int8", 0.5, signature=[-1, -1, 3])
    result = writer.tensor([1, 3], "int8", 0.5)
    writer.node("RESHAPE", [source], [result])
    text = refused(ModelError, "dynamic shape [-1, -1, 3]", writer.bytes(result))
    assert "input_shape=" in text


def test_an_open_batch_is_one() -> None:
    writer = Writer()
    source = writer.input([1, 4], "int8", 0.5, signature=[-1, 4])
    result = writer.tensor([1, 4], "int8", 0.5, signature=[-1, 4])
    writer.node("ADD", [source, source], [result], "AddOptions")
    assert read_network(writer.bytes(result)).tensors[0].shape == (1, 4)


def test_an_unknown_operator_names_the_nearest_form() -> None:
    writer = Writer()
    source, alpha = writer.input([1, 4], "int8", 0.5), writer.input([1, 4], "int8", 0.5)
    result = writer.tensor([1, 4], "int8", 0.5)
    writer.node("PRELU", [source, alpha], [result])
    text = refused(UnsupportedOperatorError, "is not supported", writer.bytes(result))
    assert "Operator 0 of the TFLite file, PRELU (it makes 'tensor2')" in text
    assert "LEAKY_RELU" in text


def test_floats_are_refused() -> None:
    writer = Writer()
    source, result = writer.input([1, 4], "float32"), writer.tensor([1, 4], "float32")
    writer.node("ADD", [source, source], [result], "AddOptions")
    text = refused(
        UnsupportedOperatorError, "has the float32 tensor 'tensor0'", writer.bytes(result)
    )
    assert "TFLITE_BUILTINS_INT8" in text


def test_weights_that_are_no_constant_are_refused() -> None:
    writer = Writer()
    source, weight = writer.input([1, 4], "int8", 0.5), writer.input([2, 4], "int8", 0.5)
    result = writer.tensor([1, 2], "int8", 0.5)
    writer.node("FULLY_CONNECTED", [source, weight, -1], [result], "FullyConnectedOptions")
    refused(
        UnsupportedOperatorError, "weights 'tensor1' that are no constant", writer.bytes(result)
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    text = refused(ToolMissingError, "The package tflite cannot be imported", make("add", 0))
    assert "allo[tflite]" in text


def test_a_layout_that_names_nothing_is_refused() -> None:
    refused(
        ModelError, "names no weight", conv2d(Case(0)), layouts={"conv2d_9.weight": (0, 1, 2, 3)}
    )
