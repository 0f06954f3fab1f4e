"""Every ATen operator that is lowered, against PyTorch; many of them in hardware too."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.torch.cases import CASES
from tests.torch.support import check, check_hardware, tensor

IN_HARDWARE = (
    "aten.gelu.default",
    "aten.silu.default",
    "aten.div.Tensor",
    "aten.where.self",
    "aten.matmul.default",
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv_transpose2d.input",
    "aten.max_pool2d.default",
    "aten.avg_pool2d.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten.layer_norm.default",
    "aten.rms_norm.default",
    "aten.group_norm.default",
    "aten.max.dim",
    "aten.softmax.int",
    "aten.scaled_dot_product_attention.default",
    "aten.embedding.default",
    "aten.index.Tensor",
    "aten._unsafe_view.default",
    "aten.cat.default",
    "aten.pad.default",
)


class Call(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def model_of(target: str) -> tuple[torch.nn.Module, list[torch.Tensor]]:
    function, inputs = CASES[target]
    return (function if isinstance(function, torch.nn.Module) else Call(function)), inputs


@pytest.mark.parametrize("target", CASES)
def test_the_cpu_has_pytorchs_values(target: str) -> None:
    model, inputs = model_of(target)
    s = check(model, *inputs)
    assert target in s.operators


@pytest.mark.parametrize("target", IN_HARDWARE)
def test_hardware_has_the_bits_of_the_cpu(target: str) -> None:
    model, inputs = model_of(target)
    check_hardware(check(model, *inputs), *inputs)


def test_a_model_of_known_operators_is_not_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.export.ExportedProgram, "run_decompositions")
    check(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), tensor(2, 4))
    with pytest.raises(AttributeError, match="run_decompositions"):
        check(torch.nn.Flatten(), tensor(2, 3, 4))
