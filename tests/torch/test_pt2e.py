"""Models in the form that PyTorch's own export quantisation leaves them in."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers torch.ops.quantized_decomposed
import torch.nn.functional as F
from torch import nn

from allo.errors import UnsupportedOperatorError
from allo.frontend import from_pytorch
from allo.models.graph import Model, Operator, Ref
from allo.torch.pt2e.entry import reference_of
from allo.torch.pt2e.products import product_of
from allo.torch.pt2e.values import Grid, Levels
from tests.torch.converted import (
    MODELS,
    QUANTIZERS,
    converted,
    integers_and_floats,
    steps_apart,
)
from tests.torch.support import (
    arrays,
    assert_close,
    assert_equal_bits,
    check_csim,
    check_hardware,
    initialised,
    tensor,
)

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
    s = from_pytorch(model, [X], target="mlir", verify=True)
    assert_close(s.build()(X.numpy()), model(X))
    assert "g_conv_weight: int8[4, 2, 3, 3]" in s.source and "row: int32[3]" in s.source
    assert ": int8[1, 2, 5, 5]" in s.source and ": uint8[1, 4, 3, 3]" in s.source
    assert "quantized.conv2d" in str(s.explain()) and "aten.relu" not in str(s.explain())
    check_hardware(s, X)
    check_csim(s, tmp_path, X)


def test_weights_may_be_arguments() -> None:
    model = Converted()
    built = from_pytorch(model, [X], weights_as_args=True)
    kinds = {array.dtype.name for array in built.weight_data}
    assert kinds == {"int8", "int32", "int64", "float32"}
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


def test_bounds_beyond_what_float32_rounds_are_refused() -> None:
    class Wide(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Q.quantize_per_tensor(x, 1e-7, 0, -(2**31), 2**31 - 1, torch.int32)

    message = "quantize_per_tensor.default to -2147483648 … 2147483647."
    with pytest.raises(UnsupportedOperatorError, match=re.escape(message)) as caught:
        from_pytorch(Wide(), [X])
    assert caught.value.help == "bounds within ±1572864 are supported."


@pytest.mark.parametrize(("zero", "furthest"), [(0, 255), (55, 200), (200, 200), (255, 255)])
def test_sums_are_as_wide_as_the_levels_on_the_far_side_of_zero_make_them(
    zero: int, furthest: int
) -> None:
    levels = Levels("x", Grid(0.5, zero, 0, 255, "uint8"))
    op = Operator("y", "aten.mm.default", {"self": Ref("x"), "mat2": Ref("x")}, (), (), None)
    product = product_of(Model(), op, lambda name: levels, 7)
    assert product is not None and product.bound == 7 * furthest**2


# --- forms -------------------------------------------------------------------------------------------


def levels(*shape: int, seed: int = 0, low: int = -128, high: int = 127) -> torch.Tensor:
    kind = np.uint8 if high > 127 else np.int8
    drawn = np.random.default_rng(seed).integers(low, high + 1, shape)
    return torch.from_numpy(drawn.astype(kind))


def q(x: torch.Tensor, scale: float, zero: int, *, unsigned: bool = False) -> torch.Tensor:
    """A value quantised and dequantised."""
    limits = UNSIGNED if unsigned else SIGNED
    x = Q.quantize_per_tensor(x, scale, zero, *limits)
    return Q.dequantize_per_tensor(x, scale, zero, *limits)


class Forms(nn.Module):
    """One operator between two quantisations; all scales are powers of two."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        shapes = {
            "linear": (5, 6),
            "conv1d": (4, 3, 2),
            "conv2d": (4, 1, 3, 3),
            "same": (4, 3, 2),
            "relu": (2, 6, 1),
            "transposed": (3, 2, 3),
            "transposed2d": (2, 3, 2, 2),
        }
        self.register_buffer("weight", levels(*shapes.get(form, (1,)), seed=3))
        self.register_buffer(
            "scale", torch.tensor([0.5, 0.25, 0.0625, 0.125, 0.5])[: self.channels]
        )
        self.register_buffer("zero", torch.tensor([3, 0, -2, 1, 5])[: self.channels])

    @property
    def channels(self) -> int:
        return len(self.weight)

    def weights(self, *, each: bool = True) -> torch.Tensor:
        if not each:
            return Q.dequantize_per_tensor(self.weight, 0.125, 2, *SIGNED)
        return Q.dequantize_per_channel(self.weight, self.scale, self.zero, 0, *SIGNED)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = q(x, 0.125, -7)
        y = q(y, 0.25, 130, unsigned=True)
        bias = torch.tensor([0.5, -0.25, 3.0, -2.0, 1.0])
        match self.form:
            case "linear":
                z = F.linear(x, self.weights(), bias)
            case "conv1d":
                z = F.conv1d(x[:, :3], self.weights(), bias[:4], stride=2, padding=1)
            case "same":
                z = F.conv1d(x[:, :3], self.weights(), padding="same")
            case "conv2d":
                z = F.conv2d(x.view(2, 2, 2, 6)[:, :1], self.weights(), padding=(2, 1), dilation=2)
            case "transposed":
                z = F.conv_transpose1d(x[:, :3], self.weights(each=False), stride=2, padding=1)
            case "transposed2d":
                image = x.view(2, 2, 2, 6)
                z = F.conv_transpose2d(image, self.weights(each=False), bias[:3], output_padding=0)
            case "matmul":
                z = torch.matmul(x, y.transpose(1, 2))
            case "bmm":
                z = torch.bmm(y, x.transpose(1, 2)).clamp(-40.0, 30.0)
            case "add":
                z = torch.add(x, y, alpha=2)
            case "sub":
                z = torch.relu(x - y)
            case "mul":
                z = x * y
            case "mean":
                z = y.mean(1, keepdim=True)
            case "average":
                z = F.avg_pool1d(y, 2, 2, 1)
            case "cat":
                z = torch.cat([x, y], 1)
            case "max":
                z = F.max_pool1d(y, 3, 2, 1)
            case "pad":
                z = F.pad(y, (1, 2))
            case "relu":
                z = F.conv1d(torch.relu(x).transpose(1, 2), self.weights())
            case "chain":
                z = (x * F.relu6(x + 3.0) / 6.0).permute(0, 2, 1)
            case _:
                raise AssertionError(self.form)
        return q(z, 0.5, 9)


