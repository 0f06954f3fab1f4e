"""Models that PyTorch's own quantisers have converted, and each of their integers beside PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from allo.models.integers.reference import Reference
from allo.torch.exporting import KNOWN, export_model
from allo.torch.pt2e.convert import Converted, convert
from allo.torch.running import FloatModel, run_operator
from tests.torch.support import tensor


class Residual(nn.Module):
    """A folded norm, groups, a residual sum, pools, parts side by side, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.conv1(x)))
        z = torch.relu(self.conv2(y) + y)
        both = torch.cat([F.max_pool2d(z, 2), F.max_pool2d(y, 2)], 1)
        return self.fc(self.pool(both).flatten(1))


class Mobile(nn.Module):
    """A depthwise and a pointwise convolution with bounded activations."""

    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(4, 4, 3, 2, 1, groups=4)
        self.pointwise = nn.Conv2d(4, 6, 1)
        self.head = nn.Linear(6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu6(self.depthwise(x))
        x = F.hardtanh(self.pointwise(x), -0.5, 2.0)
        return self.head(x.mean((2, 3)))


class Attention(nn.Module):
    """One head, a norm and a network with GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))
        self.norm = nn.LayerNorm(8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(self.q(x), self.k(x).transpose(-1, -2)) * 0.35
        x = self.norm(x + self.o(torch.matmul(torch.softmax(scores, -1), self.v(x))))
        return x + self.down(F.gelu(self.up(x)))


MODELS: dict[str, tuple[type[nn.Module], Callable[[int], torch.Tensor]]] = {
    "residual": (Residual, lambda k: tensor(2, 2, 8, 8, seed=k)),
    "mobile": (Mobile, lambda k: tensor(2, 4, 7, 7, seed=k)),
    "attention": (Attention, lambda k: tensor(2, 5, 8, seed=k)),
}
QUANTIZERS = ("xnnpack", "xnnpack per channel", "x86")


def quantizer(name: str) -> Any:
    """One of the quantisers that ship with ``torchao``."""
    if name == "x86":
        from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

        return x86.X86InductorQuantizer().set_global(
            x86.get_default_x86_inductor_quantization_config()
        )
    from torchao.testing.pt2e import _xnnpack_quantizer as xnnpack

    config = xnnpack.get_symmetric_quantization_config(is_per_channel="channel" in name)
    return xnnpack.XNNPACKQuantizer().set_global(config)


def converted(model: nn.Module, calibration: Sequence[torch.Tensor], how: str) -> Any:
    """A model after PyTorch's ``prepare_pt2e``, calibration and ``convert_pt2e``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        exported = torch.export.export(model, (calibration[0],)).module()
        prepared = prepare_pt2e(exported, quantizer(how))
        for x in calibration:
            prepared(x)
        return convert_pt2e(prepared)


def integers_and_floats(model: Any, x: torch.Tensor) -> tuple[Converted, FloatModel]:
    """The integer graph of a converted model, and the model's own graph run by PyTorch."""
    exported = export_model(model, [x], KNOWN)
    before = copy(exported)
    before.operators = list(exported.operators)
    return convert(torch, exported), FloatModel(torch, before)


def steps_apart(found: Converted, floats: FloatModel, x: torch.Tensor) -> dict[str, np.ndarray]:
    """How many levels each integer is from PyTorch's, where all that it is made of is PyTorch's."""
    values = floats.values([x])
    theirs = {
        made: values[name].numpy()
        for name, made in found.names.items()
        if isinstance(values.get(name), torch.Tensor)
        and (not values[name].is_floating_point() or made == name)
    }
    apart: dict[str, np.ndarray] = {}

    class Beside(Reference):
        def result(self, op: Any, values: dict[str, Any]) -> Any:
            value, wanted = super().result(op, values), theirs.get(op.name)
            if wanted is None or not isinstance(value, np.ndarray):
                return value
            if wanted.dtype.kind in "iu":
                assert value.dtype == wanted.dtype and value.shape == wanted.shape
                apart[op.name] = np.abs(value.astype(np.int64) - wanted.astype(np.int64))
            else:
                np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-5)
            return wanted

    def by_torch(op: Any, values: dict[str, Any]) -> Any:
        given = {name: torch.from_numpy(np.array(values[name])) for name in op.refs()}
        return run_operator(torch, op, given).numpy()

    Beside(found.graph, by_torch)(x.numpy())
    return apart
