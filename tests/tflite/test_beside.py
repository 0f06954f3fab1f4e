"""Fully connected layers side by side: folds for a number of multipliers, and the same results."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.quantised.perceptrons_beside import ENDS, Fold, folds_for, shapes_of, side_by_side
from allo.frontend import from_tflite

from .writer import Writer


def perceptron(sizes: tuple[int, ...]) -> bytes:
    """Fully connected layers of random weights, with rectifiers."""
    rng = np.random.default_rng(5)
    writer = Writer()
    value = writer.input([1, sizes[0]], scale=0.05, zero=3)
    for inputs, outputs in zip(sizes, sizes[1:], strict=False):
        weights = rng.integers(-127, 128, (outputs, inputs)).astype(np.int8)
        biases = rng.integers(-900, 900, outputs).astype(np.int32)
        weight = writer.tensor(weights.shape, scale=0.01, data=weights)
        bias = writer.tensor([outputs], "int32", scale=0.0005, data=biases)
        result = writer.tensor([1, outputs], scale=0.05, zero=-8)
        writer.node("FULLY_CONNECTED", [value, weight, bias], [result], "FullyConnectedOptions")
        value = result
    return writer.bytes(value)


def test_folds_keep_layers_equally_busy() -> None:
    shapes = {"first": (64, 32), "second": (32, 64), "last": (64, 8)}
    plain = folds_for(shapes, 8)
    more = folds_for(shapes, 60)
    slowest = [max(fold.cycles for fold in folds.values()) for folds in (plain, more)]
    assert slowest[1] < slowest[0] / 4
    assert sum(fold.blocks for fold in more.values()) <= 60
    assert more["last"].lanes < more["first"].lanes


def test_no_cheaper_fold_is_as_quick() -> None:
    fold = Fold(48, 40).within(300)
    assert fold is not None
    assert fold.cycles <= 300
    others = [Fold(48, 40, lanes, ends) for lanes in range(1, 41) for ends in ENDS]
    assert min(other.blocks for other in others if other.cycles <= 300) == fold.blocks


def test_too_few_multipliers() -> None:
    with pytest.raises(ValueError, match="2 multipliers are too few for 2 layers"):
        folds_for({"a": (4, 4), "b": (4, 4)}, 2)


def test_hardware_has_the_results_of_the_cpu() -> None:
    model = perceptron((24, 20, 12))
    count = 4
    s = from_tflite(model, target="mlir", samples=count)
    folds = folds_for(shapes_of(s), 14)
    side_by_side(s, folds)
    rng = np.random.default_rng(1)
    given = rng.integers(-128, 128, (count, 1, 24)).astype(np.int8)
    rtl = s.build(target="verilog", simulator="jit", device="xc7", clock_mhz=100)
    np.testing.assert_array_equal(rtl(given), from_tflite(model, samples=count)(given))
    one = from_tflite(model)
    np.testing.assert_array_equal(rtl(given)[2], one(given[2]))
    assert rtl.cycles == rtl.report.cycles
    assert max(fold.lanes for fold in folds.values()) > 1
