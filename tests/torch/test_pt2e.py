"""Models in the form that PyTorch's own export quantisation leaves them in."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers torch.ops.quantized_decomposed
from torch import nn

from allo.errors import UnsupportedOperatorError
from allo.frontend import from_pytorch
from tests.torch.support import arrays, assert_close, check_csim, check_hardware, tensor

Q = torch.ops.quantized_decomposed
SIGNED = (-128, 127, torch.int8)
UNSIGNED = (0, 255, torch.uint8)


class Converted(nn.Module):
    """A convolution and a linear layer as ``convert_pt2e`` writes them: asymmetric activations."""

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(0)

        def bytes_of(*shape: int) -> torch.Tensor:
            return torch.from_numpy(random.integers(-127, 128, shape).astype(np.int8))

        self.register_buffer("conv_weight", bytes_of(4, 2, 3, 3))
        self.register_buffer("conv_scale", torch.tensor([0.01, 0.02, 0.005, 0.03]))
        self.register_buffer("conv_zero", torch.zeros(4, dtype=torch.int64))
        self.register_buffer("fc_weight", bytes_of(3, 36))
        self.bias = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = Q.quantize_per_tensor(x, 0.025, 4, *SIGNED)
        x = Q.dequantize_per_tensor(x, 0.025, 4, *SIGNED)
        weight = Q.dequantize_per_channel(
            self.conv_weight, self.conv_scale, self.conv_zero, 0, *SIGNED
        )
        x = torch.relu(torch.conv2d(x, weight))
        x = Q.quantize_per_tensor(x, 0.04, 0, *UNSIGNED)
        x = Q.dequantize_per_tensor(x, 0.04, 0, *UNSIGNED).flatten(1)
        weight = Q.dequantize_per_tensor(self.fc_weight, 0.01, 0, *SIGNED)
        return torch.nn.functional.linear(x, weight, self.bias)


X = tensor(1, 2, 5, 5)


def test_it_is_taken_as_it_is(tmp_path) -> None:
    model = Converted()
    s = from_pytorch(model, [X], target="mlir")
    assert_close(s.build()(X.numpy()), model(X))
    assert "g_conv_weight: float32[4, 2, 3, 3]" in s.source  # dequantised while compiling
    assert ": int8[1, 2, 5, 5]" in s.source and ": uint8[1, 4, 3, 3]" in s.source
    check_hardware(s, X)
    check_csim(s, tmp_path, X)


def test_weights_may_be_arguments() -> None:
    model = Converted()
    built = from_pytorch(model, [X], weights_as_args=True)
    assert {array.dtype.name for array in built.weight_data} == {"float32"}
    assert_close(built(X.numpy()), model(X))


@pytest.mark.parametrize("scale", [0.1, 1e-9])
def test_rounding_is_pytorchs_to_the_bit(scale: float) -> None:
    class Rounded(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Q.quantize_per_tensor(x, scale, -3, *SIGNED)

    x = torch.arange(-400, 400, dtype=torch.float32) / 20  # halves among them
    got = from_pytorch(Rounded(), [x])(x.numpy())
    np.testing.assert_array_equal(got, arrays(Rounded()(x))[0])


def test_another_type_than_float32_is_refused() -> None:
    class Half(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Q.dequantize_per_tensor(x, 0.1, 0, *SIGNED, out_dtype=torch.float16)

    message = "The model uses quantized_decomposed.dequantize_per_tensor.default to float16."
    with pytest.raises(UnsupportedOperatorError, match=re.escape(message)):
        from_pytorch(Half(), [torch.zeros(4, dtype=torch.int8)])
