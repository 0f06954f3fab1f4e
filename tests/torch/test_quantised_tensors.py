"""Tensors that a model quantises itself: torch.quantize_per_tensor and dequantize."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from allo.errors import ModelError, UnsupportedOperatorError
from allo.frontend import from_pytorch
from tests.torch.support import arrays, check_csim, check_hardware, initialised, tensor

X = tensor(2, 3, scale=8.0)


class Rounded(nn.Module):
    """Through a quantised tensor and back, with the parameters of a case."""

    def __init__(self, scale: float, zero: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.parameters_of = scale, zero, dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.quantize_per_tensor(x, *self.parameters_of).dequantize()


class OfTensors(nn.Module):
    """The scale and the zero point are tensors, and the quantised tensor has another shape."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(0.25))
        self.register_buffer("zero", torch.tensor(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        quantised = torch.quantize_per_tensor(x, self.scale, self.zero, torch.quint8)
        return quantised.reshape(3, 2).dequantize() + 1


class Linear(nn.Module):
    """Operands, weights and the result go through quantised tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = torch.quantize_per_tensor(self.fc.weight, 0.0625, 0, torch.qint8).dequantize()
        x = torch.quantize_per_tensor(x, 0.125, 7, torch.quint8).dequantize()
        y = F.linear(x, weight, self.fc.bias)
        return torch.quantize_per_tensor(y, 0.25, 3, torch.qint8).dequantize()


@pytest.mark.parametrize(
    ("scale", "zero", "dtype"),
    [
        (0.125, 3, torch.quint8),
        (0.125, -3, torch.qint8),
        (0.5, 1, torch.qint8),
        (1e-9, 1, torch.quint8),
    ],
)
def test_the_bits_are_pytorchs(scale, zero, dtype):
    """The zero point is added before a half is rounded to even; PT2E's operators round first."""
    model = Rounded(scale, zero, dtype)
    x = torch.arange(-400, 400, dtype=torch.float32) / 16  # halves among them
    got = from_pytorch(model, [x])(x.numpy())
    np.testing.assert_array_equal(got, arrays(model(x))[0])


def test_the_parameters_may_be_tensors():
    s = from_pytorch(OfTensors(), [X], target="mlir")
    np.testing.assert_array_equal(s.build()(X.numpy()), arrays(OfTensors()(X))[0])
    assert "uint8[3, 2]" in s.source


def test_a_layer_on_every_target(tmp_path):
    model = initialised(Linear())
    s = from_pytorch(model, [X], target="mlir")
    np.testing.assert_array_equal(s.build()(X.numpy()), arrays(model(X))[0])
    check_hardware(s, X)
    check_csim(s, tmp_path, X)


def test_computing_with_quantised_tensors_is_refused():
    class Clamped(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)).dequantize()

    message = "The model uses aten.relu.default of a quantised tensor."
    with pytest.raises(UnsupportedOperatorError, match=re.escape(message)) as caught:
        from_pytorch(Clamped(), [X])
    assert caught.value.help == "dequantize it first, compute in floats, and quantize the result."
    assert caught.value.place.file == __file__


def test_words_of_32_bits_are_refused():
    with pytest.raises(
        UnsupportedOperatorError, match="quantize_per_tensor.default to qint32"
    ) as e:
        from_pytorch(Rounded(0.1, 0, torch.qint32), [X])
    assert e.value.help == "torch.quint8 and torch.qint8 are supported."


def test_what_torch_export_does_not_know_names_the_operators_that_it_does():
    class Channels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scales", torch.tensor([0.1, 0.2, 0.3]))
            self.register_buffer("zeros", torch.tensor([0, 1, 2]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = torch.quantize_per_channel(x, self.scales, self.zeros, 1, torch.qint8)
            return made.dequantize()

    with pytest.raises(ModelError, match="cannot be exported by torch.export") as caught:
        from_pytorch(Channels(), [X])
    assert "quantize_per_channel and dequantize_per_channel of torch.ops" in caught.value.help
