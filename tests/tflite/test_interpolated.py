"""LOGISTIC and TANH of int16, on every value that there is."""

from __future__ import annotations

import numpy as np
import pytest

from allo.frontend import from_tflite
from allo.tflite import tables
from allo.tflite.reader import read_network
from tests.tflite.support import tensors_equal
from tests.tflite.writer import Writer

EVERY = np.arange(-32768, 32768).astype(np.int16)[None]


def file_of(kind: str, scale: float) -> bytes:
    """One operator on 65,536 elements."""
    writer = Writer()
    source = writer.input([1, 65536], "int16", scale)
    result = writer.tensor([1, 65536], "int16", 1 / 32768)
    writer.node(kind, [source], [result])
    return writer.bytes(result)


@pytest.mark.parametrize("scale", [1 / 4096, 1 / 2048, 0.00031])
@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_every_value_is_the_interpreters(kind: str, scale: float) -> None:
    model = file_of(kind, scale)
    network = read_network(model)
    (expected,) = tensors_equal(model, network, [[EVERY]])
    np.testing.assert_array_equal(from_tflite(model)(EVERY), expected[network.outputs[0]])


def test_a_table_of_nearest_integers_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_HIGHER", 0)
    model = file_of("TANH", 1 / 4096)
    with pytest.raises(AssertionError, match="tanh_0"):
        tensors_equal(model, read_network(model), [[EVERY]])