FORMS = (
    "linear conv1d same conv2d transposed transposed2d matmul bmm add sub mul mean average cat max pad"
    " relu chain"
).split()


@pytest.mark.parametrize("form", FORMS)
def test_each_form_has_pytorchs_bits_where_float32_is_exact(form: str, tmp_path) -> None:
    model, x, y = Forms(form), tensor(2, 4, 6, scale=6.0), tensor(2, 4, 6, seed=2, scale=9.0)
    s = from_pytorch(model, [x, y], target="mlir")
    floats = {line for line in s.source.splitlines() if "float32" in line and "def " not in line}
    assert all("third" in f or "elem: float32" in f or "quantize" in f for f in floats), floats
    expected = arrays(model(x, y))
    built = s.build()
    assert_equal_bits(arrays(built(x.numpy(), y.numpy())), expected)
    assert_equal_bits(s.origin.expected(), expected)
    for seed in range(5, 9):
        x, y = tensor(2, 4, 6, seed=seed, scale=6.0), tensor(2, 4, 6, seed=seed + 9, scale=9.0)
        assert_equal_bits(arrays(built(x.numpy(), y.numpy())), arrays(model(x, y)))
    if form in ("linear", "same", "transposed", "mul", "average"):
        check_hardware(s, x, y)


# --- what PyTorch's own quantisers leave ------------------------------------------------------------


@pytest.fixture(scope="module")
def torchao() -> None:
    pytest.importorskip("torchao")


@pytest.mark.usefixtures("torchao")
@pytest.mark.parametrize("how", QUANTIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_pytorchs_quantisers_give_integers(name: str, how: str) -> None:
    make, sample = MODELS[name]
    calls = [sample(k) for k in range(6)]
    model = converted(initialised(make()), calls[:4], how)
    found, floats = integers_and_floats(model, calls[0])
    targets = Counter(op.target for op in found.graph.operators)
    products = ("aten.linear", "aten.conv")
    assert not any(target.startswith(products) for target in targets)
    assert any(target.startswith("quantized.") for target in targets)
    apart = [steps_apart(found, floats, x) for x in calls]
    everything = np.concatenate([a.reshape(-1) for each in apart for a in each.values()])
    assert len(everything) > 300 and everything.max() <= 1
    # An average over windows of even size has exact halves, and PyTorch's noise decides there.
    averages = {op.name for op in found.graph.operators if op.kind in ("avg_pool", "mean")}
    rest = [a for each in apart for key, a in each.items() if key not in averages]
    assert sum(int(a.sum()) for a in rest) <= 1
    assert everything.mean() < 0.01 and max(found.differing.values(), default=0) <= 8
    built = from_pytorch(model, [calls[0]], target="mlir").build()
    reference = reference_of(found.graph)
    for x in calls:
        got, exact = arrays(built(x.numpy())), reference(x.numpy())
        if name == "attention":  # the norm and the softmax between are float32
            assert_close(got, exact, 0.05)
        else:
            assert_equal_bits(got, exact)


@pytest.mark.usefixtures("torchao")
def test_hardware_and_csim_have_the_references_bits(tmp_path) -> None:
    make, sample = MODELS["residual"]
    x = sample(9)
    model = converted(initialised(make()), [sample(k) for k in range(4)], "xnnpack per channel")
    s = from_pytorch(model, [x], target="mlir", verify=True)
    s["**"].pipeline()
    rtl = check_hardware(s, x)
    assert_equal_bits(arrays(rtl(x.numpy())), s.origin.expected())
    check_csim(s, tmp_path, x)
