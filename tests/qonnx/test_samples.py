"""Several samples in a call: one after the other, or the layers of a network side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from allo.designs.quantised.digits import images
from allo.designs.quantised.perceptron import exported, trained
from allo.designs.quantised.products_beside import products_beside
from allo.dialects.diagnostics import ModelError
from allo.frontend import from_qonnx
from allo.models.origin import EachSample, each_sample
from allo.torch.origin import TorchOrigin

COUNT = 5


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return exported(trained(*images(1000, seed=1), hidden=(16,)))


def pipelined(model: onnx.ModelProto, count: int, *, beside: bool) -> Any:
    s = from_qonnx(model, target="mlir", samples=count)
    s["**"].pipeline()
    if beside:
        s.dataflow(dict(s.get_loops("forward"))["samples"].n0)
    return s


def test_each_sample_has_the_results_of_one(model: onnx.ModelProto) -> None:
    pixels, _ = images(COUNT, seed=2)
    one, several = from_qonnx(model), from_qonnx(model, samples=COUNT, verify=True)
    found = several(pixels[:, None])
    assert found.shape == (COUNT, 1, 10)
    for image, result in zip(pixels, found, strict=True):
        np.testing.assert_array_equal(result, one(image[None]))


def test_layers_work_side_by_side_in_hardware(model: onnx.ModelProto) -> None:
    pixels = images(COUNT, seed=3)[0][:, None]
    expected = from_qonnx(model, samples=COUNT)(pixels)
    cycles = {}
    for beside in (False, True):
        options = {} if beside else {"configs": {"overlap_loops": False}}
        s = pipelined(model, COUNT, beside=beside)
        rtl = s.build(target="verilog", simulator="jit", **options)
        np.testing.assert_array_equal(rtl(pixels), expected)
        assert rtl.cycles == rtl.report.cycles
        cycles[beside] = rtl.cycles
    assert cycles[True] < 0.9 * cycles[False]


def test_lanes_side_by_side_have_the_same_results(model: onnx.ModelProto) -> None:
    pixels = images(COUNT, seed=4)[0][:, None]
    s = from_qonnx(model, target="mlir", samples=COUNT)
    products_beside(s, {"product_0": 4, "product_1": 2}, ("i1", "o1"))
    rtl = s.build(target="verilog", simulator="jit")
    np.testing.assert_array_equal(rtl(pixels), from_qonnx(model, samples=COUNT)(pixels))
    assert rtl.cycles == rtl.report.cycles
    plain = pipelined(model, COUNT, beside=True).build(target="verilog", simulator="jit")
    assert rtl.cycles < plain.report.cycles / 2


@pytest.mark.parametrize("count", [0, -2, 2.5, True])
def test_what_is_no_number_of_samples(model: onnx.ModelProto, count: Any) -> None:
    with pytest.raises(ModelError, match="which is no number of samples") as caught:
        from_qonnx(model, samples=count)
    assert "help: give how many samples one call takes" in str(caught.value)


def test_a_reference_is_asked_for() -> None:
    with pytest.raises(ModelError, match="no reference that runs one sample"):
        each_sample(TorchOrigin(None, []), 2)


def test_samples_of_the_origin_differ(model: onnx.ModelProto) -> None:
    origin = from_qonnx(model, target="mlir", samples=COUNT).origin
    assert isinstance(origin, EachSample)
    (stacked,) = origin.inputs()
    assert len({array.tobytes() for array in stacked}) == COUNT
    assert len({array.tobytes() for array in origin.expected()[0]}) == COUNT
