"""Kernels in the place of modules: signatures, weights, schedules that come with them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import allo
from allo.errors import HandleTypeError, ScheduleError
from allo.frontend import from_pytorch
from allo.ir.types import float32, int32
from allo.library import nn as library
from tests.torch.support import check_hardware, initialised, tensor

X = tensor(2, 6)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 9)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(9, 4, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.act(self.fc1(x)))


def product[M: int32, N: int32, K: int32](x: float32[M, K], w: float32[N, K]) -> float32[M, N]:
    z: float32[M, N] = 0
    for i, k, j in allo.grid(M, K, N, name="product"):
        z[i, j] += x[i, k] * w[j, k]
    return z


def short(x: float32[2, 8]) -> float32[2, 8]:
    z: float32[2, 8]
    for i, j in allo.grid(2, 8):
        z[i, j] = max(x[i, j], 0)
    return z


def double(x: float32[2, 9]) -> float32[2, 9]:
    z: float32[2, 9]
    for i, j in allo.grid(2, 9):
        x[i, j] = max(x[i, j], 0)
        z[i, j] = x[i, j]
    return z


def helped(x: float32[2, 9]) -> float32[2, 9]:
    z: float32[2, 9] = library.relu2d[float32, 2, 9](x)
    return z


@pytest.fixture
def s() -> Any:
    return from_pytorch(initialised(MLP()), [X], target="mlir", verify=True, library=False)


def test_a_library_kernel_brings_its_default_schedule(s: Any) -> None:
    plain = check_hardware(s, X).cycles
    s["fc1"].replace(library.linear2d)
    s["act"].replace(library.relu2d)
    s["fc2"].replace(product)
    s["fc2"].pipeline("j")
    text = str(s.module).split("func.func @fc1(")[1].split("func.func")[0]
    assert text.count("pipeline_ii = 1") == 3 and "@g_fc1_weight" in text
    assert check_hardware(s, X).cycles < 0.6 * plain
    assert [row.became for row in s.explain("fc1").rows] == ["kernel linear2d in fc1"]


def test_a_schedule_is_replayed(s: Any) -> None:
    scheduled = allo.customize(product, instantiate=[2, 4, 9])
    scheduled.split("j", 2)
    s["fc2"].replace(scheduled)
    assert list(s.get_loops("fc2")["product"].loops) == ["i", "k", "j.outer", "j.inner"]
    check_hardware(s, X)


def test_what_a_kernel_calls_comes_with_it(s: Any) -> None:
    s["act"].replace(helped)
    assert "call @relu2d_" in str(s.module).split("func.func @act(")[1]
    check_hardware(s, X)


def test_a_kernel_without_weights_replaces_where_weights_are_arguments() -> None:
    s = from_pytorch(initialised(MLP()), [X], target="mlir", weights_as_args=True, verify=True)
    s["act"].replace(library.relu2d)
    with pytest.raises(
        ScheduleError, match="The weights of module 'fc1' are arguments of the design"
    ):
        s["fc1"].replace(library.linear2d)
    assert len(s.steps) == 1


def test_a_kernel_of_another_signature_shows_both(s: Any) -> None:
    before = str(s.module)
    with pytest.raises(ScheduleError) as caught:
        s["act"].replace(short)
    assert (
        "Kernel short cannot replace module 'act', whose signature is (x: f32[2, 9]) -> f32[2, 9]; that of "
        "the kernel is short(x: float32[2, 8]) -> float32[2, 8]."
    ) in str(caught.value)
    assert "help: give the kernel the inputs of the module, or its inputs and all" in str(
        caught.value
    )
    with pytest.raises(ScheduleError) as caught:
        s["fc2"].replace(library.linear2d)
    assert (
        "whose signature is (x: f32[2, 9]) -> f32[2, 4], or with its weights (x: f32[2, 9], weight: "
        "f32[4, 9]) -> f32[2, 4]; that of the kernel is linear2d(X: TyX[M, K], W: TyW[N, K], b: TyO[N]) "
        "-> TyO[M, N]."
    ) in str(caught.value)
    assert str(s.module) == before and s.steps == []


def test_a_kernel_that_writes_its_argument_is_refused(s: Any) -> None:
    with pytest.raises(
        ScheduleError, match="Kernel double writes an argument, and a module does not"
    ):
        s["act"].replace(double)
    assert s.steps == []


def test_what_is_no_kernel_is_refused(s: Any) -> None:
    with pytest.raises(HandleTypeError, match="replace takes a kernel or its Schedule, not str"):
        s["act"].replace("relu2d")
